//! Facts on which somebody's health hangs. They are few, and worth reading before what merely
//! shares a word with the question.

/// Beginnings of words that only such facts have, in lower case.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "allerg", "anaphyla", "epipen", "intoleran", "coeliac", "celiac", "contraindicat", "overdose",
    "life-threatening", "lethal", "seizure", "haemophil", "hemophil", "blood thinner", "drug interaction",
    "unverträglich", "lebensgefähr", "zöliakie", "notfallset", "blutverdünn", "wechselwirkung",
];

/// Phrases that warn, in lower case.
#[rustfmt::skip]
const PHRASES: &[&str] = &[
    "must not eat", "must not take", "must never", "must not be given", "cannot have", "not allowed to eat",
    "not together with", "do not give", "must not have", "dangerous for", "gefährlich für", "never give", "stops her breathing", "stops his breathing",
    "darf kein", "darf nicht", "darf auf keinen fall", "verträgt kein", "niemals geben",
];

/// Whether a text warns of a danger to somebody's health.
#[must_use]
pub fn is_safety_relevant(text: &str) -> bool {
    let text = text.to_lowercase();
    let starts_word = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    WORDS.iter().any(|word| text.match_indices(word).any(|(at, _)| starts_word(at)))
        || PHRASES.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_from_mentions() {
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
