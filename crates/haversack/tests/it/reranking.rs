//! M4: a model reranks the best candidates together with the query.

use std::path::Path;
use std::sync::Arc;

use haversack::receipt::DifferenceCause;
use haversack::{Engine, ErrorCode, Request};
use haversack_core::rank::{RerankError, Reranker};
use haversack_core::units::Score;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::item;

/// A reranker that prefers habits for queries about drinks.
#[derive(Debug)]
struct Habits;

impl Reranker for Habits {
    fn name(&self) -> &str {
        "habits@1"
    }

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
        if query.contains("storm") {
            let cause = "the line is down".into();
            return Err(RerankError { reranker: self.name().to_owned(), cause });
        }
        Ok(texts.iter().map(|text| Score::unit(f64::from(text.contains("every day")))).collect())
    }
}

const RECIPE: &str = "haversack = 1\nname = \"reread\"\nextends = \"memory\"\n\
    [output]\ndegrade = true\n\
    [[layer]]\nname = \"memories\"\nrerank = 3\nscore = { fusion = 1.0, rerank = 2.0 }\n";

fn engine(folder: &Path, reranker: Option<Arc<dyn Reranker>>) -> Engine {
    let builder = Engine::builder().recipe("reread", RECIPE);
    let builder = match reranker {
        Some(reranker) => builder.reranker(reranker),
        None => builder,
    };
    builder.open_recorded(folder).unwrap()
}

fn memory_request(query: &str) -> Request {
    Request::new("reread", query).within(500)
}

#[tokio::test]
async fn the_best_candidates_are_reranked_m4() {
    let folder = tempfile::tempdir().unwrap();
    let receipt = {
        let engine = engine(folder.path(), Some(Arc::new(Habits)));
        let workspace = engine.workspace("home").unwrap();
        let memory = |id: &str, text: &str| item(id, "memory", text, json!({}));
        let items = vec![
            memory("tea", "What does Anna drink? Anna asked what to drink: a drink, Anna said."),
            memory("habit", "Anna has green tea every day."),
            memory("dog", "The dog of Anna is called Biscuit."),
        ];
        workspace.put(items).await.unwrap();
        let pack = workspace.pack(memory_request("what does Anna drink?")).await.unwrap();
        let first = pack.text().find("every day").unwrap();
        assert!(first < pack.text().find("What does Anna").unwrap(), "{}", pack.text());
        let line = pack.pack.ledger.iter().find(|entry| entry.id.item.as_str() == "habit").unwrap();
        let parts = &line.parts;
        let said = parts.iter().find(|part| part.component.name() == "rerank").unwrap();
        assert_eq!((said.value, said.weight), (Score::ONE, 2.0));
        let receipt = pack.receipt();
        workspace.flush().await;
        let again = workspace.replay(&receipt, &Viewer::owner()).await.unwrap();
        assert!(again.difference.same);
        // A failure becomes a notice; where degrading is not allowed, it is an error.
        let pack =
            workspace.pack(memory_request("what does Anna drink in a storm?")).await.unwrap();
        assert!(pack.is_degraded() && pack.text().contains("green tea"));
        let mut strict = memory_request("what does Anna drink in a storm?");
        strict.degrade = Some(false);
        assert_eq!(workspace.pack(strict).await.unwrap_err().code(), ErrorCode::Search);
        receipt
    };
    let engine = engine(folder.path(), None);
    let workspace = engine.workspace("home").unwrap();
    let pack = workspace.pack(memory_request("what does Anna drink?")).await.unwrap();
    assert!(pack.text().find("What does Anna").unwrap() < pack.text().find("every day").unwrap());
    let parts = pack.pack.ledger.iter().flat_map(|entry| &entry.parts);
    assert!(parts.clone().all(|part| part.component.name() != "rerank"), "nobody said anything");
    let again = workspace.replay(&receipt, &Viewer::owner()).await.unwrap();
    let (before, after) = ("habits@1".to_owned(), String::new());
    assert_eq!(again.difference.causes, [DifferenceCause::Reranker { before, after }]);
}
