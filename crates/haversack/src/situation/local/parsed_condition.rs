//! Parses a condition in plain language into clauses joined by `and`, `or` and `not`.

use std::sync::Arc;

use super::lexicon::{Lexicon, LexiconEntry};
use super::quantity::{Bound, find_bound};
use super::sentence_token::{SentenceToken, tokenize};
use super::word_lists::{AUXILIARY_VERBS, DEGREE_WORDS, UNIVERSAL_WORDS};

/// How deep a condition may be nested; a deeper one is left undecided.
const DEPTH_MAX: usize = 4;

/// A condition in plain language as a logical expression over clauses.
#[derive(Debug)]
pub(super) enum ParsedCondition {
    Clause(ConditionClause),
    Not(Box<ParsedCondition>),
    All(Vec<ParsedCondition>),
    Any(Vec<ParsedCondition>),
    /// The sentence does not show how its parts relate.
    Unclear,
}

/// A word of a clause.
#[derive(Debug)]
pub(super) struct ClauseWord {
    pub(super) entry: Arc<LexiconEntry>,
    /// Whether it comes before the verb and so belongs to the subject.
    pub(super) is_subject: bool,
    /// Whether it directly follows the number of a comparison.
    pub(super) is_counted: bool,
    /// Whether it begins with a capital letter inside a sentence.
    pub(super) is_proper_noun: bool,
}

/// A single clause of a condition, without negation.
#[derive(Debug)]
pub(super) struct ConditionClause {
    pub(super) tokens: Vec<SentenceToken>,
    /// All words but function words and those of a comparison.
    pub(super) words: Vec<ClauseWord>,
    pub(super) bound: Option<Bound>,
    /// Whether it says `all` or `only`: one case cannot show that it holds.
    pub(super) is_universal: bool,
    /// Whether it is a matter of degree, as with `very`.
    pub(super) is_vague: bool,
}

impl ConditionClause {
    /// The words that carry meaning rather than name the setting.
    pub(super) fn content_words(&self) -> impl Iterator<Item = &ClauseWord> {
        self.words.iter().filter(|word| !word.entry.is_generic)
    }

    pub(super) fn has_any(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|token| token.is_any_of(words))
    }

    /// Whether the words of a phrase occur side by side.
    pub(super) fn has_phrase(&self, phrase: &str) -> bool {
        let words: Vec<&str> = phrase.split(' ').collect();
        self.tokens
            .windows(words.len())
            .any(|tokens| tokens.iter().zip(&words).all(|(token, word)| token.word == *word))
    }
}

impl ParsedCondition {
    pub(super) fn parse(text: &str, lexicon: &mut Lexicon) -> ParsedCondition {
        parse_tokens(&tokenize(text), lexicon, 0)
    }
}

fn parse_tokens(tokens: &[SentenceToken], lexicon: &mut Lexicon, depth: usize) -> ParsedCondition {
    if depth > DEPTH_MAX {
        return ParsedCondition::Unclear;
    }
    let opens = |token: &SentenceToken| {
        token.is_any_of(&["when", "if", "whenever", "where", "wenn", "falls"])
    };
    let tokens = &tokens[usize::from(tokens.first().is_some_and(opens))..];
    if let Some((is_true, length)) = parse_truth_prefix(tokens) {
        let mut rest = tokens[length..].to_vec();
        // The first word of a sentence is capitalised without being a proper noun.
        rest.iter_mut().take(1).for_each(|token| token.is_proper_noun = false);
        let inner = parse_tokens(&rest, lexicon, depth + 1);
        return if is_true { inner } else { ParsedCondition::Not(Box::new(inner)) };
    }
    let taken = find_bound(tokens).map_or_else(Vec::new, |(_, taken)| taken);
    let free = |at: &usize| !taken.contains(at);
    let joins =
        |at: &usize| tokens[*at].is_any_of(&["and", "or", "but", "nor", "und", "oder", "aber"]);
    let breaks = ["unless", "except", "if", "wenn", "falls", "außer", "rather", "instead"];
    let differs = tokens.windows(2).any(|two| two[0].word == "other" && two[1].word == "than");
    if differs || tokens.iter().any(|token| token.is_any_of(&breaks)) {
        return ParsedCondition::Unclear;
    }
    if let Some(at) = (1..tokens.len().saturating_sub(1)).filter(free).find(joins) {
        return parse_junction(tokens, at, lexicon, depth);
    }
    parse_negated_clause(tokens, &taken, lexicon)
}

/// Parses `it is (not) true that …`: whether it affirms, and its number of words.
fn parse_truth_prefix(tokens: &[SentenceToken]) -> Option<(bool, usize)> {
    const PREFIXES: &[(&str, bool)] = &[
        ("it is not true that", false),
        ("it is not the case that", false),
        ("it is false that", false),
        ("it is true that", true),
        ("it is the case that", true),
        ("es stimmt nicht dass", false),
    ];
    PREFIXES.iter().find_map(|(words, is_true)| {
        let count = words.split(' ').count();
        let first = tokens.get(..count)?;
        words
            .split(' ')
            .zip(first)
            .all(|(word, token)| token.word == word)
            .then_some((*is_true, count))
    })
}

/// Parses tokens with a conjunction at `at`: two clauses, or one clause with two nouns.
fn parse_junction(
    tokens: &[SentenceToken],
    at: usize,
    lexicon: &mut Lexicon,
    depth: usize,
) -> ParsedCondition {
    let (left, right) = (&tokens[..at], &tokens[at + 1..]);
    let has_verb =
        |tokens: &[SentenceToken]| tokens.iter().any(|token| token.is_any_of(AUXILIARY_VERBS));
    let is_any = tokens[at].is_any_of(&["or", "nor", "oder"]);
    let is_denied = left.iter().any(SentenceToken::is_negation);
    let combine = |parts: Vec<ParsedCondition>| {
        if is_any { ParsedCondition::Any(parts) } else { ParsedCondition::All(parts) }
    };
    let is_nor = tokens[at].word == "nor" || left.iter().any(|token| token.word == "neither");
    let are_clauses =
        has_verb(left) && has_verb(right) || right.iter().any(SentenceToken::is_negation);
    if are_clauses && !is_nor {
        if is_any && is_denied && !right.iter().any(SentenceToken::is_negation) {
            return ParsedCondition::Unclear;
        }
        let parts =
            vec![parse_tokens(left, lexicon, depth + 1), parse_tokens(right, lexicon, depth + 1)];
        return combine(parts);
    }
    if is_denied && !is_any {
        // In `not A and B` the words do not say whether B is denied as well.
        return ParsedCondition::Unclear;
    }
    let article =
        usize::from(right.first().is_some_and(|token| token.is_any_of(&["a", "an", "the"])));
    let word = article + 1;
    if right.len() < word {
        return ParsedCondition::Unclear;
    }
    let without = |range: std::ops::Range<usize>| -> Vec<SentenceToken> {
        let all = tokens.iter().enumerate();
        let kept = all.filter(|(place, token)| !range.contains(place) && !token.is_negation());
        kept.map(|(_, token)| token.clone()).collect()
    };
    let first = parse_tokens(&without(at..at + 1 + word), lexicon, depth + 1);
    let second = parse_tokens(&without(at - 1..at + 1 + article), lexicon, depth + 1);
    let both = combine(vec![first, second]);
    let is_odd = left.iter().filter(|token| token.is_negation()).count() % 2 == 1;
    if is_odd { ParsedCondition::Not(Box::new(both)) } else { both }
}

/// Parses one clause: an odd number of negations negates it.
fn parse_negated_clause(
    tokens: &[SentenceToken],
    taken: &[usize],
    lexicon: &mut Lexicon,
) -> ParsedCondition {
    let mut kept = Vec::new();
    let mut count = 0;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let next = tokens.get(at + 1);
        if !taken.contains(&at) && token.is_negation() {
            count += 1;
            if next.is_some_and(|next| {
                next.is_any_of(&["only", "just", "all", "every", "everybody", "always"])
            }) {
                return ParsedCondition::Unclear;
            }
            let has_second_word = (token.word == "no"
                && next.is_some_and(|next| next.is_any_of(&["one", "longer"])))
                || next.is_some_and(|next| next.word == "yet");
            at += usize::from(has_second_word);
        } else {
            kept.push(token.clone());
        }
        at += 1;
    }
    let clause = ParsedCondition::Clause(parse_clause(kept, lexicon));
    if count % 2 == 1 { ParsedCondition::Not(Box::new(clause)) } else { clause }
}

fn parse_clause(tokens: Vec<SentenceToken>, lexicon: &mut Lexicon) -> ConditionClause {
    let (bound, taken) =
        find_bound(&tokens).map_or((None, Vec::new()), |(b, taken)| (Some(b), taken));
    let free = |at: usize| !taken.contains(&at);
    let any = |words: &[&str]| {
        tokens.iter().enumerate().any(|(at, token)| free(at) && token.is_any_of(words))
    };
    // Without an auxiliary verb, the subject is the first noun.
    let is_article = |token: &SentenceToken| {
        token.is_any_of(&["a", "an", "the", "this", "our", "der", "die", "das"])
    };
    let verb = tokens
        .iter()
        .position(|token| token.is_any_of(AUXILIARY_VERBS))
        .or_else(|| tokens.first().is_some_and(is_article).then_some(2));
    let words = tokens.iter().enumerate().filter(|(at, token)| {
        free(*at)
            && !token.is_function_word()
            && !token.is_any_of(UNIVERSAL_WORDS)
            && !token.is_any_of(DEGREE_WORDS)
    });
    let words = words.map(|(at, token)| ClauseWord {
        entry: lexicon.entry(&token.word),
        is_subject: verb.is_some_and(|verb| at < verb),
        is_counted: taken.last().is_some_and(|last| {
            (last + 1..at).all(|between| tokens[between].is_function_word()) && at > *last
        }),
        is_proper_noun: token.is_proper_noun,
    });
    ConditionClause {
        words: words.collect(),
        bound,
        is_universal: any(UNIVERSAL_WORDS),
        is_vague: any(DEGREE_WORDS),
        tokens,
    }
}
