//! The collector `situation`.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_situation_is_rendered_in_lines_s6() {
    let store = CollectorStore::with(Vec::new()).await;
    let Value::Object(situation) =
        json!({"tool": "deploy", "attempt": 2, "targets": ["eu", "us"], "nothing": null})
    else {
        unreachable!()
    };
    let request = Request { situation, intent: Some("ship it".to_owned()), ..ask("") };
    let collected = store.collect(&spec("situation", &[]), request).await;
    assert_eq!(candidate_lines(&collected, &[]), "situation");
    let expected = "Intent: ship it\ntool: deploy\nattempt: 2\ntargets: [\"eu\",\"us\"]";
    assert_eq!(&*collected.candidates[0].text, expected);
    store.check_ids(&spec("situation", &[]), ask(""), &[]).await;
}
