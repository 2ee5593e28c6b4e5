//! The shapes of the wire that are the server's own. Requests and results of recipes are the
//! library's.

use std::collections::BTreeSet;

use haversack::revision::RevisionId;
use haversack::search::SearchMethod;
use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use haversack_store::kinds::{Kinds, moment};
use haversack_store::store::item::{EventKind, Item, Link, Stored};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::problem::ApiProblem;

/// An item to store.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewItem")]
pub(crate) struct WireNewItem {
    /// The item's id, unique in the workspace. An item with this id is replaced.
    #[schemars(length(min = 1, max = 512))]
    pub(crate) id: String,
    /// The kind: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, …
    #[schemars(length(min = 1, max = 64))]
    pub(crate) kind: String,
    /// The item's title.
    #[serde(default)]
    pub(crate) title: String,
    /// The item's text.
    #[serde(default)]
    pub(crate) body: String,
    /// Other fields, as the kind defines them.
    #[serde(default)]
    pub(crate) fields: Map<String, Value>,
    /// The origin, such as a file path.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// The id of the parent.
    #[serde(default)]
    pub(crate) parent: Option<String>,
    /// The item's position among its siblings.
    #[serde(default)]
    pub(crate) position: i64,
    /// The creation time.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) created: Option<Value>,
    /// The time of the last change.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) updated: Option<Value>,
    /// The confidence of the item's source, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) confidence: Option<f64>,
    /// The principals who may read the item: `user:anna`, `group:sales`, `everyone`. When left out,
    /// everyone who may read its parent.
    #[serde(default)]
    pub(crate) readers: Option<Vec<String>>,
    /// The trust level of the text.
    #[serde(default)]
    pub(crate) trust: Option<WireTrust>,
    /// Whether the item is active.
    #[serde(default = "yes")]
    pub(crate) active: bool,
}

const fn yes() -> bool {
    true
}

/// The trust level of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Trust")]
pub(crate) enum WireTrust {
    /// From an external source.
    External,
    /// From the organisation itself.
    Internal,
    /// From the operators of the application.
    Trusted,
}

impl From<WireTrust> for Trust {
    fn from(trust: WireTrust) -> Trust {
        match trust {
            WireTrust::External => Trust::External,
            WireTrust::Internal => Trust::Internal,
            WireTrust::Trusted => Trust::Trusted,
        }
    }
}

/// Checks the bounds of a count, or returns the default.
pub(crate) fn count_within(
    field: &str,
    value: Option<usize>,
    default: usize,
    most: usize,
) -> Result<usize, ApiProblem> {
    match value.unwrap_or(default) {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(ApiProblem::invalid(field, format!("{value} is not from 1 to {most}"))),
    }
}

pub(crate) fn parse_id(field: &str, text: &str) -> Result<ItemId, ApiProblem> {
    ItemId::new(text).map_err(|error| ApiProblem::invalid(field, error.to_string()))
}

pub(crate) fn parse_kind(field: &str, text: &str) -> Result<Kind, ApiProblem> {
    Kind::new(text).map_err(|error| ApiProblem::invalid(field, error.to_string()))
}

fn parse_time(field: &str, value: Option<&Value>) -> Result<Option<Timestamp>, ApiProblem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let message = "is not a moment: RFC 3339 such as 2026-01-31T09:30:00Z, a day, or Unix \
                   milliseconds";
    moment(value).map(Some).ok_or_else(|| ApiProblem::invalid(field, message))
}

impl WireNewItem {
    /// Converts it to an item.
    pub(crate) fn into_item(self, kinds: &Kinds) -> Result<Item, ApiProblem> {
        let mut item =
            Item::new(parse_id("id", &self.id)?, parse_kind("kind", &self.kind)?, &self.body);
        item.title = self.title;
        item.fields = self.fields;
        item.path = self.path;
        item.parent = self.parent.map(|parent| parse_id("parent", &parent)).transpose()?;
        item.position = self.position;
        item.created = parse_time("created", self.created.as_ref())?;
        item.updated = parse_time("updated", self.updated.as_ref())?;
        if let Some(confidence) = self.confidence {
            if !(0.0..=1.0).contains(&confidence) {
                let detail = format!("{confidence} is not a number from 0 to 1");
                return Err(ApiProblem::invalid("confidence", detail));
            }
            item.confidence = Some(Score::unit(confidence));
        }
        if let Some(readers) = self.readers {
            let principal = |text: &String| {
                Principal::parse(text).map_err(|e| ApiProblem::invalid("readers", e.to_string()))
            };
            let readers: Result<BTreeSet<Principal>, ApiProblem> =
                readers.iter().map(principal).collect();
            item.readers = Readers::Only(readers?);
        }
        item.trust = self.trust.map_or_else(|| kinds.usual_trust(&item.kind), Trust::from);
        item.active = self.active;
        Ok(item)
    }
}

/// A stored item.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Item")]
pub(crate) struct WireItem {
    /// The item's id.
    id: String,
    /// The item's kind.
    kind: String,
    /// The item's title.
    title: String,
    /// The item's text.
    body: String,
    /// Other fields, as the kind defines them.
    fields: Map<String, Value>,
    /// The origin, such as a file path.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The id of the parent, if the viewer can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The item's position among its siblings.
    position: i64,
    /// The creation time.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    /// The time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<String>,
    /// The confidence of the item's source, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// The principals who may read the item. Only callers who can read everything see them; writes
    /// of others leave them unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    readers: Option<Vec<String>>,
    /// The trust level of the text.
    trust: String,
    /// Whether the item is active.
    active: bool,
    /// The revision of this version, for callers who can read everything. Others get a token that
    /// changes with the content that they can read.
    revision: RevisionId,
}

impl WireItem {
    /// A stored item. Its readers are shown only to viewers who see everything.
    pub(crate) fn from_stored(stored: Stored, viewer: &Viewer) -> WireItem {
        let sees_all = *viewer == Viewer::owner();
        let revision = if sees_all {
            RevisionId::Number(stored.revision.get())
        } else {
            RevisionId::Token(version_token(&stored, viewer))
        };
        let item = stored.item;
        let readers = match item.readers {
            Readers::Only(principals) if sees_all => {
                Some(principals.iter().map(|principal| principal.as_str().to_owned()).collect())
            }
            _ => None,
        };
        WireItem {
            id: item.id.as_str().to_owned(),
            kind: item.kind.to_string(),
            title: item.title,
            body: item.body,
            fields: item.fields,
            path: item.path,
            parent: item.parent.map(|parent| parent.as_str().to_owned()),
            position: item.position,
            created: item.created.map(|at| at.to_string()),
            updated: item.updated.map(|at| at.to_string()),
            confidence: item.confidence.map(Score::get),
            readers,
            trust: item.trust.as_str().to_owned(),
            active: item.active,
            revision,
        }
    }
}

/// A stored item as the server shows it to a viewer.
#[must_use]
pub fn stored_document(stored: Stored, viewer: &Viewer) -> Value {
    serde_json::to_value(WireItem::from_stored(stored, viewer)).unwrap_or_default()
}

/// An item as it is sent to a server.
#[must_use]
pub fn item_document(item: &Item) -> Value {
    let readers = match &item.readers {
        Readers::Inherit => None,
        Readers::Only(principals) => {
            Some(principals.iter().map(|it| it.as_str().to_owned()).collect::<Vec<String>>())
        }
    };
    let mut document = serde_json::json!({
        "id": item.id.as_str(),
        "kind": item.kind.as_str(),
        "title": item.title,
        "body": item.body,
        "fields": item.fields,
        "path": item.path,
        "parent": item.parent.as_ref().map(ItemId::as_str),
        "position": item.position,
        "created": item.created.map(Timestamp::as_millis),
        "updated": item.updated.map(Timestamp::as_millis),
        "confidence": item.confidence.map(Score::get),
        "trust": item.trust.as_str(),
        "active": item.active,
    });
    if let Some(readers) = readers {
        document["readers"] = serde_json::json!(readers);
    }
    document
}

/// A token for what a viewer sees of an item's version.
fn version_token(stored: &Stored, viewer: &Viewer) -> String {
    // Readers are not part of the hash, so that it reveals nothing.
    let seen = Item { readers: Readers::Inherit, ..stored.item.clone() };
    let hash = blake3::hash(format!("{viewer:?} {seen:?} {:?}", stored.author).as_bytes());
    format!("v-{}", &hash.to_hex()[..32])
}

/// A page of items.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ItemPage")]
pub(crate) struct WireItemPage {
    /// The items.
    pub(crate) items: Vec<WireItem>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Written")]
pub(crate) struct WireWritten {
    /// The revision of the workspace after the write.
    pub(crate) revision: RevisionId,
    /// The number of items, links or events that were stored.
    pub(crate) stored: u64,
    /// The number of those that were unchanged.
    pub(crate) unchanged: u64,
    /// Warnings, such as fields that may be misspelt or texts that are too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// Links to add and to remove.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Links")]
pub(crate) struct WireLinks {
    /// Links to add. Existing links are kept.
    #[schemars(length(max = 10_000))]
    pub(crate) add: Vec<WireLink>,
    /// Links to remove.
    #[schemars(length(max = 10_000))]
    pub(crate) remove: Vec<WireLink>,
}

/// A link between two items.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Link")]
pub(crate) struct WireLink {
    /// The id of the source item.
    from: String,
    /// The id of the target item.
    to: String,
    /// The link type: `link`, `relation`, `supports`, …
    #[serde(rename = "sort")]
    link_type: String,
}

impl WireLink {
    pub(crate) fn into_link(self) -> Result<Link, ApiProblem> {
        Ok(Link {
            from: parse_id("from", &self.from)?,
            to: parse_id("to", &self.to)?,
            link_type: self.link_type,
        })
    }
}

/// Events to record.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Events")]
pub(crate) struct WireEvents {
    /// The events.
    #[schemars(length(max = 10_000))]
    pub(crate) events: Vec<WireEvent>,
}

/// An event of an item.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Event")]
pub(crate) struct WireEvent {
    /// The item's id.
    pub(crate) item: String,
    /// The user; the caller by default.
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// The kind of event.
    pub(crate) happening: WireEventKind,
    /// The time of the event; now by default.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) at: Option<Value>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EventKind")]
pub(crate) enum WireEventKind {
    /// A user viewed the item.
    Viewed,
    /// A user edited the item.
    Edited,
    /// A pack included the item.
    Used,
    /// A user rated the item as useful.
    Useful,
    /// A user rated the item as not useful.
    NotUseful,
}

impl From<WireEventKind> for EventKind {
    fn from(happening: WireEventKind) -> EventKind {
        match happening {
            WireEventKind::Viewed => EventKind::Viewed,
            WireEventKind::Edited => EventKind::Edited,
            WireEventKind::Used => EventKind::Used,
            WireEventKind::Useful => EventKind::Useful,
            WireEventKind::NotUseful => EventKind::NotUseful,
        }
    }
}

impl WireEvent {
    pub(crate) fn parse_moment(&self) -> Result<Option<Timestamp>, ApiProblem> {
        parse_time("at", self.at.as_ref())
    }
}

/// A search for items.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SearchRequest")]
pub(crate) struct WireSearch {
    /// The query in the user's words.
    pub(crate) query: String,
    /// The user to search as; the key's own by default.
    pub(crate) user: Option<String>,
    /// The user's groups.
    pub(crate) groups: Vec<String>,
    /// Only items of these kinds.
    pub(crate) kinds: Vec<String>,
    /// Only items whose path has this prefix.
    pub(crate) path: Option<String>,
    /// Only this item and its descendants.
    pub(crate) under: Option<String>,
    /// Only items with these fields; the values of a list are alternatives.
    pub(crate) fields: Map<String, Value>,
    /// The only search method to use; all methods by default.
    pub(crate) way: Option<WireWay>,
    /// Most hits; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: Option<usize>,
    /// Most hits in one item; 2 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) per_item: Option<usize>,
    /// Longest excerpt in characters; 280 by default.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) excerpt: Option<usize>,
}

/// A search method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Way")]
pub(crate) enum WireWay {
    /// Search by words.
    Text,
    /// Search by meaning.
    Vector,
    /// Search by spelling.
    Fuzzy,
}

impl From<WireWay> for SearchMethod {
    fn from(way: WireWay) -> SearchMethod {
        match way {
            WireWay::Text => SearchMethod::Text,
            WireWay::Vector => SearchMethod::Vector,
            WireWay::Fuzzy => SearchMethod::Fuzzy,
        }
    }
}

/// The hits of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchAnswer")]
pub(crate) struct WireFound {
    /// The hits, best first.
    pub(crate) found: Vec<WireHit>,
    /// Notices for the caller.
    pub(crate) notices: Vec<String>,
}

/// A hit of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchHit")]
pub(crate) struct WireHit {
    /// The item's id.
    pub(crate) id: String,
    /// The number of the chunk.
    pub(crate) chunk: u32,
    /// The score, from 0 to 1 if several methods were fused.
    pub(crate) score: f64,
    /// The hit's rank by search method, from 1.
    pub(crate) ranks: std::collections::BTreeMap<&'static str, usize>,
    /// The item's kind.
    pub(crate) kind: String,
    /// The item's title.
    pub(crate) title: String,
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The headings above the chunk, outermost first.
    pub(crate) headings: Vec<String>,
    /// The first and the last line in the item's text, from 1.
    pub(crate) lines: (u32, u32),
    /// The first and the last page, or slide, of a document that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pages: Option<[u32; 2]>,
    /// The best excerpt.
    pub(crate) excerpt: String,
    /// The byte ranges of the query's words in the excerpt.
    pub(crate) hits: Vec<(usize, usize)>,
}
