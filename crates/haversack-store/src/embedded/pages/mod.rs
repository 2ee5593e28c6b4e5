//! Checksums of the pages of an SQLite file.
//!
//! SQLite notices damage only where it breaks a structure; a changed letter, number or pointer into
//! the wrong row is read as if it had been written. So every page ends with a checksum over its
//! content and its number, in bytes that SQLite reserves for this. It is written when SQLite writes
//! a page to the file, and verified when SQLite reads one: a damaged page is an error, whatever
//! table or index it belongs to. Frames of the log carry SQLite's own checksums, which SQLite
//! verifies only after a crash; here they are verified with every read.
//!
//! Nothing is mapped into memory: a file that somebody truncates is an error, not the end of the
//! process.

mod log;
mod scrub;
mod vfs;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

pub(crate) use self::log::{LogTail, inspect_log};

/// The bytes at the end of a page that SQLite leaves alone.
pub(crate) const RESERVED_BYTES: u8 = 8;

/// The end of a page with a checksum. No text ends like this.
const TAG: [u8; 4] = [0xf4, b'h', 0x01, 0xc5];

/// The sizes of a page that SQLite knows.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 512..=65_536;

/// Where the number of reserved bytes stands in the first page.
const RESERVED_AT: usize = 20;

thread_local! {
    /// The damage that the last failed read of this thread met. SQLite has no place for it in its
    /// error.
    static DAMAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The damage that the last failed read of this thread met, once.
pub(crate) fn take_damage() -> Option<String> {
    DAMAGE.with(|damage| damage.borrow_mut().take())
}

fn record_damage(what: String) {
    DAMAGE.with(|damage| *damage.borrow_mut() = Some(what));
}

/// Opens an SQLite file whose pages have checksums, or one that has none yet. A new file gets
/// them if [`reserve`] is called before anything is written.
pub(crate) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let name = vfs::register()?;
    Connection::open_with_flags_and_vfs(path, flags, name)
}

/// Reserves room for checksums: in a new file at once, in an existing one for its copy by
/// `VACUUM INTO`.
pub(crate) fn reserve(connection: &Connection) -> rusqlite::Result<()> {
    vfs::reserve_bytes(connection, Some(RESERVED_BYTES)).map(drop)
}

/// Whether the pages of an open file have checksums.
pub(crate) fn have_checksums(connection: &Connection) -> rusqlite::Result<bool> {
    // Read by SQLite with the first page, which a new connection has not looked at yet.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(vfs::reserve_bytes(connection, None)? == RESERVED_BYTES)
}

/// What the beginning of a file says about its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageFormat {
    /// Nothing is written yet; whoever writes first has reserved room.
    New,
    /// Pages of this size end with a checksum.
    Checked(usize),
    /// Pages have no checksums.
    Plain,
}

impl PageFormat {
    /// Recognises a file by its beginning. A file counts as having checksums if either the header
    /// or the end of the first page says so, so that damage to one of them is noticed.
    fn detect(beginning: &[u8]) -> PageFormat {
        if beginning.is_empty() {
            return PageFormat::New;
        }
        let Some(size) = page_size(beginning) else { return PageFormat::Plain };
        let tagged = beginning.get(size - TAG.len()..size) == Some(&TAG);
        if tagged || beginning[RESERVED_AT] == RESERVED_BYTES {
            PageFormat::Checked(size)
        } else {
            PageFormat::Plain
        }
    }
}

/// The size of pages by the header of a file, if it is one that SQLite knows.
fn page_size(header: &[u8]) -> Option<usize> {
    let size = match u16::from_be_bytes(*header.get(16..)?.first_chunk()?) {
        // The largest size does not fit into the field.
        1 => 65_536,
        size => usize::from(size),
    };
    (header.len() > RESERVED_AT && is_page_size(size)).then_some(size)
}

fn is_page_size(size: usize) -> bool {
    PAGE_SIZES.contains(&size) && size.is_power_of_two()
}

/// Writes the checksum of a page, numbered from 0, into its end.
fn stamp(page: &mut [u8], number: u64) {
    let content = page.len() - usize::from(RESERVED_BYTES);
    let checksum = checksum(&page[..content], number);
    page[content..content + 4].copy_from_slice(&checksum.to_le_bytes());
    page[content + 4..].copy_from_slice(&TAG);
}

/// Whether a page, numbered from 0, ends with its checksum.
fn is_intact(page: &[u8], number: u64) -> bool {
    let (content, end) = page.split_at(page.len() - usize::from(RESERVED_BYTES));
    end[4..] == TAG && end[..4] == checksum(content, number).to_le_bytes()
}

/// The number is part of it, so that a page in the place of another is noticed.
fn checksum(content: &[u8], number: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(content);
    hasher.update(&number.to_le_bytes());
    hasher.finalize()
}
