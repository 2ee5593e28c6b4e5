//! How a run of passages begins: under headings that come before it, in the middle of a split
//! listing or table, or with leftovers of the passage before it.

use std::collections::BTreeMap;

use haversack_core::candidate::Candidate;
use haversack_core::ids::CandidateId;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;

/// How many preceding passages are searched for the header of a table.
const HEADER_PASSAGES_MAX: u32 = 48;

/// Makes the heading line of a passage that does not begin with its own headings.
pub(super) fn heading_line(text: &str, headings: &[String], title: &str) -> Option<String> {
    let mut above: Vec<&str> =
        headings.iter().map(String::as_str).filter(|heading| *heading != title).collect();
    let own = text.trim_start();
    let level = own.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&level) && own[level..].starts_with(' ');
    let marks = if is_heading {
        // It begins with its own headings; those above them may be missing.
        let begun = own.lines().map(str::trim).filter(|line| !line.is_empty());
        for line in begun.take_while(|line| line.starts_with('#')) {
            above.retain(|heading| *heading != line.trim_matches('#').trim());
        }
        "#".repeat(level.saturating_sub(1).max(1))
    } else {
        "##".to_owned()
    };
    (!above.is_empty()).then(|| format!("{marks} {}\n\n", above.join(" › ")))
}

/// Whether passages begin or end inside a fenced listing that was split.
pub(super) struct FenceState {
    pub(super) starts_inside: bool,
    pub(super) ends_inside: bool,
}

impl FenceState {
    pub(super) fn from_texts<'t>(texts: impl Iterator<Item = &'t str>) -> FenceState {
        let lines = texts.flat_map(str::lines);
        let fences: Vec<bool> = lines
            .map(str::trim)
            .filter(|line| line.starts_with("```") && !line[3..].contains('`'))
            .map(|line| line.len() > 3)
            .collect();
        let is_odd = fences.len() % 2 == 1;
        let names_next = fences.get(1).copied().unwrap_or(false);
        let last_is_bare = fences.last().is_some_and(|has_name| !has_name);
        // A fence that names a language opens; one that names none may close.
        let starts_inside = fences.first().is_some_and(|has_name| !has_name)
            && (names_next || (is_odd && last_is_bare));
        let ends_inside = is_odd != starts_inside;
        FenceState { starts_inside, ends_inside }
    }
}

/// Finds the headers of tables that passages begin in the middle of.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn table_headers<'p>(
    snapshot: &dyn Snapshot,
    passages: impl Iterator<Item = &'p Candidate>,
) -> Result<BTreeMap<CandidateId, String>, ReadError> {
    let mut starts = Vec::new();
    let mut before = Vec::new();
    for candidate in passages {
        let CandidateId { item, chunk: Some(chunk) } = &candidate.id else { continue };
        let is_separated = is_separated_values(candidate);
        if *chunk == 0 || !(is_separated || starts_in_table(&candidate.text)) {
            continue;
        }
        let first = before.len();
        let from = if is_separated { 0 } else { chunk.saturating_sub(HEADER_PASSAGES_MAX) };
        let chunks = (from..*chunk).rev().filter(|at| !is_separated || *at == 0);
        before.extend(chunks.map(|chunk| CandidateId::chunk(item.clone(), chunk)));
        starts.push((candidate.id.clone(), first..before.len()));
    }
    if before.is_empty() {
        return Ok(BTreeMap::new());
    }
    let passages = snapshot.passages(&before).await?;
    let mut headers = BTreeMap::new();
    for (id, range) in starts {
        for passage in passages[range].iter().map_while(Option::as_ref) {
            let end = match is_separated_values_path(passage.stored.item.path.as_deref()) {
                true => first_line(&passage.text),
                false => table_end(&passage.text),
            };
            match end {
                TableEnd::Header(header) => {
                    headers.insert(id, header);
                    break;
                }
                TableEnd::RowsAlone => {}
                TableEnd::None => break,
            }
        }
    }
    Ok(headers)
}

/// Whether a candidate is of a CSV or TSV file, whose first line names the columns.
fn is_separated_values(candidate: &Candidate) -> bool {
    is_separated_values_path(candidate.place.path.as_deref())
}

fn is_separated_values_path(path: Option<&str>) -> bool {
    let ending = path.and_then(|path| path.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        ["csv", "tsv", "tab"].iter().any(|it| it.eq_ignore_ascii_case(ending))
    })
}

/// Returns the first line of a CSV or TSV file as its header.
fn first_line(text: &str) -> TableEnd {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or(TableEnd::None, |line| TableEnd::Header(format!("{line}\n")))
}

/// How a passage ends, when rows of a table follow it.
#[derive(Debug, PartialEq, Eq)]
enum TableEnd {
    /// With a table that has this header.
    Header(String),
    /// With rows only; the header is in an earlier passage.
    RowsAlone,
    /// Not with a table.
    None,
}

fn table_end(text: &str) -> TableEnd {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let rows = lines.iter().rev().take_while(|line| is_row(line)).count();
    let first = lines.len() - rows;
    match lines.get(first..first + 2) {
        Some([header, delimiter]) if is_delimiter(delimiter) => {
            TableEnd::Header(format!("{header}\n{delimiter}\n"))
        }
        _ if rows > 0 && first == 0 => TableEnd::RowsAlone,
        _ => TableEnd::None,
    }
}

/// Whether a text begins with rows of a table whose header is in an earlier passage.
fn starts_in_table(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let starts = lines.next().is_some_and(|line| is_row(line) && !is_delimiter(line));
    starts && !lines.next().is_some_and(is_delimiter)
}

fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2 && line.starts_with('|') && line.ends_with('|')
}

fn is_delimiter(line: &str) -> bool {
    is_row(line) && line.contains('-') && line.chars().all(|c| "|-: \t".contains(c))
}

/// Counts the bytes at the beginning of a text that belong to what came before it: closing tags and
/// blank lines.
pub(super) fn leftover_len(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let closes = bare.starts_with("</") && bare.ends_with('>') && !bare.contains(' ');
        if !bare.is_empty() && !closes {
            return at;
        }
        at += line.len();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_table_is_found_where_the_table_begins() {
        let header = |text: &str| TableEnd::Header(text.to_owned());
        let check = |text: &str, expected: TableEnd| assert_eq!(table_end(text), expected);
        check("Text.\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n", header("| a | b |\n|---|:-:|\n"));
        check("| 1 | 2 |\n| 3 | 4 |", TableEnd::RowsAlone);
        check("| a |\n|---|\n| 1 |\n\nText.", TableEnd::None);
        check("Text.\n| 1 | 2 |", TableEnd::None);
        check("", TableEnd::None);
        assert!(starts_in_table("\n| 1 | 2 |\n| 3 | 4 |"));
        assert!(!starts_in_table("| a | b |\n|---|---|\n| 1 | 2 |"));
        assert!(!starts_in_table("Text.\n| 1 | 2 |"));
    }

    #[test]
    fn closing_tags_at_the_beginning_are_leftovers() {
        for (text, expected) in [
            ("</PagesOnly>\n\n## Deploying", 14),
            ("\n  </a>\n</b>\nText", 13),
            ("Text </a>", 0),
            ("<b>\nText", 0),
            ("</b>\n", 5),
        ] {
            assert_eq!(leftover_len(text), expected, "{text:?}");
        }
    }
}
