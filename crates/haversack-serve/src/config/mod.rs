//! The server's configuration: file, then environment, then flags. Everything has a default, and unknown
//! names are errors.

mod check;
mod descriptors;
mod environment;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use haversack_provider::{CacheSettings, ModelChoices, ModelsConfig, ProviderSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use self::descriptors::connections_max;
use crate::sources::Source;

/// The variable that names a collector of traces to every program.
pub const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The server's configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The address and access.
    pub server: ServerSettings,
    /// Limits.
    pub limits: Limits,
    /// Logs and traces.
    pub log: LogSettings,
    /// Signed tokens to accept beside keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<Jwt>,
    /// Model providers, by name. When no model is chosen here, those of the data folder count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Models of those providers, by what they do.
    #[serde(skip_serializing_if = "ModelChoices::is_unset")]
    pub models: ModelChoices,
    /// A shared cache of embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheSettings>,
    /// Folders that workspaces are kept like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// The journal that this node shares with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalSource>,
}

impl Config {
    /// The settings of models, if any model is chosen here.
    #[must_use]
    pub fn models_config(&self) -> Option<ModelsConfig> {
        (!self.models.is_empty()).then(|| ModelsConfig {
            providers: self.providers.clone(),
            models: self.models.clone(),
            cache: self.cache.clone(),
        })
    }
}

/// The journal that this node shares with others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSource {
    /// The address of the database: `postgres://USER@HOST/DATABASE`.
    pub url: String,
    /// The variable of the environment that holds the password, if the address has none.
    pub password_env: String,
    /// Where large snapshots go: `s3://…`, `gs://…`, `az://…` or `file:///…`. Without it they are in the
    /// database.
    pub snapshots: String,
    /// Snapshots of at least this size go there.
    pub snapshots_from_bytes: u64,
    /// A new snapshot is made after this many bytes of changes.
    pub snapshot_after_bytes: u64,
    /// For how long reads go on without the journal.
    pub stale_seconds: f64,
    /// How old what a `bounded` read gets may be.
    pub bounded_seconds: f64,
    /// How long a write waits for writers on other nodes.
    pub lock_seconds: f64,
    /// The bytes that replicas may take on the disk; nothing here means no limit.
    pub disk_bytes: Option<u64>,
    /// Connections to the database.
    pub connections: usize,
}

impl Default for JournalSource {
    fn default() -> JournalSource {
        JournalSource {
            url: String::new(),
            password_env: String::new(),
            snapshots: String::new(),
            snapshots_from_bytes: 16 << 20,
            snapshot_after_bytes: 64 << 20,
            stale_seconds: 60.0,
            bounded_seconds: 5.0,
            lock_seconds: 20.0,
            disk_bytes: None,
            connections: 16,
        }
    }
}

/// The signed tokens (JWT) to accept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What the requests of each user may use of models in a day; nothing here means no cap.
    pub model_tokens_per_day: Option<u64>,
    /// The cost that the requests of each user may cause in a day, by the prices of `[models]`.
    pub model_cost_per_day: Option<f64>,
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
            model_tokens_per_day: None,
            model_cost_per_day: None,
        }
    }
}

/// The address of a server, and who has access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// The address. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Who needs a key.
    pub auth: Auth,
    /// Names under which the server is reached, beside its address and `localhost`. A request for
    /// another name is refused, so that a page of another site cannot reach a server on this machine.
    pub hosts: Vec<String>,
    /// The public URL of the server, such as `https://context.example.com`, for clients that look for
    /// the authorization server. When empty, it is made from the host name that they used.
    pub url: String,
    /// Origins whose pages may ask, such as `https://app.example.com`. Others are refused.
    pub origins: Vec<String>,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 7077)),
            auth: Auth::Auto,
            hosts: Vec::new(),
            url: String::new(),
            origins: Vec::new(),
        }
    }
}

/// Who needs a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// Keys are needed if the server can be reached from elsewhere: if it listens on more than
    /// loopback, has host names or a URL, or accepts tokens. A local proxy may forward anyone.
    Auto,
    /// Everyone needs a key.
    Keys,
    /// Nobody needs a key. Only for private networks.
    Off,
}

/// The server's limits. Sizes are in bytes, times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Longest body that is read as a whole.
    pub body_bytes: usize,
    /// Most values of a JSON body, nested ones included.
    pub body_values: usize,
    /// Memory that the bodies of all requests may take at once, as text and as values.
    pub memory_bytes: usize,
    /// Answers that all clients together may leave unread; beyond it the slowest is cut.
    pub unread_bytes: usize,
    /// Longest stream of lines.
    pub stream_bytes: u64,
    /// Most lines of a stream that are written together.
    pub batch_lines: usize,
    /// Open connections.
    pub connections: usize,
    /// Workspaces that stay open without being used.
    pub open_workspaces: usize,
    /// How long a workspace stays open without being used; 0 for as long as there is room.
    pub workspace_idle_seconds: f64,
    /// Requests in flight.
    pub concurrent: usize,
    /// Requests in the queue.
    pub queue: usize,
    /// Timeout in the queue.
    pub queue_seconds: f64,
    /// How long a client may take to send the head of a request.
    pub head_seconds: f64,
    /// How long a client may pause inside a body.
    pub body_seconds: f64,
    /// How long a client may leave a response unread.
    pub write_seconds: f64,
    /// How long a connection may do nothing.
    pub idle_seconds: f64,
    /// Deadline of a request.
    pub deadline_seconds: f64,
    /// How long shutdown waits for requests in flight.
    pub shutdown_seconds: f64,
    /// Requests a second for each key; 0 for any number.
    pub rate: f64,
    /// Requests that a key may make at once before its rate limit applies.
    pub burst: f64,
    /// Failed logins per minute and address; 0 for any number. Valid credentials are not limited.
    pub denied: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 16 << 20,
            body_values: 500_000,
            memory_bytes: 512 << 20,
            unread_bytes: 256 << 20,
            stream_bytes: 4 << 30,
            batch_lines: 1_000,
            connections: 12_000,
            open_workspaces: 256,
            workspace_idle_seconds: 1_800.0,
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

/// Logs and traces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// The format.
    pub format: LogFormat,
    /// How much: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: LogLevel,
    /// Where traces are sent: the address of an OpenTelemetry collector that takes OTLP over HTTP. When
    /// empty, `OTEL_EXPORTER_OTLP_ENDPOINT` counts; when that is not there, none are sent.
    pub otlp: String,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings { format: LogFormat::Pretty, level: LogLevel::Info, otlp: String::new() }
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

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
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

impl LogLevel {
    /// The level as `tracing` has it.
    #[must_use]
    pub const fn tracing(self) -> tracing::Level {
        match self {
            LogLevel::Error => tracing::Level::ERROR,
            LogLevel::Warn => tracing::Level::WARN,
            LogLevel::Info => tracing::Level::INFO,
            LogLevel::Debug => tracing::Level::DEBUG,
            LogLevel::Trace => tracing::Level::TRACE,
        }
    }
}

/// Why a settings file is invalid.
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
    /// It is malformed.
    #[error("{path}: {message}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong, with its place.
        message: String,
    },
}

/// Reads a file of settings.
///
/// # Errors
/// When it cannot be read, or a name in it is unknown.
pub fn from_file<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|error| FileError::Form { path: name, message: error.to_string() }),
        Err(cause) => Err(FileError::Read { path: name, cause }),
    }
}

/// Why a configuration is invalid.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// An environment variable is invalid.
    #[error("{name}: {message}")]
    Variable {
        /// Which.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A value is invalid.
    #[error("{name}: {message}")]
    Value {
        /// Which, as in the file: `limits.queue`.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Anybody could access everything.
    #[error(
        "{address} can be reached from other machines and no key is needed: leave server.auth alone, or \
         pass --insecure if the network is private"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
}

impl Config {
    /// Reads a file and the environment. Callers apply flags on top.
    ///
    /// # Errors
    /// When a name is unknown or a value is invalid.
    pub fn read(
        file: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Config, ConfigError> {
        let config = file.map_or_else(|| Ok(Config::default()), from_file)?;
        environment::apply(config, environment)
    }

    /// Whether callers need a key.
    #[must_use]
    pub fn needs_keys(&self) -> bool {
        match self.server.auth {
            Auth::Keys => true,
            Auth::Off => false,
            Auth::Auto => !self.is_local_only(),
        }
    }

    /// Whether only this machine can reach the server.
    fn is_local_only(&self) -> bool {
        let server = &self.server;
        server.listen.ip().is_loopback()
            && server.hosts.is_empty()
            && server.url.is_empty()
            && self.jwt.is_none()
    }
}

/// Seconds as a duration; zero if they are out of range.
#[must_use]
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
