//! `haversack stats`: what a workspace holds.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_store::store::maintenance::Stats;
use haversack_store::store::wait;
use serde_json::{Map, Value, json};

use crate::args::{self, Place};
use crate::output::{Found, grouped, print};

pub(crate) fn run(place: &Place, args: &args::Stats) -> Result<Found> {
    let stats = wait(place.existing()?.stats())?;
    if args.json {
        print(&serde_json::to_string_pretty(&document(place, &stats))?)?;
    } else {
        print(&page(place, &stats)?)?;
    }
    Ok(Found::Something)
}

fn page(place: &Place, stats: &Stats) -> Result<String> {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<14} {value}");
    };
    line("workspace", format!("{} in {}", place.workspace, place.folder()?.display()));
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

fn document(place: &Place, stats: &Stats) -> Value {
    let kinds: Map<String, Value> =
        stats.kinds.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    json!({
        "workspace": place.workspace,
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
