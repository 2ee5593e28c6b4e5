//! The built-in collectors and what each can be told.

use crate::recipe::{SettingSpec, SettingType};

/// By what a collector finds, which decides what its finds must have to do with the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindsBy {
    /// By the question: what has nothing to do with it is not shown.
    Question,
    /// By what the request or the workspace names outright, or what is like that.
    Name,
    /// By what other finds lead to, which need not share the question's words.
    Link,
}

/// A collector, for recipes to name and people to read about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectorDoc {
    /// Its name in a recipe.
    pub name: &'static str,
    /// What it finds, in a line.
    pub about: &'static str,
    /// By what it finds.
    pub finds: FindsBy,
    /// What it can be told, beside `kinds` and `deadline_ms`.
    pub settings: &'static [SettingSpec],
}

const fn count(
    name: &'static str,
    about: &'static str,
    (min, max): (u64, u64),
    default: u64,
) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Count { min, max, default } }
}

const fn part(name: &'static str, about: &'static str, default: f64) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Number { min: 0.0, max: 1.0, default } }
}

const fn texts(name: &'static str, about: &'static str) -> SettingSpec {
    SettingSpec { name, about, value: SettingType::Texts }
}

const LIMIT: (u64, u64) = (1, 1_000);

/// How many chunks of one item are found at most, for searches that count items.
const PER_ITEM: SettingSpec = count("per_item", "how many chunks of one item at most", LIMIT, 3);

const MATCHING: SettingSpec = texts(
    "matching",
    "fields in which an item must agree with the opportunity, where both have them",
);
const WITH: SettingSpec = texts("with", "fields an item must have, as \"name=value\"");

/// Every built-in collector.
pub const BUILT_IN: &[CollectorDoc] = &[
    CollectorDoc {
        name: "focus",
        finds: FindsBy::Name,
        about: "what the asker looks at and what stands around it in the tree (W2)",
        settings: &[
            count("ancestors", "how many levels up", (0, 64), 3),
            count("siblings", "how many neighbours on either side", (0, 100), 2),
            count("children", "how many children", (0, 1_000), 5),
            count("rows", "how many rows of a database", (0, 1_000), 10),
        ],
    },
    CollectorDoc {
        name: "matching",
        finds: FindsBy::Name,
        about: "all of which holds what a question asks of fields: overdue, mine, changed since (X10)",
        settings: &[count("limit", "how many items at most", LIMIT, 200)],
    },
    CollectorDoc {
        name: "semantic",
        finds: FindsBy::Question,
        about: "what is nearest in meaning (W3, P8, P10)",
        settings: &[
            count("limit", "how many items at most", LIMIT, 20),
            PER_ITEM,
            part("minimum", "the least similarity", 0.0),
            MATCHING,
            WITH,
        ],
    },
    CollectorDoc {
        name: "text",
        finds: FindsBy::Question,
        about: "what holds the query's words, by BM25 (K3)",
        settings: &[count("limit", "how many items at most", LIMIT, 10), PER_ITEM, WITH],
    },
    CollectorDoc {
        name: "keyword",
        finds: FindsBy::Question,
        about: "what holds all of the query's keywords and phrases (K3)",
        settings: &[count("limit", "how many items at most", LIMIT, 10), PER_ITEM, WITH],
    },
    CollectorDoc {
        name: "fuzzy",
        finds: FindsBy::Question,
        about: "what is spelt alike: titles, paths and short texts by trigrams (K3)",
        settings: &[
            count("limit", "how many items at most", LIMIT, 5),
            part("similarity", "the least similarity of trigrams", 0.3),
        ],
    },
    CollectorDoc {
        name: "hybrid",
        finds: FindsBy::Question,
        about: "words and meaning fused by score; what only one of them found can still win",
        settings: &[
            count("limit", "how many chunks at most", LIMIT, 50),
            count("per_item", "how many chunks of one item at most", LIMIT, 1_000),
            part("text", "what words count for", 0.7),
            part("vector", "what meaning counts for", 0.3),
            MATCHING,
            WITH,
        ],
    },
    CollectorDoc {
        name: "similar",
        finds: FindsBy::Name,
        about: "what is like that which the asker looks at, where the question is about it (W3, W15)",
        settings: &[
            count("limit", "how many items at most", LIMIT, 8),
            part("minimum", "the least likeness", 0.5),
            WITH,
        ],
    },
    CollectorDoc {
        name: "relations",
        finds: FindsBy::Link,
        about: "related rows, links and backlinks of the focus (W4)",
        settings: &[
            count("depth", "how many steps", (1, 8), 2),
            count("limit", "how many at most", LIMIT, 10),
            texts("sorts", "only links of these sorts; all when empty"),
        ],
    },
    CollectorDoc {
        name: "expand",
        finds: FindsBy::Link,
        about: "what is related to what the layer's other collectors found (M7)",
        settings: &[
            count("depth", "how many steps", (0, 8), 1),
            count("limit", "how many at most", LIMIT, 20),
            texts("sorts", "only links of these sorts; all when empty"),
        ],
    },
    CollectorDoc {
        name: "follow",
        finds: FindsBy::Link,
        about: "what the query and the layer's first finds call by name, by its title, and what that calls by name",
        settings: &[
            count("hops", "how many steps from name to name", (1, 4), 2),
            count("first", "how many finds are read for names", LIMIT, 10),
            count("limit", "how many at most", LIMIT, 20),
        ],
    },
    CollectorDoc {
        name: "beside",
        finds: FindsBy::Link,
        about: "what stands before and after the layer's first finds, under the same parent",
        settings: &[
            count("first", "how many finds have neighbours", LIMIT, 20),
            count("limit", "how many at most", LIMIT, 40),
        ],
    },
    CollectorDoc {
        name: "activity",
        finds: FindsBy::Question,
        about: "what the asker edited and viewed of late (W5)",
        settings: &[
            count("edits", "how many edited", (0, 1_000), 10),
            count("views", "how many viewed", (0, 1_000), 5),
            count("hours", "how long ago at most", (1, 87_600), 72),
        ],
    },
    CollectorDoc {
        name: "recent",
        finds: FindsBy::Question,
        about: "files the asker opened or was given of late (K2)",
        settings: &[
            count("limit", "how many at most", LIMIT, 5),
            count("hours", "how long ago at most", (1, 87_600), 720),
        ],
    },
    CollectorDoc {
        name: "references",
        finds: FindsBy::Name,
        about: "what the subject or the query refers to by name, and what the request includes (K2)",
        settings: &[
            OF_SUBJECT,
            count("limit", "how many at most, beside what the request includes", LIMIT, 20),
        ],
    },
    CollectorDoc {
        name: "history",
        finds: FindsBy::Name,
        about: "the last messages of the subject or of the conversation in the request (K2, W9)",
        settings: &[OF_SUBJECT, count("limit", "how many at most", LIMIT, 20)],
    },
    CollectorDoc {
        name: "singleton",
        finds: FindsBy::Name,
        about: "the one item of a kind, such as the company's profile (P5, P6)",
        settings: &[],
    },
    CollectorDoc {
        name: "newest",
        finds: FindsBy::Name,
        about: "items that belong to something, newest first (P7)",
        settings: &[
            SettingSpec {
                name: "of",
                about: "what they belong to",
                value: SettingType::Subject(&["focus", "workspace"]),
            },
            count("limit", "how many at most", LIMIT, 200),
        ],
    },
    CollectorDoc {
        name: "subject",
        finds: FindsBy::Name,
        about: "the item that the request is about (P1)",
        settings: &[OF_SUBJECT_OR_FOCUS],
    },
    CollectorDoc {
        name: "heading",
        finds: FindsBy::Name,
        about: "the item that the request is about, where others of the layer found something",
        settings: &[OF_SUBJECT_OR_FOCUS],
    },
    CollectorDoc {
        name: "mentions",
        finds: FindsBy::Name,
        about: "what is mentioned by name in the query and the subject, misspellings included (P9)",
        settings: &[
            count("limit", "how many at most", LIMIT, 20),
            SettingSpec {
                name: "within",
                about: "where it is mentioned: everywhere, or in what was asked alone",
                value: SettingType::OneOf(&["everywhere", "query"]),
            },
        ],
    },
    CollectorDoc {
        name: "situation",
        finds: FindsBy::Name,
        about: "the situation itself, as the request describes it, or how the pack came about (S6)",
        settings: &[SettingSpec {
            name: "part",
            about: "what is told",
            value: SettingType::OneOf(&["situation", "assembly"]),
        }],
    },
    CollectorDoc {
        name: "contexts",
        finds: FindsBy::Name,
        about: "the current context, its ancestors, and what their rules inject (S1 to S5)",
        settings: &[count("depth", "how long a chain of parents may be", (1, 256), 64)],
    },
];

/// Whose messages or references are collected.
const OF_SUBJECT: SettingSpec =
    SettingSpec { name: "of", about: "of which subject", value: SettingType::Subject(&[]) };

/// Which of the items that a request is about.
const OF_SUBJECT_OR_FOCUS: SettingSpec =
    SettingSpec { name: "of", about: "which of them", value: SettingType::Subject(&["focus"]) };

/// What is known of a built-in collector.
#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static CollectorDoc> {
    BUILT_IN.iter().find(|doc| doc.name == name)
}
