//! MCP over standard streams: one caller on this machine, one workspace, until the input ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use haversack::Engine;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use super::caller::Caller;
use super::handler::Handler;
use crate::config::Config;
use crate::state::{StartError, State};
use crate::trace::{Span, Tracer};
use crate::who::{Access, Asserted, Grant, Scope, Sight};

/// A session of one client on this machine.
#[derive(Debug)]
pub struct Session {
    state: Arc<State>,
    caller: Caller,
}

/// Why a session ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The client spoke first, but not as the protocol has it.
    #[error("the client did not begin as MCP does: {0}")]
    Beginning(String),
    /// The session broke off.
    #[error("the session broke off: {0}")]
    Broken(String),
}

impl Session {
    /// A session in one workspace, which is there. With a user it reads with that user's eyes and
    /// writes in their name; without one it sees everything. Without `writes` it changes nothing.
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
        let state =
            Arc::new(State::new(engine, folder, Config::default(), None, Tracer::default())?);
        let mut scopes = BTreeSet::from([Scope::Read]);
        if writes {
            scopes.insert(Scope::Write);
        }
        let sight = match user {
            Some((name, groups)) => Sight::User { name, groups },
            None => Sight::Trusted,
        };
        let access = Access {
            credential: "local".to_owned(),
            scopes,
            workspaces: Grant::Only([workspace.to_owned()].into()),
            sight,
        };
        let caller = Caller {
            access,
            asserted: Asserted::default(),
            workspace: Some(workspace.to_owned()),
            request: "stdio".to_owned(),
            span: Span::default(),
        };
        Ok(Session { state, caller })
    }

    /// Answers on standard input and output until the input ends.
    ///
    /// # Errors
    /// When the client does not speak MCP, or the streams break.
    pub async fn run(self) -> Result<(), SessionError> {
        let (input, output) = stdio();
        Box::pin(self.run_on(input, output)).await
    }

    /// Answers on any two streams until the input ends.
    ///
    /// # Errors
    /// When the client does not speak MCP, or the streams break.
    pub async fn run_on(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), SessionError> {
        let handler = Handler::of(self.state, self.caller);
        let running = match handler.serve((input, output)).await {
            Ok(running) => running,
            // Input that ends before it began is no session, and nobody's mistake.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(SessionError::Beginning(error.to_string())),
        };
        running.waiting().await.map_err(|error| SessionError::Broken(error.to_string()))?;
        Ok(())
    }
}
