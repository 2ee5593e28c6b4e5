//! The collectors `follow` and `beside`.

use haversack_core::units::Score;
use haversack_store::store::viewer::Viewer;

use super::*;

fn request() -> Request {
    Request { viewer: Viewer::user("bob").unwrap(), ..ask("harbour") }
}

/// Returns search results with these scores.
async fn found_with_scores(store: &CollectorStore, found: &[(&str, f64)]) -> Vec<Candidate> {
    let hits = store.collect(&spec("text", &[]), request()).await.candidates;
    let find = |(name, score): &(&str, f64)| {
        let mut hit = hits.iter().find(|hit| hit.id.item == id(name)).unwrap().clone();
        hit.signals.set(Component::Fusion, Score::unit(*score));
        hit
    };
    found.iter().map(find).collect()
}

#[tokio::test]
async fn items_named_by_the_best_candidates_are_found_by_title() {
    let mut items = vec![
        with_title(
            "Teutberga",
            item("wife", "note", "Wife of Lothair II and sister of Hucbert, at the harbour."),
        ),
        with_title(
            "Lothair II (king)",
            item("king", "note", "Son of Lothair I and Ermengarde of Tours."),
        ),
        with_title("Hucbert", with_reader("eve", item("hidden", "note", "An abbot."))),
        with_title("Ermengarde of Tours", item("mother", "note", "She died in 851.")),
        with_title("Lothair II", item("kind", "file", "Another kind.")),
        item("first", "note", "The harbour: Rain fell on Tours and on Many Places."),
    ];
    for n in 0..9 {
        items.push(with_title("Many Places", item(&format!("many {n}"), "note", "A place.")));
    }
    let store = CollectorStore::with(put(items)).await;
    let wife = found_with_scores(&store, &[("wife", 0.8), ("first", 0.5)]).await;
    let follow = |kinds: &'static [&str], found: Vec<Candidate>| {
        let store = &store;
        async move {
            let collected = store.collect_after(&spec("follow", kinds), request(), &found).await;
            candidate_lines(&collected.unwrap(), &[Component::Mention])
        }
    };
    // A title that nine items share is no name, a title that the viewer cannot read is not found,
    // and a part of a title is no name. The king's text names another item, which the second hop
    // reaches.
    assert_eq!(follow(&["note"], wife.clone()).await, "king 0.800\nmother 0.480");
    assert_eq!(follow(&[], wife.clone()).await, "kind 0.800\nking 0.800\nmother 0.480");
    let later: Vec<Candidate> = wife
        .into_iter()
        .rev()
        .map(|mut find| {
            find.signals.set(Component::Fusion, Score::HALF);
            find
        })
        .collect();
    let fainter = "king 0.450\nmother 0.270";
    assert_eq!(follow(&["note"], later).await, fainter, "names in the second candidate count less");
    assert_eq!(follow(&["note"], Vec::new()).await, "");
}

#[tokio::test]
async fn turns_before_and_after_a_candidate_are_collected() {
    let mut items = vec![item("talk", "conversation", "")];
    for (position, name) in (0..).zip(["hello", "question", "answer", "secret", "bye"]) {
        let turn = under("talk", position, item(name, "message", &format!("harbour: {name}")));
        items.push(if name == "secret" { with_reader("eve", turn) } else { turn });
    }
    items.push(item("alone", "message", "harbour and last"));
    let store = CollectorStore::with(put(items)).await;
    let found =
        found_with_scores(&store, &[("question", 0.9), ("alone", 0.8), ("answer", 0.4)]).await;
    let beside = store.collect_after(&spec("beside", &[]), request(), &found).await.unwrap();
    // An item that the viewer cannot read is skipped, as if it were not there.
    let expected = "
        answer 0.900
        hello 0.900
        bye 0.400
        question 0.400";
    assert_eq!(candidate_lines(&beside, &[Component::Neighbour]), trim_lines(expected));
}
