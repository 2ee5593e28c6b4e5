//! The batches that wait for a workspace's writer, and whose turn it is to use it.
//!
//! The writer has no thread: a caller that finds it free writes for all who wait, and the others
//! sleep until their batch is answered. So an open workspace costs no thread, batches that come
//! while one is committed go into the next commit together, and at most one caller writes at a time.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::text_part::TextWork;
use super::writer::{BatchReply, CommitReply, Writer};
use crate::prepare::PreparedBatch;
use crate::store::error::CommitError;

/// The most batches that wait; further callers block.
const WAITING_MAX: usize = 64;

/// The most changes in one transaction.
const GROUP_CHANGES_MAX: usize = 20_000;

/// How long a text index that cannot be repaired is left alone.
const REPAIR_WAIT: Duration = Duration::from_secs(1);

/// The writer of a workspace, and the batches that wait for it.
#[derive(Debug)]
pub(crate) struct WriterQueue {
    state: Mutex<QueueState>,
    /// The writer was given back or closed.
    freed: Condvar,
    /// A thread repairs the text index.
    repairing: AtomicBool,
    /// For that thread.
    myself: Weak<WriterQueue>,
}

struct QueueState {
    waiting: Vec<(PreparedBatch, CommitReply)>,
    turn: Turn,
}

impl std::fmt::Debug for QueueState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueState").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

/// Who has the writer.
enum Turn {
    Free(Box<Writer>),
    Taken,
    Closed,
}

/// The writer in the hands of a caller. It is given back when this is dropped; after a panic it is
/// closed, because its state is unknown.
struct TakenWriter<'q> {
    queue: &'q WriterQueue,
    writer: Option<Box<Writer>>,
    /// The thread was unwinding already, from a panic that is not the writer's.
    was_panicking: bool,
}

impl Drop for TakenWriter<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let panicked = std::thread::panicking() && !self.was_panicking;
        let (mut needs_repair, mut cleaning) = (false, None);
        match self.writer.take() {
            Some(writer) if panicked => {
                writer.shared.health.set_writer_dead();
                state.close();
            }
            Some(mut writer) => {
                needs_repair = writer.indexes.text_work() != TextWork::None;
                let due = writer.expunging.take_due();
                cleaning = due.map(|after| (Arc::clone(&writer.shared.cleaner), after));
                state.turn = Turn::Free(writer);
            }
            None => state.close(),
        }
        drop(state);
        self.queue.freed.notify_all();
        if needs_repair {
            self.queue.repair_in_background();
        }
        if let Some((cleaner, after)) = cleaning {
            cleaner.schedule(&self.queue.myself, after);
        }
    }
}

impl QueueState {
    /// Takes the writer, if it is free.
    fn take_writer(&mut self) -> Option<Box<Writer>> {
        match mem::replace(&mut self.turn, Turn::Taken) {
            Turn::Free(writer) => Some(writer),
            other => {
                self.turn = other;
                None
            }
        }
    }

    /// Takes as many of the waiting batches as one transaction holds.
    fn take_group(&mut self) -> Vec<(PreparedBatch, CommitReply)> {
        let mut changes = 0;
        let is_in = |(prepared, _): &&(PreparedBatch, CommitReply)| {
            let is_in = changes < GROUP_CHANGES_MAX;
            changes += prepared.batch.changes.len();
            is_in
        };
        let n_taken = self.waiting.iter().take_while(is_in).count();
        self.waiting.drain(..n_taken).collect()
    }

    /// Refuses what waits and all that comes: dropping a reply tells its caller.
    fn close(&mut self) {
        self.turn = Turn::Closed;
        self.waiting.clear();
    }

    fn is_closed(&self) -> bool {
        matches!(self.turn, Turn::Closed)
    }
}

impl WriterQueue {
    pub(crate) fn start(mut writer: Writer) -> Arc<WriterQueue> {
        let cleaning = writer.expunging.take_due();
        let (shared, work) = (Arc::clone(&writer.shared), writer.indexes.text_work());
        let turn = Turn::Free(Box::new(writer));
        let queue = Arc::new_cyclic(|myself| WriterQueue {
            state: Mutex::new(QueueState { waiting: Vec::new(), turn }),
            freed: Condvar::new(),
            repairing: AtomicBool::new(false),
            myself: Weak::clone(myself),
        });
        shared.set_writer(Weak::clone(&queue.myself));
        if let Some(after) = cleaning {
            shared.cleaner.schedule(&queue.myself, after);
        }
        if work != TextWork::None {
            queue.repair_in_background();
        }
        queue
    }

    /// Repairs the text index between other work, on a thread that ends when it is in use again.
    /// Returns whether there is such a thread.
    pub(crate) fn repair_in_background(&self) -> bool {
        if self.repairing.swap(true, Ordering::AcqRel) {
            return true;
        }
        let queue = Weak::clone(&self.myself);
        let repair = move || while queue.upgrade().is_some_and(|queue| queue.repair_step()) {};
        let builder = std::thread::Builder::new().name("haversack-repair".to_owned());
        let is_started = builder.spawn(repair).is_ok();
        if !is_started {
            // Then the next write repairs it, on its own thread.
            self.repairing.store(false, Ordering::Release);
        }
        is_started
    }

    /// Examines or repairs the text index, or a part of it. Returns whether there is more to do.
    fn repair_step(&self) -> bool {
        let done = self.call(|writer| {
            if writer.shared.is_text_suspected() {
                writer.examine_text();
            } else {
                writer.repair_text();
            }
            let work = writer.indexes.text_work();
            if work == TextWork::None {
                // While nobody else has the writer: whoever finds more to do starts a new thread.
                self.repairing.store(false, Ordering::Release);
            }
            (work, Arc::clone(&writer.shared))
        });
        match done {
            Ok((TextWork::Step, _)) => true,
            Ok((TextWork::Retry, _)) => {
                self.wait_for_retry();
                true
            }
            // A reader may have suspected it after it was looked at.
            Ok((TextWork::None, shared)) => {
                shared.is_text_suspected() && !self.repairing.swap(true, Ordering::AcqRel)
            }
            Err(_) => false,
        }
    }

    /// Waits a while, unless the writer is closed meanwhile.
    fn wait_for_retry(&self) {
        let is_open = |state: &mut QueueState| !state.is_closed();
        let waited = self.freed.wait_timeout_while(self.lock(), REPAIR_WAIT, is_open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Removes a part of what removals left in files. Returns after which time to go on, if anything is
    /// left.
    pub(crate) fn clean_step(&self) -> Option<Duration> {
        self.call(|writer| writer.expunge_step().next()).ok().flatten()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // The state is consistent after every statement, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&'q self, state: MutexGuard<'q, QueueState>) -> MutexGuard<'q, QueueState> {
        self.freed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, writer: Box<Writer>) -> TakenWriter<'_> {
        let was_panicking = std::thread::panicking();
        TakenWriter { queue: self, writer: Some(writer), was_panicking }
    }

    /// Writes a batch, alone or with others, on this thread or on that of another caller.
    pub(crate) fn write(&self, prepared: PreparedBatch) -> Result<BatchReply, CommitError> {
        let (reply, answer) = sync_channel(1);
        let mut state = self.lock();
        while state.waiting.len() >= WAITING_MAX {
            state = match state.take_writer() {
                Some(writer) => self.write_waiting(writer, state),
                None => self.wait(state),
            };
        }
        if state.is_closed() {
            return Err(writer_stopped());
        }
        state.waiting.push((prepared, reply));
        loop {
            match answer.try_recv() {
                Ok(reply) => return Ok(reply),
                Err(TryRecvError::Disconnected) => return Err(writer_stopped()),
                Err(TryRecvError::Empty) => {}
            }
            state = match state.take_writer() {
                Some(writer) => self.write_waiting(writer, state),
                None => self.wait(state),
            };
        }
    }

    /// Writes the next group of waiting batches.
    fn write_waiting<'q>(
        &'q self,
        writer: Box<Writer>,
        mut state: MutexGuard<'q, QueueState>,
    ) -> MutexGuard<'q, QueueState> {
        let group = state.take_group();
        drop(state);
        let mut taken = self.hold(writer);
        if let Some(writer) = &mut taken.writer {
            writer.write_group(group);
        }
        drop(taken);
        self.lock()
    }

    /// Runs work on the writer between two groups of batches.
    pub(crate) fn call<T>(&self, work: impl FnOnce(&mut Writer) -> T) -> Result<T, CommitError> {
        let mut state = self.lock();
        let writer = loop {
            match state.take_writer() {
                Some(writer) => break writer,
                None if state.is_closed() => return Err(writer_stopped()),
                None => state = self.wait(state),
            }
        };
        drop(state);
        let mut taken = self.hold(writer);
        taken.writer.as_deref_mut().map(work).ok_or_else(writer_stopped)
    }

    /// Whether a batch waits, somebody has the writer, or its indexes have something to finish.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.lock();
        match &state.turn {
            Turn::Free(writer) => {
                !state.waiting.is_empty()
                    || writer.indexes.is_busy()
                    || writer.expunging.is_urgent()
            }
            Turn::Taken => true,
            Turn::Closed => false,
        }
    }

    /// Writes what waits, then closes the writer and refuses further batches.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        let writer = loop {
            state = match state.take_writer() {
                Some(writer) if state.waiting.is_empty() => break writer,
                Some(writer) => self.write_waiting(writer, state),
                None if state.is_closed() => return,
                None => self.wait(state),
            };
        };
        drop(state);
        // Others wait until it is on disk, and then find it closed.
        let mut taken = self.hold(writer);
        if let Some(writer) = taken.writer.take() {
            writer.shut_down();
        }
    }
}

fn writer_stopped() -> CommitError {
    CommitError::Stopped { cause: "the writer has ended".into() }
}
