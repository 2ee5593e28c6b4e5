//! Items, links and events: written and read.

use std::sync::Arc;

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::revision::RevisionId;
use haversack_core::ids::ItemId;
use haversack_core::item::Trust;
use haversack_store::kinds::Kinds;
use haversack_store::revision::Revision;
use haversack_store::store::change::{BATCH_CHANGES_MAX, Batch, Change, CommitReport};
use haversack_store::store::item::{Event, Item};
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;
use serde_json::Value;

use crate::call::{Call, RouteResult, json, json_with_etag};
use crate::codes::Code;
use crate::json_body;
use crate::memory::HeldBytes;
use crate::problem::ApiProblem;
use crate::wire::{
    WireEvents, WireItem, WireItemPage, WireLinks, WireNewItem, WireWritten, parse_id, parse_kind,
};

/// Items on a page by default.
pub(super) const PAGE: usize = 100;

/// Most items on a page.
pub(super) const PAGE_MAX: usize = 1_000;

/// Most warnings in one answer.
const WARNINGS_MAX: usize = 100;

/// Bytes of lines that are written together.
const BATCH_BYTES: usize = 8 << 20;

/// Longest line: a body of 16 MiB, with room for its escapes and fields.
const LINE_BYTES_MAX: usize = 40 << 20;

pub(crate) fn put(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        if call.is_lines() {
            return json(StatusCode::OK, &import_lines(&mut call, &workspace).await?);
        }
        let reader = workspace.clone();
        let items = call.read_with(move |body| new_items(body, reader.kinds())).await?;
        let committed = store(&call, &workspace, items).await?;
        json(StatusCode::OK, &write_response(&call, &workspace, &committed).await?)
    }
    .boxed()
}

/// Reads one item, or a list of items.
fn new_items(body: Value, kinds: &Kinds) -> Result<Vec<Item>, ApiProblem> {
    let items = match body {
        Value::Array(items) => items,
        one @ Value::Object(_) => vec![one],
        _ => return Err(ApiProblem::invalid("body", "is neither an item nor a list of items")),
    };
    check_batch_size("body", items.len())?;
    let read =
        |(n, item)| new_item(item, kinds).map_err(|problem| with_place(problem, &format!("[{n}]")));
    items.into_iter().enumerate().map(read).collect()
}

fn new_item(value: Value, kinds: &Kinds) -> Result<Item, ApiProblem> {
    haversack::wire::parse_json::<WireNewItem>(value)?.into_item(kinds)
}

fn with_place(mut problem: ApiProblem, place: &str) -> ApiProblem {
    let field = problem.field.take().unwrap_or_default();
    let joint = if field.is_empty() { "" } else { "." };
    problem.field = Some(format!("{place}{joint}{field}"));
    problem
}

/// The response to a write.
async fn write_response(
    call: &Call,
    workspace: &Workspace,
    committed: &CommitReport,
) -> Result<WireWritten, ApiProblem> {
    let revision = revision_after(workspace, &call.viewer()?, committed.revision).await?;
    Ok(WireWritten { revision, ..counted(committed) })
}

/// The revision after a write, as the viewer may see it.
pub(crate) async fn revision_after(
    workspace: &Workspace,
    viewer: &Viewer,
    revision: Revision,
) -> Result<RevisionId, ApiProblem> {
    if *viewer == Viewer::owner() {
        return Ok(RevisionId::Number(revision.get()));
    }
    Ok(RevisionId::for_viewer(&*workspace.store().snapshot(viewer).await?, viewer))
}

/// The counts of a write, without its revision.
fn counted(committed: &CommitReport) -> WireWritten {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    WireWritten {
        revision: RevisionId::Number(0),
        stored: count(committed.stored + committed.deleted),
        unchanged: count(committed.unchanged),
        warnings: committed.warnings.iter().take(WARNINGS_MAX).map(ToString::to_string).collect(),
    }
}

/// Writes items with the caller's permissions.
pub(crate) async fn store(
    call: &Call,
    workspace: &Workspace,
    items: Vec<Item>,
) -> Result<CommitReport, ApiProblem> {
    let viewer = call.viewer()?;
    if !call.identity.is_trusted() {
        check_authority(workspace.kinds(), &items)?;
    }
    let batch = Batch::put(workspace.now(), items).with_rights(viewer);
    let committed = workspace.write(batch.with_key(call.key.clone())).await?;
    call.state.metrics.note_stored(u64::try_from(committed.stored).unwrap_or(u64::MAX));
    Ok(committed)
}

/// Refuses items that would instruct models, unless the key is trusted (X11).
fn check_authority(kinds: &Kinds, items: &[Item]) -> Result<(), ApiProblem> {
    if let Some(item) = items.iter().find(|item| kinds.needs_trusted_writer(&item.kind)) {
        let kind = &item.kind;
        let detail = format!("only a trusted key can write a {kind}, which models rely on");
        return Err(ApiProblem { field: Some("kind".into()), ..forbidden(&detail) });
    }
    if items.iter().any(|item| item.trust == Trust::Trusted) {
        let detail = "only a trusted key can mark a text as trusted, which removes its fence";
        return Err(ApiProblem { field: Some("trust".into()), ..forbidden(detail) });
    }
    Ok(())
}

fn forbidden(detail: &str) -> ApiProblem {
    ApiProblem::new(Code::Forbidden, detail)
}

/// Writes lines as they arrive, in batches, so that memory stays bounded.
async fn import_lines(call: &mut Call, workspace: &Workspace) -> Result<WireWritten, ApiProblem> {
    let most = call.state.config.limits.stream_bytes;
    let lines_max = call.state.config.limits.batch_lines;
    let mut pieces = call.body_chunks();
    let mut lines = LineImport {
        call,
        workspace,
        waiting: Vec::new(),
        bytes: 0,
        held: call.state.memory.hold(),
        line: 0,
        sum: counted(&CommitReport::default()),
        last: Revision::ZERO,
    };
    // `looked_at` bytes of `rest` hold no line break.
    let (mut rest, mut looked_at, mut read) = (BytesMut::new(), 0, 0_u64);
    let mut held = call.state.memory.hold();
    loop {
        let piece = match pieces.next().await {
            Ok(piece) => piece,
            Err(problem) => return Err(lines.with_line(problem)),
        };
        let Some(piece) = piece else { break };
        read += piece.len() as u64;
        if read > most {
            let detail = format!("the stream is longer than {most} bytes: begin another");
            return Err(lines.with_line(ApiProblem::new(Code::TooLarge, detail)));
        }
        held.resize(rest.len() + piece.len()).map_err(|problem| lines.with_line(problem))?;
        rest.extend_from_slice(&piece);
        while let Some(end) = rest[looked_at..].iter().position(|byte| *byte == b'\n') {
            let line = rest.split_to(looked_at + end + 1).freeze();
            looked_at = 0;
            lines.take(line, lines_max).await?;
        }
        looked_at = rest.len();
        if rest.len() > LINE_BYTES_MAX {
            lines.line += 1;
            let detail = format!("a line is longer than {LINE_BYTES_MAX} bytes");
            return Err(lines.with_line(ApiProblem::new(Code::TooLarge, detail)));
        }
    }
    lines.take(rest.freeze(), lines_max).await?;
    lines.flush().await?;
    let revision = revision_after(workspace, &call.viewer()?, lines.last).await?;
    Ok(WireWritten { revision, ..lines.sum })
}

/// An import of NDJSON lines.
struct LineImport<'c> {
    call: &'c Call,
    workspace: &'c Workspace,
    waiting: Vec<Item>,
    bytes: usize,
    /// The memory that the waiting items take.
    held: HeldBytes,
    line: u64,
    sum: WireWritten,
    /// The revision of the last batch.
    last: Revision,
}

impl LineImport<'_> {
    async fn take(&mut self, line: Bytes, lines_max: usize) -> Result<(), ApiProblem> {
        if line.is_empty() {
            return Ok(());
        }
        self.line += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let (length, reader) = (line.len(), self.workspace.clone());
        let values_max = self.call.state.config.limits.body_values;
        let convert = move |line| new_item(line, reader.kinds());
        match json_body::parse(line, values_max, &mut self.held, convert).await {
            Ok(item) => self.waiting.push(item),
            Err(problem) => {
                // The lines before it are valid and are kept.
                self.flush().await?;
                return Err(self.with_line(problem));
            }
        }
        self.bytes += length;
        if self.waiting.len() >= lines_max || self.bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), ApiProblem> {
        self.bytes = 0;
        let items = std::mem::take(&mut self.waiting);
        if items.is_empty() {
            return self.held.resize(0);
        }
        let stored = store(self.call, self.workspace, items).await;
        self.held.resize(0)?;
        match stored {
            Ok(committed) => {
                let more = counted(&committed);
                self.last = committed.revision;
                self.sum.stored += more.stored;
                self.sum.unchanged += more.unchanged;
                let room = WARNINGS_MAX.saturating_sub(self.sum.warnings.len());
                self.sum.warnings.extend(more.warnings.into_iter().take(room));
                Ok(())
            }
            Err(problem) => Err(self.with_line(problem)),
        }
    }

    /// Adds the line number and the progress of the stream to a problem.
    fn with_line(&self, mut problem: ApiProblem) -> ApiProblem {
        problem.line = Some(self.line);
        problem.stored = Some(self.sum.stored + self.sum.unchanged);
        problem
    }
}

pub(crate) fn list(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { Arc::clone(&call.state).gate.read_page(list_page(call)).await }.boxed()
}

async fn list_page(call: Call) -> RouteResult {
    let workspace = call.workspace().await?;
    let limit = call.count("limit", PAGE, PAGE_MAX)?;
    let mut filter = Filter::everything();
    if let Some(text) = call.query.get("kind") {
        filter.kinds.push(parse_kind("kind", text)?);
    }
    filter.under = call.query.get("parent").map(|text| parse_id("parent", text)).transpose()?;
    let after = call.query.get("after").map(|text| parse_id("after", text)).transpose()?;
    let snapshot = workspace.store().snapshot(&call.viewer()?).await?;
    let page = Page { order: ListOrder::Id, after, limit };
    let stored = snapshot.list(&filter, &page).await?;
    // A page of long texts ends early, so only a look behind it shows whether it is the last.
    let next = match stored.last().map(|last| last.item.id.clone()) {
        Some(last) => {
            let behind = Page { order: ListOrder::Id, after: Some(last.clone()), limit: 1 };
            let more = !snapshot.list(&filter, &behind).await?.is_empty();
            more.then(|| last.as_str().to_owned())
        }
        None => None,
    };
    let viewer = call.viewer()?;
    let items = stored.into_iter().map(|stored| WireItem::from_stored(stored, &viewer)).collect();
    json_with_etag(&call, &WireItemPage { items, next })
}

pub(crate) fn get(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { Arc::clone(&call.state).gate.read_page(get_item(call)).await }.boxed()
}

async fn get_item(call: Call) -> RouteResult {
    let workspace = call.workspace().await?;
    let name = call.parameter("id");
    let Ok(wanted) = ItemId::new(name) else { return Err(ApiProblem::no_item(name)) };
    let snapshot = workspace.store().snapshot(&call.viewer()?).await?;
    let found = snapshot.get(std::slice::from_ref(&wanted)).await?.pop().flatten();
    let stored = found.ok_or_else(|| ApiProblem::no_item(name))?;
    json_with_etag(&call, &WireItem::from_stored(stored, &call.viewer()?))
}

pub(crate) fn delete(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = call.parameter("id");
        let Ok(wanted) = ItemId::new(name) else { return Err(ApiProblem::no_item(name)) };
        if let Some(written) = &call.written {
            // The item is gone: that is what the call asked for.
            return json(StatusCode::OK, &write_response(&call, &workspace, written).await?);
        }
        let viewer = call.viewer()?;
        let snapshot = workspace.store().snapshot(&viewer).await?;
        let there = snapshot.get(std::slice::from_ref(&wanted)).await?.pop().flatten();
        if there.is_none() {
            return Err(ApiProblem::no_item(name));
        }
        let change =
            if call.flag("purge")? { Change::Purge(wanted) } else { Change::Delete(wanted) };
        let batch = Batch::new(workspace.now(), vec![change]).with_rights(viewer);
        let committed = workspace.write(batch.with_key(call.key.clone())).await?;
        json(StatusCode::OK, &write_response(&call, &workspace, &committed).await?)
    }
    .boxed()
}

pub(crate) fn links(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let links: WireLinks = call.read().await?;
        let count = links.add.len() + links.remove.len();
        check_batch_size("links", count)?;
        let mut changes = Vec::with_capacity(count);
        for link in links.add {
            changes.push(Change::Link(link.into_link()?));
        }
        for link in links.remove {
            changes.push(Change::Unlink(link.into_link()?));
        }
        let viewer = call.viewer()?;
        let batch = Batch::new(workspace.now(), changes).with_rights(viewer);
        let committed = workspace.write(batch.with_key(call.key.clone())).await?;
        let stored = u64::try_from(count).unwrap_or(u64::MAX);
        json(
            StatusCode::OK,
            &WireWritten { stored, ..write_response(&call, &workspace, &committed).await? },
        )
    }
    .boxed()
}

/// Refuses items that the viewer cannot read.
async fn check_visible(
    workspace: &Workspace,
    viewer: &Viewer,
    ids: &[ItemId],
) -> Result<(), ApiProblem> {
    let snapshot = workspace.store().snapshot(viewer).await?;
    let are_there = snapshot.exist(ids).await?;
    match ids.iter().zip(are_there).find(|(_, is_there)| !is_there) {
        Some((id, _)) => Err(ApiProblem::no_item(id.as_str())),
        None => Ok(()),
    }
}

/// Refuses more changes than a batch takes, before anything is looked up.
fn check_batch_size(field: &str, count: usize) -> Result<(), ApiProblem> {
    if count <= BATCH_CHANGES_MAX {
        return Ok(());
    }
    let detail = format!("{count} are more than the most, {BATCH_CHANGES_MAX}: send them in parts");
    Err(ApiProblem::invalid(field, detail))
}

pub(crate) fn events(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let events: WireEvents = call.read().await?;
        check_batch_size("events", events.events.len())?;
        let now = workspace.now();
        let mut changes = Vec::with_capacity(events.events.len());
        let mut ids = Vec::with_capacity(events.events.len());
        for event in events.events {
            let at = event.parse_moment()?.unwrap_or(now);
            let user = call.identity.actor(event.user.as_ref(), &[])?.user;
            let missing = || ApiProblem::invalid("user", "is missing: name the user who did it");
            let user = user.ok_or_else(missing)?;
            let item = parse_id("item", &event.item)?;
            ids.push(item.clone());
            changes.push(Change::AddEvent(Event {
                item,
                user,
                event_kind: event.happening.into(),
                at,
            }));
        }
        let stored = u64::try_from(changes.len()).unwrap_or(u64::MAX);
        let committed = match &call.written {
            // The items may be gone since.
            Some(written) => written.clone(),
            None => {
                check_visible(&workspace, &call.viewer()?, &ids).await?;
                let batch = Batch::new(now, changes).with_key(call.key.clone());
                workspace.write(batch).await?
            }
        };
        json(
            StatusCode::OK,
            &WireWritten { stored, ..write_response(&call, &workspace, &committed).await? },
        )
    }
    .boxed()
}
