//! What the user typed for packs, and for looking back at them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{ArgGroup, Args, ValueEnum};
use haversack::pipeline::BUDGET_MAX;
use haversack::samples;

use super::Counting;

/// A number of tokens that can be a budget.
fn tokens() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(BUDGET_MAX))
}

/// What is asked of a recipe: by whom, from where, and how much may come back.
#[derive(Debug, Args)]
pub(crate) struct Asking {
    /// What is asked
    #[arg(value_name = "QUESTION")]
    pub(crate) query: Option<String>,
    /// Files and folders to answer from in place of a workspace: text, Markdown, source code,
    /// JSONL, CSV; `-` is standard input
    #[arg(value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// The recipe to pack by: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "everything")]
    pub(crate) recipe: String,
    /// The most tokens of it all, reserves included; at most what the model has room for
    /// [default: the recipe's]
    #[arg(long, value_name = "TOKENS", value_parser = tokens(), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    #[command(flatten)]
    pub(crate) counting: Counting,
    /// A template in place of the recipe's own
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    #[command(flatten)]
    pub(crate) asker: Asker,
    #[command(flatten)]
    pub(crate) standing: Standing,
    #[command(flatten)]
    pub(crate) choice: Choice,
}

/// Who asks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Who asks")]
pub(crate) struct Asker {
    /// Ask as this user, who gets only what they may read [default: the owner of the data folder,
    /// who may read everything]
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Ask as a member of this group; may be given several times
    #[arg(long)]
    pub(crate) group: Vec<String>,
}

/// Where the asker stands.
#[derive(Debug, Args)]
#[command(next_help_heading = "From where")]
pub(crate) struct Standing {
    /// The block that they look at
    #[arg(long, value_name = "ID")]
    pub(crate) focus: Option<String>,
    /// The page that they look at
    #[arg(long, value_name = "ID")]
    pub(crate) page: Option<String>,
    /// The database that they look at
    #[arg(long, value_name = "ID")]
    pub(crate) database: Option<String>,
    /// The thread that the question belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// The deal that a proposal is for
    #[arg(long, value_name = "ID")]
    pub(crate) opportunity: Option<String>,
    /// What the question is about, by the name that the recipe gives it: --about ticket=T-17
    #[arg(long, value_name = "NAME=ID")]
    pub(crate) about: Vec<String>,
    /// The current context, whose rules and ancestors hold
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,
    /// The facts of the situation, as a JSON object
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) situation: Option<String>,
    /// The receipt of the pack before this one, whose beginning is to stay
    #[arg(long, value_name = "RECEIPT")]
    pub(crate) previous: Option<String>,
    /// What time it is taken to be: 2026-01-31T09:30:00Z, a day, or Unix milliseconds
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Read the workspace as it was at this time
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
}

/// What is considered.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is considered")]
pub(crate) struct Choice {
    /// Consider this item in any case; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) include: Vec<String>,
    /// Leave this item out; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) exclude: Vec<String>,
    /// What the request is for, such as assist, chat, search or automate; of memories, only those of
    /// this type, and may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) sort: Vec<String>,
    /// The whole request in the recipe's own shape; other options come on top of it
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) request: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With paths, those are packed and nothing is kept. Without, the workspace is \
                        packed that --data and --workspace name; `haversack add` fills it."
)]
pub(crate) struct Pack {
    #[command(flatten)]
    pub(crate) asking: Asking,
    #[command(flatten)]
    pub(crate) showing: Showing,
    /// Show what other budgets would give, as `haversack frontier` does
    #[arg(long, conflicts_with_all = ["explain", "json"])]
    pub(crate) frontier: bool,
    /// Keep no receipt and note no use
    #[arg(long)]
    pub(crate) preview: bool,
    /// Make it anew even if the same was asked a moment ago
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// What is shown in place of the context.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown and kept")]
pub(crate) struct Showing {
    /// Show what became of each candidate and why in place of the context
    #[arg(long)]
    pub(crate) explain: bool,
    /// With --explain, all candidates and not only the foremost
    #[arg(long, requires = "explain")]
    pub(crate) all: bool,
    /// Print the result in the recipe's own shape as JSON; with --explain, the ledger too
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The receipt that `pack` named; its beginning will do
    pub(crate) receipt: String,
    /// All candidates and not only the foremost
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the receipt as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the same bytes, 1 other bytes, 2 error.")]
pub(crate) struct Replay {
    /// The receipt that `pack` named; its beginning will do
    pub(crate) receipt: String,
    /// The recipe file that the pack was made by, when it was made by one
    #[arg(long, value_name = "FILE")]
    pub(crate) recipe: Option<String>,
    /// The tokenizer.json that counted, when one did
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<String>,
    /// Print the context that was made again
    #[arg(long, conflicts_with = "json")]
    pub(crate) print: bool,
    /// Print what differs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The receipt of the one pack; its beginning will do
    pub(crate) before: String,
    /// The receipt of the other
    pub(crate) after: String,
    /// Print what differs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Frontier {
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// Budgets to look at [default: from the least possible to the most useful]
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        value_parser = tokens(),
        allow_negative_numbers = true
    )]
    pub(crate) budgets: Vec<u32>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One of the five applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Application {
    /// A sales proposal for one opportunity
    Proposal,
    /// A person's files and chat threads
    Prime,
    /// An assistant in a workspace of pages and tasks
    Workspace,
    /// Guidance from inherited contexts and rules
    Situation,
    /// A chat assistant with long-term memories
    Memory,
}

impl Application {
    /// Its sample.
    pub(crate) const fn sample(self) -> samples::Sample {
        match self {
            Application::Proposal => samples::ALL[0],
            Application::Prime => samples::ALL[1],
            Application::Workspace => samples::ALL[2],
            Application::Situation => samples::ALL[3],
            Application::Memory => samples::ALL[4],
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Without --data, all happens in a folder that is gone at the end.")]
pub(crate) struct Demo {
    /// Show one of the five alone
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<Application>,
    /// Leave the data where it was made, to go on with
    #[arg(long)]
    pub(crate) keep: bool,
    /// Try what the users of the applications expect, on this machine: all that the tests of Haversack
    /// hold, with what is not reached yet
    #[arg(long, conflicts_with_all = ["json", "keep", "serve"])]
    pub(crate) check: bool,
    /// Print the five results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Then serve the samples over HTTP, until Ctrl-C
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:7077")]
    pub(crate) serve: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("verdict").required(true))]
pub(crate) struct Feedback {
    /// The item that helped, or did not
    pub(crate) item: String,
    /// It helped
    #[arg(long, group = "verdict")]
    pub(crate) useful: bool,
    /// It did not
    #[arg(long, group = "verdict")]
    pub(crate) not_useful: bool,
    /// Who says so [default: owner, who may read everything]
    #[arg(long)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What says again what is known, or comes out of an earlier pack, is not stored. \
                        Exit codes: 0 it is stored, 1 it is not, 2 error."
)]
pub(crate) struct Remember {
    /// What is to be remembered; `-` is standard input
    pub(crate) text: String,
    /// What sort of memory it is, such as fact, preference, event
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) sort: Option<String>,
    /// Its id; one that is there is replaced [default: made from the time]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The conversation it comes from
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// How sure it is, from 0 to 1
    #[arg(long, value_name = "PART")]
    pub(crate) confidence: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for each command into this folder [default: print the main page]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
