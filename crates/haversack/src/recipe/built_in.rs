//! The built-in recipes: files beside this one, parsed like any other recipe.

/// Names and texts of the built-in recipes, sorted by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("everything", include_str!("builtin/everything.toml")),
    ("memory", include_str!("builtin/memory.toml")),
    ("prime", include_str!("builtin/prime.toml")),
    ("proposal", include_str!("builtin/proposal.toml")),
    ("situation", include_str!("builtin/situation.toml")),
    ("workspace", include_str!("builtin/workspace.toml")),
];

/// The text of a built-in recipe.
#[must_use]
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|&&(known, _)| known == name).map(|&(_, source)| source)
}
