//! What can be turned in a recipe: the weights of its scores, and how much words count beside
//! meaning where both search.

use haversack_core::rank::Component;

use crate::recipe::{Recipe, ScoreSpec, Setting};

/// Times a weight that is tried on its own.
const FACTORS: [f64; 3] = [0.0, 0.5, 2.0];

/// How far the share of words is moved when it is tried on its own.
const STEPS: [f64; 2] = [-0.15, 0.15];

/// The largest factor of a weight among others that change, and the least is one through it.
const FACTOR_MAX: f64 = 3.0;

/// A number of a recipe that can be another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knob {
    layer: usize,
    what: What,
    value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Weight(Component),
    /// The share of words in a collector that searches both ways; meaning has the rest.
    Words {
        collector: usize,
    },
}

/// A number that a tuned recipe has another value for.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Of which layer.
    pub layer: String,
    /// What it is, such as `recency` or `text`.
    pub name: String,
    /// Its value in the recipe that was tuned.
    pub before: f64,
    /// Its value now.
    pub after: f64,
}

/// Every number of a recipe that can be turned.
pub(super) fn knobs(recipe: &Recipe) -> Vec<Knob> {
    let mut knobs = Vec::new();
    for (layer, spec) in recipe.layers.iter().enumerate() {
        if let ScoreSpec::Weights { weights, .. } = &spec.score
            && weights.len() > 1
        {
            let turning = weights.iter().filter(|(_, weight)| *weight > 0.0);
            knobs.extend(turning.map(|&(component, value)| {
                let what = What::Weight(component);
                Knob { layer, what, value }
            }));
        }
        for (collector, spec) in spec.collect.iter().enumerate().filter(|(_, c)| c.by == "hybrid") {
            let (text, vector) = (spec.settings.number("text"), spec.settings.number("vector"));
            if text + vector > 0.0 {
                let what = What::Words { collector };
                knobs.push(Knob { layer, what, value: text / (text + vector) });
            }
        }
    }
    knobs
}

/// A recipe with its knobs at these values.
pub(super) fn turned(recipe: &Recipe, knobs: &[Knob], values: &[f64]) -> Recipe {
    let mut turned = recipe.clone();
    for (knob, &value) in knobs.iter().zip(values) {
        let layer = &mut turned.layers[knob.layer];
        match knob.what {
            What::Weight(component) => {
                if let ScoreSpec::Weights { weights, .. } = &mut layer.score {
                    let own = weights.iter_mut().filter(|(of, _)| *of == component);
                    own.for_each(|(_, weight)| *weight = value);
                }
            }
            What::Words { collector } => {
                let settings = &mut layer.collect[collector].settings;
                settings.set("text", Setting::Number(value));
                settings.set("vector", Setting::Number(rounded(1.0 - value)));
            }
        }
    }
    turned
}

/// What differs between the values of knobs.
pub(super) fn changes(recipe: &Recipe, knobs: &[Knob], values: &[f64]) -> Vec<Change> {
    let change = |(knob, &after): (&Knob, &f64)| {
        let name = match knob.what {
            What::Weight(component) => component.name(),
            What::Words { .. } => "text",
        };
        let layer = recipe.layers[knob.layer].name.clone();
        let (name, before) = (name.to_owned(), rounded(knob.value));
        ((after - before).abs() > 1e-9).then_some(Change { layer, name, before, after })
    };
    knobs.iter().zip(values).filter_map(change).collect()
}

/// The settings of all knobs that are tried: as they are, then each on its own, then several at
/// once. What is tried does not depend on any answer, so that answers can be held against it.
pub(super) fn tries(knobs: &[Knob], most: usize) -> Vec<Vec<f64>> {
    let as_is: Vec<f64> = knobs.iter().map(|knob| rounded(knob.value)).collect();
    let mut tries = vec![as_is.clone()];
    let mut add = |values: Vec<f64>| {
        if tries.len() < most && !tries.contains(&values) && any_left(knobs, &values) {
            tries.push(values);
        }
        tries.len() < most
    };
    // Half of all at most, so that there is room for what only several together bring.
    let alone = knobs
        .iter()
        .enumerate()
        .flat_map(|(at, knob)| knob.alone().into_iter().map(move |value| (at, value)));
    for (at, value) in alone.take(most / 2) {
        let mut values = as_is.clone();
        values[at] = value;
        add(values);
    }
    let mut dice = Dice(0x4861_7665_7273_6163);
    // Few knobs have few settings; then there is an end before the most are tried.
    for _ in 0..most * 20 {
        let values = knobs.iter().zip(&as_is).map(|(knob, value)| knob.among(*value, &mut dice));
        if !add(values.collect()) {
            break;
        }
    }
    tries
}

/// Whether every layer still has something to score by.
fn any_left(knobs: &[Knob], values: &[f64]) -> bool {
    let is_weight = |knob: &Knob| matches!(knob.what, What::Weight(_));
    let weights = knobs.iter().zip(values).filter(|(knob, _)| is_weight(knob));
    knobs.iter().filter(|knob| is_weight(knob)).all(|one| {
        let own = weights.clone().filter(|(knob, _)| knob.layer == one.layer);
        own.map(|(_, value)| *value).sum::<f64>() > 0.0
    })
}

impl Knob {
    fn alone(&self) -> Vec<f64> {
        match self.what {
            What::Weight(_) => FACTORS.iter().map(|by| rounded(self.value * by)).collect(),
            What::Words { .. } => STEPS.iter().map(|by| share(self.value + by)).collect(),
        }
    }

    /// A value where others change, too: half of the time this one stays.
    fn among(&self, as_is: f64, dice: &mut Dice) -> f64 {
        let (moves, how) = (dice.next(), dice.next());
        if moves < 0.5 {
            return as_is;
        }
        match self.what {
            What::Weight(_) => rounded(self.value * FACTOR_MAX.powf(2.0 * how - 1.0)),
            What::Words { .. } => share(self.value + 0.5 * how - 0.25),
        }
    }
}

fn share(value: f64) -> f64 {
    rounded(value.clamp(0.05, 0.95))
}

/// To three places: more would say more than was measured.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// A fixed sequence of numbers from 0 to 1, the same for everyone.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((mixed ^ mixed >> 31) >> 32).unwrap_or(u32::MAX);
        f64::from(high) / f64::from(u32::MAX)
    }
}
