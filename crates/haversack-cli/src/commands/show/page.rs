//! A story as a page: the budget, then layer by layer what is in, shortened and left out, and why.

use std::fmt::Write as _;

use super::{Chapter, Story, Told, bar, plural, readable};
use crate::output::grouped;
use crate::paint::Paint;

/// Characters of a candidate's name, alone in its line or with its reason beside it.
const NAME: usize = 90;
const NAME_SHORT: usize = 52;

/// How much of a story is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    All,
    /// At most so many that are in, shortened and left out, of each layer.
    Foremost([usize; 3]),
}

impl Depth {
    /// What fits a screen.
    pub(crate) const SCREEN: Depth = Depth::Foremost([5, 3, 4]);

    const fn most(self, sort: usize) -> usize {
        match self {
            Depth::All => usize::MAX,
            Depth::Foremost(most) => most[sort],
        }
    }
}

/// The whole page.
pub(crate) fn page(story: &Story, depth: Depth, paint: Paint) -> String {
    let mut out = String::new();
    if !story.question.is_empty() {
        let _ = writeln!(out, "{}", paint.bold(&super::clipped(&story.question, 200)));
    }
    let _ = writeln!(out, "{}\n", paint.dim(&story.about));
    out.push_str(&bar(story, paint));
    let mut hidden = 0;
    for chapter in story.chapters.iter().filter(|chapter| !chapter.told.is_empty()) {
        let (shown, more) = foremost(chapter, depth);
        if shown.is_empty() {
            continue;
        }
        let figures = format!("{} tokens, {}", grouped(chapter.tokens), chapter.counts());
        let _ = writeln!(out, "\n{}  {}", paint.bold(&chapter.title), paint.dim(&figures));
        for told in shown {
            out.push_str(&two_lines(told, depth, paint));
        }
        if let Some(more) = more_line(more) {
            let _ = writeln!(out, "  {}", paint.dim(&more));
        }
        hidden += more.iter().sum::<usize>();
    }
    if hidden > 0 {
        let _ = writeln!(out, "\n{}", paint.dim("--all shows every candidate"));
    }
    if story.unlisted > 0 {
        let more = plural(story.unlisted, "more candidate is", "more candidates are");
        let _ = writeln!(out, "\n{}", paint.dim(&format!("{more} out and not listed")));
    }
    out
}

/// Those of a layer that are shown, and how many more there are in, shortened and left out.
fn foremost(chapter: &Chapter, depth: Depth) -> (Vec<&Told>, [usize; 3]) {
    let mut more = [0; 3];
    let mut shown = Vec::new();
    let sorts: [fn(&Told) -> bool; 3] = [Told::is_in, Told::is_cut, Told::is_out];
    for (sort, is) in sorts.into_iter().enumerate() {
        let all: Vec<&Told> = chapter.told.iter().filter(|told| is(told)).collect();
        let most = depth.most(sort).min(all.len());
        shown.extend(&all[..most]);
        more[sort] = all.len() - most;
    }
    if depth == Depth::All {
        shown.extend(chapter.told.iter().filter(|told| told.is_elsewhere()));
    }
    (shown, more)
}

fn more_line([whole, cut, out]: [usize; 3]) -> Option<String> {
    let counts = [(whole, "in"), (cut, "shortened"), (out, "left out")];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} more {word}", grouped(count)))
        .collect();
    (!parts.is_empty()).then(|| format!("… {}", parts.join(", ")))
}

/// The word for what became of a candidate, in its colour and column.
fn mark(told: &Told, paint: Paint) -> String {
    let word = format!("{:<9}", told.line.outcome);
    match () {
        () if told.is_in() => paint.good(&word),
        () if told.is_cut() => paint.warning(&word),
        () if told.is_out() => paint.bad(&word),
        () => paint.dim(&word),
    }
}

/// What it has of what it would have.
fn cost(told: &Told) -> String {
    let line = &told.line;
    match () {
        () if told.is_cut() => format!("{}/{}", grouped(line.tokens), grouped(line.tokens_whole)),
        () if told.is_in() => grouped(line.tokens),
        // What was put aside before it was counted.
        () if line.tokens_whole == 0 => "–".to_owned(),
        () => grouped(line.tokens_whole),
    }
}

/// A candidate in two lines: what it is, and why it is where it is.
fn two_lines(told: &Told, depth: Depth, paint: Paint) -> String {
    let line = &told.line;
    let mut why: Vec<String> = line.why.iter().map(|why| readable(why)).collect();
    if let Some(last) = line.displaced_by.as_ref().filter(|_| depth == Depth::All) {
        why.push(format!("the last to fit was {last}"));
    }
    let found: Vec<String> =
        line.found.iter().map(|(collector, rank)| format!("{collector} {rank}")).collect();
    if !found.is_empty() {
        why.push(format!("found by {}", found.join(", ")));
    }
    let parts: Vec<String> = line
        .parts
        .iter()
        .filter(|(_, (value, weight))| *value > 0.0 || *weight > 0.0)
        .map(|(name, (value, weight))| match *weight {
            // An expression's inputs have no weights.
            0.0 => format!("{name} {value:.2}"),
            weight => format!("{name} {value:.2}×{weight}"),
        })
        .collect();
    if !parts.is_empty() {
        why.push(parts.join(" + "));
    }
    let first = format!(
        "  {} {:>6.3} {:>11}  {}",
        mark(told, paint),
        line.score,
        cost(told),
        told.full(NAME)
    );
    let second = format!("{:32}{}", "", paint.dim(&why.join(" · ")));
    if why.is_empty() { format!("{first}\n") } else { format!("{first}\n{second}\n") }
}

/// A layer in short lines: what is in, shortened and left out, each with its reason.
pub(crate) fn lines_of(chapter: &Chapter, depth: Depth, paint: Paint) -> String {
    let (shown, more) = foremost(chapter, depth);
    let mut out = String::new();
    for told in shown {
        let line = &told.line;
        let why = match (line.code.as_deref(), line.whole_from) {
            // That it is over the budget is said by its being out.
            (Some("over_budget"), Some(from)) => format!("whole from {} tokens", grouped(from)),
            _ => line.why.as_deref().map(readable).unwrap_or_default(),
        };
        let why = if why.is_empty() { why } else { format!("  {why}") };
        let (mark, name) = (mark(told, paint), told.full(NAME_SHORT));
        let _ = writeln!(out, "    {mark} {:>11}  {name}{}", cost(told), paint.dim(&why));
    }
    if let Some(more) = more_line(more) {
        let _ = writeln!(out, "    {}", paint.dim(&more));
    }
    out
}
