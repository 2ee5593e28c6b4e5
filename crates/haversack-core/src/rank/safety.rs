//! Detects safety-relevant facts, such as allergies, so that they rank above mere word matches.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Prefixes of words specific to such facts, in lower case.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "allerg", "anaphyla", "epipen", "intoleran", "coeliac", "celiac", "contraindicat", "overdose",
    "life-threatening", "lethal", "seizure", "haemophil", "hemophil", "blood thinner", "drug interaction",
    "unverträglich", "lebensgefähr", "zöliakie", "notfallset", "blutverdünn", "wechselwirkung",
    "poison", "toxic", "asthma", "epilep", "diabet", "insulin", "pacemaker", "suicid", "self-harm", "carbon monoxide", "choking",
    "medication", "dosage", "giftig", "vergift", "lebensbedroh", "herzschrittmacher", "suizid", "erstick", "medikament", "dosierung",
    "überdosis", "kohlenmonoxid", "notfallmedi", "krampfanf",
];

/// Warning phrases, in lower case.
#[rustfmt::skip]
const PHRASES: &[&str] = &[
    "must not eat", "must not take", "must never", "must not be given", "cannot have", "not allowed to eat",
    "not together with", "do not give", "must not have", "dangerous for", "gefährlich für", "never give", "stops her breathing", "stops his breathing",
    "anaphylactic shock", "electric shock", "dangerous if", "danger of", "in an emergency", "do not mix", "never mix",
    "darf kein", "darf nicht", "darf auf keinen fall", "verträgt kein", "niemals geben", "nie geben", "nicht zusammen mit",
    "gefährlich", "lebensgefahr", "im notfall", "nicht mischen", "dürfen nicht", "dürfen kein",
];

/// How many letters a word must have to begin another one, and how many more that one must have.
const STEM_CHARS: usize = 4;
const LONGER_BY: usize = 3;

/// Whether a text has a compound that begins with a query word, as "Bienenstich" does with "Biene".
#[must_use]
pub fn has_compound_of(text: &str, keywords: &[String]) -> bool {
    let text = text.to_lowercase();
    let words = || text.split(|c: char| !c.is_alphanumeric());
    keywords.iter().any(|keyword| {
        let n_chars = keyword.chars().count();
        // Without the ending of a plural or a case.
        let stem: String = keyword.chars().take(n_chars.saturating_sub(1)).collect();
        let is_longer = |word: &str| word.chars().count() >= n_chars + LONGER_BY;
        n_chars > STEM_CHARS && words().any(|word| is_longer(word) && word.starts_with(&stem))
    })
}

/// Whether a text warns of a danger to somebody's health.
#[must_use]
pub fn is_safety_relevant(text: &str) -> bool {
    static WARNINGS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        AhoCorasick::new(WORDS.iter().chain(PHRASES)).expect("a few hundred bytes of patterns")
    });
    let text = text.to_lowercase();
    let starts_word = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let mut found = WARNINGS.find_overlapping_iter(&text);
    found.any(|found| found.pattern().as_usize() >= WORDS.len() || starts_word(found.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_match_by_their_first_word() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let warning = "Jorin hatte nach einem Bienenstich einen allergischen Schock.";
        assert!(has_compound_of(warning, &words(&["imker", "bienen"])));
        assert!(!has_compound_of(warning, &words(&["imker", "jorin", "den", "schocks"])));
    }

    #[test]
    fn warnings_are_distinguished_from_mentions() {
        for text in [
            "Lina is allergic to hazelnuts.",
            "Jorin hatte nach einem Bienenstich einen allergischen Schock.",
            "Ibuprofen must not be given together with warfarin.",
        ] {
            assert!(is_safety_relevant(text), "{text}");
        }
        for text in [
            "The film Penicillin runs on Friday.",
            "Lina has violin lessons on Tuesday.",
            "A painting with grapefruit hangs in the hall.",
        ] {
            assert!(!is_safety_relevant(text), "{text}");
        }
    }
}
