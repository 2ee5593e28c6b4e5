//! What the user typed for the commands that work on a store.

use std::path::PathBuf;

use clap::Args;

/// Where the store is.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The data folder [default: $HAVERSACK_DATA, else the system's, such as
    /// ~/.local/share/haversack]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Store")]
    pub(crate) data: Option<PathBuf>,
    /// The workspace in it; nothing crosses from one to another
    #[arg(long, value_name = "NAME", global = true, default_value = "default")]
    #[arg(help_heading = "Store")]
    pub(crate) workspace: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Markdown, text and source files become one item each, lines of .jsonl and records of \
                  .csv and .tsv files one item each. Hidden files and what .gitignore names are left out, \
                  links are not followed. What cannot be read is named and passed over."
)]
pub(crate) struct Add {
    /// Folders and files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The kind of the items [default: file, document (JSONL) or row (CSV)]
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Whom a user that data names is here: lines whose user, userId, owner, author or speaker is OLD
    /// are for the user NEW alone. Other names are only kept as fields
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) map_user: Vec<String>,
    /// Delete items whose files are gone
    #[arg(long)]
    pub(crate) prune: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without --user and --group, the one who searches is the owner of the data folder and \
                  sees everything."
)]
pub(crate) struct Search {
    /// What is looked for: words, \"phrases\", beginnings (config*)
    pub(crate) query: String,
    /// How many answers at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Only items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only items whose path starts so
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Search as this user, seeing only what they may read
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Search as a member of this group
    #[arg(long)]
    pub(crate) group: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) way: Ways,
}

/// One way to search instead of all together.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Ways {
    /// Search by words alone
    #[arg(long)]
    pub(crate) text: bool,
    /// Search by meaning alone
    #[arg(long)]
    pub(crate) vector: bool,
    /// Search by spelling alone: titles, paths and short texts
    #[arg(long)]
    pub(crate) fuzzy: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A context is a YAML, JSON or Markdown file (with front matter); its id is its path without the \
                  ending, such as helpers/release-guide."
)]
pub(crate) struct Contexts {
    /// The folder
    pub(crate) folder: PathBuf,
    /// Only check: rules in a circle, missing contexts, contradictions; store nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// With `--check`: a TOML file of situations and the rules that are expected to apply in them
    #[arg(long, value_name = "FILE", requires = "check")]
    pub(crate) expect: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The name that `add` or `import` gave at its end
    pub(crate) import: String,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Make anew what can be derived and is wrong
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// File to write; `-` or none is standard output
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// File to read; `-` is standard input
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Folder to copy to; it must be empty or not be there
    pub(crate) folder: PathBuf,
}
