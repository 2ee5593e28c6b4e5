//! Lists of names, a page at a time, and names that several want at once.

use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Running, reply};

/// The names that the pages of a list have, and how many pages it took.
async fn pages(running: &Running, path: &str, limit: usize) -> (Vec<String>, usize) {
    let (mut names, mut after, mut count) = (Vec::new(), String::new(), 0);
    loop {
        let page = running.get(&format!("{path}?limit={limit}{after}")).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let page = page.json();
        let listed = page["names"].as_array().or(page["workspaces"].as_array()).unwrap();
        let name = |entry: &Value| {
            let name = entry.get("name").unwrap_or(entry);
            name.as_str().unwrap().to_owned()
        };
        assert!(listed.len() <= limit, "{path}: {page}");
        names.extend(listed.iter().map(name));
        count += 1;
        match page.get("next") {
            None => return (names, count),
            Some(next) => after = format!("&after={}", next.as_str().unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_names_come_in_pages() {
    let running = Running::start().await;
    let own: Vec<String> = (0..5).map(|n| format!("mine-{n}")).collect();
    for name in &own {
        running.post("/v1/workspaces", &json!({ "name": name })).await;
    }
    let bodies = [
        ("templates", json!({ "item": "- {{content}}" })),
        ("rankers", json!({ "expression": "semantic" })),
        ("recipes", json!({ "source": "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n" })),
    ];
    for (shelf, body) in &bodies {
        for name in &own {
            let path = format!("/v1/workspaces/mine-0/{shelf}/{name}");
            let put = running.ask("PUT", &path).json(body).send().await;
            assert_eq!(put.status, 204, "{path}: {}", put.text);
        }
    }
    for path in
        ["/v1/workspaces", "/v1/workspaces/mine-0/templates", "/v1/workspaces/mine-0/rankers"]
    {
        for (limit, count) in [(1, 5), (2, 3), (5, 1), (1_000, 1)] {
            assert_eq!(pages(&running, path, limit).await, (own.clone(), count), "{path} {limit}");
        }
        assert!(running.get(path).await.json().get("next").is_none(), "{path}");
        let wrong = running.get(&format!("{path}?limit=0")).await;
        assert_eq!((wrong.status, wrong.json()["field"].clone()), (400, json!("limit")), "{path}");
    }
    let recipes = "/v1/workspaces/mine-0/recipes";
    let (all, _) = pages(&running, recipes, 1_000).await;
    assert!(all.is_sorted() && all.len() > own.len() + 5, "{all:?}");
    assert!(own.iter().all(|name| all.contains(name)), "{all:?}");
    assert_eq!(pages(&running, recipes, 2).await, (all.clone(), all.len().div_ceil(2)));
    running.stop().await;
}

/// A page is of what a key reaches: the rest neither fills it nor is named by its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_workspaces_lists_only_those_of_the_key() {
    let running = Running::locked().await;
    for name in ["a", "b", "c", "d"] {
        running.engine.workspace(name).unwrap();
    }
    let only = Grant::Only(["b".to_owned(), "d".to_owned()].into());
    let key = running.key(&[KeyScope::Read], only, ActsAs::Trusted);
    let ask = |query: &'static str| running.ask("GET", query).key(&key).send();
    let first = ask("/v1/workspaces?limit=1").await.json();
    assert_eq!(first, json!({ "workspaces": [{ "name": "b" }], "next": "b" }));
    let second = ask("/v1/workspaces?limit=1&after=b").await.json();
    assert_eq!(second, json!({ "workspaces": [{ "name": "d" }] }));
    running.stop().await;
}

/// Many ask before the first is answered: each has its connection, and then all speak.
#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_creations_of_a_workspace_one_succeeds() {
    let running = Running::start().await;
    for round in 0..20 {
        let body = json!({ "name": format!("new-{round}") }).to_string();
        let request = format!(
            "POST /v1/workspaces HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            running.address,
            body.len()
        );
        let mut streams = Vec::new();
        for _ in 0..16 {
            streams.push(TcpStream::connect(running.address).await.unwrap());
        }
        for stream in &mut streams {
            stream.write_all(request.as_bytes()).await.unwrap();
        }
        let mut statuses = Vec::new();
        for mut stream in streams {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            statuses.push(reply(&answer).status);
        }
        statuses.sort_unstable();
        assert_eq!((statuses[0], &statuses[1..]), (201, &[409; 15][..]));
    }
    running.stop().await;
}
