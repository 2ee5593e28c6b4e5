//! What a condition claims: single claims, joined by `and`, `or` and `not`.

use std::sync::Arc;

use super::number::{Bound, bound};
use super::token::{Token, tokens};
use super::word::{Lexicon, Word};
use super::words::{AUXILIARY, DEGREE, NEGATIONS, UNIVERSAL};

/// How deep claims are taken apart; what is joined more often is left undecided.
const DEPTH_MAX: usize = 4;

/// A condition, taken apart.
#[derive(Debug)]
pub(super) enum Asked {
    One(Claim),
    Not(Box<Asked>),
    All(Vec<Asked>),
    Any(Vec<Asked>),
    /// It is not clear how its parts belong together.
    Unclear,
}

/// A word of a claim.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) word: Arc<Word>,
    /// Whether it stands before the verb: it says of what the claim speaks.
    pub(super) is_subject: bool,
    /// Whether it stands right behind the number of a comparison.
    pub(super) is_counted: bool,
    /// Whether it has a capital letter inside of a sentence.
    pub(super) is_name: bool,
}

/// A claim without negation.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) tokens: Vec<Token>,
    /// The words that carry meaning or name the setting, without those of a comparison.
    pub(super) said: Vec<Said>,
    pub(super) bound: Option<Bound>,
    /// Whether it speaks of all, or of nothing else: one case cannot show that it holds.
    pub(super) is_universal: bool,
    /// Whether it speaks of a degree.
    pub(super) is_vague: bool,
}

impl Claim {
    /// The words that carry meaning.
    pub(super) fn content(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().filter(|said| !said.word.is_generic)
    }

    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|token| token.is(words))
    }

    /// Whether some words stand side by side.
    pub(super) fn says(&self, phrase: &str) -> bool {
        let words: Vec<&str> = phrase.split(' ').collect();
        self.tokens
            .windows(words.len())
            .any(|tokens| tokens.iter().zip(&words).all(|(token, word)| token.word == *word))
    }
}

impl Asked {
    pub(super) fn read(text: &str, lexicon: &mut Lexicon) -> Asked {
        asked(&tokens(text), lexicon, 0)
    }
}

fn negates(token: &Token) -> bool {
    NEGATIONS.contains(&token.word.as_str()) || token.word.ends_with("n't")
}

fn asked(tokens: &[Token], lexicon: &mut Lexicon, depth: usize) -> Asked {
    if depth > DEPTH_MAX {
        return Asked::Unclear;
    }
    let opens = |token: &Token| token.is(&["when", "if", "whenever", "where", "wenn", "falls"]);
    let tokens = &tokens[usize::from(tokens.first().is_some_and(opens))..];
    if let Some((is_true, length)) = opening(tokens) {
        let mut rest = tokens[length..].to_vec();
        // What begins a sentence is no name for having a capital letter.
        rest.iter_mut().take(1).for_each(|token| token.is_name = false);
        let inner = asked(&rest, lexicon, depth + 1);
        return if is_true { inner } else { Asked::Not(Box::new(inner)) };
    }
    let taken = bound(tokens).map_or_else(Vec::new, |(_, taken)| taken);
    let free = |at: &usize| !taken.contains(at);
    let joins = |at: &usize| tokens[*at].is(&["and", "or", "but", "nor", "und", "oder", "aber"]);
    let breaks = ["unless", "except", "if", "wenn", "falls", "außer", "rather", "instead"];
    let differs = tokens.windows(2).any(|two| two[0].word == "other" && two[1].word == "than");
    if differs || tokens.iter().any(|token| token.is(&breaks)) {
        return Asked::Unclear;
    }
    if let Some(at) = (1..tokens.len().saturating_sub(1)).filter(free).find(joins) {
        return joined(tokens, at, lexicon, depth);
    }
    negated(tokens, &taken, lexicon)
}

/// `it is (not) true that …`, and how many words that is.
fn opening(tokens: &[Token]) -> Option<(bool, usize)> {
    const OPENINGS: &[(&str, bool)] = &[
        ("it is not true that", false),
        ("it is not the case that", false),
        ("it is false that", false),
        ("it is true that", true),
        ("it is the case that", true),
        ("es stimmt nicht dass", false),
    ];
    OPENINGS.iter().find_map(|(words, is_true)| {
        let count = words.split(' ').count();
        let said = tokens.get(..count)?;
        words
            .split(' ')
            .zip(said)
            .all(|(word, token)| token.word == word)
            .then_some((*is_true, count))
    })
}

/// Two clauses, or one clause with two nouns.
fn joined(tokens: &[Token], at: usize, lexicon: &mut Lexicon, depth: usize) -> Asked {
    let (left, right) = (&tokens[..at], &tokens[at + 1..]);
    let has_verb = |tokens: &[Token]| tokens.iter().any(|token| token.is(AUXILIARY));
    let is_any = tokens[at].is(&["or", "nor", "oder"]);
    let is_denied = left.iter().any(negates);
    let combine = |parts: Vec<Asked>| if is_any { Asked::Any(parts) } else { Asked::All(parts) };
    let is_nor = tokens[at].word == "nor" || left.iter().any(|token| token.word == "neither");
    let are_clauses = has_verb(left) && has_verb(right) || right.iter().any(negates);
    if are_clauses && !is_nor {
        if is_any && is_denied && !right.iter().any(negates) {
            return Asked::Unclear;
        }
        let parts = vec![asked(left, lexicon, depth + 1), asked(right, lexicon, depth + 1)];
        return combine(parts);
    }
    if is_denied && !is_any {
        // `not A and B`: whether B is denied, too, the words do not say.
        return Asked::Unclear;
    }
    let article = usize::from(right.first().is_some_and(|token| token.is(&["a", "an", "the"])));
    let word = article + 1;
    if right.len() < word {
        return Asked::Unclear;
    }
    let without = |range: std::ops::Range<usize>| -> Vec<Token> {
        let all = tokens.iter().enumerate();
        let kept = all.filter(|(place, token)| !range.contains(place) && !negates(token));
        kept.map(|(_, token)| token.clone()).collect()
    };
    let first = asked(&without(at..at + 1 + word), lexicon, depth + 1);
    let second = asked(&without(at - 1..at + 1 + article), lexicon, depth + 1);
    let both = combine(vec![first, second]);
    let is_odd = left.iter().filter(|token| negates(token)).count() % 2 == 1;
    if is_odd { Asked::Not(Box::new(both)) } else { both }
}

/// A clause, with its negations counted.
fn negated(tokens: &[Token], taken: &[usize], lexicon: &mut Lexicon) -> Asked {
    let mut kept = Vec::new();
    let mut count = 0;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let next = tokens.get(at + 1);
        if !taken.contains(&at) && negates(token) {
            count += 1;
            if next.is_some_and(|next| {
                next.is(&["only", "just", "all", "every", "everybody", "always"])
            }) {
                return Asked::Unclear;
            }
            let goes_on = (token.word == "no"
                && next.is_some_and(|next| next.is(&["one", "longer"])))
                || next.is_some_and(|next| next.word == "yet");
            at += usize::from(goes_on);
        } else {
            kept.push(token.clone());
        }
        at += 1;
    }
    let claim = Asked::One(claim(kept, lexicon));
    if count % 2 == 1 { Asked::Not(Box::new(claim)) } else { claim }
}

fn claim(tokens: Vec<Token>, lexicon: &mut Lexicon) -> Claim {
    let (bound, taken) = bound(&tokens).map_or((None, Vec::new()), |(b, taken)| (Some(b), taken));
    let free = |at: usize| !taken.contains(&at);
    let any =
        |words: &[&str]| tokens.iter().enumerate().any(|(at, token)| free(at) && token.is(words));
    // Without a verb that marks it, what is spoken of is the noun that comes first.
    let is_article =
        |token: &Token| token.is(&["a", "an", "the", "this", "our", "der", "die", "das"]);
    let verb = tokens
        .iter()
        .position(|token| token.is(AUXILIARY))
        .or_else(|| tokens.first().is_some_and(is_article).then_some(2));
    let said = tokens.iter().enumerate().filter(|(at, token)| {
        free(*at) && !token.is_function() && !token.is(UNIVERSAL) && !token.is(DEGREE)
    });
    let said = said.map(|(at, token)| Said {
        word: lexicon.word(&token.word),
        is_subject: verb.is_some_and(|verb| at < verb),
        is_counted: taken.last().is_some_and(|last| {
            (last + 1..at).all(|between| tokens[between].is_function()) && at > *last
        }),
        is_name: token.is_name,
    });
    Claim {
        said: said.collect(),
        bound,
        is_universal: any(UNIVERSAL),
        is_vague: any(DEGREE),
        tokens,
    }
}
