//! How far a credential reaches: scopes, workspaces, and whose eyes it reads with.

use std::collections::BTreeSet;

use haversack::Request;
use haversack::request::AsOf;
use haversack_store::store::viewer::{Principal, Viewer};
use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::problem::Problem;

/// What a route needs. `admin` reaches everything; the others reach nothing but themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// Asking: packs, searches, items, receipts.
    Read,
    /// Writing: items, links, events, memories, feedback.
    Write,
    /// Workspaces, recipes, templates, rankers.
    Admin,
    /// The figures of the server.
    Metrics,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Write, Scope::Admin, Scope::Metrics];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
            Scope::Metrics => "metrics",
        }
    }

    /// The scope of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// Which workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grant {
    /// All, those that are yet to be made included.
    All,
    /// These.
    Only(BTreeSet<String>),
}

/// Whose eyes a credential reads with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sight {
    /// An application that is trusted to say for whom it asks; for itself it sees everything.
    Trusted,
    /// One user, with groups, and nobody else.
    User {
        /// The user.
        name: String,
        /// The groups.
        groups: BTreeSet<String>,
    },
    /// Somebody of whom nothing is known.
    Anyone,
}

/// For whom a request says it is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asserted {
    /// The user.
    pub user: Option<String>,
    /// The groups.
    pub groups: BTreeSet<String>,
}

impl Asserted {
    /// Whether nobody is named.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        self.user.is_none() && self.groups.is_empty()
    }

    /// For whom a body says it asks, unless the headers, which these are, say so.
    ///
    /// # Errors
    /// When headers and body disagree.
    pub fn or_in_body(
        &self,
        user: Option<&String>,
        groups: &[String],
    ) -> Result<Asserted, Problem> {
        let body = Asserted { user: user.cloned(), groups: groups.iter().cloned().collect() };
        Ok(self.and(&body)?.clone())
    }

    /// Headers, which these are, and a body together: one of them names somebody, or both the same.
    fn and<'a>(&'a self, body: &'a Asserted) -> Result<&'a Asserted, Problem> {
        if body.is_nobody() {
            return Ok(self);
        }
        if self.is_nobody() {
            return Ok(body);
        }
        // Who says less says nothing else.
        let same_user = body.user.is_none() || body.user == self.user;
        let same_groups = body.groups.is_empty() || body.groups == self.groups;
        if same_user && same_groups {
            return Ok(self);
        }
        let detail = "the body names somebody else than the headers do";
        Err(Problem::invalid("user", detail))
    }

    fn viewer(&self) -> Result<Viewer, Problem> {
        let wrong =
            |error: haversack_core::ids::IdError| Problem::invalid("user", error.to_string());
        let mut viewer = match &self.user {
            Some(user) => Viewer::user(user).map_err(wrong)?,
            None => Viewer::anyone(),
        };
        for group in &self.groups {
            viewer = viewer.in_group(group).map_err(wrong)?;
        }
        Ok(viewer)
    }
}

/// What a credential grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The key's id, or how else the caller was let in. For logs and the audit.
    pub credential: String,
    /// How far.
    pub scopes: BTreeSet<Scope>,
    /// Where.
    pub workspaces: Grant,
    /// Whose eyes.
    pub sight: Sight,
}

impl Access {
    /// Everything, for whoever is on this machine.
    #[must_use]
    pub fn local() -> Access {
        Access {
            credential: "local".to_owned(),
            scopes: Scope::ALL.into(),
            workspaces: Grant::All,
            sight: Sight::Trusted,
        }
    }

    /// Whether it reaches a scope.
    #[must_use]
    pub fn reaches(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Whether it reaches a workspace.
    #[must_use]
    pub fn enters(&self, workspace: &str) -> bool {
        match &self.workspaces {
            Grant::All => true,
            Grant::Only(names) => names.contains(workspace),
        }
    }

    /// Whether it may say for whom it asks.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.sight == Sight::Trusted
    }

    /// Who asks, and under which name their activity is kept.
    ///
    /// # Errors
    /// When the credential may not ask for them.
    pub fn viewer(&self, asserted: &Asserted) -> Result<(Viewer, Option<String>), Problem> {
        let refused = || {
            let detail = "this key may not ask for other users: use one that is trusted to";
            Err(Problem::new(Code::Forbidden, detail))
        };
        match &self.sight {
            Sight::Trusted if asserted.is_nobody() => Ok((Viewer::owner(), None)),
            Sight::Trusted => Ok((asserted.viewer()?, asserted.user.clone())),
            Sight::Anyone if asserted.is_nobody() => Ok((Viewer::anyone(), None)),
            Sight::Anyone => refused(),
            Sight::User { name, groups } => {
                let itself = asserted.user.as_ref().is_none_or(|user| user == name);
                if !itself || !asserted.groups.is_subset(groups) {
                    return refused();
                }
                let own = Asserted { user: Some(name.clone()), groups: groups.clone() };
                Ok((own.viewer()?, Some(name.clone())))
            }
        }
    }

    /// Makes a request that came in a body that of who may ask it. `header` is for whom the
    /// request's headers say it is made.
    ///
    /// # Errors
    /// When the credential may not ask for them, or headers and body disagree.
    pub fn impose(&self, request: &mut Request, header: &Asserted) -> Result<(), Problem> {
        let body = in_body(request);
        let asserted = header.and(&body)?;
        (request.viewer, request.user) = self.viewer(asserted)?;
        if matches!(request.as_of, Some(AsOf::Revision(_))) && request.viewer != Viewer::owner() {
            let detail = "numbers of states are for callers who see everything: pass the text that an \
                          earlier answer has as its revision, or a moment";
            return Err(Problem::invalid("asOf.revision", detail));
        }
        Ok(())
    }
}

/// For whom a body says that it asks.
fn in_body(request: &Request) -> Asserted {
    let mut asserted = Asserted { user: request.user.clone(), groups: BTreeSet::new() };
    for principal in request.viewer.principals().into_iter().flatten() {
        if let Some(group) = Principal::as_str(principal).strip_prefix("group:") {
            asserted.groups.insert(group.to_owned());
        }
    }
    asserted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(sight: Sight) -> Access {
        Access { sight, ..Access::local() }
    }

    fn says(user: &str, groups: &[&str]) -> Asserted {
        let user = Some(user.to_owned()).filter(|user| !user.is_empty());
        Asserted { user, groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    fn bound() -> Access {
        let groups = ["sales".to_owned()].into();
        key(Sight::User { name: "anna".into(), groups })
    }

    #[test]
    fn a_key_of_a_user_reads_with_that_users_eyes_only() {
        let anna = Viewer::user("anna").unwrap().in_group("sales").unwrap();
        for asserted in [says("", &[]), says("anna", &[]), says("anna", &["sales"])] {
            assert_eq!(bound().viewer(&asserted).unwrap().0, anna, "{asserted:?}");
        }
        for asserted in [says("ben", &[]), says("anna", &["board"]), says("", &["board"])] {
            let refused = bound().viewer(&asserted).unwrap_err();
            assert_eq!(refused.code, Code::Forbidden, "{asserted:?}");
        }
    }

    #[test]
    fn only_a_trusted_key_says_for_whom_it_asks() {
        let trusted = key(Sight::Trusted);
        assert_eq!(trusted.viewer(&says("", &[])).unwrap().0, Viewer::owner());
        assert_eq!(trusted.viewer(&says("ben", &[])).unwrap().0, Viewer::user("ben").unwrap());
        let anyone = key(Sight::Anyone);
        assert_eq!(anyone.viewer(&says("", &[])).unwrap().0, Viewer::anyone());
        assert_eq!(anyone.viewer(&says("ben", &[])).unwrap_err().code, Code::Forbidden);
    }

    #[test]
    fn a_body_cannot_ask_for_more_than_its_key() {
        let mut request = Request::new("memory", "x");
        bound().impose(&mut request, &Asserted::default()).unwrap();
        assert_eq!(request.viewer, Viewer::user("anna").unwrap().in_group("sales").unwrap());
        assert_eq!(request.user.as_deref(), Some("anna"));
        let mut request = Request::new("memory", "x");
        request.viewer = Viewer::user("ben").unwrap();
        request.user = Some("ben".into());
        let refused = bound().impose(&mut request.clone(), &Asserted::default()).unwrap_err();
        assert_eq!(refused.code, Code::Forbidden);
        let refused = Access::local().impose(&mut request, &says("anna", &[])).unwrap_err();
        assert_eq!(refused.code, Code::Validation);
    }

    #[test]
    fn admin_reaches_everything_and_the_others_only_themselves() {
        let with = |scope: Scope| Access { scopes: [scope].into(), ..Access::local() };
        for scope in Scope::ALL {
            assert!(with(Scope::Admin).reaches(scope));
            assert_eq!(with(Scope::Read).reaches(scope), scope == Scope::Read);
        }
    }
}
