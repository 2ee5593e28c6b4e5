//! The built-in table: word pieces and their vectors, as `tools/embedder` writes them.
//!
//! The layout is described in `tools/embedder/table.py`. Rows are bytes on one scale per
//! dimension, so that a text's sum is made of whole numbers and cannot depend on the machine.

use multiversion::multiversion;

use super::Model;

const MAGIC: &[u8] = b"HVSKVEC1";
const CONTINUATION: &[u8] = b"##";
const FREE: u32 = u32::MAX;
/// FNV-1a, 32 bits: pieces are short, and prefixes of a word are hashed in one go.
const HASH_START: u32 = 0x811c_9dc5;
const HASH_STEP: u32 = 0x0100_0193;

/// Numbers in each vector.
pub(super) const DIMENSIONS: usize = 256;

/// Which vector belongs to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row(u32);

/// Where in a word a piece stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Start,
    Inside,
}

/// The pieces, found by hash, and their rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) model: Model,
    scales: Vec<f32>,
    pieces: Vec<&'static [u8]>,
    /// Open addressing: each slot has the row of a piece or is free.
    slots: Vec<u32>,
    piece_bytes_max: usize,
    rows: &'static [[u8; DIMENSIONS]],
    /// The length of each row's vector.
    lengths: Vec<f64>,
}

impl Table {
    /// The table in `bytes`, or `None` when they are something else.
    pub(super) fn read(bytes: &'static [u8]) -> Option<Table> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let dimensions = usize::try_from(number(&mut rest)?).ok()?;
        let count = usize::try_from(number(&mut rest)?).ok()?;
        let name = str::from_utf8(short(&mut rest)?).ok()?.to_owned();
        let version = str::from_utf8(short(&mut rest)?).ok()?.to_owned();
        let model = Model { name, version, dimensions };
        let scales: Option<Vec<f32>> =
            (0..dimensions).map(|_| number(&mut rest).map(f32::from_bits)).collect();
        let scales = scales?;
        let pieces: Option<Vec<&[u8]>> = (0..count).map(|_| short(&mut rest)).collect();
        let pieces = pieces?;
        let (rows, left) = rest.as_chunks::<DIMENSIONS>();
        let is_whole = dimensions == DIMENSIONS && rows.len() == count && left.is_empty();
        if !is_whole || !scales.iter().all(|scale| scale.is_finite()) {
            return None;
        }
        if rows.len() > usize::from(u16::MAX) {
            return None;
        }
        let piece_bytes_max = pieces.iter().map(|piece| piece.len()).max()?;
        let lengths = rows.iter().map(|row| length(row, &scales)).collect();
        let slots = slots(&pieces)?;
        Some(Table { model, scales, slots, pieces, piece_bytes_max, rows, lengths })
    }

    /// The longest piece that `word` starts with, and its length in bytes.
    pub(super) fn longest(&self, word: &[u8], place: Place) -> Option<(Row, usize)> {
        let prefix = match place {
            Place::Start => &[][..],
            Place::Inside => CONTINUATION,
        };
        let mut hash = hash(HASH_START, prefix);
        let mut hashes = [0u32; u8::MAX as usize];
        let reach = word.len().min(self.piece_bytes_max.saturating_sub(prefix.len()));
        for (byte, kept) in word[..reach].iter().zip(&mut hashes) {
            hash = step(hash, *byte);
            *kept = hash;
        }
        // A prefix that ends inside a character equals no piece, because pieces are whole texts.
        (1..=reach).rev().find_map(|end| {
            let row = self.find(hashes[end - 1], prefix, &word[..end])?;
            Some((row, end))
        })
    }

    /// Adds a row to sums. A sum holds sixteen million rows before it overflows.
    pub(super) fn add(&self, row: Row, sums: &mut [i32; DIMENSIONS]) {
        for (sum, byte) in sums.iter_mut().zip(&self.rows[row.0 as usize]) {
            *sum += i32::from(byte.cast_signed());
        }
    }

    /// Sums on the scales of their dimensions.
    pub(super) fn scaled(&self, sums: &[i32; DIMENSIONS]) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "sums of 512 bytes are exact in f32")]
        sums.iter().zip(&self.scales).map(|(sum, scale)| *sum as f32 * scale).collect()
    }

    /// How many pieces there are.
    pub(super) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// A row as a small number: there are fewer than 65,536, which `read` sees to.
    pub(super) fn number(&self, row: Row) -> u16 {
        u16::try_from(row.0).unwrap_or(u16::MAX)
    }

    /// The row that a number stands for.
    pub(super) fn row(&self, number: u16) -> Row {
        Row(u32::from(number))
    }

    /// A row's vector, to be multiplied with rows as they stand, and its length. The scales of both
    /// sides are in it.
    pub(super) fn multiplier(&self, piece: u16) -> ([i16; DIMENSIONS], f64) {
        let row = &self.rows[usize::from(piece)];
        let scaled = |at: usize| {
            f64::from(row[at].cast_signed())
                * f64::from(self.scales[at])
                * f64::from(self.scales[at])
        };
        let most = (0..DIMENSIONS).map(|at| scaled(at).abs()).fold(0.0, f64::max);
        let step = if most > 0.0 { f64::from(i16::MAX) / most } else { 0.0 };
        let mut vector = [0i16; DIMENSIONS];
        for (at, number) in vector.iter_mut().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "no more than the largest i16")]
            let scaled = libm::round(scaled(at) * step) as i16;
            *number = scaled;
        }
        (vector, self.lengths[usize::from(piece)] * step)
    }

    /// How alike two pieces are, -1 to 1: a row, and a vector made by `multiplier`.
    pub(super) fn cosine(&self, piece: u16, vector: &[i16; DIMENSIONS], length: f64) -> f64 {
        let dot = dot(&self.rows[usize::from(piece)], vector);
        let lengths = self.lengths[usize::from(piece)] * length;
        if lengths > 0.0 { f64::from(dot) / lengths } else { 0.0 }
    }

    #[cfg(test)]
    pub(super) fn piece(&self, row: Row) -> &'static str {
        str::from_utf8(self.pieces[row.0 as usize]).unwrap()
    }

    fn find(&self, hash: u32, prefix: &[u8], rest: &[u8]) -> Option<Row> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let row = self.slots[slot];
            if row == FREE {
                return None;
            }
            if self.pieces[row as usize].strip_prefix(prefix) == Some(rest) {
                return Some(Row(row));
            }
            slot = (slot + 1) & mask;
        }
    }
}

fn length(row: &[u8; DIMENSIONS], scales: &[f32]) -> f64 {
    let scaled = row.iter().zip(scales).map(|(b, s)| f64::from(b.cast_signed()) * f64::from(*s));
    scaled.map(|number| number * number).sum::<f64>().sqrt()
}

fn slots(pieces: &[&[u8]]) -> Option<Vec<u32>> {
    // At most a quarter is taken, so that chains stay short and a free slot ends each.
    let mut slots = vec![FREE; (pieces.len() * 4).next_power_of_two()];
    let mask = slots.len() - 1;
    for (row, piece) in pieces.iter().enumerate() {
        let mut slot = hash(HASH_START, piece) as usize & mask;
        while slots[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        slots[slot] = u32::try_from(row).ok()?;
    }
    Some(slots)
}

fn hash(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| step(hash, *byte))
}

fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(HASH_STEP)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

fn short(rest: &mut &'static [u8]) -> Option<&'static [u8]> {
    let (length, after) = rest.split_first()?;
    let (text, after) = after.split_at_checked(usize::from(*length))?;
    *rest = after;
    Some(text)
}
/// The product of a row and a vector, in whole numbers: the same on every processor.
///
/// 256 products of a byte and a small number stay far below the largest i32.
#[multiversion(targets("x86_64+avx2"))]
fn dot(row: &[u8; DIMENSIONS], vector: &[i16; DIMENSIONS]) -> i32 {
    let products = row.iter().zip(vector);
    products.map(|(byte, number)| i32::from(byte.cast_signed()) * i32::from(*number)).sum()
}
