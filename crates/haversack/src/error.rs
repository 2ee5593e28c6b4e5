//! Errors of requests. Programs branch on [`Error::code`]; people read the message.

use haversack_core::assemble::TemplateError;
use haversack_core::embed::EmbedError;
use haversack_core::pack::PackError;
use haversack_core::rank::{RankError, RerankError};
use haversack_store::store::error::{CommitError, OpenError, ReadError};
use thiserror::Error as ThisError;

/// The stable code of an error, for programs (M11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The request is not valid, or names something that does not exist.
    Validation,
    /// The query could not be embedded.
    Embedding,
    /// A search failed.
    Search,
    /// The store cannot be read or written.
    Storage,
    /// There is no such template.
    TemplateNotFound,
    /// There is no such recipe.
    RecipeNotFound,
    /// There is no such receipt.
    ReceiptNotFound,
    /// Pinned text, which is never truncated, does not fit into the budget.
    BudgetTooSmall,
    /// A model that cannot be done without failed.
    Model,
}

impl ErrorCode {
    /// All error codes.
    pub const ALL: [ErrorCode; 9] = [
        ErrorCode::Validation,
        ErrorCode::Embedding,
        ErrorCode::Search,
        ErrorCode::Storage,
        ErrorCode::TemplateNotFound,
        ErrorCode::RecipeNotFound,
        ErrorCode::ReceiptNotFound,
        ErrorCode::BudgetTooSmall,
        ErrorCode::Model,
    ];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Validation => "validation_error",
            ErrorCode::Embedding => "embedding_error",
            ErrorCode::Search => "search_error",
            ErrorCode::Storage => "storage_error",
            ErrorCode::TemplateNotFound => "template_not_found",
            ErrorCode::RecipeNotFound => "recipe_not_found",
            ErrorCode::ReceiptNotFound => "receipt_not_found",
            ErrorCode::BudgetTooSmall => "budget_too_small",
            ErrorCode::Model => "model_error",
        }
    }
}

/// Why a request failed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A field of the request is not valid.
    #[error("{field}: {message}")]
    Invalid {
        /// The field's name on the wire: `focus.blockId`, `tokenBudget.total`.
        field: String,
        /// What is wrong with it, and what is accepted.
        message: String,
    },
    /// There is no such recipe.
    #[error("there is no recipe {name:?}; there are {}", .available.join(", "))]
    NoRecipe {
        /// The requested name.
        name: String,
        /// The names that exist.
        available: Vec<String>,
    },
    /// There is no such receipt.
    #[error("there is no receipt {id:?}: it was never stored, or is older than those still stored")]
    NoReceipt {
        /// The requested id.
        id: String,
    },
    /// A recipe cannot be used.
    #[error(transparent)]
    Recipe(#[from] crate::recipe::RecipeError),
    /// A template is missing or cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The query could not be embedded.
    #[error("the query cannot be embedded")]
    Embed(#[from] EmbedError),
    /// A search failed.
    #[error("{collector}: the search failed")]
    Search {
        /// The collector's name.
        collector: String,
        /// The cause.
        #[source]
        source: ReadError,
    },
    /// A collector took longer than its deadline.
    #[error("{collector}: took longer than its {} ms", .deadline.as_millis())]
    CollectorTimeout {
        /// The collector's name.
        collector: String,
        /// The deadline.
        deadline: std::time::Duration,
    },
    /// The store cannot be read.
    #[error("the workspace cannot be read")]
    Read(#[from] ReadError),
    /// The store cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The data folder or workspace cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A ranking failed.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The reranker failed.
    #[error(transparent)]
    Rerank(#[from] RerankError),
    /// A model that cannot be done without failed.
    #[error("{cause}")]
    Model {
        /// The provider's error in one line, without texts or keys.
        cause: String,
    },
    /// The settings of a model are wrong, or its provider cannot be called.
    #[error(transparent)]
    Provider(#[from] haversack_provider::ProviderError),
    /// The pack cannot be made.
    #[error(transparent)]
    Pack(#[from] PackError),
}

impl Error {
    /// Makes the error of a field that is not valid.
    #[must_use]
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), message: message.into() }
    }

    /// Returns the error's code, for programs.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::NoRecipe { .. } => ErrorCode::RecipeNotFound,
            Error::NoReceipt { .. } => ErrorCode::ReceiptNotFound,
            Error::Template(TemplateError::NotFound { .. }) => ErrorCode::TemplateNotFound,
            Error::Pack(PackError::Infeasible { .. }) => ErrorCode::BudgetTooSmall,
            Error::Embed(_) => ErrorCode::Embedding,
            Error::Model { .. } | Error::Provider(_) => ErrorCode::Model,
            Error::Search { .. } | Error::CollectorTimeout { .. } | Error::Rerank(_) => {
                ErrorCode::Search
            }
            Error::Read(ReadError::Invalid { .. })
            | Error::Commit(CommitError::Invalid(_) | CommitError::TooLarge { .. })
            | Error::Open(OpenError::Name { .. } | OpenError::Missing { .. })
            | Error::Invalid { .. }
            | Error::Recipe(_)
            | Error::Template(_)
            | Error::Rank(_)
            | Error::Pack(_) => ErrorCode::Validation,
            Error::Read(_) | Error::Commit(_) | Error::Open(_) => ErrorCode::Storage,
        }
    }
}
