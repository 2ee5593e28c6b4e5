//! The only room that writes to the terminal.

use std::io::{ErrorKind, Write};

use anyhow::Result;

/// Whether a command had something to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Something,
    Nothing,
}

/// Prints data.
pub(crate) fn print(data: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(data.as_bytes())?;
    if !data.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// Says something about the data. Standard error may be closed; then nobody wants to know.
pub(crate) fn say(remark: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{remark}");
}

pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let check = |number: u32, expected: &str| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
    }
}
