//! K: an agent over a person's files and chat threads.

use haversack::recipes::prime::{PrimeAnswer, PrimeRequest, cite};
use haversack_core::item::Kind;
use haversack_core::ledger::Outcome;
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::{Score, Tokens};
use haversack_store::store::item::EventKind;
use haversack_store::store::viewer::Viewer;

use crate::support::{
    Fixture, empty_workspace, id, item, now, pack, refusal, sample_workspace, user_request,
};
use serde_json::json;

const PRICE: &str = "What must Nightjar cost per kilo from January so that we keep our margin, and by \
                     when do we have to announce it to the cafés?";

fn price() -> haversack::Request {
    let mut request = user_request("prime", PRICE, "mara");
    request.set_subject("thread", Some(id("t-price")));
    request
}

async fn ask(fixture: &Fixture, request: haversack::Request) -> PrimeAnswer {
    PrimeAnswer::from_assembled(&*pack(fixture, request).await, false)
}

#[tokio::test]
async fn the_result_contains_the_query_analysis_k1() {
    let query =
        "What did we write in \"terms of sale\" last week? See customers/terms-of-sale.md @prices";
    let answer = ask(&sample_workspace("prime"), user_request("prime", query, "mara")).await;
    let said = &answer.assembly.query;
    assert_eq!(said.phrases, ["terms of sale"]);
    assert_eq!(said.paths, ["customers/terms-of-sale.md"]);
    assert_eq!(said.references, ["prices"]);
    assert_eq!(said.times[0].text, "last week");
    assert!(
        said.keywords.contains(&"write".to_owned()) && !said.keywords.contains(&"what".to_owned())
    );
}

#[tokio::test]
async fn references_search_history_and_recent_files_k2() {
    let answer = ask(&sample_workspace("prime"), price()).await;
    let stats = answer.data.stats;
    assert!(
        stats.explicit_count > 0 && stats.search_count > 0 && stats.history_count > 0,
        "{stats:?}"
    );
    let by = |name: &str| {
        answer.data.items.iter().any(|item| item.metadata.found_by.iter().any(|by| by == name))
    };
    assert!(by("references") && by("text"), "{:?}", answer.data.items);
    let mut long = price();
    long.budget = Some(haversack_core::units::Tokens::new(20_000));
    let long = pack(&sample_workspace("prime"), long).await;
    let found = |name: &str| {
        long.pack.ledger.iter().any(|e| e.found.iter().any(|found| &*found.collector == name))
    };
    for collector in ["references", "text", "semantic", "history", "recent"] {
        assert!(found(collector), "{collector}");
    }
}

#[tokio::test]
async fn three_searches_are_fused_and_excerpts_mark_hits_k3() {
    let answer =
        ask(&sample_workspace("prime"), user_request("prime", "water recipe for cupping", "mara"))
            .await;
    let excerpt = answer.data.items.iter().find_map(|item| item.excerpt.clone()).unwrap();
    assert!(excerpt.contains("<<<") && excerpt.contains(">>>"), "{excerpt}");
    let mut ids: Vec<_> = answer.data.citations.iter().map(|citation| &citation.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), answer.data.citations.len(), "each once (K7)");
    let typo =
        ask(&sample_workspace("prime"), user_request("prime", "terms-of-slae", "mara")).await;
    assert!(
        typo.data.items.iter().any(|item| item.source.contains("terms-of-sale")),
        "{:?}",
        typo.data.items
    );
}

#[tokio::test]
async fn the_score_has_the_documented_parts_k4() {
    let assembled = pack(&sample_workspace("prime"), price()).await;
    let weights = [
        ("text_similarity", 0.35),
        ("keyword_match", 0.25),
        ("recency", 0.15),
        ("source_priority", 0.15),
        ("usage", 0.10),
    ];
    for entry in &assembled.pack.ledger {
        let parts: Vec<_> =
            entry.parts.iter().map(|part| (part.component.name(), part.weight)).collect();
        assert_eq!(parts, weights);
        let sum: f64 = entry.parts.iter().map(|part| part.value.get() * part.weight).sum();
        assert!((sum - entry.score.get()).abs() < 1e-9);
    }
    // No keywords: that part is nothing, never NaN.
    let none = pack(&sample_workspace("prime"), user_request("prime", "the of and", "mara")).await;
    assert!(none.pack.ledger.iter().all(|entry| entry.score.get().is_finite()));
}

#[tokio::test]
async fn references_score_highest_when_equal_k4() {
    let fixture = empty_workspace();
    fixture
        .put(vec![
            item("t", "thread", "", json!({ "summary": "talk" })),
            item("one", "file", "the price of green coffee it", json!({})),
            item("two", "file", "green coffee, the price of it", json!({})),
            item("ref", "reference", "", json!({ "targetId": "two", "threadId": "t" })),
        ])
        .await
        .unwrap();
    let mut request = user_request("prime", "price of green coffee", "mara");
    request.set_subject("thread", Some(id("t")));
    let answer = ask(&fixture, request).await;
    let best = answer.data.items.iter().max_by(|a, b| a.relevance.total_cmp(&b.relevance)).unwrap();
    assert_eq!((best.id.as_str(), best.item_type.as_str()), ("two", "reference"));
}

#[tokio::test]
async fn the_budget_holds_and_the_pack_is_never_empty_k5() {
    let fixture = sample_workspace("prime");
    for budget in [600, 900, 1_800, 4_000] {
        let answer = ask(&fixture, price().within(budget)).await;
        let counted = Encoding::O200k.count(&answer.context).get();
        assert_eq!(counted, answer.data.total_tokens);
        assert!(counted <= budget - 500, "{counted} of {budget}");
        if budget >= 900 {
            assert!(!answer.data.items.is_empty(), "{budget}");
        }
    }
    // Even the best is too big: it is cut to fit.
    let lone = empty_workspace();
    let text = "The price of green coffee went up again. ".repeat(400);
    lone.put(vec![item("big", "file", &text, json!({}))]).await.unwrap();
    let answer =
        ask(&lone, user_request("prime", "price of green coffee", "mara").within(700)).await;
    assert!(!answer.data.items.is_empty());
}

#[tokio::test]
async fn citations_are_stable_and_marked_when_used_k7() {
    let fixture = sample_workspace("prime");
    let assembled = pack(&fixture, price()).await;
    let first = assembled.pack.citations[0].id.clone();
    assert!(assembled.text().contains(&format!("[{first}]")));
    let cited = cite(&assembled, &format!("It must cost 22.90 [{first}]."));
    let used: Vec<_> =
        cited.citations.iter().filter(|citation| citation.used_in_response).collect();
    assert_eq!(used.len(), 1);
    assert!(cited.sources.contains(&first));
    assert_eq!(cite(&assembled, "No source.").sources, "");
    let again = pack(&fixture, price()).await;
    assert_eq!(again.pack.citations, assembled.pack.citations);
}

#[tokio::test]
async fn the_answer_has_the_documented_form_and_feedback_counts_k6_k8() {
    let fixture = sample_workspace("prime");
    let assembled = pack(&fixture, price()).await;
    let value = haversack::recipes::result_json(&assembled, false);
    for field in ["tokenUsage", "sourceCount", "citationCount"] {
        assert!(value["meta"][field].is_u64(), "{field}");
    }
    for field in ["id", "type", "content", "source", "relevance", "tokens", "metadata"] {
        assert!(value["data"]["items"][0].get(field).is_some(), "{field}");
    }
    for field in ["explicitCount", "searchCount", "historyCount", "excludedCount"] {
        assert!(value["data"]["stats"][field].is_u64(), "{field}");
    }
    let score = |assembled: &haversack::Assembled, item: &str| {
        let entry = assembled.pack.ledger.iter().find(|entry| entry.id.item.as_str() == item);
        entry.unwrap().score
    };
    let item = assembled.pack.citations[0].candidate.item.clone();
    let mara = Viewer::user("mara").unwrap();
    for _ in 0..5 {
        fixture.feedback(&mara, "mara", &item, true).await.unwrap();
    }
    let mut later = price();
    later.now = Some(haversack_core::units::Timestamp::from_millis(now().as_millis() + 1_000));
    let after = pack(&fixture, later).await;
    assert!(score(&after, item.as_str()) > score(&assembled, item.as_str()));
    let missing = fixture.feedback(&mara, "mara", &id("absent"), true).await;
    assert!(refusal(missing).contains("contextItemId"));
}

#[tokio::test]
async fn packs_are_cached_by_everything_that_decides_them_k9() {
    let fixture = sample_workspace("prime");
    let first = pack(&fixture, price()).await;
    let again = pack(&fixture, price()).await;
    assert!(std::sync::Arc::ptr_eq(&first, &again), "the same question is answered again");
    let mut other = price();
    other.query = "Where is the key to the roastery?".to_owned();
    assert_ne!(pack(&fixture, other).await.text(), first.text(), "not by thread alone");
    let mut jonas = user_request("prime", PRICE, "jonas");
    jonas.subjects.clear();
    assert!(!std::sync::Arc::ptr_eq(&pack(&fixture, jonas).await, &first));
    let changes: [fn(&mut haversack::Request); 20] = [
        |it| it.budget = Some(Tokens::new(3_999)),
        |it| it.request_type = Some("chat".to_owned()),
        |it| it.intent = Some("sell".to_owned()),
        |it| it.metadata = true,
        |it| it.limit = Some(7),
        |it| it.depth = Some(3),
        |it| it.degrade = Some(false),
        |it| it.keep = false,
        |it| it.facts_at = Some(now()),
        |it| it.time = (None, Some(now())),
        |it| it.confidence_least = Some(Score::HALF),
        |it| it.include = vec![id("f-cost-model")],
        |it| it.exclude = vec![id("f-cost-model")],
        |it| it.prioritize = vec![Kind::new("file").unwrap()],
        |it| it.fields = vec![("path".to_owned(), vec![json!("x")])],
        |it| it.model = Some("gpt-4o".to_owned()),
        |it| it.caps.extend([("context".to_owned(), Tokens::new(500))]),
        |it| it.reserves.extend([("system_prompt".to_owned(), Tokens::new(1))]),
        |it| it.priorities.extend([("context".to_owned(), 2.0)]),
        |it| it.situation.extend([("place".to_owned(), json!("roastery"))]),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = price();
        change(&mut other);
        let other = pack(&fixture, other).await;
        assert!(!std::sync::Arc::ptr_eq(&other, &first), "change {number} decides the answer");
    }
    fixture.invalidate_cache("t-price");
    let third = pack(&fixture, price()).await;
    assert!(!std::sync::Arc::ptr_eq(&first, &third), "forgotten by pattern");
    fixture.put(vec![item("new", "file", "Nightjar margin", json!({}))]).await.unwrap();
    let fourth = pack(&fixture, price()).await;
    assert!(!std::sync::Arc::ptr_eq(&third, &fourth), "dropped by revision");
}

#[tokio::test]
async fn uses_are_recorded_k10() {
    let fixture = sample_workspace("prime");
    let assembled = pack(&fixture, price()).await;
    fixture.flush().await;
    let mara = Viewer::user("mara").unwrap();
    let snapshot = fixture.store().snapshot(&mara).await.unwrap();
    let items = vec![assembled.pack.citations[0].candidate.item.clone()];
    let usage = snapshot.usage(&items, Some("mara"), Some(now())).await.unwrap();
    assert!(usage.iter().any(|usage| usage.event_kind == EventKind::Used && usage.count > 0));
    // Being used does not raise the score.
    let again = PrimeRequest::new("t-price", PRICE).to_request().unwrap();
    drop(again);
}

#[tokio::test]
async fn the_result_reports_the_time_of_each_stage_k11() {
    let answer = ask(&sample_workspace("prime"), price()).await;
    for step in ["analyse", "collect", "measure", "rank", "pack", "total"] {
        assert!(answer.assembly.timings_ms.contains_key(step), "{step}");
    }
}

#[tokio::test]
async fn private_items_stay_private_x3() {
    let fixture = sample_workspace("prime");
    for (user, forbidden) in [("mara", "thoughts-on-my-share"), ("jonas", "price-ideas")] {
        let mut request = user_request("prime", PRICE, user);
        request.budget = Some(haversack_core::units::Tokens::new(20_000));
        let assembled = pack(&fixture, request).await;
        let value = haversack::recipes::result_json(&assembled, true).to_string();
        assert!(!value.contains(forbidden), "{user} sees {forbidden}");
    }
}

#[tokio::test]
async fn duplicates_are_left_out_with_a_reason() {
    let assembled = pack(
        &sample_workspace("prime"),
        user_request("prime", "What is the water recipe for cupping?", "mara"),
    )
    .await;
    let repeats = assembled.pack.ledger.iter().any(|entry| {
        matches!(&entry.outcome, Outcome::Out(haversack_core::ledger::Reason::Repeats { .. }))
    });
    assert!(
        repeats,
        "{:?}",
        assembled.pack.ledger.iter().map(|e| e.id.to_string()).collect::<Vec<_>>()
    );
}
