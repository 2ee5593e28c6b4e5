//! A cache of embeddings in Redis, shared by several machines. It is never needed: a server that is down or slow
//! is a miss, and callers are told once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use redis::Connection;

use crate::error::ProviderError;
use crate::protocol::TextRole;
use crate::settings::{CacheSettings, ModelRole};
use crate::usage::{Usage, UsageTotals, note_in_scope};

/// How long the server may take.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long a server that failed is left alone.
const REST: Duration = Duration::from_secs(10);

/// Vectors of one exchange.
const EXCHANGE: usize = 256;

/// Bytes of the checksum before a vector.
const CHECKSUM: usize = 8;

/// A connection to a shared cache.
pub struct SharedVectorCache {
    client: redis::Client,
    seconds: u64,
    across_workspaces: bool,
    state: Mutex<ConnectionState>,
}

#[derive(Default)]
struct ConnectionState {
    connection: Option<Connection>,
    failed: Option<Instant>,
}

impl std::fmt::Debug for SharedVectorCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.write_str("SharedVectorCache")
    }
}

impl SharedVectorCache {
    /// A cache by its settings. Nothing is connected yet.
    pub(crate) fn new(
        settings: &CacheSettings,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<SharedVectorCache, ProviderError> {
        let wrong = |what: String| ProviderError::Settings { what };
        let address = match settings.redis_env.as_str() {
            "" => settings.redis.clone(),
            variable => environment(variable).ok_or_else(|| {
                wrong(format!("cache.redis_env: the variable {variable} is not set"))
            })?,
        };
        // The library's own message repeats the address.
        let client = redis::Client::open(address)
            .map_err(|_| wrong("cache.redis: this is not a valid address of a Redis".to_owned()))?;
        Ok(SharedVectorCache {
            client,
            seconds: u64::from(settings.ttl_days) * 24 * 60 * 60,
            across_workspaces: settings.across_workspaces,
            state: Mutex::default(),
        })
    }

    /// Runs an exchange with the server; `None` when it cannot be reached.
    fn exchange<T>(
        &self,
        exchange: impl FnOnce(&mut Connection) -> redis::RedisResult<T>,
    ) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_some_and(|at| at.elapsed() < REST) {
            note_in_scope("the shared cache of embeddings cannot be reached and was not used");
            return None;
        }
        let result = match state.connection.take() {
            Some(connection) => Ok(connection),
            None => self.connect(),
        };
        let result = result.and_then(|mut connection| {
            let answer = exchange(&mut connection)?;
            Ok((connection, answer))
        });
        match result {
            Ok((connection, answer)) => {
                *state = ConnectionState { connection: Some(connection), failed: None };
                Some(answer)
            }
            Err(error) => {
                let was_up = state.failed.is_none();
                *state = ConnectionState { connection: None, failed: Some(Instant::now()) };
                if was_up {
                    let kind = error.kind();
                    tracing::warn!(?kind, "the shared cache of embeddings cannot be reached");
                }
                note_in_scope("the shared cache of embeddings cannot be reached and was not used");
                None
            }
        }
    }

    fn connect(&self) -> redis::RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    fn get(&self, keys: &[String]) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(EXCHANGE) {
            let mut command = redis::cmd("MGET");
            keys.iter().for_each(|key| {
                command.arg(key);
            });
            let part: Option<Vec<Option<Vec<u8>>>> =
                self.exchange(|connection| command.query(connection));
            let part = part.filter(|part| part.len() == keys.len());
            found.extend(part.unwrap_or_else(|| vec![None; keys.len()]));
        }
        found
    }

    fn put(&self, entries: &[(String, Vec<u8>)]) {
        for entries in entries.chunks(EXCHANGE) {
            let mut pipe = redis::pipe();
            for (key, value) in entries {
                pipe.cmd("SET").arg(key).arg(value).arg("EX").arg(self.seconds).ignore();
            }
            if self.exchange(|connection| pipe.query::<()>(connection)).is_none() {
                return;
            }
        }
    }
}

/// An embedder that looks into the shared cache first.
#[derive(Debug)]
pub struct SharedCacheEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Arc<SharedVectorCache>,
    /// What keys begin with: the model, and the workspace unless workspaces share.
    prefix: String,
    totals: Arc<UsageTotals>,
}

impl SharedCacheEmbedder {
    pub(crate) fn new(
        inner: Arc<dyn Embedder>,
        cache: Arc<SharedVectorCache>,
        workspace: &str,
        totals: Arc<UsageTotals>,
    ) -> SharedCacheEmbedder {
        let salt = if cache.across_workspaces { "" } else { workspace };
        let model = blake3::hash(inner.model().to_string().as_bytes()).to_hex();
        let salt = blake3::hash(salt.as_bytes()).to_hex();
        let prefix = format!("haversack:e1:{}:{}", &model[..16], &salt[..16]);
        SharedCacheEmbedder { inner, cache, prefix, totals }
    }

    fn key(&self, role: TextRole, text: &str) -> String {
        let role = match role {
            TextRole::Query => 'q',
            TextRole::Passage => 'p',
        };
        // The salt is hashed with the text, so that equal texts of two workspaces have unrelated keys.
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.prefix.as_bytes());
        hasher.update(text.as_bytes());
        format!("{}:{role}:{}", self.prefix, hasher.finalize().to_hex())
    }

    fn through_cache(
        &self,
        texts: &[&str],
        role: TextRole,
        embed: impl FnOnce(&[&str]) -> Result<Vec<Vector>, EmbedError>,
    ) -> Result<Vec<Vector>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = texts.iter().map(|text| self.key(role, text)).collect();
        let dimensions = self.inner.model().dimensions;
        let mut found: Vec<Option<Vector>> =
            self.cache.get(&keys).into_iter().map(|bytes| decode(&bytes?, dimensions)).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        let hits = (texts.len() - missing.len()) as u64;
        if hits > 0 {
            let usage = Usage { cache_hits: hits, ..Usage::default() };
            self.totals.record(ModelRole::Embed, &usage);
        }
        if !missing.is_empty() {
            let wanted: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
            let made = embed(&wanted)?;
            let entries: Vec<(String, Vec<u8>)> =
                missing.iter().zip(&made).map(|(at, v)| (keys[*at].clone(), encode(v))).collect();
            self.cache.put(&entries);
            for (at, vector) in missing.into_iter().zip(made) {
                found[at] = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

impl Embedder for SharedCacheEmbedder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.through_cache(texts, TextRole::Passage, |texts| self.inner.embed(texts))
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let embed = |_: &[&str]| Ok(vec![self.inner.embed_query(query)?]);
        let mut vectors = self.through_cache(&[query], TextRole::Query, embed)?;
        vectors.pop().ok_or_else(|| EmbedError::NeverRetry {
            model: self.model().clone(),
            cause: "the embedder returned no vector for the query".into(),
        })
    }
}

/// A checksum, then the numbers in single precision: a vector from the cache has the bits of a new one.
fn encode(vector: &Vector) -> Vec<u8> {
    let numbers: Vec<u8> = vector.as_slice().iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut bytes = blake3::hash(&numbers).as_bytes()[..CHECKSUM].to_vec();
    bytes.extend(numbers);
    bytes
}

/// The vector of an entry; a damaged one is a miss.
fn decode(bytes: &[u8], dimensions: usize) -> Option<Vector> {
    let (sum, numbers) = bytes.split_at_checked(CHECKSUM)?;
    if blake3::hash(numbers).as_bytes()[..CHECKSUM] != *sum {
        return None;
    }
    let (numbers, rest) = numbers.as_chunks::<4>();
    if !rest.is_empty() || numbers.len() != dimensions {
        return None;
    }
    Vector::from_unit(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_round_trips_and_a_damaged_one_is_a_miss_m5() {
        let vector = Vector::new(vec![0.3, -0.2, 0.9]).unwrap();
        let bytes = encode(&vector);
        assert_eq!(decode(&bytes, 3), Some(vector));
        assert_eq!(decode(&bytes, 4), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged, 3), None, "{at}");
        }
        assert_eq!(decode(&[], 3), None);
    }
}
