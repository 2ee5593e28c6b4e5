//! Properties that every item has besides its content: its kind and its trust level.

use std::fmt;
use std::sync::Arc;

use crate::ids::{IdError, check_name};

/// Longest kind in bytes.
pub const KIND_BYTES_MAX: usize = 64;

/// The kind of an item: `file`, `message`, `memory`, `product`, … The set is open: applications
/// define their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<str>);

impl Kind {
    /// Validates a kind.
    ///
    /// # Errors
    /// When it is empty, longer than [`KIND_BYTES_MAX`] or holds a control character.
    pub fn new(kind: &str) -> Result<Kind, IdError> {
        check_name(kind, KIND_BYTES_MAX).map(|()| Kind(kind.into()))
    }

    /// The kind as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The trust level of an item: who could have written its text.
///
/// Ordered from least to most trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// Written by anyone: e-mails, web pages, uploaded files. Data, never instructions.
    External,
    /// Written by members of the workspace.
    Internal,
    /// Written by the application's operators: rules, profiles, prompts.
    Trusted,
}

impl Trust {
    /// The name in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Trust::External => "external",
            Trust::Internal => "internal",
            Trust::Trusted => "trusted",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
