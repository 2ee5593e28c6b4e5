//! Lines of a stream, none longer than a limit, whatever the stream holds.

use std::io::{BufRead, Result};

/// One line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without the line break.
    Whole(&'a [u8]),
    /// It is longer than the limit and was passed over.
    TooLong {
        /// How long it is.
        bytes: u64,
    },
}

/// Reads lines and counts them.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    bytes_max: usize,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most so many bytes.
    #[must_use]
    pub const fn new(input: R, bytes_max: usize) -> Lines<R> {
        Lines { input, bytes_max, line: Vec::new(), number: 0 }
    }

    /// The number of the line that was read last, from 1.
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
        let mut lines = Lines::new(std::io::BufReader::with_capacity(2, text.as_bytes()), 4);
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
