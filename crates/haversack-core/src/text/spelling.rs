//! Misspelt names: how they are shown in messages, and which known names are similar.

/// Names are truncated to this many characters.
const NAME_CHARS_MAX: usize = 100;
/// Maximum number of suggestions.
const NEAREST_MAX: usize = 3;

/// Returns a name for messages: at most 100 characters, with blanks for control characters.
#[must_use]
pub fn printable_name(name: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = cut(name).chars().map(blank).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

/// Up to three known names with the smallest edit distance, ties by name. Names that differ in more
/// than half of their letters are not suggested.
///
/// Each name comes with one spelling of it; a name may come several times.
pub fn nearest<'n>(
    typed: &str,
    spellings: impl IntoIterator<Item = (&'n str, &'n str)>,
) -> Vec<&'n str> {
    let edits_max = cut(typed.trim()).chars().count() / 2;
    let mut near: Vec<(usize, &'n str)> = spellings
        .into_iter()
        .map(|(spelling, name)| (edits(typed, spelling), name))
        .filter(|(edits, _)| *edits <= edits_max)
        .collect();
    near.sort_unstable();
    let mut names: Vec<&'n str> = Vec::with_capacity(NEAREST_MAX);
    for (_, name) in near {
        if names.len() < NEAREST_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The edit distance of two names, with transpositions. Case is ignored, and so is everything after
/// 100 characters.
#[must_use]
pub fn edits(one: &str, other: &str) -> usize {
    let plain = |name: &str| cut(name.trim()).to_ascii_lowercase();
    strsim::osa_distance(&plain(one), &plain(other))
}

/// The part of a name that is compared.
pub(super) fn cut(name: &str) -> &str {
    name.char_indices().nth(NAME_CHARS_MAX).map_or(name, |(at, _)| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, known: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(nearest(typed, known.iter().copied()), expected);
    }

    #[test]
    fn the_nearest_come_first_and_once() {
        let known = [("formal", "formal"), ("casual", "casual"), ("official", "formal")];
        check("Fromal", &known, &["formal"]);
        check("ofFicial ", &known, &["formal"]);
        check("casua", &known, &["casual"]);
        check("x", &known, &[]);
        check("", &known, &[]);
    }

    #[test]
    fn equally_near_names_come_in_their_order_and_no_more_than_three() {
        let known = ["ad", "ac", "ab", "ae"].map(|name| (name, name));
        check("ax", &known, &["ab", "ac", "ad"]);
    }

    #[test]
    fn names_are_shown_short_and_without_control_characters() {
        assert_eq!(printable_name("a\nb"), "a b");
        assert_eq!(printable_name(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(printable_name(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }
}
