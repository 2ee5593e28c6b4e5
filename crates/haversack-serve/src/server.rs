//! Accepts connections, within a limit, until shutdown; then finishes the requests in flight.

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
use crate::guard::{Busy, BusyBody, ClientTimeouts, TimedStream};
use crate::router::{Peer, router};
use crate::server_file::{PublishedServer, ServerFile};
use crate::state::{ServerState, SharedState, StartError};
use crate::trace::TraceSender;
use crate::who::TokenVerifier;

/// Response when the connection limit is reached, sent without reading the request.
const LIMIT_REACHED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                      Connection: close\r\n\r\n";

/// Pause after the system refused to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    state: SharedState,
    /// Tells other processes of this machine where the server is, until it ends.
    published: Option<PublishedServer>,
}

impl Server {
    /// Binds the address. `insecure` confirms that the network is private.
    ///
    /// # Errors
    /// When the configuration is invalid or would expose the data, or the address is taken.
    pub async fn bind(
        engine: Engine,
        folder: &Path,
        config: Config,
        insecure: bool,
    ) -> Result<Server, StartError> {
        let address = config.server.listen;
        config.check(insecure)?;
        let signers = match &config.jwt {
            Some(jwt) => Some(TokenVerifier::open(jwt).await?),
            None => None,
        };
        let tracer = TraceSender::open(&config.log.otlp)?;
        let state = Arc::new(ServerState::new(engine, folder, config, signers, tracer)?);
        let listener = TcpListener::bind(address)
            .await
            .map_err(|cause| StartError::Listen { address, cause })?;
        let published = listener.local_addr().and_then(|at| ServerFile::publish(folder, at));
        if let Err(error) = &published {
            tracing::warn!(target: "haversack", %error, "other commands cannot find this server");
        }
        Ok(Server { listener, state, published: published.ok() })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// When the system does not know.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` completes, then finishes the requests in flight within the shutdown timeout.
    ///
    /// # Errors
    /// None at present: a connection fails, not the server.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let Server { listener, state, published } = self;
        let limits = &state.config.limits;
        let acceptor = Acceptor {
            connections: Arc::new(Semaphore::new(limits.connections)),
            patience: ClientTimeouts {
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
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = acceptor.accept(&listener) => accepted,
            };
            let connection =
                graceful.watch(acceptor.connection(accepted.stream, accepted.peer, true));
            acceptor.serve(connection, accepted.permit);
        }
        state.stop();
        // New requests during shutdown, health checks included, are refused.
        let turn_away = async {
            loop {
                let accepted = acceptor.accept(&listener).await;
                let connection = acceptor.connection(accepted.stream, accepted.peer, false);
                acceptor.serve(connection, accepted.permit);
            }
        };
        let patience = seconds(state.config.limits.shutdown_seconds);
        tokio::select! {
            finished = tokio::time::timeout(patience, graceful.shutdown()) => {
                if finished.is_err() {
                    tracing::warn!(target: "haversack", "some requests did not finish in time");
                }
            }
            () = turn_away => {}
        }
        state.engine.flush().await;
        state.tracer.close().await;
        drop(published);
        Ok(())
    }
}

/// Accepts and serves connections.
struct Acceptor {
    connections: Arc<Semaphore>,
    patience: ClientTimeouts,
    router: Router,
    state: SharedState,
}

/// An accepted connection.
struct AcceptedConnection {
    stream: TcpStream,
    peer: Peer,
    permit: OwnedSemaphorePermit,
}

impl Acceptor {
    /// Waits for a connection within the limit.
    async fn accept(&self, listener: &TcpListener) -> AcceptedConnection {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok((stream, address)) => (stream, Peer(address.ip())),
                Err(error) => {
                    // Out of file handles, most likely: others will close.
                    tracing::warn!(target: "haversack", %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            match Arc::clone(&self.connections).try_acquire_owned() {
                Ok(permit) => return AcceptedConnection { stream, peer, permit },
                Err(_) => refuse(&stream),
            }
        }
    }

    /// Serves a connection with client timeouts; for a single request unless it is kept alive.
    fn connection(
        &self,
        stream: TcpStream,
        peer: Peer,
        stays: bool,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        // Answers are small and awaited: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let busy = Busy::default();
        let io = TokioIo::new(TimedStream::new(stream, self.patience, busy.clone()));
        let router = self.router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, busy) = (router.clone(), busy.clone());
            async move {
                busy.begin();
                let answer = router.oneshot(request.map(Body::new)).await;
                answer.map(|answer| answer.map(|body| BusyBody::new(body, busy)))
            }
        });
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(stays)
            // `TimedStream` applies these timeouts and distinguishes idle from slow connections.
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
            // Errors of a connection concern only its client.
            let _ = connection.await;
            state.metrics.connections.dec();
            drop(permit);
        });
    }
}

/// Refuses a connection beyond the limit, without waiting.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(LIMIT_REACHED);
}
