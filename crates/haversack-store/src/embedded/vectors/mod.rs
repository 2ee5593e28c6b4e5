//! The vector index: flat codes, scanned, never wrong about who may read what.
//!
//! Vectors are appended with the revision that brought them. They gather in memory and are sealed
//! into immutable segments, each covering a range of revisions without a hole. What was not sealed
//! is fed again after a crash, and so is the range of a segment that was lost or damaged. Nothing
//! is deleted for correctness: a bitmap of rows decides inside every search what exists.

mod codes;
mod compact;
mod error;
mod folder;
mod kernels;
mod mapping;
mod reader;
mod rotation;
mod search;
mod segment;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::codes::{Block, Quantised};
pub use self::error::{SearchError, VectorsError};
use self::reader::State;
pub use self::reader::{DamagedSegment, VectorReader};
pub use self::search::{Effort, Fetch};
use self::segment::{Model, Segment};
use super::row::Row;
use crate::revision::Revision;

/// The most dimensions a model may have.
pub const DIMENSIONS_MAX: u32 = 8_192;

/// The number of slots in memory at which the next revision seals them into a segment.
pub const SEGMENT_SLOTS_MAX: usize = 65_536;

/// Slots in one shared piece of the tail: what an append copies at most while a reader holds it.
const BLOCK_SLOTS: usize = 256;

/// One searchable vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The version of the item.
    pub row: Row,
    /// The chunk within it, from 0.
    pub chunk: u32,
    /// The number under which the exact vector is stored.
    pub embedding: u32,
    /// A hash of the item's id: orders equal scores alike, whatever came first.
    pub tie: u64,
}

/// A slot that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// What was found.
    pub slot: Slot,
    /// The product of query and vector: the cosine, as both have length one. Never zero.
    pub score: f32,
}

/// The model that made the vectors. Vectors of different models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTag {
    /// The model's name.
    pub name: String,
    /// Its version; another version is another model.
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

/// An index that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The index, usable at once.
    pub vectors: Vectors,
    /// Ranges whose segments were lost or damaged, rising: feed them with
    /// [`Vectors::append_range`]. What comes after [`Vectors::covered`] is to be fed anyway.
    pub missing: Vec<RevisionRange>,
}

/// The writer's side of the index. One process has the folder, one thread writes.
#[derive(Debug)]
pub struct Vectors {
    folder: PathBuf,
    model: Model,
    state: Arc<State>,
    /// The last revision that was appended.
    reached: Revision,
    generation: u64,
}

impl Vectors {
    /// Opens the index in a folder, which is made if need be. Every byte is checked; what is
    /// damaged, unfinished or replaced is removed.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used, the model's dimensions are out of bounds, or a file is of a
    /// newer format or of another model. In these cases no segment is touched.
    pub fn open(folder: &Path, tag: &ModelTag) -> Result<Opened, VectorsError> {
        if tag.dimensions == 0 || tag.dimensions > DIMENSIONS_MAX {
            return Err(VectorsError::Dimensions { dimensions: tag.dimensions });
        }
        let model = Model::new(tag);
        let segments = folder::load(folder, &model)?;
        let generation = segments.iter().map(|segment| segment.generation).max().unwrap_or(0);
        let state = State::new(model.layout, segments);
        let vectors = Vectors {
            folder: folder.to_owned(),
            model,
            reached: state.covered(),
            state: Arc::new(state),
            generation,
        };
        let missing = vectors.missing();
        Ok(Opened { vectors, missing })
    }

    /// Removes every segment in a folder: for an index that is stale, or that is ahead of its
    /// store because the store was restored from a backup.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn discard(folder: &Path) -> Result<(), VectorsError> {
        folder::discard(folder)
    }

    /// The revision up to which segments on disk cover, but for what is [missing](Self::missing).
    #[must_use]
    pub fn covered(&self) -> Revision {
        self.state.covered()
    }

    /// The revision up to which vectors were appended, on disk or in memory.
    #[must_use]
    pub const fn reached(&self) -> Revision {
        self.reached
    }

    /// Ranges up to [`Self::covered`] that no segment covers, rising.
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

    /// Adds all vectors of a revision, in memory: what lies between it and the revision before
    /// brought none. Readers made from now on see them. The same revision may be appended again
    /// with more vectors until it is sealed.
    ///
    /// Feed what the store gives back as exact vectors, not what was rounded for it, else
    /// [`VectorReader::matches`] finds differences.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length or is not finite, if a later revision was appended or this
    /// one is sealed, or if a full tail cannot be sealed. Then nothing was added.
    pub fn append(
        &mut self,
        revision: Revision,
        vectors: &[(Slot, &[f32])],
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
                state.blocks.push(Arc::new(Block::new(self.model.layout)));
            }
            if let Some(block) = state.blocks.last_mut() {
                Arc::make_mut(block).push(*slot, &Quantised::of(vector));
            }
        }
        self.reached = revision;
        Ok(())
    }

    /// Fills a range that is [missing](Self::missing), or a part of one, with all its vectors. It
    /// is on disk when this returns.
    ///
    /// # Errors
    ///
    /// If the range is not missing, a vector is wrong as in [`Self::append`], or the segment cannot
    /// be written. Then nothing was added.
    pub fn append_range(
        &mut self,
        range: RevisionRange,
        vectors: &[(Slot, &[f32])],
    ) -> Result<(), VectorsError> {
        let fits = |gap: &RevisionRange| gap.first <= range.first && range.last <= gap.last;
        if range.first > range.last || !self.missing().iter().any(fits) {
            return Err(VectorsError::NotMissing { range });
        }
        self.check(vectors)?;
        let mut block = Block::new(self.model.layout);
        vectors.iter().for_each(|(slot, vector)| block.push(*slot, &Quantised::of(vector)));
        let segment = self.write(range, &block)?;
        let state = Arc::make_mut(&mut self.state);
        state.segments.push(Arc::new(segment));
        state.segments.sort_by_key(|segment| segment.range.first);
        Ok(())
    }

    /// Writes what is in memory as a segment; it is on disk when this returns. Without a new
    /// revision nothing happens.
    ///
    /// # Errors
    ///
    /// If the segment cannot be written. Then it stays in memory, searchable.
    pub fn seal(&mut self) -> Result<(), VectorsError> {
        if self.reached <= self.covered() {
            return Ok(());
        }
        let mut block = Block::new(self.model.layout);
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

    /// A snapshot of the index as it is now, for any number of threads. Costs one counter.
    #[must_use]
    pub fn reader(&self) -> VectorReader {
        VectorReader::new(Arc::clone(&self.state))
    }

    fn check(&self, vectors: &[(Slot, &[f32])]) -> Result<(), VectorsError> {
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

    fn write(&mut self, range: RevisionRange, block: &Block) -> Result<Segment, VectorsError> {
        self.generation += 1;
        Segment::write(&self.folder, &self.model, range, self.generation, block)
            .map_err(folder::failed("write a segment into", &self.folder))
    }
}
