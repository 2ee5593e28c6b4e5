//! What a layer would buy, one step after another, if only the room kept growing.
//!
//! The order knows scores, sizes and kinds, never the budget.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::assemble::Layout;
use crate::item::Kind;
use crate::layer::{KindCap, Layer, Order};
use crate::units::{Score, Share};

/// One purchase: a unit, or a larger form of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) unit: usize,
    /// The piece that stands for the unit before and after the step.
    pub(crate) from: Option<usize>,
    pub(crate) to: usize,
    /// Units it costs on its own, its separator included.
    pub(crate) cost: u64,
    /// Value it adds.
    pub(crate) gain: f64,
    /// Its index among all steps before caps; `None` for a form that a cap made.
    pub(crate) place: Option<usize>,
}

impl Step {
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub(crate) fn density(&self) -> f64 {
        self.gain / self.cost.max(1) as f64
    }
}

/// A layer's steps in order.
pub(crate) fn layer_steps(layout: &Layout<'_>, layer: &Layer, units: &[usize]) -> Vec<Step> {
    let steps = match layer.order {
        Order::Blocks => by_blocks(layout, units),
        order => by_units(layout, order, units),
    };
    match layer.kind_cap {
        Some(cap) => within_kind_cap(layout, &steps, cap),
        None => steps,
    }
}

/// Steps to whole units, or to their essential forms on the way.
fn by_units(layout: &Layout<'_>, order: Order, units: &[usize]) -> Vec<Step> {
    let mut steps: Vec<Step> =
        units.iter().flat_map(|&unit| unit_steps(layout, order, unit, units.first())).collect();
    // Stable: what is equal stays in the order of rank.
    match order {
        Order::Density => steps.sort_by(|a, b| b.density().total_cmp(&a.density())),
        // By rank only the rest of a long text waits, so that it does not stand in the way of what
        // comes after it.
        Order::Essentials | Order::Rank => steps.sort_by_key(|step| step.from.is_some()),
        Order::Blocks => {}
    }
    steps
}

/// The value of a whole unit. Bounded, so that sums stay finite whatever scores were handed in.
pub(crate) fn value(layout: &Layout<'_>, unit: usize) -> f64 {
    layout.units[unit].ranked.score.get().clamp(0.0, 1e9)
}

/// The value of a unit's essential form.
pub(crate) fn essential_value(layout: &Layout<'_>, unit: usize) -> f64 {
    let essential = layout.units[unit].ranked.candidate.essential.as_ref();
    value(layout, unit) * essential.map_or(0.0, |form| Score::unit(form.worth.get()).get())
}

/// One step to the full text; two when the essential form alone gives more for a token, or comes
/// first whatever it gives, or the text is long and not the one that matters most.
fn unit_steps(
    layout: &Layout<'_>,
    order: Order,
    index: usize,
    first_unit: Option<&usize>,
) -> Vec<Step> {
    let unit = &layout.units[index];
    let separator = layout.pieces[unit.separator].units;
    let cost = |piece: usize| layout.pieces[piece].units + separator;
    let value = value(layout, index);
    let whole = Step {
        unit: index,
        from: None,
        to: unit.full,
        cost: cost(unit.full),
        gain: value,
        place: None,
    };
    let is_long = whole.cost > MIDDLING && first_unit != Some(&index);
    let splits = match order {
        Order::Density | Order::Essentials => true,
        Order::Rank => is_long,
        Order::Blocks => false,
    };
    let Some(essential) = unit.essential.filter(|_| splits) else {
        return vec![whole];
    };
    let part = essential_value(layout, index);
    let first = Step {
        unit: index,
        from: None,
        to: essential,
        cost: cost(essential),
        gain: part,
        place: None,
    };
    let second = Step {
        unit: index,
        from: Some(essential),
        to: unit.full,
        cost: whole.cost.saturating_sub(first.cost),
        gain: value - part,
        place: None,
    };
    let first_pays = order != Order::Density || first.density() > second.density();
    if second.cost > 0 && first_pays { vec![first, second] } else { vec![whole] }
}

/// Tokens up to which a text is short, and up to which it is of middling length.
const SHORT: u64 = 400;
const MIDDLING: u64 = 1_200;

/// How much length counts against a step: a little, or only the shortest would be bought.
const LENGTH: f64 = 0.05;

/// What more of a text must be better by than the beginning of another. A short text that was begun
/// is completed first; of a long one there is always more, and two sources say more than one.
const fn growth(whole: u64) -> f64 {
    match whole {
        0..SHORT => -0.4,
        SHORT..MIDDLING => -0.3,
        _ => 0.1,
    }
}

/// Steps by which texts grow, the best blocks of all texts first. A text's own steps only get
/// worse, so sorting leaves them in their order.
fn by_blocks(layout: &Layout<'_>, units: &[usize]) -> Vec<Step> {
    let mut steps: Vec<(f64, Step)> = Vec::new();
    for &index in units {
        let unit = &layout.units[index];
        let value = value(layout, index);
        let separator = layout.pieces[unit.separator].units;
        let (mut from, mut cost, mut share, mut last) = (None, 0, 0.0, f64::INFINITY);
        let whole = (unit.full, unit.last);
        let forms = unit.forms.iter().map(|form| (form.piece, form.worth));
        for (to, worth) in forms.chain([whole]) {
            let costs = layout.pieces[to].units + separator;
            // Marks for what was left out can cost more than it.
            if to != unit.full && costs >= layout.pieces[unit.full].units + separator {
                continue;
            }
            let step = Step {
                unit: index,
                from,
                to,
                cost: costs.saturating_sub(cost),
                gain: value * (worth.share - share).max(0.0),
                place: None,
            };
            let growth = if from.is_some() { growth(layout.pieces[unit.full].units) } else { 0.0 };
            #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
            let length = libm::pow(step.cost.max(1) as f64, LENGTH);
            last = last.min((worth.merit - growth) / length);
            steps.push((last, step));
            (from, cost, share) = (Some(to), costs.max(cost), worth.share);
        }
    }
    steps.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    steps.into_iter().map(|(_, step)| step).collect()
}

/// Takes steps in their order, but passes over a kind that has its share as long as another waits
/// that has not: a share is only kept free for somebody.
fn within_kind_cap(layout: &Layout<'_>, steps: &[Step], cap: KindCap) -> Vec<Step> {
    let kind_of = |step: &Step| &layout.units[step.unit].ranked.candidate.kind;
    let mut waiting: BTreeMap<&Kind, VecDeque<usize>> = BTreeMap::new();
    let mut larger: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        if step.from.is_some() {
            larger.entry(step.unit).or_default().push_back(place);
        } else {
            waiting.entry(kind_of(step)).or_default().push_back(place);
        }
    }
    // The next place of each kind, and of larger forms whose smaller ones are taken. Few kinds can
    // have their share at once, so the first allowed place is near the front.
    let mut heads: BTreeSet<usize> =
        waiting.values().filter_map(|places| places.front().copied()).collect();
    let mut n_of: BTreeMap<&Kind, usize> = BTreeMap::new();
    let mut taken: Vec<usize> = Vec::with_capacity(steps.len());
    let mut n = 0;
    loop {
        let allowed = |&place: &usize| {
            let step = &steps[place];
            let of_kind = n_of.get(kind_of(step)).copied().unwrap_or(0);
            step.from.is_some() || n < cap.after.max(1) || at_most(of_kind + 1, n + 1, cap.share)
        };
        let next = heads.iter().copied().find(allowed).or_else(|| heads.first().copied());
        let Some(place) = next else { break };
        let step = &steps[place];
        heads.remove(&place);
        if step.from.is_none() {
            n += 1;
            *n_of.entry(kind_of(step)).or_default() += 1;
            let places = waiting.entry(kind_of(step)).or_default();
            places.pop_front();
            heads.extend(places.front());
        }
        heads.extend(larger.get_mut(&step.unit).and_then(VecDeque::pop_front));
        taken.push(place);
    }
    taken.into_iter().map(|place| steps[place].clone()).collect()
}

/// Whether a part of a whole is no more than a share of it, by number.
pub(super) fn at_most(part: usize, whole: usize, share: Share) -> bool {
    part as u64 * 1_000_000 <= whole as u64 * u64::from(share.millionths())
}
