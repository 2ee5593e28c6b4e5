//! Options of the commands that make packs, and that look at earlier ones.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::RangedU64ValueParser;
use clap::{ArgGroup, Args, ValueEnum};
use haversack::messages::Format;
use haversack::pipeline::BUDGET_MAX;
use haversack_eval::samples;
use haversack_store::store::viewer::Viewer;

use super::TokenizerArgs;

/// A parser for budgets, in tokens.
fn budget_parser() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(BUDGET_MAX))
}

/// A request to a recipe: query, budget, user and context.
#[derive(Debug, Args)]
pub(crate) struct RequestArgs {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) query: Option<String>,
    /// Files and folders to pack instead of a workspace: text, Markdown, source code, JSONL, CSV;
    /// `-` is standard input
    #[arg(value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// The recipe to pack by: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "everything")]
    pub(crate) recipe: String,
    /// The budget in tokens, reserves included; at most what fits into the model's window
    /// [default: the recipe's]
    #[arg(long, value_name = "TOKENS", value_parser = budget_parser(), allow_negative_numbers = true)]
    pub(crate) budget: Option<u32>,
    #[command(flatten)]
    pub(crate) counting: TokenizerArgs,
    /// A template instead of the recipe's own
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    #[command(flatten)]
    pub(crate) position: PositionArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

/// The user on whose behalf a command reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "User")]
pub(crate) struct IdentityArgs {
    /// Read as this user, with this user's permissions [default: the owner of the data folder, who
    /// may read everything]
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Read as a member of this group; can be repeated
    #[arg(long)]
    pub(crate) group: Vec<String>,
}

impl IdentityArgs {
    /// Nobody in particular: the owner of the data folder.
    pub(crate) const fn owner() -> IdentityArgs {
        IdentityArgs { user: None, group: Vec::new() }
    }

    /// The viewer that the options name.
    pub(crate) fn viewer(&self) -> Result<Viewer> {
        let mut viewer = match (&self.user, &self.group[..]) {
            (None, []) => return Ok(Viewer::owner()),
            (None, _) => Viewer::anyone(),
            (Some(user), _) => Viewer::user(user).context("--user")?,
        };
        for group in &self.group {
            viewer = viewer.in_group(group).context("--group")?;
        }
        Ok(viewer)
    }

    /// The user and groups in words.
    pub(crate) fn description(&self) -> String {
        if self.user.is_none() && self.group.is_empty() {
            return "the owner".to_owned();
        }
        let user = self.user.as_deref().unwrap_or("anyone");
        let of = if self.group.is_empty() { "" } else { " of " };
        format!("{user}{of}{}", self.group.join(", "))
    }
}

/// The user's position in the application: page, thread, deal, time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Position")]
pub(crate) struct PositionArgs {
    /// The block in focus
    #[arg(long, value_name = "ID")]
    pub(crate) focus: Option<String>,
    /// The page in focus
    #[arg(long, value_name = "ID")]
    pub(crate) page: Option<String>,
    /// The database in focus
    #[arg(long, value_name = "ID")]
    pub(crate) database: Option<String>,
    /// The thread that the question belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// The deal that a proposal is for
    #[arg(long, value_name = "ID")]
    pub(crate) opportunity: Option<String>,
    /// The subject of the question, under the recipe's name for it: --about ticket=T-17
    #[arg(long, value_name = "NAME=ID")]
    pub(crate) about: Vec<String>,
    /// The current context; its rules and ancestors apply
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,
    /// The facts of the situation, as a JSON object
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) situation: Option<String>,
    /// The receipt of the previous pack; its beginning is kept, so that it can be cached
    #[arg(long, value_name = "RECEIPT")]
    pub(crate) previous: Option<String>,
    /// The time of the request: 2026-01-31T09:30:00Z, a day, or Unix milliseconds
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Read the workspace as it was at this time
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
}

/// Candidates to include or exclude.
#[derive(Debug, Args)]
#[command(next_help_heading = "Candidates")]
pub(crate) struct SelectionArgs {
    /// Always consider this item; can be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) include: Vec<String>,
    /// Exclude this item; can be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) exclude: Vec<String>,
    /// The type of the request, such as assist, chat, search or automate; for memories, only those of
    /// this type, and can be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) request_type: Vec<String>,
    /// The whole request in the recipe's own shape; other options override its fields
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) request: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With paths, those files are packed and nothing is stored. Without, the workspace of --data \
                  and --workspace is packed; `haversack add` fills it."
)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
    /// Show what other budgets would give, as `haversack frontier` does
    #[arg(long, conflicts_with_all = ["explain", "json", "provider"])]
    pub(crate) frontier: bool,
    /// Store no receipt and record no use
    #[arg(long)]
    pub(crate) preview: bool,
    /// Do not use the cache
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// What is printed instead of the context.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct DisplayArgs {
    /// Print the outcome of each candidate with its reason instead of the context
    #[arg(long)]
    pub(crate) explain: bool,
    /// With --explain, all candidates and not only the best
    #[arg(long, requires = "explain")]
    pub(crate) all: bool,
    /// Print the result in the recipe's own shape as JSON; with --explain, the ledger too
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the context, the conversation and the question as JSON for a provider's API: part of a
    /// request body, with the prompt cache's breakpoints
    #[arg(long = "as", value_name = "PROVIDER", conflicts_with_all = ["explain", "json"])]
    pub(crate) provider: Option<Provider>,
}

/// A provider whose API takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Provider {
    /// The Messages API
    Anthropic,
    /// The Chat Completions API, and what is compatible with it
    Openai,
}

impl Provider {
    /// The format of its messages.
    pub(crate) const fn format(self) -> Format {
        match self {
            Provider::Anthropic => Format::Anthropic,
            Provider::Openai => Format::OpenAi,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The receipt that `pack` named; its beginning is enough
    pub(crate) receipt: String,
    /// All candidates and not only the best
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the receipt as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the same bytes, 1 other bytes, 2 error.")]
pub(crate) struct ReplayArgs {
    /// The receipt that `pack` named; its beginning is enough
    pub(crate) receipt: String,
    /// The recipe file of the pack, if it was made by a file
    #[arg(long, value_name = "FILE")]
    pub(crate) recipe: Option<String>,
    /// The tokenizer.json that counted, if one did
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<String>,
    /// Print the context
    #[arg(long, conflicts_with = "json")]
    pub(crate) print: bool,
    /// Print what differs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The receipt of the first pack; its beginning is enough
    pub(crate) before: String,
    /// The receipt of the second pack
    pub(crate) after: String,
    /// Print what differs as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FrontierArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Budgets to try [default: from the least that is possible to the most that is useful]
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        value_parser = budget_parser(),
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
#[command(after_help = "Without --data, a temporary folder is used and removed at the end.")]
pub(crate) struct DemoArgs {
    /// Show only one of the five
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<Application>,
    /// Keep the data folder
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run the acceptance checks of the five applications on this machine, and list those that do not
    /// hold yet
    #[arg(long, conflicts_with_all = ["json", "keep", "serve"])]
    pub(crate) check: bool,
    /// Judge the situation's conditions by the judge of these settings
    /// [default: the models.toml of the data folder, if it has a judge]
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) models: Option<PathBuf>,
    /// Print the five results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Then serve the samples over HTTP, until Ctrl-C
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:7077")]
    pub(crate) serve: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("verdict").required(true))]
pub(crate) struct FeedbackArgs {
    /// The item's id
    pub(crate) item: String,
    /// It was useful
    #[arg(long, group = "verdict")]
    pub(crate) useful: bool,
    /// It was not useful
    #[arg(long, group = "verdict")]
    pub(crate) not_useful: bool,
    /// The user who says so [default: owner, who may read everything]
    #[arg(long)]
    pub(crate) user: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A text that repeats a memory, or that comes from an earlier pack, is not stored. With --from \
                  the model of [models.extract] reads a conversation (a JSON list or JSON lines of role, content \
                  and timestamp, or text with lines `Name: …`) and proposes memories; one that makes an older one \
                  out of date supersedes it. Exit codes: 0 stored, 1 not stored, 2 error."
)]
pub(crate) struct RememberArgs {
    /// The text; `-` is standard input
    #[arg(required_unless_present = "from", conflicts_with = "from", default_value = "")]
    #[arg(hide_default_value = true)]
    pub(crate) text: String,
    /// A file with a conversation to extract memories from; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "memory_type", "confidence"])]
    pub(crate) from: Option<PathBuf>,
    /// Only show the memories that would be stored
    #[arg(long, requires = "from")]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long, requires = "from")]
    pub(crate) json: bool,
    /// The type of memory, such as fact, preference or event
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) memory_type: Option<String>,
    /// Its id; an item of this id is replaced [default: made from the time]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The conversation it comes from
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// The confidence, from 0 to 1
    #[arg(long, value_name = "PART")]
    pub(crate) confidence: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder [default: print the main page]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
