//! A workspace handle: writes, packs, searches and records feedback.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use haversack_core::embed::Model;
use haversack_core::ids::ItemId;
use haversack_core::pack::{Plan, Point, Previous};
use haversack_core::text::tokenizer::Accuracy;
use haversack_core::units::{Timestamp, Tokens};
use haversack_provider::ChatModel;
use haversack_store::kinds::Kinds;
use haversack_store::revision::Revision;
use haversack_store::store::change::{Batch, Change, CommitReport, WriteKey};
use haversack_store::store::item::{DocumentKind, Event, EventKind, Item, Record};
use haversack_store::store::journal::Freshness;
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store};

use super::answers::{CacheCounts, PackCache};
use super::blocking::on_blocking_thread;
use super::caches::WorkspaceCaches;
use super::details::{
    add_stored_details, cache_key, delta_since, is_cacheable, log_pack, stale_notice, usage_events,
};
use super::model_change::{ModelChangeStatus, SharedModelChange};
use super::outbox::Outbox;
use super::{CompiledRecipe, Shared};
use crate::error::Error;
use crate::models::{MissingSummaries, ModelAnswers, PackModels, SummaryWorker};
use crate::notice::{Notice, NoticeCode};
use crate::pipeline::{
    Assembled, PackInputs, ProviderCount, StageObserver, budget_too_small, prepare,
    select_and_assemble,
};
use crate::receipt::Receipt;
use crate::request::{AsOf, Request};
use crate::search::{HybridResults, Search, SearchError, hybrid};

/// A pack, and whether it came from the cache.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The pack.
    pub assembled: Arc<Assembled>,
    /// Whether this was a cache hit.
    pub from_cache: bool,
}

/// A handle of an open workspace. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(pub(super) Arc<Inner>, Option<Arc<FreshStores>>);

/// The stores of a workspace with reads of another freshness.
struct FreshStores {
    store: Arc<dyn Store>,
    blocking_store: Arc<dyn Maintenance>,
}

/// A handle that does not keep a workspace open when the engine goes. As long as there is one, the
/// workspace is not closed for want of use.
#[derive(Debug, Clone)]
pub(crate) struct WeakWorkspace {
    inner: Weak<Inner>,
    _awaited: Arc<()>,
}

impl WeakWorkspace {
    /// The workspace, if it is still open.
    pub(crate) fn upgrade(&self) -> Option<Workspace> {
        self.inner.upgrade().map(Workspace::of)
    }
}

pub(super) struct Inner {
    name: String,
    pub(super) shared: Arc<Shared>,
    pub(super) store: Arc<dyn Store>,
    /// The same store, with its maintenance.
    pub(super) maintenance: Arc<dyn Maintenance>,
    /// The same store, for threads that may block.
    pub(super) blocking_store: Arc<dyn Maintenance>,
    pub(super) packs: PackCache,
    pub(super) caches: WorkspaceCaches,
    pub(super) outbox: Outbox,
    pub(super) model_change: SharedModelChange,
    /// Shared by weak handles.
    pub(super) awaited: Arc<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.outbox.close(&*self.blocking_store);
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl Workspace {
    pub(super) fn new(
        name: &str,
        shared: Arc<Shared>,
        store: Arc<dyn Maintenance>,
        failed_change: Option<ModelChangeStatus>,
    ) -> Workspace {
        Workspace::of(Arc::new(Inner {
            name: name.to_owned(),
            blocking_store: store.for_blocking_threads(),
            store: Arc::clone(&store) as Arc<dyn Store>,
            maintenance: store,
            packs: PackCache::new(Arc::clone(&shared.caches)),
            caches: WorkspaceCaches::new(Arc::clone(&shared.caches)),
            outbox: Outbox::new(Arc::clone(&shared.recording)),
            shared,
            model_change: Arc::new(Mutex::new(failed_change)),
            awaited: Arc::default(),
        }))
    }

    pub(super) const fn of(inner: Arc<Inner>) -> Workspace {
        Workspace(inner, None)
    }

    /// The same workspace with reads of another freshness, where other nodes write to it, too. One that
    /// follows no journal is always fresh.
    #[must_use]
    pub fn with_freshness(&self, freshness: Freshness) -> Workspace {
        if freshness == Freshness::Strong {
            return Workspace::of(Arc::clone(&self.0));
        }
        let blocking_store = self.0.blocking_store.with_freshness(freshness);
        let store = self.0.maintenance.with_freshness(freshness);
        let stores = FreshStores { store, blocking_store };
        Workspace(Arc::clone(&self.0), Some(Arc::new(stores)))
    }

    /// The workspace's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The workspace's store, for everything that has no method here, such as lists and history.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        self.1.as_ref().map_or(&self.0.store, |fresh| &fresh.store)
    }

    /// The kinds that the workspace's store knows.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        self.0.store.kinds()
    }

    /// The store and its maintenance, for threads that may block: its futures need no runtime
    /// ([`haversack_store::store::block_on`]).
    #[must_use]
    pub fn blocking_store(&self) -> &Arc<dyn Maintenance> {
        self.1.as_ref().map_or(&self.0.blocking_store, |fresh| &fresh.blocking_store)
    }

    /// The model that extracts memories, if one is configured.
    pub(crate) fn extractor(&self) -> Option<Arc<ChatModel>> {
        self.0.shared.models.as_ref()?.extractor.clone()
    }

    pub(crate) fn summary_worker(&self) -> Option<&SummaryWorker> {
        self.0.shared.models.as_ref()?.summaries.as_ref()
    }

    /// Has the summaries made, in the background, that a pack did without.
    fn request_summaries(&self, missing: &MissingSummaries) {
        let Some(worker) = self.summary_worker() else { return };
        for missing in missing.take() {
            let (inner, awaited) = (Arc::downgrade(&self.0), Arc::clone(&self.0.awaited));
            worker.request(&self.0.name, WeakWorkspace { inner, _awaited: awaited }, missing);
        }
    }

    /// Searches by words, meaning and spelling with a viewer's permissions.
    ///
    /// # Errors
    /// When the search is not valid or the store cannot be read.
    pub async fn search(
        &self,
        viewer: &Viewer,
        search: Search,
    ) -> Result<HybridResults, SearchError> {
        let (workspace, viewer) = (self.clone(), viewer.clone());
        on_blocking_thread(async move {
            let store = workspace.blocking_store();
            let snapshot = store.snapshot(&viewer).await?;
            hybrid(&*snapshot, &*snapshot.embedder(), &search).await
        })
        .await
    }

    /// The current time, by the engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0.shared.clock)()
    }

    /// Writes a batch, all or nothing. When it returns, the batch is durable and searchable.
    ///
    /// # Errors
    /// When the batch is not valid or cannot be written.
    pub async fn write(&self, batch: Batch) -> Result<CommitReport, Error> {
        let changes_rules = batch.changes.iter().any(|change| match change {
            Change::PutRecord(record) => record.document_kind != DocumentKind::Receipt,
            Change::RemoveRecord(document_kind, _) => *document_kind != DocumentKind::Receipt,
            _ => false,
        });
        let committed = self.write_to_store(batch).await?;
        if changes_rules {
            self.0.caches.bump_rules();
        }
        Ok(committed)
    }

    /// Adds items or replaces them.
    ///
    /// # Errors
    /// When an item is not valid or cannot be written.
    pub async fn put(&self, items: Vec<Item>) -> Result<CommitReport, Error> {
        self.write(Batch::put(self.now(), items)).await
    }

    /// Takes the snapshot that a request reads, for a thread that may block.
    pub(super) async fn snapshot(&self, request: &Request) -> Result<Arc<dyn Snapshot>, Error> {
        let store = self.blocking_store();
        Ok(match request.as_of {
            None => store.snapshot(&request.viewer).await?,
            Some(AsOf::Moment(moment)) => {
                let past = store.as_of(&request.viewer, moment).await?;
                // At a moment before the first write the store was empty, so the current state is read;
                // the request's `facts_moment` leaves out later facts.
                match past.revision() == Revision::new(0) {
                    true => store.snapshot(&request.viewer).await?,
                    false => past,
                }
            }
            Some(AsOf::Revision(revision)) => {
                store.at_revision(&request.viewer, Revision::new(revision)).await?
            }
            Some(AsOf::Token(token)) => store.at_token(&request.viewer, token).await?,
        })
    }

    /// Makes a pack.
    ///
    /// # Errors
    /// When the request is not valid or a required step fails; see [`Error::code`].
    pub async fn pack(&self, request: Request) -> Result<Arc<Assembled>, Error> {
        Ok(self.answer(request, None).await?.assembled)
    }

    /// Makes a pack, or returns it from the cache. `observer` is called at the end of each stage.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn answer(
        &self,
        request: Request,
        observer: Option<StageObserver>,
    ) -> Result<Answer, Error> {
        let rules = self.rules();
        let ready = self.compiled_recipe(&request.recipe).await?;
        let before = self.previous_receipt(&request).await?;
        let workspace = self.clone();
        let work = async move {
            Box::pin(workspace.answer_blocking((ready, rules), before, request, observer)).await
        };
        let (answer, batch) = on_blocking_thread(work).await?;
        if !answer.from_cache {
            // On the caller's thread, because a caller may have set a log of their own for it.
            log_pack(&self.0.name, &answer.assembled);
        }
        if let Some(batch) = batch {
            self.0.outbox.send(&self.0.store, batch).await;
        }
        Ok(answer)
    }

    /// Returns a pack, and the batch that records it unless it came from the cache.
    async fn answer_blocking(
        &self,
        (ready, rules): (Arc<CompiledRecipe>, u64),
        before: Option<Arc<Receipt>>,
        request: Request,
        observer: Option<StageObserver>,
    ) -> Result<(Answer, Option<Batch>), Error> {
        let snapshot = self.snapshot(&request).await?;
        let ready = match self.rules() == rules {
            true => ready,
            // Another node changed a recipe, a template or a ranker.
            false => self.compiled_recipe(&request.recipe).await?,
        };
        let staleness = snapshot.staleness();
        let may_cache = request.cache && staleness.is_none() && is_cacheable(&request);
        let cache = ready.recipe.cache.filter(|_| may_cache);
        let key = cache_key(&ready, &*snapshot, &request);
        if let Some(spec) = cache
            && let Some(assembled) = self.0.packs.get(&ready.recipe.name, spec, &key)
        {
            return Ok((Answer { assembled, from_cache: true }, None));
        }
        let (keep, embedder) = (request.keep, snapshot.embedder());
        let mut assembled =
            self.assemble(ready, snapshot, request, (before, None), observer).await?;
        assembled.notices.extend(staleness.map(stale_notice));
        let assembled = Arc::new(assembled);
        let batch = keep.then(|| self.record_batch(&assembled, embedder.model()));
        if let Some(spec) = cache.filter(|_| keep) {
            self.0.packs.put(&assembled.recipe.name, spec, key, &assembled);
        }
        Ok((Answer { assembled, from_cache: false }, batch))
    }

    /// Reads the receipt of the pack that a request continues.
    pub(super) async fn previous_receipt(
        &self,
        request: &Request,
    ) -> Result<Option<Arc<Receipt>>, Error> {
        match &request.previous {
            Some(id) => Ok(Some(self.receipt(id, &request.viewer).await?)),
            None => Ok(None),
        }
    }

    pub(super) async fn assemble(
        &self,
        ready: Arc<CompiledRecipe>,
        snapshot: Arc<dyn Snapshot>,
        request: Request,
        (before, replayed): (Option<Arc<Receipt>>, Option<ModelAnswers>),
        observer: Option<StageObserver>,
    ) -> Result<Assembled, Error> {
        let is_replay = replayed.is_some();
        let makes_summaries = !is_replay && request.as_of.is_none() && request.keep;
        let mut inputs = self.pack_inputs(ready, snapshot, request, before.as_deref(), replayed)?;
        inputs.observer.clone_from(&observer);
        let missing = inputs.models.missing_summaries.clone().filter(|_| makes_summaries);
        let snapshot = Arc::clone(&inputs.snapshot);
        let prepared = Box::pin(prepare(&self.0.shared, inputs)).await?;
        let mut assembled = select_and_assemble(prepared)?;
        if let Some(observer) = observer {
            observer("pack", assembled.timings.pack);
        }
        if let Some(missing) = missing {
            self.request_summaries(&missing);
        }
        add_stored_details(&mut assembled, &snapshot).await?;
        if !is_replay {
            self.count_by_provider(&mut assembled);
        }
        if let Some(before) = before {
            assembled.delta = Some(delta_since(&before, &assembled)?);
        }
        Ok(assembled)
    }

    /// Counts the text by the provider that is configured to, where our own count is an estimate. A failure
    /// is a notice: the estimate is an upper bound.
    fn count_by_provider(&self, assembled: &mut Assembled) {
        let counter = self.0.shared.models.as_ref().and_then(|models| models.counter.as_ref());
        let is_exact = assembled.pack.accuracy == Accuracy::Exact;
        let Some(counter) = counter.filter(|_| !is_exact) else { return };
        let _scope = self.allowance_scope();
        match counter.count(&assembled.pack.text) {
            Ok(tokens) => {
                let counter = counter.name().to_owned();
                assembled.provider_count = Some(ProviderCount { counter, tokens });
            }
            Err(error) => {
                let message = format!("the provider did not count the text: {}", error.chain());
                assembled.notices.push(Notice::new(NoticeCode::Degraded, message));
            }
        }
    }

    pub(super) fn pack_inputs(
        &self,
        ready: Arc<CompiledRecipe>,
        snapshot: Arc<dyn Snapshot>,
        request: Request,
        before: Option<&Receipt>,
        replayed: Option<ModelAnswers>,
    ) -> Result<PackInputs, Error> {
        let now = request.now.unwrap_or_else(|| self.now());
        let now = request.facts_moment().map_or(now, |known_by| known_by.min(now));
        let seed = format!("haversack {}", self.0.name);
        let previous: Option<Previous> = before.map(Receipt::previous).transpose()?;
        let shared = &self.0.shared;
        let models = PackModels::new(
            snapshot.embedder(),
            Arc::clone(&shared.judge),
            shared.reranker.clone(),
            self.summary_worker().is_some(),
            (replayed, self.allowances()),
        );
        let observer = None;
        Ok(PackInputs { ready, snapshot, request, now, seed, previous, observer, models })
    }

    /// Shows what other budgets would buy (X2). Each point equals a pack made at that budget.
    ///
    /// # Errors
    /// As [`Workspace::pack`]. Budgets below the least possible are left out, unless all are.
    pub async fn frontier(
        &self,
        request: Request,
        budgets: &[Tokens],
    ) -> Result<Vec<Point>, Error> {
        let ready = self.compiled_recipe(&request.recipe).await?;
        let (workspace, budgets) = (self.clone(), budgets.to_vec());
        on_blocking_thread(
            async move { workspace.frontier_blocking(ready, request, &budgets).await },
        )
        .await
    }

    async fn frontier_blocking(
        &self,
        ready: Arc<CompiledRecipe>,
        request: Request,
        budgets: &[Tokens],
    ) -> Result<Vec<Point>, Error> {
        let snapshot = self.snapshot(&request).await?;
        let inputs = self.pack_inputs(ready, snapshot, request, None, None)?;
        let prepared = prepare(&self.0.shared, inputs).await?;
        let plan = Plan::new(&prepared.core)?;
        let (least, most) = (plan.least_shown(), plan.most());
        let mut totals: Vec<Tokens> = if budgets.is_empty() {
            let step = (most.get().saturating_sub(least.get()) / 24).max(1);
            (0..=24).map(|n| Tokens::new((least.get() + n * step).min(most.get()))).collect()
        } else {
            budgets.to_vec()
        };
        totals.sort_unstable();
        totals.dedup();
        if let Some(&total) = totals.last().filter(|total| **total < least) {
            return Err(budget_too_small(&prepared, total, least));
        }
        totals.retain(|total| *total >= least);
        Ok(plan.frontier(&totals)?)
    }

    /// Builds the batch that records a pack: its receipt and the usage events of its items (K10).
    fn record_batch(&self, assembled: &Assembled, model: &Model) -> Batch {
        let receipt = Arc::new(Receipt::from_assembled(assembled, &model.to_string()));
        self.0.caches.add_receipt(Arc::clone(&receipt));
        let at = self.now();
        let mut changes = Vec::new();
        match serde_json::to_string(&*receipt) {
            Ok(text) => changes.push(Change::PutRecord(Record {
                document_kind: DocumentKind::Receipt,
                name: receipt.id.clone(),
                text,
                at,
            })),
            Err(error) => {
                tracing::warn!(target: "haversack", %error, "a receipt cannot be written")
            }
        }
        if let Some(user) = &assembled.request.user {
            changes.extend(usage_events(assembled, user, assembled.now));
        }
        Batch::new(at, changes)
    }

    /// Waits until the receipts and usage events of all packs are in the store. They are otherwise
    /// written in groups shortly after each pack, or when the last handle is dropped.
    pub async fn flush(&self) {
        self.0.outbox.flush(&*self.0.store).await;
    }

    /// The state of the recipes, templates and rankers, here and as other nodes changed them.
    pub(super) fn rules(&self) -> u64 {
        self.0.caches.rules() + self.0.store.documents_version()
    }

    /// Records whether an item was useful, which changes its later scores (K8).
    ///
    /// # Errors
    /// When the viewer cannot read the item, or the store cannot be written.
    pub async fn feedback(
        &self,
        viewer: &Viewer,
        user: &str,
        item: &ItemId,
        useful: bool,
    ) -> Result<(), Error> {
        self.feedback_once(viewer, user, (item, useful), None).await
    }

    /// Records whether an item was useful, once for each idempotency key.
    ///
    /// # Errors
    /// As [`Workspace::feedback`], and when the key was used for something else.
    pub async fn feedback_once(
        &self,
        viewer: &Viewer,
        user: &str,
        (item, useful): (&ItemId, bool),
        key: Option<WriteKey>,
    ) -> Result<(), Error> {
        let snapshot = self.store().snapshot(viewer).await?;
        let readable = snapshot.get(std::slice::from_ref(item)).await?.pop().flatten();
        if readable.is_none() {
            let message = format!("there is no item {:?} that this user can read", item.as_str());
            return Err(Error::invalid("contextItemId", message));
        }
        let event_kind = if useful { EventKind::Useful } else { EventKind::NotUseful };
        let at = self.now();
        let event = Event { item: item.clone(), user: user.to_owned(), event_kind, at };
        self.write(Batch::new(at, vec![Change::AddEvent(event)]).with_key(key)).await?;
        Ok(())
    }

    /// Returns the cache hits and misses since this workspace was opened (K11).
    #[must_use]
    pub fn cache_counts(&self) -> CacheCounts {
        self.0.packs.counts()
    }

    /// Removes cached packs whose request contains this text, such as a thread's id; all of them when
    /// it is empty (K9).
    pub fn invalidate_cache(&self, pattern: &str) {
        self.0.packs.invalidate_matching(pattern);
    }
}
