//! Finds the longest prefix or suffix of a text within a token limit.
//!
//! A text is walked run by run, where a run is the text between two seams; only the first run that
//! does not fit is searched inside. Token counts are not monotone in a run's length
//! ("wor" can cost more than "world"), so short runs are tried from long to short.

use super::Tokenizer;
use crate::units::Tokens;

/// Longest run that is searched character by character; a longer one is halved.
const RUN_BYTES_EXHAUSTIVE: usize = 512;

/// Byte length of the longest prefix within `limit`.
pub(super) fn prefix_end(tokenizer: &dyn Tokenizer, text: &str, limit: Tokens) -> usize {
    let mut spent = 0;
    let mut from = 0;
    while from < text.len() {
        let rest = &text[from..];
        let run = &rest[..tokenizer.first_run(rest)];
        let fits = |len: usize| tokenizer.tokens(spent + tokenizer.units(&run[..len])) <= limit;
        let len = longest(run.len(), |len| run.is_char_boundary(len), fits);
        from += len;
        if len < run.len() {
            break;
        }
        spent += tokenizer.units(run);
    }
    from
}

/// Byte offset at which the longest suffix within `limit` starts.
pub(super) fn suffix_start(tokenizer: &dyn Tokenizer, text: &str, limit: Tokens) -> usize {
    let mut spent = 0;
    let mut to = text.len();
    while to > 0 {
        let rest = &text[..to];
        let run = &rest[tokenizer.last_run(rest)..];
        let from = |len: usize| run.len() - len;
        let fits =
            |len: usize| tokenizer.tokens(spent + tokenizer.units(&run[from(len)..])) <= limit;
        let len = longest(run.len(), |len| run.is_char_boundary(from(len)), fits);
        to -= len;
        if len < run.len() {
            break;
        }
        spent += tokenizer.units(run);
    }
    to
}

/// The largest length up to `whole` that is a boundary and fits. Length zero always fits.
fn longest(
    whole: usize,
    is_boundary: impl Fn(usize) -> bool,
    fits: impl Fn(usize) -> bool,
) -> usize {
    if whole <= RUN_BYTES_EXHAUSTIVE {
        return (1..=whole).rev().find(|&len| is_boundary(len) && fits(len)).unwrap_or(0);
    }
    let floor = |len: usize| (0..=len).rev().find(|&len| is_boundary(len)).unwrap_or(0);
    // Double the length first, so that a long run is not counted whole to keep a little of it.
    let mut low = 0;
    let mut high = RUN_BYTES_EXHAUSTIVE;
    while high < whole && fits(floor(high)) {
        low = floor(high);
        high *= 2;
    }
    if high >= whole {
        if fits(whole) {
            return whole;
        }
        high = whole;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match floor(middle) {
            at if at > low && fits(at) => low = at,
            _ => high = middle,
        }
    }
    low
}
