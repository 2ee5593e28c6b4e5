//! Work on a thread that may block: a pack is milliseconds of computing with short reads in between,
//! and on a thread of its own it neither holds up others nor goes to another thread for each read.

use std::convert::Infallible;
use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

/// Starts work, which runs to its end or until nobody waits for it any more: then it ends where it
/// next waits.
pub(super) fn apart<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = T> + Send {
    let runtime = Handle::current();
    let (awaited, given_up) = oneshot::channel::<Infallible>();
    let work = work.in_current_span();
    let done = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            match select(pin!(work), given_up).await {
                Either::Left((done, _)) => Some(done),
                Either::Right(_) => None,
            }
        })
    });
    async move {
        let _awaited = awaited;
        match done.await {
            Ok(Some(done)) => done,
            Ok(None) => unreachable!("work was given up while it was awaited"),
            // The runtime is going down, and with it whoever waits here.
            Err(error) if error.is_cancelled() => std::future::pending().await,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_nobody_waits_for_ends() {
        let (ended, end) = oneshot::channel::<()>();
        let work = apart(async move {
            let _ended = ended;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(Duration::from_millis(10), work).await.is_err());
        assert!(end.await.is_err(), "the work was dropped, and with it the sender");
    }

    #[tokio::test]
    #[should_panic(expected = "as it was")]
    async fn a_panic_goes_through() {
        apart(async { panic!("as it was") }).await
    }
}
