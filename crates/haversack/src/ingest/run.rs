//! One run of ingestion: walks the files, reads them, sends changes to the writers and finds the
//! items whose files no longer exist.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Item;
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::{Principal, Readers};
use haversack_store::store::{Snapshot, Store, block_on};

use super::changed::ChangedPaths;
use super::isolated::IsolatedReader;
use super::skip::{IngestSkipReason, Skip};
use super::sources::{self, StoredSource};
use super::stamp::{FileHash, FileStamp, SourceState};
use super::total::TotalCount;
use super::vault::Vaults;
use super::walk::{FileWalk, Root, RootNaming, WalkStep};
use super::write::{BatchSender, PendingChange, take_tally};
use super::{IngestError, IngestProgress, IngestRequest, IngestSummary, LISTED_MAX};

/// Files between two reports of progress.
const FILES_PER_REPORT: u64 = 64;

pub(super) fn run(
    store: &dyn Store,
    request: &IngestRequest,
    naming: RootNaming,
    progress: &mut dyn FnMut(IngestProgress),
) -> Result<IngestSummary, IngestError> {
    let snapshot = block_on(store.snapshot(&request.viewer))?;
    let mut roots = Vec::new();
    let mut remarks = Vec::new();
    for path in &request.paths {
        let root = resolve_root(&*snapshot, (path, naming), &mut remarks)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let records =
        roots.iter().map(|root| sources::record_root(&root.name, &root.folder, request.at));
    let records = records.collect();
    let looks: Vec<Look> = roots.into_iter().map(Look::at_all).collect();
    let summary = read_roots(store, request, (&*snapshot, &looks, records), progress)?;
    remarks.extend(summary.remarks);
    Ok(IngestSummary { remarks, ..summary })
}

/// Looks only at what changed below a path that was added before. The paths are canonical.
pub(super) fn run_changed(
    store: &dyn Store,
    request: &IngestRequest,
    (given, changed): (&Path, &BTreeSet<PathBuf>),
) -> Result<IngestSummary, IngestError> {
    let snapshot = block_on(store.snapshot(&request.viewer))?;
    let mut remarks = Vec::new();
    let naming = RootNaming::LastComponent;
    let root = resolve_root(&*snapshot, (given, naming), &mut remarks)?;
    let changed = match root.is_file {
        true => None,
        false => ChangedPaths::below(&root.folder, changed),
    };
    let Some(changed) = changed else { return run(store, request, naming, &mut |_| {}) };
    let looks = [Look { root, changed: Some(changed) }];
    read_roots(store, request, (&*snapshot, &looks, Vec::new()), &mut |_| {})
}

/// What is looked at: a root, or the part of it that changed.
struct Look {
    root: Root,
    changed: Option<ChangedPaths>,
}

impl Look {
    const fn at_all(root: Root) -> Look {
        Look { root, changed: None }
    }

    /// The paths in the store whose items may be gone: exact paths, and prefixes.
    fn places(&self) -> Vec<StoredPlace> {
        let name = &self.root.name;
        let of =
            |name: &str| [StoredPlace::At(name.to_owned()), StoredPlace::Under(format!("{name}/"))];
        match &self.changed {
            None if self.root.is_file => vec![StoredPlace::At(name.clone())],
            None => vec![StoredPlace::Under(format!("{name}/"))],
            // A name that cannot be stored has no items.
            Some(changed) => {
                let names = changed.scopes().filter_map(|at| self.root.stored_path(at).ok());
                names.flat_map(|name| of(&name)).collect()
            }
        }
    }
}

/// Where items are looked for.
enum StoredPlace {
    /// At this path.
    At(String),
    /// At paths that begin like this.
    Under(String),
}

/// Adds one file under a name of its own.
pub(super) fn run_file(
    store: &dyn Store,
    request: &IngestRequest,
    (at, name): (&Path, &str),
) -> Result<IngestSummary, IngestError> {
    let snapshot = block_on(store.snapshot(&request.viewer))?;
    let root = Root { folder: at.to_owned(), name: name.to_owned(), is_file: true };
    let looks = [Look::at_all(root)];
    read_roots(store, request, (&*snapshot, &looks, Vec::new()), &mut |_| {})
}

/// Reads the files under roots, and writes the records of the run with those of the files.
fn read_roots(
    store: &dyn Store,
    request: &IngestRequest,
    (snapshot, looks, records): (&dyn Snapshot, &[Look], Vec<Change>),
    progress: &mut dyn FnMut(IngestProgress),
) -> Result<IngestSummary, IngestError> {
    let total = TotalCount::default();
    let roots: Vec<Root> = looks.iter().map(|look| look.root.clone()).collect();
    let (walk, mut progress_now, tally) = std::thread::scope(|scope| {
        if request.counts_total {
            scope.spawn(|| total.count(&roots));
        }
        let sender = BatchSender::start(scope, store, request);
        let tally = std::sync::Arc::clone(&sender.tally);
        let isolated = IsolatedReader::new(request.reader_program.clone());
        let (walk, vaults) = (WalkState::default(), Vaults::under(PathBuf::new()));
        let total = &total;
        let mut run =
            IngestRun { store, snapshot, request, sender, walk, isolated, vaults, total, progress };
        let done = looks.iter().try_for_each(|look| run.add_files(look));
        let done = done.and_then(|()| run.write_records());
        total.stop();
        let progress_now = run.progress_now();
        // Dropping the sender closes the queue, which ends the threads.
        let IngestRun { walk, .. } = run;
        done.map(|()| (walk, progress_now, tally))
    })?;
    let mut tally = take_tally(&tally)?;
    let remarks = std::mem::take(&mut tally.warnings);
    let omissions = std::mem::take(&mut tally.omissions).finish();
    let mut summary = IngestSummary { remarks, omissions, ..IngestSummary::default() };
    for look in looks {
        find_missing_items(snapshot, look, &walk, &mut summary, |ids| {
            if !request.prune {
                return Ok(0);
            }
            let mut batch = Batch::new(request.at, ids.into_iter().map(Change::Delete).collect());
            batch.origin = Some(request.origin.clone());
            Ok(block_on(store.write(batch.with_rights(request.viewer.clone())))?.deleted as u64)
        })?;
    }
    for records in records.chunks(LISTED_MAX) {
        block_on(store.write(Batch::new(request.at, records.to_vec())))?;
    }
    progress_now.stored = tally.stored;
    progress_now.unchanged = tally.unchanged + walk.unchanged;
    progress_now.skipped = tally.skipped;
    summary.progress = progress_now;
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

/// Everything that the walk has found so far. Of each file and item no more than a hash is kept, so that a
/// folder of a million files takes some ten megabytes.
#[derive(Debug, Default)]
pub(super) struct WalkState {
    files: u64,
    /// Bytes of the files that are done.
    bytes: u64,
    /// Bytes of the file at hand that were read.
    pub(super) partial_bytes: u64,
    pub(super) pages: u64,
    unchanged: u64,
    /// Hashes of the files' paths. A chance collision only keeps an item that could have been
    /// deleted.
    path_hashes: HashSet<u64>,
    /// Hashes of the ids of the items of all files that were read.
    id_hashes: HashSet<u64>,
    /// Hashes of the paths of files that were read to the end.
    read_hashes: HashSet<u64>,
    /// How files were that were read to the end, or that have the same bytes as before under another stamp.
    /// They are written down when their items are.
    pending_records: Vec<(String, SourceState)>,
    /// Folders that could not be read. Their items count as present.
    unreadable_folders: Vec<String>,
}

impl WalkState {
    /// Notes that a file was read to its end.
    pub(super) fn note_read(&mut self, path: String, state: SourceState) {
        self.read_hashes.insert(hash_text(&path));
        self.pending_records.push((path, state));
    }

    /// Whether the file or row of an item is gone.
    fn is_gone(&self, path: &str, id: &ItemId) -> bool {
        if !self.path_hashes.contains(&hash_text(path)) {
            let is_under = |closed: &String| {
                path.strip_prefix(closed.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            return !self.unreadable_folders.iter().any(is_under);
        }
        self.read_hashes.contains(&hash_text(path))
            && !self.id_hashes.contains(&hash_text(id.as_str()))
    }
}

fn hash_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

pub(super) struct IngestRun<'a> {
    store: &'a dyn Store,
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) request: &'a IngestRequest,
    pub(super) sender: BatchSender,
    pub(super) walk: WalkState,
    pub(super) isolated: IsolatedReader,
    pub(super) vaults: Vaults,
    total: &'a TotalCount,
    progress: &'a mut dyn FnMut(IngestProgress),
}

impl IngestRun<'_> {
    fn add_files(&mut self, look: &Look) -> Result<(), IngestError> {
        self.vaults = Vaults::under(look.root.folder.clone());
        for step in FileWalk::new(look.root.clone(), look.changed.as_ref()) {
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
            if self.walk.pending_records.len() >= LISTED_MAX {
                self.write_records()?;
            }
        }
        Ok(())
    }

    /// Writes the records of the files that are done, once their items are written.
    fn write_records(&mut self) -> Result<(), IngestError> {
        self.sender.settle()?;
        let pending = std::mem::take(&mut self.walk.pending_records);
        let mut tally = self.sender.tally();
        let record = |(path, state): (String, SourceState)| {
            let refused = tally.refused.remove(&path).unwrap_or(0);
            let items = state.items.saturating_sub(refused);
            sources::record_source(&path, &SourceState { items, ..state }, self.request.at)
        };
        let records: Vec<Change> = pending.into_iter().map(record).collect();
        drop(tally);
        if !records.is_empty() {
            block_on(self.store.write(Batch::new(self.request.at, records)))?;
        }
        Ok(())
    }

    fn progress_now(&self) -> IngestProgress {
        let walk = &self.walk;
        let tally = self.sender.tally();
        IngestProgress {
            files: walk.files,
            bytes: walk.bytes + walk.partial_bytes,
            pages: walk.pages,
            total: self.total.get(),
            stored: tally.stored,
            unchanged: walk.unchanged + tally.unchanged,
            skipped: tally.skipped,
        }
    }

    pub(super) fn report(&mut self) {
        let progress = self.progress_now();
        (self.progress)(progress);
    }

    pub(super) fn skip(&self, path: String, line: Option<u64>, reason: IngestSkipReason) {
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
        if !self.is_unchanged(at, &path, stamp)? {
            self.read_file(at, path, stamp)?;
        }
        self.walk.partial_bytes = 0;
        self.walk.bytes += stamp.bytes;
        Ok(())
    }

    /// Whether a file was read before and has not changed since: not its length and time, or not its bytes.
    fn is_unchanged(
        &mut self,
        at: &Path,
        path: &str,
        stamp: FileStamp,
    ) -> Result<bool, IngestError> {
        if self.request.kind.is_some() || !self.request.users.is_empty() {
            return Ok(false);
        }
        let Some(stored) = sources::stored_source(self.snapshot, path)? else { return Ok(false) };
        let StoredSource { state, is_settled } = stored;
        if state.stamp.bytes != stamp.bytes
            || block_on(self.snapshot.at_path(path, 0))?.1 != state.items
        {
            return Ok(false);
        }
        if state.stamp != stamp || !is_settled {
            match FileHash::of_file(at) {
                Ok(hash) if hash == state.hash => {}
                // If it cannot be read, reading it will say so.
                _ => return Ok(false),
            }
            let state = SourceState { stamp, ..state.clone() };
            self.walk.pending_records.push((path.to_owned(), state));
        }
        self.walk.unchanged += state.items;
        Ok(true)
    }

    pub(super) fn kind_or(&self, default: &str) -> Kind {
        self.request
            .kind
            .clone()
            .unwrap_or_else(|| Kind::new(default).expect("the default kinds are short names"))
    }

    /// Adds an item of a file, or the reason why there is none. Returns whether it is an item of that file.
    pub(super) fn add_item(
        &mut self,
        path: &str,
        line: Option<u64>,
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
                    self.sender.send(PendingChange { path: path.to_owned(), line, change })?;
                    return Ok(true);
                }
            },
        };
        self.skip(path.to_owned(), line, skipped);
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
pub(crate) fn mapped_user<'u>(
    item: &Item,
    users: &'u BTreeMap<String, Principal>,
) -> Option<&'u Principal> {
    let mut named = USER_FIELDS.iter().filter_map(|field| item.fields.get(*field)?.as_str());
    named.find_map(|name| users.get(name))
}

/// Finds items that were added before from what is looked at and whose file or row no longer exists, and
/// passes them to `delete` page by page.
fn find_missing_items(
    snapshot: &dyn Snapshot,
    look: &Look,
    walk: &WalkState,
    summary: &mut IngestSummary,
    mut delete: impl FnMut(Vec<ItemId>) -> Result<u64, IngestError>,
) -> Result<(), IngestError> {
    for place in look.places() {
        let (prefix, only_at) = match &place {
            StoredPlace::At(path) => (path, true),
            StoredPlace::Under(prefix) => (prefix, false),
        };
        let mut after = None;
        loop {
            let mut page = block_on(snapshot.under_path(prefix, after.as_ref(), LIMIT_MAX))?;
            let count = page.len();
            if only_at {
                // By path, so that the path itself comes first.
                page.retain(|entry| entry.path == *prefix);
            }
            let is_last = page.len() < count;
            let mut gone = Vec::new();
            for entry in page.iter().filter(|entry| walk.is_gone(&entry.path, &entry.id)) {
                summary.missing_count += 1;
                if summary.missing_ids.len() < LISTED_MAX {
                    summary.missing_ids.push(entry.id.as_str().to_owned());
                }
                gone.push(entry.id.clone());
            }
            if !gone.is_empty() {
                summary.deleted += delete(gone)?;
            }
            match page.pop() {
                Some(last) if !is_last => after = Some(last),
                _ => break,
            }
        }
    }
    Ok(())
}
