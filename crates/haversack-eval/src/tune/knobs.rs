//! The tunable numbers of a recipe: the weights of its scores, and the balance of text and vector
//! search in hybrid collectors.

use haversack_core::rank::Component;

use haversack::recipe::{Recipe, ScoreSpec, Setting};

/// Factors of a weight that is changed alone.
const FACTORS: [f64; 3] = [0.0, 0.5, 2.0];

/// Steps of the text share when it is changed alone.
const STEPS: [f64; 2] = [-0.15, 0.15];

/// The largest factor of a weight that is changed with others; the smallest is its reciprocal.
const FACTOR_MAX: f64 = 3.0;

/// A tunable number of a recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knob {
    layer: usize,
    what: KnobKind,
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum KnobKind {
    Weight(Component),
    /// The share of text search in a hybrid collector; vector search has the rest.
    Words {
        collector: usize,
    },
}

/// A number that differs in the tuned recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// The layer.
    pub layer: String,
    /// Its name, such as `recency` or `text`.
    pub name: String,
    /// Its value in the original recipe.
    pub before: f64,
    /// Its value in the tuned recipe.
    pub after: f64,
}

/// All tunable numbers of a recipe.
pub(super) fn knobs(recipe: &Recipe) -> Vec<Knob> {
    let mut knobs = Vec::new();
    for (layer, spec) in recipe.layers.iter().enumerate() {
        if let ScoreSpec::Weights { weights, .. } = &spec.score
            && weights.len() > 1
        {
            let turning = weights.iter().filter(|(_, weight)| *weight > 0.0);
            knobs.extend(turning.map(|&(component, value)| {
                let what = KnobKind::Weight(component);
                Knob { layer, what, value }
            }));
        }
        for (collector, spec) in spec.collect.iter().enumerate().filter(|(_, c)| c.by == "hybrid") {
            let (text, vector) = (spec.settings.number("text"), spec.settings.number("vector"));
            if text + vector > 0.0 {
                let what = KnobKind::Words { collector };
                knobs.push(Knob { layer, what, value: text / (text + vector) });
            }
        }
    }
    knobs
}

/// Returns a recipe with its knobs at these values.
pub(super) fn with_values(recipe: &Recipe, knobs: &[Knob], values: &[f64]) -> Recipe {
    let mut turned = recipe.clone();
    for (knob, &value) in knobs.iter().zip(values) {
        let layer = &mut turned.layers[knob.layer];
        match knob.what {
            KnobKind::Weight(component) => {
                if let ScoreSpec::Weights { weights, .. } = &mut layer.score {
                    let own = weights.iter_mut().filter(|(of, _)| *of == component);
                    own.for_each(|(_, weight)| *weight = value);
                }
            }
            KnobKind::Words { collector } => {
                let settings = &mut layer.collect[collector].settings;
                settings.set("text", Setting::Number(value));
                settings.set("vector", Setting::Number(rounded(1.0 - value)));
            }
        }
    }
    turned
}

/// The changes that these values make to a recipe.
pub(super) fn changes(recipe: &Recipe, knobs: &[Knob], values: &[f64]) -> Vec<SettingChange> {
    let change = |(knob, &after): (&Knob, &f64)| {
        let name = match knob.what {
            KnobKind::Weight(component) => component.name(),
            KnobKind::Words { .. } => "text",
        };
        let layer = recipe.layers[knob.layer].name.clone();
        let (name, before) = (name.to_owned(), rounded(knob.value));
        ((after - before).abs() > 1e-9).then_some(SettingChange { layer, name, before, after })
    };
    knobs.iter().zip(values).filter_map(change).collect()
}

/// The settings of all knobs that are tried: as they are, then each on its own, then several at
/// once. What is tried does not depend on any answer, so that answers can be held against it.
pub(super) fn settings_to_try(knobs: &[Knob], most: usize) -> Vec<Vec<f64>> {
    let as_is: Vec<f64> = knobs.iter().map(|knob| rounded(knob.value)).collect();
    let mut tries = vec![as_is.clone()];
    let mut add = |values: Vec<f64>| {
        if tries.len() < most
            && !tries.contains(&values)
            && every_layer_has_a_weight(knobs, &values)
        {
            tries.push(values);
        }
        tries.len() < most
    };
    // At most half of the tries, which leaves room for combinations.
    let alone = knobs
        .iter()
        .enumerate()
        .flat_map(|(at, knob)| knob.values_tried_alone().into_iter().map(move |value| (at, value)));
    for (at, value) in alone.take(most / 2) {
        let mut values = as_is.clone();
        values[at] = value;
        add(values);
    }
    let mut dice = SplitMix(0x4861_7665_7273_6163);
    // With few knobs there may be fewer settings than `most`.
    for _ in 0..most * 20 {
        let values =
            knobs.iter().zip(&as_is).map(|(knob, value)| knob.random_value(*value, &mut dice));
        if !add(values.collect()) {
            break;
        }
    }
    tries
}

/// Whether every layer has a weight above zero.
fn every_layer_has_a_weight(knobs: &[Knob], values: &[f64]) -> bool {
    let is_weight = |knob: &Knob| matches!(knob.what, KnobKind::Weight(_));
    let weights = knobs.iter().zip(values).filter(|(knob, _)| is_weight(knob));
    knobs.iter().filter(|knob| is_weight(knob)).all(|one| {
        let own = weights.clone().filter(|(knob, _)| knob.layer == one.layer);
        own.map(|(_, value)| *value).sum::<f64>() > 0.0
    })
}

impl Knob {
    fn values_tried_alone(&self) -> Vec<f64> {
        match self.what {
            KnobKind::Weight(_) => FACTORS.iter().map(|by| rounded(self.value * by)).collect(),
            KnobKind::Words { .. } => STEPS.iter().map(|by| share(self.value + by)).collect(),
        }
    }

    /// A random value for a combined change; half of the time the value stays.
    fn random_value(&self, as_is: f64, dice: &mut SplitMix) -> f64 {
        let (moves, how) = (dice.next(), dice.next());
        if moves < 0.5 {
            return as_is;
        }
        match self.what {
            KnobKind::Weight(_) => rounded(self.value * FACTOR_MAX.powf(2.0 * how - 1.0)),
            KnobKind::Words { .. } => share(self.value + 0.5 * how - 0.25),
        }
    }
}

fn share(value: f64) -> f64 {
    rounded(value.clamp(0.05, 0.95))
}

/// Rounds to three decimals.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// A fixed pseudo-random sequence of numbers from 0 to 1 (SplitMix64).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((mixed ^ mixed >> 31) >> 32).unwrap_or(u32::MAX);
        f64::from(high) / f64::from(u32::MAX)
    }
}
