//! Checks the consistency of a whole recipe: budget and reserves, shares, subjects, adaptations.

use haversack_core::pack::LAYERS_MAX;
use haversack_core::units::{Share, Tokens};

use crate::collect::table;
use crate::recipe::read::{TomlReader, TomlTable, grouped, hint};
use crate::recipe::{ADAPTATIONS_MAX, Adaptation, LayerSpec, QueryPart, Recipe};

pub(super) fn check(reader: &mut TomlReader<'_>, document: &TomlTable<'_>, recipe: &Recipe) {
    check_budget(reader, document, recipe);
    check_layers(reader, document, recipe);
    check_subjects(reader, document, recipe);
    let own_adaptations = reader.tables(document, "adapt", ADAPTATIONS_MAX);
    for (index, adaptation) in recipe.adapt.iter().enumerate() {
        // A document without adaptations must still be consistent with those of its base.
        let (table, whose) = match own_adaptations.get(index) {
            Some(table) => (table, format!("adapt {}", index + 1)),
            None => (document, format!("adapt {} of the base", index + 1)),
        };
        check_adaptation(reader, table, recipe, &whose, adaptation);
    }
}

fn check_budget(reader: &mut TomlReader<'_>, document: &TomlTable<'_>, recipe: &Recipe) {
    let reserved = reserved_tokens(recipe);
    if reserved > recipe.budget.total {
        let at = document.place("budget");
        reader.report(at, reserves_over_total("budget", reserved, recipe.budget.total));
    }
}

fn reserved_tokens(recipe: &Recipe) -> Tokens {
    recipe.budget.reserves.iter().map(|&(_, tokens)| tokens).sum()
}

fn reserves_over_total(what: &str, reserved: Tokens, total: Tokens) -> String {
    let (reserved, total) = (grouped(reserved.get().into()), grouped(total.get().into()));
    format!("{what}: reserves of {reserved} tokens do not fit a total of {total}")
}

fn check_layers(reader: &mut TomlReader<'_>, document: &TomlTable<'_>, recipe: &Recipe) {
    if recipe.layers.is_empty() && !document.has("layer") {
        reader.report(document.at, "there is no layer; a recipe has at least one [[layer]]");
    }
    if recipe.layers.len() > LAYERS_MAX {
        let count = recipe.layers.len();
        let message =
            format!("{count} layers with the base's are more than the limit of {LAYERS_MAX}");
        reader.report(document.place("layer"), message);
    }
    let sum = sum_shares(&recipe.layers, |layer| layer.share);
    if sum > u64::from(Share::ALL.millionths()) {
        reader.report(document.place("layer"), shares_over_one("the layers'", sum));
    }
}

/// Checks that the subjects that collectors follow or that are embedded exist.
fn check_subjects(reader: &mut TomlReader<'_>, document: &TomlTable<'_>, recipe: &Recipe) {
    let names: Vec<&str> = recipe.subjects.iter().map(|subject| &*subject.name).collect();
    if recipe.subjects.is_empty() && recipe.embed.contains(&QueryPart::Subject) {
        let message = "query: embed names the subject, and there is none; add a [[subject]]";
        reader.report(document.place("query"), message);
    }
    for layer in &recipe.layers {
        for (index, collector) in layer.collect.iter().enumerate() {
            let Some(of) = collector.subject() else { continue };
            let wrong = match (of, recipe.subject(of)) {
                ("focus" | "workspace", _) | (_, Some(_)) => continue,
                ("", None) if works_without_subject(&collector.by) => continue,
                ("", None) => "of is missing, and there is no [[subject]]".to_owned(),
                (of, None) => {
                    let hint = hint(of, &names, "subjects are");
                    format!("of is {of:?}, which is no subject{hint}")
                }
            };
            let (name, by, number) = (&layer.name, &collector.by, index + 1);
            let path = format!("layer.{name}.collect.{index}.of");
            let message = format!("layer {name} collect {number} ({by}): {wrong}");
            reader.report_at_path(&path, document.place("layer"), message);
        }
    }
}

fn works_without_subject(by: &str) -> bool {
    table::find(by).is_some_and(|collector| collector.works_without_subject)
}

fn sum_shares(layers: &[LayerSpec], share: impl Fn(&LayerSpec) -> Share) -> u64 {
    layers.iter().map(|layer| u64::from(share(layer).millionths())).sum()
}

/// Formats a share in millionths as a decimal such as 1.05.
fn shown_share(millionths: u64) -> String {
    let shown = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shares_over_one(whose: &str, sum: u64) -> String {
    let over = shown_share(sum - u64::from(Share::ALL.millionths()));
    format!("{whose} shares add up to {}, which is {over} more than 1", shown_share(sum))
}

fn check_adaptation(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    recipe: &Recipe,
    whose: &str,
    adaptation: &Adaptation,
) {
    let names: Vec<&str> = recipe.layers.iter().map(|layer| &*layer.name).collect();
    let shares = adaptation.shares.iter().map(|(name, _)| ("shares", name));
    let caps = adaptation.caps.iter().map(|(name, _)| ("caps", name));
    for (key, name) in shares.chain(caps) {
        let wrong = match recipe.layer(name) {
            Some(layer) if layer.pinned => {
                format!("layer {name} is pinned and has none of its own")
            }
            Some(_) => continue,
            None => format!("there is no layer {name}{}", hint(name, &names, "there are")),
        };
        reader.report(table.place(key), format!("{whose} {key}: {wrong}"));
    }
    let share_then = |layer: &LayerSpec| {
        let adapted = adaptation.shares.iter().find(|(name, _)| *name == layer.name);
        adapted.map_or(layer.share, |&(_, share)| share)
    };
    let sum = sum_shares(&recipe.layers, share_then);
    if sum > u64::from(Share::ALL.millionths()) && !adaptation.shares.is_empty() {
        let message = shares_over_one(&format!("with {whose} the layers'"), sum);
        reader.report(table.place("shares"), message);
    }
    if let Some(total) = adaptation.total
        && reserved_tokens(recipe) > total
    {
        reader.report(
            table.place("total"),
            reserves_over_total(whose, reserved_tokens(recipe), total),
        );
    }
}
