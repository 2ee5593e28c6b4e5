//! Speed of the text index compared with plain Tantivy in the same run, on generated text.
//!
//! Compare results within one run only.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use divan::{Bencher, black_box};
use haversack_core::text::terms::{Language, terms};
use haversack_store::embedded::row::{Bitmap, Row};
use haversack_store::embedded::text::{
    OpenedTextIndex, QueryOptions, SIMILARITY_MIN, TextDocument, TextIndex, TextQuery, VisibleRows,
};
use haversack_store::revision::Revision;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TEXT};
use tantivy::{Index, IndexReader, IndexWriter, TantivyDocument, Term};
use tempfile::TempDir;

const N_DOCUMENTS: u32 = 100_000;
const N_WORDS: usize = 50_000;

fn main() {
    divan::main();
}

/// A deterministic random number generator.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A word's rank: the n-th is about n times rarer than the first.
    fn rank(&mut self) -> usize {
        let rank = (N_WORDS as f64).powf(self.unit());
        #[expect(clippy::cast_possible_truncation, reason = "a rank is small")]
        let rank = rank as usize;
        rank.min(N_WORDS) - 1
    }
}

/// Synthetic words.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut random = XorShift(0x1234_5678_9abc_def1);
    let syllables = ["ka", "ro", "mi", "tel", "su", "van", "do", "per", "li", "no", "gra", "zu"];
    let word = |mut n: usize, random: &mut XorShift| {
        let mut word = String::new();
        while n > 0 || word.len() < 5 {
            let next = if n > 0 { n % 12 } else { usize::from(random.next() % 12 > 5) };
            word.push_str(syllables[next]);
            n /= 12;
        }
        word
    };
    (0..N_WORDS).map(|n| word(n + 1, &mut random)).collect()
});

struct SyntheticDocument {
    title: String,
    path: String,
    body: String,
}

fn synthetic_document(random: &mut XorShift) -> SyntheticDocument {
    let mut words = |n: usize, between: &str| {
        let words: Vec<&str> = (0..n).map(|_| WORDS[random.rank()].as_str()).collect();
        words.join(between)
    };
    SyntheticDocument { title: words(5, " "), path: words(3, "/"), body: words(40, " ") }
}

fn document(row: u32, made: &SyntheticDocument) -> TextDocument<'_> {
    TextDocument {
        row: Row::new(row),
        chunk: 0,
        tie: u64::from(row),
        title: &made.title,
        path: &made.path,
        headings: "",
        body: &made.body,
        language: Language::English,
    }
}

fn fresh() -> (TextIndex, TempDir) {
    let folder = tempfile::tempdir().expect("there is room");
    let OpenedTextIndex { index, .. } =
        TextIndex::open(folder.path()).expect("a new folder is usable");
    (index, folder)
}

static OURS: LazyLock<(TextIndex, TempDir)> = LazyLock::new(|| {
    let (mut index, folder) = fresh();
    let mut random = XorShift(7);
    for row in 0..N_DOCUMENTS {
        index.add(&document(row, &synthetic_document(&mut random))).expect("writes");
    }
    index.commit(Revision::new(1)).expect("writes");
    index.compact().expect("merges");
    (index, folder)
});

struct TantivyBaseline {
    reader: IndexReader,
    fields: [Field; 3],
    _folder: TempDir,
}

fn their_index(folder: &TempDir) -> (Index, [Field; 3]) {
    let mut schema = Schema::builder();
    let fields = ["title", "path", "body"].map(|name| schema.add_text_field(name, TEXT));
    let index = Index::create_in_dir(folder.path(), schema.build()).expect("a new folder");
    (index, fields)
}

fn their_document(made: &SyntheticDocument, fields: [Field; 3]) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    for (field, text) in fields.into_iter().zip([&made.title, &made.path, &made.body]) {
        let text = terms(text, Language::English).join(" ");
        document.add_text(field, text);
    }
    document
}

static THEIRS: LazyLock<TantivyBaseline> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is room");
    let (index, fields) = their_index(&folder);
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 64 << 20).expect("a writer");
    let mut random = XorShift(7);
    for _ in 0..N_DOCUMENTS {
        writer
            .add_document(their_document(&synthetic_document(&mut random), fields))
            .expect("writes");
    }
    writer.commit().expect("writes");
    let segments = index.searchable_segment_ids().expect("reads");
    writer.merge(&segments).wait().expect("merges");
    TantivyBaseline { reader: index.reader().expect("reads"), fields, _folder: folder }
});

/// Queries of five to eight words, rarer than the most frequent ones, which are stop words.
static QUERIES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut random = XorShift(99);
    let mut query = |n: usize| {
        let mut words = Vec::new();
        while words.len() < n {
            let rank = random.rank();
            if rank >= 30 {
                words.push(WORDS[rank].as_str());
            }
        }
        words.join(" ")
    };
    (0..200).map(|n| query(5 + n % 4)).collect()
});

/// Each call takes the next query.
struct QueryCycle(AtomicUsize);

impl QueryCycle {
    const fn new() -> QueryCycle {
        QueryCycle(AtomicUsize::new(0))
    }

    fn of<'q, T>(&self, queries: &'q [T]) -> &'q T {
        &queries[self.0.fetch_add(1, Ordering::Relaxed) % queries.len()]
    }
}

fn read() -> Vec<TextQuery> {
    let options = QueryOptions { language: Some(Language::English), ..QueryOptions::default() };
    QUERIES.iter().map(|query| TextQuery::new(query, &options)).collect()
}

fn readable(one_in: u32) -> Bitmap {
    let mut random = XorShift(3);
    (0..N_DOCUMENTS)
        .filter(|_| random.next().is_multiple_of(u64::from(one_in)))
        .map(Row::new)
        .collect()
}

/// Repeated searches: frequencies are cached.
#[divan::bench(args = [1, 10, 100], sample_count = 200, sample_size = 5)]
fn ours_top_50_one_in(bencher: Bencher<'_, '_>, one_in: u32) {
    let (reader, queries, turn) = (OURS.0.reader(), read(), QueryCycle::new());
    let visible = VisibleRows::new(readable(one_in));
    for query in &queries {
        reader.search(query, &visible, visible.rows(), 50).expect("reads");
    }
    bencher.bench(|| reader.search(turn.of(&queries), &visible, visible.rows(), 50));
}

/// The first search of a viewer: nothing is cached.
#[divan::bench(args = [1, 10, 100], sample_count = 200, sample_size = 1)]
fn ours_first_one_in(bencher: Bencher<'_, '_>, one_in: u32) {
    let (reader, queries, turn) = (OURS.0.reader(), read(), QueryCycle::new());
    let rows = readable(one_in);
    bencher
        .with_inputs(|| VisibleRows::new(rows.clone()))
        .bench_values(|visible| reader.search(turn.of(&queries), &visible, visible.rows(), 50));
}

/// Half of the readable rows may be returned.
#[divan::bench(sample_count = 200, sample_size = 5)]
fn ours_among_half(bencher: Bencher<'_, '_>) {
    let (reader, queries, turn) = (OURS.0.reader(), read(), QueryCycle::new());
    let visible = VisibleRows::new(readable(1));
    let among = readable(2);
    bencher.bench(|| reader.search(turn.of(&queries), &visible, &among, 50));
}

fn their_queries(fields: &[Field]) -> Vec<BooleanQuery> {
    let clauses = |query: &String| {
        let mut clauses: Vec<Box<dyn Query>> = Vec::new();
        for term in terms(query, Language::English) {
            for field in fields {
                let term = Term::from_field_text(*field, &term);
                clauses.push(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)));
            }
        }
        BooleanQuery::union(clauses)
    };
    QUERIES.iter().map(clauses).collect()
}

#[divan::bench(args = ["body", "all fields"], sample_count = 200, sample_size = 5)]
fn tantivy_top_50(bencher: Bencher<'_, '_>, fields: &str) {
    let all = THEIRS.fields;
    let queries = their_queries(if fields == "body" { &all[2..] } else { &all });
    let (searcher, turn) = (THEIRS.reader.searcher(), QueryCycle::new());
    bencher.bench(|| {
        searcher
            .search(turn.of::<BooleanQuery>(&queries), &TopDocs::with_limit(50).order_by_score())
    });
}

#[divan::bench(args = [1, 10], sample_count = 100, sample_size = 2)]
fn ours_fuzzy_one_in(bencher: Bencher<'_, '_>, one_in: u32) {
    let (reader, turn) = (OURS.0.reader(), QueryCycle::new());
    let visible = VisibleRows::new(readable(one_in));
    let mut random = XorShift(7);
    // Titles of documents with a letter missing.
    let queries: Vec<String> =
        (0..50).map(|_| synthetic_document(&mut random).title.replacen('a', "", 1)).collect();
    bencher.bench(|| {
        reader.fuzzy(turn.of::<String>(&queries), &visible, visible.rows(), 5, SIMILARITY_MIN)
    });
}

/// One small document added and committed, found by the next reader.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn ours_add_and_commit(bencher: Bencher<'_, '_>) {
    let (index, _folder) = fresh();
    let mut random = XorShift(11);
    let state = Mutex::new((index, 0));
    bencher.with_inputs(|| synthetic_document(&mut random)).bench_local_values(|made| {
        let mut state = state.lock().expect("not poisoned");
        let (index, row) = &mut *state;
        *row += 1;
        index.add(&document(*row, &made)).expect("writes");
        index.commit(Revision::new(u64::from(*row))).expect("writes");
        black_box(index.reader())
    });
}

/// The same with Tantivy's own directory, which syncs to disk.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn tantivy_add_and_commit(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("there is room");
    let (index, fields) = their_index(&folder);
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 64 << 20).expect("a writer");
    let mut random = XorShift(11);
    bencher.with_inputs(|| synthetic_document(&mut random)).bench_local_values(|made| {
        writer.add_document(their_document(&made, fields)).expect("writes");
        writer.commit().expect("writes")
    });
}

/// Twenty thousand documents in one commit.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn ours_bulk_20k(bencher: Bencher<'_, '_>) {
    let mut random = XorShift(13);
    let all: Vec<SyntheticDocument> =
        (0..20_000).map(|_| synthetic_document(&mut random)).collect();
    bencher.with_inputs(fresh).bench_values(|(mut index, folder)| {
        for (row, made) in (0..).zip(&all) {
            index.add(&document(row, made)).expect("writes");
        }
        index.commit(Revision::new(1)).expect("writes");
        (index, folder)
    });
}

/// All files read and their checksums verified.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn ours_open(bencher: Bencher<'_, '_>) {
    let (mut index, folder) = fresh();
    let mut random = XorShift(13);
    for row in 0..20_000 {
        index.add(&document(row, &synthetic_document(&mut random))).expect("writes");
    }
    index.commit(Revision::new(1)).expect("writes");
    drop(index);
    bencher.bench(|| TextIndex::open(folder.path()).expect("reads"));
}
