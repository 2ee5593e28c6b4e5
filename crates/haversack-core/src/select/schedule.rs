//! The one order in which everything would be bought, and what each beginning of it costs.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fit::{Fitted, Hole, fit, room_units};
use super::steps::{Step, layer_steps, value};
use super::tally::Tally;
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
    /// Indices of steps, most value for a token first.
    by_density: Vec<usize>,
    /// What each layer wants.
    pub(crate) demands: Vec<Demand>,
    /// Units that no budget lets in, and why.
    pub(crate) kept_out: Vec<(usize, Reason)>,
    /// Units that their layer's cap shortens: the piece, and what was kept.
    pub(crate) capped: BTreeMap<usize, (usize, Vec<Range<usize>>)>,
}

impl Schedule {
    pub(crate) fn new(request: &Request, layout: &mut Layout<'_>) -> Schedule {
        let mut schedule = Schedule {
            steps: Vec::new(),
            units: Vec::new(),
            reach: Vec::new(),
            n_units: Vec::new(),
            by_density: Vec::new(),
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
        schedule.steps = due_order(&schedule.demands)
            .into_iter()
            .map(|due| per_layer[due.layer][due.step].clone())
            .collect();
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
        let (steps, over_kind) = layer_steps(layout, layer, &units);
        self.kept_out.extend(over_kind.into_iter().map(|unit| {
            let kind = layout.units[unit].ranked.candidate.kind.clone();
            (unit, Reason::KindCap { kind })
        }));
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
        let sequence = layout.page_sequence(&layout.pages[page], &choices);
        let units = costs(request, layout, &sequence, &steps);
        let reach = running_max(units.iter().map(|&units| tokenizer.tokens(units)));
        if reach[0] > cap {
            // Not even the section's "nothing found" fits: the section is left out.
            layout.pages[page].note = None;
        }
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
            if let Some((step, kept)) = shortened {
                needs.remove(&step.unit);
                self.capped.insert(step.unit, (step.to, kept));
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
        self.by_density = (0..self.steps.len()).collect();
        let density = |index: &usize| self.steps[*index].density();
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
    pub(crate) fn most(&self) -> Tokens {
        self.reach.last().copied().unwrap_or_default()
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
        let cut = next.and_then(|step| self.shorten(request, layout, &choices, step, n, limit));
        if let Some((fitted, gain)) = &cut {
            value += gain;
            units = fitted.units;
        }
        let bound = self.bound(request, limit).max(value);
        let cut = cut.map(|(fitted, _)| fitted);
        Selection { choices, cut, units, value, bound, limit, n_steps: Some(n) }
    }

    /// The next step's unit, shortened into what is left, and what that adds.
    fn shorten(
        &self,
        request: &Request,
        layout: &Layout<'_>,
        choices: &Choices,
        step: &Step,
        n: usize,
        limit: Tokens,
    ) -> Option<(Fitted, f64)> {
        let layer = &request.layers[layout.units[step.unit].layer].0;
        let mut cut = layer.cut?;
        let full = layout.units[step.unit].full;
        if !self.steps[n..].iter().any(|later| later.to == full) {
            // The layer's cap ends this unit's steps before it is whole.
            return None;
        }
        if self.n_units[n] == 0 {
            // At least one is always given, however little of it (K5).
            cut.least = Tokens::new(1);
        }
        let tokenizer = &*request.tokenizer;
        let sequence = |choices: &Choices| layout.sequence(choices);
        let hole = Hole::new(tokenizer, layout, choices, step.unit, self.units[n], sequence);
        let fitted = fit(request, layout, &hole, step.unit, cut, limit)?;
        let whole = value(layout, step.unit);
        let before = if step.from.is_some() { whole - step.gain } else { 0.0 };
        let gain = whole * fitted.share - before;
        (gain > 0.0 || step.from.is_none()).then_some((fitted, gain.max(0.0)))
    }

    /// The linear relaxation: steps by density, the last one in part.
    fn bound(&self, request: &Request, limit: Tokens) -> f64 {
        let mut left = room_units(&*request.tokenizer, limit).saturating_sub(self.units[0]);
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
        self.by_density.iter().map(|&index| &self.steps[index])
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
    for (index, step) in steps.iter().enumerate().rev() {
        units[index + 1] = tally.units();
        match step.from {
            Some(from) => tally.replace(step.to, step.to, &[from]),
            None => take_out(&mut tally, page_of[&layout.units[step.unit].layer], step.to),
        }
    }
    units[0] = tally.units();
    units
}

/// Takes a unit's piece out of its page, with the separator that goes with it.
fn take_out(tally: &mut Tally<'_>, page: &Page, piece: usize) {
    match (tally.previous(piece), tally.next(piece)) {
        (Some(before), Some(after)) if before == page.header && after == page.footer => {
            match page.note {
                Some(note) => tally.replace(piece, piece, &[note]),
                None => tally.replace(page.header, page.footer, &[]),
            }
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
) -> Option<(Step, Vec<Range<usize>>)> {
    let mut choices = vec![None; layout.units.len()];
    apply(&mut choices, steps);
    let sequence = |choices: &Choices| layout.page_sequence(&layout.pages[page], choices);
    let tokenizer = &*request.tokenizer;
    let hole = Hole::new(tokenizer, layout, &choices, step.unit, units, sequence);
    let fitted = fit(request, layout, &hole, step.unit, cut, cap)?;
    let separator = layout.pieces[layout.units[step.unit].separator].units;
    let shortened = Step {
        unit: step.unit,
        from: None,
        to: layout.pieces.len(),
        cost: fitted.piece.units + separator,
        gain: step.gain * fitted.share,
    };
    layout.pieces.push(fitted.piece);
    Some((shortened, fitted.kept))
}
