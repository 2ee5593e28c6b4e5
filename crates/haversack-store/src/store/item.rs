//! What is kept: items and what hangs on them.

use std::sync::Arc;

use haversack_core::embed::TextFeatures;
use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Span, Timestamp};
use serde_json::{Map, Value};

use super::viewer::Readers;
use crate::kinds::{Fact, Kinds, Relation};
use crate::revision::Revision;

/// The fields of an item, typed by its kind (see [`crate::kinds`]).
pub type Fields = Map<String, Value>;

/// One thing that can be found: a file, a message, a product, a memory, a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its name, unique in the workspace.
    pub id: ItemId,
    /// What sort of thing it is.
    pub kind: Kind,
    /// What people call it; may be empty.
    pub title: String,
    /// Its text; may be empty when its fields say it all.
    pub body: String,
    /// What its kind adds.
    pub fields: Fields,
    /// Where it is in a file tree or site, for people and for search.
    pub path: Option<String>,
    /// What it hangs under; must exist.
    pub parent: Option<ItemId>,
    /// Its place among its siblings; equal places are ordered by id.
    pub position: i64,
    /// When it came to be, if known.
    pub created: Option<Timestamp>,
    /// When it last changed at its source, if known; else the time of the commit, or for an item
    /// that is new here the time when it came to be.
    pub updated: Option<Timestamp>,
    /// How sure its source is of it.
    pub confidence: Option<Score>,
    /// Who may read it.
    pub readers: Readers,
    /// Who could have written it.
    pub trust: Trust,
    /// Whether it is in use; what is not is kept and left out by filters.
    pub active: bool,
}

impl Item {
    /// Bytes of its texts, those in its fields included.
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

    /// An item with a text and nothing else: internal, active, readable like its parent.
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

/// An item as a viewer finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The item. Its parent is left out when the viewer may not read it.
    pub item: Item,
    /// The commit that wrote this version.
    pub revision: Revision,
    /// When that was.
    pub committed: Timestamp,
    /// Who wrote it, if they said so.
    pub author: Option<String>,
    /// The kinds that its store knows: they say how it is read.
    pub kinds: Arc<Kinds>,
}

impl Stored {
    /// What the item is searched by and shown as.
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

    /// How people mention it.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.kinds.names(&self.item.kind, &self.item.title, &self.item.fields)
    }

    /// What its further fields call it by.
    #[must_use]
    pub fn byline(&self) -> String {
        self.kinds.byline(&self.item.kind, &self.item.fields)
    }

    /// What sort of thing it is within its kind.
    #[must_use]
    pub fn sort(&self) -> Option<&str> {
        self.kinds.sort(&self.item.kind, &self.item.fields)
    }

    /// What its fields say that questions ask for.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.kinds.facts(&self.item.kind, &self.item.fields)
    }

    /// The items that its fields name.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        self.kinds.relations(&self.item.kind, &self.item.fields)
    }

    /// When it was said or last changed. It is not later than the item's `updated`.
    #[must_use]
    pub fn moment(&self) -> Option<Timestamp> {
        let Item { kind, created, updated, .. } = &self.item;
        if self.kinds.is_said_once(kind) { created.or(*updated) } else { updated.or(*created) }
    }
}

/// An item on the way to another one, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crumb {
    /// Its name.
    pub id: ItemId,
    /// What sort of thing it is.
    pub kind: Kind,
    /// What people call it; may be empty.
    pub title: String,
}

/// One version in an item's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The item as it was.
    pub stored: Stored,
    /// The commit that replaced or deleted it.
    pub until: Option<Revision>,
}

/// A typed edge between two items. Its ends need not exist yet; it shows when both can be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Where it starts.
    pub from: ItemId,
    /// Where it leads.
    pub to: ItemId,
    /// What it means: `link`, `relation`, `supports`, …
    pub sort: String,
}

/// What happened to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// Somebody looked at it.
    Viewed,
    /// Somebody changed it.
    Edited,
    /// It went into a pack.
    Used,
    /// Somebody said that it helped.
    Useful,
    /// Somebody said that it did not.
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
    pub fn named(name: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|event_kind| event_kind.as_str() == name)
    }
}

/// Something that happened to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// To which item.
    pub item: ItemId,
    /// Who did it.
    pub user: String,
    /// What.
    pub event_kind: EventKind,
    /// When.
    pub at: Timestamp,
}

/// What sort of named document a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// Proof of a pack; the oldest go when there are too many.
    Receipt,
    /// A template of the workspace.
    Template,
    /// A ranker of the workspace.
    Ranker,
    /// A recipe of the workspace.
    Recipe,
    /// A folder or file that was added, as it was then, so that adding it again is quick.
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
    pub fn named(name: &str) -> Option<DocumentKind> {
        DocumentKind::ALL.into_iter().find(|document_kind| document_kind.as_str() == name)
    }
}

/// A named document that is not searched: a receipt, template, ranker, recipe or source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which sort.
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
    /// The length of its body.
    pub bytes: u64,
    /// When it last changed at its source.
    pub updated: Timestamp,
    /// When it was written here.
    pub committed: Timestamp,
}

/// A piece of an item's text with its place, as a search found it.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The item, without its body.
    pub stored: Stored,
    /// Which chunk of it.
    pub chunk: u32,
    /// Whether it is the only chunk, and so all of the item's text.
    pub is_whole: bool,
    /// The chunk's bytes in the item's text.
    pub span: Span,
    /// The chunk's text.
    pub text: String,
    /// What ranking needs of the text, made when it was written. Its tokens are those of
    /// `o200k`. `None` when it has to be made now.
    pub features: Option<Arc<TextFeatures>>,
    /// First and last line in the item's text, from 1.
    pub lines: (u32, u32),
    /// The headings it stands under, outermost first.
    pub headings: Vec<String>,
    /// Code of the language that its words were read in.
    pub language: String,
}
