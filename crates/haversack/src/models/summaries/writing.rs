//! Writing a summary: reads the texts, asks the model, and stores its answer.

use std::sync::Arc;
use std::time::Duration;

use haversack_core::item::{Kind, Trust};
use haversack_core::text::boundary::sentences;
use haversack_core::units::Timestamp;
use haversack_provider::{ChatModel, ChatQuestion};
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Store, block_on};
use serde_json::{Value, json};

use super::stored::{SummaryPart, hash_texts, message_parts, page_parts};
use super::{MissingSummary, SUMMARY, summary_id};
use crate::collect::page_descent;
use crate::error::Error;
use crate::models::prompt::{DATA_ONLY, cut};
use crate::request::Request;

/// How long one call may take when the settings say nothing.
const WITHIN: Duration = Duration::from_secs(60);

/// Bytes of text in one call. A longer text is summarised in parts, and then their summaries.
const CALL_BYTES_MAX: usize = 16 << 10;

/// Bytes of the longest text that is summarised.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Bytes of a summary.
const SUMMARY_BYTES_MAX: usize = 2_000;

const TASK: &str = "You summarise a text for a reader who sees the summary instead of the text. Write at most 120 \
                    words of plain sentences in the language of the text. Keep names, numbers, dates, decisions \
                    and what is still open. Add nothing that is not in the text and no remark about it.";

/// What a summary is made of.
pub(super) struct SummarySource {
    title: String,
    parts: Vec<SummaryPart>,
}

impl SummarySource {
    /// Reads what is to be summarised, as its owner, less what not all its readers may read. Returns `None`
    /// if there is nothing to summarise, or too much.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn read(
        store: &dyn Store,
        missing: &MissingSummary,
    ) -> Result<Option<SummarySource>, Error> {
        let snapshot = block_on(store.snapshot(&Viewer::owner()))?;
        let item = block_on(snapshot.get(std::slice::from_ref(missing.item())))?.pop().flatten();
        let Some(item) = item else { return Ok(None) };
        let parts = match missing {
            MissingSummary::Text(_) => SummaryPart::of(&item).into_iter().collect(),
            MissingSummary::Page(id) => {
                let descent = page_descent(&Request::new("", ""));
                page_parts(&block_on(snapshot.descendants(id, &descent))?.found)
            }
            MissingSummary::Conversation { thread, messages } => {
                let found = block_on(snapshot.get(messages))?;
                message_parts(thread, found.iter().flatten())
            }
        };
        let title = item.item.title.trim();
        let title = if title.is_empty() { item.item.id.as_str() } else { title }.to_owned();
        let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
        let is_usable = (1..=TEXT_BYTES_MAX).contains(&bytes);
        Ok(is_usable.then_some(SummarySource { title, parts }))
    }

    /// Asks the model for a summary. No state of the store is held meanwhile.
    ///
    /// # Errors
    /// When the model fails.
    pub(super) fn summarise(&self, model: &Arc<ChatModel>) -> Result<String, Error> {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.trim_end()).collect();
        summarise(model, texts.join("\n\n"))
    }

    /// Stores a summary under the item that it is of.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn store(
        &self,
        store: &dyn Store,
        (missing, model): (&MissingSummary, &str),
        summary: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (item, of) = (missing.item(), missing.of());
        let kind = Kind::new(SUMMARY).expect("a word is a kind");
        let mut stored = Item::new(summary_id(item, of), kind, "");
        stored.parent = Some(item.clone());
        // After everything else under its parent.
        stored.position = i64::MAX;
        // No more trusted than any of its texts, and nothing that a model wrote stands without a fence.
        let trust = self.parts.iter().map(|part| part.trust).min();
        stored.trust = trust.unwrap_or(Trust::External).min(Trust::Internal);
        let fields = json!({
            "summary": summary,
            "subject": self.title,
            "of": of,
            "hash": hash_texts(&self.parts),
            "parts": self.parts.len(),
            "model": model,
        });
        stored.fields = fields.as_object().cloned().unwrap_or_default();
        block_on(store.write(Batch::new(now, vec![Change::Put(Box::new(stored))])))?;
        Ok(())
    }
}

/// Summarises a text, in parts if it is long.
fn summarise(model: &Arc<ChatModel>, mut text: String) -> Result<String, Error> {
    while text.len() > CALL_BYTES_MAX {
        let mut rest = &text[..];
        let mut summaries = Vec::new();
        while !rest.is_empty() {
            let end = part_end(rest);
            summaries.push(ask_for_summary(model, &rest[..end])?);
            rest = &rest[end..];
        }
        // Each summary is far shorter than its part, so this ends.
        text = summaries.join("\n\n");
    }
    ask_for_summary(model, &text)
}

/// Where the next part of a long text ends: between paragraphs or lines, if there is such a place.
fn part_end(text: &str) -> usize {
    let end = text.floor_char_boundary(CALL_BYTES_MAX.min(text.len()));
    if end == text.len() {
        return end;
    }
    let head = &text[..end];
    let at_break = head.rfind("\n\n").or_else(|| head.rfind('\n')).map(|at| at + 1);
    at_break.filter(|at| *at > CALL_BYTES_MAX / 2).unwrap_or(end)
}

fn ask_for_summary(model: &Arc<ChatModel>, text: &str) -> Result<String, Error> {
    let question = ChatQuestion {
        system: format!("{TASK} {DATA_ONLY}"),
        user: format!("Text: {}", Value::from(text)),
        schema: json!({
            "type": "object",
            "properties": { "summary": { "type": "string" } },
            "required": ["summary"],
            "additionalProperties": false,
        }),
        tokens_max: Some(600),
        accepts_cut: true,
    };
    let within = model.deadline().unwrap_or(WITHIN);
    let failed = |cause: String| Error::Model { cause };
    let (answer, _) =
        model.ask_blocking(question, within).map_err(|error| failed(error.chain()))?;
    let summary = answer.get("summary").and_then(Value::as_str).map(str::trim);
    match summary.filter(|summary| !summary.is_empty()) {
        Some(summary) => Ok(whole_sentences(summary).to_owned()),
        None => Err(failed(format!("{}: the answer has no summary", model.name()))),
    }
}

/// A summary within its limit: a longer one ends with a whole sentence, where it has one.
fn whole_sentences(summary: &str) -> &str {
    let head = cut(summary, SUMMARY_BYTES_MAX);
    if head.len() == summary.len() {
        return head;
    }
    let unfinished = sentences(head).pop().map_or(0, |last| last.start);
    if unfinished == 0 { head } else { head[..unfinished].trim_end() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_summary_ends_with_a_whole_sentence() {
        let sentence = "The hall was painted white in spring. ";
        let long = sentence.repeat(SUMMARY_BYTES_MAX / sentence.len() + 2);
        let kept = whole_sentences(&long);
        assert!(kept.len() <= SUMMARY_BYTES_MAX && kept.ends_with("spring."), "{kept}");
        assert_eq!(whole_sentences("no full stop"), "no full stop");
        let glued = "x".repeat(SUMMARY_BYTES_MAX + 1);
        assert_eq!(whole_sentences(&glued).len(), SUMMARY_BYTES_MAX);
    }
}
