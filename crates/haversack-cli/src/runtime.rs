//! The one place where a command waits for the engine, whose answers come asynchronously.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::Builder;

/// Threads that drive answers; the store's blocking work has threads of its own.
const WORKERS: usize = 2;

/// Waits for an answer.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    runtime.context("cannot start the threads that wait for answers")?.block_on(work)
}

/// Waits for an answer, and for nothing else: what still reads from standard input is left alone.
pub(crate) fn wait_alone<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.context("cannot start the threads that wait for answers")?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
