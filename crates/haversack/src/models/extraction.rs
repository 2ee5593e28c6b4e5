//! Memories from a conversation (B3): a model proposes them, what is known already is left out, and what
//! contradicts an older memory supersedes it by a link.

use std::time::Duration;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_provider::{ChatModel, ChatQuestion, with_allowances};
use haversack_store::kinds::moment;
use haversack_store::store::change::{Batch, Change, CommitReport};
use haversack_store::store::item::{Item, Link};
use haversack_store::store::viewer::{Readers, Viewer};
use serde_json::{Value, json};

use super::prompt::{DATA_ONLY, cut, share};
use crate::engine::Workspace;
use crate::error::Error;
use crate::remember::{SkippedItem, nearest_texts, skip_repeats};
use crate::request::Turn;

/// How long one call may take when the settings say nothing.
const WITHIN: Duration = Duration::from_secs(60);

/// Bytes of a conversation in one call. A longer one is read in parts.
const PART_BYTES_MAX: usize = 12 << 10;

/// Most bytes and turns of a conversation.
const CONVERSATION_BYTES_MAX: usize = 1 << 20;
const TURNS_MAX: usize = 2_000;

/// Most memories of one part.
const MEMORIES_MAX: usize = 40;

/// Stored memories that a new one is compared with.
const COMPARED_MAX: usize = 5;

/// Bytes of a memory.
const MEMORY_BYTES_MAX: usize = 1_000;

/// The types of memories.
const TYPES: [&str; 6] = ["fact", "preference", "event", "decision", "task", "relationship"];

const TASK: &str = "You read a part of a conversation and write down what is worth remembering for later \
                    conversations: facts about people, their preferences, events, decisions, tasks and \
                    relationships. Write each as one sentence that is understood without the conversation: names \
                    instead of pronouns, dates instead of \"tomorrow\". Write in the language of the conversation. \
                    Leave out small talk, questions, what the assistant merely explains, and what is only true for \
                    the moment. `turn` is the number of the turn it comes from, `date` the day it is about \
                    (YYYY-MM-DD) or \"\". `confidence` is between 0 and 1. It is right to return an empty list.";

const COMPARE: &str = "You compare new memories with older ones. List each pair in which the new memory makes the \
                       old one untrue or out of date: it changes the same fact about the same subject. Memories \
                       that merely concern the same subject do not replace each other.";

/// A memory that a model found in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedMemory {
    /// The item that is stored.
    pub item: Item,
    /// The turn it comes from, from zero.
    pub turn: Option<usize>,
    /// The older memories that it makes out of date.
    pub supersedes: Vec<ItemId>,
}

/// What a model found in a conversation, and what became of it.
#[derive(Debug, Default)]
pub struct Extraction {
    /// The memories that say something new.
    pub memories: Vec<ExtractedMemory>,
    /// The memories that are known already.
    pub left_out: Vec<SkippedItem>,
    /// What was stored; `None` for a dry run.
    pub committed: Option<CommitReport>,
    /// The model that was asked.
    pub model: String,
}

/// How memories are extracted.
#[derive(Debug, Clone, Default)]
pub struct ExtractionOptions {
    /// The conversation's id, kept with each memory.
    pub conversation: Option<String>,
    /// Who may read the memories.
    pub readers: Option<Readers>,
    /// Whether nothing is stored.
    pub dry_run: bool,
}

impl Workspace {
    /// Extracts memories from a conversation with the configured model and stores those that say something new.
    /// A memory that makes an older one out of date is linked to it by `supersedes`; nothing is deleted.
    ///
    /// # Errors
    /// When no model is configured, the model fails, or the store cannot be read or written. Nothing is stored
    /// then.
    pub async fn extract_memories(
        &self,
        viewer: &Viewer,
        turns: &[Turn],
        options: &ExtractionOptions,
    ) -> Result<Extraction, Error> {
        let work = self.extract_within_allowances(viewer, turns, options);
        with_allowances(self.allowances(), work).await
    }

    async fn extract_within_allowances(
        &self,
        viewer: &Viewer,
        turns: &[Turn],
        options: &ExtractionOptions,
    ) -> Result<Extraction, Error> {
        check_conversation(turns)?;
        let Some(model) = self.extractor() else {
            let message =
                "no model is configured to extract memories: set [models.extract] in models.toml";
            return Err(Error::invalid("conversation", message));
        };
        let now = self.now();
        let mut found = Vec::new();
        for part in parts(turns) {
            found.extend(propose(&model, turns, part, now).await?);
        }
        let items: Vec<Item> =
            found.iter().map(|one| one.item(options, now)).collect::<Result<_, Error>>()?;
        let snapshot = self.store().snapshot(viewer).await?;
        let (kept, left_out) = skip_repeats(&*snapshot, items).await?;
        let mut memories = Vec::new();
        let mut compared = Vec::new();
        for item in kept {
            let text = snapshot.kinds().text(&item);
            let mut near = nearest_texts(&*snapshot, &item.kind, &text).await?;
            near.truncate(COMPARED_MAX);
            compared.push(near);
            let turn = item.fields.get("source_turn").and_then(Value::as_u64);
            let turn = turn.and_then(|turn| usize::try_from(turn).ok());
            memories.push(ExtractedMemory { item, turn, supersedes: Vec::new() });
        }
        drop(snapshot);
        find_superseded(&model, &mut memories, &compared).await?;
        let committed = match options.dry_run || memories.is_empty() {
            true => None,
            false => Some(self.write(batch(now, &memories, viewer)).await?),
        };
        Ok(Extraction { memories, left_out, committed, model: model.name().to_owned() })
    }
}

fn check_conversation(turns: &[Turn]) -> Result<(), Error> {
    let bytes: usize = turns.iter().map(|turn| turn.content.len()).sum();
    if turns.iter().all(|turn| turn.content.trim().is_empty()) {
        return Err(Error::invalid("conversation", "there is nothing in it"));
    }
    if turns.len() > TURNS_MAX || bytes > CONVERSATION_BYTES_MAX {
        let message = format!(
            "{} turns of {bytes} bytes are over the limit of {TURNS_MAX} turns and \
             {CONVERSATION_BYTES_MAX} bytes: split the conversation",
            turns.len()
        );
        return Err(Error::invalid("conversation", message));
    }
    Ok(())
}

/// The ranges of turns that are read together.
fn parts(turns: &[Turn]) -> Vec<std::ops::Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, turn) in turns.iter().enumerate() {
        if at > start && bytes + turn.content.len() > PART_BYTES_MAX {
            parts.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += turn.content.len();
    }
    parts.push(start..turns.len());
    parts
}

/// A memory as the model proposed it.
#[derive(Debug)]
struct Proposal {
    content: String,
    memory_type: String,
    confidence: f64,
    turn: Option<usize>,
    at: Option<Timestamp>,
}

async fn ask(model: &ChatModel, question: &ChatQuestion) -> Result<Value, Error> {
    let within = model.deadline().unwrap_or(WITHIN);
    let answer = model.ask(question, within).await;
    answer.map(|(value, _)| value).map_err(|error| Error::Model { cause: error.chain() })
}

async fn propose(
    model: &ChatModel,
    turns: &[Turn],
    part: std::ops::Range<usize>,
    now: Timestamp,
) -> Result<Vec<Proposal>, Error> {
    let listed: Vec<Value> = turns[part.clone()]
        .iter()
        .zip(part)
        .map(|(turn, number)| {
            let at = turn.at.map(|at| at.to_string());
            let content = cut(&turn.content, PART_BYTES_MAX);
            json!({ "turn": number, "speaker": turn.role, "time": at, "text": content })
        })
        .collect();
    let memory = json!({
        "type": "object",
        "properties": {
            "content": { "type": "string" },
            "type": { "type": "string", "enum": TYPES },
            "confidence": { "type": "number" },
            "turn": { "type": "integer" },
            "date": { "type": "string" },
        },
        "required": ["content", "type", "confidence", "turn", "date"],
        "additionalProperties": false,
    });
    let question = ChatQuestion {
        system: format!("{TASK} {DATA_ONLY}"),
        user: format!("Now: {now}\nConversation: {}", Value::Array(listed)),
        schema: list_schema("memories", &memory),
        tokens_max: Some(4_000),
        accepts_cut: false,
    };
    let answer = ask(model, &question).await?;
    let memories = answer.get("memories").and_then(Value::as_array).ok_or_else(|| {
        Error::Model { cause: format!("{}: the answer has no list of memories", model.name()) }
    })?;
    Ok(memories.iter().take(MEMORIES_MAX).filter_map(|one| read_proposal(one, turns)).collect())
}

fn list_schema(name: &str, item: &Value) -> Value {
    json!({
        "type": "object",
        "properties": { name: { "type": "array", "items": item } },
        "required": [name],
        "additionalProperties": false,
    })
}

/// Reads one proposal. One without a text is none; the time falls back to that of its turn.
fn read_proposal(proposed: &Value, turns: &[Turn]) -> Option<Proposal> {
    let content = proposed.get("content")?.as_str()?.trim();
    if content.is_empty() {
        return None;
    }
    let turn = proposed.get("turn").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let turn = turn.filter(|turn| *turn < turns.len());
    let date = proposed.get("date").filter(|date| date.as_str().is_some_and(|d| !d.is_empty()));
    let memory_type = proposed.get("type").and_then(Value::as_str).unwrap_or("fact");
    let known = TYPES.iter().find(|known| memory_type.eq_ignore_ascii_case(known));
    Some(Proposal {
        content: cut(content, MEMORY_BYTES_MAX).to_owned(),
        memory_type: (*known.unwrap_or(&"fact")).to_owned(),
        confidence: share(proposed.get("confidence")).unwrap_or(0.5),
        at: date.and_then(moment).or_else(|| turns.get(turn?)?.at),
        turn,
    })
}

impl Proposal {
    fn item(&self, options: &ExtractionOptions, now: Timestamp) -> Result<Item, Error> {
        let conversation = options.conversation.as_deref().unwrap_or_default();
        let hash = blake3::hash(format!("{conversation}\n{}", self.content).as_bytes());
        let wrong = |error: haversack_core::ids::IdError| Error::invalid("id", error.to_string());
        let id = ItemId::new(&format!("mem-{}", &hash.to_hex()[..16])).map_err(wrong)?;
        let mut item = Item::new(id, Kind::new("memory").map_err(wrong)?, "");
        let fields = [
            ("content", Some(json!(self.content))),
            ("type", Some(json!(self.memory_type))),
            ("confidence", Some(json!(self.confidence))),
            ("conversation", options.conversation.as_ref().map(|id| json!(id))),
            ("source_turn", self.turn.map(|turn| json!(turn))),
            ("created_at", Some(json!(self.at.unwrap_or(now).as_millis()))),
        ];
        item.fields = fields.into_iter().filter_map(|(n, v)| Some((n.to_owned(), v?))).collect();
        if let Some(readers) = &options.readers {
            item.readers = readers.clone();
        }
        Ok(item)
    }
}

/// Asks which of the nearest stored memories each new one makes out of date, all in one call.
async fn find_superseded(
    model: &ChatModel,
    memories: &mut [ExtractedMemory],
    compared: &[Vec<(ItemId, String)>],
) -> Result<(), Error> {
    let mut old: Vec<&(ItemId, String)> = compared.iter().flatten().collect();
    old.sort();
    old.dedup();
    if old.is_empty() {
        return Ok(());
    }
    let listed = |texts: Vec<&str>| -> Value {
        let entry = |(n, text)| json!({ "number": n, "text": cut(text, MEMORY_BYTES_MAX) });
        texts.into_iter().enumerate().map(entry).collect()
    };
    let text_of = |memory: &ExtractedMemory| {
        let content = memory.item.fields.get("content").and_then(Value::as_str);
        content.unwrap_or_default().to_owned()
    };
    let new: Vec<String> = memories.iter().map(text_of).collect();
    let pair = json!({
        "type": "object",
        "properties": { "new": { "type": "integer" }, "old": { "type": "integer" } },
        "required": ["new", "old"],
        "additionalProperties": false,
    });
    let question = ChatQuestion {
        system: format!("{COMPARE} {DATA_ONLY}"),
        user: format!(
            "New memories: {}\nOld memories: {}",
            listed(new.iter().map(String::as_str).collect()),
            listed(old.iter().map(|(_, text)| text.as_str()).collect())
        ),
        schema: list_schema("replacements", &pair),
        tokens_max: Some(1_000),
        accepts_cut: false,
    };
    let answer = ask(model, &question).await?;
    let pairs = answer.get("replacements").and_then(Value::as_array);
    for pair in pairs.into_iter().flatten() {
        let number = |name: &str| {
            pair.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
        };
        let (Some(new), Some(id)) = (number("new"), number("old").and_then(|at| old.get(at)))
        else {
            continue;
        };
        // Only what was shown as near to this memory can be replaced by it.
        let is_near = compared.get(new).is_some_and(|near| near.contains(id));
        if let Some(memory) = memories.get_mut(new).filter(|_| is_near)
            && memory.item.id != id.0
            && !memory.supersedes.contains(&id.0)
        {
            memory.supersedes.push(id.0.clone());
        }
    }
    Ok(())
}

/// The items and their links, written together.
fn batch(now: Timestamp, memories: &[ExtractedMemory], viewer: &Viewer) -> Batch {
    let mut changes: Vec<Change> = Vec::new();
    for memory in memories {
        changes.push(Change::Put(Box::new(memory.item.clone())));
        changes.extend(memory.supersedes.iter().map(|old| {
            Change::Link(Link {
                from: memory.item.id.clone(),
                to: old.clone(),
                link_type: "supersedes".to_owned(),
            })
        }));
    }
    Batch::new(now, changes).with_rights(viewer.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(content: &str) -> Turn {
        let at = Some(Timestamp::from_millis(1_000));
        Turn { role: "user".to_owned(), content: content.to_owned(), at }
    }

    #[test]
    fn a_long_conversation_is_read_in_parts_and_no_turn_is_lost_b3() {
        let turns: Vec<Turn> = (0..50).map(|n| turn(&"x".repeat(n * 100))).collect();
        let parts = parts(&turns);
        assert!(parts.len() > 3);
        let all: Vec<usize> = parts.iter().cloned().flatten().collect();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
        let long = |part: &std::ops::Range<usize>| {
            turns[part.clone()].iter().map(|turn| turn.content.len()).sum::<usize>()
        };
        assert!(parts.iter().all(|part| long(part) <= PART_BYTES_MAX || part.len() == 1));
    }

    #[test]
    fn a_proposal_is_bounded_and_falls_back_to_its_turn_b3() {
        let turns = [turn("I moved to Oslo in May.")];
        let read = |value: Value| read_proposal(&value, &turns);
        let full = read(json!({
            "content": " Anna moved to Oslo. ", "type": "EVENT", "confidence": "90%", "turn": 0,
            "date": "2026-05-01",
        }));
        let full = full.unwrap();
        assert_eq!((full.content.as_str(), &*full.memory_type), ("Anna moved to Oslo.", "event"));
        assert_eq!(full.at.unwrap().to_string().get(..10), Some("2026-05-01"));
        let bare = read(json!({"content": "x".repeat(5_000), "turn": 7, "type": "poem"})).unwrap();
        assert_eq!((bare.content.len(), bare.turn, bare.at), (MEMORY_BYTES_MAX, None, None));
        assert_eq!(bare.memory_type, "fact");
        assert!(read(json!({"content": "  "})).is_none());
        assert_eq!(read(json!({"content": "a", "turn": 0})).unwrap().at, turns[0].at);
    }
}
