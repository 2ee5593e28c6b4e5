//! From text to a checked recipe: the document, its base, and what must hold between its parts.
//!
//! A document is applied to what its base made, key by key, so that what it does not say stays as
//! it was. Each document of a chain is a whole recipe and is checked as one.

mod adapt;
mod collector;
mod layer;
mod score;
mod subject;
mod template;
mod vocabulary;
mod whole;

use std::time::Duration;

use haversack_core::assemble::{Fencing, Pattern, TEMPLATE_BYTES_MAX};
use haversack_core::pack::{LAYERS_MAX, Overflow};
use haversack_core::select::{Selector, Stop};
use haversack_core::text::model;
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_core::units::{Share, Tokens};
use toml::de::DeTable;

use super::problem::{Places, Problem, RecipeError};
use super::read::{Bounds, Reader, Table, hint, is_none};
use super::{
    BudgetSpec, CHAIN_MAX, CacheSpec, CountingSpec, FORMAT, FrameSpec, Known, QueryPart,
    RECIPE_BYTES_MAX, Recipe, Shape, keys, words,
};

/// Most tokens that a recipe can speak of.
const TOKENS_MAX: u64 = 100_000_000;
/// Longest name of a recipe or layer in characters.
const NAME_CHARS_MAX: usize = 64;
/// Longest title or description in bytes.
const LINE_BYTES_MAX: usize = 1_024;

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
    apply(&mut reader, &table, known, &mut recipe);
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
        apply(&mut reader, &table, known, &mut recipe);
        whole::check(&mut reader, &table, &recipe);
        let (problems, _) = reader.finish();
        if !problems.is_empty() {
            return Err(broken(&problems));
        }
        base = Some(recipe);
    }
    Ok(base)
}

/// A recipe before anything is said.
fn blank(name: &str) -> Recipe {
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

/// Applies what a document says.
fn apply(reader: &mut Reader<'_>, table: &Table<'_>, known: &Known, recipe: &mut Recipe) {
    reader.keys(table, keys::TOP);
    if let Some(name) = self::name(reader, table, "name", "_-.") {
        recipe.name = name.to_owned();
    }
    if let Some(description) = reader.text(table, "description", LINE_BYTES_MAX) {
        description.clone_into(&mut recipe.description);
    }
    if let Some(shape) = reader.word(table, "shape", words::SHAPES) {
        recipe.shape = shape;
    }
    recipe.extends = reader.text(table, "extends", LINE_BYTES_MAX).map(str::to_owned);
    if let Some(budget) = reader.table(table, "budget", "budget") {
        apply_budget(reader, &budget, recipe);
    }
    subject::apply(reader, table, recipe);
    if let Some(query) = reader.table(table, "query", "query") {
        apply_query(reader, &query, recipe);
    }
    if let Some(words) = reader.table(table, "words", "words") {
        vocabulary::apply(reader, &words, recipe);
    }
    apply_cache(reader, table, recipe);
    if let Some(output) = reader.table(table, "output", "output") {
        apply_output(reader, &output, recipe);
    }
    remove_layers(reader, table, recipe);
    layer::apply_all(reader, table, known, recipe, LAYERS_MAX);
    adapt::apply(reader, table, recipe);
}

/// A name made of letters, digits and the characters in `more`.
fn name<'t>(reader: &mut Reader<'_>, table: &Table<'t>, key: &str, more: &str) -> Option<&'t str> {
    let name = reader.text(table, key, LINE_BYTES_MAX)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.chars().all(fits) && name.chars().count() <= NAME_CHARS_MAX {
        return Some(name);
    }
    let message = format!(
        "is {name:?}; it must have 1 to {NAME_CHARS_MAX} letters, digits or any of {more}, a letter \
         or digit first"
    );
    reader.wrong_in(table, key, &message);
    None
}

fn tokens(reader: &mut Reader<'_>, table: &Table<'_>, key: &str) -> Option<Tokens> {
    reader.count(table, key, Bounds(0, TOKENS_MAX)).map(Tokens::saturating_from)
}

fn share(reader: &mut Reader<'_>, table: &Table<'_>, key: &str) -> Option<Share> {
    reader.number(table, key, Bounds(0.0, 1.0)).and_then(Share::fraction)
}

fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn apply_budget(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    reader.keys(table, keys::BUDGET);
    if let Some(total) = tokens(reader, table, "total") {
        recipe.budget.total = total;
    }
    if let Some(reserve) = reader.table(table, "reserve", "reserve") {
        for (name, at, _) in reserve.entries() {
            reader.note(format!("{}.{name}", reserve.path), at);
            let Some(size) = tokens(reader, &reserve, name) else { continue };
            let reserves = &mut recipe.budget.reserves;
            match reserves.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = size,
                None => reserves.push((name.to_owned(), size)),
            }
        }
    }
    if let Some(overflow) = reader.word(table, "overflow", words::OVERFLOWS) {
        recipe.budget.overflow = overflow;
    }
    if table.has("model") && table.has("tokenizer") {
        reader.wrong_in(table, "tokenizer", "and model are both said; the model has its tokenizer");
    }
    if let Some(name) = reader.text(table, "model", LINE_BYTES_MAX) {
        match model::find(name) {
            Ok(_) => recipe.counting = CountingSpec::Model(name.to_owned()),
            Err(error) => reader.wrong_in(table, "model", &format!("names an {error}")),
        }
    }
    if let Some(name) = reader.text(table, "tokenizer", LINE_BYTES_MAX) {
        let mut names: Vec<String> = Encoding::ALL.iter().map(|e| e.name().to_owned()).collect();
        names.push(CharacterEstimate.name().to_owned());
        if names.iter().any(|known| known == name) {
            recipe.counting = CountingSpec::Tokenizer(name.to_owned());
        } else {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let hint = hint(name, &names, "there are");
            reader.wrong_in(table, "tokenizer", &format!("is {name:?}, which is not known{hint}"));
        }
    }
}

fn apply_query(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    reader.keys(table, keys::QUERY);
    let Some(parts) = reader.texts(table, "embed") else { return };
    if parts.is_empty() {
        reader.wrong_in(table, "embed", "names nothing; a query's vector is made from something");
    }
    let mut embed = Vec::new();
    for (part, at) in parts {
        let names: Vec<&str> = words::QUERY_PARTS.iter().map(|word| word.name).collect();
        match words::QUERY_PARTS.iter().find(|word| word.name == part) {
            Some(word) if embed.contains(&word.value) => {
                reader.wrong(at, format!("query: embed names {part:?} twice"));
            }
            Some(word) => embed.push(word.value),
            None => {
                let hint = hint(part, &names, "there are");
                reader.wrong(at, format!("query: embed names {part:?}, which is not known{hint}"));
            }
        }
    }
    recipe.embed = embed;
}

fn apply_cache(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    if is_none(table, "cache") {
        recipe.cache = None;
        return;
    }
    let Some(table) = reader.table(table, "cache", "cache") else { return };
    reader.keys(&table, keys::CACHE);
    let before = recipe.cache.unwrap_or(CacheSpec { entries: 100, idle: Duration::from_secs(30) });
    let entries = reader.count(&table, "entries", Bounds(1, 1_000_000)).unwrap_or(before.entries);
    let idle = reader.count(&table, "seconds", Bounds(1, 86_400)).map(Duration::from_secs);
    recipe.cache = Some(CacheSpec { entries, idle: idle.unwrap_or(before.idle) });
}

fn apply_output(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    reader.keys(table, keys::OUTPUT);
    for (key, part) in [("before", &mut recipe.frame.before), ("after", &mut recipe.frame.after)] {
        let Some(text) = reader.text(table, key, TEMPLATE_BYTES_MAX) else { continue };
        match Pattern::frame(text) {
            Ok(_) => text.clone_into(part),
            Err(error) => reader.wrong_in(table, key, &format!("cannot be read: {error}")),
        }
    }
    if let Some(fencing) = reader.word(table, "fence", words::FENCES) {
        recipe.fencing = fencing;
    }
    if let Some(selector) = reader.word(table, "selector", words::SELECTORS) {
        recipe.selector = selector;
    }
    if let Some(degrade) = reader.flag(table, "degrade") {
        recipe.degrade = degrade;
    }
    if is_none(table, "stop") {
        recipe.stop = None;
    } else if let Some(table) = reader.table(table, "stop", "stop") {
        reader.keys(&table, keys::STOP);
        for key in keys::STOP.iter().filter(|key| !table.has(key.name)) {
            reader.wrong_in(&table, key.name, "is missing");
        }
        let fill = share(reader, &table, "fill");
        let items = reader.count(&table, "items", Bounds(0, 100_000)).map(index);
        if let (Some(fill), Some(items)) = (fill, items) {
            recipe.stop = Some(Stop { fill, items });
        }
    }
}

fn remove_layers(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    let Some(names) = reader.texts(table, "remove") else { return };
    if !table.has("extends") {
        reader.wrong_in(table, "remove", "takes layers of a base away, but there is no extends");
        return;
    }
    for (name, at) in names {
        if let Some(index) = recipe.layers.iter().position(|layer| layer.name == name) {
            recipe.layers.remove(index);
            // What is said of a layer goes with it.
            for adaptation in &mut recipe.adapt {
                adaptation.shares.retain(|(layer, _)| layer != name);
                adaptation.caps.retain(|(layer, _)| layer != name);
            }
        } else {
            let names: Vec<&str> = recipe.layers.iter().map(|layer| &*layer.name).collect();
            let hint = hint(name, &names, "there are");
            reader.wrong(at, format!("remove names {name:?}, which the base does not have{hint}"));
        }
    }
}
