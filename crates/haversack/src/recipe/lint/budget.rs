//! Checks the budget: reserves, the largest size of pinned text, and shares.

use haversack_core::assemble::Fencing;
use haversack_core::pack::Overflow;
use haversack_core::select::Selector;
use haversack_core::text::model;
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::{Share, Tokens};

use super::Lint;
use crate::recipe::read::grouped;
use crate::recipe::{CountingSpec, LayerSpec};

/// The overhead of fences: a sentence before all sections, and two marks around each text.
const PREAMBLE_TOKENS: Tokens = Tokens::new(40);
const FENCE_TOKENS: Tokens = Tokens::new(25);

pub(super) fn check(lint: &mut Lint<'_>) {
    check_totals(lint);
    check_model(lint);
    check_shares(lint);
    check_stop(lint);
}

/// Checks that reserves and pinned layers leave part of each total that the recipe names.
fn check_totals(lint: &mut Lint<'_>) {
    let recipe = lint.recipe;
    let reserved: Tokens = recipe.budget.reserves.iter().map(|&(_, tokens)| tokens).sum();
    let (worst, unbounded) = pinned_tokens_max(lint);
    let adapted = recipe.adapt.iter().enumerate().filter_map(|(index, adaptation)| {
        Some((format!("adapt.{index}.total"), adaptation.total?))
    });
    let own = ("budget.total".to_owned(), recipe.budget.total);
    for (path, total) in std::iter::once(own).chain(adapted) {
        if reserved == total {
            let message = format!("reserves take all of the {} tokens", format_tokens(total));
            lint.error(&path, message, "raise the total or lower a reserve");
        } else if worst > Tokens::ZERO && reserved + worst >= total {
            let message = format!(
                "pinned layers may take {} tokens and reserves take {}: nothing is left of {}",
                format_tokens(worst),
                format_tokens(reserved),
                format_tokens(total)
            );
            let help = match recipe.budget.overflow {
                Overflow::Refuse => "such a request would be refused; raise the total",
                Overflow::Exceed => "such a pack would hold what is pinned alone; raise the total",
            };
            lint.warn(&path, message, help);
        }
    }
    for name in unbounded {
        let message = format!("layer {name} is pinned, and nothing bounds how much it finds");
        let help = "pin only what is known to be small, or give the layer a share instead";
        lint.remark(&format!("layer.{name}.pinned"), message, help);
    }
}

/// The most tokens of the pinned layers whose size is bounded, and the names of the others.
fn pinned_tokens_max(lint: &Lint<'_>) -> (Tokens, Vec<String>) {
    let recipe = lint.recipe;
    let tokenizer = lint.tokenizer();
    let has_marks = !matches!(recipe.fencing, Fencing::Off | Fencing::Lines);
    let mut worst = Tokens::ZERO;
    let mut unbounded = Vec::new();
    for layer in recipe.layers.iter().filter(|layer| layer.pinned) {
        match singleton_sizes(lint, layer) {
            Some(sizes) => {
                let fence = if has_marks { FENCE_TOKENS } else { Tokens::ZERO };
                worst += sizes.iter().map(|&size| size + fence).sum::<Tokens>();
                worst += overhead_tokens(lint, layer, &*tokenizer);
            }
            None => unbounded.push(layer.name.clone()),
        }
    }
    if worst > Tokens::ZERO {
        worst += tokenizer.count(&recipe.frame.before) + tokenizer.count(&recipe.frame.after);
        if has_marks {
            worst += PREAMBLE_TOKENS;
        }
    }
    (worst, unbounded)
}

/// The largest sizes of a layer's texts when all are singletons of bounded size.
fn singleton_sizes(lint: &Lint<'_>, layer: &LayerSpec) -> Option<Vec<Tokens>> {
    let mut sizes = Vec::new();
    for collector in &layer.collect {
        if collector.by != "singleton" {
            return None;
        }
        for kind in &collector.kinds {
            sizes.push(lint.kinds.find(kind).and_then(|spec| spec.tokens_max)?);
        }
    }
    Some(sizes)
}

/// The tokens of a layer's header and footer.
pub(super) fn overhead_tokens(
    lint: &Lint<'_>,
    layer: &LayerSpec,
    tokenizer: &dyn Tokenizer,
) -> Tokens {
    let Some(template) = lint.template(layer) else { return Tokens::ZERO };
    let (before, after) = template.render_header_and_footer(&layer.title, "");
    tokenizer.count(&before) + tokenizer.count(&after)
}

fn check_model(lint: &mut Lint<'_>) {
    let CountingSpec::Model(name) = &lint.recipe.counting else { return };
    let Ok(model) = model::find(name) else { return };
    let (total, room) = (lint.recipe.budget.total, model.context_max());
    if total > room {
        let message = format!(
            "{name} has room for {} of the {} tokens",
            format_tokens(room),
            format_tokens(total)
        );
        lint.warn("budget.total", message, "budgets are lowered to what the model has room for");
    }
}

fn check_shares(lint: &mut Lint<'_>) {
    let recipe = lint.recipe;
    let mut layers: Vec<&LayerSpec> = recipe.layers.iter().filter(|layer| !layer.pinned).collect();
    let sum: u32 = layers.iter().map(|layer| layer.share.millionths()).sum();
    // The sort is stable, so ties keep the order of the file.
    layers.sort_by_key(|layer| layer.spill);
    let [first, rest @ ..] = layers.as_slice() else { return };
    if sum == 0 && !rest.is_empty() {
        let message = format!(
            "no layer has a share: layer {} takes what it wants before any other gets a token",
            first.name
        );
        lint.remark("layer", message, "give layers shares to guarantee them a part");
    } else if sum > 0 && sum < Share::ALL.millionths() {
        let left = f64::from(Share::ALL.millionths() - sum) / 1e6;
        let message = format!(
            "shares add up to {}; the remaining {left} goes to layer {} first, by spill",
            f64::from(sum) / 1e6,
            first.name
        );
        lint.remark("layer", message, "");
    }
    for pair in layers.windows(2) {
        if pair[0].spill == pair[1].spill {
            let message = format!(
                "layers {} and {} have the same spill of {}: leftovers go to the one that comes \
                 first in the file",
                pair[0].name, pair[1].name, pair[0].spill
            );
            lint.remark(&format!("layer.{}.spill", pair[1].name), message, "");
        }
    }
}

fn check_stop(lint: &mut Lint<'_>) {
    let Some(stop) = lint.recipe.stop else { return };
    if lint.recipe.selector == Selector::Exact {
        let message = "stop has no effect: the exact selector has no order that it could end";
        lint.warn("output.stop", message, "use selector = \"greedy\" or take the stop away");
    } else if stop.fill == Share::ZERO {
        let message = "stop has no effect: a fill of 0 would let nothing in, so it is no stop";
        lint.warn("output.stop", message, "say which part of the budget is enough");
    }
}

pub(super) fn format_tokens(tokens: Tokens) -> String {
    grouped(tokens.get().into())
}
