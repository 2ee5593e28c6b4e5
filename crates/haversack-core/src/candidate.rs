//! Candidates: retrieved texts with their provenance and relevance signals, not yet judged.

use std::ops::Range;
use std::sync::Arc;

use crate::embed::TextFeatures;
use crate::ids::CandidateId;
use crate::item::{Kind, Trust};
use crate::rank::Signals;
use crate::text::tokenizer::Counted;
use crate::units::{Score, Span, Timestamp};

/// Where a candidate comes from, for citations and for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The item's title.
    pub title: Option<String>,
    /// Other names, such as its author or origin. Used for matching, never shown.
    pub byline: String,
    /// The sender of a message.
    pub speaker: Option<String>,
    /// A file path or address.
    pub path: Option<String>,
    /// Headings or ancestors, outermost first.
    pub breadcrumb: Vec<String>,
    /// Its subtype within its kind, such as a memory's type.
    pub subtype: Option<String>,
    /// Line numbers in the item, counted from 1; the end is exclusive.
    pub lines: Option<Range<u32>>,
    /// The lines of the item on which its pages begin, ascending; empty for a text without pages.
    pub page_lines: Arc<[u32]>,
    /// A warning for the reader, such as that the text is outdated. Every template appends it to
    /// the text.
    pub note: Option<String>,
}

impl Place {
    /// The first and the last page that the lines are on, if the item has pages.
    #[must_use]
    pub fn pages(&self) -> Option<[u32; 2]> {
        let lines = self.lines.as_ref()?;
        pages_at(&self.page_lines, lines.start, lines.end.saturating_sub(1))
    }

    /// A sort key.
    pub(crate) fn key(&self) -> impl Ord + '_ {
        let lines = self.lines.as_ref().map(|lines| (lines.start, lines.end));
        (&self.title, &self.speaker, &self.path, &self.breadcrumb, lines)
    }
}

/// The pages, counted from 1, of the first and the last of some lines. `page_lines` has the line on which each
/// page begins, ascending.
#[must_use]
pub fn pages_at(page_lines: &[u32], first: u32, last: u32) -> Option<[u32; 2]> {
    let page = |line: u32| page_lines.partition_point(|start| *start <= line).max(1);
    let number = |line: u32| u32::try_from(page(line)).unwrap_or(u32::MAX);
    (!page_lines.is_empty()).then(|| [number(first), number(last.max(first))])
}

/// A reduced form that replaces the text when the budget is tight: a product's name and price, a
/// context's goal, a summary written by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Essential {
    /// The reduced text.
    pub text: Arc<str>,
    /// Its value relative to the whole text, 0 to 1.
    pub worth: Score,
}

/// A block of a candidate's text that can be selected on its own
/// ([`crate::layer::Order::Blocks`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its score, compared across all candidates of the layer.
    pub score: Score,
    /// An earlier block that it needs: the heading or line that introduces it.
    pub under: Option<usize>,
    /// Whether it only introduces other blocks, as a heading does.
    pub is_lead: bool,
    /// Whether it may be truncated to some of its sentences. Code and tables may not.
    pub is_prose: bool,
    /// Whether it is boilerplate: imports, navigation, pictures. Omitting only such blocks leaves
    /// no omission mark.
    pub is_clutter: bool,
}

/// A part of a candidate's text that is quoted verbatim from the item's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Where these bytes begin in the item's body.
    pub start: usize,
    /// The line of the body where they begin, from 1.
    pub line: u32,
}

/// A collector that retrieved a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBy {
    /// Name of the collector.
    pub collector: Arc<str>,
    /// The candidate's rank in that collector's list, from 1.
    pub rank: u32,
}

/// A text that may enter a pack.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its id, which breaks ties in every order.
    pub id: CandidateId,
    /// The item's kind.
    pub kind: Kind,
    /// Where it comes from.
    pub place: Place,
    /// The whole text.
    pub text: Arc<str>,
    /// The bytes of the item's body that the text covers.
    pub span: Span,
    /// Token counts of parts of the text, precomputed with the request's tokenizer; ordered, not
    /// overlapping. A wrong count costs a second pass but never breaks the budget, because the
    /// final string is counted again.
    pub counted: Arc<[Counted]>,
    /// Features computed when the text was stored; [`Candidate::set_text`] clears them.
    pub features: Option<Arc<TextFeatures>>,
    /// A reduced form, if there is one.
    pub essential: Option<Essential>,
    /// The parts of the text quoted from the body, in order, for a text assembled from several
    /// passages. Empty when the text is `span`.
    pub quotes: Vec<Quote>,
    /// The text's blocks in order, without gaps; empty when they were not scored.
    pub blocks: Vec<Block>,
    /// How far the text is trusted.
    pub trust: Trust,
    /// When the item was made or last changed, if known.
    pub moment: Option<Timestamp>,
    /// How sure its author was, if they said.
    pub confidence: Option<Score>,
    /// The collectors that retrieved it.
    pub found: Vec<FoundBy>,
    /// Whether the request names it. The smallest form of a requested candidate is selected before
    /// any retrieved one.
    pub is_requested: bool,
    /// Its relevance signals.
    pub signals: Signals,
}

impl Candidate {
    /// The place of the best kept block: its headings and lines. Falls back to the candidate's own
    /// place when the text was not assembled from blocks.
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

    /// Replaces the text and clears everything computed from the old one.
    pub fn set_text(&mut self, text: impl Into<Arc<str>>) {
        self.text = text.into();
        self.counted = Arc::default();
        self.features = None;
    }

    /// The spans of the item's body that the text covers.
    #[must_use]
    pub fn all_spans(&self) -> Vec<Span> {
        self.spans_of(std::slice::from_ref(&(0..self.text.len())))
    }

    /// The spans of the item's body that correspond to ranges of the text. Ranges without a
    /// counterpart are skipped.
    #[must_use]
    pub fn spans_of(&self, kept: &[Range<usize>]) -> Vec<Span> {
        if self.quotes.is_empty() {
            // Ranges map to the body only when the text is a verbatim copy.
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

    /// A candidate for the whole text of an item, with nothing else set.
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

/// Merges candidates with the same id that several collectors retrieved.
///
/// Keeps the first text and place, all collectors, the strongest of each signal and the lowest
/// trust, in order of first appearance.
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
