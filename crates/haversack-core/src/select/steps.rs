//! The order of a layer's selection steps. It depends on scores, sizes and kinds, not on the
//! budget.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::assemble::Layout;
use crate::item::Kind;
use crate::layer::{KindCap, Layer, Order};
use crate::units::{Score, Share};

/// One selection step: a unit, or a larger form of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScheduleStep {
    pub(crate) unit: usize,
    /// The unit's piece before and after the step.
    pub(crate) from: Option<usize>,
    pub(crate) to: usize,
    /// Its cost in token units, separator included.
    pub(crate) cost: u64,
    /// Value it adds.
    pub(crate) gain: f64,
    /// Its index among all steps before caps; `None` for a form that a cap made.
    pub(crate) place: Option<usize>,
}

impl ScheduleStep {
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub(crate) fn density(&self) -> f64 {
        self.gain / self.cost.max(1) as f64
    }
}

/// A layer's steps in order.
pub(crate) fn layer_steps(
    layout: &Layout<'_>,
    layer: &Layer,
    units: &[usize],
) -> Vec<ScheduleStep> {
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
fn by_units(layout: &Layout<'_>, order: Order, units: &[usize]) -> Vec<ScheduleStep> {
    let mut steps: Vec<ScheduleStep> =
        units.iter().flat_map(|&unit| unit_steps(layout, order, unit, units.first())).collect();
    // The sort is stable, so ties stay in rank order.
    match order {
        Order::Density => steps.sort_by(|a, b| b.density().total_cmp(&a.density())),
        // By rank, only the rest of a long text waits, so that it does not block later units.
        Order::Essentials | Order::Rank => steps.sort_by_key(|step| step.from.is_some()),
        Order::Blocks => {}
    }
    steps
}

/// The value of a whole unit, clamped so that sums stay finite.
pub(crate) fn value(layout: &Layout<'_>, unit: usize) -> f64 {
    layout.units[unit].ranked.score.get().clamp(0.0, 1e9)
}

/// The value of a unit's essential form.
pub(crate) fn essential_value(layout: &Layout<'_>, unit: usize) -> f64 {
    let essential = layout.units[unit].ranked.candidate.essential.as_ref();
    value(layout, unit) * essential.map_or(0.0, |form| Score::unit(form.worth.get()).get())
}

/// One step to the full text, or two via the essential form: when that has the higher density,
/// comes first anyway, or the text is long and not ranked first.
fn unit_steps(
    layout: &Layout<'_>,
    order: Order,
    index: usize,
    first_unit: Option<&usize>,
) -> Vec<ScheduleStep> {
    let unit = &layout.units[index];
    let separator = layout.pieces[unit.separator].units;
    let cost = |piece: usize| layout.pieces[piece].units + separator;
    let value = value(layout, index);
    let whole = ScheduleStep {
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
    let first = ScheduleStep {
        unit: index,
        from: None,
        to: essential,
        cost: cost(essential),
        gain: part,
        place: None,
    };
    let second = ScheduleStep {
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

/// The length penalty of a step; kept small, or only the shortest would be selected.
const LENGTH: f64 = 0.05;

/// The factor on continuing a text rather than starting another. A short text is completed first; a
/// long one competes with new sources.
const fn growth(whole: u64) -> f64 {
    match whole {
        0..SHORT => -0.4,
        SHORT..MIDDLING => -0.3,
        _ => 0.1,
    }
}

/// Growth steps of all texts, best blocks first. Step values of one text never increase, so sorting
/// keeps its steps in order.
fn by_blocks(layout: &Layout<'_>, units: &[usize]) -> Vec<ScheduleStep> {
    let mut steps: Vec<(f64, ScheduleStep)> = Vec::new();
    for &index in units {
        let unit = &layout.units[index];
        let value = value(layout, index);
        let separator = layout.pieces[unit.separator].units;
        let (mut from, mut cost, mut share, mut last) = (None, 0, 0.0, f64::INFINITY);
        let whole = (unit.full, unit.last);
        let forms = unit.forms.iter().map(|form| (form.piece, form.worth));
        for (to, worth) in forms.chain([whole]) {
            let costs = layout.pieces[to].units + separator;
            // Omission marks can cost more than the omitted text.
            if to != unit.full && costs >= layout.pieces[unit.full].units + separator {
                continue;
            }
            let step = ScheduleStep {
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

/// Takes steps in order, but skips a kind at its cap while a kind below its cap is waiting.
fn within_kind_cap(layout: &Layout<'_>, steps: &[ScheduleStep], cap: KindCap) -> Vec<ScheduleStep> {
    let kind_of = |step: &ScheduleStep| &layout.units[step.unit].ranked.candidate.kind;
    let mut waiting: BTreeMap<&Kind, VecDeque<usize>> = BTreeMap::new();
    let mut larger: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        if step.from.is_some() {
            larger.entry(step.unit).or_default().push_back(place);
        } else {
            waiting.entry(kind_of(step)).or_default().push_back(place);
        }
    }
    // The next step of each kind, and of larger forms whose smaller ones are taken. Few kinds can
    // be at their cap at once, so the first allowed step is near the front.
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

/// Whether `part` is at most `share` of `whole`.
pub(super) fn at_most(part: usize, whole: usize, share: Share) -> bool {
    part as u64 * 1_000_000 <= whole as u64 * u64::from(share.millionths())
}
