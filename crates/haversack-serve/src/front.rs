//! The front thread: accepts all connections, and answers health checks itself, so that nothing that
//! requests do can hold them up. Every other connection goes to the server's own threads as soon as its
//! first bytes show that it is no health check.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::config::connections_max;
use crate::router::Peer;
use crate::server::{Connections, serve};
use crate::state::SharedState;

/// Response when the connection limit is reached, sent without reading the request.
const LIMIT_REACHED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                      Connection: close\r\n\r\n";

/// Pause after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Pause before the first bytes of a request are looked at again, when they do not decide yet.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// How health checks begin. A character that ends the path must follow.
const HEALTH_CHECKS: [&[u8]; 3] = [b"GET /livez", b"GET /readyz", b"GET /healthz"];

/// Bytes that decide what a request is: the longest beginning, and what follows it.
const DECIDING_BYTES: usize = 13;

/// Connections that wait for the server's threads.
const HANDED_OVER_MAX: usize = 64;

/// Counts a connection until it is dropped.
pub(crate) struct ConnectionPermit {
    state: SharedState,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPermit {
    fn new(state: &SharedState, permit: OwnedSemaphorePermit) -> ConnectionPermit {
        state.metrics.connections.inc();
        ConnectionPermit { state: Arc::clone(state), _permit: permit }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.state.metrics.connections.dec();
    }
}

/// An accepted connection that is not a health check, on no runtime.
pub(crate) struct AcceptedConnection {
    pub(crate) stream: std::net::TcpStream,
    pub(crate) peer: Peer,
    pub(crate) permit: ConnectionPermit,
}

/// The running front thread.
pub(crate) struct Front {
    pub(crate) accepted: mpsc::Receiver<AcceptedConnection>,
    stage: watch::Sender<Stage>,
    thread: Option<JoinHandle<()>>,
}

/// How far the server is in shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Serving,
    /// New requests are refused; connections that have not sent one are closed.
    Stopping,
    Stopped,
}

impl Front {
    /// Starts the thread. It accepts until [`Front::stop`].
    ///
    /// # Errors
    /// When the system gives no thread or no runtime.
    pub(crate) fn start(listener: TcpListener, connections: Connections) -> io::Result<Front> {
        let listener = listener.into_std()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, accepted) = mpsc::channel(HANDED_OVER_MAX);
        let (stage, stages) = watch::channel(Stage::Serving);
        let limit = connections_max(&connections.state.config.limits);
        let acceptor = Acceptor {
            connections,
            permits: Arc::new(Semaphore::new(limit)),
            sender,
            stages: stages.clone(),
        };
        let run = move || {
            runtime.block_on(async move {
                let listener = match TcpListener::from_std(listener) {
                    Ok(listener) => listener,
                    Err(error) => {
                        tracing::error!(target: "haversack", %error, "cannot accept connections");
                        return;
                    }
                };
                let mut stages = stages;
                tokio::select! {
                    () = acceptor.accept_all(&listener) => {}
                    _ = stages.wait_for(|stage| *stage == Stage::Stopped) => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("haversack-front".to_owned()).spawn(run)?;
        Ok(Front { accepted, stage, thread: Some(thread) })
    }

    /// Closes connections that have not sent a request. New ones are still accepted, to be refused.
    pub(crate) fn begin_stop(&self) {
        self.stage.send_replace(Stage::Stopping);
    }

    /// Ends the thread and waits for it.
    pub(crate) async fn stop(mut self) {
        self.stage.send_replace(Stage::Stopped);
        self.accepted.close();
        let Some(thread) = self.thread.take() else { return };
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!(target: "haversack", "the front thread failed");
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // A server that is dropped while it runs stops listening, too.
        self.stage.send_replace(Stage::Stopped);
    }
}

/// What the first bytes of a connection say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstBytes {
    HealthCheck,
    Other,
    /// They do not decide yet.
    Undecided,
}

impl FirstBytes {
    fn of(bytes: &[u8]) -> FirstBytes {
        let mut found = FirstBytes::Other;
        for start in HEALTH_CHECKS {
            match bytes.strip_prefix(start) {
                Some([b' ' | b'?', ..]) => return FirstBytes::HealthCheck,
                Some([]) => found = FirstBytes::Undecided,
                None if start.starts_with(bytes) => found = FirstBytes::Undecided,
                _ => {}
            }
        }
        found
    }
}

/// Accepts connections within the limit.
#[derive(Clone)]
struct Acceptor {
    connections: Connections,
    permits: Arc<Semaphore>,
    sender: mpsc::Sender<AcceptedConnection>,
    stages: watch::Receiver<Stage>,
}

impl Acceptor {
    async fn accept_all(&self, listener: &TcpListener) {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok((stream, address)) => (stream, Peer(address.ip())),
                Err(error) => {
                    // Out of file handles, most likely: others will close.
                    tracing::warn!(target: "haversack", %error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            match Arc::clone(&self.permits).try_acquire_owned() {
                Ok(permit) => {
                    let acceptor = self.clone();
                    let permit = ConnectionPermit::new(&self.connections.state, permit);
                    tokio::spawn(async move { acceptor.dispatch(stream, peer, permit).await });
                }
                Err(_) => drop(stream.try_write(LIMIT_REACHED)),
            }
        }
    }

    /// Answers a health check, or hands the connection over.
    async fn dispatch(mut self, stream: TcpStream, peer: Peer, permit: ConnectionPermit) {
        let first = {
            // Those that come during shutdown are refused, not closed.
            let is_serving = *self.stages.borrow_and_update() == Stage::Serving;
            let look = self.look(&stream);
            let stopping = async {
                if !is_serving || self.stages.clone().changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                first = look => first,
                () = stopping => return,
            }
        };
        match first {
            // One request a connection: the next one may be something else.
            Some(FirstBytes::HealthCheck) => {
                serve(self.connections.connect(stream, peer, false), permit).await;
            }
            Some(_) => match stream.into_std() {
                // During shutdown nobody may take it any more.
                Ok(stream) => {
                    let accepted = AcceptedConnection { stream, peer, permit };
                    drop(self.sender.send(accepted).await);
                }
                Err(error) => {
                    tracing::warn!(target: "haversack", %error, "cannot hand a connection over");
                }
            },
            None => {}
        }
    }

    /// Looks at the first bytes without taking them. `None` when they do not come in time.
    async fn look(&self, stream: &TcpStream) -> Option<FirstBytes> {
        let mut seen = [0; DECIDING_BYTES];
        let patience = self.connections.timeouts;
        let mut length = timeout(patience.idle, stream.peek(&mut seen)).await.ok()?.ok()?;
        let end = Instant::now() + patience.head;
        loop {
            match FirstBytes::of(&seen[..length]) {
                // The connection was closed before it began.
                FirstBytes::Undecided if length == 0 => return None,
                FirstBytes::Undecided => sleep(LOOK_PAUSE).await,
                decided => return Some(decided),
            }
            length = timeout_at(end, stream.peek(&mut seen)).await.ok()?.ok()?;
            if Instant::now() >= end {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_health_checks_from_others() {
        for (bytes, expected) in [
            ("GET /livez HTTP/1.1\r\n", FirstBytes::HealthCheck),
            ("GET /readyz?x", FirstBytes::HealthCheck),
            ("GET /healthz ", FirstBytes::HealthCheck),
            ("GET /healthz", FirstBytes::Undecided),
            ("GET /liv", FirstBytes::Undecided),
            ("", FirstBytes::Undecided),
            ("GET /livezz", FirstBytes::Other),
            ("GET /livez/x", FirstBytes::Other),
            ("GET /v1/livez", FirstBytes::Other),
            ("POST /livez ", FirstBytes::Other),
            ("\r\n", FirstBytes::Other),
        ] {
            assert_eq!(FirstBytes::of(bytes.as_bytes()), expected, "{bytes:?}");
        }
        let longest = HEALTH_CHECKS.iter().map(|start| start.len()).max();
        assert_eq!(longest, Some(DECIDING_BYTES - 1));
    }
}
