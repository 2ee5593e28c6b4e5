//! The forms of a text that some of its sentences make: what a text is while it grows.

use std::cmp::Reverse;
use std::ops::Range;

use crate::candidate::{Candidate, Sentence};
use crate::text::tokenizer::Counted;
use crate::text::truncate::{joined, places};

/// A form that is in doubt is worth a little, so that no step of a text's growth is for nothing.
const LEAST: f64 = 0.05;

/// Some sentences of a text.
#[derive(Debug)]
pub(crate) struct Extract {
    /// As it is shown, with marks where something was left out.
    pub(crate) text: String,
    /// What was kept, as byte ranges of the text.
    pub(crate) kept: Vec<Range<usize>>,
    /// What is known of it for the schedule.
    pub(crate) worth: Worth,
}

impl Extract {
    /// Of the parts of the text that were counted before, those that are kept, where they stand
    /// in the extract.
    pub(crate) fn counted(&self, known: &[Counted]) -> Vec<Counted> {
        let mut counted = Vec::new();
        let mut known = known.iter().peekable();
        for (kept, at) in self.kept.iter().zip(places(&self.kept)) {
            // At the very ends a part has another neighbour than when it was counted.
            while known.next_if(|part| part.range.start <= kept.start).is_some() {}
            while let Some(part) = known.next_if(|part| part.range.end < kept.end) {
                let shift = |bytes: usize| bytes - kept.start + at;
                let range = shift(part.range.start)..shift(part.range.end);
                counted.push(Counted { range, units: part.units });
            }
        }
        counted
    }
}

/// What a step of a text's growth adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worth {
    /// The mean score of the sentences that come with the step.
    pub(crate) merit: f64,
    /// The part of the text's value that is there after the step.
    pub(crate) share: f64,
}

/// The forms of a text before it is whole, each the one before and as many sentences again, and
/// what the last step to the whole adds. Steps get no better as a text grows.
pub(crate) fn extracts(candidate: &Candidate) -> (Vec<Extract>, Worth) {
    let sentences = &candidate.sentences;
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    order.sort_by_key(|&index| (Reverse(sentences[index].score), index));
    let weight = |sentence: &Sentence| sentence.score.get().clamp(0.0, 1e9) + LEAST;
    let all: f64 = sentences.iter().map(weight).sum();
    let mut extracts = Vec::new();
    let mut worth = Worth { merit: f64::INFINITY, share: 0.0 };
    let (mut start, mut end) = (0, 1);
    loop {
        let end_now = end.min(order.len());
        let added: f64 = order[start..end_now].iter().map(|&index| weight(&sentences[index])).sum();
        #[expect(clippy::cast_precision_loss, reason = "a text has few sentences")]
        let n_added = (end_now - start) as f64;
        if n_added > 0.0 {
            // Means of falling numbers fall, but for the last bit of the division.
            let merit = (added / n_added - LEAST).min(worth.merit);
            worth = Worth { merit, share: worth.share + added / all };
        }
        if end >= order.len() {
            let merit = if order.is_empty() { 0.0 } else { worth.merit };
            return (extracts, Worth { merit, share: 1.0 });
        }
        let mut chosen = order[..end].to_vec();
        chosen.sort_unstable();
        let parts = chosen.into_iter().map(|index| sentences[index].range.clone());
        let shown = joined(&candidate.text, parts);
        extracts.push(Extract { text: shown.text, kept: shown.kept, worth });
        (start, end) = (end, end * 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CandidateId, ItemId};
    use crate::item::Kind;
    use crate::units::Score;

    fn check(scores: &[f64], expected: &[&str], merits: &[f64]) {
        let text = "One. Two. Three. Four. Five.";
        let id = CandidateId::whole(ItemId::new("a").unwrap());
        let mut candidate = Candidate::new(id, Kind::new("note").unwrap(), text);
        let ranges = crate::text::boundary::sentences(text);
        candidate.sentences = ranges
            .into_iter()
            .zip(scores)
            .map(|(range, &score)| Sentence { range, score: Score::unit(score) })
            .collect();
        let (extracts, last) = extracts(&candidate);
        let texts: Vec<&str> = extracts.iter().map(|extract| extract.text.as_str()).collect();
        assert_eq!(texts, expected);
        let found: Vec<f64> = extracts.iter().map(|extract| extract.worth.merit).collect();
        assert!(found.iter().chain([&last.merit]).zip(merits).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!((last.share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_text_grows_by_its_best_sentences_in_its_own_order() {
        check(
            &[0.1, 0.9, 0.2, 0.4, 0.0],
            &["… Two. …", "… Two. … Four. …", "One. Two. Three. Four. …"],
            &[0.9, 0.4, 0.15, 0.0],
        );
        check(&[0.0; 5], &["One. …", "One. Two. …", "One. Two. Three. Four. …"], &[0.0; 4]);
        check(&[0.3], &[], &[0.3]);
        check(&[], &[], &[0.0]);
    }
}
