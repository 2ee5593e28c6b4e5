//! What can be asked of a snapshot, and the answers.

use std::collections::BTreeMap;
use std::ops::Range;

use haversack_core::embed::Vector;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::query::FieldRole;
use haversack_core::units::{Score, Timestamp};
use serde_json::Value;

use super::item::{EventKind, Link, Stored};

/// Most answers to one question.
pub const LIMIT_MAX: usize = 1_000;

/// Bytes of texts and fields after which a page ends, however many items were asked for.
pub const PAGE_BYTES_MAX: usize = 64 << 20;

/// Most kinds in one filter.
pub const KINDS_MAX: usize = 64;

/// Most fields in one filter.
pub const FIELDS_MAX: usize = 32;

/// Most values of one field in a filter.
pub const VALUES_MAX: usize = 64;

/// Most distinct terms whose frequencies are counted at once; later ones are left out.
pub const FREQUENCIES_MAX: usize = 256;

/// Most keys of names that are looked up at once.
pub const NAMES_MAX: usize = 1_024;

/// Children of one parent that have neighbours; those of a larger family stand beside nobody.
pub const FAMILY_MAX: usize = 10_000;

/// Which of the readable items are asked for. The default is all that are active.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Only these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Only items in use.
    pub active_only: bool,
    /// Only what changed in this time (the start is in, the end is not).
    pub updated: (Option<Timestamp>, Option<Timestamp>),
    /// Only what its source is at least this sure of; what says nothing passes.
    pub confidence_least: Option<Score>,
    /// Only this item and what hangs under it.
    pub under: Option<ItemId>,
    /// Only paths that start so.
    pub path_prefix: Option<String>,
    /// Only items that have one of the values in each of these top-level fields: texts, numbers,
    /// yes, no, or nothing at all (null). An array has the values that are its entries. Without a
    /// value nothing passes.
    pub fields: Vec<(String, Vec<Value>)>,
    /// Only items of which all of these hold.
    pub facts: Vec<FactFilter>,
}

/// What must hold of an item, whatever its fields are called (see [`crate::kinds::Kinds::facts`]).
#[derive(Debug, Clone, PartialEq)]
pub enum FactFilter {
    /// A number of this role is in a range, the end not included.
    Within(FieldRole, i64, i64),
    /// A text of this role, in lower case, is one of these.
    OneOf(FieldRole, Vec<String>),
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            kinds: Vec::new(),
            active_only: true,
            updated: (None, None),
            confidence_least: None,
            under: None,
            path_prefix: None,
            fields: Vec::new(),
            facts: Vec::new(),
        }
    }
}

impl Filter {
    /// All that can be read, in use or not.
    #[must_use]
    pub fn everything() -> Filter {
        Filter { active_only: false, ..Filter::default() }
    }

    /// Active items of one kind.
    #[must_use]
    pub fn kind(kind: Kind) -> Filter {
        Filter { kinds: vec![kind], ..Filter::default() }
    }
}

/// In which order items are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// By id.
    Id,
    /// The latest change first; equal ones by id.
    Newest,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// In which order.
    pub order: Order,
    /// The last one of the page before.
    pub after: Option<ItemId>,
    /// How many at most.
    pub limit: usize,
}

/// A full-text search: words, `"phrases"` and beginnings (`config*`). Any text is a query.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSearch {
    /// What is looked for.
    pub query: String,
    /// Whether the last word may be unfinished.
    pub unfinished: bool,
    /// Whether every word must occur.
    pub all_words: bool,
    /// Among which items.
    pub filter: Filter,
    /// How many at most.
    pub limit: usize,
}

/// How hard a vector search tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Effort {
    /// Binary codes first: milliseconds at a million, nearly all of the nearest.
    #[default]
    Fast,
    /// Eight-bit codes of everything: slower, practically all of the nearest.
    Full,
    /// Every vector in full: all of the nearest.
    Exact,
}

/// A search for what means the same.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorSearch {
    /// What is looked for, by the workspace's own model.
    pub vector: Vector,
    /// How hard to try.
    pub effort: Effort,
    /// Among which items.
    pub filter: Filter,
    /// How many at most.
    pub limit: usize,
}

/// A search for what is spelt alike.
#[derive(Debug, Clone, PartialEq)]
pub struct FuzzySearch {
    /// What is looked for.
    pub query: String,
    /// The least similarity of trigrams that counts; PostgreSQL's default is 0.3.
    pub similarity_least: Score,
    /// Among which items.
    pub filter: Filter,
    /// How many at most.
    pub limit: usize,
}

/// One answer of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which chunk of which item.
    pub id: CandidateId,
    /// How well it answers, in the search's own measure.
    pub score: Score,
}

/// A passage around the hits of a text search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The passage, with an ellipsis where it was cut.
    pub text: String,
    /// Where the hits are in it, in bytes.
    pub hits: Vec<Range<usize>>,
}

/// In how many texts that a viewer can read the terms of another text occur.
///
/// The keys are those of [`haversack_core::text::terms::terms`], so that
/// [`haversack_core::rank::Corpus::from_counts`] can weigh with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frequencies {
    /// How many texts there are; a text is a chunk with its title and path.
    pub texts: u64,
    /// How many of them have each term.
    pub with: BTreeMap<String, u64>,
}

/// Which way a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the item to others.
    Outward,
    /// From others to the item.
    Inward,
}

/// What is linked with an item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbours {
    /// By links that begin at the item.
    pub outward: Vec<Linked>,
    /// By links that end at it.
    pub inward: Vec<Linked>,
}

/// An item at the other end of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Linked {
    /// The link that was followed.
    pub link: Link,
    /// What is at the other end.
    pub stored: Stored,
}

/// How often something happened to an item, and when last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The item.
    pub item: ItemId,
    /// What happened.
    pub event_kind: EventKind,
    /// How often.
    pub count: u64,
    /// When last. Where that event is no longer kept, no later than the oldest that is.
    pub last: Timestamp,
}

/// How far down a tree is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descent {
    /// How many levels.
    pub depth: usize,
    /// Kinds that are found and not looked into: a page on a page has blocks of its own.
    pub closed: Vec<Kind>,
    /// How many items are read at most; the others are counted.
    pub limit: usize,
}

/// What hangs under an item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Descendants {
    /// Items in use, as they stand: each, then what hangs under it. With its level, from 1.
    pub found: Vec<(usize, Stored)>,
    /// How many there are, up to [`FAMILY_MAX`].
    pub total: usize,
}

/// How far two items are apart in the tree: steps up from one to what they share, then down.
pub type TreeDistance = Option<u32>;
