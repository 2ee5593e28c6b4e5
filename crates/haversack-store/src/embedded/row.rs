//! Rows: the numbers of item versions, and bitmaps of them.

/// The number of one version of one item. Numbers rise with time and are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(u32);

impl Row {
    /// The row with this number.
    #[must_use]
    pub const fn new(number: u32) -> Row {
        Row(number)
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A set of rows, one bit each: rows are dense, and a search tests millions of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Bitmap {
        Bitmap { words: Vec::new() }
    }

    /// Whether the row is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, row: Row) -> bool {
        self.words.get(row.0 as usize / 64).is_some_and(|word| word >> (row.0 % 64) & 1 == 1)
    }

    /// Adds a row.
    pub fn insert(&mut self, row: Row) {
        let at = row.0 as usize / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (row.0 % 64);
    }

    /// Removes a row.
    pub fn remove(&mut self, row: Row) {
        if let Some(word) = self.words.get_mut(row.0 as usize / 64) {
            *word &= !(1 << (row.0 % 64));
        }
    }

    /// Keeps only the rows that are also in `other`.
    pub fn intersect(&mut self, other: &Bitmap) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// The number of rows in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// The rows in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                #[expect(clippy::cast_possible_truncation, reason = "rows are 32 bits")]
                Some(Row(at as u32 * 64 + bit))
            })
        })
    }
}

impl FromIterator<Row> for Bitmap {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Bitmap {
        let mut bitmap = Bitmap::new();
        rows.into_iter().for_each(|row| bitmap.insert(row));
        bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_is_a_set_of_rows() {
        let rows = [0, 1, 63, 64, 65, 1_000].map(Row::new);
        let mut bitmap: Bitmap = rows.into_iter().collect();
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), rows);
        assert_eq!(bitmap.len(), 6);
        bitmap.remove(Row::new(64));
        bitmap.remove(Row::new(9_999));
        assert!(!bitmap.contains(Row::new(64)) && bitmap.contains(Row::new(65)));
        bitmap.intersect(&[Row::new(65), Row::new(66)].into_iter().collect());
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), [Row::new(65)]);
        assert!(!bitmap.is_empty() && Bitmap::new().is_empty());
    }
}
