//! File descriptors: whether there are enough for what begins.
//!
//! Where they run out in the middle of a write, SQLite's files or those of the text index cannot be
//! opened, and the writer has to stop. So an opening and a write first look whether there are enough
//! for them and for all others that have begun.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::store::error::TooManyFiles;

/// Descriptors that opening a workspace needs at most, those that it keeps included.
const TO_OPEN: usize = 24;

/// Descriptors that an opening leaves for writes: workspaces that are just open do not use up what
/// others need.
const LEFT_BY_OPENING: usize = 4 * TO_WRITE;

/// Descriptors that writing a group of batches needs at most: the files of a segment and its merge,
/// of a vector segment, of SQLite's log.
const TO_WRITE: usize = 16;

/// Descriptors that an open workspace holds: the records, their log and its index, the lock of the
/// text index, and two for each of its readers' connections.
pub const PER_WORKSPACE: usize = 8;

/// Descriptors of all reservations.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// A number of descriptors that were free when something began.
#[derive(Debug)]
pub(crate) struct Reservation(usize);

impl Drop for Reservation {
    fn drop(&mut self) {
        RESERVED.fetch_sub(self.0, Ordering::AcqRel);
    }
}

/// Reserves what opening a workspace needs.
pub(crate) fn reserve_to_open() -> Result<Reservation, TooManyFiles> {
    reserve(TO_OPEN, LEFT_BY_OPENING)
}

/// Reserves what writing a group of batches needs.
pub(crate) fn reserve_to_write() -> Result<Reservation, TooManyFiles> {
    reserve(TO_WRITE, 0)
}

/// Checks that so many descriptors are free, beside those that others have reserved and some more.
fn reserve(wanted: usize, beside: usize) -> Result<Reservation, TooManyFiles> {
    let reserved = RESERVED.fetch_add(wanted, Ordering::AcqRel) + wanted;
    // Given back on failure, too.
    let reservation = Reservation(wanted);
    if are_free(reserved + beside) { Ok(reservation) } else { Err(too_many()) }
}

fn too_many() -> TooManyFiles {
    TooManyFiles { limit: limit() }
}

/// The error for a file that cannot be opened because no descriptor is free, if that is why.
pub(crate) fn why_not_opened() -> Option<TooManyFiles> {
    (!are_free(1)).then(too_many)
}

/// Whether a workspace can be written now.
#[must_use]
pub fn suffice() -> bool {
    reserve_to_write().is_ok()
}

/// Takes so many descriptors for a moment: exact on every system, and cheaper than counting them.
#[cfg(unix)]
fn are_free(wanted: usize) -> bool {
    let Ok(null) = std::fs::File::open("/dev/null") else { return false };
    let mut taken = Vec::with_capacity(wanted);
    for _ in 1..wanted {
        match null.try_clone() {
            Ok(one) => taken.push(one),
            Err(_) => return false,
        }
    }
    true
}

#[cfg(not(unix))]
fn are_free(_: usize) -> bool {
    true
}

/// The descriptors that this process may have; `None` where there is no limit.
#[cfg(unix)]
#[must_use]
pub fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
#[must_use]
pub fn limit() -> Option<u64> {
    None
}

/// Raises the limit of this process as far as it may without further rights.
#[cfg(unix)]
pub fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut wanted = getrlimit(Resource::Nofile);
    wanted.current = wanted.maximum;
    // A system may have a lower bound of its own; then the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, wanted);
}

/// There is no limit to raise.
#[cfg(not(unix))]
pub fn raise_limit() {}
