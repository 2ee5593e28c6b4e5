//! The encoding of vectors: slots, one bit per dimension, one byte per dimension, and a scale.
//!
//! The layout is the same in memory and in files, little-endian. Binary codes are interleaved in
//! groups of eight slots, word by word, so that eight distances are computed in parallel.

use std::ops::Range;

use super::VectorSlot;
use super::rotation::rotate;
use crate::embedded::row::Row;

/// Slots whose binary codes are interleaved.
pub(super) const GROUP: usize = 8;

/// The number of sections: rows, places, binary codes, int8 codes, scales.
pub(super) const SECTIONS: usize = 5;

const ALIGNMENT: usize = 64;
const PLACE_BYTES: usize = 16;

/// The sizes that follow from the number of dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeLayout {
    pub(super) dimensions: usize,
}

impl CodeLayout {
    pub(super) const fn words(self) -> usize {
        self.dimensions.div_ceil(64)
    }

    /// The largest possible distance in the first stage.
    pub(super) const fn distance_max(self) -> usize {
        self.words() * 64 * ((1 << PLANES) - 1)
    }

    pub(super) const fn group_bytes(self) -> usize {
        self.words() * 8 * GROUP
    }

    const fn section_lengths(self, count: usize) -> [usize; SECTIONS] {
        [
            count * 4,
            count * PLACE_BYTES,
            count.div_ceil(GROUP) * self.group_bytes(),
            count * self.dimensions,
            count * 4,
        ]
    }

    /// The byte ranges of the sections, each with its padding.
    pub(super) fn sections(self, count: usize) -> [Range<usize>; SECTIONS] {
        let mut at = 0;
        self.section_lengths(count).map(|length| {
            let start = at;
            at += length.next_multiple_of(ALIGNMENT);
            start..at
        })
    }

    pub(super) fn body_bytes(self, count: usize) -> usize {
        self.section_lengths(count).iter().map(|length| length.next_multiple_of(ALIGNMENT)).sum()
    }
}

/// The codes of one part of the index, borrowed from memory or a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codes<'a> {
    pub(super) layout: CodeLayout,
    pub(super) rows: &'a [[u8; 4]],
    places: &'a [[u8; PLACE_BYTES]],
    pub(super) binary: &'a [u8],
    pub(super) int8: &'a [u8],
    scales: &'a [[u8; 4]],
}

impl<'a> Codes<'a> {
    /// The codes in a body of exactly `layout.body_bytes(count)` bytes.
    pub(super) fn of_body(layout: CodeLayout, count: usize, body: &'a [u8]) -> Codes<'a> {
        let [rows, places, binary, int8, scales] = layout.sections(count);
        let lengths = layout.section_lengths(count);
        Codes {
            layout,
            rows: body[rows][..lengths[0]].as_chunks().0,
            places: body[places][..lengths[1]].as_chunks().0,
            binary: &body[binary][..lengths[2]],
            int8: &body[int8][..lengths[3]],
            scales: body[scales][..lengths[4]].as_chunks().0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, at: usize) -> Row {
        Row::new(u32::from_le_bytes(self.rows[at]))
    }

    pub(super) fn slot(&self, at: usize) -> VectorSlot {
        let ([chunk, embedding, low, high], _) = self.places[at].as_chunks::<4>() else {
            unreachable!("a place has sixteen bytes")
        };
        let [low, high] = [low, high].map(|half| u64::from(u32::from_le_bytes(*half)));
        VectorSlot {
            row: self.row(at),
            chunk: u32::from_le_bytes(*chunk),
            embedding: u32::from_le_bytes(*embedding),
            tie: low | high << 32,
        }
    }

    /// The scale of a slot; zero for a zero vector, which is never a hit.
    pub(super) fn scale(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.scales[at])
    }

    pub(super) fn quantised(&self, at: usize) -> QuantisedVector {
        let (group, lane) = (at / GROUP, at % GROUP);
        let group = &self.binary[group * self.layout.group_bytes()..][..self.layout.group_bytes()];
        let words = group.as_chunks::<8>().0.iter().skip(lane).step_by(GROUP);
        let dimensions = self.layout.dimensions;
        QuantisedVector {
            words: words.map(|bytes| u64::from_le_bytes(*bytes)).collect(),
            bytes: self.int8[at * dimensions..][..dimensions].to_vec(),
            scale: self.scale(at),
        }
    }
}

/// One vector's codes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuantisedVector {
    pub(super) words: Vec<u64>,
    /// Two's complement.
    bytes: Vec<u8>,
    scale: f32,
}

impl QuantisedVector {
    /// The codes of a finite vector.
    pub(super) fn from_vector(vector: &[f32]) -> QuantisedVector {
        let largest = largest_magnitude(vector);
        let scale = largest / 127.0;
        let factor = if scale > 0.0 { 127.0 / largest } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "at most 127 in size")]
        let byte = |value: &f32| ((value * factor).round() as i8).cast_unsigned();
        QuantisedVector {
            words: sign_bits(&rotate(vector)),
            bytes: vector.iter().map(byte).collect(),
            scale: if factor.is_finite() { scale } else { 0.0 },
        }
    }
}

/// Bits per dimension of a query in the first stage.
pub(super) const PLANES: usize = 4;

/// A query's codes, more precise than a slot's.
#[derive(Debug)]
pub(super) struct QueryCodes {
    /// Odd numbers from -15 to 15, rotated: bit `b` of a dimension stands for `2^b`, added if set
    /// and else subtracted. So a product with signs is a sum of differing bits, each with the
    /// weight of its plane. The heaviest plane comes first.
    pub(super) planes: Vec<u64>,
    pub(super) values: Vec<i16>,
    /// The size of one quantisation step.
    pub(super) scale: f32,
}

impl QueryCodes {
    /// The codes of a finite vector that is not zero.
    pub(super) fn from_vector(vector: &[f32]) -> QueryCodes {
        // The sum of the largest products fits into 32 bits.
        let bound = (i32::MAX as usize / (128 * vector.len().max(1))).min(i16::MAX as usize);
        let largest = largest_magnitude(vector);
        #[expect(clippy::cast_precision_loss, reason = "at most 15 bits")]
        let bound = bound as f32;
        #[expect(clippy::cast_possible_truncation, reason = "at most the bound in size")]
        let value = |value: &f32| (value / largest * bound).round() as i16;
        let values = vector.iter().map(value).collect();
        QueryCodes { planes: bit_planes(&rotate(vector)), values, scale: largest / bound }
    }
}

fn bit_planes(rotated: &[f32]) -> Vec<u64> {
    let largest = largest_magnitude(rotated);
    let half = f32::from(1_u8 << (PLANES - 1));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 15")]
    let step = |value: &f32| ((value / largest * (half - 0.5) - 0.5).round() + half) as u64;
    let steps: Vec<u64> = rotated.iter().map(step).collect();
    let word = |bit: usize, steps: &[u64]| {
        steps.iter().enumerate().fold(0, |word, (at, step)| word | (step >> bit & 1) << at)
    };
    let planes = (0..PLANES).rev();
    planes.flat_map(|bit| steps.chunks(64).map(move |steps| word(bit, steps))).collect()
}

fn largest_magnitude(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()))
}

fn sign_bits(vector: &[f32]) -> Vec<u64> {
    let word = |values: &[f32]| {
        values.iter().enumerate().fold(0, |word, (at, value)| word | u64::from(*value > 0.0) << at)
    };
    vector.chunks(64).map(word).collect()
}

/// Growing codes in memory.
#[derive(Debug, Clone)]
pub(super) struct CodeBlock {
    layout: CodeLayout,
    rows: Vec<[u8; 4]>,
    places: Vec<[u8; PLACE_BYTES]>,
    binary: Vec<u8>,
    int8: Vec<u8>,
    scales: Vec<[u8; 4]>,
}

impl CodeBlock {
    pub(super) const fn new(layout: CodeLayout) -> CodeBlock {
        CodeBlock {
            layout,
            rows: Vec::new(),
            places: Vec::new(),
            binary: Vec::new(),
            int8: Vec::new(),
            scales: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn push(&mut self, slot: VectorSlot, codes: &QuantisedVector) {
        let lane = self.len() % GROUP;
        if lane == 0 {
            self.binary.resize(self.binary.len() + self.layout.group_bytes(), 0);
        }
        let group = self.binary.len() - self.layout.group_bytes();
        let columns = self.binary[group..].as_chunks_mut::<8>().0.iter_mut();
        for (column, word) in columns.skip(lane).step_by(GROUP).zip(&codes.words) {
            *column = word.to_le_bytes();
        }
        let mut place = [0; PLACE_BYTES];
        place[..4].copy_from_slice(&slot.chunk.to_le_bytes());
        place[4..8].copy_from_slice(&slot.embedding.to_le_bytes());
        place[8..].copy_from_slice(&slot.tie.to_le_bytes());
        self.rows.push(slot.row.get().to_le_bytes());
        self.places.push(place);
        self.int8.extend_from_slice(&codes.bytes);
        self.scales.push(codes.scale.to_le_bytes());
    }

    pub(super) fn codes(&self) -> Codes<'_> {
        Codes {
            layout: self.layout,
            rows: &self.rows,
            places: &self.places,
            binary: &self.binary,
            int8: &self.int8,
            scales: &self.scales,
        }
    }

    /// The sections as written to a file, with their padding.
    pub(super) fn sections(&self) -> [Vec<u8>; SECTIONS] {
        [
            self.rows.as_flattened(),
            self.places.as_flattened(),
            &self.binary,
            &self.int8,
            self.scales.as_flattened(),
        ]
        .map(|bytes| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            bytes
        })
    }
}
