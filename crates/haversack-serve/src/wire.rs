//! The shapes of the wire that are the server's own. Requests and results of recipes are the
//! library's.

use std::collections::BTreeSet;

use haversack::revision::RevisionId;
use haversack::search::Way;
use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use haversack_store::kinds::{Kinds, moment};
use haversack_store::store::item::{Happening, Item, Link, Stored};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// An item to store.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewItem")]
pub(crate) struct WireNewItem {
    /// Its name, unique in the workspace; an item of this name is replaced.
    #[schemars(length(min = 1, max = 512))]
    pub(crate) id: String,
    /// What sort of thing it is: `note`, `file`, `message`, `memory`, `page`, `task`, `product`, …
    #[schemars(length(min = 1, max = 64))]
    pub(crate) kind: String,
    /// What people call it.
    #[serde(default)]
    pub(crate) title: String,
    /// Its text.
    #[serde(default)]
    pub(crate) body: String,
    /// What else is known, by the kind's own names.
    #[serde(default)]
    pub(crate) fields: Map<String, Value>,
    /// Where it comes from, such as a file's path.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// What it hangs under.
    #[serde(default)]
    pub(crate) parent: Option<String>,
    /// Its place among what hangs there too.
    #[serde(default)]
    pub(crate) position: i64,
    /// When it was made.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) created: Option<Value>,
    /// When it last changed.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) updated: Option<Value>,
    /// How sure its source is, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) confidence: Option<f64>,
    /// Who may read it: `user:anna`, `group:sales`, `everyone`. Left out, whoever may read its parent.
    #[serde(default)]
    pub(crate) readers: Option<Vec<String>>,
    /// Where it comes from, as far as it can be trusted: `external`, `internal` or `trusted`.
    #[serde(default)]
    pub(crate) trust: Option<WireTrust>,
    /// Whether it is in use.
    #[serde(default = "yes")]
    pub(crate) active: bool,
}

const fn yes() -> bool {
    true
}

/// How far a text can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Trust")]
pub(crate) enum WireTrust {
    /// From outside.
    External,
    /// From inside.
    Internal,
    /// From those who run the application.
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

/// A count within its bounds, or the default.
pub(crate) fn bounded(
    field: &str,
    value: Option<usize>,
    default: usize,
    most: usize,
) -> Result<usize, Problem> {
    match value.unwrap_or(default) {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(Problem::invalid(field, format!("{value} is not from 1 to {most}"))),
    }
}

pub(crate) fn id(field: &str, text: &str) -> Result<ItemId, Problem> {
    ItemId::new(text).map_err(|error| Problem::invalid(field, error.to_string()))
}

pub(crate) fn kind(field: &str, text: &str) -> Result<Kind, Problem> {
    Kind::new(text).map_err(|error| Problem::invalid(field, error.to_string()))
}

fn time(field: &str, value: Option<&Value>) -> Result<Option<Timestamp>, Problem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let message = "is not a moment: RFC 3339 such as 2026-01-31T09:30:00Z, a day, or Unix \
                   milliseconds";
    moment(value).map(Some).ok_or_else(|| Problem::invalid(field, message))
}

impl WireNewItem {
    /// The item that this says.
    pub(crate) fn item(self, kinds: &Kinds) -> Result<Item, Problem> {
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
                return Err(Problem::invalid("confidence", detail));
            }
            item.confidence = Some(Score::unit(confidence));
        }
        if let Some(readers) = self.readers {
            let principal = |text: &String| {
                Principal::parse(text).map_err(|e| Problem::invalid("readers", e.to_string()))
            };
            let readers: Result<BTreeSet<Principal>, Problem> =
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
    /// What sort of thing it is.
    kind: String,
    /// What people call it.
    title: String,
    /// Its text.
    body: String,
    /// What else is known.
    fields: Map<String, Value>,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// What it hangs under, if the viewer may read that.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Its place among what hangs there too.
    position: i64,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<String>,
    /// How sure its source is.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// Who may read it, for callers who see everything. Others who write it leave it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    readers: Option<Vec<String>>,
    /// How far it can be trusted.
    trust: String,
    /// Whether it is in use.
    active: bool,
    /// The state that brought this version, for callers who see everything; for others a text that
    /// changes with what they see of the item.
    revision: RevisionId,
}

impl WireItem {
    /// An item as it was found. Who else may read it is only told to those who see everything.
    pub(crate) fn of(stored: Stored, viewer: &Viewer) -> WireItem {
        let sees_all = *viewer == Viewer::owner();
        let revision = if sees_all {
            RevisionId::Number(stored.revision.get())
        } else {
            RevisionId::Token(version(&stored, viewer))
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

/// A name for what a viewer sees of a version of an item.
fn version(stored: &Stored, viewer: &Viewer) -> String {
    // Who else reads it is not told, not even by a hash.
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
    /// What to pass as `after` for the next page; left out on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Written")]
pub(crate) struct WireWritten {
    /// The state of the workspace after it.
    pub(crate) revision: RevisionId,
    /// How many items, links or events were stored.
    pub(crate) stored: u64,
    /// How many were there already, exactly so.
    pub(crate) unchanged: u64,
    /// What the writer should know: fields that may be misspelt, texts that are too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// Links to add and to take away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Links")]
pub(crate) struct WireLinks {
    /// Links to add; one that is there stays.
    #[schemars(length(max = 10_000))]
    pub(crate) add: Vec<WireLink>,
    /// Links to take away.
    #[schemars(length(max = 10_000))]
    pub(crate) remove: Vec<WireLink>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Link")]
pub(crate) struct WireLink {
    /// Where it starts.
    from: String,
    /// Where it leads.
    to: String,
    /// What it means: `link`, `relation`, `supports`, …
    sort: String,
}

impl WireLink {
    pub(crate) fn link(self) -> Result<Link, Problem> {
        Ok(Link { from: id("from", &self.from)?, to: id("to", &self.to)?, sort: self.sort })
    }
}

/// Things that happened.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Events")]
pub(crate) struct WireEvents {
    /// What happened.
    #[schemars(length(max = 10_000))]
    pub(crate) events: Vec<WireEvent>,
}

/// Something that happened to an item.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Event")]
pub(crate) struct WireEvent {
    /// To which item.
    pub(crate) item: String,
    /// Who did it; the caller when left out.
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// What.
    pub(crate) happening: WireHappening,
    /// When; now when left out.
    #[serde(default)]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) at: Option<Value>,
}

/// What can happen to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Happening")]
pub(crate) enum WireHappening {
    /// Somebody looked at it.
    Viewed,
    /// Somebody changed it.
    Edited,
    /// It was used.
    Used,
    /// Somebody said that it helped.
    Useful,
    /// Somebody said that it did not.
    NotUseful,
}

impl From<WireHappening> for Happening {
    fn from(happening: WireHappening) -> Happening {
        match happening {
            WireHappening::Viewed => Happening::Viewed,
            WireHappening::Edited => Happening::Edited,
            WireHappening::Used => Happening::Used,
            WireHappening::Useful => Happening::Useful,
            WireHappening::NotUseful => Happening::NotUseful,
        }
    }
}

impl WireEvent {
    pub(crate) fn moment(&self) -> Result<Option<Timestamp>, Problem> {
        time("at", self.at.as_ref())
    }
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SearchRequest")]
pub(crate) struct WireSearch {
    /// The question.
    pub(crate) query: String,
    /// For whom; whose eyes the key has when left out.
    pub(crate) user: Option<String>,
    /// Their groups.
    pub(crate) groups: Vec<String>,
    /// Only these kinds.
    pub(crate) kinds: Vec<String>,
    /// Only paths that start so.
    pub(crate) path: Option<String>,
    /// Only this item and what hangs under it.
    pub(crate) under: Option<String>,
    /// Only items with these fields; a list of values are alternatives.
    pub(crate) fields: Map<String, Value>,
    /// One way alone; all together when left out.
    pub(crate) way: Option<WireWay>,
    /// How many answers at most; 10 when left out.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: Option<usize>,
    /// How many of them from one item; 2 when left out.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) per_item: Option<usize>,
    /// Longest excerpt in characters; 280 when left out.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) excerpt: Option<usize>,
}

/// A way to find.
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

impl From<WireWay> for Way {
    fn from(way: WireWay) -> Way {
        match way {
            WireWay::Text => Way::Text,
            WireWay::Vector => Way::Vector,
            WireWay::Fuzzy => Way::Fuzzy,
        }
    }
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchAnswer")]
pub(crate) struct WireFound {
    /// Best first.
    pub(crate) found: Vec<WireHit>,
    /// What the asker should know.
    pub(crate) notices: Vec<String>,
}

/// One answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchHit")]
pub(crate) struct WireHit {
    /// The item.
    pub(crate) id: String,
    /// Which chunk of it.
    pub(crate) chunk: u32,
    /// How well it answers, from 0 to 1 when ways were fused.
    pub(crate) score: f64,
    /// Its place in each way's own list, from 1.
    pub(crate) ranks: std::collections::BTreeMap<&'static str, usize>,
    /// The item's kind.
    pub(crate) kind: String,
    /// The item's title.
    pub(crate) title: String,
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The headings it stands under, outermost first.
    pub(crate) headings: Vec<String>,
    /// First and last line in the item's text, from 1.
    pub(crate) lines: (u32, u32),
    /// The most telling stretch.
    pub(crate) excerpt: String,
    /// Where the words of the question are in it, in bytes.
    pub(crate) hits: Vec<(usize, usize)>,
}
