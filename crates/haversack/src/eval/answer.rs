//! One question asked: its ranking and its packs held against its labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::ledger::Outcome;
use haversack_core::rank::Ranked;
use haversack_core::units::Tokens;

use super::cover::{Cover, clipped, union};
use super::library::Library;
use super::question::{Evidence, LeftOut, Question};
use super::ruler::{PackText, Packed, has_all, measure};
use crate::pipeline::Assembled;

/// How many of the ranking count for nDCG and recall.
const TOP: usize = 10;

/// What became of a question.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The set it is of, such as `locomo/conv-26`.
    pub set: String,
    /// Its id.
    pub id: String,
    /// Whether anything says what its packs have to hold.
    pub is_labelled: bool,
    /// How good the order of documents is among the first ten, 0 to 1; `None` without labelled
    /// documents.
    pub ndcg: Option<f64>,
    /// How many of its labelled documents are among the first ten, 0 to 1; `None` without.
    pub recall: Option<f64>,
    /// Why its right answer is not looked for, where there is one.
    pub left_out: Option<LeftOut>,
    /// Its packs, smallest budget first.
    pub packs: Vec<Packed>,
    /// Documents whose evidence is not all in every pack.
    pub missing: Vec<Missing>,
    /// Why a pack lacks something that a collector would have found.
    pub degraded: Option<String>,
}

/// A document with evidence that a pack lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its id.
    pub document: String,
    /// Its place in the ranking of documents, from 1; `None` when it was not found.
    pub rank: Option<usize>,
    /// The place of the passage with the evidence in the ranking of passages, from 1; `None` when
    /// it was not found, or is not known.
    pub passage: Option<usize>,
    /// The budgets at which its evidence is not all in.
    pub at: Vec<Tokens>,
    /// Why not, at the largest of them.
    pub why: String,
}

/// What the ruler found in one pack.
pub(super) struct Measured {
    pub(super) packed: Packed,
    /// Labelled documents whose evidence is not all in.
    pub(super) lacking: BTreeSet<String>,
}

impl Measured {
    pub(super) fn of(pack: &PackText<'_>, question: &Question, library: &Library) -> Measured {
        let lacking = question
            .counted()
            .filter(|(document, evidence)| !has_all(&pack.cover, document, evidence, library));
        let lacking = lacking.map(|(document, _)| document.to_owned()).collect();
        Measured { packed: measure(pack, question, library), lacking }
    }
}

/// Says where the passage with evidence of a document stands, and why it is not in the pack of that
/// number.
type Explain<'e> = dyn Fn(&str, &Evidence, usize) -> (Option<usize>, String) + 'e;

impl Answer {
    /// Holds Haversack's packs, smallest budget first, against a question's labels.
    pub(crate) fn of(
        set: &str,
        question: &Question,
        packs: &[Arc<Assembled>],
        library: &Library,
    ) -> Answer {
        let ranked = packs.first().map(|pack| ranked(pack)).unwrap_or_default();
        let ranking = ranking(&ranked, library);
        let texts: Vec<PackText<'_>> = packs.iter().map(|pack| seen(pack, library)).collect();
        let measured =
            texts.iter().map(|pack| Measured::of(pack, question, library)).collect::<Vec<_>>();
        let explain = |document: &str, evidence: &Evidence, number: usize| {
            why((document, evidence), &ranked, (&packs[number], &texts[number].cover), library)
        };
        let degraded = packs.iter().find(|pack| pack.is_degraded());
        let answer = Answer::from_measured(set, question, (&ranking, measured), &explain);
        Answer {
            degraded: degraded.map(|pack| {
                let messages = pack.notices.iter().map(|notice| notice.message.as_str());
                messages.collect::<Vec<_>>().join("; ")
            }),
            ..answer
        }
    }

    /// An answer from packs that were measured, smallest budget first.
    pub(super) fn from_measured(
        set: &str,
        question: &Question,
        (ranking, measured): (&[&str], Vec<Measured>),
        explain: &Explain<'_>,
    ) -> Answer {
        let missing = question.counted().filter_map(|(document, evidence)| {
            let lacking = measured.iter().enumerate();
            let lacking: Vec<(usize, &Measured)> =
                lacking.filter(|(_, pack)| pack.lacking.contains(document)).collect();
            let (number, _) = lacking.last()?;
            let (passage, why) = explain(document, evidence, *number);
            let rank = ranking.iter().position(|ranked| *ranked == document);
            let rank = rank.map(|place| place + 1);
            let at = lacking.iter().map(|(_, pack)| pack.packed.budget).collect();
            Some(Missing { document: document.to_owned(), rank, passage, at, why })
        });
        let missing = missing.collect();
        let has_evidence = !question.evidence.is_empty();
        Answer {
            set: set.to_owned(),
            id: question.id.clone(),
            is_labelled: question.is_labelled(),
            ndcg: has_evidence.then(|| ndcg(question, ranking)),
            recall: has_evidence.then(|| recall(question, ranking)),
            left_out: question.gold.left_out().filter(|_| question.is_labelled()),
            packs: measured.into_iter().map(|pack| pack.packed).collect(),
            missing,
            degraded: None,
        }
    }
}

/// A pack of Haversack as the ruler sees it: its text, and what its citations stand for.
pub(super) fn seen<'p>(pack: &'p Assembled, library: &Library) -> PackText<'p> {
    let parts = pack.pack.citations.iter().flat_map(|citation| {
        let document = library.document_of(citation.candidate.item.as_str());
        citation.spans.iter().map(move |span| (document.to_owned(), span.start()..span.end()))
    });
    PackText {
        budget: pack.core.budget.total(),
        text: &pack.pack.text,
        tokens: pack.pack.tokens,
        time: pack.timings.total(),
        steps: Some(pack.timings),
        cover: Cover::of(parts),
    }
}

/// Candidates by score, over all layers, before anything is chosen.
fn ranked(pack: &Assembled) -> Vec<&Ranked> {
    let mut all: Vec<&Ranked> = pack.core.layers.iter().flat_map(|(_, ranked)| ranked).collect();
    all.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.candidate.id.cmp(&b.candidate.id)));
    all
}

/// Documents by their best candidate.
fn ranking<'r>(ranked: &[&'r Ranked], library: &Library) -> Vec<&'r str> {
    let mut seen = BTreeSet::new();
    let items = ranked.iter().map(|ranked| ranked.candidate.id.item.as_str());
    let documents = items.map(|item| library.document_of(item));
    documents.filter(|document| seen.insert(*document)).collect()
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
    let found = ranking.iter().take(TOP).filter(|id| question.evidence.contains_key(**id)).count();
    found as f64 / question.evidence.len().max(1) as f64
}

/// Where the first passage with evidence that a pack lacks stands in the ranking, and why it is not
/// in.
fn why(
    (document, evidence): (&str, &Evidence),
    ranked: &[&Ranked],
    (pack, cover): (&Assembled, &Cover),
    library: &Library,
) -> (Option<usize>, String) {
    let ranges = cover.of_document(document);
    let marked = union(evidence.spans.clone());
    let lacks = |candidate: &Candidate| {
        let own = candidate.span.start()..candidate.span.end();
        let wanted = match marked.as_slice() {
            [] => vec![own],
            _ => clipped(&marked, &own).collect(),
        };
        let is_in = |wanted| library.get(document).is_some_and(|text| text.has(ranges, wanted));
        library.document_of(candidate.id.item.as_str()) == document
            && wanted.iter().any(|wanted| !is_in(wanted))
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
