//! MCP over standard streams: one caller on this machine, one workspace, until the input ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use haversack::Engine;
use haversack_provider::DailyCap;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use super::caller::McpCaller;
use super::handler::Handler;
use crate::config::Config;
use crate::state::{ServerState, StartError};
use crate::trace::{TraceSender, TraceSpan};
use crate::who::{Access, ActsAs, ClaimedUser, Grant, Identity, KeyScope};

/// A session of one client on this machine.
#[derive(Debug)]
pub struct Session {
    state: Arc<ServerState>,
    caller: McpCaller,
}

/// Why a session ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The client did not start with the MCP handshake.
    #[error("the client did not start an MCP session: {0}")]
    Beginning(String),
    /// The session failed.
    #[error("the session failed: {0}")]
    Broken(String),
}

impl Session {
    /// A session in one existing workspace. With a user it reads and writes as that user; without one
    /// it sees everything. Without `writes` it is read-only.
    ///
    /// # Errors
    /// When the data folder cannot be used.
    pub fn new(
        engine: Engine,
        folder: &Path,
        workspace: &str,
        user: Option<(String, BTreeSet<String>)>,
        writes: bool,
    ) -> Result<Session, StartError> {
        let state = Arc::new(ServerState::new(
            engine,
            folder,
            Config::default(),
            None,
            TraceSender::default(),
        )?);
        let mut scopes = BTreeSet::from([KeyScope::Read]);
        if writes {
            scopes.insert(KeyScope::Write);
        }
        let acts_as = match user {
            Some((name, groups)) => ActsAs::User { name, groups },
            None => ActsAs::Trusted,
        };
        let access = Access {
            credential: "local".to_owned(),
            scopes,
            workspaces: Grant::Only([workspace.to_owned()].into()),
            acts_as,
            model_cap: DailyCap::default(),
        };
        let caller = McpCaller {
            identity: Arc::new(Identity::new(access, ClaimedUser::default())),
            workspace: Some(workspace.to_owned()),
            request: "stdio".to_owned(),
            span: TraceSpan::default(),
        };
        Ok(Session { state, caller })
    }

    /// Serves standard input and output until the input ends.
    ///
    /// # Errors
    /// When the client does not speak MCP, or the streams break.
    pub async fn run(self) -> Result<(), SessionError> {
        let (input, output) = stdio();
        Box::pin(self.run_on(input, output)).await
    }

    /// Serves any two streams until the input ends.
    ///
    /// # Errors
    /// When the client does not speak MCP, or the streams break.
    pub async fn run_on(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), SessionError> {
        let handler = Handler::for_caller(self.state, self.caller);
        let running = match handler.serve((input, output)).await {
            Ok(running) => running,
            // An input that ends at once is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(SessionError::Beginning(error.to_string())),
        };
        running.waiting().await.map_err(|error| SessionError::Broken(error.to_string()))?;
        Ok(())
    }
}
