//! Voyage: OpenAI's shape for embeddings with a role, and a reranker of its own.

use serde_json::{Value, json};

use super::{
    EmbedCall, Embeddings, Outgoing, Protocol, ReadResult, RerankCall, RerankScores, TextRole,
    count, field, openai, scores_by_index,
};

pub(super) struct Voyage;

impl Protocol for Voyage {
    fn name(&self) -> &'static str {
        "voyage"
    }

    fn base_url(&self) -> &'static str {
        "https://api.voyageai.com/v1"
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let role = match call.role {
            TextRole::Query => "query",
            TextRole::Passage => "document",
        };
        let mut body = json!({ "model": call.model, "input": call.texts, "input_type": role });
        if let Some(dimensions) = call.dimensions {
            body["output_dimension"] = json!(dimensions);
        }
        Some(Outgoing::new("/embeddings", body))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        openai::read_embeddings(answer, texts)
    }

    fn rerank(&self, call: &RerankCall<'_>) -> Option<Outgoing> {
        let body = json!({
            "model": call.model, "query": call.query, "documents": call.texts,
            "top_k": call.texts.len(),
        });
        Some(Outgoing::new("/rerank", body))
    }

    fn read_scores(&self, answer: &Value, texts: usize) -> ReadResult<RerankScores> {
        let scores = scores_by_index(field(answer, "/data")?, texts, "data", "relevance_score")?;
        Ok(RerankScores { scores, tokens: count(answer, "/usage/total_tokens") })
    }
}
