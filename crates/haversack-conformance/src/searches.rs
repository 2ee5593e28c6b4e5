//! Full-text, vector and fuzzy searches, with every filter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::embed::Vector;
use haversack_core::ids::CandidateId;
use haversack_core::item::Kind;
use haversack_core::rank::Corpus;
use haversack_core::text::terms::{Language, terms};
use haversack_core::units::Score;
use serde_json::{Value, json};

use super::{
    at, cases, found_ids, id, ids_of, item, only, text_search, under, user, view, write_items,
};
use haversack_store::store::Store;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Item;
use haversack_store::store::query::{
    Effort, FIELDS_MAX, FREQUENCIES_MAX, Filter, Frequencies, FuzzySearch, Hit, KINDS_MAX,
    ListOrder, Page, TextSearch, VALUES_MAX, VectorSearch,
};
use haversack_store::store::viewer::Viewer;

cases![
    words_phrases_and_prefixes_are_found,
    filters_apply_to_every_search,
    values_of_a_field_are_alternatives,
    filters_have_limits,
    the_nearest_come_first,
    misspelt_names_are_found,
    long_texts_are_found_by_their_parts,
    parts_of_very_long_texts_are_read_alone,
    items_are_found_by_who_wrote_them,
    frequencies_count_readable_chunks_only,
];

async fn words_phrases_and_prefixes_are_found(store: Arc<dyn Store>) {
    let mut titled = item("titled", "");
    titled.title = "Configuration of the harbour".to_owned();
    let mut pathed = item("pathed", "nothing here");
    pathed.path = Some("docs/lighthouse.md".to_owned());
    let items = vec![
        item("green", "the green rocket flies"),
        item("rocket", "rocket rocket rocket"),
        item("apart", "green is the flying rocket"),
        titled,
        pathed,
    ];
    write_items(&store, 1, items).await;
    let view = view(&store, &Viewer::anyone()).await;
    let sorted = async |search: &TextSearch| {
        let mut names = found_ids(&view, search).await;
        names.sort();
        names
    };
    assert_eq!(sorted(&text_search("rocket")).await, ["apart", "green", "rocket"]);
    assert_eq!(sorted(&text_search("ROCKETS")).await, ["apart", "green", "rocket"], "other forms");
    assert_eq!(sorted(&text_search("\"green rocket\"")).await, ["green"]);
    assert_eq!(sorted(&text_search("config*")).await, ["titled"]);
    assert_eq!(sorted(&text_search("lighthouse")).await, ["pathed"]);
    assert_eq!(sorted(&text_search("absent")).await, [] as [&str; 0]);
    let all = TextSearch { all_words: true, ..text_search("green rocket") };
    assert_eq!(sorted(&all).await, ["apart", "green"]);
    let unfinished = TextSearch { unfinished: true, ..text_search("harb") };
    assert_eq!(sorted(&unfinished).await, ["titled"]);
    let one = TextSearch { limit: 1, ..text_search("rocket") };
    assert_eq!(found_ids(&view, &one).await, found_ids(&view, &text_search("rocket")).await[..1]);
    let scores: Vec<Score> = view
        .search_text(&text_search("green rocket"))
        .await
        .unwrap()
        .iter()
        .map(|hit| hit.score)
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

/// Items that differ in one property each; the plain one passes no filter but the default.
fn varied() -> Vec<Item> {
    let plain = |name: &str| {
        let mut item = item(name, "common word");
        item.updated = Some(at(100));
        item
    };
    let mut items = vec![plain("plain"), under("plain", plain("below")), plain("kind")];
    items[2].kind = Kind::new("file").unwrap();
    items.push(Item { active: false, ..plain("asleep") });
    items.push(Item { updated: Some(at(500)), ..plain("later") });
    items.push(Item { confidence: Some(Score::unit(0.9)), ..plain("sure") });
    items.push(Item { confidence: Some(Score::unit(0.1)), ..plain("unsure") });
    items.push(Item { path: Some("src/it's.rs".to_owned()), ..plain("path") });
    let mut fields = plain("fields");
    fields.fields.insert("team \"x\"".to_owned(), json!("it's"));
    fields.fields.insert("size".to_owned(), json!(3));
    fields.fields.insert("ready".to_owned(), json!(true));
    fields.fields.insert("vertical".to_owned(), json!(["retail", "bank", 7, null, ["deep"]]));
    fields.fields.insert("nested".to_owned(), json!({"vertical": "retail"}));
    items.push(fields);
    items.push(only(&["anna"], Item { path: Some("src/secret.rs".to_owned()), ..plain("secret") }));
    items
}

async fn filters_apply_to_every_search(store: Arc<dyn Store>) {
    write_items(&store, 1, varied()).await;
    let every = |change: fn(&mut Filter)| {
        let mut filter = Filter::everything();
        change(&mut filter);
        filter
    };
    let active = "below fields kind later path plain sure unsure";
    let field = |name: &str, value| Filter {
        fields: vec![(name.to_owned(), vec![value])],
        ..Filter::everything()
    };
    let not_unsure = "asleep below fields kind later path plain sure";
    let not_later = "asleep below fields kind path plain sure unsure";
    let cases = [
        (Filter::default(), active),
        (Filter::kind(Kind::new("file").unwrap()), "kind"),
        (every(|f| f.updated.0 = Some(at(500))), "later"),
        (every(|f| f.updated.1 = Some(at(500))), not_later),
        (every(|f| f.updated = (Some(at(101)), Some(at(500)))), ""),
        (every(|f| f.confidence_least = Some(Score::unit(0.5))), not_unsure),
        (every(|f| f.under = Some(id("plain"))), "below plain"),
        (every(|f| f.under = Some(id("none"))), ""),
        (every(|f| f.path_prefix = Some("src/".to_owned())), "path"),
        (every(|f| f.path_prefix = Some("src/it'".to_owned())), "path"),
        (every(|f| f.path_prefix = Some("rc".to_owned())), ""),
        (field("team \"x\"", json!("it's")), "fields"),
        (field("size", json!(3)), "fields"),
        (field("size", json!("3")), ""),
        (field("ready", json!(true)), "fields"),
        (field("ready", json!(false)), ""),
    ];
    let view = view(&store, &user("bob")).await;
    let vector = any_vector(&store);
    for (filter, expected) in cases {
        let text = TextSearch { filter: filter.clone(), ..text_search("common") };
        let by_words = view.search_text(&text).await.unwrap();
        let (vector, effort, limit) = (vector.clone(), Effort::Exact, 100);
        let vector = VectorSearch { vector, effort, filter: filter.clone(), limit };
        let by_meaning = view.search_vectors(&vector).await.unwrap();
        let (query, similarity_least) = ("common wort".to_owned(), Score::unit(0.1));
        let fuzzy = FuzzySearch { query, similarity_least, filter: filter.clone(), limit };
        let by_spelling = view.search_fuzzy(&fuzzy).await.unwrap();
        for hits in [by_words, by_meaning, by_spelling] {
            assert_eq!(sorted_names(&hits), expected, "{filter:?}");
        }
        let count = expected.split_whitespace().count() as u64;
        assert_eq!(view.count(&filter).await.unwrap(), count, "{filter:?}");
    }
    let nested = field("size", json!([3]));
    assert!(matches!(view.count(&nested).await, Err(ReadError::Invalid { .. })));
}

async fn values_of_a_field_are_alternatives(store: Arc<dyn Store>) {
    let mut items = varied();
    for (n, vertical) in
        [json!("bank"), json!("[\"bank\"]"), json!([]), json!(null)].iter().enumerate()
    {
        let mut item = item(&format!("v{n}"), "");
        item.fields.insert("vertical".to_owned(), vertical.clone());
        items.push(item);
    }
    write_items(&store, 1, items).await;
    let view = view(&store, &user("bob")).await;
    let page = Page { order: ListOrder::Id, after: None, limit: 100 };
    let listed = async |fields: &[(&str, Value)]| {
        let fields = fields.iter().map(|(name, values)| {
            let Value::Array(values) = values else { panic!("a list of values") };
            ((*name).to_owned(), values.clone())
        });
        let filter = Filter { fields: fields.collect(), ..Filter::everything() };
        ids_of(&view.list(&filter, &page).await.unwrap()).join(" ")
    };
    assert_eq!(listed(&[("vertical", json!(["retail"]))]).await, "fields");
    assert_eq!(listed(&[("vertical", json!(["none", "bank"]))]).await, "fields v0");
    assert_eq!(listed(&[("vertical", json!(["bank", "[\"bank\"]"]))]).await, "fields v0 v1");
    assert_eq!(listed(&[("vertical", json!([7, "x"]))]).await, "fields");
    assert_eq!(listed(&[("vertical", json!(["7", "deep", "[\"deep\"]"]))]).await, "");
    assert_eq!(listed(&[("vertical", json!([]))]).await, "");
    assert_eq!(listed(&[("nested", json!(["retail", "{\"vertical\":\"retail\"}"]))]).await, "");
    let both = [("vertical", json!(["bank"])), ("size", json!([1, 3]))];
    assert_eq!(listed(&both).await, "fields");
    // Null matches a missing field, null, or an array that contains null.
    let with_null = listed(&[("vertical", json!([null, "bank"]))]).await;
    assert!(with_null.starts_with("asleep below fields kind"), "{with_null}");
    assert!(with_null.ends_with("unsure v0 v3"), "{with_null}");
}

async fn filters_have_limits(store: Arc<dyn Store>) {
    let view = view(&store, &Viewer::anyone()).await;
    let filter = |kinds: usize, fields: usize, values: usize| Filter {
        kinds: (0..kinds).map(|n| Kind::new(&format!("k{n}")).unwrap()).collect(),
        fields: (0..fields).map(|n| (format!("f{n}"), vec![json!(n); values])).collect(),
        ..Filter::everything()
    };
    let most = filter(KINDS_MAX, FIELDS_MAX, VALUES_MAX);
    assert_eq!(view.count(&most).await.unwrap(), 0);
    let over = [
        (filter(KINDS_MAX + 1, 1, 1), "filter.kinds: 65 are over the limit of 64"),
        (filter(1, FIELDS_MAX + 1, 1), "filter.fields: 33 are over the limit of 32"),
        (filter(1, 1, VALUES_MAX + 1), "filter.fields.f0: 65 are over the limit of 64"),
    ];
    for (filter, expected) in over {
        match view.count(&filter).await {
            Err(error @ ReadError::Invalid { .. }) => assert_eq!(error.to_string(), expected),
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn sorted_names(hits: &[Hit]) -> String {
    let mut names: Vec<&str> = hits.iter().map(|hit| hit.id.item.as_str()).collect();
    names.sort_unstable();
    names.join(" ")
}

/// A vector of the right length; the suite does not know the model, so the direction is arbitrary.
fn any_vector(store: &Arc<dyn Store>) -> Vector {
    let numbers = (0..store.model().dimensions).map(|n| if n % 2 == 0 { 1.0 } else { 0.5 });
    Vector::new(numbers.collect()).unwrap()
}

async fn the_nearest_come_first(store: Arc<dyn Store>) {
    let bodies = ["green tea", "black tea", "a rocket to the moon", "tax forms of 1987", ""];
    let items = bodies.iter().enumerate().map(|(n, body)| item(&format!("n{n}"), body));
    write_items(&store, 1, items.chain([only(&["anna"], item("secret", "tea"))]).collect()).await;
    let view = view(&store, &user("bob")).await;
    let vector = any_vector(&store);
    let search = |effort, limit| {
        let (vector, filter) = (vector.clone(), Filter::everything());
        VectorSearch { vector, effort, filter, limit }
    };
    let empty = view.passages(&[CandidateId::chunk(id("n4"), 0)]).await.unwrap();
    let empty = empty[0].as_ref().map(|passage| (passage.text.as_str(), passage.is_whole));
    assert_eq!(empty, Some(("", true)));
    let exact = view.search_vectors(&search(Effort::Exact, 100)).await.unwrap();
    assert!(exact.iter().all(|hit| hit.id.item.as_str() != "secret"));
    assert!(exact.len() >= 4 && exact.is_sorted_by(|a, b| a.score >= b.score), "{exact:?}");
    for effort in [Effort::Fast, Effort::Full] {
        let hits = view.search_vectors(&search(effort, 100)).await.unwrap();
        assert_eq!(sorted_names(&hits), sorted_names(&exact), "{effort:?}");
        assert_eq!(view.search_vectors(&search(effort, 2)).await.unwrap().len(), 2);
    }
    let short = Vector::new(vec![1.0; store.model().dimensions + 1]).unwrap();
    let wrong = VectorSearch { vector: short, ..search(Effort::Fast, 1) };
    assert!(matches!(view.search_vectors(&wrong).await, Err(ReadError::Invalid { .. })));
}

async fn misspelt_names_are_found(store: Arc<dyn Store>) {
    let titled = |name: &str, title: &str| Item { title: title.to_owned(), ..item(name, "") };
    let items = vec![
        titled("acme", "Acme Corporation"),
        titled("zenith", "Zenith Optics"),
        only(&["anna"], titled("secret", "Acme Corporation")),
    ];
    write_items(&store, 1, items).await;
    let view = view(&store, &user("bob")).await;
    let fuzzy = |query: &str, least| FuzzySearch {
        query: query.to_owned(),
        similarity_least: Score::unit(least),
        filter: Filter::everything(),
        limit: 10,
    };
    assert_eq!(
        sorted_names(&view.search_fuzzy(&fuzzy("acme corporaton", 0.3)).await.unwrap()),
        "acme"
    );
    assert_eq!(
        sorted_names(&view.search_fuzzy(&fuzzy("zenit optic", 0.3)).await.unwrap()),
        "zenith"
    );
    assert!(view.search_fuzzy(&fuzzy("acme corporaton", 1.0)).await.unwrap().is_empty());
    assert!(view.search_fuzzy(&fuzzy("", 0.3)).await.unwrap().is_empty());
}

async fn long_texts_are_found_by_their_parts(store: Arc<dyn Store>) {
    let filler = "Plain sentences fill the page until it is long enough to be split. ".repeat(40);
    let body = format!("{filler}\n\nThe word zirconium stands here.\n\n{filler}");
    write_items(&store, 1, vec![item("long", &body)]).await;
    let view = view(&store, &Viewer::anyone()).await;
    let hits = view.search_text(&text_search("zirconium")).await.unwrap();
    let passages = view.passages(&[hits[0].id.clone()]).await.unwrap();
    let passage = passages[0].as_ref().unwrap();
    assert_eq!(passage.span.slice(&body), Some(passage.text.as_str()));
    assert!(passage.text.contains("zirconium") && passage.text.len() < body.len());
    assert!(passage.stored.item.body.is_empty(), "the text is in the passage");
    assert!(!passage.is_whole);
    let excerpt = view.excerpts(&[passage], "zirconium", 60).remove(0);
    assert!(excerpt.text.contains("zirconium") && excerpt.text.chars().count() <= 62);
    assert!(excerpt.hits.iter().any(|hit| &excerpt.text[hit.clone()] == "zirconium"));
    let none = CandidateId::chunk(id("long"), 9_999);
    let whole = CandidateId::whole(id("long"));
    let passages = view.passages(&[none, whole]).await.unwrap();
    assert!(passages[0].is_none());
    let first = passages[1].as_ref().map(|passage| (passage.chunk, passage.is_whole));
    assert_eq!(first, Some((0, false)));
}

async fn parts_of_very_long_texts_are_read_alone(store: Arc<dyn Store>) {
    let filler = "Schöne Sätze füllen die Seite, bis sie lang genug ist. ".repeat(900);
    let body = format!("{filler}\n\nThe word zirconium stands here.\n\n{filler}");
    write_items(&store, 1, vec![item("long", &body)]).await;
    let view = view(&store, &Viewer::anyone()).await;
    let hits = view.search_text(&text_search("zirconium")).await.unwrap();
    let last = CandidateId::chunk(id("long"), 2 * hits[0].id.chunk.unwrap() - 1);
    for passage in view.passages(&[hits[0].id.clone(), last]).await.unwrap() {
        let passage = passage.unwrap();
        assert_eq!(passage.span.slice(&body), Some(passage.text.as_str()));
    }
}

async fn items_are_found_by_who_wrote_them(store: Arc<dyn Store>) {
    let article = |name: &str, source: &str, url: &str| {
        let fields = json!({"source": source, "url": url}).as_object().unwrap().clone();
        Item { fields, ..item(name, "Phones became lighter this year.") }
    };
    let items = vec![
        article("verge", "The Verge", "https://example.com/wired"),
        article("wired", "Wired", "https://example.com/verge"),
        only(&["anna"], article("secret", "Verge Insider", "")),
    ];
    write_items(&store, 1, items).await;
    let view = view(&store, &user("bob")).await;
    assert_eq!(found_ids(&view, &text_search("verge")).await, ["verge"]);
    assert_eq!(found_ids(&view, &text_search("phones verge")).await, ["verge", "wired"]);
}

async fn frequencies_count_readable_chunks_only(store: Arc<dyn Store>) {
    let mut titled = item("titled", "green tea");
    titled.title = "Rockets".to_owned();
    let items = vec![
        titled,
        item("twice", "rocket after rocket"),
        item("none", "black tea"),
        only(&["anna"], item("secret", "the secret rocket")),
    ];
    write_items(&store, 1, items).await;
    let text = "The rocket, secretive rockets and snake_case";
    let count = async |name: &str| view(&store, &user(name)).await.frequencies(text).await.unwrap();
    let (bob, anna) = (count("bob").await, count("anna").await);
    let keys: BTreeSet<String> = terms(text, Language::English).into_iter().collect();
    assert!(bob.by_term.keys().eq(&keys) && anna.by_term.keys().eq(&keys), "{bob:?}");
    assert_eq!((bob.texts, bob.by_term["rocket"], bob.by_term["secret"]), (3, 2, 0));
    assert_eq!((anna.texts, anna.by_term["rocket"], anna.by_term["secret"]), (4, 3, 1));
    let corpus = Corpus::from_counts(bob.texts, bob.by_term);
    assert!(corpus.idf("rocket") < corpus.idf("secret"), "what is common weighs less");
    let long: Vec<String> = (0..2 * FREQUENCIES_MAX).map(|n| format!("term{n:03}")).collect();
    let view = view(&store, &Viewer::anyone()).await;
    let found = view.frequencies(&long.join(" ")).await.unwrap();
    assert!(found.by_term.keys().eq(&long[..FREQUENCIES_MAX]), "the first that appear");
    assert_eq!(
        view.frequencies("").await.unwrap(),
        Frequencies { texts: 3, by_term: BTreeMap::new() }
    );
}
