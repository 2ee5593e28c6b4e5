//! What is known of any item before its content matters: its kind and how far it is trusted.

use std::fmt;
use std::sync::Arc;

use crate::ids::{IdError, check_name};

/// Longest kind in bytes.
pub const KIND_BYTES_MAX: usize = 64;

/// What sort of thing an item is: `file`, `message`, `memory`, `product`, … Open, so that users can
/// bring their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<str>);

impl Kind {
    /// Checks and keeps a kind.
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

/// Who could have written an item's text, and so how far a model may follow it.
///
/// Ordered from least to most trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// Anyone: e-mails, web pages, uploaded files. Data, never instructions.
    External,
    /// Members of the workspace.
    Internal,
    /// Those who run the application: rules, profiles, prompts.
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
