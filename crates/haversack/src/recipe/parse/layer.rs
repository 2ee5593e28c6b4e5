//! One layer: what it may take, and how its texts are cut, ordered and shown.

use haversack_core::layer::{Arrangement, KindCap, Layer, Order, Stability};
use haversack_core::pack::CANDIDATES_MAX;
use haversack_core::rank::{Component, Recency};
use haversack_core::text::truncate::Truncation;
use haversack_core::units::{Score, Share};

use super::{LINE_BYTES_MAX, collector, index, name, score, share, template, tokens};
use crate::recipe::read::{Bounds, Reader, Table, is_none};
use crate::recipe::words::{self, CutWord};
use crate::recipe::{Known, LayerSpec, Recipe, ScoreSpec, TemplateSpec, keys};

/// How many a reranker reads when nothing is said, and how many at most.
const RERANK: usize = 30;
const RERANK_MAX: u64 = 1_000;

/// Largest score, either way, that a recipe can speak of.
const SCORE_MAX: f64 = 1_000_000.0;

/// Applies every layer of a document: those that are known change, others are added.
pub(super) fn apply_all(
    reader: &mut Reader<'_>,
    document: &Table<'_>,
    known: &Known,
    recipe: &mut Recipe,
    count_max: usize,
) {
    let mut seen: Vec<&str> = Vec::new();
    for mut table in reader.tables(document, "layer", count_max) {
        let said = table.has("name");
        let name = name(reader, &table, "name", "_-");
        if !said {
            reader.wrong_in(&table, "name", "is missing; every layer has one");
        }
        if let Some(name) = name {
            if seen.contains(&name) {
                reader.wrong_in(&table, "name", &format!("is {name:?}, and so is another layer's"));
            }
            seen.push(name);
            table.label = format!("layer {name}");
            table.path = format!("layer.{name}");
            reader.note(table.path.clone(), table.at);
        }
        let at = name.and_then(|name| recipe.layers.iter().position(|layer| layer.name == name));
        let mut layer = match at {
            Some(at) => recipe.layers[at].clone(),
            None => new_layer(name.unwrap_or_default(), &recipe.layers),
        };
        apply(reader, &table, known, &mut layer);
        match at {
            Some(at) => recipe.layers[at] = layer,
            // One without a name was read for its problems alone.
            None if name.is_some() => recipe.layers.push(layer),
            None => {}
        }
    }
}

/// A layer before anything is said.
fn new_layer(name: &str, before: &[LayerSpec]) -> LayerSpec {
    let spills = before.iter().filter(|layer| !layer.pinned).map(|layer| layer.spill);
    LayerSpec {
        name: name.to_owned(),
        title: title_of(name),
        pinned: false,
        share: Share::ZERO,
        cap: None,
        spill: spills.max().map_or(0, |spill| spill.saturating_add(1)),
        order: Order::Density,
        cut: Some(Truncation::Extractive),
        summarise: false,
        least: Layer::LEAST,
        essential: true,
        arrange: Arrangement::Ranked,
        stability: Stability::Volatile,
        kind_cap: None,
        fencing: None,
        template: TemplateSpec::Named("section".to_owned()),
        collect: Vec::new(),
        score: ScoreSpec::Weights { base: 0.0, weights: vec![(Component::Collector, 1.0)] },
        recency: Recency::WORKSPACE,
        rerank: RERANK,
        minimum: None,
        floor: None,
        relative_floor: None,
        prefer_current: false,
        repeats: None,
        diversity: None,
        limit: None,
    }
}

/// `dealContext` and `deal_context` as "Deal context".
fn title_of(name: &str) -> String {
    let mut title = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        match c {
            '_' | '-' => title.push(' '),
            c if c.is_ascii_uppercase() && before.is_ascii_lowercase() => {
                title.push(' ');
                title.push(c.to_ascii_lowercase());
            }
            c if title.is_empty() => title.push(c.to_ascii_uppercase()),
            c => title.push(c),
        }
        before = c;
    }
    title
}

fn apply(reader: &mut Reader<'_>, table: &Table<'_>, known: &Known, layer: &mut LayerSpec) {
    reader.keys(table, keys::LAYER);
    if let Some(title) = reader.text(table, "title", LINE_BYTES_MAX) {
        title.clone_into(&mut layer.title);
    }
    apply_claim(reader, table, layer);
    apply_cut(reader, table, layer);
    apply_look(reader, table, known, layer);
    collector::apply(reader, table, known, layer);
    score::apply(reader, table, known, layer);
    apply_limits(reader, table, layer);
}

/// What the layer may take of the budget.
fn apply_claim(reader: &mut Reader<'_>, table: &Table<'_>, layer: &mut LayerSpec) {
    match reader.flag(table, "pinned") {
        Some(true) if !layer.pinned => {
            layer.pinned = true;
            layer.share = Share::ZERO;
            layer.cap = None;
            layer.order = Order::Rank;
            layer.cut = None;
            layer.summarise = false;
            layer.stability = Stability::Foundational;
        }
        Some(false) if layer.pinned => {
            layer.pinned = false;
            layer.order = Order::Density;
            layer.cut = Some(Truncation::Extractive);
            layer.stability = Stability::Volatile;
        }
        _ => {}
    }
    if layer.pinned {
        for key in ["share", "cap", "cut"] {
            if table.has(key) && !is_none(table, key) {
                let message = "has no meaning: the layer is pinned, so all of it is in, whole";
                reader.wrong_in(table, key, message);
            }
        }
    }
    if let Some(share) = share(reader, table, "share") {
        layer.share = share;
    }
    if is_none(table, "cap") {
        layer.cap = None;
    } else if let Some(cap) = tokens(reader, table, "cap") {
        layer.cap = Some(cap);
    }
    if let Some(spill) = reader.count(table, "spill", Bounds(0, 1_000_000)) {
        layer.spill = u32::try_from(spill).unwrap_or(u32::MAX);
    }
}

/// How what does not fit is shortened.
fn apply_cut(reader: &mut Reader<'_>, table: &Table<'_>, layer: &mut LayerSpec) {
    if let Some(order) = reader.word(table, "order", words::ORDERS) {
        layer.order = order;
    }
    if let Some(CutWord { cut, summarise }) = reader.word(table, "cut", words::CUTS) {
        layer.cut = cut;
        layer.summarise = summarise;
    }
    if let Some(least) = tokens(reader, table, "least") {
        layer.least = least;
    }
    if let Some(essential) = reader.flag(table, "essential") {
        layer.essential = essential;
    }
}

/// How the layer looks and where it stands.
fn apply_look(reader: &mut Reader<'_>, table: &Table<'_>, known: &Known, layer: &mut LayerSpec) {
    if let Some(arrange) = reader.word(table, "arrange", words::ARRANGEMENTS) {
        layer.arrange = arrange;
    }
    if let Some(prefer) = reader.flag(table, "prefer_current") {
        layer.prefer_current = prefer;
    }
    if let Some(stability) = reader.word(table, "stability", words::STABILITIES) {
        layer.stability = stability;
    }
    if is_none(table, "kind_cap") {
        layer.kind_cap = None;
    } else if let Some(table) = reader.table(table, "kind_cap", "kind_cap") {
        reader.keys(&table, keys::KIND_CAP);
        let share = share(reader, &table, "share").unwrap_or(Share::percent(70));
        let after =
            reader.count(&table, "after", Bounds(1, CANDIDATES_MAX as u64)).map_or(5, index);
        layer.kind_cap = Some(KindCap { share, after });
    }
    if is_none(table, "fence") {
        layer.fencing = None;
    } else if let Some(fencing) = reader.word(table, "fence", words::FENCES) {
        layer.fencing = Some(fencing);
    }
    template::apply(reader, table, known, layer);
}

/// What is not considered at all.
fn apply_limits(reader: &mut Reader<'_>, table: &Table<'_>, layer: &mut LayerSpec) {
    let unit = Bounds(0.0, 1.0);
    let score = Bounds(-SCORE_MAX, SCORE_MAX);
    for (key, bounds, field) in [
        ("minimum", score, &mut layer.minimum),
        ("floor", score, &mut layer.floor),
        ("relative_floor", unit, &mut layer.relative_floor),
        ("repeats", unit, &mut layer.repeats),
        ("diversity", unit, &mut layer.diversity),
    ] {
        if is_none(table, key) {
            *field = None;
        } else if let Some(number) = reader.number(table, key, bounds) {
            *field = Score::new(number);
        }
    }
    if let Some(rerank) = reader.count(table, "rerank", Bounds(1, RERANK_MAX)) {
        layer.rerank = index(rerank);
    }
    if is_none(table, "limit") {
        layer.limit = None;
    } else if let Some(limit) = reader.count(table, "limit", Bounds(1, CANDIDATES_MAX as u64)) {
        layer.limit = Some(index(limit));
    }
}

#[cfg(test)]
mod tests {
    use super::title_of;

    #[test]
    fn titles_are_made_from_names() {
        let check = |name: &str, expected: &str| assert_eq!(title_of(name), expected);
        check("dealContext", "Deal context");
        check("recent_files", "Recent files");
        check("found", "Found");
        check("FAQ", "FAQ");
    }
}
