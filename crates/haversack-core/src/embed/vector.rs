//! Unit vectors: cosine similarity and the on-disk format.

use thiserror::Error;

use super::half::{all_from_half, from_half, to_half};

/// Sums run in this many lanes, joined in a fixed order, so the compiler can vectorise and every
/// machine gives the same bits.
const LANES: usize = 16;

/// Tolerance for the squared length of a stored vector: half precision rounds each number by at
/// most 1 in 2048.
const LENGTH_SLACK: f64 = 0.01;

/// A vector of unit length (or all zero for a text without any known piece).
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Box<[f32]>);

/// Why a vector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorError {
    /// It has no numbers.
    #[error("a vector has no numbers")]
    Empty,
    /// One is infinite or not a number.
    #[error("number {place} of a vector is not finite")]
    NotFinite {
        /// Which, from zero.
        place: usize,
    },
    /// Half-precision numbers take two bytes each.
    #[error("{bytes} bytes are not a whole number of half-precision numbers")]
    OddBytes {
        /// How many bytes there are.
        bytes: usize,
    },
    /// A stored vector is neither of unit length nor zero.
    #[error("a stored vector of {dimensions} numbers is not of unit length")]
    NotUnit {
        /// How many numbers it has.
        dimensions: usize,
    },
}

impl Vector {
    /// Normalises `numbers` to unit length; the zero vector stays zero.
    ///
    /// # Errors
    ///
    /// When there are no numbers or one is not finite.
    pub fn new(mut numbers: Vec<f32>) -> Result<Vector, VectorError> {
        let length = squared(&numbers)?.sqrt();
        if length > 0.0 {
            for number in &mut numbers {
                #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
                let scaled = (f64::from(*number) / length) as f32;
                // Adding zero turns -0.0 into 0.0, so that equal vectors have equal bytes.
                *number = scaled + 0.0;
            }
        } else {
            numbers.fill(0.0);
        }
        Ok(Vector(numbers.into_boxed_slice()))
    }

    /// Takes the numbers of a vector that was normalised before. They are not normalised again, so that
    /// they keep their bits.
    ///
    /// # Errors
    ///
    /// When the numbers are not those of a vector.
    pub fn from_unit(numbers: Vec<f32>) -> Result<Vector, VectorError> {
        let length = squared(&numbers)?;
        if length > 0.0 && (length - 1.0).abs() > LENGTH_SLACK {
            return Err(VectorError::NotUnit { dimensions: numbers.len() });
        }
        Ok(Vector(numbers.into_boxed_slice()))
    }

    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The numbers, without a copy.
    #[must_use]
    pub fn into_numbers(self) -> Vec<f32> {
        self.0.into_vec()
    }

    /// Whether it is zero, as for a text without known pieces. Its cosine with any vector is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|number| *number == 0.0)
    }

    /// The cosine similarity with `other`, from -1 to 1; rounding may exceed the range slightly.
    ///
    /// # Panics
    ///
    /// When the lengths differ: vectors of two models cannot be compared.
    #[must_use]
    pub fn dot(&self, other: &Vector) -> f32 {
        assert_eq!(self.0.len(), other.0.len(), "vectors of different models cannot be compared");
        product(&self.0, &other.0)
    }

    /// The numbers in half precision, two little-endian bytes each.
    #[must_use]
    pub fn to_half(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| to_half(*number).to_le_bytes()).collect()
    }

    /// Reads what [`Vector::to_half`] wrote. It is not normalised again, so that it round-trips.
    ///
    /// # Errors
    ///
    /// When the bytes are not a valid vector.
    pub fn from_half(bytes: &[u8]) -> Result<Vector, VectorError> {
        let (pairs, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(VectorError::OddBytes { bytes: bytes.len() });
        }
        let Some(numbers) = all_from_half(pairs) else {
            let is_finite = |pair: &[u8; 2]| from_half(u16::from_le_bytes(*pair)).is_finite();
            let place = pairs.iter().position(|pair| !is_finite(pair)).unwrap_or(0);
            return Err(VectorError::NotFinite { place });
        };
        if numbers.is_empty() {
            return Err(VectorError::Empty);
        }
        let squared = f64::from(product(&numbers, &numbers));
        if squared != 0.0 && (squared - 1.0).abs() > LENGTH_SLACK {
            return Err(VectorError::NotUnit { dimensions: numbers.len() });
        }
        Ok(Vector(numbers))
    }
}

/// The sum of products, in lanes.
fn product(left: &[f32], right: &[f32]) -> f32 {
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for (left, right) in left.iter().zip(right) {
        for (lane, (l, r)) in lanes.iter_mut().zip(left.iter().zip(right)) {
            *lane += l * r;
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(l, r)| l * r);
    lanes.into_iter().chain(rest).fold(0.0, |sum, part| sum + part)
}

/// The squared length, summed in order; `f64` holds the square of every `f32`.
fn squared(numbers: &[f32]) -> Result<f64, VectorError> {
    if numbers.is_empty() {
        return Err(VectorError::Empty);
    }
    if let Some(place) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(VectorError::NotFinite { place });
    }
    Ok(numbers.iter().map(|number| f64::from(*number)).map(|number| number * number).sum())
}
