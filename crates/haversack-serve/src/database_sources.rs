//! Queries of databases that the server keeps workspaces like (`[[sources]]` with a `database`).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haversack::sync::{
    LocalTarget, RowColumns, SourceName, SyncError, SyncRequest, SyncSummary, sync,
};
use haversack::{Error, Workspace};
use haversack_core::item::Kind;
use haversack_database::{Address, Database, DatabaseLimits};
use haversack_store::store::error::error_chain;
use haversack_store::store::viewer::Principal;

use crate::sources::Source;

/// How often it is checked whether the server stops.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// The time between two runs by default.
const INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Most notices of one run in the log.
const NOTICES_MAX: usize = 20;

/// A query that is run again and again.
#[derive(Debug)]
pub(crate) struct DatabaseSource {
    address: Address,
    query: String,
    name: SourceName,
    kind: Option<Kind>,
    columns: RowColumns,
    id_prefix: String,
    readers: Option<BTreeSet<Principal>>,
    interval: Duration,
    full_every: Option<Duration>,
    limits: DatabaseLimits,
}

impl DatabaseSource {
    /// The query of a source's settings. Passwords stand in variables, not in files of settings.
    pub(crate) fn new(source: &Source) -> Result<DatabaseSource, String> {
        let address = match (source.database.as_deref(), source.database_env.as_deref()) {
            (Some(_), Some(_)) => return Err("database and database_env exclude each other".into()),
            (Some(address), None) => {
                let address = Address::parse(address, None).map_err(|error| error.to_string())?;
                if address.has_password() {
                    return Err(
                        "database: put an address with a password into a variable and name it in \
                                database_env"
                            .into(),
                    );
                }
                address
            }
            (None, Some(variable)) => {
                let address = std::env::var(variable)
                    .map_err(|_| format!("database_env: the variable {variable} is not set"))?;
                Address::parse(&address, None).map_err(|error| error.to_string())?
            }
            (None, None) => return Err("database: name the address".into()),
        };
        let kind = source.kind.as_deref().map(Kind::new).transpose();
        let kind = kind.map_err(|error| format!("kind: {error}"))?;
        let name = match &source.name {
            Some(name) => SourceName::given(name),
            None => SourceName::of(&address, kind.as_ref()),
        };
        let readers = source.readers.as_ref().map(|readers| {
            readers.iter().map(|reader| Principal::parse(reader)).collect::<Result<_, _>>()
        });
        let limits = DatabaseLimits::default();
        let seconds = |seconds: Option<u64>, default| seconds.map_or(default, Duration::from_secs);
        Ok(DatabaseSource {
            address,
            query: source.query.clone().ok_or("query: give the SELECT whose rows are kept")?,
            name: name.map_err(|error| format!("name: {error}"))?,
            kind,
            columns: RowColumns {
                id: source.id.clone(),
                text: source.text.clone(),
                title: source.title.clone(),
                created: source.created.clone(),
                updated: source.updated.clone(),
            },
            id_prefix: source.id_prefix.clone().unwrap_or_default(),
            readers: readers.transpose().map_err(|error| format!("readers: {error}"))?,
            interval: seconds(source.interval_seconds, INTERVAL),
            full_every: match source.full_every_hours {
                None => Some(haversack::sync::FULL_EVERY),
                Some(0) => None,
                Some(hours) => Some(Duration::from_secs(hours.saturating_mul(60 * 60))),
            },
            limits: DatabaseLimits {
                statement: seconds(source.timeout_seconds, limits.statement),
                ..limits
            },
        })
    }

    /// Runs the query until the server stops. A run that fails is reported in the log and tried again.
    pub(crate) fn run(&self, workspace: &Workspace, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            match self.sync(workspace, stop) {
                Ok(summary) => self.log(workspace.name(), &summary),
                Err(SyncError::Stopped) => return,
                Err(error) => {
                    let (workspace, error) = (workspace.name(), error_chain(&error));
                    tracing::error!(
                        target: "haversack", workspace, source = %self.name, database = %self.address,
                        error, "a source cannot be read"
                    );
                }
            }
            let until = Instant::now() + self.interval;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(STOP_CHECK.min(until - Instant::now().min(until)));
            }
        }
    }

    fn sync(&self, workspace: &Workspace, stop: &AtomicBool) -> Result<SyncSummary, SyncError> {
        let kinds = Arc::clone(workspace.kinds());
        let request = SyncRequest {
            kind: self.kind.clone(),
            columns: self.columns.clone(),
            id_prefix: self.id_prefix.clone(),
            readers: self.readers.clone(),
            full_every: self.full_every,
            ..SyncRequest::new(
                self.name.clone(),
                (&self.address, &self.query),
                kinds,
                workspace.now(),
            )
        };
        let mut database = Database::open(&self.address, self.limits)?;
        let store = Arc::clone(workspace.blocking_store());
        let mut target = LocalTarget::new(&*store);
        sync(&mut database, &mut target, &request, &mut |_| match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn log(&self, workspace: &str, summary: &SyncSummary) {
        if summary.stored + summary.deleted + summary.refused > 0 {
            tracing::info!(
                target: "haversack", workspace, source = %self.name, rows = summary.rows,
                stored = summary.stored, deleted = summary.deleted, refused = summary.refused,
                "a source was read"
            );
        }
        for notice in summary.notices.iter().take(NOTICES_MAX) {
            tracing::warn!(target: "haversack", workspace, source = %self.name, %notice, "not read");
        }
        if summary.held_back > 0 {
            tracing::warn!(
                target: "haversack", workspace, source = %self.name, items = summary.held_back,
                "most items are not in the query's result any more; `haversack sync --full` deletes them"
            );
        }
    }
}

/// Makes the query of a source, or says what is wrong with its settings.
pub(crate) fn open_source(source: &Source) -> Result<DatabaseSource, Error> {
    DatabaseSource::new(source).map_err(|problem| Error::invalid("sources", problem))
}
