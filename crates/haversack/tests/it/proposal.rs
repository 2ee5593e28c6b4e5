//! P: a proposal for one opportunity.

use haversack::recipes::proposal::{ProposalContext, ProposalRequest};
use haversack::{ErrorCode, NoticeCode};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::support::{
    Fixture, empty_workspace, id, item, ledger_ids, pack, packed_ids, refusal, sample_workspace,
    user_request,
};

const PROMPT: &str = "Write the executive summary of our proposal for the hospital board";

fn harrowmere() -> haversack::Request {
    let mut request = user_request("proposal", PROMPT, "priya");
    request.set_subject("opportunity", Some(id("opp-harrowmere")));
    request
}

async fn at(
    fixture: &Fixture,
    budget: u32,
) -> (std::sync::Arc<haversack::Assembled>, ProposalContext) {
    let assembled = pack(fixture, harrowmere().within(budget)).await;
    let context = ProposalContext::from_assembled(&assembled, false);
    (assembled, context)
}

#[tokio::test]
async fn layers_go_from_foundation_up_p1() {
    let (assembled, _) = at(&sample_workspace("proposal"), 32_000).await;
    let sections: Vec<&str> = assembled.pack.sections.iter().map(|s| &*s.layer).collect();
    let expected = [
        "companyProfile",
        "brandContext",
        "opportunity",
        "dealContext",
        "products",
        "competitive",
        "playbooks",
        "historicalPatterns",
    ];
    assert_eq!(sections, expected);
}

#[tokio::test]
async fn the_foundation_is_never_cut_at_1000_p2() {
    let fixture = sample_workspace("proposal");
    let (_, whole) = at(&fixture, 32_000).await;
    let (_, small) = at(&fixture, 2_400).await;
    for (before, after) in [
        (&whole.company_profile, &small.company_profile),
        (&whole.brand_context, &small.brand_context),
    ] {
        assert!(before.is_some());
        assert_eq!(before, after);
    }
    let truncated = &small.budget_status.truncated_categories;
    assert!(!truncated.iter().any(|name| name == "companyProfile" || name == "brandContext"));
    // The documented case: a budget of 1,000 in all, the reserves waived.
    let mut request = harrowmere().within(1_000);
    request.reserves = [("system_prompt", 0), ("safety_buffer", 0)]
        .map(|(name, tokens)| (name.to_owned(), haversack_core::units::Tokens::new(tokens)))
        .into();
    let tiny = ProposalContext::from_assembled(&*pack(&fixture, request).await, false);
    assert_eq!(tiny.company_profile, whole.company_profile);
    assert_eq!(tiny.brand_context, whole.brand_context);
}

#[tokio::test]
async fn a_foundation_over_the_budget_is_packed_with_a_notice_p2_x1() {
    let fixture = empty_workspace();
    let words = "who we are and what we do ".repeat(80);
    let company = item("company", "company_profile", "", json!({ "summary": words }));
    let deal = item("deal", "opportunity", "", json!({ "name": "Deal" }));
    fixture.put(vec![company, deal]).await.unwrap();
    let mut request = user_request("proposal", "write", "priya");
    request.set_subject("opportunity", Some(id("deal")));
    for (budget, code, is_over) in
        [(400, NoticeCode::OverBudget, true), (2_400, NoticeCode::ReservesUsed, false)]
    {
        let assembled = pack(&fixture, request.clone().within(budget)).await;
        let context = ProposalContext::from_assembled(&assembled, false);
        assert!(context.budget_status.is_over_budget, "the opportunity did not fit");
        assert_eq!(context.budget_status.total_tokens > budget, is_over);
        assert!(assembled.notices.iter().any(|notice| notice.code == code), "{budget}");
        assert!(context.warnings.iter().any(|warning| warning.code == code.as_str()));
    }
}

#[tokio::test]
async fn what_is_missing_leaves_no_placeholder_p2() {
    let fixture = empty_workspace();
    let deal = item("deal", "opportunity", "", json!({ "name": "Deal" }));
    fixture.put(vec![deal]).await.unwrap();
    let mut request = user_request("proposal", "write", "priya");
    request.set_subject("opportunity", Some(id("deal")));
    let assembled = pack(&fixture, request).await;
    let context = ProposalContext::from_assembled(&assembled, false);
    assert_eq!(context.company_profile, None);
    let headings: Vec<&str> =
        context.context.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## Opportunity"], "{}", context.context);
}

#[tokio::test]
async fn the_budget_holds_and_reserves_come_off_first_p3() {
    let fixture = sample_workspace("proposal");
    for budget in [4_000, 6_000, 12_000, 32_000] {
        let (assembled, context) = at(&fixture, budget).await;
        let counted = Encoding::O200k.count(&context.context).get();
        assert_eq!(counted, context.budget_status.total_tokens);
        assert!(counted <= budget - 2_300, "{counted} of {budget}");
        assert_eq!(assembled.pack.limit.get(), budget - 2_300);
    }
}

#[tokio::test]
async fn a_model_caps_the_target_p3() {
    let fixture = sample_workspace("proposal");
    let mut request = harrowmere().within(500_000);
    request.model = Some("gpt-4o".to_owned());
    let assembled = pack(&fixture, request).await;
    assert!(assembled.core.budget.total().get() < 130_000);
    assert!(assembled.notices.iter().any(|notice| notice.code == NoticeCode::BudgetCapped));
}

#[tokio::test]
async fn playbooks_are_cut_before_the_deal_p4() {
    let (_, context) = at(&sample_workspace("proposal"), 5_000).await;
    let order = &context.budget_status.truncated_categories;
    let place = |name: &str| order.iter().position(|category| category == name);
    assert!(
        place("playbooks") < place("dealContext") || place("dealContext").is_none(),
        "{order:?}"
    );
    // The first pressure falls on what is cut first.
    let fixture = sample_workspace("proposal");
    for budget in (6_000..16_000).rev().step_by(250) {
        let (_, context) = at(&fixture, budget).await;
        let truncated = &context.budget_status.truncated_categories;
        if let Some(first) = truncated.first() {
            assert_eq!(first, "historicalPatterns", "at {budget}");
            return;
        }
    }
    panic!("nothing was ever cut");
}

#[tokio::test]
async fn unknown_brand_values_are_refused_by_name_p6() {
    let brand = item("brand", "brand_settings", "", json!({ "tone": "shouting" }));
    let message = refusal(empty_workspace().put(vec![brand]).await);
    assert!(message.contains("tone") && message.contains("consultative"), "{message}");
}

#[tokio::test]
async fn large_foundations_are_stored_with_a_warning_p5_p6() {
    let text = "one more word about us ".repeat(400);
    let company = item("company", "company_profile", "", json!({ "summary": text }));
    let committed = empty_workspace().put(vec![company]).await.unwrap();
    assert_eq!((committed.stored, committed.warnings.len()), (1, 1));
}

#[tokio::test]
async fn the_deal_is_newest_first_and_loses_its_oldest_p7() {
    let fixture = sample_workspace("proposal");
    let (whole, _) = at(&fixture, 32_000).await;
    let (small, _) = at(&fixture, 6_500).await;
    let (all, kept) = (packed_ids(&whole, "dealContext"), packed_ids(&small, "dealContext"));
    assert!(kept.len() < all.len(), "{kept:?}");
    assert_eq!(kept, all[..kept.len()], "the newest are kept, in the same order");
    assert!(all.iter().all(|id| id.starts_with("har-")), "{all:?}");
}

#[tokio::test]
async fn products_keep_their_core_and_inactive_ones_never_appear_p8() {
    let fixture = sample_workspace("proposal");
    let (_, whole) = at(&fixture, 32_000).await;
    assert!(whole.products.len() <= 10);
    assert!(!whole.context.contains("prod-watch-onsite"));
    let (small, context) = at(&fixture, 6_000).await;
    assert!(!ledger_ids(&small, "products").contains(&"prod-watch-onsite".to_owned()));
    let reduced: Vec<_> = context.products.iter().filter(|p| p["reduced"] == json!(true)).collect();
    assert!(!reduced.is_empty());
    for product in reduced {
        let content = product["content"].as_str().unwrap();
        assert!(content.contains("Name:") && !content.contains("Features:"), "{content}");
    }
}

#[tokio::test]
async fn mentioned_competitors_come_first_p9() {
    let (assembled, context) = at(&sample_workspace("proposal"), 32_000).await;
    let cards = packed_ids(&assembled, "competitive");
    let named = ["card-norrfrost", "card-quillon"];
    assert!(named.iter().all(|card| cards[..2].contains(&(*card).to_owned())), "{cards:?}");
    assert!(
        !ledger_ids(&assembled, "competitive").contains(&"card-dalgard".to_owned()),
        "inactive"
    );
    let mut ids: Vec<_> = context.competitive.iter().map(|card| card["id"].to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), context.competitive.len(), "each once");
}

#[tokio::test]
async fn playbooks_fit_the_vertical_p10() {
    let (assembled, _) = at(&sample_workspace("proposal"), 32_000).await;
    let playbooks = ledger_ids(&assembled, "playbooks");
    assert!(!playbooks.is_empty() && playbooks.len() <= 5);
    let fields = &assembled.fields;
    for playbook in packed_ids(&assembled, "playbooks") {
        let vertical = fields[&id(&playbook)].get("vertical").map(ToString::to_string);
        let fits = vertical.as_deref().is_none_or(|vertical| vertical.contains("healthcare"));
        assert!(fits, "{playbook}: {vertical:?}");
    }
}

#[tokio::test]
async fn the_result_has_the_documented_fields_p11() {
    let value = {
        let (assembled, _) = at(&sample_workspace("proposal"), 6_000).await;
        haversack::recipes::result_json(&assembled, false)
    };
    for field in
        ["companyProfile", "brandContext", "dealContext", "products", "competitive", "playbooks"]
    {
        assert!(value.get(field).is_some(), "{field}");
    }
    let status = &value["budgetStatus"];
    for field in ["totalTokens", "budgetLimit", "isOverBudget", "truncatedCategories"] {
        assert!(status.get(field).is_some(), "{field}");
    }
    let detail = &status["truncationDetails"][0];
    for field in ["category", "originalTokens", "finalTokens", "itemsRemoved"] {
        assert!(detail.get(field).is_some(), "{field}");
    }
    let metrics = &value["retrievalMetrics"];
    assert_eq!(metrics["dealContextItems"], json!(15));
    assert!(metrics["productsRetrieved"].as_u64() <= Some(10));
    assert!(value["assembly"]["receipt"].is_string() && value["context"].is_string());
}

#[tokio::test]
async fn heavy_truncation_is_a_warning_with_suggestions_p12() {
    let (_, context) = at(&sample_workspace("proposal"), 5_000).await;
    let [warning] = &context.warnings[..] else { panic!("{:?}", context.warnings) };
    assert_eq!((warning.notice_type, warning.code), ("warning", "CONTEXT_TRUNCATED"));
    let details = warning.details.as_array().unwrap();
    assert!(
        details
            .iter()
            .any(|detail| detail["finalTokens"].as_u64() < detail["originalTokens"].as_u64())
    );
    let status = serde_json::to_value(&context.budget_status).unwrap();
    assert_eq!(warning.details, status["truncationDetails"]);
    assert!(!warning.suggestions.is_empty());
    let (_, whole) = at(&sample_workspace("proposal"), 32_000).await;
    assert!(whole.warnings.is_empty(), "{:?}", whole.warnings);
}

#[tokio::test]
async fn stage_and_complexity_move_the_budget_p17() {
    let fixture = empty_workspace();
    let deal = |id: &str, complexity: &str| {
        item(id, "opportunity", "", json!({ "name": id, "complexity": complexity }))
    };
    fixture
        .put(vec![deal("low", "low"), deal("high", "high"), deal("mid", "medium")])
        .await
        .unwrap();
    let mut totals = Vec::new();
    for name in ["low", "mid", "high"] {
        let mut request = user_request("proposal", "write", "priya");
        request.set_subject("opportunity", Some(id(name)));
        totals.push(pack(&fixture, request).await.core.budget.total().get());
    }
    assert_eq!(totals, [16_000, 32_000, 48_000]);
}

#[tokio::test]
async fn preferences_move_the_categories_p17() {
    let fixture = sample_workspace("proposal");
    let tokens =
        |assembled: &haversack::Assembled, name: &str| assembled.layer(name).unwrap().given;
    let usual = pack(&fixture, harrowmere().within(5_000)).await;
    let mut request = harrowmere().within(5_000);
    request.priorities.insert("competitive".to_owned(), 4.0);
    let more = pack(&fixture, request).await;
    assert!(tokens(&more, "competitive") > tokens(&usual, "competitive"));
    let mut request = harrowmere().within(5_000);
    request.priorities.insert("competitive".to_owned(), -1.0);
    assert!(refusal(fixture.pack(request).await).contains("priorities.competitive"));
}

#[tokio::test]
async fn patterns_of_won_deals_come_along_p17() {
    let (assembled, _) = at(&sample_workspace("proposal"), 32_000).await;
    let patterns = packed_ids(&assembled, "historicalPatterns");
    assert!(!patterns.is_empty());
    for pattern in patterns {
        assert_eq!(assembled.fields[&id(&pattern)]["outcome"], json!("won"));
    }
}

#[tokio::test]
async fn quality_is_measured_p17() {
    let fixture = sample_workspace("proposal");
    let (whole, _) = at(&fixture, 32_000).await;
    let (small, _) = at(&fixture, 5_000).await;
    assert!(whole.quality().coverage > small.quality().coverage);
    assert!(small.quality().budget_use.get() > 0.9, "{:?}", small.quality());
}

#[tokio::test]
async fn quality_tells_a_real_prompt_from_noise_p17() {
    let fixture = sample_workspace("proposal");
    let mut scores = Vec::new();
    for query in ["zzzz qqqq", "xkcd fnord blarg wibble", PROMPT, "What does the cold room cost?"] {
        let request = haversack::Request { query: query.to_owned(), ..harrowmere() };
        let quality = pack(&fixture, request).await.quality();
        scores.push((quality.relevance.map(|score| score.get()), quality.score.get()));
    }
    let (noise, real) = scores.split_at(2);
    for noise in noise {
        for real in real {
            assert!(noise.0 < real.0 && noise.1 + 0.1 < real.1, "{scores:?}");
        }
    }
}

/// Over four turns the layers do not grow, and no less of the beginning stays than would without.
#[tokio::test]
async fn four_turns_keep_the_beginning_and_their_size_p17() {
    let fixture = sample_workspace("proposal");
    let prompts = [
        PROMPT,
        "Now write the section on prices",
        "Compare us with Norrfrost and with Quillon",
        "Close with what the board must decide, and by when",
    ];
    for budget in [6_000, 8_000, 12_000, 32_000] {
        let mut before: Option<std::sync::Arc<haversack::Assembled>> = None;
        let mut sizes: Vec<Vec<usize>> = Vec::new();
        for prompt in prompts {
            let mut request = harrowmere().within(budget);
            request.query = prompt.to_owned();
            let alone = pack(&fixture, request.clone()).await;
            request.previous = before.as_ref().map(|before| before.receipt());
            let next = pack(&fixture, request).await;
            if let Some(before) = &before {
                let same = |other: &haversack::Assembled| {
                    let pairs = before.text().bytes().zip(other.text().bytes());
                    pairs.take_while(|(a, b)| a == b).count()
                };
                let (with, without) = (same(&next), same(&alone));
                assert!(with >= without, "{prompt:?} at {budget}: {with} < {without}");
            }
            let most = |layer: &haversack::pipeline::LayerReport| {
                layer.items.max(alone.layer(&layer.name).map_or(0, |layer| layer.items))
            };
            sizes.push(next.layers.iter().map(|layer| layer.items).collect());
            let allowed: Vec<usize> = alone.layers.iter().map(most).collect();
            if let [.., last, now] = &sizes[..] {
                for ((last, now), allowed) in last.iter().zip(now).zip(&allowed) {
                    assert!(now <= last.max(allowed), "{prompt:?} at {budget}: {sizes:?}");
                }
            }
            before = Some(next);
        }
    }
}

#[tokio::test]
async fn the_next_turn_keeps_the_beginning_p17() {
    let fixture = sample_workspace("proposal");
    let (first, _) = at(&fixture, 8_000).await;
    let mut request = harrowmere().within(8_000);
    request.query = "Now write the section on prices".to_owned();
    request.previous = Some(first.receipt());
    let second = pack(&fixture, request).await;
    let delta = second.delta.as_ref().unwrap();
    assert_eq!(first.text()[..delta.kept_bytes], second.text()[..delta.kept_bytes]);
    assert!(delta.kept_bytes * 10 > second.text().len() * 6, "{delta:?}");
}

#[tokio::test]
async fn a_viewer_gets_only_readable_items_x3() {
    let fixture = sample_workspace("proposal");
    let (assembled, context) = at(&fixture, 32_000).await;
    assert!(!context.context.contains("har-15"));
    assert!(!ledger_ids(&assembled, "dealContext").contains(&"har-15".to_owned()));
    let mut request = harrowmere();
    request.viewer = Viewer::user("priya").unwrap().in_group("deal-desk").unwrap();
    let desk = pack(&fixture, request).await;
    assert!(packed_ids(&desk, "dealContext").contains(&"har-15".to_owned()));
}

#[tokio::test]
async fn a_missing_or_forbidden_deal_is_refused_in_the_same_words() {
    let fixture = sample_workspace("proposal");
    let mut secret = item("secret", "opportunity", "", json!({ "name": "Secret" }));
    secret.readers = haversack_store::store::viewer::Readers::Only([].into());
    fixture.put(vec![secret]).await.unwrap();
    let mut errors = Vec::new();
    for name in ["secret", "absent"] {
        let mut request = harrowmere();
        request.set_subject("opportunity", Some(id(name)));
        let error = fixture.pack(request).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Validation);
        errors.push(error.to_string().replace(name, "it"));
    }
    assert_eq!(errors[0], errors[1]);
    assert!(refusal(ProposalRequest::default().to_request()).contains("opportunityId"));
}
