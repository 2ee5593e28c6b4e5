//! Scopes, examples and problems that several routes share.

use schemars::{Schema, SchemaGenerator};

use super::{MediaContent, content, shape};
use crate::codes::Code;
use crate::who::KeyScope;

pub(super) const READ: Option<KeyScope> = Some(KeyScope::Read);
pub(super) const WRITE: Option<KeyScope> = Some(KeyScope::Write);
pub(super) const ADMIN: Option<KeyScope> = Some(KeyScope::Admin);

pub(super) const WRITTEN: MediaContent =
    content(shape::<crate::wire::WireWritten>, r#"{"revision": 7, "stored": 1, "unchanged": 0}"#);

pub(super) const NEVER_CUT: &[Code] = &[
    Code::BudgetTooSmall,
    Code::RecipeNotFound,
    Code::TemplateNotFound,
    Code::ReceiptNotFound,
    Code::Embedding,
    Code::StaleVectors,
];

pub(super) const WRITES: &[Code] =
    &[Code::StorageFull, Code::StaleVectors, Code::IdTaken, Code::IdempotencyConflict];

pub(super) const RESOURCE: &str = r#"{"resource": "https://context.example.com", "authorization_servers": ["https://login.example.com"], "scopes_supported": ["read", "write", "admin", "metrics"], "bearer_methods_supported": ["header"]}"#;

/// Any JSON object.
pub(super) fn anything(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "object" })
}
