//! One question asked: its packs held against its evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::ledger::Outcome;
use haversack_core::rank::Ranked;
use haversack_core::units::Tokens;

use super::scope::{Evidence, Question, apart};
use crate::pipeline::{Assembled, Timings};

/// How many of the ranking count for nDCG and recall.
const TOP: usize = 10;

/// What became of a question.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The set it is of, such as `locomo/conv-26`.
    pub set: String,
    /// Its id.
    pub id: String,
    /// How good the order of documents is among the first ten, 0 to 1.
    pub ndcg: f64,
    /// How much of its evidence is among the first ten documents, 0 to 1.
    pub recall: f64,
    /// Whether its evidence is known to the character.
    pub by_spans: bool,
    /// Its packs, smallest budget first.
    pub packs: Vec<Packed>,
    /// Documents whose evidence is not all in every pack.
    pub missing: Vec<Missing>,
    /// Why a pack lacks something that a collector would have found.
    pub degraded: Option<String>,
}

/// A pack held against the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packed {
    /// The budget.
    pub budget: Tokens,
    /// How much of the evidence is in: characters where they are known, else documents.
    pub evidence: f64,
    /// How many of the evidence's documents are in, as a part of all.
    pub documents: f64,
    /// Its size.
    pub tokens: Tokens,
    /// How long it took.
    pub timings: Timings,
}

/// A document with evidence that a pack lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its id.
    pub document: String,
    /// Its place in the ranking of documents, from 1; `None` when it was not found.
    pub rank: Option<usize>,
    /// The place of the passage with the evidence in the ranking of passages, from 1; `None` when
    /// it was not found.
    pub passage: Option<usize>,
    /// The budgets at which its evidence is not all in.
    pub at: Vec<Tokens>,
    /// Why not, at the largest of them.
    pub why: String,
}

impl Answer {
    /// Holds packs, smallest budget first, against a question's evidence.
    pub(crate) fn of(set: &str, question: &Question, packs: &[Arc<Assembled>]) -> Answer {
        let ranked = packs.first().map(|pack| ranked(pack)).unwrap_or_default();
        let ranking = ranking(&ranked);
        let by_spans = question.has_spans();
        let covers: Vec<Cover> = packs.iter().map(|pack| Cover::of(pack)).collect();
        let packed = packs.iter().zip(&covers).map(|(pack, cover)| {
            let documents = cover.documents(question);
            Packed {
                budget: pack.core.budget.total(),
                evidence: if by_spans { cover.characters(question) } else { documents },
                documents,
                tokens: pack.pack.tokens,
                timings: pack.timings,
            }
        });
        let counts = |evidence: &Evidence| !by_spans || !evidence.words.is_empty();
        let missing = question.evidence.iter().filter(|(_, evidence)| counts(evidence));
        let missing = missing.filter_map(|(id, evidence)| {
            let rank = ranking.iter().position(|ranked| *ranked == id).map(|place| place + 1);
            let lacking =
                packs.iter().zip(&covers).filter(|(_, cover)| !cover.has_all(id, evidence));
            let lacking: Vec<(&Arc<Assembled>, &Cover)> = lacking.collect();
            let (pack, cover) = lacking.last()?;
            let (passage, why) = why(id, evidence, &ranked, (pack, cover));
            let at = lacking.iter().map(|(pack, _)| pack.core.budget.total()).collect();
            Some(Missing { document: id.clone(), rank, passage, at, why })
        });
        let degraded = packs.iter().find(|pack| pack.is_degraded());
        Answer {
            set: set.to_owned(),
            id: question.id.clone(),
            ndcg: ndcg(question, &ranking),
            recall: recall(question, &ranking),
            by_spans,
            packs: packed.collect(),
            missing: missing.collect(),
            degraded: degraded.map(|pack| {
                let messages = pack.notices.iter().map(|notice| notice.message.as_str());
                messages.collect::<Vec<_>>().join("; ")
            }),
        }
    }
}

/// Candidates by score, over all layers, before anything is chosen.
fn ranked(pack: &Assembled) -> Vec<&Ranked> {
    let mut all: Vec<&Ranked> = pack.core.layers.iter().flat_map(|(_, ranked)| ranked).collect();
    all.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.candidate.id.cmp(&b.candidate.id)));
    all
}

/// Documents by their best candidate.
fn ranking<'r>(ranked: &[&'r Ranked]) -> Vec<&'r str> {
    let mut seen = BTreeSet::new();
    let items = ranked.iter().map(|ranked| ranked.candidate.id.item.as_str());
    items.filter(|item| seen.insert(*item)).collect()
}

fn ndcg(question: &Question, ranking: &[&str]) -> f64 {
    let gain = |grade: u8| f64::from((1_u32 << grade) - 1);
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(TOP).zip(2_u32..).map(|(gain, place)| gain / f64::from(place).log2()).sum()
    };
    let grade = |id: &&str| question.evidence.get(*id).map_or(0, |evidence| evidence.grade);
    let mut best: Vec<u8> = question.evidence.values().map(|evidence| evidence.grade).collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = discounted(&mut best.into_iter().map(gain));
    if ideal > 0.0 { discounted(&mut ranking.iter().map(grade).map(gain)) / ideal } else { 0.0 }
}

fn recall(question: &Question, ranking: &[&str]) -> f64 {
    let top = ranking.iter().take(TOP);
    part(top.filter(|id| question.evidence.contains_key(**id)).count(), question.evidence.len())
}

/// Which bytes of which items a pack's citations stand for.
struct Cover(BTreeMap<String, Vec<Range<usize>>>);

impl Cover {
    fn of(pack: &Assembled) -> Cover {
        let mut cover: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
        for citation in &pack.pack.citations {
            let spans = citation.spans.iter().map(|span| span.start()..span.end());
            cover.entry(citation.candidate.item.as_str().to_owned()).or_default().extend(spans);
        }
        for spans in cover.values_mut() {
            spans.sort_unstable_by_key(|span| (span.start, span.end));
            *spans = apart(std::mem::take(spans));
        }
        Cover(cover)
    }

    fn documents(&self, question: &Question) -> f64 {
        let found = question.evidence.keys().filter(|id| self.0.contains_key(*id));
        part(found.count(), question.evidence.len())
    }

    fn characters(&self, question: &Question) -> f64 {
        let evidence = &question.evidence;
        let all = evidence.values().flat_map(|evidence| &evidence.words);
        let all: usize = all.map(ExactSizeIterator::len).sum();
        part(evidence.iter().map(|(id, evidence)| self.bytes(id, &evidence.words)).sum(), all)
    }

    /// How many bytes of these words of a document are in.
    fn bytes(&self, id: &str, words: &[Range<usize>]) -> usize {
        let Some(spans) = self.0.get(id) else { return 0 };
        let mut spans = spans.iter().peekable();
        let mut covered = 0;
        for word in words {
            while spans.next_if(|span| span.end <= word.start).is_some() {}
            // A word may go on from one span to the next.
            for span in spans.clone().take_while(|span| span.start < word.end) {
                covered += span.end.min(word.end) - span.start.max(word.start);
            }
        }
        covered
    }

    fn has(&self, id: &str, word: &Range<usize>) -> bool {
        self.bytes(id, std::slice::from_ref(word)) == word.len()
    }

    fn has_all(&self, id: &str, evidence: &Evidence) -> bool {
        let all: usize = evidence.words.iter().map(ExactSizeIterator::len).sum();
        self.0.contains_key(id) && self.bytes(id, &evidence.words) == all
    }
}

fn part(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Where the first passage with evidence that a pack lacks stands in the ranking, and why it is not
/// in.
fn why(
    id: &str,
    evidence: &Evidence,
    ranked: &[&Ranked],
    (pack, cover): (&Assembled, &Cover),
) -> (Option<usize>, String) {
    let lacks = |candidate: &Candidate| {
        let own = candidate.span.start()..candidate.span.end();
        let mut lacking = evidence.words.iter().filter(|word| !cover.has(id, word));
        candidate.id.item.as_str() == id
            && (evidence.words.is_empty()
                || lacking.any(|word| word.start < own.end && own.start < word.end))
    };
    let passage = ranked.iter().position(|ranked| lacks(&ranked.candidate)).map(|place| place + 1);
    // What was set aside before the ranking has a line in the ledger, too.
    let set_aside = || {
        let dropped = pack.core.dropped.iter().map(|dropped| &dropped.ranked.candidate);
        dropped.filter(|candidate| lacks(candidate)).map(|candidate| &candidate.id).next()
    };
    let id = passage.map(|place| &ranked[place - 1].candidate.id).or_else(set_aside);
    let entry = id.and_then(|id| pack.pack.ledger.iter().find(|entry| entry.id == *id));
    let why = match entry.map(|entry| &entry.outcome) {
        None => "not found".to_owned(),
        Some(Outcome::Out(reason)) => reason.to_string(),
        Some(Outcome::Cut { .. }) => "cut".to_owned(),
        Some(Outcome::In) => "in, but not cited".to_owned(),
    };
    (passage, why)
}
