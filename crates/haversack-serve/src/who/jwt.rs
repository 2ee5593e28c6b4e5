//! Signed tokens: a JWT is valid if a key of the configured set signed it for this server and it has not
//! expired. Its claims grant access; everything else is denied.

use std::collections::BTreeSet;
use std::time::Instant;

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
const LEEWAY: u64 = 60;

/// Verifies signed tokens.
#[derive(Debug)]
pub(crate) struct TokenVerifier {
    config: Jwt,
    keys: KeySet,
}

impl TokenVerifier {
    /// Reads the set of keys.
    pub(crate) async fn open(config: &Jwt) -> Result<TokenVerifier, JwtError> {
        signature::install();
        Ok(TokenVerifier { config: config.clone(), keys: KeySet::open(&config.jwks).await? })
    }

    /// What a token grants; `None` if it is invalid.
    pub(crate) async fn access(&self, token: &str, now: Instant) -> Option<Access> {
        let header = decode_header(token).ok().filter(|head| ALGORITHMS.contains(&head.alg))?;
        // Only keys of the configured set are used: URLs (`jku`, `x5u`) and keys (`jwk`, `x5c`) inside
        // a token may be forged.
        let key = self.keys.find(header.kid.as_deref(), now).await?;
        // Only the token's algorithm, which is an accepted one: a key of another type refuses it.
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_audience(&[&self.config.audience]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = decode::<Map<String, Value>>(token, &key, &validation).ok()?.claims;
        self.access_from(&claims)
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
