//! Collectors by time.

use serde_json::json;

use super::*;

fn by(user: &str, request: Request) -> Request {
    Request { user: Some(user.to_owned()), ..request }
}

#[tokio::test]
async fn recently_edited_and_viewed_items_come_latest_first_w5() {
    let mut changes = put(["a", "b", "c", "d", "e"].map(|name| item(name, "text", name)).to_vec());
    changes.extend(put(vec![Item { active: false, ..item("old", "text", "old") }]));
    changes.extend([
        event("ada", EventKind::Edited, "a", ago(3)),
        event("ada", EventKind::Edited, "b", ago(1)),
        event("ada", EventKind::Edited, "old", ago(1)),
        event("ada", EventKind::Edited, "c", ago(73)),
        event("ada", EventKind::Viewed, "b", ago(2)),
        event("ada", EventKind::Viewed, "d", ago(4)),
        event("bob", EventKind::Viewed, "e", ago(1)),
        event("ada", EventKind::Viewed, "e", ago(-1)),
    ]);
    let store = CollectorStore::with(changes).await;
    let expected = "
        b 0.600
        a 0.580
        d 0.480";
    store.check(&spec("activity", &[]), by("ada", ask("")), expected).await;
    let collected = store.collect(&spec("activity", &[]), by("ada", ask(""))).await;
    assert_eq!(collected.candidates[0].moment, Some(ago(1)), "an edit is a change");
    store.check_ids(&spec("activity", &[]), ask(""), &[]).await;
    let longer = with_settings(spec("activity", &[]), &[("hours", Setting::Count(100))]);
    store.check_ids(&longer, by("ada", ask("")), &["b", "a", "c", "d"]).await;
    // A time range applies to the event, not to the item.
    let in_time = Request { time: (Some(ago(3)), Some(ago(1))), ..by("ada", ask("")) };
    store.check_ids(&spec("activity", &[]), in_time, &["a", "b"]).await;
}

#[tokio::test]
async fn files_that_were_opened_or_given_come_latest_first_k2() {
    let long = "A sentence of a long file. ".repeat(400);
    let mut changes = put(vec![
        item("f1", "file", "short"),
        item("f2", "file", &long),
        item("f3", "file", "old"),
        item("m", "message", "hello"),
    ]);
    changes.extend([
        event("ada", EventKind::Viewed, "f1", ago(5)),
        event("ada", EventKind::Used, "f1", ago(1)),
        event("ada", EventKind::Used, "f2", ago(2)),
        event("ada", EventKind::Edited, "f3", ago(2)),
        event("ada", EventKind::Viewed, "m", ago(2)),
    ]);
    let store = CollectorStore::with(changes).await;
    let request = by("ada", ask(""));
    store.check(&spec("recent", &["file"]), request.clone(), "f1 1.000\nf2#0 0.800").await;
    let collected = store.collect(&spec("recent", &["file"]), request).await;
    let priorities = candidate_lines(&collected, &[Component::SourcePriority]);
    assert_eq!(priorities, "f1 0.700\nf2#0 0.600", "K4");
    assert!(collected.candidates[1].text.len() < 2_000, "the beginning of a long file");
}

#[tokio::test]
async fn there_is_one_profile_and_it_is_the_newest_p5() {
    let profile = |name: &str, hours, active| Item {
        updated: Some(ago(hours)),
        active,
        ..item_with_fields(name, "company_profile", json!({"summary": name}))
    };
    let mut items = vec![item_with_fields("brand", "brand_settings", json!({"tone": "friendly"}))];
    items.push(profile("now", 2, true));
    let store = CollectorStore::with(put(items)).await;
    let both = spec("singleton", &["company_profile", "brand_settings"]);
    store.check(&both, ask(""), "now 1.000\nbrand 1.000").await;
    let store = CollectorStore::with(put(vec![profile("gone", 1, false)])).await;
    store.check_ids(&both, ask(""), &[]).await;
}

#[tokio::test]
async fn items_of_a_deal_come_newest_first_by_creation_p7() {
    let note = |name: &str, hours| Item {
        created: Some(ago(hours)),
        updated: None,
        ..item_with_fields(name, "deal_context_item", json!({"rawContent": name}))
    };
    let naming = |name: &str, hours, deal: &str| {
        let mut item = note(name, hours);
        item.fields.insert("opportunityId".to_owned(), deal.into());
        item
    };
    let store = CollectorStore::with(put(vec![
        with_title("Deal", item("deal", "opportunity", "")),
        with_title("Other", item("other", "opportunity", "")),
        under("deal", 0, note("mail", 30)),
        under("deal", 0, item("attachment", "file", "a file")),
        naming("call", 10, "deal"),
        naming("meeting", 20, "deal"),
        naming("foreign", 1, "other"),
    ]))
    .await;
    let of_deal = ask("").about("opportunity", id("deal"));
    let newest = spec("newest", &["deal_context_item"]);
    store.check(&newest, of_deal.clone(), "call 1.000\nmeeting 0.995\nmail 0.990").await;
    store.check_ids(&newest, ask(""), &[]).await;
    let everywhere = with_settings(newest.clone(), &[("of", Setting::Text("workspace".into()))]);
    store.check_ids(&everywhere, ask(""), &["foreign", "call", "meeting", "mail"]).await;
    let two = with_settings(newest.clone(), &[("limit", Setting::Count(2))]);
    store.check_ids(&two, of_deal.clone(), &["call", "meeting"]).await;
    let time = (Some(ago(25)), Some(ago(15)));
    store.check_ids(&newest, Request { time, ..of_deal }, &["meeting"]).await;
}
