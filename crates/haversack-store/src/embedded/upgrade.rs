//! Upgrade of an older store: recomputes the text features of chunks and the facts of items, if
//! another version computed them or none did.

use haversack_core::embed::TextFeatures;
use haversack_core::item::Kind;
use haversack_core::text::tokenizer::Encoding;
use rusqlite::{Connection, params};

use super::records::lookup::chunks_of;
use super::records::usage;
use super::records::write::write_facts;
use super::row::Row;
use crate::kinds::{Fields, Kinds};
use crate::store::maintenance::MaintenanceProgress;

/// The version of the facts that are extracted from items' fields.
const FACTS_VERSION: u32 = 2;

/// Chunks that are written in one transaction; the last item's chunks may exceed it.
const CHUNKS_AT_ONCE: usize = 4_000;

/// A chunk whose features have to be recomputed.
struct StaleChunk {
    row: Row,
    chunk: u32,
    text: String,
}

/// Recomputes the features of all chunks and the facts of all items, unless this version already
/// did. A run that was interrupted starts over. Until it has finished, features are computed when a
/// chunk is found.
pub(super) fn recompute_derived(
    connection: &mut Connection,
    kinds: &Kinds,
    mut progress: impl FnMut(MaintenanceProgress),
) -> rusqlite::Result<()> {
    let version = format!("{} {FACTS_VERSION} {}", TextFeatures::version(), kinds.fingerprint());
    if usage::features_version(connection)?.as_deref() == Some(&*version) {
        return Ok(());
    }
    let total: u64 = connection.query_row("SELECT count(*) FROM items", [], |line| line.get(0))?;
    let mut done = 0;
    let mut last = Row::new(0);
    while done < total {
        let (stale, rows) = read_next_rows(connection, &mut last)?;
        if rows.is_empty() {
            break;
        }
        let features = compute_features(&stale);
        let transaction = connection.transaction()?;
        {
            let mut delete_facts = transaction.prepare_cached("DELETE FROM facts WHERE row = ?")?;
            for (row, kind, fields, author) in &rows {
                delete_facts.execute([row.get()])?;
                let facts = kinds.facts(kind, fields);
                write_facts(&transaction, *row, facts, author.as_deref())?;
            }
            let mut statement = transaction
                .prepare_cached("UPDATE chunks SET features = ? WHERE row = ? AND chunk = ?")?;
            for (stale, features) in stale.iter().zip(features) {
                statement.execute(params![features, stale.row.get(), stale.chunk])?;
            }
        }
        transaction.commit()?;
        done += rows.len() as u64;
        progress(MaintenanceProgress { done, total });
    }
    usage::set_features_version(connection, &version)
}

/// A row with the kind, fields and author of its item.
type ItemRow = (Row, Kind, Fields, Option<String>);

/// The next rows, and their chunks.
fn read_next_rows(
    connection: &Connection,
    last: &mut Row,
) -> rusqlite::Result<(Vec<StaleChunk>, Vec<ItemRow>)> {
    let mut statement = connection.prepare_cached(
        "SELECT row, coalesce(text, body), fields, author, kind FROM items WHERE row > ? ORDER BY row",
    )?;
    let mut lines = statement.query([last.get()])?;
    let (mut stale, mut rows) = (Vec::new(), Vec::new());
    while stale.len() < CHUNKS_AT_ONCE
        && let Some(line) = lines.next()?
    {
        *last = Row::new(line.get(0)?);
        // Damaged values are skipped; `check` reports them.
        let fields = line.get_ref(2)?.as_str_or_null()?.map(serde_json::from_str);
        let fields = fields.and_then(Result::ok).unwrap_or_default();
        if let Ok(kind) = Kind::new(line.get_ref(4)?.as_str()?) {
            rows.push((*last, kind, fields, line.get(3)?));
        }
        let text = line.get_ref(1)?.as_str()?;
        for piece in chunks_of(connection, *last)? {
            let Some(text) = text.get(piece.bytes) else { continue };
            stale.push(StaleChunk { row: *last, chunk: piece.chunk, text: text.to_owned() });
        }
    }
    Ok((stale, rows))
}

/// Computes the features of chunks on all processors.
fn compute_features(stale: &[StaleChunk]) -> Vec<Vec<u8>> {
    let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let features = |stale: &StaleChunk| TextFeatures::new(&stale.text, &Encoding::O200k).to_bytes();
    std::thread::scope(|scope| {
        let parts = stale.chunks(stale.len().div_ceil(n_threads).max(1));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(features).collect::<Vec<_>>()))
            .collect();
        let computed = threads.into_iter().map(|thread| match thread.join() {
            Ok(features) => features,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        computed.flatten().collect()
    })
}
