//! The store at 10,000, 100,000 and a million items, with a baseline measured in the same run.
//!
//! The baseline is the lower bound with these libraries: a plain Tantivy query of the same
//! terms, and a plain scan of the same codes. `cargo xtask bench store` runs it.

mod floor;
mod measure;
mod source;

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use haversack_core::embed::{BuiltIn, Embedder};
use haversack_core::rank::{RankedList, fuse_ranks};
use haversack_core::units::{Score, Timestamp};
use haversack_store::embedded::{DataFolder, EmbeddedStore, View};
use haversack_store::store::change::Batch;
use haversack_store::store::query::{Effort, Filter, Hit, TextSearch, VectorSearch};
use haversack_store::store::viewer::Viewer;

use self::measure::{MeasurementTable, latencies, resident_bytes};
use self::source::{SourceBlock, blocks, queries};

const BATCH: usize = 1_000;
const QUERIES: usize = 200;
const LIMIT: usize = 50;

fn main() {
    // Cargo passes `--bench`; settings come from the environment.
    let setting = |name: &str| std::env::var(name).ok();
    let sizes = setting("HAVERSACK_BENCH_SIZES").unwrap_or_else(|| "10000,100000".to_owned());
    let file = setting("HAVERSACK_BENCH_BLOCKS").map(PathBuf::from);
    let mut table = MeasurementTable::default();
    for size in sizes.split(',').filter_map(|size| size.trim().parse().ok()) {
        run(size, file.as_ref(), &mut table);
        table.print();
    }
}

fn run(size: usize, file: Option<&PathBuf>, table: &mut MeasurementTable) {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let embedder: Arc<dyn Embedder> = Arc::new(BuiltIn::new());
    let data_folder = DataFolder::open(folder.path()).expect("an empty folder opens");
    let store = data_folder.workspace("bench", Arc::clone(&embedder)).expect("a workspace opens");
    let started = Instant::now();
    ingest(&store, size, file);
    let seconds = started.elapsed().as_secs_f64();
    table.row(size, "durable ingest, items/s", size as f64 / seconds);
    store.close();
    table.row(size, "peak resident during ingest, MB", measure::peak_bytes() / 1e6);
    drop(store);

    let started = Instant::now();
    let store = data_folder.workspace("bench", Arc::clone(&embedder)).expect("it opens again");
    table.row(size, "open, ms", started.elapsed().as_secs_f64() * 1e3);
    let queries = queries(size, file, QUERIES);
    search(&store, &embedder, size, &queries, table);
    table.row(size, "resident after searches, MB", resident_bytes() / 1e6);
    let stats = store.stats().expect("a store has stats");
    for (name, bytes) in ["store", "text", "vectors"].iter().zip(stats.bytes) {
        table.row(size, &format!("disk: {name}, MB"), bytes as f64 / 1e6);
    }
    drop(store);
    floor::measure(size, file, &embedder, &queries, table);
}

/// Two threads prepare and embed, one writer commits.
fn ingest(store: &EmbeddedStore, size: usize, file: Option<&PathBuf>) {
    let (send, receive) = sync_channel::<Vec<SourceBlock>>(4);
    let receive = Mutex::new(receive);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = receive.lock().expect("no thread panics").recv();
                    let Ok(batch) = next else { break };
                    let items = batch.iter().map(SourceBlock::item).collect();
                    let batch = Batch::put(Timestamp::from_millis(0), items);
                    store.write(batch).expect("a batch is written");
                }
            });
        }
        let mut batch = Vec::with_capacity(BATCH);
        for block in blocks(size, file) {
            batch.push(block);
            if batch.len() == BATCH {
                send.send(std::mem::take(&mut batch)).expect("somebody takes it");
            }
        }
        send.send(batch).expect("somebody takes it");
        drop(send);
    });
}

fn search(
    store: &EmbeddedStore,
    embedder: &Arc<dyn Embedder>,
    size: usize,
    queries: &[String],
    table: &mut MeasurementTable,
) {
    let reader = |group: &str| Viewer::anyone().in_group(group).expect("a plain name");
    for (name, viewer) in
        [("all", Viewer::owner()), ("10 %", reader("ten")), ("1 %", reader("one"))]
    {
        let view = store.view(&viewer);
        let text = |query: &String| text(&view, query);
        let vector = |query: &String| vector(&view, embedder, query);
        let hybrid = |query: &String| {
            let lists = [text(query), vector(query)].map(|hits| RankedList {
                weight: Score::ONE,
                hits: hits.into_iter().map(|hit| (hit.id, hit.score)).collect(),
            });
            fuse_ranks(&lists, 60).len()
        };
        table.latency(size, &format!("text, {name} readable"), &latencies(queries, &text));
        table.latency(size, &format!("vector, {name} readable"), &latencies(queries, &vector));
        table.latency(size, &format!("hybrid, {name} readable"), &latencies(queries, &hybrid));
    }
    let view = store.view(&Viewer::owner());
    recall(&view, embedder, size, queries, table);
}

fn text(view: &View, query: &str) -> Vec<Hit> {
    let search = TextSearch {
        query: query.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::everything(),
        limit: LIMIT,
    };
    view.search_text(&search).expect("a text search answers")
}

fn vector(view: &View, embedder: &Arc<dyn Embedder>, query: &str) -> Vec<Hit> {
    vector_with(view, embedder, query, Effort::Fast)
}

fn vector_with(view: &View, embedder: &Arc<dyn Embedder>, query: &str, effort: Effort) -> Vec<Hit> {
    let vector = embedder.embed(&[query]).expect("the built-in model embeds").remove(0);
    let search = VectorSearch { vector, effort, filter: Filter::everything(), limit: LIMIT };
    view.search_vectors(&search).expect("a vector search answers")
}

/// The recall of the fast search.
fn recall(
    view: &View,
    embedder: &Arc<dyn Embedder>,
    size: usize,
    queries: &[String],
    table: &mut MeasurementTable,
) {
    let (mut found, mut wanted) = (0, 0);
    for query in queries.iter().take(30) {
        let fast = vector(view, embedder, query);
        let full = vector_with(view, embedder, query, Effort::Full);
        // Equal texts have equal scores, so a hit counts by its score, not its id.
        let least = full.last().map(|hit| hit.score);
        wanted += full.len();
        found += fast.iter().filter(|hit| Some(hit.score) >= least).count().min(full.len());
    }
    table.row(size, "recall@50 of fast against full", found as f64 / wanted.max(1) as f64);
}
