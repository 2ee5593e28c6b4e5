//! Options of commands about users.

use clap::{Args, Subcommand};

/// Subcommands of `user`.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Erase a user from all workspaces, and search every file for what is left
    Erase(UserEraseArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Items that nobody else can read are erased with their history. Items that others can \
                  read stay, without the user's name. The user leaves all lists of readers; their events, \
                  feedback, receipts and keys go, and their name in the audit log becomes a hash. This \
                  cannot be undone. Exit codes: 0 nothing is left, 1 something is left and was named. \
                  Backups, exports and the logs of processes are not searched."
)]
pub(crate) struct UserEraseArgs {
    /// The user's name, as in lists of readers, without `user:`
    pub(crate) name: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
