//! Who calls a tool, reads a resource or asks for a prompt, and in which workspace.

use haversack::Workspace;
use haversack_store::store::viewer::Viewer;

use crate::codes::Code;
use crate::problem::Problem;
use crate::state::State;
use crate::trace::Span;
use crate::who::{Access, Asserted, Grant, Scope};

/// The workspace when neither the call nor the key says which.
const USUAL: &str = "default";

/// Who calls.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) access: Access,
    pub(crate) asserted: Asserted,
    /// The workspace that is meant when a call names none.
    pub(crate) workspace: Option<String>,
    /// The name of the request, for the log and the audit.
    pub(crate) request: String,
    /// What it is part of.
    pub(crate) span: Span,
}

impl Caller {
    /// The name of the workspace that is meant when a call names none: the session's, else the only
    /// one that the key is for, else the usual one.
    pub(crate) fn usual(&self) -> &str {
        if let Some(name) = &self.workspace {
            return name;
        }
        match &self.access.workspaces {
            Grant::Only(names) if names.len() == 1 => names.first().map_or(USUAL, String::as_str),
            _ => USUAL,
        }
    }

    /// The workspace of this name, or the usual one, if it is there for this caller.
    pub(crate) async fn workspace(
        &self,
        state: &State,
        name: Option<&str>,
    ) -> Result<Workspace, Problem> {
        let name = name.unwrap_or_else(|| self.usual());
        if !self.access.enters(name) {
            // The same words as for one that is not there.
            return Err(Problem::no_workspace(name));
        }
        state.workspace(name).await
    }

    /// With whose eyes it reads.
    pub(crate) fn viewer(&self) -> Result<Viewer, Problem> {
        Ok(self.access.viewer(&self.asserted)?.0)
    }

    /// Refuses what the credential does not reach.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.access.reaches(scope) {
            return Ok(());
        }
        let detail = format!("this key does not reach {:?}", scope.as_str());
        Err(Problem::new(Code::Forbidden, detail))
    }
}
