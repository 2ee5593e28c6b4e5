//! The tools that write: memories and feedback.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::wire::WireTurn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::caller::McpCaller;
use super::tools::{ToolResult, arguments, structured_result};
use crate::http::memories::{
    WireConversation, WireMemories, WireNewMemory, extract_memories, remember,
};
use crate::http::receipts::{WireFeedback, record_feedback};
use crate::problem::ApiProblem;
use crate::state::ServerState;

/// What to remember.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MemoryArguments {
    /// One fact in one or two sentences that can be understood alone
    #[schemars(length(min = 1))]
    content: String,
    /// Such as fact, preference, event
    #[serde(default, rename = "type")]
    sort: Option<String>,
    /// How sure it is
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    confidence: Option<f64>,
    /// The conversation it comes from
    #[serde(default)]
    conversation_id: Option<String>,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

pub(crate) fn add(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: MemoryArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let memory = WireNewMemory {
            content: wanted.content,
            id: None,
            sort: wanted.sort,
            confidence: wanted.confidence,
            conversation_id: wanted.conversation_id,
            created_at: None,
        };
        let memories = WireMemories { user: None, memories: vec![memory] };
        structured_result(&remember(&state, &caller.identity, &workspace, memories, None).await?)
    }
    .boxed()
}

/// A conversation to take memories from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExtractionArguments {
    /// Oldest first
    #[schemars(length(min = 1, max = 2000))]
    conversation: Vec<ConversationTurn>,
    #[serde(default)]
    conversation_id: Option<String>,
    /// Store nothing
    #[serde(default)]
    dry_run: bool,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

/// A turn of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConversationTurn {
    role: String,
    content: String,
}

pub(crate) fn extract(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: ExtractionArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let turns = wanted.conversation.into_iter();
        let turn = |turn: ConversationTurn| WireTurn {
            role: turn.role,
            content: turn.content,
            timestamp: None,
        };
        let conversation = WireConversation {
            conversation: turns.map(turn).collect(),
            conversation_id: wanted.conversation_id,
            user: None,
            dry_run: wanted.dry_run,
        };
        structured_result(&extract_memories(&caller.identity, &workspace, conversation).await?)
    }
    .boxed()
}

/// Whether an item helped.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FeedbackArguments {
    /// The item, as packs and searches name it
    item: String,
    /// Whether it helped
    useful: bool,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

/// What was noted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Noted {
    /// The item.
    item: String,
    /// Whether it helped.
    useful: bool,
}

pub(crate) fn feedback(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: FeedbackArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let feedback = WireFeedback {
            context_item_id: wanted.item.clone(),
            useful: wanted.useful,
            user: None,
        };
        record_feedback(&caller.identity, &workspace, &feedback, None).await?;
        structured_result(&Noted { item: wanted.item, useful: wanted.useful })
    }
    .boxed()
}
