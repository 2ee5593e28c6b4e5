//! Options of the commands about recipes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Subcommands of `recipe`.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    /// List the built-in recipes
    List(RecipeListArgs),
    /// Print a recipe
    Show(RecipeShowArgs),
    /// Check a recipe and print every problem as file:line:column: message
    Check(RecipeCheckArgs),
    /// Print a recipe to start from
    New(RecipeNewArgs),
    /// Warn of likely mistakes: layers that nothing reaches, shares that do not add up, pinned text
    /// that may not fit
    Lint(RecipeLintArgs),
    /// Try a recipe on the sample workspaces, and show the result of each layer
    Test(RecipeTestArgs),
    /// Measure the judge of plain-language conditions on labelled cases
    JudgeEval(JudgeEvalArgs),
    /// Print the reference of the format, as Markdown
    Format,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeTestArgs {
    /// A recipe's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) recipe: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each line of the file is {\"situation\": {…}, \"condition\": \"…\", \"holds\": true}. The model \
                  of [models.judge] decides, beside the local judge and two controls that always say yes or no."
)]
pub(crate) struct JudgeEvalArgs {
    /// The file of cases, as JSON lines; `-` is standard input
    pub(crate) file: PathBuf,
    /// The most cases to judge
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) limit: usize,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeShowArgs {
    /// A recipe's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) recipe: String,
    /// With its base recipe and all defaults written out
    #[arg(long)]
    pub(crate) resolved: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A recipe may extend a built-in one, or another file of the same folder by the name \
                  before its .toml. Exit codes: 0 it can be used, 2 it cannot."
)]
pub(crate) struct RecipeCheckArgs {
    /// The file; `-` is standard input
    pub(crate) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeNewArgs {
    /// The recipe's name
    pub(crate) name: String,
    /// Extend this recipe
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) from: Option<String>,
    /// Write to this file, which must not exist yet, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no errors (there may be warnings and remarks), 2 errors.")]
pub(crate) struct RecipeLintArgs {
    /// A file, or a recipe's name
    #[arg(value_name = "FILE|NAME")]
    pub(crate) recipe: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
