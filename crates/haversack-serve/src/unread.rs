//! Bounds the answers that clients have not read yet, over all connections together. When they are too
//! much, the connection that has waited longest for its client is cut.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::guard::Busy;

/// All answers that wait for their clients.
#[derive(Debug)]
pub(crate) struct UnreadAnswers {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: usize,
    next: u64,
    answers: BTreeMap<u64, WaitingAnswer>,
}

#[derive(Debug)]
struct WaitingAnswer {
    bytes: usize,
    /// When the client last took a part of it.
    since: Instant,
    connection: Busy,
}

/// One answer that waits for its client. Dropping it gives its bytes back.
#[derive(Debug)]
pub(crate) struct UnreadAnswer {
    answers: Arc<UnreadAnswers>,
    id: u64,
}

impl UnreadAnswers {
    pub(crate) fn new(most: usize) -> Arc<UnreadAnswers> {
        Arc::new(UnreadAnswers { most, waiting: Mutex::default() })
    }

    /// Begins to count the answer of a connection.
    pub(crate) fn begin(self: &Arc<UnreadAnswers>, connection: &Busy) -> UnreadAnswer {
        let mut waiting = self.lock();
        let id = waiting.next;
        waiting.next += 1;
        let connection = connection.clone();
        waiting.answers.insert(id, WaitingAnswer { bytes: 0, since: Instant::now(), connection });
        UnreadAnswer { answers: Arc::clone(self), id }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnreadAnswer {
    /// Sets how many bytes wait. The client has just taken a part of them, or the first ones come.
    pub(crate) fn set(&self, bytes: usize) {
        let mut waiting = self.answers.lock();
        let waiting = &mut *waiting;
        // It is not there when it was cut.
        let Some(answer) = waiting.answers.get_mut(&self.id) else { return };
        waiting.bytes = waiting.bytes - answer.bytes + bytes;
        (answer.bytes, answer.since) = (bytes, Instant::now());
        while waiting.bytes > self.answers.most {
            let others =
                waiting.answers.iter().filter(|(id, answer)| **id != self.id && answer.bytes > 0);
            let Some(slowest) = others.min_by_key(|(id, answer)| (answer.since, **id)) else {
                return;
            };
            let slowest = *slowest.0;
            let Some(cut) = waiting.answers.remove(&slowest) else { return };
            waiting.bytes -= cut.bytes;
            cut.connection.cut();
            tracing::warn!(
                target: "haversack",
                unreadBytes = cut.bytes,
                waitedMs = cut.since.elapsed().as_secs_f64() * 1_000.0,
                limitBytes = self.answers.most,
                "cut a connection: clients leave more unread than limits.unread_bytes, and it was \
                 the slowest"
            );
        }
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        let mut waiting = self.answers.lock();
        if let Some(answer) = waiting.answers.remove(&self.id) {
            waiting.bytes -= answer.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_slowest_answers_are_cut_until_the_rest_fits() {
        let answers = UnreadAnswers::new(100);
        let connections: Vec<Busy> = (0..4).map(|_| Busy::default()).collect();
        let begin = |n: usize| answers.begin(&connections[n]);
        let waiting = [begin(0), begin(1), begin(2)];
        for answer in &waiting {
            answer.set(30);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        waiting[0].set(25);
        let is_cut = || connections.iter().map(Busy::is_cut).collect::<Vec<_>>();
        assert_eq!(is_cut(), [false; 4], "85 bytes wait");
        let last = begin(3);
        last.set(60);
        assert_eq!(is_cut(), [false, true, true, false], "the first one reads");
        assert_eq!(answers.lock().bytes, 85);
        last.set(1_000);
        assert_eq!(is_cut(), [true, true, true, false], "one alone may be as long as it is");
        drop((waiting, last));
        let waiting = answers.lock();
        assert_eq!((waiting.bytes, waiting.answers.len()), (0, 0));
    }
}
