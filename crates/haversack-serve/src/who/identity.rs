//! The identity of a request: its credential, and the user that it acts as. The router makes it once
//! from the credential and the headers; HTTP routes and MCP tools only ask it.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use haversack::Request;
use haversack::request::AsOf;
use haversack_core::ids::IdError;
use haversack_provider::DailyCap;
use haversack_store::store::viewer::{Principal, Viewer};

use super::access::{Access, ActsAs, Grant, KeyScope};
use crate::codes::Code;
use crate::decode::percent_decode;
use crate::problem::ApiProblem;

/// The user and groups that a request claims to act for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ClaimedUser {
    user: Option<String>,
    groups: BTreeSet<String>,
}

/// The user that a request acts as, after the credential permitted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Actor {
    /// Decides what is visible.
    pub(crate) viewer: Viewer,
    /// The name under which activity is recorded.
    pub(crate) user: Option<String>,
}

/// Who makes a request.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    access: Access,
    /// The claim of the headers.
    claimed: ClaimedUser,
    /// The user that the headers' claim leads to. A refusal is reported by routes that need a user.
    actor: Result<Actor, ApiProblem>,
}

impl ClaimedUser {
    /// Reads the claim of the headers. Names are percent-encoded where they hold more than plain
    /// ASCII, or a comma.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<ClaimedUser, ApiProblem> {
        let text = |name: &'static str| -> Result<Option<&str>, ApiProblem> {
            let Some(value) = headers.get(name) else { return Ok(None) };
            match value.to_str().map(str::trim) {
                // An application that lost its user's name must not read as the owner.
                Ok("") => {
                    Err(ApiProblem::invalid(name, "is empty: name the user, or leave it out"))
                }
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(ApiProblem::invalid(name, "is not ASCII: percent-encode it")),
            }
        };
        let user = text("haversack-user")?;
        let user = user.map(|user| percent_decode("haversack-user", user)).transpose()?;
        let groups: Result<BTreeSet<String>, ApiProblem> = text("haversack-groups")?
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|group| !group.is_empty())
            .map(|group| percent_decode("haversack-groups", group))
            .collect();
        Ok(ClaimedUser { user, groups: groups? })
    }

    /// The claim of a request that came in a body.
    fn from_request(request: &Request) -> ClaimedUser {
        let mut claimed = ClaimedUser { user: request.user.clone(), groups: BTreeSet::new() };
        for principal in request.viewer.principals().into_iter().flatten() {
            if let Some(group) = Principal::as_str(principal).strip_prefix("group:") {
                claimed.groups.insert(group.to_owned());
            }
        }
        claimed
    }

    fn is_empty(&self) -> bool {
        self.user.is_none() && self.groups.is_empty()
    }

    /// Whether a body's claim adds nothing to this one.
    fn covers(&self, body: &ClaimedUser) -> bool {
        let same_user = body.user.is_none() || body.user == self.user;
        let same_groups = body.groups.is_empty() || body.groups == self.groups;
        same_user && same_groups
    }

    fn viewer(&self) -> Result<Viewer, ApiProblem> {
        let wrong = |error: IdError| ApiProblem::invalid("user", error.to_string());
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

impl Identity {
    /// The identity of a request with this credential and this claim in its headers.
    pub(crate) fn new(access: Access, claimed: ClaimedUser) -> Identity {
        let actor = permit(&access, &claimed);
        Identity { access, claimed, actor }
    }

    /// The credential's name, for logs, the audit and rate limits.
    pub(crate) fn credential(&self) -> &str {
        &self.access.credential
    }

    /// The user that the headers name, for the audit.
    pub(crate) fn claimed_user(&self) -> Option<&str> {
        self.claimed.user.as_deref()
    }

    /// What the credential's requests may use of models in a day.
    pub(crate) fn model_cap(&self) -> DailyCap {
        self.access.model_cap
    }

    /// Whether the credential has a scope.
    pub(crate) fn reaches(&self, scope: KeyScope) -> bool {
        self.access.reaches(scope)
    }

    /// Whether the credential may use a workspace.
    pub(crate) fn enters(&self, workspace: &str) -> bool {
        self.access.enters(workspace)
    }

    /// Whether the credential may use all workspaces, including those created later.
    pub(crate) fn enters_all(&self) -> bool {
        self.access.workspaces == Grant::All
    }

    /// The only workspace of the credential, if it is for just one.
    pub(crate) fn only_workspace(&self) -> Option<&str> {
        match &self.access.workspaces {
            Grant::Only(names) if names.len() == 1 => names.first().map(String::as_str),
            _ => None,
        }
    }

    /// Whether the credential may name the user that it acts for.
    pub(crate) fn is_trusted(&self) -> bool {
        self.access.acts_as == ActsAs::Trusted
    }

    /// The viewer, where no body names a user.
    pub(crate) fn viewer(&self) -> Result<Viewer, ApiProblem> {
        Ok(self.actor.clone()?.viewer)
    }

    /// The user that a body with this claim acts as. Headers and body agree, or one of them is
    /// silent.
    pub(crate) fn actor(
        &self,
        user: Option<&String>,
        groups: &[String],
    ) -> Result<Actor, ApiProblem> {
        self.actor_of(&ClaimedUser {
            user: user.cloned(),
            groups: groups.iter().cloned().collect(),
        })
    }

    fn actor_of(&self, body: &ClaimedUser) -> Result<Actor, ApiProblem> {
        if body.is_empty() {
            return self.actor.clone();
        }
        if self.claimed.is_empty() {
            return permit(&self.access, body);
        }
        if self.claimed.covers(body) {
            return self.actor.clone();
        }
        Err(ApiProblem::invalid("user", "the body names another user than the headers do"))
    }

    /// Replaces the claimed identity of a request with the permitted one.
    pub(crate) fn apply_to(&self, request: &mut Request) -> Result<(), ApiProblem> {
        let actor = self.actor_of(&ClaimedUser::from_request(request))?;
        (request.viewer, request.user) = (actor.viewer, actor.user);
        if matches!(request.as_of, Some(AsOf::Revision(_))) && request.viewer != Viewer::owner() {
            let detail = "revision numbers are for callers who see everything: pass the text that an \
                          earlier answer has as its revision, or a time";
            return Err(ApiProblem::invalid("asOf.revision", detail));
        }
        Ok(())
    }
}

/// Decides as whom a credential acts when a request makes this claim.
fn permit(access: &Access, claimed: &ClaimedUser) -> Result<Actor, ApiProblem> {
    let refused = || {
        let detail = "this key may not act for other users: use a trusted key";
        Err(ApiProblem::new(Code::Forbidden, detail))
    };
    match &access.acts_as {
        ActsAs::Trusted if claimed.is_empty() => Ok(Actor { viewer: Viewer::owner(), user: None }),
        ActsAs::Trusted => Ok(Actor { viewer: claimed.viewer()?, user: claimed.user.clone() }),
        ActsAs::Anyone if claimed.is_empty() => Ok(Actor { viewer: Viewer::anyone(), user: None }),
        ActsAs::Anyone => refused(),
        ActsAs::User { name, groups } => {
            let is_same = claimed.user.as_ref().is_none_or(|user| user == name);
            if !is_same || !claimed.groups.is_subset(groups) {
                return refused();
            }
            let bound = ClaimedUser { user: Some(name.clone()), groups: groups.clone() };
            Ok(Actor { viewer: bound.viewer()?, user: bound.user })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(acts_as: ActsAs, claimed: ClaimedUser) -> Identity {
        Identity::new(Access { acts_as, ..Access::local() }, claimed)
    }

    fn claim(user: &str, groups: &[&str]) -> ClaimedUser {
        let user = Some(user.to_owned()).filter(|user| !user.is_empty());
        ClaimedUser { user, groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    fn annas_key(claimed: ClaimedUser) -> Identity {
        let groups = ["sales".to_owned()].into();
        key(ActsAs::User { name: "anna".into(), groups }, claimed)
    }

    #[test]
    fn a_users_key_reads_as_that_user_only() {
        let anna = Viewer::user("anna").unwrap().in_group("sales").unwrap();
        for claimed in [claim("", &[]), claim("anna", &[]), claim("anna", &["sales"])] {
            assert_eq!(annas_key(claimed.clone()).viewer().unwrap(), anna, "{claimed:?}");
        }
        for claimed in [claim("ben", &[]), claim("anna", &["board"]), claim("", &["board"])] {
            let refused = annas_key(claimed.clone()).viewer().unwrap_err();
            assert_eq!(refused.code, Code::Forbidden, "{claimed:?}");
        }
    }

    #[test]
    fn only_a_trusted_key_may_name_the_user_it_acts_for() {
        let trusted = |claimed| key(ActsAs::Trusted, claimed);
        assert_eq!(trusted(claim("", &[])).viewer().unwrap(), Viewer::owner());
        assert_eq!(trusted(claim("ben", &[])).viewer().unwrap(), Viewer::user("ben").unwrap());
        let anyone = |claimed| key(ActsAs::Anyone, claimed);
        assert_eq!(anyone(claim("", &[])).viewer().unwrap(), Viewer::anyone());
        assert_eq!(anyone(claim("ben", &[])).viewer().unwrap_err().code, Code::Forbidden);
    }

    #[test]
    fn a_body_cannot_claim_more_than_its_key_permits() {
        let mut request = Request::new("memory", "x");
        annas_key(ClaimedUser::default()).apply_to(&mut request).unwrap();
        assert_eq!(request.viewer, Viewer::user("anna").unwrap().in_group("sales").unwrap());
        assert_eq!(request.user.as_deref(), Some("anna"));
        let mut request = Request::new("memory", "x");
        request.viewer = Viewer::user("ben").unwrap();
        request.user = Some("ben".into());
        let refused = annas_key(ClaimedUser::default()).apply_to(&mut request.clone()).unwrap_err();
        assert_eq!(refused.code, Code::Forbidden);
        let local = Identity::new(Access::local(), claim("anna", &[]));
        assert_eq!(local.apply_to(&mut request).unwrap_err().code, Code::Validation);
    }
}
