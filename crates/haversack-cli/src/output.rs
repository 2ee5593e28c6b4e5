//! Output: the only module that writes to the terminal.

use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// How often progress is printed where there is no terminal.
const SILENCE: Duration = Duration::from_secs(5);

/// A bar with the share that is done and the time that is left.
const SHARE_TEMPLATE: &str = "{spinner} {bar:20} {percent:>3}%, {eta} left, {msg}";

/// Whether a command found something, which decides its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitOutcome {
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

/// Streams data to standard output.
pub(crate) fn to_stdout<T>(write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let done = write(&mut out)?;
    out.flush()?;
    Ok(done)
}

/// Whether output is styled: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn is_styled() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
}

/// Progress of a long run: a moving line on a terminal, a line now and then elsewhere.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        Bar { bar: Bar::is_seen().then(spinner), last: Instant::now() }
    }

    /// Whether there is a terminal to show it on.
    pub(crate) fn is_seen() -> bool {
        std::io::stderr().is_terminal()
    }

    pub(crate) fn show(&mut self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(line.to_owned());
        } else if self.last.elapsed() >= SILENCE {
            self.last = Instant::now();
            say(line);
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Progress of work whose amount becomes known on the way: a bar with the time left on a terminal, nothing
/// elsewhere.
pub(crate) struct ShareBar {
    bar: Option<ProgressBar>,
}

impl ShareBar {
    pub(crate) fn new() -> ShareBar {
        ShareBar { bar: Bar::is_seen().then(spinner) }
    }

    /// Shows how much is done, of all if that is known.
    pub(crate) fn show(&self, done: u64, total: Option<u64>, line: &str) {
        let Some(bar) = &self.bar else { return };
        if let (Some(total), None) = (total, bar.length()) {
            bar.set_length(total);
            if let Ok(style) = ProgressStyle::with_template(SHARE_TEMPLATE) {
                bar.set_style(style);
            }
        }
        bar.set_position(done);
        bar.set_message(line.to_owned());
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Prints a remark to standard error. A closed standard error is no error.
pub(crate) fn say(remark: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{remark}");
}

pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
    error.chain().filter_map(|error| error.downcast_ref()).any(is_closed)
}

/// A number of things: `1 kind`, `2 kinds`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
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
