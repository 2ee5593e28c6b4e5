//! Caps on what a key and a workspace use of models in a day, and extraction over MCP, with a provider on
//! loopback (B3, B4).

#[expect(dead_code, reason = "the tests of providers use more of it")]
#[path = "../../../haversack-provider/tests/it/server.rs"]
mod provider;

use haversack_provider::{DailyCap, ModelsConfig};
use haversack_serve::Config;
use haversack_serve::config::{Auth, Jwt};
use haversack_serve::who::{ActsAs, Grant, KeyScope, NewKey};
use serde_json::{Value, json};

use crate::mcp::call;
use crate::signed::{FIRST, Issuer, set};
use crate::support::{Running, all};
use provider::{Asked, Reply, TestServer};

const PACK: &str = "/v1/workspaces/acme/context/everything";

fn answer(asked: &Asked, _: usize) -> Reply {
    if asked.path.ends_with("/embeddings") {
        let texts = asked.body["input"].as_array().cloned().unwrap_or_default();
        let vector = |(index, _)| json!({"index": index, "embedding": [1.0, 0.5, 0.25]});
        let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
        return Reply::json(&json!({"data": data, "usage": {"prompt_tokens": texts.len() * 10}}));
    }
    let found = json!({"memories": [{
        "content": "Anna lives in Oslo.", "type": "fact", "confidence": 0.9, "turn": 0, "date": "",
    }]});
    Reply::json(&json!({
        "choices": [{"message": {"content": found.to_string()}}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 20},
    }))
}

/// A server with keys, whose models are those of a provider on loopback.
async fn start(models: &str) -> (Running, TestServer) {
    start_with(models, None).await
}

/// The same, which also takes signed tokens.
async fn start_with(models: &str, jwt: Option<Jwt>) -> (Running, TestServer) {
    let provider = TestServer::start(answer);
    let settings = format!(
        "[providers.p]\nprotocol = \"openai\"\nbase_url = \"{}\"\nretries = 0\n{models}",
        provider.url
    );
    let mut config = Config::default();
    config.server.listen.set_port(0);
    config.server.auth = Auth::Keys;
    config.jwt = jwt;
    let models = ModelsConfig::parse(&settings).unwrap();
    let running = Running::with_models(config, Some(models)).await;
    running.engine.workspace("acme").unwrap();
    (running, provider)
}

fn key(running: &Running, tokens: Option<u64>, acts_as: ActsAs) -> String {
    running.create_key(&NewKey {
        name: "capped".into(),
        scopes: all().into(),
        workspaces: Grant::All,
        acts_as,
        expires: None,
        model_cap: DailyCap { tokens, cost: None },
    })
}

async fn get(running: &Running, key: &str, path: &str) -> Value {
    running.ask("GET", path).key(key).send().await.json()
}

async fn pack(running: &Running, key: &str, query: &str) -> Value {
    let body = json!({ "query": query, "tokenBudget": 800 });
    running.ask("POST", PACK).key(key).json(&body).send().await.json()
}

async fn remember(running: &Running, key: &str, content: &str) -> crate::support::HttpReply {
    let body = json!({ "memories": [{ "content": content }] });
    running.ask("POST", "/v1/workspaces/acme/memories").key(key).json(&body).send().await
}

fn notices(pack: &Value) -> String {
    pack["assembly"]["notices"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keys_cap_covers_its_requests_and_no_others_b4() {
    let (running, provider) = start("[models.embed]\nprovider = \"p\"\nmodel = \"m\"\n").await;
    let capped = key(&running, Some(35), ActsAs::Trusted);
    let free = key(&running, None, ActsAs::Trusted);
    let stored = remember(&running, &capped, "The kettle is on the stove.").await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let status = get(&running, &capped, "/v1/workspaces/acme/model").await;
    let used = status["keyUsage"]["tokens"].as_u64().unwrap();
    assert!(used >= 10, "texts embedded for the request count: {status}");
    assert_eq!(status["keyUsage"]["tokensPerDay"], 35);
    assert!(status["keyUsage"]["until"].as_str().unwrap().ends_with("T00:00:00Z"), "{status}");
    assert!(status.get("usage").is_none(), "workspaces have no cap: {status}");
    let mut packs = Vec::new();
    for n in 0..4 {
        packs.push(pack(&running, &capped, &format!("Where is the kettle, take {n}?")).await);
    }
    let last = packs.last().unwrap();
    assert!(notices(last).contains("of its 35 tokens a day for models"), "{}", notices(last));
    assert!(last["context"].as_str().unwrap().contains("kettle"), "words alone find it");
    let memory = json!({ "query": "Where is the kettle, in memory?", "tokenBudget": 800 });
    let strict = running.ask("POST", "/v1/workspaces/acme/context/memory").key(&capped);
    let strict = strict.json(&memory).send().await;
    assert_eq!(strict.json()["code"], "embedding_error", "this recipe does not degrade");
    let calls = provider.asked().len();
    let refused = remember(&running, &capped, "Boats sail at ten in the morning.").await;
    assert!(refused.status >= 500 && refused.text.contains("tokens a day"), "{}", refused.text);
    let body = json!({ "query": "Where is the kettle, as a stream?", "tokenBudget": 800 });
    let stream = running.ask("POST", PACK).key(&capped).header("accept", "text/event-stream");
    let stream = stream.json(&body).send().await.text;
    assert!(stream.contains("event: warning") && stream.contains("of its 35 tokens"), "{stream}");
    let over_mcp = json!({ "query": "Where is the kettle now?", "workspace": "acme" });
    call(&running, Some(&capped), "context_pack", over_mcp).await;
    assert_eq!(provider.asked().len(), calls, "none of them is sent");
    let page = running.ask("GET", "/metrics").key(&free).send().await.text;
    let line = page.lines().find(|l| l.starts_with("haversack_model_refusals_total")).unwrap();
    assert!(line.contains("role=\"embed\"") && !line.ends_with(" 0"), "{line}");
    let other = pack(&running, &free, "Where is the kettle, for another key?").await;
    assert!(!notices(&other).contains("tokens a day"), "{}", notices(&other));
    running.stop().await;
}

/// Each user of a login server has a cap of their own, whichever token they bring.
#[tokio::test(flavor = "multi_thread")]
async fn a_cap_of_signed_tokens_is_each_users_own_b4() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let jwt = Jwt { model_tokens_per_day: Some(15), ..crate::tokens::jwt(&issuer) };
    let models = "[models.embed]\nprovider = \"p\"\nmodel = \"m\"\n";
    let (running, provider) = start_with(models, Some(jwt)).await;
    let token = |user: &str, lifetime: u64| {
        FIRST.token(|claims, _| {
            claims["sub"] = user.into();
            claims["exp"] = (claims["exp"].as_u64().unwrap() + lifetime).into();
        })
    };
    let stored = remember(&running, &token("anna", 0), "The kettle is on the stove.").await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let calls = provider.asked().len();
    let refused = pack(&running, &token("anna", 60), "Where is the big kettle?").await;
    assert!(notices(&refused).contains("user anna has used"), "{}", notices(&refused));
    assert!(notices(&refused).contains("of its 15 tokens a day"), "{}", notices(&refused));
    assert_eq!(provider.asked().len(), calls, "a refused call is not sent");
    let other = pack(&running, &token("bob", 0), "Where is the big kettle?").await;
    assert!(!notices(&other).contains("tokens a day"), "{}", notices(&other));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_use_of_a_workspace_is_shown_to_those_who_see_everything_b4() {
    let models =
        "[models]\ntokens_per_day = 500\n[models.embed]\nprovider = \"p\"\nmodel = \"m\"\n";
    let (running, _provider) = start(models).await;
    let trusted = key(&running, None, ActsAs::Trusted);
    remember(&running, &trusted, "The kettle is on the stove.").await;
    let status = get(&running, &trusted, "/v1/workspaces/acme/model").await;
    assert_eq!(status["usage"]["tokensPerDay"], 500, "{status}");
    assert!(status["usage"]["tokens"].as_u64().unwrap() >= 10, "{status}");
    let groups = std::collections::BTreeSet::new();
    let anna = key(&running, None, ActsAs::User { name: "anna".into(), groups });
    let status = get(&running, &anna, "/v1/workspaces/acme/model").await;
    assert!(status.get("usage").is_none(), "it would tell what others do: {status}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memories_are_extracted_over_mcp_by_those_who_may_write_b3() {
    let (running, _provider) = start("[models.extract]\nprovider = \"p\"\nmodel = \"x\"\n").await;
    let trusted = key(&running, None, ActsAs::Trusted);
    let conversation = json!([{ "role": "user", "content": "I moved to Oslo." }]);
    let mut arguments =
        json!({ "conversation": conversation, "workspace": "acme", "dryRun": true });
    let dry = call(&running, Some(&trusted), "memories_extract", arguments.clone()).await;
    let found = &dry["structuredContent"];
    assert_eq!(found["memories"][0]["content"], "Anna lives in Oslo.", "{dry}");
    assert_eq!((&found["stored"], &found["model"]), (&json!(false), &json!("x@p")));
    arguments["dryRun"] = json!(false);
    let done = call(&running, Some(&trusted), "memories_extract", arguments.clone()).await;
    assert_eq!(done["structuredContent"]["stored"], true, "{done}");
    let id = done["structuredContent"]["memories"][0]["id"].as_str().unwrap();
    let item = get(&running, &trusted, &format!("/v1/workspaces/acme/items/{id}")).await;
    assert!(item.to_string().contains("Anna lives in Oslo."), "{item}");
    let reader = running.key(&[KeyScope::Read], Grant::All, ActsAs::Trusted);
    let refused = call(&running, Some(&reader), "memories_extract", arguments).await;
    assert_eq!(refused["isError"], true, "{refused}");
    running.stop().await;
}
