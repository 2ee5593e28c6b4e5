use std::sync::Arc;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;

use super::Home;
use crate::store::change::{Batch, Change};
use crate::store::item::Item;
use crate::store::query::{Effort, Filter, TextSearch, VectorSearch};
use crate::store::viewer::{Principal, Readers, Viewer};

/// Letters as dimensions: enough to tell texts apart, and independent of any table.
#[derive(Debug)]
struct Letters(Model);

impl Letters {
    fn shared() -> Arc<dyn Embedder> {
        let (name, version) = ("letters".to_owned(), "1".to_owned());
        Arc::new(Letters(Model { name, version, dimensions: 64 }))
    }
}

impl Embedder for Letters {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let embed = |text: &&str| {
            let mut numbers = vec![0.0; 64];
            for pair in text.as_bytes().windows(2) {
                numbers[usize::from(pair[0] ^ pair[1].wrapping_mul(7)) % 64] += 1.0;
            }
            Vector::new(numbers).expect("finite numbers")
        };
        Ok(texts.iter().map(embed).collect())
    }
}

fn item(id: &str, body: &str) -> Item {
    Item::new(ItemId::new(id).unwrap(), Kind::new("note").unwrap(), body)
}

fn text(query: &str) -> TextSearch {
    TextSearch {
        query: query.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::default(),
        limit: 10,
    }
}

#[test]
fn what_is_written_is_found_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::from_millis(1_000);
    for round in 0..2 {
        let home = Home::open(folder.path()).unwrap();
        let store = home.workspace("acme", Letters::shared()).unwrap();
        assert_eq!(store.repaired(), [] as [String; 0]);
        let mut secret = item("secret", "the secret launch of the green rocket");
        secret.readers = Readers::Only([Principal::user("anna").unwrap()].into());
        let mut child = item("child", "a rocket under the secret");
        child.parent = Some(secret.id.clone());
        let items = vec![item("tea", "Anna drinks green tea"), child, secret];
        let done = store.write(Batch::put(now, items)).unwrap();
        assert_eq!((done.stored, done.unchanged), if round == 0 { (3, 0) } else { (0, 3) });

        let hits = |viewer: &Viewer, query: &str| -> Vec<String> {
            let hits = store.view(viewer).text(&text(query)).unwrap();
            hits.into_iter().map(|hit| hit.id.to_string()).collect()
        };
        let anna = Viewer::user("anna").unwrap();
        assert_eq!(hits(&Viewer::anyone(), "green rocket"), ["tea#0"]);
        assert_eq!(hits(&anna, "green rocket"), ["secret#0", "child#0", "tea#0"]);

        let vector = Letters::shared().embed(&["\nAnna drinks green tea"]).unwrap().remove(0);
        let search =
            VectorSearch { vector, effort: Effort::Fast, filter: Filter::default(), limit: 2 };
        let view = store.view(&Viewer::anyone());
        let found = view.vector(&search).unwrap();
        assert_eq!(found[0].id.to_string(), "tea#0");
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn deleting_takes_what_hangs_below_and_as_of_brings_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let store = home.workspace("acme", Letters::shared()).unwrap();
    let mut leaf = item("leaf", "autumn leaf");
    leaf.parent = Some(ItemId::new("tree").unwrap());
    store.write(Batch::put(Timestamp::from_millis(1), vec![leaf, item("tree", "oak")])).unwrap();
    let delete = Change::Delete(ItemId::new("tree").unwrap());
    let done = store.write(Batch::new(Timestamp::from_millis(2), vec![delete])).unwrap();
    assert_eq!(done.deleted, 2);
    let viewer = Viewer::anyone();
    assert!(store.view(&viewer).is_empty());
    let then = store.as_of(&viewer, Timestamp::from_millis(1)).unwrap();
    assert_eq!(then.len(), 2);
    assert_eq!(then.text(&text("autumn")).unwrap().len(), 1);
    assert!(store.view(&viewer).text(&text("autumn")).unwrap().is_empty());
}
