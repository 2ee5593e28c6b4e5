//! What the user typed, checked for form and nothing else.

mod eval;
mod mcp;
mod model;
mod pack;
mod recipe;
mod serve;
mod store;
mod tune;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use eval::*;
pub(crate) use mcp::*;
pub(crate) use model::*;
pub(crate) use pack::*;
pub(crate) use recipe::*;
pub(crate) use serve::*;
pub(crate) use store::*;
pub(crate) use tune::*;

/// Puts the right text into an exact token budget, and says why.
#[derive(Debug, Parser)]
#[command(
    name = "haversack",
    version,
    about,
    max_term_width = 100,
    after_help = "Data goes to standard output, remarks to standard error. Exit codes: 0 something was \
                  found, 1 nothing was, 2 error."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See what it does: five assistants on samples that come with the program
    Demo(Demo),
    /// Add files and folders to a workspace, where they can be searched
    Add(Add),
    /// Add a folder of contexts with rules, or check it
    Contexts(Contexts),
    /// Search a workspace, by words, meaning and spelling at once
    Search(Search),
    /// Show what a workspace holds
    Stats(Stats),
    /// List the workspaces
    Workspaces,
    /// Take back what one `add` or `import` stored
    Undo(Undo),
    /// Verify that all is as it was written
    Check(Check),
    /// Write a workspace out as lines of JSON
    Export(Export),
    /// Read lines of JSON that `export` wrote
    Import(Import),
    /// Copy a workspace into a folder
    Backup(Backup),
    /// Make the vectors anew, after the embedding model has changed
    Reembed,
    /// Count the tokens of files, or of standard input
    Tokens(Tokens),
    /// Cut a text to a number of tokens, at a sentence where one ends in time
    Trim(Trim),
    /// Show how a file is split for search
    Chunk(Chunk),
    /// Pack what answers a question into a token budget, from a workspace or the given files
    Pack(Pack),
    /// Measure how much of the evidence for known questions reaches the pack
    Eval(Eval),
    /// Find better weights for a recipe, by questions whose answers are known
    Tune(Tune),
    /// List, show, check and begin recipes: what a pack is made of
    #[command(subcommand)]
    Recipe(Recipe),
    /// Show what other budgets would give
    Frontier(Frontier),
    /// Show what became of each candidate of an earlier pack, and why
    Explain(Explain),
    /// Make an earlier pack again and say whether it is the same
    Replay(Replay),
    /// Show what differs between two packs, and why
    Diff(Diff),
    /// Note that an item helped, or did not
    Feedback(Feedback),
    /// Store a memory, if it says something new
    Remember(Remember),
    /// Serve the workspaces over HTTP
    Serve(Serve),
    /// Serve a workspace to an MCP client on standard input and output, or give another server's
    /// tools context
    Mcp(Mcp),
    /// Make, list and revoke the keys of the server
    #[command(subcommand)]
    Key(Key),
    /// Check the server's audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Look at the settings of the server
    #[command(subcommand)]
    Config(Config),
    /// List, add and choose the embedding models that make vectors
    #[command(subcommand)]
    Model(Model),
    /// List the language models whose windows and tokenizers are known
    Models(Models),
    /// List the kinds of items that are known, and define kinds of one's own
    Kinds(Kinds),
    /// Print a script that completes commands and options in a shell
    Completions(Completions),
    /// Print the manual, or write a page for each command
    Man(Man),
}

/// Who counts.
#[derive(Debug, Args)]
pub(crate) struct Counting {
    /// Count as this model does; `haversack models` lists them [default: gpt-4o]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Count by this encoding (o200k_base, cl100k_base, …), by a Hugging Face tokenizer.json, or
    /// by `characters/4`
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "model")]
    pub(crate) tokenizer: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Tokens {
    /// Files to count; `-` or none is standard input
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) counting: Counting,
}

/// What to keep of a text that is too long.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Keep {
    /// The beginning
    Start,
    /// The end
    End,
    /// The sentences that say most, in their own order
    Important,
}

#[derive(Debug, Args)]
pub(crate) struct Trim {
    /// File to cut; `-` or none is standard input
    pub(crate) file: Option<PathBuf>,
    /// How many tokens may be left, marks included
    #[arg(long, value_name = "TOKENS")]
    pub(crate) to: u32,
    /// What to keep [default: start, or important with a query]
    #[arg(long, value_enum)]
    pub(crate) keep: Option<Keep>,
    /// What matters; keeps the sentences that speak of it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) counting: Counting,
}

#[derive(Debug, Args)]
pub(crate) struct Chunk {
    /// File to split; Markdown and source code are known by their endings
    pub(crate) file: PathBuf,
    /// The most tokens of a chunk
    #[arg(long, value_name = "TOKENS", default_value_t = 512)]
    pub(crate) max: u32,
    /// The tokens a chunk should have
    #[arg(long, value_name = "TOKENS", default_value_t = 256)]
    pub(crate) target: u32,
    #[command(flatten)]
    pub(crate) counting: Counting,
}

#[derive(Debug, Args)]
pub(crate) struct Kinds {
    /// Without a command: list the kinds that are known here
    #[command(subcommand)]
    pub(crate) command: Option<KindsCommand>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KindsCommand {
    /// Say what is wrong with a file of definitions
    Check {
        /// The file
        file: PathBuf,
    },
    /// Check a file of definitions and keep it in the data folder
    Set {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Show only names that contain this
    pub(crate) filter: Option<String>,
}
