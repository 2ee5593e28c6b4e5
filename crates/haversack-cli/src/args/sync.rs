//! Options of `haversack sync`.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Each row becomes an item: its id, text, title and times from the columns named below, everything \
                  else as fields. With --updated, a run reads only rows that changed since the last one. All rows \
                  are read the first time, when the options (or the query of a --name) change, when the last full pass is a day \
                  old (--full-every), and with --full; items whose rows are gone are then deleted. The query runs \
                  in a read-only transaction.\n\n\
                  The password comes from the address or from $PGPASSWORD. Exit codes: 0 a row was read, 1 none \
                  was, 2 error."
)]
pub(crate) struct SyncArgs {
    /// postgres://USER@HOST/DATABASE?sslmode=verify-full or sqlite:FILE
    #[arg(value_name = "DATABASE", value_parser = non_empty, required_unless_present = "database_env")]
    pub(crate) database: Option<String>,
    /// The environment variable that holds the database's address
    #[arg(long, value_name = "NAME", conflicts_with = "database")]
    pub(crate) database_env: Option<String>,
    /// One SELECT that gives the rows
    #[arg(long, value_name = "SQL")]
    pub(crate) query: String,
    /// The kind of the items [default: row]
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// The column that identifies a row [default: id]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// The column that says when a row last changed: a time, or a number that rises with each change
    #[arg(long, value_name = "COLUMN")]
    pub(crate) updated: Option<String>,
    /// The column that is the item's text [default: text, body or content]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text: Option<String>,
    /// The column that is the item's title [default: title or name]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) title: Option<String>,
    /// The column that says when the row was made [default: created or created_at]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) created: Option<String>,
    /// The name of this source in the workspace [default: DATABASE/KIND]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the ids of the items begin with, to tell rows of several tables apart
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) id_prefix: String,
    /// Who may read the items: user:anna, group:sales, everyone [default: everyone in the workspace]
    #[arg(long, value_name = "READER", value_delimiter = ',')]
    pub(crate) readers: Vec<String>,
    /// Map a user name in the data to a user here: rows whose user, userId, owner, author or speaker
    /// is OLD can be read by the user NEW alone
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) map_user: Vec<String>,
    /// Read all rows, and delete the items whose rows are gone
    #[arg(long)]
    pub(crate) full: bool,
    /// Do so by itself when the last time is this many hours ago; 0 for never
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    pub(crate) full_every: u32,
    /// How long the database may take for the next rows, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,
    /// Only say what would happen
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

fn non_empty(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("name the database") } else { Ok(text.to_owned()) }
}
