//! Commands that go on through a server: one that has the data folder open, or one that is named.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::{TestFolder, err, out, tiny};

/// `haversack serve` on a free port, killed at the end of the test.
pub(crate) struct RunningServer {
    child: Child,
    url: String,
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningServer {
    fn start(folder: &TestFolder, auth: &str) -> RunningServer {
        RunningServer::start_with(folder, auth, &[])
    }

    pub(crate) fn start_with(folder: &TestFolder, auth: &str, options: &[&str]) -> RunningServer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
            .args(["--data", "data", "serve", "--listen", "127.0.0.1:0"])
            .args(options)
            .env("HAVERSACK_SERVER_AUTH", auth)
            .env("HAVERSACK_LOG_LEVEL", "error")
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("haversack listens on ").unwrap().to_owned();
        RunningServer { child, url }
    }

    /// The line that says that a command goes through this server.
    fn notice(&self) -> String {
        format!("the data folder is in use by a server at {}; going on through it\n", self.url)
    }
}

fn sample(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    fs::create_dir_all(folder.0.join("docs/guide")).unwrap();
    folder
        .file("docs/guide/launch.md", "# Launch\n\n## Date\n\nThe launch is on the third of May.\n")
        .file("docs/tea.md", "# Tea\n\nAnna drinks green tea, never coffee.\n")
        .file("docs/image.png", b"\x89PNG\r\n\0\0")
        .file("docs/rows.jsonl", "{\"id\":\"soup/1\",\"text\":\"Soup on Mondays\"}\nnot json\n");
    folder
}

fn run(folder: &TestFolder, arguments: &[&str]) -> Output {
    folder.run(&[&["--data", "data"], arguments].concat())
}

#[track_caller]
fn check(folder: &TestFolder, arguments: &[&str], code: i32) -> Output {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
    output
}

/// What was printed, without figures that differ from run to run.
fn steady(text: &str) -> String {
    let is_timing = |line: &&str| !line.contains(" ms") && !line.starts_with("stored ");
    text.lines().filter(is_timing).collect::<Vec<_>>().join("\n")
}

fn documents(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

#[test]
fn commands_print_the_same_beside_a_server_as_without_one() {
    let folder = sample("beside");
    check(&folder, &["add", "docs"], 0);
    let now = ["--now", "2026-05-01T09:00:00Z"];
    let pack = [&["pack", "when is the launch?", "--budget", "900"], &now[..]].concat();
    let frontier = [&["frontier", "launch", "--budgets", "600,900"], &now[..]].concat();
    let commands: [(&[&str], i32); 9] = [
        (&["search", "when is the launch?"], 0),
        (&["search", "green tea", "--text", "--kind", "file", "--path", "docs/"], 0),
        (&["search", "launch", "--user", "anna", "--text"], 0),
        (&["get", "docs/tea.md", "soup/1"], 0),
        (&["get", "docs/rows.jsonl"], 1),
        (&["list", "--json"], 0),
        (&["list", "--path", "docs/guide", "--limit", "1"], 0),
        (&pack, 0),
        (&frontier, 0),
    ];
    let local: Vec<Output> = commands.iter().map(|(it, code)| check(&folder, it, *code)).collect();
    let server = RunningServer::start(&folder, "auto");
    for ((command, code), before) in commands.iter().zip(&local) {
        let beside = check(&folder, command, *code);
        assert!(err(&beside).starts_with(&server.notice()), "{command:?}: {}", err(&beside));
        assert_eq!(out(&beside), out(before), "{command:?}");
        let remarks = err(&beside).replace(&server.notice(), "");
        assert_eq!(steady(&remarks), steady(&err(before)), "{command:?}");
    }
    assert_eq!(out(&check(&folder, &["workspaces"], 0)), "default\n");
    let stats = documents(&check(&folder, &["stats", "--json"], 0));
    assert_eq!((&stats["workspace"], &stats["items"]), (&"default".into(), &3.into()));
}

#[test]
fn packs_are_explained_replayed_and_compared_beside_a_server() {
    let folder = sample("beside-packs");
    check(&folder, &["add", "docs"], 0);
    let server = RunningServer::start(&folder, "auto");
    let pack = |question: &str| {
        let made = documents(&check(&folder, &["pack", question, "--json"], 0));
        assert!(made["assembly"].get("ledger").is_none());
        made["assembly"]["receipt"].as_str().unwrap().to_owned()
    };
    let (first, second) = (pack("when is the launch?"), pack("what does Anna drink?"));
    let told = out(&check(&folder, &["pack", "when is the launch?", "--explain"], 0));
    assert!(told.contains("asked by the owner") && told.contains("quality"), "{told}");
    assert!(told.contains("docs/guide/launch.md"), "{told}");
    let messages =
        documents(&check(&folder, &["pack", "when is the launch?", "--as", "openai"], 0));
    let question = &messages["messages"][0]["content"][1]["text"];
    assert_eq!(question, "when is the launch?", "{messages}");
    // The same question has the same receipt, whose time is that of the last pack.
    let explained = out(&check(&folder, &["explain", &first], 0));
    assert!(explained.contains("docs/guide/launch.md"), "{explained}");
    let replayed = out(&check(&folder, &["replay", &first], 0));
    assert!(replayed.starts_with("same bytes: "), "{replayed}");
    let differs = out(&check(&folder, &["diff", &first, &second], 0));
    assert!(differs.starts_with("other bytes\n") && differs.contains("query"), "{differs}");
    let unknown = err(&check(&folder, &["explain", &first[..6]], 2));
    assert!(unknown.contains("error (receipt_not_found)"), "{unknown}");
    assert!(unknown.contains("hint: through a server, type the receipt's whole id"), "{unknown}");
    folder.file("mine.toml", "haversack = 1\nextends = \"memory\"\n");
    let file = err(&check(&folder, &["pack", "x", "--recipe", "mine.toml"], 2));
    assert!(file.contains("a server packs by its own recipes"), "{file}");
    let small = err(&check(&folder, &["pack", "x", "--recipe", "nothing-like-it"], 2));
    assert!(small.contains("error (recipe_not_found)"), "{small}");
    drop(server);
    let local = run(&folder, &["explain", &first]);
    assert_eq!(out(&local), explained, "the same receipt without the server");
}

#[test]
fn items_are_added_and_deleted_through_a_server() {
    let folder = sample("beside-add");
    fs::create_dir(folder.0.join("data")).unwrap();
    let server = RunningServer::start(&folder, "auto");
    let added = check(&folder, &["add", "docs"], 0);
    assert!(out(&added).starts_with("stored 3 items, 0 unchanged, 2 skipped ("), "{}", out(&added));
    assert!(!out(&added).contains("to take it back"), "{}", out(&added));
    assert!(err(&added).contains("skipped: docs/image.png: binary"), "{}", err(&added));
    let again = check(&folder, &["add", "docs"], 0);
    // A line of JSONL gets the time of its import, so only files are unchanged.
    assert!(out(&again).contains(" 2 unchanged, 2 skipped"), "{}", out(&again));
    let prune = err(&check(&folder, &["add", "docs", "--prune"], 2));
    assert!(prune.contains("--prune: only the data folder knows"), "{prune}");
    let remembered = check(&folder, &["remember", "Anna likes chess.", "--id", "m1"], 0);
    assert_eq!(out(&remembered), "remembered as m1\n");
    let repeated = check(&folder, &["remember", "Anna likes chess.", "--id", "m2"], 1);
    assert!(out(&repeated).starts_with("not stored: it repeats m1"), "{}", out(&repeated));
    let noted = check(&folder, &["feedback", "m1", "--useful"], 0);
    assert_eq!(out(&noted), "noted: m1 was useful to owner\n");
    assert!(out(&check(&folder, &["search", "launch"], 0)).contains("docs/guide/launch.md:1-5"));
    let gone = check(&folder, &["delete", "docs/guide/launch.md", "nothing"], 0);
    assert_eq!(out(&gone), "deleted docs/guide/launch.md\n");
    assert!(err(&gone).ends_with("there is no item nothing\n"), "{}", err(&gone));
    check(&folder, &["delete", "nothing"], 1);
    drop(server);
    let left = check(&folder, &["list"], 0);
    let ids: Vec<&str> = out(&left)
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(|id| match id {
            "docs/tea.md" => "tea",
            "m1" => "memory",
            "soup/1" => "soup",
            other => panic!("{other} is left"),
        })
        .collect();
    assert_eq!(ids, ["tea", "memory", "soup"]);
    assert_eq!(out(&check(&folder, &["delete", "m1", "--purge"], 0)), "purged m1\n");
}

#[test]
fn commands_on_the_folder_itself_say_that_the_server_must_be_stopped() {
    let folder = sample("beside-folder");
    check(&folder, &["add", "docs"], 0);
    let server = RunningServer::start(&folder, "auto");
    let commands: [&[&str]; 5] =
        [&["check"], &["backup", "copy"], &["reembed"], &["export"], &["undo", "add-1"]];
    for command in commands {
        let refused = err(&check(&folder, command, 2));
        assert!(refused.contains("data is in use by process"), "{command:?}: {refused}");
        let hint = format!("hint: that is the server at {}", server.url);
        assert!(refused.contains(&hint) && refused.contains("stop the server"), "{refused}");
    }
    let named = folder.run(&["--server", &server.url, "check"]);
    assert_eq!(named.status.code(), Some(2));
    assert!(err(&named).contains("`haversack check` works on a data folder"), "{}", err(&named));
}

#[test]
fn a_server_that_is_named_is_used_with_its_key() {
    let folder = sample("named");
    check(&folder, &["add", "docs"], 0);
    let made = run(&folder, &["key", "create", "mine"]);
    let key = out(&made).trim().to_owned();
    let server = RunningServer::start(&folder, "keys");
    let search = |arguments: &[&str], variables: &[(&str, &str)]| {
        Command::new(env!("CARGO_BIN_EXE_haversack"))
            .args(arguments)
            .args(["search", "launch"])
            .envs(variables.iter().copied())
            .current_dir(&folder.0)
            .output()
            .unwrap()
    };
    let url = server.url.as_str();
    let with_key = search(&["--server", url], &[("HAVERSACK_KEY", &key)]);
    assert_eq!(with_key.status.code(), Some(0), "{}", err(&with_key));
    assert!(out(&with_key).contains("docs/guide/launch.md"), "{}", out(&with_key));
    assert!(!err(&with_key).contains("in use"), "{}", err(&with_key));
    let named = [("HAVERSACK_SERVER", url), ("MY_KEY", &key)];
    let by_variable = search(&["--key-env", "MY_KEY"], &named);
    assert_eq!(out(&by_variable), out(&with_key), "{}", err(&by_variable));
    let without = search(&["--data", "data"], &[]);
    assert_eq!(without.status.code(), Some(2));
    let refused = err(&without);
    assert!(refused.starts_with(&server.notice()), "{refused}");
    assert!(
        refused.contains("hint: the server needs a key: put one into $HAVERSACK_KEY"),
        "{refused}"
    );
    assert!(!refused.contains(&key), "{refused}");
    let both = search(&["--server", url, "--data", "data"], &[]);
    assert!(err(&both).contains("--server and --data: give one of them"), "{}", err(&both));
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error() {
    let folder = TestFolder::new("unreachable");
    let check = |url: &str, expected: &str| {
        let failed = folder.run(&["--server", url, "search", "launch"]);
        assert_eq!(failed.status.code(), Some(2), "{url}: {}", err(&failed));
        assert!(err(&failed).contains(expected), "{url}: {}", err(&failed));
    };
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check(&format!("http://{free}"), &format!("error: cannot reach the server at http://{free}: "));
    check("ftp://example.com", "only http and https");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().unwrap();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
    });
    check(&format!("http://{address}"), "is it a Haversack server?");
    other.join().unwrap();
}

#[test]
fn a_lock_without_a_server_is_an_error_and_a_stale_server_file_does_not_count() {
    let folder = sample("stale");
    check(&folder, &["add", "docs"], 0);
    // Left behind by a server that was killed: nobody has the folder, so it is opened.
    let stale = r#"{"url":"http://127.0.0.1:9","pid":4000000}"#;
    fs::write(folder.0.join("data/server.json"), stale).unwrap();
    let found = check(&folder, &["search", "launch"], 0);
    assert_eq!(err(&found), "");
    // Somebody else has the folder: an MCP server that waits for its input.
    let mut holder = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(["--data", "data", "mcp"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut refused = run(&folder, &["search", "launch"]);
    for _ in 0..500 {
        if refused.status.code() == Some(2) {
            break;
        }
        refused = run(&folder, &["search", "launch"]);
    }
    let message = err(&refused);
    let _ = holder.kill();
    let _ = holder.wait();
    assert!(message.contains("data is in use by process"), "{message}");
    assert!(!message.contains("going on") && !message.contains("hint"), "{message}");
}

#[test]
fn the_server_file_is_removed_at_shutdown() {
    let folder = TestFolder::new("server-file");
    let mut server = RunningServer::start(&folder, "auto");
    let file = folder.0.join("data/server.json");
    let found: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(found["url"], server.url.as_str());
    assert_eq!(found["pid"], server.child.id());
    let stopped = Command::new("kill").arg(server.child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    assert!(server.child.wait().unwrap().success());
    assert!(!file.exists());
}

/// B4: a running server changes the model of its workspaces one by one, goes on answering, and keeps the
/// choice; settings that named another model before do not make its vectors useless.
#[test]
fn the_model_is_changed_while_the_server_runs_b4() {
    let folder = sample("serve-model");
    tiny::write(&folder.0.join("tiny"));
    for workspace in ["one", "two"] {
        check(&folder, &["--workspace", workspace, "add", "docs"], 0);
    }
    check(&folder, &["model", "add", "./tiny"], 0);
    let model = |workspace: &str| {
        let stats = check(&folder, &["--workspace", workspace, "stats", "--json"], 0);
        documents(&stats)["model"].as_str().unwrap().to_owned()
    };
    let built_in = model("one");
    {
        let server = RunningServer::start(&folder, "auto");
        let used = check(&folder, &["model", "use", "tiny"], 0);
        assert_eq!(err(&used), server.notice());
        assert!(out(&used).contains("one: all texts have vectors by tiny@"), "{}", out(&used));
        assert!(out(&used).ends_with("tiny is in use\n"), "{}", out(&used));
        let found =
            check(&folder, &["--workspace", "two", "search", "tea", "--vector", "--json"], 0);
        assert!(out(&found).contains("docs/tea.md"));
        // A workspace that is made now has the new model, and the names of others are known.
        check(&folder, &["--workspace", "three", "add", "docs"], 0);
        let refused = check(&folder, &["model", "use", "nothing"], 2);
        assert!(err(&refused).contains("there is no model \"nothing\""), "{}", err(&refused));
    }
    for workspace in ["one", "two", "three"] {
        assert!(model(workspace).starts_with("tiny@"), "{workspace}");
    }
    // A server that was started with another model answers from the vectors that are there.
    check(&folder, &["model", "use", "built-in"], 0);
    assert_eq!(model("one"), built_in);
    fs::write(folder.0.join("data/models/in-use"), "tiny\n").unwrap();
    let packed =
        check(&folder, &["--workspace", "one", "pack", "what does Anna drink?", "--json"], 0);
    assert_eq!(documents(&packed)["assembly"]["degraded"], false);
    assert_eq!(model("one"), built_in, "nothing changes before somebody asks for it");
}
