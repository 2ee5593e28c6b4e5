//! Errors as people read them: what is wrong, its name for programs, and what could be done.

use std::fmt;

use anyhow::Error as Trouble;
use haversack::Error;
use haversack_core::assemble::TemplateError;
use haversack_core::pack::PackError;
use haversack_core::text::spelling::nearest;
use haversack_model::ModelError;

use crate::output::say;

/// An error of the engine of which more is known than the engine can know.
#[derive(Debug)]
pub(crate) struct Hinted {
    pub(crate) error: Error,
    pub(crate) hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Says what went wrong, and what could be done.
pub(crate) fn tell(trouble: &Trouble) {
    let hinted = trouble.chain().find_map(|cause| cause.downcast_ref::<Hinted>());
    let engine = trouble.chain().find_map(|cause| cause.downcast_ref::<Error>());
    let engine = engine.or_else(|| hinted.map(|hinted| &hinted.error));
    match engine {
        Some(error) => say(&format!("error ({}): {trouble:#}", error.code().as_str())),
        None => say(&format!("error: {trouble:#}")),
    }
    let hint = hinted.map(|hinted| hinted.hint.clone()).or_else(|| match engine {
        Some(error) => hint(error),
        None => trouble.chain().find_map(|cause| hint_of_model(cause.downcast_ref()?)),
    });
    if let Some(hint) = hint {
        say(&format!("hint: {hint}"));
    }
}

/// What could be done about an error of the engine.
fn hint(error: &Error) -> Option<String> {
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
fn hint_of_model(error: &ModelError) -> Option<String> {
    match error {
        ModelError::Unknown { name, available } => did_you_mean(name, available)
            .or_else(|| Some(format!("there are {}", available.join(", ")))),
        _ => None,
    }
}

/// The nearest of the names there are.
pub(crate) fn did_you_mean(typed: &str, names: &[String]) -> Option<String> {
    let near = nearest(typed, names.iter().map(|name| (&**name, &**name)));
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}
