//! The table of built-in collectors, one row each.

use std::sync::Arc;

use super::{
    Collector, ContextsCollector, field_matches, follow, history, links, names, search, similar,
    situation, time, tree,
};
use crate::recipe::{SettingSpec, SettingType};

/// What a collector finds by. It decides how relevant to the question its candidates must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindsBy {
    /// By the question: irrelevant candidates are not shown.
    Question,
    /// By names in the request or the workspace, or by likeness to what they name.
    Name,
    /// By links from other candidates; these need not share the question's words.
    Link,
}

/// A field of a request without which a collector finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestField {
    /// What the user looks at.
    Focus,
    /// The conversation so far.
    History,
    /// The situation.
    Situation,
    /// The user.
    User,
}

/// A built-in collector, as recipes, messages and the documentation describe it.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInCollector {
    /// Its name in a recipe.
    pub name: &'static str,
    /// What it finds, in a line.
    pub about: &'static str,
    /// What it finds by.
    pub finds: FindsBy,
    /// Its settings beside `kinds` and `deadline_ms`.
    pub settings: &'static [SettingSpec],
    /// The field of a request that it needs.
    pub needs: Option<RequestField>,
    /// Whether a recipe has to name kinds for it.
    pub needs_kinds: bool,
    /// Whether it finds anything in a recipe without a subject.
    pub works_without_subject: bool,
    /// Creates it.
    pub create: fn() -> Arc<dyn Collector>,
}

const fn collector(
    name: &'static str,
    finds: FindsBy,
    create: fn() -> Arc<dyn Collector>,
    about: &'static str,
    settings: &'static [SettingSpec],
) -> BuiltInCollector {
    BuiltInCollector {
        name,
        about,
        finds,
        settings,
        needs: None,
        needs_kinds: false,
        works_without_subject: false,
        create,
    }
}

impl BuiltInCollector {
    const fn needs(self, field: RequestField) -> BuiltInCollector {
        BuiltInCollector { needs: Some(field), ..self }
    }

    const fn needs_kinds(self) -> BuiltInCollector {
        BuiltInCollector { needs_kinds: true, ..self }
    }

    const fn works_without_subject(self) -> BuiltInCollector {
        BuiltInCollector { works_without_subject: true, ..self }
    }
}

const fn count(
    name: &'static str,
    about: &'static str,
    (min, max): (u64, u64),
    default: u64,
) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Count { min, max, default } }
}

const fn fraction(name: &'static str, about: &'static str, default: f64) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Number { min: 0.0, max: 1.0, default } }
}

const fn texts(name: &'static str, about: &'static str) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Texts }
}

const LIMIT: (u64, u64) = (1, 1_000);

/// Most chunks of one item, for searches that count items.
const PER_ITEM: SettingSpec = count("per_item", "how many chunks of one item at most", LIMIT, 3);

const MATCHING: SettingSpec = texts(
    "matching",
    "fields in which an item must agree with the opportunity, where both have them",
);
const WITH: SettingSpec = texts("with", "fields an item must have, as \"name=value\"");

/// All built-in collectors.
pub const BUILT_IN: &[BuiltInCollector] = &[
    collector(
        "focus",
        FindsBy::Name,
        || Arc::new(tree::FocusCollector),
        "what the asker looks at and what stands around it in the tree (W2)",
        &[
            count("ancestors", "how many levels up", (0, 64), 3),
            count("siblings", "how many neighbours on either side", (0, 100), 2),
            count("children", "how many children", (0, 1_000), 5),
            count("rows", "how many rows of a database", (0, 1_000), 10),
        ],
    )
    .needs(RequestField::Focus),
    collector(
        "matching",
        FindsBy::Name,
        || Arc::new(field_matches::MatchingCollector),
        "all of which holds what a question asks of fields: overdue, mine, changed since (X10)",
        &[count("limit", "how many items at most", LIMIT, 200)],
    ),
    collector(
        "semantic",
        FindsBy::Question,
        || Arc::new(search::SemanticCollector),
        "what is nearest in meaning (W3, P8, P10)",
        &[
            count("limit", "how many items at most", LIMIT, 20),
            PER_ITEM,
            fraction("minimum", "the least similarity", 0.0),
            MATCHING,
            WITH,
        ],
    ),
    collector(
        "text",
        FindsBy::Question,
        || Arc::new(search::TextCollector),
        "what holds the query's words, by BM25 (K3)",
        &[count("limit", "how many items at most", LIMIT, 10), PER_ITEM, WITH],
    ),
    collector(
        "keyword",
        FindsBy::Question,
        || Arc::new(search::KeywordCollector),
        "what holds all of the query's keywords and phrases (K3)",
        &[count("limit", "how many items at most", LIMIT, 10), PER_ITEM, WITH],
    ),
    collector(
        "fuzzy",
        FindsBy::Question,
        || Arc::new(search::FuzzyCollector),
        "what is spelt alike: titles, paths and short texts by trigrams (K3)",
        &[
            count("limit", "how many items at most", LIMIT, 5),
            fraction("similarity", "the least similarity of trigrams", 0.3),
        ],
    ),
    collector(
        "hybrid",
        FindsBy::Question,
        || Arc::new(search::HybridCollector),
        "words and meaning fused by score; what only one of them found can still win",
        &[
            count("limit", "how many chunks at most", LIMIT, 50),
            count("per_item", "how many chunks of one item at most", LIMIT, 1_000),
            fraction("text", "what words count for", 0.7),
            fraction("vector", "what meaning counts for", 0.3),
            MATCHING,
            WITH,
        ],
    ),
    collector(
        "similar",
        FindsBy::Name,
        || Arc::new(similar::SimilarCollector),
        "what is like that which the asker looks at, where the question is about it (W3, W15)",
        &[
            count("limit", "how many items at most", LIMIT, 8),
            fraction("minimum", "the least likeness", 0.5),
            WITH,
        ],
    ),
    collector(
        "relations",
        FindsBy::Link,
        || Arc::new(links::RelationsCollector),
        "related rows, links and backlinks of the focus (W4)",
        &[
            count("depth", "how many steps", (1, 8), 2),
            count("limit", "how many at most", LIMIT, 10),
            texts("sorts", "only links of these sorts; all when empty"),
        ],
    )
    .needs(RequestField::Focus),
    collector(
        "expand",
        FindsBy::Link,
        || Arc::new(links::ExpandCollector),
        "what is related to what the layer's other collectors found (M7)",
        &[
            count("depth", "how many steps", (0, 8), 1),
            count("limit", "how many at most", LIMIT, 20),
            texts("sorts", "only links of these sorts; all when empty"),
        ],
    ),
    collector(
        "follow",
        FindsBy::Link,
        || Arc::new(follow::FollowCollector),
        "what the query and the layer's first finds call by name, by its title, and what that calls by name",
        &[
            count("hops", "how many steps from name to name", (1, 4), 2),
            count("first", "how many finds are read for names", LIMIT, 10),
            count("limit", "how many at most", LIMIT, 20),
        ],
    ),
    collector(
        "beside",
        FindsBy::Link,
        || Arc::new(follow::BesideCollector),
        "what stands before and after the layer's first finds, under the same parent",
        &[
            count("first", "how many finds have neighbours", LIMIT, 20),
            count("limit", "how many at most", LIMIT, 40),
        ],
    ),
    collector(
        "activity",
        FindsBy::Question,
        || Arc::new(time::ActivityCollector),
        "what the asker edited and viewed of late (W5)",
        &[
            count("edits", "how many edited", (0, 1_000), 10),
            count("views", "how many viewed", (0, 1_000), 5),
            count("hours", "how long ago at most", (1, 87_600), 72),
        ],
    )
    .needs(RequestField::User),
    collector(
        "recent",
        FindsBy::Question,
        || Arc::new(time::RecentCollector),
        "files the asker opened or was given of late (K2)",
        &[
            count("limit", "how many at most", LIMIT, 5),
            count("hours", "how long ago at most", (1, 87_600), 720),
        ],
    )
    .needs(RequestField::User),
    collector(
        "references",
        FindsBy::Name,
        || Arc::new(names::ReferencesCollector),
        "what the subject or the query refers to by name, and what the request includes (K2)",
        &[
            OF_SUBJECT,
            count("limit", "how many at most, beside what the request includes", LIMIT, 20),
        ],
    )
    .works_without_subject(),
    collector(
        "history",
        FindsBy::Name,
        || Arc::new(history::HistoryCollector),
        "the last messages of the subject or of the conversation in the request (K2, W9)",
        &[OF_SUBJECT, count("limit", "how many at most", LIMIT, 20)],
    )
    .works_without_subject(),
    collector(
        "singleton",
        FindsBy::Name,
        || Arc::new(time::SingletonCollector),
        "the one item of a kind, such as the company's profile (P5, P6)",
        &[],
    )
    .needs_kinds(),
    collector(
        "newest",
        FindsBy::Name,
        || Arc::new(time::NewestCollector),
        "items that belong to something, newest first (P7)",
        &[
            SettingSpec {
                name: "of",
                about: "what they belong to",
                value: SettingType::Subject(&["focus", "workspace"]),
            },
            count("limit", "how many at most", LIMIT, 200),
        ],
    ),
    collector(
        "subject",
        FindsBy::Name,
        || Arc::new(time::SubjectCollector),
        "the item that the request is about (P1)",
        &[OF_SUBJECT_OR_FOCUS],
    ),
    collector(
        "heading",
        FindsBy::Name,
        || Arc::new(time::HeadingCollector),
        "the item that the request is about, where others of the layer found something",
        &[OF_SUBJECT_OR_FOCUS],
    ),
    collector(
        "mentions",
        FindsBy::Name,
        || Arc::new(names::MentionsCollector::default()),
        "what is mentioned by name in the query and the subject, misspellings included (P9)",
        &[
            count("limit", "how many at most", LIMIT, 20),
            SettingSpec {
                name: "within",
                about: "where it is mentioned: everywhere, or in what was asked alone",
                value: SettingType::OneOf(&["everywhere", "query"]),
            },
        ],
    ),
    collector(
        "situation",
        FindsBy::Name,
        || Arc::new(situation::SituationCollector),
        "the situation itself, as the request describes it, or how the pack came about (S6)",
        &[SettingSpec {
            name: "part",
            about: "what is told",
            value: SettingType::OneOf(&["situation", "assembly"]),
        }],
    )
    .needs(RequestField::Situation),
    collector(
        "contexts",
        FindsBy::Name,
        || Arc::new(ContextsCollector::new()),
        "the current context, its ancestors, and what their rules inject (S1 to S5)",
        &[count("depth", "how long a chain of parents may be", (1, 256), 64)],
    )
    .needs(RequestField::Situation),
];

/// The subject whose messages or references are collected.
const OF_SUBJECT: SettingSpec =
    SettingSpec { name: "of", about: "of which subject", value: SettingType::Subject(&[]) };

/// The item that the request is about: a subject or the focus.
const OF_SUBJECT_OR_FOCUS: SettingSpec =
    SettingSpec { name: "of", about: "which of them", value: SettingType::Subject(&["focus"]) };

/// Returns the built-in collector of a name.
#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static BuiltInCollector> {
    BUILT_IN.iter().find(|collector| collector.name == name)
}
