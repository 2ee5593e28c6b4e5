//! Serves connections until shutdown; then finishes the requests in flight. The front thread accepts them.

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
use tower::ServiceExt;

use crate::config::{Config, seconds};
use crate::front::{AcceptedConnection, ConnectionPermit, Front};
use crate::guard::{Busy, BusyBody, ClientTimeouts, TimedStream};
use crate::router::{Peer, router};
use crate::server_file::{PublishedServer, ServerFile};
use crate::state::{ServerState, SharedState, StartError, on_blocking_thread};
use crate::trace::TraceSender;
use crate::who::TokenVerifier;
use crate::who::shared_keys;

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// How often unused workspaces are looked for, at most and at least.
const CLOSE_EVERY_MIN: Duration = Duration::from_millis(10);
const CLOSE_EVERY_MAX: Duration = Duration::from_secs(60);

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
        shared_keys::start(&state);
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
    /// When the system gives no thread that accepts connections.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let Server { listener, state, published } = self;
        let connections = Connections::new(&state);
        let mut front = Front::start(listener, connections.clone())?;
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        let closing = close_unused_workspaces(&state);
        tokio::pin!(closing);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = front.accepted.recv() => accepted,
                () = &mut closing => break, // It never ends.
            };
            // The front thread only ends when it is told to.
            let Some(accepted) = accepted else { break };
            if let Some((stream, peer, permit)) = adopt(accepted) {
                let connection = graceful.watch(connections.connect(stream, peer, true));
                tokio::spawn(serve(connection, permit));
            }
        }
        state.stop();
        front.begin_stop();
        // New requests during shutdown, health checks included, are refused.
        let turn_away = async {
            while let Some(accepted) = front.accepted.recv().await {
                if let Some((stream, peer, permit)) = adopt(accepted) {
                    let connection = connections.connect(stream, peer, false);
                    tokio::spawn(serve(connection, permit));
                }
            }
            std::future::pending::<()>().await;
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
        front.stop().await;
        state.engine.flush().await;
        state.tracer.close().await;
        drop(published);
        Ok(())
    }
}

/// Closes workspaces that nobody has used for a while, again and again.
async fn close_unused_workspaces(state: &SharedState) {
    let unused_max = seconds(state.config.limits.workspace_idle_seconds);
    if unused_max.is_zero() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep((unused_max / 4).clamp(CLOSE_EVERY_MIN, CLOSE_EVERY_MAX)).await;
        let engine = state.engine.clone();
        // It fails when closing panics, which is logged, and counts for that workspace only.
        if let Ok(closed) = on_blocking_thread(move || engine.close_unused_for(unused_max)).await
            && closed > 0
        {
            tracing::debug!(target: "haversack", closed, "closed unused workspaces");
        }
    }
}

/// Brings a connection from the front thread to this runtime. `None` when it broke meanwhile.
fn adopt(accepted: AcceptedConnection) -> Option<(TcpStream, Peer, ConnectionPermit)> {
    let AcceptedConnection { stream, peer, permit } = accepted;
    match TcpStream::from_std(stream) {
        Ok(stream) => Some((stream, peer, permit)),
        Err(error) => {
            tracing::warn!(target: "haversack", %error, "cannot take a connection over");
            None
        }
    }
}

/// Serves accepted connections, on whichever runtime it is called.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) timeouts: ClientTimeouts,
    pub(crate) state: SharedState,
    router: Router,
}

impl Connections {
    fn new(state: &SharedState) -> Connections {
        let limits = &state.config.limits;
        let timeouts = ClientTimeouts {
            head: seconds(limits.head_seconds),
            idle: seconds(limits.idle_seconds),
            write: seconds(limits.write_seconds),
        };
        Connections { timeouts, router: router(state), state: Arc::clone(state) }
    }

    /// Serves a connection with client timeouts; for a single request unless it is kept alive.
    pub(crate) fn connect(
        &self,
        stream: TcpStream,
        peer: Peer,
        stays: bool,
    ) -> impl GracefulConnection<Error = hyper::Error> + Send + 'static {
        // Answers are small and awaited: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let busy = Busy::default();
        let io = TokioIo::new(TimedStream::new(stream, self.timeouts, busy.clone()));
        let router = self.router.clone();
        let unread = Arc::clone(&self.state.unread);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, busy, unread) = (router.clone(), busy.clone(), Arc::clone(&unread));
            async move {
                busy.begin();
                let answer = router.oneshot(request.map(Body::new)).await;
                let unread = unread.begin(&busy);
                answer.map(|answer| answer.map(|body| BusyBody::new(body, busy, unread)))
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
}

/// Runs a connection to its end. Its errors concern only its client.
pub(crate) async fn serve(
    connection: impl Future<Output = Result<(), hyper::Error>>,
    permit: ConnectionPermit,
) {
    let _ = connection.await;
    drop(permit);
}
