//! One question asked: its packs held against its evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use haversack_core::ledger::{Entry, Outcome};
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
    /// Its place in the ranking, from 1; `None` when it was not found.
    pub rank: Option<usize>,
    /// The budgets at which its evidence is not all in.
    pub at: Vec<Tokens>,
    /// Why not, at the largest of them.
    pub why: String,
}

impl Answer {
    /// Holds packs, smallest budget first, against a question's evidence.
    pub(super) fn of(set: &str, question: &Question, packs: &[Arc<Assembled>]) -> Answer {
        let ranking = packs.first().map(|pack| ranking(pack)).unwrap_or_default();
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
        let is_missing = |(id, evidence): &(&String, &Evidence)| {
            (!by_spans || !evidence.words.is_empty())
                && covers.iter().any(|cover| !cover.has_all(id, evidence))
        };
        let missing = question.evidence.iter().filter(is_missing);
        let degraded = packs.iter().find(|pack| pack.is_degraded());
        Answer {
            set: set.to_owned(),
            id: question.id.clone(),
            ndcg: ndcg(question, &ranking),
            recall: recall(question, &ranking),
            by_spans,
            packs: packed.collect(),
            missing: missing
                .map(|(id, evidence)| lack(id, evidence, &ranking, packs, &covers))
                .collect(),
            degraded: degraded.map(|pack| {
                let messages = pack.notices.iter().map(|notice| notice.message.as_str());
                messages.collect::<Vec<_>>().join("; ")
            }),
        }
    }
}

/// Documents by their best candidate, over all layers, before anything is chosen.
fn ranking(pack: &Assembled) -> Vec<String> {
    let mut all: Vec<&Ranked> = pack.core.layers.iter().flat_map(|(_, ranked)| ranked).collect();
    all.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.candidate.id.cmp(&b.candidate.id)));
    let mut seen = BTreeSet::new();
    let items = all.into_iter().map(|ranked| &ranked.candidate.id.item);
    items.filter(|item| seen.insert(*item)).map(|item| item.as_str().to_owned()).collect()
}

fn ndcg(question: &Question, ranking: &[String]) -> f64 {
    let gain = |grade: u8| f64::from((1_u32 << grade) - 1);
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(TOP).zip(2_u32..).map(|(gain, place)| gain / f64::from(place).log2()).sum()
    };
    let grade = |id: &String| question.evidence.get(id).map_or(0, |evidence| evidence.grade);
    let mut best: Vec<u8> = question.evidence.values().map(|evidence| evidence.grade).collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = discounted(&mut best.into_iter().map(gain));
    if ideal > 0.0 { discounted(&mut ranking.iter().map(grade).map(gain)) / ideal } else { 0.0 }
}

fn recall(question: &Question, ranking: &[String]) -> f64 {
    let top = ranking.iter().take(TOP);
    part(top.filter(|id| question.evidence.contains_key(*id)).count(), question.evidence.len())
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
        part(evidence.iter().map(|(id, evidence)| self.bytes(id, evidence)).sum(), all)
    }

    /// How many bytes of a document's evidence are in.
    fn bytes(&self, id: &str, evidence: &Evidence) -> usize {
        let Some(spans) = self.0.get(id) else { return 0 };
        let mut spans = spans.iter().peekable();
        let mut covered = 0;
        for word in &evidence.words {
            while spans.next_if(|span| span.end <= word.start).is_some() {}
            // A word may go on from one span to the next.
            for span in spans.clone().take_while(|span| span.start < word.end) {
                covered += span.end.min(word.end) - span.start.max(word.start);
            }
        }
        covered
    }

    fn has_all(&self, id: &str, evidence: &Evidence) -> bool {
        let all: usize = evidence.words.iter().map(ExactSizeIterator::len).sum();
        self.0.contains_key(id) && self.bytes(id, evidence) == all
    }
}

fn part(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What is known of a document that some pack lacks.
fn lack(
    id: &str,
    evidence: &Evidence,
    ranking: &[String],
    packs: &[Arc<Assembled>],
    covers: &[Cover],
) -> Missing {
    let lacking: Vec<(&Assembled, &Cover)> = packs
        .iter()
        .map(|pack| &**pack)
        .zip(covers)
        .filter(|(_, cover)| !cover.has_all(id, evidence))
        .collect();
    Missing {
        document: id.to_owned(),
        rank: ranking.iter().position(|ranked| ranked == id).map(|place| place + 1),
        at: lacking.iter().map(|(pack, _)| pack.core.budget.total()).collect(),
        why: lacking.last().map(|(pack, cover)| why(id, evidence, pack, cover)).unwrap_or_default(),
    }
}

fn why(id: &str, evidence: &Evidence, pack: &Assembled, cover: &Cover) -> String {
    let all: usize = evidence.words.iter().map(ExactSizeIterator::len).sum();
    if cover.0.contains_key(id) {
        let percent = 100 * cover.bytes(id, evidence) / all.max(1);
        return format!("{percent} % of its evidence is in");
    }
    let entries = pack.pack.ledger.iter().filter(|entry| entry.id.item.as_str() == id);
    let best = entries.max_by(|a, b| a.score.cmp(&b.score).then_with(|| b.id.cmp(&a.id)));
    match best {
        None => "not found".to_owned(),
        Some(Entry { outcome: Outcome::Out(reason), .. }) => reason.to_string(),
        Some(_) => "in, but not cited".to_owned(),
    }
}
