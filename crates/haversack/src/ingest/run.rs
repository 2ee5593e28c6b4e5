//! One addition from beginning to end: walk, read, hand over, and look what is gone.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::change::{BODY_BYTES_MAX, Batch, Change};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, PathEntry};
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use haversack_store::store::{Snapshot, Store, wait};

use super::notice::{Reason, Skip};
use super::sources::{self, Stamp, TableStamp};
use super::table::{Source, Table};
use super::walk::{Files, Naming, Root, Step};
use super::write::{Parcel, Sender, conclude};
use super::{Add, IngestError, LISTED_MAX, Progress, Summary, text};

/// How many files pass between two reports of progress.
const FILES_PER_REPORT: u64 = 64;

/// Rows of a table between two reports of progress.
const ROWS_PER_REPORT: u64 = 500;

pub(super) fn run(
    store: &dyn Store,
    add: &Add,
    naming: Naming,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, IngestError> {
    let snapshot = wait(store.snapshot(&Viewer::owner()))?;
    let snapshot = &*snapshot;
    let mut roots = Vec::new();
    let mut remarks = Vec::new();
    for path in &add.paths {
        let root = find(snapshot, (path, naming), &mut remarks)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let (seen, tally) = std::thread::scope(|scope| {
        let sender = Sender::start(scope, store, add);
        let tally = std::sync::Arc::clone(&sender.tally);
        let mut run = Run { snapshot, add, sender, seen: Seen::default(), progress };
        let done = roots.iter().try_for_each(|root| run.root(root));
        let done = done.and_then(|()| run.sender.flush());
        // With the sender goes the queue, and the threads end.
        let Run { seen, .. } = run;
        done.map(|()| (seen, tally))
    })?;
    let mut tally = conclude(&tally)?;
    let mut summary = Summary { remarks, ..Summary::default() };
    summary.remarks.append(&mut tally.warnings);
    for root in &roots {
        missing(snapshot, root, &seen, &mut summary, |ids| {
            if !add.prune {
                return Ok(0);
            }
            let mut batch = Batch::new(add.at, ids.into_iter().map(Change::Delete).collect());
            batch.origin = Some(add.origin.clone());
            Ok(wait(store.write(batch))?.deleted as u64)
        })?;
    }
    let mut notes: Vec<Change> =
        roots.iter().map(|root| sources::note_root(&root.name, &root.folder, add.at)).collect();
    notes.extend(seen.tables.iter().map(|(path, table)| {
        let refused = tally.refused.get(path).copied().unwrap_or(0);
        let items = table.items.saturating_sub(refused);
        sources::note_table(path, TableStamp { items, ..*table }, add.at)
    }));
    for notes in notes.chunks(LISTED_MAX) {
        wait(store.write(Batch::new(add.at, notes.to_vec())))?;
    }
    summary.progress = Progress {
        files: seen.files,
        stored: tally.stored,
        unchanged: tally.unchanged + seen.unchanged,
        skipped: tally.skipped,
    };
    progress(summary.progress);
    summary.skips = tally.skips;
    Ok(summary)
}

/// Looks a path up, and whether its name is free.
fn find(
    snapshot: &dyn Snapshot,
    (given, naming): (&Path, Naming),
    remarks: &mut Vec<String>,
) -> Result<Root, IngestError> {
    let root = Root::find(given, naming)
        .map_err(|cause| IngestError::Path { path: given.to_owned(), cause })?;
    match sources::root(snapshot, &root.name)? {
        Some(known) if known != root.folder && known.exists() => {
            let (name, given) = (root.name, root.folder);
            Err(IngestError::Taken { name, known, given })
        }
        Some(known) if known != root.folder => {
            let (name, known) = (&root.name, known.display());
            remarks.push(format!("{name}: was {known} before, which is gone; taken as moved"));
            Ok(root)
        }
        _ => Ok(root),
    }
}

/// What was come upon.
#[derive(Debug, Default)]
struct Seen {
    files: u64,
    unchanged: u64,
    /// Hashes of the paths of files; a chance collision keeps an item that could have gone.
    paths: HashSet<u64>,
    /// Hashes of the ids of items from files of many.
    ids: HashSet<u64>,
    /// Files of many items that were read to the end.
    tables: BTreeMap<String, TableStamp>,
    /// Folders that could not be read, and what lies in them is not known.
    closed: Vec<String>,
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

struct Run<'a> {
    snapshot: &'a dyn Snapshot,
    add: &'a Add,
    sender: Sender,
    seen: Seen,
    progress: &'a mut dyn FnMut(Progress),
}

impl Run<'_> {
    fn root(&mut self, root: &Root) -> Result<(), IngestError> {
        for step in Files::new(root.clone()) {
            match step {
                Step::File { at, path } => self.file(&at, path)?,
                Step::Skip(skip) => {
                    self.seen.files += 1;
                    self.seen.paths.insert(hash(&skip.path));
                    self.sender.tally().skip(skip);
                }
                Step::Closed(skip) => {
                    self.seen.closed.push(skip.path.clone());
                    self.sender.tally().skip(skip);
                }
            }
            if self.seen.files.is_multiple_of(FILES_PER_REPORT) {
                self.report();
            }
        }
        Ok(())
    }

    fn report(&mut self) {
        let (files, unchanged) = (self.seen.files, self.seen.unchanged);
        let tally = self.sender.tally();
        let (stored, skipped) = (tally.stored, tally.skipped);
        let unchanged = unchanged + tally.unchanged;
        drop(tally);
        (self.progress)(Progress { files, stored, unchanged, skipped });
    }

    fn skip(&self, path: String, line: Option<u64>, reason: Reason) {
        self.sender.tally().skip(Skip { path, line, reason });
    }

    fn file(&mut self, at: &Path, path: String) -> Result<(), IngestError> {
        self.seen.files += 1;
        if !self.seen.paths.insert(hash(&path)) {
            // Given twice, or once alone and once with its folder.
            return Ok(());
        }
        let stamp = match std::fs::symlink_metadata(at) {
            Ok(file) => Stamp::of(&file),
            Err(error) => {
                self.skip(path, None, Reason::Unreadable { cause: error.to_string() });
                return Ok(());
            }
        };
        match Table::of_path(&path) {
            Some(table) => self.table(table, at, path, stamp),
            None => self.text(at, path, stamp),
        }
    }

    /// A file that is one item.
    fn text(&mut self, at: &Path, path: String, stamp: Stamp) -> Result<(), IngestError> {
        let id = match ItemId::new(&path) {
            Ok(id) => id,
            Err(error) => {
                self.skip(path, None, Reason::Name { what: error.to_string() });
                return Ok(());
            }
        };
        let limit = BODY_BYTES_MAX as u64;
        if stamp.bytes > limit {
            self.skip(path, None, Reason::TooLarge { bytes: stamp.bytes, limit });
            return Ok(());
        }
        let (found, _) = wait(self.snapshot.at_path(&path, 1))?;
        let known = found.first().filter(|known| known.id == id);
        let is_same = |known: &PathEntry| {
            let stored = Stamp { bytes: known.bytes, modified: known.updated };
            stored == stamp && stamp.was_settled(known.committed)
        };
        if known.is_some_and(is_same) && self.keeps_kind(&id)? {
            self.seen.unchanged += 1;
            return Ok(());
        }
        let body = match text::read(at) {
            Ok(body) => body,
            Err(reason) => {
                self.skip(path, None, reason);
                return Ok(());
            }
        };
        let kind = self.kind("file");
        let mut item = Item::new(id, kind, &body);
        item.title = text::title(&path, &body);
        item.updated = Some(stamp.modified);
        item.path = Some(path.clone());
        if let Some(field) = text::claimed(self.snapshot.kinds(), &body) {
            let remark = format!("{path}: {field}: not for a file to say; kept as text");
            self.sender.tally().warn(remark);
        }
        if known.is_some() && self.is_stored(&mut item)? {
            self.seen.unchanged += 1;
            return Ok(());
        }
        self.sender.send(Parcel { path, line: None, change: Change::Put(Box::new(item)) })
    }

    fn kind(&self, usual: &str) -> Kind {
        self.add
            .kind
            .clone()
            .unwrap_or_else(|| Kind::new(usual).expect("the usual kinds are short names"))
    }

    /// Whether an item has the kind that is asked for; only looked up when one is.
    fn keeps_kind(&self, id: &ItemId) -> Result<bool, ReadError> {
        let Some(kind) = &self.add.kind else { return Ok(true) };
        let stored = wait(self.snapshot.get(std::slice::from_ref(id)))?.pop().flatten();
        Ok(stored.is_some_and(|stored| stored.item.kind == *kind))
    }

    /// Whether an item is stored just so, but for its time: a file that was only touched is none
    /// that changed. A file says nothing of readers, so those that were given to its item stay.
    fn is_stored(&self, item: &mut Item) -> Result<bool, ReadError> {
        let stored = wait(self.snapshot.get(std::slice::from_ref(&item.id)))?.pop().flatten();
        let Some(stored) = stored else { return Ok(false) };
        item.readers.clone_from(&stored.item.readers);
        Ok(Item { updated: item.updated, ..stored.item } == *item)
    }

    /// A file of many items.
    fn table(
        &mut self,
        table: Table,
        at: &Path,
        path: String,
        stamp: Stamp,
    ) -> Result<(), IngestError> {
        if let Some(known) = sources::table(self.snapshot, &path)?
            && known.stamp == stamp
            && self.add.kind.is_none()
            && self.add.users.is_empty()
            && wait(self.snapshot.at_path(&path, 0))?.1 == known.items
        {
            self.seen.unchanged += known.items;
            return Ok(());
        }
        let file = match File::open(at) {
            Ok(file) => file,
            Err(error) => {
                self.skip(path, None, Reason::Unreadable { cause: error.to_string() });
                return Ok(());
            }
        };
        let kind = self.kind(table.kind());
        let mut items = 0;
        let mut rows = 0;
        let kinds = Arc::clone(self.snapshot.kinds());
        let mut sink = |line: u64, row: Result<Item, Reason>| {
            rows += 1u64;
            if rows.is_multiple_of(ROWS_PER_REPORT) {
                self.report();
            }
            items += u64::from(self.row(&path, line, row)?);
            Ok(())
        };
        let ended =
            table.read(file, Source { path: &path, kind: &kind, kinds: &kinds }, &mut sink)?;
        match ended {
            Some(reason) => self.skip(path, None, reason),
            None => {
                self.seen.tables.insert(path, TableStamp { stamp, items });
            }
        }
        Ok(())
    }

    /// Takes a row of a table; says whether it is an item of that file.
    fn row(
        &mut self,
        path: &str,
        line: u64,
        row: Result<Item, Reason>,
    ) -> Result<bool, IngestError> {
        let skipped = match row {
            Err(reason) => reason,
            Ok(item) if !self.seen.ids.insert(hash(item.id.as_str())) => {
                Reason::Repeated { id: item.id.as_str().to_owned() }
            }
            Ok(mut item) => match self.elsewhere(&mut item, path)? {
                Some(reason) => reason,
                None => {
                    if let Some(user) = user_of(&item, &self.add.users) {
                        item.readers = Readers::Only([user.clone()].into());
                    }
                    let change = Change::Put(Box::new(item));
                    self.sender.send(Parcel { path: path.to_owned(), line: Some(line), change })?;
                    return Ok(true);
                }
            },
        };
        self.skip(path.to_owned(), Some(line), skipped);
        Ok(false)
    }

    /// Why a file may not write to an id: an item from elsewhere has it (X11). Readers that were given
    /// to its own item stay.
    fn elsewhere(&self, item: &mut Item, path: &str) -> Result<Option<Reason>, ReadError> {
        if wait(self.snapshot.are_there(std::slice::from_ref(&item.id)))? == [false] {
            return Ok(None);
        }
        let stored = wait(self.snapshot.get(std::slice::from_ref(&item.id)))?.pop().flatten();
        let (known, readers) =
            stored.map_or_else(Default::default, |stored| (stored.item.path, stored.item.readers));
        if known.as_deref() == Some(path) {
            item.readers = readers;
            return Ok(None);
        }
        let id = item.id.as_str().to_owned();
        Ok(Some(Reason::Elsewhere { id, path: known }))
    }
}

/// The fields in which data names the user that something is of.
const USER_FIELDS: [&str; 6] = ["user", "userId", "user_id", "owner", "author", "speaker"];

/// Who a row is of, if it names one of the users that the operator said who they are.
fn user_of<'u>(item: &Item, users: &'u BTreeMap<String, Principal>) -> Option<&'u Principal> {
    let mut named = USER_FIELDS.iter().filter_map(|field| item.fields.get(*field)?.as_str());
    named.find_map(|name| users.get(name))
}

/// Finds what was added from a root before and is no longer there.
fn missing(
    snapshot: &dyn Snapshot,
    root: &Root,
    seen: &Seen,
    summary: &mut Summary,
    mut delete: impl FnMut(Vec<ItemId>) -> Result<u64, IngestError>,
) -> Result<(), IngestError> {
    let is_gone = |path: &str, id: &ItemId| {
        if root.is_file && path != root.name {
            return false;
        }
        if !seen.paths.contains(&hash(path)) {
            let is_under = |closed: &String| {
                path.strip_prefix(closed.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            return !seen.closed.iter().any(is_under);
        }
        seen.tables.contains_key(path) && !seen.ids.contains(&hash(id.as_str()))
    };
    let mut after = None;
    loop {
        let page = wait(snapshot.under_path(&root.prefix(), after.as_ref(), LIMIT_MAX))?;
        let mut gone = Vec::new();
        for entry in &page {
            if is_gone(&entry.path, &entry.id) {
                summary.missing_count += 1;
                if summary.missing.len() < LISTED_MAX {
                    summary.missing.push(entry.id.as_str().to_owned());
                }
                gone.push(entry.id.clone());
            }
        }
        if !gone.is_empty() {
            summary.deleted += delete(gone)?;
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}
