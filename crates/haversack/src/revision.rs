//! What a caller is told of which state of a workspace an answer is of.

use std::fmt;

use haversack_store::store::Snapshot;
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

/// A state of a workspace. Those who see everything are told its number. Everybody else is told a text
/// of their own that changes with what they can read and with nothing else: a number would count what
/// is hidden from them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Revision"))]
#[serde(untagged)]
pub enum RevisionId {
    /// The number, for callers who see everything.
    Number(u64),
    /// The caller's own name for the state, to be passed back unread.
    Token(String),
}

impl RevisionId {
    /// What a viewer is told of the state of their snapshot.
    #[must_use]
    pub fn of(snapshot: &dyn Snapshot, viewer: &Viewer) -> RevisionId {
        if *viewer == Viewer::owner() {
            return RevisionId::Number(snapshot.revision().get());
        }
        RevisionId::Token(snapshot.token().to_string())
    }

    /// The name of a state that was noted before viewers had names for states.
    pub(crate) fn unknown() -> RevisionId {
        RevisionId::Token("unknown".to_owned())
    }
}

impl fmt::Display for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RevisionId::Number(number) => number.fmt(f),
            RevisionId::Token(token) => token.fmt(f),
        }
    }
}
