//! Replicas: the store of a node that follows a shared journal.
//!
//! A transaction of the writer becomes an entry of the journal before it is committed here: the writer
//! locks the head, catches up, writes, appends, and then commits its own. So a replica is never ahead.
//! What died in between is decided by the journal: a replica that lacks an entry reads it.

mod attach;
mod bytes;
mod engine;
mod entry;
mod follow;
mod link;
mod moving;
mod residents;
mod snapshot;
mod tables;
mod token;

pub(crate) use attach::{Attached, attach, is_marked, journal_error, read_state, remove_replica};
pub(crate) use follow::{AppendError, FollowError, LockedHead, Replica};
pub(crate) use link::{JournalLink, Look, ReplicaState};
pub(crate) use moving::{begin_import, detach};
pub(crate) use residents::{Residents, note_use};
pub(crate) use snapshot::INCOMING_PREFIX;
