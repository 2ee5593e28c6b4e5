//! Traces: what a caller says of them, and, with the feature `otlp`, what a collector gets.

use haversack_serve::config::Config;

use serde_json::json;

use crate::isolation::RecordingSubscriber;
use crate::support::{Running, config};

/// A configuration that names a collector.
fn collected_by(collector: &str) -> Config {
    let mut config = config();
    config.log.otlp = collector.to_owned();
    config
}

/// On one thread, so that the log is this test's alone.
#[tokio::test]
async fn the_trace_id_of_a_request_is_in_its_log_line() {
    let log = RecordingSubscriber::default();
    let _logged = tracing::subscriber::set_default(log.clone());
    let running = Running::start().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let ask = |traceparent: &str| {
        let ask = running.ask("GET", "/v1/workspaces").header("x-request-id", "mine");
        ask.header("traceparent", traceparent).send()
    };
    ask(&format!("00-{trace}-00f067aa0ba902b7-01")).await;
    ask(&format!("00-{trace}-0000000000000000-01")).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": { "_meta": {
        "traceparent": format!("00-{trace}-00f067aa0ba902b7-01"),
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    } } });
    let ask = running
        .ask("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "prompts/list");
    ask.json(&body).send().await;
    let found: Vec<bool> = log
        .text()
        .lines()
        .filter(|line| line.contains("message=request") || line.contains("message=mcp"))
        .map(|line| line.contains(&format!("trace=\"{trace}\"")))
        .collect();
    assert_eq!(found, [true, false, true, false], "{}", log.text());
    running.stop().await;
}

#[cfg(not(feature = "otlp"))]
#[tokio::test]
async fn a_build_without_traces_refuses_a_collector() {
    let folder = tempfile::tempdir().unwrap();
    let engine = haversack::Engine::open(folder.path()).unwrap();
    let config = collected_by("http://127.0.0.1:4318");
    let bound = haversack_serve::Server::bind(engine, folder.path(), config, false).await;
    let error = bound.err().unwrap().to_string();
    assert!(error.starts_with("log.otlp: ") && error.contains("--features otlp"), "{error}");
    // Set for every program of a machine, it is no reason not to start.
    let all = [("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "http://127.0.0.1:4318".to_owned())];
    assert_eq!(Config::read(None, &all.into()).unwrap().log.otlp, "");
}

#[cfg(feature = "otlp")]
mod sent {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use haversack_serve::config::Config;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::collected_by;
    use crate::support::Running;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    /// A collector on this machine: keeps the body of each request.
    struct FakeCollector {
        address: String,
        bodies: Arc<Mutex<Vec<Vec<u8>>>>,
        task: JoinHandle<()>,
    }

    impl Drop for FakeCollector {
        fn drop(&mut self) {
            self.task.abort();
        }
    }

    impl FakeCollector {
        async fn start() -> FakeCollector {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = format!("http://{}", listener.local_addr().unwrap());
            let bodies = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&bodies);
            let task = tokio::spawn(async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
                    assert!(head.starts_with("post /v1/traces "), "{head}");
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let length = length.split("\r\n").next().unwrap().parse().unwrap();
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).await.unwrap();
                    kept.lock().unwrap().push(body);
                    let answer =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    stream.write_all(answer).await.unwrap();
                }
            });
            FakeCollector { address, bodies, task }
        }

        fn spans(&self) -> Vec<ReceivedSpan> {
            let bodies = self.bodies.lock().unwrap();
            let all = bodies.iter().flat_map(|body| fields(body));
            let scopes = all.flat_map(|(_, resource)| of(resource, 2));
            scopes.flat_map(|scope| of(scope, 2)).map(ReceivedSpan::read).collect()
        }

        fn holds(&self, word: &str) -> bool {
            let bodies = self.bodies.lock().unwrap();
            bodies.iter().any(|body| body.windows(word.len()).any(|part| part == word.as_bytes()))
        }
    }

    #[derive(Debug)]
    struct ReceivedSpan {
        trace: String,
        id: String,
        parent: String,
        name: String,
        start: u64,
        end: u64,
        attributes: BTreeMap<String, String>,
    }

    impl ReceivedSpan {
        fn read(bytes: &[u8]) -> ReceivedSpan {
            let hex = |number| {
                let bytes = of(bytes, number).into_iter().next().unwrap_or_default();
                bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
            };
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let time = |number| u64::from_le_bytes(of(bytes, number)[0].try_into().unwrap());
            let attribute = |pair: &[u8]| {
                let value = fields(of(pair, 2)[0])[0];
                // A text, or a number that was kept as text below.
                (text(of(pair, 1)[0]), if value.0 == 1 { text(value.1) } else { number(value.1) })
            };
            ReceivedSpan {
                trace: hex(1),
                id: hex(2),
                parent: hex(4),
                name: text(of(bytes, 5)[0]),
                start: time(7),
                end: time(8),
                attributes: of(bytes, 9).into_iter().map(attribute).collect(),
            }
        }
    }

    /// A number as protobuf writes it.
    fn number(bytes: &[u8]) -> String {
        let folded = bytes.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
        folded.to_string()
    }

    /// The bytes of a number, taken from the beginning.
    fn varint<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let (own, rest) = bytes.split_at(length);
        *bytes = rest;
        own
    }

    /// The fields of a message of protobuf: their numbers and bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let key: u64 = number(varint(&mut bytes)).parse().unwrap();
            let value = match key & 7 {
                0 => varint(&mut bytes),
                sort => {
                    let length = match sort {
                        1 => 8,
                        2 => number(varint(&mut bytes)).parse().unwrap(),
                        5 => 4,
                        other => panic!("{other} is no sort of field"),
                    };
                    let (own, rest) = bytes.split_at(length);
                    bytes = rest;
                    own
                }
            };
            all.push((key >> 3, value));
        }
        all
    }

    fn of(bytes: &[u8], wanted: u64) -> Vec<&[u8]> {
        let all = fields(bytes).into_iter();
        all.filter(|(number, _)| *number == wanted).map(|(_, value)| value).collect()
    }

    /// The steps that the figures know.
    const STEPS: [&str; 6] = ["analyse", "embed", "collect", "measure", "rank", "pack"];

    #[tokio::test(flavor = "multi_thread")]
    async fn a_pack_is_traced_with_its_stages_and_without_its_text() {
        let collector = FakeCollector::start().await;
        let running = Running::with(collected_by(&collector.address)).await;
        running.engine.workspace("secretspace").unwrap();
        let items =
            json!([{ "id": "secretid", "kind": "note", "body": "The secretword is here." }]);
        running.post("/v1/workspaces/secretspace/items", &items).await;
        let body = json!({ "query": "where is the secretquery?", "user": "secretuser" });
        let path = "/v1/workspaces/secretspace/context/everything";
        let ask = || running.ask("POST", path).json(&body);
        let traceparent = format!("00-{TRACE}-{PARENT}-01");
        let reply = ask().header("traceparent", &traceparent).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        // Who says that nobody looks at the trace is not sent.
        let unseen = format!("00-{}-{PARENT}-00", TRACE.replace('4', "5"));
        ask().header("traceparent", &unseen).send().await;
        running.get("/livez").await;
        running.stop().await;
        let spans = collector.spans();
        let request = spans.iter().find(|span| span.parent == PARENT).unwrap();
        let route = "/v1/workspaces/{ws}/context/{recipe}";
        assert_eq!(
            (request.trace.as_str(), request.name.as_str()),
            (TRACE, &*format!("POST {route}"))
        );
        let expected = [
            ("http.request.method", "POST"),
            ("http.response.status_code", "200"),
            ("http.route", route),
        ];
        let found: Vec<(&str, &str)> =
            request.attributes.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
        let mut steps: Vec<&ReceivedSpan> =
            spans.iter().filter(|span| span.parent == request.id).collect();
        steps.sort_by_key(|span| span.end);
        let names: Vec<&str> = steps.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, STEPS);
        for step in steps {
            assert_eq!((step.trace.as_str(), step.attributes.len()), (TRACE, 0));
            assert!(step.start <= step.end && step.end <= request.end, "{step:?}");
        }
        // Beside them is the request that wrote the item, in a trace of its own.
        assert_eq!(spans.len(), 1 + STEPS.len() + 1, "{spans:#?}");
        for word in ["secret", "127.0.0.1"] {
            assert!(!collector.holds(word), "{word} was sent");
        }
        assert!(collector.holds("haversack"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_mcp_call_joins_the_trace_it_names() {
        let collector = FakeCollector::start().await;
        let running = Running::with(collected_by(&collector.address)).await;
        running.sample("memory");
        for meta in [json!({ "traceparent": format!("00-{TRACE}-{PARENT}-01") }), json!({})] {
            let mut meta = meta;
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "t", "version": "1" });
            let arguments = json!({ "query": "secretquery", "workspace": "memory" });
            let params = json!({ "name": "context_pack", "arguments": arguments, "_meta": meta });
            let body =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let ask = running
                .ask("POST", "/mcp")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "tools/call")
                .header("mcp-name", "context_pack");
            let reply = ask.json(&body).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        running.stop().await;
        let spans = collector.spans();
        let named = |name: &str| -> Vec<&ReceivedSpan> {
            spans.iter().filter(|span| span.name == name).collect()
        };
        let (calls, requests) = (named("tools/call context_pack"), named("POST /mcp"));
        assert_eq!((calls.len(), requests.len()), (2, 2), "{spans:#?}");
        let part = calls.iter().find(|span| span.parent == PARENT).unwrap();
        assert_eq!(part.trace, TRACE);
        let own = calls.iter().find(|span| span.parent != PARENT).unwrap();
        assert!(requests.iter().any(|request| request.id == own.parent));
        for call in &calls {
            assert_eq!(call.attributes["mcp.method.name"], "tools/call");
            assert_eq!(call.attributes["gen_ai.tool.name"], "context_pack");
        }
        let packed = spans.iter().filter(|span| span.name == "rank" && span.parent == part.id);
        assert_eq!(packed.count(), 1);
        assert!(!collector.holds("secret"));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_missing_collector_delays_nothing() {
        let gone = FakeCollector::start().await;
        gone.task.abort();
        let running = Running::with(collected_by(&gone.address)).await;
        assert_eq!(running.get("/v1/workspaces").await.status, 200);
        running.stop().await;
        assert!(gone.spans().is_empty());
    }

    #[test]
    fn the_standard_variable_names_a_collector_unless_the_settings_do() {
        let all = [("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "http://a:4318".to_owned())];
        assert_eq!(Config::read(None, &all.clone().into()).unwrap().log.otlp, "http://a:4318");
        let mut all = std::collections::BTreeMap::from(all);
        all.insert("HAVERSACK_LOG_OTLP".to_owned(), "http://b:4318".to_owned());
        assert_eq!(Config::read(None, &all).unwrap().log.otlp, "http://b:4318");
        assert!(collected_by("file:///etc").check(false).is_err());
    }
}
