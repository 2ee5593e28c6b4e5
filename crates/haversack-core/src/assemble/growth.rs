//! How a text grows by its blocks: in which order they are bought, and what the text looks like on
//! the way to being whole.

use std::cmp::Reverse;
use std::ops::Range;

use crate::candidate::Candidate;
use crate::pack::Request;
use crate::text::boundary::sentences;
use crate::text::extract::importance_order;
use crate::text::tokenizer::{Counted, Tokenizer};
use crate::text::truncate::{CUT_AFTER, CUT_BEFORE, Truncated, Truncation, Truncator};
use crate::units::Tokens;

/// A text up to this long comes whole: some 150 tokens. Parts of it would save little and read
/// badly.
const SHORT_BYTES: usize = 600;

/// The least that a step of a text's growth adds, but for the last.
const STEP_BYTES_LEAST: usize = 240;

/// How many steps a text has at most before it is whole.
const STEPS_MAX: usize = 10;

/// A text that lacks no more than this part is completed rather than left as it is.
const REST_PERCENT_MAX: usize = 25;

/// What it counts in a block's favour that the block beside it is there: stretches read better than
/// scattered blocks.
const BESIDE: f64 = 0.12;

/// What lies between two blocks of a section comes with the second of them, up to so many bytes: a
/// mark for what is missing reads worse than a few lines more.
const FILLED_BYTES_MAX: usize = 400;

/// What a paragraph announces with a colon comes with it, up to so many bytes.
const ANNOUNCED_BYTES_MAX: usize = 1_500;

/// In texts of more blocks only the score decides, because looking for neighbours takes the square
/// of their number.
const BLOCKS_MAX: usize = 256;

/// Where blocks were left out inside one section.
const GAP: &str = "\n\n…\n\n";
/// Where rows of a table were left out.
const ROWS: &str = "\n| … |\n";
/// Where blocks were left out before a heading, which says enough.
const BREAK: &str = "\n\n";

/// A block and the blocks that have to come with it.
#[derive(Debug, Clone)]
struct Purchase {
    /// The block itself.
    block: usize,
    /// All that is new, in the order of the text.
    blocks: Vec<usize>,
    score: f64,
}

/// A text that grows.
#[derive(Debug)]
pub(crate) struct Growth<'c> {
    candidate: &'c Candidate,
    purchases: Vec<Purchase>,
}

/// Some blocks of a text.
#[derive(Debug)]
pub(crate) struct Extract {
    /// As it is shown, with marks where something was left out.
    pub(crate) text: String,
    /// What was kept, as byte ranges of the text.
    pub(crate) kept: Vec<Range<usize>>,
    /// Where each of them stands in what is shown.
    places: Vec<usize>,
    /// How many purchases it is.
    pub(crate) n_purchases: usize,
    /// What is known of it for the schedule.
    pub(crate) worth: Worth,
}

impl Extract {
    /// Of the parts of the text that were counted before, those that are kept, where they stand
    /// in the extract.
    pub(crate) fn counted(&self, known: &[Counted]) -> Vec<Counted> {
        let mut counted = Vec::new();
        let mut known = known.iter().peekable();
        for (kept, &at) in self.kept.iter().zip(&self.places) {
            // At the very ends a part has another neighbour than when it was counted.
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

/// What a step of a text's growth adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worth {
    /// What the blocks that come with the step are worth.
    pub(crate) merit: f64,
    /// The part of the text's value that is there after the step.
    pub(crate) share: f64,
}

impl<'c> Growth<'c> {
    /// The order in which a candidate's blocks are bought.
    pub(crate) fn of(candidate: &'c Candidate) -> Growth<'c> {
        let blocks = &candidate.blocks;
        let mut purchases: Vec<Purchase> = Vec::with_capacity(blocks.len());
        let mut is_in = vec![false; blocks.len()];
        let mut buy = |block: usize, is_in: &mut [bool]| {
            let mut new = Vec::new();
            take_with_leads(candidate, block, is_in, &mut new);
            if let Some(next) = announced(candidate, block).filter(|&next| !is_in[next]) {
                take_with_leads(candidate, next, is_in, &mut new);
            }
            for at in filling(candidate, &new, is_in) {
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
            let beside = |block: usize| {
                let before = block.checked_sub(1).is_some_and(|before| is_in[before]);
                let after = is_in.get(block + 1).is_some_and(|is_in| *is_in);
                if before || after { BESIDE } else { 0.0 }
            };
            let worth = |block: usize| blocks[block].score.get() + beside(block);
            let left = order.iter().copied().filter(|&block| !is_in[block]);
            // Of equals the first, which is the better or the earlier one.
            let best =
                left.reduce(|best, block| if worth(block) > worth(best) { block } else { best });
            let Some(best) = best else { break };
            buy(best, &mut is_in);
        }
        // What introduces nothing comes with the rest.
        for block in 0..blocks.len() {
            if !is_in[block] {
                buy(block, &mut is_in);
            }
        }
        Growth { candidate, purchases }
    }

    /// The forms of the text before it is whole, and what the last step to the whole adds. Steps
    /// get no better as a text grows.
    pub(crate) fn forms(&self, score: f64) -> (Vec<Extract>, Worth) {
        let text = &*self.candidate.text;
        let whole = Worth { merit: score, share: 1.0 };
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
        let mut step = Step::default();
        for (place, purchase) in self.purchases.iter().enumerate() {
            step.add(bytes(purchase), purchase.score);
            share += weight(purchase) / all;
            spent += bytes(purchase);
            if (text.len() - spent.min(text.len())) * 100 <= text.len() * REST_PERCENT_MAX {
                break;
            }
            if step.bytes >= least {
                last = step.merit().min(last);
                let worth = Worth { merit: last, share: share.min(1.0) };
                forms.push(self.extract(place + 1, worth));
                step = Step::default();
            }
        }
        let n_shown = forms.last().map_or(0, |form| form.n_purchases);
        let mut rest = Step::default();
        for purchase in &self.purchases[n_shown..] {
            rest.add(bytes(purchase), purchase.score);
        }
        let merit = if forms.is_empty() { score } else { rest.merit().min(last) };
        (forms, Worth { merit, share: 1.0 })
    }

    /// The text after so many purchases.
    fn extract(&self, n: usize, worth: Worth) -> Extract {
        let (text, kept, places) = self.shown(n);
        Extract { text, kept, places, n_purchases: n, worth }
    }

    fn shown(&self, n: usize) -> (String, Vec<Range<usize>>, Vec<usize>) {
        let mut chosen: Vec<usize> = self.purchases[..n]
            .iter()
            .flat_map(|purchase| purchase.blocks.iter().copied())
            .collect();
        chosen.sort_unstable();
        joined(self.candidate, chosen.iter().map(|&at| self.candidate.blocks[at].range.clone()))
    }

    /// The text after as many purchases as fit a limit, more than `from` and fewer than `to`; where
    /// none does and nothing is there yet, some sentences of the first one, or some words of it if
    /// something has to be shown (K5). A larger limit keeps all that a smaller one did.
    pub(crate) fn within(
        &self,
        limit: Tokens,
        purchases: Range<usize>,
        must_show: bool,
        request: &Request,
    ) -> Option<Truncated> {
        let tokenizer = &*request.tokenizer;
        let to = purchases.end.min(self.purchases.len() + 1);
        let fitting = (purchases.start + 1..to).rev().find_map(|n| {
            let (text, kept, _) = self.shown(n);
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
    fn words_within(&self, limit: Tokens, request: &Request) -> Option<Truncated> {
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

    /// One stretch of sentences of the best block, with what introduces it.
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
            let (mut shown, mut kept, _) = joined(self.candidate, lead.iter().cloned());
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
        // On to the end of the block, then back to its beginning: one fixed order, so a larger
        // limit keeps what a smaller one did.
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

/// Takes a block and whatever it hangs under.
fn take_with_leads(candidate: &Candidate, block: usize, is_in: &mut [bool], new: &mut Vec<usize>) {
    let mut next = Some(block);
    while let Some(at) = next.filter(|&at| !is_in[at]) {
        is_in[at] = true;
        new.push(at);
        // Always an earlier one, so this ends.
        next = candidate.blocks[at].under.filter(|&under| under < at);
    }
}

/// The block that a paragraph announces: right after it, and the paragraph ends with a colon.
fn announced(candidate: &Candidate, block: usize) -> Option<usize> {
    let text = candidate.text[candidate.blocks[block].range.clone()].trim_end();
    let next = candidate.blocks.get(block + 1)?;
    let comes = text.ends_with(':')
        && !next.is_lead
        && !next.is_clutter
        && next.range.len() <= ANNOUNCED_BYTES_MAX;
    comes.then_some(block + 1)
}

/// What lies between new blocks and those of the same section that are there, where it is short.
fn filling(candidate: &Candidate, new: &[usize], is_in: &[bool]) -> Vec<usize> {
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
    let mut filling = Vec::new();
    for &block in new.iter().filter(|&&block| !blocks[block].is_lead) {
        // Back to the heading, and on to the next one.
        filling.extend(gap(&mut (0..block).rev()));
        filling.extend(gap(&mut (block + 1..blocks.len()).take_while(|&at| !blocks[at].is_lead)));
    }
    filling
}

/// The purchases of one step, added up.
#[derive(Default)]
struct Step {
    bytes: usize,
    worth: f64,
}

impl Step {
    fn add(&mut self, bytes: usize, score: f64) {
        self.bytes += bytes;
        self.worth += bytes as f64 * score;
    }

    fn merit(&self) -> f64 {
        self.worth / self.bytes.max(1) as f64
    }
}

/// What stands between two stretches of a text; `is_missed` is whether anything but clutter was
/// left out.
fn gap(before: &str, after: &str, is_missed: bool) -> &'static str {
    let last = before.rsplit('\n').next().unwrap_or_default();
    match after.trim_start().as_bytes().first() {
        Some(b'|') if last.trim_start().starts_with('|') => ROWS,
        Some(b'#') => BREAK,
        _ if is_missed => GAP,
        _ => BREAK,
    }
}

/// Parts of a candidate's text as they look put together.
pub(super) fn joined_text(candidate: &Candidate, parts: &[Range<usize>]) -> String {
    joined(candidate, parts.iter().cloned()).0
}

/// Parts of a text, in its order: what they look like put together, which bytes they are, and where
/// each stretch of them stands. Neighbours are joined as they are.
fn joined(
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
            shown.push_str(gap(&shown, stretch, is_missed));
        }
        places.push(shown.len());
        shown.push_str(stretch);
        end_before = range.end;
    }
    (shown, kept, places)
}
