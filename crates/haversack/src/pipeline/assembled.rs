//! A pack with all that is known of it: what every recipe's result is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::assemble::Section;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::ledger::{Entry, Notice as CoreNotice, Outcome, Reason};
use haversack_core::pack::{Pack, PackError, Plan, Request as PackRequest};
use haversack_core::query::Analysis;
use haversack_core::rank::Ranked;
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_store::kinds::Kinds;
use haversack_store::store::item::Stored;
use serde_json::{Map, Value, json};

use super::quality::Quality;
use super::run::Prepared;
use super::{hints, outline};
use crate::collect::Outline;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{LayerSpec, Recipe, TemplateSpec};
use crate::request::Request;
use crate::revision::RevisionId;

/// How long each step took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Reading the request.
    pub analyse: Duration,
    /// Making the query's vector.
    pub embed: Duration,
    /// Collecting.
    pub collect: Duration,
    /// Measuring.
    pub measure: Duration,
    /// Ranking.
    pub rank: Duration,
    /// Selecting and assembling.
    pub pack: Duration,
}

impl Timings {
    /// All steps together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.analyse + self.embed + self.collect + self.measure + self.rank + self.pack
    }

    /// The steps by name, in order.
    #[must_use]
    pub const fn steps(&self) -> [(&'static str, Duration); 6] {
        [
            ("analyse", self.analyse),
            ("embed", self.embed),
            ("collect", self.collect),
            ("measure", self.measure),
            ("rank", self.rank),
            ("pack", self.pack),
        ]
    }
}

/// What became of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whether all of it is always in.
    pub pinned: bool,
    /// Tokens of its section, headers included.
    pub tokens: Tokens,
    /// What its candidates would have cost whole.
    pub wanted: Tokens,
    /// What they cost as they are in.
    pub given: Tokens,
    /// How many were found and considered.
    pub candidates: usize,
    /// How many are in, whole or cut.
    pub items: usize,
    /// How many are not in because there was no room.
    pub removed: usize,
    /// How many are in, shortened.
    pub cut: usize,
}

impl LayerReport {
    /// Whether room was missing.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.removed > 0 || self.cut > 0
    }

    /// How much of what was wanted is not there.
    fn percent_lost(&self) -> u32 {
        100 - (100 * u64::from(self.given.get()) / u64::from(self.wanted.get().max(1)))
            .try_into()
            .unwrap_or(100)
            .min(100)
    }

    /// What it lost, in figures.
    pub(crate) fn truncation(&self) -> Value {
        json!({
            "category": self.name,
            "originalTokens": self.wanted.get(),
            "finalTokens": self.given.get(),
            "itemsRemoved": self.removed,
        })
    }
}

/// What changed since the pack before this one of the same conversation (P17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The receipt of the pack before.
    pub previous: String,
    /// How many bytes at the beginning are the same: what a prompt cache pays for, and what need
    /// not be sent again.
    pub kept_bytes: usize,
    /// Candidates that are new.
    pub added: Vec<CandidateId>,
    /// Candidates that are gone.
    pub removed: Vec<CandidateId>,
}

/// A pack with all that is known of it.
#[derive(Debug)]
pub struct Assembled {
    /// The recipe it was made by.
    pub recipe: Arc<Recipe>,
    /// A hash of that recipe, templates and rankers included.
    pub recipe_hash: String,
    /// What was asked.
    pub request: Request,
    /// What the query was found to say.
    pub analysis: Analysis,
    /// The state of the workspace, by its number, which is not for everybody to know.
    pub revision: u64,
    /// What the viewer is told of the state.
    pub state: RevisionId,
    /// What time it was.
    pub now: Timestamp,
    /// The pack itself.
    pub pack: Pack,
    /// Who read the best once more, where somebody does.
    pub reranker: Option<String>,
    /// How likely it is that what was found has to do with the query, where it was measured.
    pub relevance: Option<Score>,
    /// What decided the pack, candidates and their scores included.
    pub core: PackRequest,
    /// The kinds that its workspace knows.
    pub kinds: Arc<Kinds>,
    /// What became of each layer, in the recipe's order.
    pub layers: Vec<LayerReport>,
    /// The collectors that answered.
    pub collectors: Vec<String>,
    /// What collectors say beside candidates, by layer and collector: rules that were judged,
    /// relations that were followed.
    pub facts: BTreeMap<String, Value>,
    /// The fields of stored items that are in, where the recipe's shape shows them.
    pub fields: BTreeMap<ItemId, Map<String, Value>>,
    /// What is linked with items that are in, where the recipe's shape shows it.
    pub related: BTreeMap<ItemId, Stored>,
    /// The most telling stretches of candidates that are in, where the recipe's shape shows them;
    /// hits stand between `<<<` and `>>>`.
    pub excerpts: BTreeMap<CandidateId, String>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
    /// How long it took.
    pub timings: Timings,
    /// What changed since the pack before, when there was one.
    pub delta: Option<Delta>,
}

/// What decided a pack is bounded; the time for it is not worth a thread of its own.
pub(crate) fn finish(mut prepared: Prepared) -> Result<Assembled, Error> {
    let started = std::time::Instant::now();
    let pack = match shown_pack(&prepared.core) {
        Err(PackError::Infeasible { total, least }) => {
            return Err(too_small(&prepared, total, least));
        }
        pack => pack?,
    };
    prepared.timings.pack = started.elapsed();
    Ok(assembled(prepared, pack))
}

/// The pack of a request at its own budget, which shows something if there is anything to show.
fn shown_pack(core: &PackRequest) -> Result<Pack, PackError> {
    Plan::new(core)?.pack_shown_at(core.budget.total())
}

/// How often a least budget is looked for anew, because a recipe is another one at that budget.
const LEAST_TRIES: usize = 8;

/// The error that names the least budget: one that does, with all that the recipe and the model make
/// of it.
pub(crate) fn too_small(prepared: &Prepared, total: Tokens, mut least: Tokens) -> Error {
    for _ in 0..LEAST_TRIES {
        let within = match prepared.within(least) {
            Ok(within) => within,
            Err(error) => return error,
        };
        let room = within.core.budget.total();
        if room < least {
            let message = format!(
                "has room for {room} tokens of context, and this needs at least {least}: name \
                 another model, or reserve less"
            );
            return Error::invalid("model", message);
        }
        match shown_pack(&within.core) {
            Err(PackError::Infeasible { least: more, .. }) if more > least => least = more,
            _ => break,
        }
    }
    Error::Pack(PackError::Infeasible { total, least })
}

/// A pack that was made of all this, with what is known of it.
pub(crate) fn assembled(prepared: Prepared, pack: Pack) -> Assembled {
    let Prepared { core, ready, question, used, facts, mut notices, outlines, .. } = prepared;
    let (reranker, relevance, timings) = (prepared.reranker, prepared.relevance, prepared.timings);
    let recipe = Arc::clone(&ready.recipe);
    let layers: Vec<LayerReport> = recipe.layers.iter().map(|spec| report(spec, &pack)).collect();
    notices.extend(pack.notices.iter().filter_map(|notice| translate(notice, &core)));
    notices.extend(reserves_used(&pack, &core));
    notices.extend(truncation(&pack, &recipe, &layers, &core));
    notices.extend(shortfalls(&question.request, &outlines, &pack));
    Assembled {
        recipe_hash: ready.hash.clone(),
        recipe,
        analysis: question.analysis,
        kinds: Arc::clone(question.snapshot.kinds()),
        revision: question.snapshot.revision().get(),
        state: RevisionId::of(&*question.snapshot, &question.request.viewer),
        now: question.now,
        request: question.request,
        reranker,
        relevance,
        pack,
        core,
        layers,
        collectors: used,
        facts,
        fields: BTreeMap::new(),
        related: BTreeMap::new(),
        excerpts: BTreeMap::new(),
        notices,
        timings,
        delta: None,
    }
}

/// What the request asked for by name and the pack has in part or not at all.
fn shortfalls(request: &Request, outlines: &[Outline], pack: &Pack) -> Vec<Notice> {
    let items = pack.sections.iter().flat_map(|section| &section.items);
    let shown: BTreeSet<&ItemId> = items.map(|item| &item.id.item).collect();
    let found: BTreeSet<&ItemId> = pack.ledger.iter().map(|entry| &entry.id.item).collect();
    let is_shown = |id: &ItemId| shown.contains(id);
    let cut = outline::notices(outlines, is_shown);
    cut.chain(hints::left_out(request, &found, is_shown)).collect()
}

fn report(spec: &LayerSpec, pack: &Pack) -> LayerReport {
    let section = pack.sections.iter().find(|section| *section.layer == *spec.name);
    let entries: Vec<&Entry> =
        pack.ledger.iter().filter(|entry| *entry.layer == *spec.name).collect();
    let was_wanted = |entry: &&&Entry| match &entry.outcome {
        Outcome::In | Outcome::Cut { .. } => true,
        Outcome::Out(reason) => is_for_room(reason),
    };
    let wanted: Vec<&Entry> = entries.iter().filter(was_wanted).copied().collect();
    let is_out = |entry: &&&Entry| matches!(entry.outcome, Outcome::Out(_));
    let is_cut = |entry: &&&Entry| matches!(entry.outcome, Outcome::Cut { .. });
    LayerReport {
        name: spec.name.clone(),
        title: spec.title.clone(),
        pinned: spec.pinned,
        tokens: section.map_or(Tokens::ZERO, |section| section.tokens),
        wanted: wanted.iter().map(|entry| entry.tokens_whole).sum(),
        given: wanted.iter().map(|entry| entry.tokens).sum(),
        candidates: entries.len(),
        items: section.map_or(0, |section| section.items.len()),
        removed: wanted.iter().filter(is_out).count(),
        cut: wanted.iter().filter(is_cut).count(),
    }
}

/// Whether a candidate is out for want of room, and not for what it is.
fn is_for_room(reason: &Reason) -> bool {
    match reason {
        Reason::OverBudget { .. } | Reason::FullEnough { .. } => true,
        // A cap of nothing says that the layer is not wanted.
        Reason::OverCap { cap, .. } => *cap > Tokens::ZERO,
        _ => false,
    }
}

/// A notice of the pack in the engine's words; what is said elsewhere is left out.
fn translate(notice: &CoreNotice, core: &PackRequest) -> Option<Notice> {
    match notice {
        CoreNotice::OverBudget { tokens, limit } => {
            let total = core.budget.total();
            let message =
                format!("what is never cut has {tokens} tokens, more than the {limit} there are");
            let details = json!({
                "tokens": tokens.get(),
                "limit": limit.get(),
                "budget": total.get(),
            });
            Some(Notice { details, ..Notice::new(NoticeCode::OverBudget, message) })
        }
        CoreNotice::Truncated { .. } | CoreNotice::Estimated { .. } => None,
    }
}

/// Says so when what is never cut took room that was reserved (P2).
fn reserves_used(pack: &Pack, core: &PackRequest) -> Option<Notice> {
    let (total, reserved) = (core.budget.total(), core.budget.reserved());
    let is_within = pack.tokens <= pack.limit;
    (is_within && pack.limit > core.budget.spendable()).then(|| {
        let left = total.saturating_sub(pack.tokens);
        let message = format!(
            "what is never cut has {} of {total} tokens, so {left} are left of the {reserved} that \
             are reserved",
            pack.tokens
        );
        let details = json!({
            "tokens": pack.tokens.get(),
            "budget": total.get(),
            "reserved": reserved.get(),
            "left": left.get(),
        });
        Notice { details, ..Notice::new(NoticeCode::ReservesUsed, message) }
    })
}

/// The layers that lost something, those first that are cut first (P4).
pub(crate) fn truncated<'l>(recipe: &Recipe, layers: &'l [LayerReport]) -> Vec<&'l LayerReport> {
    let spill = |report: &LayerReport| {
        let spec = recipe.layers.iter().find(|spec| spec.name == report.name);
        spec.map_or(0, |spec| spec.spill)
    };
    let mut truncated: Vec<&LayerReport> =
        layers.iter().filter(|report| report.is_truncated()).collect();
    truncated.sort_by_key(|report| std::cmp::Reverse(spill(report)));
    truncated
}

/// The one notice of all layers that lost something, when one of them lost much (P12).
fn truncation(
    pack: &Pack,
    recipe: &Recipe,
    layers: &[LayerReport],
    core: &PackRequest,
) -> Option<Notice> {
    let much = |report: &LayerReport| {
        let is_much = |notice: &CoreNotice| match notice {
            CoreNotice::Truncated { layer, .. } => **layer == *report.name,
            _ => false,
        };
        pack.notices.iter().any(is_much)
    };
    let truncated = truncated(recipe, layers);
    if !truncated.iter().any(|report| much(report)) {
        return None;
    }
    let parts: Vec<String> = truncated
        .iter()
        .filter(|report| much(report))
        .map(|report| format!("{} % of {}", report.percent_lost(), report.title.to_lowercase()))
        .collect();
    let parts = match &parts[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        parts => parts.concat(),
    };
    let mut suggestions = Vec::new();
    for report in truncated.iter().filter(|report| much(report)) {
        let spec = recipe.layers.iter().find(|spec| spec.name == report.name);
        let held = core.layers.iter().find(|(layer, _)| *layer.name == *report.name);
        let cap = held.and_then(|(layer, _)| layer.cap);
        let of_layer = spec.map(|spec| self::suggestions(spec, report, cap));
        suggestions.extend(of_layer.unwrap_or_default());
    }
    Some(Notice {
        details: truncated.iter().map(|report| report.truncation()).collect(),
        suggestions,
        ..Notice::new(NoticeCode::ContextTruncated, format!("{parts} did not fit"))
    })
}

/// What could be done about a truncated layer, fitting the case (P12). `cap` is the one that held.
fn suggestions(spec: &LayerSpec, report: &LayerReport, cap: Option<Tokens>) -> Vec<String> {
    let mut suggestions = Vec::new();
    let title = spec.title.to_lowercase();
    if let Some(cap) = cap {
        suggestions.push(format!("raise the cap of {title} above {cap} tokens"));
    }
    let newest = spec.collect.iter().any(|collector| collector.by == "newest");
    if newest && report.removed > 0 {
        let n = report.removed;
        suggestions.push(format!("remove or summarise the oldest {n} of {title}"));
    } else if report.removed > 0 {
        suggestions
            .push(format!("focus on the most relevant of {title}: {} left out", report.removed));
    }
    suggestions.push(format!(
        "a larger budget: {title} lacks {} tokens",
        report.wanted.saturating_sub(report.given)
    ));
    suggestions
}

impl Assembled {
    /// The final string.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.pack.text
    }

    /// The name of the receipt.
    #[must_use]
    pub fn receipt(&self) -> String {
        self.pack.receipt.to_string()
    }

    /// How good it is, in figures. Takes a moment for a large pack.
    #[must_use]
    pub fn quality(&self) -> Quality {
        Quality::of(&self.pack, &self.core, self.relevance, self.now)
    }

    /// A candidate that went on to selection, with its score.
    #[must_use]
    pub fn ranked(&self, id: &CandidateId) -> Option<&Ranked> {
        let mut all = self.core.layers.iter().flat_map(|(_, ranked)| ranked);
        all.find(|ranked| ranked.candidate.id == *id)
    }

    /// A candidate's text as it is in the pack, without what its template and its fence put around
    /// it: the whole text, its essential form, or what a cut left of it.
    #[must_use]
    pub fn content(&self, item: &haversack_core::assemble::Item) -> String {
        item.short_text.clone().unwrap_or_else(|| {
            self.ranked(&item.id).map_or(String::new(), |ranked| ranked.candidate.text.to_string())
        })
    }

    /// Whether an item is not of the store but was made from the request: a turn of its
    /// conversation, its situation.
    #[must_use]
    pub fn is_made_up(&self, item: &ItemId) -> bool {
        let id = item.as_str();
        matches!(id, "situation" | "assembly") || id.starts_with("turn:")
    }

    /// A layer's section, if it is in.
    #[must_use]
    pub fn section(&self, layer: &str) -> Option<&Section> {
        self.pack.sections.iter().find(|section| *section.layer == *layer)
    }

    /// Whether something that usually takes part could not.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        let missing = |code| matches!(code, NoticeCode::Degraded | NoticeCode::CollectorFailed);
        self.notices.iter().any(|notice| missing(notice.code))
    }

    /// The name of the first layer's template; `inline` when it is written out in the recipe.
    #[must_use]
    pub fn template_name(&self) -> String {
        match self.recipe.layers.first().map(|layer| &layer.template) {
            Some(TemplateSpec::Named(name)) => name.clone(),
            _ => "inline".to_owned(),
        }
    }

    /// A layer's report.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<&LayerReport> {
        self.layers.iter().find(|report| report.name == name)
    }
}
