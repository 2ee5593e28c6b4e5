//! `spans.tsv`: evidence that is known to the character.

use std::ops::Range;

use super::error::EvalError;
use super::rows::Row;

/// What offsets count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Characters,
}

/// Where `spans.tsv` has what, as its first line says.
pub(super) struct Columns {
    question: usize,
    document: usize,
    start: usize,
    end: usize,
    pub(super) unit: Unit,
}

impl Columns {
    pub(super) fn of(header: &Row) -> Result<Columns, EvalError> {
        let at = |name: &str| header.fields.iter().position(|field| field == name);
        let needed = |name: &str| {
            at(name).ok_or_else(|| header.wrong(format!("{name}: the header has no such column")))
        };
        let (question, document) = (needed("query-id")?, needed("doc-id")?);
        if let (Some(start), Some(end)) = (at("start_byte"), at("end_byte")) {
            return Ok(Columns { question, document, start, end, unit: Unit::Bytes });
        }
        let (start, end) = (needed("start_char")?, needed("end_char")?);
        Ok(Columns { question, document, start, end, unit: Unit::Characters })
    }

    /// The question, the document and the offsets in a row.
    pub(super) fn read<'r>(
        &self,
        row: &'r Row,
    ) -> Result<(&'r str, &'r str, Range<usize>), EvalError> {
        let field = |at: usize| {
            let field = row.fields.get(at);
            field.ok_or_else(|| row.wrong(format!("there are only {} fields", row.fields.len())))
        };
        let number = |at: usize| {
            let field = field(at)?;
            let number = field.parse::<usize>();
            number.map_err(|_| row.wrong(format!("{field:?} is not an offset")))
        };
        let (start, end) = (number(self.start)?, number(self.end)?);
        if start >= end {
            return Err(row.wrong(format!("a span from {start} to {end} holds nothing")));
        }
        Ok((field(self.question)?, field(self.document)?, start..end))
    }
}

impl Unit {
    /// A range as bytes of a text; `None` when it is not a part of it.
    pub(super) fn bytes(self, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
        let bytes = match self {
            Unit::Bytes => range.clone(),
            Unit::Characters => bytes_of(text, range)?,
        };
        text.get(bytes.clone()).map(|_| bytes)
    }
}

/// A range of characters as one of bytes.
fn bytes_of(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let length = range.end.checked_sub(range.start)?;
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = places.by_ref().nth(range.start)?;
    if length == 0 {
        return Some(start..start);
    }
    Some(start..places.nth(length - 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_found_in_bytes() {
        let check = |unit: Unit, range: Range<usize>, expected: Option<&str>| {
            let text = "aéb";
            let bytes = unit.bytes(text, &range);
            assert_eq!(bytes.map(|bytes| &text[bytes]), expected, "{unit:?} {range:?}");
        };
        check(Unit::Characters, 0..3, Some("aéb"));
        check(Unit::Characters, 1..2, Some("é"));
        check(Unit::Characters, 2..2, Some(""));
        check(Unit::Characters, 3..3, Some(""));
        check(Unit::Characters, 2..4, None);
        #[expect(clippy::reversed_empty_ranges, reason = "a file may say so")]
        check(Unit::Characters, 2..1, None);
        check(Unit::Bytes, 1..3, Some("é"));
        check(Unit::Bytes, 1..2, None);
        check(Unit::Bytes, 0..5, None);
    }
}
