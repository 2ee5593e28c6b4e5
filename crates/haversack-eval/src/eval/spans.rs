//! Reads `spans.tsv`: evidence as byte or character ranges.

use std::ops::Range;

use super::error::EvalError;
use super::rows::TsvRow;

/// The unit of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffsetUnit {
    Bytes,
    Characters,
}

/// The columns of `spans.tsv`, from its header.
pub(super) struct SpanColumns {
    question: usize,
    document: usize,
    start: usize,
    end: usize,
    pub(super) unit: OffsetUnit,
}

impl SpanColumns {
    pub(super) fn of(header: &TsvRow) -> Result<SpanColumns, EvalError> {
        let at = |name: &str| header.fields.iter().position(|field| field == name);
        let needed = |name: &str| {
            at(name).ok_or_else(|| header.error(format!("{name}: the header has no such column")))
        };
        let (question, document) = (needed("query-id")?, needed("doc-id")?);
        if let (Some(start), Some(end)) = (at("start_byte"), at("end_byte")) {
            return Ok(SpanColumns { question, document, start, end, unit: OffsetUnit::Bytes });
        }
        let (start, end) = (needed("start_char")?, needed("end_char")?);
        Ok(SpanColumns { question, document, start, end, unit: OffsetUnit::Characters })
    }

    /// Reads the question, the document and the offsets of a row.
    pub(super) fn read<'r>(
        &self,
        row: &'r TsvRow,
    ) -> Result<(&'r str, &'r str, Range<usize>), EvalError> {
        let field = |at: usize| {
            let field = row.fields.get(at);
            field.ok_or_else(|| row.error(format!("there are only {} fields", row.fields.len())))
        };
        let number = |at: usize| {
            let field = field(at)?;
            let number = field.parse::<usize>();
            number.map_err(|_| row.error(format!("{field:?} is not an offset")))
        };
        let (start, end) = (number(self.start)?, number(self.end)?);
        if start >= end {
            return Err(row.error(format!("the span from {start} to {end} is empty")));
        }
        Ok((field(self.question)?, field(self.document)?, start..end))
    }
}

impl OffsetUnit {
    /// Converts a range to bytes of a text; `None` when it is out of bounds.
    pub(super) fn bytes(self, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
        let bytes = match self {
            OffsetUnit::Bytes => range.clone(),
            OffsetUnit::Characters => bytes_of(text, range)?,
        };
        text.get(bytes.clone()).map(|_| bytes)
    }
}

/// Converts a range of characters to bytes.
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
    fn character_offsets_are_converted_to_bytes() {
        let check = |unit: OffsetUnit, range: Range<usize>, expected: Option<&str>| {
            let text = "aéb";
            let bytes = unit.bytes(text, &range);
            assert_eq!(bytes.map(|bytes| &text[bytes]), expected, "{unit:?} {range:?}");
        };
        check(OffsetUnit::Characters, 0..3, Some("aéb"));
        check(OffsetUnit::Characters, 1..2, Some("é"));
        check(OffsetUnit::Characters, 2..2, Some(""));
        check(OffsetUnit::Characters, 3..3, Some(""));
        check(OffsetUnit::Characters, 2..4, None);
        #[expect(clippy::reversed_empty_ranges, reason = "a file may say so")]
        check(OffsetUnit::Characters, 2..1, None);
        check(OffsetUnit::Bytes, 1..3, Some("é"));
        check(OffsetUnit::Bytes, 1..2, None);
        check(OffsetUnit::Bytes, 0..5, None);
    }
}
