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

use serde::Serialize;
use serde_json::{Value, json};

pub use assembly::{Assembly, WireNotice};

use crate::error::Error;
use crate::pipeline::Assembled;
use crate::recipe::Shape;
use crate::request::Request;
use crate::wire::{WireRequest, parse_json};

/// Parses a request to a recipe from JSON. Every shape has the fields of all requests, and adds its
/// own.
///
/// # Errors
/// When a field is invalid; the error names it.
pub fn parse_request(recipe: &str, shape: Shape, value: Value) -> Result<Request, Error> {
    let value = normalise_names(value)?;
    match shape {
        Shape::Sections => parse_json::<WireRequest>(value)?.to_request(recipe),
        Shape::Proposal => parse_json::<proposal::ProposalRequest>(value)?.to_request_for(recipe),
        Shape::Prime => parse_json::<prime::PrimeRequest>(value)?.to_request_for(recipe),
        Shape::Workspace => {
            parse_json::<workspace::WorkspaceRequest>(value)?.to_request_for(recipe)
        }
        Shape::Situation => {
            parse_json::<situation::SituationRequest>(value)?.to_request_for(recipe)
        }
        Shape::Memory => parse_json::<memory::MemoryRequest>(value)?.to_request_for(recipe),
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

/// A pack in the shape of its recipe.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RecipeResult {
    /// Of `everything`, and of recipes without a shape of their own.
    Sections(sections::SectionsContext),
    /// Of `proposal`.
    Proposal(proposal::ProposalContext),
    /// Of `prime`.
    Prime(prime::PrimeAnswer),
    /// Of `workspace`.
    Workspace(workspace::WorkspaceContext),
    /// Of `situation`.
    Situation(situation::SituationContext),
    /// Of `memory`.
    Memory(memory::MemoryContext),
    /// Of `memory`, before it is used.
    MemoryPreview(memory::MemoryPreview),
}

impl RecipeResult {
    /// Makes the result of a pack. With `explain`, the ledger and the quality are included.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> RecipeResult {
        use RecipeResult as Result;
        match assembled.recipe.shape {
            Shape::Sections => {
                Result::Sections(sections::SectionsContext::from_assembled(assembled, explain))
            }
            Shape::Proposal => {
                Result::Proposal(proposal::ProposalContext::from_assembled(assembled, explain))
            }
            Shape::Prime => Result::Prime(prime::PrimeAnswer::from_assembled(assembled, explain)),
            Shape::Workspace => {
                Result::Workspace(workspace::WorkspaceContext::from_assembled(assembled, explain))
            }
            Shape::Situation => {
                Result::Situation(situation::SituationContext::from_assembled(assembled, explain))
            }
            Shape::Memory => {
                Result::Memory(memory::MemoryContext::from_assembled(assembled, explain))
            }
        }
    }

    /// Makes the result of a preview. That of memories has more fields.
    #[must_use]
    pub fn preview_from_assembled(assembled: &Assembled, explain: bool) -> RecipeResult {
        if assembled.recipe.shape == Shape::Memory {
            let preview = memory::MemoryPreview::from_assembled(assembled, explain);
            return RecipeResult::MemoryPreview(preview);
        }
        RecipeResult::from_assembled(assembled, explain)
    }

    /// The part that all results share.
    pub const fn assembly_mut(&mut self) -> &mut Assembly {
        match self {
            RecipeResult::Sections(result) => &mut result.assembly,
            RecipeResult::Proposal(result) => &mut result.assembly,
            RecipeResult::Prime(result) => &mut result.assembly,
            RecipeResult::Workspace(result) => &mut result.assembly,
            RecipeResult::Situation(result) => &mut result.assembly,
            RecipeResult::Memory(result) => &mut result.assembly,
            RecipeResult::MemoryPreview(result) => &mut result.context.assembly,
        }
    }
}

/// Converts a pack into JSON in the shape of its recipe. With `explain`, the ledger and the quality
/// are included.
#[must_use]
pub fn result_json(assembled: &Assembled, explain: bool) -> Value {
    // These shapes are plain data and do not fail. If one does, the caller still gets its text.
    serde_json::to_value(RecipeResult::from_assembled(assembled, explain))
        .unwrap_or_else(|error| json!({ "context": assembled.text(), "error": error.to_string() }))
}
