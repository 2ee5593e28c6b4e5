//! The real server on a disk that is full, that may not be written, or whose syncs fail: what it answers,
//! what `/readyz` says, and whether it recovers by itself (R2, R4, R5). Linux only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::serve::{Serving, key};
use crate::{TestFolder, err, out};

/// A mounted file system in memory, unmounted on drop.
struct Mount(PathBuf);

impl Mount {
    /// `None` without permission to mount.
    fn new(place: &Path, options: &str) -> Option<Mount> {
        fs::create_dir_all(place).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| Mount(place.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

const ITEMS: &str = "/v1/workspaces/acme/items";

/// An item with a word of its own, and some kilobytes.
fn item(n: usize) -> String {
    let filling = "padding words of some length ".repeat(300);
    format!(r#"{{"id":"n{n}","kind":"note","body":"unique{n} {filling}"}}"#)
}

/// The reply of a server that is not ready.
#[track_caller]
fn assert_not_ready(serving: &Serving, reason: &str) {
    let (status, answer) = serving.get("/readyz", "");
    assert_eq!(status, 503, "{answer}");
    assert!(answer.contains(r#""code":"not_ready""#) && answer.contains(reason), "{answer}");
    assert!(!answer.contains("acme"), "it names no workspace: {answer}");
    assert_eq!(serving.get("/livez", "").0, 200);
}

/// Every item that was acknowledged is found by its word.
#[track_caller]
fn assert_found(serving: &Serving, key: &str, acknowledged: &[usize]) {
    for n in acknowledged {
        let query = format!(r#"{{"query":"unique{n}","limit":1}}"#);
        let (status, answer) = serving.send("POST", "/v1/workspaces/acme/search", key, &query);
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains(&format!(r#""id":"n{n}""#)), "n{n}: {answer}");
    }
}

fn key_for_all(folder: &TestFolder) -> String {
    let scopes = ["read", "write", "admin"].map(|scope| ["--scope", scope]);
    key(folder, &[&["create", "all"][..], &scopes.concat()].concat())
}

/// Fills a disk with a file that can be removed again, until this much is left or nothing.
fn fill(place: &Path, left: u64) -> PathBuf {
    let ballast = place.join("ballast");
    let free = Command::new("df").args(["--output=avail", "-B1"]).arg(place).output().unwrap();
    let free: u64 = out(&free).lines().nth(1).unwrap().trim().parse().unwrap();
    let room = usize::try_from(free.saturating_sub(left)).unwrap();
    // The last page may not fit.
    let _ = fs::write(&ballast, vec![1; room]);
    ballast
}

#[test]
fn a_full_disk_is_507_and_not_ready_until_there_is_room_r5() {
    let folder = TestFolder::new("full-disk");
    let data = folder.0.join("data");
    let Some(_mount) = Mount::new(&data, "size=24m") else { return };
    let key = key_for_all(&folder);
    let serving = Serving::start(&folder);
    assert_eq!(serving.send("POST", "/v1/workspaces", &key, r#"{"name":"acme"}"#).0, 201);
    let mut acknowledged = Vec::new();
    let refused = (0..5_000).find_map(|n| {
        let (status, answer) = serving.send("POST", ITEMS, &key, &item(n));
        if status == 200 {
            acknowledged.push(n)
        }
        (status != 200).then_some((n, status, answer))
    });
    let (n, status, answer) = refused.expect("the disk is full at some point");
    assert_eq!(status, 507, "{answer}");
    assert!(answer.contains(r#""code":"storage_full""#), "{answer}");
    assert!(acknowledged.len() > 10, "{} were stored", acknowledged.len());
    assert_not_ready(&serving, "bytes are free");
    // To the last byte: nothing can be written, neither the audit log nor the use of a key.
    let ballast = fill(&data, 0);
    for _ in 0..3 {
        assert_eq!(serving.send("POST", ITEMS, &key, &item(n)).0, 507);
        let (status, answer) = serving.send("POST", "/v1/workspaces", &key, r#"{"name":"beta"}"#);
        assert_eq!(status, 507, "{answer}");
    }
    assert_not_ready(&serving, "bytes are free");
    assert_eq!(serving.get(&format!("{ITEMS}/n{n}"), &key).0, 404, "nothing of it was written");
    let (status, workspaces) = serving.get("/v1/workspaces", &key);
    assert!(status == 200 && !workspaces.contains("beta"), "{workspaces}");
    assert_found(&serving, &key, &acknowledged);
    fs::remove_file(ballast).unwrap();
    // Somebody makes room on the disk, which the tests do by making the disk larger.
    let grown = Command::new("mount").args(["-o", "remount,size=48m"]).arg(&data).status().unwrap();
    assert!(grown.success());
    assert_eq!(serving.get("/readyz", "").0, 200, "without a restart");
    for n in n..n + 3 {
        let (status, answer) = serving.send("POST", ITEMS, &key, &item(n));
        assert_eq!(status, 200, "{answer}");
        acknowledged.push(n);
    }
    assert_eq!(serving.send("POST", "/v1/workspaces", &key, r#"{"name":"beta"}"#).0, 201);
    assert_found(&serving, &key, &acknowledged);
    drop(serving);
    let checked = folder.run(&["--data", "data", "--workspace", "acme", "check"]);
    assert_eq!(checked.status.code(), Some(0), "{}{}", out(&checked), err(&checked));
}

#[test]
fn an_index_that_cannot_be_written_is_not_ready_until_it_can_r5() {
    let folder = TestFolder::new("index-disk");
    let data = folder.0.join("data");
    fs::create_dir(&data).unwrap();
    let key = key_for_all(&folder);
    let serving = Serving::start(&folder);
    assert_eq!(serving.send("POST", "/v1/workspaces", &key, r#"{"name":"acme"}"#).0, 201);
    assert_eq!(serving.send("POST", ITEMS, &key, &item(0)).0, 200);
    assert_eq!(serving.get("/readyz", "").0, 200);
    let Some(mount) = Mount::new(&data.join("workspaces/acme/text"), "ro") else { return };
    let (_, answer) = serving.send("POST", ITEMS, &key, &item(1));
    assert!(!answer.is_empty());
    assert_not_ready(&serving, "an index cannot be written");
    let (status, item_0) = serving.get(&format!("{ITEMS}/n0"), &key);
    assert_eq!(status, 200, "{item_0}");
    drop(mount);
    // What was refused is sent again.
    for n in 1..4 {
        let (status, answer) = serving.send("POST", ITEMS, &key, &item(n));
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(serving.get("/readyz", "").0, 200, "without a restart");
    assert_found(&serving, &key, &[0, 1, 2, 3]);
}

/// A program whose steps to the data folder are counted, ended at a chosen one, or fail.
struct CountedSteps {
    library: PathBuf,
    folder: PathBuf,
}

impl CountedSteps {
    fn new(folder: &TestFolder) -> CountedSteps {
        let library = folder.0.join("counted_steps.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/counted_steps.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library);
        let compiled = compiler.arg(source).arg("-ldl").output().unwrap();
        assert!(compiled.status.success(), "{}", err(&compiled));
        CountedSteps { library, folder: fs::canonicalize(&folder.0).unwrap() }
    }

    fn server(&self, kill_at: Option<u64>) -> Command {
        fs::write(self.folder.join("counter"), [0; 8]).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_haversack"));
        command
            .env("LD_PRELOAD", &self.library)
            .env("STEPS_FOLDER", self.folder.join("data"))
            .env("STEPS_COUNTER", self.folder.join("counter"))
            .env("STEPS_SYNC_FAILS", self.folder.join("syncs-fail"));
        if let Some(step) = kill_at {
            command.env("STEPS_KILL_AT", step.to_string());
        }
        command
    }

    /// The steps of the last server.
    fn count(&self) -> u64 {
        u64::from_ne_bytes(fs::read(self.folder.join("counter")).unwrap().try_into().unwrap())
    }
}

#[test]
fn a_failed_sync_is_not_ready_and_acknowledges_nothing_r4() {
    let folder = TestFolder::new("sync-disk");
    let data = folder.0.join("data");
    fs::create_dir(&data).unwrap();
    let key = key_for_all(&folder);
    let steps = CountedSteps::new(&folder);
    let serving = Serving::start_by(&folder, &mut steps.server(None));
    assert_eq!(serving.send("POST", "/v1/workspaces", &key, r#"{"name":"acme"}"#).0, 201);
    assert_eq!(serving.send("POST", ITEMS, &key, &item(0)).0, 200);
    assert_eq!(serving.get("/readyz", "").0, 200);
    fs::write(folder.0.join("syncs-fail"), "").unwrap();
    let (status, answer) = serving.send("POST", ITEMS, &key, &item(1));
    assert_eq!(status, 500, "{answer}");
    fs::remove_file(folder.0.join("syncs-fail")).unwrap();
    // What the disk has is unknown, so nothing is written until a restart, though syncs work again.
    let (status, answer) = serving.send("POST", ITEMS, &key, &item(2));
    assert_eq!(status, 500, "{answer}");
    assert_not_ready(&serving, "restart the server to recover");
    assert_found(&serving, &key, &[0]);
    drop(serving);
    let serving = Serving::start(&folder);
    assert_eq!(serving.send("POST", ITEMS, &key, &item(2)).0, 200);
    assert_eq!(serving.get("/readyz", "").0, 200);
    assert_found(&serving, &key, &[0, 2]);
}

/// The requests of one run, in order: each with its key, as a client that retries sends it.
fn requests() -> Vec<(String, &'static str, &'static str, String)> {
    let mut all = vec![("POST", "/v1/workspaces", r#"{"name":"acme"}"#.to_owned())];
    all.extend((0..4).map(|n| ("POST", ITEMS, item(n))));
    all.push(("DELETE", "/v1/workspaces/acme/items/n1", String::new()));
    let useful = r#"{"contextItemId":"n0","useful":true,"user":"anna"}"#;
    all.push(("POST", "/v1/workspaces/acme/feedback", useful.to_owned()));
    let numbered = all.into_iter().enumerate();
    numbered.map(|(n, (method, path, body))| (format!("key-{n}"), method, path, body)).collect()
}

/// Sends the requests one after another until the server is gone. Returns how many were answered.
fn send_all(serving: &Serving, key: &str, context: &str) -> usize {
    for (n, (name, method, path, body)) in requests().iter().enumerate() {
        let Some((status, answer)) = serving.try_send((method, path), key, body, Some(name)) else {
            return n;
        };
        let expected = if n == 0 { 201 } else { 200 };
        assert_eq!(status, expected, "{context}, request {n}: {answer}");
    }
    requests().len()
}

/// R2: wherever among its steps to the disk the program is killed, what was answered is there, and what
/// was not is done once when it is sent again.
#[test]
fn a_kill_at_any_step_loses_nothing_and_can_be_repeated_r2() {
    let folder = TestFolder::new("step-disk");
    let steps = CountedSteps::new(&folder);
    let data = folder.0.join("data");
    let begin = || {
        let _ = fs::remove_dir_all(&data);
        fs::create_dir(&data).unwrap();
        key_for_all(&folder)
    };
    let key = begin();
    let serving = Serving::start_by(&folder, &mut steps.server(None));
    assert_eq!(send_all(&serving, &key, "counted"), requests().len());
    drop(serving);
    let all = steps.count();
    assert!(all > 100, "{all} steps say little");
    let most = std::env::var("HAVERSACK_FAULT_STEPS").map_or(24, |text| text.parse().unwrap());
    let (mut killed, mut between) = (0, 0);
    for step in (0..all).step_by(usize::try_from(all.div_ceil(most)).unwrap()) {
        let key = begin();
        let context = format!("step {step} of {all}");
        let answered = match Serving::try_start_by(&folder, &mut steps.server(Some(step))) {
            None => 0,
            Some(serving) => send_all(&serving, &key, &context),
        };
        killed += u32::from(answered < requests().len());
        between += u32::from(answered > 0 && answered < requests().len());
        let serving = Serving::start(&folder);
        // The client does not know what was done, so it sends everything again, twice.
        for _ in 0..2 {
            assert_eq!(send_all(&serving, &key, &context), requests().len());
        }
        assert_found(&serving, &key, &[0, 2, 3]);
        assert_eq!(serving.get("/v1/workspaces/acme/items/n1", &key).0, 404, "{context}");
        let (_, state) = serving.get("/v1/workspaces/acme", &key);
        assert!(
            state.contains(r#""items":3"#) && state.contains(r#""revision":5"#),
            "{context}: {state}"
        );
        drop(serving);
        let checked = folder.run(&["--data", "data", "--workspace", "acme", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{context}: {}{}", out(&checked), err(&checked));
    }
    assert!(killed > 0 && between > 0, "{killed} kills, {between} between answers");
}
