//! Signed tokens, and the metadata about their authorization server (RFC 9728).

use haversack_serve::Config;
use haversack_serve::config::{Auth, Jwt};
use serde_json::json;

use crate::signed::{FIRST, Issuer, SECOND, set};
use crate::support::{Running, config as plain};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A server that takes keys, and tokens of an issuer.
pub(crate) fn config(issuer: &Issuer) -> Config {
    let mut config = plain();
    config.server.auth = Auth::Keys;
    config.jwt = Some(jwt(issuer));
    config
}

pub(crate) fn jwt(issuer: &Issuer) -> Jwt {
    Jwt {
        jwks: issuer.url.clone(),
        issuer: "https://login.example".into(),
        audience: "haversack".into(),
        ..Jwt::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_stay_valid_when_the_signers_keys_change() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let running = Running::with(config(&issuer)).await;
    running.engine.workspace("acme").unwrap();
    let ask = |token: String| running.ask("GET", "/v1/workspaces").key(&token).send();
    let reply = ask(FIRST.plain()).await;
    assert_eq!(reply.json(), json!({ "workspaces": [{ "name": "acme" }] }));
    issuer.gives(&set(&[&SECOND]));
    assert_eq!(ask(SECOND.plain()).await.status, 200);
    assert_eq!(ask(FIRST.plain()).await.status, 401);
    assert_eq!(issuer.asked(), 2);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_without_the_signers_keys() {
    let issuer = Issuer::with("").await;
    issuer.says("404 Not Found", "", "");
    let folder = tempfile::tempdir().unwrap();
    let engine = haversack::Engine::open(folder.path()).unwrap();
    let bound = haversack_serve::Server::bind(engine, folder.path(), config(&issuer), false).await;
    let error = bound.err().unwrap().to_string();
    assert_eq!(error, format!("the key set {} cannot be read", issuer.url));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_learns_the_authorization_server() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let mut config = config(&issuer);
    config.server.hosts = vec!["context.example".into()];
    let running = Running::with(config).await;
    let own = format!("http://{}", running.address);
    for (host, base) in [
        (running.address.to_string(), own.as_str()),
        ("context.example".to_owned(), "https://context.example"),
        ("context.example:8443".to_owned(), "https://context.example:8443"),
        ("[::1]:1".to_owned(), "http://[::1]:1"),
        // What stands behind the name is a port or nothing.
        ("localhost:\"x".to_owned(), "http://localhost"),
    ] {
        for path in ["", "/mcp"] {
            let at = format!("{WELL_KNOWN}{path}");
            let described = running.ask("GET", &at).header("host", &host).send().await;
            let expected = json!({
                "resource": format!("{base}{path}"),
                "authorization_servers": ["https://login.example"],
                "scopes_supported": ["read", "write", "admin", "metrics"],
                "bearer_methods_supported": ["header"],
            });
            assert_eq!((described.status, described.json()), (200, expected), "{host}");
            let (method, asked) =
                if path.is_empty() { ("GET", "/v1/workspaces") } else { ("POST", "/mcp") };
            let refused = running.ask(method, asked).header("host", &host).send().await;
            let challenge =
                format!("Bearer resource_metadata=\"{base}{WELL_KNOWN}{path}\", scope=\"read\"");
            assert_eq!((refused.status, refused.header("www-authenticate")), (401, &*challenge));
        }
    }
    let items = running.ask("POST", "/v1/workspaces/acme/items").json(&json!([]));
    let narrow = FIRST.token(|claims, _| claims["scope"] = json!("read"));
    let refused = items.key(&narrow).send().await;
    let challenge = refused.header("www-authenticate");
    assert_eq!(refused.status, 403);
    assert!(challenge.ends_with("scope=\"write\", error=\"insufficient_scope\""), "{challenge}");
    let evil = running.ask("GET", WELL_KNOWN).header("host", "evil.example").send().await;
    assert_eq!(evil.status, 421, "a name of others makes no URL of ours");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configured_url_is_published() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let mut config = config(&issuer);
    config.server.url = "https://context.example/".into();
    let running = Running::with(config).await;
    let described = running.get(&format!("{WELL_KNOWN}/mcp")).await;
    assert_eq!(described.json()["resource"], "https://context.example/mcp");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_signed_tokens_names_no_authorization_server() {
    let running = Running::locked().await;
    for path in [WELL_KNOWN, "/.well-known/oauth-protected-resource/mcp"] {
        let nothing = running.get(path).await;
        assert_eq!((nothing.status, nothing.code().as_str()), (404, "not_found"));
    }
    let refused = running.get("/v1/workspaces").await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Bearer"));
    running.stop().await;
}
