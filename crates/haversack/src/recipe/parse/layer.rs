//! Parses layers: changes those of the base, adds new ones, removes others.

use haversack_core::layer::{Arrangement, Layer, Order, Stability};
use haversack_core::pack::LAYERS_MAX;
use haversack_core::rank::{Component, Recency};
use haversack_core::text::truncate::Truncation;
use haversack_core::units::Share;

use crate::recipe::keys::{self, KeyReader, identifier, read_keys};
use crate::recipe::read::{TomlReader, TomlTable, hint};
use crate::recipe::{LayerSpec, Recipe, ScoreSpec, TemplateSpec};

/// Applies the layers of a document: a layer of the base is changed, any other is added.
pub(in crate::recipe) fn apply_all(key: &mut KeyReader<'_, '_, '_>, recipe: &mut Recipe) {
    let reader = &mut *key.reader;
    let mut seen: Vec<&str> = Vec::new();
    for mut table in reader.tables(key.table, key.name, LAYERS_MAX) {
        let name = identifier(reader, &table, "name", "_-");
        if !table.has("name") {
            reader.report_key(&table, "name", "is missing; every layer has one");
        }
        if let Some(name) = name {
            if seen.contains(&name) {
                reader.report_key(
                    &table,
                    "name",
                    &format!("is {name:?}, and so is another layer's"),
                );
            }
            seen.push(name);
            table.label = format!("layer {name}");
            table.path = format!("layer.{name}");
            reader.record_place(table.path.clone(), table.at);
        }
        let at = name.and_then(|name| recipe.layers.iter().position(|layer| layer.name == name));
        let mut layer = match at {
            Some(at) => recipe.layers[at].clone(),
            None => new_layer(name.unwrap_or_default(), &recipe.layers),
        };
        read_keys(reader, &table, key.registry, keys::LAYER, &mut layer);
        match at {
            Some(at) => recipe.layers[at] = layer,
            // A layer without a name is read only to report its problems.
            None if name.is_some() => recipe.layers.push(layer),
            None => {}
        }
    }
}

/// A layer with no key set but its name.
pub(in crate::recipe) fn new_layer(name: &str, before: &[LayerSpec]) -> LayerSpec {
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
        rerank: 30,
        minimum: None,
        floor: None,
        relative_floor: None,
        prefer_current: false,
        repeats: None,
        diversity: None,
        limit: None,
    }
}

/// Makes a title from a name: `dealContext` and `deal_context` become "Deal context".
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

/// Removes layers of the base, and their entries in its adaptations.
pub(in crate::recipe) fn remove(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    recipe: &mut Recipe,
) {
    let Some(names) = reader.texts(table, "remove") else { return };
    if !table.has("extends") {
        reader.report_key(table, "remove", "takes layers of a base away, but there is no extends");
        return;
    }
    for (name, at) in names {
        if let Some(index) = recipe.layers.iter().position(|layer| layer.name == name) {
            recipe.layers.remove(index);
            for adaptation in &mut recipe.adapt {
                adaptation.shares.retain(|(layer, _)| layer != name);
                adaptation.caps.retain(|(layer, _)| layer != name);
            }
        } else {
            let names: Vec<&str> = recipe.layers.iter().map(|layer| &*layer.name).collect();
            let hint = hint(name, &names, "there are");
            reader.report(at, format!("remove names {name:?}, which the base does not have{hint}"));
        }
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
