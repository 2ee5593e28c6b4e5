//! Jina: OpenAI's shapes with a task for each role.

use serde_json::{Value, json};

use super::{
    EmbedCall, Embeddings, Outgoing, Protocol, ReadResult, RerankCall, RerankScores, TextRole,
    openai,
};

pub(super) struct Jina;

impl Protocol for Jina {
    fn name(&self) -> &'static str {
        "jina"
    }

    fn base_url(&self) -> &'static str {
        "https://api.jina.ai/v1"
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let task = match call.role {
            TextRole::Query => "retrieval.query",
            TextRole::Passage => "retrieval.passage",
        };
        let mut body = json!({ "model": call.model, "input": call.texts, "task": task });
        if let Some(dimensions) = call.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        Some(Outgoing::new("/embeddings", body))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        openai::read_embeddings(answer, texts)
    }

    fn rerank(&self, call: &RerankCall<'_>) -> Option<Outgoing> {
        Some(openai::rerank(call))
    }

    fn read_scores(&self, answer: &Value, texts: usize) -> ReadResult<RerankScores> {
        openai::read_scores(answer, texts)
    }
}
