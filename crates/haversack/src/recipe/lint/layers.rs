//! Checks for layers that are always empty, and their templates.

use haversack_core::assemble::Variable;
use haversack_core::units::Tokens;

use super::Lint;
use super::budget::{format_tokens, overhead_tokens};
use crate::recipe::{LayerSpec, Shape};

pub(super) fn check(lint: &mut Lint<'_>) {
    for layer in &lint.recipe.layers {
        if layer.collect.is_empty() {
            let message = format!("layer {} is always empty: nobody collects for it", layer.name);
            let help = "add a collector, as in collect = [{ by = \"hybrid\" }]";
            lint.error(&format!("layer.{}", layer.name), message, help);
        }
        check_cap(lint, layer);
        check_citation(lint, layer);
    }
}

fn check_cap(lint: &mut Lint<'_>, layer: &LayerSpec) {
    let path = format!("layer.{}.cap", layer.name);
    let name = &layer.name;
    let then = lint.recipe.adapt.iter().flat_map(|adaptation| &adaptation.caps);
    let larger = then.filter(|(of, _)| of == name).map(|&(_, cap)| cap).max();
    let Some(cap) = layer.cap else { return };
    let most = larger.map_or(cap, |larger| larger.max(cap));
    if most == Tokens::ZERO {
        let message = format!("layer {name} is always empty: its cap is 0");
        lint.error(&path, message, "raise the cap, or take the layer away");
        return;
    }
    let frame = overhead_tokens(lint, layer, &*lint.tokenizer());
    if most <= frame {
        let message = format!(
            "layer {name} is always empty: its cap is {}, and its header and footer take {}",
            format_tokens(most),
            format_tokens(frame)
        );
        lint.error(&path, message, "raise the cap, or shorten the template");
    } else if cap < layer.least && layer.cut.is_some() {
        let message = format!(
            "layer {name} cuts nothing: its cap is {}, less than the least worth showing ({})",
            format_tokens(cap),
            format_tokens(layer.least)
        );
        lint.warn(&path, message, "raise cap or lower least");
    }
}

fn check_citation(lint: &mut Lint<'_>, layer: &LayerSpec) {
    let Some(template) = lint.template(layer) else { return };
    if lint.recipe.shape == Shape::Prime && !template.shows(Variable::Citation) {
        let message = format!(
            "layer {} shows no {{{{citation}}}}: a response cannot cite its texts (K7)",
            layer.name
        );
        let help = "add {{citation}} to the template's item";
        lint.warn(&format!("layer.{}.template", layer.name), message, help);
    }
}
