//! Joins the passages of an item into one candidate: a document under one title, in its own order,
//! that is bought block by block.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use haversack_core::candidate::{Block, Candidate, Quote};
use haversack_core::embed::{PieceId, TextFeatures};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Order as PaymentOrder;
use haversack_core::ledger::{Dropped, Reason};
use haversack_core::pack::Previous;
use haversack_core::rank::{Ranked, sort};
use haversack_core::text::blocks::{BlockKind, blocks};
use haversack_core::text::tokenizer::Counted;
use haversack_core::units::{Score, Span};
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;

use super::carry::{
    previous_candidates, raise_carried_scores, restore_previous_parts, take_excess_carried,
};
use super::cleaning::clean_all;
use super::interaction::Interaction;
use super::openings::{FenceState, heading_line, leftover_len, table_headers};
use super::ranking::RankedLayers;
use crate::collect::candidate_from_passage;
use crate::notice::Notice;
use crate::recipe::LayerSpec;

/// How many of a layer's best passages get their neighbours read: an answer may begin in one
/// passage and end in the next.
const COMPLETED_MAX: usize = 24;

/// Penalty of a neighbouring passage that was not found itself.
const NEIGHBOUR_PENALTY: f64 = 0.2;

/// Further penalty for each passage in between.
const DISTANCE_PENALTY: f64 = 0.03;

/// How many of the best passages get their whole document read if it is short, and how many chunks
/// a short document has.
const WHOLE_DOCUMENTS_MAX: usize = 12;
const SHORT_DOCUMENT_CHUNKS: u32 = 8;

/// Penalty factor of a block that matches the query less than the best block of its passage.
const WEAKER_BLOCK_PENALTY: f64 = 0.8;

/// Penalty of a listing that repeats the one before it.
const REPEAT_PENALTY: f64 = 0.5;

/// Penalty of a block of imports, navigation and the like.
const CLUTTER_PENALTY: f64 = 0.4;

/// Separates passages of one section where text is omitted.
const GAP: &str = "\n\n…\n\n";

/// Joins the passages of layers that are bought by blocks into documents. Returns notices about
/// hidden characters in passages that are read here.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn make_documents(
    snapshot: &dyn Snapshot,
    interaction: &mut Interaction<'_>,
    specs: &[LayerSpec],
    RankedLayers { layers, dropped }: &mut RankedLayers,
    (previous, exclude): (Option<&Previous>, &[ItemId]),
) -> Result<Vec<Notice>, ReadError> {
    let mut notices = Vec::new();
    let in_blocks = |(spec, _): &(&LayerSpec, _)| spec.order == PaymentOrder::Blocks;
    for (spec, layer) in specs.iter().zip(layers).filter(in_blocks) {
        let (beside, notice) = read_neighbouring_passages(snapshot, layer).await?;
        let all = layer.iter().chain(beside.iter().map(|part| &part.ranked));
        let headers = table_headers(snapshot, all.map(|ranked| &ranked.candidate)).await?;
        notices.extend(notice);
        let mut groups: BTreeMap<ItemId, Vec<DocumentPart>> = BTreeMap::new();
        for ranked in std::mem::take(layer) {
            let item = ranked.candidate.id.item.clone();
            groups.entry(item).or_default().push(DocumentPart { ranked, was_found: true });
        }
        for part in beside {
            let item = part.ranked.candidate.id.item.clone();
            groups.entry(item).or_default().push(part);
        }
        let documents = groups
            .into_values()
            .filter_map(|parts| make_document(interaction, parts, DocumentText::new(&headers)));
        layer.extend(documents);
        sort(layer);
        if let Some(previous) = previous {
            let mut carried = vec![previous_candidates(snapshot, previous, &spec.name).await?];
            // An item that the request excludes now is not carried over (W9).
            carried[0].retain(|candidate| !exclude.contains(&candidate.id.item));
            notices.extend(clean_all(&mut carried));
            restore_previous_parts(layer, carried.pop().unwrap_or_default());
            raise_carried_scores(previous, &spec.name, layer);
            let (over, limit) = take_excess_carried(previous, &spec.name, layer);
            let reason = Reason::OverLimit { limit };
            dropped.extend(over.into_iter().map(|ranked| Dropped {
                layer: spec.name.as_str().into(),
                ranked,
                reason: reason.clone(),
            }));
        }
    }
    Ok(notices)
}

/// A passage of a document.
struct DocumentPart {
    ranked: Ranked,
    /// Whether it was found, or is a neighbour of one that was.
    was_found: bool,
}

/// Reads the neighbours of a layer's best passages that were not found themselves.
async fn read_neighbouring_passages(
    snapshot: &dyn Snapshot,
    layer: &[Ranked],
) -> Result<(Vec<DocumentPart>, Option<Notice>), ReadError> {
    let found: BTreeSet<&CandidateId> = layer.iter().map(|ranked| &ranked.candidate.id).collect();
    // The score of each, and whether it is directly beside a found passage.
    let mut wanted: BTreeMap<CandidateId, (Score, bool)> = BTreeMap::new();
    for (place, ranked) in layer.iter().take(COMPLETED_MAX).enumerate() {
        let CandidateId { item, chunk: Some(chunk) } = &ranked.candidate.id else { continue };
        let near = chunk.saturating_sub(1)..=chunk.saturating_add(1);
        // Of the best, as many as a short document has, and one more to see whether it is short.
        let is_wanted_whole = place < WHOLE_DOCUMENTS_MAX && *chunk < SHORT_DOCUMENT_CHUNKS;
        let all = is_wanted_whole.then_some(0..=SHORT_DOCUMENT_CHUNKS).into_iter().flatten();
        for beside in near.clone().chain(all) {
            let id = CandidateId::chunk(item.clone(), beside);
            if !found.contains(&id) {
                let far = f64::from(beside.abs_diff(*chunk).saturating_sub(1)) * DISTANCE_PENALTY;
                let worth = ranked.score.get() - NEIGHBOUR_PENALTY - far;
                let worth = Score::new(worth).unwrap_or(Score::ZERO);
                let known = wanted.entry(id).or_insert((worth, false));
                *known = (known.0.max(worth), known.1 || near.contains(&beside));
            }
        }
    }
    if wanted.is_empty() {
        return Ok((Vec::new(), None));
    }
    let (ids, worth): (Vec<CandidateId>, Vec<(Score, bool)>) = wanted.into_iter().unzip();
    let passages = snapshot.passages(&ids).await?;
    let is_long = |id: &&CandidateId| id.chunk.is_some_and(|chunk| chunk >= SHORT_DOCUMENT_CHUNKS);
    let there = ids.iter().zip(&passages).filter(|(_, passage)| passage.is_some());
    let there = there.map(|(id, _)| id).chain(found.iter().copied());
    let long: BTreeSet<&ItemId> = there.filter(is_long).map(|id| &id.item).collect();
    // The beginning of a long document is no more relevant than any other part.
    let belongs =
        |(id, (_, is_near)): &(&CandidateId, (Score, bool))| *is_near || !long.contains(&id.item);
    let passages = ids.iter().zip(worth).zip(passages).filter(|(place, _)| belongs(place));
    let (candidates, scores): (Vec<Candidate>, Vec<Score>) = passages
        .filter_map(|((_, (score, _)), passage)| Some((candidate_from_passage(&passage?), score)))
        .unzip();
    let mut candidates = vec![candidates];
    // Collected candidates are clean already.
    let notice = clean_all(&mut candidates);
    let parts = candidates.into_iter().flatten().zip(scores).map(|(candidate, score)| {
        DocumentPart { ranked: Ranked { candidate, score, parts: Vec::new() }, was_found: false }
    });
    Ok((parts.collect(), notice))
}

/// Joins the passages of an item into one candidate.
fn make_document(
    interaction: &mut Interaction<'_>,
    mut parts: Vec<DocumentPart>,
    mut text: DocumentText<'_>,
) -> Option<Ranked> {
    // Where the whole item was found, its passages only show which parts score highest.
    let whole = parts.iter().position(|part| part.ranked.candidate.id.chunk.is_none());
    let scores: Vec<(Range<usize>, Score)> = match whole {
        Some(whole) => {
            let candidate = &parts[whole].ranked.candidate;
            text.text = candidate.text.to_string();
            let features = interaction.features_of(candidate);
            text.add_blocks(interaction, 0, &[(0, &candidate.text, features)]);
            text.quotes = verbatim_quote(candidate).into_iter().collect();
            let quote = text.quotes.first().cloned();
            let scored = parts.iter().filter(|part| part.was_found).map(|part| {
                let span = part.ranked.candidate.span;
                let range = match (&quote, part.ranked.candidate.id.chunk) {
                    (Some(quote), Some(_)) => {
                        let shift =
                            |at: usize| (at + quote.range.start).saturating_sub(quote.start);
                        shift(span.start())..shift(span.end())
                    }
                    _ => 0..text.text.len(),
                };
                (range, part.ranked.score)
            });
            scored.collect()
        }
        None => {
            parts.sort_by_key(|part| part.ranked.candidate.id.chunk);
            text.join_passages(interaction, &parts)
        }
    };
    let best = best_found(&parts)?;
    let others: Vec<Candidate> = parts
        .iter()
        .enumerate()
        .filter(|(at, part)| *at != best && part.was_found)
        .map(|(_, part)| part.ranked.candidate.clone())
        .collect();
    let n_parts = parts.len();
    let Ranked { mut candidate, score, parts } = parts.swap_remove(best).ranked;
    let title = interaction.match_title(&candidate);
    let blocks = text.score_blocks(interaction, title.as_ref(), &scores);
    candidate.id = CandidateId::whole(candidate.id.item);
    for other in others {
        candidate.found.extend(other.found);
        candidate.trust = candidate.trust.min(other.trust);
        candidate.is_requested |= other.is_requested;
        candidate.essential = candidate.essential.or(other.essential);
    }
    candidate.found.sort_by(|a, b| a.collector.cmp(&b.collector).then(a.rank.cmp(&b.rank)));
    candidate.found.dedup_by(|later, first| later.collector == first.collector);
    if n_parts > 1 || whole.is_none() {
        // The text has the headings, and line numbers would be those of one passage.
        candidate.place.breadcrumb.clear();
        candidate.place.lines = None;
        let ends = text.quotes.first().zip(text.quotes.last());
        let span = ends
            .and_then(|(first, last)| Span::recorded(first.start, last.start + last.range.len()));
        candidate.span = span.unwrap_or(candidate.span);
    }
    candidate.quotes = text.quotes;
    candidate.blocks = blocks;
    candidate.set_text(text.text);
    candidate.counted = text.counted.into();
    Some(Ranked { candidate, score, parts })
}

/// Returns the best found passage; ties go to the first id.
fn best_found(parts: &[DocumentPart]) -> Option<usize> {
    let found = (0..parts.len()).filter(|&at| parts[at].was_found);
    found.max_by(|&a, &b| {
        let (a, b) = (&parts[a].ranked, &parts[b].ranked);
        a.score.cmp(&b.score).then_with(|| b.candidate.id.cmp(&a.candidate.id))
    })
}

/// Returns the quote of a text that is exactly the body's bytes.
fn verbatim_quote(candidate: &Candidate) -> Option<Quote> {
    (candidate.span.len() == candidate.text.len()).then(|| Quote {
        range: 0..candidate.text.len(),
        start: candidate.span.start(),
        line: 1,
    })
}

/// A document's text while it is being built.
struct DocumentText<'h> {
    /// The headers of tables that passages begin in the middle of.
    headers: &'h BTreeMap<CandidateId, String>,
    text: String,
    quotes: Vec<Quote>,
    counted: Vec<Counted>,
    blocks: Vec<PlacedBlock>,
}

/// A block with the features of its source text, and its number there.
struct PlacedBlock {
    range: Range<usize>,
    kind: BlockKind,
    under: Option<usize>,
    is_clutter: bool,
    features: Arc<TextFeatures>,
    /// None when it is the whole text.
    number: Option<usize>,
}

impl PlacedBlock {
    fn pieces(&self) -> &[PieceId] {
        self.number.map_or(self.features.pieces(), |number| self.features.pieces_of(number))
    }
}

impl<'h> DocumentText<'h> {
    fn new(headers: &'h BTreeMap<CandidateId, String>) -> DocumentText<'h> {
        let (text, quotes, counted, blocks) = Default::default();
        DocumentText { headers, text, quotes, counted, blocks }
    }

    /// Joins passages, and returns the range and score of each.
    fn join_passages(
        &mut self,
        interaction: &Interaction<'_>,
        parts: &[DocumentPart],
    ) -> Vec<(Range<usize>, Score)> {
        let mut scores = Vec::new();
        let mut section: Option<(Vec<String>, Option<usize>)> = None;
        let mut next = 0;
        while next < parts.len() {
            let end = run_end(parts, next);
            let run = trim_leading_leftovers(&parts[next..end]);
            if run.is_empty() {
                next = end;
                continue;
            }
            let headings = headings_of(run);
            let same = section.as_ref().filter(|(known, _)| *known == headings);
            if !self.text.is_empty() {
                self.end_with_separator(if same.is_some() { GAP } else { "\n\n" });
            }
            let under = same.and_then(|(_, heading)| *heading);
            let is_named = same.is_some();
            let first = self.blocks.len();
            self.add_run(interaction, run, &headings, is_named, &mut scores);
            for at in first..self.blocks.len() {
                if self.blocks[at].under.is_none() {
                    self.blocks[at].under = self.heading_above(under, self.blocks[at].kind);
                }
            }
            section = Some((headings_of(&run[run.len() - 1..]), self.heading_in_force()));
            next = end;
        }
        scores
    }

    /// Appends a separator to the last block.
    fn end_with_separator(&mut self, with: &str) {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.text.push_str(with);
        if let Some(last) = self.blocks.last_mut() {
            last.range.end = self.text.len();
        }
    }

    /// Returns the nearest heading, from one upwards, that can contain a block of this kind.
    fn heading_above(&self, mut heading: Option<usize>, kind: BlockKind) -> Option<usize> {
        let level = |kind: BlockKind| match kind {
            BlockKind::Heading(level) => level,
            _ => u8::MAX,
        };
        while let Some(at) = heading.filter(|&at| level(self.blocks[at].kind) >= level(kind)) {
            heading = self.blocks[at].under;
        }
        heading
    }

    /// Returns the heading of the last block.
    fn heading_in_force(&self) -> Option<usize> {
        let mut at = self.blocks.len().checked_sub(1);
        while let Some(block) = at.map(|at| &self.blocks[at]) {
            if matches!(block.kind, BlockKind::Heading(_)) {
                return at;
            }
            at = block.under;
        }
        None
    }

    /// Adds consecutive passages under their headings.
    fn add_run(
        &mut self,
        interaction: &Interaction<'_>,
        run: &[DocumentPart],
        headings: &[String],
        is_named: bool,
        scores: &mut Vec<(Range<usize>, Score)>,
    ) {
        let base = self.text.len();
        let candidate = &run[0].ranked.candidate;
        let mut leftover = leftover_len(&candidate.text);
        let title = candidate.place.title.as_deref().unwrap_or_default();
        let own = &candidate.text[leftover..];
        if !is_named && let Some(line) = heading_line(own, headings, title) {
            self.text.push_str(&line);
        }
        let fences = FenceState::from_texts(run.iter().map(|part| &*part.ranked.candidate.text));
        if fences.starts_inside {
            self.text.push_str("```\n");
        }
        if let Some(header) = self.headers.get(&candidate.id) {
            self.text.push_str(header);
        }
        let mut known = Vec::with_capacity(run.len());
        let mut end_before = None;
        for part in run {
            let candidate = &part.ranked.candidate;
            if let Some(end) = end_before {
                // Consecutive passages have only white space between them.
                self.text.push_str(match candidate.span.start().saturating_sub(end) {
                    0 => "",
                    1 => "\n",
                    _ => "\n\n",
                });
            }
            let start = self.text.len();
            let (skipped, shown) = candidate.text.split_at(std::mem::take(&mut leftover));
            self.text.push_str(shown);
            let features = match skipped {
                "" => interaction.features_of(candidate),
                _ => interaction.features_of_text(shown),
            };
            known.push((start, shown, features));
            let range = start..self.text.len();
            if candidate.span.len() == candidate.text.len() {
                let first = candidate.place.lines.as_ref().map_or(1, |lines| lines.start);
                let breaks = skipped.bytes().filter(|byte| *byte == b'\n').count();
                let line = first + u32::try_from(breaks).unwrap_or(0);
                let start = candidate.span.start() + skipped.len();
                self.quotes.push(Quote { range: range.clone(), start, line });
            }
            scores.push((range, part.ranked.score));
            end_before = Some(candidate.span.end());
        }
        if fences.ends_inside {
            self.text.push_str("\n```");
        }
        self.add_blocks(interaction, base, &known);
    }

    /// Splits the text from `base` on into blocks. `known` has the features of passages in it, each
    /// with the position where its text begins, so that they are not computed again.
    fn add_blocks(
        &mut self,
        interaction: &Interaction<'_>,
        base: usize,
        known: &[(usize, &str, Arc<TextFeatures>)],
    ) {
        let first = self.blocks.len();
        for block in blocks(&self.text[base..]) {
            let range = base + block.range.start..base + block.range.end;
            let shown = range.start..range.start + self.text[range.clone()].trim_end().len();
            let found = known.iter().find_map(|(start, text, features)| {
                let own = shown.start.checked_sub(*start)?..shown.end.checked_sub(*start)?;
                let number = features.block_at(text, &own).filter(|_| own.end <= text.len())?;
                Some((*start, Arc::clone(features), number))
            });
            let (start, features, number) = match found {
                Some((start, features, number)) => (start, features, Some(number)),
                // The block spans passages, or is a heading that was added.
                None => (shown.start, interaction.features_of_text(&self.text[shown]), None),
            };
            let all = number.map_or(0..features.blocks().len(), |number| number..number + 1);
            let shift = |part: &Counted| {
                let range = start + part.range.start..start + part.range.end;
                Counted { range, units: part.units }
            };
            self.counted.extend(all.filter_map(|at| features.counted_of(at)).map(shift));
            self.blocks.push(PlacedBlock {
                range,
                kind: block.kind,
                under: block.under.map(|under| first + under),
                is_clutter: block.is_clutter,
                features,
                number,
            });
        }
    }

    /// Scores the blocks: the passage's score, less a penalty for matching the query worse than the
    /// passage's best block.
    fn score_blocks(
        &self,
        interaction: &mut Interaction<'_>,
        title: Option<&haversack_core::embed::PieceMatches>,
        scores: &[(Range<usize>, Score)],
    ) -> Vec<Block> {
        let least = scores.iter().map(|(_, score)| *score).min().unwrap_or(Score::ZERO);
        let passages: Vec<Option<usize>> =
            self.blocks.iter().map(|block| best_passage_for(scores, &block.range)).collect();
        let met: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| {
                let met = interaction.score_block(title, block.pieces());
                met.map_or(0.0, Score::get)
            })
            .collect();
        let mut best = vec![0.0f64; scores.len()];
        for (passage, met) in passages.iter().zip(&met) {
            if let Some(passage) = passage {
                best[*passage] = best[*passage].max(*met);
            }
        }
        let repeats = self.repeated_listings();
        let scored = self.blocks.iter().zip(passages).zip(met).enumerate();
        let scored = scored.map(|(at, ((block, passage), met))| {
            let passage = passage.map(|at| (scores[at].1, best[at]));
            let (score, best) = passage.unwrap_or((least, met));
            let clutter = if block.is_clutter { CLUTTER_PENALTY } else { 0.0 };
            let repeat = if repeats[at] { REPEAT_PENALTY } else { 0.0 };
            let score = score.get() - WEAKER_BLOCK_PENALTY * (best - met) - clutter - repeat;
            Block {
                range: block.range.clone(),
                score: Score::new(score).unwrap_or(Score::ZERO),
                under: block.under,
                is_lead: matches!(block.kind, BlockKind::Heading(_)),
                is_prose: matches!(block.kind, BlockKind::Prose),
                is_clutter: block.is_clutter,
            }
        });
        scored.collect()
    }
}

impl DocumentText<'_> {
    /// Marks listings that repeat the one before them in another language or for another tool.
    fn repeated_listings(&self) -> Vec<bool> {
        let mut before: BTreeSet<&str> = BTreeSet::new();
        let repeat = |block: &PlacedBlock| {
            if block.kind != BlockKind::Fence {
                return false;
            }
            let lines = self.text[block.range.clone()].lines().map(str::trim);
            let own: BTreeSet<&str> = lines.filter(|line| line.len() > 3).collect();
            let shared = own.intersection(&before).count();
            let is_repeat = own.len() > 1 && shared * 10 >= own.len() * 6;
            before = own;
            is_repeat
        };
        self.blocks.iter().map(repeat).collect()
    }
}

/// Returns the best passage that overlaps a block.
fn best_passage_for(scores: &[(Range<usize>, Score)], block: &Range<usize>) -> Option<usize> {
    let touching =
        |(range, _): &(Range<usize>, Score)| range.start < block.end && block.start < range.end;
    let places = scores.iter().enumerate().filter(|(_, scored)| touching(scored));
    places.max_by_key(|(place, (_, score))| (*score, std::cmp::Reverse(*place))).map(|(at, _)| at)
}

/// Returns the end of the run of consecutive passages that begins at `first`.
fn run_end(parts: &[DocumentPart], first: usize) -> usize {
    let chunk = |at: usize| parts[at].ranked.candidate.id.chunk.unwrap_or(0);
    (first + 1..parts.len())
        .find(|&at| chunk(at) != chunk(at - 1).saturating_add(1))
        .unwrap_or(parts.len())
}

/// Returns a run without passages at its beginning that are only leftovers.
fn trim_leading_leftovers(run: &[DocumentPart]) -> &[DocumentPart] {
    let is_leftover = |part: &DocumentPart| {
        let text = &part.ranked.candidate.text;
        leftover_len(text) == text.len()
    };
    let first = run.iter().position(|part| !is_leftover(part)).unwrap_or(run.len());
    &run[first..]
}

fn headings_of(run: &[DocumentPart]) -> Vec<String> {
    run.first().map(|part| part.ranked.candidate.place.breadcrumb.clone()).unwrap_or_default()
}
