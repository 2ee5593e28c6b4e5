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
    /// Its name, unique in the workspace; an item of this name is replaced.
    #[schemars(length(min = 1, max = 512))]
    pub(crate) id: String,
    /// The kind: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, …
    #[schemars(length(min = 1, max = 64))]
    pub(crate) kind: String,
    /// The title.
    #[serde(default)]
    pub(crate) title: String,
    /// Its text.
    #[serde(default)]
    pub(crate) body: String,
    /// Other fields, as the kind defines them.
    #[serde(default)]
    pub(crate) fields: Map<String, Value>,
    /// The origin, such as a file path.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// The parent.
    #[serde(default)]
    pub(crate) parent: Option<String>,
    /// Its position among its siblings.
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
    /// How sure its source is, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) confidence: Option<f64>,
    /// Who may read it: `user:anna`, `group:sales`, `everyone`. By default those who may read its parent.
    #[serde(default)]
    pub(crate) readers: Option<Vec<String>>,
    /// The trust level: `external`, `internal` or `trusted`.
    #[serde(default)]
    pub(crate) trust: Option<WireTrust>,
    /// Whether it is in use.
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
    /// From outside.
    External,
    /// From inside.
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
pub(crate) fn bounded(
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

pub(crate) fn id(field: &str, text: &str) -> Result<ItemId, ApiProblem> {
    ItemId::new(text).map_err(|error| ApiProblem::invalid(field, error.to_string()))
}

pub(crate) fn kind(field: &str, text: &str) -> Result<Kind, ApiProblem> {
    Kind::new(text).map_err(|error| ApiProblem::invalid(field, error.to_string()))
}

fn time(field: &str, value: Option<&Value>) -> Result<Option<Timestamp>, ApiProblem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let message = "is not a moment: RFC 3339 such as 2026-01-31T09:30:00Z, a day, or Unix \
                   milliseconds";
    moment(value).map(Some).ok_or_else(|| ApiProblem::invalid(field, message))
}

impl WireNewItem {
    /// Converts it to an item.
    pub(crate) fn into_item(self, kinds: &Kinds) -> Result<Item, ApiProblem> {
        let mut item = Item::new(id("id", &self.id)?, kind("kind", &self.kind)?, &self.body);
        item.title = self.title;
        item.fields = self.fields;
        item.path = self.path;
        item.parent = self.parent.map(|parent| id("parent", &parent)).transpose()?;
        item.position = self.position;
        item.created = time("created", self.created.as_ref())?;
        item.updated = time("updated", self.updated.as_ref())?;
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

/// An item as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Item")]
pub(crate) struct WireItem {
    /// Its name.
    id: String,
    /// The kind.
    kind: String,
    /// The title.
    title: String,
    /// Its text.
    body: String,
    /// Other fields.
    fields: Map<String, Value>,
    /// The origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The parent, if it is visible to the viewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Its position among its siblings.
    position: i64,
    /// The creation time.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    /// The time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<String>,
    /// How sure its source is.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// Who may read it, for callers who see everything. Others who write it leave it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    readers: Option<Vec<String>>,
    /// The trust level.
    trust: String,
    /// Whether it is in use.
    active: bool,
    /// The revision of this version, for callers who see everything; for others a token that changes
    /// with what they see of the item.
    revision: RevisionId,
}

impl WireItem {
    /// A stored item. Its readers are shown only to viewers who see everything.
    pub(crate) fn of(stored: Stored, viewer: &Viewer) -> WireItem {
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
    serde_json::to_value(WireItem::of(stored, viewer)).unwrap_or_default()
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
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Written")]
pub(crate) struct WireWritten {
    /// The revision of the workspace after it.
    pub(crate) revision: RevisionId,
    /// How many items, links or events were stored.
    pub(crate) stored: u64,
    /// How many were unchanged.
    pub(crate) unchanged: u64,
    /// Warnings: fields that may be misspelt, texts that are too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// Links to add and to remove.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Links")]
pub(crate) struct WireLinks {
    /// Links to add; existing ones stay.
    #[schemars(length(max = 10_000))]
    pub(crate) add: Vec<WireLink>,
    /// Links to remove.
    #[schemars(length(max = 10_000))]
    pub(crate) remove: Vec<WireLink>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Link")]
pub(crate) struct WireLink {
    /// The source item.
    from: String,
    /// The target item.
    to: String,
    /// The link type: `link`, `relation`, `supports`, …
    #[serde(rename = "sort")]
    link_type: String,
}

impl WireLink {
    pub(crate) fn link(self) -> Result<Link, ApiProblem> {
        Ok(Link {
            from: id("from", &self.from)?,
            to: id("to", &self.to)?,
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
    /// The item.
    pub(crate) item: String,
    /// The user; the caller by default.
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// What.
    pub(crate) happening: WireEventKind,
    /// When; now when left out.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) at: Option<Value>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EventKind")]
pub(crate) enum WireEventKind {
    /// A user viewed it.
    Viewed,
    /// A user edited it.
    Edited,
    /// It was used.
    Used,
    /// A user said that it helped.
    Useful,
    /// A user said that it did not help.
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
    pub(crate) fn moment(&self) -> Result<Option<Timestamp>, ApiProblem> {
        time("at", self.at.as_ref())
    }
}

/// A search.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SearchRequest")]
pub(crate) struct WireSearch {
    /// The question.
    pub(crate) query: String,
    /// The user to search as; the key's own by default.
    pub(crate) user: Option<String>,
    /// Their groups.
    pub(crate) groups: Vec<String>,
    /// Only these kinds.
    pub(crate) kinds: Vec<String>,
    /// Only paths with this prefix.
    pub(crate) path: Option<String>,
    /// Only this item and its descendants.
    pub(crate) under: Option<String>,
    /// Only items with these fields; a list of values are alternatives.
    pub(crate) fields: Map<String, Value>,
    /// Only this search method; all by default.
    pub(crate) way: Option<WireWay>,
    /// Most hits; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: Option<usize>,
    /// Most hits from one item; 2 by default.
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
    /// By words.
    Text,
    /// By meaning.
    Vector,
    /// By spelling.
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

/// The hits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchAnswer")]
pub(crate) struct WireFound {
    /// Best first.
    pub(crate) found: Vec<WireHit>,
    /// Notices.
    pub(crate) notices: Vec<String>,
}

/// A hit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchHit")]
pub(crate) struct WireHit {
    /// The item.
    pub(crate) id: String,
    /// Which chunk of it.
    pub(crate) chunk: u32,
    /// The score, from 0 to 1 if methods were fused.
    pub(crate) score: f64,
    /// Its rank by method, from 1.
    pub(crate) ranks: std::collections::BTreeMap<&'static str, usize>,
    /// The item's kind.
    pub(crate) kind: String,
    /// The item's title.
    pub(crate) title: String,
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The headings above it, outermost first.
    pub(crate) headings: Vec<String>,
    /// First and last line in the item's text, from 1.
    pub(crate) lines: (u32, u32),
    /// The best excerpt.
    pub(crate) excerpt: String,
    /// The byte ranges of the query's words in it.
    pub(crate) hits: Vec<(usize, usize)>,
}
