//! `haversack sync`: rows of a database into a workspace.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use haversack::Engine;
use haversack::sync::{LocalTarget, RowColumns, SourceName, SyncRequest, SyncSummary, sync};
use haversack_core::item::Kind;
use haversack_database::{Address, Database, DatabaseLimits};
use haversack_store::store::block_on;
use haversack_store::store::maintenance::{Maintenance, Stores};
use haversack_store::store::viewer::Principal;
use serde_json::{Value, json};

use super::add::mapped_user;
use super::embedding_usage::EmbeddingUsage;
use crate::args::{StoreLocation, SyncArgs};
use crate::input::now;
use crate::output::{Bar, ExitOutcome, grouped, print, say};
use crate::remote::WorkspaceTarget;

/// The environment variable in which PostgreSQL's own programs look for the password.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// Notices that are shown; more are only counted.
const SHOWN_MAX: usize = 20;

/// The store of a run, and the folder that goes with a store for nothing but a dry run.
type SyncStore = (Arc<dyn Maintenance>, Option<tempfile::TempDir>);

pub(crate) fn run(location: &StoreLocation, args: &SyncArgs) -> Result<ExitOutcome> {
    let address = address(args)?;
    let request = request(location, &address, args)?;
    let limits = DatabaseLimits {
        statement: Duration::from_secs(args.timeout.into()),
        ..DatabaseLimits::default()
    };
    let started = Instant::now();
    // Before anything is created: a wrong address leaves no workspace behind.
    let mut database = Database::open(&address, limits)?;
    let open = |location: &StoreLocation| open_store(location, args.dry_run);
    let mut bar = Bar::new();
    let mut progress = |summary: &SyncSummary| {
        let (rows, stored) = (grouped(summary.rows), grouped(summary.stored));
        bar.show(&format!("rows {rows}, items stored {stored}"));
        ControlFlow::Continue(())
    };
    let (summary, undo, usage) = match location.reach(open)? {
        WorkspaceTarget::Local((store, _folder)) => {
            let usage = EmbeddingUsage::start(location)?;
            let mut target = LocalTarget::new(&*store);
            let summary = sync(&mut database, &mut target, &request, &mut progress);
            let summary = usage.report_failure(summary)?;
            block_on(store.close());
            let undo = location.command(&format!("undo {}", request.origin));
            (summary, Some(undo).filter(|_| !args.dry_run), Some(usage))
        }
        WorkspaceTarget::Server(server) => {
            if !args.dry_run {
                server.create_if_missing()?;
            }
            let mut target = server.sync_target(args.dry_run)?;
            (sync(&mut database, &mut target, &request, &mut progress)?, None, None)
        }
    };
    bar.clear();
    print_notices(&summary);
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        let mut document = document(&request, &summary, seconds);
        document["undo"] = undo.filter(|_| summary.stored > 0).map_or(Value::Null, Value::from);
        document["embedding"] = usage.map_or(Value::Null, |usage| usage.document());
        print(&serde_json::to_string_pretty(&document)?)?;
    } else {
        let usage = usage.and_then(|usage| usage.line());
        print(&lines(&request, &summary, (undo.as_deref(), usage.as_deref()), seconds))?;
    }
    Ok(if summary.rows > 0 { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

/// The address that was given, or is in the variable that was named.
fn address(args: &SyncArgs) -> Result<Address> {
    let from_variable = |name: &String| {
        std::env::var(name).map_err(|_| anyhow!("--database-env: the variable {name} is not set"))
    };
    let text = match (&args.database, &args.database_env) {
        (Some(address), _) => address.clone(),
        (None, Some(name)) => from_variable(name)?,
        (None, None) => anyhow::bail!("name the database"),
    };
    let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|password| !password.is_empty());
    Ok(Address::parse(&text, password.as_deref())?)
}

fn request(location: &StoreLocation, address: &Address, args: &SyncArgs) -> Result<SyncRequest> {
    let kind = args.kind.as_deref().map(Kind::new).transpose().context("--kind")?;
    let name = match &args.name {
        Some(name) => SourceName::given(name),
        None => SourceName::of(address, kind.as_ref()),
    };
    let readers = args.readers.iter().map(|reader| Principal::parse(reader.trim()));
    let readers = readers.collect::<Result<_, _>>().context("--readers")?;
    let users = args.map_user.iter().map(|pair| mapped_user(pair)).collect::<Result<_>>()?;
    let hours = u64::from(args.full_every);
    let request =
        SyncRequest::new(name.context("--name")?, (address, &args.query), location.kinds()?, now());
    Ok(SyncRequest {
        kind,
        columns: RowColumns {
            id: args.id.clone(),
            text: args.text.clone(),
            title: args.title.clone(),
            created: args.created.clone(),
            updated: args.updated.clone(),
        },
        id_prefix: args.id_prefix.clone(),
        readers: Some(readers).filter(|_| !args.readers.is_empty()),
        users,
        full: args.full,
        full_every: (hours > 0).then(|| Duration::from_secs(hours * 60 * 60)),
        dry_run: args.dry_run,
        ..request
    })
}

/// The store of the workspace. A dry run creates nothing: a workspace that does not exist is an empty one.
fn open_store(location: &StoreLocation, dry_run: bool) -> Result<SyncStore> {
    if !dry_run {
        return Ok((location.store_or_new()?, None));
    }
    let exists = match location.folder()?.is_dir() {
        true => location.stores()?.names()?.contains(&location.workspace),
        false => false,
    };
    if exists {
        return Ok((location.existing_store()?, None));
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the dry run")?;
    let engine = Engine::builder().kinds(location.kinds()?).open(folder.path())?;
    let store = Arc::clone(engine.workspace("dry-run")?.blocking_store());
    Ok((store, Some(folder)))
}

fn print_notices(summary: &SyncSummary) {
    for notice in summary.notices.iter().take(SHOWN_MAX) {
        say(&format!("note: {notice}"));
    }
    if summary.notices.len() > SHOWN_MAX {
        say(&format!("note: and {} more", grouped(summary.notices.len() - SHOWN_MAX)));
    }
    for warning in summary.warnings.iter().take(SHOWN_MAX) {
        say(&format!("note: {warning}"));
    }
    if summary.held_back > 0 {
        say(&format!(
            "note: {} items are not in the query's result any more, which is most of them; --full deletes them",
            grouped(summary.held_back)
        ));
    }
}

/// The result for programs.
fn document(request: &SyncRequest, summary: &SyncSummary, seconds: f64) -> Value {
    json!({
        "source": request.name.as_str(),
        "dryRun": request.dry_run,
        "full": summary.full.is_some(),
        "rows": summary.rows,
        "stored": summary.stored,
        "unchanged": summary.unchanged,
        "deleted": summary.deleted,
        "refused": summary.refused,
        "heldBack": summary.held_back,
        "notices": summary.notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}

fn lines(
    request: &SyncRequest,
    summary: &SyncSummary,
    (undo, usage): (Option<&str>, Option<&str>),
    seconds: f64,
) -> String {
    let rows = match summary.full {
        Some(reason) => format!("all {} rows, {}", grouped(summary.rows), reason.as_str()),
        None => format!("{} rows that may have changed", grouped(summary.rows)),
    };
    let verb = if request.dry_run { "would store" } else { "stored" };
    let mut out = format!(
        "{}: read {rows}\n{verb} {} items, {} unchanged, {} deleted, {} rows refused, in {seconds:.1} s\n",
        request.name,
        grouped(summary.stored),
        grouped(summary.unchanged),
        grouped(summary.deleted),
        grouped(summary.refused),
    );
    if let Some(usage) = usage {
        out.push_str(&format!("{usage}\n"));
    }
    if let Some(undo) = undo.filter(|_| summary.stored + summary.deleted > 0) {
        out.push_str(&format!("to take it back: {undo}\n"));
    }
    out
}
