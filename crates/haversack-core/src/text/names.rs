//! Names: lookup keys of titles, and possible names in a text.

use super::terms::fold;

/// Longer titles are not used as names.
pub const NAME_WORDS_MAX: usize = 8;

/// Lower-case words inside names.
/// The `s` is what an apostrophe leaves.
const JOINING: [&str; 25] = [
    "a", "al", "an", "and", "at", "bin", "da", "de", "del", "der", "des", "di", "du", "el", "en",
    "for", "in", "la", "le", "of", "on", "s", "the", "to", "van",
];

/// The lookup key of a title: its words in lower case, without a disambiguation in brackets at the
/// end. `None` when the title cannot serve as a name.
///
/// ```
/// use haversack_core::text::names::key;
///
/// assert_eq!(key("The Signal (2014 film)").as_deref(), Some("the signal"));
/// assert_eq!(key("42"), None);
/// ```
#[must_use]
pub fn key(title: &str) -> Option<String> {
    let title = title.trim();
    let bare = title.strip_suffix(')').and_then(|title| title.rsplit_once('('));
    let bare = bare.map(|(before, _)| before).filter(|before| !before.trim().is_empty());
    let mut key = String::new();
    let mut n_words = 0;
    for word in words(bare.unwrap_or(title)) {
        n_words += 1;
        if n_words > NAME_WORDS_MAX {
            return None;
        }
        push(&mut key, word);
    }
    let tells = key.chars().filter(|c| c.is_alphabetic()).nth(2).is_some();
    tells.then_some(key)
}

/// The distinct keys of possible names in a text, at most `most`, in order: runs of words that
/// begin with a capital or a digit, including lower-case words between them.
///
/// ```
/// use haversack_core::text::names::possible;
///
/// let keys = possible("Born in Lyon, she led the Bank of France.", 9);
/// assert_eq!(keys, ["born", "born in lyon", "lyon", "bank", "bank of france", "france"]);
/// ```
#[must_use]
pub fn possible(text: &str, most: usize) -> Vec<String> {
    let words: Vec<(&str, bool)> = words(text).map(|word| (word, is_proper(word))).collect();
    let mut keys: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (start, _) in words.iter().enumerate().filter(|(_, (_, proper))| *proper) {
        let mut key = String::new();
        for (word, proper) in words[start..].iter().take(NAME_WORDS_MAX) {
            if !proper && JOINING.binary_search(word).is_err() {
                break;
            }
            push(&mut key, word);
            if *proper && seen.insert(key.clone()) {
                if keys.len() == most {
                    return keys;
                }
                keys.push(key.clone());
            }
        }
    }
    keys
}

/// The distinct keys of all word runs in a text, at most `most`, in order, because users do not
/// always capitalise names. A single word counts only if it begins with a capital.
///
/// ```
/// use haversack_core::text::names::runs;
///
/// assert_eq!(runs("who led the bank", 9)[..2], ["who led", "who led the"]);
/// ```
#[must_use]
pub fn runs(text: &str, most: usize) -> Vec<String> {
    let words: Vec<&str> = words(text).collect();
    let mut seen = std::collections::BTreeSet::new();
    let mut keys = Vec::new();
    for start in 0..words.len() {
        let mut key = String::new();
        for (place, word) in words[start..].iter().take(NAME_WORDS_MAX).enumerate() {
            push(&mut key, word);
            let is_name = place > 0 || is_proper(word);
            if is_name && seen.insert(key.clone()) {
                if keys.len() == most {
                    return keys;
                }
                keys.push(key.clone());
            }
        }
    }
    keys
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_proper(word: &str) -> bool {
    word.chars().next().is_some_and(|first| first.is_uppercase() || first.is_numeric())
}

fn push(key: &mut String, word: &str) {
    if !key.is_empty() {
        key.push(' ');
    }
    key.push_str(&fold(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_one_key_however_it_is_written() {
        let check = |title: &str, expected: Option<&str>| {
            assert_eq!(key(title).as_deref(), expected, "{title:?}");
        };
        check("Lothair II", Some("lothair ii"));
        check("  LOTHAIR   II. ", Some("lothair ii"));
        check("Theodred II (Bishop of Elmham)", Some("theodred ii"));
        check("(untitled)", Some("untitled"));
        check("St. Maurice's Abbey", Some("st maurice s abbey"));
        check("Ёлка", Some("елка"));
        check("12 (3)", None);
        check("", None);
        check("a b c d e f g h i", None);
    }

    #[test]
    fn names_in_a_text_have_the_keys_of_their_titles() {
        let text = "She married Lothair II and died at St. Maurice's Abbey (875).";
        let keys = possible(text, 100);
        for title in ["Lothair II", "St. Maurice's Abbey"] {
            assert!(keys.contains(&key(title).unwrap()), "{title}: {keys:?}");
        }
        assert_eq!(possible(text, 2).len(), 2);
        assert!(JOINING.is_sorted());
    }
}
