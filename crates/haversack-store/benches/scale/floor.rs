//! The baseline: the plain libraries on the same texts, terms and vectors, without filters,
//! viewers, snapshots or SQLite.

use std::path::PathBuf;
use std::sync::Arc;

use haversack_core::embed::Embedder;
use haversack_core::text::terms::{Language, terms};
use multiversion::multiversion;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::LIMIT;
use super::measure::{MeasurementTable, latencies};
use super::source::blocks;

const WORDS: usize = 4;
const DIMENSIONS: usize = WORDS * 64;
const CANDIDATES: usize = 1_000;

/// Codes of vectors, one after the other.
#[derive(Default)]
struct FlatCodes {
    bits: Vec<[u64; WORDS]>,
    bytes: Vec<[i8; DIMENSIONS]>,
}

pub(crate) fn measure(
    size: usize,
    file: Option<&PathBuf>,
    embedder: &Arc<dyn Embedder>,
    queries: &[String],
    table: &mut MeasurementTable,
) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs);
    let field =
        schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let folder = tempfile::tempdir().expect("a folder for the floor");
    let index = Index::create_in_dir(folder.path(), schema.build()).expect("an index");
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 100_000_000).expect("a writer");
    let mut codes = FlatCodes::default();
    for block in blocks(size, file) {
        let text = format!("{}\n{}", block.title, block.text);
        let mut document = TantivyDocument::default();
        document.add_text(field, terms(&text, Language::English).join(" "));
        writer.add_document(document).expect("a document is added");
        codes.push(embedder.embed(&[text.as_str()]).expect("a vector")[0].as_slice());
    }
    writer.commit().expect("a commit");
    writer.wait_merging_threads().expect("merges end");
    let searcher = index.reader().expect("a reader").searcher();

    let text = |query: &String| top(&searcher, field, query);
    let vector = |query: &String| {
        let vector = embedder.embed(&[query.as_str()]).expect("a vector").remove(0);
        codes.nearest(vector.as_slice())
    };
    let both = |query: &String| (text(query), vector(query));
    table.latency(size, "floor: plain Tantivy", &latencies(queries, &text));
    table.latency(size, "floor: plain scan", &latencies(queries, &vector));
    table.latency(size, "floor: both", &latencies(queries, &both));
}

fn top(searcher: &Searcher, field: tantivy::schema::Field, query: &str) -> usize {
    let clauses: Vec<(Occur, Box<dyn Query>)> = terms(query, Language::English)
        .iter()
        .map(|term| {
            let term = Term::from_field_text(field, term);
            let query: Box<dyn Query> =
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
            (Occur::Should, query)
        })
        .collect();
    let best = TopDocs::with_limit(LIMIT).order_by_score();
    searcher.search(&BooleanQuery::new(clauses), &best).expect("a search").len()
}

fn bits(vector: &[f32]) -> [u64; WORDS] {
    let mut bits = [0; WORDS];
    for (at, value) in vector.iter().enumerate() {
        bits[at / 64] |= u64::from(*value > 0.0) << (at % 64);
    }
    bits
}

#[expect(clippy::cast_possible_truncation, reason = "rounded into range")]
fn bytes(vector: &[f32]) -> [i8; DIMENSIONS] {
    let most = vector.iter().fold(0f32, |most, value| most.max(value.abs())).max(1e-9);
    let mut bytes = [0; DIMENSIONS];
    for (byte, value) in bytes.iter_mut().zip(vector) {
        *byte = (value / most * 127.0).round() as i8;
    }
    bytes
}

#[multiversion(targets("x86_64+avx2+popcnt", "x86_64+popcnt"))]
fn distances(query: &[u64; WORDS], codes: &[[u64; WORDS]], distances: &mut Vec<(u32, u32)>) {
    distances.clear();
    distances.extend(
        codes.iter().zip(0u32..).map(|(code, at)| {
            (code.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum(), at)
        }),
    );
}

#[multiversion(targets("x86_64+avx2", "x86_64+sse4.1"))]
fn product(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

impl FlatCodes {
    fn push(&mut self, vector: &[f32]) {
        self.bits.push(bits(vector));
        self.bytes.push(bytes(vector));
    }

    fn nearest(&self, query: &[f32]) -> usize {
        let mut found = Vec::with_capacity(self.bits.len());
        distances(&bits(query), &self.bits, &mut found);
        let candidates = CANDIDATES.min(found.len());
        if candidates < found.len() {
            found.select_nth_unstable(candidates);
        }
        let query = bytes(query);
        let mut best: Vec<(i32, u32)> = found[..candidates]
            .iter()
            .map(|(_, at)| (-product(&query, &self.bytes[*at as usize]), *at))
            .collect();
        best.sort_unstable();
        best.truncate(LIMIT);
        best.len()
    }
}
