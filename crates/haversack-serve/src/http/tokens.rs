//! Counting and checking what was packed (W11).

use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::recipes::workspace::{Payload, WorkspaceUser};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::gate::Gate;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// Length of the parts in which a text is counted: some milliseconds each.
const PART_BYTES: usize = 128 << 10;

/// Longest text that is counted as a whole, where no place is known to split it.
const WHOLE_BYTES_MAX: usize = 1 << 20;

/// A text to count, or a payload whose final string is counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "EstimateRequest")]
pub(crate) struct WireEstimate {
    /// The text.
    text: Option<String>,
    /// The result of a build.
    payload: Option<WirePayloadText>,
    /// The model that will read the text.
    model: Option<String>,
    /// The tokenizer, if no model is named.
    tokenizer: Option<String>,
}

/// The part of a payload that is counted; other fields are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PayloadText")]
pub(crate) struct WirePayloadText {
    /// The final string, under the name that all recipes use.
    context: Option<String>,
    /// The final string, under the name that `workspace` also uses.
    serialized: Option<String>,
}

/// A token count.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Count")]
pub(crate) struct WireCount {
    /// The count.
    tokens: u32,
    /// The tokenizer that counted the tokens.
    tokenizer: String,
    /// The accuracy of the count.
    accuracy: String,
}

pub(crate) fn estimate(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        call.workspace().await?;
        let wanted: WireEstimate = call.read().await?;
        let text = match (wanted.text, wanted.payload) {
            (Some(text), None) => text,
            (None, Some(payload)) => {
                let missing = || ApiProblem::invalid("payload.serialized", "is missing");
                payload.serialized.or(payload.context).ok_or_else(missing)?
            }
            (Some(_), Some(_)) => {
                return Err(ApiProblem::invalid(
                    "text",
                    "stands beside a payload: send one of them",
                ));
            }
            (None, None) => return Err(ApiProblem::invalid("text", "is missing, or a payload is")),
        };
        let (model, name) = (wanted.model.as_deref(), wanted.tokenizer.as_deref());
        let tokenizer = call.state.engine.tokenizer_for(model, name)?;
        if text.len() > WHOLE_BYTES_MAX && !tokenizer.seams_are_proved() {
            let detail = format!(
                "{} can only count a text as a whole, and this one has {} bytes, more than \
                 {WHOLE_BYTES_MAX}: count it in parts",
                tokenizer.name(),
                text.len()
            );
            return Err(ApiProblem::new(Code::TooLarge, detail));
        }
        let tokens = count(&call.state.gate, &tokenizer, text.into()).await?;
        let accuracy = tokenizer.accuracy().to_string();
        let tokenizer = tokenizer.name().to_owned();
        json(StatusCode::OK, &WireCount { tokens: tokens.get(), tokenizer, accuracy })
    }
    .boxed()
}

/// Counts a text in parts. Between two of them others get the processor, and a request whose deadline
/// has passed ends.
async fn count(
    gate: &Gate,
    tokenizer: &Arc<dyn Tokenizer>,
    text: Arc<str>,
) -> Result<Tokens, ApiProblem> {
    let (mut units, mut counted) = (0, 0);
    while counted < text.len() {
        let (tokenizer, text) = (Arc::clone(tokenizer), Arc::clone(&text));
        let count_part = move || {
            let rest = &text[counted..];
            let end = tokenizer.part_end(rest, PART_BYTES);
            (end, tokenizer.units(&rest[..end]))
        };
        let (bytes, more) = gate.compute(on_blocking_thread(count_part)).await?;
        (counted, units) = (counted + bytes, units + more);
    }
    Ok(tokenizer.tokens(units))
}

/// A payload to validate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ValidateRequest")]
pub(crate) struct WireValidate {
    /// The result of a `workspace` build.
    payload: Payload,
    /// For whom: a name, or an object with `id` and `groups`; the key's user when left out.
    #[serde(default)]
    user: Option<WorkspaceUser>,
    /// The user's groups.
    #[serde(default)]
    groups: Vec<String>,
}

pub(crate) fn validate(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireValidate = call.read().await?;
        let (user, mut groups) = match wanted.user {
            Some(WorkspaceUser::Member { id, groups }) => (Some(id), groups),
            Some(WorkspaceUser::Name(name)) => (Some(name), Vec::new()),
            None => (None, Vec::new()),
        };
        groups.extend(wanted.groups);
        let viewer = call.identity.actor(user.as_ref(), &groups)?.viewer;
        let assembly = wanted.payload.assembly.as_ref();
        let name = assembly.map(|assembly| assembly.tokenizer.as_str());
        let tokenizer = call.state.engine.tokenizer_for(None, name)?;
        let check = workspace.validate(&wanted.payload, &viewer, tokenizer);
        let checked = call.state.gate.compute(check).await?;
        json(StatusCode::OK, &checked)
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use haversack_core::text::tokenizer::{Accuracy, CodecError};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;
    use crate::config::Limits;

    /// Counts bytes, and says when it does.
    #[derive(Debug)]
    struct Watched {
        calls: AtomicUsize,
        called: UnboundedSender<()>,
    }

    impl Tokenizer for Watched {
        fn name(&self) -> &str {
            "watched"
        }

        fn accuracy(&self) -> Accuracy {
            Accuracy::Estimate
        }

        fn units(&self, text: &str) -> u64 {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let _ = self.called.send(());
            text.len() as u64
        }

        fn seam(&self, _before: char, after: char) -> bool {
            after == ' '
        }

        fn encode(&self, _text: &str) -> Result<Vec<u32>, CodecError> {
            Err(CodecError::NoIds { name: "watched".into() })
        }

        fn decode(&self, _ids: &[u32]) -> Result<String, CodecError> {
            Err(CodecError::NoIds { name: "watched".into() })
        }
    }

    /// A request whose deadline has passed ends after the part that is being counted.
    #[tokio::test]
    async fn counting_ends_when_nobody_waits_for_it() {
        const PARTS: usize = 1_000;
        let gate = Gate::new(&Limits::default(), false);
        let (called, mut calls) = unbounded_channel();
        let watched = Arc::new(Watched { calls: AtomicUsize::new(0), called });
        let tokenizer: Arc<dyn Tokenizer> = Arc::clone(&watched) as _;
        let text: Arc<str> = format!("{} ", "x".repeat(PART_BYTES)).repeat(PARTS).into();
        tokio::select! {
            biased;
            _ = calls.recv() => {}
            _ = count(&gate, &tokenizer, text) => panic!("it was counted to the end"),
        }
        drop(tokenizer);
        while Arc::strong_count(&watched) > 1 {
            tokio::task::yield_now().await;
        }
        let counted = watched.calls.load(Ordering::Relaxed);
        assert!(counted < PARTS / 10, "{counted} parts were counted");
    }
}
