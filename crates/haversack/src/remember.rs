//! Keeps memories free of duplicates without a model: text that says nothing new is not stored.
//!
//! Two things fill a memory with duplicates: the same fact stated many times, and the assistant's
//! own context coming back as if a user had said it. Both are detected by comparison with the
//! stored texts that the writer may read.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::text::duplicate::duplicates;
use haversack_core::text::terms::{Language, terms};
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::change::{Batch, CommitReport, WriteKey};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Item;
use haversack_store::store::query::{Filter, TextSearch};
use haversack_store::store::viewer::Viewer;

use crate::engine::Workspace;
use crate::engine::blocking::on_blocking_thread;
use crate::error::Error;

/// How similar two texts must be to count as duplicates.
const DUPLICATE_SIMILARITY: f64 = 0.85;

/// The share of a text that others must contain for it to say nothing new.
const COVERED_SHARE: f64 = 0.8;

/// How many stored texts a new one is compared with: those that share most words.
const COMPARED_MAX: usize = 20;

/// Words in a row that are compared as one unit.
const RUN_WORDS: usize = 3;

/// Marks that only packs contain: a text with one of these was copied out of a pack.
const PACK_MARKS: [&str; 3] = ["<data-", "</data-", "Relevant context from past conversations:"];

/// A text that was not stored, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedItem {
    /// The item that was to be stored.
    pub id: ItemId,
    /// Why it was not stored.
    pub why: SkipReason,
}

/// Why a text says nothing new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Another text says the same, exactly or nearly.
    Repeats {
        /// That text.
        of: ItemId,
    },
    /// It repeats stored texts that a pack gave out.
    Echoes {
        /// The stored texts it repeats, as far as they are known.
        of: Vec<ItemId>,
    },
}

/// What was stored and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RememberOutcome {
    /// What was stored.
    pub committed: CommitReport,
    /// The items that were not stored, each with its reason.
    pub left_out: Vec<SkippedItem>,
}

impl Workspace {
    /// Stores the items that say something new, with the viewer's rights, and skips the others. An
    /// item whose id is stored already replaces that one and is not skipped.
    ///
    /// # Errors
    /// When an item is not valid, or the store cannot be read or written.
    pub async fn remember(
        &self,
        viewer: &Viewer,
        items: Vec<Item>,
    ) -> Result<RememberOutcome, Error> {
        self.remember_once(viewer, items, None).await
    }

    /// Stores memories that say something new, once for each idempotency key.
    ///
    /// # Errors
    /// As [`Workspace::remember`], and when the key was used for something else.
    pub async fn remember_once(
        &self,
        viewer: &Viewer,
        items: Vec<Item>,
        key: Option<WriteKey>,
    ) -> Result<RememberOutcome, Error> {
        let (workspace, viewer) = (self.clone(), viewer.clone());
        on_blocking_thread(async move { workspace.remember_blocking(&viewer, items, key).await })
            .await
    }

    async fn remember_blocking(
        &self,
        viewer: &Viewer,
        items: Vec<Item>,
        key: Option<WriteKey>,
    ) -> Result<RememberOutcome, Error> {
        let snapshot = self.store().snapshot(viewer).await?;
        let (kept, left_out) = skip_repeats(&*snapshot, items).await?;
        let committed = if kept.is_empty() {
            CommitReport { revision: snapshot.revision(), ..CommitReport::default() }
        } else {
            let batch = Batch::put(self.now(), kept).with_rights(viewer.clone());
            self.write(batch.with_key(key)).await?
        };
        Ok(RememberOutcome { committed, left_out })
    }
}

/// Splits items into those that say something new and those that repeat a stored text or one another.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn skip_repeats(
    snapshot: &dyn Snapshot,
    items: Vec<Item>,
) -> Result<(Vec<Item>, Vec<SkippedItem>), ReadError> {
    let texts: Vec<String> = items.iter().map(|item| snapshot.kinds().text(item)).collect();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let within = duplicates(&borrowed, Score::unit(DUPLICATE_SIMILARITY));
    let reasons = items.iter().zip(&texts).map(|(item, text)| reason_to_skip(snapshot, item, text));
    let reasons = try_join_all(reasons).await?;
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    let ids: Vec<ItemId> = items.iter().map(|item| item.id.clone()).collect();
    for ((item, why), earlier) in items.into_iter().zip(reasons).zip(within) {
        let earlier = earlier.map(|at| &ids[at]).filter(|of| **of != item.id);
        let why = why.or_else(|| earlier.map(|of| SkipReason::Repeats { of: of.clone() }));
        match why {
            Some(why) => left_out.push(SkippedItem { id: item.id, why }),
            None => kept.push(item),
        }
    }
    Ok((kept, left_out))
}

/// Returns why an item need not be stored, by comparison with the stored texts.
async fn reason_to_skip(
    snapshot: &dyn Snapshot,
    item: &Item,
    text: &str,
) -> Result<Option<SkipReason>, ReadError> {
    let known = nearest_texts(snapshot, &item.kind, text).await?;
    if known.iter().any(|(id, _)| *id == item.id) {
        return Ok(None);
    }
    let mut all: Vec<&str> = known.iter().map(|(_, text)| text.as_str()).collect();
    all.push(text);
    if let Some(at) = duplicates(&all, Score::unit(DUPLICATE_SIMILARITY)).pop().flatten() {
        return Ok(Some(SkipReason::Repeats { of: known[at].0.clone() }));
    }
    let (covered, of) = coverage(text, &known);
    let marked = PACK_MARKS.iter().any(|mark| text.contains(mark));
    // One source that contains all of a short text is a paraphrase, which may be news; several
    // sources together, or a pack's own marks, are an echo.
    let echoes = covered >= COVERED_SHARE && of.len() > 1 || marked && !of.is_empty();
    Ok(echoes.then_some(SkipReason::Echoes { of }))
}

/// Returns the stored texts of a kind that share most words with a text.
pub(crate) async fn nearest_texts(
    snapshot: &dyn Snapshot,
    kind: &Kind,
    text: &str,
) -> Result<Vec<(ItemId, String)>, ReadError> {
    let search = TextSearch {
        query: text.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::kind(kind.clone()),
        limit: COMPARED_MAX,
    };
    let hits = snapshot.search_text(&search).await?;
    let ids: Vec<_> = hits.into_iter().map(|hit| hit.id).collect();
    let passages = snapshot.passages(&ids).await?;
    let texts = ids.into_iter().zip(passages);
    Ok(texts.filter_map(|(id, passage)| Some((id.item, passage?.text))).collect())
}

/// Returns the share of a text's runs of words that others contain, and the ids of those others.
fn coverage(text: &str, known: &[(ItemId, String)]) -> (f64, Vec<ItemId>) {
    let runs = |text: &str| -> BTreeSet<Vec<String>> {
        let words = terms(text, Language::English);
        words.windows(RUN_WORDS).map(<[String]>::to_vec).collect()
    };
    let own = runs(text);
    let mut left = own.clone();
    let mut of = Vec::new();
    for (id, other) in known {
        let before = left.len();
        for run in runs(other) {
            left.remove(&run);
        }
        // One run in common may be chance.
        if before - left.len() > 1 {
            of.push(id.clone());
        }
    }
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let covered = if own.is_empty() { 0.0 } else { 1.0 - count(left.len()) / count(own.len()) };
    (covered, of)
}
