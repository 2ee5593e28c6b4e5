//! The vector index: flat quantised codes, scanned under a visibility bitmap.
//!
//! Vectors are appended with their revision. They collect in memory and are sealed into immutable
//! segments, each covering a contiguous range of revisions. Unsealed vectors are fed again after a
//! crash, and so is the range of a lost or damaged segment. Correctness never requires a deletion:
//! a bitmap of rows restricts every search.

mod codes;
mod compact;
mod error;
mod folder;
mod kernels;
mod reader;
mod rotation;
mod search;
mod segment;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::codes::{CodeBlock, QuantisedVector};
pub use self::error::{VectorSearchError, VectorsError};
use self::reader::VectorIndexState;
pub use self::reader::{DamagedSegment, VectorReader};
pub use self::search::{FetchVectors, ScanEffort};
use self::segment::{SegmentModel, VectorSegment};
use super::row::Row;
use crate::revision::Revision;

/// The most dimensions of a model.
pub const DIMENSIONS_MAX: u32 = 8_192;

/// The slots in memory at which the next revision seals them into a segment.
pub const SEGMENT_SLOTS_MAX: usize = 65_536;

/// Slots per block of the tail: the most that an append copies while a reader shares it.
const BLOCK_SLOTS: usize = 256;

/// One searchable vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VectorSlot {
    /// The version of the item.
    pub row: Row,
    /// The chunk within it, from 0.
    pub chunk: u32,
    /// The number of the stored exact vector.
    pub embedding: u32,
    /// A hash of the item's id: breaks ties independently of insertion order.
    pub tie: u64,
}

/// A slot found by a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorHit {
    /// The slot.
    pub slot: VectorSlot,
    /// The dot product of query and vector: the cosine, as both have unit length. Never zero.
    pub score: f32,
}

/// The model that made the vectors. Vectors of different models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTag {
    /// The model's name.
    pub name: String,
    /// Its version; a different version counts as a different model.
    pub version: String,
    /// The length of its vectors, 1 to [`DIMENSIONS_MAX`].
    pub dimensions: u32,
}

impl fmt::Display for ModelTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {} ({} dimensions)", self.name, self.version, self.dimensions)
    }
}

/// Revisions from first to last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionRange {
    /// The first revision.
    pub first: Revision,
    /// The last revision.
    pub last: Revision,
}

impl fmt::Display for RevisionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)
    }
}

/// An opened index.
#[derive(Debug)]
pub struct OpenedVectors {
    /// The index, usable at once.
    pub vectors: Vectors,
    /// Ranges whose segments were lost or damaged, ascending: feed them with
    /// [`Vectors::append_range`]. Revisions after [`Vectors::covered`] must be fed anyway.
    pub missing: Vec<RevisionRange>,
}

/// The writer of the index. One process owns the folder, one thread writes.
#[derive(Debug)]
pub struct Vectors {
    folder: PathBuf,
    model: SegmentModel,
    state: Arc<VectorIndexState>,
    /// The last revision that was appended.
    reached: Revision,
    generation: u64,
}

impl Vectors {
    /// Opens the index in a folder, which is created if needed. Every byte is verified; damaged,
    /// unfinished and replaced files are removed.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used, the model's dimensions are out of bounds, or a file is of a
    /// newer format or of another model. In these cases no segment is touched.
    pub fn open(folder: &Path, tag: &ModelTag) -> Result<OpenedVectors, VectorsError> {
        if tag.dimensions == 0 || tag.dimensions > DIMENSIONS_MAX {
            return Err(VectorsError::Dimensions { dimensions: tag.dimensions });
        }
        let model = SegmentModel::new(tag);
        let segments = folder::load(folder, &model)?;
        let generation = segments.iter().map(|segment| segment.generation).max().unwrap_or(0);
        let state = VectorIndexState::new(model.layout, segments);
        let vectors = Vectors {
            folder: folder.to_owned(),
            model,
            reached: state.covered(),
            state: Arc::new(state),
            generation,
        };
        let missing = vectors.missing();
        Ok(OpenedVectors { vectors, missing })
    }

    /// Removes every segment in a folder: for a stale index, or one ahead of a store that was
    /// restored from a backup.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn discard(folder: &Path) -> Result<(), VectorsError> {
        folder::discard(folder)
    }

    /// The last revision covered by segments on disk, except for [missing](Self::missing) ranges.
    #[must_use]
    pub fn covered(&self) -> Revision {
        self.state.covered()
    }

    /// The last appended revision, on disk or in memory.
    #[must_use]
    pub const fn reached(&self) -> Revision {
        self.reached
    }

    /// Ranges up to [`Self::covered`] that no segment covers, ascending.
    #[must_use]
    pub fn missing(&self) -> Vec<RevisionRange> {
        let mut next = Revision::ZERO.next();
        let mut missing = Vec::new();
        for segment in &self.state.segments {
            if next < segment.range.first {
                let last = Revision::new(segment.range.first.get() - 1);
                missing.push(RevisionRange { first: next, last });
            }
            next = segment.range.last.next();
        }
        missing
    }

    /// Adds all vectors of a revision, in memory; skipped revisions have none. New readers see
    /// them. A revision may be appended again with more vectors until it is sealed.
    ///
    /// Pass the vectors as the store returns them, not as they were before rounding; otherwise
    /// [`VectorReader::matches`] finds differences.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length or is not finite, if a later revision was appended or this
    /// one is sealed, or if a full tail cannot be sealed. Then nothing was added.
    pub fn append(
        &mut self,
        revision: Revision,
        vectors: &[(VectorSlot, &[f32])],
    ) -> Result<(), VectorsError> {
        if revision < self.reached || revision <= self.covered() {
            return Err(VectorsError::OutOfOrder { revision, reached: self.reached });
        }
        self.check(vectors)?;
        if revision > self.reached && self.state.tail_len() >= SEGMENT_SLOTS_MAX {
            self.seal()?;
        }
        let state = Arc::make_mut(&mut self.state);
        for (slot, vector) in vectors {
            if state.blocks.last().is_none_or(|block| block.len() == BLOCK_SLOTS) {
                state.blocks.push(Arc::new(CodeBlock::new(self.model.layout)));
            }
            if let Some(block) = state.blocks.last_mut() {
                Arc::make_mut(block).push(*slot, &QuantisedVector::from_vector(vector));
            }
        }
        self.reached = revision;
        Ok(())
    }

    /// Fills a [missing](Self::missing) range, or part of one, with all its vectors. It is on disk
    /// when this returns.
    ///
    /// # Errors
    ///
    /// If the range is not missing, a vector is wrong as in [`Self::append`], or the segment cannot
    /// be written. Then nothing was added.
    pub fn append_range(
        &mut self,
        range: RevisionRange,
        vectors: &[(VectorSlot, &[f32])],
    ) -> Result<(), VectorsError> {
        let fits = |gap: &RevisionRange| gap.first <= range.first && range.last <= gap.last;
        if range.first > range.last || !self.missing().iter().any(fits) {
            return Err(VectorsError::NotMissing { range });
        }
        self.check(vectors)?;
        let mut block = CodeBlock::new(self.model.layout);
        vectors
            .iter()
            .for_each(|(slot, vector)| block.push(*slot, &QuantisedVector::from_vector(vector)));
        let segment = self.write(range, &block)?;
        let state = Arc::make_mut(&mut self.state);
        state.segments.push(Arc::new(segment));
        state.segments.sort_by_key(|segment| segment.range.first);
        Ok(())
    }

    /// Writes the vectors in memory as a segment, on disk when this returns. Does nothing without a
    /// new revision.
    ///
    /// # Errors
    ///
    /// If the segment cannot be written. The vectors then stay in memory, searchable.
    pub fn seal(&mut self) -> Result<(), VectorsError> {
        if self.reached <= self.covered() {
            return Ok(());
        }
        let mut block = CodeBlock::new(self.model.layout);
        for codes in self.state.blocks.iter().map(|block| block.codes()) {
            (0..codes.len()).for_each(|at| block.push(codes.slot(at), &codes.quantised(at)));
        }
        let range = RevisionRange { first: self.covered().next(), last: self.reached };
        let segment = self.write(range, &block)?;
        let state = Arc::make_mut(&mut self.state);
        state.segments.push(Arc::new(segment));
        state.blocks.clear();
        Ok(())
    }

    /// A snapshot of the index, for any number of threads. Costs one reference count.
    #[must_use]
    pub fn reader(&self) -> VectorReader {
        VectorReader::new(Arc::clone(&self.state))
    }

    fn check(&self, vectors: &[(VectorSlot, &[f32])]) -> Result<(), VectorsError> {
        let wanted = self.model.layout.dimensions;
        for (slot, vector) in vectors {
            let (row, chunk, found) = (slot.row.get(), slot.chunk, vector.len());
            if found != wanted {
                return Err(VectorsError::VectorLength { row, chunk, found, wanted });
            }
            if !vector.iter().all(|value| value.is_finite()) {
                return Err(VectorsError::VectorNotFinite { row, chunk });
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        range: RevisionRange,
        block: &CodeBlock,
    ) -> Result<VectorSegment, VectorsError> {
        self.generation += 1;
        VectorSegment::write(&self.folder, &self.model, range, self.generation, block)
            .map_err(folder::io_error("write a segment into", &self.folder))
    }
}
