//! P: an application that was written against the proposal writer's document, pointed at the server:
//! its requests, the fields that it reads, and what it is told when it is wrong.

use serde_json::{Value, json};

use crate::support::Running;

const ITEMS: &str = "/v1/workspaces/sales/items";
const CONTEXT: &str = "/v1/workspaces/sales/context/proposal";

fn profile() -> Value {
    json!({ "id": "company", "kind": "company_profile", "fields": {
        "summary": "Makes pumps for small harbours.", "companyOverview": "Forty people in Hull.",
        "valueProposition": "Dry quays.", "targetCustomers": "Harbour boards",
        "keyDifferentiators": ["One crew"], "industry": "Pumps", "isVerified": true } })
}

async fn put(running: &Running, item: Value) -> Value {
    running.post(ITEMS, &json!([item])).await.json()
}

/// The document's own call: positional ids, and options in an object.
fn call(opportunity: &str, options: &Value) -> Value {
    json!({ "opportunityId": opportunity, "organizationId": "5f0c9a52", "userId": "ana",
        "userPrompt": "Write the executive summary", "options": options })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_document_is_there_even_when_empty_p11() {
    let running = Running::start().await;
    running.post("/v1/workspaces", &json!({ "name": "sales" })).await;
    let deal = json!({ "id": "deal", "kind": "opportunity", "fields": { "name": "Quay four" } });
    put(&running, deal).await;
    let empty = running.post(CONTEXT, &call("deal", &json!({}))).await;
    assert_eq!(empty.status, 200, "{}", empty.text);
    let empty = empty.json();
    for field in ["companyProfile", "brandContext"] {
        assert_eq!(empty.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(empty["dealContext"], "");
    for field in ["products", "competitive", "playbooks", "warnings"] {
        assert_eq!(empty[field], json!([]), "{field}");
    }
    let status = json!({ "totalTokens": empty["budgetStatus"]["totalTokens"], "budgetLimit": 32_000,
        "isOverBudget": false, "truncatedCategories": [], "truncationDetails": [] });
    assert_eq!(empty["budgetStatus"], status);
    let metrics = json!({ "dealContextItems": 0, "productsRetrieved": 0, "battlecardsRetrieved": 0,
        "playbooksRetrieved": 0 });
    assert_eq!(empty["retrievalMetrics"], metrics);
    assert_eq!(put(&running, profile()).await["stored"], 1);
    let brand = json!({ "id": "brand", "kind": "brand_settings", "fields": {
        "tone": "friendly", "formality": "casual", "keyMessages": ["Dry feet"],
        "contentStyle": "benefit_focused", "competitivePositioning": "value" } });
    assert_eq!(put(&running, brand.clone()).await["stored"], 1);
    // The document's own test: very little room, and both are whole.
    let small =
        running.post(CONTEXT, &call("deal", &json!({ "targetBudget": 1_000 }))).await.json();
    for (field, item) in [("companyProfile", profile()), ("brandContext", brand)] {
        for (name, value) in item["fields"].as_object().unwrap() {
            assert_eq!(&small[field][name], value, "{field}.{name}");
        }
    }
    assert_eq!(small["budgetStatus"]["budgetLimit"], 1_000);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_ids_and_fields_are_reported_over_http_p5_p6() {
    let running = Running::start().await;
    running.post("/v1/workspaces", &json!({ "name": "sales" })).await;
    let refused = |item: Value, says: &'static str| {
        let running = &running;
        async move {
            let reply = running.post(ITEMS, &json!([item])).await;
            assert!((400..500).contains(&reply.status), "{}", reply.text);
            assert!(reply.text.contains(says), "{says}: {}", reply.text);
        }
    };
    let misspelt =
        json!({ "id": "c", "kind": "company_profile", "fields": { "sumary": "Pumps." } });
    refused(misspelt, "company_profile").await;
    let brand = json!({ "id": "b", "kind": "brand_settings", "fields": { "tone": "loud" } });
    refused(brand, "consultative").await;
    assert_eq!(put(&running, profile()).await["stored"], 1);
    let mut second = profile();
    second["id"] = json!("other");
    refused(second, "company").await;
    let mut half = profile();
    half["fields"]["industri"] =
        half["fields"].as_object_mut().unwrap().shift_remove("industry").unwrap();
    let warned = put(&running, half).await;
    assert!(warned["warnings"][0].as_str().unwrap().contains("industry"), "{warned}");
    let mut large = profile();
    large["fields"]["companyOverview"] = json!("one more word about us ".repeat(400));
    let warned = put(&running, large).await;
    assert!(warned["warnings"].to_string().contains("1000"), "{warned}");
    let product = json!({ "id": "p", "kind": "product", "fields": { "name": "Pump" } });
    put(&running, product).await;
    let wrong = running.post(CONTEXT, &call("p", &json!({}))).await;
    assert_eq!((wrong.status, &wrong.json()["field"]), (400, &json!("opportunityId")));
    assert!(wrong.text.contains("is a product, not an opportunity"), "{}", wrong.text);
    running.stop().await;
}

/// X1: the least budget that a refusal names works, over HTTP and MCP alike.
#[tokio::test(flavor = "multi_thread")]
async fn the_smallest_budget_in_a_refusal_works_x1() {
    let running = Running::start().await;
    running.sample("memory");
    let path = "/v1/workspaces/memory/context/everything";
    let small = running.post(path, &json!({ "query": "Anna", "tokenBudget": 5 })).await;
    assert_eq!((small.status, small.code().as_str()), (422, "budget_too_small"), "{}", small.text);
    let least = small.json()["least"].as_u64().unwrap();
    let enough = running.post(path, &json!({ "query": "Anna", "tokenBudget": least })).await.json();
    assert!(enough["tokenCount"].as_u64().unwrap() <= least, "{enough}");
    assert!(!enough["citations"].as_array().unwrap().is_empty());
    let frontier = "/v1/workspaces/memory/frontier/everything";
    let body = json!({ "request": { "query": "Anna" }, "budgets": [1, 2] });
    let refused = running.post(frontier, &body).await;
    assert_eq!((refused.status, refused.json()["least"].as_u64()), (422, Some(least)));
    for budget in [json!(0), json!(-1), json!(10_000_001)] {
        let body = json!({ "query": "Anna", "tokenBudget": budget });
        let none = running.post(path, &body).await;
        assert_eq!((none.status, &none.json()["field"]), (400, &json!("tokenBudget")));
        assert!(none.text.contains("from 1 to 10000000"), "{}", none.text);
    }
    running.stop().await;
}
