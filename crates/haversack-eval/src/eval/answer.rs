//! The answer to one question: its ranking and packs compared with its labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::ledger::Outcome;
use haversack_core::rank::Ranked;
use haversack_core::units::Tokens;

use super::cover::{Cover, clipped, union};
use super::library::TextLibrary;
use super::question::{AnswerSkip, EvalQuestion, Evidence};
use super::ruler::{PackMeasurement, PackText, has_all, measure};
use haversack::pipeline::Assembled;

/// The cutoff of nDCG and recall.
const TOP: usize = 10;

/// The measurements for one question.
#[derive(Debug, Clone)]
pub struct EvalAnswer {
    /// Its set, such as `locomo/conv-26`.
    pub set: String,
    /// Its id.
    pub id: String,
    /// Whether labels say what its packs must contain.
    pub is_labelled: bool,
    /// nDCG@10, 0 to 1; `None` without labelled documents.
    pub ndcg: Option<f64>,
    /// Recall@10, 0 to 1; `None` without labelled documents.
    pub recall: Option<f64>,
    /// Why packs are not searched for its gold answer, if they are not.
    pub skipped: Option<AnswerSkip>,
    /// Its packs, smallest budget first.
    pub packs: Vec<PackMeasurement>,
    /// Documents whose evidence some pack lacks.
    pub missing: Vec<MissingEvidence>,
    /// The notices of a pack for which a collector failed.
    pub degraded: Option<String>,
}

/// A document whose evidence is missing from a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingEvidence {
    /// Its id.
    pub document: String,
    /// Its rank among documents, from 1; `None` when it was not found.
    pub rank: Option<usize>,
    /// The rank of the passage with the evidence, from 1; `None` when it was not found or is
    /// unknown.
    pub passage: Option<usize>,
    /// The budgets at which evidence is missing.
    pub at: Vec<Tokens>,
    /// The reason at the largest of them.
    pub why: String,
}

/// One pack with its measurement.
pub(super) struct MeasuredPack {
    pub(super) measurement: PackMeasurement,
    /// Labelled documents whose evidence is incomplete.
    pub(super) lacking: BTreeSet<String>,
}

impl MeasuredPack {
    pub(super) fn of(
        pack: &PackText<'_>,
        question: &EvalQuestion,
        library: &TextLibrary,
    ) -> MeasuredPack {
        let lacking = question
            .counted_evidence()
            .filter(|(document, evidence)| !has_all(&pack.cover, document, evidence, library));
        let lacking = lacking.map(|(document, _)| document.to_owned()).collect();
        MeasuredPack { measurement: measure(pack, question, library), lacking }
    }
}

/// Returns the rank of a document's passage with evidence, and why the pack of that number lacks
/// it.
type ExplainMissing<'e> = dyn Fn(&str, &Evidence, usize) -> (Option<usize>, String) + 'e;

impl EvalAnswer {
    /// Compares Haversack's packs, smallest budget first, with a question's labels.
    pub(crate) fn of(
        set: &str,
        question: &EvalQuestion,
        packs: &[Arc<Assembled>],
        library: &TextLibrary,
    ) -> EvalAnswer {
        let ranked = packs.first().map(|pack| ranked(pack)).unwrap_or_default();
        let ranking = ranking(&ranked, library);
        let texts: Vec<PackText<'_>> = packs.iter().map(|pack| pack_text(pack, library)).collect();
        let measured =
            texts.iter().map(|pack| MeasuredPack::of(pack, question, library)).collect::<Vec<_>>();
        let explain = |document: &str, evidence: &Evidence, number: usize| {
            why((document, evidence), &ranked, (&packs[number], &texts[number].cover), library)
        };
        let degraded = packs.iter().find(|pack| pack.is_degraded());
        let answer = EvalAnswer::from_measured(set, question, (&ranking, measured), &explain);
        EvalAnswer {
            degraded: degraded.map(|pack| {
                let messages = pack.notices.iter().map(|notice| notice.message.as_str());
                messages.collect::<Vec<_>>().join("; ")
            }),
            ..answer
        }
    }

    /// Creates an answer from measured packs, smallest budget first.
    pub(super) fn from_measured(
        set: &str,
        question: &EvalQuestion,
        (ranking, measured): (&[&str], Vec<MeasuredPack>),
        explain: &ExplainMissing<'_>,
    ) -> EvalAnswer {
        let missing = question.counted_evidence().filter_map(|(document, evidence)| {
            let lacking = measured.iter().enumerate();
            let lacking: Vec<(usize, &MeasuredPack)> =
                lacking.filter(|(_, pack)| pack.lacking.contains(document)).collect();
            let (number, _) = lacking.last()?;
            let (passage, why) = explain(document, evidence, *number);
            let rank = ranking.iter().position(|ranked| *ranked == document);
            let rank = rank.map(|place| place + 1);
            let at = lacking.iter().map(|(_, pack)| pack.measurement.budget).collect();
            Some(MissingEvidence { document: document.to_owned(), rank, passage, at, why })
        });
        let missing = missing.collect();
        let has_evidence = !question.evidence.is_empty();
        EvalAnswer {
            set: set.to_owned(),
            id: question.id.clone(),
            is_labelled: question.is_labelled(),
            ndcg: has_evidence.then(|| ndcg(question, ranking)),
            recall: has_evidence.then(|| recall(question, ranking)),
            skipped: question.gold.skipped().filter(|_| question.is_labelled()),
            packs: measured.into_iter().map(|pack| pack.measurement).collect(),
            missing,
            degraded: None,
        }
    }
}

/// The text of a pack, and the bytes of documents that its citations cover.
pub(super) fn pack_text<'p>(pack: &'p Assembled, library: &TextLibrary) -> PackText<'p> {
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

/// Candidates of all layers by score, before selection.
fn ranked(pack: &Assembled) -> Vec<&Ranked> {
    let mut all: Vec<&Ranked> = pack.core.layers.iter().flat_map(|(_, ranked)| ranked).collect();
    all.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.candidate.id.cmp(&b.candidate.id)));
    all
}

/// Documents ranked by their best candidate.
fn ranking<'r>(ranked: &[&'r Ranked], library: &TextLibrary) -> Vec<&'r str> {
    let mut seen = BTreeSet::new();
    let items = ranked.iter().map(|ranked| ranked.candidate.id.item.as_str());
    let documents = items.map(|item| library.document_of(item));
    documents.filter(|document| seen.insert(*document)).collect()
}

fn ndcg(question: &EvalQuestion, ranking: &[&str]) -> f64 {
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

fn recall(question: &EvalQuestion, ranking: &[&str]) -> f64 {
    let found = ranking.iter().take(TOP).filter(|id| question.evidence.contains_key(**id)).count();
    found as f64 / question.evidence.len().max(1) as f64
}

/// The rank of the first passage with evidence that a pack lacks, and the reason.
fn why(
    (document, evidence): (&str, &Evidence),
    ranked: &[&Ranked],
    (pack, cover): (&Assembled, &Cover),
    library: &TextLibrary,
) -> (Option<usize>, String) {
    let ranges = cover.of_document(document);
    let marked = union(evidence.spans.clone());
    let lacks = |candidate: &Candidate| {
        let own = candidate.span.start()..candidate.span.end();
        let wanted = match marked.as_slice() {
            [] => vec![own],
            _ => clipped(&marked, &own).collect(),
        };
        let is_in =
            |wanted| library.get(document).is_some_and(|text| text.is_covered(wanted, ranges));
        library.document_of(candidate.id.item.as_str()) == document
            && wanted.iter().any(|wanted| !is_in(wanted))
    };
    let passage = ranked.iter().position(|ranked| lacks(&ranked.candidate)).map(|place| place + 1);
    // Candidates dropped before ranking have a ledger entry as well.
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
