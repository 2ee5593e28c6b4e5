//! The one order in which everything would be bought, and what each beginning of it costs.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fit::{Fitted, Hole, fit, room_units};
use super::steps::{Step, essential_value, layer_steps, value};
use super::tally::{Tally, units_of};
use super::{Selection, Stop};
use crate::assemble::{Choices, Layout, Page};
use crate::budget::{Demand, due_order};
use crate::layer::{Claim, Cut, Layer};
use crate::ledger::Reason;
use crate::pack::Request;
use crate::units::Tokens;

#[derive(Debug)]
pub(crate) struct Schedule {
    /// All steps of all layers, in the order in which they are bought.
    pub(crate) steps: Vec<Step>,
    /// Units of the whole text after each number of steps.
    units: Vec<u64>,
    /// The least budget, in tokens, that buys each number of steps. Never falling.
    reach: Vec<Tokens>,
    /// How many units are in after each number of steps.
    n_units: Vec<usize>,
    /// The steps as they would be without caps: what the exact selector and the bound go by.
    pub(crate) uncapped: Vec<Step>,
    /// Indices of uncapped steps, most value for a token first.
    by_density: Vec<usize>,
    /// What the sum of costs may have too much: separators that a first item does not pay, and
    /// notes that items replace.
    slack: u64,
    /// What each layer wants.
    pub(crate) demands: Vec<Demand>,
    /// Units that no budget lets in, and why.
    pub(crate) kept_out: Vec<(usize, Reason)>,
    /// Units that their layer's cap shortens.
    pub(crate) capped: BTreeMap<usize, Capped>,
}

/// A unit that its layer's cap shortens.
#[derive(Debug)]
pub(crate) struct Capped {
    pub(crate) piece: usize,
    /// What was kept of the candidate's text.
    pub(crate) kept: Vec<Range<usize>>,
    /// The shortened text, without what goes around it.
    pub(crate) content: String,
}

/// How the one unit that does not fit whole is shown.
enum Short {
    Essential { piece: usize, units: u64, gain: f64 },
    Cut(Fitted, f64),
}

impl Short {
    fn gain(&self) -> f64 {
        match self {
            Short::Essential { gain, .. } | Short::Cut(_, gain) => *gain,
        }
    }
}

impl Schedule {
    pub(crate) fn new(request: &Request, layout: &mut Layout<'_>) -> Schedule {
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
        let mut per_layer: Vec<Vec<Step>> = vec![Vec::new(); request.layers.len()];
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
        request: &Request,
        layout: &mut Layout<'_>,
        page: usize,
        layer: &Layer,
    ) -> Vec<Step> {
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
        request: &Request,
        layout: &mut Layout<'_>,
        page: usize,
        layer: &Layer,
        cap: Tokens,
        mut steps: Vec<Step>,
    ) -> Vec<Step> {
        let tokenizer = &*request.tokenizer;
        let mut choices = vec![None; layout.units.len()];
        apply(&mut choices, &steps);
        let note = layout.pages[page].note;
        let empty = layout.page_sequence(&layout.pages[page], &vec![None; layout.units.len()]);
        let empty = empty.iter().map(|&piece| &layout.pieces[piece]);
        if note.is_some() && tokenizer.tokens(units_of(tokenizer, empty)) > cap {
            // Not even the section's "nothing found" fits: an empty section is left out.
            layout.pages[page].note = None;
        }
        let sequence = layout.page_sequence(&layout.pages[page], &choices);
        let units = costs(request, layout, &sequence, &steps);
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

    /// What each beginning of the order costs, by taking everything in and giving it back.
    fn count(&mut self, request: &Request, layout: &Layout<'_>) {
        let tokenizer = &*request.tokenizer;
        let mut choices = layout.pinned(request);
        apply(&mut choices, &self.steps);
        self.units = costs(request, layout, &layout.sequence(&choices), &self.steps);
        self.reach = running_max(self.units.iter().map(|&units| tokenizer.tokens(units)));
        let mut n = 0;
        self.n_units = std::iter::once(0)
            .chain(self.steps.iter().map(|step| {
                n += usize::from(step.from.is_none());
                n
            }))
            .collect();
        // Joining can save a token a piece costs on its own. A bound must not overlook that.
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

    /// The least that any pack of this request has.
    pub(crate) fn least(&self) -> Tokens {
        self.reach[0]
    }

    /// Units of the pack without anything that is bought.
    pub(crate) fn fixed_units(&self) -> u64 {
        self.units[0]
    }

    /// The budget at which everything is in.
    pub(crate) fn most(&self, stop: Option<Stop>) -> Tokens {
        self.steps.len().checked_sub(1).map_or(self.least(), |last| self.needs(last, stop))
    }

    /// What the sum of costs may have too much.
    pub(crate) fn slack(&self) -> u64 {
        self.slack
    }

    /// Each unit's last step: from there on it is whole.
    pub(crate) fn last_steps(&self, n_units: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; n_units];
        for (index, step) in self.steps.iter().enumerate() {
            last[step.unit] = Some(index);
        }
        last
    }

    /// The least budget that buys step `index`.
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

    /// Tokens of the text that ends with step `index`.
    pub(crate) fn reaches(&self, index: usize) -> Tokens {
        self.reach[index + 1]
    }

    /// How many steps a limit buys, and whether enough was enough.
    fn buys(&self, limit: Tokens, stop: Option<Stop>) -> (usize, bool) {
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

    /// Buys the longest beginning that fits and shortens what comes next.
    pub(crate) fn select(
        &self,
        request: &Request,
        layout: &Layout<'_>,
        limit: Tokens,
    ) -> Selection {
        let (n, full_enough) = self.buys(limit, request.active_stop());
        let mut choices = layout.pinned(request);
        apply(&mut choices, &self.steps[..n]);
        let mut value = total_gain(&self.steps[..n]);
        let mut units = self.units[n];
        let next = self.steps.get(n).filter(|_| !full_enough && self.least() <= limit);
        let shortened =
            next.and_then(|step| self.shorten(request, layout, &choices, step, n, limit));
        let mut cut = None;
        match shortened {
            Some(Short::Essential { piece, units: now, gain }) => {
                choices[self.steps[n].unit] = Some(piece);
                (value, units) = (value + gain, now);
            }
            Some(Short::Cut(fitted, gain)) => {
                (value, units) = (value + gain, fitted.units);
                cut = Some(fitted);
            }
            None => {}
        }
        let bound = self.bound(request, limit).max(value);
        Selection { choices, cut, units, value, bound, limit, n_steps: Some(n) }
    }

    /// The next step's unit in the room that is left: its essential form if it has one, else cut.
    fn shorten(
        &self,
        request: &Request,
        layout: &Layout<'_>,
        choices: &Choices,
        step: &Step,
        n: usize,
        limit: Tokens,
    ) -> Option<Short> {
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
        let hole = Hole::new(tokenizer, layout, choices, step.unit, self.units[n], sequence);
        // A text that grows by its blocks has no other short form.
        let essential = unit.essential.filter(|_| unit.forms.is_empty()).and_then(|piece| {
            let units = hole.units_with(&layout.pieces[piece]);
            let gain = essential_value(layout, step.unit);
            (tokenizer.tokens(units) <= limit).then_some(Short::Essential { piece, units, gain })
        });
        let is_first = self.n_units[n] == 0;
        let cut = request.layers[unit.layer].0.cut.filter(|_| unit.essential.is_none() || is_first);
        let cut = cut.and_then(|mut cut| {
            if is_first {
                // At least one is always given, however little of it (K5).
                cut.least = Tokens::new(1);
            }
            let fitted = fit(request, layout, &hole, step, cut, limit)?;
            // Less than the step that did not fit, so it is worth no more.
            let gain = match grows {
                true => step.gain * 0.5,
                false => (value(layout, step.unit) * fitted.share).min(step.gain),
            };
            Some(Short::Cut(fitted, gain))
        });
        match (essential, cut) {
            (Some(essential), Some(cut)) if cut.gain() > essential.gain() => Some(cut),
            (essential, cut) => essential.or(cut),
        }
    }

    /// The linear relaxation: steps by density, the last one in part.
    fn bound(&self, request: &Request, limit: Tokens) -> f64 {
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

    /// Steps, most value for a token first.
    pub(crate) fn steps_by_density(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.by_density.iter().map(|&index| &self.uncapped[index])
    }

    /// The value of everything.
    pub(crate) fn value_of_all(&self) -> f64 {
        total_gain(&self.steps)
    }
}

/// Not `sum`: that of nothing is minus zero, which people would see.
fn total_gain(steps: &[Step]) -> f64 {
    steps.iter().fold(0.0, |total, step| total + step.gain)
}

/// Puts the first step of whatever the request names before all others, by layer. It does not look
/// at the budget, so a larger one still keeps what a smaller one had.
fn requested_first(layout: &Layout<'_>, steps: Vec<Step>) -> Vec<Step> {
    let unit_of = |step: &Step| &layout.units[step.unit];
    let is_first = |step: &Step| step.from.is_none() && unit_of(step).ranked.candidate.is_requested;
    let (mut first, rest): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_first);
    first.sort_by_key(|step| unit_of(step).layer);
    first.extend(rest);
    first
}

fn apply(choices: &mut Choices, steps: &[Step]) {
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

/// Units of the sequence after each number of steps, `sequence` being that after all of them.
fn costs(request: &Request, layout: &Layout<'_>, sequence: &[usize], steps: &[Step]) -> Vec<u64> {
    let page_of: BTreeMap<usize, &Page> =
        layout.pages.iter().map(|page| (page.layer, page)).collect();
    let mut tally = Tally::new(&*request.tokenizer, &layout.pieces, sequence);
    let mut units = vec![0; steps.len() + 1];
    let is_fenced = |unit: usize| layout.units[unit].is_fenced;
    let steps_fenced =
        steps.iter().filter(|step| step.from.is_none() && is_fenced(step.unit)).count();
    let pinned = layout.pinned(request);
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
                take_out(&mut tally, page_of[&layout.units[step.unit].layer], step.to);
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

/// Takes a unit's piece out of its page, with the separator that goes with it.
fn take_out(tally: &mut Tally<'_>, page: &Page, piece: usize) {
    match (tally.previous(piece), tally.next(piece)) {
        (Some(before), Some(after)) if before == page.header && after == page.footer => {
            let note = page.note.as_ref().map_or(&[][..], |note| note);
            tally.replace(page.header, page.footer, note);
        }
        // The first of several: the separator behind it goes too.
        (Some(before), Some(after)) if before == page.header => tally.replace(piece, after, &[]),
        (Some(before), _) => tally.replace(before, piece, &[]),
        (None, _) => debug_assert!(false, "a page starts with its header"),
    }
}

fn demands(request: &Request, layout: &Layout<'_>, per_layer: &[Vec<Step>]) -> Vec<Demand> {
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

/// The step that does not fit a layer's cap, with its unit shortened so that it does.
#[expect(clippy::too_many_arguments, reason = "one call, kept apart only for its length")]
fn shorten_to_cap(
    request: &Request,
    layout: &mut Layout<'_>,
    page: usize,
    steps: &[Step],
    units: u64,
    step: &Step,
    cut: Cut,
    cap: Tokens,
) -> Option<(Step, Capped)> {
    let mut choices = vec![None; layout.units.len()];
    apply(&mut choices, steps);
    let sequence = |choices: &Choices| layout.page_sequence(&layout.pages[page], choices);
    let tokenizer = &*request.tokenizer;
    let hole = Hole::new(tokenizer, layout, &choices, step.unit, units, sequence);
    let fitted = fit(request, layout, &hole, step, cut, cap)?;
    let separator = layout.pieces[layout.units[step.unit].separator].units;
    let shortened = Step {
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
