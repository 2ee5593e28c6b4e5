//! Why a call to a provider failed, and what of its answer may be shown.

use std::error::Error as StdError;
use std::time::Duration;

use haversack_core::units::Timestamp;
use hyper::StatusCode;
use serde_json::Value;
use thiserror::Error;

/// Most characters of a provider's own message.
const MESSAGE_CHARS_MAX: usize = 240;

/// How many bytes of a request's text a message may repeat.
const ECHO_BYTES_MAX: usize = 16;

/// How many bytes of a key a word of a message may repeat.
const KEY_BYTES_MAX: usize = 5;

/// Why a call to a provider failed. No variant holds a key or a text that was sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// No complete response arrived.
    #[error("{provider}: no answer from {url}")]
    Unreachable {
        /// The provider's name in the settings.
        provider: String,
        /// The URL that was called.
        url: String,
        /// The cause.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The provider took too long.
    #[error("{provider}: no answer from {url} within {} ms", after.as_millis())]
    Timeout {
        /// The provider's name in the settings.
        provider: String,
        /// The URL that was called.
        url: String,
        /// The time it had.
        after: Duration,
    },
    /// The provider answered with an error status.
    #[error("{provider}: {url} answered {status}{}", shown_detail(detail.as_deref()))]
    Refused {
        /// The provider's name in the settings.
        provider: String,
        /// The URL that was called.
        url: String,
        /// The status.
        status: StatusCode,
        /// The provider's own message, shortened, without texts or keys.
        detail: Option<String>,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider answered with something that is not what was asked for.
    #[error("{provider}: the answer of {url} cannot be used: {what}")]
    Malformed {
        /// The provider's name in the settings.
        provider: String,
        /// The URL that was called.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// The provider failed too often lately and is not called for a while.
    #[error("{provider}: not called, because its last calls failed; next try in {} s", wait.as_secs().max(1))]
    CircuitOpen {
        /// The provider's name in the settings.
        provider: String,
        /// When it is called again.
        wait: Duration,
    },
    /// The deadline passed while the call waited for its turn.
    #[error(
        "{provider}: the deadline passed while waiting for {what}; raise it in the settings or call less"
    )]
    Queued {
        /// The provider's name in the settings.
        provider: String,
        /// What was waited for.
        what: &'static str,
    },
    /// A cap on what somebody uses of models in a day leaves no room for the call, which was not made.
    #[error(
        "{owner} has used {used} of its {limit} for models, which leaves too little for this call; the cap is \
         lifted at {until}"
    )]
    CapReached {
        /// Whose cap it is, such as `workspace acme` or `key 1f3a`.
        owner: String,
        /// What was used.
        used: String,
        /// The limit, with what it counts.
        limit: String,
        /// When the day ends.
        until: Timestamp,
    },
    /// The settings ask for something that cannot be done.
    #[error("{what}")]
    Settings {
        /// What is wrong.
        what: String,
    },
}

fn shown_detail(detail: Option<&str>) -> String {
    detail.map(|detail| format!(": {detail}")).unwrap_or_default()
}

impl ProviderError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            ProviderError::Unreachable { .. }
            | ProviderError::Timeout { .. }
            | ProviderError::CircuitOpen { .. }
            | ProviderError::CapReached { .. }
            | ProviderError::Queued { .. } => true,
            ProviderError::Refused { status, .. } => is_transient_status(*status),
            ProviderError::Malformed { .. } | ProviderError::Settings { .. } => false,
        }
    }

    /// Whether a smaller request may succeed: the provider says that this one was too large, or
    /// rejects it without saying why.
    #[must_use]
    pub fn may_be_too_large(&self) -> bool {
        matches!(self, ProviderError::Refused { status, .. }
            if matches!(status.as_u16(), 400 | 413 | 422))
    }

    /// The error and its causes in one line.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut source = self.source();
        while let Some(cause) = source {
            line.push_str(": ");
            line.push_str(&cause.to_string());
            source = cause.source();
        }
        line
    }
}

/// Whether a status says that a later call may succeed.
pub(crate) fn is_transient_status(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 425 | 429 | 500..=599)
}

/// Extracts the message of an error body: shortened, on one line, without anything that was sent.
///
/// Only fields that hold messages are read, because some servers return the whole request in their
/// error bodies. A message that repeats a part of the request is not shown at all.
pub(crate) fn error_message(body: &[u8], sent: &[&str], key: Option<&str>) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let shown: String = message_in(&value)?
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MESSAGE_CHARS_MAX)
        .collect();
    if repeats_any(&shown, sent) {
        return Some("(its message repeats the request and is not shown)".to_owned());
    }
    let words = shown.split_whitespace().map(|word| {
        let is_secret = word.contains("***") || key.is_some_and(|key| holds_part_of(word, key));
        if is_secret { "[redacted]" } else { word }
    });
    Some(words.collect::<Vec<_>>().join(" ")).filter(|shown| !shown.is_empty())
}

/// The message of an error body, in the places where servers put it.
fn message_in(value: &Value) -> Option<String> {
    let at = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let listed = || {
        let messages = value.get("detail")?.as_array()?.iter();
        let messages: Vec<&str> =
            messages.filter_map(|one| one.get("msg").and_then(Value::as_str)).take(3).collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    };
    at("/error/message")
        .or_else(|| at("/error"))
        .or_else(|| at("/message"))
        .or_else(|| at("/detail"))
        .or_else(|| at("/0/error/message"))
        .or_else(listed)
}

/// Whether a message holds a stretch of one of these texts.
fn repeats_any(shown: &str, texts: &[&str]) -> bool {
    let bytes = shown.as_bytes();
    let contains =
        |text: &str, part: &[u8]| text.as_bytes().windows(part.len()).any(|window| window == part);
    texts.iter().any(|text| match text.len() {
        0..=3 => false,
        // A short text is repeated when it stands there whole.
        length if length <= ECHO_BYTES_MAX => shown.contains(*text),
        _ => bytes.windows(ECHO_BYTES_MAX + 1).any(|part| contains(text, part)),
    })
}

fn holds_part_of(word: &str, key: &str) -> bool {
    let (word, key) = (word.as_bytes(), key.as_bytes());
    if key.len() <= KEY_BYTES_MAX {
        return word.windows(key.len().max(1)).any(|part| part == key);
    }
    word.windows(KEY_BYTES_MAX + 1)
        .any(|part| key.windows(KEY_BYTES_MAX + 1).any(|window| window == part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, sent: &[&str], key: Option<&str>, expected: Option<&str>) {
        assert_eq!(error_message(body.as_bytes(), sent, key).as_deref(), expected, "{body}");
    }

    #[test]
    fn an_error_message_is_found_where_servers_put_it() {
        check(r#"{"error": {"message": "no such model"}}"#, &[], None, Some("no such model"));
        check(r#"{"error": "model \"x\" not found"}"#, &[], None, Some("model \"x\" not found"));
        check(r#"{"message": "too\nmany"}"#, &[], None, Some("too many"));
        check(r#"{"detail": "not here"}"#, &[], None, Some("not here"));
        check(r#"[{"error": {"message": "bad key"}}]"#, &[], None, Some("bad key"));
        check("<html>busy</html>", &[], None, None);
        check("{}", &[], None, None);
    }

    #[test]
    fn an_error_message_repeats_neither_texts_nor_keys() {
        let text = "Anna's salary is 90,000 and nobody may know";
        let listed = format!(r#"{{"detail": [{{"msg": "List too long", "input": ["{text}"]}}]}}"#);
        check(&listed, &[text], None, Some("List too long"));
        let quoted = format!(r#"{{"error": {{"message": "cannot embed: {text}"}}}}"#);
        let hidden = Some("(its message repeats the request and is not shown)");
        check(&quoted, &[text], None, hidden);
        check(r#"{"message": "got salary is 90,000 and"}"#, &[text], None, hidden);
        let key = "sk-proj-0123456789abcdef";
        let shown = Some("Incorrect API key: [redacted] or [redacted]");
        let masked = r#"{"message": "Incorrect API key: sk-proj-****cdef or 456789ab"}"#;
        check(masked, &[], Some(key), shown);
    }

    #[test]
    fn an_error_message_is_cut() {
        let long = format!(r#"{{"message": "{}"}}"#, "x".repeat(10_000));
        let shown = error_message(long.as_bytes(), &[], None).unwrap();
        assert_eq!(shown.len(), MESSAGE_CHARS_MAX);
    }
}
