//! A test fixture for situations: a real store with contexts in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::store::Snapshot;
use haversack_store::store::change::Batch;
use haversack_store::store::item::Item;
use haversack_store::store::maintenance::{Maintenance, Stores};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use serde_json::Value;

/// The time at which the fixture's items are written.
pub(crate) const WRITTEN_AT: Timestamp = Timestamp::from_millis(1_700_000_000_000);

pub(crate) fn id(id: &str) -> ItemId {
    ItemId::new(id).unwrap()
}

/// A store with contexts, in a temporary folder that is deleted on drop.
pub(crate) struct ContextFixture {
    _folder: tempfile::TempDir,
    store: Arc<dyn Maintenance>,
}

impl ContextFixture {
    /// A store with these contexts, given by id.
    pub(crate) async fn new(contexts: &Value) -> ContextFixture {
        let items: Vec<Item> =
            contexts.as_object().unwrap().iter().map(|(id, fields)| item(id, fields)).collect();
        ContextFixture::with_items(items).await
    }

    pub(crate) async fn with_items(items: Vec<Item>) -> ContextFixture {
        let folder = tempfile::tempdir().unwrap();
        let stores = DataFolder::open(folder.path()).unwrap();
        let store = stores.open("w", crate::default_embedder()).unwrap();
        store.write(Batch::put(WRITTEN_AT, items)).await.unwrap();
        ContextFixture { _folder: folder, store }
    }

    pub(crate) async fn snapshot(&self, viewer: &Viewer) -> Arc<dyn Snapshot> {
        self.store.snapshot(viewer).await.unwrap()
    }
}

/// An item from fields. Beside the fields of a context there are `kind`, `body`, `under` for its
/// parent in the tree, `readers` for those who may read it, `active`, and `hours` for its age.
pub(crate) fn item(name: &str, fields: &Value) -> Item {
    let mut fields = fields.as_object().unwrap().clone();
    let mut take = |name: &str| fields.remove(name);
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    let kind = text(take("kind")).unwrap_or("context".to_owned());
    let body = text(take("body")).unwrap_or_default();
    let parent = text(take("under")).map(|parent| id(&parent));
    let active = take("active").is_none_or(|active| active.as_bool().unwrap());
    let readers = take("readers").map_or(Readers::Inherit, |names| {
        let names = names.as_array().unwrap().clone();
        let principal = |name: &Value| Principal::parse(name.as_str().unwrap()).unwrap();
        Readers::Only(names.iter().map(principal).collect::<BTreeSet<_>>())
    });
    let updated = take("hours").map(|hours| {
        Timestamp::from_millis(WRITTEN_AT.as_millis() - hours.as_i64().unwrap() * 3_600_000)
    });
    Item {
        title: name.to_owned(),
        fields,
        parent,
        active,
        readers,
        updated,
        ..Item::new(id(name), Kind::new(&kind).unwrap(), &body)
    }
}
