//! The server as a process, with its keys handled by others beside it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::{TestFolder, err, out};

/// A server, ended with the test.
pub(crate) struct Serving {
    child: Child,
    address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    pub(crate) fn start(folder: &TestFolder) -> Serving {
        Serving::start_by(folder, &mut Command::new(env!("CARGO_BIN_EXE_haversack")))
    }

    /// A server whose shell was told to limit it first.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_limited(folder: &TestFolder, limit: &str) -> Serving {
        let script = format!("{limit}; exec \"$0\" \"$@\"");
        let program = env!("CARGO_BIN_EXE_haversack");
        Serving::start_by(folder, Command::new("sh").args(["-c", &script, program]))
    }

    pub(crate) fn start_by(folder: &TestFolder, command: &mut Command) -> Serving {
        Serving::try_start_by(folder, command).expect("the server ended at once")
    }

    /// `None` when it ended before it listened.
    pub(crate) fn try_start_by(folder: &TestFolder, command: &mut Command) -> Option<Serving> {
        let mut child = command
            .args(["--data", "data", "serve", "--listen", "127.0.0.1:0"])
            .env("HAVERSACK_SERVER_AUTH", "keys")
            .env("HAVERSACK_LIMITS_DENIED", "0")
            .env("HAVERSACK_LOG_LEVEL", "error")
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("haversack listens on http://").map(str::to_owned);
        // Without an address it is dropped, which waits for its end.
        let serving = Serving { child, address: address.clone().unwrap_or_default() };
        address.map(|_| serving)
    }

    /// Waits for its end, which somebody else has caused.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait(&mut self) {
        self.child.wait().unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status and body of an answer.
    pub(crate) fn get(&self, path: &str, key: &str) -> (u16, String) {
        self.send("GET", path, key, "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
        self.try_send((method, path), key, body, None).expect("the server does not answer")
    }

    /// Sends a request with an idempotency key; `None` when the server is gone.
    pub(crate) fn try_send(
        &self,
        (method, path): (&str, &str),
        key: &str,
        body: &str,
        name: Option<&str>,
    ) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let name = name.map_or(String::new(), |name| format!("idempotency-key: {name}\r\n"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\
             {name}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().unwrap();
        Some((status, answer))
    }
}

pub(crate) fn key(folder: &TestFolder, arguments: &[&str]) -> String {
    let output = folder.run(&[&["--data", "data", "key"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output).trim().to_owned()
}

#[test]
fn a_key_that_another_process_revokes_is_not_good_from_then_on() {
    let folder = TestFolder::new("revoke");
    let revoked = key(&folder, &["create", "soon-gone"]);
    let other = key(&folder, &["create", "stays"]);
    let mut serving = Serving::start(&folder);
    let (done, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (before, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    // What was begun after the command came back is refused; what was before may be
                    // either.
                    let is_revoked = done.load(Ordering::SeqCst);
                    let (status, answer) = serving.get("/v1/workspaces", &revoked);
                    match (is_revoked, status) {
                        (false, 200) => {
                            before.fetch_add(1, Ordering::SeqCst);
                        }
                        (false, 401) => {}
                        (true, 401) => {
                            after.fetch_add(1, Ordering::SeqCst);
                        }
                        _ => wrong.lock().unwrap().push(answer),
                    }
                    let (status, answer) = serving.get("/v1/workspaces", &other);
                    if status != 200 {
                        wrong.lock().unwrap().push(answer);
                    }
                }
            });
        }
        let reached = |count: &AtomicUsize| {
            while count.load(Ordering::SeqCst) < 40 && wrong.lock().unwrap().is_empty() {
                std::thread::yield_now();
            }
        };
        reached(&before);
        let id = revoked.split('_').nth(1).unwrap();
        assert_eq!(key(&folder, &["revoke", id]), format!("revoked {id}"));
        done.store(true, Ordering::SeqCst);
        reached(&after);
        over.store(true, Ordering::SeqCst);
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    serving.child.kill().unwrap();
    let mut told = String::new();
    serving.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(!told.contains("panicked") && !told.contains("hvs_"), "{told}");
}

#[test]
fn what_is_done_to_keys_is_in_the_audit_log_beside_a_server() {
    let folder = TestFolder::new("audit");
    let verify = || folder.run(&["--data", "data", "audit", "verify"]);
    std::fs::create_dir(folder.0.join("data")).unwrap();
    let none = verify();
    assert_eq!(
        (none.status.code(), err(&none)),
        (Some(1), "there is no audit log in data\n".into())
    );
    let serving = Serving::start(&folder);
    let made = key(&folder, &["create", "mine"]);
    let id = made.split('_').nth(1).unwrap();
    std::thread::scope(|scope| {
        // Denied requests of the server, and keys that others make, at once.
        scope.spawn(|| (0..20).for_each(|_| assert_eq!(serving.get("/v1/workspaces", "x").0, 401)));
        (0..5).for_each(|n| drop(key(&folder, &["create", &format!("other-{n}")])));
    });
    key(&folder, &["revoke", id]);
    let whole = verify();
    assert!(out(&whole).starts_with("all is sound; lines: 27, files: 1\n"), "{}", out(&whole));
    let log = folder.0.join("data/audit.log");
    let text = std::fs::read_to_string(&log).unwrap();
    for operation in ["createKey", "revokeKey"] {
        let about = format!("\"operation\":\"{operation}\",\"key\":\"{id}\"");
        assert_eq!(text.matches(&about).count(), 1, "{text}");
    }
    assert!(!text.contains(made.rsplit('_').next().unwrap()), "the key itself is not in it");
    std::fs::write(&log, text.replacen("createKey", "revokeKey", 1)).unwrap();
    let broken = verify();
    assert_eq!((broken.status.code(), out(&broken)), (Some(1), String::new()));
    assert_eq!(err(&broken), "audit.log, line 1: was changed\n");
    std::fs::write(&log, text.split_once('\n').unwrap().1).unwrap();
    let expected = "audit.log, line 1: the lines before it were changed or removed\n";
    assert_eq!(err(&verify()), expected);
}

#[test]
fn settings_are_refused_by_check_as_by_serve() {
    let folder = TestFolder::new("settings");
    let check = |file: &str, variable: (&str, &str), expected: &str| {
        folder.file("haversack.toml", file);
        for command in [&["config", "check"][..], &["--data", "data", "serve"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_haversack"))
                .args(command)
                .args(["--config", "haversack.toml"])
                .env(variable.0, variable.1)
                .current_dir(&folder.0)
                .output()
                .unwrap();
            let told = err(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
            assert!(told.contains(expected), "{command:?}: {told}");
        }
    };
    let none = ("HAVERSACK_LOG_LEVEL", "error");
    let open = "[server]\nlisten = \"0.0.0.0:0\"\nauth = \"off\"\n";
    check(open, none, "error: 0.0.0.0:0 can be reached from other machines");
    check(
        "[limits]\ndeadline_seconds = 0.0\n",
        none,
        "error: limits.deadline_seconds: 0 is out of range: use 0.001 to 1,000,000",
    );
    let jwt = "[jwt]\njwks = \"none.json\"\nissuer = \"a\"\naudience = \"b\"\n";
    check(jwt, none, "error: jwt.jwks: the key set none.json cannot be read");
    let typed = ("HAVERSACK_SERVR_AUTH", "keys");
    check(
        "",
        typed,
        "error: HAVERSACK_SERVR_AUTH: is not known; did you mean HAVERSACK_SERVER_AUTH?",
    );
}

/// Sends a signal to a server.
#[cfg(unix)]
fn signal(serving: &Serving, name: &str) {
    let pid = serving.child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// R26: the first signal lets what was begun finish, the second ends the process at once.
#[cfg(unix)]
#[test]
fn one_signal_finishes_what_was_begun_and_a_second_does_not_wait_r26() {
    for is_hurried in [false, true] {
        let folder = TestFolder::new(&format!("signals-{is_hurried}"));
        let admin = key(&folder, &["create", "admin", "--scope", "admin"]);
        let mut serving = Serving::start(&folder);
        let body = r#"{"name": "late"}"#;
        let mut held = TcpStream::connect(&serving.address).unwrap();
        let head = format!(
            "POST /v1/workspaces HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {admin}\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
            serving.address,
            body.len()
        );
        held.write_all(head.as_bytes()).unwrap();
        // The server has it in hand when it asks for the body.
        let mut go_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        held.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        signal(&serving, "-TERM");
        let is_ready = || {
            let mut stream = TcpStream::connect(&serving.address).unwrap();
            let request = format!("GET /readyz HTTP/1.1\r\nhost: {}\r\n\r\n", serving.address);
            let mut answer = String::new();
            // A connection that had said nothing when the signal came is closed unanswered.
            let asked = stream.write_all(request.as_bytes());
            let _ = asked.and_then(|()| stream.read_to_string(&mut answer));
            !answer.starts_with("HTTP/1.1 503")
        };
        while is_ready() {
            std::thread::yield_now();
        }
        let mut answer = String::new();
        if is_hurried {
            signal(&serving, "-TERM");
            assert_eq!(serving.child.wait().unwrap().code(), Some(130));
            let _ = held.read_to_string(&mut answer);
            assert_eq!(answer, "", "nobody waited for the rest of the request");
        } else {
            held.write_all(body.as_bytes()).unwrap();
            held.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
            assert_eq!(serving.child.wait().unwrap().code(), Some(0));
        }
        let known = folder.run(&["--data", "data", "workspaces"]);
        let expected = if is_hurried { "" } else { "late\n" };
        assert_eq!(out(&known), expected, "the folder is free again: {}", err(&known));
    }
}

/// The files that the server may open, by `/proc`: soft and hard limit.
#[cfg(target_os = "linux")]
fn file_limits(serving: &Serving) -> (u64, u64) {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", serving.child.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_open_files_is_raised_as_far_as_it_may_be() {
    let folder = TestFolder::new("raise");
    let serving = Serving::start_limited(&folder, "ulimit -S -n 64");
    let (soft, hard) = file_limits(&serving);
    assert!(soft == hard && hard > 64, "{soft} of {hard}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_of_few_descriptors_serves_many_workspaces() {
    const WORKSPACES: usize = 60;
    let folder = TestFolder::new("descriptors");
    let scopes = ["read", "write", "admin", "metrics"].map(|scope| ["--scope", scope]);
    let all = key(&folder, &[&["create", "all"][..], &scopes.concat()].concat());
    let serving = Serving::start_limited(&folder, "ulimit -n 200");
    assert_eq!(file_limits(&serving), (200, 200));
    for n in 0..WORKSPACES {
        let (status, answer) =
            serving.send("POST", "/v1/workspaces", &all, &format!("{{\"name\":\"w{n}\"}}"));
        assert_eq!(status, 201, "{n}: {answer}");
        let body = format!("The ladder of house {n} is in the cellar.");
        let item = format!("{{\"id\":\"ladder\",\"kind\":\"note\",\"body\":\"{body}\"}}");
        let (status, answer) =
            serving.send("POST", &format!("/v1/workspaces/w{n}/items"), &all, &item);
        assert_eq!(status, 200, "{n}: {answer}");
    }
    for n in 0..WORKSPACES {
        let (status, answer) = serving.get(&format!("/v1/workspaces/w{n}/items/ladder"), &all);
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains(&format!("house {n} is")), "{answer}");
    }
    assert_eq!(serving.get("/readyz", "").0, 200);
    let (_, metrics) = serving.get("/metrics", &all);
    let open = metrics.lines().find_map(|line| line.strip_prefix("haversack_workspaces_open "));
    let open: usize = open.unwrap().parse().unwrap();
    assert!((1..=20).contains(&open), "{open}");
    let threads = std::fs::read_dir(format!("/proc/{}/task", serving.child.id())).unwrap().count();
    assert!(threads < 150, "{threads}");
}
