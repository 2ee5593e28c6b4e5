//! What was said before (K2, W9), and the situation as the request tells it (S6).

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::{Kind, Trust};
use haversack_core::rank::Component;
use haversack_core::units::{Score, Span, Timestamp};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::{Filter, LIMIT_MAX};
use serde_json::Value;

use super::limits::{Total, left_unread};
use super::make::{collected, from_stored, share_left};
use super::time::belonging;
use super::{Collected, Collector, Question};
use crate::recipe::CollectorSpec;
use crate::request::{Request, Turn};

/// The last turns of the thread and of the conversation in the request.
pub(super) struct History;

impl Collector for History {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let limit = spec.settings.count("limit");
            let messages = messages(question, spec).await?;
            let turns = turns(question, &messages);
            let mut said: Vec<Candidate> = messages.iter().map(message).chain(turns).collect();
            // Stable: messages of one time stay in their order, and come before turns.
            said.sort_by_key(|candidate| candidate.moment);
            said.reverse();
            let total = Total::up_to(said.len(), LIMIT_MAX);
            said.truncate(limit);
            let unread = left_unread(&spec.by, said.len(), total, "turns of the conversation");
            for (place, candidate) in said.iter_mut().enumerate() {
                candidate.signals.set(Component::Collector, share_left(place, limit));
            }
            let mut collected = collected(spec, said);
            collected.notices.extend(unread);
            Ok(collected)
        }
        .boxed()
    }
}

/// The thread's messages, oldest first.
async fn messages(question: &Question, spec: &CollectorSpec) -> Result<Vec<Stored>, ReadError> {
    let subject = question.subjects.get(spec.settings.text("of"));
    let Some(subject) = subject else { return Ok(Vec::new()) };
    let kinds = match spec.kinds[..] {
        [] => vec![kind("message")],
        _ => spec.kinds.clone(),
    };
    let filter = Filter { kinds, ..Filter::default() };
    let mut messages = belonging(question, &subject.id, Some(&subject.spec.field), &filter).await?;
    messages.sort_by_key(|stored| {
        let item = &stored.item;
        (stored.moment(), item.position, item.id.clone())
    });
    Ok(messages)
}

/// A stored message, with who said it.
fn message(stored: &Stored) -> Candidate {
    let mut candidate = from_stored(stored);
    candidate.set_text(spoken(&stored.item));
    candidate.place.speaker = speaker_of(&stored.item).map(str::to_owned);
    candidate
}

/// What was said, without the fields that a message is searched by.
fn spoken(item: &Item) -> &str {
    let body = &*item.body;
    if body.trim().is_empty() { field(item, "content").unwrap_or(body) } else { body }
}

/// Who said a message: a person by name, else the role.
fn speaker_of(item: &Item) -> Option<&str> {
    ["author", "speaker", "name"]
        .iter()
        .find_map(|name| field(item, name))
        .or_else(|| role_of(item))
}

fn role_of(item: &Item) -> Option<&str> {
    field(item, "role")
}

fn field<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.fields.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// The request's turns that are not stored as messages, too, oldest first. One without a time was
/// said just before the one after it, so that their order holds.
fn turns(question: &Question, messages: &[Stored]) -> Vec<Candidate> {
    let is_stored = |turn: &Turn| {
        messages.iter().any(|stored| {
            let item = &stored.item;
            spoken(item).trim() == turn.content.trim()
                && role_of(item).is_none_or(|role| role == turn.role)
        })
    };
    let mut next = question.now;
    let mut turns = Vec::new();
    for (place, turn) in question.request.history.iter().enumerate().rev() {
        let before = Timestamp::from_millis(next.as_millis().saturating_sub(1));
        next = turn.at.unwrap_or(before);
        if !turn.content.trim().is_empty() && !is_stored(turn) {
            turns.push(said(turn, place + 1, next));
        }
    }
    turns.reverse();
    turns
}

fn said(turn: &Turn, number: usize, at: Timestamp) -> Candidate {
    let id = ItemId::new(&format!("turn:{number}")).expect("a word and a number are a name");
    let mut candidate = Candidate::new(CandidateId::whole(id), kind("message"), &turn.content);
    candidate.place.speaker = Some(turn.role.clone()).filter(|role| !role.trim().is_empty());
    // What a tool brought in may come from anywhere.
    candidate.trust = if turn.role == "tool" { Trust::External } else { Trust::Internal };
    candidate.moment = Some(at);
    candidate.signals.set(Component::SourcePriority, Score::HALF);
    candidate
}

/// The situation itself.
pub(super) struct Situation;

impl Collector for Situation {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        let (name, text) = match spec.settings.text("part") {
            "assembly" => ("assembly", how_it_came_about(question)),
            _ => ("situation", as_told(&question.request)),
        };
        let id = ItemId::new(name).expect("a word is a name");
        let mut candidate = Candidate::new(CandidateId::whole(id), kind(name), &text);
        candidate.span = Span::whole(&text);
        // How a pack came about is our own word; the situation is the caller's.
        candidate.trust = if name == "assembly" { Trust::Trusted } else { Trust::Internal };
        candidate.moment = Some(question.now);
        candidate.signals.set(Component::Collector, Score::ONE);
        let collected = collected(spec, vec![candidate]);
        async move { Ok(collected) }.boxed()
    }
}

/// A fact up to this long comes before longer ones, in bytes.
const SHORT_FACT_BYTES: usize = 200;

/// The situation's facts, one on a line, and what is to be reached. Short facts come first, so that
/// they stay when there is no room for a long one; what a fact repeats of another is left out.
fn as_told(request: &Request) -> String {
    let intent = request.intent.iter().map(|intent| intent.trim());
    let intent = intent.filter(|intent| !intent.is_empty()).map(|it| format!("Intent: {it}"));
    let mut facts: Vec<(String, String)> = Vec::new();
    for (name, value) in &request.situation {
        add_facts(name.clone(), value, 1, &mut facts);
    }
    // Stable: facts of either sort stay in the order in which they were told.
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

/// How deep a long fact is taken apart.
const FACT_DEPTH: usize = 4;

/// Adds a fact; of a long object each part by itself, so that a short one stays beside a long one.
fn add_facts(name: String, value: &Value, depth: usize, facts: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Object(parts) if text.len() > SHORT_FACT_BYTES && depth < FACT_DEPTH => {
            for (part, value) in parts {
                add_facts(format!("{name}.{part}"), value, depth + 1, facts);
            }
        }
        _ => facts.push((name, text)),
    }
}

/// When the pack was made, and for which context.
fn how_it_came_about(question: &Question) -> String {
    let mut lines = Vec::new();
    if let Some(context) = &question.request.context {
        lines.push(format!("- Current context: {context}"));
    }
    lines.push(format!("- Assembled at: {}", question.now));
    lines.join("\n")
}

fn kind(name: &str) -> Kind {
    Kind::new(name).expect("a word is a kind")
}
