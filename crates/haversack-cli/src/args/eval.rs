//! Options of `haversack eval`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "A set is a folder with corpus.jsonl ({id, text, title?, path?, meta?}) or a folder \
                  corpus of files, queries.jsonl ({id, text, meta?: {answer?, must?}}) and qrels.tsv \
                  (query id, document id, grade, between tabs); spans.tsv marks evidence by the \
                  character. A folder of such folders is searched folder by folder. docs/eval.md \
                  has the form and what the figures mean."
)]
pub(crate) struct EvalArgs {
    /// The set, or a folder of sets
    #[arg(value_name = "DIR")]
    pub(crate) set: PathBuf,
    /// The recipe to measure: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "memory")]
    pub(crate) recipe: String,
    /// The embedding model: a name that `haversack model list` shows, or a folder (./model)
    #[arg(long, value_name = "NAME|FOLDER", default_value = haversack_model::BUILT_IN)]
    pub(crate) embedder: String,
    /// The reranker, for recipes that score by `rerank`: a name or a folder
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) reranker: Option<String>,
    /// Budgets in o200k_base tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    #[arg(default_values_t = [512, 1_000, 2_000, 4_000])]
    pub(crate) budgets: Vec<u32>,
    /// The most questions with labels, evenly spread, and the most without
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many items a search retrieves, instead of the recipe's number
    #[arg(long, value_name = "N")]
    pub(crate) limit_candidates: Option<usize>,
    /// Measure the packs in this file (lines of JSON) instead of Haversack's
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["off_topic", "limit_candidates", "reranker"])]
    pub(crate) packs: Option<PathBuf>,
    /// Also ask questions of another set, to see how much irrelevant text is packed: as many as
    /// --limit, else 100
    #[arg(long, value_name = "DIR")]
    pub(crate) off_topic: Option<PathBuf>,
    /// Write the result of each question to a file, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) per_query: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
