//! The best subset: a multiple-choice knapsack by dynamic programming, layer by layer.
//!
//! Each layer gets what its share and the spill give it, and finds the best choice of forms within
//! that; what it leaves goes to the next in spill order. The outcome is then counted as a text,
//! like any other.

use std::collections::{BTreeMap, BTreeSet};

use super::Selection;
use super::fit::room_units;
use super::schedule::Schedule;
use super::steps::{Step, at_most};
use super::tally::units_of;
use crate::assemble::{Choices, Layout, Page};
use crate::budget::levels;
use crate::item::Kind;
use crate::layer::{KindCap, Layer};
use crate::pack::Request;
use crate::units::Tokens;

/// Most cells of one layer's table. A larger problem is rounded to coarser sizes, always up, so
/// that the outcome still fits and the reported gap shows what it cost.
const CELLS_MAX: u64 = 32_000_000;

/// One way to have a unit.
#[derive(Debug, Clone, Copy)]
struct Form {
    piece: usize,
    cost: u64,
    value: f64,
}

pub(super) fn select(
    request: &Request,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
    bound: f64,
) -> Selection {
    let tokenizer = &*request.tokenizer;
    let room = room_units(tokenizer, limit) + schedule.slack();
    let room = room.saturating_sub(schedule.fixed_units());
    let granted = levels(&schedule.demands, room);
    let mut pages: Vec<&Page> = layout.pages.iter().collect();
    pages.sort_by_key(|page| (request.layers[page.layer].0.spill, page.layer));
    let mut choices = layout.pinned(request);
    let mut left_over = room.saturating_sub(granted.iter().sum());
    for page in pages {
        let (layer, _) = &request.layers[page.layer];
        let forms = forms(schedule, layout, page.layer);
        let frame = layout.pieces[page.header].units + layout.pieces[page.footer].units;
        let cap = layer.cap.map_or(u64::MAX, |cap| room_units(tokenizer, cap));
        let room = (granted[page.layer] + left_over).min(cap);
        let spent = best(&forms, room.saturating_sub(frame), &mut choices);
        let spent = if spent == 0 { 0 } else { spent + frame };
        left_over = (granted[page.layer] + left_over).saturating_sub(spent);
        keep_kind_cap(layout, layer, &forms, &mut choices);
        keep_cap(request, layout, page, &mut choices);
    }
    settle(request, layout, schedule, limit, &mut choices);
    let units = units_of(tokenizer, pieces(layout, &choices));
    let value = value_of(schedule, &choices);
    Selection { choices, cut: None, units, value, bound: bound.max(value), limit, n_steps: None }
}

fn pieces<'l>(layout: &'l Layout<'_>, choices: &Choices) -> impl Iterator<Item = &'l super::Piece> {
    layout.sequence(choices).into_iter().map(|piece| &layout.pieces[piece])
}

/// Each unit of a layer with its forms, smallest first.
fn forms(schedule: &Schedule, layout: &Layout<'_>, layer: usize) -> BTreeMap<usize, Vec<Form>> {
    let mut forms: BTreeMap<usize, Vec<Form>> = BTreeMap::new();
    for Step { unit, to, cost, gain, .. } in &schedule.uncapped {
        if layout.units[*unit].layer == layer {
            let known = forms.entry(*unit).or_default();
            let (before, worth) = known.last().map_or((0, 0.0), |form| (form.cost, form.value));
            known.push(Form { piece: *to, cost: before + cost, value: worth + gain });
        }
    }
    forms
}

/// Chooses the most valuable forms within `room`; gives back what they cost.
fn best(forms: &BTreeMap<usize, Vec<Form>>, room: u64, choices: &mut Choices) -> u64 {
    let all: u64 = forms.values().filter_map(|forms| forms.last()).map(|form| form.cost).sum();
    let room = room.min(all);
    let grain = (room.saturating_add(1)).saturating_mul(forms.len() as u64) / CELLS_MAX + 1;
    let width = usize::try_from(room / grain).unwrap_or(0) + 1;
    let size = |form: &Form| usize::try_from(form.cost.div_ceil(grain)).unwrap_or(usize::MAX);
    let mut worth = vec![0.0f64; width];
    // Which form of each unit the best choice of each size has: 0 for none, else its number.
    let mut table = vec![0u8; width * forms.len()];
    for (row, forms) in forms.values().enumerate() {
        for at in (0..width).rev() {
            let mut best = (worth[at], 0u8);
            for (form, number) in forms.iter().zip(1u8..) {
                // At equal worth rather in than out: room that is left over buys nothing.
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

/// Drops the least valuable until the section, counted as a text, keeps to its cap.
fn keep_cap(request: &Request, layout: &Layout<'_>, page: &Page, choices: &mut Choices) {
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

/// Drops the least valuable of a kind that has more than its share while another waits that has not.
fn keep_kind_cap(
    layout: &Layout<'_>,
    layer: &Layer,
    forms: &BTreeMap<usize, Vec<Form>>,
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

/// A kind that must give way to another.
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
    // A kind with more than its share may not grow, so the two are never the same.
    waiting.iter().copied().find(may_grow)?;
    let over = |(_, count): &(&Kind, usize)| !at_most(*count, n, cap.share);
    n_of.iter().map(|(kind, count)| (*kind, *count)).find(over).map(|(kind, _)| kind.clone())
}

/// Makes the text fit as it is really counted, then fills what is left.
fn settle(
    request: &Request,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
    choices: &mut Choices,
) {
    let tokenizer = &*request.tokenizer;
    let room = room_units(tokenizer, limit);
    let units = |choices: &Choices| units_of(tokenizer, pieces(layout, choices));
    let mut spent = units(choices);
    // A text may give back its steps in another order than it took them, so once may not do.
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
    // A layer with a limit on kinds is topped up as a whole: all that the limit lets in, if it fits.
    for page in &layout.pages {
        let layer = &request.layers[page.layer].0;
        if layer.cap.is_none() && layer.kind_cap.is_some() {
            let mut whole = choices.clone();
            let is_here = |step: &&Step| layout.units[step.unit].layer == page.layer;
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
