//! Requests and results of the five applications, under the names of their own documents.
//!
//! Each application has a request type that is converted into a [`crate::Request`], and a result
//! type that is made from an [`Assembled`]. Every result has the final string under `context` and
//! the shared part under `assembly`.

mod assembly;
pub mod memory;
pub mod prime;
pub mod proposal;
pub mod sections;
pub mod situation;
mod validation;
pub mod workspace;

use serde_json::{Value, json};

pub use assembly::{Assembly, WireNotice};

use crate::error::Error;
use crate::pipeline::Assembled;
use crate::recipe::Shape;
use crate::request::Request;
use crate::wire::{WireRequest, read};

/// Parses a request to a recipe from JSON. Every shape has the fields of all requests, and adds its
/// own.
///
/// # Errors
/// When a field is invalid; the error names it.
pub fn parse_request(recipe: &str, shape: Shape, value: Value) -> Result<Request, Error> {
    let value = normalise_names(value)?;
    match shape {
        Shape::Sections => read::<WireRequest>(value)?.request(recipe),
        Shape::Proposal => read::<proposal::ProposalRequest>(value)?.to_request_for(recipe),
        Shape::Prime => read::<prime::PrimeRequest>(value)?.to_request_for(recipe),
        Shape::Workspace => read::<workspace::WorkspaceRequest>(value)?.to_request_for(recipe),
        Shape::Situation => read::<situation::SituationRequest>(value)?.to_request_for(recipe),
        Shape::Memory => read::<memory::MemoryRequest>(value)?.to_request_for(recipe),
    }
}

/// Converts the names of the applications' own documents: moves the fields of `options` into the
/// request, renames `userId` to `user`, and drops the organisation, which is the workspace here.
fn normalise_names(mut value: Value) -> Result<Value, Error> {
    let Value::Object(fields) = &mut value else { return Ok(value) };
    match fields.shift_remove("options") {
        None | Some(Value::Null) => {}
        Some(Value::Object(options)) => {
            for (name, option) in options {
                if fields.contains_key(&name) {
                    let message = format!("{name} is said twice, there and in the request");
                    return Err(Error::invalid(format!("options.{name}"), message));
                }
                fields.insert(name, option);
            }
        }
        Some(_) => return Err(Error::invalid("options", "is not an object")),
    }
    fields.shift_remove("organizationId");
    fields.shift_remove("workspaceId");
    if let Some(user) = fields.shift_remove("userId") {
        match fields.get("user") {
            Some(same) if *same != user => {
                return Err(Error::invalid("userId", "is another one than user"));
            }
            _ => {
                fields.insert("user".to_owned(), user);
            }
        }
    }
    Ok(value)
}

/// Converts a pack into JSON in the shape of its recipe. With `explain`, the ledger and the quality
/// are included.
#[must_use]
pub fn result_json(assembled: &Assembled, explain: bool) -> Value {
    let result = match assembled.recipe.shape {
        Shape::Sections => {
            serde_json::to_value(sections::SectionsContext::from_assembled(assembled, explain))
        }
        Shape::Proposal => {
            serde_json::to_value(proposal::ProposalContext::from_assembled(assembled, explain))
        }
        Shape::Prime => {
            serde_json::to_value(prime::PrimeAnswer::from_assembled(assembled, explain))
        }
        Shape::Workspace => {
            serde_json::to_value(workspace::WorkspaceContext::from_assembled(assembled, explain))
        }
        Shape::Situation => {
            serde_json::to_value(situation::SituationContext::from_assembled(assembled, explain))
        }
        Shape::Memory => {
            serde_json::to_value(memory::MemoryContext::from_assembled(assembled, explain))
        }
    };
    // These shapes are plain data and do not fail. If one does, the caller still gets its text.
    result
        .unwrap_or_else(|error| json!({ "context": assembled.text(), "error": error.to_string() }))
}

/// Converts a pack into JSON bytes as [`result_json`] does, without building the document first.
///
/// # Errors
/// Only if writing JSON fails, which it does not for plain data.
pub fn result_bytes(assembled: &Assembled, explain: bool) -> serde_json::Result<Vec<u8>> {
    match assembled.recipe.shape {
        Shape::Sections => {
            serde_json::to_vec(&sections::SectionsContext::from_assembled(assembled, explain))
        }
        Shape::Proposal => {
            serde_json::to_vec(&proposal::ProposalContext::from_assembled(assembled, explain))
        }
        Shape::Prime => serde_json::to_vec(&prime::PrimeAnswer::from_assembled(assembled, explain)),
        Shape::Workspace => {
            serde_json::to_vec(&workspace::WorkspaceContext::from_assembled(assembled, explain))
        }
        Shape::Situation => {
            serde_json::to_vec(&situation::SituationContext::from_assembled(assembled, explain))
        }
        Shape::Memory => {
            serde_json::to_vec(&memory::MemoryContext::from_assembled(assembled, explain))
        }
    }
}
