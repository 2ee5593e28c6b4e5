//! The shared cache of embeddings when its server is not there, and when it speaks nonsense (M5).

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use haversack_provider::UsageScope;
use serde_json::json;

use crate::models;
use crate::server::{Reply, TestServer};

fn check_without_cache(address: &str) {
    let server = TestServer::start(|asked, _| {
        let count = asked.body["input"].as_array().map_or(0, Vec::len);
        let data: Vec<_> =
            (0..count).map(|index| json!({"index": index, "embedding": [1.0, 0.0]})).collect();
        Reply::json(&json!({ "data": data }))
    });
    let models = models(
        &server,
        &format!(
            "[providers.p]\nprotocol = \"openai\"\nbase_url = \"URL\"\n\
             [models.embed]\nprovider = \"p\"\nmodel = \"m\"\ndimensions = 2\n\
             [cache]\nredis = \"redis://{address}\"\n"
        ),
    );
    let embedder = models.for_workspace(models.embedder().unwrap().unwrap(), "acme");
    let scope = UsageScope::start();
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(embedder.embed(&["tea", "coffee"]).unwrap().len(), 2);
        embedder.embed_query("tea").unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(10), "a dead cache is left alone for a while");
    let used = scope.finish();
    assert_eq!(used.notes.len(), 1, "and said once: {:?}", used.notes);
    assert_eq!(server.asked().len(), 40);
}

#[test]
fn a_cache_that_is_not_there_is_a_miss_and_a_note_m5() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check_without_cache(&free.to_string());
}

#[test]
fn a_cache_that_speaks_nonsense_is_a_miss_and_a_note_m5() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The client may be gone by now.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    check_without_cache(&address.to_string());
}
