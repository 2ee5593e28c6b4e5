//! A view of an embedded workspace as an asynchronous snapshot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haversack_core::embed::Embedder;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use tokio::sync::{Semaphore, oneshot};

use super::offload_read;
use crate::embedded::view::View;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::item::{
    Breadcrumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use crate::store::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, LinkedItem,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use crate::store::{Snapshot, StoreFuture};

/// A view of an embedded workspace as an asynchronous snapshot.
pub(super) struct AsyncSnapshot {
    pub(super) view: Arc<View>,
    pub(super) read_permits: Arc<Semaphore>,
    pub(super) may_block: bool,
    pub(super) staleness: Option<Duration>,
}

impl AsyncSnapshot {
    /// Runs a short read on this thread if it may block, or on a blocking thread otherwise.
    fn read<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let view = Arc::clone(&self.view);
        if self.may_block {
            return async move { work(&view) }.boxed();
        }
        offload_read(&self.read_permits, move || work(&view))
    }

    /// Runs a search on a thread of its own, in parallel with other searches.
    fn search<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        if !self.may_block {
            return self.read(work);
        }
        let view = Arc::clone(&self.view);
        let (sender, receiver) = oneshot::channel();
        async move {
            rayon::spawn(move || {
                // A panic drops the sender, which fails the receiver.
                let work = AssertUnwindSafe(|| work(&view));
                if let Ok(result) = catch_unwind(work) {
                    // If the receiver is gone, the caller has dropped the future.
                    let _ = sender.send(result);
                }
            });
            let panicked = |_| Err(ReadError::Storage { cause: "the search panicked".into() });
            receiver.await.unwrap_or_else(panicked)
        }
        .boxed()
    }
}

impl Snapshot for AsyncSnapshot {
    fn revision(&self) -> Revision {
        self.view.revision()
    }

    fn token(&self) -> StateToken {
        self.view.token()
    }

    fn staleness(&self) -> Option<Duration> {
        self.staleness
    }

    fn history_is_whole(&self) -> bool {
        self.view.history_is_whole()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.view.kinds()
    }

    fn embedder(&self) -> Arc<dyn Embedder> {
        self.view.embedder()
    }

    fn get<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Option<Stored>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.get(&ids))
    }

    fn exist<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<bool>> {
        let ids = ids.to_vec();
        self.read(move |view| view.exist(&ids))
    }

    fn list<'a>(&'a self, filter: &'a Filter, page: &'a Page) -> StoreFuture<'a, Vec<Stored>> {
        let (filter, page) = (filter.clone(), page.clone());
        self.read(move |view| view.list(&filter, &page))
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> StoreFuture<'a, u64> {
        let filter = filter.clone();
        self.read(move |view| view.count(&filter))
    }

    fn search_text<'a>(&'a self, search: &'a TextSearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_text(&search))
    }

    fn search_vectors<'a>(&'a self, search: &'a VectorSearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_vectors(&search))
    }

    fn search_fuzzy<'a>(&'a self, search: &'a FuzzySearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_fuzzy(&search))
    }

    fn chunks_by_name<'a>(
        &'a self,
        keys: &'a [String],
        filter: &'a Filter,
        most: usize,
    ) -> StoreFuture<'a, Vec<Vec<CandidateId>>> {
        let (keys, filter) = (keys.to_vec(), filter.clone());
        self.read(move |view| view.chunks_by_name(&keys, &filter, most))
    }

    fn frequencies<'a>(&'a self, text: &'a str) -> StoreFuture<'a, Frequencies> {
        let text = text.to_owned();
        self.read(move |view| view.frequencies(&text))
    }

    fn have_facts<'a>(&'a self, facts: &'a [(FieldRole, String)]) -> StoreFuture<'a, Vec<bool>> {
        let facts = facts.to_vec();
        self.read(move |view| view.have_facts(&facts))
    }

    fn passages<'a>(&'a self, ids: &'a [CandidateId]) -> StoreFuture<'a, Vec<Option<Passage>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.passages(&ids))
    }

    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt> {
        self.view.excerpts(passages, query, characters_max)
    }

    fn ancestors<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>> {
        let id = id.clone();
        self.read(move |view| view.ancestors(&id, limit))
    }

    fn breadcrumbs<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<Breadcrumb>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.breadcrumbs(&ids))
    }

    fn adjacent<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<ItemId>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.adjacent(&ids))
    }

    fn children<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>> {
        let id = id.clone();
        self.read(move |view| view.children(&id, limit))
    }

    fn descendants<'a>(
        &'a self,
        id: &'a ItemId,
        descent: &'a Descent,
    ) -> StoreFuture<'a, Descendants> {
        let (id, descent) = (id.clone(), descent.clone());
        self.read(move |view| view.descendants(&id, &descent))
    }

    fn siblings<'a>(
        &'a self,
        id: &'a ItemId,
        either_side: usize,
    ) -> StoreFuture<'a, (Vec<Stored>, Vec<Stored>)> {
        let id = id.clone();
        self.read(move |view| view.siblings(&id, either_side))
    }

    fn linked_items<'a>(
        &'a self,
        id: &'a ItemId,
        direction: Direction,
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<LinkedItem>> {
        let (id, link_types) = (id.clone(), link_types.to_vec());
        self.read(move |view| view.linked_items(&id, direction, &link_types, limit))
    }

    fn neighbours<'a>(
        &'a self,
        ids: &'a [ItemId],
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<Neighbours>> {
        let (ids, link_types) = (ids.to_vec(), link_types.to_vec());
        self.read(move |view| view.neighbours(&ids, &link_types, limit))
    }

    fn distances<'a>(
        &'a self,
        from: &'a ItemId,
        to: &'a [ItemId],
    ) -> StoreFuture<'a, Vec<TreeDistance>> {
        let (from, to) = (from.clone(), to.to_vec());
        self.read(move |view| view.distances(&from, &to))
    }

    fn activity(&self) -> u64 {
        self.view.activity()
    }

    fn recent<'a>(
        &'a self,
        user: &'a str,
        event_kind: EventKind,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Usage>> {
        let user = user.to_owned();
        self.read(move |view| view.recent(&user, event_kind, since, until, limit))
    }

    fn usage<'a>(
        &'a self,
        ids: &'a [ItemId],
        user: Option<&'a str>,
        until: Option<Timestamp>,
    ) -> StoreFuture<'a, Vec<Usage>> {
        let (ids, user) = (ids.to_vec(), user.map(str::to_owned));
        self.read(move |view| view.usage(&ids, user.as_deref(), until))
    }

    fn history<'a>(&'a self, id: &'a ItemId) -> StoreFuture<'a, Vec<Version>> {
        let id = id.clone();
        self.read(move |view| view.history(&id))
    }

    fn at_path<'a>(
        &'a self,
        path: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, (Vec<PathEntry>, u64)> {
        let path = path.to_owned();
        self.read(move |view| view.at_path(&path, limit))
    }

    fn under_path<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a PathEntry>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<PathEntry>> {
        let (prefix, after) = (prefix.to_owned(), after.cloned());
        self.read(move |view| view.under_path(&prefix, after.as_ref(), limit))
    }

    fn ids_parents_first(&self) -> StoreFuture<'_, Vec<ItemId>> {
        self.read(View::ids_parents_first)
    }

    fn links_from<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Link>> {
        let ids = ids.to_vec();
        self.read(move |view| view.links_from(&ids))
    }

    fn events_of<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Event>> {
        let ids = ids.to_vec();
        self.read(move |view| view.events_of(&ids))
    }

    fn record<'a>(
        &'a self,
        document_kind: DocumentKind,
        name: &'a str,
    ) -> StoreFuture<'a, Option<Record>> {
        let name = name.to_owned();
        self.read(move |view| view.record(document_kind, &name))
    }

    fn records<'a>(
        &'a self,
        document_kind: DocumentKind,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<String>> {
        let after = after.map(str::to_owned);
        self.read(move |view| view.records(document_kind, after.as_deref(), limit))
    }
}
