//! Tokens that somebody else signs: a JWT is good when a key of the configured set signed it, for this
//! server, and its time has not passed. What its claims do not grant is denied.

use std::collections::BTreeSet;
use std::time::Instant;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::keyset::{JwtError, KeySet};
use super::{Access, Grant, Scope, Sight};
use crate::config::Jwt;

/// What may sign. Secrets that are shared, and nothing at all, may not.
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

/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 60;

/// Who signs, and what is expected of it.
#[derive(Debug)]
pub(crate) struct Signers {
    config: Jwt,
    keys: KeySet,
}

impl Signers {
    /// Reads the set of keys.
    pub(crate) async fn open(config: &Jwt) -> Result<Signers, JwtError> {
        Ok(Signers { config: config.clone(), keys: KeySet::open(&config.jwks).await? })
    }

    /// What a token grants; `None` when it is not good, whatever the reason.
    pub(crate) async fn access(&self, token: &str, now: Instant) -> Option<Access> {
        let header = decode_header(token).ok().filter(|head| ALGORITHMS.contains(&head.alg))?;
        // The key is found by its id in the configured set alone: addresses in a token (`jku`, `x5u`)
        // and keys in it (`jwk`, `x5c`) are whoever's who made it.
        let key = self.keys.find(header.kid.as_deref(), now).await?;
        // One algorithm, that of the token, which is among those that may be: a key of another sort
        // then refuses it.
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_audience(&[&self.config.audience]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = decode::<Map<String, Value>>(token, &key, &validation).ok()?.claims;
        self.granted(&claims)
    }

    fn granted(&self, claims: &Map<String, Value>) -> Option<Access> {
        let user = claims.get("sub")?.as_str().filter(|user| !user.is_empty())?;
        let scopes = list(claims.get(&self.config.scopes_claim));
        let workspaces = list(claims.get(&self.config.workspaces_claim));
        Some(Access {
            credential: format!("jwt:{user}"),
            scopes: scopes.iter().filter_map(|name| Scope::named(name)).collect(),
            // "All" is for keys of our own: nobody else knows what that comes to.
            workspaces: Grant::Only(workspaces),
            sight: Sight::User {
                name: user.to_owned(),
                groups: list(claims.get(&self.config.groups_claim)),
            },
        })
    }
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
