//! The entry point of core: a request becomes a plan, and a plan yields a pack at any budget.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::assemble::{Citation, Fencing, Layout, LayoutUnit, Nonce, Pattern, Section};
use crate::budget::Budget;
use crate::cancel::{CancelFlag, Cancelled};
use crate::ids::CandidateId;
use crate::layer::{Claim, Layer};
use crate::ledger::{Dropped, Entry, PackNotice, Reason};
use crate::rank::{Ranked, sort};
use crate::receipt::PackReceipt;
use crate::select::{Schedule, Selection, Selector, Stop, select};
use crate::text::tokenizer::{Accuracy, Tokenizer};
use crate::units::{Score, Share, Span, Tokens};

/// Maximum number of layers in a request.
pub const LAYERS_MAX: usize = 64;
/// Maximum number of candidates in a request.
pub const CANDIDATES_MAX: usize = 100_000;

/// Text before and after all sections.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Before the first section.
    pub before: Pattern,
    /// After the last section.
    pub after: Pattern,
}

/// What to do when pinned layers exceed the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Fail, naming the smallest budget that works.
    Refuse,
    /// Pack the pinned layers alone with a notice; they may use up the reserves first, then exceed
    /// the budget (P2, X1).
    Exceed,
}

/// State of an earlier pack of the same conversation, used to keep the prefix unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// Its fences' nonce.
    pub nonce: Option<Nonce>,
    /// Its candidates, in order.
    pub order: Vec<ShownCandidate>,
}

/// A candidate as an earlier pack showed it.
#[derive(Clone, PartialEq, Eq)]
pub struct ShownCandidate {
    /// Its layer.
    pub layer: Arc<str>,
    /// The candidate.
    pub id: CandidateId,
    /// What was shown of it: parts of the item's body and the text between them. Empty when the
    /// candidate's whole text was shown.
    pub content: Vec<Segment>,
}

impl fmt::Debug for ShownCandidate {
    /// Receipts hash this output, so the name in it must not change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShownCandidate { layer, id, content } = self;
        let mut shown = f.debug_struct("Shown");
        shown.field("layer", layer).field("id", id).field("content", content).finish()
    }
}

/// A part of the shown text of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A span of the item's body.
    Body(Span),
    /// Text that is not from the body: a repeated heading, an omission mark.
    Words(String),
}

/// Everything that determines a pack. The result depends on neither the clock, chance nor the order
/// of the input.
#[derive(Debug, Clone)]
pub struct PackRequest {
    /// The user's query; may be empty.
    pub query: String,
    /// The query's terms, for extractive truncation.
    pub query_terms: Vec<String>,
    /// The tokenizer that counts.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// The token budget.
    pub budget: Budget,
    /// What to do when pinned layers exceed the budget.
    pub overflow: Overflow,
    /// Layers with their ranked candidates, in the order of the pack.
    pub layers: Vec<(Layer, Vec<Ranked>)>,
    /// Candidates dropped earlier, for the ledger.
    pub dropped: Vec<Dropped>,
    /// Text before and after the sections.
    pub frame: Frame,
    /// Which candidates are fenced.
    pub fencing: Fencing,
    /// The seed of the fences' nonce, such as a workspace's secret.
    pub seed: String,
    /// How candidates are selected.
    pub selector: Selector,
    /// When to stop early; only for [`Selector::Greedy`].
    pub stop: Option<Stop>,
    /// The previous pack of the conversation.
    pub previous: Option<Previous>,
    /// Ends the pack early. It does not influence what is packed.
    pub cancel: CancelFlag,
}

impl PackRequest {
    /// An empty request: no query, no layers, untrusted text fenced, greedy selection.
    #[must_use]
    pub fn new(tokenizer: Arc<dyn Tokenizer>, budget: Budget) -> PackRequest {
        PackRequest {
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
            cancel: CancelFlag::default(),
        }
    }

    /// Which of a layer's candidates are fenced.
    pub(crate) fn fencing_of(&self, layer: &Layer) -> Fencing {
        layer.fencing.unwrap_or(self.fencing)
    }

    pub(crate) fn active_stop(&self) -> Option<Stop> {
        // A stop at a fill of zero would exclude everything at any budget, so it is ignored.
        self.stop.filter(|stop| self.selector == Selector::Greedy && stop.fill > Share::ZERO)
    }
}

/// Why a pack cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackError {
    /// The pinned layers do not fit, or no candidate fits although one is required.
    #[error("a budget of {total} tokens is too small; the smallest that works is {least}")]
    Infeasible {
        /// The budget, reserves included.
        total: Tokens,
        /// The smallest budget that works, reserves included.
        least: Tokens,
    },
    /// Two layers have the same name.
    #[error("two layers are called {name:?}")]
    LayerTwice {
        /// The name.
        name: String,
    },
    /// The layers' shares add up to more than 100 %.
    #[error("the layers' shares add up to {}.{:04} %, more than 100 %", millionths / 10_000, millionths % 10_000)]
    SharesExceedAll {
        /// Their sum in millionths.
        millionths: u64,
    },
    /// A limit is exceeded.
    #[error("{count} {what} exceed the limit of {limit}")]
    TooMany {
        /// What is limited.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Nobody waits for the pack any more.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
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
    /// How accurate that count is.
    pub accuracy: Accuracy,
    /// The token limit: the budget minus its reserves.
    pub limit: Tokens,
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// Its citations, in the order of the text.
    pub citations: Vec<Citation>,
    /// The outcome of each candidate.
    pub ledger: Vec<Entry>,
    /// Notices for the caller.
    pub notices: Vec<PackNotice>,
    /// The value of the selection.
    pub worth: Worth,
    /// Hashes of everything it was made from.
    pub receipt: PackReceipt,
    /// State to pass to the next pack of the same conversation.
    pub previous: Previous,
}

impl Pack {
    /// How many items it shows.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.sections.iter().map(|section| section.items.len()).sum()
    }
}

/// The value of a selection, with an upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The sum of the selected scores; a shortened text counts in proportion to what was kept.
    pub value: f64,
    /// An upper bound on the value of any selection within this budget.
    pub bound: f64,
    /// The total value of all candidates.
    pub all: f64,
}

impl Worth {
    /// The optimality gap: how far the value is below the bound, relative to the bound.
    #[must_use]
    pub fn gap(&self) -> Score {
        if self.bound > 0.0 { Score::unit(1.0 - self.value / self.bound) } else { Score::ZERO }
    }

    /// The selected share of the total value.
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
    /// Candidates in it, whole or truncated.
    pub n_items: usize,
    /// The value of the selection.
    pub worth: Worth,
}

/// The budget-independent part of packing, computed once: order, rendering, costs and schedule.
#[derive(Debug)]
pub struct Plan<'r> {
    pub(crate) request: &'r PackRequest,
    pub(crate) layout: Layout<'r>,
    pub(crate) schedule: Schedule,
    /// Candidates excluded up front: without text, or already in another layer.
    pub(crate) aside: Vec<(usize, &'r Ranked, Reason)>,
    /// Whether precomputed token counts were used.
    trust_counts: bool,
}

impl<'r> Plan<'r> {
    /// Ranks, renders, measures and schedules.
    ///
    /// # Errors
    /// When two layers share a name, the shares exceed 100 %, or a limit is exceeded.
    pub fn new(request: &'r PackRequest) -> Result<Plan<'r>, PackError> {
        check_request(request)?;
        Ok(Plan::build(request, true)?)
    }

    fn build(request: &'r PackRequest, trust_counts: bool) -> Result<Plan<'r>, Cancelled> {
        let (ranked, aside) = sort_and_set_aside(request);
        let mut layout = Layout::new(request, &ranked, trust_counts)?;
        let schedule = Schedule::new(request, &mut layout);
        Ok(Plan { request, layout, schedule, aside, trust_counts })
    }

    /// The smallest budget at which the pinned layers fit. It includes the reserves, unless pinned
    /// layers may use them up ([`Overflow::Exceed`]).
    #[must_use]
    pub fn least(&self) -> Tokens {
        match self.request.overflow {
            Overflow::Refuse => self.schedule.least() + self.request.budget.reserved(),
            Overflow::Exceed => self.schedule.least(),
        }
    }

    /// The smallest budget at which a pack is not empty: everything pinned fits or, if nothing is
    /// pinned, at least the beginning of one candidate (K5).
    #[must_use]
    pub fn least_shown(&self) -> Tokens {
        if !self.must_show() {
            return self.least();
        }
        let (mut low, mut high) =
            (self.schedule.least(), self.schedule.needs(0, self.request.active_stop()));
        // Without proved seams, a text may have more tokens than its parts.
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

    /// Whether nothing is pinned although there are candidates.
    fn must_show(&self) -> bool {
        let is_pinned =
            |unit: &LayoutUnit<'_>| self.request.layers[unit.layer].0.claim == Claim::Pinned;
        !self.schedule.steps.is_empty() && !self.layout.units.iter().any(is_pinned)
    }

    /// Whether a pack within `limit` has an item.
    fn shows_something(&self, limit: Tokens) -> bool {
        if self.request.tokenizer.seams_are_proved() {
            return select(self.request, &self.layout, &self.schedule, limit).n_items() > 0;
        }
        let total = limit + self.request.budget.reserved();
        let within = self.pack_within(total, limit);
        within.is_some_and(|pack| pack.tokens <= limit && pack.n_items() > 0)
    }

    /// The budget, reserves included, above which the pack no longer grows.
    #[must_use]
    pub fn most(&self) -> Tokens {
        self.schedule.most(self.request.active_stop()) + self.request.budget.reserved()
    }

    /// The pack at the request's own budget.
    ///
    /// # Errors
    /// When the pinned layers do not fit and the request does not allow them to exceed the budget.
    pub fn pack(&self) -> Result<Pack, PackError> {
        self.pack_at(self.request.budget.total())
    }

    /// The pack at another budget, identical to that of a request with that budget.
    ///
    /// # Errors
    /// As [`Plan::pack`].
    pub fn pack_at(&self, total: Tokens) -> Result<Pack, PackError> {
        let rebuilt = || Plan::build(self.request, false)?.pack_at(total);
        let spendable = match self.spendable(total) {
            // A precomputed count may be too large, so confirm that the budget is infeasible.
            Err(_) if self.trust_counts && self.has_precomputed_counts() => return rebuilt(),
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

    /// The pack at a budget; fails when the budget is so small that the pack would be empty. The
    /// budget named in the error gives a pack that is not.
    ///
    /// # Errors
    /// As [`Plan::pack`], and when no candidate fits.
    pub fn pack_shown_at(&self, total: Tokens) -> Result<Pack, PackError> {
        match self.pack_at(total) {
            Ok(pack) if pack.n_items() > 0 || !self.must_show() => Ok(pack),
            Ok(_) => {
                // Precomputed counts may be wrong, and the budget in the error must be right.
                let least = match self.trust_counts && self.has_precomputed_counts() {
                    true => Plan::build(self.request, false)?.least_shown(),
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

    /// The pack within `spendable` tokens, or the pinned layers alone if they need more; `None`
    /// when a precomputed count turned out to be wrong.
    fn pack_within(&self, total: Tokens, spendable: Tokens) -> Option<Pack> {
        let mut limit = spendable;
        loop {
            let selection = self.selection(total, limit);
            let pack = crate::assemble::assemble(self, &selection, total, spendable);
            if self.had_wrong_counts(&selection, &pack) {
                return None;
            }
            let over = pack.tokens.saturating_sub(spendable);
            if over == Tokens::ZERO {
                return Some(pack);
            }
            // Reached only without proved seams: retry with a smaller limit, or pinned layers
            // alone.
            if selection.is_bare() || limit == Tokens::ZERO {
                let bare = Selection::pinned_only(self.request, &self.layout, &self.schedule);
                return Some(crate::assemble::assemble(self, &bare, total, spendable));
            }
            limit = limit.saturating_sub(over);
        }
    }

    fn has_precomputed_counts(&self) -> bool {
        self.layout.units.iter().any(|unit| !unit.ranked.candidate.counted.is_empty())
    }

    /// Whether a precomputed token count turned out to be wrong.
    fn had_wrong_counts(&self, selection: &Selection, pack: &Pack) -> bool {
        let tokenizer = &self.request.tokenizer;
        let agrees = pack.tokens == tokenizer.tokens(selection.units);
        let misled = !agrees
            && self.trust_counts
            && tokenizer.seams_are_proved()
            && self.has_precomputed_counts();
        debug_assert!(
            agrees || misled || !tokenizer.seams_are_proved(),
            "the tally equals the count of the final string"
        );
        misled
    }

    /// Size and value at many budgets, each identical to those of a pack at that budget.
    ///
    /// # Errors
    /// When a budget is too small.
    pub fn frontier(&self, totals: &[Tokens]) -> Result<Vec<Point>, PackError> {
        let Some(&largest) = totals.iter().max() else { return Ok(Vec::new()) };
        // One real count, at the largest budget, verifies the precomputed counts.
        let limit = self.spendable(largest)?;
        let selection = self.selection(largest, limit);
        let pack = crate::assemble::assemble(self, &selection, largest, limit);
        if self.had_wrong_counts(&selection, &pack) {
            return Plan::build(self.request, false)?.frontier(totals);
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

    /// The tokens of a budget that a pack may use. Only pinned layers may use up the reserves, and
    /// only with [`Overflow::Exceed`] (P2).
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

    /// The selection within a limit. When pinned layers use up the reserves, nothing else is
    /// selected: not even in place of the text of an empty section.
    fn selection(&self, total: Tokens, limit: Tokens) -> Selection {
        let room = total.checked_sub(self.request.budget.reserved());
        if room.is_none_or(|room| room < self.schedule.least()) {
            return Selection::pinned_only(self.request, &self.layout, &self.schedule);
        }
        select(self.request, &self.layout, &self.schedule, limit)
    }

    pub(crate) fn worth(&self, selection: &Selection) -> Worth {
        let all = self.schedule.value_of_all();
        Worth { value: selection.value, bound: selection.bound, all }
    }
}

/// Plans and packs in one call.
///
/// # Errors
/// As [`Plan::new`] and [`Plan::pack`].
pub fn pack(request: &PackRequest) -> Result<Pack, PackError> {
    Plan::new(request)?.pack()
}

fn check_request(request: &PackRequest) -> Result<(), PackError> {
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

/// A candidate excluded up front, with its layer's index and the reason.
type SetAside<'r> = (usize, &'r Ranked, Reason);

/// Sorts each layer's candidates and sets aside those without text and duplicates: a candidate
/// belongs to a pinned layer, else to the first layer, at its best rank.
fn sort_and_set_aside(request: &PackRequest) -> (Vec<Vec<&Ranked>>, Vec<SetAside<'_>>) {
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
                // Absent because it has no text.
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

/// The layer and rank where each id with a text occurs first, pinned layers before others, sorted
/// by id.
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
