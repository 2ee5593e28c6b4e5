//! Tokens that somebody else signs: a JWT is good when a key of the configured set signed it, for this
//! server, and its time has not passed. What its claims do not grant is denied.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use thiserror::Error;

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

/// Largest set of keys in bytes.
const SET_BYTES_MAX: u64 = 1 << 20;

/// Why the set of keys cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JwtError {
    /// The file cannot be read.
    #[error("the key set {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The file is not a set of keys.
    #[error("{} is not a JSON Web Key Set", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: serde_json::Error,
    },
}

/// Who signs, and what is expected of it.
#[derive(Debug)]
pub(crate) struct Signers {
    config: Jwt,
    known: Mutex<(Option<SystemTime>, JwkSet)>,
}

impl Signers {
    /// Reads the set of keys.
    pub(crate) fn open(config: &Jwt) -> Result<Signers, JwtError> {
        let set = read(config)?;
        Ok(Signers { config: config.clone(), known: Mutex::new((changed(config), set)) })
    }

    /// What a token grants; `None` when it is not good, whatever the reason.
    pub(crate) fn access(&self, token: &str) -> Option<Access> {
        let header = decode_header(token).ok().filter(|head| ALGORITHMS.contains(&head.alg))?;
        let key = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = changed(&self.config);
            if changed != known.0 {
                // A set that cannot be read leaves the one before in use; the log says so.
                match read(&self.config) {
                    Ok(set) => *known = (changed, set),
                    Err(error) => {
                        tracing::warn!(target: "haversack", %error, "the key set was not renewed");
                        known.0 = changed;
                    }
                }
            }
            let key = match &header.kid {
                Some(id) => known.1.find(id)?,
                None => known.1.keys.first().filter(|_| known.1.keys.len() == 1)?,
            };
            DecodingKey::from_jwk(key).ok()?
        };
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

fn changed(config: &Jwt) -> Option<SystemTime> {
    std::fs::metadata(&config.jwks).and_then(|metadata| metadata.modified()).ok()
}

fn read(config: &Jwt) -> Result<JwkSet, JwtError> {
    let path = &config.jwks;
    let unread = |cause: std::io::Error| JwtError::Read { path: path.clone(), cause };
    if std::fs::metadata(path).map_err(unread)?.len() > SET_BYTES_MAX {
        return Err(unread(std::io::Error::other("it is larger than 1 MiB")));
    }
    let text = std::fs::read(path).map_err(unread)?;
    serde_json::from_slice(&text).map_err(|cause| JwtError::Form { path: path.clone(), cause })
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp};
    use serde_json::json;

    use super::*;

    /// The key pair of RFC 8037, appendix A: public for everyone, as a test key should be.
    const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const PRIVATE: &str = "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

    fn private() -> EncodingKey {
        let bytes: Vec<u8> = (0..PRIVATE.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&PRIVATE[at..at + 2], 16).unwrap())
            .collect();
        EncodingKey::from_ed_der(&bytes)
    }

    fn signers(folder: &std::path::Path) -> Signers {
        let jwks = folder.join("jwks.json");
        let key =
            json!({ "kty": "OKP", "crv": "Ed25519", "x": PUBLIC, "kid": "k", "alg": "EdDSA" });
        std::fs::write(&jwks, json!({ "keys": [key] }).to_string()).unwrap();
        let config = Jwt {
            jwks,
            issuer: "https://login.example".into(),
            audience: "haversack".into(),
            ..Jwt::default()
        };
        Signers::open(&config).unwrap()
    }

    fn token(change: impl FnOnce(&mut Value)) -> String {
        let mut claims = json!({
            "iss": "https://login.example", "aud": "haversack", "sub": "anna",
            "exp": get_current_timestamp() + 600, "scope": "read write admin-not",
            "groups": ["sales"], "workspaces": ["acme"],
        });
        change(&mut claims);
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some("k".into());
        encode(&header, &claims, &private()).unwrap()
    }

    #[test]
    fn a_good_token_grants_what_it_says_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let access = signers(folder.path()).access(&token(|_| ())).unwrap();
        assert_eq!(access.scopes, [Scope::Read, Scope::Write].into());
        assert!(access.enters("acme") && !access.enters("umbrella"));
        let groups = ["sales".to_owned()].into();
        assert_eq!(access.sight, Sight::User { name: "anna".into(), groups });
    }

    #[test]
    fn a_token_without_claims_grants_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let bare = token(|claims| {
            claims
                .as_object_mut()
                .unwrap()
                .retain(|name, _| matches!(name.as_str(), "iss" | "aud" | "sub" | "exp"));
        });
        let access = signers(folder.path()).access(&bare).unwrap();
        assert!(access.scopes.is_empty() && !access.enters("acme"));
    }

    #[test]
    fn what_is_not_for_us_or_not_signed_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let signers = signers(folder.path());
        let check = |what: &str, token: &str| assert_eq!(signers.access(token), None, "{what}");
        check("expired", &token(|claims| claims["exp"] = json!(get_current_timestamp() - 120)));
        check("for another", &token(|claims| claims["aud"] = json!("other")));
        check("by another", &token(|claims| claims["iss"] = json!("https://evil.example")));
        check("nobody's", &token(|claims| claims["sub"] = json!("")));
        check("not yet", &token(|claims| claims["nbf"] = json!(get_current_timestamp() + 600)));
        let good = token(|_| ());
        let (signed, _) = good.rsplit_once('.').unwrap();
        check("unsigned", &format!("{signed}."));
        check("nonsense", "a.b.c");
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("k".into());
        let claims = json!({ "sub": "anna" });
        let shared = EncodingKey::from_secret(PUBLIC.as_bytes());
        check("signed with the public key", &encode(&header, &claims, &shared).unwrap());
    }
}
