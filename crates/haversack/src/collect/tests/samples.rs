//! Collectors on the sample workspaces, with the questions of their documentation.

use haversack_store::store::viewer::Viewer;
use haversack_store::transfer::import;

use super::*;

/// 2026-11-16T09:00:00Z, the present of all samples.
const PRESENT: i64 = 1_794_819_600_000;

fn sample(text: &str) -> CollectorStore {
    let now = Timestamp::from_millis(PRESENT);
    CollectorStore::new(now, |store| {
        import(store, &mut text.as_bytes(), ("sample", now), &mut |_| {}).unwrap();
    })
}

fn by(user: &str, request: Request) -> Request {
    Request { viewer: Viewer::user(user).unwrap(), user: Some(user.to_owned()), ..request }
}

fn lines(ids: &str) -> Vec<&str> {
    ids.split_whitespace().collect()
}

#[tokio::test]
async fn a_proposal_finds_its_deal_its_competitors_and_its_playbooks_p7_p9_p10() {
    let store = sample(include_str!("../../../../haversack-eval/samples/proposal.jsonl"));
    let query = "Write the executive summary of our proposal for the hospital board";
    let deal = ask(query).about("opportunity", id("opp-harrowmere"));
    let priya = by("priya", deal);
    // One is written "Norfrost", one goes by an alias; the mentioned third is not in use.
    let cards = spec("mentions", &["battlecard"]);
    store.check(&cards, priya.clone(), "card-quillon 1.000\ncard-norrfrost 0.900").await;
    let items =
        with_settings(spec("newest", &["deal_context_item"]), &[("limit", Setting::Count(4))]);
    let expected = lines("har-16 har-14 har-13 har-12");
    store.check_ids(&items, priya.clone(), &expected).await;
    let viewer = Viewer::user("priya").unwrap().in_group("deal-desk").unwrap();
    let expected = lines("har-16 har-15 har-14 har-13");
    store.check_ids(&items, Request { viewer, ..priya.clone() }, &expected).await;
    let fields = Setting::Texts(vec!["vertical".to_owned(), "segment".to_owned()]);
    let playbooks = with_settings(spec("semantic", &["playbook"]), &[("matching", fields)]);
    let expected = lines("play-hospital-groups play-laboratories play-paper-logs");
    store.check_ids(&playbooks, priya.clone(), &expected).await;
    let products = store.collect(&spec("semantic", &["product"]), priya).await.candidates;
    assert_eq!(products.len(), 7, "all that are in use");
    assert!(products.iter().all(|product| product.essential.is_some()), "P8");
}

#[tokio::test]
async fn a_thread_finds_its_references_and_files_k2_k3() {
    let store = sample(include_str!("../../../../haversack-eval/samples/prime.jsonl"));
    let query = "What must Nightjar cost per kilo from January so that we keep our margin?";
    let mara = by("mara", ask(query).about("thread", id("t-price")));
    let expected = lines("f-cost-model f-nightjar f-green-2026-11");
    store.check_ids(&spec("references", &[]), mara.clone(), &expected).await;
    let history = store.collect(&spec("history", &[]), mara.clone()).await.candidates;
    assert_eq!((history.len(), history[0].id.to_string()), (12, "t-price-12".to_owned()));
    let expected = lines("f-mombert f-meeting-1109 f-cost-model f-maintenance f-log-w46");
    store.check_ids(&spec("recent", &["file"]), mara.clone(), &expected).await;
    let words = store.collect(&spec("text", &["file"]), mara).await;
    assert_eq!(words.candidates[0].id.to_string(), "f-cost-model#1");
    let query = "What does \"terms of sale\" say? See `customers/terms-of-sale.md` and @nightjar";
    let expected = lines("f-nightjar f-terms");
    store.check_ids(&spec("references", &["file"]), by("mara", ask(query)), &expected).await;
}

#[tokio::test]
async fn a_task_finds_its_row_its_minutes_and_what_was_learned_w15() {
    let store = sample(include_str!("../../../../haversack-eval/samples/workspace.jsonl"));
    let task = Request { focus: Some(id("task-periodicals")), ..ask("Break this down") };
    let task = by("mara", task);
    let expected = "
        row-periodicals 0.750
        task-children 0.700
        m1109-catalogue 0.650
        row-nonfiction 0.600
        row-children 0.600
        task-freeze 0.560
        per-note-sources 0.520
        cat-lessons 0.520";
    store.check(&spec("relations", &[]), task.clone(), expected).await;
    let few = [("siblings", Setting::Count(0)), ("ancestors", Setting::Count(1))];
    let expected = lines("task-periodicals p-catalogue per-note-sources per-note-people");
    store.check_ids(&with_settings(spec("focus", &[]), &few), task, &expected).await;
    let page = by("mara", Request { page: Some(id("p-opening")), ..ask("Summarise this page") });
    let blocks = store.collect(&spec("focus", &[]), page).await.candidates;
    assert_eq!(blocks.len(), 17, "the page and all its blocks");
}
