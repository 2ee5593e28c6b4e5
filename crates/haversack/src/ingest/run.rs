//! One run of ingestion: walks the files, reads them, sends changes to the writers and finds the
//! items whose files no longer exist.

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
use haversack_store::store::{Snapshot, Store, block_on};

use super::skip::{IngestSkipReason, Skip};
use super::sources::{self, FileStamp, TableStamp};
use super::table::{RowSource, TableFormat};
use super::walk::{FileWalk, Root, RootNaming, WalkStep};
use super::write::{BatchSender, PendingChange, take_tally};
use super::{IngestError, IngestProgress, IngestRequest, IngestSummary, LISTED_MAX, text};

/// Files between two reports of progress.
const FILES_PER_REPORT: u64 = 64;

/// Rows of a table between two reports of progress.
const ROWS_PER_REPORT: u64 = 500;

pub(super) fn run(
    store: &dyn Store,
    request: &IngestRequest,
    naming: RootNaming,
    progress: &mut dyn FnMut(IngestProgress),
) -> Result<IngestSummary, IngestError> {
    let snapshot = block_on(store.snapshot(&Viewer::owner()))?;
    let snapshot = &*snapshot;
    let mut roots = Vec::new();
    let mut remarks = Vec::new();
    for path in &request.paths {
        let root = resolve_root(snapshot, (path, naming), &mut remarks)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let (walk, tally) = std::thread::scope(|scope| {
        let sender = BatchSender::start(scope, store, request);
        let tally = std::sync::Arc::clone(&sender.tally);
        let mut run = IngestRun { snapshot, request, sender, walk: WalkState::default(), progress };
        let done = roots.iter().try_for_each(|root| run.add_root(root));
        let done = done.and_then(|()| run.sender.flush());
        // Dropping the sender closes the queue, which ends the threads.
        let IngestRun { walk, .. } = run;
        done.map(|()| (walk, tally))
    })?;
    let mut tally = take_tally(&tally)?;
    let mut summary = IngestSummary { remarks, ..IngestSummary::default() };
    summary.remarks.append(&mut tally.warnings);
    for root in &roots {
        find_missing_items(snapshot, root, &walk, &mut summary, |ids| {
            if !request.prune {
                return Ok(0);
            }
            let mut batch = Batch::new(request.at, ids.into_iter().map(Change::Delete).collect());
            batch.origin = Some(request.origin.clone());
            Ok(block_on(store.write(batch))?.deleted as u64)
        })?;
    }
    let mut records: Vec<Change> = roots
        .iter()
        .map(|root| sources::record_root(&root.name, &root.folder, request.at))
        .collect();
    records.extend(walk.tables.iter().map(|(path, table)| {
        let refused = tally.refused.get(path).copied().unwrap_or(0);
        let items = table.items.saturating_sub(refused);
        sources::record_table(path, TableStamp { items, ..*table }, request.at)
    }));
    for records in records.chunks(LISTED_MAX) {
        block_on(store.write(Batch::new(request.at, records.to_vec())))?;
    }
    summary.progress = IngestProgress {
        files: walk.files,
        stored: tally.stored,
        unchanged: tally.unchanged + walk.unchanged,
        skipped: tally.skipped,
    };
    progress(summary.progress);
    summary.skips = tally.skips;
    Ok(summary)
}

/// Resolves a given path, and checks that its name does not stand for another path.
fn resolve_root(
    snapshot: &dyn Snapshot,
    (given, naming): (&Path, RootNaming),
    remarks: &mut Vec<String>,
) -> Result<Root, IngestError> {
    let root = Root::find(given, naming)
        .map_err(|cause| IngestError::Path { path: given.to_owned(), cause })?;
    match sources::stored_root(snapshot, &root.name)? {
        Some(existing) if existing != root.folder && existing.exists() => {
            let (name, given) = (root.name, root.folder);
            Err(IngestError::NameTaken { name, existing, given })
        }
        Some(previous) if previous != root.folder => {
            let (name, previous) = (&root.name, previous.display());
            remarks.push(format!("{name}: was {previous} before, which is gone; taken as moved"));
            Ok(root)
        }
        _ => Ok(root),
    }
}

/// Everything that the walk has found so far.
#[derive(Debug, Default)]
struct WalkState {
    files: u64,
    unchanged: u64,
    /// Hashes of the files' paths. A chance collision only keeps an item that could have been
    /// deleted.
    path_hashes: HashSet<u64>,
    /// Hashes of the ids of items from tables.
    id_hashes: HashSet<u64>,
    /// Tables that were read to the end.
    tables: BTreeMap<String, TableStamp>,
    /// Folders that could not be read. Their items count as present.
    unreadable_folders: Vec<String>,
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

struct IngestRun<'a> {
    snapshot: &'a dyn Snapshot,
    request: &'a IngestRequest,
    sender: BatchSender,
    walk: WalkState,
    progress: &'a mut dyn FnMut(IngestProgress),
}

impl IngestRun<'_> {
    fn add_root(&mut self, root: &Root) -> Result<(), IngestError> {
        for step in FileWalk::new(root.clone()) {
            match step {
                WalkStep::File { at, path } => self.add_file(&at, path)?,
                WalkStep::Skip(skip) => {
                    self.walk.files += 1;
                    self.walk.path_hashes.insert(hash_text(&skip.path));
                    self.sender.tally().skip(skip);
                }
                WalkStep::UnreadableFolder(skip) => {
                    self.walk.unreadable_folders.push(skip.path.clone());
                    self.sender.tally().skip(skip);
                }
            }
            if self.walk.files.is_multiple_of(FILES_PER_REPORT) {
                self.report();
            }
        }
        Ok(())
    }

    fn report(&mut self) {
        let (files, unchanged) = (self.walk.files, self.walk.unchanged);
        let tally = self.sender.tally();
        let (stored, skipped) = (tally.stored, tally.skipped);
        let unchanged = unchanged + tally.unchanged;
        drop(tally);
        (self.progress)(IngestProgress { files, stored, unchanged, skipped });
    }

    fn skip(&self, path: String, line: Option<u64>, reason: IngestSkipReason) {
        self.sender.tally().skip(Skip { path, line, reason });
    }

    fn add_file(&mut self, at: &Path, path: String) -> Result<(), IngestError> {
        self.walk.files += 1;
        if !self.walk.path_hashes.insert(hash_text(&path)) {
            // The file was given twice, or once alone and once with its folder.
            return Ok(());
        }
        let stamp = match std::fs::symlink_metadata(at) {
            Ok(file) => FileStamp::from_metadata(&file),
            Err(error) => {
                self.skip(path, None, IngestSkipReason::Unreadable { cause: error.to_string() });
                return Ok(());
            }
        };
        match TableFormat::from_path(&path) {
            Some(table) => self.add_table(table, at, path, stamp),
            None => self.add_text_file(at, path, stamp),
        }
    }

    /// Adds a file that is one item.
    fn add_text_file(
        &mut self,
        at: &Path,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        let id = match ItemId::new(&path) {
            Ok(id) => id,
            Err(error) => {
                self.skip(path, None, IngestSkipReason::UnusableName { what: error.to_string() });
                return Ok(());
            }
        };
        let limit = BODY_BYTES_MAX as u64;
        if stamp.bytes > limit {
            self.skip(path, None, IngestSkipReason::TooLarge { bytes: stamp.bytes, limit });
            return Ok(());
        }
        let (found, _) = block_on(self.snapshot.at_path(&path, 1))?;
        let stored_entry = found.first().filter(|entry| entry.id == id);
        let is_same = |entry: &PathEntry| {
            let stored = FileStamp { bytes: entry.bytes, modified: entry.updated };
            stored == stamp && stamp.was_settled(entry.committed)
        };
        if stored_entry.is_some_and(is_same) && self.has_requested_kind(&id)? {
            self.walk.unchanged += 1;
            return Ok(());
        }
        let body = match text::read(at) {
            Ok(body) => body,
            Err(reason) => {
                self.skip(path, None, reason);
                return Ok(());
            }
        };
        let kind = self.kind_or("file");
        let mut item = Item::new(id, kind, &body);
        item.title = text::title(&path, &body);
        item.updated = Some(stamp.modified);
        item.path = Some(path.clone());
        if let Some(field) = text::find_authority_claim(self.snapshot.kinds(), &body) {
            let remark = format!("{path}: {field}: not for a file to say; kept as text");
            self.sender.tally().warn(remark);
        }
        if stored_entry.is_some() && self.is_same_as_stored(&mut item)? {
            self.walk.unchanged += 1;
            return Ok(());
        }
        self.sender.send(PendingChange { path, line: None, change: Change::Put(Box::new(item)) })
    }

    fn kind_or(&self, default: &str) -> Kind {
        self.request
            .kind
            .clone()
            .unwrap_or_else(|| Kind::new(default).expect("the default kinds are short names"))
    }

    /// Whether a stored item has the requested kind. It is only looked up when a kind was
    /// requested.
    fn has_requested_kind(&self, id: &ItemId) -> Result<bool, ReadError> {
        let Some(kind) = &self.request.kind else { return Ok(true) };
        let stored = block_on(self.snapshot.get(std::slice::from_ref(id)))?.pop().flatten();
        Ok(stored.is_some_and(|stored| stored.item.kind == *kind))
    }

    /// Whether the store has the same item except for its time, because a file that was only
    /// touched did not change. The item takes over the stored readers, since a file does not name
    /// any.
    fn is_same_as_stored(&self, item: &mut Item) -> Result<bool, ReadError> {
        let stored = block_on(self.snapshot.get(std::slice::from_ref(&item.id)))?.pop().flatten();
        let Some(stored) = stored else { return Ok(false) };
        item.readers.clone_from(&stored.item.readers);
        Ok(Item { updated: item.updated, ..stored.item } == *item)
    }

    /// Adds the rows of a table.
    fn add_table(
        &mut self,
        table: TableFormat,
        at: &Path,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        if let Some(stored) = sources::stored_table(self.snapshot, &path)?
            && stored.stamp == stamp
            && self.request.kind.is_none()
            && self.request.users.is_empty()
            && block_on(self.snapshot.at_path(&path, 0))?.1 == stored.items
        {
            self.walk.unchanged += stored.items;
            return Ok(());
        }
        let file = match File::open(at) {
            Ok(file) => file,
            Err(error) => {
                self.skip(path, None, IngestSkipReason::Unreadable { cause: error.to_string() });
                return Ok(());
            }
        };
        let kind = self.kind_or(table.default_kind());
        let mut items = 0;
        let mut rows = 0;
        let kinds = Arc::clone(self.snapshot.kinds());
        let mut sink = |line: u64, row: Result<Item, IngestSkipReason>| {
            rows += 1u64;
            if rows.is_multiple_of(ROWS_PER_REPORT) {
                self.report();
            }
            items += u64::from(self.add_row(&path, line, row)?);
            Ok(())
        };
        let file_problem =
            table.read(file, RowSource { path: &path, kind: &kind, kinds: &kinds }, &mut sink)?;
        match file_problem {
            Some(reason) => self.skip(path, None, reason),
            None => {
                self.walk.tables.insert(path, TableStamp { stamp, items });
            }
        }
        Ok(())
    }

    /// Adds a row of a table. Returns whether it is an item of that file.
    fn add_row(
        &mut self,
        path: &str,
        line: u64,
        row: Result<Item, IngestSkipReason>,
    ) -> Result<bool, IngestError> {
        let skipped = match row {
            Err(reason) => reason,
            Ok(item) if !self.walk.id_hashes.insert(hash_text(item.id.as_str())) => {
                IngestSkipReason::DuplicateId { id: item.id.as_str().to_owned() }
            }
            Ok(mut item) => match self.find_id_conflict(&mut item, path)? {
                Some(reason) => reason,
                None => {
                    if let Some(user) = mapped_user(&item, &self.request.users) {
                        item.readers = Readers::Only([user.clone()].into());
                    }
                    let change = Change::Put(Box::new(item));
                    self.sender.send(PendingChange {
                        path: path.to_owned(),
                        line: Some(line),
                        change,
                    })?;
                    return Ok(true);
                }
            },
        };
        self.skip(path.to_owned(), Some(line), skipped);
        Ok(false)
    }

    /// Returns the reason for skipping an item whose id belongs to an item from elsewhere, which a
    /// file may not overwrite (X11). An item of the same file keeps its readers.
    fn find_id_conflict(
        &self,
        item: &mut Item,
        path: &str,
    ) -> Result<Option<IngestSkipReason>, ReadError> {
        if block_on(self.snapshot.exist(std::slice::from_ref(&item.id)))? == [false] {
            return Ok(None);
        }
        let stored = block_on(self.snapshot.get(std::slice::from_ref(&item.id)))?.pop().flatten();
        let (stored_path, readers) =
            stored.map_or_else(Default::default, |stored| (stored.item.path, stored.item.readers));
        if stored_path.as_deref() == Some(path) {
            item.readers = readers;
            return Ok(None);
        }
        let id = item.id.as_str().to_owned();
        Ok(Some(IngestSkipReason::IdTaken { id, path: stored_path }))
    }
}

/// The fields in which data names the user that an item belongs to.
const USER_FIELDS: [&str; 6] = ["user", "userId", "user_id", "owner", "author", "speaker"];

/// The principal of the user that a row names, if the operator mapped that user.
fn mapped_user<'u>(item: &Item, users: &'u BTreeMap<String, Principal>) -> Option<&'u Principal> {
    let mut named = USER_FIELDS.iter().filter_map(|field| item.fields.get(*field)?.as_str());
    named.find_map(|name| users.get(name))
}

/// Finds items that were added from a root before and whose file or row no longer exists, and
/// passes them to `delete` page by page.
fn find_missing_items(
    snapshot: &dyn Snapshot,
    root: &Root,
    walk: &WalkState,
    summary: &mut IngestSummary,
    mut delete: impl FnMut(Vec<ItemId>) -> Result<u64, IngestError>,
) -> Result<(), IngestError> {
    let is_gone = |path: &str, id: &ItemId| {
        if root.is_file && path != root.name {
            return false;
        }
        if !walk.path_hashes.contains(&hash_text(path)) {
            let is_under = |closed: &String| {
                path.strip_prefix(closed.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            return !walk.unreadable_folders.iter().any(is_under);
        }
        walk.tables.contains_key(path) && !walk.id_hashes.contains(&hash_text(id.as_str()))
    };
    let mut after = None;
    loop {
        let page = block_on(snapshot.under_path(&root.prefix(), after.as_ref(), LIMIT_MAX))?;
        let mut gone = Vec::new();
        for entry in &page {
            if is_gone(&entry.path, &entry.id) {
                summary.missing_count += 1;
                if summary.missing_ids.len() < LISTED_MAX {
                    summary.missing_ids.push(entry.id.as_str().to_owned());
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
