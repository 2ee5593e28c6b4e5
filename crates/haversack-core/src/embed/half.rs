//! Half-precision numbers (IEEE 754 binary16), in which vectors are kept.

/// Rounds to the nearest half-precision number, ties to even; overflow gives infinity.
pub(super) fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let [low, high, ..] = (bits >> 16).to_le_bytes();
    let sign = u16::from_le_bytes([low, high]) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    sign | match magnitude {
        0x7f80_0001.. => 0x7e00,
        // From 65,520 on, the nearest is infinity.
        0x477f_f000.. => 0x7c00,
        // Exponents count from 15 instead of 127. Rounding up may carry into the exponent, which
        // is then the right one.
        0x3880_0000.. => low_half(round(magnitude - (112 << 23), 13)),
        // Below the least normal number steps are of 2^-24.
        0x3300_0001.. => {
            let mantissa = (magnitude & 0x007f_ffff) | 0x0080_0000;
            low_half(round(mantissa, 126 - (magnitude >> 23)))
        }
        _ => 0,
    }
}

/// Converts a half-precision number to `f32`, exactly.
#[must_use]
pub fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from((half >> 10) & 0x1f);
    let mantissa = u32::from(half & 0x03ff);
    let magnitude = match exponent {
        0 => return f32::from_bits(sign | (f32::from(half & 0x03ff) / 16_777_216.0).to_bits()),
        0x1f => 0x7f80_0000 | (mantissa << 13),
        _ => ((exponent + 112) << 23) | (mantissa << 13),
    };
    f32::from_bits(sign | magnitude)
}

/// [`from_half`] for a whole vector, vectorised; `None` when a number is not finite.
pub(super) fn all_from_half(halves: &[[u8; 2]]) -> Option<Box<[f32]>> {
    let mut exponent_max = 0;
    // Branch-free: rebase the exponent from 15 to 127; subnormals get a leading one that is then
    // subtracted.
    let number = |half: &[u8; 2]| {
        let half = u32::from(u16::from_le_bytes(*half));
        exponent_max = exponent_max.max(half & 0x7c00);
        let shifted = (half & 0x7fff) << 13;
        let normal = f32::from_bits(shifted + (112 << 23));
        let below = f32::from_bits(shifted + (113 << 23)) - f32::from_bits(113 << 23);
        let magnitude = if half & 0x7c00 == 0 { below } else { normal };
        f32::from_bits(magnitude.to_bits() | (half & 0x8000) << 16)
    };
    let numbers = halves.iter().map(number).collect();
    (exponent_max < 0x7c00).then_some(numbers)
}

/// Drops the lowest `bits`, rounding to nearest, ties to even.
fn round(number: u32, bits: u32) -> u32 {
    let odd = (number >> bits) & 1;
    (number + (1 << (bits - 1)) - 1 + odd) >> bits
}

fn low_half(number: u32) -> u16 {
    let [low, high, ..] = number.to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use super::{all_from_half, from_half, to_half};

    fn check(value: f32, expected: u16) {
        assert_eq!(to_half(value), expected, "{value}");
        assert_eq!(to_half(-value), expected | 0x8000, "-{value}");
    }

    #[test]
    fn known_numbers() {
        check(0.0, 0);
        check(1.0, 0x3c00);
        check(0.5, 0x3800);
        check(1.0 / 3.0, 0x3555);
        check(65_504.0, 0x7bff);
        check(65_519.0, 0x7bff);
        check(65_520.0, 0x7c00);
        check(f32::INFINITY, 0x7c00);
        check(2.0f32.powi(-14), 0x0400);
        check(2.0f32.powi(-24), 0x0001);
        check(2.0f32.powi(-25), 0x0000);
        check(2.0f32.powi(-25) * 1.001, 0x0001);
        check(2.0f32.powi(-24) * 1.5, 0x0002);
        check(2.0f32.powi(-24) * 2.5, 0x0002);
        check(2.0f32.powi(-14) * 0.9999, 0x0400);
        check(1.0 + 2.0f32.powi(-11), 0x3c00);
        check(1.0 + 3.0 * 2.0f32.powi(-11), 0x3c02);
    }

    #[test]
    fn every_half_round_trips() {
        for half in 0..=u16::MAX {
            let value = from_half(half);
            if value.is_nan() {
                assert!(from_half(to_half(value)).is_nan());
            } else {
                assert_eq!(to_half(value), half, "{half:#06x}");
            }
        }
    }

    #[test]
    fn vectorised_conversion_gives_the_same_numbers() {
        for half in 0..=u16::MAX {
            let bytes = half.to_le_bytes();
            let value = from_half(half);
            let expected = value.is_finite().then(|| value.to_bits());
            for count in [1, 19] {
                let all = all_from_half(&vec![bytes; count]);
                let found = all.map(|all| all.iter().map(|n| n.to_bits()).collect::<Vec<_>>());
                assert_eq!(found, expected.map(|bits| vec![bits; count]), "{half:#06x}");
            }
        }
    }
}
