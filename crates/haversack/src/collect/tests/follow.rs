//! What the first finds lead to.

use haversack_core::units::Score;
use haversack_store::store::viewer::Viewer;

use super::*;

fn asked() -> Request {
    Request { viewer: Viewer::user("bob").unwrap(), ..ask("harbour") }
}

/// What a search finds first, and how well each answers.
async fn finds(place: &Place, found: &[(&str, f64)]) -> Vec<Candidate> {
    let hits = place.collect(&spec("text", &[]), asked()).await.candidates;
    let find = |(name, score): &(&str, f64)| {
        let mut hit = hits.iter().find(|hit| hit.id.item == id(name)).unwrap().clone();
        hit.signals.set(Component::Fusion, Score::unit(*score));
        hit
    };
    found.iter().map(find).collect()
}

#[tokio::test]
async fn whom_the_finds_name_is_found_by_title() {
    let mut items = vec![
        titled(
            "Teutberga",
            item("wife", "note", "Wife of Lothair II and sister of Hucbert, at the harbour."),
        ),
        titled(
            "Lothair II (king)",
            item("king", "note", "Son of Lothair I and Ermengarde of Tours."),
        ),
        titled("Hucbert", only("eve", item("hidden", "note", "An abbot."))),
        titled("Ermengarde of Tours", item("mother", "note", "She died in 851.")),
        titled("Lothair II", item("kind", "file", "Another kind.")),
        item("first", "note", "The harbour: Rain fell on Tours and on Many Places."),
    ];
    for n in 0..9 {
        items.push(titled("Many Places", item(&format!("many {n}"), "note", "A place.")));
    }
    let place = Place::with(put(items)).await;
    let wife = finds(&place, &[("wife", 0.8), ("first", 0.5)]).await;
    let follow = |kinds: &'static [&str], found: Vec<Candidate>| {
        let place = &place;
        async move {
            let collected = place.collect_after(&spec("follow", kinds), asked(), &found).await;
            shown(&collected.unwrap(), &[Component::Mention])
        }
    };
    // A title of nine says too little, one that the asker cannot read nothing at all, and nobody is
    // called by a part of a name. Whom the king names is reached by a second step.
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
    assert_eq!(follow(&["note"], later).await, fainter, "the second find's word counts less");
    assert_eq!(follow(&["note"], Vec::new()).await, "");
}

#[tokio::test]
async fn turns_before_and_after_a_find_come_along() {
    let mut items = vec![item("talk", "conversation", "")];
    for (position, name) in (0..).zip(["hello", "question", "answer", "secret", "bye"]) {
        let turn = under("talk", position, item(name, "message", &format!("harbour: {name}")));
        items.push(if name == "secret" { only("eve", turn) } else { turn });
    }
    items.push(item("alone", "message", "harbour and last"));
    let place = Place::with(put(items)).await;
    let found = finds(&place, &[("question", 0.9), ("alone", 0.8), ("answer", 0.4)]).await;
    let beside = place.collect_after(&spec("beside", &[]), asked(), &found).await.unwrap();
    // What the asker cannot read stands between nobody.
    let expected = "
        answer 0.900
        hello 0.900
        bye 0.400
        question 0.400";
    assert_eq!(shown(&beside, &[Component::Neighbour]), trimmed(expected));
}
