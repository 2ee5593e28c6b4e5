//! Every row of every table of keys is read, written and documented.

use std::fmt::Write as _;

use super::*;
use crate::recipe::{Recipe, document};

const SAMPLES: [&str; 2] = [
    r#"
haversack = 1
name = "sample"
description = "Every key"
shape = "proposal"
extends = "base"
remove = ["gone"]
[[subject]]
name = "deal"
kind = "opportunity"
field = "opportunityRef"
facts = ["stage"]
implied = true
[budget]
total = 9_000
reserve = { system = 10 }
overflow = "exceed"
model = "gpt-4o"
[query]
embed = ["query", "history"]
[words]
overdue = ["en retard"]
[cache]
entries = 7
seconds = 60
[output]
before = "a"
after = "b"
fence = "all"
selector = "exact"
degrade = false
[output.stop]
fill = 0.5
items = 3
[[layer]]
name = "mine"
title = "Title"
share = 0.1
cap = 100
spill = 77
order = "rank"
cut = "keep_end"
least = 9
essential = false
arrange = "newest"
stability = "stable"
fence = "off"
rerank = 5
minimum = 0.1
floor = 0.2
relative_floor = 0.3
prefer_current = true
repeats = 0.9
diversity = 0.5
limit = 50
[layer.kind_cap]
share = 0.5
after = 9
[layer.template]
header = "h"
item = "- {{content}}"
separator = "s"
footer = "f"
empty = "e"
[layer.score]
base = 0.5
semantic = 1.0
[layer.recency]
per_hour = 0.5
[[layer.collect]]
by = "newest"
kinds = ["note"]
deadline_ms = 2_000
[[adapt]]
when = 'type == "search"'
total = 100
shares = { mine = 0.2 }
caps = { mine = 50 }
"#,
    r#"
haversack = 1
[budget]
tokenizer = "cl100k_base"
[[layer]]
name = "first"
pinned = true
[layer.score]
ranker = "byRecency"
[layer.recency]
over_hours = 5
"#,
];

/// Keys that say how a recipe is made from its base, and are not in one that is written whole.
const NOT_WRITTEN: [&str; 2] = ["extends", "remove"];

fn parse(source: &str) -> Option<Recipe> {
    let base = "haversack = 1\n[[layer]]\nname = \"kept\"\n[[layer]]\nname = \"gone\"\n";
    let recipes = [("base".to_owned(), base.to_owned())].into();
    Recipe::parse("file", source, &RecipeRegistry { recipes, ..RecipeRegistry::default() }).ok()
}

/// A source without a key of a table, or without the table of that name inside it.
fn without(source: &str, table: &str, key: &str) -> String {
    let path = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let (mut out, mut current) = (String::new(), String::new());
    for line in source.lines() {
        if line.starts_with('[') {
            current = line.trim_matches(['[', ']']).to_owned();
        }
        let is_inside = current == path || current.starts_with(&format!("{path}."));
        let is_key = current == table && line.split(" = ").next() == Some(key);
        if !is_inside && !is_key {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Whether a document has a key in a table, in any of a list of tables.
fn has(value: &toml::Value, path: &[&str]) -> bool {
    match (value, path) {
        (_, []) => true,
        (toml::Value::Array(values), _) => values.iter().any(|value| has(value, path)),
        (toml::Value::Table(fields), [name, rest @ ..]) => {
            fields.get(*name).is_some_and(|value| has(value, rest))
        }
        _ => false,
    }
}

#[track_caller]
fn check<T>(table: &str, keys: &[Key<T>]) {
    let documentation = document();
    let whole = |source: &str| parse(source).expect("the samples are recipes");
    for Key { name, value, about, .. } in keys {
        let is_read = |source: &&str| parse(&without(source, table, name)) != Some(whole(source));
        assert!(SAMPLES.iter().any(is_read), "{table} {name} is not read");
        let path: Vec<&str> = table.split('.').filter(|part| !part.is_empty()).collect();
        let path: Vec<&str> = path.into_iter().chain([*name]).collect();
        let is_written = |source: &&str| {
            let written: toml::Table = toml::from_str(&whole(source).to_toml()).unwrap();
            has(&toml::Value::Table(written), &path)
        };
        let is_expected = table.is_empty() && NOT_WRITTEN.contains(name);
        assert!(SAMPLES.iter().any(is_written) != is_expected, "{table} {name} in TOML");
        let row = format!("\n| `{name}` | {} | ", value.describe());
        assert!(documentation.contains(&row), "{table} {name} is not documented");
        assert!(documentation.contains(about), "{table} {name} is not documented");
    }
}

#[test]
fn every_key_is_read_written_and_documented_x6() {
    check("", TOP);
    check("subject", SUBJECT);
    check("budget", BUDGET);
    check("query", QUERY);
    check("cache", CACHE);
    check("output", OUTPUT);
    check("output.stop", STOP);
    check("layer", LAYER);
    check("layer.kind_cap", KIND_CAP);
    check("layer.template", TEMPLATE);
    check("layer.score", SCORE);
    check("layer.recency", RECENCY);
    check("layer.collect", COLLECT);
    check("adapt", ADAPT);
}

#[test]
fn bounds_are_described_with_thousands_apart() {
    let check = |value: KeyType, expected: &str| assert_eq!(value.describe(), expected);
    check(KeyType::Count(1, 86_400), "1 to 86,400");
    check(KeyType::Number(-1_000_000.0, 0.5), "−1,000,000 to 0.5");
    check(KeyType::OrNone(&FRACTION), "0 to 1 or `\"none\"`");
}
