//! The state that all requests share.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use haversack::clock::SteadyClock;
use haversack::{Engine, Workspace};
use haversack_core::units::Timestamp;
use haversack_provider::{Allowance, AllowanceScope, current_allowances};
use thiserror::Error;

use crate::audit::Audit;
use crate::codes::Code;
use crate::config::Config;
use crate::gate::Gate;
use crate::memory::MemoryBudget;
use crate::metrics::Metrics;
use crate::problem::ApiProblem;
use crate::readiness::Readiness;
use crate::repeat::InFlight;
use crate::trace::TraceSender;
use crate::unread::UnreadAnswers;
use crate::who::{Control, ControlError, Identity, JWT_CREDENTIAL, JwtError, TokenVerifier};

/// The state that all requests share.
pub(crate) struct ServerState {
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) control: Control,
    pub(crate) signers: Option<TokenVerifier>,
    pub(crate) audit: Audit,
    pub(crate) gate: Gate,
    /// The memory that requests share.
    pub(crate) memory: Arc<MemoryBudget>,
    /// The memory that answers share until they are read.
    pub(crate) unread: Arc<UnreadAnswers>,
    /// Requests in flight with an idempotency key.
    pub(crate) keyed_requests: InFlight,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: TraceSender,
    pub(crate) readiness: Readiness,
    key_clock: SteadyClock,
    /// Held while a workspace is created.
    pub(crate) creating: Mutex<()>,
    stopping: AtomicBool,
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// Why a server cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The control database cannot be used.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The keys that verify signed tokens cannot be read.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The audit log cannot be written.
    #[error("the audit log cannot be opened")]
    Audit(#[source] std::io::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: is another server there?")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The server failed.
    #[error("the server failed")]
    Failed(#[from] std::io::Error),
}

impl ServerState {
    pub(crate) fn new(
        engine: Engine,
        folder: &Path,
        config: Config,
        signers: Option<TokenVerifier>,
        tracer: TraceSender,
    ) -> Result<ServerState, StartError> {
        let audit = Audit::open(folder).map_err(StartError::Audit)?;
        for found in audit.breaks().map_err(StartError::Audit)? {
            let (at, what) = (found.at.to_string(), found.what);
            tracing::error!(target: "haversack", at, what, "the audit log was changed and that was not accepted");
        }
        let gate = Gate::new(&config.limits, engine.calls_models());
        Ok(ServerState {
            engine,
            control: Control::open(folder)?,
            signers,
            audit,
            gate,
            memory: MemoryBudget::new(config.limits.memory_bytes),
            unread: UnreadAnswers::new(config.limits.unread_bytes),
            keyed_requests: InFlight::default(),
            metrics: Metrics::new(),
            tracer,
            readiness: Readiness::default(),
            key_clock: SteadyClock::default(),
            creating: Mutex::default(),
            stopping: AtomicBool::new(false),
            config,
        })
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.engine.now()
    }

    /// The time for idempotency keys, which no jump of the system's clock may end too early.
    pub(crate) fn key_time(&self) -> Timestamp {
        self.key_clock.settled()
    }

    /// Opens an existing workspace, on a blocking thread because opening reads files.
    pub(crate) async fn workspace(&self, name: &str) -> Result<Workspace, ApiProblem> {
        if let Some(workspace) = self.engine.get_if_open(name) {
            return Ok(workspace);
        }
        let (engine, name) = (self.engine.clone(), name.to_owned());
        let wanted = name.clone();
        let opened = on_blocking_thread(move || engine.existing_workspace(&name)).await?;
        opened.map_err(|error| match error {
            // An invalid name cannot exist.
            haversack::Error::Open(haversack_store::store::error::OpenError::Name { .. }) => {
                ApiProblem::no_workspace(&wanted)
            }
            error => error.into(),
        })
    }

    /// The allowance of models that a caller's key has, or the user of a signed token; none without a cap.
    pub(crate) fn allowances_of(&self, identity: &Identity) -> Vec<Arc<Allowance>> {
        let owner = match identity.credential().strip_prefix(JWT_CREDENTIAL) {
            Some(user) => format!("user {user}"),
            None => format!("key {}", identity.credential()),
        };
        self.engine.allowance(&owner, identity.model_cap()).into_iter().collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }
}

/// Runs work on a blocking thread. The caller's allowances of models count there, too.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiProblem> {
    let allowances = current_allowances();
    let work = move || {
        let _scope = AllowanceScope::enter(&allowances);
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(target: "haversack", %error, "a blocking task failed");
        ApiProblem::new(Code::Internal, "the cause is in the server's log")
    })
}

/// The state, shared between tasks.
pub(crate) type SharedState = Arc<ServerState>;
