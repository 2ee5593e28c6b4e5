//! Signed tokens, with keys from a file and from a server on this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, Header, get_current_timestamp};
use ring::hmac;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::signed::{FIRST, Issuer, SECOND, encode, set};
use super::{ActsAs, KeyScope, TokenVerifier};
use crate::config::Jwt;

#[path = "../../tests/it/signed.rs"]
mod signed;

fn config(jwks: &str) -> Jwt {
    Jwt {
        jwks: jwks.to_owned(),
        issuer: "https://login.example".into(),
        audience: "haversack".into(),
        ..Jwt::default()
    }
}

/// Signers whose keys are in a file.
async fn of_file(folder: &std::path::Path) -> TokenVerifier {
    let path = folder.join("jwks.json");
    std::fs::write(&path, set(&[&FIRST])).unwrap();
    TokenVerifier::open(&config(path.to_str().unwrap())).await.unwrap()
}

#[tokio::test]
async fn a_good_token_grants_what_it_says_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let signers = of_file(folder.path()).await;
    let access = signers.access(&FIRST.plain(), Instant::now()).await.unwrap();
    assert_eq!(access.scopes, [KeyScope::Read, KeyScope::Write].into());
    assert!(access.enters("acme") && !access.enters("umbrella"));
    let groups = ["sales".to_owned()].into();
    assert_eq!(access.acts_as, ActsAs::User { name: "anna".into(), groups });
}

#[tokio::test]
async fn a_token_without_claims_grants_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bare = FIRST.token(|claims, _| {
        let needed = ["iss", "aud", "sub", "exp"];
        claims.as_object_mut().unwrap().retain(|name, _| needed.contains(&name.as_str()));
    });
    let access = of_file(folder.path()).await.access(&bare, Instant::now()).await.unwrap();
    assert!(access.scopes.is_empty() && !access.enters("acme"));
}

#[tokio::test]
async fn what_is_not_for_us_or_not_signed_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let signers = of_file(folder.path()).await;
    let claiming = |name: &str, value: Value| FIRST.token(|claims, _| claims[name] = value);
    let good = FIRST.plain();
    let (signed, _) = good.rsplit_once('.').unwrap();
    let mut shared = Header::new(Algorithm::HS256);
    shared.kid = Some(FIRST.id.into());
    let secret = hmac::Key::new(hmac::HMAC_SHA256, FIRST.public.as_bytes());
    let by_secret = |text: &[u8]| hmac::sign(&secret, text).as_ref().to_vec();
    for (what, token) in [
        ("expired", claiming("exp", json!(get_current_timestamp() - 120))),
        ("for another", claiming("aud", json!("other"))),
        ("by another", claiming("iss", json!("https://evil.example"))),
        ("nobody's", claiming("sub", json!(""))),
        ("not yet", claiming("nbf", json!(get_current_timestamp() + 600))),
        ("unsigned", format!("{signed}.")),
        ("nonsense", "a.b.c".to_owned()),
        ("signed by another key", SECOND.token(|_, header| header.kid = Some(FIRST.id.into()))),
        ("signed with the public key", encode(&shared, &json!({ "sub": "anna" }), by_secret)),
    ] {
        assert_eq!(signers.access(&token, Instant::now()).await, None, "{what}");
    }
}

/// Tokens that other software signed by each accepted algorithm but EdDSA, valid until 2100, and the set of their keys.
const SIGNED_ELSEWHERE: &str = include_str!("testing/signed_tokens.txt");
const SIGNERS: &str = include_str!("testing/signers.json");

#[tokio::test]
async fn signatures_of_every_algorithm_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    std::fs::write(&path, SIGNERS).unwrap();
    let signers = TokenVerifier::open(&config(path.to_str().unwrap())).await.unwrap();
    assert_eq!(SIGNED_ELSEWHERE.lines().count(), 7);
    for line in SIGNED_ELSEWHERE.lines() {
        let (algorithm, token) = line.split_once(' ').unwrap();
        let access = signers.access(token, Instant::now()).await;
        assert!(access.is_some_and(|access| access.credential == "jwt:anna"), "{algorithm}");
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let other = if signature.starts_with('A') { "B" } else { "A" };
        let forged = format!("{signed}.{other}{}", &signature[1..]);
        assert_eq!(signers.access(&forged, Instant::now()).await, None, "{algorithm}");
        // The signature of another algorithm of the same key.
        let elsewhere = SIGNED_ELSEWHERE.lines().find(|other| !other.starts_with(algorithm));
        let (_, foreign) = elsewhere.unwrap().rsplit_once('.').unwrap();
        let crossed = format!("{signed}.{foreign}");
        assert_eq!(signers.access(&crossed, Instant::now()).await, None, "{algorithm}");
    }
}

/// Signers whose keys are at a URL.
async fn of(issuer: &Issuer) -> TokenVerifier {
    TokenVerifier::open(&config(&issuer.url)).await.unwrap()
}

#[tokio::test]
async fn a_key_that_is_new_is_fetched_and_one_that_went_is_forgotten() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let signers = of(&issuer).await;
    let start = Instant::now();
    assert!(signers.access(&FIRST.plain(), start).await.is_some());
    assert_eq!(issuer.asked(), 1, "what is known is not fetched again");
    issuer.gives(&set(&[&SECOND]));
    assert!(signers.access(&SECOND.plain(), start).await.is_some());
    assert!(signers.access(&FIRST.plain(), start).await.is_none());
    assert_eq!(issuer.asked(), 2);
    // A set that is used is not used for ever.
    issuer.gives(&set(&[&FIRST]));
    let later = start + Duration::from_mins(5);
    assert!(signers.access(&SECOND.plain(), later).await.is_none(), "it went meanwhile");
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test]
async fn a_flood_of_unknown_keys_makes_one_fetch() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let signers = of(&issuer).await;
    let start = Instant::now();
    let forged = |n: usize| SECOND.token(|_, header| header.kid = Some(format!("forged-{n}")));
    let tokens: Vec<String> = (0..200).map(forged).collect();
    let all = tokens.iter().map(|token| signers.access(token, start));
    let granted = futures_util::future::join_all(all).await;
    assert!(granted.iter().all(Option::is_none));
    assert_eq!(issuer.asked(), 2, "one at the start, one for all of them");
    signers.access(&tokens[0], start + Duration::from_secs(29)).await;
    assert_eq!(issuer.asked(), 2);
    signers.access(&tokens[0], start + Duration::from_secs(30)).await;
    assert_eq!(issuer.asked(), 3);
}

#[tokio::test]
async fn a_known_key_does_not_wait_for_a_fetch() {
    // The answer after the first is held back.
    let answers = Arc::new(Semaphore::new(1));
    let issuer = Issuer::giving(&set(&[&FIRST]), Arc::clone(&answers)).await;
    let signers = Arc::new(of(&issuer).await);
    let start = Instant::now();
    issuer.gives(&set(&[&FIRST, &SECOND]));
    let waiting = tokio::spawn({
        let signers = Arc::clone(&signers);
        async move { signers.access(&SECOND.plain(), start).await }
    });
    while issuer.asked() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(signers.access(&FIRST.plain(), start).await.is_some());
    assert!(!waiting.is_finished());
    // Who began it may go: the set is fetched all the same.
    let other = tokio::spawn({
        let signers = Arc::clone(&signers);
        async move { signers.access(&SECOND.plain(), start).await }
    });
    waiting.abort();
    answers.add_permits(1);
    assert!(other.await.unwrap().is_some());
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn a_renewal_that_fails_leaves_the_set_in_use() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let signers = of(&issuer).await;
    let start = Instant::now();
    let large = format!("{{\"keys\":[],\"more\":\"{}\"}}", "x".repeat(1 << 20));
    let elsewhere = Issuer::with(&set(&[&SECOND])).await;
    let to = format!("location: {}\r\n", elsewhere.url);
    for (minutes, (status, header, body)) in (1..).zip([
        ("500 Internal Server Error", "", "{}"),
        ("302 Found", to.as_str(), ""),
        ("200 OK", "", large.as_str()),
        ("200 OK", "", "<html>"),
    ]) {
        issuer.says(status, header, body);
        let now = start + Duration::from_mins(minutes);
        assert!(signers.access(&SECOND.plain(), now).await.is_none(), "{status}");
        assert!(signers.access(&FIRST.plain(), now).await.is_some(), "{status}");
    }
    assert_eq!((issuer.asked(), elsewhere.asked()), (5, 0), "redirects are not followed");
    issuer.task.abort();
    while !issuer.task.is_finished() {
        tokio::task::yield_now().await;
    }
    let later = start + Duration::from_hours(1);
    assert!(signers.access(&FIRST.plain(), later).await.is_some(), "the server is gone");
}

#[tokio::test]
async fn a_token_cannot_say_where_its_key_is() {
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let evil = Issuer::with(&set(&[&SECOND])).await;
    let signers = of(&issuer).await;
    let token = SECOND.token(|_, header| {
        header.jku = Some(evil.url.clone());
        header.x5u = Some(evil.url.clone());
        header.kid = Some(evil.url.clone());
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": SECOND.public });
        header.jwk = Some(serde_json::from_value(key).unwrap());
    });
    assert_eq!(signers.access(&token, Instant::now()).await, None);
    let nameless = SECOND.token(|_, header| {
        header.jku = Some(evil.url.clone());
        header.kid = None;
    });
    assert_eq!(signers.access(&nameless, Instant::now()).await, None);
    assert_eq!(evil.asked(), 0);
}

#[tokio::test]
async fn a_set_that_cannot_be_fetched_at_the_start_is_named() {
    let issuer = Issuer::with("").await;
    issuer.says("302 Found", "location: http://127.0.0.1:1/\r\n", "");
    let failed = TokenVerifier::open(&config(&issuer.url)).await.unwrap_err();
    let message = haversack_store::store::error::error_chain(&failed);
    assert!(
        message.contains(&issuer.url) && message.contains("redirects are not followed"),
        "{message}"
    );
    for place in ["http://login.example/keys", "file:///etc/passwd", "https://a:b@login.example/"] {
        let refused = TokenVerifier::open(&config(place)).await.unwrap_err().to_string();
        assert!(refused.contains("cannot be fetched"), "{refused}");
        let config = crate::Config { jwt: Some(config(place)), ..crate::Config::default() };
        assert!(config.check(false).unwrap_err().to_string().starts_with("jwt.jwks: "), "{place}");
    }
}
