//! The id of a workspace's state, as callers see it.

use std::fmt;

use haversack_store::store::Snapshot;
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

/// A state of a workspace. Viewers who can read everything get its number. Other viewers get a token
/// that changes only with what they can read: a number would reveal hidden commits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Revision"))]
#[serde(untagged)]
pub enum RevisionId {
    /// The number, for viewers who can read everything.
    Number(u64),
    /// An opaque token for one viewer.
    Token(String),
}

impl RevisionId {
    /// Returns the id of a snapshot's state for a viewer.
    #[must_use]
    pub fn for_viewer(snapshot: &dyn Snapshot, viewer: &Viewer) -> RevisionId {
        if *viewer == Viewer::owner() {
            return RevisionId::Number(snapshot.revision().get());
        }
        RevisionId::Token(snapshot.token().to_string())
    }

    /// Returns the id of a state that was recorded before viewers had tokens.
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
