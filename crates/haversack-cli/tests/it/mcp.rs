//! `haversack mcp` as clients start it: literal lines in, literal lines out.

use serde_json::{Value, json};

use crate::{TestFolder, err, out};

/// Runs a session of these lines, and reads every line of its output as JSON: nothing else may be
/// there.
fn session(folder: &TestFolder, arguments: &[&str], lines: &[&str]) -> Vec<Value> {
    let input = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let output = folder.run_with(arguments, input.as_bytes());
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The answer to a request, wherever it stands: answers may overtake each other.
#[track_caller]
fn answer(answers: &[Value], id: u64) -> &Value {
    let found = answers.iter().find(|answer| answer["id"] == id);
    found.unwrap_or_else(|| panic!("no answer to {id} in {answers:?}"))
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A request of the newer era.
fn modern(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[test]
fn an_older_client_shakes_hands_remembers_and_is_answered() {
    let folder = TestFolder::new("mcp-older");
    let place = ["mcp", "--data", "data", "--workspace", "acme"];
    let first = session(
        &folder,
        &place,
        &[
            HELLO,
            READY,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"memory_add","arguments":{"content":"Anna drinks green tea, never coffee."}}}"#,
        ],
    );
    assert_eq!(answer(&first, 0)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer(&first, 0)["result"]["serverInfo"]["name"], "haversack");
    let tools = answer(&first, 1)["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 6);
    assert!(tools.iter().all(|tool| tool["outputSchema"]["type"] == "object"));
    assert_eq!(answer(&first, 2)["result"], json!({}));
    assert!(answer(&first, 3)["result"]["structuredContent"]["stored"][0].is_string());
    let second = session(
        &folder,
        &place,
        &[
            HELLO,
            READY,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_pack","arguments":{"query":"what does Anna drink?","recipe":"memory"}}}"#,
        ],
    );
    let result = &answer(&second, 1)["result"];
    assert!(result["content"][0]["text"].as_str().unwrap().contains("green tea"), "{result}");
    assert!(result.get("resultType").is_none(), "a word of the newer era");
}

#[test]
fn a_newer_client_asks_without_a_handshake() {
    let folder = TestFolder::new("mcp-newer");
    let pack = json!({ "name": "context_pack", "arguments": { "query": "anything" } });
    let gone = json!({ "uri": "haversack://default/items/none" });
    let foreign = json!({ "name": "context_search",
                          "arguments": { "query": "x", "workspace": "other" } });
    let lines = [
        modern(1, "server/discover", json!({})),
        modern(2, "tools/call", pack),
        modern(3, "resources/read", gone),
        modern(4, "tools/call", foreign),
        modern(5, "ping", json!({})),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let answers = session(&folder, &["mcp", "--data", "data"], &lines);
    let versions = &answer(&answers, 1)["result"]["supportedVersions"];
    assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")), "{versions}");
    assert_eq!(answer(&answers, 2)["result"]["resultType"], "complete");
    assert_eq!(answer(&answers, 2)["result"]["structuredContent"]["recipe"], "everything");
    assert_eq!(answer(&answers, 3)["error"]["code"], -32602);
    assert_eq!(answer(&answers, 4)["result"]["isError"], true, "one session, one workspace");
    assert_eq!(answer(&answers, 5)["error"]["code"], -32601, "that era has no ping");
}

#[test]
fn a_session_of_a_user_or_a_reader_is_bound() {
    let folder = TestFolder::new("mcp-bound");
    let add = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_add","arguments":{"content":"The vault opens with heliotrope."}}}"#;
    let anna = ["mcp", "--data", "data", "--user", "anna"];
    let added = session(&folder, &anna, &[HELLO, READY, add]);
    assert!(answer(&added, 1)["result"]["structuredContent"]["stored"][0].is_string());
    let find = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_search","arguments":{"query":"heliotrope"}}}"#;
    let ben = session(&folder, &["mcp", "--data", "data", "--user", "ben"], &[HELLO, READY, find]);
    assert_eq!(answer(&ben, 1)["result"]["structuredContent"]["found"], json!([]));
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let reader = ["mcp", "--data", "data", "--read-only"];
    let answers = session(&folder, &reader, &[HELLO, READY, add, list]);
    assert_eq!(answer(&answers, 1)["result"]["isError"], true);
    assert_eq!(answer(&answers, 2)["result"]["tools"].as_array().unwrap().len(), 3);
}

#[test]
fn input_that_ends_at_once_is_no_error_and_nonsense_is_told_on_standard_error() {
    let folder = TestFolder::new("mcp-empty");
    let output = folder.run(&["mcp", "--data", "data"]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()), "{}", err(&output));
    let output = folder.run(&["mcp", "wrap", "--data", "data"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is no server to wrap"), "{}", err(&output));
    let url = ["mcp", "wrap", "--data", "data", "--url", "file:///etc/passwd"];
    let output = folder.run(&url);
    assert!(err(&output).contains("only http and https"), "{}", err(&output));
    folder.file("gateway.toml", "[context]\nbugdet = 1\n");
    let output = folder.run(&["mcp", "wrap", "--config", "gateway.toml", "--", "true"]);
    assert!(err(&output).contains("bugdet"), "{}", err(&output));
}

/// The program before itself: what the inner one lists is what the outer one lists.
#[test]
fn a_wrapped_server_shows_its_own_tools_s7() {
    let folder = TestFolder::new("mcp-wrap");
    folder.file("note.md", "# Launch\n\nThe launch is on the third of May.\n");
    assert!(folder.run(&["add", "note.md", "--data", "data"]).status.success());
    folder.file("gateway.toml", "[context]\nrecipe = \"everything\"\n");
    let program = env!("CARGO_BIN_EXE_haversack");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"context_search","arguments":{"query":"launch"}}}"#;
    let inner = ["mcp", "--data", "inner"];
    let plain = session(&folder, &inner, &[HELLO, READY, list, call]);
    let wrap = ["mcp", "wrap", "--data", "data", "--config", "gateway.toml", "--", program];
    let wrap: Vec<&str> = wrap.iter().chain(&inner).copied().collect();
    let through = session(&folder, &wrap, &[HELLO, READY, list, call]);
    assert_eq!(answer(&through, 0), answer(&plain, 0));
    assert_eq!(answer(&through, 1), answer(&plain, 1));
    let used = &answer(&through, 2)["result"]["_meta"]["contextUsed"];
    assert_eq!(used["given"], false, "its schema takes no more: {used}");
    let (got, expected) = (&answer(&through, 2)["result"], &answer(&plain, 2)["result"]);
    assert_eq!(got["structuredContent"], expected["structuredContent"]);
}
