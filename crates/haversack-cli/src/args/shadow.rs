//! Options of `haversack shadow`.

use std::path::PathBuf;

use clap::Args;

use super::{IdentityArgs, TokenizerArgs};

#[derive(Debug, Args)]
#[command(
    after_help = "A line is a JSON object with question and context (a text, a list of texts, or a list of \
                  {text, source}; documents of LangChain, nodes of LlamaIndex and results of mem0 are read as \
                  well) and, if known, answer, must and evidence. Each question is packed within as many tokens \
                  as its context has. Nothing is stored. docs/shadow.md has the form and what the figures mean. \
                  Exit codes: 0 questions were compared, 1 none was, 2 error."
)]
pub(crate) struct ShadowArgs {
    /// The questions with their contexts: lines of JSON, a JSON list (.json), or .csv and .tsv
    pub(crate) file: PathBuf,
    /// The recipe to pack by: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "everything")]
    pub(crate) recipe: String,
    #[command(flatten)]
    pub(crate) counting: TokenizerArgs,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    /// Fields of each request in the recipe's own shape, such as {"opportunityId": "o-17"}
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) request: Option<String>,
    /// The time of the requests: 2026-01-31T09:30:00Z, a day, or Unix milliseconds
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// The most questions, evenly spread
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Write a page with both contexts of each question side by side
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Write a report with both contexts of each question
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
