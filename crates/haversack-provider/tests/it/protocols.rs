//! Each protocol: what is sent, and what is made of the answer (M4).

use haversack_core::units::Score;
use haversack_provider::{ChatQuestion, ModelRole};
use serde_json::{Value, json};
use std::time::Duration;

use crate::models;
use crate::server::{Reply, TestServer};

/// Embeds two texts and a query, and returns what the server was asked.
fn check_embedding(protocol: &str, answer: Value, path: &str, query: Value, passages: Value) {
    let server = TestServer::start(move |asked, _| {
        let is_query = asked.body.to_string().contains("which fruit");
        let list = answer[if is_query { "one" } else { "two" }].clone();
        Reply::json(&list)
    });
    let models = models(
        &server,
        &format!(
            "[providers.p]\nprotocol = \"{protocol}\"\nbase_url = \"URL\"\napi_key_env = \"TEST_KEY\"\n\
             [models.embed]\nprovider = \"p\"\nmodel = \"m\"\ndimensions = 3\n"
        ),
    );
    let embedder = models.embedder().unwrap().unwrap();
    let vectors = embedder.embed(&["apple", "pear"]).unwrap();
    assert_eq!(vectors[0].as_slice(), [1.0, 0.0, 0.0], "{protocol}: normalised, in order");
    assert_eq!(vectors[1].as_slice(), [0.0, 0.0, 1.0]);
    assert_eq!(embedder.embed_query("which fruit").unwrap().as_slice(), [0.0, 1.0, 0.0]);
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "{protocol}");
    assert_eq!(asked[0].path, path);
    assert_eq!(asked[0].body, passages, "{protocol}");
    assert_eq!(asked[1].body, query, "{protocol}");
    let usage = models.usage().snapshot()[&ModelRole::Embed];
    assert_eq!(usage.calls, 2);
    assert!(usage.tokens_in > 0);
}

#[test]
fn openai_embeddings_are_read_as_base64_or_numbers_whatever_their_order() {
    // [0, 0, 5] in little-endian single precision.
    let encoded = "AAAAAAAAAAAAAKBA";
    let two = json!({
        "data": [{"index": 1, "embedding": encoded}, {"index": 0, "embedding": [2.0, 0.0, 0.0]}],
        "usage": {"prompt_tokens": 7},
    });
    let one = json!({"data": [{"index": 0, "embedding": [0, 0.5, 0]}]});
    let body = |input: Value| json!({"model": "m", "input": input, "encoding_format": "base64", "dimensions": 3});
    check_embedding(
        "openai",
        json!({"one": one, "two": two}),
        "/v1/embeddings",
        body(json!(["which fruit"])),
        body(json!(["apple", "pear"])),
    );
}

#[test]
fn gemini_embeddings() {
    let answer = json!({
        "one": {"embeddings": [{"values": [0, 3, 0]}]},
        "two": {"embeddings": [{"values": [1, 0, 0]}, {"values": [0, 0, 0.1]}]},
    });
    let request = |text: &str, task: &str| {
        json!({
            "model": "models/m", "content": {"parts": [{"text": text}]}, "taskType": task,
            "outputDimensionality": 3,
        })
    };
    check_embedding(
        "gemini",
        answer,
        "/v1beta/models/m:batchEmbedContents",
        json!({"requests": [request("which fruit", "RETRIEVAL_QUERY")]}),
        json!({"requests": [
            request("apple", "RETRIEVAL_DOCUMENT"), request("pear", "RETRIEVAL_DOCUMENT")
        ]}),
    );
}

#[test]
fn cohere_embeddings() {
    let body = |texts: Value, role: &str| {
        json!({
            "model": "m", "texts": texts, "input_type": role, "embedding_types": ["float"],
            "output_dimension": 3,
        })
    };
    check_embedding(
        "cohere",
        json!({
            "one": {"embeddings": {"float": [[0, 1, 0]]}},
            "two": {"embeddings": {"float": [[1, 0, 0], [0, 0, 1]]}},
        }),
        "/v2/embed",
        body(json!(["which fruit"]), "search_query"),
        body(json!(["apple", "pear"]), "search_document"),
    );
}

#[test]
fn jina_and_voyage_embeddings_tell_queries_from_passages() {
    let answer = json!({
        "one": {"data": [{"index": 0, "embedding": [0, 1, 0]}]},
        "two": {"data": [
            {"index": 0, "embedding": [1, 0, 0]}, {"index": 1, "embedding": [0, 0, 1]}
        ]},
    });
    let jina = |input: Value, task: &str| json!({"model": "m", "input": input, "task": task, "dimensions": 3});
    check_embedding(
        "jina",
        answer.clone(),
        "/v1/embeddings",
        jina(json!(["which fruit"]), "retrieval.query"),
        jina(json!(["apple", "pear"]), "retrieval.passage"),
    );
    let voyage = |input: Value, role: &str| json!({"model": "m", "input": input, "input_type": role, "output_dimension": 3});
    check_embedding(
        "voyage",
        answer,
        "/v1/embeddings",
        voyage(json!(["which fruit"]), "query"),
        voyage(json!(["apple", "pear"]), "document"),
    );
}

#[test]
fn tei_and_ollama_embeddings() {
    let tei = |inputs: Value| json!({"inputs": inputs, "normalize": true, "truncate": true, "dimensions": 3});
    check_embedding(
        "tei",
        json!({"one": [[0, 1, 0]], "two": [[1, 0, 0], [0, 0, 1]]}),
        "/embed",
        tei(json!(["which fruit"])),
        tei(json!(["apple", "pear"])),
    );
    let ollama =
        |input: Value| json!({"model": "m", "input": input, "truncate": true, "dimensions": 3});
    check_embedding(
        "ollama",
        json!({
            "one": {"embeddings": [[0, 1, 0]], "prompt_eval_count": 2},
            "two": {"embeddings": [[1, 0, 0], [0, 0, 1]]},
        }),
        "/api/embed",
        ollama(json!(["which fruit"])),
        ollama(json!(["apple", "pear"])),
    );
}

fn check_rerank(protocol: &str, path: &str, answer: Value, expected: [f64; 2]) {
    let server = TestServer::start(move |_, _| Reply::json(&answer));
    let models = models(
        &server,
        &format!(
            "[providers.p]\nprotocol = \"{protocol}\"\nbase_url = \"URL\"\n\
             [models.rerank]\nprovider = \"p\"\nmodel = \"m\"\n"
        ),
    );
    let reranker = models.reranker().unwrap().unwrap();
    let scores = reranker.scores("fruit", &["apple", "kettle"]).unwrap();
    assert_eq!(scores, expected.map(Score::unit), "{protocol}");
    let asked = &server.asked()[0];
    assert_eq!(asked.path, path, "{protocol}");
    assert_eq!(asked.body["query"], "fruit");
}

#[test]
fn reranking_by_each_protocol_m4() {
    let results = json!({"results": [
        {"index": 1, "relevance_score": 0.25}, {"index": 0, "relevance_score": 0.75}
    ]});
    check_rerank("openai", "/v1/rerank", results.clone(), [0.75, 0.25]);
    check_rerank("cohere", "/v2/rerank", results.clone(), [0.75, 0.25]);
    check_rerank("jina", "/v1/rerank", results, [0.75, 0.25]);
    let data = json!({"data": [
        {"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 0.0}
    ]});
    check_rerank("voyage", "/v1/rerank", data, [0.5, 0.0]);
    let list = json!([{"index": 1, "score": 0.1}, {"index": 0, "score": 0.9}]);
    check_rerank("tei", "/rerank", list, [0.9, 0.1]);
}

#[test]
fn logits_become_scores_between_zero_and_one() {
    let results = json!({"results": [
        {"index": 0, "relevance_score": 0.0}, {"index": 1, "relevance_score": -40.0}
    ]});
    let low = 1.0 / (1.0 + 40.0_f64.exp());
    check_rerank("openai", "/v1/rerank", results, [0.5, low]);
}

/// Asks a chat model, and returns what the server was asked.
fn check_chat(protocol: &str, path: &str, answer: Value) -> Value {
    let server = TestServer::start(move |_, _| Reply::json(&answer));
    let models = models(
        &server,
        &format!(
            "[providers.p]\nprotocol = \"{protocol}\"\nbase_url = \"URL\"\napi_key_env = \"TEST_KEY\"\n\
             [models.judge]\nprovider = \"p\"\nmodel = \"m\"\nprice_in = 1.0\nprice_out = 2.0\n"
        ),
    );
    let model = models.chat(ModelRole::Judge).unwrap().unwrap();
    let (value, url) = model.ask_blocking(question(), Duration::from_secs(10)).unwrap();
    assert_eq!(value, json!({"holds": true}), "{protocol}");
    assert_eq!(url, format!("{}{path}", server.url));
    let usage = models.usage().snapshot()[&ModelRole::Judge];
    assert_eq!((usage.tokens_in, usage.tokens_out), (11, 5), "{protocol}");
    assert!((usage.cost - 21e-6).abs() < 1e-12, "{protocol}: {}", usage.cost);
    server.asked()[0].body.clone()
}

fn question() -> ChatQuestion {
    ChatQuestion {
        system: "Judge.".to_owned(),
        user: "It rains.".to_owned(),
        schema: json!({"type": "object", "properties": {"holds": {"type": "boolean"}}}),
        tokens_max: Some(99),
        accepts_cut: false,
    }
}

#[test]
fn chat_by_each_protocol_s3() {
    let text = r#"{"holds": true}"#;
    let openai = json!({
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5},
    });
    for protocol in ["openai", "azure"] {
        let path = if protocol == "openai" { "/v1/chat/completions" } else { "/chat/completions" };
        let body = check_chat(protocol, path, openai.clone());
        assert_eq!(body["response_format"]["json_schema"]["strict"], true);
        assert_eq!(body["temperature"], 0.0);
        assert_eq!(body["max_tokens"], 99);
    }
    let anthropic = json!({
        "content": [{"type": "tool_use", "name": "answer", "input": {"holds": true}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "cache_read_input_tokens": 10, "output_tokens": 5},
    });
    let body = check_chat("anthropic", "/v1/messages", anthropic);
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "answer"}));
    assert_eq!(body["system"], "Judge.");
    let gemini = json!({
        "candidates": [{"content": {"parts": [
            {"text": "thinking {\"holds\": false}", "thought": true}, {"text": text}
        ]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5},
    });
    let body = check_chat("gemini", "/v1beta/models/m:generateContent", gemini);
    assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
    let ollama = json!({
        "message": {"content": text}, "done_reason": "stop",
        "prompt_eval_count": 11, "eval_count": 5,
    });
    let body = check_chat("ollama", "/api/chat", ollama);
    assert_eq!(body["format"]["type"], "object");
    assert_eq!(body["stream"], false);
}

#[test]
fn the_strictest_output_mode_that_works_is_found_once_and_remembered() {
    let server = TestServer::start(|asked, _| {
        if asked.body.get("max_tokens").is_some() {
            let error = json!({"error": {"message": "use another", "param": "max_tokens"}});
            return Reply::status(400, &error.to_string());
        }
        match asked.body.pointer("/response_format/type").and_then(Value::as_str) {
            None => Reply::json(&json!({"choices": [{"message": {"content": "So: {\"a\": 1}"}}]})),
            Some(_) => Reply::status(400, r#"{"error": {"message": "no response_format"}}"#),
        }
    });
    let models = models(
        &server,
        "[providers.p]\nprotocol = \"openai\"\nbase_url = \"URL/v1\"\n\
         [models.judge]\nprovider = \"p\"\nmodel = \"m\"\n",
    );
    let model = models.chat(ModelRole::Judge).unwrap().unwrap();
    for _ in 0..2 {
        let (value, _) = model.ask_blocking(question(), Duration::from_secs(10)).unwrap();
        assert_eq!(value, json!({"a": 1}));
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 5, "three refusals the first time, none the second");
    let system = asked[4].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("JSON schema"), "the prompt describes the answer: {system}");
}

#[test]
fn tokens_are_counted_by_the_provider_and_remembered_m10() {
    for (protocol, path, answer) in [
        ("anthropic", "/v1/messages/count_tokens", json!({"input_tokens": 14})),
        ("gemini", "/v1beta/models/m:countTokens", json!({"totalTokens": 14})),
    ] {
        let server = TestServer::start(move |_, _| Reply::json(&answer));
        let models = models(
            &server,
            &format!(
                "[providers.p]\nprotocol = \"{protocol}\"\nbase_url = \"URL\"\n\
                 [models.count]\nprovider = \"p\"\nmodel = \"m\"\n"
            ),
        );
        let counter = models.counter().unwrap().unwrap();
        assert_eq!([counter.count("tea").unwrap(), counter.count("tea").unwrap()], [14, 14]);
        assert_eq!(server.asked().len(), 1);
        assert_eq!(server.asked()[0].path, path);
    }
}

fn ask_judge(server: &TestServer, protocol: &str) -> Result<Value, String> {
    let config = format!(
        "[providers.p]\nprotocol = \"{protocol}\"\nbase_url = \"URL\"\nretries = 0\n\
         [models.judge]\nprovider = \"p\"\nmodel = \"m\"\n"
    );
    let model = models(server, &config).chat(ModelRole::Judge).unwrap().unwrap();
    let asked = model.ask_blocking(question(), Duration::from_secs(10));
    asked.map(|(value, _)| value).map_err(|error| error.to_string())
}

#[test]
fn a_tool_call_that_was_cut_is_no_answer() {
    // As llama.cpp answers when the tokens end inside of the call.
    let server = TestServer::start(|_, _| {
        Reply::json(&json!({
            "content": [{"type": "tool_use", "name": "answer", "input": {}}],
            "stop_reason": "max_tokens", "usage": {"input_tokens": 9, "output_tokens": 99},
        }))
    });
    let error = ask_judge(&server, "anthropic").unwrap_err();
    assert!(error.contains("raise max_tokens"), "{error}");
}

#[test]
fn a_server_that_ignores_the_schema_is_asked_in_the_next_way() {
    let server = TestServer::start(|asked, _| match asked.body.get("output_config") {
        // LiteLLM begins with an empty text.
        Some(_) => Reply::json(&json!({"content": [
            {"type": "text", "text": ""}, {"type": "text", "text": "{\"holds\": true}"}
        ]})),
        None => Reply::json(&json!({"content": [{"type": "text", "text": "Well, I think so."}]})),
    });
    assert_eq!(ask_judge(&server, "anthropic").unwrap(), json!({"holds": true}));
}

#[test]
fn a_refusal_of_all_ways_reports_the_first_and_is_not_remembered() {
    let server = TestServer::start(|_, number| {
        let message = if number == 0 { "wrong key" } else { "no response_format" };
        Reply::status(400, &json!({"error": {"message": message}}).to_string())
    });
    let error = ask_judge(&server, "openai").unwrap_err();
    assert!(error.ends_with("wrong key"), "{error}");
}
