//! Reads the tensors of a `model.safetensors`; the header is checked before any tensor is read.
//!
//! The format is a length, a header in JSON that names each tensor's type, shape and place, and the
//! numbers in little-endian bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use blake3::Hasher;
use haversack_core::embed::from_half;
use serde::Deserialize;

use crate::ModelError;
use crate::file;

/// The file of the weights.
pub(crate) const WEIGHTS: &str = "model.safetensors";

/// Largest file: four times the largest model of this family that people use on a laptop.
const WEIGHTS_BYTES_MAX: u64 = 4 << 30;
const HEADER_BYTES_MAX: u64 = 16 << 20;
/// Read buffer size.
const BLOCK_BYTES: usize = 1 << 20;

/// A tensor that a network needs: its name and its shape.
pub(crate) type TensorSpec = (String, Vec<usize>);

/// The header of a file: its tensors and their offsets.
pub(crate) struct Header {
    path: PathBuf,
    /// Where the numbers begin, and how many bytes they have.
    data: (u64, u64),
    entries: BTreeMap<String, TensorEntry>,
}

#[derive(Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// The number format of a tensor.
#[derive(Clone, Copy)]
enum NumberFormat {
    Single,
    Half,
    Brain,
}

impl NumberFormat {
    fn from_name(name: &str) -> Option<NumberFormat> {
        match name {
            "F32" => Some(NumberFormat::Single),
            "F16" => Some(NumberFormat::Half),
            "BF16" => Some(NumberFormat::Brain),
            _ => None,
        }
    }

    const fn bytes(self) -> u64 {
        match self {
            NumberFormat::Single => 4,
            NumberFormat::Half | NumberFormat::Brain => 2,
        }
    }

    fn numbers(self, bytes: &[u8], out: &mut Vec<f32>) {
        let short = |two: &[u8; 2]| u16::from_le_bytes(*two);
        match self {
            NumberFormat::Single => {
                out.extend(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
            }
            NumberFormat::Half => {
                out.extend(bytes.as_chunks::<2>().0.iter().map(|two| from_half(short(two))));
            }
            NumberFormat::Brain => out.extend(
                bytes
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .map(|two| f32::from_bits(u32::from(short(two)) << 16)),
            ),
        }
    }
}

impl Header {
    pub(crate) fn read(folder: &Path) -> Result<Header, ModelError> {
        let path = folder.join(WEIGHTS);
        let (mut file, bytes) = file::open(&path, WEIGHTS_BYTES_MAX)?;
        let io = |error: std::io::Error| ModelError::io("read", &path, error);
        let short = || ModelError::unreadable(&path, &"it ends inside its header");
        let mut length = [0; 8];
        if bytes < 8 {
            return Err(short());
        }
        file.read_exact(&mut length).map_err(io)?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX {
            let cause = format!("its header would have {length} bytes: is it a safetensors file?");
            return Err(ModelError::unreadable(&path, &cause));
        }
        let Some(data_bytes) = bytes.checked_sub(8 + length) else { return Err(short()) };
        let mut text = vec![0; usize::try_from(length).map_err(|_| short())?];
        file.read_exact(&mut text).map_err(io)?;
        let bad = |error: serde_json::Error| ModelError::unreadable(&path, &error);
        let mut values: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&text).map_err(bad)?;
        values.remove("__metadata__");
        let mut entries = BTreeMap::new();
        for (name, value) in values {
            entries.insert(name, serde_json::from_value(value).map_err(bad)?);
        }
        Ok(Header { path, data: (8 + length, data_bytes), entries })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The shape of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|entry| &entry.shape[..])
    }

    /// Checks that all required tensors exist with the right shape.
    pub(crate) fn check(&self, wanted: &[TensorSpec]) -> Result<(), ModelError> {
        for one in wanted {
            self.place(one)?;
        }
        Ok(())
    }

    /// The location and number format of a required tensor.
    fn place(&self, (name, shape): &TensorSpec) -> Result<TensorPlace, ModelError> {
        let wrong = |what: String| Err(ModelError::weights(&self.path, what));
        // Early checkpoints use other names for these two.
        let old = name.replace("LayerNorm.weight", "LayerNorm.gamma");
        let old = old.replace("LayerNorm.bias", "LayerNorm.beta");
        let Some(entry) = self.entries.get(name).or_else(|| self.entries.get(&old)) else {
            return wrong(format!("there is no tensor {name:?}, which config.json calls for"));
        };
        if entry.shape != *shape {
            let (found, shape) = (&entry.shape, &shape);
            return wrong(format!("{name} has the shape {found:?}, not {shape:?}"));
        }
        let Some(form) = NumberFormat::from_name(&entry.dtype) else {
            return wrong(format!("{name} is of type {}; use F32, F16 or BF16", entry.dtype));
        };
        let numbers = shape.iter().try_fold(1u64, |all, one| all.checked_mul(*one as u64));
        let bytes = numbers.and_then(|numbers| numbers.checked_mul(form.bytes()));
        let (start, end) = entry.data_offsets;
        if end > self.data.1 || end.checked_sub(start) != bytes {
            return wrong(format!(
                "{name} is said to be at bytes {start} to {end}, which cannot be"
            ));
        }
        Ok(TensorPlace { name: name.clone(), form, start, end })
    }

    /// Reads the required tensors, and hashes the whole file.
    pub(crate) fn tensors(
        &self,
        wanted: &[TensorSpec],
        hasher: &mut Hasher,
    ) -> Result<Tensors, ModelError> {
        let mut places: Vec<TensorPlace> =
            wanted.iter().map(|one| self.place(one)).collect::<Result<_, _>>()?;
        places.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
        let (file, _) = file::open(&self.path, WEIGHTS_BYTES_MAX)?;
        let mut reading = TensorReader {
            path: &self.path,
            file: BufReader::with_capacity(BLOCK_BYTES, file),
            block: vec![0; BLOCK_BYTES],
            hasher,
        };
        reading.pass(self.data.0, |_| {})?;
        let mut at = 0;
        let mut tensors = BTreeMap::new();
        for TensorPlace { name, form, start, end } in places {
            let Some(gap) = start.checked_sub(at) else {
                let what = format!("{name} begins inside another tensor");
                return Err(ModelError::weights(&self.path, what));
            };
            reading.pass(gap, |_| {})?;
            let n_numbers = usize::try_from((end - start) / form.bytes()).unwrap_or(0);
            let mut numbers = Vec::with_capacity(n_numbers);
            reading.pass(end - start, |bytes| form.numbers(bytes, &mut numbers))?;
            if !numbers.iter().all(|number| number.is_finite()) {
                let what = format!("{name} holds a number that is not finite");
                return Err(ModelError::weights(&self.path, what));
            }
            tensors.insert(name, numbers);
            at = end;
        }
        reading.pass(self.data.1 - at, |_| {})?;
        Ok(Tensors(tensors))
    }
}

struct TensorPlace {
    name: String,
    form: NumberFormat,
    start: u64,
    end: u64,
}

struct TensorReader<'a> {
    path: &'a Path,
    file: BufReader<File>,
    block: Vec<u8>,
    hasher: &'a mut Hasher,
}

impl TensorReader<'_> {
    /// Reads `bytes` bytes, in blocks of whole numbers.
    fn pass(&mut self, bytes: u64, mut each: impl FnMut(&[u8])) -> Result<(), ModelError> {
        let mut left = bytes;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
            let block = &mut self.block[..length];
            self.file
                .read_exact(block)
                .map_err(|error| ModelError::io("read", self.path, error))?;
            self.hasher.update(block);
            each(block);
            left -= length as u64;
        }
        Ok(())
    }
}

/// Tensors in memory, by name.
pub(crate) struct Tensors(BTreeMap<String, Vec<f32>>);

impl Tensors {
    /// Removes and returns a required tensor.
    pub(crate) fn take(&mut self, name: &str) -> Vec<f32> {
        self.0.remove(name).expect("only what was wanted, and so was read, is taken, and once")
    }
}
