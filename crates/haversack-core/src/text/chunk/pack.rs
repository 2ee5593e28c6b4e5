//! The packer: fills chunks up to the target and cuts where it hurts least.

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::{ChunkLimits, SplitPoint, Strength};
use crate::text::boundary;
use crate::text::tokenizer::{Counter, Tokenizer};
use crate::units::Tokens;

/// No vocabulary has many tokens longer than this.
const TOKEN_BYTES_MAX: usize = 64;

/// Parts a text: ranges in order, each with its tokens.
pub(super) fn pack(
    text: &str,
    marks: &[SplitPoint],
    tokenizer: &dyn Tokenizer,
    limits: ChunkLimits,
) -> Vec<(Range<usize>, Tokens)> {
    let mut packer = Packer {
        text,
        marks,
        headings: marks.iter().filter_map(heading).collect(),
        tokenizer,
        counter: tokenizer.counter(text),
        limits,
        // A chunk of no more than a quarter of the target says too little alone.
        tiny: Tokens::new(limits.target().get() / 4),
        open: None,
        packed: Vec::new(),
    };
    // A lone paragraph is a piece itself and stays whole if it fits.
    if marks.iter().all(|mark| mark.at == 0) && boundary::paragraphs(text).len() <= 1 {
        packer.fill(0, &[text.len()], BoundaryLevel::Line);
    } else {
        packer.split(0..text.len(), BoundaryLevel::SplitPoint);
    }
    packer.flush();
    packer.packed
}

fn heading(mark: &SplitPoint) -> Option<(usize, u8)> {
    match mark.strength {
        Strength::Heading(level) => Some((mark.at, level)),
        Strength::Block | Strength::Part(_) => None,
    }
}

/// Kinds of boundaries, strongest first.
#[derive(Clone, Copy)]
enum BoundaryLevel {
    SplitPoint,
    Paragraph,
    Line,
    Sentence,
    Word,
    Character,
}

impl BoundaryLevel {
    fn weaker(self) -> BoundaryLevel {
        match self {
            BoundaryLevel::SplitPoint => BoundaryLevel::Paragraph,
            BoundaryLevel::Paragraph => BoundaryLevel::Line,
            BoundaryLevel::Line => BoundaryLevel::Sentence,
            BoundaryLevel::Sentence => BoundaryLevel::Word,
            BoundaryLevel::Word | BoundaryLevel::Character => BoundaryLevel::Character,
        }
    }
}

/// The chunk being filled. It is never blank and its range is trimmed.
struct OpenChunk {
    range: Range<usize>,
    tokens: Tokens,
    /// The highest heading that may follow inside this chunk: its own kind when it begins with a
    /// heading, else only those below the one in force.
    heading_least: u8,
}

struct Packer<'t> {
    text: &'t str,
    marks: &'t [SplitPoint],
    /// Those marks that are headings: where, and of which level.
    headings: Vec<(usize, u8)>,
    tokenizer: &'t dyn Tokenizer,
    counter: Counter<'t>,
    limits: ChunkLimits,
    tiny: Tokens,
    open: Option<OpenChunk>,
    packed: Vec<(Range<usize>, Tokens)>,
}

impl Packer<'_> {
    /// Packs a range that is too large for one chunk: it is parted at `level`, or at the next
    /// weaker one that parts it.
    fn split(&mut self, range: Range<usize>, level: BoundaryLevel) {
        let part = &self.text[range.clone()];
        let pieces = match level {
            BoundaryLevel::SplitPoint => return self.split_at_marks(range),
            BoundaryLevel::Paragraph => boundary::paragraphs(part),
            BoundaryLevel::Line => {
                boundary::between(part, boundary::lines(part).map(|(at, _)| at).collect())
            }
            BoundaryLevel::Sentence => boundary::sentences(part),
            BoundaryLevel::Word => boundary::words(part),
            BoundaryLevel::Character => return self.split_characters(range),
        };
        let ends: Vec<usize> = pieces.into_iter().map(|piece| range.start + piece.end).collect();
        match ends.len() {
            1 => self.split(range, level.weaker()),
            _ => self.fill(range.start, &ends, level.weaker()),
        }
    }

    fn split_at_marks(&mut self, range: Range<usize>) {
        let all = self.marks;
        let first = all.partition_point(|mark| mark.at <= range.start);
        let last = all.partition_point(|mark| mark.at < range.end);
        let inside = &all[first..last.max(first)];
        let Some(order) = inside.iter().map(|mark| mark.strength.order()).min() else {
            return self.split(range, BoundaryLevel::Paragraph);
        };
        let strongest = inside.iter().filter(|mark| mark.strength.order() == order);
        if order == Strength::Heading(1).order() {
            let mut from = range.start;
            for at in strongest.map(|mark| mark.at).chain([range.end]) {
                self.add_section(from..at);
                from = at;
            }
        } else {
            let ends: Vec<usize> = strongest.map(|mark| mark.at).chain([range.end]).collect();
            self.fill(range.start, &ends, BoundaryLevel::SplitPoint);
        }
    }

    /// Adds a section: it joins the open chunk only when that is tiny and is not left by it.
    fn add_section(&mut self, section: Range<usize>) {
        if let Some(open) = &self.open {
            let level = self.heading_in_force(section.start).map_or(0, |(_, level)| level);
            let joins = open.tokens <= self.tiny && level >= open.heading_least;
            match self.measure(open.range.start..section.end) {
                Some(longer) if joins && longer.tokens <= self.limits.target() => {
                    self.open = Some(longer);
                    return;
                }
                _ => self.flush(),
            }
        }
        match self.measure(section.clone()) {
            Some(whole) if whole.tokens > self.limits.max() => {
                self.split(section, BoundaryLevel::SplitPoint)
            }
            whole => self.open = whole,
        }
    }

    /// Packs pieces that follow each other from `from` to each of `ends`. One that is too large
    /// alone is split at `weaker`.
    fn fill(&mut self, from: usize, ends: &[usize], weaker: BoundaryLevel) {
        let mut from = from;
        let mut next = 0;
        while next < ends.len() {
            let start = self.open.as_ref().map_or(from, |open| open.range.start);
            let (taken, longer) = self.gallop(start, &ends[next..]);
            if taken > 0 {
                self.open = longer;
                from = ends[next + taken - 1];
                next += taken;
                continue;
            }
            let piece = from..ends[next];
            let whole = self.measure(piece.clone());
            if whole.as_ref().is_some_and(|whole| whole.tokens > self.limits.max()) {
                if !self.open_is_tiny() {
                    self.flush();
                }
                self.split(piece, weaker);
            } else {
                self.add_whole(piece, whole);
            }
            from = ends[next];
            next += 1;
        }
    }

    /// Adds a piece that stays whole although the open chunk is then above the target.
    ///
    /// What leads up to it, such as "as follows:" or `impl Foo {`, goes with it if both fit.
    fn add_whole(&mut self, piece: Range<usize>, whole: Option<OpenChunk>) {
        if self.open_is_tiny() {
            let start = self.open.as_ref().map_or(piece.start, |open| open.range.start);
            let both = self.measure(start..piece.end);
            if both.as_ref().is_some_and(|both| both.tokens <= self.limits.max()) {
                self.open = both;
                return;
            }
        }
        self.flush();
        self.open = whole;
    }

    fn open_is_tiny(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.tokens <= self.tiny)
    }

    /// How many pieces fit the target together, and what they make.
    ///
    /// Doubling, then halving: few counts even where a text has no seams and each count is long.
    fn gallop(&self, start: usize, ends: &[usize]) -> (usize, Option<OpenChunk>) {
        let probe = |count: usize| {
            let open = self.measure(start..ends[count - 1]);
            let fits = open.as_ref().is_none_or(|open| open.tokens <= self.limits.target());
            fits.then_some(open)
        };
        let mut best = (0, None);
        let mut over = ends.len() + 1;
        let mut step = 1;
        while best.0 + step < over {
            match probe(best.0 + step) {
                Some(open) => {
                    best = (best.0 + step, open);
                    step *= 2;
                }
                None => over = best.0 + step,
            }
        }
        while over - best.0 > 1 {
            let middle = best.0 + (over - best.0) / 2;
            match probe(middle) {
                Some(open) => best = (middle, open),
                None => over = middle,
            }
        }
        best
    }

    /// Packs a word that is too large: between any two grapheme clusters, at worst characters.
    fn split_characters(&mut self, range: Range<usize>) {
        let mut from = range.start;
        while let Some(rest) = self.trim(from..range.end) {
            let start = self.open.as_ref().map_or(rest.start, |open| open.range.start);
            let end = self.prefix_end(start..rest.end);
            if end <= rest.start && self.open.is_some() {
                self.flush();
                continue;
            }
            let first = self.text[rest.start..].chars().next().map_or(1, char::len_utf8);
            let end = end.max(rest.start + first);
            let end = if end < rest.end { self.cluster_end(start..end, rest.start) } else { end };
            self.open = self.measure(start..end);
            if end < rest.end {
                self.flush();
            }
            from = end;
        }
    }

    /// The end of the longest prefix of a range that fits the target.
    fn prefix_end(&self, range: Range<usize>) -> usize {
        // The tokenizer looks for the next seam; a run of a million characters has none.
        let window = usize::try_from(self.limits.target().get()).unwrap_or(usize::MAX);
        let window_end = range.start.saturating_add(window.saturating_mul(TOKEN_BYTES_MAX));
        let end = range.end.min(self.text.floor_char_boundary(window_end));
        let mut limit = self.limits.target();
        loop {
            let prefix = self.tokenizer.prefix(&self.text[range.start..end], limit);
            let end = range.start + prefix.len();
            // Without its trailing white space a prefix can, rarely, cost more.
            let fits = self.measure(range.start..end).is_none_or(|o| o.tokens <= self.limits.max());
            if fits || limit == Tokens::ZERO {
                return end;
            }
            limit = limit.saturating_sub(Tokens::new(1));
        }
    }

    /// The last end of a grapheme cluster in `range`, if one lies after `floor` and keeps the
    /// limit; else the end of the range.
    fn cluster_end(&self, range: Range<usize>, floor: usize) -> usize {
        // The next character decides whether a cluster ends before it.
        let next = self.text[range.end..].chars().next().map_or(0, char::len_utf8);
        let part = &self.text[range.start..range.end + next];
        let mut cursor = GraphemeCursor::new(range.end - range.start, part.len(), true);
        if cursor.is_boundary(part, 0) == Ok(true) {
            return range.end;
        }
        let end = cursor.prev_boundary(part, 0).ok().flatten().map(|len| range.start + len);
        let fits = |end: &usize| {
            let open = self.measure(range.start..*end);
            *end > floor && open.is_some_and(|open| open.tokens <= self.limits.max())
        };
        end.filter(fits).unwrap_or(range.end)
    }

    fn flush(&mut self) {
        if let Some(open) = self.open.take() {
            self.packed.push((open.range, open.tokens));
        }
    }

    /// Trims and counts a range: the chunk it would make, or `None` when it is blank.
    fn measure(&self, range: Range<usize>) -> Option<OpenChunk> {
        let range = self.trim(range)?;
        let tokens = self.counter.count(range.clone());
        let heading_least = match self.heading_in_force(range.start) {
            Some((at, level)) if at == range.start => level,
            Some((_, level)) => level.saturating_add(1),
            None => 0,
        };
        Some(OpenChunk { range, tokens, heading_least })
    }

    /// The last heading at or before a place, and its level.
    fn heading_in_force(&self, at: usize) -> Option<(usize, u8)> {
        let after = self.headings.partition_point(|&(start, _)| start <= at);
        after.checked_sub(1).map(|last| self.headings[last])
    }

    /// Cuts off white space, but not the indentation of a first line.
    fn trim(&self, range: Range<usize>) -> Option<Range<usize>> {
        let part = &self.text[range.clone()];
        let indented = part.trim_start();
        if indented.is_empty() {
            return None;
        }
        let blank = &part[..part.len() - indented.len()];
        let skipped = match blank.rfind('\n') {
            Some(line_break) => line_break + 1,
            None if range.start == 0 || self.text[..range.start].ends_with('\n') => 0,
            None => blank.len(),
        };
        Some(range.start + skipped..range.start + part.trim_end().len())
    }
}
