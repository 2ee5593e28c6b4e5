//! Compaction: removes slots that no reader can reach from disk.

use std::sync::Arc;

use super::codes::CodeBlock;
use super::error::VectorsError;
use super::segment::VectorSegment;
use super::{RevisionRange, SEGMENT_SLOTS_MAX, Vectors, folder};
use crate::embedded::row::Bitmap;

/// Below this many slots a segment is merged with its neighbours.
const SMALL_SLOTS: usize = SEGMENT_SLOTS_MAX / 4;

/// Neighbouring segments to merge into one.
#[derive(Debug, Default)]
struct MergeGroup {
    members: Vec<Arc<VectorSegment>>,
    kept: usize,
    worthwhile: bool,
}

impl Vectors {
    /// Rewrites sealed segments with more than half of their slots outside `keep`, and merges small
    /// neighbours, dropping what is not in `keep`. Existing readers are unaffected. A crash at any
    /// point leaves an index that opens with the same content.
    ///
    /// # Errors
    ///
    /// If a segment cannot be written or an old one cannot be removed. The index stays usable, and
    /// the next opening removes replaced files.
    pub fn compact(&mut self, keep: &Bitmap) -> Result<(), VectorsError> {
        for group in groups(&self.state.segments, keep) {
            self.rewrite(&group, keep)?;
        }
        Ok(())
    }

    fn rewrite(&mut self, group: &MergeGroup, keep: &Bitmap) -> Result<(), VectorsError> {
        let (Some(first), Some(last)) = (group.members.first(), group.members.last()) else {
            return Ok(());
        };
        let range = RevisionRange { first: first.range.first, last: last.range.last };
        let mut block = CodeBlock::new(self.model.layout);
        for codes in group.members.iter().map(|member| member.codes()) {
            (0..codes.len())
                .filter(|at| keep.contains(codes.row(*at)))
                .for_each(|at| block.push(codes.slot(at), &codes.quantised(at)));
        }
        let segment = self.write(range, &block)?;
        let state = Arc::make_mut(&mut self.state);
        state.segments.retain(|old| old.range.last < range.first || range.last < old.range.first);
        state.segments.push(Arc::new(segment));
        state.segments.sort_by_key(|segment| segment.range.first);
        let old: Vec<_> = group.members.iter().map(|member| member.path.clone()).collect();
        folder::remove_all(&self.folder, &old)
    }
}

fn groups(segments: &[Arc<VectorSegment>], keep: &Bitmap) -> Vec<MergeGroup> {
    let mut groups: Vec<MergeGroup> = Vec::new();
    let mut open = MergeGroup::default();
    for segment in segments {
        let codes = segment.codes();
        let kept = (0..codes.len()).filter(|at| keep.contains(codes.row(*at))).count();
        let poor = kept * 2 < codes.len();
        let joins = open.members.last().is_none_or(|before| {
            before.range.last.next() == segment.range.first && open.kept + kept <= SEGMENT_SLOTS_MAX
        });
        let candidate = poor || kept < SMALL_SLOTS;
        if !joins || !candidate {
            groups.push(std::mem::take(&mut open));
        }
        if candidate {
            open.worthwhile |= poor || !open.members.is_empty();
            open.kept += kept;
            open.members.push(Arc::clone(segment));
        }
    }
    groups.push(open);
    groups.retain(|group| group.worthwhile);
    groups
}
