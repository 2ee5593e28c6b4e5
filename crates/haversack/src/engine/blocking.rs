//! Runs work on a blocking thread. A pack is milliseconds of computation with short reads in between;
//! on a blocking thread it neither stalls the runtime nor switches threads for each read.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use haversack_core::cancel::CancelFlag;
use haversack_provider::{AllowanceScope, current_allowances};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

thread_local! {
    /// Whether this thread is running such work.
    static IS_BLOCKING: Cell<bool> = const { Cell::new(false) };
    /// Cancels the work that this thread is running.
    static CANCEL: RefCell<CancelFlag> = RefCell::new(CancelFlag::default());
}

/// The flag that is set when nobody waits for this thread's work any more.
pub(crate) fn current_cancel_flag() -> CancelFlag {
    CANCEL.with_borrow(CancelFlag::clone)
}

/// A place in long work where it ends if nobody waits for it any more.
pub(crate) async fn checkpoint() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sets a flag when it is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Marks this thread as running blocking work until it is dropped, also by a panic.
struct BlockingScope;

impl BlockingScope {
    fn begin(cancel: CancelFlag) -> BlockingScope {
        IS_BLOCKING.set(true);
        CANCEL.set(cancel);
        BlockingScope
    }
}

impl Drop for BlockingScope {
    fn drop(&mut self) {
        IS_BLOCKING.set(false);
        CANCEL.set(CancelFlag::default());
    }
}

/// Runs work on a blocking thread. Dropping the returned future cancels the work at its next await
/// point, and sets [`current_cancel_flag`] for what runs long in between. Nested work stays on its thread, as there may be no other. The caller's allowances of models count there,
/// too.
pub(crate) fn on_blocking_thread<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> BoxFuture<'static, T> {
    if IS_BLOCKING.get() {
        return work.boxed();
    }
    let runtime = Handle::current();
    let (awaited, cancelled) = oneshot::channel::<Infallible>();
    let work = work.in_current_span();
    let allowances = current_allowances();
    let cancel = CancelFlag::default();
    let on_drop = CancelOnDrop(cancel.clone());
    let done = tokio::task::spawn_blocking(move || {
        let _scope = BlockingScope::begin(cancel);
        let _allowances = AllowanceScope::enter(&allowances);
        runtime.block_on(async {
            match select(pin!(work), cancelled).await {
                Either::Left((done, _)) => Some(done),
                Either::Right(_) => None,
            }
        })
    });
    async move {
        let (_awaited, _on_drop) = (awaited, on_drop);
        match done.await {
            Ok(Some(done)) => done,
            Ok(None) => unreachable!("work was cancelled while it was awaited"),
            // The runtime is shutting down, and with it the task that waits here.
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
    async fn dropping_the_future_cancels_the_work() {
        let (ended, end) = oneshot::channel::<()>();
        let work = on_blocking_thread(async move {
            let _ended = ended;
            std::future::pending::<()>().await;
        });
        assert!(tokio::time::timeout(Duration::from_millis(10), work).await.is_err());
        assert!(end.await.is_err(), "the work was dropped, and with it the sender");
    }

    /// Work between two await points looks at the flag.
    #[tokio::test]
    async fn dropping_the_future_sets_the_flag_of_running_work() {
        let (began, has_begun) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        let work = on_blocking_thread(async move {
            began.send(()).unwrap();
            let flag = current_cancel_flag();
            while flag.check().is_ok() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        });
        let task = tokio::spawn(work);
        has_begun.await.unwrap();
        task.abort();
        end.await.expect("the work saw the flag");
    }

    #[tokio::test]
    async fn a_checkpoint_ends_work_that_nobody_waits_for() {
        let (began, has_begun) = oneshot::channel();
        let (ended, end) = oneshot::channel::<()>();
        let work = on_blocking_thread(async move {
            let _ended = ended;
            began.send(()).unwrap();
            loop {
                checkpoint().await;
            }
        });
        let task = tokio::spawn(work);
        has_begun.await.unwrap();
        task.abort();
        assert!(end.await.is_err(), "the work was dropped, and with it the sender");
    }

    #[test]
    fn packs_finish_with_fewer_threads_than_packs() {
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
            assert!(packs.expect("no pack waits for ever").iter().all(Result::is_ok));
            let within = on_blocking_thread(async {
                on_blocking_thread(async { on_blocking_thread(async { 7 }).await }).await
            });
            assert_eq!(within.await, 7);
        });
    }

    #[tokio::test]
    #[should_panic(expected = "as it was")]
    async fn a_panic_reaches_the_caller() {
        on_blocking_thread(async { panic!("as it was") }).await
    }
}
