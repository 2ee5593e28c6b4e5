//! The inner loops, compiled for several processors and chosen at run time.
//!
//! All of it is integer arithmetic: every version gives the same numbers on every processor.

use std::array;

use multiversion::multiversion;

use super::codes::{GROUP, PLANES};
use crate::embedded::row::{Bitmap, Row};

/// Distances of one group.
pub(super) type Lanes = [u32; GROUP];

/// Marks in `readable` the slots whose rows are in the bitmap, one byte for a group.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(super) fn readable(among: &Bitmap, rows: &[[u8; 4]], readable: &mut [u8]) {
    let (groups, rest) = rows.as_chunks::<GROUP>();
    let mut masks = readable.iter_mut();
    for (rows, mask) in groups.iter().zip(masks.by_ref()) {
        *mask = 0;
        for (at, row) in rows.iter().enumerate() {
            *mask |= u8::from(among.contains(Row::new(u32::from_le_bytes(*row)))) << at;
        }
    }
    if let Some(mask) = masks.next() {
        *mask = 0;
        for (at, row) in rest.iter().enumerate() {
            *mask |= u8::from(among.contains(Row::new(u32::from_le_bytes(*row)))) << at;
        }
    }
}

/// For each group with a readable slot, adds up the bits in which its codes differ from the
/// query's, each with the weight of its plane, and marks in `near` the readable slots within `cut`.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+bmi1+bmi2+popcnt",
    "x86_64+sse4.2+popcnt"
))]
pub(super) fn near(
    query: &[u64],
    groups: &[u8],
    readable: &[u8],
    cut: u32,
    lanes: &mut [Lanes],
    near: &mut [u8],
) {
    let n_words = query.len() / PLANES;
    let groups = groups.chunks_exact(n_words * 8 * GROUP);
    for (((group, readable), lanes), near) in groups.zip(readable).zip(lanes).zip(near) {
        *near = 0;
        if *readable == 0 {
            continue;
        }
        let mut sums = [0_u64; GROUP];
        // Plane by plane from the heaviest: each counts twice as much as the one after it.
        for plane in query.chunks_exact(n_words) {
            sums = sums.map(|sum| sum * 2);
            for (word, column) in plane.iter().zip(group.as_chunks::<{ 8 * GROUP }>().0) {
                let column = column.as_chunks::<8>().0;
                let differing: [u64; GROUP] =
                    array::from_fn(|lane| word ^ u64::from_le_bytes(column[lane]));
                sums = array::from_fn(|lane| sums[lane] + u64::from(differing[lane].count_ones()));
            }
        }
        // Nearly always there is nothing near, and this is all that is asked.
        let nearest = sums.iter().fold(u64::MAX, |nearest, sum| nearest.min(*sum));
        if nearest > u64::from(cut) {
            continue;
        }
        for (lane, sum) in sums.iter().enumerate() {
            *near |= u8::from(*sum <= u64::from(cut)) << lane;
        }
        *near &= readable;
        #[expect(clippy::cast_possible_truncation, reason = "at most 15 times 8,192")]
        let distances = sums.map(|sum| sum as u32);
        *lanes = distances;
    }
}

/// The products of the query with the int8 codes of the picked slots.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vnni",
    "x86_64+avx2+bmi1+bmi2",
    "x86_64+sse4.2"
))]
pub(super) fn products(query: &[i16], codes: &[u8], picked: &[u32], products: &mut Vec<i32>) {
    products.clear();
    for pick in picked {
        let code = &codes[*pick as usize * query.len()..][..query.len()];
        let product = query
            .iter()
            .zip(code)
            .map(|(query, byte)| i32::from(*query) * i32::from(byte.cast_signed()))
            .sum();
        products.push(product);
    }
}
