//! Row operations of a transformer between its matrix products.
//!
//! Plain loops without closures, compiled for several processors; sums run in lanes that are joined
//! in a fixed order, and nothing is fused, so that every processor gives the same bits. What is
//! called is always inlined, so that it becomes part of each processor's version.

#![expect(clippy::needless_range_loop, reason = "iterators with closures would not be inlined")]

use multiversion::multiversion;

const LANES: usize = 16;

/// Weights and bias of a layer norm.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) epsilon: f32,
}

/// Adds the bias to each row.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        for at in 0..bias.len() {
            row[at] += bias[at];
        }
    }
}

/// Adds the bias to each row and applies GELU.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_bias_and_gelu(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_exact_mut(bias.len()) {
        for at in 0..bias.len() {
            row[at] = gelu(row[at] + bias[at]);
        }
    }
}

/// Adds the bias and the residual rows, then applies layer normalisation.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn add_and_norm(rows: &mut [f32], bias: &[f32], before: &[f32], norm: &Norm) {
    let size = bias.len();
    for (row, before) in rows.chunks_exact_mut(size).zip(before.chunks_exact(size)) {
        for at in 0..size {
            row[at] += bias[at] + before[at];
        }
        normalise(row, norm);
    }
}

/// Applies layer normalisation.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn norm(rows: &mut [f32], norm: &Norm) {
    for row in rows.chunks_exact_mut(norm.weight.len()) {
        normalise(row, norm);
    }
}

/// Applies softmax to each row.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn softmax(rows: &mut [f32], size: usize, scale: f32) {
    for row in rows.chunks_exact_mut(size) {
        let mut largest = f32::NEG_INFINITY;
        for at in 0..size {
            largest = if row[at] > largest { row[at] } else { largest };
        }
        for at in 0..size {
            row[at] = exp((row[at] - largest) * scale);
        }
        let share = 1.0 / sum(row);
        for at in 0..size {
            row[at] *= share;
        }
    }
}

#[inline(always)]
fn normalise(row: &mut [f32], norm: &Norm) {
    #[expect(clippy::cast_precision_loss, reason = "a row has a few thousand numbers")]
    let share = 1.0 / row.len() as f32;
    let mean = sum(row) * share;
    for at in 0..row.len() {
        row[at] -= mean;
    }
    let scale = 1.0 / (sum_of_squares(row) * share + norm.epsilon).sqrt();
    let (weight, bias) = (&norm.weight[..row.len()], &norm.bias[..row.len()]);
    for at in 0..row.len() {
        row[at] = row[at] * scale * weight[at] + bias[at];
    }
}

#[inline(always)]
fn sum(row: &[f32]) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for at in 0..LANES {
            lanes[at] += chunk[at];
        }
    }
    joined(&lanes, rest)
}

#[inline(always)]
fn sum_of_squares(row: &[f32]) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for chunk in chunks {
        for at in 0..LANES {
            lanes[at] += chunk[at] * chunk[at];
        }
    }
    let mut all = joined(&lanes, &[]);
    for number in rest {
        all += number * number;
    }
    all
}

#[inline(always)]
fn joined(lanes: &[f32; LANES], rest: &[f32]) -> f32 {
    let mut all = 0.0;
    for lane in lanes {
        all += lane;
    }
    for number in rest {
        all += number;
    }
    all
}

/// `e` to the power of a number; what is out of range becomes very small or very large.
///
/// Powers of two are made from exponent bits, the rest by a polynomial: off by 2 in ten million.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding it rounds to a whole number, which then stands in the lowest bits.
    const ROUNDING: f32 = 12_582_912.0;
    // The logarithm of two in two parts, of which the first is exact in few bits.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > -87.0 { x } else { -87.0 };
    let x = if x < 88.0 { x } else { 88.0 };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let whole = shifted - ROUNDING;
    let r = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0));
    let power = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail)));
    power * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// `x` times the share of a normal distribution below `x`.
///
/// The complementary error function is formula 7.1.26 of Abramowitz and Stegun: off by 2 in ten
/// million.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let tail = -0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152_1 + t * 1.061_405_4));
    let half = 0.5 * t * (0.254_829_6 + t * tail) * exp(-z * z);
    let share = if x < 0.0 { half } else { 1.0 - half };
    x * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_and_gelu_are_near_those_of_double_precision() {
        for step in -2_000..=2_000 {
            let x = step as f32 * 0.01;
            let exact = f64::from(x).exp();
            let off = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(off < 4e-7, "exp({x}) is off by {off}");
        }
        assert!(exp(-1e30) < 1e-37 && exp(f32::NEG_INFINITY) < 1e-37);
        // From a table of the normal distribution.
        for (x, share) in [(0.0, 0.5), (0.5, 0.691_462_46), (1.0, 0.841_344_8), (2.5, 0.993_790_3)]
        {
            assert!((gelu(x) - x * share).abs() < 1e-6, "gelu({x})");
            assert!((gelu(-x) + x * (1.0 - share)).abs() < 1e-6, "gelu(-{x})");
        }
        assert!(gelu(-40.0).abs() < 1e-30 && (gelu(40.0) - 40.0).abs() < 1e-6);
    }

    #[test]
    fn shares_add_up_to_one() {
        let mut rows: Vec<f32> = (0..38).map(|at| (at * 7 % 19) as f32).collect();
        softmax(&mut rows, 19, 0.5);
        for row in rows.chunks_exact(19) {
            assert!((sum(row) - 1.0).abs() < 1e-6);
        }
    }
}
