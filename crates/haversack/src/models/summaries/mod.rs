//! Summaries by a model (W8): of a long text, of a page and of the earlier part of a conversation.
//!
//! A summary is an item of its own under what it summarises, so it has the same readers, goes with it, and
//! makes a revision: a replay finds the summary that the first pack had. It names the hash of the texts that
//! it was made of and is used only while they are unchanged. It is made of texts that all its readers may
//! read: parts with readers of their own are left out. It is never searched.

mod stored;
mod worker;
mod writing;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use haversack_core::ids::ItemId;

pub(crate) use stored::{add_summaries, conversation_summary, page_summary};
pub(crate) use worker::SummaryWorker;

/// The kind of stored summaries.
pub(crate) const SUMMARY: &str = "summary";

/// A summary that a pack could have used and that is not there, or not of the present texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissingSummary {
    /// Of an item's own text.
    Text(ItemId),
    /// Of a page's blocks.
    Page(ItemId),
    /// Of the earlier messages of a conversation.
    Conversation {
        /// The thread.
        thread: ItemId,
        /// The messages, oldest first.
        messages: Vec<ItemId>,
    },
}

impl MissingSummary {
    /// The item that the summary belongs to.
    fn item(&self) -> &ItemId {
        match self {
            MissingSummary::Text(item) | MissingSummary::Page(item) => item,
            MissingSummary::Conversation { thread, .. } => thread,
        }
    }

    /// What is summarised, as the stored summary says it.
    const fn of(&self) -> &'static str {
        match self {
            MissingSummary::Text(_) => OF_TEXT,
            MissingSummary::Page(_) => OF_PAGE,
            MissingSummary::Conversation { .. } => OF_CONVERSATION,
        }
    }
}

const OF_TEXT: &str = "text";
const OF_PAGE: &str = "page";
const OF_CONVERSATION: &str = "conversation";

/// The summaries that a pack missed, collected while it is made.
#[derive(Debug, Clone, Default)]
pub struct MissingSummaries(Arc<Mutex<BTreeSet<MissingSummary>>>);

impl MissingSummaries {
    pub(crate) fn add(&self, missing: MissingSummary) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(missing);
    }

    pub(crate) fn take(&self) -> BTreeSet<MissingSummary> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The id of the summary of an item.
fn summary_id(item: &ItemId, of: &str) -> ItemId {
    let hash = blake3::hash(format!("{of}\n{item}").as_bytes()).to_hex();
    ItemId::new(&format!("summary-{}", &hash[..24])).expect("a word and a hash are an id")
}

/// Hashes the texts that a summary is made of.
fn hash_parts<'p>(parts: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, text) in parts {
        for part in [name, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
