//! From text to a checked recipe: the document, its base, and what must hold between its parts.
//!
//! A document is applied to what its base made, key by key, so that what it does not say stays as
//! it was. Each document of a chain is a whole recipe and is checked as one.

pub(super) mod adapt;
pub(super) mod budget;
pub(super) mod collector;
pub(super) mod layer;
pub(super) mod score;
pub(super) mod subject;
pub(super) mod template;
pub(super) mod vocabulary;
mod whole;

use haversack_core::assemble::Fencing;
use haversack_core::pack::Overflow;
use haversack_core::select::Selector;
use haversack_core::units::Tokens;
use toml::de::DeTable;

use super::problem::{Places, Problem, RecipeError};
use super::read::{Reader, Table, hint};
use super::{
    BudgetSpec, CHAIN_MAX, CountingSpec, FORMAT, FrameSpec, Known, QueryPart, RECIPE_BYTES_MAX,
    Recipe, Shape, keys,
};

/// Reads a recipe and where everything in it stands.
pub(super) fn parse(
    name: &str,
    source: &str,
    known: &Known,
) -> Result<(Recipe, Places), RecipeError> {
    let error = |problems| RecipeError { recipe: name.to_owned(), problems };
    let document = document(source).map_err(|problem| error(vec![problem]))?;
    let mut reader = Reader::new(source);
    let table = Table::document(&document);
    let base = match chain(name, &table, known) {
        Ok(chain) => based_on(&chain, known),
        Err(message) => Err(message),
    };
    if let Err(message) = &base {
        reader.wrong(table.place("extends"), message);
    }
    // Without its base nothing can be said of how the parts go together, but of each part.
    let base_failed = base.is_err();
    let mut recipe = base.unwrap_or_default().unwrap_or_else(|| blank(name));
    recipe.name = name.to_owned();
    keys::read_keys(&mut reader, &table, known, keys::TOP, &mut recipe);
    if !base_failed {
        whole::check(&mut reader, &table, &recipe);
    }
    let (problems, places) = reader.finish();
    if problems.is_empty() { Ok((recipe, places)) } else { Err(error(problems)) }
}

/// A document's tables, of a version that is known.
fn document(source: &str) -> Result<toml::Spanned<DeTable<'_>>, Problem> {
    if source.len() > RECIPE_BYTES_MAX {
        let bytes = source.len();
        let message =
            format!("the recipe has {bytes} bytes, more than the limit of {RECIPE_BYTES_MAX}");
        return Err(Problem { line: 1, column: 1, message });
    }
    let reader = Reader::new(source);
    let problem = |at: usize, message: String| {
        let (line, column) = reader.place(at);
        Problem { line, column, message }
    };
    let document = DeTable::parse(source).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        problem(at, format!("this is not TOML: {}", error.message()))
    })?;
    let table = Table::document(&document);
    let at = table.place("haversack");
    match table.get("haversack").map(|value| super::read::whole(value.get_ref())) {
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

/// The recipes that a document is based on, from the one at the root to the nearest.
fn chain<'k>(
    name: &str,
    table: &Table<'_>,
    known: &'k Known,
) -> Result<Vec<(String, &'k str)>, String> {
    let extends = |table: &Table<'_>| {
        table.get("extends").and_then(|value| value.get_ref().as_str()).map(str::to_owned)
    };
    let mut names = vec![name.to_owned()];
    let mut chain: Vec<(String, &'k str)> = Vec::new();
    let mut next = extends(table);
    while let Some(base) = next {
        let shown = |names: &[String]| format!("{} → {base}", names.join(" → "));
        // A recipe may extend the built-in one whose name it takes.
        let built_in = super::builtin(&base).filter(|_| names.last() == Some(&base));
        let is_known = names.contains(&base) && built_in.is_none();
        if is_known || chain.iter().any(|(_, source)| built_in == Some(*source)) {
            return Err(format!("extends leads in a circle: {}", shown(&names)));
        }
        if names.len() > CHAIN_MAX {
            return Err(format!(
                "extends leads over more than {CHAIN_MAX} recipes: {}",
                shown(&names)
            ));
        }
        let Some(source) = built_in.or_else(|| known.recipe(&base)) else {
            let hint = hint(&base, &known.recipe_names(), "there are");
            return Err(format!(
                "extends names {base:?}, which is not there ({}){hint}",
                shown(&names)
            ));
        };
        let document = DeTable::parse(source).ok();
        next = document.as_ref().and_then(|document| extends(&Table::document(document)));
        names.push(base.clone());
        chain.push((base, source));
    }
    chain.reverse();
    Ok(chain)
}

/// What a chain of recipes makes; `None` when there is no base.
fn based_on(chain: &[(String, &str)], known: &Known) -> Result<Option<Recipe>, String> {
    let mut base: Option<Recipe> = None;
    for (name, source) in chain {
        let broken = |problems: &[Problem]| match problems {
            [] => String::new(),
            [one] => format!("extends {name:?}, which cannot be used: {name}:{one}"),
            [first, rest @ ..] => {
                let more = rest.len();
                format!("extends {name:?}, which cannot be used: {name}:{first} (and {more} more)")
            }
        };
        let document = document(source).map_err(|problem| broken(&[problem]))?;
        let mut reader = Reader::new(source);
        let table = Table::document(&document);
        let mut recipe = base.take().unwrap_or_else(|| blank(name));
        recipe.name.clone_from(name);
        keys::read_keys(&mut reader, &table, known, keys::TOP, &mut recipe);
        whole::check(&mut reader, &table, &recipe);
        let (problems, _) = reader.finish();
        if !problems.is_empty() {
            return Err(broken(&problems));
        }
        base = Some(recipe);
    }
    Ok(base)
}

/// A recipe without any key.
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
