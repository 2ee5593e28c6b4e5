//! MCP over HTTP: literal messages of both eras, with and without keys.

use haversack_serve::audit;
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::{Value, json};

use crate::support::{HttpReply, Running, all};

/// What every request of the newer era carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Asks in the newer era, where each request stands alone.
pub(crate) async fn ask(
    running: &Running,
    key: Option<&str>,
    method: &str,
    params: Value,
) -> HttpReply {
    let mut params = params;
    params["_meta"] = meta();
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let mut ask = running
        .ask("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .json(&message);
    for name in ["name", "uri"] {
        if let Some(name) = message["params"][name].as_str() {
            ask = ask.header("mcp-name", name);
        }
    }
    if let Some(key) = key {
        ask = ask.key(key);
    }
    ask.send().await
}

/// Asks in the older era.
async fn ask_older(running: &Running, message: &Value) -> HttpReply {
    running
        .ask("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(message)
        .send()
        .await
}

pub(crate) async fn call(
    running: &Running,
    key: Option<&str>,
    tool: &str,
    arguments: Value,
) -> Value {
    let reply =
        ask(running, key, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()["result"].clone()
}

fn names(reply: &HttpReply) -> Vec<String> {
    let result = &reply.json()["result"];
    let tools = result["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn only(name: &str) -> Grant {
    Grant::Only([name.to_owned()].into())
}

const TOOLS: [&str; 6] = [
    "context_pack",
    "context_search",
    "context_explain",
    "memory_add",
    "memories_extract",
    "feedback",
];

/// X5: a recipe through MCP gives the bytes that it gives over HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn the_newer_protocol_needs_no_handshake_and_packs_the_same_bytes_x5() {
    let running = Running::start().await;
    running.sample("memory");
    let about = ask(&running, None, "server/discover", json!({})).await.json();
    let versions = about["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{about}");
    assert_eq!(about["result"]["resultType"], "complete");
    let list = ask(&running, None, "tools/list", json!({})).await;
    assert_eq!(names(&list), TOOLS);
    assert_eq!(list.json()["result"]["cacheScope"], "private");
    let query = "what should I cook for Anna?";
    let arguments =
        json!({ "query": query, "recipe": "memory", "budget": 800, "workspace": "memory" });
    let packed = call(&running, None, "context_pack", arguments).await;
    let body = json!({ "query": query, "tokenBudget": 800 });
    let over_http = running.post("/v1/workspaces/memory/context/memory", &body).await.json();
    assert_eq!(packed["content"][0]["text"], over_http["context"]);
    let structured = &packed["structuredContent"];
    assert_eq!(structured["receipt"], over_http["assembly"]["receipt"]);
    assert_eq!(structured["tokens"], over_http["assembly"]["tokens"]);
    assert!(structured.get("context").is_none(), "the text is not repeated");
    assert!(!structured["sources"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_protocol_has_a_handshake_and_the_same_tools() {
    let running = Running::start().await;
    running.sample("memory");
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let reply = ask_older(&running, &hello).await;
    let result = &reply.json()["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "haversack");
    assert_eq!(reply.header("mcp-session-id"), "", "there are no sessions");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(ask_older(&running, &ready).await.status, 202);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(names(&ask_older(&running, &list).await), TOOLS);
    let gone = json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/read",
                       "params": { "uri": "haversack://memory/items/none" } });
    let gone = ask_older(&running, &gone).await.json();
    assert_eq!(gone["error"]["code"], -32002, "as that revision has it: {gone}");
    assert_eq!(running.get("/mcp").await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_and_an_explanation_come_in_pages() {
    let running = Running::start().await;
    running.sample("memory");
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "query": "cooking dinner", "limit": 3, "workspace": "memory" });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let page = call(&running, None, "context_search", arguments).await;
        let text: Value =
            serde_json::from_str(page["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, page["structuredContent"], "older clients read the text");
        let found = page["structuredContent"]["found"].as_array().unwrap().clone();
        assert!(found.len() <= 3);
        seen.extend(found);
        cursor = page["structuredContent"]["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let arguments = json!({ "query": "cooking dinner", "limit": 50, "workspace": "memory" });
    let whole = call(&running, None, "context_search", arguments).await;
    let whole = whole["structuredContent"]["found"].as_array().unwrap().clone();
    assert_eq!(seen[..whole.len()], whole[..], "pages are of one list");
    let arguments = json!({ "query": "other", "cursor": "3-00000000", "workspace": "memory" });
    let wrong = call(&running, None, "context_search", arguments).await;
    assert_eq!(wrong["isError"], true);
    let packed = json!({ "query": "Lina", "recipe": "memory", "workspace": "memory" });
    let packed = call(&running, None, "context_pack", packed).await;
    let receipt = &packed["structuredContent"]["receipt"];
    let arguments = json!({ "receipt": receipt, "limit": 2, "workspace": "memory" });
    let first = call(&running, None, "context_explain", arguments).await;
    let lines = first["structuredContent"]["lines"].as_array().unwrap();
    assert_eq!((lines.len(), &lines[0]["outcome"]), (2, &json!("in")), "{first}");
    assert!(first["structuredContent"]["next"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_errors_tell_a_model_what_to_correct() {
    let running = Running::start().await;
    running.sample("memory");
    let check = async |tool: &str, arguments: Value, expected: &str| {
        let result = call(&running, None, tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.contains(expected), "{text}");
    };
    check("context_pack", json!({ "workspace": "memory" }), "query").await;
    let unknown = json!({ "query": "x", "bugdet": 5, "workspace": "memory" });
    check("context_pack", unknown, "bugdet").await;
    let over = json!({ "query": "x", "budget": 200_001, "workspace": "memory" });
    check("context_pack", over, "200000").await;
    let recipe = json!({ "query": "x", "recipe": "none", "workspace": "memory" });
    check("context_pack", recipe, "recipe_not_found").await;
    check("context_search", json!({ "query": "x" }), "workspace_not_found").await;
    let receipt = json!({ "receipt": "none", "workspace": "memory" });
    check("context_explain", receipt, "receipt_not_found").await;
    let item = json!({ "item": "none", "useful": true, "workspace": "memory" });
    check("feedback", item, "none").await;
    let unknown = ask(&running, None, "tools/call", json!({ "name": "none" })).await.json();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let broken = running.ask("POST", "/mcp").header("content-type", "application/json");
    let broken = broken.body(b"{\"a\"").send().await;
    assert_eq!((broken.status, &broken.json()["error"]["code"]), (400, &json!(-32700)));
    let deep = "[".repeat(100_000);
    let deep = running.ask("POST", "/mcp").body(deep.as_bytes()).send().await;
    assert_eq!(deep.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn items_receipts_and_recipes_are_resources_and_prompts() {
    let running = Running::locked().await;
    running.sample("memory");
    let held = running.key(&all(), only("memory"), ActsAs::Trusted);
    let key = Some(&*held);
    let templates = ask(&running, key, "resources/templates/list", json!({})).await.json();
    let first = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(first, "haversack://{workspace}/items/{id}");
    let list = ask(&running, key, "resources/list", json!({})).await.json();
    let listed = list["result"]["resources"].as_array().unwrap().clone();
    let uri = listed[0]["uri"].as_str().unwrap();
    assert!(uri.starts_with("haversack://memory/items/"), "{uri}");
    let read = ask(&running, key, "resources/read", json!({ "uri": uri })).await.json();
    assert_eq!(read["result"]["cacheScope"], "private");
    assert_eq!(read["result"]["contents"][0]["uri"], uri);
    for gone in
        ["haversack://memory/items/none", "haversack://other/items/n1", "file:///etc/passwd"]
    {
        let gone = ask(&running, key, "resources/read", json!({ "uri": gone })).await.json();
        assert_eq!(gone["error"]["code"], -32602, "{gone}");
    }
    let prompts = ask(&running, key, "prompts/list", json!({})).await.json();
    let prompts = prompts["result"]["prompts"].as_array().unwrap();
    assert_eq!(prompts.len(), 6, "one for each recipe");
    let arguments = json!({ "query": "what does Anna drink?", "budget": "500" });
    let params = json!({ "name": "memory", "arguments": arguments });
    let got = ask(&running, key, "prompts/get", params).await.json();
    let body = json!({ "query": "what does Anna drink?", "tokenBudget": 500 });
    let path = "/v1/workspaces/memory/context/memory";
    let over_http = running.ask("POST", path).key(&held).json(&body).send().await.json();
    let message = &got["result"]["messages"][0];
    assert_eq!(message["content"]["text"], over_http["context"], "{got}");
    let receipt = over_http["assembly"]["receipt"].as_str().unwrap();
    let uri = format!("haversack://memory/receipts/{receipt}");
    let read = ask(&running, key, "resources/read", json!({ "uri": uri })).await.json();
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["id"], receipt);
    let unknown = ask(&running, key, "prompts/get", json!({ "name": "none" })).await.json();
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_checks_keys_like_every_other_route() {
    let running = Running::locked().await;
    running.sample("memory");
    running.engine.workspace("other").unwrap();
    let list = json!({});
    assert_eq!(ask(&running, None, "tools/list", list.clone()).await.status, 401);
    assert_eq!(ask(&running, Some("hvs_x_y"), "tools/list", list.clone()).await.status, 401);
    let metrics = running.key(&[KeyScope::Metrics], only("memory"), ActsAs::Trusted);
    assert_eq!(ask(&running, Some(&metrics), "tools/list", list.clone()).await.status, 403);
    let reader = running.key(&[KeyScope::Read], only("memory"), ActsAs::Trusted);
    let reads = ask(&running, Some(&reader), "tools/list", list).await;
    assert_eq!(names(&reads), TOOLS[..3], "a reader sees no tools that write");
    let memory = json!({ "content": "Anna drinks green tea, never coffee." });
    let refused = call(&running, Some(&reader), "memory_add", memory.clone()).await;
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().starts_with("forbidden"), "{refused}");
    let foreign = json!({ "query": "x", "workspace": "other" });
    let foreign = call(&running, Some(&reader), "context_search", foreign).await;
    let absent = json!({ "query": "x", "workspace": "never" });
    let absent = call(&running, Some(&reader), "context_search", absent).await;
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&foreign).replace("other", "never"), text(&absent), "no word more");
    let page = running.ask("POST", "/mcp").header("origin", "https://evil.example");
    assert_eq!(page.key(&reader).json(&json!({})).send().await.status, 403);
    assert!(
        audit::verify(running.folder.path()).unwrap().lines >= 5,
        "what is denied is written down"
    );
}

/// Non-interference: one user's memories are not there for another.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_user_reads_and_writes_as_that_user() {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    let user = |name: &str| ActsAs::User { name: name.into(), groups: [].into() };
    let anna = running.key(&[KeyScope::Read, KeyScope::Write], only("acme"), user("anna"));
    let ben = running.key(&[KeyScope::Read, KeyScope::Write], only("acme"), user("ben"));
    let memory = json!({ "content": "The vault opens with heliotrope.", "type": "fact" });
    let added = call(&running, Some(&anna), "memory_add", memory).await;
    let stored = &added["structuredContent"]["stored"][0];
    assert!(stored.is_string(), "{added}");
    let search = json!({ "query": "heliotrope vault" });
    let hers = call(&running, Some(&anna), "context_search", search.clone()).await;
    assert_eq!(hers["structuredContent"]["found"][0]["item"], *stored);
    let his = call(&running, Some(&ben), "context_search", search).await;
    assert_eq!(his["structuredContent"]["found"], json!([]));
    let uri = format!("haversack://acme/items/{}", stored.as_str().unwrap());
    let gone = ask(&running, Some(&ben), "resources/read", json!({ "uri": uri })).await.json();
    assert_eq!(gone["error"]["code"], -32602);
    let read = ask(&running, Some(&anna), "resources/read", json!({ "uri": uri })).await;
    assert!(read.text.contains("heliotrope"), "{}", read.text);
    let helped = json!({ "item": stored, "useful": true });
    let noted = call(&running, Some(&anna), "feedback", helped).await;
    assert_eq!(noted["structuredContent"], json!({ "item": stored, "useful": true }));
}
