//! Normalizes texts for comparison: words for answers and titles, white space for required strings.

use unicode_normalization_alignments::UnicodeNormalization as _;

/// Words that comparisons ignore.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// The words of a text in order: NFKC, lower case, without punctuation and articles. Each word has
/// a space before and after it, so a substring search matches whole words only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NormalizedWords(String);

impl NormalizedWords {
    pub(crate) fn of(text: &str) -> NormalizedWords {
        let mut words = String::with_capacity(text.len() + 2);
        let mut word = String::new();
        for (unified, _) in text.nfkc() {
            for letter in unified.to_lowercase() {
                if letter.is_alphanumeric() {
                    word.push(letter);
                } else {
                    push(&mut words, &mut word);
                }
            }
        }
        push(&mut words, &mut word);
        if !words.is_empty() {
            words.push(' ');
        }
        NormalizedWords(words)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it contains the words of `other` in sequence. Always false when `other` has none.
    pub(crate) fn contains(&self, other: &NormalizedWords) -> bool {
        !other.is_empty() && self.0.contains(&other.0)
    }

    /// Whether it is exactly one of these words.
    pub(crate) fn is_one_of(&self, words: &[&str]) -> bool {
        words.contains(&self.0.trim())
    }
}

fn push(words: &mut String, word: &mut String) {
    if !word.is_empty() && !ARTICLES.contains(&word.as_str()) {
        words.push(' ');
        words.push_str(word);
    }
    word.clear();
}

/// Replaces each run of white space by one space.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The number of bytes that are not white space.
pub(crate) fn visible_bytes(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_ignore_case_punctuation_and_articles() {
        let check = |text: &str, expected: &str| {
            assert_eq!(NormalizedWords::of(text).0.trim(), expected, "{text:?}");
        };
        check("", "");
        check("The", "");
        check("  The  Quick, brown-fox!", "quick brown fox");
        check("a cat and an owl", "cat and owl");
        check("Theatre anatomy", "theatre anatomy");
        check("ﬁve ½ Å ２０", "five 1 2 å 20");
        check("Cafe\u{301}", "café");
        check("7 May, 2023", "7 may 2023");
        check("«Ärger»\u{a0}über", "ärger über");
        check("日本語", "日本語");
    }

    #[test]
    fn only_whole_words_match() {
        let check = |text: &str, words: &str, expected: bool| {
            assert_eq!(
                NormalizedWords::of(text).contains(&NormalizedWords::of(words)),
                expected,
                "{text:?} {words:?}"
            );
        };
        check("It was the year 2022.", "2022", true);
        check("It was the year 20221.", "2022", false);
        check("a great-grandfather", "great grandfather", true);
        check("a great-grandfather", "grand", false);
        check("Port\nof  Spain", "the Port of Spain!", true);
        check("Port and Spain", "Port Spain", false);
        check("anything", "", false);
        check("anything", "the", false);
        check("", "anything", false);
    }

    #[test]
    fn white_space_is_collapsed_and_not_counted() {
        let check = |text: &str, expected: &str, bytes: usize| {
            assert_eq!(
                (collapse_whitespace(text).as_str(), visible_bytes(text)),
                (expected, bytes),
                "{text:?}"
            );
        };
        check("", "", 0);
        check(" \n\t ", "", 0);
        check("let x =\n    1;\r\n", "let x = 1;", 7);
        check("ä\u{a0}b", "ä b", 3);
    }
}
