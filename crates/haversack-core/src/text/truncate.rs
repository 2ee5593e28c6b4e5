//! Truncation: where to cut a text, and what to keep.
//!
//! Cuts fall between sentences if one ends within the limit, else between words, never inside a
//! cluster that readers see as one character. Omissions are marked by "…". With every strategy a larger limit keeps at least as
//! much; selection relies on that.
//!
//! Summarising is deliberately missing, because it needs a model. A summary written by a model
//! enters as a candidate's essential form ([`crate::candidate::Essential`]).

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::boundary::{sentences, words};
use super::extract::importance_order;
use super::tokenizer::{Counter, Tokenizer};
use crate::units::Tokens;

/// What to keep of a text that is too long (W8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// The beginning.
    KeepStart,
    /// The end.
    KeepEnd,
    /// The most important sentences for the query, in text order, without duplicates.
    Extractive,
}

/// A truncated text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    /// The remaining text, with omission marks.
    pub text: String,
    /// The kept byte ranges of the original, in order.
    pub kept: Vec<Range<usize>>,
}

/// A text prepared for truncation to many sizes.
#[derive(Debug)]
pub struct Truncator<'t> {
    tokenizer: &'t dyn Tokenizer,
    text: &'t str,
    counter: Counter<'t>,
    strategy: Truncation,
    sentences: Vec<Range<usize>>,
    /// Indices of sentences, most important first; only for [`Truncation::Extractive`].
    important: Vec<usize>,
}

const GAP: &str = " … ";
pub(crate) const CUT_AFTER: &str = " …";
pub(crate) const CUT_BEFORE: &str = "… ";
/// The most tokens that marks can cost.
const MARK_TOKENS_MAX: u32 = 8;
/// How many boundaries are tried, nearest first: marks push a cut back by one or two.
const TRIES: usize = 8;
/// Longest cluster that is kept whole. No script needs more; piled-up marks may be cut between characters.
const CLUSTER_BYTES_MAX: usize = 128;

impl<'t> Truncator<'t> {
    /// Looks at a text. `query_terms` say what matters; they may be empty.
    #[must_use]
    pub fn new(
        text: &'t str,
        strategy: Truncation,
        tokenizer: &'t dyn Tokenizer,
        query_terms: &[String],
    ) -> Truncator<'t> {
        let sentences = sentences(text);
        let important = match strategy {
            Truncation::Extractive => importance_order(text, &sentences, query_terms),
            Truncation::KeepStart | Truncation::KeepEnd => Vec::new(),
        };
        let counter = tokenizer.counter(text);
        Truncator { tokenizer, text, counter, strategy, sentences, important }
    }

    /// The text within `limit` tokens, marks included; the whole text when it fits. `None` when not
    /// even one cluster does.
    #[must_use]
    pub fn within(&self, limit: Tokens) -> Option<Truncated> {
        if self.counter.total() <= limit {
            let whole = 0..self.text.len();
            return Some(Truncated { text: self.text.to_owned(), kept: vec![whole] });
        }
        match self.strategy {
            Truncation::KeepStart => {
                // Blank lines before the first word are not worth a token.
                let start = self.text.len() - self.text.trim_start().len();
                let first = self.sentences.partition_point(|range| range.end <= start);
                self.start(start..self.text.len(), &self.sentences[first..], limit)
            }
            Truncation::KeepEnd => self.end(limit),
            Truncation::Extractive => self.extract(limit),
        }
    }

    /// The longest beginning of a part of the text: up to the end of one of `sentences`, else of a
    /// word, else of a cluster.
    fn start(
        &self,
        part: Range<usize>,
        sentences: &[Range<usize>],
        limit: Tokens,
    ) -> Option<Truncated> {
        let lead = if self.text[..part.start].trim_end().is_empty() { "" } else { CUT_BEFORE };
        let cut_at = |end: usize| {
            let end = part.start + self.text[part.start..end].trim_end().len();
            let kept = part.start..end;
            let text = format!("{lead}{}{CUT_AFTER}", &self.text[kept.clone()]);
            (end > part.start && self.tokenizer.count(&text) <= limit)
                .then(|| Truncated { text, kept: vec![kept] })
        };
        let fitting = |ends: &[Range<usize>]| {
            let fits = |range: &Range<usize>| self.counter.count(part.start..range.end) <= limit;
            let n = ends.partition_point(fits);
            ends[..n].iter().rev().take(TRIES).find_map(|range| cut_at(range.end))
        };
        fitting(sentences)
            .or_else(|| {
                let first = sentences.first().cloned().unwrap_or(part.clone());
                let words = words(&self.text[first.clone()]);
                let shift = |word: &Range<usize>| word.start + first.start..word.end + first.start;
                fitting(&words.iter().map(shift).collect::<Vec<_>>())
            })
            .or_else(|| {
                // The mark takes a token or two of the room, hardly ever more.
                let room = |less| limit.checked_sub(Tokens::new(less));
                (0..=MARK_TOKENS_MAX).map_while(room).find_map(|room| {
                    let text = &self.text[part.clone()];
                    let prefix = self.tokenizer.prefix(text, room);
                    cut_at(part.start + cluster_start(text, prefix.len()))
                })
            })
    }

    /// The longest ending.
    fn end(&self, limit: Tokens) -> Option<Truncated> {
        let len = self.text.trim_end().len();
        let cut_at = |start: usize| {
            let start = len - self.text[start.min(len)..len].trim_start().len();
            let kept = start..len;
            let text = format!("{CUT_BEFORE}{}", &self.text[kept.clone()]);
            (start < len && self.tokenizer.count(&text) <= limit)
                .then(|| Truncated { text, kept: vec![kept] })
        };
        let fitting = |starts: &[Range<usize>]| {
            let too_long = |range: &Range<usize>| {
                range.start < len && self.counter.count(range.start..len) > limit
            };
            let n = starts.partition_point(too_long);
            starts[n..].iter().take(TRIES).find_map(|range| cut_at(range.start))
        };
        fitting(&self.sentences)
            .or_else(|| {
                let n = self.sentences.partition_point(|range| range.start < len);
                let last = self.sentences[..n].last().cloned().unwrap_or(0..len);
                let words = words(&self.text[last.clone()]);
                let shift = |word: &Range<usize>| word.start + last.start..word.end + last.start;
                fitting(&words.iter().map(shift).collect::<Vec<_>>())
            })
            .or_else(|| {
                let room = |less| limit.checked_sub(Tokens::new(less));
                (0..=MARK_TOKENS_MAX).map_while(room).find_map(|room| {
                    let text = &self.text[..len];
                    let suffix = self.tokenizer.suffix(text, room);
                    cut_at(cluster_end(text, len - suffix.len()))
                })
            })
    }

    /// As many of the most important sentences as fit, in the order of the text.
    ///
    /// What is taken is always a beginning of one fixed order, so a larger limit keeps all that a
    /// smaller one did.
    fn extract(&self, limit: Tokens) -> Option<Truncated> {
        let fits = |n: usize| self.tokenizer.count(&self.joined(n).text) <= limit;
        let (mut low, mut high) = (0, self.important.len());
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        if low > 0 {
            return Some(self.joined(low));
        }
        let best = self.sentences.get(*self.important.first()?)?.clone();
        self.start(best, &[], limit)
    }

    /// The first `n` sentences by importance, put together in the order of the text.
    fn joined(&self, n: usize) -> Truncated {
        let mut chosen: Vec<usize> = self.important[..n].to_vec();
        chosen.sort_unstable();
        joined(self.text, chosen.into_iter().map(|index| self.sentences[index].clone()))
    }
}

/// The cluster that `at` would part, such as a letter with its marks or an emoji of several; `None` between
/// clusters, and inside one that is too long to be kept whole.
fn cluster_around(text: &str, at: usize) -> Option<Range<usize>> {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return None;
    }
    let start = cursor.prev_boundary(text, 0).ok().flatten()?;
    // Looking further would only tell how much too long it is.
    let text = &text[..text.ceil_char_boundary(start + CLUSTER_BYTES_MAX + 1)];
    let mut cursor = GraphemeCursor::new(start, text.len(), true);
    let end = cursor.next_boundary(text, 0).ok().flatten()?;
    (end - start <= CLUSTER_BYTES_MAX).then_some(start..end)
}

/// The last place up to `at` that parts no cluster.
fn cluster_start(text: &str, at: usize) -> usize {
    cluster_around(text, at).map_or(at, |cluster| cluster.start)
}

/// The first place from `at` on that parts no cluster.
fn cluster_end(text: &str, at: usize) -> usize {
    cluster_around(text, at).map_or(at, |cluster| cluster.end)
}

/// Some parts of a text, in its order, with marks where something was left out.
fn joined(text: &str, parts: impl Iterator<Item = Range<usize>>) -> Truncated {
    let mut kept: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match kept.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => kept.push(part),
        }
    }
    let mut shown = String::new();
    for range in &mut kept {
        range.end = range.start + text[range.clone()].trim_end().len();
        if range.start > 0 {
            shown.push_str(if shown.is_empty() { CUT_BEFORE } else { GAP });
        }
        shown.push_str(&text[range.clone()]);
    }
    let end = text.trim_end().len();
    if kept.last().is_some_and(|last| last.end < end) {
        shown.push_str(CUT_AFTER);
    }
    Truncated { text: shown, kept }
}

/// Cuts a text once; [`Truncator`] cuts one text many times.
#[must_use]
pub fn truncate(
    text: &str,
    limit: Tokens,
    strategy: Truncation,
    tokenizer: &dyn Tokenizer,
    query_terms: &[String],
) -> Option<Truncated> {
    Truncator::new(text, strategy, tokenizer, query_terms).within(limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;
    use crate::text::tokenizer::{CharacterEstimate, Encoding};

    const TEXT: &str = "Alpha goes first. Beta follows at once. Gamma ends it all.";

    fn cut(text: &str, limit: u32, strategy: Truncation, query: &[&str]) -> Option<String> {
        let query: Vec<String> = query.iter().map(|&term| term.to_owned()).collect();
        truncate(text, Tokens::new(limit), strategy, &Encoding::O200k, &query).map(|cut| cut.text)
    }

    #[test]
    fn cuts_fall_on_sentences_then_words_then_characters() {
        // W8, P7.
        let check = |text: &str, limit: u32, strategy, expected: Option<&str>| {
            assert_eq!(cut(text, limit, strategy, &[]).as_deref(), expected, "{limit}");
        };
        check(TEXT, 50, Truncation::KeepStart, Some(TEXT));
        check(TEXT, 11, Truncation::KeepStart, Some("Alpha goes first. Beta follows at once. …"));
        check(TEXT, 9, Truncation::KeepStart, Some("Alpha goes first. …"));
        check(TEXT, 3, Truncation::KeepStart, Some("Alpha goes …"));
        check(TEXT, 8, Truncation::KeepEnd, Some("… Gamma ends it all."));
        check(TEXT, 4, Truncation::KeepEnd, Some("… it all."));
        check(&"字".repeat(99), 3, Truncation::KeepStart, Some("字字 …"));
        check(TEXT, 0, Truncation::KeepStart, None);
        check("今天下雨。明天晴。", 6, Truncation::KeepStart, Some("今天下雨。 …"));
        check(
            &format!("{TEXT}{}", "\n".repeat(9_000)),
            8,
            Truncation::KeepEnd,
            Some("… Gamma ends it all."),
        );
        check(
            &format!("{}{TEXT}", " \n".repeat(9_000)),
            9,
            Truncation::KeepStart,
            Some("Alpha goes first. …"),
        );
        check("यह पहला है। यह दूसरा है।", 7, Truncation::KeepStart, Some("यह पहला है। …"));
    }

    #[test]
    fn piled_up_marks_are_cut_between_characters_r20() {
        let piled = format!("e{}", "\u{301}".repeat(500_000));
        for strategy in [Truncation::KeepStart, Truncation::KeepEnd, Truncation::Extractive] {
            let cut = cut(&piled, 20, strategy, &[]).unwrap();
            assert!(cut.len() < 100, "{} bytes", cut.len());
        }
    }

    #[test]
    fn extraction_follows_the_query_and_keeps_the_order() {
        let text = "The weather was fine. The invoice number is 4711. Lunch was late. \
                    The invoice total is 90 euros. The invoice number is 4711! We went home.";
        let terms = ["invoic", "number", "total"];
        assert_eq!(
            cut(text, 20, Truncation::Extractive, &terms).as_deref(),
            Some("… The invoice number is 4711. … The invoice total is 90 euros. …")
        );
    }

    #[test]
    fn a_cut_from_the_middle_is_marked_on_both_sides() {
        let text =
            "Nothing here. The invoice number is one two three four five six seven. Bye now.";
        let cut = cut(text, 6, Truncation::Extractive, &["invoic"]);
        assert_eq!(cut.as_deref(), Some("… The invoice number is …"));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let sentence = prop_oneof![
            "[A-Za-z ]{1,30}[.!?] ",
            "[一-十]{1,9}。",
            "[क-ह ]{1,12}। ",
            "[ا-ي ]{1,12}؟ ",
            "\\PC{0,6}\n",
        ];
        proptest::collection::vec(sentence, 0..12).prop_map(|parts| parts.concat())
    }

    /// Clusters of several characters, alone and in rows without a space.
    fn any_clusters() -> impl Strategy<Value = String> {
        let cluster = prop_oneof![
            Just("👩\u{200d}👩\u{200d}👧\u{200d}👦"),
            Just("👩🏽\u{200d}💻"),
            Just("🇫🇷"),
            Just("1\u{fe0f}\u{20e3}"),
            Just("e\u{301}\u{327}"),
            Just("क्षि"),
            Just("각"),
            Just("a"),
            Just(". "),
        ];
        proptest::collection::vec(cluster, 1..30).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// R20: what readers see as one character is there or not.
        #[test]
        fn no_cut_parts_a_cluster(
            text in any_clusters(),
            strategy in proptest::sample::select(
                vec![Truncation::KeepStart, Truncation::KeepEnd, Truncation::Extractive]),
        ) {
            let starts = text.grapheme_indices(true).map(|(at, _)| at);
            let places: Vec<usize> = starts.chain([text.len()]).collect();
            let truncator = Truncator::new(&text, strategy, &Encoding::O200k, &[]);
            for limit in 0..60 {
                let Some(cut) = truncator.within(Tokens::new(limit)) else { continue };
                for range in &cut.kept {
                    prop_assert!(places.contains(&range.start) && places.contains(&range.end),
                        "{limit} tokens: {:?}", cut.text);
                }
            }
        }

        #[test]
        fn a_cut_fits_is_made_of_the_text_and_grows_with_its_limit(
            text in any_text(),
            strategy in proptest::sample::select(
                vec![Truncation::KeepStart, Truncation::KeepEnd, Truncation::Extractive]),
            exact in any::<bool>(),
        ) {
            let tokenizer: &dyn Tokenizer =
                if exact { &Encoding::Cl100k } else { &CharacterEstimate };
            let truncator = Truncator::new(&text, strategy, tokenizer, &["x".to_owned()]);
            let mut longest = 0;
            for limit in 0..40 {
                let Some(cut) = truncator.within(Tokens::new(limit)) else { continue };
                prop_assert!(tokenizer.count(&cut.text) <= Tokens::new(limit));
                let kept: usize = cut.kept.iter().map(|range| text[range.clone()].len()).sum();
                prop_assert!(kept >= longest, "{} bytes at {}, {} before", kept, limit, longest);
                longest = kept;
                for range in &cut.kept {
                    prop_assert!(cut.text.contains(&text[range.clone()]));
                }
            }
        }
    }
}
