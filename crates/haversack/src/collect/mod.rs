//! Collectors: each retrieves candidates for a layer from one snapshot, for one viewer.
//!
//! A collector notes how each candidate was found, and the scores of its own search. Signals that
//! can be measured for all candidates alike are measured later, for ranking.

mod candidates;
mod contexts;
mod field_matches;
mod follow;
mod history;
mod item_filter;
mod links;
mod names;
mod partial_read;
mod search;
mod search_cache;
mod similar;
mod situation;
mod subject;
pub(crate) mod table;
mod time;
mod tree;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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

use crate::models::MissingSummaries;
use crate::notice::Notice;
use crate::pipeline::FieldMatches;
use crate::recipe::CollectorSpec;
use crate::request::Request;
use crate::situation::Judge;

pub(crate) use candidates::{PAGE_LINES, candidate_from_item, candidate_from_passage, page_lines};
pub use contexts::ContextsCollector;
pub(crate) use field_matches::{is_found_by_link, is_found_by_name, retain_field_matches};
pub(crate) use item_filter::was_recorded_by;
pub(crate) use search::plan_searches;
pub use search_cache::SearchCache;
pub use similar::FocusQuery;
pub(crate) use similar::{has_no_subject, is_about_focus};
pub use subject::{Subject, Subjects};
pub use table::{BUILT_IN, BuiltInCollector, FindsBy, RequestField};
pub(crate) use tree::{focus_text, page_descent};

/// A request when collecting begins: resolved, analysed and embedded.
#[derive(Clone)]
pub struct Question {
    /// The request itself.
    pub request: Request,
    /// One state of the workspace, as the viewer may read it.
    pub snapshot: Arc<dyn Snapshot>,
    /// The time of the request.
    pub now: Timestamp,
    /// The analysis of the query.
    pub analysis: Analysis,
    /// The query's vector; `None` if it could not be made and the pack may do without.
    pub vector: Option<Vector>,
    /// The items that the request is about.
    pub subjects: Subjects,
    /// The judge of conditions in plain language.
    pub judge: Arc<dyn Judge>,
    /// The searches so far, shared by all layers.
    pub search_cache: SearchCache,
    /// The items that match, if the question is about fields.
    pub matches: Option<FieldMatches>,
    /// The focus to search by, if the question is about it.
    pub focus_query: Option<FocusQuery>,
    /// The summaries that the pack does without so far, if a model summarises.
    pub missing_summaries: Option<MissingSummaries>,
}

impl Question {
    /// The last moment whose events count: just before the request. The request itself records that
    /// it used items; those events come later, so that a replay sees what the first run saw.
    #[must_use]
    pub const fn events_until(&self) -> Timestamp {
        Timestamp::from_millis(self.now.as_millis().saturating_sub(1))
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("request", &self.request).finish_non_exhaustive()
    }
}

/// Whether a collector could find an item for a question, by the conditions of recipe and request.
pub(crate) fn may_be_found(question: &Question, spec: &CollectorSpec, stored: &Stored) -> bool {
    item_filter::ItemFilter::for_search(question, spec).is_ok_and(|filter| filter.accepts(stored))
}

/// The candidates of a collector, and what it reports beside them.
#[derive(Debug, Default)]
pub struct CollectorOutput {
    /// The candidates, best first by the collector's own scores.
    pub candidates: Vec<Candidate>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
    /// Facts for the result, such as links that were followed; `null` for none.
    pub facts: Value,
    /// Pages and databases whose blocks are among the candidates.
    pub outlines: Vec<Outline>,
}

/// A page or database with its blocks or rows, in document order.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Its id.
    pub id: ItemId,
    /// Its name in notices.
    pub name: String,
    /// What it consists of: `blocks` or `rows`.
    pub what: String,
    /// The blocks that were read, each with the index of its parent block or heading.
    pub blocks: Vec<(ItemId, Option<usize>)>,
    /// The item that is a summary of it by a model, if there is one.
    pub summary: Option<ItemId>,
}

/// Finds candidates. Implement it to bring your own source; see `Builder::collector`.
pub trait Collector: Send + Sync {
    /// Finds candidates for a layer. `found` has the candidates of the layer's other collectors if
    /// this one [runs after them](Collector::runs_after_others); else it is empty.
    ///
    /// The output must not depend on anything that the viewer may not read: use the question's
    /// snapshot, or sources that check the viewer's rights.
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>>;

    /// How long models that it asks may take, on top of its own deadline.
    fn model_time(&self, _question: &Question) -> Duration {
        Duration::ZERO
    }

    /// Whether it builds on the candidates of the layer's other collectors.
    fn runs_after_others(&self) -> bool {
        false
    }
}
