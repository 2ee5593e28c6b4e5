//! Sources that are not read by the server itself: rows of a database, which a client of ours reads and
//! sends. The server keeps what the source was, compares, writes and deletes.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::sync::{
    LocalTarget, SourceName, SyncBatch, SyncBatchReport, SyncError, SyncState, SyncTarget,
};
use haversack_core::ids::ItemId;
use haversack_store::store::change::BATCH_CHANGES_MAX;
use haversack_store::store::item::Item;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;
use crate::wire::{WireNewItem, parse_id};

/// A page of a source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourcePage")]
pub(crate) struct WireSourcePage {
    /// What the source was when it was last read; null if it never was.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    state: Option<Value>,
    /// Ids of its items, in order. The last is the value of `after` for the next page.
    ids: Vec<String>,
}

/// Rows of a source as items.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SourceBatch")]
pub(crate) struct WireSourceBatch {
    /// Items to add or to replace. An item of another source with the same id is left alone.
    #[schemars(length(max = 10_000))]
    items: Vec<WireNewItem>,
    /// Ids of items of this source to delete.
    #[schemars(length(max = 10_000))]
    deleted: Vec<String>,
    /// What the source is after this batch, written with it.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    state: Option<Value>,
    /// Whether only to say what would happen.
    dry_run: bool,
    /// A name by which the items can be undone.
    origin: Option<String>,
}

/// What became of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourceWritten")]
pub(crate) struct WireSourceWritten {
    /// Items that were stored.
    stored: u64,
    /// Items that say what they said before.
    unchanged: u64,
    /// Items that were deleted.
    deleted: u64,
    /// Items that were not stored.
    refused: Vec<WireRefusedItem>,
    /// What else a person should know.
    warnings: Vec<String>,
}

/// An item that was not stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RefusedItem")]
pub(crate) struct WireRefusedItem {
    /// Its id.
    id: String,
    /// The reason, with the name of the field.
    reason: String,
}

pub(crate) fn get(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = checked_name(&call)?;
        let after = call.query.get("after").map(|text| parse_id("after", text)).transpose()?;
        let page = on_target(&workspace, move |target| {
            let state = target.state(&name)?;
            Ok((state, target.ids_after(&name, after.as_ref())?))
        });
        let (state, ids) = page.await?;
        let ids = ids.iter().map(|id| id.as_str().to_owned()).collect();
        let state = state.as_ref().map(SyncState::to_json);
        json(StatusCode::OK, &WireSourcePage { state, ids })
    }
    .boxed()
}

pub(crate) fn write(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = checked_name(&call)?;
        let batch: WireSourceBatch = call.read().await?;
        let batch = checked_batch(batch, name, &workspace)?;
        let done = on_target(&workspace, move |target| target.write(batch)).await?;
        call.state.metrics.note_stored(done.stored);
        json(StatusCode::OK, &written(done))
    }
    .boxed()
}

/// The name of the source in the path. Rows are written with the owner's rights.
fn checked_name(call: &Call) -> Result<String, ApiProblem> {
    if !call.identity.is_trusted()
        || call.viewer()? != haversack_store::store::viewer::Viewer::owner()
    {
        let detail = "only a trusted key that acts for nobody can read and write sources";
        return Err(ApiProblem::new(Code::Forbidden, detail));
    }
    let name = SourceName::given(call.parameter("name"))
        .map_err(|error| ApiProblem::invalid("name", error.to_string()))?;
    Ok(name.as_str().to_owned())
}

fn checked_batch(
    batch: WireSourceBatch,
    name: String,
    workspace: &Workspace,
) -> Result<SyncBatch, ApiProblem> {
    let count = batch.items.len() + batch.deleted.len();
    if count >= BATCH_CHANGES_MAX {
        let detail = format!("{count} changes are over the limit of {BATCH_CHANGES_MAX}");
        return Err(ApiProblem::invalid("items", detail));
    }
    let at = workspace.now();
    let items = batch.items.into_iter().map(|item| item.into_item(workspace.kinds()));
    let deleted = batch.deleted.iter().map(|id| parse_id("deleted", id));
    let state = batch.state.filter(|state| !state.is_null());
    let state = state.map(|state| {
        SyncState::from_json(&state.to_string())
            .ok_or_else(|| ApiProblem::invalid("state", "is not one that this server can keep"))
    });
    Ok(SyncBatch {
        name,
        at,
        origin: batch.origin.unwrap_or_else(|| format!("sync-{}", at.as_millis())),
        dry_run: batch.dry_run,
        items: items.collect::<Result<Vec<Item>, ApiProblem>>()?,
        deleted: deleted.collect::<Result<Vec<ItemId>, ApiProblem>>()?,
        state: state.transpose()?,
    })
}

async fn on_target<T: Send + 'static>(
    workspace: &Workspace,
    work: impl FnOnce(&mut LocalTarget<'_>) -> Result<T, SyncError> + Send + 'static,
) -> Result<T, ApiProblem> {
    let store = workspace.blocking_store().clone();
    let done = on_blocking_thread(move || work(&mut LocalTarget::new(&*store))).await?;
    done.map_err(|error| match error {
        SyncError::Read(error) => haversack::Error::from(error).into(),
        SyncError::Write(error) => haversack::Error::from(error).into(),
        error => ApiProblem::new(Code::Internal, error.to_string()),
    })
}

fn written(report: SyncBatchReport) -> WireSourceWritten {
    let refused = report.refused.into_iter();
    WireSourceWritten {
        stored: report.stored,
        unchanged: report.unchanged,
        deleted: report.deleted,
        refused: refused.map(|item| WireRefusedItem { id: item.id, reason: item.reason }).collect(),
        warnings: report.warnings,
    }
}
