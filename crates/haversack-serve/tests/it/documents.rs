//! The OpenAPI document, metrics and health checks.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::Running;

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_is_complete() {
    let running = Running::start().await;
    let served = running.get("/openapi.json").await;
    assert_eq!(&served.json(), haversack_serve::openapi());
    let document = served.json();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let responses = document["components"]["responses"].as_object().unwrap();
    let text = document.to_string();
    for (at, _) in text.match_indices("\"$ref\":\"#/components/") {
        let rest = &text[at + "\"$ref\":\"#/components/".len()..];
        let (sort, name) = rest[..rest.find('"').unwrap()].split_once('/').unwrap();
        let known = if sort == "schemas" { schemas } else { responses };
        assert!(known.contains_key(name), "{sort}/{name}");
    }
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} twice");
            let summary = operation["summary"].as_str().unwrap();
            assert!(summary.ends_with('.'), "{method} {path}: {summary}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path}");
            if let Some(content) = operation["requestBody"]["content"].as_object() {
                let is_file = content.contains_key("multipart/form-data");
                let has_example = || !content["application/json"]["example"].is_null();
                assert!(is_file || has_example(), "{method} {path} has no example");
            }
        }
    }
    running.stop().await;
}

/// Every shape that can be asked has all its fields described.
#[test]
fn every_field_of_a_request_says_what_it_is() {
    let document = haversack_serve::openapi();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let Some(fields) = schema["properties"].as_object() else { continue };
        for (field, what) in fields {
            let said = what["description"].as_str().is_some_and(|said| !said.is_empty());
            assert!(said, "{name}.{field} says nothing of itself");
        }
    }
}

/// An answer that a client may have already is promised where it is given, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn etags_are_documented_where_they_are_sent() {
    let running = Running::start().await;
    let workspace = "/v1/workspaces/acme";
    running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
    running.post(&format!("{workspace}/items"), &json!([{ "id": "n1", "kind": "note" }])).await;
    let pack = json!({ "query": "x" });
    let pack = running.post(&format!("{workspace}/context/everything"), &pack).await.json();
    let receipt = pack["assembly"]["receipt"].as_str().unwrap();
    let template = json!({ "item": "- {{content}}" });
    let named = [
        ("templates", template),
        ("rankers", json!({ "expression": "semantic" })),
        ("recipes", json!({ "source": "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n" })),
    ];
    for (shelf, body) in named {
        let put = running.ask("PUT", &format!("{workspace}/{shelf}/mine")).json(&body).send().await;
        assert_eq!(put.status, 204, "{shelf}: {}", put.text);
    }
    let mut tagged = 0;
    for (path, methods) in haversack_serve::openapi()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let promised = operation["responses"].get("304").is_some();
            if method != "get" {
                assert!(!promised, "{method} {path}");
                continue;
            }
            let id = if path.contains("/receipts/") { receipt } else { "n1" };
            let path = path.replace("{ws}", "acme").replace("{name}", "mine").replace("{id}", id);
            let path = path.replace("{a}", receipt).replace("{b}", receipt);
            let path = path.replace("{file}", "main.js");
            let got = running.get(&path).await;
            // Nobody else gives tokens here.
            let expected = if path.starts_with("/.well-known/") { 404 } else { 200 };
            assert_eq!(got.status, expected, "{path}: {}", got.text);
            assert_eq!(!got.header("etag").is_empty(), promised, "{path}");
            if promised {
                let again = running.ask("GET", &path).header("if-none-match", got.header("etag"));
                assert_eq!(again.send().await.status, 304, "{path}");
                tagged += 1;
            }
        }
    }
    assert_eq!(tagged, 6);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_cover_the_watched_values_and_name_no_tenant_k11_p16() {
    let running = Running::start().await;
    running.sample("proposal");
    let opportunity = "opp-harrowmere";
    let prompt = haversack_eval::samples::Sample::named("proposal").unwrap().questions[0].text;
    let body = json!({ "opportunityId": opportunity, "userPrompt": prompt, "user": "secret-user" });
    for _ in 0..2 {
        let reply = running.post("/v1/workspaces/proposal/context/proposal", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    running.post("/v1/workspaces/proposal/search", &json!({ "query": "secret-query" })).await;
    running.get("/v1/workspaces/secret-workspace").await;
    let page = running.get("/metrics").await.text;
    for name in [
        "haversack_build_info",
        "haversack_http_requests_total{operation=\"buildContext\",status=\"200\"} 2",
        "haversack_http_request_duration_seconds_bucket",
        "haversack_assemblies_total{recipe=\"proposal\"}",
        "haversack_assembly_duration_seconds_count{recipe=\"proposal\"}",
        "haversack_assembly_stage_duration_seconds_count{stage=\"collect\"}",
        "haversack_assembly_tokens_sum",
        "haversack_assembly_candidates_sum",
        "haversack_assembly_items_sum",
        "haversack_cache_misses_total",
        "haversack_searches_total 1",
        "haversack_connections",
    ] {
        assert!(page.contains(name), "{name} in {page}");
    }
    for word in ["secret", opportunity] {
        assert!(!page.contains(word), "{word} is in the metrics");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_checks_and_unknown_routes() {
    let running = Running::start().await;
    for path in ["/livez", "/readyz", "/healthz"] {
        let reply = running.get(path).await;
        assert_eq!((reply.status, reply.json()["status"].clone()), (200, json!("ok")), "{path}");
    }
    let nothing = running.get("/v2/nothing").await;
    assert_eq!((nothing.status, nothing.code().as_str()), (404, "not_found"));
    let method = running.ask("PATCH", "/v1/workspaces?explain=true").send().await;
    assert_eq!((method.status, method.code().as_str()), (405, "method_not_allowed"));
    let unknown = running.get("/v1/workspaces/acme/items?lmit=3").await;
    assert_eq!(unknown.json()["field"], "lmit", "{}", unknown.text);
    let named = running.ask("GET", "/livez").header("x-request-id", "mine-1").send().await;
    assert_eq!(named.header("x-request-id"), "mine-1");
    let forged = running.ask("GET", "/livez").header("x-request-id", "a b<script>").send().await;
    assert!(!forged.header("x-request-id").contains('<'));
    assert_eq!(forged.header("x-content-type-options"), "nosniff");
    let problem: Value = nothing.json();
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("/openapi.json")));
    running.stop().await;
}
