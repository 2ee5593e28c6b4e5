//! Parses a recipe's text into a validated recipe: the document, its base, and the consistency of
//! its parts.
//!
//! A document is applied to its base key by key, so that keys it does not set keep the base's
//! values. Each document of a chain is a complete recipe and is checked as one.

pub(super) mod adapt;
pub(super) mod budget;
pub(super) mod collector;
mod consistency;
pub(super) mod layer;
pub(super) mod score;
pub(super) mod subject;
pub(super) mod template;
pub(super) mod vocabulary;

use haversack_core::assemble::Fencing;
use haversack_core::pack::Overflow;
use haversack_core::select::Selector;
use haversack_core::units::Tokens;
use toml::de::DeTable;

use super::problem::{Places, RecipeError, RecipeProblem};
use super::read::{TomlReader, TomlTable, hint};
use super::{
    BudgetSpec, CHAIN_MAX, CountingSpec, FORMAT, FrameSpec, QueryPart, RECIPE_BYTES_MAX, Recipe,
    RecipeRegistry, Shape, keys,
};

/// Parses a recipe, with the positions of its keys.
pub(super) fn parse(
    name: &str,
    source: &str,
    registry: &RecipeRegistry,
) -> Result<(Recipe, Places), RecipeError> {
    let error = |problems| RecipeError { recipe: name.to_owned(), problems };
    let document = parse_document(source).map_err(|problem| error(vec![problem]))?;
    let mut reader = TomlReader::new(source);
    let table = TomlTable::document(&document);
    let base = match extends_chain(name, &table, registry) {
        Ok(chain) => resolve_base(&chain, registry),
        Err(message) => Err(message),
    };
    if let Err(message) = &base {
        reader.report(table.place("extends"), message);
    }
    // Without its base only the single keys can be checked, not their consistency.
    let base_failed = base.is_err();
    let mut recipe = base.unwrap_or_default().unwrap_or_else(|| blank(name));
    recipe.name = name.to_owned();
    keys::read_keys(&mut reader, &table, registry, keys::TOP, &mut recipe);
    if !base_failed {
        consistency::check(&mut reader, &table, &recipe);
    }
    let (problems, places) = reader.into_problems_and_places();
    if problems.is_empty() { Ok((recipe, places)) } else { Err(error(problems)) }
}

/// Parses the text as TOML and checks the version of the format.
fn parse_document(source: &str) -> Result<toml::Spanned<DeTable<'_>>, RecipeProblem> {
    if source.len() > RECIPE_BYTES_MAX {
        let bytes = source.len();
        let message =
            format!("the recipe has {bytes} bytes, more than the limit of {RECIPE_BYTES_MAX}");
        return Err(RecipeProblem { line: 1, column: 1, message });
    }
    let reader = TomlReader::new(source);
    let problem = |at: usize, message: String| {
        let (line, column) = reader.place(at);
        RecipeProblem { line, column, message }
    };
    let document = DeTable::parse(source).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        problem(at, format!("this is not TOML: {}", error.message()))
    })?;
    let table = TomlTable::document(&document);
    let at = table.place("haversack");
    match table.get("haversack").map(|value| super::read::integer(value.get_ref())) {
        Some(Some(version)) if version == i64::from(FORMAT) => Ok(document),
        Some(Some(version)) => Err(problem(
            at,
            format!(
                "haversack is {version}; the version of the format that is known here is {FORMAT}"
            ),
        )),
        Some(None) => {
            Err(problem(at, format!("haversack must be the version of the format: {FORMAT}")))
        }
        None => Err(problem(
            at,
            format!(
                "the version of the format is missing: begin the file with `haversack = {FORMAT}`"
            ),
        )),
    }
}

/// The recipes that a document extends, from the root of the chain to the nearest.
fn extends_chain<'k>(
    name: &str,
    table: &TomlTable<'_>,
    registry: &'k RecipeRegistry,
) -> Result<Vec<(String, &'k str)>, String> {
    let extends = |table: &TomlTable<'_>| {
        table.get("extends").and_then(|value| value.get_ref().as_str()).map(str::to_owned)
    };
    let mut names = vec![name.to_owned()];
    let mut chain: Vec<(String, &'k str)> = Vec::new();
    let mut next = extends(table);
    while let Some(base) = next {
        let shown = |names: &[String]| format!("{} → {base}", names.join(" → "));
        // A recipe may extend the built-in one whose name it has.
        let built_in = super::builtin(&base).filter(|_| names.last() == Some(&base));
        let is_repeated = names.contains(&base) && built_in.is_none();
        if is_repeated || chain.iter().any(|(_, source)| built_in == Some(*source)) {
            return Err(format!("extends leads in a circle: {}", shown(&names)));
        }
        if names.len() > CHAIN_MAX {
            return Err(format!(
                "extends leads over more than {CHAIN_MAX} recipes: {}",
                shown(&names)
            ));
        }
        let Some(source) = built_in.or_else(|| registry.recipe(&base)) else {
            let hint = hint(&base, &registry.recipe_names(), "there are");
            return Err(format!(
                "extends names {base:?}, which is not there ({}){hint}",
                shown(&names)
            ));
        };
        let document = DeTable::parse(source).ok();
        next = document.as_ref().and_then(|document| extends(&TomlTable::document(document)));
        names.push(base.clone());
        chain.push((base, source));
    }
    chain.reverse();
    Ok(chain)
}

/// Applies a chain of recipes, one on top of the other; `None` when there is no base.
fn resolve_base(
    chain: &[(String, &str)],
    registry: &RecipeRegistry,
) -> Result<Option<Recipe>, String> {
    let mut base: Option<Recipe> = None;
    for (name, source) in chain {
        let base_error = |problems: &[RecipeProblem]| match problems {
            [] => String::new(),
            [one] => format!("extends {name:?}, which cannot be used: {name}:{one}"),
            [first, rest @ ..] => {
                let more = rest.len();
                format!("extends {name:?}, which cannot be used: {name}:{first} (and {more} more)")
            }
        };
        let document = parse_document(source).map_err(|problem| base_error(&[problem]))?;
        let mut reader = TomlReader::new(source);
        let table = TomlTable::document(&document);
        let mut recipe = base.take().unwrap_or_else(|| blank(name));
        recipe.name.clone_from(name);
        keys::read_keys(&mut reader, &table, registry, keys::TOP, &mut recipe);
        consistency::check(&mut reader, &table, &recipe);
        let (problems, _) = reader.into_problems_and_places();
        if !problems.is_empty() {
            return Err(base_error(&problems));
        }
        base = Some(recipe);
    }
    Ok(base)
}

/// A recipe with no key set.
pub(super) fn blank(name: &str) -> Recipe {
    Recipe {
        name: name.to_owned(),
        description: String::new(),
        shape: Shape::default(),
        extends: None,
        budget: BudgetSpec {
            total: Tokens::new(4_000),
            reserves: Vec::new(),
            overflow: Overflow::Refuse,
        },
        counting: CountingSpec::Tokenizer("o200k_base".to_owned()),
        subjects: Vec::new(),
        embed: vec![QueryPart::Query],
        words: Vec::new(),
        cache: None,
        frame: FrameSpec::default(),
        fencing: Fencing::Untrusted,
        selector: Selector::Greedy,
        stop: None,
        degrade: true,
        layers: Vec::new(),
        adapt: Vec::new(),
    }
}
