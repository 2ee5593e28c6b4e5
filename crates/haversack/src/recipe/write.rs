//! Writes a recipe as TOML, using the table of keys.

use std::fmt::Write as _;

use haversack_core::rank::Recency;
use haversack_core::units::{Share, Tokens};

use super::keys::{self, InlineTemplate, Key, toml_values};
use super::words::{self, NONE, name_of};
use super::{CollectorSpec, FORMAT, Recipe, ScoreSpec, Setting, TemplateSpec};

impl Recipe {
    /// Writes the recipe as a file of its own, with its base and all defaults written out. Parsing
    /// it gives the same recipe, except for `extends`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        put_keys(&mut out, keys::TOP, self);
        for subject in &self.subjects {
            put_table(&mut out, "[[subject]]", keys::SUBJECT, subject);
        }
        put_table(&mut out, "[budget]", keys::BUDGET, self);
        put_table(&mut out, "[query]", keys::QUERY, self);
        self.put_words(&mut out);
        if let Some(cache) = &self.cache {
            put_table(&mut out, "[cache]", keys::CACHE, cache);
        }
        put_table(&mut out, "[output]", keys::OUTPUT, self);
        for layer in &self.layers {
            put_table(&mut out, "[[layer]]", keys::LAYER, layer);
            layer.collect.iter().for_each(|collector| put_collector(&mut out, collector));
        }
        for adaptation in &self.adapt {
            put_table(&mut out, "[[adapt]]", keys::ADAPT, adaptation);
        }
        out
    }

    /// Writes the recipe as a file that extends another one, from which only collectors and scores
    /// of layers differ. Parsing it with that one registered gives the same recipe.
    #[must_use]
    pub fn to_toml_extending(&self, base: &Recipe) -> String {
        let mut out = String::new();
        put(&mut out, "haversack", &FORMAT.to_string());
        put(&mut out, "name", &quoted(&self.name));
        put(&mut out, "extends", &quoted(&base.name));
        put(&mut out, "description", &quoted(&self.description));
        for (layer, before) in self.layers.iter().zip(&base.layers) {
            if (&layer.score, &layer.collect) == (&before.score, &before.collect) {
                continue;
            }
            out.push_str("\n[[layer]]\n");
            put(&mut out, "name", &quoted(&layer.name));
            if layer.score != before.score {
                put(&mut out, "score", &score(&layer.score));
            }
            if layer.collect != before.collect {
                layer.collect.iter().for_each(|collector| put_collector(&mut out, collector));
            }
        }
        out
    }

    fn put_words(&self, out: &mut String) {
        if self.words.is_empty() {
            return;
        }
        out.push_str("\n[words]\n");
        let phrases = |phrases: &[String]| list(phrases.iter().map(|phrase| quoted(phrase)));
        let kind = |name: &'_ str| name.strip_prefix("kind ").map(str::to_owned);
        for (name, values) in self.words.iter().filter(|(name, _)| kind(name).is_none()) {
            put(out, name, &phrases(values));
        }
        let kinds: Vec<(String, String)> = self
            .words
            .iter()
            .filter_map(|(name, values)| Some((kind(name)?, phrases(values))))
            .collect();
        if !kinds.is_empty() {
            out.push_str("\n[words.kinds]\n");
            kinds.iter().for_each(|(name, values)| put(out, name, values));
        }
    }
}

fn put(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

fn put_keys<T>(out: &mut String, keys: &[Key<T>], target: &T) {
    toml_values(keys, target).for_each(|(name, value)| put(out, name, &value));
}

fn put_table<T>(out: &mut String, header: &str, keys: &[Key<T>], target: &T) {
    let _ = write!(out, "\n{header}\n");
    put_keys(out, keys, target);
}

fn put_collector(out: &mut String, collector: &CollectorSpec) {
    put_table(out, "[[layer.collect]]", keys::COLLECT, collector);
    for (name, setting) in collector.settings.iter() {
        let value = match setting {
            Setting::Count(count) => count.to_string(),
            Setting::Number(value) => number(*value),
            Setting::Text(text) => quoted(text),
            Setting::Texts(texts) => list(texts.iter().map(|text| quoted(text))),
            Setting::Flag(flag) => flag.to_string(),
        };
        put(out, &key(name), &value);
    }
}

pub(super) fn template(template: &TemplateSpec) -> String {
    match template.clone() {
        TemplateSpec::Named(name) => quoted(&name),
        TemplateSpec::Inline { header, item, separator, footer, empty } => {
            let template = InlineTemplate { header, item, separator, footer, empty };
            inline(toml_values(keys::TEMPLATE, &template))
        }
    }
}

pub(super) fn score(score: &ScoreSpec) -> String {
    let weights = match score {
        ScoreSpec::Expression(source) => return quoted(source),
        ScoreSpec::Named(_) => &[][..],
        ScoreSpec::Weights { weights, .. } => weights,
    };
    let weights = weights.iter().map(|&(component, weight)| (component.name(), number(weight)));
    inline(toml_values(keys::SCORE, score).chain(weights))
}

pub(super) fn recency(recency: Recency) -> String {
    match name_of(words::RECENCIES, &recency) {
        "" => inline(toml_values(keys::RECENCY, &recency)),
        word => quoted(word),
    }
}

pub(super) fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| quoted(NONE))
}

pub(super) fn tokens(tokens: Tokens) -> String {
    grouped(tokens.get())
}

/// Formats 12345 as 12_345, as TOML allows.
fn grouped(count: u32) -> String {
    super::read::grouped(count.into()).replace(',', "_")
}

/// Formats a number so that TOML parses it as a decimal.
pub(super) fn number(number: f64) -> String {
    format!("{number:?}")
}

pub(super) fn share(share: Share) -> String {
    number(f64::from(share.millionths()) / 1e6)
}

pub(super) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

pub(super) fn inline<'k>(entries: impl Iterator<Item = (&'k str, String)>) -> String {
    let entries: Vec<String> =
        entries.map(|(name, value)| format!("{} = {value}", key(name))).collect();
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
