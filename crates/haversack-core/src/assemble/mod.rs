//! Assembly: a selection becomes the final string with its sections, citations and ledger. It adds,
//! drops and reorders nothing.

pub mod citation;
pub mod fence;
mod growth;
mod layout;
mod template;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub use citation::{Citation, page_label};
pub use fence::{Fencing, Nonce};
pub(crate) use growth::Growth;
pub(crate) use layout::{Choices, LayerPage, Layout, LayoutUnit};
pub use template::{
    Pattern, TEMPLATE_BYTES_MAX, TEMPLATE_VARIABLES_MAX, Template, TemplateError, TemplateText,
    Templates, Variable,
};

use crate::candidate::Candidate;
use crate::ids::CandidateId;
use crate::layer::Claim;
use crate::ledger::{Entry, Outcome, PackNotice, Reason, Shortened};
use crate::pack::{Pack, Plan, Previous, Segment, ShownCandidate};
use crate::receipt::{PackReceipt, sorted};
use crate::select::{RenderedPiece, Selection, Selector, units_of};
use crate::text::tokenizer::Accuracy;
use crate::units::{Share, Span, Tokens};

/// A section of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The layer it shows.
    pub layer: Arc<str>,
    /// Its title.
    pub title: String,
    /// Its bytes in the final string.
    pub span: Span,
    /// Tokens of those bytes on their own.
    pub tokens: Tokens,
    /// Its items, in order.
    pub items: Vec<PackedItem>,
}

/// A candidate in a pack, as rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedItem {
    /// The candidate.
    pub id: CandidateId,
    /// Its citation id, without brackets.
    pub citation: String,
    /// Its bytes in the final string, template and fence included.
    pub span: Span,
    /// Tokens of those bytes on their own.
    pub tokens: Tokens,
    /// How it was shortened, if it was.
    pub shortened: Option<Shortened>,
    /// The shown text without template and fence, if it was shortened.
    pub short_text: Option<String>,
}

/// A layer that lost more than this share is reported as truncated (P12).
const TRUNCATED: Share = Share::percent(20);

/// Assembles a pack. `limit` is the token limit of the text.
pub(crate) fn assemble(
    plan: &Plan<'_>,
    selection: &Selection,
    total: Tokens,
    limit: Tokens,
) -> Pack {
    let Plan { request, layout, .. } = plan;
    let tokenizer = &*request.tokenizer;
    let assembler = PackAssembler { plan, selection };
    let mut text = String::new();
    let preamble = assembler.shows_fences().then(|| layout.pieces[layout.preamble].text.as_str());
    let first_fenced = layout.first_fenced_page();
    text.push_str(preamble.filter(|_| first_fenced == 0).unwrap_or_default());
    text.push_str(&layout.pieces[layout.before].text);
    let mut sections = Vec::with_capacity(layout.pages.len());
    let mut citations = Vec::new();
    for (index, page) in layout.pages.iter().enumerate() {
        let stands_here = first_fenced == index && index > 0;
        text.push_str(preamble.filter(|_| stands_here).unwrap_or_default());
        assembler.write_page(page, &mut text, &mut sections, &mut citations);
    }
    text.push_str(&layout.pieces[layout.after].text);
    let tokens = tokenizer.count(&text);
    let previous = Previous { nonce: layout.nonce.clone(), order: assembler.shown_candidates() };
    Pack {
        tokens,
        tokenizer: tokenizer.name().to_owned(),
        accuracy: tokenizer.accuracy(),
        limit,
        notices: assembler.notices(&sections, tokens, limit),
        ledger: assembler.ledger(),
        worth: plan.worth(selection),
        receipt: PackReceipt::new(plan, total, &text),
        text,
        sections,
        citations,
        previous,
    }
}

/// Assembles one selection of a plan.
struct PackAssembler<'d> {
    plan: &'d Plan<'d>,
    selection: &'d Selection,
}

impl PackAssembler<'_> {
    fn shows_fences(&self) -> bool {
        let units = &self.plan.layout.units;
        (0..units.len()).any(|unit| units[unit].is_fenced && self.shown_piece(unit).is_some())
    }

    /// The selected piece of a unit, and how it was shortened.
    fn shown_piece(&self, unit: usize) -> Option<(&RenderedPiece, Option<Shortened>)> {
        let Plan { layout, schedule, .. } = self.plan;
        if let Some(cut) = self.selection.cut.as_ref().filter(|cut| cut.unit == unit) {
            return Some((&cut.piece, Some(Shortened::Trimmed)));
        }
        let index = self.selection.choices[unit]?;
        let shortened = if Some(index) == layout.units[unit].essential {
            Some(Shortened::Essential)
        } else {
            let capped = schedule.capped.get(&unit).is_some_and(|capped| capped.piece == index);
            let is_short = capped || layout.units[unit].form(index).is_some();
            is_short.then_some(Shortened::Trimmed)
        };
        Some((&layout.pieces[index], shortened))
    }

    fn write_page(
        &self,
        page: &LayerPage,
        text: &mut String,
        sections: &mut Vec<Section>,
        citations: &mut Vec<Citation>,
    ) {
        let Plan { request, layout, .. } = self.plan;
        let tokenizer = &*request.tokenizer;
        let start = text.len();
        let mut written: Vec<&RenderedPiece> = Vec::new();
        let mut items = Vec::new();
        let mut write = |piece, text: &mut String| -> Range<usize> {
            let piece: &RenderedPiece = piece;
            let at = text.len();
            text.push_str(&piece.text);
            written.push(piece);
            at..text.len()
        };
        let shown: Vec<_> = page
            .units
            .iter()
            .filter_map(|&u| self.shown_piece(u).map(|shown| (u, shown)))
            .collect();
        if shown.is_empty() && page.note.is_none() {
            return;
        }
        let (header, footer) = match page.note {
            Some([header, note, footer]) if shown.is_empty() => {
                write(&layout.pieces[header], text);
                write(&layout.pieces[note], text);
                (None, footer)
            }
            _ => (Some(page.header), page.footer),
        };
        if let Some(header) = header {
            write(&layout.pieces[header], text);
        }
        for (index, (unit, (piece, shortened))) in shown.into_iter().enumerate() {
            let layout_unit = &layout.units[unit];
            if index > 0 {
                write(&layout.pieces[layout_unit.separator], text);
            }
            let range = write(piece, text);
            items.push(PackedItem {
                id: layout_unit.ranked.candidate.id.clone(),
                citation: layout_unit.citation.clone(),
                span: Span::within(text, range).expect("pieces are whole strings"),
                tokens: tokenizer.tokens(piece.units),
                shortened,
                short_text: self.short_text(unit, shortened),
            });
            citations.push(self.citation(unit));
        }
        write(&layout.pieces[footer], text);
        let layer = &request.layers[page.layer].0;
        sections.push(Section {
            layer: layer.name.clone(),
            title: layer.title.clone(),
            span: Span::within(text, start..text.len()).expect("pieces are whole strings"),
            tokens: if tokenizer.seams_are_proved() {
                tokenizer.tokens(units_of(tokenizer, written))
            } else {
                tokenizer.count(&text[start..])
            },
            items,
        });
    }

    /// What the pack shows, for the next pack of the conversation.
    fn shown_candidates(&self) -> Vec<ShownCandidate> {
        let Plan { request, layout, .. } = self.plan;
        let units = layout.pages.iter().flat_map(|page| &page.units);
        let shown = units.filter(|&&unit| self.shown_piece(unit).is_some());
        let shown = shown.map(|&unit| {
            let candidate = &layout.units[unit].ranked.candidate;
            ShownCandidate {
                layer: request.layers[layout.units[unit].layer].0.name.clone(),
                id: candidate.id.clone(),
                content: self.shown_segments(unit),
            }
        });
        shown.collect()
    }

    /// The shown segments of a unit assembled from blocks.
    fn shown_segments(&self, unit: usize) -> Vec<Segment> {
        let candidate = &self.plan.layout.units[unit].ranked.candidate;
        if candidate.quotes.is_empty() {
            return Vec::new();
        }
        let whole = std::iter::once(0..candidate.text.len()).collect();
        let kept = self.kept_ranges(unit).unwrap_or(&whole);
        segments(candidate, kept, &self.kept_text(unit, kept))
    }

    /// A unit's shown text, with omission marks.
    fn kept_text(&self, unit: usize, kept: &[Range<usize>]) -> Cow<'_, str> {
        let cut = self.selection.cut.as_ref().filter(|cut| cut.unit == unit);
        let capped = self.plan.schedule.capped.get(&unit);
        let capped = capped.filter(|capped| self.selection.choices[unit] == Some(capped.piece));
        match (cut, capped) {
            (Some(cut), _) => Cow::Borrowed(&cut.content),
            (None, Some(capped)) => Cow::Borrowed(&capped.content),
            (None, None) => {
                let candidate = &self.plan.layout.units[unit].ranked.candidate;
                Cow::Owned(growth::join_parts_text(candidate, kept))
            }
        }
    }

    fn short_text(&self, unit: usize, shortened: Option<Shortened>) -> Option<String> {
        let candidate = &self.plan.layout.units[unit].ranked.candidate;
        match shortened? {
            Shortened::Essential => {
                candidate.essential.as_ref().map(|essential| essential.text.to_string())
            }
            Shortened::Trimmed => {
                let kept = self.kept_ranges(unit)?;
                Some(self.kept_text(unit, kept).into_owned())
            }
        }
    }

    /// The kept ranges of a unit's text; `None` when it is whole.
    fn kept_ranges(&self, unit: usize) -> Option<&Vec<Range<usize>>> {
        let layout_unit = &self.plan.layout.units[unit];
        let choice = self.selection.choices[unit];
        match (&self.selection.cut, self.plan.schedule.capped.get(&unit)) {
            (Some(cut), _) if cut.unit == unit => Some(&cut.kept),
            (_, Some(capped)) if choice == Some(capped.piece) => Some(&capped.kept),
            _ => choice.and_then(|piece| layout_unit.form(piece)).map(|form| &form.kept),
        }
    }

    /// The citation of a unit, with the spans of the body that it shows.
    fn citation(&self, unit: usize) -> Citation {
        let layout_unit = &self.plan.layout.units[unit];
        let candidate = &layout_unit.ranked.candidate;
        let kept = self.kept_ranges(unit);
        let whole = std::iter::once(0..candidate.text.len()).collect();
        let kept = kept.unwrap_or(&whole);
        let spans = candidate.spans_of(kept);
        Citation {
            id: layout_unit.citation.clone(),
            candidate: candidate.id.clone(),
            spans,
            place: candidate.place_of(kept),
        }
    }

    /// Every candidate exactly once: by layer and rank, then those excluded up front.
    fn ledger(&self) -> Vec<Entry> {
        let Plan { request, layout, schedule, aside, .. } = self.plan;
        let last = schedule.last_steps(layout.units.len());
        let everything = self.tokens_of_all();
        let kept_out: BTreeMap<usize, &Reason> =
            schedule.kept_out.iter().map(|(unit, reason)| (*unit, reason)).collect();
        let displaced_by = self
            .selection
            .n_steps
            .and_then(|n| n.checked_sub(1))
            .map(|index| &layout.units[schedule.steps[index].unit].ranked.candidate.id);
        let tokens = |piece: &RenderedPiece| request.tokenizer.tokens(piece.units);
        let mut entries: Vec<Entry> = (0..layout.units.len())
            .map(|unit| {
                let layout_unit = &layout.units[unit];
                let layer = &request.layers[layout_unit.layer].0.name;
                let shown = self.shown_piece(unit);
                let outcome = self.outcome(unit, &kept_out, last[unit], everything);
                let mut entry = Entry::new(
                    layer,
                    layout_unit.ranked,
                    tokens(&layout.pieces[layout_unit.full]),
                    shown.map_or(Tokens::ZERO, |(piece, _)| tokens(piece)),
                    outcome,
                );
                if let Outcome::Out(Reason::OverBudget { .. } | Reason::FullEnough { .. }) =
                    entry.outcome
                {
                    entry.displaced_by = displaced_by.cloned();
                }
                entry
            })
            .collect();
        entries.extend(aside.iter().map(|(layer, ranked, reason)| {
            let outcome = Outcome::Out(reason.clone());
            let layer = &request.layers[*layer].0.name;
            Entry::new(layer, ranked, Tokens::ZERO, Tokens::ZERO, outcome)
        }));
        entries.extend(sorted(&request.dropped).into_iter().map(Entry::of_dropped));
        entries
    }

    fn outcome(
        &self,
        unit: usize,
        kept_out: &BTreeMap<usize, &Reason>,
        last: Option<usize>,
        everything: Tokens,
    ) -> Outcome {
        let Plan { request, layout, schedule, .. } = self.plan;
        let reserved = request.budget.reserved();
        // The exact selector's choice is only certain at a budget that fits everything.
        let greedy = request.selector == Selector::Greedy;
        let whole_from = last.map(|index| {
            reserved
                + if greedy { schedule.needs(index, request.active_stop()) } else { everything }
        });
        let layer = layout.units[unit].layer;
        let cap = request.layers[layer].0.cap.filter(|_| !greedy);
        match self.shown_piece(unit) {
            Some((_, None)) => Outcome::In,
            Some((_, Some(how))) => {
                // A layer's cap may stop a unit before it is whole.
                let is_cut = self.selection.cut.as_ref().is_some_and(|cut| cut.unit == unit);
                let may_grow = last.is_some_and(|index| {
                    is_cut || self.selection.choices[unit] != Some(schedule.steps[index].to)
                });
                Outcome::Cut { how, whole_from: whole_from.filter(|_| may_grow) }
            }
            None => Outcome::Out(match (kept_out.get(&unit), whole_from) {
                (Some(&reason), _) => reason.clone(),
                // The exact selector may fill a capped layer differently at any budget.
                (None, Some(_)) if cap.is_some() => Reason::OverCap {
                    cap: cap.unwrap_or_default(),
                    needs: layout
                        .pages
                        .iter()
                        .find(|page| page.layer == layer)
                        .map_or(Tokens::ZERO, |page| self.tokens_wanted(page)),
                },
                (None, Some(whole_from)) => {
                    let affordable =
                        last.is_some_and(|index| schedule.reaches(index) <= self.selection.limit);
                    match request.active_stop() {
                        Some(_) if affordable => Reason::FullEnough { whole_from },
                        _ => {
                            let least = greedy && request.tokenizer.seams_are_proved();
                            Reason::OverBudget { whole_from, least }
                        }
                    }
                }
                (None, None) => Reason::Empty,
            }),
        }
    }

    /// Tokens of a pack with all candidates whole: enough for any choice of the exact selector.
    fn tokens_of_all(&self) -> Tokens {
        let Plan { request, layout, .. } = self.plan;
        if request.selector == Selector::Greedy {
            return Tokens::MAX;
        }
        let all = layout.units.iter().map(|unit| Some(unit.full)).collect();
        let pieces = layout.sequence(&all);
        let pieces = pieces.iter().map(|&piece| &layout.pieces[piece]);
        request.tokenizer.tokens(units_of(&*request.tokenizer, pieces))
    }

    /// Tokens of a section with all its units whole.
    fn tokens_wanted(&self, page: &LayerPage) -> Tokens {
        let Plan { request, layout, .. } = self.plan;
        let units = |piece: usize| layout.pieces[piece].units;
        let of_unit = |&unit: &usize| {
            let unit = &layout.units[unit];
            units(unit.full) + units(unit.separator)
        };
        let first = page.units.first().map_or(0, |&unit| units(layout.units[unit].separator));
        let all = page.units.iter().map(of_unit).sum::<u64>() - first;
        request.tokenizer.tokens(units(page.header) + all + units(page.footer))
    }

    fn notices(&self, sections: &[Section], tokens: Tokens, limit: Tokens) -> Vec<PackNotice> {
        let Plan { request, layout, .. } = self.plan;
        let tokenizer = &*request.tokenizer;
        let mut notices = Vec::new();
        if tokenizer.accuracy() != Accuracy::Exact {
            notices.push(PackNotice::Estimated { tokenizer: tokenizer.name().to_owned() });
        }
        if tokens > limit {
            notices.push(PackNotice::OverBudget { tokens, limit });
        }
        for page in &layout.pages {
            let layer = &request.layers[page.layer].0;
            if layer.claim == Claim::Pinned || page.units.is_empty() {
                continue;
            }
            let wanted = self.tokens_wanted(page);
            let section = sections.iter().find(|section| section.layer == layer.name);
            let given = section.map_or(Tokens::ZERO, |section| section.tokens);
            if wanted.saturating_sub(given) > TRUNCATED.of(wanted) {
                notices.push(PackNotice::Truncated { layer: layer.name.clone(), wanted, given });
            }
        }
        notices
    }
}

/// Splits shown text into spans of the body and the text between them.
fn segments(candidate: &Candidate, kept: &[Range<usize>], shown: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let words = |from: usize, to: usize, segments: &mut Vec<Segment>| {
        if from < to {
            segments.push(Segment::Words(shown[from..to].to_owned()));
        }
    };
    let mut at = 0;
    for range in kept {
        // Kept ranges occur verbatim in the shown text, in order.
        let Some(start) = shown[at..].find(&candidate.text[range.clone()]).map(|skip| at + skip)
        else {
            continue;
        };
        for quote in &candidate.quotes {
            let from = quote.range.start.max(range.start);
            let to = quote.range.end.min(range.end);
            if from < to {
                words(at, start + from - range.start, &mut segments);
                let body = quote.start + from - quote.range.start;
                segments.extend(Span::recorded(body, body + to - from).map(Segment::Body));
                at = start + to - range.start;
            }
        }
    }
    words(at, shown.len(), &mut segments);
    segments
}
