//! `haversack watch`: keeps a workspace like folders while they change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use haversack::Engine;
use haversack::ingest::{WatchEvent, WatchRequest, watch};
use haversack_core::item::Kind;
use haversack_store::store::error::error_chain;
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::{Store, block_on};

use super::omissions::omission_lines;
use super::serve::shutdown_signal;
use crate::args::{StoreLocation, WatchArgs};
use crate::input::{now, reader_program};
use crate::output::{ExitOutcome, grouped, print, say};
use crate::remote::{ForwardingStore, RemoteWorkspace, WorkspaceTarget};
use crate::runtime::wait;

/// Skips of one look that are shown.
const SHOWN_MAX: usize = 20;

pub(crate) fn run(location: &StoreLocation, args: &WatchArgs) -> Result<ExitOutcome> {
    let kind = args.kind.as_deref().map(Kind::new).transpose().context("--kind")?;
    for path in &args.paths {
        std::fs::metadata(path).with_context(|| format!("cannot watch {}", path.display()))?;
    }
    let request = WatchRequest {
        paths: args.paths.clone(),
        kind,
        reader_program: reader_program(),
        poll: args.poll.map(|seconds| Duration::from_secs(seconds.get())),
        ..WatchRequest::default()
    };
    match location.reach(StoreLocation::store_or_new)? {
        WorkspaceTarget::Local(store) => {
            follow(Arc::<dyn Maintenance>::clone(&store), request)?;
            block_on(store.close());
        }
        WorkspaceTarget::Server(server) => follow_through_server(location, server, request)?,
    }
    Ok(ExitOutcome::Something)
}

/// Keeps a store like the paths until it is told to stop.
fn follow(store: Arc<dyn Store>, request: WatchRequest) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&stop);
    wait(async move {
        let signal = shutdown_signal()?;
        let watching = tokio::task::spawn_blocking(move || {
            watch(&*store, &request, &now, &ends, &mut |event| show(&event));
        });
        signal.await;
        stop.store(true, Ordering::Relaxed);
        watching.await.context("watching ended early")
    })
}

/// Reads the files into a temporary workspace, which knows what changed, and sends its items to the server.
fn follow_through_server(
    location: &StoreLocation,
    server: RemoteWorkspace,
    request: WatchRequest,
) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder for reading the files")?;
    let builder = Engine::builder().kinds(location.kinds()?);
    let workspace = builder.open(folder.path())?.workspace("files")?;
    server.create_if_missing()?;
    say(
        "note: what was deleted before now stays on the server; what is deleted from now on is deleted there",
    );
    let own = Arc::clone(workspace.blocking_store());
    follow(Arc::new(ForwardingStore::new(own, server)), request)
}

fn show(event: &WatchEvent<'_>) {
    match event {
        WatchEvent::Synced(path, summary) => {
            let progress = summary.progress;
            let line = format!(
                "{}: {} stored, {} deleted, {} unchanged",
                path.display(),
                grouped(progress.stored),
                grouped(summary.deleted),
                grouped(progress.unchanged)
            );
            // Nobody may read it, which is no reason to end.
            let _ = print(&line);
            for skip in summary.skips.iter().take(SHOWN_MAX) {
                say(&format!("skipped: {skip}"));
            }
            for remark in summary.remarks.iter().take(SHOWN_MAX) {
                say(&format!("note: {remark}"));
            }
            for line in omission_lines(&summary.omissions, false, "") {
                say(&format!("note: {line}"));
            }
        }
        WatchEvent::Failed(path, error) => {
            say(&format!("{}: {}", path.display(), error_chain(error)));
        }
        WatchEvent::Blind(cause) => {
            say(&format!("not told of all changes ({cause}); looking every ten seconds instead"));
        }
    }
}
