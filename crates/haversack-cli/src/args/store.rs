//! Options of the commands that work on a store.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;

use super::IdentityArgs;
use crate::model_catalog::DataFolderModels;

/// Where the workspaces are: in a data folder, or behind a server.
#[derive(Debug, Args)]
pub(crate) struct StoreLocation {
    /// The data folder [default: $HAVERSACK_DATA, else the system's, such as
    /// ~/.local/share/haversack]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Store")]
    pub(crate) data: Option<PathBuf>,
    /// The workspace; workspaces share nothing
    #[arg(long, value_name = "NAME", global = true, default_value = "default")]
    #[arg(help_heading = "Store")]
    pub(crate) workspace: String,
    /// A running server to go through instead of a data folder, such as http://127.0.0.1:7077
    /// [default: $HAVERSACK_SERVER; else the server that has the data folder open, if one does]
    #[arg(long, value_name = "URL", global = true, help_heading = "Store")]
    pub(crate) server: Option<String>,
    /// The environment variable that holds the server's key [default: HAVERSACK_KEY]
    #[arg(long, value_name = "NAME", global = true, help_heading = "Store")]
    pub(crate) key_env: Option<String>,
    /// The embedding models and the models of providers, opened when they are first needed.
    #[arg(skip)]
    pub(crate) catalog: OnceLock<Arc<DataFolderModels>>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 an item was found, 1 none was, 2 error.")]
pub(crate) struct GetArgs {
    /// Ids of items
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only items whose path starts with this
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The most items to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Everything under an item is deleted with it. Exit codes: 0 an item was deleted, 1 \
                  none was found, 2 error."
)]
pub(crate) struct DeleteArgs {
    /// Ids of items
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Delete their earlier versions too, for good
    #[arg(long)]
    pub(crate) purge: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Markdown, text and source files become one item each, lines of .jsonl and records of \
                  .csv and .tsv files one item each. Hidden and ignored files (.gitignore) are left out, \
                  links are not followed. Files that cannot be read are reported and skipped."
)]
pub(crate) struct AddArgs {
    /// Folders and files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The kind of the items [default: file, document (JSONL) or row (CSV)]
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Map a user name in the data to a user here: lines whose user, userId, owner, author or speaker
    /// is OLD can be read by the user NEW alone. Other names are only stored as fields
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) map_user: Vec<String>,
    /// Delete items whose files no longer exist
    #[arg(long)]
    pub(crate) prune: bool,
    /// Show all notes, file by file, also on what is left out of any file of a format
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReembedArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Changes are stored within two seconds, and what is deleted is deleted. Stop it with \
                  Ctrl-C. While a server has the data folder open, the changes go through that server. A server \
                  watches the folders that its settings name under [[sources]] by itself."
)]
pub(crate) struct WatchArgs {
    /// Folders and files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The kind of the items [default: file, document (JSONL) or row (CSV)]
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Look at everything every few seconds, for network folders that report no changes
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5")]
    pub(crate) poll: Option<std::num::NonZeroU64>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without --user and --group, you search as the owner of the data folder and see \
                  everything."
)]
pub(crate) struct SearchArgs {
    /// The query: words, \"phrases\", prefixes (config*)
    pub(crate) query: String,
    /// The most hits
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Only items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only items whose path starts with this
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) way: SearchWayArgs,
}

impl SearchWayArgs {
    /// The name of the one way, if one was chosen.
    pub(crate) const fn name(&self) -> Option<&'static str> {
        match self {
            SearchWayArgs { text: true, .. } => Some("text"),
            SearchWayArgs { vector: true, .. } => Some("vector"),
            SearchWayArgs { fuzzy: true, .. } => Some("fuzzy"),
            SearchWayArgs { .. } => None,
        }
    }
}

/// One way to search instead of all together.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct SearchWayArgs {
    /// Search by words alone
    #[arg(long)]
    pub(crate) text: bool,
    /// Search by meaning alone
    #[arg(long)]
    pub(crate) vector: bool,
    /// Search by spelling alone, in titles, paths and short texts
    #[arg(long)]
    pub(crate) fuzzy: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A context is a YAML, JSON or Markdown file (with front matter); its id is its path without the \
                  ending, such as helpers/release-guide."
)]
pub(crate) struct ContextsArgs {
    /// The folder
    pub(crate) folder: PathBuf,
    /// Only check for circular rules, missing contexts and contradictions; store nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// With `--check`: a TOML file of situations and the rules that are expected to apply in them
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) expect: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The name that `add` or `import` printed at its end
    pub(crate) import: String,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Rebuild indexes that are wrong
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// File to write; `-` or none is standard output
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File to read; `-` is standard input
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Folder to copy to; it must be empty or not exist yet
    pub(crate) folder: PathBuf,
}
