//! What the user typed for `haversack eval`.

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
pub(crate) struct Eval {
    /// The set, or a folder of sets
    #[arg(value_name = "DIR")]
    pub(crate) set: PathBuf,
    /// The recipe that answers: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "memory")]
    pub(crate) recipe: String,
    /// What makes the vectors: a model's name as `haversack model list` shows it, or the folder of
    /// one (./model)
    #[arg(long, value_name = "NAME|FOLDER", default_value = haversack_model::BUILT_IN)]
    pub(crate) embedder: String,
    /// What reads the best finds once more, in recipes whose scores count `rerank`: a reranker's
    /// name or folder
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) reranker: Option<String>,
    /// The sizes of packs, in o200k_base tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    #[arg(default_values_t = [512, 1_000, 2_000, 4_000])]
    pub(crate) budgets: Vec<u32>,
    /// How many questions to ask, evenly spread over all that have labels, and as many of those
    /// that have none
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many items a search finds, in place of the recipe's own number
    #[arg(long, value_name = "N")]
    pub(crate) limit_candidates: Option<usize>,
    /// Measure the packs in this file (lines of JSON) in place of Haversack's own
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["off_topic", "limit_candidates", "reranker"])]
    pub(crate) packs: Option<PathBuf>,
    /// Also ask the questions of another set, to see how much is packed for them: as many as
    /// --limit, else 100
    #[arg(long, value_name = "DIR")]
    pub(crate) off_topic: Option<PathBuf>,
    /// Write what became of each question to a file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) per_query: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
