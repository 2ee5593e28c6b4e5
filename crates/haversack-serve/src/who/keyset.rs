//! The public keys that verify tokens: from a file, read again when it changes, or from a URL, fetched
//! again for unknown keys and every few minutes. Only the configured location is used, whatever a token
//! names.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::http::StatusCode;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use thiserror::Error;
use tokio::sync::watch;

use crate::client::{CallError, Client, ClientError, read_whole, secure_address};

/// Largest set of keys in bytes.
const SET_BYTES_MAX: usize = 1 << 20;

/// How old a set may be before it is fetched again.
const AGE_MAX: Duration = Duration::from_mins(5);

/// Shortest time between fetches, because forged tokens may name any key.
const FETCH_PAUSE: Duration = Duration::from_secs(30);

/// Timeout of a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the set of keys cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JwtError {
    /// The set cannot be read.
    #[error("the key set {place} cannot be read")]
    Read {
        /// The file or URL.
        place: String,
        /// Why not.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What was read is not a set of keys.
    #[error("{place} is not a JSON Web Key Set")]
    Form {
        /// The file or URL.
        place: String,
        /// Why not.
        #[source]
        cause: serde_json::Error,
    },
    /// The URL cannot be asked.
    #[error("the key set cannot be fetched")]
    Client(#[from] ClientError),
}

/// Whether a set is named by a URL.
pub(crate) fn is_url(place: &str) -> bool {
    place.contains("://")
}

/// Checks that a URL is secure, because its response decides who is authenticated.
pub(crate) fn check_url(place: &str) -> Result<(), ClientError> {
    secure_address(place).map(drop)
}

/// Checks that a file holds a set.
pub(crate) fn check_file(place: &str) -> Result<(), JwtError> {
    read(Path::new(place)).map(drop)
}

/// A set of keys.
#[derive(Debug)]
pub(super) enum KeySet {
    File(KeyFile),
    Url(Arc<KeyUrl>),
}

impl KeySet {
    /// Reads or fetches a set.
    pub(super) async fn open(place: &str) -> Result<KeySet, JwtError> {
        if is_url(place) {
            return Ok(KeySet::Url(Arc::new(KeyUrl::open(place).await?)));
        }
        Ok(KeySet::File(KeyFile::open(Path::new(place))?))
    }

    /// The key of this id, or the only one.
    pub(super) async fn find(&self, id: Option<&str>, now: Instant) -> Option<DecodingKey> {
        match self {
            KeySet::File(file) => file.find(id),
            KeySet::Url(url) => url.find(id, now).await,
        }
    }
}

fn find_key(set: &JwkSet, id: Option<&str>) -> Option<DecodingKey> {
    let signs = |key: &&Jwk| key.common.public_key_use != Some(PublicKeyUse::Encryption);
    let key = match id {
        Some(id) => set.find(id)?,
        None => set.keys.first().filter(|_| set.keys.len() == 1)?,
    };
    DecodingKey::from_jwk(Some(key).filter(signs)?).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A set in a file.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    known: Mutex<(Option<SystemTime>, JwkSet)>,
}

impl KeyFile {
    fn open(path: &Path) -> Result<KeyFile, JwtError> {
        let known = Mutex::new((modified_time(path), read(path)?));
        Ok(KeyFile { path: path.to_owned(), known })
    }

    fn find(&self, id: Option<&str>) -> Option<DecodingKey> {
        let mut known = lock(&self.known);
        let changed = modified_time(&self.path);
        if changed != known.0 {
            // If the set cannot be read, the previous one stays in use.
            match read(&self.path) {
                Ok(set) => *known = (changed, set),
                Err(error) => {
                    tracing::warn!(target: "haversack", %error, "the key set was not renewed");
                    known.0 = changed;
                }
            }
        }
        find_key(&known.1, id)
    }
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn read(path: &Path) -> Result<JwkSet, JwtError> {
    let place = || path.display().to_string();
    let unread = |cause: std::io::Error| JwtError::Read { place: place(), cause: cause.into() };
    if std::fs::metadata(path).map_err(unread)?.len() > SET_BYTES_MAX as u64 {
        return Err(unread(std::io::Error::other("it is larger than 1 MiB")));
    }
    let text = std::fs::read(path).map_err(unread)?;
    serde_json::from_slice(&text).map_err(|cause| JwtError::Form { place: place(), cause })
}

/// A set at a URL.
#[derive(Debug)]
pub(super) struct KeyUrl {
    client: Client,
    known: Mutex<CachedKeys>,
}

#[derive(Debug)]
struct CachedKeys {
    set: JwkSet,
    /// When the set was fetched.
    fetched: Instant,
    /// When the last fetch started.
    tried: Option<Instant>,
    /// Closed when that fetch ended.
    renewal: Option<watch::Receiver<()>>,
}

impl CachedKeys {
    fn is_renewing(&self) -> bool {
        self.renewal.as_ref().is_some_and(|renewal| renewal.has_changed().is_ok())
    }

    /// Whether the pause since the last fetch is over.
    fn may_fetch(&self, now: Instant) -> bool {
        let since = |tried| now.saturating_duration_since(tried) >= FETCH_PAUSE;
        !self.is_renewing() && self.tried.is_none_or(since)
    }
}

impl KeyUrl {
    async fn open(url: &str) -> Result<KeyUrl, JwtError> {
        check_url(url)?;
        let client = Client::new(url, None)?;
        let set = fetch(&client).await?;
        let known = CachedKeys { set, fetched: Instant::now(), tried: None, renewal: None };
        Ok(KeyUrl { client, known: Mutex::new(known) })
    }

    /// The key of this id. A request with an unknown key waits for a fetch, and so does the first that
    /// finds the set outdated; others do not wait.
    async fn find(self: &Arc<KeyUrl>, id: Option<&str>, now: Instant) -> Option<DecodingKey> {
        let (key, mut renewal) = {
            let mut known = lock(&self.known);
            let key = find_key(&known.set, id);
            let unknown = id.is_some() && key.is_none();
            let is_old = now.saturating_duration_since(known.fetched) >= AGE_MAX;
            let begins = (unknown || is_old) && known.may_fetch(now);
            if begins {
                known.tried = Some(now);
                known.renewal = Some(self.renew(now));
            }
            let renewal = known.renewal.clone().filter(|_| unknown || begins);
            (key, renewal)
        };
        match &mut renewal {
            None => key,
            Some(renewal) => {
                // Nothing is sent; this ends with the fetch.
                let _ = renewal.changed().await;
                find_key(&lock(&self.known).set, id)
            }
        }
    }

    /// Fetches the set in a task, independent of the request.
    fn renew(self: &Arc<KeyUrl>, now: Instant) -> watch::Receiver<()> {
        let (done, renewal) = watch::channel(());
        let keys = Arc::clone(self);
        tokio::spawn(async move {
            match fetch(&keys.client).await {
                Ok(set) => {
                    let mut known = lock(&keys.known);
                    known.set = set;
                    known.fetched = now;
                }
                Err(error) => {
                    let error = haversack_store::store::error::error_chain(&error);
                    tracing::warn!(target: "haversack", error, "the key set was not renewed");
                }
            }
            drop(done);
        });
        renewal
    }
}

async fn fetch(client: &Client) -> Result<JwkSet, JwtError> {
    let place = || client.address().to_string();
    let unread = |cause: CallError| JwtError::Read { place: place(), cause };
    let fetching = async {
        let response = client.get().await?;
        match response.status() {
            StatusCode::OK => read_whole(response.into_body(), SET_BYTES_MAX).await,
            status if status.is_redirection() => {
                Err(format!("it answered {status}, and redirects are not followed").into())
            }
            status => Err(format!("it answered {status}").into()),
        }
    };
    let text = match tokio::time::timeout(FETCH_TIMEOUT, fetching).await {
        Ok(fetched) => fetched.map_err(unread)?,
        Err(_) => return Err(unread(format!("no response within {FETCH_TIMEOUT:?}").into())),
    };
    serde_json::from_slice(&text).map_err(|cause| JwtError::Form { place: place(), cause })
}
