//! The inner loops, compiled for several processors and chosen at run time.
//!
//! All arithmetic is on integers, so every variant gives the same results.
//!
//! Plain loops, no closures: closures are compiled for the target processor but the iterator
//! library is not, so that without link-time optimisation each element would cost a call.

#![expect(clippy::needless_range_loop, reason = "iterators with closures would not be inlined")]

use multiversion::multiversion;
use multiversion::target::match_target;

use super::codes::{GROUP, PLANES};
use crate::embedded::row::{Bitmap, Row};

/// Distances of one group.
pub(super) type Lanes = [u32; GROUP];

/// Marks in `readable` the slots whose rows are in the bitmap, one byte per group.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(super) fn mark_readable(among: &Bitmap, rows: &[[u8; 4]], readable: &mut [u8]) {
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
pub(super) fn mark_near(
    query: &[u64],
    groups: &[u8],
    readable: &[u8],
    cut: u32,
    lanes: &mut [Lanes],
    near: &mut [u8],
) {
    let n_words = query.len() / PLANES;
    let words = groups.as_chunks::<8>().0;
    for at in 0..words.len() / (n_words * GROUP) {
        near[at] = 0;
        if readable[at] == 0 {
            continue;
        }
        let group = &words[at * n_words * GROUP..][..n_words * GROUP];
        let within = match_target! {
            "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq" => {
                avx512::slots_within(query, group, cut, &mut lanes[at])
            }
            _ => slots_within(query, group, cut, &mut lanes[at]),
        };
        near[at] = within & readable[at];
    }
}

/// The slots of a group within `cut`, and their distances if there are any.
#[expect(clippy::inline_always, reason = "to be compiled for the processor of its caller")]
#[inline(always)]
fn slots_within(query: &[u64], group: &[[u8; 8]], cut: u32, lanes: &mut Lanes) -> u8 {
    let n_words = query.len() / PLANES;
    let mut sums = [0_u64; GROUP];
    // From the heaviest plane on: each weighs twice as much as the next.
    for plane in query.chunks_exact(n_words) {
        for lane in 0..GROUP {
            sums[lane] *= 2;
        }
        for word in 0..n_words {
            let column = &group[word * GROUP..][..GROUP];
            for lane in 0..GROUP {
                let differing = plane[word] ^ u64::from_le_bytes(column[lane]);
                sums[lane] += u64::from(differing.count_ones());
            }
        }
    }
    // Nearly always nothing is near, and the function ends here.
    let mut nearest = u64::MAX;
    for lane in 0..GROUP {
        nearest = nearest.min(sums[lane]);
    }
    if nearest > u64::from(cut) {
        return 0;
    }
    let mut within = 0;
    for lane in 0..GROUP {
        within |= u8::from(sums[lane] <= u64::from(cut)) << lane;
        #[expect(clippy::cast_possible_truncation, reason = "at most 15 times 8,192")]
        let distance = sums[lane] as u32;
        lanes[lane] = distance;
    }
    within
}

/// The variant for processors that count the bits of eight words at once. The compiler's own
/// vectorisation runs along the words of one slot and is four times slower.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm256_extract_epi32, _mm512_add_epi64, _mm512_cmple_epu64_mask, _mm512_cvtepi64_epi32,
        _mm512_popcnt_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_xor_si512,
    };

    use super::{GROUP, Lanes, PLANES};

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    pub(super) fn slots_within(
        query: &[u64],
        group: &[[u8; 8]],
        cut: u32,
        lanes: &mut Lanes,
    ) -> u8 {
        let n_words = query.len() / PLANES;
        let mut sums = _mm512_setzero_si512();
        for plane in query.chunks_exact(n_words) {
            sums = _mm512_add_epi64(sums, sums);
            for word in 0..n_words {
                let [a, b, c, d, e, f, g, h] = group.as_chunks::<GROUP>().0[word];
                let [a, b, c, d] = [a, b, c, d].map(i64::from_le_bytes);
                let [e, f, g, h] = [e, f, g, h].map(i64::from_le_bytes);
                let column = _mm512_set_epi64(h, g, f, e, d, c, b, a);
                let plane = _mm512_set1_epi64(plane[word].cast_signed());
                let differing = _mm512_xor_si512(column, plane);
                sums = _mm512_add_epi64(sums, _mm512_popcnt_epi64(differing));
            }
        }
        let within = _mm512_cmple_epu64_mask(sums, _mm512_set1_epi64(i64::from(cut)));
        if within != 0 {
            let sums = _mm512_cvtepi64_epi32(sums);
            *lanes = [
                _mm256_extract_epi32::<0>(sums),
                _mm256_extract_epi32::<1>(sums),
                _mm256_extract_epi32::<2>(sums),
                _mm256_extract_epi32::<3>(sums),
                _mm256_extract_epi32::<4>(sums),
                _mm256_extract_epi32::<5>(sums),
                _mm256_extract_epi32::<6>(sums),
                _mm256_extract_epi32::<7>(sums),
            ]
            .map(i32::cast_unsigned);
        }
        within
    }
}

/// The dot products of the query with the int8 codes of the picked slots.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vnni",
    "x86_64+avx2+bmi1+bmi2",
    "x86_64+sse4.2"
))]
pub(super) fn int8_products(query: &[i16], codes: &[u8], picked: &[u32], products: &mut Vec<i32>) {
    products.clear();
    for pick in picked {
        let code = &codes[*pick as usize * query.len()..][..query.len()];
        let mut product = 0;
        for at in 0..query.len() {
            product += i32::from(query[at]) * i32::from(code[at].cast_signed());
        }
        products.push(product);
    }
}
