//! Problems as the wire has them: RFC 9457, with a stable code. Internals go to the log.

use std::fmt;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haversack::Error;
use haversack_core::assemble::TemplateError;
use haversack_core::ids::ItemId;
use haversack_core::pack::PackError;
use haversack_store::store::error::{CommitError, Denial, OpenError, ReadError, chain};
use schemars::JsonSchema;
use serde::Serialize;

use crate::codes::Code;

/// The media type of problems.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// How many seconds a client should wait when the server does not know better.
const WAIT: u32 = 1;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which.
    pub code: Code,
    /// What, in this case.
    pub detail: String,
    /// The field it is about.
    pub field: Option<String>,
    /// The line of a streamed body it is about, from 1.
    pub line: Option<u64>,
    /// How many lines of a streamed body were stored before it.
    pub stored: Option<u64>,
    /// The least budget that would do.
    pub least: Option<u32>,
    /// The names that are there, where one is not (M11).
    pub missing: Option<Box<MissingName>>,
    /// After how many seconds it is worth trying again.
    pub retry_after: Option<u32>,
    /// What kind of credential would do, as `WWW-Authenticate` has it.
    pub challenge: Option<Box<HeaderValue>>,
}

/// A name that stands for nothing, and those that stand for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingName {
    /// The template that is not there; `None` for other names.
    pub template: Option<String>,
    /// The names that are there.
    pub available: Vec<String>,
}

/// A problem as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
pub struct WireProblem {
    /// The code again, where RFC 9457 has what tells problems apart.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// A name for this sort of problem that never changes.
    pub code: &'static str,
    /// What it is, in general.
    pub title: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// What it is in this case, and what to do.
    pub detail: String,
    /// The detail again, under the name that errors of programs have (M11).
    pub message: String,
    /// The field it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The line of a streamed body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How many lines of a streamed body are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<u64>,
    /// The least budget that would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<u32>,
    /// The template that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The names that are there, where a template or recipe is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Vec<String>>,
}

impl Problem {
    /// A problem with its detail.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        let retry_after =
            matches!(code, Code::Overloaded | Code::RateLimited | Code::TooManyDenied)
                .then_some(WAIT);
        Problem {
            code,
            detail,
            field: None,
            line: None,
            stored: None,
            least: None,
            missing: None,
            retry_after,
            challenge: None,
        }
    }

    /// A field that is wrong.
    #[must_use]
    pub fn invalid(field: &str, detail: impl Into<String>) -> Problem {
        Problem { field: Some(field.to_owned()), ..Problem::new(Code::Validation, detail) }
    }

    /// With the names that are there, for a template or another name that is not.
    #[must_use]
    pub fn with_names(self, template: Option<&str>, available: &[String]) -> Problem {
        let template = template.map(str::to_owned);
        let missing = MissingName { template, available: available.to_vec() };
        Problem { missing: Some(Box::new(missing)), ..self }
    }

    /// That there is no such workspace, whether it is another's or nobody's.
    #[must_use]
    pub fn no_workspace(name: &str) -> Problem {
        let name: String = name.chars().take(64).collect();
        Problem::new(
            Code::WorkspaceNotFound,
            format!("there is no workspace {name:?} for this key"),
        )
    }

    /// That there is no such item, whether it cannot be read or is not there.
    #[must_use]
    pub fn no_item(id: &str) -> Problem {
        let id: String = id.chars().take(64).collect();
        Problem::new(Code::ItemNotFound, format!("there is no item {id:?} that can be read"))
    }

    /// Where an answer of the store is a failure of ours, the cause is told to the log alone.
    fn hidden(code: Code, error: &(dyn std::error::Error + 'static)) -> Problem {
        tracing::error!(target: "haversack", error = chain(error), code = code.row().name, "failed");
        Problem::new(code, "the cause is in the server's log")
    }

    /// The problem as JSON.
    #[must_use]
    pub fn wire(&self) -> WireProblem {
        let row = self.code.row();
        WireProblem {
            kind: row.name,
            code: row.name,
            title: row.title,
            status: row.status,
            detail: self.detail.clone(),
            message: self.detail.clone(),
            field: self.field.clone(),
            line: self.line,
            stored: self.stored,
            least: self.least,
            template: self.missing.as_ref().and_then(|missing| missing.template.clone()),
            available: self.missing.as_ref().map(|missing| missing.available.clone()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match &error {
            Error::Invalid { field, message } => Problem::invalid(field, message),
            Error::Open(OpenError::Missing { name, .. }) => Problem::no_workspace(name),
            Error::Template(TemplateError::NotFound { name, available }) => {
                Problem::new(Code::TemplateNotFound, error.to_string())
                    .with_names(Some(name), available)
            }
            Error::NoRecipe { available, .. } => {
                Problem::new(Code::RecipeNotFound, error.to_string()).with_names(None, available)
            }
            Error::Pack(PackError::Infeasible { least, .. }) => Problem {
                least: Some(least.get()),
                ..Problem::new(Code::BudgetTooSmall, error.to_string())
            },
            Error::Commit(CommitError::Denied { item, denial }) => denied(item, *denial),
            Error::Commit(CommitError::TooLarge { .. }) => {
                Problem::new(Code::TooLarge, error.to_string())
            }
            Error::Commit(CommitError::Full { .. }) => {
                Problem::new(Code::StorageFull, error.to_string())
            }
            Error::Commit(CommitError::Stale(_)) | Error::Read(ReadError::Stale(_)) => {
                Problem::new(Code::StaleVectors, error.to_string())
            }
            Error::Commit(CommitError::NotSearchable { .. }) => {
                Problem::new(Code::Storage, error.to_string())
            }
            error => match Code::of(error.code()) {
                code @ (Code::Storage | Code::Search | Code::Embedding | Code::Internal) => {
                    Problem::hidden(code, error)
                }
                code => Problem::new(code, chain(error)),
            },
        }
    }
}

/// What somebody may not do with an item.
fn denied(item: &ItemId, denial: Denial) -> Problem {
    let (code, field) = match denial {
        Denial::Missing => return Problem::no_item(item.as_str()),
        Denial::Id => (Code::IdTaken, None),
        Denial::Parent => (Code::Validation, Some("parent")),
        Denial::Readers => (Code::Forbidden, Some("readers")),
        Denial::Move => (Code::Forbidden, Some("parent")),
    };
    let detail = format!("{:?}: {denial}", item.as_str());
    Problem { field: field.map(str::to_owned), ..Problem::new(code, detail) }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        Error::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // The shape is plain data; a body without it would still carry the status.
        let body = serde_json::to_vec(&self.wire()).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.code.row().status).unwrap_or(StatusCode::BAD_REQUEST);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        let plain =
            (self.code == Code::Unauthenticated).then(|| HeaderValue::from_static("Bearer"));
        if let Some(challenge) = self.challenge.as_deref().cloned().or(plain) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        // For the log and the audit, which do not read bodies.
        response.extensions_mut().insert(self);
        response
    }
}
