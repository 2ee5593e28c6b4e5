//! The words of the format: the names and meanings of the values of each closed choice.
//!
//! Parsing, writing, messages and the documentation read the same tables.

use haversack_core::assemble::Fencing;
use haversack_core::layer::{Arrangement, Order, Stability};
use haversack_core::pack::Overflow;
use haversack_core::rank::Recency;
use haversack_core::select::Selector;
use haversack_core::text::truncate::Truncation;

use super::{QueryPart, Shape};

/// The word that removes a limit.
pub(super) const NONE: &str = "none";

/// A word that names one value of a closed choice.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChoiceWord<T> {
    /// The word.
    pub(super) name: &'static str,
    /// The value.
    pub(super) value: T,
    /// The meaning, in one line.
    pub(super) about: &'static str,
}

const fn word<T: Copy>(name: &'static str, value: T, about: &'static str) -> ChoiceWord<T> {
    ChoiceWord { name, value, about }
}

/// The word for a value. A test checks that every value of a closed choice has one.
pub(super) fn name_of<T: PartialEq>(words: &[ChoiceWord<T>], value: &T) -> &'static str {
    words.iter().find(|word| word.value == *value).map_or("", |word| word.name)
}

/// The value of `cut`: how a text that does not fit is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutWord {
    pub(super) cut: Option<Truncation>,
    pub(super) summarise: bool,
}

const fn cut(cut: Option<Truncation>) -> CutWord {
    CutWord { cut, summarise: false }
}

pub(super) const SHAPES: &[ChoiceWord<Shape>] = &[
    word("sections", Shape::Sections, "sections and citations; the default"),
    word(
        "proposal",
        Shape::Proposal,
        "categories with their truncation, for a sales proposal (P11)",
    ),
    word("prime", Shape::Prime, "items with excerpts and citations, for files and threads (K6)"),
    word("workspace", Shape::Workspace, "sections of blocks, for a block-based workspace (W10)"),
    word("situation", Shape::Situation, "active contexts and their rules, for a situation (S6)"),
    word("memory", Shape::Memory, "a context and its memories, for a chat assistant (M9)"),
];

pub(super) const OVERFLOWS: &[ChoiceWord<Overflow>] = &[
    word(
        "refuse",
        Overflow::Refuse,
        "an error that names the least budget that would do; the default",
    ),
    word(
        "exceed",
        Overflow::Exceed,
        "reserves give way to what is pinned; where that is still larger, it is packed alone, with \
         a notice",
    ),
];

pub(super) const FENCES: &[ChoiceWord<Fencing>] = &[
    word("untrusted", Fencing::Untrusted, "texts that are not trusted; the default"),
    word(
        "sections",
        Fencing::Sections,
        "sections that hold untrusted text, each as a whole: cheaper where items are short",
    ),
    word("all", Fencing::All, "every text"),
    word(
        "lines",
        Fencing::Lines,
        "none, but no line of an untrusted text can pass for another item or a heading: the cheapest",
    ),
    word("off", Fencing::Off, "none: the application marks data in its own way"),
];

pub(super) const SELECTORS: &[ChoiceWord<Selector>] = &[
    word(
        "greedy",
        Selector::Greedy,
        "most value for a token first, in one fixed order; the default",
    ),
    word(
        "exact",
        Selector::Exact,
        "the most valuable subset; a larger budget may then drop what a smaller one had",
    ),
];

pub(super) const ORDERS: &[ChoiceWord<Order>] = &[
    word("density", Order::Density, "most value for a token first; the default"),
    word("rank", Order::Rank, "best score first, each whole; the default when pinned"),
    word(
        "essentials",
        Order::Essentials,
        "best score first, the essential form of each before the rest of any",
    ),
    word(
        "blocks",
        Order::Blocks,
        "best block first, whichever text it is of: a paragraph with its heading, a list, a listing; passages of one item stand together, and a text grows by its blocks until it is whole",
    ),
];

pub(super) const CUTS: &[ChoiceWord<CutWord>] = &[
    word(
        "extractive",
        cut(Some(Truncation::Extractive)),
        "keep the sentences that matter most to the query, in their order; the default",
    ),
    word("keep_start", cut(Some(Truncation::KeepStart)), "keep the beginning"),
    word("keep_end", cut(Some(Truncation::KeepEnd)), "keep the end"),
    word(
        "summarize",
        CutWord { cut: Some(Truncation::Extractive), summarise: true },
        "keep a summary by the configured model; without one, extractive, and the result says so",
    ),
    word(NONE, cut(None), "leave it out; the only way when pinned"),
];

pub(super) const ARRANGEMENTS: &[ChoiceWord<Arrangement>] = &[
    word("ranked", Arrangement::Ranked, "best first; the default"),
    word("edges", Arrangement::Edges, "best first and last, weakest in the middle"),
    word("newest", Arrangement::Newest, "newest first"),
    word("oldest", Arrangement::Oldest, "oldest first"),
    word("found", Arrangement::Found, "as they were found: a page's blocks as they stand on it"),
];

pub(super) const STABILITIES: &[ChoiceWord<Stability>] = &[
    word(
        "foundational",
        Stability::Foundational,
        "the same for every request; the default when pinned",
    ),
    word("stable", Stability::Stable, "the same for many requests"),
    word("volatile", Stability::Volatile, "another for each request; the default"),
];

pub(super) const QUERY_PARTS: &[ChoiceWord<QueryPart>] = &[
    word("query", QueryPart::Query, "the query itself; the default"),
    word("subject", QueryPart::Subject, "the first subject: its own text and its latest items"),
    word("situation", QueryPart::Situation, "the facts of the situation"),
    word("history", QueryPart::History, "the last turns of the conversation"),
];

pub(super) const RECENCIES: &[ChoiceWord<Recency>] = &[
    word("over_month", Recency::WORKSPACE, "falls evenly from 1 to 0 over 30 days; the default"),
    word("over_day", Recency::SITUATION, "falls evenly from 1 to 0 over 24 hours"),
    word("hourly", Recency::PRIME, "loses one per cent of what is left each hour"),
    word("harmonic", Recency::MEMORY, "1 / (1 + days): a half after one day, a third after two"),
];

/// Names of the built-in rankers (M6).
pub(crate) const RANKERS: &[(&str, &str)] = &[
    ("default", "0.6 semantic + 0.2 recency + 0.2 confidence"),
    ("bySimilarity", "semantic alone"),
    ("byRecency", "recency alone"),
    ("byConfidence", "confidence alone"),
];

/// Names of the built-in templates.
pub(super) const TEMPLATES: &[(&str, &str)] = &[
    ("chat", "a line that introduces past conversations, then a list with dashes"),
    ("detailed", "each text with its kind, confidence and time"),
    ("plain", "the texts alone, a blank line between them"),
    ("section", "a heading, then each text under its title, kind and citation; says so when empty"),
    ("summary", "one line of key information, texts separated by bars"),
];
