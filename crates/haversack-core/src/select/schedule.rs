//! The schedule: the fixed order of all selection steps, and the cost of each prefix.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fit::{Fitted, UnitSlot, fit, room_units};
use super::steps::{ScheduleStep, essential_value, layer_steps, value};
use super::tally::{Tally, units_of};
use super::{Selection, Stop};
use crate::assemble::{Choices, LayerPage, Layout};
use crate::budget::{Demand, due_order};
use crate::layer::{Claim, Cut, Layer};
use crate::ledger::Reason;
use crate::pack::PackRequest;
use crate::units::Tokens;

#[derive(Debug)]
pub(crate) struct Schedule {
    /// All steps of all layers, in order.
    pub(crate) steps: Vec<ScheduleStep>,
    /// Units of the whole text after each number of steps.
    units: Vec<u64>,
    /// The smallest budget, in tokens, for each number of steps; never decreasing.
    reach: Vec<Tokens>,
    /// How many units are in after each number of steps.
    n_units: Vec<usize>,
    /// The steps without caps, used by the exact selector and the bound.
    pub(crate) uncapped: Vec<ScheduleStep>,
    /// Indices of uncapped steps by density, highest first.
    by_density: Vec<usize>,
    /// How much the sum of costs may overestimate: separators that a first item does not need, and
    /// notes that items replace.
    slack: u64,
    /// Each layer's demand.
    pub(crate) demands: Vec<Demand>,
    /// Units that fit no budget, and why.
    pub(crate) kept_out: Vec<(usize, Reason)>,
    /// Units truncated by their layer's cap.
    pub(crate) capped: BTreeMap<usize, Capped>,
}

/// A unit truncated by its layer's cap.
#[derive(Debug)]
pub(crate) struct Capped {
    pub(crate) piece: usize,
    /// The kept ranges of the candidate's text.
    pub(crate) kept: Vec<Range<usize>>,
    /// The truncated text, before rendering.
    pub(crate) content: String,
}

/// How the unit that does not fit whole is shortened.
enum ShortForm {
    Essential { piece: usize, units: u64, gain: f64 },
    Cut(Fitted, f64),
}

impl ShortForm {
    fn gain(&self) -> f64 {
        match self {
            ShortForm::Essential { gain, .. } | ShortForm::Cut(_, gain) => *gain,
        }
    }
}

impl Schedule {
    pub(crate) fn new(request: &PackRequest, layout: &mut Layout<'_>) -> Schedule {
        let mut schedule = Schedule {
            steps: Vec::new(),
            units: Vec::new(),
            reach: Vec::new(),
            n_units: Vec::new(),
            uncapped: Vec::new(),
            by_density: Vec::new(),
            slack: 0,
            demands: Vec::new(),
            kept_out: Vec::new(),
            capped: BTreeMap::new(),
        };
        let mut per_layer: Vec<Vec<ScheduleStep>> = vec![Vec::new(); request.layers.len()];
        for page in 0..layout.pages.len() {
            let index = layout.pages[page].layer;
            let (layer, _) = &request.layers[index];
            if layer.claim != Claim::Pinned {
                per_layer[index] = schedule.plan_page(request, layout, page, layer);
            }
        }
        schedule.demands = demands(request, layout, &per_layer);
        let due = due_order(&schedule.demands).into_iter();
        let steps = due.map(|due| per_layer[due.layer][due.step].clone()).collect();
        schedule.steps = requested_first(layout, steps);
        schedule.count(request, layout);
        schedule
    }

    /// A layer's steps, within its cap.
    fn plan_page(
        &mut self,
        request: &PackRequest,
        layout: &mut Layout<'_>,
        page: usize,
        layer: &Layer,
    ) -> Vec<ScheduleStep> {
        let mut units = layout.pages[page].units.clone();
        units.sort_unstable();
        let mut steps = requested_first(layout, layer_steps(layout, layer, &units));
        for (place, step) in (self.uncapped.len()..).zip(&mut steps) {
            step.place = Some(place);
        }
        self.uncapped.extend(steps.iter().cloned());
        let size = |piece: usize| layout.pieces[piece].units;
        self.slack += units.first().map_or(0, |&unit| size(layout.units[unit].separator))
            + layout.pages[page].note.map_or(0, |note| note.into_iter().map(size).sum());
        match layer.cap {
            Some(cap) => self.within_cap(request, layout, page, layer, cap, steps),
            None => steps,
        }
    }

    fn within_cap(
        &mut self,
        request: &PackRequest,
        layout: &mut Layout<'_>,
        page: usize,
        layer: &Layer,
        cap: Tokens,
        mut steps: Vec<ScheduleStep>,
    ) -> Vec<ScheduleStep> {
        let tokenizer = &*request.tokenizer;
        let mut choices = vec![None; layout.units.len()];
        apply_steps(&mut choices, &steps);
        let note = layout.pages[page].note;
        let empty = layout.page_sequence(&layout.pages[page], &vec![None; layout.units.len()]);
        let empty = empty.iter().map(|&piece| &layout.pieces[piece]);
        if note.is_some() && tokenizer.tokens(units_of(tokenizer, empty)) > cap {
            // Not even the text of the empty section fits, so an empty section is omitted.
            layout.pages[page].note = None;
        }
        let sequence = layout.page_sequence(&layout.pages[page], &choices);
        let units = prefix_costs(request, layout, &sequence, &steps);
        let reach = running_max(units.iter().map(|&units| tokenizer.tokens(units)));
        let n = reach.partition_point(|&tokens| tokens <= cap).saturating_sub(1);
        let over = steps.split_off(n.min(steps.len()));
        let mut needs: BTreeMap<usize, Tokens> = BTreeMap::new();
        for (step, &tokens) in over.iter().zip(&reach[n + 1..]) {
            needs.entry(step.unit).or_insert(tokens);
        }
        for step in &steps {
            needs.remove(&step.unit);
        }
        if let (Some(step), Some(cut)) = (over.first(), layer.cut)
            && step.from.is_none()
        {
            let shortened = shorten_to_cap(request, layout, page, &steps, units[n], step, cut, cap);
            if let Some((step, capped)) = shortened {
                needs.remove(&step.unit);
                self.capped.insert(step.unit, capped);
                steps.push(step);
            }
        }
        let out = needs.into_iter().map(|(unit, needs)| (unit, Reason::OverCap { cap, needs }));
        self.kept_out.extend(out);
        steps
    }

    /// Computes the cost of each prefix by adding all steps and removing them one by one.
    fn count(&mut self, request: &PackRequest, layout: &Layout<'_>) {
        let tokenizer = &*request.tokenizer;
        let mut choices = layout.pinned_choices(request);
        apply_steps(&mut choices, &self.steps);
        self.units = prefix_costs(request, layout, &layout.sequence(&choices), &self.steps);
        self.reach = running_max(self.units.iter().map(|&units| tokenizer.tokens(units)));
        let mut n = 0;
        self.n_units = std::iter::once(0)
            .chain(self.steps.iter().map(|step| {
                n += usize::from(step.from.is_none());
                n
            }))
            .collect();
        // Joining can save a token; the bound must account for that.
        for (step, units) in self.steps.iter().zip(self.units.windows(2)) {
            if let Some(place) = step.place {
                let known = &mut self.uncapped[place].cost;
                *known = (*known).min(units[1].saturating_sub(units[0]));
            }
        }
        self.by_density = (0..self.uncapped.len()).collect();
        let density = |index: &usize| self.uncapped[*index].density();
        self.by_density.sort_by(|a, b| density(b).total_cmp(&density(a)).then(a.cmp(b)));
    }

    /// The smallest size of any pack of this request.
    pub(crate) fn least(&self) -> Tokens {
        self.reach[0]
    }

    /// Token units of the pack with pinned units only.
    pub(crate) fn fixed_units(&self) -> u64 {
        self.units[0]
    }

    /// The budget at which everything is in.
    pub(crate) fn most(&self, stop: Option<Stop>) -> Tokens {
        self.steps.len().checked_sub(1).map_or(self.least(), |last| self.needs(last, stop))
    }

    /// How much the sum of costs may overestimate.
    pub(crate) fn slack(&self) -> u64 {
        self.slack
    }

    /// Each unit's last step, after which it is whole.
    pub(crate) fn last_steps(&self, n_units: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; n_units];
        for (index, step) in self.steps.iter().enumerate() {
            last[step.unit] = Some(index);
        }
        last
    }

    /// The smallest budget that includes step `index`.
    pub(crate) fn needs(&self, index: usize, stop: Option<Stop>) -> Tokens {
        let reach = self.reach[index + 1];
        match stop {
            Some(stop) if self.n_units[index] >= stop.items => {
                let fill = u64::from(stop.fill.millionths()).max(1);
                let before = u64::from(self.reach[index].get()) * 1_000_000;
                reach.max(Tokens::saturating_from(before.div_ceil(fill)))
            }
            _ => reach,
        }
    }

    /// Tokens of the text after step `index`.
    pub(crate) fn reaches(&self, index: usize) -> Tokens {
        self.reach[index + 1]
    }

    /// How many steps fit a limit, and whether the stop rule applied.
    fn n_steps_within(&self, limit: Tokens, stop: Option<Stop>) -> (usize, bool) {
        let n = self.reach.partition_point(|&tokens| tokens <= limit).saturating_sub(1);
        let Some(stop) = stop else { return (n, false) };
        let full_enough = |&index: &usize| {
            let spent = u64::from(self.reach[index].get()) * 1_000_000;
            let enough = u64::from(limit.get()) * u64::from(stop.fill.millionths());
            self.n_units[index] >= stop.items && spent > enough
        };
        match (0..n).find(full_enough) {
            Some(n) => (n, true),
            None => (n, full_enough(&n)),
        }
    }

    /// Takes the longest prefix that fits and shortens the next unit.
    pub(crate) fn select(
        &self,
        request: &PackRequest,
        layout: &Layout<'_>,
        limit: Tokens,
    ) -> Selection {
        let (n, full_enough) = self.n_steps_within(limit, request.active_stop());
        let mut choices = layout.pinned_choices(request);
        apply_steps(&mut choices, &self.steps[..n]);
        let mut value = total_gain(&self.steps[..n]);
        let mut units = self.units[n];
        let next = self.steps.get(n).filter(|_| !full_enough && self.least() <= limit);
        let shortened =
            next.and_then(|step| self.shorten(request, layout, &choices, step, n, limit));
        let mut cut = None;
        match shortened {
            Some(ShortForm::Essential { piece, units: now, gain }) => {
                choices[self.steps[n].unit] = Some(piece);
                (value, units) = (value + gain, now);
            }
            Some(ShortForm::Cut(fitted, gain)) => {
                (value, units) = (value + gain, fitted.units);
                cut = Some(fitted);
            }
            None => {}
        }
        let bound = self.bound(request, limit).max(value);
        Selection { choices, cut, units, value, bound, limit, n_steps: Some(n) }
    }

    /// Fits the next unit into the remaining budget: its essential form if it has one, else
    /// truncated.
    fn shorten(
        &self,
        request: &PackRequest,
        layout: &Layout<'_>,
        choices: &Choices,
        step: &ScheduleStep,
        n: usize,
        limit: Tokens,
    ) -> Option<ShortForm> {
        let unit = &layout.units[step.unit];
        let grows = step.from.is_some_and(|from| unit.form(from).is_some());
        let becomes_whole = || self.steps[n..].iter().any(|later| later.to == unit.full);
        if (step.from.is_some() && !grows) || !becomes_whole() {
            // It is in with its essential form, or its layer's cap ends its steps before it is
            // whole.
            return None;
        }
        let tokenizer = &*request.tokenizer;
        let sequence = |choices: &Choices| layout.sequence(choices);
        let hole = UnitSlot::new(tokenizer, layout, choices, step.unit, self.units[n], sequence);
        // A text that grows by its blocks has no other short form.
        let essential = unit.essential.filter(|_| unit.forms.is_empty()).and_then(|piece| {
            let units = hole.units_with(&layout.pieces[piece]);
            let gain = essential_value(layout, step.unit);
            (tokenizer.tokens(units) <= limit).then_some(ShortForm::Essential {
                piece,
                units,
                gain,
            })
        });
        let is_first = self.n_units[n] == 0;
        let cut = request.layers[unit.layer].0.cut.filter(|_| unit.essential.is_none() || is_first);
        let cut = cut.and_then(|mut cut| {
            if is_first {
                // At least one candidate is always shown, however short (K5).
                cut.least = Tokens::new(1);
            }
            let fitted = fit(request, layout, &hole, step, cut, limit)?;
            // It is smaller than the step that did not fit, so its value is no higher.
            let gain = match grows {
                true => step.gain * 0.5,
                false => (value(layout, step.unit) * fitted.share).min(step.gain),
            };
            Some(ShortForm::Cut(fitted, gain))
        });
        match (essential, cut) {
            (Some(essential), Some(cut)) if cut.gain() > essential.gain() => Some(cut),
            (essential, cut) => essential.or(cut),
        }
    }

    /// The linear relaxation: steps by density, the last one in part.
    fn bound(&self, request: &PackRequest, limit: Tokens) -> f64 {
        let room = room_units(&*request.tokenizer, limit) + self.slack;
        let mut left = room.saturating_sub(self.units[0]);
        let mut bound = 0.0;
        for step in self.steps_by_density() {
            if step.cost > left {
                #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
                let part = left as f64 / step.cost as f64;
                return bound + step.gain * part;
            }
            left -= step.cost;
            bound += step.gain;
        }
        bound
    }

    /// Steps by density, highest first.
    pub(crate) fn steps_by_density(&self) -> impl DoubleEndedIterator<Item = &ScheduleStep> {
        self.by_density.iter().map(|&index| &self.uncapped[index])
    }

    /// The value of everything.
    pub(crate) fn value_of_all(&self) -> f64 {
        total_gain(&self.steps)
    }
}

/// Not `sum`: that of an empty list is -0.0, which would be displayed.
fn total_gain(steps: &[ScheduleStep]) -> f64 {
    steps.iter().fold(0.0, |total, step| total + step.gain)
}

/// Moves the first step of each requested candidate to the front, by layer. It ignores the budget,
/// so a larger one still keeps what a smaller one had.
fn requested_first(layout: &Layout<'_>, steps: Vec<ScheduleStep>) -> Vec<ScheduleStep> {
    let unit_of = |step: &ScheduleStep| &layout.units[step.unit];
    let is_first =
        |step: &ScheduleStep| step.from.is_none() && unit_of(step).ranked.candidate.is_requested;
    let (mut first, rest): (Vec<ScheduleStep>, Vec<ScheduleStep>) =
        steps.into_iter().partition(is_first);
    first.sort_by_key(|step| unit_of(step).layer);
    first.extend(rest);
    first
}

fn apply_steps(choices: &mut Choices, steps: &[ScheduleStep]) {
    for step in steps {
        choices[step.unit] = Some(step.to);
    }
}

fn running_max(tokens: impl Iterator<Item = Tokens>) -> Vec<Tokens> {
    let mut max = Tokens::ZERO;
    tokens
        .map(|tokens| {
            max = max.max(tokens);
            max
        })
        .collect()
}

/// Token units after each number of steps; `sequence` is that after all steps.
fn prefix_costs(
    request: &PackRequest,
    layout: &Layout<'_>,
    sequence: &[usize],
    steps: &[ScheduleStep],
) -> Vec<u64> {
    let page_of: BTreeMap<usize, &LayerPage> =
        layout.pages.iter().map(|page| (page.layer, page)).collect();
    let mut tally = Tally::new(&*request.tokenizer, &layout.pieces, sequence);
    let mut units = vec![0; steps.len() + 1];
    let is_fenced = |unit: usize| layout.units[unit].is_fenced;
    let steps_fenced =
        steps.iter().filter(|step| step.from.is_none() && is_fenced(step.unit)).count();
    let pinned = layout.pinned_choices(request);
    let pinned_fenced =
        (0..pinned.len()).filter(|&unit| pinned[unit].is_some() && is_fenced(unit)).count();
    // The preamble goes with the last fenced unit, where the sequence has it at all.
    let mut n_fenced = steps_fenced + pinned_fenced;
    let has_preamble = sequence.contains(&layout.preamble);
    for (index, step) in steps.iter().enumerate().rev() {
        units[index + 1] = tally.units();
        match step.from {
            Some(from) => tally.replace(step.to, step.to, &[from]),
            None => {
                remove_with_separator(&mut tally, page_of[&layout.units[step.unit].layer], step.to);
                if is_fenced(step.unit) {
                    n_fenced -= 1;
                    if n_fenced == 0 && has_preamble {
                        tally.replace(layout.preamble, layout.preamble, &[]);
                    }
                }
            }
        }
    }
    units[0] = tally.units();
    units
}

/// Removes a unit's piece from its section, with its separator.
fn remove_with_separator(tally: &mut Tally<'_>, page: &LayerPage, piece: usize) {
    match (tally.previous(piece), tally.next(piece)) {
        (Some(before), Some(after)) if before == page.header && after == page.footer => {
            let note = page.note.as_ref().map_or(&[][..], |note| note);
            tally.replace(page.header, page.footer, note);
        }
        // The first of several: remove the separator after it.
        (Some(before), Some(after)) if before == page.header => tally.replace(piece, after, &[]),
        (Some(before), _) => tally.replace(before, piece, &[]),
        (None, _) => debug_assert!(false, "a page starts with its header"),
    }
}

fn demands(
    request: &PackRequest,
    layout: &Layout<'_>,
    per_layer: &[Vec<ScheduleStep>],
) -> Vec<Demand> {
    let mut demands: Vec<Demand> = request
        .layers
        .iter()
        .map(|(layer, _)| {
            let share = match layer.claim {
                Claim::Share(share) => share,
                Claim::Pinned => crate::units::Share::ZERO,
            };
            Demand { share, spill: layer.spill, cumulative: Vec::new() }
        })
        .collect();
    for page in &layout.pages {
        let units = |piece: usize| layout.pieces[piece].units;
        let mut spent = units(page.header) + units(page.footer);
        demands[page.layer].cumulative = per_layer[page.layer]
            .iter()
            .map(|step| {
                spent += step.cost;
                spent
            })
            .collect();
    }
    demands
}

/// Truncates the unit of the first step over the layer's cap so that it fits.
#[expect(clippy::too_many_arguments, reason = "one call, kept apart only for its length")]
fn shorten_to_cap(
    request: &PackRequest,
    layout: &mut Layout<'_>,
    page: usize,
    steps: &[ScheduleStep],
    units: u64,
    step: &ScheduleStep,
    cut: Cut,
    cap: Tokens,
) -> Option<(ScheduleStep, Capped)> {
    let mut choices = vec![None; layout.units.len()];
    apply_steps(&mut choices, steps);
    let sequence = |choices: &Choices| layout.page_sequence(&layout.pages[page], choices);
    let tokenizer = &*request.tokenizer;
    let hole = UnitSlot::new(tokenizer, layout, &choices, step.unit, units, sequence);
    let fitted = fit(request, layout, &hole, step, cut, cap)?;
    let separator = layout.pieces[layout.units[step.unit].separator].units;
    let shortened = ScheduleStep {
        unit: step.unit,
        from: None,
        to: layout.pieces.len(),
        cost: fitted.piece.units + separator,
        gain: step.gain * fitted.share,
        place: None,
    };
    layout.pieces.push(fitted.piece);
    let capped = Capped { piece: shortened.to, kept: fitted.kept, content: fitted.content };
    Some((shortened, capped))
}
