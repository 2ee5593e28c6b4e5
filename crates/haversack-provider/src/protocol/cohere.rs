//! Cohere's second version: embeddings and reranking.

use serde_json::{Value, json};

use super::{
    EmbedCall, Embeddings, Outgoing, Protocol, ReadResult, RerankCall, RerankScores, TextRole,
    count, field, scores_by_index, vectors_in_list,
};

pub(super) struct Cohere;

impl Protocol for Cohere {
    fn name(&self) -> &'static str {
        "cohere"
    }

    fn base_url(&self) -> &'static str {
        "https://api.cohere.com"
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["/v2", "/v1"]
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let role = match call.role {
            TextRole::Query => "search_query",
            TextRole::Passage => "search_document",
        };
        let mut body = json!({
            "model": call.model, "texts": call.texts, "input_type": role,
            "embedding_types": ["float"],
        });
        if let Some(dimensions) = call.dimensions {
            body["output_dimension"] = json!(dimensions);
        }
        Some(Outgoing::new("/embed", body))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        let list = field(answer, "/embeddings/float")?;
        let vectors = vectors_in_list(list, texts, "embeddings.float")?;
        Ok(Embeddings { vectors, tokens: count(answer, "/meta/billed_units/input_tokens") })
    }

    fn rerank(&self, call: &RerankCall<'_>) -> Option<Outgoing> {
        let body = json!({
            "model": call.model, "query": call.query, "documents": call.texts,
            "top_n": call.texts.len(),
        });
        Some(Outgoing::new("/rerank", body))
    }

    fn read_scores(&self, answer: &Value, texts: usize) -> ReadResult<RerankScores> {
        let results = field(answer, "/results")?;
        let scores = scores_by_index(results, texts, "results", "relevance_score")?;
        let places = ["/meta/billed_units/input_tokens", "/meta/tokens/input_tokens"];
        Ok(RerankScores { scores, tokens: places.iter().find_map(|place| count(answer, place)) })
    }
}
