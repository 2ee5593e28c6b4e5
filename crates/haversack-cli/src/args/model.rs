//! What the user typed for the commands about embedding models.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Models from your disk: what makes vectors, and what reranks.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// List the models there are, and which are in use
    List(ModelList),
    /// Check a model's folder and copy it into the data folder
    Add(ModelAdd),
    /// Put a model to use: make all vectors of the data folder anew with it, or rerank with it
    Use(ModelUse),
    /// Take a model that is not in use away
    Remove(ModelRemove),
}

#[derive(Debug, Args)]
pub(crate) struct ModelList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The folder holds config.json, tokenizer.json and model.safetensors of a BERT model \
                  (MiniLM, BGE small, GTE small, Arctic Embed, …), as model hubs give them out. A \
                  haversack-model.toml in it may set name, pooling, query-prefix, document-prefix and \
                  tokens-max; docs/models.md has more. Nothing is downloaded."
)]
pub(crate) struct ModelAdd {
    /// The model's folder
    pub(crate) folder: PathBuf,
    /// What to call it [default: what its files say, else the folder's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "One model serves all workspaces of a data folder. Its texts are embedded first and the \
                  choice is kept at the end: what is interrupted goes on where it was when it is \
                  started again. `haversack model use built-in` goes back. A reranker (a BERT with one \
                  output for pairs of texts, such as ms-marco-MiniLM) reads the best finds once more in recipes \
                  whose scores count `rerank`; it is in use at once, and `haversack model use none` ends it."
)]
pub(crate) struct ModelUse {
    /// The model, as `model list` shows it, `built-in`, or `none`
    pub(crate) name: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelRemove {
    /// The model, as `model list` shows it
    pub(crate) name: String,
}
