//! Texts to store: blocks of a file, or synthetic ones, as files, memories and blocks.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use serde_json::Value;

/// One text.
struct BenchText {
    number: usize,
    id: String,
    title: String,
    text: String,
}

impl BenchText {
    /// Makes an item of it: a file, a memory, or a block of a page.
    fn item(&self) -> Item {
        let id = ItemId::new(&self.id).expect("an id of the file");
        let kind = ["file", "memory", "text", "text"][self.number % 4];
        let mut item = Item::new(id, Kind::new(kind).expect("a kind"), &self.text);
        item.title.clone_from(&self.title);
        if kind == "file" {
            item.path = Some(format!("docs/{}/{}.md", self.number / 1_000, self.number));
        }
        if kind == "text" {
            item.parent = Some(page(self.number).id);
        }
        item
    }
}

/// The parent page of a block.
fn page(number: usize) -> Item {
    let name = format!("page-{}", number / 200);
    let id = ItemId::new(&name).expect("a name");
    let mut item = Item::new(id, Kind::new("page").expect("a kind"), "");
    item.title = name;
    item
}

/// Returns batches of a thousand items with their pages.
pub(crate) fn batches(size: usize, file: Option<&PathBuf>) -> impl Iterator<Item = Vec<Item>> {
    let mut blocks = blocks(size, file);
    std::iter::from_fn(move || {
        let taken: Vec<BenchText> = blocks.by_ref().take(1_000).collect();
        let first = taken.first()?.number;
        let pages = (0..5).map(|n| page(first + n * 200));
        Some(pages.chain(taken.iter().map(BenchText::item)).collect())
    })
}

/// Returns the first `size` blocks.
fn blocks(size: usize, file: Option<&PathBuf>) -> Box<dyn Iterator<Item = BenchText>> {
    let Some(file) = file else { return Box::new((0..size).map(synthetic_block)) };
    let file = std::fs::File::open(file).expect("the file of blocks opens");
    let lines = BufReader::with_capacity(1 << 20, MultiGzDecoder::new(file)).lines();
    Box::new(lines.take(size).enumerate().map(|(number, line)| {
        let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let headings = line["meta"]["headings"].as_array();
        let title = headings.and_then(|list| list.last()).map(text).unwrap_or_default();
        BenchText { number, id: text(&line["id"]), title, text: text(&line["text"]) }
    }))
}

/// Makes a block of words of which few are frequent and most are rare, as in real text.
fn synthetic_block(number: usize) -> BenchText {
    let mut random = EngineBenchRandom(number as u64 + 1);
    let n_words = 20 + random.below(80);
    let words: Vec<String> = (0..n_words).map(|_| random.word()).collect();
    let (id, title) = (format!("made-up-{number}"), words[..3].join(" "));
    BenchText { number, id, title, text: words.join(" ") }
}

/// Makes queries of five to eight consecutive words of some block.
pub(crate) fn queries(size: usize, file: Option<&PathBuf>, n: usize) -> Vec<String> {
    let every = (size / n).max(1);
    let mut random = EngineBenchRandom(7);
    let mut queries = Vec::new();
    for block in blocks(size, file).filter(|block| block.number % every == every / 2) {
        let words: Vec<&str> = block
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 3)
            .collect();
        let n_words = 5 + random.below(4);
        if words.len() > n_words {
            let start = random.below(words.len() - n_words);
            queries.push(words[start..start + n_words].join(" "));
        }
    }
    queries
}

/// Pseudo-random numbers that are the same in every run.
struct EngineBenchRandom(u64);

impl EngineBenchRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    fn word(&mut self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a fraction needs no more")]
        let fraction = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank below 50,000"
        )]
        let mut rank = (50_000f64.powf(fraction) - 1.0) as usize;
        let syllables = ["ba", "de", "ki", "lo", "mu", "ra", "se", "ti", "vo", "zu"];
        let mut word = String::new();
        for _ in 0..4 {
            word.push_str(syllables[rank % 10]);
            rank /= 10;
        }
        word
    }
}
