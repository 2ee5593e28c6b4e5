//! The part that all results share: the receipt, the tokenizer, notices, timings, and the ledger on
//! request.

use std::collections::BTreeMap;

use haversack_core::query::{FieldQuery, TimeRange};
use haversack_core::units::{Score, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::notice::Notice;
use crate::pipeline::{Assembled, LayerReport, Quality};
use crate::receipt::{Receipt, ReceiptLine};
use crate::revision::RevisionId;

/// What every recipe's result has under `assembly`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Assembly"))]
#[serde(rename_all = "camelCase")]
pub struct Assembly {
    /// The name of the receipt, by which the pack can be explained, replayed and compared.
    pub receipt: String,
    /// The recipe.
    pub recipe: String,
    /// The state of the workspace, for `asOf`.
    pub revision: RevisionId,
    /// What time it was taken to be.
    pub now: String,
    /// Who counted.
    pub tokenizer: String,
    /// How far the count can be trusted.
    pub accuracy: String,
    /// The budget, reserves included.
    pub budget: u32,
    /// What the final string could have at most.
    pub limit: u32,
    /// What it has.
    pub tokens: u32,
    /// What became of each layer.
    pub layers: Vec<WireLayer>,
    /// What the caller should know.
    pub notices: Vec<WireNotice>,
    /// Whether something that usually takes part could not.
    pub degraded: bool,
    /// What the query was found to say (K1).
    pub query: WireAnalysis,
    /// Milliseconds by step, and in all.
    pub timings_ms: BTreeMap<&'static str, f64>,
    /// What collectors have to say beside candidates.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    /// What changed since the pack before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<WireDelta>,
    /// How good the pack is; with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<WireQuality>,
    /// What became of each candidate; with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Vec<ReceiptLine>>,
}

/// A layer's figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Layer"))]
#[serde(rename_all = "camelCase")]
pub struct WireLayer {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Tokens of its section.
    pub tokens: u32,
    /// What its candidates would have cost whole.
    pub wanted: u32,
    /// How many were found.
    pub candidates: usize,
    /// How many are in.
    pub items: usize,
    /// How many of those are shortened.
    pub cut: usize,
    /// How many are out for want of room.
    pub removed: usize,
}

impl WireLayer {
    fn from_report(report: &LayerReport) -> WireLayer {
        WireLayer {
            name: report.name.clone(),
            title: report.title.clone(),
            tokens: report.tokens.get(),
            wanted: report.wanted.get(),
            candidates: report.candidates,
            items: report.items,
            cut: report.cut,
            removed: report.removed,
        }
    }
}

/// A notice.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Notice"))]
#[serde(rename_all = "camelCase")]
pub struct WireNotice {
    /// Always `warning`, as in an event of that name.
    #[serde(rename = "type")]
    pub notice_type: &'static str,
    /// What it is about.
    pub code: &'static str,
    /// In words.
    pub message: String,
    /// In figures.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// What could be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

impl WireNotice {
    /// Converts a notice to its wire form.
    #[must_use]
    pub fn from_notice(notice: &Notice) -> WireNotice {
        WireNotice {
            notice_type: "warning",
            code: notice.code.as_str(),
            message: notice.message.clone(),
            details: notice.details.clone(),
            suggestions: notice.suggestions.clone(),
        }
    }
}

/// What a query was found to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Analysis"))]
#[serde(rename_all = "camelCase")]
pub struct WireAnalysis {
    /// Its language, by code.
    pub language: String,
    /// Its words, without stop words.
    pub keywords: Vec<String>,
    /// What stands in quotes.
    pub phrases: Vec<String>,
    /// File paths.
    pub paths: Vec<String>,
    /// What is referred to by `@`.
    pub references: Vec<String>,
    /// Times, as ranges.
    pub times: Vec<WireTime>,
    /// What was understood as asked of items' fields; only those that match are searched.
    pub filters: Vec<WireFieldFilter>,
    /// The words that were read so, as they stand in the query.
    pub understood: Vec<String>,
    /// What the asker wants.
    pub intent: String,
}

/// What is asked of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FieldFilter"))]
#[serde(rename_all = "camelCase")]
pub struct WireFieldFilter {
    /// `due`, `done`, `assignee`, `priority`, `status`, `author`, `type`, `kind`, `changed` or
    /// `created`.
    pub field: &'static str,
    /// One of these values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// From, for dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// To, for dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// A time that a query names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Time"))]
#[serde(rename_all = "camelCase")]
pub struct WireTime {
    /// The words that say so.
    pub text: String,
    /// From.
    pub start: String,
    /// To.
    pub end: String,
}

/// What changed since the pack before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Delta"))]
#[serde(rename_all = "camelCase")]
pub struct WireDelta {
    /// The receipt of the pack before.
    pub previous: String,
    /// How many bytes at the beginning are the same.
    pub kept_bytes: usize,
    /// What comes after them: all that has to be sent to whoever has the pack before.
    pub context: String,
    /// What is new.
    pub added: Vec<String>,
    /// What is gone.
    pub removed: Vec<String>,
}

/// How good a pack is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Quality"))]
#[serde(rename_all = "camelCase")]
pub struct WireQuality {
    /// How likely it is that what was found has to do with the query, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f64>,
    /// How much of what was found is in, by value.
    pub coverage: f64,
    /// How much says again what stood before.
    pub redundancy: f64,
    /// How new the texts are.
    pub freshness: f64,
    /// How much of the budget is used.
    pub budget_use: f64,
    /// All in one.
    pub score: f64,
}

impl From<Quality> for WireQuality {
    fn from(quality: Quality) -> WireQuality {
        let round = |score: Score| (score.get() * 10_000.0).round() / 10_000.0;
        WireQuality {
            relevance: quality.relevance.map(round),
            coverage: round(quality.coverage),
            redundancy: round(quality.redundancy),
            freshness: round(quality.freshness),
            budget_use: round(quality.budget_use),
            score: round(quality.score),
        }
    }
}

impl Assembly {
    /// Makes the shared part of a result from a pack.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> Assembly {
        let pack = &assembled.pack;
        let milliseconds = |duration: std::time::Duration| duration.as_secs_f64() * 1_000.0;
        let mut timings_ms: BTreeMap<&'static str, f64> = assembled
            .timings
            .steps()
            .into_iter()
            .map(|(step, duration)| (step, milliseconds(duration)))
            .collect();
        timings_ms.insert("total", milliseconds(assembled.timings.total()));
        Assembly {
            receipt: assembled.receipt(),
            recipe: assembled.recipe.name.clone(),
            revision: assembled.state.clone(),
            now: assembled.now.to_string(),
            tokenizer: pack.tokenizer.clone(),
            accuracy: pack.accuracy.to_string(),
            budget: assembled.core.budget.total().get(),
            limit: pack.limit.get(),
            tokens: pack.tokens.get(),
            layers: assembled.layers.iter().map(WireLayer::from_report).collect(),
            notices: assembled.notices.iter().map(WireNotice::from_notice).collect(),
            degraded: assembled.is_degraded(),
            query: query_analysis(assembled),
            timings_ms,
            facts: assembled.facts.clone(),
            delta: pack_delta(assembled),
            quality: explain.then(|| assembled.quality().into()),
            ledger: explain.then(|| Receipt::from_assembled(assembled, "").ledger),
        }
    }
}

fn query_analysis(assembled: &Assembled) -> WireAnalysis {
    let analysis = &assembled.analysis;
    WireAnalysis {
        language: analysis.language.code().to_owned(),
        keywords: analysis.keywords.clone(),
        phrases: analysis.phrases.clone(),
        paths: analysis.paths.clone(),
        references: analysis.references.clone(),
        times: analysis
            .times
            .iter()
            .map(|range| WireTime {
                text: range.text.clone(),
                start: range.from.to_string(),
                end: range.to.to_string(),
            })
            .collect(),
        filters: analysis.fields.as_ref().map(field_filters).unwrap_or_default(),
        understood: analysis.fields.as_ref().map(understood_words).unwrap_or_default(),
        intent: format!("{:?}", analysis.intent).to_lowercase(),
    }
}

fn understood_words(query: &FieldQuery) -> Vec<String> {
    query.understood.clone()
}

fn field_filters(query: &FieldQuery) -> Vec<WireFieldFilter> {
    let range = |field, (from, to): (Timestamp, Timestamp)| {
        let start = (from != TimeRange::EARLIEST).then(|| from.to_string());
        let end = (to != TimeRange::LATEST).then(|| to.to_string());
        WireFieldFilter { field, values: Vec::new(), start, end }
    };
    let one_of = |field, values| WireFieldFilter { field, values, start: None, end: None };
    let mut filters = Vec::new();
    filters.extend(query.due.map(|due| range("due", due)));
    filters.extend(query.done.map(|done| one_of("done", vec![done.to_string()])));
    filters.extend(query.changed.map(|changed| range("changed", changed)));
    filters.extend(query.created.map(|created| range("created", created)));
    let values = query.values.iter();
    filters.extend(values.map(|(role, values)| one_of(role.as_str(), values.clone())));
    if !query.kinds.is_empty() {
        filters.push(one_of("kind", query.kinds.clone()));
    }
    filters
}

fn pack_delta(assembled: &Assembled) -> Option<WireDelta> {
    let delta = assembled.delta.as_ref()?;
    let names = |ids: &[haversack_core::ids::CandidateId]| {
        ids.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    Some(WireDelta {
        previous: delta.previous.clone(),
        kept_bytes: delta.kept_bytes,
        context: assembled.text().get(delta.kept_bytes..).unwrap_or_default().to_owned(),
        added: names(&delta.added),
        removed: names(&delta.removed),
    })
}
