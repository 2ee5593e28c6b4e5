//! Sync: keeps the rows of a database as items of a workspace.
//!
//! A query of a database ([`haversack_database`]) is a source with a name. Its rows become items through the
//! grammar of items ([`haversack_store::transfer::read_row`]), all at the path `db:NAME`. With a column that
//! says when a row last changed, a run reads only the rows from its watermark on; now and then, and whenever
//! the source is not the same as before, a full pass reads all rows and deletes the items whose rows are gone.
//!
//! What the source was when it was last read (the watermark, the time of the full pass, hashes of the query
//! and of the mapping) is a record of the workspace ([`DocumentKind::Source`]). An incremental run writes it in
//! the same batch as the items, a full pass with its last. A run that ends early is simply run again: rows
//! that did not change make no version.
//!
//! [`DocumentKind::Source`]: haversack_store::store::item::DocumentKind::Source

mod columns;
mod fit;
mod local;
mod notices;
mod run;
mod state;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use haversack_core::ids::{IdError, check_name};
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_database::{Address, Database, DatabaseError};
use haversack_store::kinds::Kinds;
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::viewer::Principal;
use thiserror::Error;

pub use self::local::LocalTarget;
pub use self::notices::SyncNotice;
pub use self::state::SyncState;
pub use self::target::{RefusedItem, SyncBatch, SyncBatchReport, SyncTarget};

/// The longest name of a source in bytes.
pub const NAME_BYTES_MAX: usize = 256;

/// How old a full pass may become by default.
pub const FULL_EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// The kind of rows by default.
const DEFAULT_KIND: &str = "row";

/// The name of a source in its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName {
    name: String,
    is_given: bool,
}

impl SourceName {
    /// A name that somebody gave. A source of that name is the same source, whatever its query.
    ///
    /// # Errors
    /// When it is empty, too long or holds a control character.
    pub fn given(name: &str) -> Result<SourceName, IdError> {
        check_name(name, NAME_BYTES_MAX)?;
        Ok(SourceName { name: name.to_owned(), is_given: true })
    }

    /// The name by default: the database and the kind.
    ///
    /// # Errors
    /// As [`SourceName::given`].
    pub fn of(address: &Address, kind: Option<&Kind>) -> Result<SourceName, IdError> {
        let name = format!("{}/{}", address.database(), kind.map_or(DEFAULT_KIND, Kind::as_str));
        Ok(SourceName { is_given: false, ..SourceName::given(&name)? })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The path of all items of a source. No file has such a path.
#[must_use]
pub fn source_path(name: &str) -> String {
    format!("db:{name}")
}

/// The columns that mean something to an item. The others become fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowColumns {
    /// The id; by default `id`.
    pub id: Option<String>,
    /// The text; by default `text`, `body` or `content`, else what the kind's definition says.
    pub text: Option<String>,
    /// The title; by default `title` or `name`.
    pub title: Option<String>,
    /// When the row was made; by default `created` or `created_at`.
    pub created: Option<String>,
    /// When the row last changed. Only if it is named are runs incremental; its usual names (`updated`,
    /// `updated_at`) are otherwise only the time of the item.
    pub updated: Option<String>,
}

/// A request to keep the rows of a query as items.
#[derive(Debug, Clone)]
pub struct SyncRequest {
    /// The name of the source.
    pub name: SourceName,
    /// The database, as [`Address::identity`] has it.
    pub database: String,
    /// One `SELECT` without parameters.
    pub query: String,
    /// The kind of the items; `row` by default.
    pub kind: Option<Kind>,
    /// The columns that are not only fields.
    pub columns: RowColumns,
    /// What ids begin with, so that rows of several tables can be told apart.
    pub id_prefix: String,
    /// Who may read the items. Without it an item keeps the readers that it was given; a new one has none
    /// of its own.
    pub readers: Option<BTreeSet<Principal>>,
    /// Users of the data and their principals, as in [`crate::ingest::IngestRequest::users`].
    pub users: BTreeMap<String, Principal>,
    /// Whether to read all rows, and to delete the items whose rows are gone, however many they are.
    pub full: bool,
    /// How old the last full pass may be; `None` for any age.
    pub full_every: Option<Duration>,
    /// Whether only to say what would happen.
    pub dry_run: bool,
    /// The definitions of kinds.
    pub kinds: Arc<Kinds>,
    /// The time of the run.
    pub at: Timestamp,
    /// The name of the import, by which its items can be undone.
    pub origin: String,
}

impl SyncRequest {
    /// A request with the columns by their usual names.
    #[must_use]
    pub fn new(
        name: SourceName,
        (database, query): (&Address, &str),
        kinds: Arc<Kinds>,
        at: Timestamp,
    ) -> SyncRequest {
        SyncRequest {
            name,
            database: database.identity(),
            query: query.to_owned(),
            kind: None,
            columns: RowColumns::default(),
            id_prefix: String::new(),
            readers: None,
            users: BTreeMap::new(),
            full: false,
            full_every: Some(FULL_EVERY),
            dry_run: false,
            kinds,
            at,
            origin: format!("sync-{}", at.as_millis()),
        }
    }
}

/// Why a run reads all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReason {
    /// It was asked for.
    Requested,
    /// The source was never read before.
    First,
    /// No column says when a row changed.
    NoUpdatedColumn,
    /// The query, the database or the mapping is another than before.
    Changed,
    /// The last full pass is too old.
    Age,
}

impl FullReason {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FullReason::Requested => "as requested",
            FullReason::First => "for the first time",
            FullReason::NoUpdatedColumn => "as no column says when a row changed",
            FullReason::Changed => "as the query or its mapping changed",
            FullReason::Age => "as the last full pass is old",
        }
    }
}

/// What a run read and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncSummary {
    /// Why all rows were read; `None` for an incremental run.
    pub full: Option<FullReason>,
    /// Rows that were read.
    pub rows: u64,
    /// Items stored.
    pub stored: u64,
    /// Items that were stored already and did not change.
    pub unchanged: u64,
    /// Items deleted, because their rows are gone.
    pub deleted: u64,
    /// Rows that did not become items.
    pub refused: u64,
    /// Items whose rows are gone and that were not deleted, because they are more than half of all.
    pub held_back: u64,
    /// What a person should know, by row and column.
    pub notices: Vec<SyncNotice>,
    /// Warnings of the store.
    pub warnings: Vec<String>,
}

/// Why a run ended early. What was written before stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The database cannot be read.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The query has no such column.
    #[error("the query has no column {wanted:?}; it has {}", .columns.join(", "))]
    NoColumn {
        /// The name that was given or is the default.
        wanted: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// One column is named for two things.
    #[error("the column {column:?} is named for two things: {first} and {second}")]
    TwoRoles {
        /// The column.
        column: String,
        /// What it is named for.
        first: &'static str,
        /// What else.
        second: &'static str,
    },
    /// Rows are data, and items of this kind instruct models (X11).
    #[error(
        "rows cannot become items of the kind {kind}, which models rely on: write them with `haversack import` \
         or a trusted key"
    )]
    Guidance {
        /// The kind.
        kind: Kind,
    },
    /// Another query had the name by default.
    #[error(
        "{name} was another query or database before: give a name of its own to another source, or the name \
         {name} itself to say that it is the same one (items whose rows are gone are then deleted)"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The workspace cannot be read.
    #[error("cannot read the workspace")]
    Read(#[from] ReadError),
    /// The workspace cannot be written.
    #[error("cannot write to the workspace")]
    Write(#[from] CommitError),
    /// Somebody stopped it.
    #[error("stopped; what was written before stays")]
    Stopped,
    /// The server of the workspace failed.
    #[error("the server cannot do it")]
    Server(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Brings the rows of a query into a workspace. `progress` is called after each batch, and may stop the run.
///
/// # Errors
/// When the database or the workspace fails, or the query lacks a column. Problems of single rows are no
/// errors; see [`SyncSummary::notices`].
pub fn sync(
    database: &mut Database,
    target: &mut dyn SyncTarget,
    request: &SyncRequest,
    progress: &mut dyn FnMut(&SyncSummary) -> ControlFlow<()>,
) -> Result<SyncSummary, SyncError> {
    run::run(database, target, request, progress)
}
