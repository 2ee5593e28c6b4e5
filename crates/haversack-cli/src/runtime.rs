//! The one place where a command blocks on asynchronous work.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// Threads of the runtime; the store's blocking work has threads of its own.
const WORKERS: usize = 2;

/// Starts the threads that drive futures.
pub(crate) fn start() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    runtime.context("cannot start the threads of the runtime")
}

/// Runs a future to completion.
pub(crate) fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    start()?.block_on(work)
}

/// Runs a future to completion, and does not wait for threads that still read standard input.
pub(crate) fn wait_without_stdin<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = start()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
