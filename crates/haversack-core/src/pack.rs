//! The whole of it: a request becomes a plan, a plan becomes a pack at a budget.

use std::sync::Arc;

use thiserror::Error;

use crate::assemble::{Citation, Fencing, Layout, Nonce, Pattern, Section, Unit};
use crate::budget::Budget;
use crate::ids::CandidateId;
use crate::layer::{Claim, Layer};
use crate::ledger::{Dropped, Entry, Notice, Reason};
use crate::rank::{Ranked, sort};
use crate::receipt::Receipt;
use crate::select::{Schedule, Selection, Selector, Stop, select};
use crate::text::tokenizer::{Accuracy, Tokenizer};
use crate::units::{Score, Share, Span, Tokens};

/// Most layers of a request.
pub const LAYERS_MAX: usize = 64;
/// Most candidates of a request.
pub const CANDIDATES_MAX: usize = 100_000;

/// Text around all sections.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Before the first.
    pub before: Pattern,
    /// After the last.
    pub after: Pattern,
}

/// What to do when what is never cut is larger than the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Refuse, and name the least budget that would do.
    Refuse,
    /// Pack it alone and say so: reserves give way to it first, then the budget (P2, X1).
    Exceed,
}

/// What an earlier pack leaves for the next one of the same conversation, so that its beginning
/// can stay the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// Its fences' nonce.
    pub nonce: Option<Nonce>,
    /// Its candidates in the order in which they stood.
    pub order: Vec<Shown>,
}

/// A candidate as an earlier pack showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// In which layer.
    pub layer: Arc<str>,
    /// Which candidate.
    pub id: CandidateId,
    /// Its content, as far as that cannot be had from the store alone: the parts of the item's body
    /// that stood there, and what stood between them. Empty when it was the candidate's whole text.
    pub content: Vec<Segment>,
}

/// A part of what a candidate showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// These bytes of the item's body.
    Body(Span),
    /// Words that are not the item's: a heading repeated, a mark for what was left out.
    Words(String),
}

/// Everything that decides a pack. Nothing else does: no clock, no chance, no order of input.
#[derive(Debug, Clone)]
pub struct Request {
    /// The user's query; may be empty.
    pub query: String,
    /// The query's terms, for extractive cuts.
    pub query_terms: Vec<String>,
    /// What counts.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// What may be spent.
    pub budget: Budget,
    /// What to do when that is too little.
    pub overflow: Overflow,
    /// Layers and their candidates, in the order in which they stand.
    pub layers: Vec<(Layer, Vec<Ranked>)>,
    /// Candidates that were taken out before, for the ledger.
    pub dropped: Vec<Dropped>,
    /// Text around the sections.
    pub frame: Frame,
    /// Which candidates are fenced.
    pub fencing: Fencing,
    /// What the fences' nonce is made from, such as a workspace's secret.
    pub seed: String,
    /// How candidates are chosen.
    pub selector: Selector,
    /// When enough is enough; only for [`Selector::Greedy`], whose order it ends.
    pub stop: Option<Stop>,
    /// The pack before this one.
    pub previous: Option<Previous>,
}

impl Request {
    /// A request with nothing in it yet: no query, no layers, fences around untrusted text, greedy.
    #[must_use]
    pub fn new(tokenizer: Arc<dyn Tokenizer>, budget: Budget) -> Request {
        Request {
            query: String::new(),
            query_terms: Vec::new(),
            tokenizer,
            budget,
            overflow: Overflow::Refuse,
            layers: Vec::new(),
            dropped: Vec::new(),
            frame: Frame { before: Pattern::empty(), after: Pattern::empty() },
            fencing: Fencing::Untrusted,
            seed: String::new(),
            selector: Selector::Greedy,
            stop: None,
            previous: None,
        }
    }

    /// Which of a layer's candidates are fenced.
    pub(crate) fn fencing_of(&self, layer: &Layer) -> Fencing {
        layer.fencing.unwrap_or(self.fencing)
    }

    pub(crate) fn active_stop(&self) -> Option<Stop> {
        // A stop at nothing would let nothing in at any budget; it is no stop.
        self.stop.filter(|stop| self.selector == Selector::Greedy && stop.fill > Share::ZERO)
    }
}

/// A pack that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackError {
    /// What is never cut does not fit, or nothing of what was found does where something must.
    #[error("a budget of {total} tokens is too small; the least that does is {least}")]
    Infeasible {
        /// The budget, reserves included.
        total: Tokens,
        /// The least budget, reserves included.
        least: Tokens,
    },
    /// Two layers of one name.
    #[error("two layers are called {name:?}")]
    LayerTwice {
        /// The name.
        name: String,
    },
    /// Shares that add up to more than everything.
    #[error("the layers' shares add up to {}.{:04} %, more than 100 %", millionths / 10_000, millionths % 10_000)]
    SharesExceedAll {
        /// Their sum in millionths.
        millionths: u64,
    },
    /// Too much of something.
    #[error("{count} {what} are more than the limit of {limit}")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
}

/// A finished pack.
#[derive(Debug, Clone)]
pub struct Pack {
    /// The final string.
    pub text: String,
    /// Its tokens, counted on the final string.
    pub tokens: Tokens,
    /// The tokenizer that counted.
    pub tokenizer: String,
    /// How far its count can be trusted.
    pub accuracy: Accuracy,
    /// What it could have been at most: the budget less its reserves.
    pub limit: Tokens,
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// Its sources, in the order of the text.
    pub citations: Vec<Citation>,
    /// What became of each candidate.
    pub ledger: Vec<Entry>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
    /// What the pack is worth.
    pub worth: Worth,
    /// The proof of what it was made from.
    pub receipt: Receipt,
    /// What the next pack of the same conversation should be given.
    pub previous: Previous,
}

impl Pack {
    /// How many items it shows.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.sections.iter().map(|section| section.items.len()).sum()
    }
}

/// The value of what was chosen, and how much better it could have been.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The sum of the scores that are in; a shortened text counts by what was kept of it.
    pub value: f64,
    /// No choice of this budget is worth more.
    pub bound: f64,
    /// The value of all candidates that could have been in.
    pub all: f64,
}

impl Worth {
    /// How far the value stays below the bound, as a part of the bound.
    #[must_use]
    pub fn gap(&self) -> Score {
        if self.bound > 0.0 { Score::unit(1.0 - self.value / self.bound) } else { Score::ZERO }
    }

    /// How much of what was found is in, by value.
    #[must_use]
    pub fn coverage(&self) -> Score {
        if self.all > 0.0 { Score::unit(self.value / self.all) } else { Score::ONE }
    }
}

/// A pack's figures at one budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The budget, reserves included.
    pub total: Tokens,
    /// Tokens of the pack.
    pub tokens: Tokens,
    /// Candidates in it, whole or cut.
    pub n_items: usize,
    /// What it is worth.
    pub worth: Worth,
}

/// All the thinking that does not depend on the budget, done once.
#[derive(Debug)]
pub struct Plan<'r> {
    pub(crate) request: &'r Request,
    pub(crate) layout: Layout<'r>,
    pub(crate) schedule: Schedule,
    /// Candidates that never were in question: without text, or in another layer already.
    pub(crate) aside: Vec<(usize, &'r Ranked, Reason)>,
    /// Whether sizes that were handed in were used.
    trust_units: bool,
}

impl<'r> Plan<'r> {
    /// Ranks, renders, measures and schedules.
    ///
    /// # Errors
    /// When the layers contradict each other or there is too much of something.
    pub fn new(request: &'r Request) -> Result<Plan<'r>, PackError> {
        check(request)?;
        Ok(Plan::build(request, true))
    }

    fn build(request: &'r Request, trust_units: bool) -> Plan<'r> {
        let (ranked, aside) = sift(request);
        let mut layout = Layout::new(request, &ranked, trust_units);
        let schedule = Schedule::new(request, &mut layout);
        Plan { request, layout, schedule, aside, trust_units }
    }

    /// The least budget at which all that is pinned fits. Reserves are included, unless they give way
    /// to it ([`Overflow::Exceed`]).
    #[must_use]
    pub fn least(&self) -> Tokens {
        match self.request.overflow {
            Overflow::Refuse => self.schedule.least() + self.request.budget.reserved(),
            Overflow::Exceed => self.schedule.least(),
        }
    }

    /// The least budget at which a pack shows something: all that is pinned, and where nothing is,
    /// something of what was found, though it be the beginning of one text (K5).
    #[must_use]
    pub fn least_shown(&self) -> Tokens {
        if !self.must_show() {
            return self.least();
        }
        let (mut low, mut high) =
            (self.schedule.least(), self.schedule.needs(0, self.request.active_stop()));
        // Where seams are presumed, a text may be longer than its parts.
        while high < Tokens::MAX && !self.shows_something(high) {
            (low, high) = (high, high + high + Tokens::new(1));
        }
        while low < high {
            let middle = Tokens::new(low.get() + (high.get() - low.get()) / 2);
            match self.shows_something(middle) {
                true => high = middle,
                false => low = middle + Tokens::new(1),
            }
        }
        high + self.request.budget.reserved()
    }

    /// Whether a pack of pinned text alone would be empty, though something could be bought.
    fn must_show(&self) -> bool {
        let is_pinned = |unit: &Unit<'_>| self.request.layers[unit.layer].0.claim == Claim::Pinned;
        !self.schedule.steps.is_empty() && !self.layout.units.iter().any(is_pinned)
    }

    /// Whether a pack within so many tokens has an item.
    fn shows_something(&self, limit: Tokens) -> bool {
        if self.request.tokenizer.seams_are_proved() {
            return select(self.request, &self.layout, &self.schedule, limit).n_items() > 0;
        }
        let total = limit + self.request.budget.reserved();
        let within = self.pack_within(total, limit);
        within.is_some_and(|pack| pack.tokens <= limit && pack.n_items() > 0)
    }

    /// The budget, reserves included, beyond which nothing more can be bought.
    #[must_use]
    pub fn most(&self) -> Tokens {
        self.schedule.most(self.request.active_stop()) + self.request.budget.reserved()
    }

    /// The pack at the request's own budget.
    ///
    /// # Errors
    /// When what is never cut does not fit and the request does not allow it to exceed.
    pub fn pack(&self) -> Result<Pack, PackError> {
        self.pack_at(self.request.budget.total())
    }

    /// The pack at another budget: the same as a request with that budget would give.
    ///
    /// # Errors
    /// As [`Plan::pack`].
    pub fn pack_at(&self, total: Tokens) -> Result<Pack, PackError> {
        let rebuilt = || Plan::build(self.request, false).pack_at(total);
        let spendable = match self.spendable(total) {
            // A size that was handed in may be too large; what is infeasible must be so for sure.
            Err(_) if self.trust_units && self.has_units_handed_in() => return rebuilt(),
            spendable => spendable?,
        };
        let Some(pack) = self.pack_within(total, spendable) else { return rebuilt() };
        let is_over = pack.tokens > spendable && self.request.overflow == Overflow::Refuse;
        if is_over {
            let least = pack.tokens + self.request.budget.reserved();
            return Err(PackError::Infeasible { total, least });
        }
        Ok(pack)
    }

    /// The pack at a budget, refused where it would be empty for want of room. The least budget that
    /// the error names shows something.
    ///
    /// # Errors
    /// As [`Plan::pack`], and when nothing of what was found fits.
    pub fn pack_shown_at(&self, total: Tokens) -> Result<Pack, PackError> {
        match self.pack_at(total) {
            Ok(pack) if pack.n_items() > 0 || !self.must_show() => Ok(pack),
            Ok(_) => {
                // Sizes that were handed in may be wrong, and an error must be right.
                let least = match self.trust_units && self.has_units_handed_in() {
                    true => Plan::build(self.request, false).least_shown(),
                    false => self.least_shown(),
                };
                Err(PackError::Infeasible { total, least })
            }
            Err(PackError::Infeasible { least, .. }) if self.must_show() => {
                Err(PackError::Infeasible { total, least: least.max(self.least_shown()) })
            }
            Err(error) => Err(error),
        }
    }

    /// The pack within so many tokens, or what is pinned alone where that is more; `None` when a
    /// size that was handed in turned out to be wrong.
    fn pack_within(&self, total: Tokens, spendable: Tokens) -> Option<Pack> {
        let mut limit = spendable;
        loop {
            let selection = self.selection(total, limit);
            let pack = crate::assemble::assemble(self, &selection, total, spendable);
            if self.was_misled(&selection, &pack) {
                return None;
            }
            let over = pack.tokens.saturating_sub(spendable);
            if over == Tokens::ZERO {
                return Some(pack);
            }
            // Only a tokenizer whose seams are presumed leads here: less room, or nothing at all.
            if selection.is_bare() || limit == Tokens::ZERO {
                let bare = Selection::bare(self.request, &self.layout, &self.schedule);
                return Some(crate::assemble::assemble(self, &bare, total, spendable));
            }
            limit = limit.saturating_sub(over);
        }
    }

    fn has_units_handed_in(&self) -> bool {
        self.layout.units.iter().any(|unit| !unit.ranked.candidate.counted.is_empty())
    }

    /// Whether a size that was handed in turned out to be wrong.
    fn was_misled(&self, selection: &Selection, pack: &Pack) -> bool {
        let tokenizer = &self.request.tokenizer;
        let agrees = pack.tokens == tokenizer.tokens(selection.units);
        let misled = !agrees
            && self.trust_units
            && tokenizer.seams_are_proved()
            && self.has_units_handed_in();
        debug_assert!(
            agrees || misled || !tokenizer.seams_are_proved(),
            "the tally is the count of the string"
        );
        misled
    }

    /// The figures at many budgets, each the same as a pack of its own would have.
    ///
    /// # Errors
    /// When a budget is too small.
    pub fn frontier(&self, totals: &[Tokens]) -> Result<Vec<Point>, PackError> {
        let Some(&largest) = totals.iter().max() else { return Ok(Vec::new()) };
        // One real count, at the largest budget, shows whether sizes that were handed in are right.
        let limit = self.spendable(largest)?;
        let selection = self.selection(largest, limit);
        let pack = crate::assemble::assemble(self, &selection, largest, limit);
        if self.was_misled(&selection, &pack) {
            return Plan::build(self.request, false).frontier(totals);
        }
        totals.iter().map(|&total| self.point(total)).collect()
    }

    fn point(&self, total: Tokens) -> Result<Point, PackError> {
        let tokenizer = &self.request.tokenizer;
        if !tokenizer.seams_are_proved() {
            let pack = self.pack_at(total)?;
            let n_items = pack.n_items();
            return Ok(Point { total, tokens: pack.tokens, n_items, worth: pack.worth });
        }
        let limit = self.spendable(total)?;
        let selection = self.selection(total, limit);
        Ok(Point {
            total,
            tokens: tokenizer.tokens(selection.units),
            n_items: selection.n_items(),
            worth: self.worth(&selection),
        })
    }

    /// What a pack may have of a budget. Reserves give way to what is pinned where that may exceed
    /// the budget itself (P2); to nothing else.
    fn spendable(&self, total: Tokens) -> Result<Tokens, PackError> {
        let infeasible = || PackError::Infeasible { total, least: self.least() };
        let reserved = self.request.budget.reserved();
        let pinned = self.schedule.least();
        match (self.request.overflow, total.checked_sub(reserved)) {
            (Overflow::Refuse, Some(room)) if room >= pinned => Ok(room),
            (Overflow::Refuse, _) => Err(infeasible()),
            (Overflow::Exceed, Some(room)) if room >= pinned => Ok(room),
            (Overflow::Exceed, _) => Ok(pinned.min(total)),
        }
    }

    /// What is chosen within a limit. Where the reserves gave way, nothing is bought of them: not even
    /// in place of what an empty section says.
    fn selection(&self, total: Tokens, limit: Tokens) -> Selection {
        let room = total.checked_sub(self.request.budget.reserved());
        if room.is_none_or(|room| room < self.schedule.least()) {
            return Selection::bare(self.request, &self.layout, &self.schedule);
        }
        select(self.request, &self.layout, &self.schedule, limit)
    }

    pub(crate) fn worth(&self, selection: &Selection) -> Worth {
        let all = self.schedule.value_of_all();
        Worth { value: selection.value, bound: selection.bound, all }
    }
}

/// Makes a pack in one go.
///
/// # Errors
/// When the request contradicts itself or its budget is too small.
pub fn pack(request: &Request) -> Result<Pack, PackError> {
    Plan::new(request)?.pack()
}

fn check(request: &Request) -> Result<(), PackError> {
    let limited = |what, count, limit| {
        if count > limit { Err(PackError::TooMany { what, count, limit }) } else { Ok(()) }
    };
    limited("layers", request.layers.len(), LAYERS_MAX)?;
    let n_candidates = request.layers.iter().map(|(_, ranked)| ranked.len()).sum();
    limited("candidates", n_candidates, CANDIDATES_MAX)?;
    let mut names: Vec<&str> = request.layers.iter().map(|(layer, _)| &*layer.name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(PackError::LayerTwice { name: pair[0].to_owned() });
    }
    let share = |layer: &Layer| match layer.claim {
        Claim::Share(share) => u64::from(share.millionths()),
        Claim::Pinned => 0,
    };
    let millionths: u64 = request.layers.iter().map(|(layer, _)| share(layer)).sum();
    if millionths > u64::from(Share::ALL.millionths()) {
        return Err(PackError::SharesExceedAll { millionths });
    }
    Ok(())
}

/// A candidate that is not in question, with its layer's index and the reason.
type Aside<'r> = (usize, &'r Ranked, Reason);

/// Puts each layer's candidates in order, whatever order they came in, and sets aside those
/// without text and those that a pinned layer, an earlier layer, or an earlier place in their own,
/// has already.
fn sift(request: &Request) -> (Vec<Vec<&Ranked>>, Vec<Aside<'_>>) {
    let mut kept: Vec<Vec<&Ranked>> = request
        .layers
        .iter()
        .map(|(_, ranked)| {
            let mut ranked: Vec<&Ranked> = ranked.iter().collect();
            sort(&mut ranked);
            ranked
        })
        .collect();
    let is_pinned = |layer: usize| request.layers[layer].0.claim == Claim::Pinned;
    let holders = first_places(&kept, is_pinned);
    let mut aside = Vec::new();
    for (layer, ranked) in kept.iter_mut().enumerate() {
        let mut place = 0;
        ranked.retain(|&ranked| {
            let id = &ranked.candidate.id;
            let holder = holders.binary_search_by(|&(known, _)| known.cmp(id)).ok();
            let reason = match holder.map(|at| holders[at].1) {
                // Not listed: it has no text.
                None => Some(Reason::Empty),
                Some(held) if held == (layer, place) => None,
                Some(_) if is_blank(ranked) => Some(Reason::Empty),
                Some((holder, _)) => {
                    Some(Reason::Elsewhere { layer: Arc::clone(&request.layers[holder].0.name) })
                }
            };
            place += 1;
            let keep = reason.is_none();
            aside.extend(reason.map(|reason| (layer, ranked, reason)));
            keep
        });
    }
    (kept, aside)
}

fn is_blank(ranked: &Ranked) -> bool {
    ranked.candidate.text.trim_start().is_empty()
}

/// Where each id with a text stands first, pinned layers before others: layer and place. Sorted by
/// id.
fn first_places<'r>(
    layers: &[Vec<&'r Ranked>],
    is_pinned: impl Fn(usize) -> bool,
) -> Vec<(&'r CandidateId, (usize, usize))> {
    let mut places: Vec<(&CandidateId, (usize, usize))> = layers
        .iter()
        .enumerate()
        .flat_map(|(layer, ranked)| {
            let shown = ranked.iter().enumerate().filter(|(_, ranked)| !is_blank(ranked));
            shown.map(move |(place, ranked)| (&ranked.candidate.id, (layer, place)))
        })
        .collect();
    places.sort_by_key(|&(id, (layer, place))| (id, !is_pinned(layer), layer, place));
    places.dedup_by(|later, earlier| later.0 == earlier.0);
    places
}
