//! Collectors: each finds candidates for a layer, on one snapshot, for one viewer.
//!
//! They measure nothing that ranking can measure for all alike; they note who was found how, and
//! what their own way says of it.

mod asked;
mod contexts;
mod follow;
mod limits;
mod links;
mod make;
mod matching;
mod names;
mod search;
mod sieve;
mod similar;
mod subject;
pub(crate) mod table;
mod talk;
mod time;
mod tree;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::embed::Vector;
use haversack_core::ids::ItemId;
use haversack_core::query::Analysis;
use haversack_core::units::Timestamp;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use serde_json::Value;

use crate::notice::Notice;
use crate::pipeline::Matches;
use crate::recipe::CollectorSpec;
use crate::request::Request;
use crate::situation::Judge;

pub use asked::Searches;
pub use contexts::Contexts;
pub(crate) use make::{from_passage, from_stored};
pub(crate) use matching::{is_linked, is_named, keep_matching};
pub(crate) use search::plan;
pub(crate) use sieve::is_known;
pub use similar::Looked;
pub(crate) use similar::{has_no_subject, is_about_focus};
pub use subject::{Subject, Subjects};
pub use table::{BUILT_IN, BuiltInCollector, FindsBy, RequestField};
pub(crate) use tree::focus_text;

/// A request as it stands when collecting begins: resolved, analysed, embedded.
#[derive(Clone)]
pub struct Question {
    /// What was asked.
    pub request: Request,
    /// One state of the workspace, as the asker may see it.
    pub snapshot: Arc<dyn Snapshot>,
    /// What time it is.
    pub now: Timestamp,
    /// What the query says on its face.
    pub analysis: Analysis,
    /// The query's vector; `None` when there is none to be had and the answer may do without.
    pub vector: Option<Vector>,
    /// What the request is about.
    pub subjects: Subjects,
    /// Who judges conditions in plain language.
    pub judge: Arc<dyn Judge>,
    /// Searches that were made already, for layers that make the same.
    pub searches: Searches,
    /// What a question about fields asks for.
    pub matches: Option<Matches>,
    /// What the asker looks at, where the question is about it.
    pub looked: Option<Looked>,
}

impl Question {
    /// The last moment whose events count. What happens at the very moment of a request, its own
    /// use of items among it, comes after it: so a replay sees what the first run saw.
    #[must_use]
    pub const fn before(&self) -> Timestamp {
        Timestamp::from_millis(self.now.as_millis().saturating_sub(1))
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("request", &self.request).finish_non_exhaustive()
    }
}

/// Whether an item is among what a collector may find for a question.
pub(crate) fn is_asked_for(question: &Question, spec: &CollectorSpec, stored: &Stored) -> bool {
    sieve::Sieve::searching(question, spec).is_ok_and(|sieve| sieve.passes(stored))
}

/// What a collector found.
#[derive(Debug, Default)]
pub struct Collected {
    /// Candidates, best first in the collector's own eyes.
    pub candidates: Vec<Candidate>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
    /// What was found out on the way, for the result to show; `null` for nothing.
    pub facts: Value,
    /// Pages and databases whose blocks are among the candidates.
    pub outlines: Vec<Outline>,
}

/// A page or database with its blocks or rows, in its order.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Which item.
    pub id: ItemId,
    /// What people call it.
    pub name: String,
    /// What stands on it: `blocks` or `rows`.
    pub what: String,
    /// What was read, each with the place of the one that it stands under.
    pub blocks: Vec<(ItemId, Option<usize>)>,
}

/// Finds candidates. Implement it to bring your own source; see `Builder::collector`.
pub trait Collector: Send + Sync {
    /// Finds candidates for a layer. `found` is what the layer's other collectors found, for those
    /// that come [after](Collector::comes_after) them; else it is empty.
    ///
    /// What is returned must depend on nothing that the asker may not read: use the question's
    /// snapshot, or sources that know the asker.
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>>;

    /// Whether it builds on what the layer's other collectors found.
    fn comes_after(&self) -> bool {
        false
    }
}
