//! `haversack stats`: counts and sizes of a workspace.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_store::store::block_on;
use haversack_store::store::maintenance::StoreStats;
use serde_json::{Map, Value, json};

use crate::args::{self, StoreLocation};
use crate::output::{ExitOutcome, grouped, print, say};
use crate::remote::{RemoteWorkspace, WorkspaceTarget};

pub(crate) fn run(location: &StoreLocation, args: &args::StatsArgs) -> Result<ExitOutcome> {
    let stats = match location.reach(StoreLocation::existing_store)? {
        WorkspaceTarget::Local(store) => block_on(store.stats())?,
        WorkspaceTarget::Server(server) => return show_remote(&server, args.json),
    };
    if args.json {
        print(&serde_json::to_string_pretty(&document(location, &stats))?)?;
    } else {
        print(&page(location, &stats)?)?;
    }
    Ok(ExitOutcome::Something)
}

/// Prints what a server says of a workspace: its name, revision and visible items.
fn show_remote(server: &RemoteWorkspace, json: bool) -> Result<ExitOutcome> {
    let state = server.state()?;
    if json {
        let state = json!({
            "workspace": state["name"], "items": state["items"], "revision": state["revision"],
        });
        print(&serde_json::to_string_pretty(&state)?)?;
        return Ok(ExitOutcome::Something);
    }
    let name = state["name"].as_str().unwrap_or_default();
    let revision = match &state["revision"] {
        Value::Number(number) => grouped(number),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let items = grouped(&state["items"]);
    print(&format!(
        "{:<14} {name} at {}\n{:<14} {items}\n{:<14} {revision}\n",
        "workspace",
        server.url(),
        "items",
        "revision"
    ))?;
    say("a server does not say more; stop it for kinds, chunks, vectors and sizes");
    Ok(ExitOutcome::Something)
}

fn page(location: &StoreLocation, stats: &StoreStats) -> Result<String> {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<14} {value}");
    };
    line("workspace", format!("{} in {}", location.workspace, location.folder()?.display()));
    line("items", grouped(stats.items));
    for (kind, count) in &stats.kinds {
        line("", format!("{} {kind}", grouped(count)));
    }
    line("versions", grouped(stats.versions));
    line("chunks", grouped(stats.chunks));
    line("links", grouped(stats.links));
    line("revision", grouped(stats.revision.get()));
    let stale = if stats.stale { " (another one is in use: run `haversack reembed`)" } else { "" };
    line("vectors by", format!("{}{stale}", stats.model));
    let [truth, text, vectors] = stats.bytes.map(megabytes);
    line("on disk", format!("{truth} store, {text} text index, {vectors} vector index"));
    Ok(out)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn document(location: &StoreLocation, stats: &StoreStats) -> Value {
    let kinds: Map<String, Value> =
        stats.kinds.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    json!({
        "workspace": location.workspace,
        "items": stats.items,
        "kinds": kinds,
        "versions": stats.versions,
        "chunks": stats.chunks,
        "links": stats.links,
        "revision": stats.revision.get(),
        "model": stats.model.to_string(),
        "stale": stats.stale,
        "bytes": {
            "store": stats.bytes[0],
            "textIndex": stats.bytes[1],
            "vectorIndex": stats.bytes[2],
        },
    })
}
