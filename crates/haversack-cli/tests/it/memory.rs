//! The real server in less memory than its callers ask for: it refuses what is too much by its own limits,
//! before the system ends it (R30). Linux only.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

use crate::TestFolder;
use crate::serve::{Serving, key};

/// The address space that the system gives, in KiB: no allocation beyond it succeeds, and a program whose
/// allocation fails ends.
const SYSTEM_KIB: usize = 3 << 20;

/// What the server allows itself for bodies, and for answers that are not read.
const OWN_BYTES: usize = 256 << 20;

const CALLERS: usize = 40;

/// A figure of a process, in KiB.
fn status(serving: &Serving, name: &str) -> usize {
    let text = fs::read_to_string(format!("/proc/{}/status", serving.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn own_limits_act_before_the_limit_of_the_system_r30() {
    let folder = TestFolder::new("memory");
    let scopes = ["read", "write", "admin"].map(|scope| ["--scope", scope]);
    let key = key(&folder, &[&["create", "all"][..], &scopes.concat()].concat());
    let limits = format!(
        "ulimit -v {SYSTEM_KIB}; export HAVERSACK_LIMITS_MEMORY_BYTES={OWN_BYTES} \
         HAVERSACK_LIMITS_UNREAD_BYTES={OWN_BYTES}"
    );
    let serving = Serving::start_limited(&folder, &limits);
    assert_eq!(serving.send("POST", "/v1/workspaces", &key, r#"{"name":"acme"}"#).0, 201);
    // Each becomes some 100 MiB of values, all together more than the system gives.
    let nested = format!(r#"{{"query":"x","filter":[{}1]}}"#, "{\"a\":[1]},".repeat(140_000));
    let long = format!(r#"{{"query":"{}"}}"#, "amber basil coral ".repeat(800_000));
    let many: String = (0..20_000)
        .map(|n| format!(r#"{{"id":"n{n}","kind":"note","body":"{}"}},"#, "padding ".repeat(80)))
        .collect();
    let many = format!("[{}]", many.trim_end_matches(','));
    let attacks =
        [("search", nested), ("search", long.clone()), ("items", many), ("estimate", long)];
    let statuses = Mutex::new(BTreeMap::<u16, usize>::new());
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (path, body) = &attacks[caller % attacks.len()];
            let (serving, key, statuses) = (&serving, &key, &statuses);
            scope.spawn(move || {
                let path = format!("/v1/workspaces/acme/{path}");
                for _ in 0..3 {
                    // Refused early, a connection may be closed while its body is still on the way.
                    let answer = serving.try_send(("POST", &path), key, body, None);
                    let status = answer.map_or(0, |(status, _)| status);
                    *statuses.lock().unwrap().entry(status).or_default() += 1;
                }
            });
        }
        // Meanwhile it is alive.
        for _ in 0..20 {
            assert_eq!(serving.get("/livez", "").0, 200);
        }
    });
    let statuses = statuses.into_inner().unwrap();
    let (peak, resident) = (status(&serving, "VmPeak"), status(&serving, "VmHWM"));
    let told = format!("{statuses:?}, at most {peak} KiB of addresses, {resident} KiB of memory");
    assert!(peak < SYSTEM_KIB, "{told}");
    assert!(statuses.get(&503).is_some_and(|refused| *refused > 0), "nothing was refused: {told}");
    assert!(!statuses.contains_key(&500), "{told}");
    let item = r#"{"id":"after","kind":"note","body":"amber"}"#;
    assert_eq!(serving.send("POST", "/v1/workspaces/acme/items", &key, item).0, 200);
    assert_eq!(
        serving.send("POST", "/v1/workspaces/acme/search", &key, r#"{"query":"amber"}"#).0,
        200
    );
    assert_eq!(serving.get("/readyz", "").0, 200);
}
