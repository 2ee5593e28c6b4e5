//! Layout: every piece of text that a pack may contain, rendered and counted once, in final order.
//!
//! The order of pieces does not depend on the selection, so selecting only means omitting pieces.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use super::citation::{assign, one_line, page_label, source_label};
use super::fence::{Fencing, Nonce, escape, without_citations, without_forged_lines};
use super::growth::{Extract, Growth, StepWorth};
use super::template::Variable;
use crate::cancel::Cancelled;
use crate::candidate::{Candidate, Place};
use crate::ids::CandidateId;
use crate::item::Trust;
use crate::layer::{Arrangement, Claim, Layer, Order};
use crate::pack::PackRequest;
use crate::rank::Ranked;
use crate::select::RenderedPiece;
use crate::text::clean::without_control_tokens;
use crate::text::tokenizer::{Counted, Tokenizer};
use crate::units::Score;

/// A candidate as rendered for the pack. Numbers are indices of pieces.
/// All pieces, units and sections of a request.
#[derive(Debug)]
pub(crate) struct LayoutUnit<'r> {
    pub(crate) layer: usize,
    pub(crate) ranked: &'r Ranked,
    pub(crate) citation: String,
    pub(crate) separator: usize,
    pub(crate) full: usize,
    pub(crate) essential: Option<usize>,
    /// The partial forms of the text, smallest first.
    pub(crate) forms: Vec<PartialForm>,
    /// The value of the step from the last partial form to the whole text.
    pub(crate) last: StepWorth,
    pub(crate) is_fenced: bool,
}

impl LayoutUnit<'_> {
    /// The partial form that a piece renders.
    pub(crate) fn form(&self, piece: usize) -> Option<&PartialForm> {
        self.forms.iter().find(|form| form.piece == piece)
    }
}

/// A partial form of a unit's text: some of its blocks.
#[derive(Debug)]
pub(crate) struct PartialForm {
    pub(crate) piece: usize,
    /// The kept byte ranges of the text.
    pub(crate) kept: Vec<Range<usize>>,
    /// How many growth purchases it contains.
    pub(crate) n_purchases: usize,
    pub(crate) worth: StepWorth,
}

/// The rendered section of a layer.
#[derive(Debug)]
pub(crate) struct LayerPage {
    pub(crate) layer: usize,
    pub(crate) header: usize,
    pub(crate) footer: usize,
    /// Header, text and footer of the empty section, if an empty section is shown.
    pub(crate) note: Option<[usize; 3]>,
    /// Units, in order.
    pub(crate) units: Vec<usize>,
}

/// The selected piece of each unit, if any.
pub(crate) type Choices = Vec<Option<usize>>;

#[derive(Debug)]
pub(crate) struct Layout<'r> {
    pub(crate) pieces: Vec<RenderedPiece>,
    pub(crate) units: Vec<LayoutUnit<'r>>,
    /// Sections, in order.
    pub(crate) pages: Vec<LayerPage>,
    /// The note on fences; shown only when something is fenced.
    pub(crate) preamble: usize,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) nonce: Option<Nonce>,
    /// All citations, so that no text can contain another's.
    citations: BTreeSet<String>,
}

impl<'r> Layout<'r> {
    /// Renders and counts everything. `ranked` holds each layer's candidates, best first.
    /// Precomputed counts are used only with `trust_counts`.
    ///
    /// # Errors
    /// When the request is cancelled.
    pub(crate) fn new(
        request: &'r PackRequest,
        ranked: &[Vec<&'r Ranked>],
        trust_counts: bool,
    ) -> Result<Layout<'r>, Cancelled> {
        let nonce = choose_nonce(request, ranked);
        let all: Vec<_> = ranked.iter().flatten().map(|ranked| &ranked.candidate).collect();
        let mut citations = assign(&all).into_iter();
        let citations: Vec<Vec<String>> =
            ranked.iter().map(|layer| citations.by_ref().take(layer.len()).collect()).collect();
        let mut layout = Layout {
            pieces: Vec::new(),
            units: Vec::new(),
            pages: Vec::new(),
            preamble: 0,
            before: 0,
            after: 0,
            nonce,
            citations: citations.iter().flatten().cloned().collect(),
        };
        let tokenizer = &*request.tokenizer;
        let preamble = layout.nonce.as_ref().map_or_else(String::new, Nonce::preamble);
        layout.preamble = layout.add(RenderedPiece::new(tokenizer, preamble));
        let before = render_frame(&request.frame.before, request, "");
        layout.before = layout.add(RenderedPiece::new(tokenizer, before));
        let mut order: Vec<usize> = (0..request.layers.len()).collect();
        order.sort_by_key(|&layer| request.layers[layer].0.stability);
        for layer in order {
            layout.add_page(request, layer, &ranked[layer], &citations[layer], trust_counts)?;
        }
        let after = render_frame(&request.frame.after, request, "");
        layout.after = layout.add(RenderedPiece::new(tokenizer, after));
        Ok(layout)
    }

    fn add(&mut self, piece: RenderedPiece) -> usize {
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    fn add_page(
        &mut self,
        request: &'r PackRequest,
        index: usize,
        ranked: &[&'r Ranked],
        citations: &[String],
        trust_counts: bool,
    ) -> Result<(), Cancelled> {
        let (layer, _) = &request.layers[index];
        let tokenizer = &*request.tokenizer;
        let template = &layer.template;
        let header = render_frame(&template.header, request, &layer.title);
        let footer = render_frame(&template.footer, request, &layer.title);
        let note = template.empty.clone().map(|text| {
            [header.clone(), text, footer.clone()]
                .map(|text| self.add(RenderedPiece::new(tokenizer, text)))
        });
        let (header, footer) = self.fence_section(request, layer, ranked, (header, footer));
        let [header, footer] =
            [header, footer].map(|text| self.add(RenderedPiece::new(tokenizer, text)));
        let separator = RenderedPiece::new(tokenizer, template.separator.clone());
        let units = arrange(layer, ranked, request);
        let first = self.units.len();
        let all_citations = std::mem::take(&mut self.citations);
        for (&ranked, citation) in ranked.iter().zip(citations) {
            request.cancel.check()?;
            let citation = citation.clone();
            let fencing = request.fencing_of(layer);
            let nonce = self.nonce.clone().filter(|_| fencing.covers(ranked.candidate.trust));
            let wrap = UnitRenderer {
                layer,
                ranked,
                citation: &citation,
                citations: &all_citations,
                nonce: nonce.as_ref(),
                fencing,
            };
            let candidate = &ranked.candidate;
            let separator = self.add(separator.clone());
            // Without proved seams, the counts of parts do not add up.
            let adds_up = trust_counts && tokenizer.seams_are_proved();
            let known = if adds_up { &*candidate.counted } else { &[] };
            let full = self.add(wrap.piece(tokenizer, &candidate.text, known));
            let essential = candidate
                .essential
                .as_ref()
                .filter(|essential| !essential.text.trim().is_empty())
                .map(|essential| self.add(wrap.piece(tokenizer, &essential.text, &[])));
            let score = ranked.score.get().clamp(0.0, 1e9);
            let (extracts, last) = match layer.order {
                Order::Blocks => Growth::from_candidate(candidate).forms(score),
                _ => (Vec::new(), StepWorth { merit: score, share: 1.0 }),
            };
            let forms = extracts.into_iter().map(|extract| {
                let known = extract.counted(known);
                let Extract { text, kept, n_purchases, worth, .. } = extract;
                let piece = self.add(wrap.piece(tokenizer, &text, &known));
                PartialForm { piece, kept, n_purchases, worth }
            });
            let forms = forms.collect();
            let is_fenced = nonce.is_some();
            self.units.push(LayoutUnit {
                layer: index,
                ranked,
                citation,
                separator,
                full,
                essential,
                forms,
                last,
                is_fenced,
            });
        }
        self.citations = all_citations;
        let units = units.into_iter().map(|unit| first + unit).collect();
        self.pages.push(LayerPage { layer: index, header, footer, note, units });
        Ok(())
    }

    /// Adds the fence around a whole section to its header and footer, where sections are fenced.
    fn fence_section(
        &self,
        request: &PackRequest,
        layer: &Layer,
        ranked: &[&Ranked],
        (mut header, footer): (String, String),
    ) -> (String, String) {
        let least = ranked.iter().map(|ranked| ranked.candidate.trust).min();
        let fencing = request.fencing_of(layer);
        match (&self.nonce, least) {
            (Some(nonce), Some(trust)) if fencing == Fencing::Sections && fencing.covers(trust) => {
                nonce.open(&one_line(&layer.name).replace(' ', "-"), trust, &mut header);
                let mut close = String::new();
                nonce.close(&mut close);
                (header, close + &footer)
            }
            _ => (header, footer),
        }
    }

    /// Renders a unit with different content, such as a truncated text.
    pub(crate) fn render(
        &self,
        request: &PackRequest,
        unit: usize,
        content: &str,
    ) -> RenderedPiece {
        let LayoutUnit { layer, ranked, citation, .. } = &self.units[unit];
        let layer = &request.layers[*layer].0;
        let fencing = request.fencing_of(layer);
        let nonce = self.nonce.as_ref().filter(|_| fencing.covers(ranked.candidate.trust));
        let citations = &self.citations;
        let wrap = UnitRenderer { layer, ranked, citation, citations, nonce, fencing };
        wrap.piece(&*request.tokenizer, content, &[])
    }

    /// The pieces of one section, in order.
    pub(crate) fn page_sequence(&self, page: &LayerPage, choices: &Choices) -> Vec<usize> {
        let chosen: Vec<(usize, usize)> = page
            .units
            .iter()
            .filter_map(|&unit| choices[unit].map(|piece| (unit, piece)))
            .collect();
        let mut sequence = Vec::with_capacity(2 * chosen.len() + 2);
        match (chosen.is_empty(), page.note) {
            (true, None) => {}
            (true, Some(note)) => sequence.extend(note),
            (false, _) => {
                sequence.push(page.header);
                for (index, (unit, piece)) in chosen.into_iter().enumerate() {
                    if index > 0 {
                        sequence.push(self.units[unit].separator);
                    }
                    sequence.push(piece);
                }
                sequence.push(page.footer);
            }
        }
        sequence
    }

    /// All pieces of a pack, in order.
    pub(crate) fn sequence(&self, choices: &Choices) -> Vec<usize> {
        let mut chosen = self.units.iter().zip(choices);
        let is_fenced = chosen.any(|(unit, choice)| unit.is_fenced && choice.is_some());
        let first = self.first_fenced_page();
        let mut sequence = Vec::new();
        sequence.extend((is_fenced && first == 0).then_some(self.preamble));
        sequence.push(self.before);
        for (index, page) in self.pages.iter().enumerate() {
            sequence.extend((is_fenced && first == index && index > 0).then_some(self.preamble));
            sequence.extend(self.page_sequence(page, choices));
        }
        sequence.push(self.after);
        sequence
    }

    /// The first section that can contain a fence. The note on fences comes right before it, so
    /// that it does not apply to the operator's own text above.
    pub(crate) fn first_fenced_page(&self) -> usize {
        let holds = |page: &LayerPage| page.units.iter().any(|&unit| self.units[unit].is_fenced);
        self.pages.iter().position(holds).unwrap_or(0)
    }

    /// The choices of a pack with pinned units only.
    pub(crate) fn pinned_choices(&self, request: &PackRequest) -> Choices {
        let is_pinned = |layer: usize| request.layers[layer].0.claim == Claim::Pinned;
        self.units.iter().map(|unit| is_pinned(unit.layer).then_some(unit.full)).collect()
    }
}

fn render_frame(pattern: &super::Pattern, request: &PackRequest, title: &str) -> String {
    let mut out = String::new();
    pattern.render(&mut out, &mut |variable, out| match variable {
        Variable::Query => out.push_str(&request.query),
        Variable::Section => out.push_str(title),
        _ => {}
    });
    out
}

/// The nonce of the previous pack if it is still safe, else the first safe one of the seed. A nonce
/// is safe when it occurs in no text that the pack could contain.
fn choose_nonce(request: &PackRequest, ranked: &[Vec<&Ranked>]) -> Option<Nonce> {
    let mut layers = request.layers.iter().zip(ranked);
    let is_fenced = layers.any(|((layer, _), ranked)| {
        let fencing = request.fencing_of(layer);
        ranked.iter().any(|ranked| fencing.covers(ranked.candidate.trust))
    });
    if !is_fenced {
        return None;
    }
    let mut frames: Vec<String> =
        vec![request.query.clone(), request.frame.before.source(), request.frame.after.source()];
    for (layer, _) in &request.layers {
        frames.push(layer.title.clone());
        frames.extend(layer.template.sources());
    }
    let texts = ranked.iter().flatten().flat_map(|ranked| {
        let candidate = &ranked.candidate;
        let place = &candidate.place;
        let names = place.title.iter().chain(&place.path).chain(&place.speaker);
        let names = names.chain(&place.breadcrumb);
        [&*candidate.text, candidate.id.item.as_str(), candidate.kind.as_str()]
            .into_iter()
            .chain(candidate.essential.iter().map(|essential| &*essential.text))
            .chain(names.map(String::as_str))
    });
    let texts = texts.chain(frames.iter().map(String::as_str));
    let earlier = request.previous.as_ref().and_then(|previous| previous.nonce.clone());
    match earlier {
        Some(nonce) if !texts.clone().any(|text| text.contains(nonce.as_str())) => Some(nonce),
        _ => Some(Nonce::choose(&request.seed, &texts)),
    }
}

/// The order of a layer's candidates: those of the previous pack in their previous order, then the
/// others by the layer's arrangement.
fn arrange(layer: &Layer, ranked: &[&Ranked], request: &PackRequest) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    let moment = |index: usize| ranked[index].candidate.moment.map(|moment| moment.as_millis());
    match layer.arrangement {
        Arrangement::Ranked => {}
        Arrangement::Found => order.sort_by_key(|&index| {
            ranked[index].candidate.found.first().map_or(u32::MAX, |found| found.rank)
        }),
        Arrangement::Newest => order.sort_by_key(|&index| {
            (moment(index).is_none(), std::cmp::Reverse(moment(index)), index)
        }),
        Arrangement::Oldest => {
            order.sort_by_key(|&index| (moment(index).is_none(), moment(index), index));
        }
        Arrangement::Edges => {
            let (front, back): (Vec<usize>, Vec<usize>) =
                order.into_iter().partition(|index| index % 2 == 0);
            order = front.into_iter().chain(back.into_iter().rev()).collect();
        }
    }
    if let Some(previous) = &request.previous {
        let stood: BTreeMap<&CandidateId, usize> = previous
            .order
            .iter()
            .enumerate()
            .filter(|(_, shown)| shown.layer == layer.name)
            .map(|(place, shown)| (&shown.id, place))
            .collect();
        // The sort is stable, so new candidates keep their arrangement after the previous ones.
        order.sort_by_key(|&index| {
            stood.get(&ranked[index].candidate.id).copied().unwrap_or(usize::MAX)
        });
    }
    order
}

/// Texts up to this length are shown whole, so a title that they contain is not repeated.
const SHORT_BYTES: usize = 600;

/// A candidate's title, unless its text contains it.
fn title_not_in_text(candidate: &Candidate) -> Option<&str> {
    let title =
        candidate.place.title.as_deref().map(str::trim).filter(|title| !title.is_empty())?;
    let says_it = || candidate.text.to_lowercase().contains(&title.to_lowercase());
    (candidate.text.len() > SHORT_BYTES || !says_it()).then_some(title)
}

/// Whether a place has any name besides the id.
fn has_name(place: &Place) -> bool {
    place.title.is_some()
        || place.path.is_some()
        || !place.breadcrumb.is_empty()
        || place.lines.is_some()
}

/// Whether a text begins with a table, a code block or a heading, which need their own line.
fn starts_a_block(text: &str) -> bool {
    ["|", "```", "~~~", "# ", "## ", "### ", "#### "].iter().any(|mark| text.starts_with(mark))
}

/// Renders a unit: template, citation and fence around its content.
struct UnitRenderer<'w> {
    layer: &'w Layer,
    ranked: &'w Ranked,
    citation: &'w str,
    citations: &'w BTreeSet<String>,
    nonce: Option<&'w Nonce>,
    fencing: Fencing,
}

impl UnitRenderer<'_> {
    /// The rendered unit. `known` holds precomputed counts of parts of the content.
    fn piece(&self, tokenizer: &dyn Tokenizer, content: &str, known: &[Counted]) -> RenderedPiece {
        let content = self.defuse(content.trim_end());
        let known = if matches!(content, Cow::Borrowed(_)) { known } else { &[] };
        let (inner, at) = self.render_template(&content);
        let (text, at) = match self.nonce {
            None => (inner, Some(at)),
            Some(nonce) => {
                let alone = self.fencing != Fencing::Sections;
                let mut text = String::with_capacity(inner.len() + 80);
                if alone {
                    nonce.open(self.citation, self.ranked.candidate.trust, &mut text);
                }
                let shift = text.len();
                let escaped = escape(&inner);
                let unchanged = escaped.len() == inner.len();
                text.push_str(&escaped);
                if alone {
                    nonce.close(&mut text);
                }
                (text, unchanged.then(|| at.start + shift..at.end + shift))
            }
        };
        let Some(at) = at else { return RenderedPiece::new(tokenizer, text) };
        // At the ends a part has a different neighbour than when it was counted.
        let inside = |part: &&Counted| part.range.start > 0 && part.range.end < at.len();
        let known = known.iter().filter(inside).map(|part| {
            let range = part.range.start + at.start..part.range.end + at.start;
            Counted { range, units: part.units }
        });
        RenderedPiece::with_known(tokenizer, text, known)
    }

    /// The content with text that could pass for another unit defused.
    fn defuse<'t>(&self, content: &'t str) -> Cow<'t, str> {
        if self.ranked.candidate.trust == Trust::Trusted {
            return Cow::Borrowed(content);
        }
        let content = without_citations(content, self.citation, self.citations);
        if self.fencing != Fencing::Lines {
            return content;
        }
        let start = self.layer.template.item.literal_start();
        let indented = match without_forged_lines(&content, start) {
            Cow::Borrowed(_) => None,
            Cow::Owned(indented) => Some(indented),
        };
        indented.map_or(content, Cow::Owned)
    }

    /// The unit as its template renders it, and the range of the content in it.
    fn render_template(&self, content: &str) -> (String, Range<usize>) {
        let mut out = String::with_capacity(content.len() + 64);
        let mut at = 0..0;
        let has_name = has_name(&self.ranked.candidate.place);
        let mut names_source = false;
        self.layer.template.item.render(&mut out, &mut |variable, out| {
            names_source |= variable == Variable::Source;
            if variable == Variable::Content {
                if starts_a_block(content) && !out.ends_with('\n') && !out.is_empty() {
                    out.truncate(out.trim_end().len());
                    out.push('\n');
                } else if names_source && !has_name && out.ends_with(" \n") {
                    // Without a name, no line for it is needed.
                    out.pop();
                }
                at = out.len()..out.len() + content.len();
                out.push_str(content);
                if let Some(note) = &self.ranked.candidate.place.note {
                    let _ = write!(out, " ({})", one_line(note));
                }
            } else {
                self.write_variable(variable, out);
            }
        });
        (out, at)
    }

    fn write_variable(&self, variable: Variable, out: &mut String) {
        let candidate = &self.ranked.candidate;
        let place = &candidate.place;
        let mut line = |text: &str| {
            let text = one_line(text);
            out.push_str(without_control_tokens(&text).as_deref().unwrap_or(&text));
        };
        match variable {
            Variable::Type => line(place.subtype.as_deref().unwrap_or(candidate.kind.as_str())),
            Variable::Id => line(&candidate.id.to_string()),
            Variable::Path => line(place.path.as_deref().unwrap_or_default()),
            // Without ancestors, the title is used.
            Variable::Breadcrumb if !place.breadcrumb.is_empty() => {
                line(&place.breadcrumb.join(" › "));
            }
            Variable::Title | Variable::Breadcrumb => {
                let title = place.title.as_deref().or(place.path.as_deref());
                line(title.unwrap_or(candidate.id.item.as_str()));
            }
            Variable::Label => {
                if let Some(label) = title_not_in_text(candidate) {
                    line(label);
                    out.push_str(": ");
                }
            }
            Variable::Speaker => {
                if let Some(speaker) = &place.speaker {
                    line(speaker);
                    out.push_str(": ");
                }
            }
            // An id means nothing to readers, and the citation identifies the item.
            Variable::Source if !has_name(place) => {}
            Variable::Source => line(&source_label(place, &candidate.id)),
            Variable::Trust => line(&candidate.trust.to_string()),
            Variable::Citation => {
                let _ = write!(out, "[{}]", self.citation);
            }
            Variable::Score => {
                let score = candidate.signals.similarity().unwrap_or(self.ranked.score);
                let _ = write!(out, "{:.2}", Score::unit(score.get()).get());
            }
            Variable::Confidence => match candidate.confidence {
                Some(confidence) => {
                    let _ = write!(out, "{:.2}", confidence.get());
                }
                None => out.push_str("unknown"),
            },
            Variable::Timestamp => match candidate.moment {
                Some(moment) => {
                    let _ = write!(out, "{moment}");
                }
                None => out.push_str("unknown"),
            },
            Variable::Lines => {
                if let Some(pages) = place.pages() {
                    out.push_str(&page_label(place.path.as_deref(), pages));
                } else if let Some(lines) = &place.lines {
                    let _ = write!(out, "{}–{}", lines.start, lines.end.saturating_sub(1));
                }
            }
            Variable::Content
            | Variable::Section
            | Variable::Query
            | Variable::Open
            | Variable::Close => {}
        }
    }
}
