//! The collector `history`.

use serde_json::json;

use super::*;
use crate::request::Turn;

fn message(name: &str, role: &str, content: &str, hours: i64) -> Item {
    let fields = json!({"role": role, "content": content, "threadId": "thread"});
    Item { created: Some(ago(hours)), updated: None, ..item_with_fields(name, "message", fields) }
}

fn turn(role: &str, content: &str) -> Turn {
    Turn { role: role.to_owned(), content: content.to_owned(), at: None }
}

#[tokio::test]
async fn the_last_turns_of_a_thread_and_a_conversation_come_latest_first_k2_w9() {
    let mut items = vec![with_title("Talk", item("thread", "thread", ""))];
    items.push(message("m1", "user", "Where is the plan?", 9));
    items.push(message("m3", "user", "Thanks!", 7));
    items.push(Item { fields: Map::new(), ..message("m2", "", "", 8) });
    items[3].parent = Some(id("thread"));
    items[3].body = "In the drawer.".to_owned();
    items.push(item_with_fields(
        "other",
        "message",
        json!({"content": "Elsewhere", "threadId": "x"}),
    ));
    let store = CollectorStore::with(put(items)).await;
    let request = ask("").about("thread", id("thread"));
    let limit = with_settings(spec("history", &[]), &[("limit", Setting::Count(4))]);
    store.check(&limit, request.clone(), "m3 1.000\nm2 0.750\nm1 0.500").await;
    let history = vec![
        turn("user", "Thanks!"),
        turn("assistant", "You are welcome."),
        turn("user", " "),
        turn("user", "And the map?"),
    ];
    let request = Request { history, ..request };
    let collected = store.collect(&limit, request).await;
    let texts: Vec<&str> = collected.candidates.iter().map(|c| &*c.text).collect();
    assert_eq!(candidate_lines(&collected, &[]), "turn:4\nturn:2\nm3\nm2");
    assert_eq!(texts, ["And the map?", "You are welcome.", "Thanks!", "In the drawer."]);
    let speaker = |at: usize| collected.candidates[at].place.speaker.as_deref();
    assert_eq!([speaker(0), speaker(1), speaker(3)], [Some("user"), Some("assistant"), None]);
    let moments: Vec<_> = collected.candidates.iter().map(|c| c.moment).collect();
    assert!(moments.is_sorted_by(|later, earlier| later > earlier), "{moments:?}");
}
