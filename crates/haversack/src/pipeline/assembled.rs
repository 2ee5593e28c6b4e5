//! A pack with all that is known of it: what every recipe's result is made from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haversack_core::assemble::Section;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::ledger::{Entry, Notice as CoreNotice, Outcome, Reason};
use haversack_core::pack::{Pack, Request as PackRequest};
use haversack_core::query::Analysis;
use haversack_core::rank::Ranked;
use haversack_core::units::{Timestamp, Tokens};
use serde_json::{Map, Value, json};

use super::quality::Quality;
use super::run::Prepared;
use crate::collect::Deal;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{LayerSpec, Recipe, TemplateSpec};
use crate::request::Request;

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
    /// The state of the workspace.
    pub revision: u64,
    /// What time it was.
    pub now: Timestamp,
    /// The pack itself.
    pub pack: Pack,
    /// Who read the best once more, where somebody does.
    pub reranker: Option<String>,
    /// What decided the pack, candidates and their scores included.
    pub core: PackRequest,
    /// The deal, for proposals.
    pub deal: Option<Deal>,
    /// What became of each layer, in the recipe's order.
    pub layers: Vec<LayerReport>,
    /// The collectors that answered.
    pub collectors: Vec<String>,
    /// What collectors say beside candidates, by layer and collector: rules that were judged,
    /// relations that were followed.
    pub facts: BTreeMap<String, Value>,
    /// The fields of stored items that are in, where the recipe's shape shows them.
    pub fields: BTreeMap<ItemId, Map<String, Value>>,
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
    let pack = haversack_core::pack::pack(&prepared.core)?;
    prepared.timings.pack = started.elapsed();
    Ok(assembled(prepared, pack))
}

/// A pack that was made of all this, with what is known of it.
pub(crate) fn assembled(prepared: Prepared, pack: Pack) -> Assembled {
    let Prepared { core, ready, question, used, facts, mut notices, reranker, timings } = prepared;
    let recipe = Arc::clone(&ready.recipe);
    let layers: Vec<LayerReport> = recipe.layers.iter().map(|spec| report(spec, &pack)).collect();
    notices.extend(pack.notices.iter().filter_map(|notice| translate(notice, &recipe, &layers)));
    Assembled {
        recipe_hash: ready.hash.clone(),
        recipe,
        analysis: question.analysis,
        revision: question.snapshot.revision().get(),
        now: question.now,
        request: question.request,
        deal: question.deal,
        reranker,
        pack,
        core,
        layers,
        collectors: used,
        facts,
        fields: BTreeMap::new(),
        excerpts: BTreeMap::new(),
        notices,
        timings,
        delta: None,
    }
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
const fn is_for_room(reason: &Reason) -> bool {
    matches!(reason, Reason::OverBudget { .. } | Reason::OverCap { .. } | Reason::FullEnough { .. })
}

/// A notice of the pack in the engine's words; what the engine has said already is left out.
fn translate(notice: &CoreNotice, recipe: &Recipe, layers: &[LayerReport]) -> Option<Notice> {
    match notice {
        CoreNotice::Truncated { layer, wanted, given } => {
            let report = layers.iter().find(|report| *report.name == **layer)?;
            let spec = recipe.layers.iter().find(|spec| *spec.name == **layer)?;
            let lost = 100 - 100 * given.get() / wanted.get().max(1);
            let message = format!("{lost} % of {} did not fit", spec.title.to_lowercase());
            Some(Notice {
                details: json!({
                    "category": report.name,
                    "originalTokens": wanted.get(),
                    "finalTokens": given.get(),
                    "itemsRemoved": report.removed,
                }),
                suggestions: suggestions(spec, report),
                ..Notice::new(NoticeCode::ContextTruncated, message)
            })
        }
        CoreNotice::OverBudget { tokens, limit } => {
            let message =
                format!("what is never cut has {tokens} tokens, more than the {limit} there are");
            let details = json!({ "tokens": tokens.get(), "limit": limit.get() });
            Some(Notice { details, ..Notice::new(NoticeCode::OverBudget, message) })
        }
        CoreNotice::Estimated { .. } => None,
    }
}

/// What could be done about a truncated layer, fitting the case (P12).
fn suggestions(spec: &LayerSpec, report: &LayerReport) -> Vec<String> {
    let mut suggestions = Vec::new();
    let title = spec.title.to_lowercase();
    if let Some(cap) = spec.cap {
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
        Quality::of(&self.pack, &self.core, self.now)
    }

    /// A candidate that went on to selection, with its score.
    #[must_use]
    pub fn ranked(&self, id: &CandidateId) -> Option<&Ranked> {
        let mut all = self.core.layers.iter().flat_map(|(_, ranked)| ranked);
        all.find(|ranked| ranked.candidate.id == *id)
    }

    /// A candidate's text as it is in the pack, without what its template puts around it: the whole
    /// text, its essential form, or the stretch of the final string when it was cut.
    #[must_use]
    pub fn content(&self, item: &haversack_core::assemble::Item) -> String {
        use haversack_core::ledger::Shortened;
        let candidate: Option<&Candidate> = self.ranked(&item.id).map(|ranked| &ranked.candidate);
        match (item.shortened, candidate) {
            (None, Some(candidate)) => candidate.text.to_string(),
            (Some(Shortened::Essential), Some(candidate)) => {
                let essential = candidate.essential.as_ref();
                essential.map_or(String::new(), |essential| essential.text.to_string())
            }
            _ => item.span.slice(&self.pack.text).unwrap_or_default().to_owned(),
        }
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
