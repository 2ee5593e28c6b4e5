//! Opaque page cursors. A cursor is bound to its query, so that one of another query is refused instead
//! of skipping results.

use crate::problem::ApiProblem;

/// Makes the cursor for a position in the results of a query.
pub(crate) fn cursor_at(query: &str, position: usize) -> String {
    format!("{position:x}-{}", query_hash(query))
}

/// Reads the position from a cursor; 0 without one.
pub(crate) fn position_of(query: &str, cursor: Option<&str>) -> Result<usize, ApiProblem> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(0) };
    let read = cursor.split_once('-').filter(|(_, hash)| *hash == query_hash(query));
    let position = read.and_then(|(position, _)| usize::from_str_radix(position, 16).ok());
    let wrong = || {
        let shown: String = cursor.chars().take(64).collect();
        let detail =
            format!("{shown:?} is not a cursor of this query: leave it out for the first page");
        ApiProblem::invalid("cursor", detail)
    };
    position.ok_or_else(wrong)
}

fn query_hash(query: &str) -> String {
    blake3::hash(query.as_bytes()).to_hex()[..8].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_for_its_own_query_only() {
        let cursor = cursor_at("who?", 30);
        assert_eq!(position_of("who?", Some(&cursor)).unwrap(), 30);
        assert_eq!(position_of("who?", None).unwrap(), 0);
        assert_eq!(position_of("who?", Some("")).unwrap(), 0, "an empty cursor is the first page");
        for wrong in [&*cursor, "x", "1-", "-", "zz-00000000"] {
            assert!(position_of("what?", Some(wrong)).is_err(), "{wrong}");
        }
    }
}
