//! Exact selection: a multiple-choice knapsack by dynamic programming, layer by layer.
//!
//! Each layer gets its share and spill, and selects the best combination of forms within that; its
//! leftover goes to the next layer in spill order. The result is then counted as a whole text.

use std::collections::{BTreeMap, BTreeSet};

use super::Selection;
use super::fit::room_units;
use super::schedule::Schedule;
use super::steps::{ScheduleStep, at_most};
use super::tally::units_of;
use crate::assemble::{Choices, LayerPage, Layout};
use crate::budget::levels;
use crate::item::Kind;
use crate::layer::{KindCap, Layer};
use crate::pack::PackRequest;
use crate::units::Tokens;

/// Maximum number of cells in a layer's table. Costs of larger problems are rounded up to coarser
/// sizes, so the result still fits and the reported gap shows the loss.
const CELLS_MAX: u64 = 32_000_000;

/// One form in which a unit can be selected.
#[derive(Debug, Clone, Copy)]
struct FormChoice {
    piece: usize,
    cost: u64,
    value: f64,
}

pub(super) fn select(
    request: &PackRequest,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
    bound: f64,
) -> Selection {
    let tokenizer = &*request.tokenizer;
    let room = room_units(tokenizer, limit) + schedule.slack();
    let room = room.saturating_sub(schedule.fixed_units());
    let granted = levels(&schedule.demands, room);
    let mut pages: Vec<&LayerPage> = layout.pages.iter().collect();
    pages.sort_by_key(|page| (request.layers[page.layer].0.spill, page.layer));
    let mut choices = layout.pinned_choices(request);
    let mut left_over = room.saturating_sub(granted.iter().sum());
    for page in pages {
        let (layer, _) = &request.layers[page.layer];
        let forms = forms(schedule, layout, page.layer);
        let frame = layout.pieces[page.header].units + layout.pieces[page.footer].units;
        let cap = layer.cap.map_or(u64::MAX, |cap| room_units(tokenizer, cap));
        let room = (granted[page.layer] + left_over).min(cap);
        let spent = solve_knapsack(&forms, room.saturating_sub(frame), &mut choices);
        let spent = if spent == 0 { 0 } else { spent + frame };
        left_over = (granted[page.layer] + left_over).saturating_sub(spent);
        enforce_kind_cap(layout, layer, &forms, &mut choices);
        enforce_cap(request, layout, page, &mut choices);
    }
    fit_and_fill(request, layout, schedule, limit, &mut choices);
    let units = units_of(tokenizer, pieces(layout, &choices));
    let value = value_of(schedule, &choices);
    Selection { choices, cut: None, units, value, bound: bound.max(value), limit, n_steps: None }
}

fn pieces<'l>(
    layout: &'l Layout<'_>,
    choices: &Choices,
) -> impl Iterator<Item = &'l super::RenderedPiece> {
    layout.sequence(choices).into_iter().map(|piece| &layout.pieces[piece])
}

/// Each unit of a layer with its forms, smallest first.
fn forms(
    schedule: &Schedule,
    layout: &Layout<'_>,
    layer: usize,
) -> BTreeMap<usize, Vec<FormChoice>> {
    let mut forms: BTreeMap<usize, Vec<FormChoice>> = BTreeMap::new();
    for ScheduleStep { unit, to, cost, gain, .. } in &schedule.uncapped {
        if layout.units[*unit].layer == layer {
            let known = forms.entry(*unit).or_default();
            let (before, worth) = known.last().map_or((0, 0.0), |form| (form.cost, form.value));
            known.push(FormChoice { piece: *to, cost: before + cost, value: worth + gain });
        }
    }
    forms
}

/// Selects the most valuable forms within `room` and returns their cost.
fn solve_knapsack(
    forms: &BTreeMap<usize, Vec<FormChoice>>,
    room: u64,
    choices: &mut Choices,
) -> u64 {
    let all: u64 = forms.values().filter_map(|forms| forms.last()).map(|form| form.cost).sum();
    let room = room.min(all);
    let grain = (room.saturating_add(1)).saturating_mul(forms.len() as u64) / CELLS_MAX + 1;
    let width = usize::try_from(room / grain).unwrap_or(0) + 1;
    let size = |form: &FormChoice| usize::try_from(form.cost.div_ceil(grain)).unwrap_or(usize::MAX);
    let mut worth = vec![0.0f64; width];
    // The form of each unit in the best choice of each size: 0 for none, else its number.
    let mut table = vec![0u8; width * forms.len()];
    for (row, forms) in forms.values().enumerate() {
        for at in (0..width).rev() {
            let mut best = (worth[at], 0u8);
            for (form, number) in forms.iter().zip(1u8..) {
                // On a tie prefer including a unit, because leftover budget has no value.
                if let Some(rest) = at.checked_sub(size(form))
                    && worth[rest] + form.value >= best.0
                {
                    best = (worth[rest] + form.value, number);
                }
            }
            (worth[at], table[row * width + at]) = best;
        }
    }
    let mut at = width - 1;
    let mut spent = 0;
    for (row, (&unit, forms)) in forms.iter().enumerate().rev() {
        let number = table[row * width + at];
        if let Some(form) = usize::from(number).checked_sub(1).map(|index| &forms[index]) {
            choices[unit] = Some(form.piece);
            spent += form.cost;
            at -= size(form);
        }
    }
    spent
}

/// Drops the least valuable units until the section, counted as a text, is within its cap.
fn enforce_cap(
    request: &PackRequest,
    layout: &Layout<'_>,
    page: &LayerPage,
    choices: &mut Choices,
) {
    let tokenizer = &*request.tokenizer;
    let Some(cap) = request.layers[page.layer].0.cap else { return };
    let mut units: Vec<usize> = page.units.clone();
    units.sort_unstable();
    while let Some(unit) = units.pop() {
        let sequence = layout.page_sequence(page, choices);
        let pieces = sequence.iter().map(|&piece| &layout.pieces[piece]);
        if tokenizer.tokens(units_of(tokenizer, pieces)) <= cap {
            break;
        }
        choices[unit] = None;
    }
}

/// Drops the least valuable units of a kind over its share while another kind is waiting.
fn enforce_kind_cap(
    layout: &Layout<'_>,
    layer: &Layer,
    forms: &BTreeMap<usize, Vec<FormChoice>>,
    choices: &mut Choices,
) {
    let Some(cap) = layer.kind_cap else { return };
    let units: Vec<usize> = forms.keys().copied().collect();
    while let Some(kind) = kind_over(layout, cap, &units, choices) {
        let weakest = units.iter().rfind(|&&unit| {
            choices[unit].is_some() && layout.units[unit].ranked.candidate.kind == kind
        });
        match weakest {
            Some(&unit) => choices[unit] = None,
            None => break,
        }
    }
}

/// A kind over its share, if another kind is waiting.
fn kind_over(
    layout: &Layout<'_>,
    cap: KindCap,
    units: &[usize],
    choices: &Choices,
) -> Option<Kind> {
    let kind_of = |unit: usize| &layout.units[unit].ranked.candidate.kind;
    let mut n_of: BTreeMap<&Kind, usize> = BTreeMap::new();
    let mut waiting: BTreeSet<&Kind> = BTreeSet::new();
    for &unit in units {
        if choices[unit].is_some() {
            *n_of.entry(kind_of(unit)).or_default() += 1;
        } else {
            waiting.insert(kind_of(unit));
        }
    }
    let n: usize = n_of.values().sum();
    if n <= cap.after {
        return None;
    }
    let may_grow = |kind: &&Kind| {
        let count = n_of.get(*kind).copied().unwrap_or(0);
        at_most(count + 1, n + 1, cap.share)
    };
    // A kind over its share may not grow, so the two kinds differ.
    waiting.iter().copied().find(may_grow)?;
    let over = |(_, count): &(&Kind, usize)| !at_most(*count, n, cap.share);
    n_of.iter().map(|(kind, count)| (*kind, *count)).find(over).map(|(kind, _)| kind.clone())
}

/// Makes the text fit by its real count, then fills the remaining budget.
fn fit_and_fill(
    request: &PackRequest,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
    choices: &mut Choices,
) {
    let tokenizer = &*request.tokenizer;
    let room = room_units(tokenizer, limit);
    let units = |choices: &Choices| units_of(tokenizer, pieces(layout, choices));
    let mut spent = units(choices);
    // Steps may be removed in a different order than they were added, so repeat until stable.
    let mut goes_on = true;
    while spent > room && goes_on {
        goes_on = false;
        for step in schedule.steps_by_density().rev() {
            if spent <= room {
                break;
            }
            if choices[step.unit] == Some(step.to) {
                choices[step.unit] = step.from;
                spent = units(choices);
                goes_on = true;
            }
        }
    }
    for step in schedule.steps_by_density() {
        let layer = &request.layers[layout.units[step.unit].layer].0;
        // Caps on size and kinds are not checked again here, so such layers are not topped up.
        let free = layer.cap.is_none() && layer.kind_cap.is_none();
        let may_fit = spent + step.cost <= room + schedule.slack();
        if free && may_fit && choices[step.unit] == step.from {
            choices[step.unit] = Some(step.to);
            let now = units(choices);
            if now <= room {
                spent = now;
            } else {
                choices[step.unit] = step.from;
            }
        }
    }
    // A layer with a kind cap is topped up as a whole: everything the cap allows, if it fits.
    for page in &layout.pages {
        let layer = &request.layers[page.layer].0;
        if layer.cap.is_none() && layer.kind_cap.is_some() {
            let mut whole = choices.clone();
            let is_here = |step: &&ScheduleStep| layout.units[step.unit].layer == page.layer;
            for step in schedule.steps.iter().filter(is_here) {
                whole[step.unit] = Some(step.to);
            }
            if units(&whole) <= room {
                *choices = whole;
            }
        }
    }
}

fn value_of(schedule: &Schedule, choices: &Choices) -> f64 {
    let mut value = 0.0;
    let mut open: BTreeMap<usize, f64> = BTreeMap::new();
    for step in &schedule.uncapped {
        let so_far = open.entry(step.unit).or_default();
        *so_far += step.gain;
        if choices[step.unit] == Some(step.to) {
            value += *so_far;
        }
    }
    value
}
