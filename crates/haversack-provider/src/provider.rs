//! A configured provider: every call has a deadline, waits for its turn, is retried when that may help, and is
//! refused at once when the provider keeps failing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use serde_json::Value;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::breaker::Breaker;
use crate::error::{ProviderError, error_message, is_transient_status};
use crate::http::{Client, address_for, read_whole};
use crate::limits::RateLimiter;
use crate::protocol::{self, Outgoing, Protocol};
use crate::settings::ProviderSettings;

/// Most bytes of an answer: 2,000 vectors of 4,096 numbers as text.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// Most bytes of an error body that are read.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The first pause before a retry; it doubles each time.
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(20);

/// The longest pause that a provider may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(120);

/// The threads on which all calls are made, apart from the caller's own runtime, if it has one: an embedder is
/// also called where there is none.
#[derive(Debug)]
pub(crate) struct CallRuntime(Option<Runtime>);

impl CallRuntime {
    pub(crate) fn start() -> Result<CallRuntime, ProviderError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("haversack-models")
            .enable_all()
            .build()
            .map_err(|error| ProviderError::Settings {
                what: format!("no thread for calls to models could be started: {error}"),
            })?;
        Ok(CallRuntime(Some(runtime)))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime is taken only when this is dropped").handle()
    }
}

impl Drop for CallRuntime {
    fn drop(&mut self) {
        // A runtime must not be waited for inside another one.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A configured provider.
pub(crate) struct Provider {
    name: String,
    pub(crate) protocol: &'static dyn Protocol,
    client: Client,
    /// The base URLs to try, and which of them answered.
    bases: Vec<String>,
    base: AtomicUsize,
    /// The query string of the base URL.
    query: String,
    headers: HeaderMap,
    key: Option<String>,
    settings: ProviderSettings,
    slots: Semaphore,
    rate: RateLimiter,
    breaker: Breaker,
    runtime: Arc<CallRuntime>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a call returned.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) value: Value,
    pub(crate) url: String,
    /// Attempts that were made.
    pub(crate) attempts: u64,
    pub(crate) time: Duration,
}

/// A call that failed, and what it cost.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Box<ProviderError>,
    /// The request field that the provider names as the cause.
    pub(crate) parameter: Option<String>,
    /// The answer reached the limit of tokens.
    pub(crate) is_cut: bool,
    pub(crate) attempts: u64,
    pub(crate) time: Duration,
}

/// One attempt that failed.
struct AttemptError {
    error: ProviderError,
    parameter: Option<String>,
}

impl From<ProviderError> for AttemptError {
    fn from(error: ProviderError) -> AttemptError {
        AttemptError { error, parameter: None }
    }
}

impl Provider {
    pub(crate) fn new(
        name: &str,
        settings: &ProviderSettings,
        runtime: Arc<CallRuntime>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Provider, ProviderError> {
        let wrong =
            |what: String| ProviderError::Settings { what: format!("providers.{name}.{what}") };
        let protocol = protocol::find(&settings.protocol)
            .ok_or_else(|| wrong(format!("protocol: {:?} is unknown", settings.protocol)))?;
        let key = match settings.api_key_env.as_str() {
            "" => None,
            variable => {
                Some(environment(variable).filter(|key| !key.trim().is_empty()).ok_or_else(
                    || wrong(format!("api_key_env: the variable {variable} is not set")),
                )?)
            }
        };
        let headers = settings.resolved_headers(environment).map_err(&wrong)?;
        let has_secret = key.is_some() || !headers.is_empty();
        let url = settings.url(protocol);
        address_for(url, has_secret).map_err(|error| wrong(format!("base_url: {error}")))?;
        let client = Client::new(url, None).map_err(|error| wrong(format!("base_url: {error}")))?;
        let (bases, query) = base_urls(url, protocol.prefixes());
        let headers = header_map(protocol, key.as_deref(), &headers).map_err(&wrong)?;
        let limit = |limit: u32| (limit > 0).then_some(limit);
        Ok(Provider {
            name: name.to_owned(),
            protocol,
            client,
            bases,
            base: AtomicUsize::new(0),
            query,
            headers,
            key: key.map(|key| key.trim().to_owned()),
            settings: settings.clone(),
            slots: Semaphore::new(settings.concurrency),
            rate: RateLimiter::new(limit(settings.rpm), limit(settings.tpm), Instant::now()),
            breaker: Breaker::default(),
            runtime,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where the provider is, without its query.
    pub(crate) fn base(&self) -> &str {
        self.bases.first().map_or("", String::as_str)
    }

    /// The time that one attempt may take.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.settings.timeout)
    }

    /// An error about an answer that cannot be used.
    pub(crate) fn malformed(&self, url: &str, what: String) -> ProviderError {
        ProviderError::Malformed { provider: self.name.clone(), url: url.to_owned(), what }
    }

    /// Makes a call and blocks this thread until it is answered. `tokens` estimates its size, and `within` is the
    /// time for everything, waiting and retries included.
    pub(crate) fn call_blocking(
        self: &Arc<Self>,
        outgoing: Outgoing,
        tokens: u64,
        within: Duration,
    ) -> Result<Answered, Failed> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let provider = Arc::clone(self);
        let call = async move {
            // The receiver waits as long as this thread lives.
            let _ = sender.send(provider.call(&outgoing, tokens, within).await);
        };
        self.runtime.handle().spawn(call);
        receiver.recv().unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Makes a call from async code. Dropping the future cancels the call.
    pub(crate) async fn call_async(
        self: &Arc<Self>,
        outgoing: Outgoing,
        tokens: u64,
        within: Duration,
    ) -> Result<Answered, Failed> {
        let provider = Arc::clone(self);
        let call = async move { provider.call(&outgoing, tokens, within).await };
        let mut call = AbortOnDrop(self.runtime.handle().spawn(call));
        (&mut call.0).await.unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Runs a task on the calls' own threads.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.handle().spawn(task);
    }

    fn stopped(&self) -> Failed {
        let error = ProviderError::Queued { provider: self.name.clone(), what: "a thread" };
        Failed {
            error: Box::new(error),
            parameter: None,
            is_cut: false,
            attempts: 0,
            time: Duration::ZERO,
        }
    }

    /// Makes a call. Must run on the calls' own threads.
    pub(crate) async fn call(
        &self,
        outgoing: &Outgoing,
        tokens: u64,
        within: Duration,
    ) -> Result<Answered, Failed> {
        let start = Instant::now();
        let deadline = start + within;
        let body = Bytes::from(outgoing.body.to_string());
        let mut attempts = 0;
        loop {
            let tried = self.attempt(outgoing, &body, tokens, deadline, &mut attempts).await;
            let AttemptError { error, parameter } = match tried {
                Ok((value, url)) => {
                    return Ok(Answered { value, url, attempts, time: start.elapsed() });
                }
                Err(failed) => failed,
            };
            let pause = self.pause_before_retry(&error, attempts);
            let now = Instant::now();
            match pause.filter(|pause| now + *pause < deadline) {
                Some(pause) => {
                    tracing::debug!(
                        provider = self.name, error = %error, pause_ms = pause.as_millis(), "a call is retried"
                    );
                    tokio::time::sleep(pause).await;
                }
                None => {
                    let (error, time) = (Box::new(error), start.elapsed());
                    return Err(Failed { error, parameter, is_cut: false, attempts, time });
                }
            }
        }
    }

    /// How long to wait before the next attempt; `None` when there is none.
    fn pause_before_retry(&self, error: &ProviderError, attempts: u64) -> Option<Duration> {
        let is_worth_it = match error {
            ProviderError::Unreachable { .. } | ProviderError::Timeout { .. } => true,
            ProviderError::Refused { status, .. } => is_transient_status(*status),
            _ => false,
        };
        if !is_worth_it || attempts > u64::from(self.settings.retries) {
            return None;
        }
        let doubled = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(10);
        let backoff = (BACKOFF_FIRST * 2_u32.pow(doubled)).min(BACKOFF_MAX);
        let asked = match error {
            ProviderError::Refused { retry_after, .. } => *retry_after,
            _ => None,
        };
        match asked {
            // Whoever asks for more is not waited for.
            Some(asked) if asked > RETRY_AFTER_MAX => None,
            // A little later than asked, so that many callers do not come back at once.
            Some(asked) => Some(asked + backoff.mul_f64(0.2 * random_share())),
            None => Some(backoff.mul_f64(0.5 + 0.5 * random_share())),
        }
    }

    /// Waits for a turn and sends the request once.
    async fn attempt(
        &self,
        outgoing: &Outgoing,
        body: &Bytes,
        tokens: u64,
        deadline: Instant,
        attempts: &mut u64,
    ) -> Result<(Value, String), AttemptError> {
        let queued = |what| ProviderError::Queued { provider: self.name.clone(), what };
        let left = |now: Instant| deadline.saturating_duration_since(now);
        let slot = timeout(left(Instant::now()), self.slots.acquire()).await;
        let _slot = slot.map_err(|_| queued("a free call"))?.map_err(|_| queued("a free call"))?;
        while let Some(wait) = self.rate.take(tokens, Instant::now()) {
            if wait > left(Instant::now()) {
                return Err(queued("the rate limit").into());
            }
            tokio::time::sleep(wait).await;
        }
        self.breaker
            .admit(Instant::now())
            .map_err(|wait| ProviderError::CircuitOpen { provider: self.name.clone(), wait })?;
        let trial = TrialGuard(Some(&self.breaker));
        *attempts += 1;
        let result = self.send(outgoing, body, left(Instant::now())).await;
        trial.keep();
        match &result {
            Ok(_) => self.breaker.succeed(),
            // An answer that says what is wrong with the request is a sign of life.
            Err(AttemptError { error, .. }) if !error.is_transient() => self.breaker.succeed(),
            Err(_) => self.breaker.fail(Instant::now()),
        }
        result
    }

    /// Sends a request to the base URL that answered before, or to each in turn until one has the path.
    async fn send(
        &self,
        outgoing: &Outgoing,
        body: &Bytes,
        left: Duration,
    ) -> Result<(Value, String), AttemptError> {
        let first = self.base.load(Ordering::Relaxed).min(self.bases.len() - 1);
        let mut result = self.send_to(first, outgoing, body, left).await;
        let is_missing = |result: &Result<_, AttemptError>| {
            matches!(result, Err(AttemptError { error: ProviderError::Refused { status, .. }, .. })
                if *status == StatusCode::NOT_FOUND || *status == StatusCode::METHOD_NOT_ALLOWED)
        };
        for base in (0..self.bases.len()).filter(|base| *base != first) {
            if !is_missing(&result) {
                break;
            }
            let other = self.send_to(base, outgoing, body, left).await;
            if !is_missing(&other) {
                self.base.store(base, Ordering::Relaxed);
                result = other;
            }
        }
        result
    }

    async fn send_to(
        &self,
        base: usize,
        outgoing: &Outgoing,
        body: &Bytes,
        left: Duration,
    ) -> Result<(Value, String), AttemptError> {
        let shown = format!("{}{}", self.bases[base], outgoing.path);
        let unreachable = |cause| ProviderError::Unreachable {
            provider: self.name.clone(),
            url: shown.clone(),
            cause,
        };
        let uri: Uri = format!("{shown}{}", self.query)
            .parse()
            .map_err(|_| self.malformed(&shown, "the URL is not valid".to_owned()))?;
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        request.headers_mut().clone_from(&self.headers);
        let patience = self.timeout().min(left);
        let exchange = async {
            let response = self.client.send(request).await.map_err(unreachable)?;
            let (head, body) = response.into_parts();
            let limit = if head.status.is_success() { ANSWER_BYTES_MAX } else { ERROR_BYTES_MAX };
            match read_whole(body, limit).await {
                Ok(body) => Ok((head, body)),
                // The status of an error says enough.
                Err(_) if !head.status.is_success() => Ok((head, Bytes::new())),
                Err(cause) => Err(unreachable(cause)),
            }
        };
        let (head, answer) = timeout(patience, exchange).await.map_err(|_| {
            let (provider, url) = (self.name.clone(), shown.clone());
            ProviderError::Timeout { provider, url, after: patience }
        })??;
        if head.status.is_success() {
            let value = serde_json::from_slice(&answer).map_err(|error| {
                self.malformed(&shown, format!("it is not JSON (line {})", error.line()))
            })?;
            return Ok((value, shown));
        }
        let mut sent = Vec::new();
        texts_in(&outgoing.body, &mut sent);
        let error = ProviderError::Refused {
            provider: self.name.clone(),
            url: shown,
            status: head.status,
            detail: error_message(&answer, &sent, self.key.as_deref()),
            retry_after: retry_after(&head.headers, SystemTime::now()),
        };
        Err(AttemptError { error, parameter: named_parameter(&answer) })
    }
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Gives the breaker's trial back when the call is cancelled.
struct TrialGuard<'a>(Option<&'a Breaker>);

impl TrialGuard<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for TrialGuard<'_> {
    fn drop(&mut self) {
        if let Some(breaker) = self.0 {
            breaker.forget_trial();
        }
    }
}

/// The base URLs to try, and the query string of the URL. A URL with a version of its own is used as it is.
fn base_urls(url: &str, prefixes: &[&str]) -> (Vec<String>, String) {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url, String::new()),
    };
    let path = path.trim_end_matches('/');
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let after_host = path.split_once("://").map_or(path, |(_, rest)| rest);
    let mut parts = after_host.split('/').skip(1);
    let ends_in_prefix = |prefix: &&str| !prefix.is_empty() && path.ends_with(*prefix);
    if parts.any(is_version) || prefixes.iter().any(ends_in_prefix) {
        return (vec![path.to_owned()], query);
    }
    (prefixes.iter().map(|prefix| format!("{path}{prefix}")).collect(), query)
}

fn header_map(
    protocol: &dyn Protocol,
    key: Option<&str>,
    own: &[(String, String)],
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("haversack"));
    for (name, value) in protocol.headers() {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    let secret = |value: &str| {
        let mut value = HeaderValue::from_str(value.trim()).ok()?;
        value.set_sensitive(true);
        Some(value)
    };
    if let Some(key) = key {
        let (name, value) = protocol.key_header(key.trim());
        let value = secret(&value).ok_or("api_key_env: the key holds more than visible ASCII")?;
        headers.insert(name, value);
    }
    for (name, value) in own {
        let header = HeaderName::from_bytes(name.as_bytes());
        let header = header.map_err(|_| format!("headers.{name}: not a name of a header"))?;
        let value = secret(value).ok_or_else(|| format!("headers.{name}: not a valid value"))?;
        headers.insert(header, value);
    }
    Ok(headers)
}

/// The pause that a provider asks for, in seconds, milliseconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Some(Duration::from_secs_f64((millis / 1_000.0).min(1e6)));
    }
    let given = text("retry-after")?;
    if let Some(seconds) = number(given) {
        return Some(Duration::from_secs_f64(seconds.min(1e6)));
    }
    let at = httpdate::parse_http_date(given).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// The request field that an error body names as its cause.
fn named_parameter(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    value.pointer("/error/param").and_then(Value::as_str).map(str::to_owned)
}

/// All texts in a body.
fn texts_in<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_in(value, texts)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            // The model's name is in the settings, and errors may name it.
            if name != "model" {
                texts_in(value, texts);
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A random number between 0 and 1.
fn random_share() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_works_with_and_without_its_version() {
        let check = |url: &str, prefixes: &[&str], expected: &[&str]| {
            assert_eq!(base_urls(url, prefixes).0, expected, "{url}");
        };
        let openai = &["/v1", ""][..];
        check("http://a:1", openai, &["http://a:1/v1", "http://a:1"]);
        check("http://a:1/", openai, &["http://a:1/v1", "http://a:1"]);
        check("http://a:1/v1", openai, &["http://a:1/v1"]);
        check("http://a:1/v1/", openai, &["http://a:1/v1"]);
        check("https://a/v1beta/openai", openai, &["https://a/v1beta/openai"]);
        check("https://a/api", openai, &["https://a/api/v1", "https://a/api"]);
        check("http://a:1/api", &["/api"], &["http://a:1/api"]);
        let (bases, query) = base_urls("https://a/openai/deployments/d?api-version=1", &[""]);
        assert_eq!(
            (bases[0].as_str(), &*query),
            ("https://a/openai/deployments/d", "?api-version=1")
        );
    }

    #[test]
    fn a_pause_is_read_in_all_its_forms() {
        let now = httpdate::parse_http_date("Wed, 18 Nov 2026 12:00:00 GMT").unwrap();
        let check = |name: &'static str, value: &str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            assert_eq!(
                retry_after(&headers, now),
                expected.map(Duration::from_millis),
                "{name}: {value}"
            );
        };
        check("retry-after", "2", Some(2_000));
        check("retry-after", "0.5", Some(500));
        check("retry-after-ms", "70", Some(70));
        check("retry-after", "Wed, 18 Nov 2026 12:00:09 GMT", Some(9_000));
        check("retry-after", "Wed, 18 Nov 2026 11:00:00 GMT", Some(0));
        check("retry-after", "soon", None);
        check("retry-after", "-4", None);
    }
}
