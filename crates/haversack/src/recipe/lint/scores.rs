//! Checks for scores that are constant, never reach their minimum, or can fail.

use haversack_core::rank::Scoring;

use super::Lint;
use super::range::{Hazard, Range, expression_range};
use crate::recipe::{LayerSpec, ScoreSpec};

pub(super) fn check(lint: &mut Lint<'_>) {
    for layer in lint.recipe.layers.iter().filter(|layer| !layer.pinned) {
        check_layer(lint, layer);
    }
}

fn check_layer(lint: &mut Lint<'_>, layer: &LayerSpec) {
    let name = &layer.name;
    let path = format!("layer.{name}.score");
    let (range, hazards) = match &layer.score {
        ScoreSpec::Weights { base, weights } => (weights_range(*base, weights), Vec::new()),
        ScoreSpec::Expression(source) => expression_range(source),
        ScoreSpec::Named(_) => return,
    };
    for hazard in hazards {
        let (message, help) = match hazard {
            Hazard::Division => ("may divide by zero", "add a small number to the divisor"),
            Hazard::Root => ("may take the root of a negative number", "use max(0.0, …) inside"),
            Hazard::Logarithm => ("may take the logarithm of 0 or less", "add a number inside"),
        };
        let message = format!("layer {name}: the score {message}, and then the request fails");
        lint.warn(&path, message, help);
    }
    if range.is_point() {
        let message = format!("layer {name}: every text has a score of {}", range.low);
        let help = "then ids decide what comes first; name a component that differs";
        lint.warn(&path, message, help);
    }
    let Some(minimum) = layer.minimum.map(haversack_core::units::Score::get) else { return };
    let path = format!("layer.{name}.minimum");
    // Rounding may move a sum past its bound by the last bits.
    let slack = 1e-9 * Scoring::WEIGHT_MAX;
    if minimum > range.high + slack {
        let message = format!(
            "layer {name} is always empty: its minimum is {minimum}, and no score is above {}",
            rounded(range.high)
        );
        lint.error(&path, message, "lower the minimum or raise a weight");
    } else if minimum <= range.low {
        let message = format!("layer {name}: no score is below its minimum of {minimum}");
        lint.remark(&path, message, "it leaves nothing out");
    }
}

fn weights_range(base: f64, weights: &[(haversack_core::rank::Component, f64)]) -> Range {
    let part = |pick: fn(f64, f64) -> f64| -> f64 {
        weights.iter().map(|&(_, weight)| pick(weight, 0.0)).sum()
    };
    Range { low: base + part(f64::min), high: base + part(f64::max) }
}

fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
