//! Snapshots of the index: what readers share, and what a check of it can see.

use std::path::PathBuf;
use std::sync::Arc;

use super::codes::{Block, Codes, Layout, Quantised};
use super::segment::Segment;
use super::{RevisionRange, Slot};
use crate::revision::Revision;

/// The content at one moment. The writer copies pointers, never codes.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) layout: Layout,
    /// By revision.
    pub(super) segments: Vec<Arc<Segment>>,
    /// The tail.
    pub(super) blocks: Vec<Arc<Block>>,
}

impl State {
    pub(super) const fn new(layout: Layout, segments: Vec<Arc<Segment>>) -> State {
        State { layout, segments, blocks: Vec::new() }
    }

    pub(super) fn covered(&self) -> Revision {
        self.segments.last().map_or(Revision::ZERO, |segment| segment.range.last)
    }

    pub(super) fn tail_len(&self) -> usize {
        self.blocks.iter().map(|block| block.len()).sum()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = Codes<'_>> {
        let segments = self.segments.iter().map(|segment| segment.codes());
        segments.chain(self.blocks.iter().map(|block| block.codes()))
    }
}

/// A segment whose bytes are no longer those that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedSegment {
    /// Its file.
    pub path: PathBuf,
    /// The revisions it covers.
    pub range: RevisionRange,
}

/// The index as it was when this was made. Cheap to clone, for any number of threads.
#[derive(Debug, Clone)]
pub struct VectorReader {
    pub(super) state: Arc<State>,
}

impl VectorReader {
    pub(super) const fn new(state: Arc<State>) -> VectorReader {
        VectorReader { state }
    }

    /// The number of slots, readable or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.parts().map(|codes| codes.len()).sum()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every slot, in an order that stays the same for this reader.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let parts = self.state.parts();
        parts.flat_map(|codes| (0..codes.len()).map(move |at| codes.slot(at)))
    }

    /// Whether the codes at an index, counted from 0 in the order of [`Self::slots`], are those of
    /// this vector.
    #[must_use]
    pub fn matches(&self, index: usize, vector: &[f32]) -> bool {
        let mut at = index;
        for codes in self.state.parts() {
            if at < codes.len() {
                return vector.len() == self.state.layout.dimensions
                    && codes.quantised(at) == Quantised::of(vector);
            }
            at -= codes.len();
        }
        false
    }

    /// Checks the bytes of every segment again; the answer names those that changed.
    #[must_use]
    pub fn verify(&self) -> Vec<DamagedSegment> {
        let damaged = self.state.segments.iter().filter(|segment| !segment.is_intact());
        damaged
            .map(|segment| DamagedSegment { path: segment.path.clone(), range: segment.range })
            .collect()
    }
}
