//! Collectors that search.

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::units::Score;
use serde_json::json;

use super::*;
use crate::notice::NoticeCode;

fn file(name: &str, body: &str) -> Item {
    item(name, "file", body)
}

async fn files() -> CollectorStore {
    let long = "The harbour has a crane. ".repeat(300);
    CollectorStore::with(put(vec![
        file("crane", "How to repair a harbour crane."),
        file("boat", "How to steer a boat out of the harbour."),
        file("cake", "How to bake a cake with cherries."),
        file("long", &long),
        item("talk", "message", "The harbour crane is broken."),
        Item { active: false, ..file("old", "The old harbour crane.") },
        with_title("Harbour master", item("master", "note", "")),
    ]))
    .await
}

#[tokio::test]
async fn text_scores_are_bm25_relative_to_the_best_k3() {
    let store = files().await;
    let collected = store.collect(&spec("text", &["file"]), ask("harbour crane")).await;
    let components = [Component::Collector, Component::TextSimilarity, Component::SourcePriority];
    let lines = candidate_lines(&collected, &components);
    let best = collected.candidates[0].signals.get(Component::Collector);
    assert_eq!(best, Some(Score::ONE), "{lines}");
    let mut items: Vec<&str> =
        collected.candidates.iter().map(|candidate| candidate.id.item.as_str()).collect();
    let of_long = items.iter().filter(|name| **name == "long").count();
    assert_eq!(of_long, 3, "no more of one item than asked for: {lines}");
    items.sort_unstable();
    items.dedup();
    assert_eq!(items, ["boat", "crane", "long"]);
    let one_each = [("limit", Setting::Count(2)), ("per_item", Setting::Count(1))];
    let collected = store
        .collect(&with_settings(spec("text", &["file"]), &one_each), ask("harbour crane"))
        .await;
    assert_eq!(collected.candidates.len(), 2);
    let one = Request { limit: Some(1), ..ask("cherries") };
    store.check(&spec("text", &["file"]), one, "cake 1.000").await;
}

#[tokio::test]
async fn keywords_must_all_occur_and_phrases_as_they_stand_k3() {
    let store = files().await;
    let check = async |query: &str, expected: &[&str]| {
        store.check_ids(&spec("keyword", &["file"]), ask(query), expected).await;
    };
    check("how to steer in a harbour", &["boat"]).await;
    check("steer a crane", &[]).await;
    check("\"bake a cake\"", &["cake"]).await;
    check("cake \"cake bake\"", &[]).await;
    check("how to", &[]).await;
}

#[tokio::test]
async fn misspelt_titles_are_found_k3() {
    let store = files().await;
    let found = store.collect(&spec("fuzzy", &[]), ask("harbor mastr")).await;
    assert_eq!(candidate_lines(&found, &[]), "master");
    let candidate = &found.candidates[0];
    let similarity = candidate.signals.get(Component::TextSimilarity);
    assert_eq!(similarity, candidate.signals.get(Component::Collector));
    assert!(similarity.is_some_and(|at| at >= Score::unit(0.3) && at < Score::ONE));
    let strict = with_settings(spec("fuzzy", &[]), &[("similarity", Setting::Number(0.9))]);
    store.check_ids(&strict, ask("harbor mastr"), &[]).await;
}

#[tokio::test]
async fn semantic_search_finds_the_nearest_above_the_minimum_w3() {
    let store = files().await;
    let three = with_settings(spec("semantic", &["file"]), &[("limit", Setting::Count(3))]);
    let found = store.collect(&three, ask("repairing a crane in the harbour")).await;
    assert_eq!(found.candidates[0].id.item, id("crane"));
    let cosines: Vec<Option<Score>> =
        found.candidates.iter().map(|c| c.signals.get(Component::Semantic)).collect();
    assert!(cosines.is_sorted_by(|a, b| a >= b), "{cosines:?}");
    let least = cosines[0].unwrap().get() - 1e-9;
    let strict = with_settings(three.clone(), &[("minimum", Setting::Number(least))]);
    store.check_ids(&strict, ask("repairing a crane in the harbour"), &["crane"]).await;
    // Without a vector nothing is found; the missing vector is reported elsewhere.
    store.check_ids(&three, ask(""), &[]).await;
    let vector = crate::default_embedder().embed(&["cherry cake"]).unwrap().pop();
    let one = Request { vector, limit: Some(1), ..ask("") };
    store.check_ids(&three, one, &["cake"]).await;
}

#[tokio::test]
async fn words_and_meaning_are_fused_and_every_part_is_kept() {
    let store = files().await;
    let three = [("limit", Setting::Count(3)), ("per_item", Setting::Count(1))];
    let three = with_settings(spec("hybrid", &["file"]), &three);
    let found = store.collect(&three, ask("repair harbour crane")).await;
    assert_eq!(found.candidates[0].id.item, id("crane"));
    assert_eq!(found.candidates.len(), 3);
    for component in [Component::Fusion, Component::TextSimilarity, Component::Semantic] {
        assert!(found.candidates[0].signals.get(component).is_some(), "{component}");
    }
    let fusion = |at: usize| found.candidates[at].signals.get(Component::Fusion);
    assert_eq!(fusion(0), found.candidates[0].signals.get(Component::Collector));
    assert!(fusion(0) > fusion(1) && fusion(1) > fusion(2));
    let words = [("vector", Setting::Number(0.0)), ("limit", Setting::Count(1))];
    let words = with_settings(spec("hybrid", &["file"]), &words);
    store.check(&words, ask("cherries and cakes"), "cake 1.000").await;
}

#[tokio::test]
async fn products_are_found_whole_so_that_their_core_can_stand_for_them_p8() {
    let feature = "It lifts whatever you hang on its hook, day and night. ".repeat(40);
    let product = |name: &str, description: &str, active| {
        let fields = json!({
            "name": name, "description": description, "pricing": "on request",
            "features": [&feature], "isActive": active,
        });
        item_with_fields(name, "product", fields)
    };
    let items = vec![
        product("Crane", "Lifts containers in a harbour", true),
        product("Mixer", "Stirs dough in a bakery", true),
        product("Hoist", "Lifts containers in a harbour", false),
    ];
    let store = CollectorStore::with(put(items)).await;
    let collected =
        store.collect(&spec("semantic", &["product"]), ask("lifting in harbours")).await;
    assert_eq!(candidate_lines(&collected, &[]), "Crane\nMixer");
    let crane = &collected.candidates[0];
    assert!(crane.text.len() > feature.len());
    let core = crane.essential.as_ref().map(|essential| &*essential.text);
    let expected = "Name: Crane\nDescription: Lifts containers in a harbour\nPricing: on request";
    assert_eq!(core, Some(expected));
}

#[tokio::test]
async fn playbooks_agree_with_the_opportunity_where_both_say_something_p10() {
    let playbook = |name: &str, vertical: Value| {
        let fields = json!({"name": name, "content": "How to sell cranes", "vertical": vertical});
        item_with_fields(name, "playbook", fields)
    };
    let mut items = vec![
        with_title(
            "Deal",
            item_with_fields("deal", "opportunity", json!({"vertical": ["Ports", "Ships"]})),
        ),
        playbook("any", Value::Null),
        playbook("ports", json!("ports")),
        playbook("both", json!(["Mining", "Ships"])),
    ];
    // Many more than the limit do not agree, and all are equally near.
    items.extend((0..60).map(|n| playbook(&format!("bank{n:02}"), json!("Banks"))));
    let store = CollectorStore::with(put(items)).await;
    let matching =
        with_settings(spec("semantic", &["playbook"]), &[("matching", one_text("vertical"))]);
    let two = Request { limit: Some(5), ..ask("selling cranes").about("opportunity", id("deal")) };
    let found = async |request| {
        let found = store.collect(&matching, request).await.candidates;
        let mut found: Vec<String> = found.iter().map(|c| c.id.item.to_string()).collect();
        found.sort();
        found
    };
    assert_eq!(found(two.clone()).await, ["any", "both", "ports"]);
    assert_eq!(
        found(Request { subjects: std::collections::BTreeMap::new(), ..two }).await.len(),
        5
    );
}

#[tokio::test]
async fn memories_are_filtered_as_the_request_says_m3() {
    let memory = |name: &str, of: &str, talk: &str, confidence: f64, hours: i64| {
        let fields = json!({
            "content": "Ada likes cranes", "type": of, "conversation": talk,
            "confidence": confidence,
        });
        Item {
            created: Some(ago(hours)),
            updated: None,
            ..item_with_fields(name, "memory", fields)
        }
    };
    let store = CollectorStore::with(put(vec![
        memory("a", "fact", "t1", 0.9, 10),
        memory("b", "decision", "t1", 0.5, 20),
        memory("c", "opinion", "t2", 0.7, 30),
        memory("d", "fact", "t2", 0.3, 40),
    ]))
    .await;
    let check = async |request: Request, expected: &[&str]| {
        for by in ["semantic", "text", "hybrid"] {
            let found = store.collect(&spec(by, &["memory"]), request.clone()).await.candidates;
            let mut found: Vec<&str> = found.iter().map(|c| c.id.item.as_str()).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{by}");
        }
    };
    let field = |name: &str, values: &[&str]| {
        (name.to_owned(), values.iter().map(|value| Value::from(*value)).collect())
    };
    let base = ask("cranes");
    check(base.clone(), &["a", "b", "c", "d"]).await;
    let fields = vec![field("type", &["fact", "opinion"])];
    check(Request { fields, ..base.clone() }, &["a", "c", "d"]).await;
    let fields = vec![field("type", &["fact", "opinion"]), field("conversation", &["t2"])];
    check(Request { fields, ..base.clone() }, &["c", "d"]).await;
    check(Request { fields: vec![field("type", &[])], ..base.clone() }, &["a", "b", "c", "d"])
        .await;
    check(Request { confidence_least: Score::new(0.7), ..base.clone() }, &["a", "c"]).await;
    // All were written at one time; the time range applies to when they were created.
    check(Request { time: (Some(ago(30)), Some(ago(10))), ..base.clone() }, &["b", "c"]).await;
    let with = with_settings(spec("text", &[]), &[("with", one_text("type = decision"))]);
    store.check_ids(&with, base.clone(), &["b"]).await;
    let wrong = with_settings(spec("text", &[]), &[("with", one_text("decision"))]);
    let error = store.collect_after(&wrong, base, &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "with: \"decision\" is not of the form \"name=value\"");
}

/// An embedder of another model than the store's vectors.
#[derive(Debug)]
struct OtherModelEmbedder(Model);

impl Embedder for OtherModelEmbedder {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        crate::default_embedder().embed(texts)
    }
}

#[tokio::test]
async fn words_are_searched_alone_while_vectors_are_stale_m11() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::from_millis(NOW);
    let stores = DataFolder::open(folder.path()).unwrap();
    let items = vec![file("crane", "How to repair a harbour crane.")];
    let store = stores.open("w", crate::default_embedder()).unwrap();
    store.write(Batch::put(now, items)).await.unwrap();
    drop(store);
    let model = Model { version: "2".to_owned(), ..crate::default_embedder().model().clone() };
    let store = stores.open("w", Arc::new(OtherModelEmbedder(model))).unwrap();
    let store = CollectorStore { _folder: folder, store, now };
    let collected = store.collect(&spec("hybrid", &[]), ask("harbour crane")).await;
    assert_eq!(candidate_lines(&collected, &[]), "crane");
    let [notice] = &collected.notices[..] else { panic!("{:?}", collected.notices) };
    assert_eq!(notice.code, NoticeCode::Degraded);
    assert!(notice.message.starts_with("by words alone: vectors are stale"), "{}", notice.message);
    for (by, degrade) in [("hybrid", Some(false)), ("semantic", None)] {
        let request = Request { degrade, ..ask("harbour crane") };
        let error = store.collect_after(&spec(by, &[]), request, &[]).await.unwrap_err();
        assert!(matches!(error, ReadError::Stale(_)), "{by}: {error}");
    }
}
