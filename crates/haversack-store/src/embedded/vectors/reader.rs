//! Snapshots of the index.

use std::path::PathBuf;
use std::sync::Arc;

use super::codes::{CodeBlock, CodeLayout, Codes, QuantisedVector};
use super::segment::VectorSegment;
use super::{RevisionRange, VectorSlot};
use crate::revision::Revision;

/// The content at one moment. A clone copies pointers, never codes.
#[derive(Debug, Clone)]
pub(super) struct VectorIndexState {
    pub(super) layout: CodeLayout,
    /// Ordered by revision.
    pub(super) segments: Vec<Arc<VectorSegment>>,
    /// The unsealed tail.
    pub(super) blocks: Vec<Arc<CodeBlock>>,
}

impl VectorIndexState {
    pub(super) const fn new(
        layout: CodeLayout,
        segments: Vec<Arc<VectorSegment>>,
    ) -> VectorIndexState {
        VectorIndexState { layout, segments, blocks: Vec::new() }
    }

    pub(super) fn covered(&self) -> Revision {
        self.segments.last().map_or(Revision::ZERO, |segment| segment.range.last)
    }

    pub(super) fn tail_len(&self) -> usize {
        self.blocks.iter().map(|block| block.len()).sum()
    }

    pub(super) fn code_parts(&self) -> impl Iterator<Item = Codes<'_>> {
        let segments = self.segments.iter().map(|segment| segment.codes());
        segments.chain(self.blocks.iter().map(|block| block.codes()))
    }
}

/// A segment whose file is lost or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedSegment {
    /// Its file.
    pub path: PathBuf,
    /// The revisions it covers.
    pub range: RevisionRange,
}

/// A snapshot of the index. Cheap to clone, for any number of threads.
#[derive(Debug, Clone)]
pub struct VectorReader {
    pub(super) state: Arc<VectorIndexState>,
}

impl VectorReader {
    pub(super) const fn new(state: Arc<VectorIndexState>) -> VectorReader {
        VectorReader { state }
    }

    /// The number of slots, readable or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.code_parts().map(|codes| codes.len()).sum()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every slot, in an order that is stable for this reader.
    pub fn slots(&self) -> impl Iterator<Item = VectorSlot> + '_ {
        let parts = self.state.code_parts();
        parts.flat_map(|codes| (0..codes.len()).map(move |at| codes.slot(at)))
    }

    /// Whether the codes at an index, counted from 0 in the order of [`Self::slots`], are those of
    /// this vector.
    #[must_use]
    pub fn matches(&self, index: usize, vector: &[f32]) -> bool {
        let mut at = index;
        for codes in self.state.code_parts() {
            if at < codes.len() {
                return vector.len() == self.state.layout.dimensions
                    && codes.quantised(at) == QuantisedVector::from_vector(vector);
            }
            at -= codes.len();
        }
        false
    }

    /// Reads the file of every segment and returns the damaged ones.
    #[must_use]
    pub fn verify(&self) -> Vec<DamagedSegment> {
        let damaged = self.state.segments.iter().filter(|segment| !segment.is_intact_on_disk());
        damaged
            .map(|segment| DamagedSegment { path: segment.path.clone(), range: segment.range })
            .collect()
    }
}
