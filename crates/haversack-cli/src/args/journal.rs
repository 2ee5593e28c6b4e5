//! Options of the journal that several servers share.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the journal is.
#[derive(Debug, Args, Clone)]
pub(crate) struct JournalLocation {
    /// The journal: postgres://USER@HOST/DATABASE; the password can come from $PGPASSWORD
    #[arg(long, value_name = "ADDRESS", env = "HAVERSACK_JOURNAL_URL", hide_env_values = true)]
    pub(crate) journal: Option<String>,
    /// A TOML file with settings of a server, whose section [journal] names the journal
    #[arg(long, value_name = "FILE", env = "HAVERSACK_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// Subcommands of `journal`.
#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Create the tables, or bring them to the format of this version, as their owner
    Init(JournalInitArgs),
    /// Show the workspaces in the journal, with their entries and snapshots
    Status(JournalLocation),
    /// Replay workspaces into an empty folder and check the result
    Check(JournalWorkspacesArgs),
    /// Make snapshots now, and remove the entries behind them
    Snapshot(JournalWorkspacesArgs),
    /// Remove the entries that the newest snapshots have
    Trim(JournalWorkspacesArgs),
    /// Move workspaces of the data folder into the journal
    Import(JournalWorkspacesArgs),
    /// Copy workspaces out of the journal into the data folder
    Export(JournalWorkspacesArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Servers need a role that may read and write rows, and no more. Running it again \
                  changes nothing; no server needs to stop for it."
)]
pub(crate) struct JournalInitArgs {
    #[command(flatten)]
    pub(crate) location: JournalLocation,
    /// Let this role read and write the rows
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct JournalWorkspacesArgs {
    #[command(flatten)]
    pub(crate) location: JournalLocation,
    /// The workspaces [default: all]
    #[arg(value_name = "WORKSPACE")]
    pub(crate) workspaces: Vec<String>,
}
