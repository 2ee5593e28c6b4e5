//! What the user typed for MCP.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A client starts it: name `haversack` as the command and `mcp` as its argument. It ends when \
                  its input does. `haversack serve` answers MCP under /mcp."
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Read with the eyes of this user, and remember in their name [default: see everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// A group of that user; can be repeated
    #[arg(long, value_name = "NAME", requires = "user")]
    pub(crate) group: Vec<String>,
    /// Offer no tools that write
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// What else can be done with MCP.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Stand before another MCP server and give its tools the context that matters to each call
    Wrap(Wrap),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Tools, resources and prompts are the wrapped server's own. Calls of tools get the argument \
                  _context where their schema allows it, and their results say in _meta.contextUsed what was \
                  given. The settings name recipe, context, user, budget and tools; without a file the recipe \
                  is `situation`, with 1000 tokens."
)]
pub(crate) struct Wrap {
    /// A TOML file with settings
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The server's address, when it is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) url: Option<String>,
    /// The command that starts the server, after `--`
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) server: Vec<String>,
}
