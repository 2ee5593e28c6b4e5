//! The collector of earlier messages of a conversation (K2, W9).

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::{Kind, Trust};
use haversack_core::rank::Component;
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::{Filter, LIMIT_MAX};
use serde_json::Value;

use super::candidates::{candidate_from_item, collector_output, linear_relevance};
use super::partial_read::{Total, partial_read_notice};
use super::time::items_of_owner;
use super::{Collector, CollectorOutput, Question};
use crate::models::conversation_summary;
use crate::recipe::CollectorSpec;
use crate::request::Turn;

/// Collects the last messages of the thread and of the conversation in the request.
pub(super) struct HistoryCollector;

impl Collector for HistoryCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let limit = spec.settings.count("limit");
            let messages = thread_messages(question, spec).await?;
            let turns = unstored_turns(question, &messages);
            let mut candidates: Vec<Candidate> =
                messages.iter().map(message_candidate).chain(turns).collect();
            // The sort is stable: messages of one time stay in their order, and come before turns.
            candidates.sort_by_key(|candidate| candidate.moment);
            candidates.reverse();
            let total = Total::capped_at(candidates.len(), LIMIT_MAX);
            candidates.truncate(limit);
            let summary = earlier_summary(question, spec, &messages, &candidates).await?;
            candidates.extend(summary);
            let what = "turns of the conversation";
            let notice = partial_read_notice(&spec.by, candidates.len().min(limit), total, what);
            for (rank, candidate) in candidates.iter_mut().enumerate() {
                candidate.signals.set(Component::Collector, linear_relevance(rank, limit));
            }
            let mut output = collector_output(spec, candidates);
            output.notices.extend(notice);
            Ok(output)
        }
        .boxed()
    }
}

/// Reads the thread's messages, oldest first.
async fn thread_messages(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<Vec<Stored>, ReadError> {
    let subject = question.subjects.get(spec.settings.text("of"));
    let Some(subject) = subject else { return Ok(Vec::new()) };
    let kinds = match spec.kinds[..] {
        [] => vec![kind("message")],
        _ => spec.kinds.clone(),
    };
    let filter = Filter { kinds, ..Filter::default() };
    let mut messages =
        items_of_owner(question, &subject.id, Some(&subject.spec.field), &filter).await?;
    messages.sort_by_key(|stored| {
        let item = &stored.item;
        (stored.moment(), item.position, item.id.clone())
    });
    Ok(messages)
}

/// Returns a summary by a model of the messages that are too old to be shown themselves, if there is one.
async fn earlier_summary(
    question: &Question,
    spec: &CollectorSpec,
    messages: &[Stored],
    shown: &[Candidate],
) -> Result<Option<Candidate>, ReadError> {
    let subject = question.subjects.get(spec.settings.text("of"));
    let (Some(missing), Some(thread)) = (&question.missing_summaries, subject) else {
        return Ok(None);
    };
    let is_shown =
        |stored: &&Stored| shown.iter().any(|candidate| candidate.id.item == stored.item.id);
    let earlier = messages.len() - messages.iter().filter(is_shown).count();
    conversation_summary(&*question.snapshot, missing, &thread.id, &messages[..earlier]).await
}

/// Makes a candidate of a stored message, with its speaker.
fn message_candidate(stored: &Stored) -> Candidate {
    let mut candidate = candidate_from_item(stored);
    candidate.set_text(message_text(&stored.item));
    candidate.place.speaker = speaker_of(&stored.item).map(str::to_owned);
    candidate
}

/// Returns a message's own text, without the fields that it is searched by.
fn message_text(item: &Item) -> &str {
    let body = &*item.body;
    if body.trim().is_empty() { text_field(item, "content").unwrap_or(body) } else { body }
}

/// Returns a message's speaker: the person's name, else the role.
fn speaker_of(item: &Item) -> Option<&str> {
    ["author", "speaker", "name"]
        .iter()
        .find_map(|name| text_field(item, name))
        .or_else(|| role_of(item))
}

fn role_of(item: &Item) -> Option<&str> {
    text_field(item, "role")
}

fn text_field<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.fields.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Makes candidates of the request's turns that are not also stored as messages, oldest first. A
/// turn without a time is dated just before the next one, so that the order holds.
fn unstored_turns(question: &Question, messages: &[Stored]) -> Vec<Candidate> {
    let is_stored = |turn: &Turn| {
        messages.iter().any(|stored| {
            let item = &stored.item;
            message_text(item).trim() == turn.content.trim()
                && role_of(item).is_none_or(|role| role == turn.role)
        })
    };
    let mut next = question.now;
    let mut turns = Vec::new();
    for (index, turn) in question.request.history.iter().enumerate().rev() {
        let before = Timestamp::from_millis(next.as_millis().saturating_sub(1));
        next = turn.at.unwrap_or(before);
        if !turn.content.trim().is_empty() && !is_stored(turn) {
            turns.push(turn_candidate(turn, index + 1, next));
        }
    }
    turns.reverse();
    turns
}

/// Makes a candidate of a turn of the request's conversation.
fn turn_candidate(turn: &Turn, number: usize, at: Timestamp) -> Candidate {
    let id = ItemId::new(&format!("turn:{number}")).expect("a word and a number are a name");
    let mut candidate = Candidate::new(CandidateId::whole(id), kind("message"), &turn.content);
    candidate.place.speaker = Some(turn.role.clone()).filter(|role| !role.trim().is_empty());
    // A tool's output may come from anywhere.
    candidate.trust = if turn.role == "tool" { Trust::External } else { Trust::Internal };
    candidate.moment = Some(at);
    candidate.signals.set(Component::SourcePriority, Score::HALF);
    candidate
}

fn kind(name: &str) -> Kind {
    Kind::new(name).expect("a word is a kind")
}
