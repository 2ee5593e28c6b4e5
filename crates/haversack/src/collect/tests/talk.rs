//! What was said, and the situation.

use serde_json::json;

use super::*;
use crate::request::Turn;

fn message(name: &str, role: &str, content: &str, hours: i64) -> Item {
    let fields = json!({"role": role, "content": content, "threadId": "thread"});
    Item { created: Some(ago(hours)), updated: None, ..fielded(name, "message", fields) }
}

fn turn(role: &str, content: &str) -> Turn {
    Turn { role: role.to_owned(), content: content.to_owned(), at: None }
}

#[tokio::test]
async fn the_last_turns_of_a_thread_and_a_conversation_come_latest_first_k2_w9() {
    let mut items = vec![titled("Talk", item("thread", "thread", ""))];
    items.push(message("m1", "user", "Where is the plan?", 9));
    items.push(message("m3", "user", "Thanks!", 7));
    items.push(Item { fields: Map::new(), ..message("m2", "", "", 8) });
    items[3].parent = Some(id("thread"));
    items[3].body = "In the drawer.".to_owned();
    items.push(fielded("other", "message", json!({"content": "Elsewhere", "threadId": "x"})));
    let place = Place::with(put(items)).await;
    let request = ask("").about("thread", id("thread"));
    let limit = told(spec("history", &[]), &[("limit", Setting::Count(4))]);
    place.check(&limit, request.clone(), "m3 1.000\nm2 0.750\nm1 0.500").await;
    let history = vec![
        turn("user", "Thanks!"),
        turn("assistant", "You are welcome."),
        turn("user", " "),
        turn("user", "And the map?"),
    ];
    let request = Request { history, ..request };
    let collected = place.collect(&limit, request).await;
    let texts: Vec<&str> = collected.candidates.iter().map(|c| &*c.text).collect();
    assert_eq!(shown(&collected, &[]), "turn:4\nturn:2\nm3\nm2");
    assert_eq!(texts, ["And the map?", "You are welcome.", "Thanks!", "In the drawer."]);
    let speaker = |at: usize| collected.candidates[at].place.speaker.as_deref();
    assert_eq!([speaker(0), speaker(1), speaker(3)], [Some("user"), Some("assistant"), None]);
    let moments: Vec<_> = collected.candidates.iter().map(|c| c.moment).collect();
    assert!(moments.is_sorted_by(|later, earlier| later > earlier), "{moments:?}");
}

#[tokio::test]
async fn a_situation_is_told_in_lines_s6() {
    let place = Place::with(Vec::new()).await;
    let Value::Object(situation) =
        json!({"tool": "deploy", "attempt": 2, "targets": ["eu", "us"], "nothing": null})
    else {
        unreachable!()
    };
    let request = Request { situation, intent: Some("ship it".to_owned()), ..ask("") };
    let collected = place.collect(&spec("situation", &[]), request).await;
    assert_eq!(shown(&collected, &[]), "situation");
    let expected = "Intent: ship it\ntool: deploy\nattempt: 2\ntargets: [\"eu\",\"us\"]";
    assert_eq!(&*collected.candidates[0].text, expected);
    place.check_ids(&spec("situation", &[]), ask(""), &[]).await;
}
