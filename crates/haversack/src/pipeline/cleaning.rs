//! Removes characters that are invisible to people but not to models from candidates, and reports
//! them.
//!
//! Stored texts keep their bytes, so that spans and hashes stay valid; only the output is cleaned.

use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::text::clean::{clean, is_plain, without_control_tokens};
use serde_json::json;

use crate::notice::{Notice, NoticeCode};

/// Most items that a notice names; the rest are counted.
const NAMED_MAX: usize = 5;

/// Cleans all candidates, and returns a notice about those with hidden characters.
pub(super) fn clean_all(layers: &mut [Vec<Candidate>]) -> Option<Notice> {
    let mut hidden: Vec<(String, usize)> = Vec::new();
    for candidate in layers.iter_mut().flatten() {
        let count = clean_candidate(candidate);
        if count > 0 {
            hidden.push((candidate.id.to_string(), count));
        }
    }
    // A candidate of several layers counts once.
    hidden.sort_unstable();
    hidden.dedup();
    if hidden.is_empty() {
        return None;
    }
    let count: usize = hidden.iter().map(|(_, count)| count).sum();
    let names: Vec<&str> = hidden.iter().take(NAMED_MAX).map(|(id, _)| id.as_str()).collect();
    let more = if hidden.len() > NAMED_MAX { ", …" } else { "" };
    let message = format!("removed {count} hidden characters from {}{more}", names.join(", "));
    let items: serde_json::Map<_, _> =
        hidden.iter().map(|(id, count)| (id.clone(), json!(count))).collect();
    Some(Notice {
        details: json!({ "items": items }),
        ..Notice::new(NoticeCode::HiddenCharacters, message)
    })
}

/// Cleans a candidate, and returns the number of hidden characters.
fn clean_candidate(candidate: &mut Candidate) -> usize {
    let mut hidden = 0;
    if let Some(text) = clean_text(&candidate.text, &mut hidden) {
        candidate.set_text(text);
    }
    if let Some(essential) = &mut candidate.essential
        && let Some(text) = clean_text(&essential.text, &mut 0)
    {
        essential.text = Arc::from(text);
    }
    let place = &mut candidate.place;
    let names = place.title.iter_mut().chain(&mut place.path).chain(&mut place.breadcrumb);
    let names = names.chain(&mut place.subtype);
    for name in names {
        if let Some(text) = clean_text(name, &mut hidden) {
            *name = text;
        }
    }
    hidden
}

/// Returns the text without hidden characters, if it has any.
fn clean_text(text: &str, hidden: &mut usize) -> Option<String> {
    // Nearly every text takes this fast path.
    if text.bytes().all(is_plain) {
        return without_control_tokens(text);
    }
    let cleaned = clean(text);
    let findings = cleaned.findings.iter().filter(|finding| finding.kind.is_hidden());
    *hidden += findings.map(|finding| finding.count).sum::<usize>();
    let quoted = without_control_tokens(&cleaned.text);
    match cleaned.text {
        std::borrow::Cow::Borrowed(_) => quoted,
        std::borrow::Cow::Owned(text) => Some(quoted.unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::ids::{CandidateId, ItemId};
    use haversack_core::item::Kind;
    use haversack_core::text::tokenizer::Counted;

    use super::*;

    fn candidate(id: &str, text: &str) -> Candidate {
        let id = CandidateId::whole(ItemId::new(id).unwrap());
        let counted = [Counted { range: 0..1, units: 7 }].into();
        Candidate { counted, ..Candidate::new(id, Kind::new("note").unwrap(), text) }
    }

    #[test]
    fn hidden_characters_are_removed_and_reported_once() {
        let odd = "The la\u{200b}unch is \u{202e}in May.";
        let mut layers = vec![
            vec![candidate("a", "plain, caf\u{e9}"), candidate("b", odd)],
            vec![candidate("b", odd)],
        ];
        layers[0][0].place.title = Some("ti\u{200b}tle".to_owned());
        let notice = clean_all(&mut layers).unwrap();
        assert_eq!(&*layers[0][0].text, "plain, caf\u{e9}");
        assert_eq!(layers[0][0].counted.len(), 1);
        assert_eq!(layers[0][0].place.title.as_deref(), Some("title"));
        assert_eq!(&*layers[1][0].text, "The launch is in May.");
        assert!(layers[1][0].counted.is_empty());
        assert_eq!(notice.message, "removed 3 hidden characters from a, b");
        assert_eq!(notice.details, json!({ "items": { "a": 1, "b": 2 } }));
        assert_eq!(clean_all(&mut layers), None, "cleaning twice is cleaning once");
    }
}
