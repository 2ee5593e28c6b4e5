//! Options of `haversack mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "The MCP client starts it: configure the command `haversack` with the argument `mcp`. It ends \
                  with its input. `haversack serve` answers MCP under /mcp."
)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Act as this user, with this user's permissions [default: see everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// A group of that user; can be repeated
    #[arg(long, value_name = "NAME", requires = "user")]
    pub(crate) group: Vec<String>,
    /// Offer no tools that write
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// Subcommands of `mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Run as a gateway before another MCP server and add context to each call of its tools
    Wrap(WrapArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Tools, resources and prompts are the wrapped server's own. Calls of tools get the argument \
                  _context where their schema allows it, and their results say in _meta.contextUsed what was \
                  given. The settings name recipe, context, user, budget and tools; without a file the recipe \
                  is `situation`, with 1000 tokens."
)]
pub(crate) struct WrapArgs {
    /// A TOML file with settings
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The server's address, when it is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    pub(crate) url: Option<String>,
    /// The command that starts the server, after `--`
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) program: Vec<String>,
}
