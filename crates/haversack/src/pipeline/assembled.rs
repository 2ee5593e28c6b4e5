//! A pack with everything that is reported about it. Every recipe's result is made from this.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::assemble::Section;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::ledger::{Entry, Outcome, PackNotice, Reason};
use haversack_core::pack::{Pack, PackError, PackRequest, Plan};
use haversack_core::query::Analysis;
use haversack_core::rank::Ranked;
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_provider::UsageByRole;
use haversack_store::kinds::Kinds;
use haversack_store::store::item::Stored;
use serde_json::{Map, Value, json};

use super::quality::Quality;
use super::run::PreparedPack;
use super::{hints, outline};
use crate::collect::Outline;
use crate::error::Error;
use crate::models::ModelAnswers;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{LayerSpec, Recipe, TemplateSpec};
use crate::request::Request;
use crate::revision::RevisionId;

/// The duration of each stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Analysing the request.
    pub analyse: Duration,
    /// Embedding the query.
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
    /// The duration of all stages together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.analyse + self.embed + self.collect + self.measure + self.rank + self.pack
    }

    /// The stages by name, in order.
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

/// Statistics of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whether it is always in, whole.
    pub pinned: bool,
    /// Tokens of its section, headers included.
    pub tokens: Tokens,
    /// Tokens of its candidates when whole.
    pub wanted: Tokens,
    /// Tokens of its candidates as they are in the pack.
    pub given: Tokens,
    /// How many candidates it had.
    pub candidates: usize,
    /// How many are in the pack, whole or truncated.
    pub items: usize,
    /// How many were left out for lack of room.
    pub removed: usize,
    /// How many are in the pack, truncated.
    pub cut: usize,
}

impl LayerReport {
    /// Whether anything was left out or truncated for lack of room.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.removed > 0 || self.cut > 0
    }

    /// The percentage of tokens that were left out.
    fn percent_lost(&self) -> u32 {
        100 - (100 * u64::from(self.given.get()) / u64::from(self.wanted.get().max(1)))
            .try_into()
            .unwrap_or(100)
            .min(100)
    }

    /// What it lost, as a notice's details.
    pub(crate) fn truncation_details(&self) -> Value {
        json!({
            "category": self.name,
            "originalTokens": self.wanted.get(),
            "finalTokens": self.given.get(),
            "itemsRemoved": self.removed,
        })
    }
}

/// What changed since the previous pack of the same conversation (P17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackDelta {
    /// The receipt of the previous pack.
    pub previous: String,
    /// How many bytes at the beginning are unchanged: a prompt cache can reuse them.
    pub kept_bytes: usize,
    /// Candidates that are new.
    pub added: Vec<CandidateId>,
    /// Candidates that are gone.
    pub removed: Vec<CandidateId>,
}

/// A pack with everything that is reported about it.
#[derive(Debug)]
pub struct Assembled {
    /// The recipe it was made by.
    pub recipe: Arc<Recipe>,
    /// A hash of that recipe, templates and rankers included.
    pub recipe_hash: String,
    /// The request.
    pub request: Request,
    /// The analysis of the query.
    pub analysis: Analysis,
    /// The number of the workspace's state; not for every viewer to see.
    pub revision: u64,
    /// The viewer's id for the state.
    pub state: RevisionId,
    /// The time of the request.
    pub now: Timestamp,
    /// The pack itself.
    pub pack: Pack,
    /// The reranker's name, where one was used.
    pub reranker: Option<String>,
    /// How likely it is that the candidates are relevant to the query, where it was measured.
    pub relevance: Option<Score>,
    /// The request to core's packing, with candidates and their scores.
    pub core: PackRequest,
    /// The workspace's kinds.
    pub kinds: Arc<Kinds>,
    /// Statistics of each layer, in the recipe's order.
    pub layers: Vec<LayerReport>,
    /// The collectors that answered.
    pub collectors: Vec<String>,
    /// What collectors report beside candidates, by layer and collector: rules that were evaluated,
    /// relations that were followed.
    pub facts: BTreeMap<String, Value>,
    /// The fields of stored items that are in, where the recipe's shape shows them.
    pub fields: BTreeMap<ItemId, Map<String, Value>>,
    /// What is linked with items that are in, where the recipe's shape shows it.
    pub related: BTreeMap<ItemId, Stored>,
    /// Excerpts of packed candidates, where the recipe's shape shows them; hits are between `<<<`
    /// and `>>>`.
    pub excerpts: BTreeMap<CandidateId, String>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
    /// The duration of each stage.
    pub timings: Timings,
    /// What changed since the previous pack, if there was one.
    pub delta: Option<PackDelta>,
    /// What remote models answered, for the receipt.
    pub model_answers: ModelAnswers,
    /// What was used of remote models.
    pub model_usage: UsageByRole,
    /// The tokens of the text by the provider's own count, where one is configured.
    pub provider_count: Option<ProviderCount>,
}

/// A count of tokens by a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCount {
    /// The model and its provider.
    pub counter: String,
    /// The tokens, those of one message's own included.
    pub tokens: u64,
}

/// Selects and assembles the pack. Its inputs are bounded, so this needs no thread of its own.
pub(crate) fn select_and_assemble(mut prepared: PreparedPack) -> Result<Assembled, Error> {
    let started = std::time::Instant::now();
    let pack = match pack_at_own_budget(&prepared.core) {
        Err(PackError::Infeasible { total, least }) => {
            return Err(budget_too_small(&prepared, total, least));
        }
        pack => pack?,
    };
    prepared.timings.pack = started.elapsed();
    Ok(describe_pack(prepared, pack))
}

/// Packs a request at its own budget; the pack is not empty if anything fits.
fn pack_at_own_budget(core: &PackRequest) -> Result<Pack, PackError> {
    Plan::new(core)?.pack_shown_at(core.budget.total())
}

/// How often the least budget is searched anew, as recipes adapt to the budget.
const LEAST_BUDGET_TRIES: usize = 8;

/// Makes the error that names the least budget that works, with the recipe adapted to that budget.
pub(crate) fn budget_too_small(prepared: &PreparedPack, total: Tokens, mut least: Tokens) -> Error {
    for _ in 0..LEAST_BUDGET_TRIES {
        let within = match prepared.with_budget(least) {
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
        match pack_at_own_budget(&within.core) {
            Err(PackError::Infeasible { least: more, .. }) if more > least => least = more,
            _ => break,
        }
    }
    Error::Pack(PackError::Infeasible { total, least })
}

/// Adds reports and notices to a pack.
pub(crate) fn describe_pack(prepared: PreparedPack, pack: Pack) -> Assembled {
    let PreparedPack { core, ready, question, used, facts, mut notices, outlines, .. } = prepared;
    let (reranker, relevance, timings) = (prepared.reranker, prepared.relevance, prepared.timings);
    let recipe = Arc::clone(&ready.recipe);
    let layers: Vec<LayerReport> =
        recipe.layers.iter().map(|spec| layer_report(spec, &pack)).collect();
    notices.extend(pack.notices.iter().filter_map(|notice| engine_notice(notice, &core)));
    notices.extend(reserves_used_notice(&pack, &core));
    notices.extend(truncation_notice(&pack, &recipe, &layers, &core));
    notices.extend(shortfall_notices(&question.request, &outlines, &pack));
    let (model_answers, used_models) = prepared.models.so_far();
    let degraded = used_models.notes.iter();
    notices.extend(degraded.map(|note| Notice::new(NoticeCode::Degraded, *note)));
    Assembled {
        recipe_hash: ready.hash.clone(),
        recipe,
        analysis: question.analysis,
        kinds: Arc::clone(question.snapshot.kinds()),
        revision: question.snapshot.revision().get(),
        state: RevisionId::for_viewer(&*question.snapshot, &question.request.viewer),
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
        model_answers,
        model_usage: used_models.by_role,
        provider_count: None,
    }
}

/// Returns notices about named items that are in the pack in part or not at all.
fn shortfall_notices(request: &Request, outlines: &[Outline], pack: &Pack) -> Vec<Notice> {
    let items = pack.sections.iter().flat_map(|section| &section.items);
    let shown: BTreeSet<&ItemId> = items.map(|item| &item.id.item).collect();
    let found: BTreeSet<&ItemId> = pack.ledger.iter().map(|entry| &entry.id.item).collect();
    let is_shown = |id: &ItemId| shown.contains(id);
    let cut = outline::partial_outline_notices(outlines, is_shown);
    cut.chain(hints::left_out_notice(request, &found, is_shown)).collect()
}

fn layer_report(spec: &LayerSpec, pack: &Pack) -> LayerReport {
    let section = pack.sections.iter().find(|section| *section.layer == *spec.name);
    let entries: Vec<&Entry> =
        pack.ledger.iter().filter(|entry| *entry.layer == *spec.name).collect();
    let was_wanted = |entry: &&&Entry| match &entry.outcome {
        Outcome::In | Outcome::Cut { .. } => true,
        Outcome::Out(reason) => is_for_lack_of_room(reason),
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

/// Whether a candidate is out for lack of room.
fn is_for_lack_of_room(reason: &Reason) -> bool {
    match reason {
        Reason::OverBudget { .. } | Reason::FullEnough { .. } => true,
        // A cap of 0 turns the layer off.
        Reason::OverCap { cap, .. } => *cap > Tokens::ZERO,
        _ => false,
    }
}

/// Converts a notice of core's packing, except those that the engine reports itself.
fn engine_notice(notice: &PackNotice, core: &PackRequest) -> Option<Notice> {
    match notice {
        PackNotice::OverBudget { tokens, limit } => {
            let total = core.budget.total();
            let message = format!("pinned text has {tokens} tokens, over the limit of {limit}");
            let details = json!({
                "tokens": tokens.get(),
                "limit": limit.get(),
                "budget": total.get(),
            });
            Some(Notice { details, ..Notice::new(NoticeCode::OverBudget, message) })
        }
        PackNotice::Truncated { .. } | PackNotice::Estimated { .. } => None,
    }
}

/// Returns a notice when pinned text used reserved tokens (P2).
fn reserves_used_notice(pack: &Pack, core: &PackRequest) -> Option<Notice> {
    let (total, reserved) = (core.budget.total(), core.budget.reserved());
    let is_within = pack.tokens <= pack.limit;
    (is_within && pack.limit > core.budget.spendable()).then(|| {
        let left = total.saturating_sub(pack.tokens);
        let message = format!(
            "pinned text has {} of {total} tokens, so {left} of the {reserved} reserved tokens are left",
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

/// Returns the truncated layers in the order in which they give way (P4).
pub(crate) fn truncated_layers<'l>(
    recipe: &Recipe,
    layers: &'l [LayerReport],
) -> Vec<&'l LayerReport> {
    let spill = |report: &LayerReport| {
        let spec = recipe.layers.iter().find(|spec| spec.name == report.name);
        spec.map_or(0, |spec| spec.spill)
    };
    let mut truncated: Vec<&LayerReport> =
        layers.iter().filter(|report| report.is_truncated()).collect();
    truncated.sort_by_key(|report| std::cmp::Reverse(spill(report)));
    truncated
}

/// Returns one notice for all truncated layers, when one of them lost much (P12).
fn truncation_notice(
    pack: &Pack,
    recipe: &Recipe,
    layers: &[LayerReport],
    core: &PackRequest,
) -> Option<Notice> {
    let much = |report: &LayerReport| {
        let is_much = |notice: &PackNotice| match notice {
            PackNotice::Truncated { layer, .. } => **layer == *report.name,
            _ => false,
        };
        pack.notices.iter().any(is_much)
    };
    let truncated = truncated_layers(recipe, layers);
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
        details: truncated.iter().map(|report| report.truncation_details()).collect(),
        suggestions,
        ..Notice::new(NoticeCode::ContextTruncated, format!("{parts} did not fit"))
    })
}

/// Suggests what to do about a truncated layer (P12). `cap` is the one that applied.
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

/// Whether an id is of an item that was made from a request.
pub(super) fn is_synthetic_id(item: &ItemId) -> bool {
    let id = item.as_str();
    matches!(id, "situation" | "assembly") || id.starts_with("turn:")
}

impl Assembled {
    /// The final string.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.pack.text
    }

    /// The receipt's id.
    #[must_use]
    pub fn receipt(&self) -> String {
        self.pack.receipt.to_string()
    }

    /// Measures the pack's quality. This takes a moment for a large pack.
    #[must_use]
    pub fn quality(&self) -> Quality {
        Quality::measure(&self.pack, &self.core, self.relevance, self.now)
    }

    /// Returns a ranked candidate by its id.
    #[must_use]
    pub fn ranked(&self, id: &CandidateId) -> Option<&Ranked> {
        let mut all = self.core.layers.iter().flat_map(|(_, ranked)| ranked);
        all.find(|ranked| ranked.candidate.id == *id)
    }

    /// Returns a candidate's text as the pack shows it, without template and fence: the whole text,
    /// its essential form, or the truncated text.
    #[must_use]
    pub fn content(&self, item: &haversack_core::assemble::PackedItem) -> String {
        item.short_text.clone().unwrap_or_else(|| {
            self.ranked(&item.id).map_or(String::new(), |ranked| ranked.candidate.text.to_string())
        })
    }

    /// Whether an item was made from the request rather than read from the store: a turn of its
    /// conversation, its situation.
    #[must_use]
    pub fn is_synthetic(&self, item: &ItemId) -> bool {
        is_synthetic_id(item)
    }

    /// Returns a layer's section, if the pack has it.
    #[must_use]
    pub fn section(&self, layer: &str) -> Option<&Section> {
        self.pack.sections.iter().find(|section| *section.layer == *layer)
    }

    /// Whether a collector or a model failed and the pack was made without it.
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

    /// Returns a layer's statistics.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<&LayerReport> {
        self.layers.iter().find(|report| report.name == name)
    }
}
