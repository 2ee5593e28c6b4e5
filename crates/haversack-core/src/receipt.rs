//! The receipt: a hash of everything that decided a pack, and one of its bytes.
//!
//! Two packs with the same receipt were made from the same things; the same things always make the
//! same pack.

use std::fmt;

use crate::candidate::Candidate;
use crate::ledger::Dropped;
use crate::pack::{Plan, Request};
use crate::rank::Ranked;
use crate::units::Tokens;

/// Changes whenever the same request may give other bytes than before.
pub const PACKING_VERSION: u32 = 2;

/// A hash of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Proof of what a pack was made from, and of what came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Of everything that decided the pack.
    pub inputs: Digest,
    /// Of the final string.
    pub text: Digest,
}

impl Receipt {
    pub(crate) fn new(plan: &Plan<'_>, total: Tokens, text: &str) -> Receipt {
        let mut ink = Ink(Vec::with_capacity(plan.layout.units.len() * 512));
        ink.number(u64::from(PACKING_VERSION));
        ink.number(u64::from(total.get()));
        write_request(&mut ink, plan.request);
        for unit in &plan.layout.units {
            ink.number(unit.layer as u64);
            write_ranked(&mut ink, unit.ranked);
        }
        for (layer, ranked, _) in &plan.aside {
            ink.number(*layer as u64);
            write_ranked(&mut ink, ranked);
        }
        for Dropped { layer, ranked, reason } in sorted(&plan.request.dropped) {
            ink.text(layer);
            ink.text(&reason.to_string());
            write_ranked(&mut ink, ranked);
        }
        let digest = |hash: blake3::Hash| Digest(*hash.as_bytes());
        Receipt {
            inputs: digest(blake3::hash(&ink.0)),
            text: digest(blake3::hash(text.as_bytes())),
        }
    }
}

impl fmt::Display for Receipt {
    /// Sixteen characters: enough to name it by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inputs.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Dropped candidates in an order of their own, so that the order they came in does not matter.
pub(crate) fn sorted(dropped: &[Dropped]) -> Vec<&Dropped> {
    let mut dropped: Vec<&Dropped> = dropped.iter().collect();
    dropped.sort_by(|a, b| {
        let key = |dropped: &Dropped| (dropped.layer.clone(), dropped.ranked.candidate.id.clone());
        key(a).cmp(&key(b))
    });
    dropped
}

/// Writes fields so that no two different lists of fields give the same bytes. They are hashed in
/// one go, which is several times faster than field by field.
struct Ink(Vec<u8>);

impl Ink {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn option(&mut self, number: Option<u64>) {
        self.0.push(u8::from(number.is_some()));
        self.number(number.unwrap_or_default());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn texts<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t str>) {
        self.number(texts.len() as u64);
        texts.for_each(|text| self.text(text));
    }

    /// For small closed types, whose `Debug` names every field.
    fn debug(&mut self, value: &dyn fmt::Debug) {
        self.text(&format!("{value:?}"));
    }
}

fn write_request(ink: &mut Ink, request: &Request) {
    let Request { query, query_terms, tokenizer, budget, overflow, layers, .. } = request;
    ink.text(query);
    ink.texts(query_terms.iter().map(String::as_str));
    ink.text(tokenizer.name());
    ink.debug(&tokenizer.accuracy());
    ink.debug(&(budget.reserves(), overflow, request.fencing, request.selector, request.stop));
    ink.text(&request.seed);
    ink.text(&request.frame.before.source());
    ink.text(&request.frame.after.source());
    ink.debug(&request.previous);
    for (layer, _) in layers {
        ink.text(&layer.name);
        ink.text(&layer.title);
        ink.debug(&(layer.claim, layer.cap, layer.spill, layer.order, layer.cut));
        ink.debug(&(layer.arrangement, layer.stability, layer.kind_cap, layer.fencing));
        ink.texts(layer.template.sources().iter().map(String::as_str));
    }
}

fn write_ranked(ink: &mut Ink, ranked: &Ranked) {
    let Ranked { candidate, score, parts } = ranked;
    let Candidate { id, kind, place, text, span, essential, trust, moment, confidence, .. } =
        candidate;
    ink.text(id.item.as_str());
    ink.option(id.chunk.map(u64::from));
    ink.text(kind.as_str());
    ink.text(text);
    ink.number(span.start() as u64);
    ink.number(span.end() as u64);
    ink.number(*trust as u64);
    ink.option(moment.map(|moment| moment.as_millis().cast_unsigned()));
    ink.option(confidence.map(|confidence| confidence.get().to_bits()));
    ink.number(score.get().to_bits());
    for text in [&place.title, &place.speaker, &place.path] {
        ink.texts(text.iter().map(String::as_str));
    }
    ink.texts(place.breadcrumb.iter().map(String::as_str));
    ink.option(
        place.lines.as_ref().map(|lines| u64::from(lines.start) << 32 | u64::from(lines.end)),
    );
    ink.texts(essential.iter().map(|essential| &*essential.text));
    ink.option(essential.as_ref().map(|essential| essential.worth.get().to_bits()));
    ink.number(candidate.found.len() as u64);
    for found in &candidate.found {
        ink.text(&found.collector);
        ink.number(u64::from(found.rank));
    }
    ink.number(u64::from(candidate.is_requested));
    ink.number(candidate.quotes.len() as u64);
    for quote in &candidate.quotes {
        let numbers = [quote.range.start, quote.range.end, quote.start];
        numbers.into_iter().for_each(|number| ink.number(number as u64));
    }
    ink.number(candidate.blocks.len() as u64);
    for block in &candidate.blocks {
        ink.number(block.range.start as u64);
        ink.number(block.range.end as u64);
        ink.number(block.score.get().to_bits());
        ink.option(block.under.map(|under| under as u64));
        let flags = [block.is_lead, block.is_prose, block.is_clutter];
        ink.number(flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag)));
    }
    ink.number(parts.len() as u64);
    for part in parts {
        ink.number(part.component as u64);
        ink.number(part.value.get().to_bits());
        ink.number(part.weight.to_bits());
    }
}
