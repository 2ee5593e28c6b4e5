//! Errors as they are printed: what is wrong, its code for programs, and what could be done.

use std::fmt;

use haversack::Error;
use haversack_core::assemble::TemplateError;
use haversack_core::pack::PackError;
use haversack_core::text::spelling::nearest;
use haversack_model::ModelError;
use haversack_serve::ApiError;

use crate::location::server_of;
use crate::output::say;
use crate::remote::KEY_VARIABLE;

/// An error of the engine with a hint that the engine cannot give.
#[derive(Debug)]
pub(crate) struct HintedError {
    pub(crate) error: Error,
    pub(crate) hint: String,
}

impl fmt::Display for HintedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for HintedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// An error of a server with a hint that the server cannot give.
#[derive(Debug)]
pub(crate) struct ServerHint {
    pub(crate) error: anyhow::Error,
    pub(crate) hint: String,
}

impl fmt::Display for ServerHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ServerHint {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Prints an error with its code, and a hint where there is one.
pub(crate) fn report(error: &anyhow::Error) {
    let code = find::<HintedError>(error)
        .map(|hinted| hinted.error.code().as_str().to_owned())
        .or_else(|| Some(find::<Error>(error)?.code().as_str().to_owned()))
        .or_else(|| Some(api_error(error)?.code()?.to_owned()));
    match code {
        Some(code) => say(&format!("error ({code}): {error:#}")),
        None => say(&format!("error: {error:#}")),
    }
    if let Some(hint) = hint(error) {
        say(&format!("hint: {hint}"));
    }
}

/// The first cause of a type.
fn find<T: std::error::Error + 'static>(error: &anyhow::Error) -> Option<&T> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

fn api_error(error: &anyhow::Error) -> Option<&ApiError> {
    find::<ApiError>(error).or_else(|| api_error(&find::<ServerHint>(error)?.error))
}

/// What could be done about an error.
fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(hinted) = find::<HintedError>(error) {
        return Some(hinted.hint.clone());
    }
    if let Some(hinted) = find::<ServerHint>(error) {
        return Some(hinted.hint.clone());
    }
    if let Some(server) = server_of(error) {
        let url = server.url;
        return Some(format!(
            "that is the server at {url}; this command needs the data folder to itself: stop the \
             server first"
        ));
    }
    if let Some(error) = find::<Error>(error) {
        return engine_hint(error);
    }
    if let Some(error) = find::<ApiError>(error) {
        return server_hint(error);
    }
    find::<ModelError>(error).and_then(model_hint)
}

/// What could be done about an error that a server reported.
fn server_hint(error: &ApiError) -> Option<String> {
    match error {
        ApiError::Refused { status: 401, .. } => {
            Some(format!("the server needs a key: put one into ${KEY_VARIABLE}"))
        }
        ApiError::Refused { least: Some(least), .. } => Some(format!("--budget {least}")),
        ApiError::Refused { available, .. } if !available.is_empty() => {
            Some(format!("there are {}", available.join(", ")))
        }
        _ => None,
    }
}

/// What could be done about an error of the engine.
fn engine_hint(error: &Error) -> Option<String> {
    match error {
        Error::NoRecipe { name, available } => did_you_mean(name, available),
        Error::Template(TemplateError::NotFound { name, available }) => {
            did_you_mean(name, available)
        }
        Error::Pack(PackError::Infeasible { least, .. }) => Some(format!("--budget {least}")),
        _ => None,
    }
}

/// What could be done about a model.
fn model_hint(error: &ModelError) -> Option<String> {
    match error {
        ModelError::Unknown { name, available } => did_you_mean(name, available)
            .or_else(|| Some(format!("there are {}", available.join(", ")))),
        _ => None,
    }
}

/// A suggestion of the nearest names.
pub(crate) fn did_you_mean(typed: &str, names: &[String]) -> Option<String> {
    let near = nearest(typed, names.iter().map(|name| (&**name, &**name)));
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}
