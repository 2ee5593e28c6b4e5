//! `haversack key`: who may ask the server what. The server may run meanwhile.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use haversack_core::units::Timestamp;
use haversack_serve::audit::{Audit, Entry};
use haversack_serve::who::{Control, Grant, Key, NewKey, Scope, Sight};
use serde_json::{Value, json};

use crate::args::{self, Place};
use crate::input::now;
use crate::output::{Found, print, say};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

pub(crate) fn run(place: &Place, command: &args::Key) -> Result<Found> {
    let folder = place.folder()?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let control = Control::open(&folder)?;
    match command {
        args::Key::Create(args) => create(&control, &audit(&folder)?, args),
        args::Key::List(args) => list(&control, args),
        args::Key::Revoke(args) => {
            let (audit, now) = (audit(&folder)?, now());
            control.revoke(&args.id, now)?;
            note(&audit, "revokeKey", "key revoke", &args.id, now)?;
            print(&format!("revoked {}", args.id))?;
            Ok(Found::Something)
        }
    }
}

/// The audit log. Opened before anything is done, so that nothing is done that cannot be written down.
fn audit(folder: &Path) -> Result<Audit> {
    Audit::open(folder).context("the audit log cannot be opened")
}

/// Writes down what was done to a key.
fn note(audit: &Audit, operation: &str, command: &str, key: &str, now: Timestamp) -> Result<()> {
    let entry = Entry {
        at: Entry::time(now),
        request: format!("haversack {command}"),
        credential: "command line".to_owned(),
        user: None,
        operation: operation.to_owned(),
        workspace: None,
        key: Some(key.to_owned()),
        status: 200,
        code: None,
        left_out: 0,
    };
    audit.write(&entry).context("it is done, but the audit log cannot be written")
}

fn create(control: &Control, audit: &Audit, args: &args::KeyCreate) -> Result<Found> {
    let scopes: BTreeSet<Scope> = args.scope.iter().filter_map(|name| Scope::named(name)).collect();
    let workspaces = match &args.workspaces[..] {
        [] => Grant::All,
        names => Grant::Only(names.iter().cloned().collect()),
    };
    let sight = match &args.user {
        Some(name) => {
            Sight::User { name: name.clone(), groups: args.group.iter().cloned().collect() }
        }
        None if args.anyone => Sight::Anyone,
        None => Sight::Trusted,
    };
    let now = now();
    let expires = args.days.map(|days| {
        Timestamp::from_millis(now.as_millis().saturating_add(i64::from(days) * DAY_MS))
    });
    let new = NewKey { name: args.name.clone(), scopes, workspaces, sight, expires };
    let token = control.create(&new, now)?;
    note(audit, "createKey", "key create", &token.id, now)?;
    if args.json {
        let json = json!({ "id": token.id, "key": token.reveal(), "name": new.name });
        print(&serde_json::to_string_pretty(&json)?)?;
    } else {
        print(&token.reveal())?;
        say("this is the only time the key is shown; send it as `Authorization: Bearer …`");
    }
    Ok(Found::Something)
}

fn list(control: &Control, args: &args::KeyList) -> Result<Found> {
    let keys = control.list()?;
    if args.json {
        let keys: Vec<Value> = keys.iter().map(document).collect();
        print(&serde_json::to_string_pretty(&Value::Array(keys))?)?;
    } else if keys.is_empty() {
        say("there are no keys: `haversack key create NAME` makes one");
    } else {
        let now = now();
        let lines: Vec<String> = keys.iter().map(|key| line(key, now)).collect();
        print(&lines.join("\n"))?;
    }
    Ok(if keys.is_empty() { Found::Nothing } else { Found::Something })
}

fn scopes(key: &Key) -> Vec<&'static str> {
    key.scopes.iter().map(|scope| scope.as_str()).collect()
}

fn line(key: &Key, now: Timestamp) -> String {
    let state = match (key.revoked, key.expires) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) if !key.is_good(now) => format!("ended {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "good".to_owned(),
    };
    let workspaces = match &key.workspaces {
        Grant::All => "all workspaces".to_owned(),
        Grant::Only(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let sight = match &key.sight {
        Sight::Trusted => "trusted".to_owned(),
        Sight::User { name, .. } => format!("as {name}"),
        Sight::Anyone => "as anyone".to_owned(),
    };
    let used = key.used.map_or_else(|| "never used".to_owned(), |at| format!("used {at}"));
    let scopes = scopes(key).join(" ");
    format!("{}  {}  {scopes}  {workspaces}  {sight}  {state}  {used}", key.id, key.name)
}

fn document(key: &Key) -> Value {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
    json!({
        "id": key.id,
        "name": key.name,
        "scopes": scopes(key),
        "workspaces": key.workspaces,
        "sight": key.sight,
        "created": key.created.to_string(),
        "expires": moment(key.expires),
        "revoked": moment(key.revoked),
        "used": moment(key.used),
    })
}
