//! Options of the server: its settings and its keys.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Settings come from a file (--config), then from the environment \
                  (HAVERSACK_SERVER_LISTEN, HAVERSACK_LIMITS_CONCURRENT, …), then from flags. \
                  `haversack config check` prints the result. Ctrl-C finishes requests in flight; a \
                  second one ends the server at once.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) settings: ServerSettingsArgs,
}

/// Settings of the server.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServerSettingsArgs {
    /// A TOML file with settings
    #[arg(long, value_name = "FILE", env = "HAVERSACK_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// The address to listen on; port 0 takes any free port [default: 127.0.0.1:7077]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// A host name of the server, beside its address and localhost; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Write the log as lines of JSON
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Require no key although others can reach the address: only for networks that nobody else can
    /// use
    #[arg(long)]
    pub(crate) insecure: bool,
    /// The journal that this server shares with others: postgres://USER@HOST/DATABASE; the data folder
    /// is then a cache
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) journal: Option<String>,
}

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings, and print the result of file, environment and flags
    Check(ServerSettingsArgs),
}

/// Subcommands of `audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify the chain of hashes over all files, and that it ends in the line that was written last;
    /// report the first line that was changed or is missing (exit code 1)
    Verify,
    /// Take the log as it is from now on, after lines were removed on purpose
    Accept,
}

/// Subcommands of `key`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print it once
    Create(KeyCreateArgs),
    /// List the keys
    List(KeyListArgs),
    /// Revoke a key for good; it takes effect at once
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A key without --user is trusted to name the user it acts for (header Haversack-User); \
                  without one it sees everything in its workspaces. A key with --user always \
                  acts as that user."
)]
pub(crate) struct KeyCreateArgs {
    /// A name for it
    pub(crate) name: String,
    /// What it permits; can be repeated
    #[arg(long, value_name = "SCOPE", default_values = ["read"], value_parser = ["read", "write", "admin", "metrics"])]
    pub(crate) scope: Vec<String>,
    /// A workspace it can use; can be repeated [default: all]
    #[arg(long = "for", value_name = "WORKSPACE")]
    pub(crate) workspaces: Vec<String>,
    /// Act as this user only
    #[arg(long, value_name = "NAME", conflicts_with = "anyone")]
    pub(crate) user: Option<String>,
    /// A group of that user; can be repeated
    #[arg(long, value_name = "NAME", requires = "user")]
    pub(crate) group: Vec<String>,
    /// Read only what everyone may read
    #[arg(long)]
    pub(crate) anyone: bool,
    /// Expire after this many days [default: never]
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// The most tokens that its requests use of models of providers in a day (UTC) [default: any number]
    #[arg(long, value_name = "N")]
    pub(crate) model_tokens_per_day: Option<u64>,
    /// The most that its requests' use of models costs in a day, by the prices in models.toml [default: any cost]
    #[arg(long, value_name = "COST", value_parser = cost)]
    pub(crate) model_cost_per_day: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// The key's id, as `key list` shows it
    pub(crate) id: String,
}

fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if cost.is_finite() && cost >= 0.0 => Ok(cost),
        _ => Err("write a number such as 2.50".to_owned()),
    }
}
