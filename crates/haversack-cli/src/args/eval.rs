//! What the user typed for `haversack eval`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "A set is a folder with corpus.jsonl ({id, text, title?, meta?}), queries.jsonl ({id, text}) \
                  and qrels.tsv (query id, document id, grade, between tabs); with spans.tsv, evidence \
                  counts by the character. A folder of such folders is searched folder by folder. \
                  docs/eval.md has the form and what the figures mean."
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
    /// How many questions to ask, evenly spread over all that have evidence
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many items a search finds, so that the largest pack can be filled
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) limit_candidates: usize,
    /// Write what became of each question to a file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) per_query: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
