//! Queries on a snapshot: filters, searches and pages, and their results.

use std::collections::BTreeMap;
use std::ops::Range;

use haversack_core::embed::Vector;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::query::FieldRole;
use haversack_core::units::{Score, Timestamp};
use serde_json::Value;

use super::item::{EventKind, Link, Stored};

/// The most results of one query.
pub const LIMIT_MAX: usize = 1_000;

/// The bytes of texts and fields after which a page ends, whatever its limit.
pub const PAGE_BYTES_MAX: usize = 16 << 20;

/// The most kinds in one filter.
pub const KINDS_MAX: usize = 64;

/// The most fields in one filter.
pub const FIELDS_MAX: usize = 32;

/// The most values of one field in a filter.
pub const VALUES_MAX: usize = 64;

/// The most distinct terms whose frequencies are counted at once. Later terms are left out.
pub const FREQUENCIES_MAX: usize = 256;

/// The most name keys that are looked up at once.
pub const NAMES_MAX: usize = 1_024;

/// The most children of a parent for which adjacent siblings are found.
pub const FAMILY_MAX: usize = 10_000;

/// A filter over readable items. The default passes all active items.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Only items of these kinds; all kinds if empty.
    pub kinds: Vec<Kind>,
    /// Only active items.
    pub active_only: bool,
    /// Only items that changed in this period, without its end.
    pub updated: (Option<Timestamp>, Option<Timestamp>),
    /// Only items with at least this confidence, or with none.
    pub confidence_least: Option<Score>,
    /// Only this item and its descendants.
    pub under: Option<ItemId>,
    /// Only items whose path starts with this prefix.
    pub path_prefix: Option<String>,
    /// Only items that have one of the values in each of these top-level fields. A value is a text,
    /// a number, a boolean, or null for a missing field. An array has the values of its entries. A
    /// field with an empty list of values passes no item.
    pub fields: Vec<(String, Vec<Value>)>,
    /// Only items of which all these facts hold.
    pub facts: Vec<FactFilter>,
}

/// A condition on an item's facts, which are independent of field names (see
/// [`crate::kinds::Kinds::facts`]).
#[derive(Debug, Clone, PartialEq)]
pub enum FactFilter {
    /// A number of this role is in a range, without its end.
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
    /// All readable items, active or not.
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

/// The order in which items are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListOrder {
    /// By id.
    Id,
    /// By time of change, the latest first; ties by id.
    Newest,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The order.
    pub order: ListOrder,
    /// The last item of the previous page.
    pub after: Option<ItemId>,
    /// The most results.
    pub limit: usize,
}

/// A full-text search: words, `"phrases"` and prefixes (`config*`). Any text is a valid query.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSearch {
    /// The query.
    pub query: String,
    /// Whether the last word may be incomplete, as while typing.
    pub unfinished: bool,
    /// Whether every word must occur.
    pub all_words: bool,
    /// The items that are searched.
    pub filter: Filter,
    /// The most results.
    pub limit: usize,
}

/// How thorough a vector search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Effort {
    /// Scans binary codes first: takes milliseconds over a million vectors and finds nearly all of
    /// the nearest.
    #[default]
    Fast,
    /// Scans eight-bit codes of all vectors: slower, and finds practically all of the nearest.
    Full,
    /// Compares every full vector: finds all of the nearest.
    Exact,
}

/// A search for the texts nearest to a vector.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorSearch {
    /// The query's vector, made by the workspace's model.
    pub vector: Vector,
    /// How thorough the search is.
    pub effort: Effort,
    /// The items that are searched.
    pub filter: Filter,
    /// The most results.
    pub limit: usize,
}

/// A search for similar spellings.
#[derive(Debug, Clone, PartialEq)]
pub struct FuzzySearch {
    /// The query.
    pub query: String,
    /// The least trigram similarity of a hit. PostgreSQL's default is 0.3.
    pub similarity_least: Score,
    /// The items that are searched.
    pub filter: Filter,
    /// The most results.
    pub limit: usize,
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The chunk.
    pub id: CandidateId,
    /// Its score, on the scale of the search.
    pub score: Score,
}

/// A part of a passage around the matches of a text search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The text, with an ellipsis where it was cut.
    pub text: String,
    /// The byte ranges of the matches in it.
    pub hits: Vec<Range<usize>>,
}

/// The document frequencies of a text's terms among the texts that a viewer can read.
///
/// The keys are those of [`haversack_core::text::terms::terms`], so that
/// [`haversack_core::rank::Corpus::from_counts`] can compute weights from them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frequencies {
    /// The number of texts. A text is a chunk with its title and path.
    pub texts: u64,
    /// The number of texts that contain each term.
    pub by_term: BTreeMap<String, u64>,
}

/// The direction in which a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the item to others.
    Outward,
    /// From others to the item.
    Inward,
}

/// The items that are linked with an item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbours {
    /// The targets of the item's outgoing links.
    pub outward: Vec<LinkedItem>,
    /// The sources of its incoming links.
    pub inward: Vec<LinkedItem>,
}

/// An item at the other end of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedItem {
    /// The link that was followed.
    pub link: Link,
    /// The item at the other end.
    pub stored: Stored,
}

/// The number of an item's events of one kind, and the time of the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The item.
    pub item: ItemId,
    /// The kind of the events.
    pub event_kind: EventKind,
    /// The number of events.
    pub count: u64,
    /// The time of the last event. If that event is no longer kept, a time no later than the oldest
    /// kept event.
    pub last: Timestamp,
}

/// The limits within which descendants are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descent {
    /// The most levels.
    pub depth: usize,
    /// Kinds whose items are found but not descended into: a page on a page has blocks of its own.
    pub closed: Vec<Kind>,
    /// The most items that are read. The others are only counted.
    pub limit: usize,
}

/// The descendants of an item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Descendants {
    /// Active items in document order, each before its own descendants, with their level from 1.
    pub found: Vec<(usize, Stored)>,
    /// The number of all descendants, up to [`FAMILY_MAX`].
    pub total: usize,
}

/// The distance of two items in the tree: the steps up from one to their common ancestor, and down
/// to the other.
pub type TreeDistance = Option<u32>;
