//! Reading lines of bounded length from a stream, in bounded memory.

use std::io::{BufRead, Result};

/// One line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line, without the line break.
    Whole(&'a [u8]),
    /// A line that is longer than the limit. It was skipped.
    TooLong {
        /// Its length.
        bytes: u64,
    },
}

/// Reads lines of a bounded length and counts them.
#[derive(Debug)]
pub struct BoundedLines<R> {
    input: R,
    bytes_max: usize,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> BoundedLines<R> {
    /// Reads lines of at most `bytes_max` bytes.
    #[must_use]
    pub const fn new(input: R, bytes_max: usize) -> BoundedLines<R> {
        BoundedLines { input, bytes_max, line: Vec::new(), number: 0 }
    }

    /// The number of the last line read, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        let mut length = 0u64;
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                if length == 0 {
                    return Ok(None);
                }
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            length += taken as u64;
            let room = (self.bytes_max + 2).saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..taken.min(room)]);
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        self.number += 1;
        for end in [b'\n', b'\r'] {
            if length == self.line.len() as u64 && self.line.last() == Some(&end) {
                self.line.pop();
                length -= 1;
            }
        }
        if length > self.bytes_max as u64 {
            return Ok(Some(Line::TooLong { bytes: length }));
        }
        Ok(Some(Line::Whole(&self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut lines = BoundedLines::new(std::io::BufReader::with_capacity(2, text.as_bytes()), 4);
        let mut shown = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            shown.push(match line {
                Line::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Line::TooLong { bytes } => format!("!{bytes}"),
            });
        }
        assert_eq!(shown.join("|"), expected, "{text:?}");
        assert_eq!(lines.number(), shown.len() as u64);
    }

    #[test]
    fn lines_end_at_breaks_and_keep_to_their_limit() {
        check("", "");
        check("a", "a");
        check("a\nb\r\n\nc\n", "a|b||c");
        check("1234\r\n12345\n1\n", "1234|!5|1");
        check("123456789", "!9");
    }
}
