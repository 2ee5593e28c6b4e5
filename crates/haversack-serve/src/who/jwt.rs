//! Signed tokens: a JWT is valid if a key of the configured set signed it for this server and it has not
//! expired. Its claims grant access; everything else is denied.

use std::collections::BTreeSet;
use std::time::Instant;

use haversack::clock::SteadyClock;
use haversack_core::units::Timestamp;
use haversack_provider::DailyCap;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::keyset::{JwtError, KeySet};
use super::{Access, ActsAs, Grant, KeyScope, signature};
use crate::config::Jwt;

/// Accepted algorithms. Shared secrets and `none` are not.
const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::EdDSA,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
];

/// What the name of a signed token's credential begins with; the user follows.
pub(crate) const JWT_CREDENTIAL: &str = "jwt:";

/// How far clocks may differ, in seconds.
const LEEWAY: f64 = 60.0;

/// Verifies signed tokens.
#[derive(Debug)]
pub(crate) struct TokenVerifier {
    config: Jwt,
    keys: KeySet,
    /// An expired token does not come back when the system's clock is set back.
    clock: SteadyClock,
}

impl TokenVerifier {
    /// Reads the set of keys.
    pub(crate) async fn open(config: &Jwt) -> Result<TokenVerifier, JwtError> {
        signature::install();
        let (config, keys) = (config.clone(), KeySet::open(&config.jwks).await?);
        Ok(TokenVerifier { config, keys, clock: SteadyClock::default() })
    }

    /// What a token grants; `None` if it is invalid.
    pub(crate) async fn access(&self, token: &str, now: Instant) -> Option<Access> {
        let header = decode_header(token).ok().filter(|head| ALGORITHMS.contains(&head.alg))?;
        // Only keys of the configured set are used: URLs (`jku`, `x5u`) and keys (`jwk`, `x5c`) inside
        // a token may be forged.
        let key = self.keys.find(header.kid.as_deref(), now).await?;
        // Only the token's algorithm, which is an accepted one: a key of another type refuses it.
        let mut validation = Validation::new(header.alg);
        // The times are checked by our clock below.
        validation.validate_exp = false;
        validation.set_audience(&[&self.config.audience]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = decode::<Map<String, Value>>(token, &key, &validation).ok()?.claims;
        self.access_from(&claims).filter(|_| is_in_time(&claims, self.clock.now()))
    }

    fn access_from(&self, claims: &Map<String, Value>) -> Option<Access> {
        let user = claims.get("sub")?.as_str().filter(|user| !user.is_empty())?;
        let scopes = list(claims.get(&self.config.scopes_claim));
        let workspaces = list(claims.get(&self.config.workspaces_claim));
        Some(Access {
            credential: format!("{JWT_CREDENTIAL}{user}"),
            scopes: scopes.iter().filter_map(|name| KeyScope::from_name(name)).collect(),
            // Only API keys can grant all workspaces.
            workspaces: Grant::Only(workspaces),
            acts_as: ActsAs::User {
                name: user.to_owned(),
                groups: list(claims.get(&self.config.groups_claim)),
            },
            model_cap: DailyCap {
                tokens: self.config.model_tokens_per_day,
                cost: self.config.model_cost_per_day,
            },
        })
    }
}

/// Whether a token has begun and has not expired.
#[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^52")]
fn is_in_time(claims: &Map<String, Value>, now: Timestamp) -> bool {
    let now = now.as_millis() as f64 / 1_000.0;
    let has_begun = match claims.get("nbf") {
        Some(begin) => begin.as_f64().is_some_and(|begin| begin <= now + LEEWAY),
        None => true,
    };
    let end = claims.get("exp").and_then(Value::as_f64);
    has_begun && end.is_some_and(|end| end >= now - LEEWAY)
}

/// A claim as a list: an array of texts, or words with spaces between.
fn list(claim: Option<&Value>) -> BTreeSet<String> {
    match claim {
        Some(Value::Array(values)) => {
            values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(text)) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_valid_from_its_beginning_to_its_end_and_a_minute_more() {
        let check = |claims: Value, expected: bool| {
            let now = Timestamp::from_millis(1_000_000);
            assert_eq!(is_in_time(claims.as_object().unwrap(), now), expected, "{claims}");
        };
        check(json!({ "exp": 1_001 }), true);
        check(json!({ "exp": 940 }), true);
        check(json!({ "exp": 939 }), false);
        check(json!({ "exp": 1_000.5, "nbf": 1_060 }), true);
        check(json!({ "exp": 9_000, "nbf": 1_061 }), false);
        check(json!({ "exp": 9_000, "nbf": "soon" }), false);
        check(json!({ "exp": "never" }), false);
        check(json!({}), false);
    }
}
