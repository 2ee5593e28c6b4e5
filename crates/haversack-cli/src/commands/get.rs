//! `haversack get`: items by their ids.

use anyhow::{Context, Result};
use haversack_core::ids::ItemId;
use haversack_serve::stored_document;
use serde_json::Value;

use super::show::clipped;
use crate::args::{GetArgs, StoreLocation};
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

/// Longest title in a heading.
const TITLE: usize = 80;

pub(crate) fn run(location: &StoreLocation, args: &GetArgs) -> Result<ExitOutcome> {
    let viewer = args.identity.viewer()?;
    let ids: Result<Vec<ItemId>, _> = args.ids.iter().map(|id| ItemId::new(id)).collect();
    let ids = ids.context("an item's id")?;
    let found: Vec<Option<Value>> = match location.reach(StoreLocation::plain_workspace)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let snapshot = workspace.store().snapshot(&viewer).await?;
            let found = snapshot.get(&ids).await?;
            Ok(found.into_iter().map(|it| Some(stored_document(it?, &viewer))).collect())
        })?,
        WorkspaceTarget::Server(server) => {
            let item = |id: &ItemId| server.item(id.as_str(), &args.identity);
            ids.iter().map(item).collect::<Result<_>>()?
        }
    };
    for (id, _) in ids.iter().zip(&found).filter(|(_, item)| item.is_none()) {
        say(&format!("there is no item {id}"));
    }
    let items: Vec<Value> = found.into_iter().flatten().collect();
    if args.json {
        print(&serde_json::to_string_pretty(&items)?)?;
    } else if !items.is_empty() {
        let pages: Vec<String> = items.iter().map(page).collect();
        print(&pages.join("\n"))?;
    }
    Ok(if items.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

/// An item in lines: what it is, its fields, its text.
fn page(item: &Value) -> String {
    let mut out = heading(item);
    out.push('\n');
    for name in ["path", "parent", "created", "updated", "readers", "trust"] {
        match &item[name] {
            Value::Null => {}
            Value::String(text) => out.push_str(&format!("  {name}: {}\n", clipped(text, 400))),
            other => out.push_str(&format!("  {name}: {other}\n")),
        }
    }
    for (name, value) in item["fields"].as_object().into_iter().flatten() {
        out.push_str(&format!("  {name}: {}\n", clipped(&value.to_string(), 400)));
    }
    let body = item["body"].as_str().unwrap_or_default();
    if !body.is_empty() {
        out.push('\n');
        let shown = |c: char| if c.is_control() && c != '\n' && c != '\t' { ' ' } else { c };
        out.extend(body.chars().map(shown));
        if !body.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// An item in one line: id, kind and title.
pub(super) fn heading(item: &Value) -> String {
    let field = |name: &str| item[name].as_str().unwrap_or_default();
    let title = clipped(field("title"), TITLE);
    let line = format!("{}  {}  {title}", field("id"), field("kind"));
    line.trim_end().to_owned()
}
