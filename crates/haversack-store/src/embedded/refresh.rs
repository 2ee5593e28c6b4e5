//! Bringing an older store up to date: what ranking needs of each chunk, and what questions ask of
//! each item's fields, is made anew when another version made it, or none did.

use haversack_core::embed::TextFeatures;
use haversack_core::item::Kind;
use haversack_core::text::tokenizer::Encoding;
use rusqlite::{Connection, params};

use super::records::lookup::chunks_of;
use super::records::usage;
use super::records::write::write_facts;
use super::row::Row;
use crate::kinds::{Fields, Kinds};
use crate::store::maintenance::Progress;

/// The version of what is made of items' fields.
const FACTS_VERSION: u32 = 2;

/// Chunks that are written in one transaction, but for the last item's.
const CHUNKS_AT_ONCE: usize = 4_000;

/// A chunk whose features are to be made.
struct Stale {
    row: Row,
    chunk: u32,
    text: String,
}

/// Makes the features of all chunks, unless the present version made them already. A run that was
/// interrupted begins anew; meanwhile texts are read when they are found.
pub(super) fn refresh(
    connection: &mut Connection,
    kinds: &Kinds,
    mut progress: impl FnMut(Progress),
) -> rusqlite::Result<()> {
    let version = format!("{} {FACTS_VERSION} {}", TextFeatures::version(), kinds.fingerprint());
    if usage::features_version(connection)?.as_deref() == Some(&*version) {
        return Ok(());
    }
    let total: u64 = connection.query_row("SELECT count(*) FROM items", [], |line| line.get(0))?;
    let mut done = 0;
    let mut last = Row::new(0);
    while done < total {
        let (stale, rows) = next(connection, &mut last)?;
        if rows.is_empty() {
            break;
        }
        let made = make(&stale);
        let transaction = connection.transaction()?;
        {
            let mut forget = transaction.prepare_cached("DELETE FROM facts WHERE row = ?")?;
            for (row, kind, fields, author) in &rows {
                forget.execute([row.get()])?;
                let facts = kinds.facts(kind, fields);
                write_facts(&transaction, *row, facts, author.as_deref())?;
            }
            let mut statement = transaction
                .prepare_cached("UPDATE chunks SET features = ? WHERE row = ? AND chunk = ?")?;
            for (stale, features) in stale.iter().zip(made) {
                statement.execute(params![features, stale.row.get(), stale.chunk])?;
            }
        }
        transaction.commit()?;
        done += rows.len() as u64;
        progress(Progress { done, total });
    }
    usage::set_features_version(connection, &version)
}

/// A row, the kind and the fields of its item, and who wrote it.
type Described = (Row, Kind, Fields, Option<String>);

/// The next rows, and their chunks.
fn next(connection: &Connection, last: &mut Row) -> rusqlite::Result<(Vec<Stale>, Vec<Described>)> {
    let mut statement = connection.prepare_cached(
        "SELECT row, coalesce(text, body), fields, author, kind FROM items WHERE row > ? ORDER BY row",
    )?;
    let mut lines = statement.query([last.get()])?;
    let (mut stale, mut rows) = (Vec::new(), Vec::new());
    while stale.len() < CHUNKS_AT_ONCE
        && let Some(line) = lines.next()?
    {
        *last = Row::new(line.get(0)?);
        // What a damaged table says is left for `check` to find.
        let fields = line.get_ref(2)?.as_str_or_null()?.map(serde_json::from_str);
        let fields = fields.and_then(Result::ok).unwrap_or_default();
        if let Ok(kind) = Kind::new(line.get_ref(4)?.as_str()?) {
            rows.push((*last, kind, fields, line.get(3)?));
        }
        let text = line.get_ref(1)?.as_str()?;
        for piece in chunks_of(connection, *last)? {
            let Some(text) = text.get(piece.bytes) else { continue };
            stale.push(Stale { row: *last, chunk: piece.chunk, text: text.to_owned() });
        }
    }
    Ok((stale, rows))
}

/// The features of texts, made by all processors.
fn make(stale: &[Stale]) -> Vec<Vec<u8>> {
    let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let features = |stale: &Stale| TextFeatures::new(&stale.text, &Encoding::O200k).to_bytes();
    std::thread::scope(|scope| {
        let parts = stale.chunks(stale.len().div_ceil(n_threads).max(1));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(features).collect::<Vec<_>>()))
            .collect();
        let made = threads.into_iter().map(|thread| match thread.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        made.flatten().collect()
    })
}
