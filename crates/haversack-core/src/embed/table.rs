//! The built-in table: word pieces and their vectors, as `tools/embedder` writes them.
//!
//! `tools/embedder/table.py` describes the format. Rows are bytes with one scale per dimension, so
//! sums are integers and do not depend on the machine.

use multiversion::multiversion;

use super::Model;

const MAGIC: &[u8] = b"HVSKVEC1";
const CONTINUATION: &[u8] = b"##";
const FREE: u32 = u32::MAX;
/// FNV-1a, 32 bits: pieces are short, and all prefixes of a word are hashed in one pass.
const HASH_START: u32 = 0x811c_9dc5;
const HASH_STEP: u32 = 0x0100_0193;

/// Numbers in each vector.
pub(super) const DIMENSIONS: usize = 256;

/// The index of a piece's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableRow(u32);

/// The position of a piece within a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PiecePosition {
    Start,
    Inside,
}

/// The pieces, in a hash table, and their rows.
#[derive(Debug)]
pub(super) struct PieceTable {
    pub(super) model: Model,
    scales: Vec<f32>,
    pieces: Vec<&'static [u8]>,
    /// Open addressing: each slot holds the row of a piece or is free.
    slots: Vec<u32>,
    piece_bytes_max: usize,
    rows: &'static [[u8; DIMENSIONS]],
    /// The length of each row's vector.
    lengths: Vec<f64>,
}

impl PieceTable {
    /// Parses a table; `None` when the bytes are malformed.
    pub(super) fn read(bytes: &'static [u8]) -> Option<PieceTable> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let dimensions = usize::try_from(read_u32(&mut rest)?).ok()?;
        let count = usize::try_from(read_u32(&mut rest)?).ok()?;
        let name = str::from_utf8(read_bytes(&mut rest)?).ok()?.to_owned();
        let version = str::from_utf8(read_bytes(&mut rest)?).ok()?.to_owned();
        let model = Model { name, version, dimensions };
        let scales: Option<Vec<f32>> =
            (0..dimensions).map(|_| read_u32(&mut rest).map(f32::from_bits)).collect();
        let scales = scales?;
        let pieces: Option<Vec<&[u8]>> = (0..count).map(|_| read_bytes(&mut rest)).collect();
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
        let lengths = rows.iter().map(|row| vector_length(row, &scales)).collect();
        let slots = hash_slots(&pieces)?;
        Some(PieceTable { model, scales, slots, pieces, piece_bytes_max, rows, lengths })
    }

    /// The longest piece that `word` starts with, and its length in bytes.
    pub(super) fn longest(&self, word: &[u8], place: PiecePosition) -> Option<(TableRow, usize)> {
        let prefix = match place {
            PiecePosition::Start => &[][..],
            PiecePosition::Inside => CONTINUATION,
        };
        let mut hash = hash(HASH_START, prefix);
        let mut hashes = [0u32; u8::MAX as usize];
        let reach = word.len().min(self.piece_bytes_max.saturating_sub(prefix.len()));
        for (byte, kept) in word[..reach].iter().zip(&mut hashes) {
            hash = hash_step(hash, *byte);
            *kept = hash;
        }
        // A prefix that ends inside a character matches no piece, because pieces are valid UTF-8.
        (1..=reach).rev().find_map(|end| {
            let row = self.find(hashes[end - 1], prefix, &word[..end])?;
            Some((row, end))
        })
    }

    /// Adds a row to sums. A sum holds sixteen million rows before it overflows.
    pub(super) fn add(&self, row: TableRow, sums: &mut [i32; DIMENSIONS]) {
        for (sum, byte) in sums.iter_mut().zip(&self.rows[row.0 as usize]) {
            *sum += i32::from(byte.cast_signed());
        }
    }

    /// Sums multiplied by the scale of each dimension.
    pub(super) fn scaled(&self, sums: &[i32; DIMENSIONS]) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "sums of 512 bytes are exact in f32")]
        sums.iter().zip(&self.scales).map(|(sum, scale)| *sum as f32 * scale).collect()
    }

    /// How many pieces there are.
    pub(super) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The id of a row. `read` ensures that there are fewer than 65,536.
    pub(super) fn number(&self, row: TableRow) -> u16 {
        u16::try_from(row.0).unwrap_or(u16::MAX)
    }

    /// The row of an id.
    pub(super) fn row(&self, number: u16) -> TableRow {
        TableRow(u32::from(number))
    }

    /// A row's vector, prepared for products with unscaled rows, and its length. It includes the
    /// scales of both sides.
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

    /// The cosine of a piece and a vector made by `multiplier`, -1 to 1.
    pub(super) fn cosine(&self, piece: u16, vector: &[i16; DIMENSIONS], length: f64) -> f64 {
        let dot = dot(&self.rows[usize::from(piece)], vector);
        let lengths = self.lengths[usize::from(piece)] * length;
        if lengths > 0.0 { f64::from(dot) / lengths } else { 0.0 }
    }

    #[cfg(test)]
    pub(super) fn piece(&self, row: TableRow) -> &'static str {
        str::from_utf8(self.pieces[row.0 as usize]).unwrap()
    }

    fn find(&self, hash: u32, prefix: &[u8], rest: &[u8]) -> Option<TableRow> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let row = self.slots[slot];
            if row == FREE {
                return None;
            }
            if self.pieces[row as usize].strip_prefix(prefix) == Some(rest) {
                return Some(TableRow(row));
            }
            slot = (slot + 1) & mask;
        }
    }
}

fn vector_length(row: &[u8; DIMENSIONS], scales: &[f32]) -> f64 {
    let scaled = row.iter().zip(scales).map(|(b, s)| f64::from(b.cast_signed()) * f64::from(*s));
    scaled.map(|number| number * number).sum::<f64>().sqrt()
}

fn hash_slots(pieces: &[&[u8]]) -> Option<Vec<u32>> {
    // At most a quarter of the slots is used, so chains stay short and end at a free slot.
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
    bytes.iter().fold(start, |hash, byte| hash_step(hash, *byte))
}

fn hash_step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(HASH_STEP)
}

fn read_u32(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

fn read_bytes(rest: &mut &'static [u8]) -> Option<&'static [u8]> {
    let (length, after) = rest.split_first()?;
    let (text, after) = after.split_at_checked(usize::from(*length))?;
    *rest = after;
    Some(text)
}

/// The integer dot product of a row and a vector, the same on every processor.
///
/// 256 products of an `i8` and an `i16` cannot overflow an `i32`.
#[multiversion(targets("x86_64+avx2"))]
fn dot(row: &[u8; DIMENSIONS], vector: &[i16; DIMENSIONS]) -> i32 {
    let products = row.iter().zip(vector);
    products.map(|(byte, number)| i32::from(byte.cast_signed()) * i32::from(*number)).sum()
}
