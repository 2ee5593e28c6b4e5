//! Speed of the vector index: searches and opening, at one size and three shares of
//! readable rows.
//!
//! `cargo bench -p haversack-store --bench vectors` runs it. `HAVERSACK_BENCH_SLOTS=1000000` sets
//! the size (100,000 if not set). It first prints the recall of each effort.

use std::convert::Infallible;
use std::sync::LazyLock;

use divan::{Bencher, black_box};
use haversack_store::embedded::row::{Bitmap, Row};
use haversack_store::embedded::vectors::{
    ModelTag, SEGMENT_SLOTS_MAX, ScanEffort, VectorHit, VectorReader, VectorSlot, Vectors,
};
use haversack_store::revision::Revision;
use tempfile::TempDir;

const DIMENSIONS: usize = 256;
const LIMIT: usize = 50;

/// A deterministic random number generator.
#[derive(Clone)]
struct VectorBenchRandom(u64);

impl VectorBenchRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 31
    }

    /// Approximately normal: the sum of four small numbers.
    fn normal(&mut self) -> f32 {
        let bytes = self.next().to_le_bytes();
        let sum: i16 = bytes[4..].iter().map(|byte| i16::from(*byte) - 127).sum();
        f32::from(sum) / 150.0
    }
}

fn unit(vector: impl Iterator<Item = f32>) -> Vec<f32> {
    let vector: Vec<f32> = vector.collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

/// Topics within topics, as texts have: each vector leans on one of 100 broad and one of 2,000
/// narrow directions. Computed on demand by number, so that a million need no memory.
struct Topics {
    broad: Vec<Vec<f32>>,
    narrow: Vec<Vec<f32>>,
}

impl Topics {
    fn new() -> Topics {
        let mut dice = VectorBenchRandom(1);
        let mut many = |n| (0..n).map(|_| unit((0..DIMENSIONS).map(|_| dice.normal()))).collect();
        Topics { broad: many(100), narrow: many(2_000) }
    }

    fn vector(&self, number: u64) -> Vec<f32> {
        let mut dice = VectorBenchRandom(number << 20);
        let broad = &self.broad[(dice.next() % 100) as usize];
        let narrow = &self.narrow[(dice.next() % 2_000) as usize];
        let sixteenth = 1.0 / 16.0;
        unit(broad.iter().zip(narrow).map(|(a, b)| 0.6 * a + 0.5 * b + sixteenth * dice.normal()))
    }
}

struct VectorBench {
    topics: Topics,
    folder: TempDir,
    reader: VectorReader,
    slots: u32,
    queries: Vec<Vec<f32>>,
}

fn tag() -> ModelTag {
    let dimensions = u32::try_from(DIMENSIONS).expect("few dimensions");
    ModelTag { name: "bench".to_owned(), version: "1".to_owned(), dimensions }
}

static WORLD: LazyLock<VectorBench> = LazyLock::new(|| {
    let slots = std::env::var("HAVERSACK_BENCH_SLOTS").ok().and_then(|n| n.parse().ok());
    let slots = slots.unwrap_or(100_000);
    let (topics, folder) = (Topics::new(), TempDir::new().expect("a folder"));
    let mut vectors = Vectors::open(folder.path(), &tag()).expect("opens").vectors;
    let numbers: Vec<u32> = (0..slots).collect();
    for (revision, numbers) in (1..).zip(numbers.chunks(SEGMENT_SLOTS_MAX / 16)) {
        let made: Vec<_> = numbers.iter().map(|n| (slot(*n), topics.vector((*n).into()))).collect();
        let made: Vec<_> = made.iter().map(|(slot, vector)| (*slot, &**vector)).collect();
        vectors.append(Revision::new(revision), &made).expect("appends");
    }
    vectors.seal().expect("seals");
    let queries = (0..40).map(|n| topics.vector(u64::from(u32::MAX) + n)).collect();
    VectorBench { topics, folder, reader: vectors.reader(), slots, queries }
});

fn slot(number: u32) -> VectorSlot {
    let tie = VectorBenchRandom(number.into()).next();
    VectorSlot { row: Row::new(number), chunk: 0, embedding: number, tie }
}

impl VectorBench {
    /// A scattered `percent` of all rows.
    fn readable(&self, percent: u64) -> Bitmap {
        let rows = (0..self.slots)
            .filter(|n| VectorBenchRandom(u64::from(*n) << 9).next() % 100 < percent);
        rows.map(Row::new).collect()
    }

    fn search(&self, query: &[f32], among: &Bitmap, effort: ScanEffort) -> Vec<VectorHit> {
        let exact = |numbers: &[u32]| -> Result<Vec<Vec<f32>>, Infallible> {
            Ok(numbers.iter().map(|number| self.topics.vector((*number).into())).collect())
        };
        self.reader.search(query, among, effort, LIMIT, &exact).expect("finds")
    }

    /// A search with free exact vectors: the time of the index alone.
    fn codes_only(&self, query: &[f32], among: &Bitmap, effort: ScanEffort) -> Vec<VectorHit> {
        let exact = |numbers: &[u32]| -> Result<Vec<Vec<f32>>, Infallible> {
            Ok(vec![query.to_vec(); numbers.len()])
        };
        self.reader.search(query, among, effort, LIMIT, &exact).expect("finds")
    }

    fn recall(&self, effort: ScanEffort) -> f64 {
        let among = self.readable(100);
        let (mut found, mut wanted) = (0.0, 0.0);
        for query in &self.queries {
            let truth = self.truth(query);
            let hits = self.search(query, &among, effort);
            for number in &truth {
                wanted += 1.0;
                found += f64::from(u8::from(hits.iter().any(|hit| hit.slot.embedding == *number)));
            }
        }
        found / wanted
    }

    fn truth(&self, query: &[f32]) -> Vec<u32> {
        let among = self.readable(100);
        let hits = self.reader.search(
            query,
            &among,
            ScanEffort::Full,
            LIMIT * 10,
            &|numbers: &[u32]| {
                let vectors = numbers.iter().map(|number| self.topics.vector((*number).into()));
                Ok::<_, Infallible>(vectors.collect())
            },
        );
        hits.expect("finds").iter().take(LIMIT).map(|hit| hit.slot.embedding).collect()
    }
}

#[expect(clippy::print_stdout, reason = "this is what the benchmark is for")]
fn main() {
    for binary in [1_000, 2_000, 4_000] {
        println!(
            "recall@{LIMIT}, binary {binary}: {:.4}",
            WORLD.recall(ScanEffort::Fast { binary })
        );
    }
    println!("recall@{LIMIT}, full: {:.4}", WORLD.recall(ScanEffort::Full));
    divan::main();
}

fn bench(bencher: Bencher<'_, '_>, percent: u64, effort: ScanEffort) {
    let among = WORLD.readable(percent);
    let mut queries = WORLD.queries.iter().cycle();
    bencher.bench_local(|| {
        queries.next().map(|query| WORLD.codes_only(black_box(query), &among, effort))
    });
}

#[divan::bench(args = [100, 10, 1])]
fn fast(bencher: Bencher<'_, '_>, percent: u64) {
    bench(bencher, percent, ScanEffort::default());
}

#[divan::bench(args = [100, 10, 1])]
fn full(bencher: Bencher<'_, '_>, percent: u64) {
    bench(bencher, percent, ScanEffort::Full);
}

#[divan::bench(sample_count = 10)]
fn open_and_check() -> usize {
    Vectors::open(WORLD.folder.path(), &tag()).expect("opens").vectors.reader().len()
}
