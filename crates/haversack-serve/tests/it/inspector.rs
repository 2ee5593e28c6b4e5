//! The inspector's page: served whole, shut in, and without a way for a text to become markup.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::support::{HttpReply, Running};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Ways by which a text could become markup or code, or a key could outlive its page.
const SINKS: [&str; 24] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "setHTML",
    "document.write",
    "createContextualFragment",
    "DOMParser",
    "parseFromString",
    "srcdoc",
    "eval(",
    "Function(",
    "setTimeout(\"",
    "setInterval(\"",
    "import(",
    "javascript:",
    ".style.",
    "cssText",
    "localStorage",
    "indexedDB",
    "document.cookie",
    "window.open",
    "postMessage",
    "XMLHttpRequest",
    "WebSocket",
];

/// What stands in quotes after each place where `before` does.
fn quoted_after<'t>(text: &'t str, before: &str) -> BTreeSet<&'t str> {
    let start = |(at, _): (usize, &str)| &text[at + before.len()..];
    text.match_indices(before).map(start).filter_map(|rest| rest.split('"').next()).collect()
}

/// The page, and all it refers to, by path: what a browser would load.
async fn loaded(running: &Running) -> BTreeMap<String, HttpReply> {
    let mut all = BTreeMap::new();
    let mut waiting = vec!["/".to_owned()];
    while let Some(path) = waiting.pop() {
        let reply = running.get(&path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        let folder = &path[..=path.rfind('/').unwrap()];
        for before in ["src=\"", "href=\"", "from \"./", "import \"./"] {
            for name in quoted_after(&reply.text, before) {
                let path = format!("{folder}{name}");
                if !all.contains_key(&path) && !waiting.contains(&path) {
                    waiting.push(path);
                }
            }
        }
        all.insert(path, reply);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_files_are_served_with_a_strict_policy() {
    let running = Running::locked().await;
    let all = loaded(&running).await;
    let document = haversack_serve::openapi();
    let known = &document["paths"]["/inspector/{file}"]["get"]["parameters"][0]["schema"]["enum"];
    let known = known.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let known: BTreeSet<String> =
        known.map(|name| format!("/inspector/{name}")).chain(["/".to_owned()]).collect();
    assert_eq!(
        all.keys().cloned().collect::<BTreeSet<_>>(),
        known,
        "what is used is what is there"
    );
    for (path, reply) in &all {
        let media_type = match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("{path}: {other}"),
        };
        for (name, value) in [
            ("content-type", media_type),
            ("content-security-policy", POLICY),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(reply.header(name), value, "{name} of {path}");
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_file_is_not_sent_again() {
    let running = Running::start().await;
    for path in ["/", "/inspector/main.js", "/inspector/inspector.css"] {
        let first = running.get(path).await;
        let tag = first.header("etag");
        assert!(tag.len() > 16, "{path}: {tag:?}");
        for known in [tag.to_owned(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let again = running.ask("GET", path).header("if-none-match", &known).send().await;
            assert_eq!((again.status, again.text.as_str()), (304, ""), "{path} {known}");
            assert_eq!(again.header("etag"), tag, "{path}");
            assert_eq!(again.header("content-security-policy"), POLICY, "{path}");
        }
        let other = running.ask("GET", path).header("if-none-match", "\"other\"").send().await;
        assert_eq!((other.status, other.text), (200, first.text.clone()), "{path}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_served() {
    let running = Running::start().await;
    for path in [
        "/inspector",
        "/inspector/",
        "/inspector/index.html",
        "/inspector/mod.rs",
        "/inspector/..",
        "/inspector/../Cargo.toml",
        "/inspector/../../etc/passwd",
        "/inspector/%2e%2e",
        "/inspector/%2e%2e%2fmod.rs",
        "/inspector/..%2fmod.rs",
        "/inspector/..%5cmod.rs",
        "/inspector/main.js%00",
        "/inspector/main.js/",
        "/inspector/./main.js",
        "/inspector//main.js",
        "/inspector/MAIN.JS",
        "//etc/passwd",
        "/index.html",
        "/favicon.ico",
    ] {
        let reply = running.get(path).await;
        assert_eq!((reply.status, reply.code().as_str()), (404, "not_found"), "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
    }
    let method = running.post("/", &json!({})).await;
    assert_eq!((method.status, method.code().as_str()), (405, "method_not_allowed"));
    let parameter = running.get("/?key=hvs_1").await;
    assert_eq!((parameter.status, parameter.code().as_str()), (400, "validation_error"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_for_this_host_and_for_no_other_site() {
    let running = Running::start().await;
    for (name, value, status) in [
        ("host", "evil.example", 421),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
    ] {
        for path in ["/", "/inspector/main.js"] {
            let reply = running.ask("GET", path).header(name, value).send().await;
            assert_eq!(reply.status, status, "{path} with {name}: {value}");
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_can_become_markup_and_nothing_comes_from_elsewhere() {
    let running = Running::start().await;
    for (path, reply) in loaded(&running).await {
        for sink in SINKS {
            assert!(!reply.text.contains(sink), "{path} has {sink}");
        }
        let elsewhere = reply.text.replace("http://www.w3.org/2000/svg", "");
        for scheme in ["http://", "https://", "src=\"//", "href=\"//", "url(", "@import"] {
            assert!(!elsewhere.contains(scheme), "{path} names {scheme}");
        }
        assert!(reply.text.lines().count() < 400 || path.ends_with(".css"), "{path} is long");
    }
    let page = running.get("/").await.text;
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    for tag in tags {
        let mut attributes = tag.split_ascii_whitespace().skip(1);
        let inline = |name: &str| name.starts_with("on") || name.starts_with("style=");
        assert!(!attributes.any(inline), "<{tag}> has a handler or a style of its own");
        assert!(!tag.starts_with("style"), "the page has a style of its own");
        assert!(
            !tag.starts_with("script") || tag.contains("src=\"inspector/"),
            "<{tag}> is inline"
        );
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_element_that_a_script_looks_up_is_on_the_page() {
    let running = Running::start().await;
    let all = loaded(&running).await;
    let ids = quoted_after(&all["/"].text, " id=\"");
    let times = |id: &str| all["/"].text.matches(&format!(" id=\"{id}\"")).count();
    for id in &ids {
        assert_eq!(times(id), 1, "{id}");
    }
    let mut found = 0;
    for (path, reply) in &all {
        for before in ["byId(\"", "aria-controls=\"", "aria-labelledby=\"", " for=\""] {
            for id in quoted_after(&reply.text, before) {
                assert!(ids.contains(id), "{path} looks for {id}");
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found}");
    running.stop().await;
}
