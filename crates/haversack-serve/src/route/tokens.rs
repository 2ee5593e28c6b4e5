//! The routes that count and check finished payloads.

use haversack::recipes::workspace::Validation;

use super::common::READ;
use super::{Method, Route, content, shape};
use crate::http::tokens::{WireCount, WireEstimate, WireValidate, estimate, validate};

const PAYLOAD: &str = r#"{"payload": {"sections": [], "metadata": {"totalTokens": 1, "blocksIncluded": 0}, "serialized": "Hello", "assembly": {"limit": 10, "tokenizer": "o200k_base"}}}"#;

pub(super) const ESTIMATE: Route = Route::new(
    Method::Post,
    "/v1/workspaces/{ws}/estimate",
    "estimateTokens",
    READ,
    "Counts the tokens of a text, or of a payload's final string, by the model's own tokenizer.",
    estimate,
)
.with_body(content(
    shape::<WireEstimate>,
    r#"{"text": "How many tokens is this?", "model": "gpt-4o"}"#,
))
.with_response(
    200,
    Some(content(
        shape::<WireCount>,
        r#"{"tokens": 6, "tokenizer": "o200k_base", "accuracy": "exact"}"#,
    )),
);

pub(super) const VALIDATE: Route = Route::new(
    Method::Post,
    "/v1/workspaces/{ws}/validate",
    "validate",
    READ,
    "Validates a payload: its budget, the caller's permissions and duplicates.",
    validate,
)
.with_body(content(shape::<WireValidate>, PAYLOAD))
.with_response(200, Some(content(shape::<Validation>, r#"{"valid": true, "problems": []}"#)));
