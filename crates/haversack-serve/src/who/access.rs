//! What a credential grants: scopes, workspaces, and the user that it acts as.

use std::collections::BTreeSet;

use haversack_provider::DailyCap;
use serde::{Deserialize, Serialize};

/// A permission that a route needs. `admin` includes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyScope {
    /// Reading: packs, searches, items, receipts.
    Read,
    /// Writing: items, links, events, memories, feedback.
    Write,
    /// Workspaces, recipes, templates, rankers.
    Admin,
    /// The server's metrics.
    Metrics,
}

impl KeyScope {
    /// All of them.
    pub const ALL: [KeyScope; 4] =
        [KeyScope::Read, KeyScope::Write, KeyScope::Admin, KeyScope::Metrics];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyScope::Read => "read",
            KeyScope::Write => "write",
            KeyScope::Admin => "admin",
            KeyScope::Metrics => "metrics",
        }
    }

    /// The scope of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<KeyScope> {
        KeyScope::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// The workspaces that a credential may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grant {
    /// All, including those created later.
    All,
    /// These.
    Only(BTreeSet<String>),
}

/// The user that a credential acts as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ActsAs {
    /// A trusted application: it names the user that it acts for, and without one sees everything.
    Trusted,
    /// One user with their groups, and nobody else.
    User {
        /// The user.
        name: String,
        /// The groups.
        groups: BTreeSet<String>,
    },
    /// An unknown user, who sees what everybody may read.
    Anyone,
}

/// What a credential grants.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// The key's id, or another name for the credential. For logs and the audit.
    pub credential: String,
    /// What it may do.
    pub scopes: BTreeSet<KeyScope>,
    /// The workspaces it may use.
    pub workspaces: Grant,
    /// The user it acts as.
    pub acts_as: ActsAs,
    /// What its requests may use of models in a day.
    pub model_cap: DailyCap,
}

impl Access {
    /// Grants everything, for callers on this machine.
    #[must_use]
    pub fn local() -> Access {
        Access {
            credential: "local".to_owned(),
            scopes: KeyScope::ALL.into(),
            workspaces: Grant::All,
            acts_as: ActsAs::Trusted,
            model_cap: DailyCap::default(),
        }
    }

    /// Whether it has a scope.
    #[must_use]
    pub fn reaches(&self, scope: KeyScope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&KeyScope::Admin)
    }

    /// Whether it may use a workspace.
    #[must_use]
    pub fn enters(&self, workspace: &str) -> bool {
        match &self.workspaces {
            Grant::All => true,
            Grant::Only(names) => names.contains(workspace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_includes_every_scope_and_the_others_only_themselves() {
        let with = |scope: KeyScope| Access { scopes: [scope].into(), ..Access::local() };
        for scope in KeyScope::ALL {
            assert!(with(KeyScope::Admin).reaches(scope));
            assert_eq!(with(KeyScope::Read).reaches(scope), scope == KeyScope::Read);
        }
    }
}
