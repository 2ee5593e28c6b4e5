//! The byte ranges of documents that a pack contains.

use std::collections::BTreeMap;
use std::ops::Range;

/// The ranges of each document in a pack, sorted and disjoint.
#[derive(Debug, Clone, Default)]
pub(super) struct Cover(BTreeMap<String, Vec<Range<usize>>>);

impl Cover {
    /// Merges ranges, each given with its document.
    pub(super) fn of(parts: impl IntoIterator<Item = (String, Range<usize>)>) -> Cover {
        let mut cover: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
        for (document, range) in parts.into_iter().filter(|(_, range)| !range.is_empty()) {
            cover.entry(document).or_default().push(range);
        }
        for ranges in cover.values_mut() {
            *ranges = union(std::mem::take(ranges));
        }
        Cover(cover)
    }

    /// Whether the pack has no text of any document.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges of each document, by id.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &[Range<usize>])> {
        self.0.iter().map(|(document, ranges)| (document.as_str(), ranges.as_slice()))
    }

    /// The ranges of one document.
    pub(super) fn of_document(&self, document: &str) -> &[Range<usize>] {
        self.0.get(document).map_or(&[], Vec::as_slice)
    }
}

/// Sorts ranges and joins those that overlap or touch.
pub(super) fn union(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The parts of sorted ranges that lie within `within`.
pub(super) fn clipped<'r>(
    ranges: &'r [Range<usize>],
    within: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<'r> {
    let Range { start, end } = *within;
    let first = ranges.partition_point(|range| range.end <= start);
    let ranges = ranges[first..].iter().take_while(move |range| range.start < end);
    ranges.map(move |range| range.start.max(start)..range.end.min(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_clipped() {
        let ranges = union(vec![8..9, 2..4, 3..6, 6..7]);
        assert_eq!(ranges, [2..7, 8..9]);
        let check = |within: Range<usize>, expected: &str| {
            let parts: Vec<Range<usize>> = clipped(&ranges, &within).collect();
            assert_eq!(format!("{parts:?}"), expected, "{within:?}");
        };
        check(0..20, "[2..7, 8..9]");
        check(3..5, "[3..5]");
        check(6..9, "[6..7, 8..9]");
        check(7..8, "[]");
        check(9..20, "[]");
    }

    #[test]
    fn empty_ranges_are_ignored() {
        let part = |document: &str, range| (document.to_owned(), range);
        assert!(Cover::of([part("a", 3..3)]).is_empty());
        let cover = Cover::of([part("b", 3..5), part("a", 0..1), part("b", 0..4)]);
        let all: Vec<_> = cover.documents().collect();
        assert_eq!(format!("{all:?}"), r#"[("a", [0..1]), ("b", [0..5])]"#);
        assert!(cover.of_document("c").is_empty());
    }
}
