//! Bytes of journal entries: numbers in little-endian order, texts and blobs with their length before them.

use std::fmt;

use rusqlite::types::{ToSql, ToSqlOutput, Value, ValueRef};

/// Why the bytes of an entry cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadEntry(pub(crate) String);

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadEntry {}

/// Writes the parts of an entry.
#[derive(Debug, Default)]
pub(super) struct EntryWriter(pub(super) Vec<u8>);

impl EntryWriter {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn u128(&mut self, number: u128) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes a count. Entries are bounded, so it fits.
    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.u8(0),
            ValueRef::Integer(number) => {
                self.u8(1);
                self.0.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Real(number) => {
                self.u8(2);
                self.0.extend_from_slice(&number.to_bits().to_le_bytes());
            }
            ValueRef::Text(text) => {
                self.u8(3);
                self.bytes(text);
            }
            ValueRef::Blob(bytes) => {
                self.u8(4);
                self.bytes(bytes);
            }
        }
    }

    /// Leaves room for a count that is known later.
    pub(super) fn reserve_count(&mut self) -> usize {
        self.u32(0);
        self.0.len() - 4
    }

    pub(super) fn set_count(&mut self, at: usize, count: u32) {
        self.0[at..at + 4].copy_from_slice(&count.to_le_bytes());
    }
}

/// Reads the parts of an entry. Nothing is taken on trust: an entry may be damaged.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryReader<'a>(pub(super) &'a [u8]);

impl<'a> EntryReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], BadEntry> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| BadEntry("an entry ends in the middle".to_owned()))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], BadEntry> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, BadEntry> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, BadEntry> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u128(&mut self) -> Result<u128, BadEntry> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], BadEntry> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, BadEntry> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| BadEntry("an entry holds a name that is not text".to_owned()))
    }

    /// Reads a list. Its length is checked by reading, so a damaged count takes no memory.
    pub(super) fn list<T>(
        &mut self,
        read: impl Fn(&mut EntryReader<'a>) -> Result<T, BadEntry>,
    ) -> Result<Vec<T>, BadEntry> {
        let count = self.u32()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    pub(super) fn value(&mut self) -> Result<EntryValue<'a>, BadEntry> {
        Ok(EntryValue(match self.u8()? {
            0 => ValueRef::Null,
            1 => ValueRef::Integer(i64::from_le_bytes(self.array()?)),
            2 => ValueRef::Real(f64::from_bits(u64::from_le_bytes(self.array()?))),
            3 => ValueRef::Text(self.bytes()?),
            4 => ValueRef::Blob(self.bytes()?),
            other => return Err(BadEntry(format!("an entry holds a value of type {other}"))),
        }))
    }
}

/// A value of an entry, borrowed from its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryValue<'a>(ValueRef<'a>);

impl ToSql for EntryValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            // Text that is not UTF-8 would be refused as borrowed text.
            ValueRef::Text(text) if std::str::from_utf8(text).is_err() => {
                ToSqlOutput::Owned(Value::Blob(text.to_vec()))
            }
            value => ToSqlOutput::Borrowed(value),
        })
    }
}
