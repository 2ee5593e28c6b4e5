//! Problems on the wire: RFC 9457, with a stable code. Internal causes go to the log only.

use std::fmt;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haversack::Error;
use haversack_core::assemble::TemplateError;
use haversack_core::ids::ItemId;
use haversack_core::pack::PackError;
use haversack_provider::ProviderError;
use haversack_store::store::error::{CommitError, Denial, OpenError, ReadError, error_chain};
use schemars::JsonSchema;
use serde::Serialize;

use crate::codes::Code;

/// The media type of problems.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Default for `Retry-After`, in seconds.
const RETRY_SECONDS: u32 = 1;

/// A problem with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiProblem {
    /// The problem's code.
    pub code: Code,
    /// The detail: what happened in this case.
    pub detail: String,
    /// The field that caused the problem.
    pub field: Option<String>,
    /// The line of a streamed body that caused the problem, from 1.
    pub line: Option<u64>,
    /// The number of lines of a streamed body that were stored before the problem.
    pub stored: Option<u64>,
    /// The smallest sufficient budget.
    pub least: Option<u32>,
    /// The missing name and the available ones (M11).
    pub missing: Option<Box<MissingName>>,
    /// The number of seconds after which to retry.
    pub retry_after: Option<u32>,
    /// The value of `WWW-Authenticate`: the accepted kind of credential.
    pub challenge: Option<Box<HeaderValue>>,
}

/// A name that does not exist, and the names that do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingName {
    /// The missing template; `None` for other names.
    pub template: Option<String>,
    /// The names that exist.
    pub available: Vec<String>,
}

/// A problem as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Problem")]
pub struct WireProblem {
    /// The code, under the name that RFC 9457 defines.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The stable code of this type of problem.
    pub code: &'static str,
    /// The title of this type of problem.
    pub title: &'static str,
    /// The status of the response.
    pub status: u16,
    /// What happened in this case, and what to do.
    pub detail: String,
    /// The detail, under the usual name of error messages (M11).
    pub message: String,
    /// The field that caused the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The line of a streamed body that caused the problem, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The number of lines of a streamed body that are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<u64>,
    /// The smallest sufficient budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<u32>,
    /// The name of the missing template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The available names, if a template or recipe does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Vec<String>>,
}

impl ApiProblem {
    /// A problem with its detail.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> ApiProblem {
        let detail = detail.into();
        let retry_after =
            matches!(code, Code::Overloaded | Code::RateLimited | Code::TooManyDenied)
                .then_some(RETRY_SECONDS);
        ApiProblem {
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
    pub fn invalid(field: &str, detail: impl Into<String>) -> ApiProblem {
        ApiProblem { field: Some(field.to_owned()), ..ApiProblem::new(Code::Validation, detail) }
    }

    /// Adds the available names to a problem about a missing one.
    #[must_use]
    pub fn with_names(self, template: Option<&str>, available: &[String]) -> ApiProblem {
        let template = template.map(str::to_owned);
        let missing = MissingName { template, available: available.to_vec() };
        ApiProblem { missing: Some(Box::new(missing)), ..self }
    }

    /// There is a workspace of that name.
    pub(crate) fn workspace_exists(name: &str) -> ApiProblem {
        ApiProblem::new(Code::WorkspaceExists, format!("there is a workspace {name:?} already"))
    }

    /// The workspace does not exist or is not for this key.
    #[must_use]
    pub fn no_workspace(name: &str) -> ApiProblem {
        let name: String = name.chars().take(64).collect();
        ApiProblem::new(
            Code::WorkspaceNotFound,
            format!("there is no workspace {name:?} for this key"),
        )
    }

    /// The item does not exist or is not visible.
    #[must_use]
    pub fn no_item(id: &str) -> ApiProblem {
        let id: String = id.chars().take(64).collect();
        ApiProblem::new(Code::ItemNotFound, format!("there is no item {id:?} that can be read"))
    }

    /// Logs an internal failure and hides its cause from the client.
    fn hide_cause(code: Code, error: &(dyn std::error::Error + 'static)) -> ApiProblem {
        tracing::error!(target: "haversack", error = %error_chain(error), code = code.row().name, "failed");
        ApiProblem::new(code, "the cause is in the server's log")
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

impl fmt::Display for ApiProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl From<Error> for ApiProblem {
    fn from(error: Error) -> ApiProblem {
        match &error {
            Error::Invalid { field, message } => ApiProblem::invalid(field, message),
            Error::Open(OpenError::Missing { name, .. }) => ApiProblem::no_workspace(name),
            Error::Open(OpenError::Exists { name, .. }) => ApiProblem::workspace_exists(name),
            Error::Template(TemplateError::NotFound { name, available }) => {
                ApiProblem::new(Code::TemplateNotFound, error.to_string())
                    .with_names(Some(name), available)
            }
            Error::NoRecipe { available, .. } => {
                ApiProblem::new(Code::RecipeNotFound, error.to_string()).with_names(None, available)
            }
            Error::Pack(PackError::Infeasible { least, .. }) => ApiProblem {
                least: Some(least.get()),
                ..ApiProblem::new(Code::BudgetTooSmall, error.to_string())
            },
            Error::Commit(CommitError::Denied { item, denial }) => denied(item, *denial),
            Error::Commit(CommitError::TooLarge { .. }) => {
                ApiProblem::new(Code::TooLarge, error.to_string())
            }
            Error::Commit(CommitError::Full { .. }) | Error::Open(OpenError::Full { .. }) => {
                ApiProblem::new(Code::StorageFull, error.to_string())
            }
            Error::Commit(CommitError::KeyUsed { .. }) => {
                ApiProblem::new(Code::IdempotencyConflict, error.to_string())
            }
            Error::Open(OpenError::TooManyFiles(too_many))
            | Error::Commit(CommitError::TooManyFiles(too_many))
            | Error::Read(ReadError::TooManyFiles(too_many))
            | Error::Search { source: ReadError::TooManyFiles(too_many), .. } => {
                tracing::error!(target: "haversack", error = %too_many, "refused");
                ApiProblem::new(Code::Overloaded, too_many.to_string())
            }
            Error::Open(OpenError::Unavailable { .. })
            | Error::Commit(CommitError::Unavailable { .. })
            | Error::Read(ReadError::Unavailable { .. })
            | Error::Search { source: ReadError::Unavailable { .. }, .. } => {
                unavailable(Code::JournalUnavailable, &error)
            }
            Error::Commit(CommitError::Unknown { .. }) => unavailable(Code::OutcomeUnknown, &error),
            Error::Commit(CommitError::Outdated { .. })
            | Error::Read(ReadError::Outdated { .. })
            | Error::Search { source: ReadError::Outdated { .. }, .. } => {
                let problem = ApiProblem::new(Code::NotReady, error_chain(&error));
                ApiProblem { retry_after: Some(1), ..problem }
            }
            Error::Commit(CommitError::ModelChanging { .. }) => {
                ApiProblem::new(Code::ModelChanging, error.to_string())
            }
            Error::Commit(CommitError::Stale(_)) | Error::Read(ReadError::Stale(_)) => {
                ApiProblem::new(Code::StaleVectors, error.to_string())
            }
            // They name no content, and say what to do.
            Error::Commit(CommitError::NotSearchable { .. } | CommitError::Damaged { .. })
            | Error::Read(ReadError::Damaged { .. } | ReadError::Rebuilding) => {
                ApiProblem::new(Code::Storage, error.to_string())
            }
            error => match Code::from_engine(error.code()) {
                code if reached_cap(error).is_some() => {
                    // The caller's own cap, or their workspace's: they are the ones to be told.
                    let code = if code == Code::Storage { Code::Model } else { code };
                    ApiProblem::new(code, reached_cap(error).unwrap_or_default())
                }
                code @ (Code::Storage | Code::Search | Code::Embedding | Code::Internal) => {
                    ApiProblem::hide_cause(code, error)
                }
                code => ApiProblem::new(code, error_chain(error)),
            },
        }
    }
}

/// The problem of a journal, whose cause is for the log: it names hosts.
fn unavailable(code: Code, error: &Error) -> ApiProblem {
    tracing::warn!(target: "haversack", error = %error_chain(error), "the journal");
    let detail = match error {
        // The message of the cause says what happened to the write.
        Error::Read(cause) => cause.to_string(),
        Error::Open(_) => "the shared journal cannot be used now: try again".to_owned(),
        other => other.to_string(),
    };
    ApiProblem { retry_after: Some(1), ..ApiProblem::new(code, detail) }
}

/// The message about a cap on models, if that is why something failed.
fn reached_cap(error: &Error) -> Option<String> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error @ ProviderError::CapReached { .. }) = error.downcast_ref() {
            return Some(error.to_string());
        }
        cause = error.source();
    }
    None
}

/// The problem for a denied change of an item.
fn denied(item: &ItemId, denial: Denial) -> ApiProblem {
    let (code, field) = match denial {
        Denial::Missing => return ApiProblem::no_item(item.as_str()),
        Denial::Id => (Code::IdTaken, None),
        Denial::Parent => (Code::Validation, Some("parent")),
        Denial::Readers => (Code::Forbidden, Some("readers")),
        Denial::Move => (Code::Forbidden, Some("parent")),
    };
    let detail = format!("{:?}: {denial}", item.as_str());
    ApiProblem { field: field.map(str::to_owned), ..ApiProblem::new(code, detail) }
}

impl From<ReadError> for ApiProblem {
    fn from(error: ReadError) -> ApiProblem {
        Error::from(error).into()
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        // Serialization cannot fail; even an empty body would carry the status.
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
