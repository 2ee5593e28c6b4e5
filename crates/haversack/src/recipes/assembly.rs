//! The part that all results share: the receipt, the tokenizer, notices, timings, and the ledger on
//! request.

use std::collections::BTreeMap;

use haversack_core::query::{FieldQuery, TimeRange};
use haversack_core::units::{Score, Timestamp};
use haversack_provider::Usage;
use serde::Serialize;
use serde_json::Value;

use crate::messages::{Format, ProviderMessages};
use crate::notice::Notice;
use crate::pipeline::{Assembled, LayerReport, Quality};
use crate::receipt::{Receipt, ReceiptLine};
use crate::revision::RevisionId;

/// The part that the results of all recipes share, under `assembly`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Assembly"))]
#[serde(rename_all = "camelCase")]
pub struct Assembly {
    /// The id of the receipt, with which the pack can be explained, replayed and compared.
    pub receipt: String,
    /// The name of the recipe.
    pub recipe: String,
    /// The state of the workspace, for `asOf`.
    pub revision: RevisionId,
    /// The time that was used as the current time.
    pub now: String,
    /// The tokenizer that counted the tokens.
    pub tokenizer: String,
    /// The accuracy of the token counts.
    pub accuracy: String,
    /// The budget, reserves included.
    pub budget: u32,
    /// Most tokens that the final string could have.
    pub limit: u32,
    /// Tokens of the final string.
    pub tokens: u32,
    /// Counts for each layer.
    pub layers: Vec<WireLayer>,
    /// Notices for the caller.
    pub notices: Vec<WireNotice>,
    /// Whether the pack was made without a failed collector or model.
    pub degraded: bool,
    /// The analysis of the query (K1).
    pub query: WireAnalysis,
    /// Milliseconds of each stage, and in total.
    pub timings_ms: BTreeMap<&'static str, f64>,
    /// What was used of models from providers, by what they do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<&'static str, WireUsage>,
    /// The text's tokens by the provider's own count, where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_tokens: Option<u64>,
    /// Data of collectors other than candidates, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    /// The changes since the previous pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<WireDelta>,
    /// The estimated quality of the pack; only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<WireQuality>,
    /// The outcome of each candidate; only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Vec<ReceiptLine>>,
    /// The pack as part of a request to a provider's API; with `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<ProviderMessages>,
}

/// What was used of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ModelUsage"))]
#[serde(rename_all = "camelCase")]
pub struct WireUsage {
    /// Calls that were made, retries included.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that were not made, because a cap was reached.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Answers from a cache.
    pub cache_hits: u64,
    /// Tokens of input.
    pub tokens_in: u64,
    /// Tokens of output.
    pub tokens_out: u64,
    /// Milliseconds spent waiting for answers.
    pub ms: f64,
    /// The cost, where prices are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl WireUsage {
    fn from_usage(usage: &Usage) -> WireUsage {
        WireUsage {
            calls: usage.calls,
            failures: usage.failures,
            refused: usage.refused,
            cache_hits: usage.cache_hits,
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            ms: (usage.time.as_secs_f64() * 1e6).round() / 1e3,
            cost: (usage.cost > 0.0).then_some(usage.cost),
        }
    }
}

/// Counts for a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Layer"))]
#[serde(rename_all = "camelCase")]
pub struct WireLayer {
    /// The layer's name.
    pub name: String,
    /// The layer's title.
    pub title: String,
    /// Tokens of the layer's section.
    pub tokens: u32,
    /// Tokens of all its candidates in full.
    pub wanted: u32,
    /// The number of candidates.
    pub candidates: usize,
    /// The number of items in the pack.
    pub items: usize,
    /// The number of these that are truncated.
    pub cut: usize,
    /// The number of candidates that the budget excluded.
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

/// A notice about a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Notice"))]
#[serde(rename_all = "camelCase")]
pub struct WireNotice {
    /// Always `warning`, like the name of the event in a stream.
    #[serde(rename = "type")]
    pub notice_type: &'static str,
    /// The notice's code, for programs.
    pub code: &'static str,
    /// The message, for people.
    pub message: String,
    /// Details, for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// Things that the caller can do.
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

/// The analysis of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Analysis"))]
#[serde(rename_all = "camelCase")]
pub struct WireAnalysis {
    /// The query's language code.
    pub language: String,
    /// The query's words without stop words.
    pub keywords: Vec<String>,
    /// The quoted phrases.
    pub phrases: Vec<String>,
    /// File paths.
    pub paths: Vec<String>,
    /// The names after `@`.
    pub references: Vec<String>,
    /// The times that the query names, as ranges.
    pub times: Vec<WireTime>,
    /// The filters on items' fields that the query implies. Only matching items are searched.
    pub filters: Vec<WireFieldFilter>,
    /// The words of the query that implied the filters.
    pub understood: Vec<String>,
    /// The user's intent.
    pub intent: String,
}

/// A filter on a field of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FieldFilter"))]
#[serde(rename_all = "camelCase")]
pub struct WireFieldFilter {
    /// The field: `due`, `done`, `assignee`, `priority`, `status`, `author`, `type`, `kind`,
    /// `changed` or `created`.
    pub field: &'static str,
    /// The accepted values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The start of the range, for dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The end of the range, for dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// A time that a query names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Time"))]
#[serde(rename_all = "camelCase")]
pub struct WireTime {
    /// The words that name it.
    pub text: String,
    /// The start of the range.
    pub start: String,
    /// The end of the range.
    pub end: String,
}

/// The changes since the previous pack of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Delta"))]
#[serde(rename_all = "camelCase")]
pub struct WireDelta {
    /// The id of the previous pack's receipt.
    pub previous: String,
    /// The number of bytes at the beginning that are unchanged.
    pub kept_bytes: usize,
    /// The text after these bytes, which is all that a holder of the previous pack needs.
    pub context: String,
    /// The candidates that are new in the pack.
    pub added: Vec<String>,
    /// The candidates that are no longer in the pack.
    pub removed: Vec<String>,
}

/// The estimated quality of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Quality"))]
#[serde(rename_all = "camelCase")]
pub struct WireQuality {
    /// The estimated probability that the candidates are relevant to the query, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f64>,
    /// The part of the candidates' value that is in the pack.
    pub coverage: f64,
    /// The part of the pack that repeats earlier text.
    pub redundancy: f64,
    /// The recency of the texts.
    pub freshness: f64,
    /// The used part of the budget.
    pub budget_use: f64,
    /// One score that combines the others.
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
            models: assembled
                .model_usage
                .iter()
                .map(|(role, usage)| (role.as_str(), WireUsage::from_usage(usage)))
                .collect(),
            provider_tokens: assembled.provider_count.as_ref().map(|count| count.tokens),
            facts: assembled.facts.clone(),
            delta: pack_delta(assembled),
            quality: explain.then(|| assembled.quality().into()),
            ledger: explain.then(|| Receipt::from_assembled(assembled, "").ledger),
            messages: None,
        }
    }

    /// Adds the pack as messages in a provider's format, with a notice if that omits turns.
    pub fn add_messages(&mut self, assembled: &Assembled, format: Format) {
        self.messages = Some(assembled.to_messages(format));
        let notice = assembled.omitted_turns_notice(format);
        self.notices.extend(notice.as_ref().map(WireNotice::from_notice));
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
