//! The starter recipe: short and complete, with comments on what could be changed.

use std::fmt::Write as _;

use super::{FORMAT, Recipe, RecipeError, RecipeRegistry, write};

impl Recipe {
    /// Writes the text of a new recipe that extends another one or stands on its own.
    ///
    /// # Errors
    /// When the name is not allowed.
    pub fn starter(
        name: &str,
        base: Option<&Recipe>,
        registry: &RecipeRegistry,
    ) -> Result<String, RecipeError> {
        let text = match base {
            Some(base) => extending(name, base),
            None => STARTER.replace("NAME", name),
        };
        Recipe::parse(name, &text, registry).map(|_| text)
    }
}

fn extending(name: &str, base: &Recipe) -> String {
    let mut out = format!(
        "# {name}: {} with changes. What is not said here stays as {} has it;\n\
         # `haversack recipe show {} --resolved` prints all of that.\n\
         haversack = {FORMAT}\nname = \"{name}\"\nextends = {}\n\n\
         # Layers that are not wanted:\n# remove = [\"{}\"]\n\n\
         [budget]\ntotal = {}\n",
        base.name,
        base.name,
        base.name,
        write::quoted(&base.name),
        base.layers.last().map_or("", |layer| &layer.name),
        write::tokens(base.budget.total),
    );
    out.push_str("\n# Change a layer by its name; any other name adds a layer at the end.\n");
    for layer in &base.layers {
        let _ = write!(out, "#\n# [[layer]]\n# name = \"{}\"\n", layer.name);
        let _ = writeln!(out, "# title = {}", write::quoted(&layer.title));
        if !layer.pinned {
            let _ = writeln!(out, "# share = {}", write::share(layer.share));
        }
    }
    out
}

const STARTER: &str = include_str!("starter.toml");
