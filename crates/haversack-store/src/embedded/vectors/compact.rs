//! Compaction: what nobody can ask for any more leaves the disk.

use std::sync::Arc;

use super::codes::Block;
use super::error::VectorsError;
use super::segment::Segment;
use super::{RevisionRange, SEGMENT_SLOTS_MAX, Vectors, folder};
use crate::embedded::row::Bitmap;

/// Below this many slots a segment is merged with its neighbours.
const SMALL_SLOTS: usize = SEGMENT_SLOTS_MAX / 4;

/// Neighbouring segments that become one.
#[derive(Debug, Default)]
struct Group {
    members: Vec<Arc<Segment>>,
    kept: usize,
    worthwhile: bool,
}

impl Vectors {
    /// Rewrites sealed segments of which more than half of the slots are not in `keep`, and merges
    /// small neighbours, leaving out what is not in `keep`. Readers keep what they have. A crash
    /// at any point leaves an index that opens with the same content.
    ///
    /// # Errors
    ///
    /// If a segment cannot be written or an old one not removed. The index stays usable, and the
    /// next opening removes what was replaced.
    pub fn compact(&mut self, keep: &Bitmap) -> Result<(), VectorsError> {
        for group in groups(&self.state.segments, keep) {
            self.rewrite(&group, keep)?;
        }
        Ok(())
    }

    fn rewrite(&mut self, group: &Group, keep: &Bitmap) -> Result<(), VectorsError> {
        let (Some(first), Some(last)) = (group.members.first(), group.members.last()) else {
            return Ok(());
        };
        let range = RevisionRange { first: first.range.first, last: last.range.last };
        let mut block = Block::new(self.model.layout);
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

fn groups(segments: &[Arc<Segment>], keep: &Bitmap) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open = Group::default();
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
