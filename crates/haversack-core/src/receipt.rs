//! The receipt: a hash of everything that determines a pack, and a hash of its text.
//!
//! Two packs with the same receipt have the same inputs, and the same inputs give the same pack.

use std::fmt;

use crate::candidate::Candidate;
use crate::ledger::Dropped;
use crate::pack::{PackRequest, Plan};
use crate::rank::Ranked;
use crate::units::Tokens;

/// Changes whenever the same request may give different bytes.
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

/// Hashes of a pack's inputs and of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackReceipt {
    /// Hash of everything that determines the pack.
    pub inputs: Digest,
    /// Hash of the final string.
    pub text: Digest,
}

impl PackReceipt {
    pub(crate) fn new(plan: &Plan<'_>, total: Tokens, text: &str) -> PackReceipt {
        let mut encoder = FieldEncoder(Vec::with_capacity(plan.layout.units.len() * 512));
        encoder.number(u64::from(PACKING_VERSION));
        encoder.number(u64::from(total.get()));
        write_request(&mut encoder, plan.request);
        for unit in &plan.layout.units {
            encoder.number(unit.layer as u64);
            write_ranked(&mut encoder, unit.ranked);
        }
        for (layer, ranked, _) in &plan.aside {
            encoder.number(*layer as u64);
            write_ranked(&mut encoder, ranked);
        }
        for Dropped { layer, ranked, reason } in sorted(&plan.request.dropped) {
            encoder.text(layer);
            encoder.text(&reason.to_string());
            write_ranked(&mut encoder, ranked);
        }
        let digest = |hash: blake3::Hash| Digest(*hash.as_bytes());
        PackReceipt {
            inputs: digest(blake3::hash(&encoder.0)),
            text: digest(blake3::hash(text.as_bytes())),
        }
    }
}

impl fmt::Display for PackReceipt {
    /// The first sixteen characters, enough to identify it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inputs.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Dropped candidates in a canonical order, independent of the input order.
pub(crate) fn sorted(dropped: &[Dropped]) -> Vec<&Dropped> {
    let mut dropped: Vec<&Dropped> = dropped.iter().collect();
    dropped.sort_by(|a, b| {
        let key = |dropped: &Dropped| (dropped.layer.clone(), dropped.ranked.candidate.id.clone());
        key(a).cmp(&key(b))
    });
    dropped
}

/// Encodes fields unambiguously for hashing. Hashing them in one pass is several times faster than
/// field by field.
struct FieldEncoder(Vec<u8>);

impl FieldEncoder {
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

fn write_request(encoder: &mut FieldEncoder, request: &PackRequest) {
    let PackRequest { query, query_terms, tokenizer, budget, overflow, layers, .. } = request;
    encoder.text(query);
    encoder.texts(query_terms.iter().map(String::as_str));
    encoder.text(tokenizer.name());
    encoder.debug(&tokenizer.accuracy());
    encoder.debug(&(budget.reserves(), overflow, request.fencing, request.selector, request.stop));
    encoder.text(&request.seed);
    encoder.text(&request.frame.before.source());
    encoder.text(&request.frame.after.source());
    encoder.debug(&request.previous);
    for (layer, _) in layers {
        encoder.text(&layer.name);
        encoder.text(&layer.title);
        encoder.debug(&(layer.claim, layer.cap, layer.spill, layer.order, layer.cut));
        encoder.debug(&(layer.arrangement, layer.stability, layer.kind_cap, layer.fencing));
        encoder.texts(layer.template.sources().iter().map(String::as_str));
    }
}

fn write_ranked(encoder: &mut FieldEncoder, ranked: &Ranked) {
    let Ranked { candidate, score, parts } = ranked;
    let Candidate { id, kind, place, text, span, essential, trust, moment, confidence, .. } =
        candidate;
    encoder.text(id.item.as_str());
    encoder.option(id.chunk.map(u64::from));
    encoder.text(kind.as_str());
    encoder.text(text);
    encoder.number(span.start() as u64);
    encoder.number(span.end() as u64);
    encoder.number(*trust as u64);
    encoder.option(moment.map(|moment| moment.as_millis().cast_unsigned()));
    encoder.option(confidence.map(|confidence| confidence.get().to_bits()));
    encoder.number(score.get().to_bits());
    for text in [&place.title, &place.speaker, &place.path] {
        encoder.texts(text.iter().map(String::as_str));
    }
    encoder.texts(place.breadcrumb.iter().map(String::as_str));
    encoder.option(
        place.lines.as_ref().map(|lines| u64::from(lines.start) << 32 | u64::from(lines.end)),
    );
    encoder.texts(essential.iter().map(|essential| &*essential.text));
    encoder.option(essential.as_ref().map(|essential| essential.worth.get().to_bits()));
    encoder.number(candidate.found.len() as u64);
    for found in &candidate.found {
        encoder.text(&found.collector);
        encoder.number(u64::from(found.rank));
    }
    encoder.number(u64::from(candidate.is_requested));
    encoder.number(candidate.quotes.len() as u64);
    for quote in &candidate.quotes {
        let numbers = [quote.range.start, quote.range.end, quote.start];
        numbers.into_iter().for_each(|number| encoder.number(number as u64));
    }
    encoder.number(candidate.blocks.len() as u64);
    for block in &candidate.blocks {
        encoder.number(block.range.start as u64);
        encoder.number(block.range.end as u64);
        encoder.number(block.score.get().to_bits());
        encoder.option(block.under.map(|under| under as u64));
        let flags = [block.is_lead, block.is_prose, block.is_clutter];
        encoder.number(flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag)));
    }
    encoder.number(parts.len() as u64);
    for part in parts {
        encoder.number(part.component as u64);
        encoder.number(part.value.get().to_bits());
        encoder.number(part.weight.to_bits());
    }
}
