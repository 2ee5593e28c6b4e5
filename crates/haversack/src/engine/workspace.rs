//! A workspace in hand: writing, packing, and looking back at packs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Stability;
use haversack_core::pack::{Plan, Point, Previous};
use haversack_core::units::{Timestamp, Tokens};
use haversack_store::kinds::Kinds;
use haversack_store::revision::Revision;
use haversack_store::store::change::{Batch, Change, CommitReport};
use haversack_store::store::item::{DocumentKind, Event, EventKind, Item, Record};
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store};
use moka::sync::Cache;
use serde_json::json;

use super::answers::{CacheCounts, PackCache};
use super::blocking::on_blocking_thread;
use super::outbox::Outbox;
use super::{CompiledRecipe, Shared};
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::pipeline::{
    Assembled, PackDelta, PackInputs, StageObserver, add_fields_and_excerpts, budget_too_small,
    prepare, select_and_assemble,
};
use crate::receipt::Receipt;
use crate::request::{AsOf, OPPORTUNITY, RankerChoice, Request};
use crate::revision::RevisionId;
use crate::search::{HybridResults, Search, SearchError, hybrid};
use crate::wire::{WireRequest, principals_of};

/// How long a recipe made ready is used without looking at its text again (P14).
const READY_KEPT: Duration = Duration::from_secs(300);

/// Recipes made ready that are kept.
const READY_MAX: u64 = 64;

/// Receipts that are kept at hand while they are written.
const RECEIPTS_AT_HAND: u64 = 256;

/// A pack, and whether it is the one that was just given to the same question.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The pack.
    pub assembled: Arc<Assembled>,
    /// Whether it was made before, and is given again.
    pub repeated: bool,
}

/// A workspace. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(pub(super) Arc<Inner>);

pub(super) struct Inner {
    name: String,
    pub(super) shared: Arc<Shared>,
    pub(super) store: Arc<dyn Store>,
    /// The same, for threads that may block.
    pub(super) blocking_store: Arc<dyn Maintenance>,
    answers: PackCache,
    pub(super) ready: Cache<String, Arc<CompiledRecipe>>,
    outbox: Outbox,
    pub(super) receipts: Cache<String, Arc<Receipt>>,
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
    pub(super) fn new(name: &str, shared: Arc<Shared>, store: Arc<dyn Maintenance>) -> Workspace {
        Workspace(Arc::new(Inner {
            name: name.to_owned(),
            shared,
            blocking_store: store.for_blocking_threads(),
            store,
            answers: PackCache::default(),
            ready: Cache::builder().max_capacity(READY_MAX).time_to_live(READY_KEPT).build(),
            outbox: Outbox::default(),
            receipts: Cache::new(RECEIPTS_AT_HAND),
        }))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The store underneath, for what is not asked here: lists, history, chores.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// The kinds that are known here.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        self.0.store.kinds()
    }

    /// The store for threads that may block, with its maintenance: its futures need no runtime
    /// ([`haversack_store::store::block_on`]).
    #[must_use]
    pub fn blocking_store(&self) -> &Arc<dyn Maintenance> {
        &self.0.blocking_store
    }

    /// Searches by words, meaning and spelling, as a viewer.
    ///
    /// # Errors
    /// When the search is wrong or the store cannot be read.
    pub async fn search(
        &self,
        viewer: &Viewer,
        search: Search,
    ) -> Result<HybridResults, SearchError> {
        let (workspace, viewer) = (self.clone(), viewer.clone());
        on_blocking_thread(async move {
            let store = &workspace.0.blocking_store;
            let snapshot = store.snapshot(&viewer).await?;
            hybrid(&*snapshot, &**store.embedder(), &search).await
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
    /// When the batch is wrong or cannot be written.
    pub async fn write(&self, batch: Batch) -> Result<CommitReport, Error> {
        let changes_rules = batch.changes.iter().any(|change| match change {
            Change::PutRecord(record) => record.document_kind != DocumentKind::Receipt,
            Change::RemoveRecord(document_kind, _) => *document_kind != DocumentKind::Receipt,
            _ => false,
        });
        let committed = self.0.store.write(batch).await?;
        if changes_rules {
            self.0.ready.invalidate_all();
        }
        Ok(committed)
    }

    /// Adds items or replaces them.
    ///
    /// # Errors
    /// When an item is wrong or cannot be written.
    pub async fn put(&self, items: Vec<Item>) -> Result<CommitReport, Error> {
        self.write(Batch::put(self.now(), items)).await
    }

    /// What the request may see, for a thread that may block.
    pub(super) async fn snapshot(&self, request: &Request) -> Result<Arc<dyn Snapshot>, Error> {
        let store = &self.0.blocking_store;
        Ok(match request.as_of {
            None => store.snapshot(&request.viewer).await?,
            Some(AsOf::Moment(moment)) => {
                let past = store.as_of(&request.viewer, moment).await?;
                // Before anything was written, only what was written later can tell of that time.
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
    /// When the request is wrong, or what it cannot do without fails; see [`Error::code`].
    pub async fn pack(&self, request: Request) -> Result<Arc<Assembled>, Error> {
        Ok(self.answer(request, None).await?.assembled)
    }

    /// Makes a pack and says whether it was just made before. Whoever watches is told of each step
    /// when it is done.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn answer(
        &self,
        request: Request,
        watch: Option<StageObserver>,
    ) -> Result<Answer, Error> {
        let ready = self.compiled_recipe(&request.recipe).await?;
        let before = self.before(&request).await?;
        let workspace = self.clone();
        let work =
            async move { Box::pin(workspace.answer_here(ready, before, request, watch)).await };
        let (answer, noted) = on_blocking_thread(work).await?;
        if !answer.repeated {
            // Here, where whoever asks may have a log of their own.
            announce(&self.0.name, &answer.assembled);
        }
        if let Some(noted) = noted {
            self.0.outbox.send(&self.0.store, noted).await;
        }
        Ok(answer)
    }

    /// A pack, and what is to be noted of it.
    async fn answer_here(
        &self,
        ready: Arc<CompiledRecipe>,
        before: Option<Arc<Receipt>>,
        request: Request,
        watch: Option<StageObserver>,
    ) -> Result<(Answer, Option<Batch>), Error> {
        let snapshot = self.snapshot(&request).await?;
        let cache = ready.recipe.cache.filter(|_| request.cache && may_repeat(&request));
        let key = key(&ready, &*snapshot, &request);
        if let Some(spec) = cache
            && let Some(assembled) = self.0.answers.get(&ready.recipe.name, spec, &key)
        {
            return Ok((Answer { assembled, repeated: true }, None));
        }
        let keep = request.keep;
        let assembled = self.assemble(ready, snapshot, request, before, watch).await?;
        let assembled = Arc::new(assembled);
        let noted = keep.then(|| self.note(&assembled));
        if let Some(spec) = cache.filter(|_| keep) {
            self.0.answers.put(&assembled.recipe.name, spec, key, &assembled);
        }
        Ok((Answer { assembled, repeated: false }, noted))
    }

    /// The receipt of the pack that a request goes on from.
    pub(super) async fn before(&self, request: &Request) -> Result<Option<Arc<Receipt>>, Error> {
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
        before: Option<Arc<Receipt>>,
        watch: Option<StageObserver>,
    ) -> Result<Assembled, Error> {
        let mut start = self.start(ready, snapshot, request, before.as_deref())?;
        start.observer.clone_from(&watch);
        let snapshot = Arc::clone(&start.snapshot);
        let prepared = prepare(&self.0.shared, start).await?;
        let mut assembled = select_and_assemble(prepared)?;
        if let Some(watch) = watch {
            watch("pack", assembled.timings.pack);
        }
        complete(&mut assembled, &snapshot).await?;
        if let Some(before) = before {
            assembled.delta = Some(delta(&before, &assembled)?);
        }
        Ok(assembled)
    }

    pub(super) fn start(
        &self,
        ready: Arc<CompiledRecipe>,
        snapshot: Arc<dyn Snapshot>,
        request: Request,
        before: Option<&Receipt>,
    ) -> Result<PackInputs, Error> {
        let now = request.now.unwrap_or_else(|| self.now());
        let now = request.facts_moment().map_or(now, |known_by| known_by.min(now));
        let seed = format!("haversack {}", self.0.name);
        let previous: Option<Previous> = before.map(Receipt::previous).transpose()?;
        Ok(PackInputs { ready, snapshot, request, now, seed, previous, observer: None })
    }

    /// What other budgets would give (X2): the same as a pack of its own at each.
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
        on_blocking_thread(async move { workspace.frontier_here(ready, request, &budgets).await })
            .await
    }

    async fn frontier_here(
        &self,
        ready: Arc<CompiledRecipe>,
        request: Request,
        budgets: &[Tokens],
    ) -> Result<Vec<Point>, Error> {
        let snapshot = self.snapshot(&request).await?;
        let start = self.start(ready, snapshot, request, None)?;
        let prepared = prepare(&self.0.shared, start).await?;
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

    /// What is kept of a pack, behind the answer: its receipt, and that its items were used (K10).
    fn note(&self, assembled: &Assembled) -> Batch {
        let embedder = self.0.shared.embedder.model().to_string();
        let receipt = Arc::new(Receipt::from_assembled(assembled, &embedder));
        self.0.receipts.insert(receipt.id.clone(), Arc::clone(&receipt));
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
            changes.extend(uses(assembled, user, assembled.now));
        }
        Batch::new(at, changes)
    }

    /// Waits until all receipts and uses are in the store. What packs leave there is written a moment
    /// behind them, several together, or when the last handle of the workspace goes.
    pub async fn settle(&self) {
        self.0.outbox.settle(&*self.0.store).await;
    }

    /// Notes that an item helped, or did not: it counts in later scores (K8).
    ///
    /// # Errors
    /// When the item is not there for this viewer, or it cannot be noted.
    pub async fn feedback(
        &self,
        viewer: &Viewer,
        user: &str,
        item: &ItemId,
        useful: bool,
    ) -> Result<(), Error> {
        let snapshot = self.0.store.snapshot(viewer).await?;
        let there = snapshot.get(std::slice::from_ref(item)).await?.pop().flatten();
        if there.is_none() {
            let message = format!("there is no item {:?} that this user can read", item.as_str());
            return Err(Error::invalid("contextItemId", message));
        }
        let event_kind = if useful { EventKind::Useful } else { EventKind::NotUseful };
        let at = self.now();
        let event = Event { item: item.clone(), user: user.to_owned(), event_kind, at };
        self.write(Batch::new(at, vec![Change::AddEvent(event)])).await?;
        Ok(())
    }

    /// How often a question was answered from what was there, since this workspace was opened (K11).
    #[must_use]
    pub fn repeats(&self) -> CacheCounts {
        self.0.answers.repeats()
    }

    /// Forgets answers whose question holds this text, such as a thread's id; all when it is empty
    /// (K9).
    pub fn forget(&self, pattern: &str) {
        self.0.answers.forget_matching(pattern);
    }
}

/// Adds what the store still has to say of a pack.
pub(super) async fn complete(
    assembled: &mut Assembled,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<(), Error> {
    add_fields_and_excerpts(assembled, snapshot).await?;
    if !snapshot.history_is_whole() {
        let message = "some of what was there then is no longer kept";
        assembled.notices.push(Notice::new(NoticeCode::HistoryIncomplete, message));
    }
    Ok(())
}

/// Whether everything that decides the answer is in its key: a function cannot be.
fn may_repeat(request: &Request) -> bool {
    !matches!(request.ranker, Some(RankerChoice::Given(_)))
}

/// Everything that decides an answer, but for the time, which is what a cache is about. What the viewer
/// cannot read is not in it: whether an answer is repeated would tell of hidden writes.
fn key(ready: &CompiledRecipe, snapshot: &dyn Snapshot, request: &Request) -> String {
    let revision = RevisionId::of(snapshot, &request.viewer);
    let key = json!({
        "recipe": ready.hash,
        "revision": revision.to_string(),
        "activity": snapshot.activity(),
        "viewer": principals_of(&request.viewer),
        "request": WireRequest::of(request),
        "factsAt": request.facts_at.map(Timestamp::as_millis),
        "keep": request.keep,
    });
    key.to_string()
}

/// The events that say what was used: stored items, each once.
fn uses(assembled: &Assembled, user: &str, at: Timestamp) -> Vec<Change> {
    let sections = &assembled.pack.sections;
    let mut items: Vec<&ItemId> =
        sections.iter().flat_map(|section| &section.items).map(|item| &item.id.item).collect();
    items.sort_unstable();
    items.dedup();
    let event = |item: &ItemId| Event {
        item: item.clone(),
        user: user.to_owned(),
        event_kind: EventKind::Used,
        at,
    };
    items
        .into_iter()
        .filter(|item| !assembled.is_synthetic(item))
        .map(|item| Change::AddEvent(event(item)))
        .collect()
}

fn delta(before: &Receipt, assembled: &Assembled) -> Result<PackDelta, Error> {
    let stood: Vec<_> = before.previous()?.order.into_iter().map(|shown| shown.id).collect();
    let stands: Vec<_> =
        assembled.pack.previous.order.iter().map(|shown| shown.id.clone()).collect();
    let missing = |of: &[CandidateId], from: &[CandidateId]| -> Vec<CandidateId> {
        of.iter().filter(|id| !from.contains(id)).cloned().collect()
    };
    Ok(PackDelta {
        previous: before.id.clone(),
        kept_bytes: before.unchanged_prefix_len(&assembled.pack.text),
        added: missing(&stands, &stood),
        removed: missing(&stood, &stands),
    })
}

/// The one line that every pack leaves in the log (P13).
fn announce(workspace: &str, assembled: &Assembled) {
    let specs = assembled.recipe.layers.iter().zip(&assembled.layers);
    let foundational = specs.filter(|(spec, _)| spec.stability == Stability::Foundational);
    let foundational: u32 = foundational.map(|(_, layer)| layer.tokens.get()).sum();
    let total = assembled.pack.tokens.get();
    let categories: BTreeMap<&str, u32> =
        assembled.layers.iter().map(|layer| (layer.name.as_str(), layer.tokens.get())).collect();
    let opportunity = assembled.request.subjects.get(OPPORTUNITY).map(ItemId::as_str);
    tracing::info!(
        target: "haversack",
        event = "context_assembled",
        organizationId = workspace,
        opportunityId = opportunity,
        recipe = assembled.recipe.name,
        receipt = assembled.receipt(),
        totalTokens = total,
        budgetLimit = assembled.core.budget.total().get(),
        foundationalTokens = foundational,
        // All else: what was found, and what stands around it.
        ragTokens = total.saturating_sub(foundational),
        truncated = assembled.layers.iter().any(crate::pipeline::LayerReport::is_truncated),
        latencyMs = assembled.timings.total().as_secs_f64() * 1_000.0,
        categories = ?categories,
        "context assembled"
    );
}
