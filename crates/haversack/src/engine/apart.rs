//! Work on a thread that may block: a pack is milliseconds of computing with short reads in between,
//! and on a thread of its own it neither holds up others nor goes to another thread for each read.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::pin;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

thread_local! {
    /// Whether this is such a thread.
    static APART: Cell<bool> = const { Cell::new(false) };
}

/// Work on this thread, until it goes, by a panic or not.
struct Within;

impl Within {
    fn begin() -> Within {
        APART.set(true);
        Within
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        APART.set(false);
    }
}

/// Starts work, which runs to its end or until nobody waits for it any more: then it ends where it
/// next waits. Work within work stays on its thread, as there may be no other.
pub(crate) fn apart<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> BoxFuture<'static, T> {
    if APART.get() {
        return work.boxed();
    }
    let runtime = Handle::current();
    let (awaited, given_up) = oneshot::channel::<Infallible>();
    let work = work.in_current_span();
    let done = tokio::task::spawn_blocking(move || {
        let _within = Within::begin();
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
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haversack_core::ids::ItemId;
    use haversack_core::item::Kind;
    use haversack_store::store::item::Item;

    use super::*;
    use crate::engine::Engine;
    use crate::request::Request;

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

    #[test]
    fn packs_get_by_with_the_threads_there_are() {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).max_blocking_threads(2).enable_time().build();
        let folder = tempfile::tempdir().unwrap();
        runtime.unwrap().block_on(async {
            let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
            let id = ItemId::new("m1").unwrap();
            let item = Item::new(id, Kind::new("memory").unwrap(), "The ladder is in the cellar.");
            workspace.put(vec![item]).await.unwrap();
            let packs = (0..16).map(|_| workspace.pack(Request::new("memory", "ladder")));
            let packs = futures_util::future::join_all(packs);
            let packs = tokio::time::timeout(Duration::from_mins(1), packs).await;
            assert!(packs.expect("none waits for ever").iter().all(Result::is_ok));
            let within = apart(async { apart(async { apart(async { 7 }).await }).await });
            assert_eq!(within.await, 7);
        });
    }

    #[tokio::test]
    #[should_panic(expected = "as it was")]
    async fn a_panic_goes_through() {
        apart(async { panic!("as it was") }).await
    }
}
