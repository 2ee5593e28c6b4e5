//! A text's shingles in 256 bytes, from which similarity can be estimated.

use super::normalised;
use super::shingles::{Shingles, mix};
use crate::units::Score;

/// Numbers of a signature: the estimate's error is about one in the root of this, 0.06 at worst.
const LANES: usize = 64;

/// `(multiplier, addend)` of each lane's hash. Fixed: sketches may be stored.
const LANE_HASHES: [(u64, u64); LANES] = lane_hashes();

/// A `MinHash` signature: two texts' sketches agree in about as many places as their sets of
/// shingles overlap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sketch([u32; LANES]);

impl Sketch {
    /// The sketch of a text. Case and white space make no difference.
    #[must_use]
    pub fn from_text(text: &str) -> Sketch {
        let mut lanes = [u32::MAX; LANES];
        for hash in Shingles::from_text(&normalised(text)).hashes {
            for (lane, (multiplier, addend)) in lanes.iter_mut().zip(LANE_HASHES) {
                let value = hash.wrapping_mul(multiplier).wrapping_add(addend) >> 32;
                let value = value as u32;
                *lane = (*lane).min(value);
            }
        }
        Sketch(lanes)
    }

    /// The estimated Jaccard similarity of the shingles, 0 to 1. An empty text is like nothing.
    #[must_use]
    pub fn similarity(&self, other: &Sketch) -> Score {
        let agree = |(a, b): &(&u32, &u32)| a == b && **a != u32::MAX;
        let n_alike = self.0.iter().zip(&other.0).filter(agree).count();
        #[expect(clippy::cast_precision_loss, reason = "both are at most 64")]
        let share = n_alike as f64 / LANES as f64;
        Score::unit(share)
    }
}

const fn lane_hashes() -> [(u64, u64); LANES] {
    let mut hashes = [(0, 0); LANES];
    let mut lane = 0;
    let mut state = 0x4861_7665_7273_6163_u64;
    while lane < LANES {
        let multiplier = mix(state, &1) | 1;
        let addend = mix(state, &2);
        hashes[lane] = (multiplier, addend);
        state = mix(state, &3);
        lane += 1;
    }
    hashes
}
