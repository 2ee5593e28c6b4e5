//! What a collector found: a text, where its bytes came from, and what speaks for it. No verdict.

use std::ops::Range;
use std::sync::Arc;

use crate::embed::TextFeatures;
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
    /// Who says it, for a message.
    pub speaker: Option<String>,
    /// A file path or address.
    pub path: Option<String>,
    /// Headings or ancestors, outermost first.
    pub breadcrumb: Vec<String>,
    /// What sort of thing it is within its kind, such as a memory's type.
    pub sort: Option<String>,
    /// Line numbers in the item, first to one past the last, counted from 1.
    pub lines: Option<Range<u32>>,
    /// What the reader must know of its text, such as that it is outdated. It stands behind the text
    /// in whichever template.
    pub note: Option<String>,
}

impl Place {
    /// Something to order places by.
    pub(crate) fn key(&self) -> impl Ord + '_ {
        let lines = self.lines.as_ref().map(|lines| (lines.start, lines.end));
        (&self.title, &self.speaker, &self.path, &self.breadcrumb, lines)
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

/// A block of a candidate's text, which can be bought by itself
/// ([`crate::layer::Order::Blocks`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// What it is worth. Blocks of all candidates of a layer are compared by it.
    pub score: Score,
    /// An earlier block that comes with it: the heading or the line that introduces it.
    pub under: Option<usize>,
    /// Whether it only introduces others and is nothing without them, as a heading.
    pub is_lead: bool,
    /// Whether some of its sentences will do where there is no room for all of it. Half a listing
    /// or half a table will not.
    pub is_prose: bool,
    /// Whether nobody misses it: imports, navigation, pictures. Where only such blocks are left out,
    /// nothing is said to be.
    pub is_clutter: bool,
}

/// A part of a candidate's text that is the item's own bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Where these bytes begin in the item's body.
    pub start: usize,
    /// On which line of the body that is, from 1.
    pub line: u32,
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
    /// What is known of the text since it was stored; it goes when the text changes
    /// ([`Candidate::set_text`]).
    pub features: Option<Arc<TextFeatures>>,
    /// A reduced form, if there is one.
    pub essential: Option<Essential>,
    /// Which parts of the text are the body's own bytes, in order, when it was put together from
    /// several. None when the text is `span`.
    pub quotes: Vec<Quote>,
    /// The text's blocks in its order, without gaps, where each was measured; else none.
    pub blocks: Vec<Block>,
    /// How far the text is trusted.
    pub trust: Trust,
    /// When the item was made or last changed, if known.
    pub moment: Option<Timestamp>,
    /// How sure its author was, if they said.
    pub confidence: Option<Score>,
    /// Who found it.
    pub found: Vec<Found>,
    /// Whether the request itself calls it by its name. The smallest form of what was asked for is
    /// paid for before anything that was merely found.
    pub is_requested: bool,
    /// What was measured of it.
    pub signals: Signals,
}

impl Candidate {
    /// Where the best of the kept blocks stands, for people: its headings and its lines. The
    /// candidate's own place where it was not put together from blocks.
    #[must_use]
    pub fn place_of(&self, kept: &[Range<usize>]) -> Place {
        let is_kept = |block: &&Block| {
            kept.iter().any(|kept| kept.start <= block.range.start && block.range.start < kept.end)
        };
        let shown = self.blocks.iter().filter(is_kept).filter(|block| !block.is_lead);
        let best = shown.reduce(|best, block| if block.score > best.score { block } else { best });
        let quote = best.and_then(|best| {
            self.quotes.iter().find(|quote| quote.range.contains(&best.range.start))
        });
        let (Some(best), Some(quote)) = (best, quote) else { return self.place.clone() };
        let mut headings = Vec::new();
        let mut above = best.under;
        while let Some(block) = above.and_then(|at| self.blocks.get(at)) {
            if block.is_lead {
                let title = self.text[block.range.clone()].trim().trim_matches('#').trim();
                headings.push(title.to_owned());
            }
            above = block.under;
        }
        headings.reverse();
        let breaks = |text: &str| {
            u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
        };
        let end = best.range.end.min(quote.range.end);
        let first = quote.line + breaks(&self.text[quote.range.start..best.range.start]);
        let last = first + breaks(self.text[best.range.start..end].trim_end());
        Place { breadcrumb: headings, lines: Some(first..last + 1), ..self.place.clone() }
    }

    /// Gives it another text, and forgets what was known of the one before.
    pub fn set_text(&mut self, text: impl Into<Arc<str>>) {
        self.text = text.into();
        self.counted = Arc::default();
        self.features = None;
    }

    /// Where all of the text stands in the item's body.
    #[must_use]
    pub fn all_spans(&self) -> Vec<Span> {
        self.spans_of(std::slice::from_ref(&(0..self.text.len())))
    }

    /// Where bytes of the text stand in the item's body. Without an answer for some of them, the
    /// answer is about the others.
    #[must_use]
    pub fn spans_of(&self, kept: &[Range<usize>]) -> Vec<Span> {
        if self.quotes.is_empty() {
            // Only a text that is the body's own bytes can say which of them were kept.
            let verbatim = self.span.len() == self.text.len();
            return match verbatim {
                true => kept.iter().map(|range| self.span.part(range)).collect(),
                false => vec![self.span],
            };
        }
        let mut spans: Vec<Span> = Vec::new();
        for range in kept {
            for quote in &self.quotes {
                let start = range.start.max(quote.range.start);
                let end = range.end.min(quote.range.end);
                if start < end {
                    let shift = |at: usize| at - quote.range.start + quote.start;
                    spans.extend(Span::recorded(shift(start), shift(end)));
                }
            }
        }
        spans
    }

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
            features: None,
            essential: None,
            quotes: Vec::new(),
            blocks: Vec::new(),
            trust: Trust::External,
            moment: None,
            confidence: None,
            found: Vec::new(),
            is_requested: false,
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
                known.is_requested |= candidate.is_requested;
                known.signals.strengthen(&candidate.signals);
            }
        }
    }
    merged
}
