//! What a collector found: a text, where its bytes came from, and what speaks for it. No verdict.

use std::ops::Range;
use std::sync::Arc;

use crate::ids::CandidateId;
use crate::item::{Kind, Trust};
use crate::rank::Signals;
use crate::text::tokenizer::Counted;
use crate::units::{Score, Span, Timestamp};

/// Where a candidate stands in the world of its owner, for people and for citations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// What the item calls itself.
    pub title: Option<String>,
    /// What else it is called by: who wrote it, where it comes from. It says what the text is
    /// about, and is not shown.
    pub byline: String,
    /// A file path or address.
    pub path: Option<String>,
    /// Headings or ancestors, outermost first.
    pub breadcrumb: Vec<String>,
    /// Line numbers in the item, first to one past the last, counted from 1.
    pub lines: Option<Range<u32>>,
}

impl Place {
    /// Something to order places by.
    pub(crate) fn key(&self) -> impl Ord + '_ {
        let lines = self.lines.as_ref().map(|lines| (lines.start, lines.end));
        (&self.title, &self.path, &self.breadcrumb, lines)
    }
}

/// A reduced form that may stand for the whole text when room is short: a product's name and price,
/// a context's goal, a summary that a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Essential {
    /// The reduced text.
    pub text: Arc<str>,
    /// Its value as a part of the whole text's value, 0 to 1.
    pub worth: Score,
}

/// A sentence of a candidate's text, and what it adds to the text's own score when it is bought by
/// itself ([`crate::layer::Order::Sentences`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// How much it says to the query.
    pub score: Score,
}

/// One collector's find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Name of the collector.
    pub collector: Arc<str>,
    /// Place in that collector's own list, from 1.
    pub rank: u32,
}

/// A text that may enter a pack.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name, and the tie-break of every order.
    pub id: CandidateId,
    /// What sort of item it is.
    pub kind: Kind,
    /// Where it stands.
    pub place: Place,
    /// The whole text.
    pub text: Arc<str>,
    /// The bytes of the item's body that the text stands for.
    pub span: Span,
    /// Parts of the text that the request's tokenizer counted before, in order and apart. A wrong
    /// number costs a second round, never the budget: the final string is counted anew.
    pub counted: Arc<[Counted]>,
    /// A reduced form, if there is one.
    pub essential: Option<Essential>,
    /// The text's sentences in its order, without gaps, where each was measured; else none.
    pub sentences: Vec<Sentence>,
    /// How far the text is trusted.
    pub trust: Trust,
    /// When the item was made or last changed, if known.
    pub moment: Option<Timestamp>,
    /// How sure its author was, if they said.
    pub confidence: Option<Score>,
    /// Who found it.
    pub found: Vec<Found>,
    /// What was measured of it.
    pub signals: Signals,
}

impl Candidate {
    /// A candidate that is all of an item's text and of which nothing else is known.
    #[must_use]
    pub fn new(id: CandidateId, kind: Kind, text: &str) -> Candidate {
        Candidate {
            id,
            kind,
            place: Place::default(),
            text: text.into(),
            span: Span::whole(text),
            counted: Arc::default(),
            essential: None,
            sentences: Vec::new(),
            trust: Trust::External,
            moment: None,
            confidence: None,
            found: Vec::new(),
            signals: Signals::default(),
        }
    }
}

/// Joins candidates of the same id that several collectors found.
///
/// The first one's text and place stay; finders add up; of each signal the strongest stays, and the
/// lowest trust. The order is that of first appearance.
#[must_use]
pub fn merge(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut at = std::collections::BTreeMap::new();
    let mut merged: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match at.get(&candidate.id) {
            None => {
                at.insert(candidate.id.clone(), merged.len());
                merged.push(candidate);
            }
            Some(&index) => {
                let known = &mut merged[index];
                known.found.extend(candidate.found);
                known.trust = known.trust.min(candidate.trust);
                known.signals.strengthen(&candidate.signals);
            }
        }
    }
    merged
}
