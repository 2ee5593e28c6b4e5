//! Checks a configuration before a server starts, and for `haversack config check`.

use haversack_store::store::change::BATCH_CHANGES_MAX;
use haversack_store::store::error::error_chain;

use super::{Config, ConfigError, Jwt};
use crate::client::address;
use crate::trace::CAN_SEND;
use crate::who::{check_file, check_url, is_url};

/// The shortest and the longest timeout.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e6;

impl Config {
    /// Checks for invalid values and for open access. `insecure` confirms that the network is private.
    /// Reads a key file but sends nothing over the network.
    ///
    /// # Errors
    /// When a value is invalid.
    pub fn check(&self, insecure: bool) -> Result<(), ConfigError> {
        let address = self.server.listen;
        if !self.needs_keys() && !address.ip().is_loopback() && !insecure {
            return Err(ConfigError::Open { address });
        }
        if let Some(jwt) = &self.jwt {
            check_jwt(jwt)?;
        }
        self.check_url()?;
        self.check_models()?;
        self.check_sources()?;
        self.check_collector()?;
        self.check_counts()?;
        self.check_times()
    }

    fn check_models(&self) -> Result<(), ConfigError> {
        let Some(models) = self.models_config() else { return Ok(()) };
        models.check().map_err(|error| {
            let message = error.to_string();
            ConfigError::Value { name: "models", message }
        })
    }

    fn check_sources(&self) -> Result<(), ConfigError> {
        for (number, source) in (1..).zip(&self.sources) {
            if let Some(problem) = source.problem() {
                let message = format!("number {number}: {problem}");
                return Err(ConfigError::Value { name: "sources", message });
            }
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let counts = [
            ("limits.body_bytes", limits.body_bytes),
            ("limits.body_values", limits.body_values),
            ("limits.memory_bytes", limits.memory_bytes),
            ("limits.unread_bytes", limits.unread_bytes),
            ("limits.stream_bytes", usize::try_from(limits.stream_bytes).unwrap_or(usize::MAX)),
            ("limits.batch_lines", limits.batch_lines),
            ("limits.connections", limits.connections),
            ("limits.open_workspaces", limits.open_workspaces),
            ("limits.concurrent", limits.concurrent),
        ];
        for (name, count) in counts {
            if count == 0 {
                let message = "is 0, which would refuse every request: use 1 or more".to_owned();
                return Err(ConfigError::Value { name, message });
            }
        }
        if limits.batch_lines > BATCH_CHANGES_MAX {
            let lines = limits.batch_lines;
            let message = format!("{lines} is more than a batch can have, {BATCH_CHANGES_MAX}");
            return Err(ConfigError::Value { name: "limits.batch_lines", message });
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let limits = &self.limits;
        let needed = [
            ("limits.head_seconds", limits.head_seconds),
            ("limits.body_seconds", limits.body_seconds),
            ("limits.write_seconds", limits.write_seconds),
            ("limits.idle_seconds", limits.idle_seconds),
            ("limits.deadline_seconds", limits.deadline_seconds),
        ];
        for (name, time) in needed {
            if !(SECONDS_MIN..=SECONDS_MAX).contains(&time) {
                let message = format!("{time} is out of range: use {SECONDS_MIN} to 1,000,000");
                return Err(ConfigError::Value { name, message });
            }
        }
        let others = [
            ("limits.workspace_idle_seconds", limits.workspace_idle_seconds),
            ("limits.queue_seconds", limits.queue_seconds),
            ("limits.shutdown_seconds", limits.shutdown_seconds),
            ("limits.rate", limits.rate),
            ("limits.burst", limits.burst),
        ];
        for (name, number) in others {
            if !(0.0..=SECONDS_MAX).contains(&number) {
                let message = format!("{number} is out of range: use 0 to 1,000,000");
                return Err(ConfigError::Value { name, message });
            }
        }
        Ok(())
    }

    /// Checks that the URL is only scheme and host, because the metadata is served at the root.
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

    /// Checks that traces can be sent.
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

/// Checks that tokens can be verified.
fn check_jwt(jwt: &Jwt) -> Result<(), ConfigError> {
    let wrong = |message: String| ConfigError::Value { name: "jwt.jwks", message };
    if jwt.jwks.is_empty() {
        return Err(wrong("is missing: name a file, or an https:// URL".to_owned()));
    }
    if is_url(&jwt.jwks) {
        check_url(&jwt.jwks).map_err(|error| wrong(error.to_string()))?;
    } else {
        check_file(&jwt.jwks).map_err(|error| wrong(error_chain(&error)))?;
    }
    let needed = [("jwt.issuer", &jwt.issuer), ("jwt.audience", &jwt.audience)];
    for (name, value) in needed {
        if value.is_empty() {
            let message = "is missing: without it tokens for other servers would be accepted";
            return Err(ConfigError::Value { name, message: message.to_owned() });
        }
    }
    if let Some(cost) = jwt.model_cost_per_day.filter(|cost| !cost.is_finite() || *cost < 0.0) {
        let message = format!("{cost} is not a cost: take a number from 0 up");
        return Err(ConfigError::Value { name: "jwt.model_cost_per_day", message });
    }
    Ok(())
}
