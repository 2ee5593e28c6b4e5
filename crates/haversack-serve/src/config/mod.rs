//! What a server is told: by a file, by the environment, by flags, in that order. Everything has a
//! default, and a name that is not known is an error.

mod check;
mod environment;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The variable that names a collector of traces to every program.
pub const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// What a server is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where it listens, and to whom.
    pub server: Server,
    /// What it bears.
    pub limits: Limits,
    /// What it tells.
    pub log: Log,
    /// Whose signed tokens are good beside keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<Jwt>,
}

/// Whose signed tokens (JWT) are good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Jwt {
    /// The signer's public keys, a JSON Web Key Set: a file, which is read again when it changes, or
    /// an `https://` URL, which is asked again for keys that are not known and every few minutes.
    pub jwks: String,
    /// Who signs, as the claim `iss` has it.
    pub issuer: String,
    /// For whom, as the claim `aud` has it.
    pub audience: String,
    /// The claim that lists scopes.
    pub scopes_claim: String,
    /// The claim that lists workspaces.
    pub workspaces_claim: String,
    /// The claim that lists the user's groups.
    pub groups_claim: String,
}

impl Default for Jwt {
    fn default() -> Jwt {
        Jwt {
            jwks: String::new(),
            issuer: String::new(),
            audience: String::new(),
            scopes_claim: "scope".to_owned(),
            workspaces_claim: "workspaces".to_owned(),
            groups_claim: "groups".to_owned(),
        }
    }
}

/// Where a server listens, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The address. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Who is let in.
    pub auth: Auth,
    /// Names under which the server is reached, beside its address and `localhost`. A request for
    /// another name is refused, so that a page of another site cannot reach a server on this machine.
    pub hosts: Vec<String>,
    /// The URL under which others reach the server, such as `https://context.example.com`: it is told
    /// to clients that look for who gives tokens. When empty, it is made from the name they used.
    pub url: String,
    /// Origins whose pages may ask, such as `https://app.example.com`. Others are refused.
    pub origins: Vec<String>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            listen: SocketAddr::from(([127, 0, 0, 1], 7077)),
            auth: Auth::Auto,
            hosts: Vec::new(),
            url: String::new(),
            origins: Vec::new(),
        }
    }
}

/// Who is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// Everyone on this machine when nothing says that others reach the server, else by key. Others
    /// do when it listens to more than this machine, has names or a URL, or takes tokens: a proxy on
    /// this machine speaks for whoever is behind it.
    Auto,
    /// Who has a key.
    Keys,
    /// Everyone who can reach the server. Only for networks that nobody else is in.
    Off,
}

/// What a server bears. Sizes are in bytes, times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Longest body that is read as a whole.
    pub body_bytes: usize,
    /// Longest stream of lines.
    pub stream_bytes: u64,
    /// Most lines of a stream that are written together.
    pub batch_lines: usize,
    /// Connections held at once.
    pub connections: usize,
    /// Requests worked on at once.
    pub concurrent: usize,
    /// Requests that may wait for their turn.
    pub queue: usize,
    /// How long one waits.
    pub queue_seconds: f64,
    /// How long a client may take to send the head of a request.
    pub head_seconds: f64,
    /// How long a client may pause inside a body.
    pub body_seconds: f64,
    /// How long a client may leave an answer unread.
    pub write_seconds: f64,
    /// How long a connection may do nothing.
    pub idle_seconds: f64,
    /// How long an answer may take.
    pub deadline_seconds: f64,
    /// How long requests under way are waited for at the end.
    pub shutdown_seconds: f64,
    /// Requests a second for each key; 0 for any number.
    pub rate: f64,
    /// Requests that a key may make at once before its rate counts.
    pub burst: f64,
    /// Credentials that are not good, a minute, from one address; 0 for any number. What is over it is
    /// told to come later; a good credential from there never is.
    pub denied: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 16 << 20,
            stream_bytes: 4 << 30,
            batch_lines: 1_000,
            connections: 12_000,
            concurrent: 64,
            queue: 256,
            queue_seconds: 0.03,
            head_seconds: 10.0,
            body_seconds: 30.0,
            write_seconds: 30.0,
            idle_seconds: 120.0,
            deadline_seconds: 30.0,
            shutdown_seconds: 30.0,
            rate: 0.0,
            burst: 100.0,
            denied: 60,
        }
    }
}

/// What a server tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// In which form.
    pub format: LogFormat,
    /// How much: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: Level,
    /// Where traces are sent: the address of an OpenTelemetry collector that takes OTLP over HTTP. When
    /// empty, `OTEL_EXPORTER_OTLP_ENDPOINT` counts; when that is not there, none are sent.
    pub otlp: String,
}

impl Default for Log {
    fn default() -> Log {
        Log { format: LogFormat::Pretty, level: Level::Info, otlp: String::new() }
    }
}

/// The form of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// For programs: a JSON object a line.
    Json,
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Only what failed.
    Error,
    /// And what a person should look at.
    Warn,
    /// And one line for each request and pack.
    Info,
    /// And what helps to find a defect.
    Debug,
    /// And everything else.
    Trace,
}

impl Level {
    /// The level as `tracing` has it.
    #[must_use]
    pub const fn tracing(self) -> tracing::Level {
        match self {
            Level::Error => tracing::Level::ERROR,
            Level::Warn => tracing::Level::WARN,
            Level::Info => tracing::Level::INFO,
            Level::Debug => tracing::Level::DEBUG,
            Level::Trace => tracing::Level::TRACE,
        }
    }
}

/// What is wrong with a file of settings.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It is not as it should be.
    #[error("{path}: {message}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong, with its place.
        message: String,
    },
}

/// What a file of settings says.
pub(crate) fn from_file<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|error| FileError::Form { path: name, message: error.to_string() }),
        Err(cause) => Err(FileError::Read { path: name, cause }),
    }
}

/// What is wrong with what a server is told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Its file will not do.
    #[error(transparent)]
    File(#[from] FileError),
    /// A variable of the environment is not as it should be.
    #[error("{name}: {message}")]
    Variable {
        /// Which.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A value cannot be.
    #[error("{name}: {message}")]
    Value {
        /// Which, as in the file: `limits.queue`.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Anybody could reach everything.
    #[error(
        "{address} can be reached from elsewhere, and nobody is asked for a key: leave server.auth \
         alone, or say --insecure if nobody else is in that network"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
}

impl Config {
    /// What a file and the environment say. Flags come on top, by whoever has them.
    ///
    /// # Errors
    /// When a name is unknown or a value will not do.
    pub fn read(
        file: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Config, ConfigError> {
        let config = file.map_or_else(|| Ok(Config::default()), from_file)?;
        environment::overlaid(config, environment)
    }

    /// Whether callers need a key.
    #[must_use]
    pub fn needs_keys(&self) -> bool {
        match self.server.auth {
            Auth::Keys => true,
            Auth::Off => false,
            Auth::Auto => !self.is_of_this_machine(),
        }
    }

    /// Whether nothing says that anybody but this machine reaches the server.
    fn is_of_this_machine(&self) -> bool {
        let server = &self.server;
        server.listen.ip().is_loopback()
            && server.hosts.is_empty()
            && server.url.is_empty()
            && self.jwt.is_none()
    }
}

/// Seconds as a time.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
