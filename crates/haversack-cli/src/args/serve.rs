//! What the user typed for the server: its settings and its keys.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Settings come from a file (--config), then from the environment \
                  (HAVERSACK_SERVER_LISTEN, HAVERSACK_LIMITS_CONCURRENT, …), then from flags. \
                  `haversack config check` shows what came of them. Ctrl-C finishes what was begun; a \
                  second one does not.")]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Settings of the server.
#[derive(Debug, Args, Clone)]
pub(crate) struct Settings {
    /// A TOML file with settings
    #[arg(long, value_name = "FILE", env = "HAVERSACK_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen; port 0 takes any that is free [default: 127.0.0.1:7077]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// A name under which the server is reached, beside its address and localhost; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Write the log as lines of JSON
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Ask nobody for a key although the address can be reached from elsewhere: only in networks
    /// that nobody else is in
    #[arg(long)]
    pub(crate) insecure: bool,
}

/// Settings, looked at.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Say whether the settings will do, and show what came of file, environment and flags
    Check(Settings),
}

/// The audit log, looked at.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Say whether each line is as it was written, from the first on and over all files; if not,
    /// which is the first that is not (exit code 1)
    Verify,
}

/// Keys: who may ask the server what.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and show it once
    Create(KeyCreate),
    /// List the keys
    List(KeyList),
    /// Revoke a key, at once and for good
    Revoke(KeyRevoke),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A key without --user is trusted to say for whom it asks (header Haversack-User); for \
                  itself it sees everything in its workspaces. A key with --user reads with that \
                  user's eyes only."
)]
pub(crate) struct KeyCreate {
    /// What it is for
    pub(crate) name: String,
    /// How far it reaches; can be repeated
    #[arg(long, value_name = "SCOPE", default_values = ["read"], value_parser = ["read", "write", "admin", "metrics"])]
    pub(crate) scope: Vec<String>,
    /// A workspace it is for; can be repeated [default: all]
    #[arg(long = "for", value_name = "WORKSPACE")]
    pub(crate) workspaces: Vec<String>,
    /// Read with the eyes of this user only
    #[arg(long, value_name = "NAME", conflicts_with = "anyone")]
    pub(crate) user: Option<String>,
    /// A group of that user; can be repeated
    #[arg(long, value_name = "NAME", requires = "user")]
    pub(crate) group: Vec<String>,
    /// Read only what everyone may read
    #[arg(long)]
    pub(crate) anyone: bool,
    /// After how many days it ends [default: never]
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevoke {
    /// The key's id, as `key list` shows it
    pub(crate) id: String,
}
