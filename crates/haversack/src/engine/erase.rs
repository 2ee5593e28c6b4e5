//! Erasing a user from a workspace: their items, events and receipts, their name, and what the caches
//! hold of them. What was erased leaves the files of the store before it returns.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_store::store::change::{BATCH_CHANGES_MAX, Batch, Change};
use haversack_store::store::item::{DocumentKind, Item};
use haversack_store::store::maintenance::UserItems;
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::{Principal, Viewer};
use haversack_store::store::{Snapshot, block_on};
use serde_json::Value;

use super::Workspace;
use crate::error::Error;

/// Names on a page of documents, and items on a page of a list.
const PAGE: usize = 1_000;

/// The most pieces of erased texts that are kept to be looked for.
const PIECES_MAX: usize = 4_096;

/// The length of a piece in bytes: long enough that no other text has it by chance.
const PIECE_BYTES_MIN: usize = 12;
const PIECE_BYTES_MAX: usize = 48;

/// The most holders of a piece that are named.
const HOLDERS_MAX: usize = 10;

/// What erasing a user did in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceErasure {
    /// Items that were erased, because nobody else could read them.
    pub erased: usize,
    /// Items of the user that others can read; they stay without the user's name.
    pub kept: usize,
    /// Receipts that were removed: the user's, and those that name erased items.
    pub receipts: usize,
    /// What could not be removed from the files of the store yet, and why.
    pub left: Vec<String>,
    /// Pieces of the erased texts, to look for them in files.
    pub pieces: BTreeSet<String>,
}

impl Workspace {
    /// Erases a user: see [`Change::EraseUser`] for what becomes of items. Receipts of the user are
    /// removed, and so are those that name erased items. Repeating it is safe. For threads that may
    /// block.
    ///
    /// # Errors
    /// When the name is not valid, or the store cannot be read or written.
    pub fn erase_user(&self, user: &str) -> Result<WorkspaceErasure, Error> {
        let principal =
            Principal::user(user).map_err(|error| Error::invalid("user", error.to_string()))?;
        let store = &*self.0.blocking_store;
        // What packs recorded of the user must not come after the erasure.
        block_on(self.0.outbox.flush(store));
        let items = block_on(store.user_items(user))?;
        let snapshot = block_on(store.snapshot(&Viewer::owner()))?;
        let pieces = pieces_of(&*snapshot, &items)?;
        let receipts = receipts_about(&*snapshot, &principal, &items)?;
        // The snapshot's files can only be removed when nobody reads them.
        drop(snapshot);
        let UserItems { erased, kept } = &items;
        let mut erasure = WorkspaceErasure {
            erased: erased.len(),
            kept: kept.len(),
            receipts: receipts.len(),
            left: Vec::new(),
            pieces,
        };
        let remove = |name: String| Change::RemoveRecord(DocumentKind::Receipt, name);
        let mut changes = vec![Change::EraseUser(user.to_owned())];
        changes.extend(receipts.into_iter().map(remove));
        for changes in changes.chunks(BATCH_CHANGES_MAX) {
            block_on(store.write(Batch::new(self.now(), changes.to_vec())))?;
        }
        self.0.packs.invalidate_matching("");
        self.0.caches.forget();
        erasure.left = block_on(store.expunge(false))?;
        Ok(erasure)
    }

    /// Writes the files of the store anew where they could still hold what was removed before this
    /// version of the program. Returns what is left.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn rewrite_files(&self) -> Result<Vec<String>, Error> {
        Ok(block_on(self.0.blocking_store.expunge(true))?)
    }

    /// The items and documents that hold a text now or in an earlier version, ten at most.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn holders_of(&self, text: &str) -> Result<Vec<String>, Error> {
        let snapshot = block_on(self.0.blocking_store.snapshot(&Viewer::owner()))?;
        let mut holders = Vec::new();
        let mut after = None;
        loop {
            let page = Page { order: ListOrder::Id, after, limit: PAGE };
            let listed = block_on(snapshot.list(&Filter::everything(), &page))?;
            let Some(last) = listed.last() else { break };
            after = Some(last.item.id.clone());
            for stored in &listed {
                let id = &stored.item.id;
                let versions = block_on(snapshot.history(id))?;
                let holds = |author: &Option<String>, item: &Item| {
                    author.as_ref().is_some_and(|author| author.contains(text))
                        || item_holds(item, text)
                };
                if holds(&stored.author, &stored.item)
                    || versions.iter().any(|v| holds(&v.stored.author, &v.stored.item))
                {
                    holders.push(format!("item {id}"));
                }
                if holders.len() >= HOLDERS_MAX {
                    return Ok(holders);
                }
            }
        }
        for document_kind in DocumentKind::ALL {
            each_document(&*snapshot, document_kind, |name, document| {
                if holders.len() < HOLDERS_MAX && (name.contains(text) || document.contains(text)) {
                    holders.push(format!("{} {name}", document_kind.as_str()));
                }
            })?;
        }
        Ok(holders)
    }
}

/// Whether an item holds a text.
fn item_holds(item: &Item, text: &str) -> bool {
    let fields = serde_json::to_string(&item.fields).unwrap_or_default();
    let lines = [item.id.as_str(), &item.title, &item.body, &fields];
    lines.iter().any(|line| line.contains(text))
        || item.path.as_ref().is_some_and(|path| path.contains(text))
        || item.parent.as_ref().is_some_and(|parent| parent.as_str().contains(text))
        || format!("{:?}", item.readers).contains(text)
}

/// Calls a function with the name and text of every document of a kind.
fn each_document(
    snapshot: &dyn Snapshot,
    document_kind: DocumentKind,
    mut visit: impl FnMut(&str, &str),
) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let names = block_on(snapshot.records(document_kind, after.as_deref(), PAGE))?;
        for name in &names {
            if let Some(record) = block_on(snapshot.record(document_kind, name))? {
                visit(name, &record.text);
            }
        }
        match names.into_iter().last() {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

/// Pieces of the texts that will be erased, and that no other item of the user has.
fn pieces_of(snapshot: &dyn Snapshot, items: &UserItems) -> Result<BTreeSet<String>, Error> {
    let mut pieces = BTreeSet::new();
    for id in &items.erased {
        for version in block_on(snapshot.history(id))? {
            for text in [&version.stored.item.title, &version.stored.item.body] {
                add_pieces(text, &mut pieces);
            }
            if pieces.len() >= PIECES_MAX {
                return Ok(pieces);
            }
        }
    }
    Ok(pieces)
}

/// Adds the beginning, the middle and the end of a text.
fn add_pieces(text: &str, pieces: &mut BTreeSet<String>) {
    let text = text.trim();
    for start in [0, text.len() / 2, text.len().saturating_sub(PIECE_BYTES_MAX)] {
        let start = text.ceil_char_boundary(start);
        let end = text.floor_char_boundary(start + PIECE_BYTES_MAX);
        if end - start >= PIECE_BYTES_MIN {
            pieces.insert(text[start..end].to_owned());
        }
    }
}

/// The names of receipts that were made for a user, or that name items to be erased.
fn receipts_about(
    snapshot: &dyn Snapshot,
    user: &Principal,
    items: &UserItems,
) -> Result<Vec<String>, Error> {
    let erased: BTreeSet<&str> = items.erased.iter().map(ItemId::as_str).collect();
    let is_about = |text: &str| {
        let item = text.rsplit_once('#').map_or(text, |(item, _)| item);
        text == user.as_str() || erased.contains(text) || erased.contains(item)
    };
    let mut names = Vec::new();
    each_document(snapshot, DocumentKind::Receipt, |name, text| {
        // One that cannot be read says nothing to anybody, so it goes if it may name the user.
        let is_named = match serde_json::from_str::<Value>(text) {
            Ok(receipt) => {
                let by = receipt.pointer("/request/user").and_then(Value::as_str);
                by.is_some_and(|by| Principal::parse(by).is_ok_and(|by| by == *user))
                    || any_text(&receipt, &is_about)
            }
            Err(_) => text.contains(user.as_str()),
        };
        if is_named {
            names.push(name.to_owned());
        }
    })?;
    Ok(names)
}

/// Whether a text somewhere in a value passes.
fn any_text(value: &Value, passes: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => passes(text),
        Value::Array(values) => values.iter().any(|value| any_text(value, passes)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| passes(name) || any_text(value, passes))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
