//! What a server is told: by a file, by the environment, by flags, in that order. Everything has a
//! default, and a name that is not known is an error.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::client::address;
use crate::trace::CAN_SEND;
use crate::who::{check_url, is_url};

/// What the names of environment variables begin with; section and name follow, in capitals:
/// `HAVERSACK_LIMITS_CONCURRENT`.
const PREFIX: &str = "HAVERSACK_";

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
    /// Everyone on this machine when the server listens to this machine alone, else by key.
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

/// What is wrong with what a server is told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The file is not as it should be.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: String,
        /// What is wrong, with its place.
        message: String,
    },
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
        let config = match file {
            None => Config::default(),
            Some(path) => {
                let name = path.display().to_string();
                let text = std::fs::read_to_string(path)
                    .map_err(|cause| ConfigError::Read { path: name.clone(), cause })?;
                toml::from_str(&text)
                    .map_err(|error| ConfigError::File { path: name, message: error.to_string() })?
            }
        };
        config.overlaid(environment)
    }

    fn overlaid(self, environment: &BTreeMap<String, String>) -> Result<Config, ConfigError> {
        let shape = |error: serde_json::Error| ConfigError::Value {
            name: "configuration",
            message: error.to_string(),
        };
        let mut config = self;
        for (name, text) in environment {
            let Some((section, key)) = place(name) else { continue };
            let mut value = serde_json::to_value(&config).map_err(shape)?;
            let wrong = |message: String| ConfigError::Variable { name: name.clone(), message };
            let known = value.get_mut(&section).and_then(|section| section.get_mut(&key));
            let known = known.ok_or_else(|| wrong(format!("[{section}] has no {key:?}")))?;
            *known = typed(known, text);
            config = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        }
        // It is often set for all programs of a machine: one that cannot heed it need not refuse.
        if CAN_SEND && config.log.otlp.is_empty() {
            config.log.otlp = environment.get(COLLECTOR).cloned().unwrap_or_default();
        }
        Ok(config)
    }

    /// Whether callers need a key.
    #[must_use]
    pub fn needs_keys(&self) -> bool {
        match self.server.auth {
            Auth::Keys => true,
            Auth::Off => false,
            Auth::Auto => !self.server.listen.ip().is_loopback(),
        }
    }

    /// Looks for values that cannot work.
    ///
    /// # Errors
    /// When one cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(jwt) = &self.jwt {
            if is_url(&jwt.jwks) {
                check_url(&jwt.jwks).map_err(|error| ConfigError::Value {
                    name: "jwt.jwks",
                    message: error.to_string(),
                })?;
            }
            let needed = [("jwt.issuer", &jwt.issuer), ("jwt.audience", &jwt.audience)];
            for (name, value) in needed {
                if value.is_empty() {
                    let message = "is missing: without it tokens for others would be good here";
                    return Err(ConfigError::Value { name, message: message.to_owned() });
                }
            }
        }
        self.check_url()?;
        self.check_collector()?;
        let limits = &self.limits;
        let counts = [
            ("limits.body_bytes", limits.body_bytes),
            ("limits.batch_lines", limits.batch_lines),
            ("limits.connections", limits.connections),
            ("limits.concurrent", limits.concurrent),
        ];
        for (name, count) in counts {
            if count == 0 {
                let message = "is 0, so nothing would be answered: use 1 or more".to_owned();
                return Err(ConfigError::Value { name, message });
            }
        }
        let most = haversack_store::store::change::BATCH_CHANGES_MAX;
        if limits.batch_lines > most {
            let message = format!("{} is more than a batch can have, {most}", limits.batch_lines);
            return Err(ConfigError::Value { name: "limits.batch_lines", message });
        }
        let times = [
            ("limits.queue_seconds", limits.queue_seconds),
            ("limits.head_seconds", limits.head_seconds),
            ("limits.body_seconds", limits.body_seconds),
            ("limits.write_seconds", limits.write_seconds),
            ("limits.idle_seconds", limits.idle_seconds),
            ("limits.deadline_seconds", limits.deadline_seconds),
            ("limits.shutdown_seconds", limits.shutdown_seconds),
            ("limits.rate", limits.rate),
            ("limits.burst", limits.burst),
        ];
        for (name, time) in times {
            if !(0.0..=1e6).contains(&time) {
                let message = format!("{time} will not do: use 0 to 1,000,000");
                return Err(ConfigError::Value { name, message });
            }
        }
        Ok(())
    }

    /// Whether the URL is one of a whole host: the descriptions are looked for at its root.
    fn check_url(&self) -> Result<(), ConfigError> {
        let url = &self.server.url;
        if url.is_empty() {
            return Ok(());
        }
        let wrong = |message: String| ConfigError::Value { name: "server.url", message };
        let uri = address(url).map_err(|error| wrong(error.to_string()))?;
        let plain = uri.path() == "/" && uri.query().is_none() && !url.contains(['"', '\\', '#']);
        if plain { Ok(()) } else { Err(wrong(format!("{url:?} is more than scheme and host"))) }
    }

    /// Whether traces can be sent to where they are to be.
    fn check_collector(&self) -> Result<(), ConfigError> {
        let collector = &self.log.otlp;
        if collector.is_empty() {
            return Ok(());
        }
        let wrong = |message: String| ConfigError::Value { name: "log.otlp", message };
        if !CAN_SEND {
            let message = "this program was built without traces: leave it empty, or build with \
                           `cargo build --release --features otlp`";
            return Err(wrong(message.to_owned()));
        }
        address(collector).map(drop).map_err(|error| wrong(error.to_string()))
    }
}

/// The section and name that a variable is about.
fn place(variable: &str) -> Option<(String, String)> {
    let (section, key) = variable.strip_prefix(PREFIX)?.split_once('_')?;
    let section = section.to_lowercase();
    ["server", "limits", "log"].contains(&section.as_str()).then(|| (section, key.to_lowercase()))
}

/// A variable's text as the type that its default has. What does not read so stays a text, which is
/// then refused with the reason.
fn typed(default: &Value, text: &str) -> Value {
    match default {
        Value::Number(_) => {
            text.parse().map_or_else(|_| Value::String(text.to_owned()), Value::Number)
        }
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| Value::String(part.to_owned())).collect()
        }
        _ => Value::String(text.to_owned()),
    }
}

/// Seconds as a time.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haversack.toml");
        std::fs::write(&path, file).unwrap();
        let environment =
            environment.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        Config::read(Some(&path), &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_stands_over_the_file_and_the_file_over_defaults() {
        let config = read(
            "[server]\nlisten = \"0.0.0.0:80\"\n[limits]\nqueue = 5\nconcurrent = 7\n",
            &[
                ("HAVERSACK_LIMITS_QUEUE", "9"),
                ("HAVERSACK_SERVER_HOSTS", "a.example, b.example"),
                ("HAVERSACK_DATA", "/elsewhere"),
            ],
        )
        .unwrap();
        assert_eq!(config.limits.queue, 9);
        assert_eq!(config.limits.concurrent, 7);
        assert_eq!(config.limits.connections, Limits::default().connections);
        assert_eq!(config.server.hosts, ["a.example", "b.example"]);
        assert!(config.needs_keys(), "not only this machine can reach it");
        assert!(!Config::default().needs_keys());
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        let wrong = read("[limits]\nquue = 5\n", &[]).unwrap_err();
        assert!(wrong.contains("quue") && wrong.contains("line 2"), "{wrong}");
        let wrong = read("", &[("HAVERSACK_LIMITS_QUUE", "1")]).unwrap_err();
        assert_eq!(wrong, "HAVERSACK_LIMITS_QUUE: [limits] has no \"quue\"");
        let wrong = read("", &[("HAVERSACK_LIMITS_QUEUE", "many")]).unwrap_err();
        assert!(wrong.starts_with("HAVERSACK_LIMITS_QUEUE: "), "{wrong}");
    }

    #[test]
    fn values_that_cannot_work_are_named() {
        let mut config = Config::default();
        config.check().unwrap();
        config.limits.rate = f64::NAN;
        assert!(config.check().unwrap_err().to_string().starts_with("limits.rate: "));
        config.limits = Limits { concurrent: 0, ..Limits::default() };
        assert!(config.check().unwrap_err().to_string().starts_with("limits.concurrent: "));
        config = Config::default();
        for url in ["context.example", "https://context.example/sub", "https://a@context.example"] {
            config.server.url = url.to_owned();
            assert!(config.check().unwrap_err().to_string().starts_with("server.url: "), "{url}");
        }
        config.server.url = "https://context.example:8443".to_owned();
        config.check().unwrap();
    }
}
