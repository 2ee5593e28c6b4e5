//! Language detection, stop words and stemmers.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::{Lang, Script};

/// Maximum number of bytes used for detection.
const DETECT_BYTES_MAX: usize = 4_096;

/// How much of a text without accents is looked through for small words.
const SAMPLE_BYTES: usize = 512;

/// Below this many letters a trigram profile is a guess, however sure it sounds.
const RELIABLE_LETTERS_MIN: usize = 40;

/// English words of the public list that carry meaning in questions about work and software.
#[rustfmt::skip]
const NO_STOP_WORDS: &[&str] = &[
    "amount", "area", "areas", "auth", "bill", "caption", "cases", "changes", "computer", "copy",
    "cry", "date", "edu", "effect", "empty", "fire", "fix", "free", "goods", "group", "groups",
    "home", "homepage", "html", "http", "index", "information", "int", "interest", "interests",
    "invention", "join", "keys", "length", "line", "member", "members", "microsoft", "move",
    "msie", "name", "net", "netscape", "novel", "null", "number", "numbers", "open", "order",
    "orders", "page", "pages", "problem", "problems", "research", "results", "ring", "room",
    "rooms", "section", "shell", "site", "state", "states", "system", "test", "text", "tip",
    "value", "web", "webpage", "website", "width", "world",
];

/// The English stop words of two letters; the public list also holds every country's code.
#[rustfmt::skip]
const SHORT_STOP_WORDS: &[&str] = &[
    "ah", "al", "am", "an", "as", "at", "be", "by", "do", "eg", "et", "ex", "go", "he", "hi",
    "ie", "if", "in", "is", "it", "ll", "me", "mr", "ms", "my", "no", "of", "oh", "ok", "on",
    "or", "re", "so", "th", "to", "uh", "um", "up", "us", "ve", "vs", "we",
];

/// A language whose stop words or stems are known, or [`Language::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the language it is called")]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Russian,
    Hungarian,
    Romanian,
    Turkish,
    Arabic,
    Hindi,
    Chinese,
    Japanese,
    Korean,
    /// Any other: no stop words, no stems.
    Other,
}

/// Frequent English words that do not occur in other languages in Latin script.
const ENGLISH_ONLY: [&str; 26] = [
    "about", "and", "been", "could", "does", "from", "has", "have", "how", "should", "that", "the",
    "their", "there", "these", "they", "this", "were", "what", "when", "where", "which", "with",
    "would", "you", "your",
];

/// Whether every eighth word or more is one that only English has, and two at least.
///
/// It spares most texts the comparison with the trigrams of seventy languages, which costs more
/// than all else that is done with a paragraph.
fn is_plainly_english(text: &str) -> bool {
    let (mut words, mut english) = (0, 0);
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words += 1;
        // The longest of them has six letters.
        if word.len() <= 6 && ENGLISH_ONLY.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            english += 1;
        }
    }
    english >= 2 && english * 8 >= words
}

impl Language {
    /// Every language, in the order of the enum.
    pub const ALL: [Language; 21] = [
        Language::English,
        Language::German,
        Language::French,
        Language::Spanish,
        Language::Italian,
        Language::Portuguese,
        Language::Dutch,
        Language::Swedish,
        Language::Danish,
        Language::Norwegian,
        Language::Finnish,
        Language::Russian,
        Language::Hungarian,
        Language::Romanian,
        Language::Turkish,
        Language::Arabic,
        Language::Hindi,
        Language::Chinese,
        Language::Japanese,
        Language::Korean,
        Language::Other,
    ];

    /// The language a text is most likely in.
    ///
    /// A text too short to be sure of is judged by its stop words when it is in Latin script
    /// (English unless another language has more of them, and two at least), and by its script
    /// otherwise. Nothing but digits and signs is English, too.
    #[must_use]
    pub fn detect(text: &str) -> Language {
        let text = &text[..text.floor_char_boundary(DETECT_BYTES_MAX)];
        if is_plainly_english(text) {
            return Language::English;
        }
        // Other languages of Latin script hardly do without accents and their own small words;
        // who has neither may be code, a table or a few names.
        if text.is_ascii() {
            let sample = &text[..text.len().min(SAMPLE_BYTES)];
            if Language::by_stop_words(sample, Language::English) == Language::English {
                return Language::English;
            }
        }
        let Some(info) = whatlang::detect(text) else { return Language::English };
        let guess = Language::from_whatlang(info.lang());
        if info.script() != Script::Latin {
            return if info.is_reliable() { guess } else { Language::of_script(info.script()) };
        }
        let letters = text.chars().filter(|c| c.is_alphabetic()).take(RELIABLE_LETTERS_MIN).count();
        if info.is_reliable() && letters == RELIABLE_LETTERS_MIN {
            return guess;
        }
        Language::by_stop_words(text, guess)
    }

    /// The ISO 639-1 code; empty for [`Language::Other`].
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
            Language::French => "fr",
            Language::Spanish => "es",
            Language::Italian => "it",
            Language::Portuguese => "pt",
            Language::Dutch => "nl",
            Language::Swedish => "sv",
            Language::Danish => "da",
            Language::Norwegian => "no",
            Language::Finnish => "fi",
            Language::Russian => "ru",
            Language::Hungarian => "hu",
            Language::Romanian => "ro",
            Language::Turkish => "tr",
            Language::Arabic => "ar",
            Language::Hindi => "hi",
            Language::Chinese => "zh",
            Language::Japanese => "ja",
            Language::Korean => "ko",
            Language::Other => "",
        }
    }

    /// The language of an ISO 639-1 code, as [`Language::code`] gives it.
    #[must_use]
    pub fn of_code(code: &str) -> Language {
        let known = Language::ALL.into_iter().find(|language| language.code() == code);
        known.unwrap_or(Language::Other)
    }

    /// Whether a lower-case word is a stop word.
    ///
    /// ASCII words in languages of another script are judged as English.
    #[must_use]
    pub fn is_stop_word(self, word: &str) -> bool {
        self.for_word(word.is_ascii()).stop_words().contains(word)
    }

    /// The language whose rules apply to a word: English words inside Chinese text are English.
    pub(super) const fn for_word(self, ascii: bool) -> Language {
        if ascii && !self.is_latin() { Language::English } else { self }
    }

    pub(super) fn stop_words(self) -> &'static StopWords {
        static LISTS: [OnceLock<StopWords>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        LISTS[self as usize].get_or_init(|| StopWords::for_language(self))
    }

    pub(super) fn stemmer(self) -> Option<Stemmer> {
        let algorithm = match self {
            Language::English => Algorithm::English,
            Language::German => Algorithm::German,
            Language::French => Algorithm::French,
            Language::Spanish => Algorithm::Spanish,
            Language::Italian => Algorithm::Italian,
            Language::Portuguese => Algorithm::Portuguese,
            Language::Dutch => Algorithm::Dutch,
            Language::Swedish => Algorithm::Swedish,
            Language::Danish => Algorithm::Danish,
            Language::Norwegian => Algorithm::Norwegian,
            Language::Finnish => Algorithm::Finnish,
            Language::Russian => Algorithm::Russian,
            Language::Hungarian => Algorithm::Hungarian,
            Language::Romanian => Algorithm::Romanian,
            Language::Turkish => Algorithm::Turkish,
            Language::Arabic => Algorithm::Arabic,
            Language::Hindi
            | Language::Chinese
            | Language::Japanese
            | Language::Korean
            | Language::Other => return None,
        };
        Some(Stemmer::create(algorithm))
    }

    const fn is_latin(self) -> bool {
        !matches!(
            self,
            Language::Russian
                | Language::Arabic
                | Language::Hindi
                | Language::Chinese
                | Language::Japanese
                | Language::Korean
                | Language::Other
        )
    }

    fn from_whatlang(lang: Lang) -> Language {
        match lang {
            Lang::Eng => Language::English,
            Lang::Deu => Language::German,
            Lang::Fra => Language::French,
            Lang::Spa => Language::Spanish,
            Lang::Ita => Language::Italian,
            Lang::Por => Language::Portuguese,
            Lang::Nld => Language::Dutch,
            Lang::Swe => Language::Swedish,
            Lang::Dan => Language::Danish,
            Lang::Nob => Language::Norwegian,
            Lang::Fin => Language::Finnish,
            Lang::Rus => Language::Russian,
            Lang::Hun => Language::Hungarian,
            Lang::Ron => Language::Romanian,
            Lang::Tur => Language::Turkish,
            Lang::Ara => Language::Arabic,
            Lang::Hin => Language::Hindi,
            Lang::Cmn => Language::Chinese,
            Lang::Jpn => Language::Japanese,
            Lang::Kor => Language::Korean,
            _ => Language::Other,
        }
    }

    fn of_script(script: Script) -> Language {
        match script {
            Script::Cyrillic => Language::Russian,
            Script::Arabic => Language::Arabic,
            Script::Devanagari => Language::Hindi,
            Script::Mandarin => Language::Chinese,
            Script::Hiragana | Script::Katakana => Language::Japanese,
            Script::Hangul => Language::Korean,
            _ => Language::Other,
        }
    }

    /// The Latin language with the most stop words in `text`; English, then `guess`, win ties.
    fn by_stop_words(text: &str, guess: Language) -> Language {
        let lower = text.to_lowercase();
        let words: BTreeSet<&str> = lower.split(|c: char| !c.is_alphabetic()).collect();
        let count = |language: Language| {
            words.iter().filter(|word| language.stop_words().contains(word)).count()
        };
        let mut best = (count(Language::English), Language::English);
        for language in [guess].into_iter().chain(Language::ALL) {
            let found = if language.is_latin() { count(language) } else { 0 };
            // One word is a name or chance as often as not.
            if found > best.0.max(1) {
                best = (found, language);
            }
        }
        best.1
    }
}

/// One language's stop words, sorted, with the place where each first byte begins.
#[derive(Debug)]
pub(super) struct StopWords {
    words: Vec<&'static str>,
    starts: Vec<usize>,
    bytes_max: usize,
}

impl StopWords {
    fn for_language(language: Language) -> StopWords {
        let mut words = stop_words::lookup(language.code()).unwrap_or_default().to_vec();
        if language == Language::English {
            words.retain(|word| match word.len() {
                2 => SHORT_STOP_WORDS.binary_search(word).is_ok(),
                _ => NO_STOP_WORDS.binary_search(word).is_err(),
            });
        }
        // Digits tell versions and dates apart, so they are never common.
        words.retain(|word| !word.is_empty() && !word.contains(|c: char| c.is_ascii_digit()));
        words.sort_unstable();
        words.dedup();
        let starts = (0..=256)
            .map(|byte| words.partition_point(|word| usize::from(word.as_bytes()[0]) < byte))
            .collect();
        let bytes_max = words.iter().map(|word| word.len()).max().unwrap_or(0);
        StopWords { words, starts, bytes_max }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else { return false };
        if word.len() > self.bytes_max {
            return false;
        }
        let range = self.starts[usize::from(first)]..self.starts[usize::from(first) + 1];
        self.words[range].binary_search(&word).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_are_in_their_own_order() {
        for (index, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(language as usize, index);
        }
        assert!(NO_STOP_WORDS.is_sorted() && SHORT_STOP_WORDS.is_sorted());
    }

    #[test]
    fn every_language_but_other_has_stop_words() {
        for language in Language::ALL {
            assert_eq!(language.stop_words().words.is_empty(), language == Language::Other);
        }
    }

    #[test]
    fn a_language_is_detected() {
        let check = |text: &str, expected| assert_eq!(Language::detect(text), expected, "{text}");
        check("", Language::English);
        check("42 % !", Language::English);
        check("ok", Language::English);
        check("fix parser bug", Language::English);
        check("Where did we put the minutes of the last meeting?", Language::English);
        check("Was ist der Stand des Projekts?", Language::German);
        check("Wo haben wir das Protokoll der letzten Sitzung abgelegt?", Language::German);
        check("où est le fichier de configuration", Language::French);
        check("¿Dónde está el informe de la semana pasada?", Language::Spanish);
        check("Где находится отчёт?", Language::Russian);
        check("上周的会议记录在哪里", Language::Chinese);
        check("先週の会議の議事録はどこですか", Language::Japanese);
        check("지난주 회의록은 어디에 있나요", Language::Korean);
        check("أين تقرير الأسبوع الماضي", Language::Arabic);
        check("पिछले सप्ताह की रिपोर्ट कहाँ है", Language::Hindi);
        check("Πού είναι η αναφορά;", Language::Other);
        check(&"🙂".repeat(5_000), Language::English);
    }

    #[test]
    fn stop_words_depend_on_the_language() {
        assert!(Language::English.is_stop_word("the"));
        assert!(!Language::English.is_stop_word("page"));
        assert!(!Language::English.is_stop_word(""));
        assert!(Language::German.is_stop_word("und"));
        assert!(!Language::German.is_stop_word("the"));
        assert!(Language::Chinese.is_stop_word("我们"));
        assert!(Language::Chinese.is_stop_word("the"));
        assert!(!Language::Other.is_stop_word("και"));
    }
}
