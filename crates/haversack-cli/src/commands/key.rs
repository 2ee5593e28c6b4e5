//! `haversack key`: creates, lists and revokes keys, also while the server runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use haversack_core::units::Timestamp;
use haversack_provider::DailyCap;
use haversack_serve::audit::{Audit, AuditEntry};
use haversack_serve::who::{ActsAs, ApiKey, Control, Grant, KeyScope, NewKey};
use serde_json::{Value, json};

use crate::args::{self, StoreLocation};
use crate::input::now;
use crate::output::{ExitOutcome, grouped, print, say};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

pub(crate) fn run(location: &StoreLocation, command: &args::KeyCommand) -> Result<ExitOutcome> {
    let folder = location.folder()?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let control = Control::open(&folder)?;
    match command {
        args::KeyCommand::Create(args) => create(&control, &audit(&folder)?, args),
        args::KeyCommand::List(args) => list(&control, args),
        args::KeyCommand::Revoke(args) => {
            let (audit, now) = (audit(&folder)?, now());
            control.revoke(&args.id, now)?;
            write_audit_entry(&audit, "revokeKey", "key revoke", Some(&args.id), now)?;
            print(&format!("revoked {}", args.id))?;
            Ok(ExitOutcome::Something)
        }
    }
}

/// The audit log. It is opened first, so that nothing is done that cannot be logged.
fn audit(folder: &Path) -> Result<Audit> {
    Audit::open(folder).context("the audit log cannot be opened")
}

/// Logs what a command did.
pub(super) fn write_audit_entry(
    audit: &Audit,
    operation: &str,
    command: &str,
    key: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    let entry = AuditEntry {
        at: AuditEntry::time(now),
        request: format!("haversack {command}"),
        credential: "command line".to_owned(),
        user: None,
        operation: operation.to_owned(),
        workspace: None,
        key: key.map(str::to_owned),
        status: 200,
        code: None,
        left_out: 0,
    };
    audit.write(&entry).context("done, but the audit log cannot be written")
}

fn create(control: &Control, audit: &Audit, args: &args::KeyCreateArgs) -> Result<ExitOutcome> {
    let scopes: BTreeSet<KeyScope> =
        args.scope.iter().filter_map(|name| KeyScope::from_name(name)).collect();
    let workspaces = match &args.workspaces[..] {
        [] => Grant::All,
        names => Grant::Only(names.iter().cloned().collect()),
    };
    let acts_as = match &args.user {
        Some(name) => {
            ActsAs::User { name: name.clone(), groups: args.group.iter().cloned().collect() }
        }
        None if args.anyone => ActsAs::Anyone,
        None => ActsAs::Trusted,
    };
    let now = now();
    let expires = args.days.map(|days| {
        Timestamp::from_millis(now.as_millis().saturating_add(i64::from(days) * DAY_MS))
    });
    let model_cap = DailyCap { tokens: args.model_tokens_per_day, cost: args.model_cost_per_day };
    let new = NewKey { name: args.name.clone(), scopes, workspaces, acts_as, expires, model_cap };
    let token = control.create(&new, now)?;
    write_audit_entry(audit, "createKey", "key create", Some(&token.id), now)?;
    if args.json {
        let json = json!({ "id": token.id, "key": token.reveal(), "name": new.name });
        print(&serde_json::to_string_pretty(&json)?)?;
    } else {
        print(&token.reveal())?;
        say("this is the only time the key is shown; send it as `Authorization: Bearer …`");
    }
    Ok(ExitOutcome::Something)
}

fn list(control: &Control, args: &args::KeyListArgs) -> Result<ExitOutcome> {
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
    Ok(if keys.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn scopes(key: &ApiKey) -> Vec<&'static str> {
    key.scopes.iter().map(|scope| scope.as_str()).collect()
}

fn line(key: &ApiKey, now: Timestamp) -> String {
    let state = match (key.revoked, key.expires) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) if !key.is_valid(now) => format!("ended {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "good".to_owned(),
    };
    let workspaces = match &key.workspaces {
        Grant::All => "all workspaces".to_owned(),
        Grant::Only(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let acts_as = match &key.acts_as {
        ActsAs::Trusted => "trusted".to_owned(),
        ActsAs::User { name, .. } => format!("as {name}"),
        ActsAs::Anyone => "as anyone".to_owned(),
    };
    let used = key.used.map_or_else(|| "never used".to_owned(), |at| format!("used {at}"));
    let scopes = scopes(key).join(" ");
    let cap = cap(&key.model_cap);
    format!("{}  {}  {scopes}  {workspaces}  {acts_as}  {state}  {used}{cap}", key.id, key.name)
}

/// The cap on models as a column, if there is one.
fn cap(cap: &DailyCap) -> String {
    let tokens = cap.tokens.map(|tokens| format!("{} tokens", grouped(tokens)));
    let cost = cap.cost.map(|cost| format!("a cost of {cost}"));
    let limits: Vec<String> = tokens.into_iter().chain(cost).collect();
    if limits.is_empty() {
        return String::new();
    }
    format!("  at most {} of models a day", limits.join(" and "))
}

fn document(key: &ApiKey) -> Value {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string());
    json!({
        "id": key.id,
        "name": key.name,
        "scopes": scopes(key),
        "workspaces": key.workspaces,
        "sight": key.acts_as,
        "created": key.created.to_string(),
        "expires": moment(key.expires),
        "revoked": moment(key.revoked),
        "used": moment(key.used),
        "modelTokensPerDay": key.model_cap.tokens,
        "modelCostPerDay": key.model_cap.cost,
    })
}
