//! The table of problem codes. A code's name never changes.

use haversack::ErrorCode;

/// The stable name of a problem, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The body is not JSON.
    BadJson,
    /// A field is wrong.
    Validation,
    /// The query has no vector.
    Embedding,
    /// A search failed.
    Search,
    /// The store cannot be read or written.
    Storage,
    /// There is no room on the disk.
    StorageFull,
    /// The workspace's vectors were made by another model.
    StaleVectors,
    /// There is no such template.
    TemplateNotFound,
    /// There is no such recipe.
    RecipeNotFound,
    /// There is no such receipt.
    ReceiptNotFound,
    /// There is no such ranker.
    RankerNotFound,
    /// There is no such workspace, or none for this key.
    WorkspaceNotFound,
    /// There is no such item, or none for this viewer.
    ItemNotFound,
    /// There is no such route.
    NotFound,
    /// The route does not have this method.
    MethodNotAllowed,
    /// A workspace of this name is there already.
    WorkspaceExists,
    /// The id belongs to something that this viewer may not change.
    IdTaken,
    /// An idempotency key was used for another request.
    IdempotencyConflict,
    /// What is never cut does not fit into the budget.
    BudgetTooSmall,
    /// A body, line or batch is over its limit.
    TooLarge,
    /// The body's media type is not understood.
    UnsupportedMediaType,
    /// No credential, or one that is not good.
    Unauthenticated,
    /// The credential does not reach so far.
    Forbidden,
    /// The `Host` header names another server.
    WrongHost,
    /// The key's rate is used up.
    RateLimited,
    /// Too many credentials that are not good came from one address.
    TooManyDenied,
    /// The server has more to do than it can.
    Overloaded,
    /// The answer took longer than it may.
    Deadline,
    /// The client took longer than it may.
    SlowClient,
    /// The embedding model of the workspace is being changed already.
    ModelChanging,
    /// A model that cannot be done without failed.
    Model,
    /// The server cannot do all of its work at present.
    NotReady,
    /// The journal that nodes share cannot be reached. Nothing was written.
    JournalUnavailable,
    /// The connection to the journal was lost in a commit. It may have been written.
    OutcomeUnknown,
    /// A defect of the server.
    Internal,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeRow {
    /// The stable name.
    pub name: &'static str,
    /// The status of the HTTP answer.
    pub status: u16,
    /// What it is, in general.
    pub title: &'static str,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 35] = [
        Code::BadJson,
        Code::Validation,
        Code::Embedding,
        Code::Search,
        Code::Storage,
        Code::StorageFull,
        Code::StaleVectors,
        Code::TemplateNotFound,
        Code::RecipeNotFound,
        Code::ReceiptNotFound,
        Code::RankerNotFound,
        Code::WorkspaceNotFound,
        Code::ItemNotFound,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::WorkspaceExists,
        Code::IdTaken,
        Code::IdempotencyConflict,
        Code::BudgetTooSmall,
        Code::TooLarge,
        Code::UnsupportedMediaType,
        Code::Unauthenticated,
        Code::Forbidden,
        Code::WrongHost,
        Code::RateLimited,
        Code::TooManyDenied,
        Code::Overloaded,
        Code::Deadline,
        Code::SlowClient,
        Code::ModelChanging,
        Code::Model,
        Code::NotReady,
        Code::JournalUnavailable,
        Code::OutcomeUnknown,
        Code::Internal,
    ];

    /// The code's row.
    #[must_use]
    pub const fn row(self) -> CodeRow {
        let (name, status, title) = match self {
            Code::BadJson => ("bad_json", 400, "the body is not JSON"),
            Code::Validation => ("validation_error", 400, "a field is invalid"),
            Code::Embedding => ("embedding_error", 503, "the query has no vector"),
            Code::Search => ("search_error", 500, "a search failed"),
            Code::Storage => ("storage_error", 500, "the store failed"),
            Code::StorageFull => ("storage_full", 507, "the disk is full"),
            Code::StaleVectors => ("stale_vectors", 409, "vectors were made by another model"),
            Code::TemplateNotFound => ("template_not_found", 404, "there is no such template"),
            Code::RecipeNotFound => ("recipe_not_found", 404, "there is no such recipe"),
            Code::ReceiptNotFound => ("receipt_not_found", 404, "there is no such receipt"),
            Code::RankerNotFound => ("ranker_not_found", 404, "there is no such ranker"),
            Code::WorkspaceNotFound => ("workspace_not_found", 404, "there is no such workspace"),
            Code::ItemNotFound => ("item_not_found", 404, "there is no such item"),
            Code::NotFound => ("not_found", 404, "there is no such route"),
            Code::MethodNotAllowed => ("method_not_allowed", 405, "the route has other methods"),
            Code::WorkspaceExists => ("workspace_exists", 409, "the name is taken"),
            Code::IdTaken => ("id_taken", 409, "the id belongs to something else"),
            Code::IdempotencyConflict => {
                ("idempotency_conflict", 409, "the idempotency key was used for another request")
            }
            Code::BudgetTooSmall => {
                ("budget_too_small", 422, "the required content does not fit the budget")
            }
            Code::TooLarge => ("too_large", 413, "a limit is exceeded"),
            Code::UnsupportedMediaType => {
                ("unsupported_media_type", 415, "the media type is not understood")
            }
            Code::Unauthenticated => ("unauthenticated", 401, "a credential is needed"),
            Code::Forbidden => ("forbidden", 403, "the credential lacks the permission"),
            Code::WrongHost => ("wrong_host", 421, "the host name is not one of this server"),
            Code::RateLimited => ("rate_limited", 429, "too many requests"),
            Code::TooManyDenied => ("too_many_denied", 429, "too many failed logins"),
            Code::Overloaded => ("overloaded", 503, "the server is overloaded"),
            Code::Deadline => ("deadline", 504, "the response took too long"),
            Code::SlowClient => ("slow_client", 408, "the request took too long"),
            Code::ModelChanging => ("model_changing", 409, "the embedding model is being changed"),
            Code::Model => ("model_error", 503, "a model cannot be reached or failed"),
            Code::NotReady => ("not_ready", 503, "the server is not ready"),
            Code::JournalUnavailable => {
                ("journal_unavailable", 503, "the shared journal cannot be reached")
            }
            Code::OutcomeUnknown => ("outcome_unknown", 503, "the write may have been done"),
            Code::Internal => ("internal", 500, "an internal error of the server"),
        };
        CodeRow { name, status, title }
    }

    /// The code of an engine error.
    #[must_use]
    pub fn from_engine(code: ErrorCode) -> Code {
        match code {
            ErrorCode::Validation => Code::Validation,
            ErrorCode::Embedding => Code::Embedding,
            ErrorCode::Search => Code::Search,
            ErrorCode::Storage => Code::Storage,
            ErrorCode::TemplateNotFound => Code::TemplateNotFound,
            ErrorCode::RecipeNotFound => Code::RecipeNotFound,
            ErrorCode::ReceiptNotFound => Code::ReceiptNotFound,
            ErrorCode::BudgetTooSmall => Code::BudgetTooSmall,
            ErrorCode::Model => Code::Model,
            // The engine's codes grow with the engine; a test finds those that are missing here.
            _ => Code::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_and_a_status_of_an_error() {
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.row().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| (400..600).contains(&code.row().status)));
    }

    /// M11: every code of the engine has a row, under its own name.
    #[test]
    fn every_code_of_the_engine_has_a_row_m11() {
        for code in ErrorCode::ALL {
            assert_eq!(Code::from_engine(code).row().name, code.as_str());
        }
    }
}
