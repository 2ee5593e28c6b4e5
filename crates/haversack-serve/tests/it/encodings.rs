//! Bytes that are no text, and JSON that is made to hurt: refused with their place, or kept as they are
//! (R20, R21).

use serde_json::json;

use crate::support::{HttpReply, Running};

const ITEMS: &str = "/v1/workspaces/acme/items";

async fn acme() -> Running {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    running
}

async fn send(running: &Running, path: &str, body: &[u8]) -> HttpReply {
    let ask = running.ask("POST", path).header("content-type", "application/json");
    ask.header("accept", "application/json, text/event-stream").body(body).send().await
}

/// An item whose body holds these bytes.
fn item_with(id: &str, bytes: &[u8]) -> Vec<u8> {
    let start = format!("[{{\"id\": \"{id}\", \"kind\": \"note\", \"body\": \"x");
    [start.as_bytes(), bytes, b"y\"}]"].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_byte_is_kept_or_refused_with_its_place_r20() {
    let running = acme().await;
    for byte in 0..=u8::MAX {
        let id = format!("byte-{byte:02x}");
        let reply = send(&running, ITEMS, &item_with(&id, &[byte])).await;
        // A quote and a backslash are syntax; what is below a space has to be escaped in JSON.
        if matches!(byte, b' '..=0x7f) && byte != b'"' && byte != b'\\' {
            assert_eq!(reply.status, 200, "{byte:02x}: {}", reply.text);
            let kept = running.get(&format!("{ITEMS}/{id}")).await.json();
            assert_eq!(kept["body"], format!("x{}y", char::from(byte)), "{byte:02x}");
            continue;
        }
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_json"), "{byte:02x}");
        assert!(reply.text.contains(" column "), "{byte:02x}: {}", reply.text);
        assert_eq!(running.get(&format!("{ITEMS}/{id}")).await.status, 404, "{byte:02x}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sequences_that_are_no_utf8_are_refused_at_every_door_r20() {
    let running = acme().await;
    let wrong: [(&str, &[u8]); 9] = [
        ("an overlong slash of two bytes", b"\xc0\xaf"),
        ("an overlong slash of three bytes", b"\xe0\x80\xaf"),
        ("an overlong slash of four bytes", b"\xf0\x80\x80\xaf"),
        ("a lone surrogate", b"\xed\xa0\x80"),
        ("a pair of surrogates", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("above the last character", b"\xf4\x90\x80\x80"),
        ("a character cut short", b"\xe2\x82"),
        ("an escaped lone high surrogate", br"\ud800"),
        ("an escaped lone low surrogate", br"\udc00\u0041"),
    ];
    for (what, bytes) in wrong {
        let reply = send(&running, ITEMS, &item_with("wrong", bytes)).await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_json"), "{what}");
        let query = [b"{\"query\": \"x", bytes, b"\"}"].concat();
        for path in ["search", "context/everything"] {
            let reply = send(&running, &format!("/v1/workspaces/acme/{path}"), &query).await;
            assert_eq!((reply.status, reply.code().as_str()), (400, "bad_json"), "{what}: {path}");
        }
        let over_mcp = send(&running, "/mcp", &query).await.status;
        assert!(matches!(over_mcp, 400 | 415), "{what}: {over_mcp}");
        // Of lines, those before are stored, and the number says which is wrong.
        let good = b"{\"id\": \"good\", \"kind\": \"note\"}\n{\"id\": \"bad\", \"kind\": \"";
        let lines = [&good[..], bytes, b"\"}\n"].concat();
        let ask = running.ask("POST", ITEMS).header("content-type", "application/x-ndjson");
        let reply = ask.body(&lines).send().await;
        assert_eq!((reply.status, reply.json()["line"].clone()), (400, json!(2)), "{what}");
        assert_eq!(reply.json()["stored"], 1, "{what}: {}", reply.text);
    }
    let marked = [b"\xef\xbb\xbf", &item_with("marked", b"")[..]].concat();
    let wide: Vec<u8> = "\u{feff}[]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for body in [marked, wide] {
        let reply = send(&running, ITEMS, &body).await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_json"), "{body:?}");
    }
    for path in [format!("{ITEMS}/%ff"), format!("{ITEMS}/%c0%af"), format!("{ITEMS}?after=%ff")] {
        let reply = running.get(&path).await;
        assert!(matches!(reply.status, 400 | 404), "{path}: {}", reply.status);
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_texts_come_back_as_they_were_and_pack_as_text_r20() {
    let running = acme().await;
    let marks = format!("lamp e{}", "\u{301}".repeat(500_000));
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    let odd = [
        ("nul", "lamp \u{0} after".to_owned()),
        ("pair", "lamp \u{1f600}".to_owned()),
        ("bom", "\u{feff}lamp".to_owned()),
        ("not a character", "lamp \u{fffe}\u{ffff}\u{10ffff}".to_owned()),
        ("right to left", "lamp \u{202e}gpj.exe\u{202c} \u{2066}x".to_owned()),
        ("families", format!("lamp {}", family.repeat(2_000))),
        ("flags", format!("lamp {}", "🇫🇷".repeat(2_000))),
        ("marks", marks),
    ];
    for (id, text) in &odd {
        let item = json!([{ "id": id, "kind": "note", "title": "lamp", "body": text }]);
        let stored = send(&running, ITEMS, item.to_string().as_bytes()).await;
        assert_eq!(stored.status, 200, "{id}: {}", stored.text);
        let path = format!("{ITEMS}/{}", id.replace(' ', "%20"));
        let kept = running.get(&path).await.json();
        assert!(kept["body"] == **text, "{id}: another body came back");
    }
    // Escaped, a pair of surrogates is one character.
    let pair = send(&running, ITEMS, &item_with("escaped", br"\ud83d\ude00\u0000")).await;
    assert_eq!(pair.status, 200, "{}", pair.text);
    let kept = running.get(&format!("{ITEMS}/escaped")).await.json();
    assert_eq!(kept["body"], "x\u{1f600}\u{0}y");
    let mut shown = 0;
    for budget in (40..400).step_by(9) {
        let body = json!({ "query": "lamp", "tokenBudget": budget });
        let packed = running.post("/v1/workspaces/acme/context/everything", &body).await;
        if packed.status == 422 {
            continue;
        }
        assert_eq!(packed.status, 200, "{budget}: {}", packed.text);
        let context = packed.json()["context"].as_str().unwrap().to_owned();
        let is_hidden = |c: char| matches!(c, '\u{0}' | '\u{feff}' | '\u{202e}' | '\u{2066}');
        assert!(!context.contains(is_hidden), "{budget}: {context:?}");
        shown += usize::from(context.contains("lamp"));
    }
    assert!(shown > 3, "{shown} packs show something");
    running.stop().await;
}

/// Bodies that are small to send and would be large, deep or slow to read.
fn nasty() -> Vec<(&'static str, Vec<u8>, u16)> {
    let nested = |open: &str, close: &str, depth: usize| {
        [open.repeat(depth), close.repeat(depth)].concat().into_bytes()
    };
    let keys: Vec<String> = (0..1_000_000).map(|n| format!("\"k{n}\":0")).collect();
    let number = |digits: &str, count: usize| {
        format!("{{\"query\": {}}}", digits.repeat(count)).into_bytes()
    };
    vec![
        ("100,000 lists", nested("[", "]", 100_000), 400),
        ("100,000 lists that never end", nested("[", "", 100_000), 400),
        ("100,000 tables", nested("{\"a\":", "}", 100_000), 400),
        ("a million keys", format!("{{{}}}", keys.join(",")).into_bytes(), 413),
        ("a number of ten million digits", number("7", 10_000_000), 400),
        (
            "a fraction of ten million digits",
            [b"{\"query\": 0.".to_vec(), "7".repeat(10_000_000).into_bytes(), b"}".to_vec()]
                .concat(),
            400,
        ),
        ("a number beyond all", b"{\"query\": 1e400}".to_vec(), 400),
        ("no number", b"{\"query\": NaN}".to_vec(), 400),
        ("an infinite number", b"{\"query\": -Infinity}".to_vec(), 400),
        ("a key that is there twice", b"[{\"id\": \"a\", \"id\": \"b\"}]".to_vec(), 400),
        ("nothing", b"".to_vec(), 400),
        ("two documents", b"{\"query\": \"a\"} {}".to_vec(), 400),
        ("more than a body may have", vec![b' '; (16 << 20) + 1], 413),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn nasty_json_is_refused_and_the_server_goes_on_r21() {
    let running = acme().await;
    for (what, body, status) in nasty() {
        for path in ["search", "items", "context/everything"] {
            let path = format!("/v1/workspaces/acme/{path}");
            let reply = send(&running, &path, &body).await;
            assert_eq!(reply.status, status, "{what} to {path}: {}", reply.text);
            assert!(reply.text.len() < 2_000, "{what}: the answer repeats it");
        }
        let reply = send(&running, "/mcp", &body).await;
        assert!((400..=422).contains(&reply.status), "{what} over MCP: {}", reply.status);
        assert_eq!(running.get("/livez").await.status, 200, "{what}");
    }
    running.stop().await;
}
