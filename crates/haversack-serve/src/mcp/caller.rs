//! The caller of a tool, resource or prompt, and the workspace.

use std::sync::Arc;

use haversack::Workspace;
use haversack_store::store::viewer::Viewer;

use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::trace::TraceSpan;
use crate::who::{Identity, KeyScope};

/// The workspace when neither the call nor the key names one.
const DEFAULT: &str = "default";

/// The caller of an MCP request.
#[derive(Debug, Clone)]
pub(crate) struct McpCaller {
    pub(crate) identity: Arc<Identity>,
    /// The workspace when a call names none.
    pub(crate) workspace: Option<String>,
    /// The request id, for the log and the audit.
    pub(crate) request: String,
    /// The span of the request.
    pub(crate) span: TraceSpan,
}

impl McpCaller {
    /// The workspace when a call names none: the session's, else the key's only one, else `default`.
    pub(crate) fn default_workspace(&self) -> &str {
        let named = self.workspace.as_deref();
        named.or_else(|| self.identity.only_workspace()).unwrap_or(DEFAULT)
    }

    /// Opens the named workspace, or the default one.
    pub(crate) async fn workspace(
        &self,
        state: &ServerState,
        name: Option<&str>,
    ) -> Result<Workspace, ApiProblem> {
        let name = name.unwrap_or_else(|| self.default_workspace());
        if !self.identity.enters(name) {
            // The same message as for a workspace that does not exist.
            return Err(ApiProblem::no_workspace(name));
        }
        state.workspace(name).await
    }

    /// The viewer that the caller acts as.
    pub(crate) fn viewer(&self) -> Result<Viewer, ApiProblem> {
        self.identity.viewer()
    }

    /// Refuses callers without a scope.
    pub(crate) fn check_scope(&self, scope: KeyScope) -> Result<(), ApiProblem> {
        if self.identity.reaches(scope) {
            return Ok(());
        }
        let detail = format!("this key lacks the scope {:?}", scope.as_str());
        Err(ApiProblem::new(Code::Forbidden, detail))
    }
}
