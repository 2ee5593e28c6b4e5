//! A fixed rotation before signs are taken.
//!
//! Models weight their dimensions unequally, and a sign drops the weight. After a rotation all
//! dimensions carry about the same weight, so the sign bits are more informative. The rotation is
//! the same for all vectors of all workspaces, so it reveals nothing about them. It is part of the
//! file format: additions in a fixed order, bit-identical on every processor.

const ROUNDS: u64 = 4;

/// The vector, padded with zeros to whole words and rotated.
pub(super) fn rotate(vector: &[f32]) -> Vec<f32> {
    let mut rotated = vector.to_vec();
    rotated.resize(vector.len().next_multiple_of(64), 0.0);
    // The transform needs a power of two, so it alternates between the overlapping start and end.
    let width = 1 << rotated.len().ilog2();
    let start = rotated.len() - width;
    for round in 0..ROUNDS {
        for (value, at) in rotated.iter_mut().zip(0_u64..) {
            if mix(round << 32 | at) & 1 == 1 {
                *value = -*value;
            }
        }
        let start = if round % 2 == 0 { 0 } else { start };
        transform(&mut rotated[start..start + width]);
    }
    rotated
}

/// The normalised Walsh-Hadamard transform.
fn transform(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        half *= 2;
    }
    #[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
    let factor = 1.0 / (values.len() as f32).sqrt();
    values.iter_mut().for_each(|value| *value *= factor);
}

/// Pseudo-random numbers by the finaliser of SplitMix64.
const fn mix(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dimensions: usize) {
        let first: Vec<f32> = (0..dimensions).map(|at| 1.0 / (at as f32 + 1.0)).collect();
        let second: Vec<f32> = (0..dimensions).map(|at| (at as f32).sin()).collect();
        let product = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (a, b) = (rotate(&first), rotate(&second));
        assert_eq!(a.len() % 64, 0);
        for (rotated, plain) in [
            (product(&a, &a), product(&first, &first)),
            (product(&b, &b), product(&second, &second)),
            (product(&a, &b), product(&first, &second)),
        ] {
            let scale = product(&second, &second).max(1.0);
            assert!((rotated - plain).abs() < 1e-4 * scale, "{rotated} for {plain}");
        }
    }

    #[test]
    fn rotation_preserves_lengths_and_angles() {
        [1, 2, 63, 64, 65, 100, 256, 384, 768, 1_536, 8_192].into_iter().for_each(check);
    }

    #[test]
    fn rotation_spreads_one_dimension_over_all() {
        for dimensions in [100, 256, 384, 1_536] {
            let mut vector = vec![0.0; dimensions];
            vector[dimensions / 3] = 1.0;
            let rotated = rotate(&vector);
            let largest = rotated.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            assert!(largest < 6.0 / (rotated.len() as f32).sqrt(), "{largest}");
        }
    }

    #[test]
    fn the_rotation_is_part_of_the_format() {
        let vector: Vec<f32> = (0..100_u16).map(|at| f32::from(at) - 40.5).collect();
        let bytes: Vec<u8> = rotate(&vector).iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(crc32fast::hash(&bytes), 3_123_535_269);
    }
}
