//! A gateway that stands before any MCP server (S7): the client speaks to it as to that server, and
//! each call of a tool brings the context that matters to it.
//!
//! Messages are passed on as they came, byte for byte: tools, resources, prompts, notifications and
//! errors are the server's own, in whatever revision the two speak. Only calls of tools are touched:
//! they get the argument `_context` where the tool takes it, and their results say in
//! `_meta.contextUsed` what was given. When context cannot be assembled in time the call goes through
//! without, and says so.
//!
//! What it is told is a TOML file; every line may be left out ([`Settings`]):
//!
//! ```toml
//! [context]
//! workspace = "default"     # where context is found
//! recipe = "situation"      # how it is packed
//! context = "deploy"        # the current context, for the recipe `situation`; else the call's own
//!                           # argument `context`
//! user = "anna"             # with whose eyes; everything is seen when left out
//! groups = ["ops"]
//! budget = 1000             # the most tokens for a call
//! give = "auto"             # which tools get it: "auto" those whose schema allows `_context`,
//!                           # "always" or "never"
//! deadline_seconds = 2.0    # after which a call goes through without
//! server = "http://127.0.0.1:7077"   # a Haversack server to ask, in place of the data folder
//! key_env = "HAVERSACK_KEY"          # the variable that holds its key
//!
//! [tools.deploy]            # for one tool; what is left out is as above
//! give = "always"
//! recipe = "everything"
//! context = "production"
//! budget = 400
//!
//! [server]                  # the wrapped server, when it is reached by URL
//! url = "https://tools.example.com/mcp"
//! bearer_env = "TOOLS_TOKEN"
//! timeout_seconds = 300
//!
//! [limits]
//! message_bytes = 16777216
//! ```

mod assembler;
mod child;
mod known;
mod lines;
mod relay;
mod remote;
mod settings;

use std::process::ExitStatus;
use std::sync::Arc;

use haversack::Engine;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use assembler::Assembler;
use relay::{Outgoing, Relay};
pub use settings::{Give, Settings, SettingsError};

use crate::client::ClientError;

/// Messages that may wait for their reader, on each way.
const WAITING: usize = 256;

/// Why a gateway cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// What it is told will not do.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The store cannot be used.
    #[error(transparent)]
    Engine(#[from] haversack::Error),
    /// Another server cannot be called.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The wrapped server cannot be started.
    #[error("cannot start {command:?}")]
    Start {
        /// The command.
        command: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The wrapped server ended before its client.
    #[error("the wrapped server ended: {0}")]
    Ended(ExitStatus),
    /// A stream broke.
    #[error("the streams broke")]
    Broken(#[from] std::io::Error),
    /// A message is too long.
    #[error("a message is longer than {0} bytes: raise limits.message_bytes")]
    TooLong(usize),
}

/// What stands behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrapped {
    /// A program that speaks MCP on its standard streams: its name and arguments.
    Command(Vec<String>),
    /// A server that speaks MCP over Streamable HTTP.
    Url(String),
}

/// A gateway.
#[derive(Debug)]
pub struct Gateway {
    settings: Settings,
    assembler: Assembler,
    wrapped: Wrapped,
}

impl Gateway {
    /// A gateway that asks the Haversack server which its settings name, or else finds context in the
    /// data folder that `open` opens. Without `wrapped` the settings say what it stands before.
    ///
    /// # Errors
    /// When the settings will not do, or the workspace is not there.
    pub fn new(
        settings: Settings,
        open: impl FnOnce() -> Result<Engine, haversack::Error>,
        workspace: &str,
        wrapped: Option<Wrapped>,
    ) -> Result<Gateway, GatewayError> {
        settings.check()?;
        let wrapped = wrapped.or_else(|| settings.server.url.clone().map(Wrapped::Url));
        let wrapped = wrapped.ok_or(SettingsError::Nothing)?;
        if let Wrapped::Url(url) = &wrapped {
            crate::client::address_for(url, settings.server.bearer_env.is_some())?;
        }
        let named = settings.context.workspace.as_deref().unwrap_or(workspace);
        let assembler = match &settings.context.server {
            Some(server) => Assembler::remote(server, named, &settings.context)?,
            None => Assembler::local(open()?.existing(named)?),
        };
        Ok(Gateway { settings, assembler, wrapped })
    }

    /// Stands between a client on these streams and the wrapped server, until the input ends.
    ///
    /// # Errors
    /// When the wrapped server cannot be started or ends before its client, or streams break.
    pub async fn run(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), GatewayError> {
        let Gateway { settings, assembler, wrapped } = self;
        let bytes_max = settings.limits.message_bytes;
        let (to_server, for_server) = mpsc::channel::<Outgoing>(WAITING);
        let (to_client, for_client) = mpsc::channel::<String>(WAITING);
        let (from_server, incoming) = mpsc::channel::<String>(WAITING);
        let server = settings.server.clone();
        let relay = Arc::new(Relay::new(settings, assembler, to_server, to_client));
        let writing = tokio::spawn(lines::write(output, for_client));
        let answers = tokio::spawn(relay::answers(Arc::clone(&relay), incoming));
        let questions = tokio::spawn(relay::questions(relay, lines::Reader::new(input, bytes_max)));
        let ended = match wrapped {
            Wrapped::Command(command) => {
                child::run(&command, bytes_max, for_server, from_server).await
            }
            Wrapped::Url(url) => {
                remote::run(&url, &server, bytes_max, for_server, from_server).await
            }
        };
        // A server that is gone answers nothing more: the client need not say so first.
        let asked = if ended.is_err() {
            questions.abort();
            Ok(())
        } else {
            questions.await.unwrap_or(Ok(()))
        };
        let _ = answers.await;
        let written = writing.await.unwrap_or(Ok(()));
        ended?;
        asked?;
        Ok(written?)
    }
}
