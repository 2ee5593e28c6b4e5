//! The budget as a bar: who has how much of it.

use std::fmt::Write as _;

use super::{Story, percent};
use crate::output::grouped;
use crate::paint::Paint;

/// Width of a bar in characters.
const WIDTH: usize = 64;

/// Longest title in a legend.
const TITLE: usize = 26;

/// Something that has a part of the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Which layer it is, by its place; none for what is not a layer.
    pub(crate) layer: Option<usize>,
    /// What it is called.
    pub(crate) title: String,
    /// What it has.
    pub(crate) tokens: u32,
    /// What else there is to say.
    pub(crate) note: String,
}

/// A bar and its legend, as lines.
pub(crate) fn bar(story: &Story, paint: Paint) -> String {
    let parts = parts(story);
    let whole: u32 = parts.iter().map(|part| part.tokens).sum();
    let widths = widths(&parts, WIDTH);
    let mut out = String::from("  ▕");
    for (part, width) in parts.iter().zip(&widths) {
        out.push_str(&stretch(part, *width, paint));
    }
    let used = percent(f64::from(story.tokens) / f64::from(story.limit.max(1)));
    let figure = format!("{} of {} tokens", grouped(story.tokens), grouped(story.limit));
    let _ = writeln!(out, "▏ {}, {used}", paint.bold(&figure));
    for part in parts.iter().filter(|part| part.tokens > 0 || !part.note.is_empty()) {
        let share = percent(f64::from(part.tokens) / f64::from(whole.max(1)));
        let line = format!(
            "    {} {:<TITLE$} {:>7} {share:>6}   {}",
            stretch(part, 1, paint),
            super::clipped(&part.title, TITLE),
            grouped(part.tokens),
            paint.dim(&part.note),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// What has a part of the budget: the layers, what stands around them, what is reserved, and what is
/// left.
fn parts(story: &Story) -> Vec<Part> {
    let layer = |(place, chapter): (usize, &super::Chapter)| Part {
        layer: Some(place),
        title: chapter.title.clone(),
        tokens: chapter.tokens,
        note: chapter.counts(),
    };
    let mut parts: Vec<Part> = story.chapters.iter().enumerate().map(layer).collect();
    let inside: u32 = parts.iter().map(|part| part.tokens).sum();
    let other = |title: &str, tokens: u32| Part {
        layer: None,
        title: title.to_owned(),
        tokens,
        note: String::new(),
    };
    parts.push(other("around them", story.tokens.saturating_sub(inside)));
    parts.push(other("reserved", story.budget.saturating_sub(story.limit)));
    parts.push(other("free", story.limit.saturating_sub(story.tokens)));
    parts
}

fn stretch(part: &Part, width: usize, paint: Paint) -> String {
    let plain = match (part.layer, part.title.as_str()) {
        (Some(place), _) => return paint.layer(place, width),
        (None, "reserved") => "╱",
        (None, "free") => "·",
        (None, _) => "▪",
    };
    paint.dim(&plain.repeat(width))
}

/// Widths that add up to the whole, each in proportion, and none nothing that has something.
fn widths(parts: &[Part], width: usize) -> Vec<usize> {
    let whole: u64 = parts.iter().map(|part| u64::from(part.tokens)).sum();
    if whole == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: &Part| u64::from(part.tokens) * width as u64;
    let mut widths: Vec<usize> = parts
        .iter()
        .map(|part| {
            let floor = usize::try_from(exact(part) / whole).unwrap_or(width);
            if part.tokens > 0 { floor.max(1) } else { 0 }
        })
        .collect();
    // What rounding lost goes to those that lost most; what it won is taken from the widest.
    let mut order: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].tokens > 0).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(exact(&parts[at]) % whole), at));
    for &at in order.iter().cycle().take(width * parts.len()) {
        if widths.iter().sum::<usize>() >= width {
            break;
        }
        widths[at] += 1;
    }
    while widths.iter().sum::<usize>() > width {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= 1 {
            break;
        }
        *widest -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: &[u32], width: usize, expected: &[usize]) {
        let part =
            |&tokens: &u32| Part { layer: None, title: String::new(), tokens, note: String::new() };
        let parts: Vec<Part> = tokens.iter().map(part).collect();
        assert_eq!(widths(&parts, width), expected);
    }

    #[test]
    fn parts_of_a_bar_fill_it_and_none_is_lost() {
        check(&[1, 1], 10, &[5, 5]);
        check(&[1, 1, 1], 10, &[4, 3, 3]);
        check(&[1, 0, 999], 10, &[1, 0, 9]);
        check(&[1, 1, 998], 10, &[1, 1, 8]);
        check(&[0, 0], 10, &[0, 0]);
        check(&[5, 5, 5, 5], 3, &[1, 1, 1, 1]);
    }
}
