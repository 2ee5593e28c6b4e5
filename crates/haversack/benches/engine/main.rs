//! Whole packs, embedding included, at 10,000, 100,000 and a million items, recipe by recipe,
//! beside a floor measured in the same run: the two searches of a hybrid pack.
//!
//! `cargo xtask bench engine` runs it.

mod measure;
mod source;
mod turns;

use std::alloc::System;
use std::path::PathBuf;
use std::time::Instant;

use haversack::{Engine, Request, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::block_on;
use haversack_store::store::change::Batch;
use haversack_store::store::query::{Effort, Filter, TextSearch, VectorSearch};
use haversack_store::store::viewer::Viewer;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use self::measure::ReportTable;
use self::source::{batches, queries};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The current time of the samples.
const NOW: Timestamp = Timestamp::from_millis(1_794_819_600_000);
/// Queries that are measured, after as many others to warm up.
const QUERIES: usize = 100;
const RECIPES: [&str; 6] = ["everything", "memory", "prime", "proposal", "situation", "workspace"];

#[tokio::main]
async fn main() {
    // Cargo passes `--bench`; what we are asked for comes by the environment.
    let setting = |name: &str| std::env::var(name).ok();
    let sizes = setting("HAVERSACK_BENCH_SIZES").unwrap_or_else(|| "10000,100000".to_owned());
    let file = setting("HAVERSACK_BENCH_BLOCKS").map(PathBuf::from);
    let mut table = ReportTable::default();
    if let Some(folder) = setting("HAVERSACK_BENCH_TURNS").map(PathBuf::from) {
        turns::run(&folder, &mut table).await;
        table.print();
        table = ReportTable::default();
    }
    for size in sizes.split(',').filter_map(|size| size.trim().parse().ok()) {
        run(size, file.as_ref(), &mut table).await;
        table.print();
    }
}

async fn run(size: usize, file: Option<&PathBuf>, table: &mut ReportTable) {
    let temporary = tempfile::tempdir().expect("a folder for the store");
    let kept = std::env::var("HAVERSACK_BENCH_FOLDER").ok().map(PathBuf::from);
    let folder = kept.map_or(temporary.path().to_owned(), |kept| kept.join(size.to_string()));
    let is_filled = folder.exists() && folder != temporary.path();
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let engine = Engine::builder().clock(|| NOW).open(&folder).expect("it opens");
    let workspace = engine.workspace("bench").expect("a workspace opens");
    let started = Instant::now();
    if !is_filled {
        load_samples(&workspace);
        for items in batches(size, file) {
            workspace.write(Batch::put(NOW, items)).await.expect("a batch is written");
        }
        table.row(size, "writing all, s", started.elapsed().as_secs_f64());
    }
    let queries = queries(size, file, 2 * QUERIES);
    let (warm, asked) = queries.split_at(queries.len() / 2);
    floor(&workspace, size, (warm, asked), table);
    let only = std::env::var("HAVERSACK_BENCH_RECIPES").unwrap_or_else(|_| RECIPES.join(","));
    for recipe in only.split(',') {
        packs(&workspace, recipe, size, (warm, asked), table).await;
    }
}

/// Imports the five samples into one workspace: the recipes need them beside the mass of texts.
fn load_samples(workspace: &Workspace) {
    for name in ["proposal", "prime", "workspace", "situation", "memory"] {
        let path = format!("{}/../haversack-eval/samples/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::File::open(path).expect("the sample is there");
        let mut file = std::io::BufReader::new(file);
        let store = &**workspace.blocking_store();
        haversack_store::transfer::import(store, &mut file, (name, NOW), &mut |_| {})
            .expect("the sample is sound");
    }
}

fn request(recipe: &str, query: &str) -> Request {
    let id = |text: &str| Some(ItemId::new(text).expect("an id"));
    let mut request = Request::new(recipe, query);
    request.viewer = Viewer::user("mara").expect("a name");
    request.user = Some("mara".to_owned());
    // How many candidates each search is asked for; as many as the recipe says when not set.
    let candidates = std::env::var("HAVERSACK_BENCH_CANDIDATES").ok();
    request.limit = candidates.and_then(|number| number.parse().ok());
    request.cache = false;
    request.keep = false;
    match recipe {
        "proposal" => request.set_subject("opportunity", id("opp-harrowmere")),
        "prime" => request.set_subject("thread", id("t-price")),
        "workspace" => request.focus = id("task-periodicals"),
        "situation" => {
            request.context = id("task/refund-backfill");
            let facts = json!({ "environment": "production", "tool": "run_sql", "change_rows": 9,
                                "task": "Set refunds of citizens back to approved" });
            request.situation = facts.as_object().cloned().unwrap_or_default();
        }
        _ => {}
    }
    request
}

async fn packs(
    workspace: &Workspace,
    recipe: &str,
    size: usize,
    (warm, queries): (&[String], &[String]),
    table: &mut ReportTable,
) {
    for query in warm {
        workspace.pack(request(recipe, query)).await.expect("a pack is made");
    }
    let mut latencies = Vec::new();
    let mut steps = [0.0; 6];
    let mut names = [""; 6];
    let (region, worked) = (Region::new(ALLOCATOR), processor_millis());
    for query in queries {
        let started = Instant::now();
        let assembled = workspace.pack(request(recipe, query)).await.expect("a pack is made");
        latencies.push(started.elapsed().as_secs_f64() * 1e3);
        for (at, (name, duration)) in assembled.timings.steps().into_iter().enumerate() {
            names[at] = name;
            steps[at] += duration.as_secs_f64();
        }
    }
    let count = queries.len() as f64;
    let change = region.change();
    let worked = processor_millis().zip(worked).map(|(after, before)| (after - before) / count);
    latencies.sort_by(f64::total_cmp);
    table.latency(size, &format!("{recipe}: pack"), &latencies);
    let all: f64 = steps.iter().sum();
    let shares: Vec<String> = names
        .iter()
        .zip(steps)
        .map(|(name, step)| format!("{name} {:.0}", step / all * 100.0))
        .collect();
    table.text(size, &format!("{recipe}: share of time, %"), shares.join(", "));
    table.row(size, &format!("{recipe}: allocations"), change.allocations as f64 / count);
    if let Some(worked) = worked {
        table.row(size, &format!("{recipe}: processor time of all threads, ms"), worked);
    }
}

/// CPU time of all threads of this process, where the system reports it: unlike wall time it does not
/// depend on other load.
fn processor_millis() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name before may hold blanks; behind it, the 12th and 13th are hundredths of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) * 10.0)
}

/// The floor of a hybrid pack: one text search and one vector search in sequence.
fn floor(
    workspace: &Workspace,
    size: usize,
    (warm, queries): (&[String], &[String]),
    table: &mut ReportTable,
) {
    let embedder = haversack::default_embedder();
    let viewer = Viewer::user("mara").expect("a name");
    let snapshot = block_on(workspace.blocking_store().snapshot(&viewer)).expect("a snapshot");
    let mut latencies: [Vec<f64>; 3] = Default::default();
    let millis = |started: Instant| started.elapsed().as_secs_f64() * 1e3;
    for queries in [warm, queries] {
        latencies = Default::default();
        for query in queries {
            let started = Instant::now();
            let vector = embedder.embed(&[query]).expect("the built-in model embeds").remove(0);
            let (filter, limit) = (Filter::default(), 200);
            let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
            block_on(snapshot.search_vectors(&search)).expect("a vector search answers");
            let by_meaning = millis(started);
            let search = TextSearch {
                query: query.clone(),
                unfinished: false,
                all_words: false,
                filter: Filter::default(),
                limit,
            };
            block_on(snapshot.search_text(&search)).expect("a text search answers");
            let both = millis(started);
            for (all, one) in latencies.iter_mut().zip([by_meaning, both - by_meaning, both]) {
                all.push(one);
            }
        }
    }
    let names = ["by meaning", "by words", "the two searches alone"];
    for (name, mut latencies) in names.into_iter().zip(latencies) {
        latencies.sort_by(f64::total_cmp);
        table.latency(size, &format!("floor: {name}"), &latencies);
    }
}
