//! Texts made comparable: by their words for answers and titles, by their spacing for strings that
//! have to stand in a pack as they are.

use unicode_normalization_alignments::UnicodeNormalization as _;

/// Words that an answer is compared without.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// The words of a text in order: compatible forms unified (NFKC), in lower case, without
/// punctuation and articles. Kept with a blank before and after each word, so that a search for
/// the whole finds word borders alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words(String);

impl Words {
    pub(crate) fn of(text: &str) -> Words {
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
        Words(words)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of `other` stands in it, word by word. Nothing holds no words.
    pub(crate) fn hold(&self, other: &Words) -> bool {
        !other.is_empty() && self.0.contains(&other.0)
    }

    /// Whether it is one of these words alone.
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

/// A text with each run of white space as one blank.
pub(crate) fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// How many bytes of a text are not white space.
pub(crate) fn visible(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_is_left_without_case_marks_and_articles() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Words::of(text).0.trim(), expected, "{text:?}");
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
    fn words_are_found_at_their_borders() {
        let check = |text: &str, words: &str, expected: bool| {
            assert_eq!(Words::of(text).hold(&Words::of(words)), expected, "{text:?} {words:?}");
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
    fn runs_of_white_space_are_one_blank() {
        let check = |text: &str, expected: &str, bytes: usize| {
            assert_eq!((squeezed(text).as_str(), visible(text)), (expected, bytes), "{text:?}");
        };
        check("", "", 0);
        check(" \n\t ", "", 0);
        check("let x =\n    1;\r\n", "let x = 1;", 7);
        check("ä\u{a0}b", "ä b", 3);
    }
}
