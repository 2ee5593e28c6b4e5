//! What all calls share.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use haversack::{Engine, Workspace};
use haversack_core::units::Timestamp;
use thiserror::Error;

use crate::audit::Audit;
use crate::call::percent_decoded;
use crate::codes::Code;
use crate::config::Config;
use crate::gate::Gate;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::repeat::Doing;
use crate::trace::Tracer;
use crate::who::{Control, ControlError, JwtError, Signers};

/// What all calls share.
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) control: Control,
    pub(crate) signers: Option<Signers>,
    pub(crate) audit: Audit,
    pub(crate) gate: Gate,
    /// What is being done under an idempotency key.
    pub(crate) doing: Doing,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: Tracer,
    /// Held while a workspace is made.
    pub(crate) making: Mutex<()>,
    stopping: AtomicBool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// Why a server cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// What it is told will not do.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The control database cannot be used.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The keys of those who sign tokens cannot be read.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The audit log cannot be written.
    #[error("the audit log cannot be opened")]
    Audit(#[source] std::io::Error),
    /// The address cannot be taken.
    #[error("cannot listen on {address}: is another server there?")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The server cannot go on.
    #[error("the server cannot go on")]
    Failed(#[from] std::io::Error),
}

impl State {
    pub(crate) fn new(
        engine: Engine,
        folder: &Path,
        config: Config,
        signers: Option<Signers>,
        tracer: Tracer,
    ) -> Result<State, StartError> {
        Ok(State {
            engine,
            control: Control::open(folder)?,
            signers,
            audit: Audit::open(folder).map_err(StartError::Audit)?,
            gate: Gate::new(&config.limits),
            doing: Doing::default(),
            metrics: Metrics::new(),
            tracer,
            making: Mutex::default(),
            stopping: AtomicBool::new(false),
            config,
        })
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// A workspace that is there. Opening reads files, so it is done apart.
    pub(crate) async fn workspace(&self, name: &str) -> Result<Workspace, Problem> {
        if let Some(workspace) = self.engine.at_hand(name) {
            return Ok(workspace);
        }
        let (engine, name) = (self.engine.clone(), name.to_owned());
        let wanted = name.clone();
        let opened = blocking(move || engine.existing(&name)).await?;
        opened.map_err(|error| match error {
            // What cannot be a name is nobody's.
            haversack::Error::Open(haversack_store::store::error::OpenError::Name { .. }) => {
                Problem::no_workspace(&wanted)
            }
            error => error.into(),
        })
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }
}

/// Work that blocks, on a thread where it may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(target: "haversack", %error, "work broke off");
        Problem::new(Code::Internal, "the cause is in the server's log")
    })
}

/// The parts of a query string, decoded; of a name that comes twice, the last.
pub(crate) fn query(text: Option<&str>) -> Result<BTreeMap<String, String>, Problem> {
    let mut parts = BTreeMap::new();
    for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| percent_decoded("query", &text.replace('+', " "));
        parts.insert(decoded(name)?, decoded(value)?);
    }
    Ok(parts)
}

/// The state as calls have it.
pub(crate) type Shared = Arc<State>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_string_is_decoded_or_refused() {
        let read = query(Some("kind=note&after=a%2Fb+c&x")).unwrap();
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(read, [("after", "a/b c"), ("kind", "note"), ("x", "")]);
        for bad in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(query(Some(bad)).is_err(), "{bad}");
        }
    }
}
