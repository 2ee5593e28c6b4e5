//! The command line: commands, options and their help.

mod eval;
mod journal;
mod mcp;
mod model;
mod pack;
mod recipe;
mod serve;
mod shadow;
mod store;
mod sync;
mod tune;
mod user;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use eval::*;
pub(crate) use journal::*;
pub(crate) use mcp::*;
pub(crate) use model::*;
pub(crate) use pack::*;
pub(crate) use recipe::*;
pub(crate) use serve::*;
pub(crate) use shadow::*;
pub(crate) use store::*;
pub(crate) use sync::*;
pub(crate) use tune::*;
pub(crate) use user::*;

/// Assembles the context for a language model within an exact token budget, and explains it.
#[derive(Debug, Parser)]
#[command(
    name = "haversack",
    version,
    about,
    max_term_width = 100,
    after_help = "Data goes to standard output, remarks to standard error. Exit codes: 0 something was \
                  found, 1 nothing was found, 2 error."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) location: StoreLocation,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show packs for five assistants on built-in sample data
    Demo(DemoArgs),
    /// Add files and folders to a workspace
    Add(AddArgs),
    /// Keep a workspace like folders while they change
    Watch(WatchArgs),
    /// Bring the rows of a database query into a workspace, and keep them in sync
    Sync(SyncArgs),
    /// Add a folder of contexts and their rules, or check it
    Contexts(ContextsArgs),
    /// Search a workspace by words, meaning and spelling together
    Search(SearchArgs),
    /// Print items by their ids
    Get(GetArgs),
    /// List the items of a workspace
    List(ListArgs),
    /// Delete items, with everything under them
    Delete(DeleteArgs),
    /// Show what a workspace holds
    Stats(StatsArgs),
    /// List the workspaces
    Workspaces,
    /// Undo one `add` or `import`
    Undo(UndoArgs),
    /// Check a workspace for damage, and repair its indexes
    Check(CheckArgs),
    /// Export a workspace as lines of JSON
    Export(ExportArgs),
    /// Import lines of JSON that `export` wrote
    Import(ImportArgs),
    /// Back up a workspace to a folder
    Backup(BackupArgs),
    /// Make the vectors anew, after the embedding model has changed
    Reembed(ReembedArgs),
    /// Count the tokens of files, or of standard input
    Tokens(TokensArgs),
    /// Cut a text to a number of tokens, at a sentence where one ends in time
    Trim(TrimArgs),
    /// Show how a file is split for search
    Chunk(ChunkArgs),
    /// Pack what answers a question into a token budget, from a workspace or the given files
    Pack(PackArgs),
    /// Measure how much of the evidence for known questions reaches the pack
    Eval(EvalArgs),
    /// Compare the contexts that another system gave with what would be packed in as many tokens
    Shadow(ShadowArgs),
    /// Find better weights for a recipe, by questions whose answers are known
    Tune(TuneArgs),
    /// List, show, check and begin recipes: what a pack is made of
    #[command(subcommand)]
    Recipe(RecipeCommand),
    /// Show what other budgets would give: tokens, value and coverage
    Frontier(FrontierArgs),
    /// Show the outcome of each candidate of an earlier pack, and the reason
    Explain(ExplainArgs),
    /// Build an earlier pack again and compare the bytes
    Replay(ReplayArgs),
    /// Show what differs between two packs, and why
    Diff(DiffArgs),
    /// Record whether an item was useful
    Feedback(FeedbackArgs),
    /// Store a memory, if it says something new
    Remember(RememberArgs),
    /// Serve the workspaces over HTTP
    Serve(ServeArgs),
    /// Serve a workspace to an MCP client on standard input and output, or give another server's
    /// tools context
    Mcp(McpArgs),
    /// Set up and look after the journal that several servers share
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Create, list and revoke the server's keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Erase a user from all workspaces
    #[command(subcommand)]
    User(UserCommand),
    /// Check the server's audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Check the server's settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List, add and choose embedding models and rerankers
    #[command(subcommand)]
    Model(ModelCommand),
    /// List language models with their context windows and tokenizers
    Models(ModelsArgs),
    /// List the kinds of items, and define new ones
    Kinds(KindsArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
    /// Read foreign files for a parent process; not for people
    #[command(hide = true)]
    ReadFiles,
}

/// The tokenizer that counts.
#[derive(Debug, Args)]
pub(crate) struct TokenizerArgs {
    /// Count as this model does; `haversack models` lists them [default: gpt-4o]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Count by this encoding (o200k_base, cl100k_base, …), by a Hugging Face tokenizer.json, or
    /// by `characters/4`
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "model")]
    pub(crate) tokenizer: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// Files to count; `-` or none is standard input
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) counting: TokenizerArgs,
}

/// The part of a long text that is kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KeepPart {
    /// The beginning
    Start,
    /// The end
    End,
    /// The most important sentences, in their order
    Important,
}

#[derive(Debug, Args)]
pub(crate) struct TrimArgs {
    /// File to truncate; `-` or none is standard input
    pub(crate) file: Option<PathBuf>,
    /// The most tokens to keep, ellipses included
    #[arg(long, value_name = "TOKENS")]
    pub(crate) to: u32,
    /// What to keep [default: start, or important with a query]
    #[arg(long, value_enum)]
    pub(crate) keep: Option<KeepPart>,
    /// A query; sentences that match it are kept
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) counting: TokenizerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChunkArgs {
    /// File to split; the format is known by the file name extension
    pub(crate) file: PathBuf,
    /// The most tokens of a chunk
    #[arg(long, value_name = "TOKENS", default_value_t = 512)]
    pub(crate) max: u32,
    /// The tokens to aim for in a chunk
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    pub(crate) target: u32,
    #[command(flatten)]
    pub(crate) counting: TokenizerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KindsArgs {
    /// Without a command: list the kinds
    #[command(subcommand)]
    pub(crate) command: Option<KindsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KindsCommand {
    /// Check a file of definitions
    Check {
        /// The file
        file: PathBuf,
    },
    /// Check a file of definitions and store it in the data folder
    Set {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Show only names that contain this
    pub(crate) filter: Option<String>,
}
