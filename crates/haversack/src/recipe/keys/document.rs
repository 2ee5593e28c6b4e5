//! Keys at the top of a recipe and of its tables, except layers.

use std::time::Duration;

use haversack_core::assemble::{Pattern, TEMPLATE_BYTES_MAX};
use haversack_core::select::Stop;
use haversack_core::units::Share;

use super::KeyDefault::{Required, Value, Words};
use super::KeyType::{Count, Flag, Other, Text, Tokens};
use super::{FRACTION, Key, KeyReader, key, read_keys, set, toml_values};
use crate::recipe::parse::{adapt, budget, layer, subject, vocabulary};
use crate::recipe::words::{self, NONE, name_of};
use crate::recipe::write::{inline, list, or_none, quoted, share, tokens};
use crate::recipe::{Adaptation, CacheSpec, CountingSpec, FORMAT, Recipe, SubjectSpec};

pub(in crate::recipe) const TOP: &[Key<Recipe>] = &[
    key(
        "haversack",
        Other("`1`"),
        Required,
        "the version of this format",
        // Checked before anything else is read.
        |_, _| {},
        |_| Some(FORMAT.to_string()),
    ),
    key(
        "name",
        Other("a name"),
        Words("the file's name"),
        "what requests call the recipe",
        |key, recipe| set(&mut recipe.name, key.identifier("_-.")),
        |recipe| Some(quoted(&recipe.name)),
    ),
    key(
        "description",
        Text,
        Value,
        "what it is for, in a line",
        |key, recipe| set(&mut recipe.description, key.line()),
        |recipe| Some(quoted(&recipe.description)),
    ),
    key(
        "shape",
        Other("a word, see [Shapes](#shapes)"),
        Value,
        "the form of the result",
        |key, recipe| set(&mut recipe.shape, key.word(words::SHAPES)),
        |recipe| Some(quoted(name_of(words::SHAPES, &recipe.shape))),
    ),
    key(
        "extends",
        Other("a recipe's name"),
        Value,
        "the recipe to start from, see [Extending](#extending)",
        |key, recipe| recipe.extends = key.line(),
        // A recipe is written with its base.
        |_| None,
    ),
    key(
        "remove",
        Other("a list of layer names"),
        Value,
        "layers of the base that are left out",
        |key, recipe| layer::remove(key.reader, key.table, recipe),
        |_| None,
    ),
    key(
        "budget",
        Other("a table"),
        Words(""),
        "what may be spent, see [`[budget]`](#budget)",
        |key, recipe| read_table(key, BUDGET, recipe),
        |_| None,
    ),
    key(
        "subject",
        Other("tables"),
        Value,
        "what requests are about, see [`[[subject]]`](#subject)",
        subject::apply,
        |_| None,
    ),
    key(
        "query",
        Other("a table"),
        Words(""),
        "what is searched for, see [`[query]`](#query)",
        |key, recipe| read_table(key, QUERY, recipe),
        |_| None,
    ),
    key(
        "words",
        Other("a table"),
        Words(""),
        "words of questions about fields, see [`[words]`](#words)",
        |key, recipe| {
            if let Some(table) = key.inner_table() {
                vocabulary::apply(key.reader, &table, recipe);
            }
        },
        |_| None,
    ),
    key(
        "cache",
        Other("a table or `\"none\"`"),
        Words("no cache"),
        "how long results are cached, see [`[cache]`](#cache)",
        |key, recipe| {
            let before = recipe.cache.unwrap_or_default();
            let cache = key.or_none(|key| read_inner(key, CACHE, before));
            set(&mut recipe.cache, cache);
        },
        |recipe| recipe.cache.is_none().then(|| quoted(NONE)),
    ),
    key(
        "output",
        Other("a table"),
        Words(""),
        "the text around the layers, see [`[output]`](#output)",
        |key, recipe| read_table(key, OUTPUT, recipe),
        |_| None,
    ),
    key(
        "layer",
        Other("tables"),
        Words("at least one"),
        "the sections of the pack, see [`[[layer]]`](#layer)",
        layer::apply_all,
        |_| None,
    ),
    key(
        "adapt",
        Other("tables"),
        Value,
        "what changes with the request, see [`[[adapt]]`](#adapt)",
        adapt::apply,
        |_| None,
    ),
];

pub(in crate::recipe) const BUDGET: &[Key<Recipe>] = &[
    key(
        "total",
        Tokens,
        Value,
        "all that may be spent, reserves included",
        |key, recipe| set(&mut recipe.budget.total, key.tokens()),
        |recipe| Some(tokens(recipe.budget.total)),
    ),
    key(
        "reserve",
        Other("a table of names and tokens"),
        Value,
        "what is kept free for others, such as the system prompt",
        budget::apply_reserves,
        |recipe| {
            let reserves = recipe.budget.reserves.iter();
            Some(inline(reserves.map(|(name, size)| (&**name, tokens(*size)))))
        },
    ),
    key(
        "overflow",
        Other("a word, see below"),
        Value,
        "what happens when pinned text alone is larger than the budget",
        |key, recipe| set(&mut recipe.budget.overflow, key.word(words::OVERFLOWS)),
        |recipe| Some(quoted(name_of(words::OVERFLOWS, &recipe.budget.overflow))),
    ),
    key(
        "model",
        Other("a model's name"),
        Value,
        "count as this model does; `haversack models` lists them",
        |key, recipe| set(&mut recipe.counting, budget::read_model(key)),
        |recipe| match &recipe.counting {
            CountingSpec::Model(name) => Some(quoted(name)),
            CountingSpec::Tokenizer(_) => None,
        },
    ),
    key(
        "tokenizer",
        Other("an encoding's name"),
        Value,
        "count by this encoding; not beside `model`",
        |key, recipe| set(&mut recipe.counting, budget::read_tokenizer(key)),
        |recipe| match &recipe.counting {
            CountingSpec::Tokenizer(name) => Some(quoted(name)),
            CountingSpec::Model(_) => None,
        },
    ),
];

pub(in crate::recipe) const SUBJECT: &[Key<SubjectSpec>] = &[
    key(
        "name",
        Other("a name"),
        Required,
        "what collectors and conditions call it",
        |key, subject| subject.name = subject::read_name(key),
        |subject| Some(quoted(&subject.name)),
    ),
    key(
        "kind",
        Other("a kind"),
        Words("its name"),
        "of which kind the item must be",
        |key, subject| {
            let kind = subject::read_kind(key, &subject.name);
            set(&mut subject.kind, kind);
        },
        |subject| Some(quoted(subject.kind.as_str())),
    ),
    key(
        "field",
        Other("a field's name"),
        Words("its name and `Id`"),
        "the field by which other items name it",
        |key, subject| {
            subject.field = key.identifier("_").unwrap_or_else(|| format!("{}Id", subject.name));
        },
        |subject| Some(quoted(&subject.field)),
    ),
    key(
        "facts",
        Other("a list of field names"),
        Value,
        "fields of it that conditions can name",
        |key, subject| subject.facts = subject::read_facts(key),
        |subject| Some(list(subject.facts.iter().map(|fact| quoted(fact)))),
    ),
    key(
        "implied",
        Flag,
        Value,
        "whether items that name it are enough, without an item of its own",
        |key, subject| set(&mut subject.implied, key.flag()),
        |subject| Some(subject.implied.to_string()),
    ),
];

pub(in crate::recipe) const QUERY: &[Key<Recipe>] = &[key(
    "embed",
    Other("a list of words, see below"),
    Value,
    "what the query's vector is made from",
    |key, recipe| set(&mut recipe.embed, vocabulary::read_query_parts(key)),
    |recipe| {
        let parts = recipe.embed.iter();
        Some(list(parts.map(|part| quoted(name_of(words::QUERY_PARTS, part)))))
    },
)];

pub(in crate::recipe) const CACHE: &[Key<CacheSpec>] = &[
    key(
        "entries",
        Count(1, 1_000_000),
        Value,
        "how many results are kept",
        |key, cache| set(&mut cache.entries, key.count()),
        |cache| Some(cache.entries.to_string()),
    ),
    key(
        "seconds",
        Count(1, 86_400),
        Value,
        "how long a result is kept after it was last requested",
        |key, cache| set(&mut cache.idle, key.count().map(Duration::from_secs)),
        |cache| Some(cache.idle.as_secs().to_string()),
    ),
];

pub(in crate::recipe) const OUTPUT: &[Key<Recipe>] = &[
    key(
        "before",
        Text,
        Value,
        "the text before the first section; may name `{{query}}`",
        |key, recipe| set(&mut recipe.frame.before, read_frame(key)),
        |recipe| Some(quoted(&recipe.frame.before)),
    ),
    key(
        "after",
        Text,
        Value,
        "the text after the last section; may name `{{query}}`",
        |key, recipe| set(&mut recipe.frame.after, read_frame(key)),
        |recipe| Some(quoted(&recipe.frame.after)),
    ),
    key(
        "fence",
        Other("a word, see below"),
        Value,
        "which texts are fenced off as data",
        |key, recipe| set(&mut recipe.fencing, key.word(words::FENCES)),
        |recipe| Some(quoted(name_of(words::FENCES, &recipe.fencing))),
    ),
    key(
        "selector",
        Other("a word, see below"),
        Value,
        "how candidates are chosen",
        |key, recipe| set(&mut recipe.selector, key.word(words::SELECTORS)),
        |recipe| Some(quoted(name_of(words::SELECTORS, &recipe.selector))),
    ),
    key(
        "stop",
        Other("a table or `\"none\"`"),
        Value,
        "when to stop filling: `fill` is the part of the budget, `items` the number of texts; when both are reached, nothing more goes in",
        |key, recipe| set(&mut recipe.stop, key.or_none(read_stop)),
        |recipe| Some(or_none(recipe.stop.map(|stop| inline(toml_values(STOP, &stop))))),
    ),
    key(
        "degrade",
        Flag,
        Value,
        "whether to pack without a provider that failed, rather than return an error",
        |key, recipe| set(&mut recipe.degrade, key.flag()),
        |recipe| Some(recipe.degrade.to_string()),
    ),
];

/// A stop with no key set.
pub(in crate::recipe) const BLANK_STOP: Stop = Stop { fill: Share::ZERO, items: 0 };

pub(in crate::recipe) const STOP: &[Key<Stop>] = &[
    key(
        "fill",
        FRACTION,
        Required,
        "the part of the budget that must be spent",
        |key, stop| set(&mut stop.fill, key.share()),
        |stop| Some(share(stop.fill)),
    ),
    key(
        "items",
        Count(0, 100_000),
        Required,
        "how many texts must be in",
        |key, stop| set(&mut stop.items, key.size()),
        |stop| Some(stop.items.to_string()),
    ),
];

pub(in crate::recipe) const ADAPT: &[Key<Adaptation>] = &[
    key(
        "when",
        Other("a condition"),
        Required,
        "when it is used; see [Conditions](#conditions)",
        |key, adaptation| set(&mut adaptation.when, adapt::read_condition(key)),
        |adaptation| Some(quoted(adaptation.when.source())),
    ),
    key(
        "total",
        Tokens,
        Words("unchanged"),
        "the budget then",
        |key, adaptation| adaptation.total = key.tokens(),
        |adaptation| adaptation.total.map(tokens),
    ),
    key(
        "shares",
        Other("a table of layers and shares"),
        Words("unchanged"),
        "shares of layers then",
        |key, adaptation| adaptation.shares = adapt::read_by_layer(key, super::share),
        |adaptation| {
            let shares = adaptation.shares.iter();
            Some(inline(shares.map(|(name, value)| (&**name, share(*value)))))
        },
    ),
    key(
        "caps",
        Other("a table of layers and tokens"),
        Words("unchanged"),
        "caps of layers then",
        |key, adaptation| adaptation.caps = adapt::read_by_layer(key, super::tokens),
        |adaptation| {
            let caps = adaptation.caps.iter();
            Some(inline(caps.map(|(name, value)| (&**name, tokens(*value)))))
        },
    ),
];

/// Reads a table whose keys belong to the recipe itself.
fn read_table(key: &mut KeyReader<'_, '_, '_>, keys: &[Key<Recipe>], recipe: &mut Recipe) {
    if let Some(table) = key.inner_table() {
        read_keys(key.reader, &table, key.registry, keys, recipe);
    }
}

/// Reads an inner table on top of the values that apply without it.
pub(super) fn read_inner<T>(
    key: &mut KeyReader<'_, '_, '_>,
    keys: &[Key<T>],
    mut before: T,
) -> Option<T> {
    let table = key.inner_table()?;
    read_keys(key.reader, &table, key.registry, keys, &mut before);
    Some(before)
}

fn read_frame(key: &mut KeyReader<'_, '_, '_>) -> Option<String> {
    let text = key.text(TEMPLATE_BYTES_MAX)?;
    match Pattern::frame(text) {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            key.report(&format!("cannot be read: {error}"));
            None
        }
    }
}

fn read_stop(key: &mut KeyReader<'_, '_, '_>) -> Option<Stop> {
    let table = key.inner_table()?;
    for name in super::names(STOP).into_iter().filter(|name| !table.has(name)) {
        key.reader.report_key(&table, name, "is missing");
    }
    let mut stop = BLANK_STOP;
    read_keys(key.reader, &table, key.registry, STOP, &mut stop);
    Some(stop)
}
