//! Options of `haversack tune`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Without DIR the questions are the workspace's own packs that have feedback (`haversack \
                  feedback`). The tuned recipe is measured by cross-validation, and written only if \
                  it is better than the original. docs/eval.md describes DIR."
)]
pub(crate) struct TuneArgs {
    /// Labelled questions, as for `haversack eval`
    #[arg(value_name = "DIR")]
    pub(crate) set: Option<PathBuf>,
    /// The recipe to tune: its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "memory")]
    pub(crate) recipe: String,
    /// The file for the tuned recipe, which gets the file's name [default: RECIPE-tuned.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The sizes of packs over which figures are averaged, in o200k_base tokens
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    #[arg(default_values_t = [512, 1_000, 2_000, 4_000])]
    pub(crate) budgets: Vec<u32>,
    /// How many questions to ask
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How many settings to try, 2 to 60
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) tries: usize,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
