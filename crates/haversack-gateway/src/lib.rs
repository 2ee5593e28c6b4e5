//! A gateway in front of any MCP server (S7). The client talks to it as to that server, and the
//! gateway adds relevant context to each tool call.
//!
//! Messages are relayed byte for byte: tools, resources, prompts, notifications and errors are the
//! server's own, in whatever revision the two speak. Only tool calls change: they get the argument
//! `_context` where the tool accepts it, and their results report in `_meta.contextUsed` what was
//! added. If context cannot be assembled in time, the call is sent without it and says so.
//!
//! The settings are a TOML file; every line is optional ([`GatewaySettings`]):
//!
//! ```toml
//! [context]
//! workspace = "default"     # where context is retrieved
//! recipe = "situation"      # how it is packed
//! context = "deploy"        # the current context, for the recipe `situation`; else the call's own
//!                           # argument `context`
//! user = "anna"             # the user to read as; without one everything is visible
//! groups = ["ops"]
//! budget = 1000             # token budget of a call
//! give = "auto"             # which tools get it: "auto" those whose schema allows `_context`,
//!                           # "always" or "never"
//! deadline_seconds = 2.0    # after that a call is sent without context
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

#![forbid(unsafe_code)]

mod assembler;
mod child;

mod lines;
mod relay;
mod remote;
mod settings;
mod tools;

use std::process::ExitStatus;
use std::sync::Arc;

use haversack::Engine;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use haversack_serve::client::ClientError;

use assembler::Assembler;
use relay::{OutgoingMessage, Relay};
pub use settings::{GatewaySettings, GatewaySettingsError, GiveContext};

/// Messages that may queue in each direction.
const QUEUE_MAX: usize = 256;

/// Why a gateway failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The settings are invalid.
    #[error(transparent)]
    GatewaySettings(#[from] GatewaySettingsError),
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
    /// A stream failed.
    #[error("a stream failed")]
    Broken(#[from] std::io::Error),
    /// A message is too long.
    #[error("a message is longer than {0} bytes: raise limits.message_bytes")]
    TooLong(usize),
}

/// The server behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrappedServer {
    /// A program that speaks MCP on its standard streams: its name and arguments.
    Command(Vec<String>),
    /// A server that speaks MCP over Streamable HTTP.
    Url(String),
}

/// A gateway.
#[derive(Debug)]
pub struct Gateway {
    settings: GatewaySettings,
    assembler: Assembler,
    wrapped: WrappedServer,
}

impl Gateway {
    /// A gateway that gets context from the Haversack server in its settings, or else from the data
    /// folder that `open` opens. Without `wrapped` the settings name the server behind it.
    ///
    /// # Errors
    /// When the settings are invalid, or the workspace does not exist.
    pub fn new(
        settings: GatewaySettings,
        open: impl FnOnce() -> Result<Engine, haversack::Error>,
        workspace: &str,
        wrapped: Option<WrappedServer>,
    ) -> Result<Gateway, GatewayError> {
        settings.check()?;
        let wrapped = wrapped.or_else(|| settings.server.url.clone().map(WrappedServer::Url));
        let wrapped = wrapped.ok_or(GatewaySettingsError::Nothing)?;
        if let WrappedServer::Url(url) = &wrapped {
            haversack_serve::client::address_for(url, settings.server.bearer_env.is_some())?;
        }
        let named = settings.context.workspace.as_deref().unwrap_or(workspace);
        let assembler = match &settings.context.server {
            Some(server) => Assembler::remote(server, named, &settings.context)?,
            None => Assembler::local(open()?.existing_workspace(named)?),
        };
        Ok(Gateway { settings, assembler, wrapped })
    }

    /// Relays between a client on these streams and the wrapped server until the input ends.
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
        let (to_server, for_server) = mpsc::channel::<OutgoingMessage>(QUEUE_MAX);
        let (to_client, for_client) = mpsc::channel::<String>(QUEUE_MAX);
        let (from_server, incoming) = mpsc::channel::<String>(QUEUE_MAX);
        let server = settings.server.clone();
        let relay = Arc::new(Relay::new(settings, assembler, to_server, to_client));
        let writing = tokio::spawn(lines::write(output, for_client));
        let replies = tokio::spawn(relay::relay_replies(Arc::clone(&relay), incoming));
        let requests =
            tokio::spawn(relay::relay_requests(relay, lines::LineReader::new(input, bytes_max)));
        let ended = match wrapped {
            WrappedServer::Command(command) => {
                child::run(&command, bytes_max, for_server, from_server).await
            }
            WrappedServer::Url(url) => {
                remote::run(&url, &server, bytes_max, for_server, from_server).await
            }
        };
        // A server that failed sends no more replies, so the client's input need not end first.
        let read = if ended.is_err() {
            requests.abort();
            Ok(())
        } else {
            requests.await.unwrap_or(Ok(()))
        };
        let _ = replies.await;
        let written = writing.await.unwrap_or(Ok(()));
        ended?;
        read?;
        Ok(written?)
    }
}
