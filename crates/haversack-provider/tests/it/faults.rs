//! Faults of providers: what is retried, what is refused, and what never leaks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::embed::{EmbedError, Embedder};
use haversack_provider::{ModelRole, ModelSet, ModelsConfig, RerankDeadline};
use serde_json::{Value, json};

use crate::server::{Reply, TestServer};
use crate::{KEY, models};

const EMBED: &str = "[providers.p]\nprotocol = \"openai\"\nbase_url = \"URL\"\n\
                     api_key_env = \"TEST_KEY\"\ntimeout = 0.5\n\
                     [models.embed]\nprovider = \"p\"\nmodel = \"m\"\ndimensions = 2\n";

fn vectors(texts: usize) -> Reply {
    let data: Vec<Value> =
        (0..texts).map(|index| json!({"index": index, "embedding": [1.0, 0.0]})).collect();
    Reply::json(&json!({ "data": data }))
}

fn texts_of(body: &Value) -> usize {
    body["input"].as_array().map_or(0, Vec::len)
}

/// Embeds one query against a server, and returns the embedder's error as one line.
fn error_of(config: &str, server: &TestServer) -> String {
    let models = models(server, config);
    let embedder = models.embedder().unwrap().unwrap();
    let error = embedder.embed_query("secret words of a tenant").unwrap_err();
    let mut line = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        line.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    assert!(!line.contains(KEY) && !line.contains("secret words"), "{line}");
    line
}

#[test]
fn a_busy_provider_is_asked_again_after_the_pause_that_it_asks_for() {
    let server = TestServer::start(|_, number| match number {
        0 => Reply::status(429, "{}").header("retry-after", "0.3"),
        _ => vectors(1),
    });
    let models = models(&server, &EMBED.replace("timeout = 0.5", "timeout = 5"));
    models.embedder().unwrap().unwrap().embed_query("tea").unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].at - asked[0].at >= Duration::from_millis(300), "it waited as long as asked");
    assert_eq!(asked[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[test]
fn errors_that_may_pass_are_retried_and_others_are_not() {
    for (status, calls) in [(429, 3), (500, 3), (503, 3), (400, 1), (401, 1), (403, 1)] {
        let server = TestServer::start(move |_, _| Reply::status(status, "{}"));
        let config = EMBED.replace("timeout = 0.5", "timeout = 5");
        let line = error_of(&config, &server);
        assert_eq!(server.asked().len(), calls, "{status}");
        assert!(line.contains(&status.to_string()) && line.contains("/v1/embeddings"), "{line}");
    }
}

#[test]
fn a_provider_that_asks_for_a_long_pause_is_not_waited_for() {
    let server = TestServer::start(|_, _| Reply::status(429, "{}").header("retry-after", "3600"));
    let start = Instant::now();
    error_of(EMBED, &server);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_slow_provider_is_a_timeout_and_half_an_answer_is_retried() {
    let slow = TestServer::start(|_, _| vectors(1).after(Duration::from_secs(2)));
    let line = error_of(EMBED, &slow);
    assert!(line.contains("within"), "{line}");
    let server = TestServer::start(|_, number| match number {
        0 => vectors(1).cut(),
        _ => vectors(1),
    });
    let models = models(&server, &EMBED.replace("timeout = 0.5", "timeout = 5"));
    models.embedder().unwrap().unwrap().embed_query("tea").unwrap();
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn wrong_answers_are_errors_that_name_the_provider_and_the_field() {
    let check = |body: &str, expected: &str| {
        let body = body.to_owned();
        let server = TestServer::start(move |_, _| Reply::status(200, &body));
        let line = error_of(EMBED, &server);
        assert!(line.contains("p: ") && line.contains(expected), "{line}");
        assert_eq!(server.asked().len(), 1, "a wrong answer is not asked for again");
    };
    check("{\"data\": [", "not JSON");
    check("{}", "it has no data");
    check(r#"{"data": []}"#, "no entry for text 0 of 1");
    check(r#"{"data": [{"index": 4, "embedding": [1, 0]}]}"#, "index is 4, but 1 texts were sent");
    check(r#"{"data": [{"index": 0, "embedding": [1, 0, 0]}]}"#, "has 3 dimensions, not 2");
    check(r#"{"data": [{"index": 0, "embedding": [1, null]}]}"#, "not a number");
    // 2 numbers, the second is NaN.
    check(r#"{"data": [{"index": 0, "embedding": "AACAPwAAwH8="}]}"#, "not finite");
}

#[test]
fn redirects_are_not_followed() {
    let other = TestServer::start(|_, _| vectors(1));
    let to = format!("{}/v1/embeddings", other.url);
    let server = TestServer::start(move |_, _| Reply::status(307, "").header("location", &to));
    let line = error_of(EMBED, &server);
    assert!(line.contains("307"), "{line}");
    assert!(other.asked().is_empty(), "the key went nowhere else");
}

#[test]
fn an_error_body_that_echoes_texts_and_keys_shows_neither() {
    for field in ["message", "detail"] {
        let server = TestServer::start(move |asked, _| {
            let key = asked.header("authorization").unwrap_or_default();
            let text = format!("bad: {} {}", asked.body["input"][0], key);
            Reply::status(400, &json!({ field: text }).to_string())
        });
        error_of(EMBED, &server);
    }
    let server = TestServer::start(|_, _| {
        Reply::status(401, &format!(r#"{{"error": {{"message": "Incorrect key {KEY}"}}}}"#))
    });
    let line = error_of(EMBED, &server);
    assert!(line.ends_with("Incorrect key [redacted]"), "{line}");
}

#[test]
fn a_batch_that_is_too_large_is_halved_and_the_size_remembered() {
    let server = TestServer::start(|asked, _| match texts_of(&asked.body) {
        count @ 0..=10 => vectors(count),
        _ => Reply::status(422, r#"{"detail": [{"msg": "too many"}]}"#),
    });
    let models = models(&server, EMBED);
    let embedder = models.embedder().unwrap().unwrap();
    let texts: Vec<String> = (0..40).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(embedder.embed(&texts).unwrap().len(), 40);
    let before = server.asked().len();
    assert_eq!(embedder.embed(&texts).unwrap().len(), 40);
    let sizes: Vec<usize> = server.asked()[before..].iter().map(|a| texts_of(&a.body)).collect();
    assert_eq!(sizes, [10, 10, 10, 10]);
}

#[test]
fn a_version_in_the_base_url_is_neither_doubled_nor_needed() {
    let only = |path: &'static str| {
        TestServer::start(move |asked, _| match asked.path == path {
            true => vectors(1),
            false => Reply::status(404, "{}"),
        })
    };
    for (base, path) in [
        ("URL", "/v1/embeddings"),
        ("URL/", "/v1/embeddings"),
        ("URL/v1", "/v1/embeddings"),
        ("URL/v1/", "/v1/embeddings"),
        ("URL", "/embeddings"),
        ("URL/api/v3", "/api/v3/embeddings"),
    ] {
        let server = only(path);
        let models = models(&server, &EMBED.replace("\"URL\"", &format!("\"{base}\"")));
        let embedder = models.embedder().unwrap().unwrap();
        embedder.embed_query("tea").unwrap();
        let first = server.asked().len();
        embedder.embed_query("coffee").unwrap();
        assert_eq!(server.asked().len() - first, 1, "{base}: what worked is remembered");
    }
}

#[test]
fn a_dead_provider_is_refused_at_once_after_some_failures() {
    let server = TestServer::start(|_, _| Reply::status(500, "{}"));
    let models = models(&server, &EMBED.replace("timeout = 0.5", "timeout = 5\nretries = 0"));
    let embedder = models.embedder().unwrap().unwrap();
    for _ in 0..8 {
        embedder.embed_query("tea").unwrap_err();
    }
    assert_eq!(server.asked().len(), 5, "the circuit is open");
    let error = embedder.embed_query("tea").unwrap_err();
    assert!(matches!(error, EmbedError::RetryLater { .. }));
}

#[test]
fn calls_in_flight_stay_within_the_limit() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (Arc::clone(&now), Arc::clone(&most));
    let server = TestServer::start(move |asked, _| {
        highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        counted.fetch_sub(1, Ordering::SeqCst);
        vectors(texts_of(&asked.body))
    });
    let config = EMBED.replace("timeout = 0.5", "timeout = 30\nconcurrency = 3");
    let models = models(&server, &format!("{config}batch = 2\n"));
    let texts: Vec<String> = (0..60).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    models.embedder().unwrap().unwrap().embed(&texts).unwrap();
    assert_eq!(server.asked().len(), 30);
    let most = most.load(Ordering::SeqCst);
    assert!((2..=3).contains(&most), "{most}");
}

#[test]
fn dimensions_are_learnt_from_the_first_answer_and_kept_m4() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(|asked, _| vectors(texts_of(&asked.body)));
    let config = EMBED.replace("dimensions = 2\n", "").replace("URL", &server.url);
    let open = || {
        let config = ModelsConfig::parse(&config).unwrap();
        ModelSet::open(config, Some(folder.path()), &|_| Some(KEY.to_owned())).unwrap()
    };
    assert_eq!(open().embedder().unwrap().unwrap().model().dimensions, 2);
    assert_eq!(open().embedder().unwrap().unwrap().model().dimensions, 2);
    assert_eq!(server.asked().len(), 1, "the second start needs no call");
    let wrong = config.clone() + "dimensions = 3\n";
    let config = ModelsConfig::parse(&wrong).unwrap();
    let models = ModelSet::open(config, None, &|_| Some(KEY.to_owned())).unwrap();
    let report = &models.try_models(None)[0];
    let finding = report.finding.clone().unwrap_err();
    assert!(finding.contains("2 dimensions, but models.embed.dimensions is 3"), "{finding}");
}

#[test]
fn a_key_that_is_not_there_is_named_and_never_shown() {
    let config = ModelsConfig::parse(&EMBED.replace("URL", "http://127.0.0.1:9")).unwrap();
    let error = ModelSet::open(config.clone(), None, &|_| None).unwrap_err().to_string();
    assert!(error.contains("the variable TEST_KEY is not set"), "{error}");
    let models = ModelSet::open(config, None, &|_| Some(KEY.to_owned())).unwrap();
    let shown = format!("{models:?} {}", models.config().to_toml());
    assert!(!shown.contains(KEY), "{shown}");
    let report = &models.try_models(Some(ModelRole::Embed))[0];
    let finding = report.finding.clone().unwrap_err();
    assert!(finding.contains("no answer from http://127.0.0.1:9/v1/embeddings"), "{finding}");
}

#[test]
fn a_local_reranker_that_is_late_is_left_behind() {
    #[derive(Debug)]
    struct Slow;
    impl haversack_core::rank::Reranker for Slow {
        fn name(&self) -> &str {
            "slow"
        }
        fn scores(
            &self,
            _query: &str,
            texts: &[&str],
        ) -> Result<Vec<haversack_core::units::Score>, haversack_core::rank::RerankError> {
            std::thread::sleep(Duration::from_secs(20));
            Ok(vec![haversack_core::units::Score::ONE; texts.len()])
        }
    }
    use haversack_core::rank::Reranker;
    let reranker = RerankDeadline::new(Arc::new(Slow), Duration::from_millis(20));
    for expected in ["not done within", "still running"] {
        let error = reranker.scores("tea", &["a"]).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(expected), "{cause}");
    }
}

#[test]
fn a_redirected_or_failed_probe_says_which_url_was_called() {
    let server = TestServer::start(|_, _| Reply::status(404, r#"{"error": "no such model"}"#));
    let models = models(&server, EMBED);
    let report = &models.try_models(None)[0];
    let finding = report.finding.clone().unwrap_err();
    assert!(finding.contains("/v1/embeddings answered 404"), "{finding}");
    assert!(finding.contains("no such model"), "{finding}");
}

#[test]
fn the_embedder_works_inside_and_outside_of_a_runtime() {
    let server = TestServer::start(|asked, _| vectors(texts_of(&asked.body)));
    let models = models(&server, EMBED);
    let embedder: Arc<dyn Embedder> = models.embedder().unwrap().unwrap();
    embedder.embed_query("outside").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let inside = Arc::clone(&embedder);
    runtime.block_on(async move {
        tokio::task::spawn_blocking(move || inside.embed_query("inside")).await.unwrap().unwrap();
    });
    // Dropping the models inside of a runtime must not panic.
    runtime.block_on(async move { drop((models, embedder)) });
}

#[test]
fn calls_at_once_do_not_stand_in_each_others_way_while_they_are_in_time() {
    use haversack_core::rank::{RerankError, Reranker};
    use haversack_core::units::Score;
    #[derive(Debug)]
    struct Steady;
    impl Reranker for Steady {
        fn name(&self) -> &str {
            "steady"
        }
        fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
            assert!(query != "panic", "on purpose");
            std::thread::sleep(Duration::from_millis(100));
            Ok(vec![Score::ONE; texts.len()])
        }
    }
    let reranker = Arc::new(RerankDeadline::new(Arc::new(Steady), Duration::from_secs(20)));
    reranker.scores("panic", &["a"]).unwrap_err();
    let calls: Vec<_> = (0..8)
        .map(|_| Arc::clone(&reranker))
        .map(|reranker| std::thread::spawn(move || reranker.scores("tea", &["a"]).is_ok()))
        .collect();
    assert!(calls.into_iter().all(|call| call.join().unwrap()));
}
