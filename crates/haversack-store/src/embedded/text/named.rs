//! Lookup of items by normalised title.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::TextError;
use super::reader::TextReader;
use super::visible::VisibleRows;
use crate::embedded::row::{Bitmap, Row};

impl TextReader {
    /// The rows of `among` with each normalised title; empty for a title that more than `most`
    /// readable rows share.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn rows_by_name(
        &self,
        names: &[String],
        visible: &VisibleRows,
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
