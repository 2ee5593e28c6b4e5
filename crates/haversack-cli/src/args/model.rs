//! Options of the commands about models.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Subcommands of `model`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List the models, and mark those in use
    List(ModelListArgs),
    /// Check a model's folder and copy it into the data folder
    Add(ModelAddArgs),
    /// Choose a model: embed all texts of the data folder with it, or rerank with it
    Use(ModelUseArgs),
    /// Remove a model that is not in use
    Remove(ModelRemoveArgs),
    /// Call each configured model of a provider once and say what was found
    Test(ModelTestArgs),
    /// Check a models.toml and put it into the data folder
    Set(ModelSetArgs),
    /// Show the settings of providers and models; keys are never in them
    Config,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all answered, 1 one did not, 2 error. docs/models.md shows settings for \
                        OpenAI, Anthropic, Gemini, Cohere, Jina, Voyage, Azure, Ollama, vLLM and others."
)]
pub(crate) struct ModelTestArgs {
    /// What the model does: embed, judge, summarise, rerank, extract or count [default: all]
    pub(crate) role: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelSetArgs {
    /// The file with [providers.NAME] and [models.ROLE]; - reads standard input
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ModelListArgs {
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
pub(crate) struct ModelAddArgs {
    /// The model's folder
    pub(crate) folder: PathBuf,
    /// Its name [default: from its files, else the folder's name]
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
pub(crate) struct ModelUseArgs {
    /// The model, as `model list` shows it, `built-in`, `none`, or `embed` for the provider's model
    pub(crate) name: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelRemoveArgs {
    /// The model, as `model list` shows it
    pub(crate) name: String,
}
