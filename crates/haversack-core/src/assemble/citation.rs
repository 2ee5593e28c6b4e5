//! Citations: short, stable ids by which a model can name its sources and people can check them.

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
    /// Where that is, for people.
    pub place: Place,
}

/// Length of the hash part at first; longer only when two would be the same.
const HASH_LEN: usize = 5;
/// Two hashes do not agree this far.
const HASH_LEN_MAX: usize = 24;

/// An id for every candidate (K7), in their order: three letters of its kind and a hash of its id.
/// It depends on nothing else unless two candidates of one request would get the same; then those
/// get longer.
#[must_use]
pub fn assign(candidates: &[&Candidate]) -> Vec<String> {
    let names: Vec<String> = candidates
        .iter()
        .map(|candidate| format!("{}-{}", prefix(candidate.kind.as_str()), hash(&candidate.id)))
        .collect();
    // Neighbours in this order share the longest beginnings.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| names[a].cmp(&names[b]));
    let mut lens: Vec<usize> =
        names.iter().map(|name| name.len() - HASH_LEN_MAX + HASH_LEN).collect();
    for pair in order.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let shared = names[a].bytes().zip(names[b].bytes()).take_while(|(a, b)| a == b).count();
        if candidates[a].id != candidates[b].id {
            lens[a] = lens[a].max(shared + 1).min(names[a].len());
            lens[b] = lens[b].max(shared + 1).min(names[b].len());
        }
    }
    names.into_iter().zip(lens).map(|(name, len)| name[..len].to_owned()).collect()
}

fn prefix(kind: &str) -> String {
    let letters: String = kind
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(3)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if letters.is_empty() { "itm".to_owned() } else { letters }
}

fn hash(id: &CandidateId) -> String {
    let chunk = id.chunk.map_or_else(String::new, |index| format!("\u{0}{index}"));
    let digest = blake3::hash(format!("{}{chunk}", id.item).as_bytes());
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut out = String::with_capacity(HASH_LEN_MAX);
    for half in digest.as_bytes().chunks_exact(8).take(2) {
        let mut number = u64::from_le_bytes(half.try_into().expect("chunks of eight"));
        for _ in 0..HASH_LEN_MAX / 2 {
            out.push(char::from(digits[usize::try_from(number % 36).unwrap_or(0)]));
            number /= 36;
        }
    }
    out
}

/// The citations that a response used, in the order of their first use.
///
/// An id counts wherever it stands as a word of its own: `[fil-1x9k2]`, `[fil-1x9k2, fil-88aa0]`
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

/// A block that lists sources, one a line; empty when there are none (K7).
#[must_use]
pub fn sources_block(citations: &[&Citation]) -> String {
    if citations.is_empty() {
        return String::new();
    }
    let mut block = String::from("\n\n---\nSources:\n");
    for Citation { id, candidate, place, .. } in citations {
        let _ = writeln!(block, "[{id}] {}", one_line(&source(place, candidate)));
    }
    block.pop();
    block
}

/// A place as people read it: `notes/plan.md › Goals › Q3 (lines 10–20)`.
pub(super) fn source(place: &Place, id: &CandidateId) -> String {
    let name = place.path.as_deref().or(place.title.as_deref());
    let mut source = name.unwrap_or(id.item.as_str()).to_owned();
    for heading in &place.breadcrumb {
        let _ = write!(source, " › {heading}");
    }
    match &place.lines {
        Some(lines) if lines.end.saturating_sub(lines.start) > 1 => {
            let _ = write!(source, " (lines {}–{})", lines.start, lines.end - 1);
        }
        Some(lines) => {
            let _ = write!(source, " (line {})", lines.start);
        }
        None => {}
    }
    source
}

/// A name from outside must not break out of its line.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
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
    fn a_response_marks_what_it_used() {
        // K7.
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
