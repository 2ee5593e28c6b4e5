//! Resources: items and receipts, each with its URI.

use haversack_core::ids::ItemId;
use haversack_store::store::item::Stored;
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use super::caller::McpCaller;
use super::uri;
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::who::KeyScope;
use crate::wire::WireItem;

/// Resources on a page of the list.
const PAGE: usize = 50;

/// Longest item text in one response.
const TEXT_BYTES_MAX: usize = 1 << 20;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// The URI templates.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let item = ResourceTemplate::new(uri::ITEMS, "item")
        .with_title("Item")
        .with_description("A stored item: its text, then its other fields")
        .with_mime_type(TEXT);
    let receipt = ResourceTemplate::new(uri::RECEIPTS, "receipt")
        .with_title("Receipt")
        .with_description("What a pack was made from, and what became of each candidate")
        .with_mime_type(JSON);
    ListResourceTemplatesResult::with_all_items(vec![item, receipt])
}

/// Lists a page of the visible items of the default workspace.
pub(crate) async fn list(
    state: &ServerState,
    caller: &McpCaller,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ApiProblem> {
    caller.check_scope(KeyScope::Read)?;
    let workspace = caller.workspace(state, None).await?;
    let after = cursor.filter(|cursor| !cursor.is_empty()).map(item_of_cursor).transpose()?;
    let snapshot = workspace.store().snapshot(&caller.viewer()?).await?;
    let page = Page { order: ListOrder::Id, after, limit: PAGE };
    let stored = snapshot.list(&Filter::default(), &page).await?;
    let next = stored.last().filter(|_| stored.len() == PAGE);
    let next = next.map(|last| uri::item_uri(workspace.name(), last.item.id.as_str()));
    let resources = stored.iter().map(|stored| resource(workspace.name(), stored)).collect();
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next;
    Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The item that a cursor names: the last of the previous page.
fn item_of_cursor(cursor: &str) -> Result<ItemId, ApiProblem> {
    let id = match uri::parse(cursor) {
        Some((_, uri::Resource::Item(id))) => ItemId::new(&id).ok(),
        _ => None,
    };
    id.ok_or_else(|| {
        ApiProblem::invalid(
            "cursor",
            "is not a cursor of this list: leave it out for the first page",
        )
    })
}

fn resource(workspace: &str, stored: &Stored) -> Resource {
    let item = &stored.item;
    let name = item.id.as_str();
    let title = if item.title.is_empty() { name } else { &item.title };
    Resource::new(uri::item_uri(workspace, name), name)
        .with_title(title)
        .with_description(item.kind.to_string())
        .with_mime_type(TEXT)
}

/// Reads a resource; `None` if it is not visible to the caller.
pub(crate) async fn read(
    state: &ServerState,
    caller: &McpCaller,
    address: &str,
) -> Result<Option<ReadResourceResult>, ApiProblem> {
    caller.check_scope(KeyScope::Read)?;
    let Some((name, wanted)) = uri::parse(address) else { return Ok(None) };
    let workspace = match caller.workspace(state, Some(&name)).await {
        Ok(workspace) => workspace,
        Err(problem) if problem.code == Code::WorkspaceNotFound => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let viewer = caller.viewer()?;
    let contents = match wanted {
        uri::Resource::Item(id) => {
            let Ok(id) = ItemId::new(&id) else { return Ok(None) };
            let snapshot = workspace.store().snapshot(&viewer).await?;
            let found = snapshot.get(std::slice::from_ref(&id)).await?.pop().flatten();
            found.map(|stored| item_contents(address, stored, &viewer))
        }
        uri::Resource::Receipt(id) => match workspace.receipt(&id, &viewer).await {
            Ok(receipt) => {
                Some(vec![json_contents(address, &json!(receipt.redacted_for(&viewer)))])
            }
            Err(error) => match ApiProblem::from(error) {
                problem if problem.code == Code::ReceiptNotFound => None,
                problem => return Err(problem),
            },
        },
    };
    // Permissions may change at any time, and caches must not share responses between callers.
    let result = |contents| {
        ReadResourceResult::new(contents).with_ttl_ms(0).with_cache_scope(CacheScope::Private)
    };
    Ok(contents.map(result))
}

/// An item's text, then its other fields as JSON.
fn item_contents(address: &str, stored: Stored, viewer: &Viewer) -> Vec<ResourceContents> {
    let body = stored.item.body.clone();
    let mut rest = json!(WireItem::from_stored(stored, viewer));
    let mut end = body.len().min(TEXT_BYTES_MAX);
    while !body.is_char_boundary(end) {
        end -= 1;
    }
    if let Value::Object(fields) = &mut rest {
        fields.shift_remove("body");
        if end < body.len() {
            fields.insert("bodyBytes".to_owned(), json!(body.len()));
            fields.insert("bodyCutAt".to_owned(), json!(end));
        }
    }
    let mut contents = Vec::new();
    if end > 0 {
        let text = body.get(..end).unwrap_or_default();
        contents.push(ResourceContents::text(text, address).with_mime_type(TEXT));
    }
    contents.push(json_contents(address, &rest));
    contents
}

fn json_contents(address: &str, value: &Value) -> ResourceContents {
    ResourceContents::text(value.to_string(), address).with_mime_type(JSON)
}
