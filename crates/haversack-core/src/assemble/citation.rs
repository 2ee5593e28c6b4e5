//! Citations: short, stable ids with which a model names its sources.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::candidate::{Candidate, Place};
use crate::ids::CandidateId;
use crate::units::Span;

/// A source of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The id without brackets, such as `fil-1x9k2`.
    pub id: String,
    /// The item or chunk it points at.
    pub candidate: CandidateId,
    /// The bytes of the item's body that are in the pack; several when sentences were left out.
    pub spans: Vec<Span>,
    /// Where it comes from, for people.
    pub place: Place,
}

/// Initial length of the hash part; extended only on a collision.
const HASH_LEN: usize = 5;

/// Assigns each candidate a citation id (K7): three letters of its kind and a hash of its id. Ids
/// that would collide within one request get a longer hash.
#[must_use]
pub fn assign(candidates: &[&Candidate]) -> Vec<String> {
    let hashes: Vec<u128> = candidates.iter().map(|candidate| id_hash(&candidate.id)).collect();
    let name = |index: usize, len: usize| {
        let mut name = kind_prefix(candidates[index].kind.as_str());
        name.push('-');
        let mut number = hashes[index];
        for _ in 0..len {
            let digit = u8::try_from(number % 36).unwrap_or(0);
            name.push(char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
            number /= 36;
        }
        name
    };
    let mut names: Vec<String> = (0..candidates.len()).map(|index| name(index, HASH_LEN)).collect();
    let mut open: Vec<usize> = (0..candidates.len()).collect();
    for len in HASH_LEN + 1.. {
        open.sort_by(|&a, &b| names[a].cmp(&names[b]));
        let clash =
            |a: usize, b: usize| names[a] == names[b] && candidates[a].id != candidates[b].id;
        let clashing: Vec<usize> = open
            .iter()
            .enumerate()
            .filter(|&(at, &index)| {
                let before = at.checked_sub(1).is_some_and(|at| clash(open[at], index));
                before || open.get(at + 1).is_some_and(|&after| clash(index, after))
            })
            .map(|(_, &index)| index)
            .collect();
        for &index in &clashing {
            names[index] = name(index, len);
        }
        open = clashing;
        // 24 base-36 digits of a cryptographic hash do not collide.
        if open.is_empty() || len > 24 {
            break;
        }
    }
    names
}

fn kind_prefix(kind: &str) -> String {
    let letters: String = kind
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(3)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if letters.is_empty() { "itm".to_owned() } else { letters }
}

fn id_hash(id: &CandidateId) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(id.item.as_str().as_bytes());
    if let Some(index) = id.chunk {
        // No item id holds a control character, so no two candidates write the same bytes.
        hasher.update(&[0]).update(&index.to_le_bytes());
    }
    u128::from_le_bytes(hasher.finalize().as_bytes()[..16].try_into().expect("32 bytes"))
}

/// The citations that a response used, in the order of their first use.
///
/// An id counts wherever it occurs as a separate word: `[fil-1x9k2]`, `[fil-1x9k2, fil-88aa0]`
/// and `(see fil-1x9k2)` alike.
#[must_use]
pub fn used<'c>(citations: &'c [Citation], response: &str) -> Vec<&'c Citation> {
    let by_id: BTreeMap<&str, &Citation> =
        citations.iter().map(|citation| (citation.id.as_str(), citation)).collect();
    let mut used: Vec<&Citation> = Vec::new();
    for word in response.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        if let Some(&citation) = by_id.get(word)
            && !used.iter().any(|known| known.id == citation.id)
        {
            used.push(citation);
        }
    }
    used
}

/// A block that lists sources, one per line; empty when there are none (K7).
#[must_use]
pub fn sources_block(citations: &[&Citation]) -> String {
    if citations.is_empty() {
        return String::new();
    }
    let mut block = String::from("\n\n---\nSources:\n");
    for Citation { id, candidate, place, .. } in citations {
        let _ = writeln!(block, "[{id}] {}", one_line(&source_label(place, candidate)));
    }
    block.pop();
    block
}

/// A place formatted for people: `The plan (notes/plan.md) › Goals › Q3 (lines 10–20)`.
pub(super) fn source_label(place: &Place, id: &CandidateId) -> String {
    let mut source = match (&place.title, &place.path) {
        (Some(title), Some(path)) if title != path => format!("{title} ({path})"),
        (Some(name), _) | (None, Some(name)) => name.clone(),
        (None, None) => id.item.to_string(),
    };
    for heading in &place.breadcrumb {
        let _ = write!(source, " › {heading}");
    }
    match (place.pages(), &place.lines) {
        (Some(pages), _) => {
            let _ = write!(source, " ({})", page_label(place.path.as_deref(), pages));
        }
        (None, Some(lines)) if lines.end.saturating_sub(lines.start) > 1 => {
            let _ = write!(source, " (lines {}–{})", lines.start, lines.end - 1);
        }
        (None, Some(lines)) => {
            let _ = write!(source, " (line {})", lines.start);
        }
        (None, None) => {}
    }
    source
}

/// Pages as people write them: `page 3`, `pages 3–5`, `slide 7` in a presentation.
#[must_use]
pub fn page_label(path: Option<&str>, [first, last]: [u32; 2]) -> String {
    let extension = path.and_then(|path| path.rsplit_once('.')).map_or("", |(_, end)| end);
    let is_presentation =
        ["pptx", "ppt", "odp"].iter().any(|known| known.eq_ignore_ascii_case(extension));
    let word = if is_presentation { "slide" } else { "page" };
    match first == last {
        true => format!("{word} {first}"),
        false => format!("{word}s {first}–{last}"),
    }
}

/// Replaces control characters by spaces, so that a name cannot break out of its line.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ItemId;
    use crate::item::Kind;

    fn candidate(kind: &str, id: &str) -> Candidate {
        let id = CandidateId::whole(ItemId::new(id).unwrap());
        Candidate::new(id, Kind::new(kind).unwrap(), "text")
    }

    fn citation(id: &str, path: &str) -> Citation {
        let candidate = candidate("file", "an item");
        let place = Place { path: Some(path.to_owned()), ..Place::default() };
        Citation { id: id.to_owned(), candidate: candidate.id, spans: vec![], place }
    }

    #[test]
    fn a_source_names_its_pages_instead_of_its_lines() {
        let check = |path: &str, lines: std::ops::Range<u32>, expected: &str| {
            let mut of = citation("x", path);
            of.place.lines = Some(lines);
            of.place.page_lines = [1, 40, 40, 90].into();
            assert_eq!(source_label(&of.place, &of.candidate), expected);
        };
        check("a.pdf", 1..5, "a.pdf (page 1)");
        check("a.pdf", 39..40, "a.pdf (page 1)");
        check("a.pdf", 40..41, "a.pdf (page 3)");
        check("a.pdf", 10..200, "a.pdf (pages 1–4)");
        check("talk.PPTX", 95..96, "talk.PPTX (slide 4)");
    }

    #[test]
    fn ids_are_short_stable_and_unique() {
        let many: Vec<Candidate> =
            (0..9_000).map(|n| candidate("file", &format!("doc {n}"))).collect();
        let ids = assign(&many.iter().collect::<Vec<_>>());
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (9_000, 9_000));
        assert_eq!(assign(&[&many[7]])[0], ids[7]);
        assert!(ids.iter().all(|id| id.starts_with("fil-") && (9..=11).contains(&id.len())));
        assert!(assign(&[&candidate("文件", "a")])[0].starts_with("itm-"));
    }

    #[test]
    fn citations_used_by_a_response_are_found_k7() {
        let all =
            [citation("fil-aaaaa", "a.md"), citation("fil-bbbbb", "b\n.md"), citation("x-1", "c")];
        let check = |response: &str, expected: &[&str], block: &str| {
            let used = used(&all, response);
            assert_eq!(used.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), expected);
            assert_eq!(sources_block(&used), block);
        };
        check("nothing", &[], "");
        check(
            "As [fil-bbbbb, fil-aaaaa] say [fil-bbbbb].",
            &["fil-bbbbb", "fil-aaaaa"],
            "\n\n---\nSources:\n[fil-bbbbb] b .md\n[fil-aaaaa] a.md",
        );
        check("xfil-aaaaa fil-aaaaab", &[], "");
    }
}
