//! What two contexts say alike is said once, where the priority is highest (S5).

use std::collections::BTreeSet;

use haversack_core::text::duplicate::duplicates;
use haversack_core::units::Score;

use super::block::{Block, rule_line};

/// How alike two texts are that say the same, by their three-word pieces: one word of twenty may
/// differ.
const ALIKE: f64 = 0.6;

/// A paragraph of fewer words says too little to be a repeat: `Steps:`, `---`.
const PARAGRAPH_WORDS_MIN: usize = 4;

/// Words that turn a sentence round: texts that differ in one of them do not say the same.
const TURNING: [&str; 17] = [
    "not", "no", "never", "without", "none", "nor", "neither", "cannot", "except", "unless",
    "only", "always", "must", "may", "before", "after", "avoid",
];

/// A text that was left out because another context says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// Which block lost it.
    pub block: usize,
    /// Which block has it.
    pub kept_in: usize,
    /// The text.
    pub text: String,
}

/// What can be said again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Goal,
    Rule(usize),
    Paragraph(usize),
}

/// Takes out of each block what an earlier one says in the same or nearly the same words. The
/// blocks come by priority, highest first.
///
/// Texts that differ in a number or in a word such as `not`, `only` or `before` are never taken for
/// the same. A heading goes when all that stood under it went.
pub fn dedupe(blocks: &mut [Block]) -> Vec<Repeat> {
    let mut parts: Vec<(usize, Part, String)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if !block.goal.is_empty() {
            parts.push((at, Part::Goal, block.goal.clone()));
        }
        for (index, rule) in block.behaviour.iter().enumerate() {
            parts.push((at, Part::Rule(index), rule_line(rule)));
        }
        for (index, text) in block.paragraphs.iter().enumerate() {
            if heading(text).is_none() && text.split_whitespace().count() >= PARAGRAPH_WORDS_MIN {
                parts.push((at, Part::Paragraph(index), text.clone()));
            }
        }
    }
    let texts: Vec<&str> = parts.iter().map(|(_, _, text)| text.as_str()).collect();
    let found = duplicates(&texts, Score::unit(ALIKE));
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    let mut repeats = Vec::new();
    for (index, first) in found.into_iter().enumerate() {
        let Some(first) = first else { continue };
        let ((at, part, text), (kept_in, other, kept)) = (&parts[index], &parts[first]);
        // A goal is one line of every block: it is only ever the same as another goal.
        let same_sort = (*part == Part::Goal) == (*other == Part::Goal);
        if at != kept_in && same_sort && says_the_same(kept, text) {
            gone.insert(index);
            let (block, kept_in, text) = (*at, *kept_in, text.clone());
            repeats.push(Repeat { block, kept_in, text });
        }
    }
    for (at, block) in blocks.iter_mut().enumerate() {
        let lost =
            |part: Part| gone.iter().any(|&index| (parts[index].0, parts[index].1) == (at, part));
        if lost(Part::Goal) {
            block.goal.clear();
        }
        let mut index = 0..;
        block.behaviour.retain(|_| !index.next().is_some_and(|index| lost(Part::Rule(index))));
        block.paragraphs = without(&block.paragraphs, |index| lost(Part::Paragraph(index)));
    }
    repeats
}

/// Whether two texts that are alike also agree in what turns a meaning round.
fn says_the_same(kept: &str, text: &str) -> bool {
    let words = |text: &str| -> (BTreeSet<String>, BTreeSet<String>) {
        let lower = text.to_lowercase().replace("n't", " not").replace('’', "'");
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '.' && c != ',');
        let words = words.map(|word| word.trim_matches(['.', ',']).to_owned());
        let (numbers, words): (BTreeSet<_>, BTreeSet<_>) = words
            .filter(|word| !word.is_empty())
            .partition(|word| word.contains(|c: char| c.is_numeric()));
        (numbers, words.into_iter().filter(|word| TURNING.contains(&word.as_str())).collect())
    };
    let ((numbers_kept, turning_kept), (numbers, turning)) = (words(kept), words(text));
    turning_kept == turning && numbers.is_subset(&numbers_kept)
}

/// The level of a paragraph that is a heading and nothing else.
fn heading(paragraph: &str) -> Option<usize> {
    let level = paragraph.bytes().take_while(|byte| *byte == b'#').count();
    let is_one = (1..=6).contains(&level) && paragraph[level..].starts_with(' ');
    (is_one && !paragraph.contains('\n')).then_some(level)
}

/// The paragraphs that stay. A heading stays unless there was text under it and all of it goes.
fn without(paragraphs: &[String], lost: impl Fn(usize) -> bool) -> Vec<String> {
    let stays = |index: usize| {
        let Some(level) = heading(&paragraphs[index]) else { return !lost(index) };
        let under = |at: &usize| heading(&paragraphs[*at]).is_none_or(|other| other > level);
        let mut texts = (index + 1..paragraphs.len())
            .take_while(under)
            .filter(|at| heading(&paragraphs[*at]).is_none())
            .peekable();
        texts.peek().is_none() || texts.any(|at| !lost(at))
    };
    (0..paragraphs.len()).filter(|&index| stays(index)).map(|at| paragraphs[at].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::context::BehaviourRule;
    use super::*;

    /// A block of rules (`trigger: action`) and paragraphs.
    fn block(lines: &[&str]) -> Block {
        let mut block = Block { name: "x".to_owned(), ..Block::default() };
        for line in lines {
            match line.split_once(": ") {
                Some(("goal", goal)) => block.goal = goal.to_owned(),
                Some((trigger, action)) => block
                    .behaviour
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
    fn what_two_contexts_say_alike_is_said_once_s5() {
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
    fn what_differs_in_a_word_that_counts_is_kept_s5() {
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
    fn a_heading_goes_with_all_that_stood_under_it_s5() {
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
