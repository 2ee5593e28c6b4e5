//! Where the next page begins, as a word that a client hands back unread. It is bound to what was
//! asked, so that one of another question is refused instead of skipping something.

use crate::problem::Problem;

/// A cursor for a place in the answer to a question.
pub(crate) fn at(question: &str, place: usize) -> String {
    format!("{place:x}-{}", mark(question))
}

/// The place that a cursor names; the beginning when there is none.
pub(crate) fn place(question: &str, cursor: Option<&str>) -> Result<usize, Problem> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(0) };
    let read = cursor.split_once('-').filter(|(_, marked)| *marked == mark(question));
    let place = read.and_then(|(place, _)| usize::from_str_radix(place, 16).ok());
    let wrong = || {
        let shown: String = cursor.chars().take(64).collect();
        let detail =
            format!("{shown:?} is not of this question: ask without it for the first page");
        Problem::invalid("cursor", detail)
    };
    place.ok_or_else(wrong)
}

fn mark(question: &str) -> String {
    blake3::hash(question.as_bytes()).to_hex()[..8].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_and_only_in_its_own_question() {
        let cursor = at("who?", 30);
        assert_eq!(place("who?", Some(&cursor)).unwrap(), 30);
        assert_eq!(place("who?", None).unwrap(), 0);
        assert_eq!(place("who?", Some("")).unwrap(), 0, "an empty cursor is one");
        for wrong in [&*cursor, "x", "1-", "-", "zz-00000000"] {
            assert!(place("what?", Some(wrong)).is_err(), "{wrong}");
        }
    }
}
