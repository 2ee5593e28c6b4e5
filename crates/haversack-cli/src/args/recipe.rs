//! What the user typed for the commands about recipes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Recipes: what a pack is made of.
#[derive(Debug, Subcommand)]
pub(crate) enum Recipe {
    /// List the recipes there are
    List(RecipeList),
    /// Print a recipe
    Show(RecipeShow),
    /// Say what is wrong with a recipe, all of it, as file:line:column: message
    Check(RecipeCheck),
    /// Print a recipe to start from
    New(RecipeNew),
    /// Say what can be known of a recipe without data: layers that nothing reaches, what shares
    /// leave over, pinned text that may not fit
    Lint(RecipeLint),
    /// Try a recipe on the sample workspaces, and show what each layer got
    Test(RecipeTest),
    /// Print the reference of the format, as Markdown
    Format,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeTest {
    /// A recipe's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) recipe: String,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeList {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeShow {
    /// A recipe's name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) recipe: String,
    /// With its base and all defaults written out
    #[arg(long)]
    pub(crate) resolved: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A recipe may extend a built-in one, or another file of the same folder by the name \
                  before its .toml. Exit codes: 0 it can be used, 2 it cannot."
)]
pub(crate) struct RecipeCheck {
    /// The file; `-` is standard input
    pub(crate) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecipeNew {
    /// What the recipe is to be called
    pub(crate) name: String,
    /// Start from this recipe and say only what changes
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) from: Option<String>,
    /// Write to this file, which must not be there yet, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no errors (there may be warnings and remarks), 2 errors.")]
pub(crate) struct RecipeLint {
    /// A file, or a recipe's name
    #[arg(value_name = "FILE|NAME")]
    pub(crate) recipe: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
