//! Changing the embedding model while the store answers and takes writes.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use futures_util::future::join;
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};

use haversack_store::store::change::Change;
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::maintenance::{Maintenance, MaintenanceProgress};
use haversack_store::store::query::{Effort, Filter, VectorSearch};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store};

use super::{cases, id, item, view, write, write_items};

cases! {
    the_old_vectors_answer_until_the_new_ones_are_ready,
    a_second_change_is_refused_while_one_runs,
    texts_written_during_a_change_have_vectors_after_it,
    a_batch_prepared_before_the_switch_has_vectors_of_the_new_model,
    texts_purged_during_a_change_leave_nothing_behind,
    a_change_ends_although_items_are_written_all_the_time,
    a_failed_change_leaves_the_model_in_use,
    a_resumed_change_embeds_no_text_twice,
    vectors_that_do_not_fit_the_model_are_refused,
    the_model_can_be_changed_back,
}

const BODIES: [&str; 4] =
    ["green tea from the hills", "a rocket to the moon", "tax forms of 1987", "winter coats"];

/// An embedder of letter pairs with any number of dimensions, which can wait or fail.
#[derive(Debug)]
struct LetterPairs {
    model: Model,
    /// The length of its vectors.
    length: usize,
    /// Holds up the first call.
    gate: Option<Gate>,
    /// The number of calls that succeed.
    calls_left: AtomicUsize,
    /// The texts that it embedded.
    embedded: Mutex<Vec<String>>,
}

impl LetterPairs {
    fn new(dimensions: usize) -> LetterPairs {
        let (name, version) = ("conformance".to_owned(), "1".to_owned());
        let model = Model { name, version, dimensions };
        let calls_left = AtomicUsize::new(usize::MAX);
        LetterPairs {
            model,
            length: dimensions,
            gate: None,
            calls_left,
            embedded: Mutex::default(),
        }
    }

    fn shared(dimensions: usize) -> Arc<LetterPairs> {
        Arc::new(LetterPairs::new(dimensions))
    }

    fn gated(dimensions: usize) -> Arc<LetterPairs> {
        Arc::new(LetterPairs { gate: Some(Gate::default()), ..LetterPairs::new(dimensions) })
    }

    fn failing_after(dimensions: usize, calls: usize) -> Arc<LetterPairs> {
        let calls_left = AtomicUsize::new(calls);
        Arc::new(LetterPairs { calls_left, ..LetterPairs::new(dimensions) })
    }

    /// Waits for the first call. It goes on when the guard is dropped, at the latest when a case
    /// fails.
    async fn called(&self) -> OpenOnDrop<'_> {
        let gate = self.gate.as_ref().unwrap();
        let opened = OpenOnDrop(gate);
        gate.reached().await;
        opened
    }

    fn embedded(&self) -> Vec<String> {
        self.embedded.lock().unwrap().clone()
    }
}

impl Embedder for LetterPairs {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        if let Some(gate) = &self.gate {
            gate.pass();
        }
        let left = |left: usize| left.checked_sub(1);
        if self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_err() {
            let cause = "the provider is down".into();
            return Err(EmbedError::RetryLater { model: self.model.clone(), cause });
        }
        self.embedded.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let embed = |text: &&str| {
            let mut numbers = vec![0.0; self.length];
            for pair in text.as_bytes().windows(2) {
                numbers[(usize::from(pair[0]) * 31 + usize::from(pair[1])) % self.length] += 1.0;
            }
            Vector::new(numbers).unwrap()
        };
        Ok(texts.iter().map(embed).collect())
    }
}

/// Lets a thread wait until a test has seen that it arrived.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    is_open: bool,
    was_reached: bool,
    waker: Option<Waker>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap()
    }

    fn pass(&self) {
        let mut state = self.state();
        state.was_reached = true;
        state.waker.take().into_iter().for_each(Waker::wake);
        drop(self.opened.wait_while(state, |state| !state.is_open).unwrap());
    }

    async fn reached(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.was_reached {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

struct OpenOnDrop<'a>(&'a Gate);

impl Drop for OpenOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state().is_open = true;
        self.0.opened.notify_all();
    }
}

/// The item nearest to a text, by a vector of the snapshot's own model.
async fn nearest_in(view: &Arc<dyn Snapshot>, text: &str) -> Result<String, ReadError> {
    let vector = view.embedder().embed_query(text).unwrap();
    let search =
        VectorSearch { vector, effort: Effort::Fast, filter: Filter::everything(), limit: 1 };
    let hits = view.search_vectors(&search).await?;
    Ok(hits.first().map_or_else(String::new, |hit| hit.id.item.to_string()))
}

/// The item nearest to a text in the present state.
async fn nearest(store: &Arc<dyn Maintenance>, text: &str) -> String {
    let store: Arc<dyn Store> = Arc::<dyn Maintenance>::clone(store);
    nearest_in(&view(&store, &Viewer::owner()).await, text).await.unwrap()
}

async fn expect_all_nearest(store: &Arc<dyn Maintenance>) {
    for (n, body) in BODIES.iter().enumerate() {
        assert_eq!(nearest(store, body).await, format!("n{n}"), "{body}");
    }
}

async fn fill(store: &Arc<dyn Maintenance>) {
    let items = BODIES.iter().enumerate().map(|(n, body)| item(&format!("n{n}"), body)).collect();
    put_items(store, items).await;
}

async fn put_items(store: &Arc<dyn Maintenance>, items: Vec<haversack_store::store::item::Item>) {
    let store: Arc<dyn Store> = Arc::<dyn Maintenance>::clone(store);
    write_items(&store, 1, items).await;
}

async fn change(
    store: &Arc<dyn Maintenance>,
    embedder: &Arc<LetterPairs>,
) -> Result<MaintenanceProgress, CommitError> {
    store.change_model(Arc::<LetterPairs>::clone(embedder), &mut |_| {}).await
}

async fn expect_sound(store: &Arc<dyn Maintenance>) {
    let report = store.check(false).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

async fn the_old_vectors_answer_until_the_new_ones_are_ready(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let (owner, old) = (Viewer::owner(), store.model());
    let before = store.snapshot(&owner).await.unwrap();
    let embedder = LetterPairs::gated(old.dimensions + 16);
    let meanwhile = async {
        let held_up = embedder.called().await;
        assert_eq!(store.model(), old);
        assert_eq!(store.stats().await.unwrap().model, old);
        expect_all_nearest(&store).await;
        drop(held_up);
    };
    let (changed, ()) = join(change(&store, &embedder), meanwhile).await;
    let expected = BODIES.len() as u64;
    assert_eq!(changed.unwrap(), MaintenanceProgress { done: expected, total: expected });
    let stats = store.stats().await.unwrap();
    assert_eq!(
        (store.model(), &stats.model, stats.stale),
        (embedder.model.clone(), &embedder.model, false)
    );
    expect_all_nearest(&store).await;
    expect_sound(&store).await;
    // A snapshot never compares vectors of two models.
    assert_eq!(*before.embedder().model(), old);
    match nearest_in(&before, BODIES[2]).await {
        Ok(found) => assert_eq!(found, "n2"),
        Err(error) => assert!(matches!(error, ReadError::Stale(_)), "{error}"),
    }
    let after = store.snapshot(&owner).await.unwrap();
    let vector = before.embedder().embed_query("tea").unwrap();
    let search =
        VectorSearch { vector, effort: Effort::Fast, filter: Filter::everything(), limit: 1 };
    assert!(matches!(after.search_vectors(&search).await, Err(ReadError::Invalid { .. })));
}

async fn a_second_change_is_refused_while_one_runs(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let (first, second) = (LetterPairs::gated(48), LetterPairs::shared(24));
    let meanwhile = async {
        let held_up = first.called().await;
        let again = store.reembed(&mut |_| {}).await;
        for refused in [change(&store, &second).await, again] {
            match refused {
                Err(CommitError::ModelChanging { to }) => assert_eq!(to, first.model),
                other => panic!("not refused: {other:?}"),
            }
        }
        drop(held_up);
    };
    join(change(&store, &first), meanwhile).await.0.unwrap();
    assert_eq!(store.model(), first.model);
    assert_eq!(second.embedded(), [] as [String; 0]);
    change(&store, &second).await.unwrap();
    assert_eq!(store.model(), second.model);
    expect_all_nearest(&store).await;
}

async fn texts_written_during_a_change_have_vectors_after_it(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let embedder = LetterPairs::gated(48);
    let late = "a late note on sailing boats";
    let meanwhile = async {
        let held_up = embedder.called().await;
        put_items(&store, vec![item("late", late)]).await;
        assert_eq!(nearest(&store, late).await, "late", "searchable at once");
        drop(held_up);
    };
    join(change(&store, &embedder), meanwhile).await.0.unwrap();
    assert_eq!(nearest(&store, late).await, "late");
    expect_all_nearest(&store).await;
    put_items(&store, vec![item("later", "written after the change of model")]).await;
    assert_eq!(nearest(&store, "written after the change of model").await, "later");
    expect_sound(&store).await;
}

async fn a_batch_prepared_before_the_switch_has_vectors_of_the_new_model(
    store: Arc<dyn Maintenance>,
) {
    // An empty store has no text that the gate could hold up.
    let (first, second) = (LetterPairs::gated(48), LetterPairs::shared(24));
    change(&store, &first).await.unwrap();
    let meanwhile = async {
        let held_up = first.called().await;
        change(&store, &second).await.unwrap();
        drop(held_up);
    };
    join(fill(&store), meanwhile).await;
    assert_eq!(store.model(), second.model);
    assert_eq!(second.embedded(), BODIES);
    expect_all_nearest(&store).await;
    expect_sound(&store).await;
}

async fn texts_purged_during_a_change_leave_nothing_behind(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    put_items(&store, vec![item("twin", BODIES[1])]).await;
    let embedder = LetterPairs::gated(48);
    let plain: Arc<dyn Store> = Arc::<dyn Maintenance>::clone(&store);
    let meanwhile = async {
        let held_up = embedder.called().await;
        let gone = [id("n0"), id("n1")].map(Change::Purge);
        write(&plain, 2, gone.to_vec()).await;
        drop(held_up);
    };
    join(change(&store, &embedder), meanwhile).await.0.unwrap();
    assert_ne!(nearest(&store, BODIES[0]).await, "n0");
    assert_eq!(nearest(&store, BODIES[1]).await, "twin", "it has the text of a purged item");
    expect_sound(&store).await;
    // No vector of the purged text was stored: it has to be embedded again.
    let before = embedder.embedded().len();
    put_items(&store, vec![item("again", BODIES[0])]).await;
    assert_eq!(embedder.embedded()[before..], [BODIES[0].to_owned()]);
}

async fn a_change_ends_although_items_are_written_all_the_time(store: Arc<dyn Maintenance>) {
    let body = |n: usize| format!("note {n} of {}", n * 7_919);
    put_items(&store, (0..300).map(|n| item(&format!("n{n}"), &body(n))).collect()).await;
    let embedder = LetterPairs::shared(96);
    let is_done = AtomicBool::new(false);
    let changing = async {
        change(&store, &embedder).await.unwrap();
        is_done.store(true, Ordering::SeqCst);
    };
    let writing = async {
        let mut n = 300;
        while !is_done.load(Ordering::SeqCst) {
            put_items(&store, vec![item(&format!("n{n}"), &body(n))]).await;
            n += 1;
        }
        n
    };
    let ((), written) = join(changing, writing).await;
    assert_eq!(store.model(), embedder.model);
    for n in [0, 299].into_iter().chain((300..written).rev().take(50)) {
        assert_eq!(nearest(&store, &body(n)).await, format!("n{n}"));
    }
    expect_sound(&store).await;
}

async fn a_failed_change_leaves_the_model_in_use(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let old = store.model();
    let refused = change(&store, &LetterPairs::failing_after(48, 0)).await;
    assert!(matches!(refused, Err(CommitError::Embed(EmbedError::RetryLater { .. }))));
    assert_eq!(store.model(), old);
    expect_all_nearest(&store).await;
    put_items(&store, vec![item("late", "sailing boats")]).await;
    assert_eq!(nearest(&store, "sailing boats").await, "late");
    expect_sound(&store).await;
    change(&store, &LetterPairs::shared(48)).await.unwrap();
    expect_all_nearest(&store).await;
}

async fn a_resumed_change_embeds_no_text_twice(store: Arc<dyn Maintenance>) {
    let body = |n: usize| format!("note {n}");
    for items in (0..3_000).collect::<Vec<_>>().chunks(1_000) {
        // Every text occurs in two items.
        let items = items.iter().map(|n| item(&format!("n{n}"), &body(n / 2))).collect();
        put_items(&store, items).await;
    }
    let embedder = LetterPairs::failing_after(48, 1);
    // A store that embeds all texts in one call does not fail.
    if let Err(error) = change(&store, &embedder).await {
        assert!(matches!(error, CommitError::Embed(_)), "{error}");
        assert!(!embedder.embedded().is_empty());
        embedder.calls_left.store(usize::MAX, Ordering::SeqCst);
        change(&store, &embedder).await.unwrap();
    }
    let embedded = embedder.embedded();
    let texts: BTreeSet<&String> = embedded.iter().collect();
    assert_eq!((embedded.len(), texts.len()), (1_500, 1_500));
    assert_eq!(store.model(), embedder.model);
    expect_sound(&store).await;
}

async fn vectors_that_do_not_fit_the_model_are_refused(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let old = store.model();
    let embedder = Arc::new(LetterPairs { length: 47, ..LetterPairs::new(48) });
    let refused = change(&store, &embedder).await;
    assert!(matches!(refused, Err(CommitError::Embed(EmbedError::NeverRetry { .. }))));
    assert_eq!(store.model(), old);
    expect_all_nearest(&store).await;
}

async fn the_model_can_be_changed_back(store: Arc<dyn Maintenance>) {
    fill(&store).await;
    let (first, mut snapshots) = (store.embedder(), Vec::new());
    for dimensions in [48, 24] {
        snapshots.push(store.snapshot(&Viewer::owner()).await.unwrap());
        change(&store, &LetterPairs::shared(dimensions)).await.unwrap();
        expect_all_nearest(&store).await;
        store.change_model(Arc::clone(&first), &mut |_| {}).await.unwrap();
        assert_eq!(store.model(), *first.model());
        expect_all_nearest(&store).await;
    }
    drop(snapshots);
    // Without new texts nothing is embedded, and the next write may remove old vectors.
    put_items(&store, vec![item("late", "sailing boats")]).await;
    store.reembed(&mut |_| {}).await.unwrap();
    expect_all_nearest(&store).await;
    expect_sound(&store).await;
}
