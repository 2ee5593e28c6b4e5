//! Removes what several contexts say alike from all but the one of highest priority (S5).

use std::collections::BTreeSet;

use haversack_core::text::duplicate::duplicates;
use haversack_core::units::Score;

use super::block::{ContextBlock, rule_line};

/// Least similarity of duplicate texts, by their three-word shingles: one word in twenty may differ.
const SIMILARITY_MIN: f64 = 0.6;

/// Least words of a paragraph that can be a repeat; `Steps:` and `---` are too short.
const PARAGRAPH_WORDS_MIN: usize = 4;

/// Words that change the meaning of a sentence: texts that differ in one of them are not duplicates.
const DISTINGUISHING_WORDS: [&str; 17] = [
    "not", "no", "never", "without", "none", "nor", "neither", "cannot", "except", "unless",
    "only", "always", "must", "may", "before", "after", "avoid",
];

/// A text that was removed from a block because another block has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// The index of the block that lost it.
    pub block: usize,
    /// The index of the block that keeps it.
    pub kept_in: usize,
    /// The text.
    pub text: String,
}

/// A part of a block that can repeat one of another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockPart {
    Goal,
    Rule(usize),
    Paragraph(usize),
}

/// Removes from each block what an earlier one says in the same or nearly the same words. The blocks
/// are in order of priority, highest first.
///
/// Texts that differ in a number or in a word such as `not`, `only` or `before` are never duplicates.
/// A heading is removed when all text under it is.
pub fn dedupe(blocks: &mut [ContextBlock]) -> Vec<Repeat> {
    let mut parts: Vec<(usize, BlockPart, String)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if !block.goal.is_empty() {
            parts.push((at, BlockPart::Goal, block.goal.clone()));
        }
        for (index, rule) in block.behaviour_rules.iter().enumerate() {
            parts.push((at, BlockPart::Rule(index), rule_line(rule)));
        }
        for (index, text) in block.paragraphs.iter().enumerate() {
            if heading_level(text).is_none()
                && text.split_whitespace().count() >= PARAGRAPH_WORDS_MIN
            {
                parts.push((at, BlockPart::Paragraph(index), text.clone()));
            }
        }
    }
    let texts: Vec<&str> = parts.iter().map(|(_, _, text)| text.as_str()).collect();
    let found = duplicates(&texts, Score::unit(SIMILARITY_MIN));
    let mut removed: BTreeSet<usize> = BTreeSet::new();
    let mut repeats = Vec::new();
    for (index, first) in found.into_iter().enumerate() {
        let Some(first) = first else { continue };
        let ((at, part, text), (kept_in, other, kept)) = (&parts[index], &parts[first]);
        // A goal is one line of every block, so it can only repeat another goal.
        let is_same_kind = (*part == BlockPart::Goal) == (*other == BlockPart::Goal);
        if at != kept_in && is_same_kind && agree_in_distinguishing_words(kept, text) {
            removed.insert(index);
            let (block, kept_in, text) = (*at, *kept_in, text.clone());
            repeats.push(Repeat { block, kept_in, text });
        }
    }
    for (at, block) in blocks.iter_mut().enumerate() {
        let is_removed = |part: BlockPart| {
            removed.iter().any(|&index| (parts[index].0, parts[index].1) == (at, part))
        };
        if is_removed(BlockPart::Goal) {
            block.goal.clear();
        }
        let mut index = 0..;
        block
            .behaviour_rules
            .retain(|_| !index.next().is_some_and(|index| is_removed(BlockPart::Rule(index))));
        block.paragraphs =
            without_removed(&block.paragraphs, |index| is_removed(BlockPart::Paragraph(index)));
    }
    repeats
}

/// Whether two similar texts agree in their numbers and in the words that change a meaning.
fn agree_in_distinguishing_words(kept: &str, text: &str) -> bool {
    let parts = |text: &str| -> (BTreeSet<String>, BTreeSet<String>) {
        let lower = text.to_lowercase().replace("n't", " not").replace('’', "'");
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '.' && c != ',');
        let words = words.map(|word| word.trim_matches(['.', ',']).to_owned());
        let (numbers, words): (BTreeSet<_>, BTreeSet<_>) = words
            .filter(|word| !word.is_empty())
            .partition(|word| word.contains(|c: char| c.is_numeric()));
        (
            numbers,
            words
                .into_iter()
                .filter(|word| DISTINGUISHING_WORDS.contains(&word.as_str()))
                .collect(),
        )
    };
    let ((numbers_kept, words_kept), (numbers, words)) = (parts(kept), parts(text));
    words_kept == words && numbers.is_subset(&numbers_kept)
}

/// The level of a paragraph that is a heading and nothing else.
fn heading_level(paragraph: &str) -> Option<usize> {
    let level = paragraph.bytes().take_while(|byte| *byte == b'#').count();
    let is_one = (1..=6).contains(&level) && paragraph[level..].starts_with(' ');
    (is_one && !paragraph.contains('\n')).then_some(level)
}

/// The paragraphs that are kept. A heading is kept unless it had text under it and all of that goes.
fn without_removed(paragraphs: &[String], is_removed: impl Fn(usize) -> bool) -> Vec<String> {
    let is_kept = |index: usize| {
        let Some(level) = heading_level(&paragraphs[index]) else { return !is_removed(index) };
        let under = |at: &usize| heading_level(&paragraphs[*at]).is_none_or(|other| other > level);
        let mut texts = (index + 1..paragraphs.len())
            .take_while(under)
            .filter(|at| heading_level(&paragraphs[*at]).is_none())
            .peekable();
        texts.peek().is_none() || texts.any(|at| !is_removed(at))
    };
    (0..paragraphs.len()).filter(|&index| is_kept(index)).map(|at| paragraphs[at].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::context::BehaviourRule;
    use super::*;

    /// A block with rules (`trigger: action`) and paragraphs.
    fn block(lines: &[&str]) -> ContextBlock {
        let mut block = ContextBlock { name: "x".to_owned(), ..ContextBlock::default() };
        for line in lines {
            match line.split_once(": ") {
                Some(("goal", goal)) => block.goal = goal.to_owned(),
                Some((trigger, action)) => block
                    .behaviour_rules
                    .push(BehaviourRule { trigger: trigger.to_owned(), action: action.to_owned() }),
                None => block.paragraphs.push((*line).to_owned()),
            }
        }
        block
    }

    #[track_caller]
    fn check(first: &[&str], second: &[&str], left: &[&str]) {
        let mut blocks = [block(first), block(second)];
        let repeats = dedupe(&mut blocks);
        assert_eq!(blocks, [block(first), block(left)], "{repeats:?}");
        let lost = second.iter().filter(|line| !left.contains(line) && !line.starts_with('#'));
        assert_eq!(repeats.len(), lost.count());
        assert!(repeats.iter().all(|repeat| (repeat.block, repeat.kept_in) == (1, 0)));
    }

    #[test]
    fn a_text_of_two_contexts_is_kept_once_s5() {
        check(
            &["a deploy fails: roll back and tell the team"],
            &["A deploy fails: roll back, and tell the team!", "a build fails: fix it first"],
            &["a build fails: fix it first"],
        );
        let long = "Ask the owner of the service before you change its limits, and write down why \
                    the change is needed and who agreed to it";
        let nearly = long.replace("owner", "keeper");
        check(
            &[long],
            &[&nearly, "Another paragraph of its own."],
            &["Another paragraph of its own."],
        );
        check(&["goal: No order is lost"], &["goal: no order is lost"], &[]);
    }

    #[test]
    fn texts_that_differ_in_a_number_or_negation_are_kept_s5() {
        let allowed = "Deployments on the afternoon of a working day are allowed when the checks are \
                       green and nobody objects to them in the channel";
        let forbidden = allowed.replace("are allowed", "are not allowed");
        check(&[allowed], &[&forbidden], &[&forbidden]);
        let ten = "Requests to the payment service are retried up to 10 times with a growing delay \
                   between them before the order fails for good";
        let three = ten.replace("10", "3");
        check(&[ten], &[&three], &[&three]);
        check(&["Steps:"], &["Steps:"], &["Steps:"]);
    }

    #[test]
    fn a_heading_is_removed_with_all_text_under_it_s5() {
        let (one, two) = ("First ask the owner.", "Then change the limit.");
        check(
            &["## Limits", one, two],
            &[
                "# Guide",
                "## Limits",
                one,
                "### Steps",
                two,
                "## Contact",
                "Call the service desk.",
            ],
            &["# Guide", "## Contact", "Call the service desk."],
        );
        check(&["## Empty"], &["## Empty"], &["## Empty"]);
    }
}
