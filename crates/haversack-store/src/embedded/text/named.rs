//! Items by the keys of their titles.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::TextError;
use super::reader::TextReader;
use super::visible::Visible;
use crate::embedded::row::{Bitmap, Row};

impl TextReader {
    /// The rows of `among` that go by each name, by its key, in the order of the names; none where
    /// more than `most` readable ones do.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn named(
        &self,
        names: &[String],
        visible: &Visible,
        among: &Bitmap,
        most: usize,
    ) -> Result<Vec<Vec<Row>>, TextError> {
        let mut found: Vec<Vec<(u64, Row)>> = vec![Vec::new(); names.len()];
        for (segment, documents) in self.segments().iter().zip(visible.documents(self)) {
            let index = &segment.names;
            for (name, found) in names.iter().zip(&mut found) {
                let Some(info) = index.terms().get(name.as_bytes()).map_err(TextError::read)?
                else {
                    continue;
                };
                let postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic);
                let mut postings = postings.map_err(TextError::read)?;
                while postings.doc() != TERMINATED {
                    let document = postings.doc();
                    if found.len() <= most && documents.contains(document) {
                        found.push((segment.tie(document), segment.row(document)));
                    }
                    postings.advance();
                }
            }
        }
        let rows = |mut found: Vec<(u64, Row)>| {
            if found.len() > most {
                return Vec::new();
            }
            found.sort_unstable();
            found.retain(|(_, row)| among.contains(*row));
            found.into_iter().map(|(_, row)| row).collect()
        };
        Ok(found.into_iter().map(rows).collect())
    }
}
