//! Canaries: workspaces full of words that only they have, and calls of all sorts with credentials of all
//! sorts. No response, line of the log, metric or file holds a word that is not for its reader (S1, S2, S3,
//! S18, S22, S24, S28, X3).
//!
//! `cargo xtask canary` makes many calls; `HAVERSACK_CANARY_CALLS` and `HAVERSACK_SEED` set how many and
//! which.

mod calls;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haversack_core::units::Timestamp;
use haversack_serve::who::{ActsAs, Control, Grant, KeyScope};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use self::calls::{Call, Dice, choose};
use self::words::{
    Sees, foreign_in_file, group_word, holds_vector, kept_word, leaks, marks, name, open_word,
    visible_words,
};
use crate::signed::{FIRST, Issuer, set};
use crate::support::{HttpReply, Running, all};

/// How many workspaces, each with words that only it has.
const TENANTS: usize = 50;

/// Items of each: most for everyone in the workspace, the last two for Anna alone.
const ITEMS: usize = 8;

/// Calls in all, unless `HAVERSACK_CANARY_CALLS` says another number.
const CALLS: usize = 2_000;

/// Calls at once.
const WORKERS: usize = 4;

/// Receipts and states that are kept to be asked for by others.
const FINDS_MAX: usize = 400;

/// A credential, and what it may see.
#[derive(Debug, Clone)]
struct Credential {
    what: &'static str,
    key: Option<String>,
    /// For whom a trusted key asks.
    user: Option<&'static str>,
    tenants: Vec<usize>,
    sees: Sees,
}

/// Names that responses gave to their callers, for others to try.
#[derive(Debug, Default, Clone)]
struct Finds {
    receipts: Vec<String>,
    states: Vec<String>,
}

impl Finds {
    fn note(&mut self, dice: &mut Dice, response: &str) {
        for (list, before) in
            [(&mut self.receipts, "\"receipt\":\""), (&mut self.states, "\"revision\":\"s-")]
        {
            let Some((_, rest)) = response.split_once(before) else { continue };
            let found = rest.split('"').next().unwrap();
            let found =
                if before.ends_with("s-") { format!("s-{found}") } else { found.to_owned() };
            if list.len() < FINDS_MAX {
                list.push(found);
            } else {
                list[dice.below(FINDS_MAX)] = found;
            }
        }
    }
}

/// The lines of the log that hold a canary or a key, and how many lines there were.
#[derive(Debug, Clone, Default)]
struct LogWatch {
    lines: Arc<AtomicUsize>,
    marked: Arc<Mutex<Vec<String>>>,
}

/// Fields as text.
struct FieldText(String);

impl Visit for FieldText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl LogWatch {
    fn note(&self, record: impl FnOnce(&mut FieldText)) {
        let mut line = FieldText(String::new());
        record(&mut line);
        self.lines.fetch_add(1, Ordering::Relaxed);
        if line.0.to_lowercase().contains("canary") || line.0.contains("hvs_") {
            self.marked.lock().unwrap().push(line.0);
        }
    }
}

impl Subscriber for LogWatch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What is not ours does not reach the log of a server either.
        metadata.target().starts_with("haversack")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(|line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.note(|line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.note(|line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The server, who calls it, and what was seen.
struct Canaries {
    running: Running,
    credentials: Vec<Credential>,
    finds: Mutex<Finds>,
    /// How often each status came, and how many responses held a canary.
    statuses: Mutex<BTreeMap<u16, usize>>,
    with_canary: AtomicUsize,
}

fn number(variable: &str, usual: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
        Err(_) => usual,
    }
}

fn item(tenant: usize, n: usize) -> Value {
    let (name, is_kept) = (name(tenant), n + 2 >= ITEMS);
    let word = if is_kept { kept_word(tenant) } else { open_word(tenant) };
    let kind = ["note", "memory", "file", "message"][n % 4];
    let body = format!("The {name} plan number {n} is about budgets, launches and tea: {word}.");
    let mut item = json!({ "id": format!("{name}-{n}"), "kind": kind,
                           "title": format!("{name} {n} {word}"), "body": body });
    if kind == "memory" {
        item["fields"] = json!({ "content": body, "type": "fact" });
    }
    if is_kept {
        item["readers"] = json!(["user:anna", format!("group:{}", group_word(tenant))]);
        // Hidden beside and below what others see.
        item["parent"] = json!(format!("{name}-0"));
    }
    item
}

async fn fill(running: &Running, key: &str, tenant: usize) {
    running.engine.workspace(&name(tenant)).unwrap();
    let items: Vec<Value> = (0..ITEMS).map(|n| item(tenant, n)).collect();
    let path = format!("/v1/workspaces/{}/items", name(tenant));
    let stored = running.ask("POST", &path).key(key).json(&Value::Array(items)).send().await;
    assert_eq!(stored.status, 200, "{}", stored.text);
}

/// A signed token of Anna's for one workspace, good for the whole run.
fn token(tenant: usize) -> String {
    FIRST.token(|claims, _| {
        claims["exp"] = json!(4_000_000_000_u64);
        claims["scope"] = json!("read write");
        claims["workspaces"] = json!([name(tenant)]);
    })
}

/// The credentials of one workspace, and those that are good for nothing.
fn credentials(running: &Running, tenant: usize) -> Vec<Credential> {
    let both = [KeyScope::Read, KeyScope::Write];
    let only = |tenants: &[usize]| Grant::Only(tenants.iter().map(|it| name(*it)).collect());
    let user = |name: &str| ActsAs::User { name: name.to_owned(), groups: [].into() };
    let own = only(&[tenant]);
    let trusted = running.key(&both, own.clone(), ActsAs::Trusted);
    let pair = [tenant, (tenant + 1) % TENANTS];
    let both_workspaces = running.key(&both, only(&pair), ActsAs::Trusted);
    let annas = running.key(&both, own.clone(), user("anna"));
    let bens = running.key(&both, own.clone(), user("ben"));
    let credential = |what, key: &str, user, tenants: &[usize], sees| Credential {
        what,
        key: Some(key.to_owned()),
        user,
        tenants: tenants.to_vec(),
        sees,
    };
    let one = &[tenant][..];
    let mut credentials = vec![
        credential("a trusted key", &trusted, None, one, Sees::Everything),
        credential("a trusted key for Anna", &trusted, Some("anna"), one, Sees::Kept),
        credential("a trusted key for Ben", &trusted, Some("ben"), one, Sees::Open),
        credential("a key of two workspaces", &both_workspaces, None, &pair, Sees::Everything),
        credential("Anna's key", &annas, None, one, Sees::Kept),
        credential("Ben's key", &bens, None, one, Sees::Open),
        credential("Ben's key that says Anna", &bens, Some("anna"), one, Sees::Open),
        credential("Anna's token", &token(tenant), None, one, Sees::Kept),
    ];
    if tenant.is_multiple_of(10) {
        let past = Some(Timestamp::from_millis(2));
        let expired = running.key_until(&all(), own.clone(), ActsAs::Trusted, past);
        let revoked = running.key(&all(), own.clone(), ActsAs::Trusted);
        let control = Control::open(running.folder.path()).unwrap();
        control.revoke(revoked.split('_').nth(1).unwrap(), Timestamp::from_millis(2)).unwrap();
        let admin = running.key(&[KeyScope::Admin], own.clone(), ActsAs::Trusted);
        let writer = running.key(&[KeyScope::Write], own.clone(), ActsAs::Trusted);
        let anyone = running.key(&both, own, ActsAs::Anyone);
        credentials.extend([
            credential("an expired key", &expired, None, one, Sees::Nothing),
            credential("a revoked key", &revoked, None, one, Sees::Nothing),
            credential("a guess", "hvs_0011223344556677_guess", None, one, Sees::Nothing),
            credential("an administrator", &admin, None, one, Sees::Everything),
            credential("a writer", &writer, None, one, Sees::Everything),
            credential("anyone's key", &anyone, None, one, Sees::Open),
            Credential { key: None, ..credential("no key", "", None, one, Sees::Nothing) },
        ]);
    }
    credentials
}

impl Canaries {
    async fn start(issuer: &Issuer) -> Canaries {
        let mut config = crate::tokens::config(issuer);
        config.limits.denied = 0;
        let running = Running::with(config).await;
        let writer = running.key(&[KeyScope::Write], Grant::All, ActsAs::Trusted);
        let mut found = Vec::new();
        for tenant in 0..TENANTS {
            fill(&running, &writer, tenant).await;
            found.extend(credentials(&running, tenant));
        }
        Canaries {
            running,
            credentials: found,
            finds: Mutex::default(),
            statuses: Mutex::default(),
            with_canary: AtomicUsize::new(0),
        }
    }

    async fn send(&self, call: &Call, key: Option<&str>) -> HttpReply {
        let mut ask = self.running.ask(call.method, &call.path).body(&call.body);
        for (name, value) in &call.headers {
            ask = ask.header(name, value);
        }
        if let Some(key) = key {
            ask = ask.key(key);
        }
        ask.send().await
    }

    /// The words of one workspace are seen by who may see them, and would be missed by nobody: the control
    /// of all that follows.
    async fn control(&self, tenant: usize) {
        let find = |what: &str| {
            let is_it = |it: &&Credential| it.what == what && it.tenants == [tenant];
            self.credentials.iter().find(is_it).unwrap()
        };
        for what in ["a trusted key", "Anna's key", "Ben's key", "Anna's token"] {
            let credential = find(what);
            let path = format!("/v1/workspaces/{}/items?limit=100", name(tenant));
            let ask = self.running.ask("GET", &path).key(credential.key.as_deref().unwrap());
            let text = ask.send().await.text;
            let seen: BTreeSet<String> = marks(&text);
            let visible = visible_words(&credential.tenants, credential.sees);
            assert!(visible.is_subset(&seen), "{what} sees {visible:?}: {text}");
            assert_eq!(leaks(&text, &path, &visible), [] as [&str; 0], "{what}: {text}");
            // Somebody else with the same response would have been told a secret.
            let others = visible_words(&[(tenant + 1) % TENANTS], Sees::Everything);
            let told = leaks(&text, &path, &others);
            assert!(told.contains(&open_word(tenant)), "{what}: the search finds nothing: {text}");
        }
    }

    /// One worker's share of the calls.
    async fn work(&self, seed: u64, calls: usize) {
        let mut dice = Dice(seed);
        for number in 0..calls {
            let credential = dice.pick(&self.credentials).unwrap().clone();
            let finds = self.finds.lock().unwrap().clone();
            let call = choose(&mut dice, &credential, &finds);
            let reply = self.send(&call, credential.key.as_deref()).await;
            let context = || {
                format!("seed {seed}, call {number}: {} sent {call:?}: {reply:?}", credential.what)
            };
            let shown = format!("{} {:?}", reply.text, reply.headers);
            let visible = visible_words(&credential.tenants, credential.sees);
            let mut told = leaks(&shown, &call.sent(), &visible);
            told.retain(|mark| !call.shows_past || mark.starts_with("canary"));
            assert!(told.is_empty(), "{told:?} reached the wrong caller; {}", context());
            assert!(reply.status < 500, "{}", context());
            let body = serde_json::from_str(&reply.text).unwrap_or(Value::Null);
            assert!(!holds_vector(&body), "{}", context());
            assert!(!call.must_fail || reply.status >= 400, "{}", context());
            let has_canary = marks(&shown).iter().any(|mark| mark.starts_with("canary"));
            self.with_canary.fetch_add(usize::from(has_canary), Ordering::Relaxed);
            *self.statuses.lock().unwrap().entry(reply.status).or_default() += 1;
            self.finds.lock().unwrap().note(&mut dice, &reply.text);
        }
    }

    /// Metrics and the audit log hold no word; a workspace's folder holds its own alone.
    async fn verify_the_rest(&self) {
        let figures = self.running.key(&[KeyScope::Metrics], Grant::All, ActsAs::Anyone);
        let page = self.running.ask("GET", "/metrics").key(&figures).send().await.text;
        assert!(page.contains("haversack_http_requests_total"), "{page}");
        assert_eq!(marks(&page), BTreeSet::new(), "metrics name no text and no workspace");
        let folder = self.running.folder.path();
        let audit = std::fs::read_to_string(folder.join("audit.log")).unwrap();
        assert!(audit.lines().count() > 1, "something was denied");
        assert!(!audit.contains("canary") && !audit.contains("hvs_"), "{audit}");
        for tenant in 0..TENANTS {
            let mut has_own = false;
            for file in files(&folder.join("workspaces").join(name(tenant))) {
                // Indexes are merged meanwhile, and the old files go.
                let Ok(bytes) = std::fs::read(&file) else { continue };
                let foreign = foreign_in_file(&bytes, tenant);
                assert!(foreign.is_empty(), "{} holds {foreign:?}", file.display());
                has_own |= marks(&String::from_utf8_lossy(&bytes))
                    .iter()
                    .any(|mark| mark.starts_with(&open_word(tenant)));
            }
            assert!(has_own, "the files of {} hold its own words", name(tenant));
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "a long run says what it counted")]
async fn no_word_reaches_a_caller_that_may_not_see_it_s1_x3() {
    let log = LogWatch::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    tracing::info!(target: "haversack", word = "canarycontrol", "the log is watched");
    let issuer = Issuer::with(&set(&[&FIRST])).await;
    let canaries = Arc::new(Canaries::start(&issuer).await);
    for tenant in 0..TENANTS {
        canaries.control(tenant).await;
    }
    let calls = number("HAVERSACK_CANARY_CALLS", CALLS);
    let seed = u64::try_from(number("HAVERSACK_SEED", 1)).unwrap();
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let canaries = Arc::clone(&canaries);
            let seed = seed * 1_000 + u64::try_from(worker).unwrap();
            let share = (calls + worker) / WORKERS;
            tokio::spawn(async move { canaries.work(seed, share).await })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    canaries.verify_the_rest().await;
    let canaries = Arc::into_inner(canaries).unwrap();
    let statuses = canaries.statuses.into_inner().unwrap();
    assert_eq!(statuses.values().sum::<usize>(), calls);
    for status in [200, 400, 401, 403, 404] {
        assert!(statuses.contains_key(&status), "calls of all sorts: {statuses:?}");
    }
    let with_canary = canaries.with_canary.into_inner();
    assert!(with_canary * 8 > calls, "the calls find what they may: {with_canary} of {calls}");
    let (lines, marked) = (log.lines.load(Ordering::Relaxed), log.marked.lock().unwrap().clone());
    assert!(lines > calls, "{lines} lines of the log for {calls} calls");
    assert_eq!(marked.len(), 1, "texts or keys are in the log: {marked:?}");
    assert!(marked[0].contains("canarycontrol"), "the watch on the log works: {marked:?}");
    println!(
        "{calls} calls by {TENANTS} workspaces' credentials: {statuses:?}, {with_canary} with a canary"
    );
    canaries.running.stop().await;
}
