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

/// An id for every candidate (K7): three letters of its kind and a hash of its id. It depends on
/// nothing else unless two candidates of one request would get the same; then those get longer.
#[must_use]
pub fn assign<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
) -> BTreeMap<&'c CandidateId, String> {
    let hashes: BTreeMap<&CandidateId, (String, String)> = candidates
        .map(|candidate| (&candidate.id, (prefix(candidate.kind.as_str()), hash(&candidate.id))))
        .collect();
    let mut assigned: BTreeMap<&CandidateId, String> = BTreeMap::new();
    let mut open: Vec<&CandidateId> = hashes.keys().copied().collect();
    let mut len = HASH_LEN;
    while !open.is_empty() {
        let name = |id: &CandidateId| {
            let (prefix, hash) = &hashes[id];
            format!("{prefix}-{}", &hash[..len.min(hash.len())])
        };
        let mut holders: BTreeMap<String, Vec<&CandidateId>> = BTreeMap::new();
        for &id in &open {
            holders.entry(name(id)).or_default().push(id);
        }
        open.clear();
        for (name, ids) in holders {
            match ids.as_slice() {
                [id] => {
                    assigned.insert(id, name);
                }
                // 25 base-36 characters of a cryptographic hash do not collide.
                several => open.extend(several),
            }
        }
        len += 1;
    }
    assigned
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
    let digest = blake3::hash(format!("{}\u{0}{:?}", id.item, id.chunk).as_bytes());
    let mut number =
        u128::from_le_bytes(digest.as_bytes()[..16].try_into().expect("a digest has 32 bytes"));
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut out = String::with_capacity(25);
    for _ in 0..25 {
        out.push(char::from(digits[usize::try_from(number % 36).unwrap_or(0)]));
        number /= 36;
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
    for citation in citations {
        let Citation { id, candidate, place, .. } = citation;
        let name = place.path.as_deref().or(place.title.as_deref());
        let _ = write!(block, "[{id}] {}", one_line(name.unwrap_or(candidate.item.as_str())));
        if !place.breadcrumb.is_empty() {
            let _ = write!(block, " › {}", one_line(&place.breadcrumb.join(" › ")));
        }
        if let Some(lines) = &place.lines {
            let _ = write!(block, " (lines {}–{})", lines.start, lines.end.saturating_sub(1));
        }
        block.push('\n');
    }
    block.pop();
    block
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
            (0..3_000).map(|n| candidate("file", &format!("doc {n}"))).collect();
        let ids = assign(many.iter());
        let distinct: std::collections::BTreeSet<_> = ids.values().collect();
        assert_eq!((ids.len(), distinct.len()), (3_000, 3_000));
        let alone = assign(std::iter::once(&many[7]));
        assert_eq!(alone[&many[7].id], ids[&many[7].id]);
        assert!(ids.values().all(|id| id.starts_with("fil-") && id.len() >= 9));
        assert!(assign([candidate("文件", "a")].iter()).values().all(|id| id.starts_with("itm-")));
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
