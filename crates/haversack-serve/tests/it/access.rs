//! Who may do what: every route of the OpenAPI document, with every sort of credential.

use haversack_core::units::Timestamp;
use haversack_serve::audit;
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::{Value, json};

use crate::signed::{FIRST, Issuer, SECOND, set};
use crate::support::{Running, all};

/// An operation of the document, with its scope.
struct RouteOperation {
    method: String,
    path: String,
    scope: Option<KeyScope>,
    body: Value,
}

/// Every operation that the document has. A route that is not there cannot be asked, and one that is
/// there is tried here.
fn operations() -> Vec<RouteOperation> {
    let document = haversack_serve::openapi();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let scope = operation["x-scope"].as_str();
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            all.push(RouteOperation {
                method: method.to_uppercase(),
                path: path.clone(),
                scope: scope.map(|name| KeyScope::from_name(name).unwrap()),
                body: body.clone(),
            });
        }
    }
    assert!(all.len() >= 40, "{}", all.len());
    all
}

impl RouteOperation {
    /// The path in a workspace, with names for everything else that are nobody's.
    fn path_in(&self, workspace: &str) -> String {
        let mut path = self.path.replace("{ws}", workspace).replace("{recipe}", "memory");
        path = path.replace("{file}", "main.js");
        for name in ["{id}", "{name}", "{a}", "{b}"] {
            path = path.replace(name, "none");
        }
        path
    }
}

/// Credentials of all sorts.
struct Keys {
    wrong: String,
    expired: String,
    revoked: String,
    foreign: String,
    by_scope: Vec<(KeyScope, String)>,
    /// Tokens of another signer, for another server, of yesterday.
    tokens: Vec<String>,
}

/// Tries an operation with each of them, and counts how often it was refused.
async fn tried(running: &Running, operation: &RouteOperation, keys: &Keys) -> u64 {
    let mut denied = 0;
    let path = operation.path_in("acme");
    let send = |key: Option<&str>| {
        let mut ask = running.ask(&operation.method, &path);
        if !operation.body.is_null() {
            ask = ask.json(&operation.body);
        }
        if let Some(key) = key {
            ask = ask.key(key);
        }
        ask.send()
    };
    let Some(scope) = operation.scope else {
        assert_eq!(send(None).await.status, 200, "{path} is for everyone");
        return 0;
    };
    let what = format!("{} {path}", operation.method);
    let nonsense = "nonsense".to_owned();
    let bad = [&keys.wrong, &keys.expired, &keys.revoked, &nonsense].into_iter();
    for key in [None].into_iter().chain(bad.chain(&keys.tokens).map(Some)) {
        let reply = send(key.map(String::as_str)).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "unauthenticated"), "{what}");
        let challenge = reply.header("www-authenticate");
        let start = "Bearer resource_metadata=\"http://127.0.0.1:";
        assert!(challenge.starts_with(start), "{what}: {challenge}");
        let scope = format!("scope=\"{}\"", scope.as_str());
        assert!(challenge.contains(&scope), "{what}: {challenge}");
        assert_eq!(
            challenge.contains("error=\"invalid_token\""),
            key.is_some(),
            "{what}: {challenge}"
        );
        denied += 1;
    }
    for (other, key) in &keys.by_scope {
        // Removing comes last.
        if operation.path == "/v1/workspaces/{ws}" && operation.method == "DELETE" {
            continue;
        }
        let (reply, is_admin) = (send(Some(key)).await, *other == KeyScope::Admin);
        // The example is understood, whether or not there is what it names.
        for misunderstood in ["unknown field", "missing field", "invalid type"] {
            assert!(!reply.text.contains(misunderstood), "{what}: {}", reply.text);
        }
        if matches!(&*what, "PUT /v1/model" | "POST /v1/users/erase") && is_admin {
            assert_eq!(reply.code().as_str(), "forbidden");
        } else if *other == scope || is_admin {
            assert!(!matches!(reply.status, 401 | 403), "{what} with {other:?}: {}", reply.status);
        } else {
            assert_eq!(reply.status, 403, "{what} with {other:?}");
            let challenge = reply.header("www-authenticate");
            assert!(challenge.contains("error=\"insufficient_scope\""), "{what}: {challenge}");
            denied += 1;
        }
    }
    if operation.path.contains("{ws}") {
        let reply = send(Some(&keys.foreign)).await;
        assert_eq!((reply.status, reply.code().as_str()), (404, "workspace_not_found"), "{what}");
        denied += 1;
        // A missing workspace and a forbidden one give the same message.
        let nowhere = operation.path_in("nowhere");
        let mut ask = running.ask(&operation.method, &nowhere).key(&keys.foreign);
        if !operation.body.is_null() {
            ask = ask.json(&operation.body);
        }
        let absent = ask.send().await;
        let same = absent.text.replace("nowhere", "acme");
        assert_eq!((absent.status, same), (reply.status, reply.text.clone()), "{what}");
        denied += 1;
    }
    denied
}

/// Every route × scope × credential: no key, a wrong one, an expired one, a revoked one, one of
/// another workspace, one of each other scope, tokens that are not good, and one that is.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_callers_without_its_scope() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let mut config = crate::tokens::config(&issuer);
    config.limits.denied = 0;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    running.engine.workspace("umbrella").unwrap();
    let only = |name: &str| Grant::Only([name.to_owned()].into());
    let expired =
        running.key_until(&all(), Grant::All, ActsAs::Trusted, Some(Timestamp::from_millis(2)));
    let foreign = running.key(&all(), only("umbrella"), ActsAs::Trusted);
    let revoked = running.key(&all(), Grant::All, ActsAs::Trusted);
    let control = haversack_serve::who::Control::open(running.folder.path()).unwrap();
    control.revoke(revoked.split('_').nth(1).unwrap(), Timestamp::from_millis(2)).unwrap();
    let wrong = format!("{}0", &expired[..expired.len() - 1]);
    let by_scope: Vec<(KeyScope, String)> = KeyScope::ALL
        .into_iter()
        .map(|scope| (scope, running.key(&[scope], only("acme"), ActsAs::Trusted)))
        .collect();
    let claiming = |name: &str, value: Value| {
        FIRST.token(|claims, _| {
            claims["scope"] = json!("admin");
            claims[name] = value;
        })
    };
    let tokens = vec![
        SECOND.plain(),
        claiming("aud", json!("another")),
        claiming("exp", json!(1_000_000_000)),
    ];
    let keys = Keys { wrong, expired, revoked, foreign, by_scope, tokens };
    let mut denied = 0;
    for operation in operations() {
        denied += tried(&running, &operation, &keys).await;
    }
    // Every refusal left a line that holds together with the others.
    let lines = audit::verify(running.folder.path()).unwrap().lines;
    assert!(lines >= denied, "{lines} lines for {denied} refusals");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_user_reads_and_writes_as_that_user_only() {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    let trusted = running.key(&all(), Grant::All, ActsAs::Trusted);
    let of = |name: &str| {
        let acts_as = ActsAs::User { name: name.into(), groups: [].into() };
        running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, acts_as)
    };
    let (anna, ben) = (of("anna"), of("ben"));
    let items = json!([
        { "id": "open", "kind": "note", "body": "The fair opens in May." },
        { "id": "hers", "kind": "note", "body": "The fair costs nine thousand.", "readers": ["user:anna"] },
    ]);
    let path = "/v1/workspaces/acme/items";
    assert_eq!(running.ask("POST", path).key(&trusted).json(&items).send().await.status, 200);
    let read = |key: &str, path: &'static str| running.ask("GET", path).key(key).send();
    assert_eq!(read(&anna, "/v1/workspaces/acme/items/hers").await.status, 200);
    assert_eq!(read(&ben, "/v1/workspaces/acme/items/hers").await.status, 404);
    assert!(!read(&anna, "/v1/workspaces/acme/items/hers").await.text.contains("readers"));
    assert!(read(&trusted, "/v1/workspaces/acme/items/hers").await.text.contains("readers"));
    assert_eq!(read(&ben, "/v1/workspaces/acme").await.json()["items"], 1, "counts are his own");
    let ask = |key: &str, body: Value| {
        running.ask("POST", "/v1/workspaces/acme/context/everything").key(key).json(&body).send()
    };
    let question = json!({ "query": "what does the fair cost?", "tokenBudget": 500 });
    assert!(ask(&anna, question.clone()).await.text.contains("nine thousand"));
    assert!(!ask(&ben, question.clone()).await.text.contains("nine thousand"));
    let pretending = json!({ "query": "what does the fair cost?", "user": "anna" });
    let refused = ask(&ben, pretending).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    let as_header = running.ask("GET", "/v1/workspaces/acme/items/hers").key(&ben);
    assert_eq!(as_header.header("haversack-user", "anna").send().await.status, 403);
    // Writing over what he cannot see, hanging something under it, deleting it: none of it.
    let write = |body: Value| running.ask("POST", path).key(&ben).json(&body).send();
    let over = write(json!([{ "id": "hers", "kind": "note", "body": "x" }])).await;
    assert_eq!((over.status, over.code().as_str()), (409, "id_taken"));
    let under =
        write(json!([{ "id": "his", "kind": "note", "body": "x", "parent": "hers" }])).await;
    assert_eq!(under.status, 400);
    let delete = running.ask("DELETE", "/v1/workspaces/acme/items/hers").key(&ben).send().await;
    assert_eq!(delete.status, 404);
    let link = json!({ "add": [{ "from": "open", "to": "hers", "sort": "link" }] });
    let link = running.ask("POST", "/v1/workspaces/acme/links").key(&ben).json(&link).send().await;
    assert_eq!(link.status, 404);
    let receipt =
        ask(&anna, question).await.json()["assembly"]["receipt"].as_str().unwrap().to_owned();
    let receipt = format!("/v1/workspaces/acme/receipts/{receipt}");
    let read = |key: &str| running.ask("GET", &receipt).key(key).send();
    assert_eq!(read(&anna).await.status, 200);
    assert_eq!(read(&ben).await.status, 404, "a receipt is for whom it was made");
    running.stop().await;
}

/// An application that lost the user's name gets an error, not everything.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_user_header_is_refused() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let ask = || running.ask("GET", "/v1/workspaces/acme/items");
    let empty = ask().header("haversack-user", "").send().await;
    assert_eq!((empty.status, empty.json()["field"].clone()), (400, json!("haversack-user")));
    let body = json!({ "query": "x", "user": "" });
    let empty = running.post("/v1/workspaces/acme/context/memory", &body).await;
    assert_eq!((empty.status, empty.json()["field"].clone()), (400, json!("user")));
    let items = json!([{ "id": "i", "kind": "note", "body": "x", "readers": ["user:jürgen"] }]);
    running.post("/v1/workspaces/acme/items", &items).await;
    let as_user = |name: &'static str| {
        running.ask("GET", "/v1/workspaces/acme/items/i").header("haversack-user", name).send()
    };
    assert_eq!(as_user("j%C3%BCrgen").await.status, 200);
    assert_eq!(as_user("jurgen").await.status, 404);
    running.stop().await;
}

/// A page of another site that a browser on this machine shows cannot reach the server under a name
/// of its own, nor ask from its own origin.
#[tokio::test(flavor = "multi_thread")]
async fn other_hosts_and_origins_are_refused() {
    let running = Running::start().await;
    let ask = || running.ask("GET", "/v1/workspaces");
    for host in ["evil.example", "evil.example:7077", "localhost.evil.example", ""] {
        let reply = ask().header("host", host).send().await;
        assert!(matches!(reply.status, 421 | 400), "{host:?}: {}", reply.status);
    }
    for host in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
        assert_eq!(ask().header("host", host).send().await.status, 200, "{host}");
    }
    let cross = ask().header("origin", "https://evil.example").send().await;
    assert_eq!((cross.status, cross.code().as_str()), (403, "forbidden"));
    let own = format!("http://{}", running.address);
    assert_eq!(ask().header("origin", &own).send().await.status, 200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_configured_origin_are_allowed() {
    let mut config = crate::support::config();
    let origin = "https://app.example";
    config.server.origins = vec![origin.to_owned()];
    let running = Running::with(config).await;
    for method in ["OPTIONS", "GET"] {
        let ask = running.ask(method, "/v1/workspaces").header("origin", origin);
        let reply = ask.header("access-control-request-method", "POST").send().await;
        assert!(matches!(reply.status, 200 | 204), "{method}: {reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), origin);
        assert!(reply.header("access-control-allow-headers").contains("authorization"));
    }
    let other = running.ask("OPTIONS", "/v1/workspaces").header("origin", "https://evil.example");
    let other = other.send().await;
    assert_eq!((other.status, other.header("access-control-allow-origin")), (403, ""));
    running.stop().await;
}

/// Who comes through a proxy on this machine is not on this machine.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_host_name_requires_keys() {
    let mut config = crate::support::config();
    config.server.hosts = vec!["context.example".into()];
    let running = Running::with(config).await;
    let ask = || running.ask("GET", "/v1/workspaces").header("host", "context.example");
    assert_eq!(ask().send().await.status, 401);
    let key = running.key(&[KeyScope::Read], Grant::All, ActsAs::Trusted);
    assert_eq!(ask().key(&key).send().await.status, 200);
    running.stop().await;
}

#[tokio::test]
async fn a_public_server_requires_keys_or_does_not_start() {
    let mut config = crate::support::config();
    config.server.listen = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
    config.server.auth = haversack_serve::config::Auth::Off;
    let folder = tempfile::tempdir().unwrap();
    let engine = haversack::Engine::open(folder.path()).unwrap();
    let refused =
        haversack_serve::Server::bind(engine.clone(), folder.path(), config.clone(), false).await;
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("--insecure"), "{error}");
    haversack_serve::Server::bind(engine, folder.path(), config, true).await.unwrap();
}
