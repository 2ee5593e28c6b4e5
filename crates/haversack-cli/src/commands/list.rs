//! `haversack list`: the items of a workspace, by id.

use anyhow::{Context, Result, ensure};
use haversack_core::item::Kind;
use haversack_serve::stored_document;
use haversack_store::store::query::{Filter, LIMIT_MAX, ListOrder, Page};
use serde_json::Value;

use super::get::heading;
use crate::args::{ListArgs, StoreLocation};
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &ListArgs) -> Result<ExitOutcome> {
    ensure!(args.limit >= 1, "--limit: use 1 or more");
    let viewer = args.identity.viewer()?;
    let mut filter = Filter::everything();
    if let Some(kind) = &args.kind {
        filter.kinds.push(Kind::new(kind).context("--kind")?);
    }
    filter.path_prefix = args.path.clone();
    let items: Vec<Value> = match location.reach(StoreLocation::plain_workspace)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let snapshot = workspace.store().snapshot(&viewer).await?;
            let mut items = Vec::new();
            let mut after = None;
            while items.len() < args.limit {
                let limit = LIMIT_MAX.min(args.limit - items.len());
                let page = Page { order: ListOrder::Id, after: after.take(), limit };
                let stored = snapshot.list(&filter, &page).await?;
                after = stored.last().map(|last| last.item.id.clone());
                if after.is_none() {
                    break;
                }
                items.extend(stored.into_iter().map(|it| stored_document(it, &viewer)));
            }
            Ok(items)
        })?,
        WorkspaceTarget::Server(server) => server.items(args)?,
    };
    if args.json {
        print(&serde_json::to_string_pretty(&items)?)?;
    } else if items.is_empty() {
        say(&format!("nothing to list in workspace {:?}", location.workspace));
    } else {
        let lines: Vec<String> = items.iter().map(heading).collect();
        print(&lines.join("\n"))?;
    }
    Ok(if items.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}
