//! What the caller should know about an answer beside the answer: partial failure is data.

use serde_json::Value;

/// What a notice is about. The name on the wire is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoticeCode {
    /// More than a fifth of a layer was left out or cut (P12).
    ContextTruncated,
    /// Text that is never cut is larger than the budget (P2).
    OverBudget,
    /// Text that is never cut took room that was reserved (P2).
    ReservesUsed,
    /// Tokens are not counted by the model's own vocabulary (M10).
    EstimatedTokens,
    /// The budget was lowered to what the model has room for (P3).
    BudgetCapped,
    /// A collector failed or took too long; the others answered.
    CollectorFailed,
    /// Something that usually takes part could not; the answer was made without it (M11).
    Degraded,
    /// A context that a rule names could not be loaded (S4).
    ContextNotLoaded,
    /// A rule's condition could not be judged, so the rule was left out (S3).
    RuleFailed,
    /// A condition in plain language was decided by the local model (S3).
    JudgedLocally,
    /// No judge could tell whether a rule applies; the notice says what was done (S3).
    RulesUndecided,
    /// No model summarises here: the most important sentences were kept instead (W8).
    NotSummarised,
    /// Part of the past that was asked for is no longer kept.
    HistoryIncomplete,
    /// The query was longer than what is looked at.
    QueryTruncated,
    /// An item that the request names is not there, or not for this reader.
    NotFound,
    /// Characters that a reader cannot see and a model can were left out.
    HiddenCharacters,
    /// Nothing that was found has to do with the question (X9).
    NothingRelevant,
    /// A collector stopped at a limit: there is more than was read (X10).
    MoreMatches,
    /// Something that was written says what is known already (memory hygiene).
    Repeats,
}

impl NoticeCode {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeCode::ContextTruncated => "CONTEXT_TRUNCATED",
            NoticeCode::OverBudget => "OVER_BUDGET",
            NoticeCode::ReservesUsed => "RESERVES_USED",
            NoticeCode::EstimatedTokens => "ESTIMATED_TOKENS",
            NoticeCode::BudgetCapped => "BUDGET_CAPPED",
            NoticeCode::CollectorFailed => "COLLECTOR_FAILED",
            NoticeCode::Degraded => "DEGRADED",
            NoticeCode::ContextNotLoaded => "CONTEXT_NOT_LOADED",
            NoticeCode::RuleFailed => "RULE_FAILED",
            NoticeCode::JudgedLocally => "JUDGED_LOCALLY",
            NoticeCode::RulesUndecided => "RULES_UNDECIDED",
            NoticeCode::NotSummarised => "NOT_SUMMARISED",
            NoticeCode::HistoryIncomplete => "HISTORY_INCOMPLETE",
            NoticeCode::QueryTruncated => "QUERY_TRUNCATED",
            NoticeCode::NotFound => "NOT_FOUND",
            NoticeCode::HiddenCharacters => "HIDDEN_CHARACTERS",
            NoticeCode::NothingRelevant => "NOTHING_RELEVANT",
            NoticeCode::MoreMatches => "MORE_MATCHES",
            NoticeCode::Repeats => "REPEATS",
        }
    }
}

/// Something the caller should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What it is about.
    pub code: NoticeCode,
    /// In words, for people.
    pub message: String,
    /// In figures, for programs; `null` when the message says it all.
    pub details: Value,
    /// What could be done.
    pub suggestions: Vec<String>,
}

impl Notice {
    /// A notice in words alone.
    #[must_use]
    pub fn new(code: NoticeCode, message: impl Into<String>) -> Notice {
        Notice { code, message: message.into(), details: Value::Null, suggestions: Vec::new() }
    }
}
