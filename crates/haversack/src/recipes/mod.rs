//! The five applications: what each asks and gets back, under the names of its own documents.
//!
//! Each has a `Request` that becomes a [`crate::Request`], and a `Context` that is made from what
//! was [assembled](Assembled). What all share stands under one key, `assembly`, and the final
//! string under `context`.

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

/// Reads a request for a recipe of a certain shape from JSON. What every recipe can be asked is
/// understood by all; each shape's own names come on top.
///
/// # Errors
/// When a field is wrong; the error names it.
pub fn request_of(recipe: &str, shape: Shape, value: Value) -> Result<Request, Error> {
    let value = in_our_names(value)?;
    match shape {
        Shape::Sections => read::<WireRequest>(value)?.request(recipe),
        Shape::Proposal => read::<proposal::Request>(value)?.request_to(recipe),
        Shape::Prime => read::<prime::Request>(value)?.request_to(recipe),
        Shape::Workspace => read::<workspace::Request>(value)?.request_to(recipe),
        Shape::Situation => read::<situation::Request>(value)?.request_to(recipe),
        Shape::Memory => read::<memory::Request>(value)?.request_to(recipe),
    }
}

/// The applications' own documents put options into an object of their own, call the asker
/// `userId`, and name the organisation, which here is the workspace.
fn in_our_names(mut value: Value) -> Result<Value, Error> {
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

/// What was assembled, as JSON in the shape of its recipe. With `explain` the ledger and the
/// quality are told as well.
#[must_use]
pub fn result_of(assembled: &Assembled, explain: bool) -> Value {
    let result = match assembled.recipe.shape {
        Shape::Sections => serde_json::to_value(sections::Context::of(assembled, explain)),
        Shape::Proposal => serde_json::to_value(proposal::Context::of(assembled, explain)),
        Shape::Prime => serde_json::to_value(prime::Answer::of(assembled, explain)),
        Shape::Workspace => serde_json::to_value(workspace::Context::of(assembled, explain)),
        Shape::Situation => serde_json::to_value(situation::Context::of(assembled, explain)),
        Shape::Memory => serde_json::to_value(memory::Context::of(assembled, explain)),
    };
    // These shapes are plain data; should one fail all the same, its text is what matters.
    result
        .unwrap_or_else(|error| json!({ "context": assembled.text(), "error": error.to_string() }))
}

/// The same as bytes, without building the document first.
///
/// # Errors
/// Never, as these shapes are plain data; but writing JSON can fail in general.
pub fn bytes_of(assembled: &Assembled, explain: bool) -> serde_json::Result<Vec<u8>> {
    match assembled.recipe.shape {
        Shape::Sections => serde_json::to_vec(&sections::Context::of(assembled, explain)),
        Shape::Proposal => serde_json::to_vec(&proposal::Context::of(assembled, explain)),
        Shape::Prime => serde_json::to_vec(&prime::Answer::of(assembled, explain)),
        Shape::Workspace => serde_json::to_vec(&workspace::Context::of(assembled, explain)),
        Shape::Situation => serde_json::to_vec(&situation::Context::of(assembled, explain)),
        Shape::Memory => serde_json::to_vec(&memory::Context::of(assembled, explain)),
    }
}
