//! Hugging Face's text-embeddings-inference: its own calls for embeddings and reranking.

use serde_json::{Value, json};

use super::{
    EmbedCall, Embeddings, Outgoing, Protocol, ReadResult, RerankCall, RerankScores,
    scores_by_index, vectors_in_list,
};

pub(super) struct Tei;

impl Protocol for Tei {
    fn name(&self) -> &'static str {
        "tei"
    }

    fn base_url(&self) -> &'static str {
        "http://127.0.0.1:8080"
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &[""]
    }

    fn batch(&self) -> usize {
        32
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let mut body = json!({ "inputs": call.texts, "normalize": true, "truncate": true });
        if let Some(dimensions) = call.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        Some(Outgoing::new("/embed", body))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        Ok(Embeddings { vectors: vectors_in_list(answer, texts, "the answer")?, tokens: None })
    }

    fn rerank(&self, call: &RerankCall<'_>) -> Option<Outgoing> {
        let body = json!({
            "query": call.query, "texts": call.texts, "raw_scores": false, "truncate": true,
        });
        Some(Outgoing::new("/rerank", body))
    }

    fn read_scores(&self, answer: &Value, texts: usize) -> ReadResult<RerankScores> {
        let scores = scores_by_index(answer, texts, "the answer", "score")?;
        Ok(RerankScores { scores, tokens: None })
    }
}
