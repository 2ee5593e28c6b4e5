//! W: an assistant inside a workspace of blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack::ErrorCode;
use haversack::recipes::workspace::{
    Payload, WorkspaceContext, WorkspaceRequest, WorkspaceTokenBudget, WorkspaceUser,
    estimate_tokens,
};
use haversack::wire::{WireFocus, WireHints};
use haversack_core::text::tokenizer::Encoding;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::support::{
    Fixture, id, item, ledger_ids, pack, packed_ids, refusal, sample_workspace, user_request,
};

fn budget(figures: &[(&str, u32)]) -> Option<WorkspaceTokenBudget> {
    let figures = figures.iter().map(|(name, tokens)| ((*name).to_owned(), *tokens));
    Some(WorkspaceTokenBudget::Sections(figures.collect::<BTreeMap<_, _>>()))
}

fn mara(query: &str) -> WorkspaceRequest {
    WorkspaceRequest {
        user: Some(WorkspaceUser::Name("mara".into())),
        ..WorkspaceRequest::new(query)
    }
}

async fn ask(
    fixture: &Fixture,
    request: &WorkspaceRequest,
) -> (std::sync::Arc<haversack::Assembled>, WorkspaceContext) {
    let assembled = pack(fixture, request.to_request().unwrap()).await;
    let context = WorkspaceContext::from_assembled(&assembled, false);
    (assembled, context)
}

/// The first documented flow: "Summarize this page".
#[tokio::test]
async fn a_page_is_summarised_from_its_children_w15() {
    let fixture = sample_workspace("workspace");
    let request = WorkspaceRequest {
        focus: Some(WireFocus { page_id: Some("p-opening".into()), ..WireFocus::default() }),
        request_type: Some("assist".into()),
        token_budget: budget(&[
            ("total", 3_000),
            ("focus", 2_500),
            ("semantic", 200),
            ("relations", 200),
            ("activity", 0),
            ("history", 0),
            ("system", 100),
        ]),
        ..mara("Summarise this page")
    };
    let (assembled, context) = ask(&fixture, &request).await;
    let focus = assembled.layer("focus").unwrap();
    let all: u32 = assembled.layers.iter().map(|layer| layer.given.get()).sum();
    assert!(focus.given.get() * 2 > all, "most of it is the page: {} of {all}", focus.given);
    let ids = packed_ids(&assembled, "focus");
    assert_eq!(ids[0], "p-opening");
    assert!(ids.len() > 5, "{ids:?}");
    assert!(packed_ids(&assembled, "activity").is_empty());
    assert!(context.metadata.total_tokens <= 2_900);
}

/// The second documented flow: "What tasks are overdue?".
#[tokio::test]
async fn overdue_tasks_are_found_w15() {
    let fixture = sample_workspace("workspace");
    let request = |user| WorkspaceRequest {
        request_type: Some("chat".into()),
        user: Some(user),
        token_budget: budget(&[
            ("total", 4_000),
            ("focus", 0),
            ("semantic", 2_500),
            ("relations", 500),
            ("activity", 500),
            ("history", 300),
            ("system", 200),
        ]),
        hints: Some(WireHints {
            prioritize_types: vec!["todo".into(), "kanban_card".into()],
            ..WireHints::default()
        }),
        ..WorkspaceRequest::new("What tasks are overdue?")
    };
    let overdue = ["task-access", "task-freeze", "card-rfid-2", "card-fire"];
    let (assembled, context) = ask(&fixture, &request(WorkspaceUser::Name("mara".into()))).await;
    let ids = packed_ids(&assembled, "semantic");
    for task in overdue {
        assert!(ids.contains(&task.to_owned()), "{task} is missing: {ids:?}");
    }
    assert!(!context.serialized.contains("lead-contracts"));
    let helena = WorkspaceUser::Member { id: "helena".into(), groups: vec!["leadership".into()] };
    let (assembled, _) = ask(&fixture, &request(helena)).await;
    assert!(packed_ids(&assembled, "semantic").contains(&"lead-contracts".to_owned()));
}

/// The third documented flow: "Break this task into subtasks".
#[tokio::test]
async fn a_task_is_broken_down_with_similar_ones_w15() {
    let fixture = sample_workspace("workspace");
    let request = WorkspaceRequest {
        focus: Some(WireFocus {
            block_id: Some("task-periodicals".into()),
            ..WireFocus::default()
        }),
        request_type: Some("assist".into()),
        token_budget: budget(&[
            ("total", 2_000),
            ("focus", 1_200),
            ("semantic", 500),
            ("relations", 200),
            ("system", 100),
        ]),
        ..mara("Break this task into subtasks")
    };
    let (assembled, _) = ask(&fixture, &request).await;
    assert_eq!(packed_ids(&assembled, "focus")[0], "task-periodicals");
    let all: Vec<String> = ["focus", "semantic", "relations"]
        .iter()
        .flat_map(|layer| packed_ids(&assembled, layer))
        .collect();
    assert!(all.iter().any(|id| id == "task-children" || id == "task-local"), "{all:?}");
}

#[tokio::test]
async fn the_focus_comes_with_its_surroundings_w2() {
    let fixture = sample_workspace("workspace");
    let mut request = user_request("workspace", "what is this about?", "mara");
    request.focus = Some(id("task-periodicals"));
    let assembled = pack(&fixture, request).await;
    let relevance = |name: &str| {
        let entries = assembled.pack.ledger.iter();
        let mut entries =
            entries.filter(|entry| &*entry.layer == "focus" && entry.id.to_string() == name);
        let parts = &entries.next().unwrap_or_else(|| panic!("{name}")).parts;
        parts.iter().find(|part| part.component.name() == "semantic").unwrap().value.get()
    };
    assert!((relevance("task-periodicals") - 1.0).abs() < 1e-9);
    assert!(ledger_ids(&assembled, "focus").len() > 3);
}

#[tokio::test]
async fn layer_caps_hold_within_the_total_w7() {
    let fixture = sample_workspace("workspace");
    let mut request = user_request("workspace", "how is the move going?", "mara");
    request.focus = Some(id("task-periodicals"));
    let assembled = pack(&fixture, request).await;
    for (layer, cap) in
        [("focus", 1_500), ("semantic", 1_200), ("relations", 800), ("activity", 300)]
    {
        let tokens = assembled.layer(layer).unwrap().tokens.get();
        assert!(tokens <= cap, "{layer}: {tokens}");
    }
    assert!(assembled.pack.tokens.get() <= 3_800);
}

#[tokio::test]
async fn every_field_of_a_request_does_what_it_says_w9() {
    let fixture = sample_workspace("workspace");
    let base = mara("what about the goods lift?");
    let (plain, _) = ask(&fixture, &base).await;
    let found = packed_ids(&plain, "semantic");
    let first = found[0].clone();
    // excludeBlocks
    let hints = WireHints { exclude_blocks: vec![first.clone()], ..WireHints::default() };
    let (without, _) =
        ask(&fixture, &WorkspaceRequest { hints: Some(hints), ..base.clone() }).await;
    assert!(!without.text().contains(&format!("[{first}]")));
    assert!(!packed_ids(&without, "semantic").contains(&first));
    // timeRange
    let hints = WireHints {
        time_range: Some(haversack::wire::WireRange {
            start: Some(json!("2026-11-01")),
            end: None,
        }),
        ..WireHints::default()
    };
    let (recent, _) = ask(&fixture, &WorkspaceRequest { hints: Some(hints), ..base.clone() }).await;
    for ranked in
        &recent.core.layers.iter().find(|(layer, _)| &*layer.name == "semantic").unwrap().1
    {
        assert!(ranked.candidate.moment.unwrap().as_millis() >= 1_793_491_200_000);
    }
    // conversationHistory
    let history = vec![haversack::wire::WireTurn {
        role: "user".into(),
        content: "Ines said that the goods lift is late.".into(),
        timestamp: None,
    }];
    let (told, _) =
        ask(&fixture, &WorkspaceRequest { conversation_history: history, ..base.clone() }).await;
    assert!(told.text().contains("Ines said that the goods lift is late."));
    // type
    let (search, _) =
        ask(&fixture, &WorkspaceRequest { request_type: Some("search".into()), ..base.clone() })
            .await;
    let cap = |assembled: &haversack::Assembled| {
        let layer = assembled.core.layers.iter().find(|(layer, _)| &*layer.name == "semantic");
        layer.unwrap().0.cap.unwrap().get()
    };
    assert!(cap(&search) > cap(&plain));
}

#[tokio::test]
async fn bad_fields_are_named_w9() {
    let fixture = sample_workspace("workspace");
    let read = |value| {
        haversack::recipes::parse_request("workspace", haversack::recipe::Shape::Workspace, value)
    };
    for (value, field) in [
        (json!({ "query": 7 }), "query"),
        (json!({ "query": "x", "type": "dance" }), "type"),
        (json!({ "query": "x", "focus": { "blockId": "" } }), "focus.blockId"),
        (json!({ "query": "x", "focus": { "block": "a" } }), "focus"),
        (
            json!({ "query": "x", "hints": { "timeRange": { "start": "soon" } } }),
            "hints.timeRange.start",
        ),
        (
            json!({ "query": "x", "hints": { "timeRange": { "start": "2026-02-01", "end": "2026-01-01" } } }),
            "hints.timeRange",
        ),
        (json!({ "query": "x", "nonsense": 1 }), "nonsense"),
        (json!({ "query": "x", "user": "" }), "user"),
    ] {
        let message = refusal(read(value));
        assert!(message.contains(field), "{field}: {message}");
    }
    let mut request = user_request("workspace", "x", "mara");
    request.caps.insert("focsu".to_owned(), haversack_core::units::Tokens::new(3));
    assert!(refusal(fixture.pack(request).await).contains("focus"), "the nearest name");
}

#[tokio::test]
async fn a_missing_or_forbidden_focus_is_refused_in_the_same_words_w12() {
    let fixture = sample_workspace("workspace");
    let mut errors = Vec::new();
    for name in ["lead-contracts", "absent"] {
        let mut request = user_request("workspace", "what is this?", "mara");
        request.focus = Some(id(name));
        let error = fixture.pack(request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Validation);
        errors.push(error.to_string().replace(name, "it"));
    }
    assert_eq!(errors[0], errors[1]);
}

#[tokio::test]
async fn the_payload_has_the_documented_form_w10() {
    let fixture = sample_workspace("workspace");
    let request = WorkspaceRequest {
        focus: Some(WireFocus {
            block_id: Some("task-periodicals".into()),
            ..WireFocus::default()
        }),
        ..mara("what has to be done?")
    };
    let (assembled, context) = ask(&fixture, &request).await;
    assert_eq!(context.metadata.focus_block_id.as_deref(), Some("task-periodicals"));
    let blocks: usize = context.sections.iter().map(|section| section.items.len()).sum();
    assert_eq!(context.metadata.blocks_included, blocks);
    assert!(context.metadata.blocks_considered >= context.metadata.blocks_included);
    assert!(context.metadata.collectors_used.contains(&"focus".to_owned()));
    for part in
        ["## Current Context", "### Focused Content", "[todo]", "User Query: what has to be done?"]
    {
        assert!(context.serialized.contains(part), "{part}");
    }
    assert!(context.serialized.contains(" › "), "breadcrumbs");
    let nobody = user_request("workspace", "zzzz qqqq", "stranger");
    let nothing = pack(&fixture, nobody).await;
    assert!(nothing.text().contains("_No relevant content found._"));
    drop(assembled);
}

#[tokio::test]
async fn tokens_are_counted_and_payloads_validated_w11() {
    let fixture = sample_workspace("workspace");
    let request = mara("what about the goods lift?");
    let (_, context) = ask(&fixture, &request).await;
    assert_eq!(estimate_tokens(&context, &Encoding::O200k).get(), context.metadata.total_tokens);
    let general = request.to_request().unwrap();
    let payload = Payload::from(&context);
    let sound =
        fixture.validate(&payload, &general.viewer, Arc::new(Encoding::O200k)).await.unwrap();
    assert!(sound.valid, "{:?}", sound.problems);
    let mut forged = context.clone();
    forged.metadata.total_tokens += 1;
    let again = forged.sections[1].items[0].clone();
    forged.sections[1].items.push(again);
    let (forged, stranger) = (Payload::from(&forged), Viewer::user("stranger").unwrap());
    let problems =
        fixture.validate(&forged, &stranger, Arc::new(Encoding::O200k)).await.unwrap().problems;
    assert!(problems.iter().any(|problem| problem.contains("totalTokens")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("twice")), "{problems:?}");
}

/// W12, W13: items that a user cannot read appear nowhere: not in the text, the result, the ledger or a
/// count. A store with them gives the same pack as one without.
#[tokio::test]
async fn unreadable_items_change_nothing_w12() {
    let fixture = sample_workspace("workspace");
    let queries = ["what about the lift?", "periodicals", "What tasks are overdue?", "contracts"];
    let mut before = Vec::new();
    for query in queries {
        let (assembled, _) = ask(&fixture, &mara(query)).await;
        before.push((assembled.text().to_owned(), format!("{:?}", assembled.pack.ledger)));
    }
    let mut secrets = Vec::new();
    for n in 0..40 {
        let text = format!("Overdue: the lift contracts for the periodicals, number {n}.");
        let mut secret =
            item(&format!("secret-{n}"), "todo", &text, json!({ "dueDate": "2026-11-01" }));
        secret.readers = haversack_store::store::viewer::Readers::Only(
            [haversack_store::store::viewer::Principal::user("boss").unwrap()].into(),
        );
        secrets.push(secret);
    }
    fixture.put(secrets).await.unwrap();
    for (query, (text, ledger)) in queries.into_iter().zip(before) {
        let (assembled, _) = ask(&fixture, &mara(query)).await;
        assert_eq!(assembled.text(), text);
        assert_eq!(format!("{:?}", assembled.pack.ledger), ledger);
    }
}

/// A pasted text is searched, not parsed as a query about fields.
#[tokio::test]
async fn a_long_query_is_not_parsed_for_fields_x10() {
    let fixture = sample_workspace("workspace");
    let question = "What tasks are overdue?";
    let short = pack(&fixture, user_request("workspace", question, "mara")).await;
    assert!(short.analysis.fields.is_some());
    let pasted = format!("{question} {}", "lift ".repeat(400));
    let long = pack(&fixture, user_request("workspace", &pasted, "mara")).await;
    assert!(long.analysis.fields.is_none());
}
