//! Clears what a page of a table or index no longer holds.
//!
//! When SQLite moves rows between pages, their bytes stay behind in the unallocated part of the page
//! they came from: `secure_delete` overwrites rows where they are deleted, and knows no copies.

use super::RESERVED_BYTES;

/// Where the header of the first page's tree starts.
const FIRST_HEADER: usize = 100;

/// Overwrites the bytes between the cell pointers of a page, numbered from 0, and its cells. A page of
/// another kind, or one whose header contradicts itself, stays as it is.
pub(super) fn clear_unallocated(page: &mut [u8], number: u64) {
    let start = if number == 0 { FIRST_HEADER } else { 0 };
    let header_bytes = match page[start] {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return,
    };
    let usable = page.len() - usize::from(RESERVED_BYTES);
    let value = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let (n_cells, pointers) = (value(start + 3), start + header_bytes);
    let content = match value(start + 5) {
        0 => 65_536,
        content => content,
    };
    let end = pointers + 2 * n_cells;
    if end > content || content > usable {
        return;
    }
    // Overflow pages have no type. In a file of more than 100 GB one may begin like a tree.
    let is_cell = |at: usize| (content..usable).contains(&value(pointers + 2 * at));
    let is_tree = match n_cells {
        0 => content == usable && value(start + 1) == 0 && page[start + 7] == 0,
        _ => (0..n_cells).all(is_cell),
    };
    if is_tree {
        page[end..content].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 512;

    /// A leaf with one cell at the end, and old bytes before it.
    fn leaf(start: usize) -> Vec<u8> {
        let mut page = vec![b'x'; SIZE];
        page[..start].fill(7);
        page[start..start + 8].copy_from_slice(&[13, 0, 0, 0, 1, 1, 0xf0, 0]);
        page[start + 8..start + 10].copy_from_slice(&[1, 0xf0]);
        page
    }

    #[test]
    fn the_gap_is_cleared_and_nothing_else() {
        for (number, start) in [(1, 0), (0, FIRST_HEADER)] {
            let (mut page, before) = (leaf(start), leaf(start));
            clear_unallocated(&mut page, number);
            let gap = start + 10..0x1f0;
            assert!(page[gap.clone()].iter().all(|byte| *byte == 0));
            assert_eq!(page[..gap.start], before[..gap.start]);
            assert_eq!(page[gap.end..], before[gap.end..]);
        }
    }

    #[test]
    fn what_is_no_tree_stays() {
        let mut other = leaf(0);
        other[0] = 1;
        // A cell that would lie outside of the page.
        let mut outside = leaf(0);
        outside[8] = 3;
        // Fewer bytes than the pointers take.
        let mut full = leaf(0);
        full[3] = 0xff;
        // No cell, and content all the same.
        let mut empty = leaf(0);
        empty[4] = 0;
        for page in [other, outside, full, empty] {
            let mut cleared = page.clone();
            clear_unallocated(&mut cleared, 1);
            assert_eq!(cleared, page);
        }
    }
}
