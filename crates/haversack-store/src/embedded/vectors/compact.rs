//! Compaction: removes slots that no reader can reach from disk.

use std::sync::Arc;

use super::codes::{CodeBlock, Codes};
use super::error::VectorsError;
use super::segment::VectorSegment;
use super::{RevisionRange, SEGMENT_SLOTS_MAX, Vectors, folder};
use crate::embedded::row::{Bitmap, Row};

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
            self.rewrite(&group, &|row| keep.contains(row))?;
        }
        Ok(())
    }

    /// Removes the slots of rows that are gone: from memory, and from one segment. Returns whether a
    /// segment was rewritten; call it again until none was. Existing readers are unaffected.
    ///
    /// # Errors
    ///
    /// As [`Self::compact`].
    pub fn expunge(&mut self, is_gone: &dyn Fn(Row) -> bool) -> Result<bool, VectorsError> {
        let has_gone = |codes: Codes<'_>| (0..codes.len()).any(|at| is_gone(codes.row(at)));
        if self.state.blocks.iter().any(|block| has_gone(block.codes())) {
            let state = Arc::make_mut(&mut self.state);
            for block in &mut state.blocks {
                if has_gone(block.codes()) {
                    let mut kept = CodeBlock::new(self.model.layout);
                    copy_kept(block.codes(), &|row| !is_gone(row), &mut kept);
                    *block = Arc::new(kept);
                }
            }
        }
        let found = self.state.segments.iter().find(|segment| has_gone(segment.codes()));
        let Some(segment) = found.map(Arc::clone) else { return Ok(false) };
        let group = MergeGroup { members: vec![segment], kept: 0, worthwhile: true };
        self.rewrite(&group, &|row| !is_gone(row))?;
        Ok(true)
    }

    fn rewrite(
        &mut self,
        group: &MergeGroup,
        keep: &dyn Fn(Row) -> bool,
    ) -> Result<(), VectorsError> {
        let (Some(first), Some(last)) = (group.members.first(), group.members.last()) else {
            return Ok(());
        };
        let range = RevisionRange { first: first.range.first, last: last.range.last };
        let mut block = CodeBlock::new(self.model.layout);
        for codes in group.members.iter().map(|member| member.codes()) {
            copy_kept(codes, keep, &mut block);
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

/// Copies the slots of the rows to keep.
fn copy_kept(codes: Codes<'_>, keep: &dyn Fn(Row) -> bool, into: &mut CodeBlock) {
    (0..codes.len())
        .filter(|at| keep(codes.row(*at)))
        .for_each(|at| into.push(codes.slot(at), &codes.quantised(at)));
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
