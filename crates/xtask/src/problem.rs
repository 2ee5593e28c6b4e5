//! Rule violations with their locations; checks report all of them at once.

use std::fmt;

use anyhow::{Result, ensure};

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleViolation {
    /// Relative to the repository, with `/` between folders.
    pub(crate) path: String,
    /// Counted from 1; `None` for the file as a whole.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

impl RuleViolation {
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> RuleViolation {
        RuleViolation { path: path.to_owned(), line: Some(line), message: message.into() }
    }

    pub(crate) fn in_file(path: &str, message: impl Into<String>) -> RuleViolation {
        RuleViolation { path: path.to_owned(), line: None, message: message.into() }
    }
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.message)
    }
}

/// Prints all violations, sorted by location.
///
/// # Errors
/// When there is any.
pub(crate) fn conclude(check: &str, mut problems: Vec<RuleViolation>) -> Result<()> {
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    ensure!(problems.is_empty(), "{check} found {} problem(s)", problems.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_can_be_clicked() {
        assert_eq!(RuleViolation::at("a/b.rs", 7, "too long").to_string(), "a/b.rs:7: too long");
        assert_eq!(RuleViolation::in_file("Cargo.lock", "stale").to_string(), "Cargo.lock: stale");
    }

    #[test]
    fn only_nothing_is_good() {
        assert!(conclude("tidy", Vec::new()).is_ok());
        let error = conclude("tidy", vec![RuleViolation::at("a.rs", 1, "no")]).unwrap_err();
        assert_eq!(error.to_string(), "tidy found 1 problem(s)");
    }
}
