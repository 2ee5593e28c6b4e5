//! Speed of what every request pays for, beside the raw tokenizer in the same run.
//!
//! `cargo xtask bench` runs it. Compare lines of one run with each other, not with another day's.

use std::sync::{Arc, LazyLock};

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use haversack_core::assemble::Templates;
use haversack_core::budget::Budget;
use haversack_core::candidate::Candidate;
use haversack_core::embed::{BuiltIn, Embedder};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::layer::Layer;
use haversack_core::pack::{PackRequest, Plan, pack};
use haversack_core::query::analyse;
use haversack_core::rank::{Expression, Ranked, Ranker, Scoring, rank};
use haversack_core::select::Selector;
use haversack_core::text::chunk::{ChunkLimits, Format, chunk};
use haversack_core::text::clean::clean;
use haversack_core::text::duplicate::duplicates;
use haversack_core::text::terms::{Language, terms};
use haversack_core::text::tokenizer::{Counted, Encoding, Tokenizer};
use haversack_core::units::{Score, Timestamp, Tokens};

fn main() {
    divan::main();
}

/// Words of a made-up language with English's lengths, so that the benchmark needs no data.
const SYLLABLES: [&str; 24] = [
    "the", "ing", "er", "con", "ver", "and", "to", "al", "port", "re", "in", "sion", "of", "ment",
    "pre", "is", "it", "at", "form", "able", "un", "ter", "on", "es",
];

/// A fixed sequence of numbers; a benchmark needs the same text each time.
struct BenchRandom(u64);

impl BenchRandom {
    fn below(&mut self, n: u64) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n).unwrap_or(0)
    }
}

fn text(dice: &mut BenchRandom, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        for _ in 0..=dice.below(3) {
            text.push_str(SYLLABLES[dice.below(24)]);
        }
        text.push_str(match dice.below(14) {
            0 => ". ",
            1 => ", ",
            2 if dice.below(6) == 0 => ".\n\n",
            _ => " ",
        });
    }
    text
}

static MEGABYTE: LazyLock<String> = LazyLock::new(|| text(&mut BenchRandom(1), 1_000_000));

/// `n` candidates of about a hundred tokens, counted before if asked.
fn request(n: usize, counted: bool) -> PackRequest {
    let mut dice = BenchRandom(2);
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(Encoding::O200k);
    let kind = Kind::new("file").expect("a kind");
    let ranked = (0..n)
        .map(|index| {
            let bytes = 250 + dice.below(300);
            let text = text(&mut dice, bytes);
            let id = ItemId::new(&format!("item {index}")).expect("an id");
            let mut candidate = Candidate::new(CandidateId::whole(id), kind.clone(), text.trim());
            if counted {
                let (text, all) = (&candidate.text, 0..candidate.text.len());
                candidate.counted =
                    Counted::count_part(&*tokenizer, text, all).into_iter().collect();
            }
            let score = Score::unit(f64::from(u32::try_from(dice.below(1_000)).unwrap_or(0)) / 1e3);
            Ranked { candidate, score, parts: Vec::new() }
        })
        .collect();
    let template = Templates::default().get("section").expect("built in").clone();
    let mut request = PackRequest::new(tokenizer, Budget::new(Tokens::new(32_000)));
    request.layers = vec![(Layer::new("context", template), ranked)];
    request
}

mod tokens {
    use super::*;

    #[divan::bench(args = ["o200k_base", "cl100k_base"])]
    fn raw_crate(bencher: Bencher<'_, '_>, name: &str) {
        let bpe = tiktoken::get_encoding(name).expect("a known encoding");
        bencher
            .counter(BytesCount::of_str(MEGABYTE.as_str()))
            .bench(|| bpe.count(black_box(&MEGABYTE)));
    }

    #[divan::bench(args = ["o200k_base", "cl100k_base"])]
    fn count(bencher: Bencher<'_, '_>, name: &str) {
        let encoding = Encoding::by_name(name).expect("a known encoding");
        bencher
            .counter(BytesCount::of_str(MEGABYTE.as_str()))
            .bench(|| encoding.count(black_box(&MEGABYTE)));
    }

    #[divan::bench]
    fn substring_of_a_megabyte(bencher: Bencher<'_, '_>) {
        let tokenizer: &dyn Tokenizer = &Encoding::O200k;
        let counter = tokenizer.counter(&MEGABYTE);
        bencher.bench(|| counter.count(black_box(1_234..987_654)));
    }

    #[divan::bench(args = [2_048, 65_536])]
    fn prefix_of_a_megabyte(bencher: Bencher<'_, '_>, limit: u32) {
        let tokenizer: &dyn Tokenizer = &Encoding::O200k;
        bencher.bench(|| tokenizer.prefix(black_box(&MEGABYTE), Tokens::new(limit)).len());
    }
}

/// Vectors of a thousand texts of about 300 bytes, by the built-in model.
mod embedding {
    use super::*;

    #[divan::bench]
    fn built_in(bencher: Bencher<'_, '_>) {
        let mut dice = BenchRandom(5);
        let texts: Vec<String> = (0..1_000).map(|_| text(&mut dice, 300)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        bencher
            .counter(ItemsCount::new(texts.len()))
            .counter(BytesCount::new(bytes))
            .bench(|| BuiltIn::new().embed(black_box(&texts)).expect("never fails").len());
    }

    #[divan::bench]
    fn likeness(bencher: Bencher<'_, '_>) {
        let [left, right] = ["a dog barks", "the cat sleeps"].map(|t| BuiltIn::new().vector(t));
        bencher.bench(|| black_box(&left).dot(black_box(&right)));
    }
}

/// The whole of a request: ranked candidates in, pack out, into 32,000 tokens.
mod packing {
    use super::*;

    #[divan::bench(args = [1_000, 10_000])]
    fn counted_before(bencher: Bencher<'_, '_>, n: usize) {
        let request = request(n, true);
        bencher.bench(|| pack(black_box(&request)).expect("feasible").tokens);
    }

    #[divan::bench(args = [1_000, 10_000])]
    fn not_counted_before(bencher: Bencher<'_, '_>, n: usize) {
        let request = request(n, false);
        bencher.bench(|| pack(black_box(&request)).expect("feasible").tokens);
    }

    #[divan::bench(args = [1_000])]
    fn exact_selector(bencher: Bencher<'_, '_>, n: usize) {
        let mut request = request(n, true);
        request.selector = Selector::Exact;
        bencher.bench(|| pack(black_box(&request)).expect("feasible").tokens);
    }

    /// Twenty budgets, to compare with one run.
    #[divan::bench(args = [1_000])]
    fn frontier_of_twenty(bencher: Bencher<'_, '_>, n: usize) {
        let request = request(n, true);
        let totals: Vec<Tokens> = (1..=20).map(|n| Tokens::new(n * 2_000)).collect();
        bencher.bench(|| Plan::new(&request).expect("a plan").frontier(&totals).expect("feasible"));
    }

    /// The count of the final string alone: what any honest packer pays at least.
    #[divan::bench]
    fn final_count_alone(bencher: Bencher<'_, '_>) {
        let packed = pack(&request(1_000, true)).expect("feasible").text;
        bencher.bench(|| Encoding::O200k.count(black_box(&packed)));
    }
}

mod texts {
    use super::*;

    #[divan::bench]
    fn chunk_markdown(bencher: Bencher<'_, '_>) {
        let limits = ChunkLimits::new(Tokens::new(256), Tokens::new(512)).expect("limits");
        bencher
            .counter(BytesCount::of_str(MEGABYTE.as_str()))
            .bench(|| chunk(&MEGABYTE, Format::Markdown, &Encoding::O200k, limits).len());
    }

    #[divan::bench]
    fn clean_text(bencher: Bencher<'_, '_>) {
        bencher
            .counter(BytesCount::of_str(MEGABYTE.as_str()))
            .bench(|| clean(black_box(&MEGABYTE)).findings.len());
    }

    #[divan::bench]
    fn stemmed_terms(bencher: Bencher<'_, '_>) {
        bencher
            .counter(BytesCount::of_str(MEGABYTE.as_str()))
            .bench(|| terms(black_box(&MEGABYTE), Language::English).len());
    }

    #[divan::bench(args = [1_000, 10_000])]
    fn near_duplicates(bencher: Bencher<'_, '_>, n: usize) {
        let request = request(n, false);
        let texts: Vec<&str> =
            request.layers[0].1.iter().map(|ranked| &*ranked.candidate.text).collect();
        bencher.bench(|| duplicates(black_box(&texts), Score::unit(0.9)).len());
    }

    #[divan::bench]
    fn query_analysis(bencher: Bencher<'_, '_>) {
        let query = "What did Anna write about \"budget cuts\" in notes/plan.md since last Monday?";
        bencher.bench(|| analyse(black_box(query), Timestamp::from_millis(1_760_000_000_000)));
    }
}

mod ranking {
    use super::*;

    #[divan::bench(args = [10_000])]
    fn weighted_sum(bencher: Bencher<'_, '_>, n: usize) {
        bencher
            .with_inputs(|| candidates(n))
            .bench_values(|all| rank(all, &Ranker::Sum(Scoring::prime())).expect("finite").len());
    }

    #[divan::bench(args = [10_000])]
    fn expression(bencher: Bencher<'_, '_>, n: usize) {
        let source = "0.7 * similarity + 0.3 * max(recency, usage)";
        let ranker = Ranker::Expression(Expression::new(source).expect("an expression"));
        bencher
            .with_inputs(|| candidates(n))
            .bench_values(|all| rank(all, &ranker).expect("finite").len());
    }

    fn candidates(n: usize) -> Vec<Candidate> {
        let ranked = request(n, false).layers.remove(0).1;
        ranked.into_iter().map(|ranked| ranked.candidate).collect()
    }
}
