//! What must hold between the parts of a recipe.

use haversack_core::pack::LAYERS_MAX;
use haversack_core::units::{Share, Tokens};

use crate::collect::table;
use crate::recipe::read::{Reader, Table, grouped, hint};
use crate::recipe::{ADAPTATIONS_MAX, Adaptation, LayerSpec, QueryPart, Recipe};

pub(super) fn check(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &Recipe) {
    check_budget(reader, document, recipe);
    check_layers(reader, document, recipe);
    check_subjects(reader, document, recipe);
    let own = reader.tables(document, "adapt", ADAPTATIONS_MAX);
    for (index, adaptation) in recipe.adapt.iter().enumerate() {
        // Without adaptations of its own, a document answers for how its layers go with the base's.
        let (table, whose) = match own.get(index) {
            Some(table) => (table, format!("adapt {}", index + 1)),
            None => (document, format!("adapt {} of the base", index + 1)),
        };
        check_adaptation(reader, table, recipe, &whose, adaptation);
    }
}

fn check_budget(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &Recipe) {
    let reserved = reserved(recipe);
    if reserved > recipe.budget.total {
        let at = document.place("budget");
        reader.wrong(at, over_reserved("budget", reserved, recipe.budget.total));
    }
}

fn reserved(recipe: &Recipe) -> Tokens {
    recipe.budget.reserves.iter().map(|&(_, tokens)| tokens).sum()
}

fn over_reserved(what: &str, reserved: Tokens, total: Tokens) -> String {
    let (reserved, total) = (grouped(reserved.get().into()), grouped(total.get().into()));
    format!("{what}: reserves of {reserved} tokens do not fit a total of {total}")
}

fn check_layers(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &Recipe) {
    if recipe.layers.is_empty() && !document.has("layer") {
        reader.wrong(document.at, "there is no layer; a recipe has at least one [[layer]]");
    }
    if recipe.layers.len() > LAYERS_MAX {
        let count = recipe.layers.len();
        let message =
            format!("{count} layers with the base's are more than the limit of {LAYERS_MAX}");
        reader.wrong(document.place("layer"), message);
    }
    let sum = sum(&recipe.layers, |layer| layer.share);
    if sum > u64::from(Share::ALL.millionths()) {
        reader.wrong(document.place("layer"), over_all("the layers'", sum));
    }
}

/// What a recipe is told to collect of, or to embed, must be there to be about.
fn check_subjects(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &Recipe) {
    let names: Vec<&str> = recipe.subjects.iter().map(|subject| &*subject.name).collect();
    if recipe.subjects.is_empty() && recipe.embed.contains(&QueryPart::Subject) {
        let message = "query: embed names the subject, and there is none; add a [[subject]]";
        reader.wrong(document.place("query"), message);
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
            reader.wrong_at(&path, document.place("layer"), message);
        }
    }
}

fn works_without_subject(by: &str) -> bool {
    table::find(by).is_some_and(|collector| collector.works_without_subject)
}

fn sum(layers: &[LayerSpec], share: impl Fn(&LayerSpec) -> Share) -> u64 {
    layers.iter().map(|layer| u64::from(share(layer).millionths())).sum()
}

/// Shares in millionths as people write them: 1.05.
fn shown_share(millionths: u64) -> String {
    let shown = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn over_all(whose: &str, sum: u64) -> String {
    let over = shown_share(sum - u64::from(Share::ALL.millionths()));
    format!("{whose} shares add up to {}, which is {over} more than 1", shown_share(sum))
}

fn check_adaptation(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
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
        reader.wrong(table.place(key), format!("{whose} {key}: {wrong}"));
    }
    let share_then = |layer: &LayerSpec| {
        let said = adaptation.shares.iter().find(|(name, _)| *name == layer.name);
        said.map_or(layer.share, |&(_, share)| share)
    };
    let sum = sum(&recipe.layers, share_then);
    if sum > u64::from(Share::ALL.millionths()) && !adaptation.shares.is_empty() {
        let message = over_all(&format!("with {whose} the layers'"), sum);
        reader.wrong(table.place("shares"), message);
    }
    if let Some(total) = adaptation.total
        && reserved(recipe) > total
    {
        reader.wrong(table.place("total"), over_reserved(whose, reserved(recipe), total));
    }
}
