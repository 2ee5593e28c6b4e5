//! Snapshots of a replica: its files in one stream of parts, written and read again.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::link::{JournalLink, ReplicaState};
use crate::embedded::records;
use crate::store::journal::wait;
use crate::store::journal::{
    Journal, JournalError, JournalKey, JournalSnapshot, Position, SNAPSHOT_PART_BYTES_MAX,
    SnapshotSink,
};

/// The prefix of folders that are not complete yet. No workspace name begins with it.
pub(crate) const INCOMING_PREFIX: &str = ".incoming-";

/// The first bytes of the stream.
const MAGIC: &[u8; 8] = b"hvsnap01";

/// The folders of a workspace whose files belong to a snapshot.
const FOLDERS: [&str; 2] = ["text", "vectors"];

/// Entries before a snapshot that are kept, for replicas that lag a little.
const KEPT_ENTRIES: u64 = 1_000;

/// Why a snapshot was not restored.
#[derive(Debug)]
pub(super) enum RestoreError {
    Journal(JournalError),
    Damaged(String),
    Io(io::Error),
}

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> RestoreError {
        RestoreError::Io(error)
    }
}

/// The files of a replica, copied or linked while nobody wrote.
#[derive(Debug)]
pub(crate) struct StagedFiles {
    pub(super) folder: PathBuf,
    pub(super) state: ReplicaState,
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        // What is left is removed when the data folder is opened again.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Copies or links the files of a workspace beside its folder. The caller has the writer, whose log is
/// in the file.
pub(super) fn stage(folder: &Path, state: ReplicaState) -> io::Result<StagedFiles> {
    let staged = beside(folder, &format!("snapshot-{}", state.position))?;
    let _ = fs::remove_dir_all(&staged);
    fs::create_dir_all(&staged)?;
    let files = StagedFiles { folder: staged, state };
    fs::copy(records::file(folder), records::file(&files.folder))?;
    for name in FOLDERS {
        let (from, to) = (folder.join(name), files.folder.join(name));
        let entries = match fs::read_dir(&from) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        fs::create_dir_all(&to)?;
        for entry in entries {
            let entry = entry?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            // Files of an index are replaced, never changed, but for those that are small.
            if !entry.file_type()?.is_file() || is_lock(&path) {
                continue;
            }
            if is_replaced_in_place(&path) || fs::hard_link(&path, &target).is_err() {
                fs::copy(&path, &target)?;
            }
        }
    }
    Ok(files)
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

/// Whether a file may be written to after it was made.
fn is_replaced_in_place(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "log")
}

/// A folder for files that become, or come from, a workspace.
fn beside(folder: &Path, what: &str) -> io::Result<PathBuf> {
    let (parent, name) = (folder.parent(), folder.file_name().and_then(|name| name.to_str()));
    match (parent, name) {
        (Some(parent), Some(name)) => Ok(parent.join(format!("{INCOMING_PREFIX}{what}-{name}"))),
        _ => Err(io::Error::other("the folder of a workspace has no name")),
    }
}

/// Sends staged files to the journal. `None` when another node makes a snapshot of the workspace.
pub(super) fn send(
    journal: &dyn Journal,
    key: &JournalKey,
    files: &StagedFiles,
) -> Result<Option<JournalSnapshot>, JournalError> {
    let ReplicaState { position, last, .. } = files.state;
    let Some(sink) = wait(journal.put_snapshot(key, position, last))? else { return Ok(None) };
    let mut parts = PartWriter { sink, part: Vec::with_capacity(SNAPSHOT_PART_BYTES_MAX) };
    let unreadable = |error: io::Error| JournalError::Refused { cause: error.into() };
    parts.add(MAGIC)?;
    for (name, path) in files_in(&files.folder).map_err(unreadable)? {
        let mut file = File::open(&path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        parts.add(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        parts.add(name.as_bytes())?;
        parts.add(&bytes.to_le_bytes())?;
        let sent = parts.add_file(&mut file).map_err(|error| match error {
            RestoreError::Journal(error) => error,
            RestoreError::Io(error) => unreadable(error),
            RestoreError::Damaged(what) => JournalError::Refused { cause: what.into() },
        })?;
        if sent != bytes {
            let what = format!("{name} has {sent} bytes and had {bytes}");
            return Err(JournalError::Refused { cause: what.into() });
        }
    }
    parts.add(&0_u32.to_le_bytes())?;
    parts.finish().map(Some)
}

/// Trims the journal behind a snapshot. After a purge nothing before it is kept.
pub(super) fn trim(
    journal: &dyn Journal,
    snapshot: &JournalSnapshot,
    keep: bool,
) -> Result<u64, JournalError> {
    let kept = if keep { KEPT_ENTRIES } else { 0 };
    let through = Position::new(snapshot.position.get().saturating_sub(kept));
    wait(journal.trim(&snapshot.key, through))
}

/// The files of a staged workspace, with the names that they have in a snapshot.
fn files_in(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let store = records::file(folder);
    let mut files = vec![("store.db".to_owned(), store)];
    for name in FOLDERS {
        let Ok(entries) = fs::read_dir(folder.join(name)) else { continue };
        for entry in entries {
            let path = entry?.path();
            if let Some(file) = path.file_name().and_then(|file| file.to_str()) {
                files.push((format!("{name}/{file}"), path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Cuts a stream into parts.
struct PartWriter {
    sink: Box<dyn SnapshotSink>,
    part: Vec<u8>,
}

impl PartWriter {
    fn add(&mut self, mut bytes: &[u8]) -> Result<(), JournalError> {
        while !bytes.is_empty() {
            let room = SNAPSHOT_PART_BYTES_MAX - self.part.len();
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.part.extend_from_slice(now);
            bytes = rest;
            self.send_if_full()?;
        }
        Ok(())
    }

    fn add_file(&mut self, file: &mut File) -> Result<u64, RestoreError> {
        let mut sent = 0;
        loop {
            let room = (SNAPSHOT_PART_BYTES_MAX - self.part.len()) as u64;
            let read = Read::take(&mut *file, room).read_to_end(&mut self.part)?;
            if read == 0 {
                return Ok(sent);
            }
            sent += read as u64;
            self.send_if_full().map_err(RestoreError::Journal)?;
        }
    }

    fn send_if_full(&mut self) -> Result<(), JournalError> {
        if self.part.len() < SNAPSHOT_PART_BYTES_MAX {
            return Ok(());
        }
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(SNAPSHOT_PART_BYTES_MAX));
        wait(self.sink.add(part))
    }

    fn finish(mut self) -> Result<JournalSnapshot, JournalError> {
        if !self.part.is_empty() {
            wait(self.sink.add(std::mem::take(&mut self.part)))?;
        }
        wait(self.sink.finish())
    }
}

/// Makes the folder of a workspace from a snapshot, all or nothing.
pub(super) fn restore(
    journal: &dyn Journal,
    snapshot: &JournalSnapshot,
    folder: &Path,
) -> Result<(), RestoreError> {
    let incoming = beside(folder, "restored")?;
    let _ = fs::remove_dir_all(&incoming);
    fs::create_dir_all(&incoming)?;
    let restored = restore_files(journal, snapshot, &incoming).and_then(|()| {
        let _ = fs::remove_dir_all(folder);
        Ok(fs::rename(&incoming, folder)?)
    });
    if restored.is_err() {
        let _ = fs::remove_dir_all(&incoming);
    }
    restored
}

fn restore_files(
    journal: &dyn Journal,
    snapshot: &JournalSnapshot,
    folder: &Path,
) -> Result<(), RestoreError> {
    let mut parts = PartReader { journal, snapshot, next: 0, part: Vec::new(), at: 0 };
    if parts.array()? != *MAGIC {
        return Err(RestoreError::Damaged("the snapshot has an unknown form".to_owned()));
    }
    loop {
        let length = u32::from_le_bytes(parts.array()?);
        if length == 0 {
            return Ok(());
        }
        let name = parts.name(length as usize)?;
        let path = folder.join(checked_name(&name)?);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let bytes = u64::from_le_bytes(parts.array()?);
        parts.copy_to(&mut File::create_new(&path)?, bytes)?;
    }
}

/// A name that stays in the folder: one of a file, or of a file in a folder of an index.
fn checked_name(name: &str) -> Result<&Path, RestoreError> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let known = match name.split_once('/') {
        None => name == "store.db",
        Some((folder, file)) => FOLDERS.contains(&folder) && !file.contains('/'),
    };
    if plain && known {
        return Ok(path);
    }
    Err(RestoreError::Damaged(format!("the snapshot has a file {name:?}")))
}

/// Reads a stream from its parts.
struct PartReader<'a> {
    journal: &'a dyn Journal,
    snapshot: &'a JournalSnapshot,
    next: usize,
    part: Vec<u8>,
    at: usize,
}

impl PartReader<'_> {
    /// The next bytes, at least one and at most so many.
    fn some(&mut self, most: u64) -> Result<&[u8], RestoreError> {
        while self.at >= self.part.len() {
            if self.next >= self.snapshot.parts.len() {
                return Err(RestoreError::Damaged("the snapshot ends in the middle".to_owned()));
            }
            let part = self.journal.snapshot_part(self.snapshot, self.next);
            self.part = wait(part).map_err(RestoreError::Journal)?;
            (self.next, self.at) = (self.next + 1, 0);
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let end = self.at.saturating_add(most).min(self.part.len());
        let bytes = &self.part[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RestoreError> {
        let (mut array, mut filled) = ([0; N], 0);
        while filled < N {
            let bytes = self.some((N - filled) as u64)?;
            array[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
        }
        Ok(array)
    }

    fn name(&mut self, length: usize) -> Result<String, RestoreError> {
        let bad = || RestoreError::Damaged("the snapshot has an impossible name".to_owned());
        if length > 1_000 {
            return Err(bad());
        }
        let mut name = Vec::with_capacity(length);
        while name.len() < length {
            let bytes = self.some((length - name.len()) as u64)?;
            name.extend_from_slice(bytes);
        }
        String::from_utf8(name).map_err(|_| bad())
    }

    fn copy_to(&mut self, file: &mut File, bytes: u64) -> Result<(), RestoreError> {
        let mut left = bytes;
        while left > 0 {
            let some = self.some(left)?;
            file.write_all(some)?;
            left -= some.len() as u64;
        }
        Ok(())
    }
}

/// What became of a snapshot that was due.
pub(crate) type SnapshotResult = Result<Option<JournalSnapshot>, JournalError>;

/// Sends staged files as the newest snapshot, and trims the journal behind it.
pub(crate) fn publish(link: &Arc<JournalLink>, files: StagedFiles, keep: bool) -> SnapshotResult {
    let sent = send(&**link.journal(), &link.key, &files)?;
    drop(files);
    if let Some(snapshot) = &sent {
        trim(&**link.journal(), snapshot, keep)?;
    }
    Ok(sent)
}
