//! One story through every route, as an application would live it (X5).

use haversack::recipes::parse_request;
use haversack_eval::samples::SampleQuestion;
use serde_json::{Value, json};

use crate::support::Running;

async fn acme() -> Running {
    let running = Running::start().await;
    let made = running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
    assert_eq!((made.status, made.json()), (201, json!({ "name": "acme" })));
    running
}

fn note(id: &str, body: &str) -> Value {
    json!({ "id": id, "kind": "note", "title": id, "body": body })
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_written_read_paged_and_deleted() {
    let running = acme().await;
    let again = running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
    assert_eq!((again.status, again.code().as_str()), (409, "workspace_exists"));
    let items =
        json!([note("a", "The launch is on the third of May."), note("b", "Soup, then fish.")]);
    let put = running.post("/v1/workspaces/acme/items", &items).await;
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(put.json()["stored"], 2);
    let put = running.post("/v1/workspaces/acme/items", &items).await;
    assert_eq!(
        (put.json()["stored"].clone(), put.json()["unchanged"].clone()),
        (json!(0), json!(2))
    );
    let got = running.get("/v1/workspaces/acme/items/a").await;
    assert_eq!(got.json()["body"], "The launch is on the third of May.");
    let known = running.ask("GET", "/v1/workspaces/acme/items/a");
    let known = known.header("if-none-match", got.header("etag")).send().await;
    assert_eq!((known.status, known.text.as_str()), (304, ""));
    let page = running.get("/v1/workspaces/acme/items?limit=1").await.json();
    assert_eq!((page["items"][0]["id"].clone(), page["next"].clone()), (json!("a"), json!("a")));
    let page = running.get("/v1/workspaces/acme/items?limit=1&after=a&kind=note").await.json();
    assert_eq!(page["items"][0]["id"], "b");
    let links = json!({ "add": [{ "from": "a", "to": "b", "sort": "link" }] });
    assert_eq!(running.post("/v1/workspaces/acme/links", &links).await.status, 200);
    let events = json!({ "events": [{ "item": "a", "happening": "viewed", "user": "anna" }] });
    assert_eq!(running.post("/v1/workspaces/acme/events", &events).await.status, 200);
    let state = running.get("/v1/workspaces/acme").await.json();
    assert_eq!(state["items"], 2);
    let gone = running.ask("DELETE", "/v1/workspaces/acme/items/b?purge=true").send().await;
    assert_eq!(gone.status, 200, "{gone:?}");
    let got = running.get("/v1/workspaces/acme/items/b").await;
    assert_eq!((got.status, got.code().as_str()), (404, "item_not_found"));
    let gone = running.ask("DELETE", "/v1/workspaces/acme").send().await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(running.get("/v1/workspaces/acme").await.code(), "workspace_not_found");
    assert_eq!(running.get("/v1/workspaces").await.json(), json!({ "workspaces": [] }));
    running.stop().await;
}

/// X5: the five recipes over HTTP give the bytes that the library gives.
#[tokio::test(flavor = "multi_thread")]
async fn every_recipe_gives_what_the_library_gives_x5() {
    let running = Running::start().await;
    for sample in haversack_eval::samples::ALL {
        let name = sample.name;
        running.sample(name);
        let workspace = running.engine.existing_workspace(name).unwrap();
        for question in sample.questions {
            let body = asked(question);
            let shape = workspace.recipe(name).await.unwrap().shape;
            let direct = parse_request(name, shape, body.clone()).unwrap();
            let expected = workspace.pack(direct).await.unwrap();
            let path = format!("/v1/workspaces/{name}/context/{name}?explain=true");
            let reply = running.post(&path, &body).await;
            assert_eq!(reply.status, 200, "{name}: {}", reply.text);
            let json = reply.json();
            assert_eq!(json["context"], expected.text(), "{name}");
            let ledger = json["assembly"]["ledger"].as_array();
            assert!(ledger.is_some_and(|lines| !lines.is_empty()), "{name}");
            let receipt = json["assembly"]["receipt"].as_str().unwrap();
            let path = format!("/v1/workspaces/{name}/receipts/{receipt}");
            assert_eq!(running.get(&path).await.status, 200, "{name}");
            let replay = running.ask("POST", &format!("{path}/replay")).send().await.json();
            assert_eq!(replay["difference"]["same"], true, "{name}: {}", question.text);
        }
    }
    running.stop().await;
}

/// A question of a sample as its application would send it.
fn asked(question: &SampleQuestion) -> Value {
    let mut body: Value = serde_json::from_str(question.with).unwrap();
    body["query"] = json!(question.text);
    body["user"] = json!(question.user);
    if !question.groups.is_empty() {
        body["groups"] = json!(question.groups);
    }
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn memories_are_added_searched_previewed_and_built_m2_m9() {
    let running = acme().await;
    let path = "/v1/workspaces/acme/memories";
    let memories = json!({ "user": "anna", "memories": [
        { "content": "Anna drinks green tea, never coffee.", "type": "preference" },
        { "content": "Anna's sister lives in Lisbon.", "type": "fact" },
    ] });
    let added = running.post(path, &memories).await.json();
    assert_eq!(added["stored"].as_array().unwrap().len(), 2, "{added}");
    let again = json!({ "user": "anna", "memories": [
        { "content": "Anna drinks green tea, never coffee!", "id": "again" },
    ] });
    let again = running.post(path, &again).await.json();
    assert_eq!(again["leftOut"][0]["reason"], "repeats", "{again}");
    let searches = json!({ "searches": [
        { "query": "what does Anna drink?", "user": "anna" },
        { "query": "what does Anna drink?", "user": "ben" },
    ] });
    let found = running.post(&format!("{path}/search"), &searches).await.json();
    assert!(found["results"][0].to_string().contains("green tea"), "{found}");
    assert!(!found["results"][1].to_string().contains("green tea"), "ben sees anna's memory");
    let none = running.post(&format!("{path}/search"), &json!({ "searches": [] })).await;
    assert_eq!((none.status, none.json()["field"].as_str()), (400, Some("searches")));
    let request = json!({ "query": "what does Anna drink?", "user": "anna", "tokenBudget": 200 });
    let context = "/v1/workspaces/acme/context/memory";
    let preview = running.post(&format!("{context}?preview=true"), &request).await.json();
    let answer = running.post(context, &request).await;
    let took = answer.header("server-timing").strip_prefix("pack;dur=").unwrap();
    assert!(took.parse::<f64>().unwrap() > 0.0);
    let built = answer.json();
    assert_eq!(preview["context"], built["context"]);
    assert!(
        preview["rankingScores"].is_object() || preview["rankingScores"].is_array(),
        "{preview}"
    );
    assert!(built["tokenCount"].as_u64().unwrap() <= 200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_rankers_and_recipes_are_kept_by_workspace_m6_m8_x6() {
    let running = acme().await;
    let put = |path: &'static str, body: Value| {
        let running = &running;
        async move { running.ask("PUT", path).json(&body).send().await }
    };
    let template = json!({ "header": "NOTES\n", "item": "* {{content}}\n" });
    assert_eq!(put("/v1/workspaces/acme/templates/brief", template).await.status, 204);
    let ranker = json!({ "expression": "semantic * 0.5 + recency * 0.5" });
    assert_eq!(put("/v1/workspaces/acme/rankers/fresh", ranker).await.status, 204);
    let source = "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n[budget]\ntotal = 300\n";
    let kept = put("/v1/workspaces/acme/recipes/mine", json!({ "source": source })).await;
    assert_eq!(kept.status, 204, "{kept:?}");
    let wrong =
        put("/v1/workspaces/acme/recipes/bad", json!({ "source": "haversack = 1\n[[lyer]]" }));
    let wrong = wrong.await;
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "validation_error"));
    assert!(wrong.text.contains("lyer"), "{wrong:?}");
    let memories = json!({ "memories": [{ "content": "The cat is called Miso." }] });
    running.post("/v1/workspaces/acme/memories", &memories).await;
    let request = json!({ "query": "the cat", "template": "brief", "ranker": "fresh" });
    let built = running.post("/v1/workspaces/acme/context/mine", &request).await.json();
    assert_eq!(built["context"].as_str().unwrap().lines().next(), Some("NOTES"), "{built}");
    let missing = json!({ "query": "the cat", "template": "brif" });
    let missing = running.post("/v1/workspaces/acme/context/mine", &missing).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "template_not_found"));
    let missing = missing.json();
    assert_eq!(
        (&missing["type"], &missing["template"]),
        (&json!("template_not_found"), &json!("brif"))
    );
    assert_eq!(missing["message"], missing["detail"]);
    for name in ["brief", "chat", "detailed", "summary"] {
        assert!(missing["available"].as_array().unwrap().contains(&json!(name)), "M11: {missing}");
    }
    let got = running.get("/v1/workspaces/acme/rankers/fresh").await.json();
    assert_eq!(got["expression"], "semantic * 0.5 + recency * 0.5");
    let names = running.get("/v1/workspaces/acme/recipes").await.json();
    assert!(names["names"].to_string().contains("mine"));
    for path in ["templates/brief", "rankers/fresh", "recipes/mine"] {
        let path = format!("/v1/workspaces/acme/{path}");
        assert_eq!(running.get(&path).await.status, 200, "{path}");
        assert_eq!(running.ask("DELETE", &path).send().await.status, 204, "{path}");
        assert_eq!(running.get(&path).await.status, 404, "{path}");
        assert_eq!(running.ask("DELETE", &path).send().await.status, 404, "{path}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn citations_of_a_response_are_reported_and_count_k7_k8() {
    let running = Running::start().await;
    running.sample("prime");
    let question = &haversack_eval::samples::Sample::named("prime").unwrap().questions[0];
    let request = asked(question);
    let built = running.post("/v1/workspaces/prime/context/prime", &request).await.json();
    let receipt = built["assembly"]["receipt"].as_str().unwrap();
    let citation = &built["data"]["citations"][0];
    let marker = citation["id"].as_str().unwrap_or_else(|| panic!("{built}"));
    let cited = json!({ "receipt": receipt, "response": format!("As it says {marker}.") });
    let cited = running.post("/v1/workspaces/prime/citations", &cited).await;
    assert_eq!(cited.status, 200, "{cited:?}");
    let used: Vec<bool> = cited.json()["citations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|citation| citation["usedInResponse"].as_bool().unwrap())
        .collect();
    assert_eq!(used.iter().filter(|used| **used).count(), 1);
    assert!(cited.json()["sources"].as_str().unwrap().contains(marker));
    let item = built["data"]["items"][0]["id"].as_str().unwrap();
    let item = item.split('#').next().unwrap();
    let feedback = json!({ "contextItemId": item, "useful": true, "user": "mara" });
    let noted = running.post("/v1/workspaces/prime/feedback", &feedback).await;
    assert_eq!((noted.status, noted.json()), (200, json!({ "success": true })), "K8");
    let missing = json!({ "contextItemId": "nothing", "useful": true, "user": "mara" });
    let missing = running.post("/v1/workspaces/prime/feedback", &missing).await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "item_not_found"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payloads_are_counted_and_validated_w11() {
    let running = Running::start().await;
    running.sample("workspace");
    let request = json!({ "query": "What tasks are overdue?", "user": "mara", "type": "assist" });
    let built = running.post("/v1/workspaces/workspace/context/workspace", &request).await.json();
    let counted = json!({ "payload": { "context": built["context"] } });
    let counted = running.post("/v1/workspaces/workspace/estimate", &counted).await.json();
    assert_eq!(counted["tokens"], built["metadata"]["totalTokens"]);
    assert_eq!(counted["accuracy"], "exact");
    let serialized = json!({ "payload": { "serialized": built["serialized"], "sections": [] } });
    let serialized = running.post("/v1/workspaces/workspace/estimate", &serialized).await.json();
    assert_eq!(serialized, counted);
    let check = json!({ "payload": built, "user": "mara" });
    let sound = running.post("/v1/workspaces/workspace/validate", &check).await.json();
    assert_eq!(sound, json!({ "valid": true, "problems": [] }));
    let check = json!({ "payload": built, "user": { "id": "mara", "name": "Mara" } });
    let sound = running.post("/v1/workspaces/workspace/validate", &check).await.json();
    assert_eq!(sound["valid"], true, "{sound}");
    let mut forged = built.clone();
    forged["metadata"]["totalTokens"] = json!(1);
    let check = json!({ "payload": forged, "user": "mara" });
    let unsound = running.post("/v1/workspaces/workspace/validate", &check).await.json();
    assert_eq!(unsound["valid"], false);
    let points = json!({ "request": request, "budgets": [600, 1_200, 2_400] });
    let points = running.post("/v1/workspaces/workspace/frontier/workspace", &points).await.json();
    let values: Vec<f64> = points["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["value"].as_f64().unwrap())
        .collect();
    assert!(values.len() >= 2 && values.is_sorted(), "{points}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_an_idempotency_key_runs_once() {
    let running = acme().await;
    let send = |key: &'static str, body: Value| {
        let running = &running;
        async move {
            let ask = running.ask("POST", "/v1/workspaces/acme/items");
            ask.header("idempotency-key", key).json(&body).send().await
        }
    };
    let first = send("k1", json!([note("a", "one")])).await;
    running.post("/v1/workspaces/acme/items", &json!([note("a", "two")])).await;
    let again = send("k1", json!([note("a", "one")])).await;
    assert_eq!((again.status, again.text.clone()), (first.status, first.text.clone()));
    assert_eq!(again.header("idempotent-replayed"), "true");
    let body = running.get("/v1/workspaces/acme/items/a").await.json()["body"].clone();
    assert_eq!(body, "two", "the repeated request was done again");
    let other = send("k1", json!([note("a", "three")])).await;
    assert_eq!((other.status, other.code().as_str()), (409, "idempotency_conflict"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_reports_places_and_names_bad_input() {
    let running = acme().await;
    let text = "# Offers\n\nSome words.\n\n## Discounts\n\nMara approves every discount above ten percent.\n";
    let item = json!([{ "id": "d", "kind": "file", "path": "docs/offers.md", "body": text }]);
    running.post("/v1/workspaces/acme/items", &item).await;
    let question = json!({ "query": "who approves a discount?" });
    let found = running.post("/v1/workspaces/acme/search", &question).await.json();
    let hit = &found["found"][0];
    assert_eq!((hit["id"].clone(), hit["path"].clone()), (json!("d"), json!("docs/offers.md")));
    assert!(
        hit["headings"].to_string().contains("Discounts")
            || hit["excerpt"].to_string().contains("Discounts")
    );
    assert!(!hit["hits"].as_array().unwrap().is_empty());
    let check = |path: &'static str, body: Value, field: &'static str| {
        let running = &running;
        async move {
            let reply = running.post(path, &body).await;
            assert_eq!((reply.status, reply.code().as_str()), (400, "validation_error"), "{body}");
            assert_eq!(reply.json()["field"], field, "{}", reply.text);
            assert_eq!(reply.header("content-type"), "application/problem+json");
        }
    };
    let memory = "/v1/workspaces/acme/context/memory";
    check("/v1/workspaces/acme/search", json!({ "query": "x", "limit": 0 }), "limit").await;
    check("/v1/workspaces/acme/search", json!({ "query": "x", "lmit": 1 }), "lmit").await;
    check("/v1/workspaces/acme/items", json!([{ "id": "", "kind": "note" }]), "[0].id").await;
    check(
        "/v1/workspaces/acme/items",
        json!([{ "id": "x", "kind": "note", "confidence": 2 }]),
        "[0].confidence",
    )
    .await;
    check(memory, json!({ "query": "x", "tokenBudget": "many" }), "tokenBudget").await;
    check(
        memory,
        json!({ "query": "x", "dateFrom": "2026-02-01", "dateTo": "2026-01-01" }),
        "dateTo",
    )
    .await;
    check(memory, json!({ "query": "x", "minConfidence": -1 }), "minConfidence").await;
    let prime = "/v1/workspaces/acme/context/prime";
    let small = running.post(prime, &json!({ "query": "discount", "tokenBudget": 1 })).await;
    assert_eq!((small.status, small.code().as_str()), (422, "budget_too_small"), "{small:?}");
    assert!(small.json()["least"].as_u64().is_some_and(|least| least > 1), "{}", small.text);
    let unknown = running.post("/v1/workspaces/acme/context/memry", &json!({ "query": "x" })).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "recipe_not_found"));
    running.stop().await;
}
