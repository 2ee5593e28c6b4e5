//! `haversack journal`: sets up and looks after the journal that several servers share.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use haversack_database::Address;
use haversack_journal::{JournalSettings, PostgresJournal};
use haversack_serve::config::JournalSource;
use haversack_store::DataFolder;
use haversack_store::store::block_on;
use haversack_store::store::journal::{
    Journal, JournalKey, JournalSnapshot, JournalStatus, Position, ReplicaSettings, wait,
};
use haversack_store::store::maintenance::{Maintenance, Stores};

use super::serve;
use crate::args::{
    JournalCommand, JournalLocation, JournalWorkspacesArgs, ServerSettingsArgs, StoreLocation,
};
use crate::output::{ExitOutcome, counted, grouped, print, say};

/// How long a node that vanished in the middle of a write keeps others from writing to its workspace. Writes
/// wait longer than this.
const LOCK_IDLE: Duration = Duration::from_secs(15);

pub(crate) fn run(location: &StoreLocation, command: &JournalCommand) -> Result<ExitOutcome> {
    match command {
        JournalCommand::Init(args) => init(&source(&args.location)?, args.role.as_deref()),
        JournalCommand::Status(args) => status(&open(&source(args)?)?),
        JournalCommand::Check(args) => check(location, args),
        JournalCommand::Snapshot(args) => snapshot(location, args),
        JournalCommand::Trim(args) => trim(args),
        JournalCommand::Import(args) => import(location, args),
        JournalCommand::Export(args) => export(location, args),
    }
}

/// The settings of the journal from a file, the environment and flags.
fn source(location: &JournalLocation) -> Result<JournalSource> {
    let config = serve::settings(&ServerSettingsArgs {
        config: location.config.clone(),
        journal: location.journal.clone(),
        ..ServerSettingsArgs::default()
    })?;
    config.journal.context("name the journal: --journal postgres://USER@HOST/DATABASE")
}

fn settings_of(source: &JournalSource) -> Result<JournalSettings> {
    ensure!(!source.url.is_empty(), "the setting journal.url is empty: name the database");
    let variable =
        if source.password_env.is_empty() { "PGPASSWORD" } else { source.password_env.as_str() };
    let password = std::env::var(variable).ok();
    let Address::Postgres(address) = Address::parse(&source.url, password.as_deref())? else {
        bail!("a journal is in PostgreSQL: its address begins with postgres://");
    };
    let mut settings = JournalSettings::new(address);
    settings.connections_max = source.connections.max(2);
    settings.lock_idle = LOCK_IDLE;
    settings.rows_bytes_max = source.snapshots_from_bytes;
    if !source.snapshots.is_empty() {
        let folder = source.snapshots.strip_prefix("file://");
        let folder = folder
            .context("journal.snapshots: name a folder that all nodes share, file:///PATH")?;
        settings.objects = Some(folder.into());
    }
    Ok(settings)
}

/// Opens a journal for replicas to follow.
pub(crate) fn open(source: &JournalSource) -> Result<ReplicaSettings> {
    let journal = PostgresJournal::open(settings_of(source)?).context("the journal")?;
    let seconds = Duration::from_secs_f64;
    Ok(ReplicaSettings {
        stale_max: seconds(source.stale_seconds),
        lock_wait: seconds(source.lock_seconds),
        snapshot_after_bytes: source.snapshot_after_bytes,
        disk_bytes_max: source.disk_bytes,
        ..ReplicaSettings::new(Arc::new(journal))
    })
}

fn init(source: &JournalSource, role: Option<&str>) -> Result<ExitOutcome> {
    let settings = settings_of(source)?;
    let place = settings.address.identity();
    PostgresJournal::init(settings, role).context("the journal")?;
    print(&format!(
        "the journal {place} is ready: start servers with `haversack serve --journal …`"
    ))?;
    Ok(ExitOutcome::Something)
}

fn status(settings: &ReplicaSettings) -> Result<ExitOutcome> {
    let journal = &*settings.journal;
    let names = wait(journal.workspaces())?;
    print(&format!("{}: {}", journal.place(), counted(names.len(), "workspace")))?;
    for name in &names {
        if let Some(status) = wait(journal.status(name))? {
            print(&status_line(name, &status))?;
        }
    }
    Ok(if names.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn status_line(name: &str, status: &JournalStatus) -> String {
    let JournalStatus { head, first, bytes, snapshot } = status;
    let kept = (head.position.get() + 1).saturating_sub(first.get());
    let snapshot = match snapshot {
        Some(snapshot) => {
            let size: u64 = snapshot.parts.iter().map(|part| u64::from(part.bytes)).sum();
            let behind = head.position.get().saturating_sub(snapshot.position.get());
            format!(
                "snapshot at {} ({} bytes, {} before the head)",
                grouped(snapshot.position),
                grouped(size),
                counted(usize::try_from(behind).unwrap_or(usize::MAX), "write")
            )
        }
        None => "no snapshot".to_owned(),
    };
    let (position, kept, bytes) = (grouped(head.position), grouped(kept), grouped(bytes));
    format!("{name}: at {position}, {kept} entries kept ({bytes} bytes), {snapshot}")
}

/// The workspaces that were named, or all of the journal.
fn chosen(args: &JournalWorkspacesArgs, journal: &dyn Journal) -> Result<Vec<String>> {
    if args.workspaces.is_empty() {
        Ok(wait(journal.workspaces())?)
    } else {
        Ok(args.workspaces.clone())
    }
}

/// Runs work on each workspace with a replica of its own, in a folder that is removed afterwards.
fn with_replicas(
    location: &StoreLocation,
    args: &JournalWorkspacesArgs,
    mut work: impl FnMut(&str, &dyn Maintenance) -> Result<()>,
) -> Result<ExitOutcome> {
    let settings = open(&source(&args.location)?)?;
    let names = chosen(args, &*settings.journal)?;
    let folder = tempfile::Builder::new().prefix("haversack-journal-").tempdir()?;
    let stores = DataFolder::open(folder.path())?.with_journal(settings);
    for name in &names {
        let embedder = location.embedder_for(&stores, name)?;
        let store = stores.open_existing(name, embedder)?.for_blocking_threads();
        work(name, &*store)?;
        block_on(store.close());
        drop(store);
        let _ = std::fs::remove_dir_all(folder.path().join("workspaces").join(name));
    }
    Ok(if names.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn check(location: &StoreLocation, args: &JournalWorkspacesArgs) -> Result<ExitOutcome> {
    let mut unsound = Vec::new();
    let outcome = with_replicas(location, args, |name, store| {
        let report = block_on(store.check(false))?;
        for problem in report.damage.iter().chain(&report.derived) {
            print(&format!("{name}: {problem}"))?;
        }
        match report.is_sound() {
            true => print(&format!("{name}: sound, {} versions", grouped(report.versions)))?,
            false => unsound.push(name.to_owned()),
        }
        Ok(())
    })?;
    ensure!(
        unsound.is_empty(),
        "damaged: {}: restore a backup of the database",
        unsound.join(", ")
    );
    Ok(outcome)
}

fn snapshot(location: &StoreLocation, args: &JournalWorkspacesArgs) -> Result<ExitOutcome> {
    with_replicas(location, args, |name, store| match block_on(store.snapshot_to_journal(true))? {
        Some(made) => print(&made_line(name, &made)),
        None => {
            say(&format!("{name}: another node is making a snapshot"));
            Ok(())
        }
    })
}

fn made_line(name: &str, made: &JournalSnapshot) -> String {
    let size: u64 = made.parts.iter().map(|part| u64::from(part.bytes)).sum();
    format!("{name}: snapshot at {}, {} bytes", grouped(made.position), grouped(size))
}

fn trim(args: &JournalWorkspacesArgs) -> Result<ExitOutcome> {
    let settings = open(&source(&args.location)?)?;
    let journal = &*settings.journal;
    let names = chosen(args, journal)?;
    for name in &names {
        let head = wait(journal.head(name))?.with_context(|| format!("there is no {name:?}"))?;
        let trimmed = trim_behind(journal, &head.key)?;
        print(&format!("{name}: {} removed", counted(trimmed, "entry")))?;
    }
    Ok(if names.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn trim_behind(journal: &dyn Journal, key: &JournalKey) -> Result<usize> {
    let snapshot = wait(journal.snapshot(key))?;
    let through = snapshot.map_or(Position::START, |snapshot| snapshot.position);
    Ok(usize::try_from(wait(journal.trim(key, through))?)?)
}

fn import(location: &StoreLocation, args: &JournalWorkspacesArgs) -> Result<ExitOutcome> {
    let settings = open(&source(&args.location)?)?;
    let stores = location.stores()?;
    let names = match args.workspaces.is_empty() {
        true => Stores::names(&stores)?,
        false => args.workspaces.clone(),
    };
    for name in &names {
        let embedder = location.embedder_for(&stores, name)?;
        let made = stores.import_to_journal(name, &settings, &embedder)?;
        print(&made_line(name, &made))?;
    }
    say("start servers with `--journal` to use them; this data folder is a replica now");
    Ok(if names.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn export(location: &StoreLocation, args: &JournalWorkspacesArgs) -> Result<ExitOutcome> {
    let settings = open(&source(&args.location)?)?;
    let folder = location.folder()?;
    let stores = DataFolder::open(&folder)?;
    let names = chosen(args, &*settings.journal)?;
    for name in &names {
        stores.export_from_journal(name, &settings, &location.embedder()?)?;
        print(&format!("{name}: copied to {}", folder.display()))?;
    }
    Ok(if names.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}
