//! The index compared with a naive one, with a smaller one, and after damage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use haversack_core::text::terms::each_token;
use haversack_core::text::trigram::{similarity, trigrams};
use proptest::prelude::*;
use tantivy::fieldnorm::FieldNormReader;
use tempfile::TempDir;

use super::*;
use crate::embedded::row::Bitmap;

/// A document that owns its texts.
#[derive(Debug, Clone)]
struct OwnedDocument {
    row: u32,
    chunk: u32,
    tie: u64,
    texts: [String; 4],
    language: Language,
}

impl OwnedDocument {
    fn new(row: u32, title: &str, path: &str, body: &str, language: Language) -> OwnedDocument {
        let texts = [title, path, "", body].map(str::to_owned);
        OwnedDocument { row, chunk: 0, tie: u64::from(row) % 3, texts, language }
    }

    fn body(row: u32, body: &str) -> OwnedDocument {
        OwnedDocument::new(row, "", "", body, Language::English)
    }

    fn document(&self) -> TextDocument<'_> {
        let [title, path, headings, body] = &self.texts;
        TextDocument {
            row: Row::new(self.row),
            chunk: self.chunk,
            tie: self.tie,
            title,
            path,
            headings,
            body,
            language: self.language,
        }
    }
}

struct TestIndex {
    index: TextIndex,
    folder: TempDir,
}

/// An index of documents, with a commit after every `commits` documents.
fn build(documents: &[OwnedDocument], commits: usize) -> TestIndex {
    let folder = tempfile::tempdir().unwrap();
    let OpenedTextIndex { index, state } = TextIndex::open(folder.path()).unwrap();
    assert_eq!(state, TextIndexState::Fresh);
    let mut built = TestIndex { index, folder };
    feed(&mut built.index, documents, commits);
    built
}

fn feed(index: &mut TextIndex, documents: &[OwnedDocument], commits: usize) {
    let mut revision = Revision::ZERO;
    for documents in documents.chunks(commits.max(1)) {
        for document in documents {
            index.add(&document.document()).unwrap();
        }
        revision = revision.next();
        index.commit(revision).unwrap();
    }
}

fn rows(rows: impl IntoIterator<Item = u32>) -> Bitmap {
    rows.into_iter().map(Row::new).collect()
}

fn all(documents: &[OwnedDocument]) -> VisibleRows {
    VisibleRows::new(rows(documents.iter().map(|document| document.row)))
}

type FoundDocuments = Vec<(u32, u32, u32)>;

fn search(
    reader: &TextReader,
    query: &TextQuery,
    visible: &VisibleRows,
    limit: usize,
) -> FoundDocuments {
    let hits = reader.search(query, visible, visible.rows(), limit).unwrap();
    hits.iter().map(|hit| (hit.row.get(), hit.chunk, hit.score.to_bits())).collect()
}

fn read(text: &str) -> TextQuery {
    TextQuery::new(text, &QueryOptions::default())
}

/// The rows found, ascending.
fn check(documents: &[OwnedDocument], query: &str, options: &QueryOptions<'_>, expected: &[u32]) {
    let built = build(documents, 2);
    let query = TextQuery::new(query, options);
    let found = search(&built.index.reader(), &query, &all(documents), 100);
    let mut found: Vec<u32> = found.iter().map(|hit| hit.0).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{query:?}");
}

/// Lengths and term frequencies of title with headings, path and body.
fn fields(document: &OwnedDocument) -> [(u32, BTreeMap<String, u32>); 3] {
    [&[0, 2][..], &[1], &[3]].map(|texts| {
        let mut counts = BTreeMap::new();
        let mut length = 0;
        for text in texts {
            each_token(&document.texts[*text], document.language, |token| {
                if let Some(term) = token.term {
                    *counts.entry(term.to_owned()).or_insert(0) += 1;
                    length += 1;
                }
            });
        }
        let length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(length));
        (length, counts)
    })
}

/// Textbook BM25F over documents that are all readable.
fn reference(documents: &[OwnedDocument], query: &TextQuery, limit: usize) -> FoundDocuments {
    let weights = Weights::DEFAULT;
    let read: Vec<_> = documents.iter().map(fields).collect();
    let n = documents.len() as u64;
    let average: [f32; 3] = std::array::from_fn(|field| {
        let sum: u64 = read.iter().map(|fields| u64::from(fields[field].0)).sum();
        #[expect(clippy::cast_possible_truncation, reason = "as the index does")]
        let average = (sum as f64 / n as f64) as f32;
        average
    });
    let mut scores = vec![0.0_f32; documents.len()];
    for group in &query.groups {
        let has = |fields: &[(u32, BTreeMap<String, u32>); 3]| {
            group.terms.iter().any(|term| fields.iter().any(|field| field.1.contains_key(term)))
        };
        let frequency = read.iter().filter(|fields| has(fields)).count();
        let weight = group.count as f32 * search::idf(u32::try_from(frequency).unwrap(), n);
        for (score, fields) in scores.iter_mut().zip(&read).filter(|(_, fields)| has(fields)) {
            let mut weighted = 0.0_f32;
            for (field, (length, counts)) in fields.iter().enumerate() {
                for count in group.terms.iter().filter_map(|term| counts.get(term)) {
                    let b = weights.b[field];
                    let relative = *length as f32 / average[field];
                    weighted += *count as f32 * (weights.fields[field] / (1.0 - b + b * relative));
                }
            }
            *score += weight * (weighted / (weights.k1 + weighted));
        }
    }
    let mut found: Vec<(f32, &OwnedDocument)> =
        scores.into_iter().zip(documents).filter(|found| found.0 > 0.0).collect();
    found.sort_by(|(a_score, a), (b_score, b)| {
        let score = b_score.total_cmp(a_score);
        score.then((a.tie, a.chunk, a.row).cmp(&(b.tie, b.chunk, b.row)))
    });
    let found = found.iter().map(|(score, found)| (found.row, found.chunk, score.to_bits()));
    found.take(limit).collect()
}

const WORDS: &[&str] = &[
    "house",
    "houses",
    "connect",
    "connection",
    "the",
    "index",
    "Häuser",
    "Haus",
    "laufen",
    "die",
    "parse_config",
    "parseConfig",
    "HTTPServer",
    "東京都",
    "タワー",
    "a.b.c",
    "v2",
    "läuft",
    "configure",
    "configuration",
    "running",
    "runs",
    "naïve",
    "Ёлка",
    "x",
];

fn text(max: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(WORDS), 0..max)
        .prop_map(|words| words.join(" "))
}

fn documents(max: usize) -> impl Strategy<Value = Vec<OwnedDocument>> {
    let language = proptest::sample::select(&[
        Language::English,
        Language::German,
        Language::Japanese,
        Language::Other,
    ]);
    let document = (text(4), text(3), text(3), text(60), language, 0_u64..3, 1_u32..3);
    proptest::collection::vec(document, 1..max).prop_map(|documents| {
        let mut all = Vec::new();
        for (row, (title, path, headings, body, language, tie, n_chunks)) in
            documents.into_iter().enumerate()
        {
            let row = u32::try_from(row).unwrap();
            for chunk in 0..n_chunks {
                let body = if chunk == 0 { body.clone() } else { format!("{body} {title} x") };
                let texts = [title.clone(), path.clone(), headings.clone(), body];
                all.push(OwnedDocument { row, chunk, tie, texts, language });
            }
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn scores_equal_textbook_bm25f(
        documents in documents(24),
        query in text(6),
        commits in 1_usize..20,
        limit in 1_usize..12,
    ) {
        let languages = [Language::German];
        let options = QueryOptions { languages: &languages, ..QueryOptions::default() };
        let query = TextQuery::new(&query, &options);
        let built = build(&documents, commits);
        let found = search(&built.index.reader(), &query, &all(&documents), limit);
        prop_assert_eq!(found, reference(&documents, &query, limit));
    }

    #[test]
    fn w12_unreadable_rows_do_not_affect_results(
        documents in documents(40),
        query in "(house|connect|\"the index\"|Häuser laufen|conf\\*|runn|東京|x| |AND){1,5}",
        readable in any::<u64>(),
        commits in 1_usize..30,
        must in proptest::sample::select(&[MatchRule::Phrases, MatchRule::Everything, MatchRule::Anything]),
        last_as_prefix in any::<bool>(),
        removed in proptest::collection::vec(0_u32..40, 0..4),
    ) {
        let languages = [Language::German, Language::Japanese];
        let options = QueryOptions { languages: &languages, must, last_as_prefix, language: None };
        let query = TextQuery::new(&query, &options);
        let is_readable = |document: &&OwnedDocument| {
            readable >> document.row & 1 == 1 && !removed.contains(&document.row)
        };
        let mut some: Vec<OwnedDocument> = documents.iter().filter(is_readable).cloned().collect();
        let visible = || all(&some);
        let mut more = build(&documents, commits);
        more.index.remove(&removed.iter().map(|row| Row::new(*row)).collect::<Vec<_>>()).unwrap();
        more.index.commit(Revision::new(99)).unwrap();
        let more = more.index.reader();
        let visible_more = visible();
        let visible_less = visible();
        some.reverse();
        let less = build(&some, 7);
        let less = less.index.reader();
        prop_assert_eq!(visible_more.statistics(&more), visible_less.statistics(&less));
        for limit in [3, 100] {
            let found = search(&more, &query, &visible_more, limit);
            prop_assert_eq!(found, search(&less, &query, &visible_less, limit));
        }
        for group in &query.groups {
            let terms = count::expand_prefix(&more, &visible_more, group).unwrap();
            prop_assert_eq!(&terms, &count::expand_prefix(&less, &visible_less, group).unwrap());
            let frequency = count::frequency(&more, &visible_more, &terms).unwrap();
            prop_assert_eq!(frequency, count::frequency(&less, &visible_less, &terms).unwrap());
        }
        let fuzzy = |reader: &TextReader, visible: &VisibleRows| {
            reader.fuzzy("hose conection index", visible, visible.rows(), 9, 0.2).unwrap()
        };
        prop_assert_eq!(fuzzy(&more, &visible_more), fuzzy(&less, &visible_less));
    }

    #[test]
    fn k3_fuzzy_search_equals_brute_force(
        documents in documents(30),
        query in "[a-dA-D ]{0,12}|(house|conn|config|server| |_){0,9}",
        threshold in proptest::sample::select(&[0.05_f32, 0.3, 0.5, 1.0]),
    ) {
        let built = build(&documents, 11);
        let visible = all(&documents);
        let reader = built.index.reader();
        let found = reader.fuzzy(&query, &visible, visible.rows(), 1_000, threshold).unwrap();
        prop_assert!(!found.cut);
        let mut expected = Vec::new();
        for document in &documents {
            let [title, path, _, body] = &document.texts;
            let first = document.chunk == 0;
            let short = trigrams(body).len() <= BODY_TRIGRAMS_MAX;
            let best = [(first, title, FuzzyField::Title), (first, path, FuzzyField::Path),
                (short, body, FuzzyField::Body)]
                .into_iter()
                .filter(|(indexed, text, _)| *indexed && similarity(&query, text) >= threshold)
                .map(|(_, text, field)| (similarity(&query, text), field))
                .fold(None, |best: Option<(f32, FuzzyField)>, next| match best {
                    Some(best) if best.0 >= next.0 => Some(best),
                    _ => Some(next),
                });
            if let Some((similarity, field)) = best {
                let row = Row::new(document.row);
                let hit = FuzzyHit { row, chunk: document.chunk, similarity, field };
                expected.push((hit, document.tie));
            }
        }
        expected.sort_by(|(a, a_tie), (b, b_tie)| {
            let order = b.similarity.total_cmp(&a.similarity);
            order.then((a_tie, a.chunk, a.row).cmp(&(b_tie, b.chunk, b.row)))
        });
        let expected: Vec<FuzzyHit> = expected.into_iter().map(|(hit, _)| hit).collect();
        prop_assert_eq!(found.hits, expected);
    }

    #[test]
    fn any_string_is_a_query(query in "\\PC{0,40}|[\"*() a-zA-Z東京:^~-]{0,60}", max in 0_usize..80) {
        let options = QueryOptions { last_as_prefix: true, ..QueryOptions::default() };
        let query = TextQuery::new(&query, &options);
        let text = "The house of the connection, 東京都 (configure it) — x ^ : and houses again.";
        let excerpt = excerpt(text, &query, Language::English, max);
        prop_assert!(excerpt.text.chars().count() <= max.max(text.chars().count().min(max)));
        for hit in &excerpt.hits {
            prop_assert!(!excerpt.text[hit.clone()].is_empty());
        }
        prop_assert!(excerpt.hits.is_sorted_by(|a, b| a.end <= b.start));
    }
}

#[test]
fn k3_words_are_found_in_their_inflections() {
    let german = |row, body| OwnedDocument::new(row, "", "", body, Language::German);
    let documents = [
        german(1, "Die Häuser am Fluss"),
        OwnedDocument::body(2, "Connections to the river"),
        german(3, "Wir laufen weit"),
        OwnedDocument::new(4, "東京都庁", "", "", Language::Japanese),
        OwnedDocument::body(5, "call parseConfigFile now"),
    ];
    let languages = [Language::German];
    let options = QueryOptions { languages: &languages, ..QueryOptions::default() };
    check(&documents, "Haus", &options, &[1]);
    check(&documents, "connecting", &options, &[2]);
    check(&documents, "läufst", &options, &[3]);
    check(&documents, "gelaufen", &options, &[]);
    check(&documents, "laufe", &options, &[3]);
    check(&documents, "京都", &options, &[4]);
    check(&documents, "config", &options, &[5]);
    check(&documents, "parseconfigfile", &options, &[5]);
    check(&documents, "the of and", &options, &[]);
}

#[test]
fn k3_phrases_match_in_order_within_one_field() {
    let documents = [
        OwnedDocument::body(1, "the quick brown fox"),
        OwnedDocument::body(2, "brown and quick fox"),
        OwnedDocument::new(3, "quick", "", "brown fox", Language::English),
        OwnedDocument::new(4, "A Quick Brown title", "", "", Language::English),
        OwnedDocument::body(5, "king of england"),
        OwnedDocument::body(6, "read parse_config twice"),
        OwnedDocument::new(7, "", "", "東京都庁", Language::Japanese),
    ];
    let options = QueryOptions::default();
    check(&documents, "\"quick brown\"", &options, &[1, 4]);
    check(&documents, "\"quick brown\" fox", &options, &[1, 4]);
    check(&documents, "\"brown quick\"", &options, &[]);
    check(&documents, "\"brown and quick\"", &options, &[2]);
    check(&documents, "\"king in england\"", &options, &[5]);
    check(&documents, "\"king england\"", &options, &[]);
    check(&documents, "\"read parse config\"", &options, &[6]);
    check(&documents, "\"京都庁\"", &options, &[7]);
    check(&documents, "\"quick brown\" \"king of england\"", &options, &[]);
    check(&documents, "\"of the\" fox", &options, &[1, 2, 3]);
    let anything = QueryOptions { must: MatchRule::Anything, ..options };
    check(&documents, "\"brown quick\"", &anything, &[1, 2, 3, 4]);
    let everything = QueryOptions { must: MatchRule::Everything, ..options };
    check(&documents, "quick fox", &everything, &[1, 2, 3]);
    check(&documents, "quick fox unheard", &everything, &[]);
    check(&documents, "parse_config", &everything, &[6]);
    assert_eq!(read("\"of the\"").ignored().phrases, 1);
}

#[test]
fn k3_a_prefix_expands_to_words() {
    let documents = [
        OwnedDocument::body(1, "configuration of servers"),
        OwnedDocument::body(2, "config"),
        OwnedDocument::body(3, "confident"),
        OwnedDocument::new(4, "Theory", "", "", Language::English),
    ];
    let options = QueryOptions::default();
    let typing = QueryOptions { last_as_prefix: true, ..options };
    check(&documents, "config*", &options, &[1, 2]);
    check(&documents, "conf*", &options, &[1, 2, 3]);
    check(&documents, "configurat*", &options, &[1]);
    check(&documents, "conf", &options, &[]);
    check(&documents, "conf", &typing, &[1, 2, 3]);
    check(&documents, "configu", &typing, &[1]);
    check(&documents, "conf ", &typing, &[]);
    check(&documents, "the", &typing, &[4]);
    check(&documents, "c*", &options, &[]);
    check(&documents, "conf*ig", &options, &[]);
}

#[test]
fn results_stay_within_the_requested_rows() {
    let documents: Vec<OwnedDocument> =
        (0..50).map(|row| OwnedDocument::body(row, "one river")).collect();
    let built = build(&documents, 9);
    let visible = all(&documents);
    let query = read("river");
    let among = rows([3, 30, 31, 77]);
    let reader = built.index.reader();
    let hits = reader.search(&query, &visible, &among, 10).unwrap();
    let everyone = search(&reader, &query, &visible, 50);
    assert_eq!(hits.iter().map(|hit| hit.row.get()).collect::<Vec<_>>(), [3, 30, 31]);
    assert!(hits.iter().all(|hit| hit.score.to_bits() == everyone[0].2));
    assert!(reader.search(&query, &visible, &among, 0).unwrap().is_empty());
    // Tie, then row: rows 0, 3, 6, … have tie 0.
    assert_eq!(everyone[..3].iter().map(|hit| hit.0).collect::<Vec<_>>(), [0, 3, 6]);
}

/// More documents than three windows hold, with lists of many blocks.
#[test]
fn w12_window_boundaries_do_not_affect_results() {
    let mut number = 1_u64;
    let mut next = move |n: u64| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (number >> 33) % n
    };
    let documents: Vec<OwnedDocument> = (0..27_000)
        .map(|row| {
            let mut body = String::new();
            for _ in 0..next(9) {
                let word = ["river", "house", "connect", "Haus", "index", "rare"];
                let at = if next(2_000) == 0 { 5 } else { next(5) };
                body = body + word[usize::try_from(at).unwrap()] + " ";
            }
            let title = if next(7) == 0 { "river index" } else { "" };
            OwnedDocument::new(row, title, "", &body, Language::English)
        })
        .collect();
    let some: Vec<OwnedDocument> =
        documents.iter().filter(|one| one.row % 3 != 1).cloned().collect();
    let more = build(&documents, 30_000);
    let less = build(&some.iter().rev().cloned().collect::<Vec<_>>(), 9_500);
    for (built, kept) in [(&more, &documents), (&more, &some), (&less, &some)] {
        let (reader, visible) = (built.index.reader(), all(kept));
        for text in ["rare", "river", "river house rare", "Haus index connections river"] {
            let query = read(text);
            for limit in [10, 20_000] {
                let found = search(&reader, &query, &visible, limit);
                assert!(found == reference(kept, &query, limit), "{text} {limit}");
            }
        }
        let everything = QueryOptions { must: MatchRule::Everything, ..QueryOptions::default() };
        let query = TextQuery::new("river rare", &everything);
        let has = |one: &&OwnedDocument| {
            let all = one.texts.concat();
            all.contains("river") && all.contains("rare")
        };
        assert_eq!(
            search(&reader, &query, &visible, 30_000).len(),
            kept.iter().filter(has).count()
        );
        let phrase = search(&reader, &read("\"river house\""), &visible, 30_000).len();
        assert_eq!(phrase, kept.iter().filter(|one| one.texts[3].contains("river house")).count());
        let fuzzy = reader.fuzzy("riven houses", &visible, visible.rows(), 30_000, 0.3).unwrap();
        let similar = |one: &&OwnedDocument| {
            [0, 3].iter().any(|at| similarity("riven houses", &one.texts[*at]) >= 0.3)
        };
        assert_eq!(fuzzy.hits.len(), kept.iter().filter(similar).count());
    }
}

#[test]
fn hostile_queries_are_accepted() {
    let documents = [OwnedDocument::body(1, "plain words and an index")];
    let built = build(&documents, 1);
    let (reader, visible) = (built.index.reader(), all(&documents));
    let long = "word ".repeat(100_000);
    let many: String = (0..5_000).map(|n| format!("w{n} ")).collect();
    let quotes = "\"a b\" ".repeat(2_000);
    let queries = [
        "",
        " ",
        "\0\u{1}\u{7f}",
        "AND OR ( ) : ^ ~ \"",
        "\"",
        "\"\"",
        "***",
        "* * index*",
        "title:index^5~2",
        "[a TO b]",
        "🦀🦀",
        "\u{202e}index",
        "/re.*/",
        "-index +plain",
        "the of and",
        long.as_str(),
        many.as_str(),
        quotes.as_str(),
    ];
    for query in queries {
        for must in [MatchRule::Phrases, MatchRule::Everything, MatchRule::Anything] {
            let options = QueryOptions { must, last_as_prefix: true, ..QueryOptions::default() };
            let read = TextQuery::new(query, &options);
            assert!(read.groups.len() <= TERMS_MAX && read.phrases.len() <= PHRASES_MAX);
            reader.search(&read, &visible, visible.rows(), 10).unwrap();
        }
        reader.fuzzy(query, &visible, visible.rows(), 10, SIMILARITY_MIN).unwrap();
    }
    let ignored = TextQuery::new(&many, &QueryOptions::default()).ignored();
    assert!(ignored.terms > 1_000 && ignored.bytes > 1_000);
    assert!(reader.fuzzy(&many, &visible, visible.rows(), 10, 0.3).unwrap().cut);
}

fn check_excerpt(text: &str, query: &str, max: usize, expected: &str) {
    let excerpt = excerpt(text, &read(query), Language::English, max);
    let mut marked = excerpt.text.clone();
    for hit in excerpt.hits.iter().rev() {
        marked.insert(hit.end, ']');
        marked.insert(hit.start, '[');
    }
    assert_eq!(marked, expected);
}

#[test]
fn k3_excerpts_mark_the_hits() {
    let text = "Nothing here of note at all. Some say the connection to the index is slow, and \
                others that an index has no connection. At the end silence falls.";
    check_excerpt("the connection", "connect", 100, "the [connection]");
    check_excerpt(
        text,
        "connecting index",
        50,
        "…say the [connection] to the [index] is slow, and…",
    );
    check_excerpt(text, "slow", 24, "…is [slow], and others…");
    check_excerpt(text, "nowhere", 24, "Nothing here of note…");
    check_excerpt(text, "silence falls", 30, "…At the end [silence] [falls].");
    check_excerpt("Call parse_config_file twice", "config", 99, "Call parse_[config]_file twice");
    check_excerpt("Call parse_config twice", "parse_config", 99, "Call [parse_config] twice");
    check_excerpt("東京都庁は新宿にある", "東京都庁", 99, "[東京都庁]は新宿にある");
    check_excerpt(text, "index", 0, "");
    check_excerpt("", "index", 10, "");
}

#[test]
fn an_index_reopens_at_its_last_commit() {
    let documents: Vec<OwnedDocument> =
        (0..30).map(|row| OwnedDocument::body(row, "some words")).collect();
    let TestIndex { mut index, folder } = build(&documents[..20], 3);
    index.add(&documents[20].document()).unwrap();
    index.commit(Revision::new(41)).unwrap();
    index.add(&documents[21].document()).unwrap();
    assert!(matches!(TextIndex::open(folder.path()), Err(TextError::Locked { .. })));
    drop(index);
    let OpenedTextIndex { mut index, state } = TextIndex::open(folder.path()).unwrap();
    assert_eq!(state, TextIndexState::At(Revision::new(41)));
    assert_eq!(index.reader().documents().count(), 21);
    index.remove(&[Row::new(5), Row::new(6)]).unwrap();
    index.reopen().unwrap();
    index.remove(&[Row::new(7), Row::new(8)]).unwrap();
    index.commit(Revision::new(42)).unwrap();
    let kept = |index: &TextIndex| -> BTreeSet<u32> {
        index.reader().documents().map(|(row, _)| row.get()).collect()
    };
    let expected: BTreeSet<u32> = (0..21).filter(|row| ![7, 8].contains(row)).collect();
    assert_eq!(kept(&index), expected);
    index.compact().unwrap();
    assert_eq!((kept(&index), index.reader().n_segments()), (expected.clone(), 1));
    assert!(index.close(std::time::Duration::from_secs(60)));
    let OpenedTextIndex { index, state } = TextIndex::open(folder.path()).unwrap();
    assert_eq!((state, kept(&index)), (TextIndexState::At(Revision::new(42)), expected));
}

#[test]
fn order_matters_within_a_commit() {
    let TestIndex { mut index, folder: _folder } = build(&[OwnedDocument::body(1, "river")], 1);
    for n in [1, 200] {
        let documents: Vec<OwnedDocument> =
            (0..n).map(|row| OwnedDocument::body(row + 1, "mountain")).collect();
        index.remove(&[Row::new(1)]).unwrap();
        for document in &documents {
            index.add(&document.document()).unwrap();
        }
        index.commit(Revision::new(2)).unwrap();
        let visible = all(&documents);
        let count = |query: &str| search(&index.reader(), &read(query), &visible, 900).len();
        assert_eq!((count("river"), count("mountain")), (0, documents.len()));
        index.add(&OwnedDocument::body(900, "forest").document()).unwrap();
        index.remove(&documents.iter().map(|one| Row::new(one.row)).collect::<Vec<_>>()).unwrap();
        index.remove(&[Row::new(900)]).unwrap();
        index.commit(Revision::new(3)).unwrap();
        assert_eq!(index.reader().documents().count(), 0);
    }
}

#[test]
fn many_small_commits_make_few_segments() {
    let documents: Vec<OwnedDocument> =
        (0..60).map(|row| OwnedDocument::body(row, "some words")).collect();
    let TestIndex { mut index, folder } = build(&documents, 1);
    index.remove(&[Row::new(59)]).unwrap();
    index.commit(Revision::new(61)).unwrap();
    assert!(index.close(std::time::Duration::from_secs(60)));
    let index = TextIndex::open(folder.path()).unwrap().index;
    assert!(index.reader().n_segments() <= 8, "{}", index.reader().n_segments());
    assert_eq!(index.reader().documents().count(), 59);
}

#[test]
fn other_format_versions_are_recognised() {
    let TestIndex { index, folder } = build(&[OwnedDocument::body(1, "words")], 1);
    drop(index);
    let path = folder.path().join("meta.json");
    let meta = directory::strip_checksum(fs::read(&path).unwrap()).unwrap();
    let write = |format: u32| {
        let meta = String::from_utf8(meta.clone()).unwrap();
        let meta = meta
            .replace(&format!("haversack-text {FORMAT} "), &format!("haversack-text {format} "));
        let trailer = format!("\n#crc32 {:08x}\n", crc32fast::hash(meta.as_bytes()));
        fs::write(&path, meta + &trailer).unwrap();
    };
    write(7);
    let error = TextIndex::open(folder.path()).unwrap_err();
    assert!(matches!(error, TextError::Newer { found: 7, known: FORMAT }), "{error}");
    assert!(error.to_string().contains(&format!("format 7, newer than {FORMAT}")));
    write(0);
    let opened = TextIndex::open(folder.path()).unwrap();
    assert!(matches!(opened.state, TextIndexState::Emptied { reason } if reason.contains("older")));
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Opens a folder with changed files: the index must be complete, or empty and reported as such.
fn check_damaged(
    folder: &Path,
    documents: &[OwnedDocument],
    expected: &FoundDocuments,
    what: &str,
) -> bool {
    let OpenedTextIndex { mut index, state } = TextIndex::open(folder).expect(what);
    let detected = match state {
        TextIndexState::At(revision) => {
            assert_eq!(revision, Revision::new(3), "{what}");
            false
        }
        TextIndexState::Fresh | TextIndexState::Emptied { .. } => {
            assert_eq!(index.reader().documents().count(), 0, "{what}");
            feed(&mut index, documents, 8);
            true
        }
    };
    let found = search(&index.reader(), &read("house index x"), &all(documents), 100);
    assert_eq!(&found, expected, "{what}");
    assert_eq!(index.reader().documents().count(), documents.len(), "{what}");
    detected
}

#[test]
fn r7_a_damaged_index_is_detected_and_emptied() {
    let body = |row| format!("house {row} index {}", "x ".repeat(row as usize));
    let documents: Vec<OwnedDocument> =
        (0..22).map(|row| OwnedDocument::body(row, &body(row))).collect();
    let TestIndex { mut index, folder } = build(&documents, 8);
    index.add(&OwnedDocument::body(50, "gone").document()).unwrap();
    index.commit(Revision::new(4)).unwrap();
    index.compact().unwrap();
    index.remove(&[Row::new(50)]).unwrap();
    index.commit(Revision::new(3)).unwrap();
    let expected = search(&index.reader(), &read("house index x"), &all(&documents), 100);
    assert_eq!(expected.len(), 22);
    assert!(index.close(std::time::Duration::from_secs(60)));
    let files: Vec<PathBuf> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none_or(|ending| ending != "lock"))
        .collect();
    // One segment of six files and one for removals, and the list of segments.
    assert_eq!(files.len(), 8, "{files:?}");
    let (mut n_damages, mut n_detected) = (0, 0);
    for file in &files {
        let name = file.file_name().unwrap();
        let bytes = fs::read(file).unwrap();
        let mut damages: Vec<(String, Option<Vec<u8>>)> = vec![("missing".to_owned(), None)];
        for part in 0..5 {
            let end = bytes.len() * part / 5;
            damages.push((format!("cut at {end}"), Some(bytes[..end].to_vec())));
        }
        for part in 0..9 {
            let mut flipped = bytes.clone();
            let at = (bytes.len() - 1) * part / 8;
            flipped[at] ^= 1 << (part % 8);
            damages.push((format!("bit flipped at {at}"), Some(flipped)));
        }
        for (what, bytes) in damages {
            let copied = tempfile::tempdir().unwrap();
            copy(folder.path(), copied.path());
            let path = copied.path().join(name);
            match bytes {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let what = format!("{} {what}", name.display());
            n_damages += 1;
            n_detected += usize::from(check_damaged(copied.path(), &documents, &expected, &what));
        }
    }
    // Only harmless damage may go undetected, such as a version in a footer.
    assert!(n_detected * 10 >= n_damages * 9, "{n_detected} of {n_damages}");
}

#[test]
fn leftovers_of_a_killed_process_are_removed() {
    let TestIndex { index, folder } = build(&[OwnedDocument::body(1, "words")], 1);
    drop(index);
    let stray = folder.path().join("0123456789abcdef0123456789abcdef.idx");
    fs::write(&stray, "half a segment").unwrap();
    let aside = folder.path().join("aside.1.2");
    fs::write(&aside, "half a list").unwrap();
    fs::write(folder.path().join(".tantivy-writer.lock"), "").unwrap();
    let opened = TextIndex::open(folder.path()).unwrap();
    assert_eq!(opened.state, TextIndexState::At(Revision::new(1)));
    assert!(!stray.exists() && !aside.exists());
}
