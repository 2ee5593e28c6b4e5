//! Three servers as processes on one PostgreSQL, while they are killed, stopped and cut off: nothing that was
//! acknowledged is lost, every node shows it at once, and in the end all replicas are equal (X4). Linux only.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use testkit::{PostgresServer, Proxy, ProxyFault};

use crate::serve::{Serving, key};
use crate::{TestFolder, err, out};

const ITEMS: &str = "/v1/workspaces/acme/items";

/// How often a request is sent again when the answer says so.
const TRIES: usize = 200;

/// A node: its folder, its way to PostgreSQL, and its process, unless it was killed.
struct Node {
    folder: TestFolder,
    proxy: Proxy,
    url: String,
    serving: RwLock<Option<Serving>>,
}

impl Node {
    fn new(name: &str, postgres: &PostgresServer) -> Node {
        let proxy = Proxy::start(postgres.port());
        let direct = format!(":{}/", postgres.port());
        let url = postgres.address("tester").replace(&direct, &format!(":{}/", proxy.port()));
        let (folder, serving) = (TestFolder::new(name), RwLock::new(None));
        Node { folder, proxy, url, serving }
    }

    fn start(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
        command.env("HAVERSACK_JOURNAL_URL", &self.url);
        // Answers may be old while PostgreSQL is away, unless they may not.
        command.env("HAVERSACK_JOURNAL_STALE_SECONDS", "0");
        // Small, so that nodes begin from snapshots, too.
        command.env("HAVERSACK_JOURNAL_SNAPSHOT_AFTER_BYTES", "100000");
        let began = Instant::now();
        loop {
            if let Some(serving) = Serving::try_start_by(&self.folder, &mut command) {
                *self.serving.write().unwrap() = Some(serving);
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "a node does not start");
        }
    }

    /// Ends the process with a signal, and waits for it.
    fn end(&self, signal: &str) {
        let Some(mut serving) = self.serving.write().unwrap().take() else { return };
        send_signal(&serving, signal);
        serving.wait();
    }

    /// The status and body of an answer; `None` when the node is not there or went away.
    fn send(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: &str,
        name: Option<&str>,
    ) -> Option<(u16, String)> {
        let serving = self.serving.read().unwrap();
        serving.as_ref()?.try_send((method, path), key, body, name)
    }
}

fn send_signal(serving: &Serving, signal: &str) {
    let sent = Command::new("kill").arg(signal).arg(serving.id().to_string()).status().unwrap();
    assert!(sent.success());
}

/// Whether an answer says that nothing was done and the request may come again.
fn is_refusal(status: u16, answer: &str) -> bool {
    status == 503 && !answer.contains("outcome_unknown")
}

/// What the items of one client may hold: what was acknowledged last, and what came after without an
/// answer; 0 for an item that is not there.
struct Client {
    number: u64,
    random: u64,
    possible: Vec<BTreeSet<u64>>,
    acknowledged: usize,
}

impl Client {
    fn new(number: u64) -> Client {
        let possible = vec![[0].into(); 12];
        Client { number, random: 0x9e37_79b9 + number, possible, acknowledged: 0 }
    }

    fn next(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % below as u64).unwrap()
    }

    fn id(&self, item: usize) -> String {
        format!("c{}-{item}", self.number)
    }

    /// Writes or deletes an item at a node.
    fn write(&mut self, nodes: &[Node], key: &str, value: u64) {
        let (item, deletes) = (self.next(self.possible.len()), self.next(5) == 0);
        let id = self.id(item);
        let (node, value) = (self.next(nodes.len()), if deletes { 0 } else { value });
        let body = format!(r#"{{"id":"{id}","kind":"note","body":"value {value} of {id}"}}"#);
        let name = format!("{id}-{value}-{}", self.next(1 << 30));
        let sent = match deletes {
            true => nodes[node].send("DELETE", &format!("{ITEMS}/{id}"), key, "", Some(&name)),
            false => nodes[node].send("POST", ITEMS, key, &body, Some(&name)),
        };
        match sent {
            Some((200 | 201 | 204 | 404, _)) => {
                self.possible[item] = [value].into();
                self.acknowledged += 1;
            }
            Some((status, answer)) if is_refusal(status, &answer) => {}
            Some((503, _)) | None => _ = self.possible[item].insert(value),
            Some((status, answer)) => panic!("{status}: {answer}"),
        }
    }

    /// Reads an item at a node, which shows one of the possible values.
    fn read(&mut self, nodes: &[Node], key: &str) {
        let (item, node) = (self.next(self.possible.len()), self.next(nodes.len()));
        self.check(&nodes[node], key, item);
    }

    /// Returns whether the node answered.
    fn check(&self, node: &Node, key: &str, item: usize) -> bool {
        let path = format!("{ITEMS}/{}", self.id(item));
        let value = match node.send("GET", &path, key, "", None) {
            Some((200, answer)) => {
                let text = answer.split("value ").nth(1).unwrap_or_else(|| panic!("{answer}"));
                text.split(' ').next().unwrap().parse().unwrap()
            }
            Some((404, _)) => 0,
            Some((status, answer)) if is_refusal(status, &answer) => return false,
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => return false,
        };
        let possible = &self.possible[item];
        assert!(possible.contains(&value), "{} is {value}, not one of {possible:?}", self.id(item));
        true
    }

    fn pack(&mut self, nodes: &[Node], key: &str) {
        let node = self.next(nodes.len());
        let body = r#"{"query":"value of an item","tokenBudget":300,"user":"anna"}"#;
        match nodes[node].send("POST", "/v1/workspaces/acme/context/everything", key, body, None) {
            Some((200, _)) | None => {}
            Some((status, answer)) => assert!(is_refusal(status, &answer), "{status}: {answer}"),
        }
    }
}

/// Does to nodes what happens to nodes, until it is over. Returns how often.
fn disturb(nodes: &[Node], postgres: &PostgresServer, over: &AtomicBool) -> usize {
    let mut random = Client::new(77);
    let mut n_done = 0;
    while !over.load(Ordering::SeqCst) {
        let node = &nodes[random.next(nodes.len())];
        match random.next(12) {
            0..=3 => {
                node.end("-KILL");
                node.start();
            }
            4 | 5 => {
                if let Some(serving) = &*node.serving.read().unwrap() {
                    send_signal(serving, "-STOP");
                    std::thread::sleep(Duration::from_millis(200));
                    send_signal(serving, "-CONT");
                }
            }
            6 | 7 => node.proxy.cut(),
            8 | 9 => {
                node.proxy.set_fault(ProxyFault::Refuse);
                node.proxy.cut();
                std::thread::sleep(Duration::from_millis(300));
                node.proxy.set_fault(ProxyFault::None);
            }
            10 => {
                node.proxy.set_fault(ProxyFault::CutAnswer(b"COMMIT".to_vec()));
                std::thread::sleep(Duration::from_millis(300));
                node.proxy.set_fault(ProxyFault::None);
            }
            _ => {
                postgres.crash();
                postgres.restart();
            }
        }
        n_done += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    n_done
}

/// All rows of all tables but what belongs to a node alone.
fn rows(folder: &TestFolder) -> Vec<(String, Vec<String>)> {
    let file = folder.0.join("data/workspaces/acme/store.db");
    let connection = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'replica' ORDER BY 1";
    let mut statement = connection.prepare(tables).unwrap();
    let names = statement.query_map([], |line| line.get(0)).unwrap();
    let names: Vec<String> = names.collect::<Result<_, _>>().unwrap();
    let table = |name: String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let lines = statement.query_map([], |line| {
            let values: Vec<Value> =
                (0..columns).map(|nth| line.get(nth)).collect::<Result<_, _>>()?;
            Ok(format!("{values:?}"))
        });
        let mut lines: Vec<String> = lines.unwrap().collect::<Result<_, _>>().unwrap();
        lines.retain(|line| !line.contains("\"features\"") && !line.contains("\"residue\""));
        lines.sort();
        (name, lines)
    };
    names.into_iter().map(table).collect()
}

fn key_for_all(folder: &TestFolder) -> String {
    key(folder, &["create", "all", "--scope", "read", "--scope", "write", "--scope", "admin"])
}

fn init(node: &Node) {
    let arguments = ["journal", "init", "--journal", &node.url];
    let output = node.folder.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
}

/// Sends a request until it is not refused.
#[track_caller]
fn insist(node: &Node, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
    for _ in 0..TRIES {
        match node.send(method, path, key, body, None) {
            Some((status, answer)) if status != 503 && status != 401 => return (status, answer),
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    panic!("{method} {path}: refused {TRIES} times");
}

/// Ends all nodes when they have everything, and compares what they show and what they have.
fn end_and_compare(nodes: &[Node], clients: &[Client], key: &str) {
    // Receipts of packs are written when a node ends; then nobody writes any more.
    for round in 0..2 {
        for node in nodes {
            insist(node, "GET", "/v1/workspaces/acme", key, "");
        }
        if round == 1 {
            for client in clients {
                for item in 0..client.possible.len() {
                    assert!(nodes.iter().all(|node| client.check(node, key, item)));
                }
            }
        }
        nodes.iter().for_each(|node| node.end("-TERM"));
        if round == 0 {
            nodes.iter().for_each(Node::start);
        }
    }
    let first = rows(&nodes[0].folder);
    for node in &nodes[1..] {
        for ((name, ours), (_, theirs)) in first.iter().zip(rows(&node.folder)) {
            assert_eq!(*ours, theirs, "the table {name}");
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure of a long run")]
fn three_nodes_lose_nothing_and_end_equal_x4() {
    // A server of a test may lose what it acknowledged when it crashes; this one crashes.
    let Some(postgres) = PostgresServer::start_with("synchronous_commit = on\n") else { return };
    postgres.sql("postgres", "CREATE DATABASE tester");
    let operations: u64 = match std::env::var("HAVERSACK_CLUSTER_OPERATIONS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => 600,
    };
    let nodes = [1, 2, 3].map(|n| Node::new(&format!("cluster-{n}"), &postgres));
    init(&nodes[0]);
    let key = key_for_all(&nodes[0].folder);
    nodes.iter().for_each(Node::start);
    // A key of one node works on all.
    let (status, answer) = insist(&nodes[1], "POST", "/v1/workspaces", &key, r#"{"name":"acme"}"#);
    assert_eq!(status, 201, "{answer}");
    for node in &nodes {
        assert_eq!(insist(node, "GET", "/v1/workspaces/acme", &key, "").0, 200);
    }
    let (left, value, over) =
        (AtomicU64::new(operations), AtomicU64::new(1), AtomicBool::new(false));
    let ended = Mutex::new(Vec::new());
    let disturbances = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let (nodes, key, left, value, ended) = (&nodes, &key, &left, &value, &ended);
                scope.spawn(move || {
                    let mut client = Client::new(number);
                    while left
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                        .is_ok()
                    {
                        match client.next(10) {
                            0..=3 => client.write(nodes, key, value.fetch_add(1, Ordering::SeqCst)),
                            4..=8 => client.read(nodes, key),
                            _ => client.pack(nodes, key),
                        }
                    }
                    ended.lock().unwrap().push(client);
                })
            })
            .collect();
        let disturbing = scope.spawn(|| disturb(&nodes, &postgres, &over));
        let outcomes: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        over.store(true, Ordering::SeqCst);
        let n_done = disturbing.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        n_done
    });
    let clients = ended.into_inner().unwrap();
    let acknowledged: usize = clients.iter().map(|client| client.acknowledged).sum();
    println!(
        "{operations} operations, {acknowledged} writes acknowledged, {disturbances} disturbances"
    );
    assert!(acknowledged > usize::try_from(operations / 40).unwrap(), "{acknowledged}");
    end_and_compare(&nodes, &clients, &key);
}

#[test]
fn a_key_that_is_revoked_at_one_node_ends_at_all_x4() {
    let Some(postgres) = PostgresServer::start() else { return };
    postgres.sql("postgres", "CREATE DATABASE tester");
    let nodes = [1, 2].map(|n| Node::new(&format!("cluster-keys-{n}"), &postgres));
    init(&nodes[0]);
    nodes.iter().for_each(Node::start);
    let token = key_for_all(&nodes[0].folder);
    assert_eq!(insist(&nodes[1], "GET", "/v1/workspaces", &token, "").0, 200);
    let id = token.trim_start_matches("hvs_").split('_').next().unwrap();
    let output = nodes[0].folder.run(&["--data", "data", "key", "revoke", id]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let began = Instant::now();
    while nodes[1].send("GET", "/v1/workspaces", &token, "", None).unwrap().0 != 401 {
        assert!(began.elapsed() < Duration::from_secs(20), "the key still works");
        std::thread::sleep(Duration::from_millis(20));
    }
    nodes.iter().for_each(|node| node.end("-TERM"));
}

#[test]
fn workspaces_move_into_the_journal_and_out_of_it_x4() {
    let Some(postgres) = PostgresServer::start() else { return };
    postgres.sql("postgres", "CREATE DATABASE tester");
    let node = Node::new("cluster-moving", &postgres);
    let run = |folder: &Path, arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_haversack");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).env("HAVERSACK_JOURNAL_URL", &node.url);
        let output = command.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}{}",
            out(&output),
            err(&output)
        );
        out(&output)
    };
    let home = &node.folder.0;
    std::fs::write(home.join("tea.md"), "# Tea\n\nAnna drinks green tea.\n").unwrap();
    run(home, &["journal", "init"]);
    run(home, &["--data", "old", "--workspace", "acme", "add", "tea.md"]);
    let question = ["--workspace", "acme", "search", "green tea"];
    let found = run(home, &[&["--data", "old"][..], &question].concat());
    assert!(run(home, &["--data", "old", "journal", "import"]).starts_with("acme: snapshot at 1"));
    let status = run(home, &["journal", "status"]);
    assert!(status.contains("acme: at 1") && !status.contains(postgres.password()), "{status}");
    assert!(run(home, &["journal", "check"]).contains("acme: sound"));
    // A server takes writes, and a copy of its own has them.
    let token = key_for_all(&node.folder);
    node.start();
    let body = r#"{"id":"new","kind":"note","body":"Bob drinks coffee."}"#;
    assert_eq!(insist(&node, "POST", ITEMS, &token, body).0, 200);
    node.end("-TERM");
    assert!(run(home, &["journal", "snapshot", "acme"]).contains("snapshot at"));
    run(home, &["journal", "trim"]);
    run(home, &["--data", "copy", "journal", "export", "acme"]);
    assert!(run(home, &[&["--data", "copy"][..], &question].concat()).starts_with(&found));
    let coffee = ["--data", "copy", "--workspace", "acme", "search", "coffee"];
    assert!(run(home, &coffee).contains("new"));
    // The old folder is a replica now, and says so.
    let refused = node.folder.run(&[&["--data", "old"][..], &question].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("replica of a shared journal"), "{}", err(&refused));
}
