//! Stored data: items, links, events and named documents.

use std::sync::Arc;

use haversack_core::embed::TextFeatures;
use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Span, Timestamp};
use serde_json::Value;

use super::viewer::Readers;
use crate::kinds::{Fact, Kinds, Relation};
use crate::revision::Revision;

pub use crate::kinds::Fields;

/// A searchable item: a file, a message, a product, a memory, a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its id, unique in the workspace.
    pub id: ItemId,
    /// Its kind.
    pub kind: Kind,
    /// Its title; may be empty.
    pub title: String,
    /// Its text; may be empty if it has fields.
    pub body: String,
    /// Its fields, defined by its kind.
    pub fields: Fields,
    /// Its path in a file tree or site. Shown and searched.
    pub path: Option<String>,
    /// Its parent, which must exist.
    pub parent: Option<ItemId>,
    /// Its position among its siblings. Equal positions are ordered by id.
    pub position: i64,
    /// When it was created, if known.
    pub created: Option<Timestamp>,
    /// When it last changed at its source. If unknown, the store uses the time of the commit, or
    /// `created` for an item that is new to it.
    pub updated: Option<Timestamp>,
    /// The confidence of its source.
    pub confidence: Option<Score>,
    /// Its readers.
    pub readers: Readers,
    /// The trust in its source: who could have written it.
    pub trust: Trust,
    /// Whether it is active. Filters leave out inactive items by default.
    pub active: bool,
}

impl Item {
    /// The bytes of its texts, including those in its fields.
    pub(crate) fn bytes(&self) -> usize {
        fn of(value: &Value) -> usize {
            match value {
                Value::String(text) => text.len(),
                Value::Array(values) => values.iter().map(|value| of(value) + 8).sum(),
                Value::Object(fields) => {
                    fields.iter().map(|(name, value)| name.len() + of(value) + 8).sum()
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => 8,
            }
        }
        let fields = self.fields.iter().map(|(name, value)| name.len() + of(value));
        self.body.len() + self.title.len() + fields.sum::<usize>()
    }

    /// An item with a body only: internal, active, with the readers of its parent.
    #[must_use]
    pub fn new(id: ItemId, kind: Kind, body: &str) -> Item {
        Item {
            id,
            kind,
            title: String::new(),
            body: body.to_owned(),
            fields: Fields::new(),
            path: None,
            parent: None,
            position: 0,
            created: None,
            updated: None,
            confidence: None,
            readers: Readers::Inherit,
            trust: Trust::Internal,
            active: true,
        }
    }
}

/// A stored version of an item, as a viewer may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The item, without its parent if the viewer may not read that.
    pub item: Item,
    /// The commit that wrote this version.
    pub revision: Revision,
    /// The time of that commit.
    pub committed: Timestamp,
    /// The author of that commit, if it named one.
    pub author: Option<String>,
    /// The definitions of kinds by which its fields are read.
    pub kinds: Arc<Kinds>,
}

impl Stored {
    /// The text that is searched and shown.
    #[must_use]
    pub fn text(&self) -> String {
        self.kinds.text(&self.item)
    }

    /// Its reduced form, if its kind has one.
    #[must_use]
    pub fn essential(&self) -> Option<String> {
        let Item { kind, title, body, fields, .. } = &self.item;
        self.kinds.essential(kind, title, body, fields)
    }

    /// The names by which people mention it.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.kinds.names(&self.item.kind, &self.item.title, &self.item.fields)
    }

    /// Further names from its fields, such as an author; searched along with its headings.
    #[must_use]
    pub fn byline(&self) -> String {
        self.kinds.byline(&self.item.kind, &self.item.fields)
    }

    /// Its subtype within its kind, such as a memory's type.
    #[must_use]
    pub fn subtype(&self) -> Option<&str> {
        self.kinds.subtype(&self.item.kind, &self.item.fields)
    }

    /// The facts in its fields that queries can filter by.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.kinds.facts(&self.item.kind, &self.item.fields)
    }

    /// Its relations: the items that its fields name.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        self.kinds.relations(&self.item.kind, &self.item.fields)
    }

    /// When it was said or last changed. Never later than the item's `updated`.
    #[must_use]
    pub fn moment(&self) -> Option<Timestamp> {
        let Item { kind, created, updated, .. } = &self.item;
        if self.kinds.is_said_once(kind) { created.or(*updated) } else { updated.or(*created) }
    }
}

/// An ancestor of an item, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breadcrumb {
    /// Its id.
    pub id: ItemId,
    /// Its kind.
    pub kind: Kind,
    /// Its title; may be empty.
    pub title: String,
}

/// A version in an item's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The version.
    pub stored: Stored,
    /// The commit that replaced or deleted it.
    pub until: Option<Revision>,
}

/// A typed edge between two items, which need not exist yet. A viewer sees it if they can read
/// both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The source item.
    pub from: ItemId,
    /// The target item.
    pub to: ItemId,
    /// Its type: `link`, `relation`, `supports`, …
    pub link_type: String,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A user viewed the item.
    Viewed,
    /// A user edited it.
    Edited,
    /// A pack included it.
    Used,
    /// A user rated it as useful.
    Useful,
    /// A user rated it as not useful.
    NotUseful,
}

impl EventKind {
    /// All of them.
    pub const ALL: [EventKind; 5] = [
        EventKind::Viewed,
        EventKind::Edited,
        EventKind::Used,
        EventKind::Useful,
        EventKind::NotUseful,
    ];

    /// The name on the wire and on disk.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            EventKind::Viewed => "viewed",
            EventKind::Edited => "edited",
            EventKind::Used => "used",
            EventKind::Useful => "useful",
            EventKind::NotUseful => "not_useful",
        }
    }

    /// The event kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|event_kind| event_kind.as_str() == name)
    }
}

/// An event: something that a user did with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The item.
    pub item: ItemId,
    /// The user.
    pub user: String,
    /// What happened.
    pub event_kind: EventKind,
    /// When it happened.
    pub at: Timestamp,
}

/// The kind of a named document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// A receipt of a pack. The oldest are removed when there are too many.
    Receipt,
    /// A template of the workspace.
    Template,
    /// A ranker of the workspace.
    Ranker,
    /// A recipe of the workspace.
    Recipe,
    /// The state of a folder or file when it was added, so that adding it again is quick.
    Source,
}

impl DocumentKind {
    /// All of them.
    pub const ALL: [DocumentKind; 5] = [
        DocumentKind::Receipt,
        DocumentKind::Template,
        DocumentKind::Ranker,
        DocumentKind::Recipe,
        DocumentKind::Source,
    ];

    /// The name on disk and in exports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DocumentKind::Receipt => "receipt",
            DocumentKind::Template => "template",
            DocumentKind::Ranker => "ranker",
            DocumentKind::Recipe => "recipe",
            DocumentKind::Source => "source",
        }
    }

    /// The document kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<DocumentKind> {
        DocumentKind::ALL.into_iter().find(|document_kind| document_kind.as_str() == name)
    }
}

/// A named document that is not searched: a receipt, template, ranker, recipe or source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its kind.
    pub document_kind: DocumentKind,
    /// Its name, unique among documents of its kind.
    pub name: String,
    /// Its text.
    pub text: String,
    /// When it was written.
    pub at: Timestamp,
}

/// An item at a path, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// Its id.
    pub id: ItemId,
    /// Its path.
    pub path: String,
    /// The length of its body in bytes.
    pub bytes: u64,
    /// When it last changed at its source.
    pub updated: Timestamp,
    /// When it was written to the store.
    pub committed: Timestamp,
}

/// A chunk of an item's text with its position in the item.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The item, without its body.
    pub stored: Stored,
    /// The index of the chunk in the item.
    pub chunk: u32,
    /// Whether it is the item's only chunk, and so its whole text.
    pub is_whole: bool,
    /// The byte range of the chunk in the item's text.
    pub span: Span,
    /// The chunk's text.
    pub text: String,
    /// The text features for ranking, computed on write, with tokens of `o200k`. `None` if they
    /// have to be computed now.
    pub features: Option<Arc<TextFeatures>>,
    /// The first and last line in the item's text, counted from 1.
    pub lines: (u32, u32),
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// The code of the language that its words were analysed in.
    pub language: String,
}
