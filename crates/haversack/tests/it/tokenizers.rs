//! Tokenizers that an application brings along (M10).

use std::sync::Arc;

use haversack::{Engine, Request};
use haversack_core::text::tokenizer::{CharacterEstimate, Tokenizer};
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::item;

#[tokio::test]
async fn an_application_tokenizer_counts_and_is_listed_m10() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().tokenizer("mine", Arc::new(CharacterEstimate));
    let workspace = engine.open_recorded(folder.path()).unwrap().workspace("test").unwrap();
    let tea = item("tea", "note", "Anna drinks green tea, never coffee.", json!({}));
    workspace.put(vec![tea]).await.unwrap();
    let mut request = Request::new("everything", "green tea").within(100);
    request.tokenizer = Some("mine".to_owned());
    let assembled = workspace.pack(request.clone()).await.unwrap();
    assert_eq!(assembled.pack.tokenizer, CharacterEstimate.name());
    assert_eq!(assembled.pack.tokens, CharacterEstimate.count(assembled.text()));
    request.tokenizer = Some("yours".to_owned());
    let refused = workspace.pack(request).await.unwrap_err().to_string();
    let expected = "tokenizer: there is no tokenizer \"yours\"; there are mine, o200k_base, ";
    assert!(refused.starts_with(expected), "{refused}");
    workspace.flush().await;
}
