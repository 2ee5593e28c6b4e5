//! `haversack remember`: stores a memory if it says something new.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use haversack::remember::SkipReason;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::{Value, json};

use crate::args::{RememberArgs, StoreLocation};
use crate::input::{now, read_text};
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &RememberArgs) -> Result<ExitOutcome> {
    let item = item(args)?;
    let id = item.id.clone();
    match location.reach(StoreLocation::workspace_or_new)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let remembered = workspace.remember(&Viewer::owner(), vec![item]).await?;
            workspace.settle().await;
            for warning in &remembered.committed.warnings {
                say(&format!("note: {warning}"));
            }
            let left_out = remembered.left_out.first().map(|left_out| reason(&left_out.why));
            show(&id, left_out)
        }),
        WorkspaceTarget::Server(server) => {
            server.create_if_missing()?;
            let done = server.remember(&memory_document(&item))?;
            show(&id, done["leftOut"].get(0).map(server_reason))
        }
    }
}

fn show(id: &ItemId, left_out: Option<String>) -> Result<ExitOutcome> {
    match left_out {
        None => {
            print(&format!("remembered as {id}"))?;
            Ok(ExitOutcome::Something)
        }
        Some(reason) => {
            print(&format!("not stored: {reason}"))?;
            Ok(ExitOutcome::Nothing)
        }
    }
}

/// The memory as a server takes it.
fn memory_document(item: &Item) -> Value {
    let mut document = json!({ "id": item.id.as_str() });
    let names = [
        ("content", "content"),
        ("type", "type"),
        ("conversation", "conversationId"),
        ("confidence", "confidence"),
        ("created_at", "createdAt"),
    ];
    for (field, name) in names {
        if let Some(value) = item.fields.get(field) {
            document[name] = value.clone();
        }
    }
    document
}

/// SkipReason a server did not store a memory.
fn server_reason(left_out: &Value) -> String {
    let of = left_out["of"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of: Vec<&str> = of.collect();
    match left_out["reason"].as_str() {
        Some("repeats") => repeats(of.first().unwrap_or(&"another memory")),
        _ => echoes(&of.join(", ")),
    }
}

fn item(args: &RememberArgs) -> Result<Item> {
    let text = match args.text.as_str() {
        "-" => read_text(Path::new("-"))?,
        text => text.to_owned(),
    };
    ensure!(!text.trim().is_empty(), "there is nothing to remember: the text is empty");
    let at = now();
    let id = args.id.clone().unwrap_or_else(|| format!("memory-{}", at.as_millis()));
    let mut item = Item::new(ItemId::new(&id).context("--id")?, Kind::new("memory")?, "");
    let fields = [
        ("content", Some(json!(text.trim()))),
        ("type", args.memory_type.as_ref().map(|name| json!(name))),
        ("conversation", args.conversation.as_ref().map(|id| json!(id))),
        ("confidence", args.confidence.map(|part| json!(part))),
        ("created_at", Some(json!(at.as_millis()))),
    ];
    item.fields =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(item)
}

fn reason(why: &SkipReason) -> String {
    let names = |ids: &[ItemId]| ids.iter().map(ItemId::to_string).collect::<Vec<_>>().join(", ");
    match why {
        SkipReason::Repeats { of } => repeats(of.as_str()),
        SkipReason::Echoes { of } => echoes(&names(of)),
    }
}

fn repeats(of: &str) -> String {
    format!("it repeats {of}; --id {of} replaces that")
}

fn echoes(of: &str) -> String {
    format!("it only repeats what earlier packs said from {of}")
}
