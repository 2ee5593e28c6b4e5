//! Growing a text block by block: the order in which blocks are selected, and the partial forms of
//! the text before it is whole.

use std::cmp::Reverse;
use std::ops::Range;

use crate::candidate::Candidate;
use crate::pack::PackRequest;
use crate::text::boundary::sentences;
use crate::text::extract::importance_order;
use crate::text::tokenizer::{Counted, Tokenizer};
use crate::text::truncate::{CUT_AFTER, CUT_BEFORE, Truncated, Truncation, Truncator};
use crate::units::Tokens;

/// Texts up to this length, about 150 tokens, are added whole: parts of them save little and read
/// badly.
const SHORT_BYTES: usize = 600;

/// Minimum size of a growth step, except the last.
const STEP_BYTES_LEAST: usize = 240;

/// Maximum number of growth steps before a text is whole.
const STEPS_MAX: usize = 10;

/// A text that lacks at most this share is completed instead of growing further step by step.
const REST_PERCENT_MAX: usize = 25;

/// Score bonus for a block next to a selected one, because contiguous text reads better.
const NEIGHBOUR_BONUS: f64 = 0.12;

/// Gaps between two selected blocks of a section are filled up to this size: an omission mark reads
/// worse than a few more lines.
const FILLED_BYTES_MAX: usize = 400;

/// A block announced by a colon comes with its announcement, up to this size.
const ANNOUNCED_BYTES_MAX: usize = 1_500;

/// Above this number of blocks the neighbour bonus is skipped, because computing it is quadratic.
const BLOCKS_MAX: usize = 256;

/// Marks blocks omitted within a section.
const GAP: &str = "\n\n…\n\n";
/// Marks omitted table rows.
const ROWS: &str = "\n| … |\n";
/// Separates blocks before a heading, where no mark is needed.
const BREAK: &str = "\n\n";

/// A block and the blocks that must come with it.
#[derive(Debug, Clone)]
struct Purchase {
    /// The block itself.
    block: usize,
    /// All newly added blocks, in text order.
    blocks: Vec<usize>,
    score: f64,
}

/// The order in which a candidate's blocks are selected.
#[derive(Debug)]
pub(crate) struct Growth<'c> {
    candidate: &'c Candidate,
    purchases: Vec<Purchase>,
}

/// A selection of a text's blocks.
#[derive(Debug)]
pub(crate) struct Extract {
    /// The shown text, with omission marks.
    pub(crate) text: String,
    /// The kept byte ranges of the text.
    pub(crate) kept: Vec<Range<usize>>,
    /// The offset of each kept range in the shown text.
    places: Vec<usize>,
    /// How many purchases it contains.
    pub(crate) n_purchases: usize,
    /// Its value, for the schedule.
    pub(crate) worth: StepWorth,
}

impl Extract {
    /// The precomputed counts of kept parts, moved to their offsets in the extract.
    pub(crate) fn counted(&self, known: &[Counted]) -> Vec<Counted> {
        let mut counted = Vec::new();
        let mut known = known.iter().peekable();
        for (kept, &at) in self.kept.iter().zip(&self.places) {
            // At the ends a part has a different neighbour than when it was counted.
            while known.next_if(|part| part.range.start <= kept.start).is_some() {}
            while let Some(part) = known.next_if(|part| part.range.end < kept.end) {
                let shift = |bytes: usize| bytes - kept.start + at;
                let range = shift(part.range.start)..shift(part.range.end);
                counted.push(Counted { range, units: part.units });
            }
        }
        counted
    }
}

/// The value of a growth step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepWorth {
    /// The score of the step's blocks, averaged by size.
    pub(crate) merit: f64,
    /// The share of the text's value that is present after the step.
    pub(crate) share: f64,
}

impl<'c> Growth<'c> {
    /// Computes the order in which a candidate's blocks are selected.
    pub(crate) fn from_candidate(candidate: &'c Candidate) -> Growth<'c> {
        let blocks = &candidate.blocks;
        let mut purchases: Vec<Purchase> = Vec::with_capacity(blocks.len());
        let mut is_in = vec![false; blocks.len()];
        let mut buy = |block: usize, is_in: &mut [bool]| {
            let mut new = Vec::new();
            take_with_leads(candidate, block, is_in, &mut new);
            if let Some(next) = announced_block(candidate, block).filter(|&next| !is_in[next]) {
                take_with_leads(candidate, next, is_in, &mut new);
            }
            for at in short_gaps(candidate, &new, is_in) {
                take_with_leads(candidate, at, is_in, &mut new);
            }
            new.sort_unstable();
            purchases.push(Purchase { block, blocks: new, score: blocks[block].score.get() });
        };
        let mut order: Vec<usize> = (0..blocks.len()).filter(|&at| !blocks[at].is_lead).collect();
        order.sort_by_key(|&block| (Reverse(blocks[block].score), block));
        if blocks.len() > BLOCKS_MAX {
            for block in order {
                if !is_in[block] {
                    buy(block, &mut is_in);
                }
            }
            order = Vec::new();
        }
        loop {
            let bonus = |block: usize| {
                let before = block.checked_sub(1).is_some_and(|before| is_in[before]);
                let after = is_in.get(block + 1).is_some_and(|is_in| *is_in);
                if before || after { NEIGHBOUR_BONUS } else { 0.0 }
            };
            let worth = |block: usize| blocks[block].score.get() + bonus(block);
            let left = order.iter().copied().filter(|&block| !is_in[block]);
            // On a tie the first wins, which has the better score or comes earlier.
            let best =
                left.reduce(|best, block| if worth(block) > worth(best) { block } else { best });
            let Some(best) = best else { break };
            buy(best, &mut is_in);
        }
        // Headings that introduce nothing come last.
        for block in 0..blocks.len() {
            if !is_in[block] {
                buy(block, &mut is_in);
            }
        }
        Growth { candidate, purchases }
    }

    /// The partial forms of the text, and the value of the last step to the whole. Step values
    /// never increase.
    pub(crate) fn forms(&self, score: f64) -> (Vec<Extract>, StepWorth) {
        let text = &*self.candidate.text;
        let whole = StepWorth { merit: score, share: 1.0 };
        if text.len() <= SHORT_BYTES || self.purchases.len() < 2 {
            return (Vec::new(), whole);
        }
        let bytes = |purchase: &Purchase| -> usize {
            purchase.blocks.iter().map(|&block| self.candidate.blocks[block].range.len()).sum()
        };
        let least = STEP_BYTES_LEAST.max(text.len() / STEPS_MAX);
        let weight = |purchase: &Purchase| bytes(purchase) as f64 * purchase.score.clamp(0.01, 1e6);
        let all: f64 = self.purchases.iter().map(weight).sum();
        let mut forms = Vec::new();
        let (mut spent, mut share, mut last) = (0, 0.0, score);
        let mut step = StepTotals::default();
        for (place, purchase) in self.purchases.iter().enumerate() {
            step.add(bytes(purchase), purchase.score);
            share += weight(purchase) / all;
            spent += bytes(purchase);
            if (text.len() - spent.min(text.len())) * 100 <= text.len() * REST_PERCENT_MAX {
                break;
            }
            if step.bytes >= least {
                last = step.merit().min(last);
                let worth = StepWorth { merit: last, share: share.min(1.0) };
                forms.push(self.extract(place + 1, worth));
                step = StepTotals::default();
            }
        }
        let n_shown = forms.last().map_or(0, |form| form.n_purchases);
        let mut rest = StepTotals::default();
        for purchase in &self.purchases[n_shown..] {
            rest.add(bytes(purchase), purchase.score);
        }
        let merit = if forms.is_empty() { score } else { rest.merit().min(last) };
        (forms, StepWorth { merit, share: 1.0 })
    }

    /// The text after `n` purchases.
    fn extract(&self, n: usize, worth: StepWorth) -> Extract {
        let (text, kept, places) = self.text_after(n);
        Extract { text, kept, places, n_purchases: n, worth }
    }

    fn text_after(&self, n: usize) -> (String, Vec<Range<usize>>, Vec<usize>) {
        let mut chosen: Vec<usize> = self.purchases[..n]
            .iter()
            .flat_map(|purchase| purchase.blocks.iter().copied())
            .collect();
        chosen.sort_unstable();
        join_parts(self.candidate, chosen.iter().map(|&at| self.candidate.blocks[at].range.clone()))
    }

    /// The text after as many purchases as fit the limit, within the given range. When none fits
    /// and nothing is shown yet: sentences of the first block, or some of its words if something
    /// must be shown (K5). A larger limit keeps everything that a smaller one does.
    pub(crate) fn within(
        &self,
        limit: Tokens,
        purchases: Range<usize>,
        must_show: bool,
        request: &PackRequest,
    ) -> Option<Truncated> {
        let tokenizer = &*request.tokenizer;
        let to = purchases.end.min(self.purchases.len() + 1);
        let fitting = (purchases.start + 1..to).rev().find_map(|n| {
            let (text, kept, _) = self.text_after(n);
            (tokenizer.count(&text) <= limit).then_some(Truncated { text, kept })
        });
        match fitting {
            None if purchases.start == 0 => {
                let sentences = self.sentences_within(limit, tokenizer, &request.query_terms);
                sentences.or_else(|| must_show.then(|| self.words_within(limit, request)).flatten())
            }
            fitting => fitting,
        }
    }

    /// The beginning of the best sentence of the best block.
    fn words_within(&self, limit: Tokens, request: &PackRequest) -> Option<Truncated> {
        let range = self.candidate.blocks[self.purchases.first()?.block].range.clone();
        let block = &self.candidate.text[range.clone()];
        let parts = sentences(block);
        let best = *importance_order(block, &parts, &request.query_terms).first()?;
        let part = parts[best].clone();
        let tokenizer = &*request.tokenizer;
        let start = range.start + part.start;
        let cut = Truncator::new(&block[part], Truncation::KeepStart, tokenizer, &[]);
        let Truncated { text, kept } = cut.within(limit)?;
        let kept = kept.into_iter().map(|kept| start + kept.start..start + kept.end).collect();
        Some(Truncated { text, kept })
    }

    /// Contiguous sentences of the best block, with its headings.
    fn sentences_within(
        &self,
        limit: Tokens,
        tokenizer: &dyn Tokenizer,
        query_terms: &[String],
    ) -> Option<Truncated> {
        let purchase = self.purchases.first()?;
        let text = &*self.candidate.text;
        let block = &self.candidate.blocks[purchase.block];
        if !block.is_prose {
            return None;
        }
        let parts = sentences(&text[block.range.clone()]);
        let best = *importance_order(&text[block.range.clone()], &parts, query_terms).first()?;
        let lead: Vec<Range<usize>> = purchase
            .blocks
            .iter()
            .filter(|&&at| at != purchase.block)
            .map(|&at| self.candidate.blocks[at].range.clone())
            .collect();
        let shown = |first: usize, last: usize| {
            let window =
                block.range.start + parts[first].start..block.range.start + parts[last].end;
            let window = window.start..window.start + text[window].trim_end().len();
            let (mut shown, mut kept, _) = join_parts(self.candidate, lead.iter().cloned());
            if !shown.is_empty() {
                shown.push_str(BREAK);
            }
            if first > 0 {
                shown.push_str(CUT_BEFORE);
            }
            shown.push_str(&text[window.clone()]);
            if last + 1 < parts.len() {
                shown.push_str(CUT_AFTER);
            }
            kept.push(window);
            Truncated { text: shown, kept }
        };
        let fits = |cut: &Truncated| tokenizer.count(&cut.text) <= limit;
        let (mut first, mut last) = (best, best);
        let mut widest = None;
        // Extend to the end of the block, then to its beginning: the order is fixed, so a larger
        // limit keeps what a smaller one does.
        loop {
            let cut = shown(first, last);
            if fits(&cut) {
                widest = Some(cut);
            }
            if last + 1 < parts.len() {
                last += 1;
            } else if first > 0 {
                first -= 1;
            } else {
                return widest;
            }
        }
    }
}

/// Takes a block and the headings above it.
fn take_with_leads(candidate: &Candidate, block: usize, is_in: &mut [bool], new: &mut Vec<usize>) {
    let mut next = Some(block);
    while let Some(at) = next.filter(|&at| !is_in[at]) {
        is_in[at] = true;
        new.push(at);
        // Always an earlier block, so the loop terminates.
        next = candidate.blocks[at].under.filter(|&under| under < at);
    }
}

/// The next block, if this one ends with a colon and so announces it.
fn announced_block(candidate: &Candidate, block: usize) -> Option<usize> {
    let text = candidate.text[candidate.blocks[block].range.clone()].trim_end();
    let next = candidate.blocks.get(block + 1)?;
    let comes = text.ends_with(':')
        && !next.is_lead
        && !next.is_clutter
        && next.range.len() <= ANNOUNCED_BYTES_MAX;
    comes.then_some(block + 1)
}

/// Short gaps between new blocks and selected blocks of the same section.
fn short_gaps(candidate: &Candidate, new: &[usize], is_in: &[bool]) -> Vec<usize> {
    let blocks = &candidate.blocks;
    let gap = |towards: &mut dyn Iterator<Item = usize>| {
        let (mut gap, mut bytes) = (Vec::new(), 0);
        for at in towards {
            if bytes > FILLED_BYTES_MAX {
                break;
            }
            if is_in[at] {
                return gap;
            }
            if blocks[at].is_lead {
                break;
            }
            if !blocks[at].is_clutter {
                bytes += blocks[at].range.len();
                gap.push(at);
            }
        }
        Vec::new()
    };
    let mut gaps = Vec::new();
    for &block in new.iter().filter(|&&block| !blocks[block].is_lead) {
        // Back to the heading, and on to the next one.
        gaps.extend(gap(&mut (0..block).rev()));
        gaps.extend(gap(&mut (block + 1..blocks.len()).take_while(|&at| !blocks[at].is_lead)));
    }
    gaps
}

/// The purchases of one growth step, added up.
#[derive(Default)]
struct StepTotals {
    bytes: usize,
    worth: f64,
}

impl StepTotals {
    fn add(&mut self, bytes: usize, score: f64) {
        self.bytes += bytes;
        self.worth += bytes as f64 * score;
    }

    fn merit(&self) -> f64 {
        self.worth / self.bytes.max(1) as f64
    }
}

/// The separator between two kept ranges; `is_missed` is whether anything but clutter was omitted.
fn gap_mark(before: &str, after: &str, is_missed: bool) -> &'static str {
    let last = before.rsplit('\n').next().unwrap_or_default();
    match after.trim_start().as_bytes().first() {
        Some(b'|') if last.trim_start().starts_with('|') => ROWS,
        Some(b'#') => BREAK,
        _ if is_missed => GAP,
        _ => BREAK,
    }
}

/// Parts of a candidate's text, joined with omission marks.
pub(super) fn join_parts_text(candidate: &Candidate, parts: &[Range<usize>]) -> String {
    join_parts(candidate, parts.iter().cloned()).0
}

/// Joins parts of a text: the shown text, the kept ranges, and the offset of each range in the
/// shown text. Adjacent parts are joined without a mark.
fn join_parts(
    candidate: &Candidate,
    parts: impl Iterator<Item = Range<usize>>,
) -> (String, Vec<Range<usize>>, Vec<usize>) {
    let (text, blocks) = (&*candidate.text, &candidate.blocks);
    let mut kept: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match kept.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => kept.push(part),
        }
    }
    let mut shown = String::new();
    let mut places = Vec::with_capacity(kept.len());
    let mut end_before = 0;
    for range in &mut kept {
        range.end = range.start + text[range.clone()].trim_end().len();
        let stretch = &text[range.clone()];
        if !shown.is_empty() {
            let first = blocks.partition_point(|block| block.range.start < end_before);
            let between = blocks[first..].iter().take_while(|block| block.range.end <= range.start);
            let is_missed = between.clone().count() == 0 || between.clone().any(|b| !b.is_clutter);
            shown.push_str(gap_mark(&shown, stretch, is_missed));
        }
        places.push(shown.len());
        shown.push_str(stretch);
        end_before = range.end;
    }
    (shown, kept, places)
}
