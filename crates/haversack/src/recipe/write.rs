//! From a recipe back to text: everything it says, its base's words included.

use std::fmt::Write as _;
use std::time::Duration;

use haversack_core::rank::Recency;
use haversack_core::units::{Share, Tokens};

use super::words::{self, CutWord, NONE, name_of};
use super::{
    Adaptation, CollectorSpec, CountingSpec, FORMAT, LayerSpec, Recipe, ScoreSpec, Setting,
    SubjectSpec, TemplateSpec,
};

impl Recipe {
    /// The recipe as a file of its own, with its base and all defaults written out. Read again, it
    /// gives the same recipe, but for `extends`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        put(&mut out, "haversack", &FORMAT.to_string());
        put(&mut out, "name", &quoted(&self.name));
        put(&mut out, "description", &quoted(&self.description));
        put(&mut out, "shape", &quoted(name_of(words::SHAPES, &self.shape)));
        if self.cache.is_none() {
            put(&mut out, "cache", &quoted(NONE));
        }
        self.subjects.iter().for_each(|subject| put_subject(&mut out, subject));
        self.put_tables(&mut out);
        for layer in &self.layers {
            put_layer(&mut out, layer);
        }
        for adaptation in &self.adapt {
            put_adaptation(&mut out, adaptation);
        }
        out
    }

    /// The recipe as a file that extends another one, of which it differs in how layers collect and
    /// score. Read again beside that one, it gives the same recipe.
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

    fn put_tables(&self, out: &mut String) {
        out.push_str("\n[budget]\n");
        put(out, "total", &tokens(self.budget.total));
        let reserves = self.budget.reserves.iter().map(|(name, size)| (&**name, tokens(*size)));
        put(out, "reserve", &inline(reserves));
        put(out, "overflow", &quoted(name_of(words::OVERFLOWS, &self.budget.overflow)));
        match &self.counting {
            CountingSpec::Model(name) => put(out, "model", &quoted(name)),
            CountingSpec::Tokenizer(name) => put(out, "tokenizer", &quoted(name)),
        }
        out.push_str("\n[query]\n");
        let parts = self.embed.iter().map(|part| quoted(name_of(words::QUERY_PARTS, part)));
        put(out, "embed", &list(parts));
        self.put_words(out);
        if let Some(cache) = &self.cache {
            out.push_str("\n[cache]\n");
            put(out, "entries", &cache.entries.to_string());
            put(out, "seconds", &cache.idle.as_secs().to_string());
        }
        out.push_str("\n[output]\n");
        put(out, "before", &quoted(&self.frame.before));
        put(out, "after", &quoted(&self.frame.after));
        put(out, "fence", &quoted(name_of(words::FENCES, &self.fencing)));
        put(out, "selector", &quoted(name_of(words::SELECTORS, &self.selector)));
        let stop = self.stop.map(|stop| {
            inline([("fill", share(stop.fill)), ("items", stop.items.to_string())].into_iter())
        });
        put(out, "stop", &stop.unwrap_or_else(|| quoted(NONE)));
        put(out, "degrade", &self.degrade.to_string());
    }
}

impl Recipe {
    fn put_words(&self, out: &mut String) {
        if self.words.is_empty() {
            return;
        }
        out.push_str("\n[words]\n");
        let phrases = |phrases: &[String]| list(phrases.iter().map(|phrase| quoted(phrase)));
        let kind = |name: &'_ str| name.strip_prefix("kind ").map(str::to_owned);
        for (name, said) in self.words.iter().filter(|(name, _)| kind(name).is_none()) {
            put(out, name, &phrases(said));
        }
        let kinds: Vec<(String, String)> = self
            .words
            .iter()
            .filter_map(|(name, said)| Some((kind(name)?, phrases(said))))
            .collect();
        if !kinds.is_empty() {
            out.push_str("\n[words.kinds]\n");
            kinds.iter().for_each(|(name, said)| put(out, name, said));
        }
    }
}

fn put(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

fn put_subject(out: &mut String, subject: &SubjectSpec) {
    out.push_str("\n[[subject]]\n");
    put(out, "name", &quoted(&subject.name));
    put(out, "kind", &quoted(subject.kind.as_str()));
    put(out, "field", &quoted(&subject.field));
    put(out, "facts", &list(subject.facts.iter().map(|fact| quoted(fact))));
    put(out, "implied", &subject.implied.to_string());
}

fn put_layer(out: &mut String, layer: &LayerSpec) {
    out.push_str("\n[[layer]]\n");
    put(out, "name", &quoted(&layer.name));
    put(out, "title", &quoted(&layer.title));
    put(out, "pinned", &layer.pinned.to_string());
    if !layer.pinned {
        put(out, "share", &share(layer.share));
        put(out, "cap", &or_none(layer.cap.map(tokens)));
    }
    put(out, "spill", &layer.spill.to_string());
    put(out, "order", &quoted(name_of(words::ORDERS, &layer.order)));
    let cut = CutWord { cut: layer.cut, summarise: layer.summarise };
    put(out, "cut", &quoted(name_of(words::CUTS, &cut)));
    put(out, "least", &tokens(layer.least));
    put(out, "essential", &layer.essential.to_string());
    put(out, "arrange", &quoted(name_of(words::ARRANGEMENTS, &layer.arrange)));
    put(out, "stability", &quoted(name_of(words::STABILITIES, &layer.stability)));
    let kind_cap = layer.kind_cap.map(|cap| {
        inline([("share", share(cap.share)), ("after", cap.after.to_string())].into_iter())
    });
    put(out, "kind_cap", &or_none(kind_cap));
    let fence = layer.fencing.map(|fencing| quoted(name_of(words::FENCES, &fencing)));
    put(out, "fence", &or_none(fence));
    put(out, "template", &template(&layer.template));
    put(out, "score", &score(&layer.score));
    put(out, "recency", &recency(layer.recency));
    put(out, "rerank", &layer.rerank.to_string());
    put(out, "minimum", &or_none(layer.minimum.map(|score| number(score.get()))));
    put(out, "floor", &or_none(layer.floor.map(|score| number(score.get()))));
    let relative = layer.relative_floor.map(|score| number(score.get()));
    put(out, "relative_floor", &or_none(relative));
    put(out, "prefer_current", &layer.prefer_current.to_string());
    put(out, "repeats", &or_none(layer.repeats.map(|score| number(score.get()))));
    put(out, "diversity", &or_none(layer.diversity.map(|score| number(score.get()))));
    put(out, "limit", &or_none(layer.limit.map(|limit| limit.to_string())));
    for collector in &layer.collect {
        put_collector(out, collector);
    }
}

fn put_collector(out: &mut String, collector: &CollectorSpec) {
    out.push_str("\n[[layer.collect]]\n");
    put(out, "by", &quoted(&collector.by));
    put(out, "kinds", &list(collector.kinds.iter().map(|kind| quoted(kind.as_str()))));
    put(out, "deadline_ms", &millis(collector.deadline));
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

fn put_adaptation(out: &mut String, adaptation: &Adaptation) {
    out.push_str("\n[[adapt]]\n");
    put(out, "when", &quoted(adaptation.when.source()));
    if let Some(total) = adaptation.total {
        put(out, "total", &tokens(total));
    }
    let shares = adaptation.shares.iter().map(|(name, value)| (&**name, share(*value)));
    put(out, "shares", &inline(shares));
    let caps = adaptation.caps.iter().map(|(name, value)| (&**name, tokens(*value)));
    put(out, "caps", &inline(caps));
}

fn template(template: &TemplateSpec) -> String {
    match template {
        TemplateSpec::Named(name) => quoted(name),
        TemplateSpec::Inline { header, item, separator, footer, empty } => {
            let parts = [
                ("header", Some(header)),
                ("item", Some(item)),
                ("separator", Some(separator)),
                ("footer", Some(footer)),
                ("empty", empty.as_ref()),
            ];
            inline(parts.into_iter().filter_map(|(key, text)| Some((key, quoted(text?)))))
        }
    }
}

fn score(score: &ScoreSpec) -> String {
    match score {
        ScoreSpec::Expression(source) => quoted(source),
        ScoreSpec::Named(name) => inline(std::iter::once(("ranker", quoted(name)))),
        ScoreSpec::Weights { base, weights } => {
            let weights = weights.iter().map(|&(component, weight)| (component.name(), weight));
            let all = std::iter::once(("base", *base)).chain(weights);
            inline(all.map(|(name, weight)| (name, number(weight))))
        }
    }
}

fn recency(recency: Recency) -> String {
    match (name_of(words::RECENCIES, &recency), recency) {
        ("", Recency::Exponential { rate_per_hour }) => {
            inline(std::iter::once(("per_hour", number(rate_per_hour))))
        }
        ("", Recency::Linear { span_hours }) => {
            inline(std::iter::once(("over_hours", number(span_hours))))
        }
        (word, _) => quoted(word),
    }
}

fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| quoted(NONE))
}

pub(super) fn tokens(tokens: Tokens) -> String {
    grouped(tokens.get())
}

fn millis(deadline: Duration) -> String {
    deadline.as_millis().to_string()
}

/// 12345 as TOML's 12_345.
fn grouped(count: u32) -> String {
    super::read::grouped(count.into()).replace(',', "_")
}

/// A number that is read as a decimal again.
fn number(number: f64) -> String {
    format!("{number:?}")
}

pub(super) fn share(share: Share) -> String {
    number(f64::from(share.millionths()) / 1e6)
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

fn inline<'k>(entries: impl Iterator<Item = (&'k str, String)>) -> String {
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
