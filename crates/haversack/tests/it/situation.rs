//! S: contexts, inheritance and rules.

use haversack::NoticeCode;
use haversack::recipes::situation::{SituationContext, SituationRequest};
use serde_json::{Map, Value, json};

use crate::support::{
    Fixture, empty_workspace, id, item, pack, packed_ids, refusal, sample_workspace,
};

fn facts(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn refunds() -> SituationRequest {
    let situation = json!({
        "environment": "production", "tool": "run_sql", "change_rows": 1823,
        "task": "Set refunds of citizens that are in no bank file back to approved",
    });
    SituationRequest::new("task/refund-backfill", facts(&situation))
}

async fn ask(
    fixture: &Fixture,
    request: &SituationRequest,
) -> (std::sync::Arc<haversack::Assembled>, SituationContext) {
    let assembled = pack(fixture, request.to_request().unwrap()).await;
    let context = SituationContext::from_assembled(&assembled, false);
    (assembled, context)
}

#[tokio::test]
async fn the_chain_is_inherited_and_its_rules_judged_s2_s3() {
    let (assembled, context) = ask(&sample_workspace("situation"), &refunds()).await;
    let ids = packed_ids(&assembled, "contexts");
    assert_eq!(ids[0], "task/refund-backfill", "{ids:?}");
    for expected in [
        "project/refunds",
        "team/payments",
        "helpers/plain-language",
        "helpers/production-access",
        "helpers/compliance",
        "helpers/data-protection",
    ] {
        assert!(ids.contains(&expected.to_owned()), "{expected} is missing: {ids:?}");
    }
    assert!(!ids.contains(&"helpers/bulk-change".to_owned()), "1,823 rows are not many");
    let rules = context.rules.as_array().unwrap();
    assert!(
        rules.iter().any(|rule| rule["judge"] == json!("always") && rule["applies"] == json!(true))
    );
    assert!(
        rules.iter().any(|rule| rule["judge"] == json!("local") && rule["sureness"].is_number())
    );
}

#[tokio::test]
async fn a_missing_injection_is_a_warning_s4() {
    let situation = json!({
        "environment": "production", "tool": "status_page", "severity": "sev1",
        "task": "Card payments fail in all towns since 08:04",
    });
    let (assembled, _) = ask(
        &sample_workspace("situation"),
        &SituationRequest::new("team/payments", facts(&situation)),
    )
    .await;
    let notice =
        assembled.notices.iter().find(|notice| notice.code == NoticeCode::ContextNotLoaded);
    assert!(notice.unwrap().message.contains("helpers/oncall-rota"));
}

#[tokio::test]
async fn contexts_that_do_not_fit_are_reduced_to_their_essentials_s5() {
    let fixture = sample_workspace("situation");
    let (whole, _) = ask(&fixture, &refunds()).await;
    let mut tight = refunds();
    tight.max_tokens = Some(700);
    let (small, context) = ask(&fixture, &tight).await;
    assert!(context.token_count <= 700);
    assert!(packed_ids(&small, "contexts").len() < packed_ids(&whole, "contexts").len());
    assert_eq!(packed_ids(&small, "contexts")[0], "task/refund-backfill");
    assert!(context.contexts.iter().any(|context| context.shortened), "{:?}", context.contexts);
}

/// The documented case: priority and a token limit.
#[tokio::test]
async fn the_critical_context_wins_within_the_limit_s5() {
    let fixture = empty_workspace();
    let context = |id: &str, goal: &str, parent: Option<&str>| {
        let mut fields = json!({ "metadata": { "name": id, "type": "test" }, "intent_context": { "business_goal": goal } });
        if let Some(parent) = parent {
            fields["parent"] = json!(parent);
        }
        item(id, "context", "", fields)
    };
    let long = "A ".repeat(1_000);
    fixture
        .put(vec![
            context("small", "s", None),
            context("large", &long, Some("small")),
            context("critical", "c", Some("large")),
        ])
        .await
        .unwrap();
    let mut request = SituationRequest::new("critical", Map::new());
    request.max_tokens = Some(300);
    let (assembled, result) = ask(&fixture, &request).await;
    assert_eq!(packed_ids(&assembled, "contexts")[0], "critical");
    assert!(result.token_count <= 300);
}

#[tokio::test]
async fn a_repeated_rule_appears_once_s5() {
    let (assembled, _) = ask(&sample_workspace("situation"), &refunds()).await;
    let text = assembled.text().to_lowercase();
    assert_eq!(text.matches("dry run").count(), 1, "{text}");
}

#[tokio::test]
async fn cycles_and_missing_parents_name_the_chain_s2() {
    let fixture = empty_workspace();
    let context = |id: &str, parent: &str| {
        item(id, "context", "", json!({ "metadata": { "name": id }, "parent": parent }))
    };
    fixture.put(vec![context("a", "b"), context("b", "a"), context("c", "gone")]).await.unwrap();
    let cycle = refusal(fixture.situation(&SituationRequest::new("a", Map::new())).await);
    assert!(cycle.contains("a → b → a"), "{cycle}");
    let missing = refusal(fixture.situation(&SituationRequest::new("c", Map::new())).await);
    assert!(missing.contains("gone"), "{missing}");
    let unknown = refusal(fixture.situation(&SituationRequest::new("nowhere", Map::new())).await);
    assert!(unknown.contains("nowhere"), "{unknown}");
}

#[tokio::test]
async fn the_output_has_all_parts_s6() {
    let fixture = sample_workspace("situation");
    let mut request = refunds().to_request().unwrap();
    request.set_subject("thread", Some(id("thread/pay-2291")));
    request.viewer = haversack_store::store::viewer::Viewer::user("katja").unwrap();
    let assembled = pack(&fixture, request).await;
    let text = assembled.text();
    for part in [
        "## Current Situation",
        "environment: production",
        "## Active Contexts",
        "Business goal",
        "## Relevant History",
        "## Assembly Metadata",
        "2026-11-16T09:00:00Z",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}
