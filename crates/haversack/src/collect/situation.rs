//! The collector of the situation, as the request describes it (S6).

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::{Kind, Trust};
use haversack_core::rank::Component;
use haversack_core::units::{Score, Span};
use haversack_store::store::error::ReadError;
use serde_json::Value;

use super::candidates::collector_output;
use super::{Collector, CollectorOutput, Question};
use crate::recipe::CollectorSpec;
use crate::request::Request;

/// Collects the situation itself, or how the pack was assembled.
pub(super) struct SituationCollector;

impl Collector for SituationCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        let (name, text) = match spec.settings.text("part") {
            "assembly" => ("assembly", assembly_text(question)),
            _ => ("situation", situation_text(&question.request)),
        };
        let id = ItemId::new(name).expect("a word is a name");
        let kind = Kind::new(name).expect("a word is a kind");
        let mut candidate = Candidate::new(CandidateId::whole(id), kind, &text);
        candidate.span = Span::whole(&text);
        // The engine describes the assembly; the caller describes the situation.
        candidate.trust = if name == "assembly" { Trust::Trusted } else { Trust::Internal };
        candidate.moment = Some(question.now);
        candidate.signals.set(Component::Collector, Score::ONE);
        let output = collector_output(spec, vec![candidate]);
        async move { Ok(output) }.boxed()
    }
}

/// Most bytes of a short fact. Short facts come before longer ones.
const SHORT_FACT_BYTES: usize = 200;

/// Renders the intent and the situation's facts, one per line. Short facts come first, so that they
/// are kept when a long one does not fit; a long fact that another one contains is left out.
fn situation_text(request: &Request) -> String {
    let intent = request.intent.iter().map(|intent| intent.trim());
    let intent = intent.filter(|intent| !intent.is_empty()).map(|it| format!("Intent: {it}"));
    let mut facts: Vec<(String, String)> = Vec::new();
    for (name, value) in &request.situation {
        add_facts(name.clone(), value, 1, &mut facts);
    }
    // The sort is stable: short facts stay in the request's order, and so do long ones.
    facts.sort_by_key(|(_, value)| value.len() > SHORT_FACT_BYTES);
    let mut lines: Vec<String> = intent.collect();
    for (at, (name, value)) in facts.iter().enumerate() {
        let is_long = value.len() > SHORT_FACT_BYTES;
        let is_repeated = |(other, (_, text)): (usize, &(String, String))| {
            other != at && text.contains(value.as_str()) && (text.len() > value.len() || other < at)
        };
        if is_long && facts.iter().enumerate().any(is_repeated) {
            continue;
        }
        lines.push(format!("{name}: {value}"));
    }
    lines.join("\n")
}

/// Most levels to which a long fact is split.
const FACT_DEPTH_MAX: usize = 4;

/// Adds a fact. A long object is split into its parts, so that a short part can be kept without a
/// long one.
fn add_facts(name: String, value: &Value, depth: usize, facts: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Object(parts) if text.len() > SHORT_FACT_BYTES && depth < FACT_DEPTH_MAX => {
            for (part, value) in parts {
                add_facts(format!("{name}.{part}"), value, depth + 1, facts);
            }
        }
        _ => facts.push((name, text)),
    }
}

/// Renders the current context and the time of the pack.
fn assembly_text(question: &Question) -> String {
    let mut lines = Vec::new();
    if let Some(context) = &question.request.context {
        lines.push(format!("- Current context: {context}"));
    }
    lines.push(format!("- Assembled at: {}", question.now));
    lines.join("\n")
}
