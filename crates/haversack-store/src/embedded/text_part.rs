//! The text index of a workspace: fed from batches, and rebuilt from the records when it fails.
//!
//! A failure never reaches who writes. What was lost is fed again at once if it is little, else in
//! steps between other work; until that is done, searches by words say so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::item::Kind;
use haversack_core::text::terms::Language;
use rusqlite::{Connection, Rows};

use super::indexes::{IndexError, remove_folder};
use super::records::lookup::chunks_of;
use super::row::{Bitmap, Row};
use super::state::TextSnapshot;
use super::text::{TextDocument, TextError, TextIndex, TextIndexState, TextReader, TextWriters};
use crate::kinds::Kinds;
use crate::prepare::tie;
use crate::revision::Revision;
use crate::store::error::{ReadError, error_chain};

/// The rows and bytes of text that one step of a rebuild feeds.
const STEP_ROWS: usize = 1_000;
const STEP_BYTES: usize = 8 << 20;

/// The columns from which a row is fed.
const FEED: &str = "SELECT i.row, n.id, i.title, i.path, i.language, coalesce(i.text, i.body), \
    i.kind, i.fields FROM items i JOIN nodes n ON n.node = i.node";

/// The text index, usable or on its way to be.
#[derive(Debug)]
pub(super) struct TextPart {
    folder: PathBuf,
    kinds: Arc<Kinds>,
    writers: Arc<TextWriters>,
    /// The revision at which it was found, if the records did not have it.
    ahead: Option<Revision>,
    state: TextState,
}

#[derive(Debug)]
enum TextState {
    Ready(TextIndex),
    /// It failed; nothing is fed until it is repaired.
    Failed {
        index: Option<TextIndex>,
        cause: String,
    },
    /// A new one is fed from the records; rows up to one are done.
    Rebuilding {
        index: TextIndex,
        done: Row,
        cause: String,
    },
}

/// What a text index needs from the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextWork {
    /// It is in use.
    None,
    /// It is being rebuilt: the next step can follow at once.
    Step,
    /// It could not be repaired: to be tried again after a while.
    Retry,
}

impl TextPart {
    /// Opens the index and discards what is unusable. Returns what has to be repaired.
    pub(super) fn open(
        folder: &Path,
        (kinds, writers): (&Arc<Kinds>, Arc<TextWriters>),
        revision: Revision,
        repaired: &mut Vec<String>,
    ) -> Result<TextPart, IndexError> {
        let (path, kinds) = (folder.join("text"), Arc::clone(kinds));
        let mut ahead = None;
        let opened = match TextIndex::open_with(&path, &writers) {
            Ok(opened) => opened,
            Err(error @ (TextError::Newer { .. } | TextError::Locked { .. })) => {
                return Err(error.into());
            }
            // It cannot be read or written now. That costs searches by words, not the workspace.
            Err(error) => {
                let cause = error_chain(&error);
                repaired.push(format!("text index: {cause}: rebuilt"));
                let state = TextState::Failed { index: None, cause };
                return Ok(TextPart { folder: path, kinds, writers, ahead, state });
            }
        };
        let index = match opened.state {
            TextIndexState::Fresh => opened.index,
            // The store was restored from a backup, so row numbers may be reassigned.
            TextIndexState::At(at) if at > revision => {
                ahead = Some(at);
                drop(opened.index);
                remove_folder(&path)?;
                repaired.push(format!("text index at revision {at}, ahead of the store: rebuilt"));
                TextIndex::open_with(&path, &writers)?.index
            }
            TextIndexState::At(_) => opened.index,
            TextIndexState::Emptied { reason } => {
                repaired.push(format!("text index: {reason}: rebuilt"));
                opened.index
            }
        };
        Ok(TextPart { folder: path, kinds, writers, ahead, state: TextState::Ready(index) })
    }

    /// The revision at which the index was found, if the records did not have it.
    pub(super) const fn was_ahead(&self) -> Option<Revision> {
        self.ahead
    }

    /// A snapshot for readers.
    pub(super) fn reader(&self) -> TextSnapshot {
        match &self.state {
            TextState::Ready(index) => TextSnapshot::Ready(index.reader()),
            TextState::Failed { .. } | TextState::Rebuilding { .. } => TextSnapshot::Rebuilding,
        }
    }

    pub(super) const fn work(&self) -> TextWork {
        match self.state {
            TextState::Ready(_) => TextWork::None,
            TextState::Rebuilding { .. } => TextWork::Step,
            TextState::Failed { .. } => TextWork::Retry,
        }
    }

    /// Why it is not in use.
    pub(super) fn trouble(&self) -> Option<&str> {
        match &self.state {
            TextState::Ready(_) => None,
            TextState::Failed { cause, .. } | TextState::Rebuilding { cause, .. } => Some(cause),
        }
    }

    /// Adds a document. A rebuild finds it among the records.
    pub(super) fn add(&mut self, document: &TextDocument<'_>) {
        if let TextState::Ready(index) = &mut self.state
            && let Err(error) = index.add(document)
        {
            self.fail(&error);
        }
    }

    /// Removes the documents of rows.
    pub(super) fn remove(&mut self, rows: &[Row]) {
        if let TextState::Ready(index) | TextState::Rebuilding { index, .. } = &mut self.state
            && let Err(error) = index.remove(rows)
        {
            self.fail(&error);
        }
    }

    /// Makes what was added and removed searchable.
    pub(super) fn commit(&mut self, revision: Revision) {
        let TextState::Ready(index) = &mut self.state else { return };
        if let Err(error) = index.commit(revision) {
            self.fail(&error);
        }
    }

    /// Has removed documents rewritten away, in the background. Returns whether there is none left
    /// and new readers see no file with them; `false` also while the index is being rebuilt.
    pub(super) fn rewrite_removed(&mut self) -> bool {
        let TextState::Ready(index) = &mut self.state else { return false };
        let done = index.rewrite_removed().and_then(|is_done| {
            if is_done {
                index.refresh()?;
            }
            Ok(is_done)
        });
        done.unwrap_or_else(|error| {
            self.fail(&error);
            false
        })
    }

    /// Removes files that were rewritten; see [`TextIndex::remove_rewritten`].
    pub(super) fn remove_rewritten(&mut self) -> bool {
        let TextState::Ready(index) = &mut self.state else { return false };
        index.remove_rewritten().unwrap_or_else(|error| {
            self.fail(&error);
            false
        })
    }

    /// Takes the index out of use.
    fn fail(&mut self, error: &TextError) {
        let failed = TextState::Failed { index: None, cause: error_chain(error) };
        let index = match std::mem::replace(&mut self.state, failed) {
            TextState::Ready(mut index) => {
                index.abandon();
                Some(index)
            }
            TextState::Failed { .. } | TextState::Rebuilding { .. } => None,
        };
        if let TextState::Failed { index: kept, .. } = &mut self.state {
            *kept = index;
        }
    }

    /// Forgets what was added and not committed, with the memory and threads that it held. Only
    /// [`TextPart::recover`] makes the index writable again.
    pub(super) fn abandon(&mut self) {
        if let TextState::Ready(index) = &mut self.state {
            index.abandon();
        }
    }

    /// Whether something waits for a commit, or a merge or a rebuild is under way.
    pub(super) fn is_busy(&self) -> bool {
        match &self.state {
            TextState::Ready(index) => index.is_busy(),
            TextState::Rebuilding { .. } => true,
            TextState::Failed { .. } => false,
        }
    }

    /// Takes the index out of use if a file of it is lost or damaged, or else opens it anew.
    pub(super) fn examine(&mut self) {
        let TextState::Ready(index) = &mut self.state else { return };
        let examined = match index.verify().map(|damage| damage.into_iter().next()) {
            Ok(None) => index.reopen(),
            Ok(Some(damage)) => Err(TextError::Damaged { what: damage }),
            Err(error) => Err(error),
        };
        if let Err(error) = examined {
            self.fail(&error);
        }
    }

    /// Brings the index up to a revision from the records: with what it lacks, if it can be written
    /// again, else from scratch. A step of a rebuild feeds a part of it.
    pub(super) fn repair(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        if let TextState::Failed { index, .. } = &mut self.state {
            match index.take() {
                Some(index) => self.catch_up_or_rebuild(index, connection, revision)?,
                None => self.start_anew(),
            }
        }
        self.rebuild_step(connection, revision)
    }

    fn catch_up_or_rebuild(
        &mut self,
        mut index: TextIndex,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        match catch_up(&mut index, &self.kinds, connection, revision) {
            Ok(()) => self.state = TextState::Ready(index),
            Err(error @ IndexError::Truth(_)) => return Err(error),
            Err(_) => {
                drop(index);
                self.start_anew();
            }
        }
        Ok(())
    }

    /// Removes all files and begins a new index.
    fn start_anew(&mut self) {
        let cause = self.trouble().unwrap_or("it is made anew").to_owned();
        // The lock of its folder is released before a new index takes it.
        self.state = TextState::Failed { index: None, cause: cause.clone() };
        let open = || TextIndex::open_with(&self.folder, &self.writers).map_err(IndexError::Text);
        let begun = remove_index(&self.folder).and_then(|()| open());
        self.state = match begun {
            Ok(opened) => TextState::Rebuilding { index: opened.index, done: Row::new(0), cause },
            Err(error) => TextState::Failed { index: None, cause: error_chain(&error) },
        };
    }

    /// Feeds a part of the records to a new index; after the last, it is in use.
    fn rebuild_step(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        let TextState::Rebuilding { index, done, .. } = &mut self.state else { return Ok(()) };
        let finished = match feed_rows(connection, index, &self.kinds, *done) {
            Ok(FedRows { last, more: true }) => {
                *done = last;
                return Ok(());
            }
            Ok(FedRows { more: false, .. }) => index.commit(revision).map_err(IndexError::Text),
            Err(error) => Err(error),
        };
        let after = TextState::Failed { index: None, cause: "it is being rebuilt".to_owned() };
        match (finished, std::mem::replace(&mut self.state, after)) {
            (Ok(()), TextState::Rebuilding { index, .. }) => {
                self.state = TextState::Ready(index);
                Ok(())
            }
            (Err(error), _) => {
                self.state = TextState::Failed { index: None, cause: error_chain(&error) };
                // What the records lack, no further try can find.
                if matches!(error, IndexError::Truth(_)) { Err(error) } else { Ok(()) }
            }
            (Ok(()), _) => Ok(()),
        }
    }

    /// Adds the rows of revisions after one, and removes rows.
    pub(super) fn follow(
        &mut self,
        connection: &Connection,
        (before, revision): (Revision, Revision),
        purged: &[Row],
    ) -> Result<(), IndexError> {
        if let TextState::Ready(index) = &mut self.state {
            match feed_after(index, &self.kinds, connection, before) {
                Ok(()) => {}
                Err(IndexError::Text(error)) => self.fail(&error),
                Err(error) => return Err(error),
            }
        }
        if !purged.is_empty() {
            self.remove(purged);
        }
        if revision > before || !purged.is_empty() {
            self.commit(revision);
        }
        Ok(())
    }

    /// Brings an index that was just opened up to a revision.
    pub(super) fn recover(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        if let TextState::Ready(index) = &mut self.state {
            match catch_up(index, &self.kinds, connection, revision) {
                Ok(()) => {}
                Err(IndexError::Text(error)) => self.fail(&error),
                Err(error) => return Err(error),
            }
        }
        // A little is rebuilt before anybody searches, the rest by the writer.
        self.repair(connection, revision)
    }

    /// Makes the index anew.
    pub(super) fn rebuild(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.start_anew();
        while self.work() == TextWork::Step {
            self.rebuild_step(connection, revision)?;
        }
        match self.trouble() {
            Some(cause) => Err(IndexError::Text(TextError::Damaged { what: cause.to_owned() })),
            None => Ok(()),
        }
    }

    /// Reads every file from the disk and says what is wrong.
    pub(super) fn verify(&self) -> Vec<String> {
        match &self.state {
            TextState::Ready(index) => {
                index.verify().unwrap_or_else(|error| vec![error_chain(&error)])
            }
            TextState::Failed { cause, .. } => vec![cause.clone()],
            TextState::Rebuilding { .. } => Vec::new(),
        }
    }

    /// Closes the index and waits for merges up to a timeout.
    pub(super) fn close(self, wait_max: Duration) {
        if let TextState::Ready(index) = self.state {
            // A failure only costs time at the next start.
            let _ = index.close(wait_max);
        }
    }
}

/// Removes the folder of an index, or what somebody put in its place.
fn remove_index(path: &Path) -> Result<(), IndexError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => std::fs::remove_file(path)
            .map_err(|source| TextError::File { path: path.to_owned(), source }.into()),
        _ => remove_folder(path),
    }
}

/// Feeds the rows of revisions that an index lacks.
fn catch_up(
    index: &mut TextIndex,
    kinds: &Kinds,
    connection: &Connection,
    revision: Revision,
) -> Result<(), IndexError> {
    index.reopen()?;
    // Asked of the disk: a commit that failed at the last moment would be fed twice.
    let at = index.committed()?;
    if at >= revision {
        return Ok(());
    }
    feed_after(index, kinds, connection, at)?;
    let purged = purged_rows(connection, &index.reader())?;
    index.remove(&purged)?;
    Ok(index.commit(revision)?)
}

/// Feeds the rows that were created after a revision.
fn feed_after(
    index: &mut TextIndex,
    kinds: &Kinds,
    connection: &Connection,
    after: Revision,
) -> Result<(), IndexError> {
    let mut statement =
        connection.prepare_cached(&format!("{FEED} WHERE i.born > ? ORDER BY i.row"))?;
    let mut lines = statement.query([after.get()])?;
    while feed_row(connection, index, kinds, &mut lines)?.is_some() {}
    Ok(())
}

/// Rows that were fed.
struct FedRows {
    last: Row,
    /// Whether there may be more rows after the last one.
    more: bool,
}

/// Feeds some rows after one.
fn feed_rows(
    connection: &Connection,
    index: &mut TextIndex,
    kinds: &Kinds,
    after: Row,
) -> Result<FedRows, IndexError> {
    let mut statement =
        connection.prepare_cached(&format!("{FEED} WHERE i.row > ? ORDER BY i.row"))?;
    let mut lines = statement.query([after.get()])?;
    let (mut last, mut bytes) = (after, 0);
    for _ in 0..STEP_ROWS {
        let Some((row, fed)) = feed_row(connection, index, kinds, &mut lines)? else {
            return Ok(FedRows { last, more: false });
        };
        (last, bytes) = (row, bytes + fed);
        if bytes >= STEP_BYTES {
            break;
        }
    }
    Ok(FedRows { last, more: true })
}

/// Feeds the next row; returns it with the length of its text.
fn feed_row(
    connection: &Connection,
    index: &mut TextIndex,
    kinds: &Kinds,
    lines: &mut Rows<'_>,
) -> Result<Option<(Row, usize)>, IndexError> {
    let Some(line) = lines.next()? else { return Ok(None) };
    let row: u32 = line.get(0)?;
    let damaged = || IndexError::Truth(ReadError::Damaged { what: format!("row {row}") });
    let text = |column: usize| line.get_ref(column)?.as_str().map_err(|_| damaged());
    let (body, path): (&str, Option<String>) = (text(5)?, line.get(3)?);
    let byline = match line.get::<_, Option<String>>(7)? {
        Some(fields) => {
            let kind = Kind::new(text(6)?).map_err(|_| damaged())?;
            kinds.byline(&kind, &serde_json::from_str(&fields).map_err(|_| damaged())?)
        }
        None => String::new(),
    };
    for piece in chunks_of(connection, Row::new(row))? {
        index.add(&TextDocument {
            row: Row::new(row),
            chunk: piece.chunk,
            tie: tie(text(1)?),
            title: text(2)?,
            path: path.as_deref().unwrap_or(""),
            headings: &heading_text(&piece.headings.ok_or_else(damaged)?, &byline),
            body: body.get(piece.bytes).ok_or_else(damaged)?,
            language: Language::of_code(text(4)?),
        })?;
    }
    Ok(Some((Row::new(row), body.len())))
}

/// The heading text of a chunk: its headings and its item's byline.
pub(super) fn heading_text(headings: &[String], byline: &str) -> String {
    let mut text = headings.join(" ");
    if !byline.is_empty() {
        text.push(' ');
        text.push_str(byline);
    }
    text
}

/// The rows of the text index that SQLite no longer has: a process may have ended between purging
/// them in one and in the other.
fn purged_rows(connection: &Connection, reader: &TextReader) -> Result<Vec<Row>, IndexError> {
    let mut statement = connection.prepare_cached("SELECT row FROM items")?;
    let kept: Bitmap = statement
        .query_map([], |line| line.get(0).map(Row::new))?
        .collect::<rusqlite::Result<_>>()?;
    let gone: BTreeSet<Row> =
        reader.documents().map(|(row, _)| row).filter(|row| !kept.contains(*row)).collect();
    Ok(gone.into_iter().collect())
}
