//! Notices beside an answer: partial failures and limits that the caller should know about.

use serde_json::Value;

/// The code of a notice. Its name on the wire is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoticeCode {
    /// More than a fifth of a layer was left out or truncated (P12).
    ContextTruncated,
    /// Pinned text, which is never truncated, is larger than the budget (P2).
    OverBudget,
    /// Pinned text, which is never truncated, used reserved tokens (P2).
    ReservesUsed,
    /// Tokens are estimated, not counted by the model's own vocabulary (M10).
    EstimatedTokens,
    /// The budget was lowered to the model's context size (P3).
    BudgetCapped,
    /// A collector failed or timed out; the pack was made without it.
    CollectorFailed,
    /// A model was not available; the answer was made without it (M11).
    Degraded,
    /// A context that a rule names could not be loaded (S4).
    ContextNotLoaded,
    /// A rule's condition could not be evaluated, so the rule was left out (S3).
    RuleFailed,
    /// A condition in plain language was decided by the local model (S3).
    JudgedLocally,
    /// No judge could decide whether a rule applies; the notice says what was done (S3).
    RulesUndecided,
    /// There is no summarising model; the most important sentences were kept instead (W8).
    NotSummarised,
    /// Part of the requested history is no longer stored.
    HistoryIncomplete,
    /// The query is longer than the part that is analysed.
    QueryTruncated,
    /// An item that the request names does not exist, or the viewer may not read it.
    NotFound,
    /// Characters that are invisible to people but not to models were removed.
    HiddenCharacters,
    /// No candidate is relevant to the query (X9).
    NothingRelevant,
    /// A collector stopped at a limit, and there are more matches (X10).
    MoreMatches,
    /// A text repeats what is already stored.
    Repeats,
    /// Turns of the conversation are not among the messages for a provider.
    TurnsOmitted,
    /// The shared journal could not be reached; what other nodes wrote may be missing (X4).
    Stale,
}

impl NoticeCode {
    /// Returns the name on the wire.
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
            NoticeCode::TurnsOmitted => "TURNS_OMITTED",
            NoticeCode::Stale => "STALE",
        }
    }
}

/// Something that the caller should know about an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The code, for programs.
    pub code: NoticeCode,
    /// The message, for people.
    pub message: String,
    /// Typed fields, for programs; `null` when there are none.
    pub details: Value,
    /// Things that the caller can do.
    pub suggestions: Vec<String>,
}

impl Notice {
    /// Makes a notice without details or suggestions.
    #[must_use]
    pub fn new(code: NoticeCode, message: impl Into<String>) -> Notice {
        Notice { code, message: message.into(), details: Value::Null, suggestions: Vec::new() }
    }
}
