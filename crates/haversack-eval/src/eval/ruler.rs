//! Measures one pack against the labels of one question, for packs of Haversack and of other
//! systems alike.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use haversack_core::text::chunk::Format;
use haversack_core::units::Tokens;

use super::blocks::{DocumentBlock, DocumentBlockKind};
use super::broken::BrokenBlocks;
use super::cover::{Cover, clipped, union};
use super::library::{LibraryText, TextLibrary};
use super::question::{EvalQuestion, Evidence};
use super::words::{NormalizedWords, collapse_whitespace, visible_bytes};
use haversack::pipeline::Timings;

/// A metric of a pack: a share between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Whether the text contains the gold answer: 0 or 1.
    Answer,
    /// The share of the evidence in the pack, by characters.
    Evidence,
    /// The share of supporting spans that are complete.
    Spans,
    /// The share of labelled documents that are complete.
    Documents,
    /// The share of labelled documents with any text in the pack.
    Any,
    /// As `Evidence`, but only under the title of the document or the heading of the section.
    Named,
    /// The share of required strings that the text contains.
    Must,
    /// The share of the packed text in complete blocks.
    Whole,
    /// The share of the packed text that is imports, navigation or licence headers.
    Clutter,
    /// The share of the packed text that comes from labelled documents.
    Clean,
}

impl Metric {
    /// All metrics, in display order.
    pub const ALL: [Metric; 10] = [
        Metric::Answer,
        Metric::Evidence,
        Metric::Spans,
        Metric::Documents,
        Metric::Any,
        Metric::Named,
        Metric::Must,
        Metric::Whole,
        Metric::Clutter,
        Metric::Clean,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Answer => "answer",
            Metric::Evidence => "evidence",
            Metric::Spans => "spans",
            Metric::Documents => "documents",
            Metric::Any => "any",
            Metric::Named => "named",
            Metric::Must => "must",
            Metric::Whole => "whole",
            Metric::Clutter => "clutter",
            Metric::Clean => "clean",
        }
    }

    /// Whether it can be measured without labels.
    #[must_use]
    pub const fn needs_no_labels(self) -> bool {
        matches!(self, Metric::Whole | Metric::Clutter)
    }
}

/// The metrics of one pack; `None` where the question lacks the label.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MetricShares([Option<f64>; Metric::ALL.len()]);

impl MetricShares {
    /// The value of a metric.
    #[must_use]
    pub const fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    pub(super) const fn set(&mut self, metric: Metric, share: Option<f64>) {
        self.0[metric as usize] = share;
    }
}

/// The measurement of one pack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackMeasurement {
    /// The budget.
    pub budget: Tokens,
    /// Its metrics.
    pub shares: MetricShares,
    /// The number of broken blocks in its text.
    pub broken: usize,
    /// Its size.
    pub tokens: Tokens,
    /// The time it took.
    pub time: Duration,
    /// The time by stage, if known.
    pub steps: Option<Timings>,
}

/// The text of a pack and the documents that it covers.
pub(super) struct PackText<'p> {
    pub(super) budget: Tokens,
    /// The text that a model would get.
    pub(super) text: &'p str,
    pub(super) tokens: Tokens,
    pub(super) time: Duration,
    pub(super) steps: Option<Timings>,
    /// The parts of documents in the text.
    pub(super) cover: Cover,
}

/// Measures a pack.
pub(super) fn measure(
    pack: &PackText<'_>,
    question: &EvalQuestion,
    library: &TextLibrary,
) -> PackMeasurement {
    let mut shares = MetricShares::default();
    let blocks = BlockShares::of(pack, question, library);
    shares.set(Metric::Whole, share(blocks.whole, blocks.all));
    shares.set(Metric::Clutter, share(blocks.clutter, blocks.all));
    if question.is_labelled() {
        let words = NormalizedWords::of(pack.text);
        shares.set(
            Metric::Answer,
            question.gold.is_in(&words).map(|is_in| f64::from(u8::from(is_in))),
        );
        if !question.evidence.is_empty() {
            shares.set(Metric::Clean, share(blocks.labelled, blocks.all));
            measure_evidence(&mut shares, (pack, &words), question, library);
        }
        if !question.must.is_empty() {
            let text = collapse_whitespace(pack.text);
            let found = question.must.iter().filter(|must| text.contains(must.as_str()));
            shares.set(Metric::Must, share(found.count(), question.must.len()));
        }
    }
    let PackText { budget, tokens, time, steps, .. } = *pack;
    let broken = BrokenBlocks::of(pack.text, &verbatim(pack, library));
    let headings = broken.headings.max(blocks.bare_headings);
    let broken = BrokenBlocks { headings, ..broken }.total();
    PackMeasurement { budget, shares, broken, tokens, time, steps }
}

/// Whether a pack contains all evidence of a document.
pub(super) fn has_all(
    cover: &Cover,
    document: &str,
    evidence: &Evidence,
    library: &TextLibrary,
) -> bool {
    let Some(text) = library.get(document) else { return false };
    let ranges = cover.of_document(document);
    if evidence.spans.is_empty() {
        return !ranges.is_empty() && text.visible_in(ranges.to_vec()) == text.visible_bytes();
    }
    evidence.spans.iter().all(|span| text.is_covered(span, ranges))
}

/// The share of `part` in `whole`; `None` when `whole` is 0.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Sets the metrics that need labelled documents or spans.
fn measure_evidence(
    shares: &mut MetricShares,
    (pack, words): (&PackText<'_>, &NormalizedWords),
    question: &EvalQuestion,
    library: &TextLibrary,
) {
    let (mut all, mut found, mut named) = (0, 0, 0);
    let (mut spans, mut whole_spans, mut has_titles) = (0, 0, false);
    for (document, evidence) in question.counted_evidence() {
        let Some(text) = library.get(document) else { continue };
        let ranges = pack.cover.of_document(document);
        let whole = 0..text.body.len();
        let wanted = match evidence.spans.as_slice() {
            [] => vec![whole],
            spans => union(spans.to_vec()),
        };
        let in_pack: Vec<Range<usize>> =
            wanted.iter().flat_map(|wanted| clipped(ranges, wanted)).collect();
        all += text.visible_in(wanted);
        found += text.visible_in(in_pack.clone());
        named += named_bytes(text, &in_pack, words);
        has_titles |= text.title().is_some();
        spans += evidence.spans.len();
        let wholly = evidence.spans.iter().filter(|span| text.is_covered(span, ranges));
        whole_spans += wholly.count();
    }
    shares.set(Metric::Evidence, share(found, all));
    shares.set(Metric::Named, share(named, all).filter(|_| has_titles));
    shares.set(Metric::Spans, share(whole_spans, spans));
    let (mut whole, mut any) = (0, 0);
    for document in question.evidence.keys() {
        let Some(text) = library.get(document) else { continue };
        let found = text.visible_in(pack.cover.of_document(document).to_vec());
        any += usize::from(found > 0);
        whole += usize::from(found > 0 && found == text.visible_bytes());
    }
    let labelled = question.evidence.len();
    shares.set(Metric::Documents, share(whole, labelled));
    shares.set(Metric::Any, share(any, labelled));
}

/// The number of packed bytes of a document that are named: by its title anywhere in the pack, or
/// by the heading of their section.
fn named_bytes(text: &LibraryText, in_pack: &[Range<usize>], words: &NormalizedWords) -> usize {
    if text.title().is_none_or(|title| words.contains(title)) {
        return text.visible_in(in_pack.to_vec());
    }
    let sections = text.sections().iter();
    let named = sections.filter(|(range, heading)| {
        clipped(in_pack, range).next().is_some() && words.contains(heading)
    });
    named.map(|(range, _)| text.visible_in(clipped(in_pack, range))).sum()
}

/// Packed lines of non-Markdown documents that look like headings or table rows.
fn verbatim<'l>(pack: &PackText<'_>, library: &'l TextLibrary) -> BTreeSet<&'l str> {
    let mut lines = BTreeSet::new();
    for (document, ranges) in pack.cover.documents() {
        let Some(text) = library.get(document).filter(|text| text.format != Format::Markdown)
        else {
            continue;
        };
        let parts = ranges.iter().filter_map(|range| text.body.get(range.clone()));
        let own = parts.flat_map(str::lines).map(str::trim);
        lines.extend(own.filter(|line| line.starts_with(['#', '|'])));
    }
    lines
}

/// Visible packed bytes by kind of block.
#[derive(Debug, Default)]
struct BlockShares {
    all: usize,
    whole: usize,
    clutter: usize,
    /// Of labelled documents.
    labelled: usize,
    /// Headings in the pack without any of the text below them in the document.
    bare_headings: usize,
}

impl BlockShares {
    fn of(pack: &PackText<'_>, question: &EvalQuestion, library: &TextLibrary) -> BlockShares {
        let mut shares = BlockShares::default();
        for (document, ranges) in pack.cover.documents() {
            let Some(text) = library.get(document) else { continue };
            let own = shares.add(text, ranges);
            if question.evidence.contains_key(document) {
                shares.labelled += own;
            }
        }
        shares
    }

    /// Adds the packed bytes of a document and returns their number.
    fn add(&mut self, text: &LibraryText, ranges: &[Range<usize>]) -> usize {
        let blocks = text.blocks();
        let mut own = 0;
        // Consecutive rows share a head, so the last lookup is kept.
        let mut head_is_in = (usize::MAX, false);
        let mut found = vec![0_usize; blocks.len()];
        for (index, block) in blocks.iter().enumerate().skip(first_block(blocks, ranges)) {
            if ranges.last().is_none_or(|last| last.end <= block.range.start) {
                break;
            }
            let part = text.visible_in(clipped(ranges, &block.range));
            if part == 0 {
                continue;
            }
            found[index] = part;
            own += part;
            let is_all = part == visible_bytes(&text.body[block.range.clone()]);
            let has_head = match block.kind {
                DocumentBlockKind::TableRow { head } => {
                    if head_is_in.0 != head {
                        head_is_in = (head, text.is_covered(&blocks[head].range, ranges));
                    }
                    head_is_in.1
                }
                _ => true,
            };
            self.whole += if is_all && has_head { part } else { 0 };
            self.clutter += if block.is_clutter { part } else { 0 };
        }
        self.all += own;
        self.bare_headings += bare_headings(blocks, &found);
        own
    }
}

/// The index of the first block that ranges overlap.
fn first_block(blocks: &[DocumentBlock], ranges: &[Range<usize>]) -> usize {
    let start = ranges.first().map_or(0, |range| range.start);
    blocks.partition_point(|block| block.range.end <= start)
}

/// The number of packed headings without any of the text below them in the document.
fn bare_headings(blocks: &[DocumentBlock], found: &[usize]) -> usize {
    // For each open heading: its level, whether it is packed, whether the document has text below
    // it, and whether any of that is packed.
    let mut open: Vec<(usize, bool, bool, bool)> = Vec::new();
    let mut bare = 0;
    let mut close = |open: &mut Vec<(usize, bool, bool, bool)>, level: usize| {
        while let Some((_, is_in, has_text, has_any)) = open.pop_if(|own| own.0 >= level) {
            bare += usize::from(is_in && has_text && !has_any);
            if let Some(above) = open.last_mut() {
                above.2 |= has_text;
                above.3 |= has_any;
            }
        }
    };
    for (block, found) in blocks.iter().zip(found) {
        if let DocumentBlockKind::Heading { level } = block.kind {
            close(&mut open, level);
            open.push((level, *found > 0, false, false));
        } else if let Some(above) = open.last_mut() {
            above.2 = true;
            above.3 |= *found > 0;
        }
    }
    close(&mut open, 0);
    bare
}

#[cfg(test)]
mod tests {
    use super::super::words::collapse_whitespace;
    use super::*;

    /// A document: id, title, text. An empty title is none.
    type Given = (&'static str, &'static str, &'static str);

    const ROCKET: Given = ("rocket", "Rockets", "Red rockets fly far. Blue rockets fall.");
    const SOUP: Given = ("soup", "", "Soup on Mondays. Rice on Fridays.");

    /// Parts of documents by their words, and the text of the pack if it is not these words line by
    /// line.
    struct PackGiven<'g> {
        parts: &'g [(&'g str, &'g str)],
        text: Option<&'g str>,
    }

    fn library(documents: &[Given]) -> TextLibrary {
        let mut library = TextLibrary::default();
        for (id, title, text) in documents {
            let title = Some(*title).filter(|title| !title.is_empty());
            let path = id.contains('.').then_some(*id);
            let text = LibraryText::new(title.map(str::to_owned), (*text).to_owned(), path);
            library.insert((*id).to_owned(), text);
        }
        library
    }

    fn packed(
        documents: &[Given],
        pack: &PackGiven<'_>,
        question: &EvalQuestion,
    ) -> PackMeasurement {
        let library = library(documents);
        let parts = pack.parts.iter().map(|(document, words)| {
            let start = library.get(document).unwrap().body.find(words).unwrap();
            ((*document).to_owned(), start..start + words.len())
        });
        let lines: Vec<&str> = pack.parts.iter().map(|(_, words)| *words).collect();
        let joined = lines.join("\n");
        let pack = PackText {
            budget: Tokens::new(100),
            text: pack.text.unwrap_or(&joined),
            tokens: Tokens::new(10),
            time: Duration::from_millis(1),
            steps: None,
            cover: Cover::of(parts),
        };
        measure(&pack, question, &library)
    }

    /// A question with labels on these documents, or on spans by their words.
    fn question(documents: &[Given], labels: &[(&str, &[&str])]) -> EvalQuestion {
        let mut question = EvalQuestion::new("q".to_owned(), "What?".to_owned());
        for (id, spans) in labels {
            let (_, _, text) = documents.iter().find(|(own, _, _)| own == id).unwrap();
            let span = |words: &&str| {
                let start = text.find(words).unwrap();
                start..start + words.len()
            };
            let spans = spans.iter().map(span).collect();
            question.evidence.insert((*id).to_owned(), Evidence { grade: 1, spans });
        }
        question
    }

    /// Metrics by name to three digits, a dash for none.
    fn shown(packed: &PackMeasurement, names: &str) -> String {
        let one = |name: &str| {
            let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name).unwrap();
            let share = packed.shares.get(metric);
            share.map_or("-".to_owned(), |share| format!("{share:.3}"))
        };
        names.split(' ').map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn evidence_is_counted_by_characters() {
        let documents = [ROCKET, SOUP];
        let check = |labels: &[(&str, &[&str])], parts: &[(&str, &str)], expected: &str| {
            let question = question(&documents, labels);
            let packed = packed(&documents, &PackGiven { parts, text: None }, &question);
            let shown = shown(&packed, "evidence spans documents any clean");
            assert_eq!(shown, expected, "{labels:?} {parts:?}");
        };
        let both: &[(&str, &[&str])] = &[("rocket", &[]), ("soup", &[])];
        check(both, &[("rocket", ROCKET.2), ("soup", SOUP.2)], "1.000 - 1.000 1.000 1.000");
        check(both, &[("rocket", ROCKET.2)], "0.541 - 0.500 0.500 1.000");
        // White space between parts does not count.
        check(
            both,
            &[("rocket", "Red rockets fly far."), ("rocket", "Blue rockets fall.")],
            "0.541 - 0.500 0.500 1.000",
        );
        check(both, &[], "0.000 - 0.000 0.000 -");
        // One sentence of each: any text of all, nothing whole.
        check(
            both,
            &[("rocket", "Blue rockets fall."), ("soup", "Soup on Mondays.")],
            "0.492 - 0.000 1.000 1.000",
        );
        let spans: &[(&str, &[&str])] = &[
            ("rocket", &["Red rockets fly far.", "Blue rockets"]),
            ("soup", &["Rice on Fridays."]),
        ];
        check(spans, &[("rocket", "Blue rockets fall.")], "0.262 0.333 0.000 0.500 1.000");
        check(
            spans,
            &[("rocket", "rockets fly far. Blue rock"), ("soup", SOUP.2)],
            "0.857 0.333 0.500 1.000 1.000",
        );
        // Documents without a span do not count as evidence where others have one.
        let some: &[(&str, &[&str])] = &[("rocket", &["Red"]), ("soup", &[])];
        check(some, &[("rocket", "Red rockets")], "1.000 1.000 0.000 0.500 1.000");
        check(
            &[("soup", &[])],
            &[("rocket", "Blue"), ("soup", "Rice")],
            "0.143 - 0.000 1.000 0.500",
        );
        check(&[], &[("rocket", "Blue")], "- - - - -");
    }

    #[test]
    fn one_sentence_of_each_document_is_not_evidence() {
        let documents = [ROCKET, SOUP];
        let spans: &[(&str, &[&str])] =
            &[("rocket", &["Red rockets fly far."]), ("soup", &["Rice on Fridays."])];
        let question = question(&documents, spans);
        let parts: &[(&str, &str)] =
            &[("rocket", "Blue rockets fall."), ("soup", "Soup on Mondays.")];
        let packed = packed(&documents, &PackGiven { parts, text: None }, &question);
        let shown = shown(&packed, "any evidence spans documents whole");
        assert_eq!(shown, "1.000 0.000 0.000 0.000 0.000");
    }

    #[test]
    fn passages_are_named_by_their_title_or_heading() {
        const PAGE: Given =
            ("page.md", "The Book", "Before.\n\n# Fuel\n\nKerosene.\n\n## Old\n\nCoal.\n");
        let check = |labels: &[(&str, &[&str])], parts: &[(&str, &str)], text: &str, expected| {
            let documents = [PAGE, SOUP];
            let question = question(&documents, labels);
            let packed = packed(&documents, &PackGiven { parts, text: Some(text) }, &question);
            assert_eq!(shown(&packed, "named"), expected, "{parts:?} {text:?}");
        };
        let page: &[(&str, &[&str])] = &[("page.md", &["Before.", "Kerosene.", "Coal."])];
        let all: &[(&str, &str)] = &[("page.md", PAGE.2)];
        check(page, all, "a book: Before. Kerosene. Coal.", "1.000");
        check(page, all, "Before. Kerosene. Coal.", "0.000");
        check(page, all, "Before. # FUEL Kerosene. Coal.", "0.429");
        check(page, all, "Before. # Fuel Kerosene. ## Old Coal.", "0.667");
        check(page, &[("page.md", "Coal.")], "Coal. Fuel", "0.000");
        // A document without a title counts as named.
        check(
            &[("page.md", &["Coal."]), ("soup", &["Rice"])],
            &[("soup", "Rice")],
            "Rice",
            "0.444",
        );
        check(&[("soup", &[])], &[("soup", "Rice")], "Rice", "-");
    }

    #[test]
    fn required_strings_are_compared_verbatim() {
        let check = |must: &[&str], text: &str, expected: &str| {
            let must = must.iter().map(|must| collapse_whitespace(must)).collect();
            let question = EvalQuestion { must, ..question(&[], &[]) };
            let packed = packed(&[], &PackGiven { parts: &[], text: Some(text) }, &question);
            assert_eq!(shown(&packed, "must"), expected, "{text:?}");
        };
        check(&[], "anything", "-");
        check(&["let x = 1;"], "so:\n  let x =\n    1;\n", "1.000");
        check(&["let x = 1;"], "let X = 1;", "0.000");
        check(&["ab", "cd", "ef"], "xabx ef", "0.667");
    }

    #[test]
    fn only_complete_blocks_count_as_whole() {
        const PAGE: Given = (
            "page.md",
            "",
            "# Head\n\nOne two\nthree.\n\n- item a\n  more\n- item b\n\n```sh\nls\n\nps\n```\n\n\
             | x | y |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        );
        const CODE: Given =
            ("a.py", "", "import os\nimport re\n\ndef f():\n    return 1\n\nx = 2\n");
        let check = |parts: &[(&str, &str)], expected: &str| {
            let packed =
                packed(&[PAGE, CODE], &PackGiven { parts, text: None }, &question(&[], &[]));
            assert_eq!(shown(&packed, "whole clutter"), expected, "{parts:?}");
        };
        let page = |part| [("page.md", part)];
        check(&[], "- -");
        check(&page(PAGE.2), "1.000 0.000");
        check(&page("One two\nthree."), "1.000 0.000");
        check(&page("One two"), "0.000 0.000");
        check(&[("page.md", "One two"), ("page.md", "three.")], "1.000 0.000");
        check(&page("- item a\n  more\n- item"), "0.667 0.000");
        check(&page("```sh\nls\n\n"), "0.000 0.000");
        check(&page("| 1 | 2 |"), "0.000 0.000");
        check(&page("| x | y |\n|---|---|\n| 1 | 2 |\n| 3"), "0.905 0.000");
        check(&[("page.md", "| x | y |"), ("page.md", "| 3 | 4 |")], "0.000 0.000");
        check(&[("a.py", "import os\nimport re\n\ndef f():\n    return 1")], "1.000 0.533");
        check(&[("a.py", "def f():\n"), ("a.py", "x = 2")], "0.300 0.000");
    }

    #[test]
    fn headings_without_their_own_text_are_broken() {
        const PAGE: Given =
            ("page.md", "", "# A\n\n## B\n\nText of B.\n\n## C\n\nText of C.\n\n## D\n");
        let check = |parts: &[(&str, &str)], text: Option<&str>, expected: usize| {
            let packed = packed(&[PAGE, SOUP], &PackGiven { parts, text }, &question(&[], &[]));
            assert_eq!(packed.broken, expected, "{parts:?} {text:?}");
        };
        check(&[("page.md", "## B\n\nText of B.")], None, 0);
        check(&[("page.md", "# A\n\n## B\n\nText of B.")], None, 0);
        check(&[("page.md", "## B")], None, 1);
        // The next document's text is not the heading's own.
        check(&[("page.md", "# A\n\n## B\n\n"), ("soup", "Rice")], None, 2);
        check(&[("page.md", "## B\n\nText of B.\n\n## C"), ("soup", "Rice")], None, 1);
        check(&[("soup", "Rice")], Some("```\nRice"), 1);
    }

    #[test]
    fn comments_in_code_are_not_headings() {
        const CODE: Given = ("a.py", "", "# one\n# two\nx = 1\n# three\n");
        let packed = packed(
            &[CODE],
            &PackGiven { parts: &[("a.py", CODE.2)], text: None },
            &question(&[], &[]),
        );
        assert_eq!(packed.broken, 0);
    }
}
