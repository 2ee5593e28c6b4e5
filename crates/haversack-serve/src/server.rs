//! Accepting connections, within bounds, until it is time to stop; then finishing what was begun.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use haversack::Engine;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use crate::config::{Config, seconds};
use crate::guard::{Answering, Busy, Guarded, Patience};
use crate::router::{Peer, router};
use crate::state::{Shared, StartError, State};
use crate::trace::Tracer;
use crate::who::Signers;

/// What a connection too many is told. It is not worth reading a request for.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                      Connection: close\r\n\r\n";

/// How long accepting rests when the system has no room for another connection.
const REST: Duration = Duration::from_millis(50);

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    state: Shared,
}

impl Server {
    /// Takes the address. `insecure` says that nobody else is in the network.
    ///
    /// # Errors
    /// When the configuration will not do, everybody could reach everything, or the address is
    /// taken.
    pub async fn bind(
        engine: Engine,
        folder: &Path,
        config: Config,
        insecure: bool,
    ) -> Result<Server, StartError> {
        let address = config.server.listen;
        config.check(insecure)?;
        let signers = match &config.jwt {
            Some(jwt) => Some(Signers::open(jwt).await?),
            None => None,
        };
        let tracer = Tracer::open(&config.log.otlp)?;
        let state = Arc::new(State::new(engine, folder, config, signers, tracer)?);
        let listener = TcpListener::bind(address)
            .await
            .map_err(|cause| StartError::Listen { address, cause })?;
        Ok(Server { listener, state })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` comes, then finishes what was begun, within its time.
    ///
    /// # Errors
    /// Never at present; what fails is a connection, not the server.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let Server { listener, state } = self;
        let limits = &state.config.limits;
        let door = Door {
            connections: Arc::new(Semaphore::new(limits.connections)),
            patience: Patience {
                head: seconds(limits.head_seconds),
                idle: seconds(limits.idle_seconds),
                write: seconds(limits.write_seconds),
            },
            router: router(&state),
            state: Arc::clone(&state),
        };
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let entered = tokio::select! {
                () = &mut stop => break,
                entered = door.enter(&listener) => entered,
            };
            let connection = graceful.watch(door.connection(entered.stream, entered.peer, true));
            door.serve(connection, entered.permit);
        }
        state.stop();
        // Who asks while the rest is finished is told that the server stops, health checks included.
        let turn_away = async {
            loop {
                let entered = door.enter(&listener).await;
                let connection = door.connection(entered.stream, entered.peer, false);
                door.serve(connection, entered.permit);
            }
        };
        let patience = seconds(state.config.limits.shutdown_seconds);
        tokio::select! {
            finished = tokio::time::timeout(patience, graceful.shutdown()) => {
                if finished.is_err() {
                    tracing::warn!(target: "haversack", "some requests did not end in time");
                }
            }
            () = turn_away => {}
        }
        state.engine.settle().await;
        state.tracer.close().await;
        Ok(())
    }
}

/// Where connections come in.
struct Door {
    connections: Arc<Semaphore>,
    patience: Patience,
    router: Router,
    state: Shared,
}

/// A connection that has come in.
struct Entered {
    stream: TcpStream,
    peer: Peer,
    permit: OwnedSemaphorePermit,
}

impl Door {
    /// Waits for a connection for which there is room.
    async fn enter(&self, listener: &TcpListener) -> Entered {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok((stream, address)) => (stream, Peer(address.ip())),
                Err(error) => {
                    // Out of file handles, most likely: others will close.
                    tracing::warn!(target: "haversack", %error, "cannot accept a connection");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            match Arc::clone(&self.connections).try_acquire_owned() {
                Ok(permit) => return Entered { stream, peer, permit },
                Err(_) => refuse(&stream),
            }
        }
    }

    /// A connection that is watched and answered; for one request alone if it is not to stay.
    fn connection(
        &self,
        stream: TcpStream,
        peer: Peer,
        stays: bool,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        // Answers are small and awaited: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let busy = Busy::default();
        let io = TokioIo::new(Guarded::new(stream, self.patience, busy.clone()));
        let router = self.router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, busy) = (router.clone(), busy.clone());
            async move {
                busy.begin();
                let answer = router.oneshot(request.map(Body::new)).await;
                answer.map(|answer| answer.map(|body| Answering::new(body, busy)))
            }
        });
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(stays)
            // The guard keeps these times, and tells an idle connection from a slow one.
            .header_read_timeout(None)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(io, service)
    }

    fn serve(
        &self,
        connection: impl Future<Output = Result<(), hyper::Error>> + Send + 'static,
        permit: OwnedSemaphorePermit,
    ) {
        let state = Arc::clone(&self.state);
        state.metrics.connections.inc();
        tokio::spawn(async move {
            // How a connection ends is the client's business.
            let _ = connection.await;
            state.metrics.connections.dec();
            drop(permit);
        });
    }
}

/// Tells a connection too many to come again, if it can be told at once.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(FULL);
}
