//! A connection that is watched: who sends the head of a request too slowly, reads an answer too
//! slowly or does nothing for too long is let go. The HTTP library does none of it apart.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) head: Duration,
    pub(crate) idle: Duration,
    pub(crate) write: Duration,
}

/// Whether a request of the connection is being answered: then the server is the one who is slow, and
/// bodies have a clock of their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Busy {
    pub(crate) fn begin(&self) {
        self.0.begun.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }

    fn is_busy(&self) -> bool {
        self.0.ended.load(Ordering::Acquire) < self.0.begun.load(Ordering::Acquire)
    }

    fn begun(&self) -> u64 {
        self.0.begun.load(Ordering::Acquire)
    }
}

/// An answer's body, during which the connection is busy: a long one is not idleness.
#[derive(Debug)]
pub(crate) struct Answering {
    body: Body,
    busy: Busy,
}

impl Answering {
    /// A body until whose end, or loss, a request is being answered.
    pub(crate) const fn new(body: Body, busy: Busy) -> Answering {
        Answering { body, busy }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.busy.end();
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a client is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The first byte of a request.
    Request,
    /// The rest of its head.
    Head,
}

/// A stream under watch.
#[derive(Debug)]
pub(crate) struct Guarded<S> {
    stream: S,
    patience: Patience,
    busy: Busy,
    /// How many requests had begun when the clock was set.
    begun: u64,
    reading: Option<(Wait, Pin<Box<Sleep>>)>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> Guarded<S> {
    pub(crate) const fn new(stream: S, patience: Patience, busy: Busy) -> Guarded<S> {
        Guarded { stream, patience, busy, begun: 0, reading: None, writing: None }
    }

    /// Whether the client has taken too long over what it is waited for now.
    fn is_late(&mut self, wait: Wait, context: &mut Context<'_>) -> bool {
        if self.busy.is_busy() {
            self.reading = None;
            return false;
        }
        if self.reading.as_ref().is_none_or(|(waited, _)| *waited != wait) {
            let patience = match wait {
                Wait::Request => self.patience.idle,
                Wait::Head => self.patience.head,
            };
            self.reading = Some((wait, Box::pin(sleep_until(Instant::now() + patience))));
        }
        let clock = self.reading.as_mut().map(|(_, clock)| clock.as_mut());
        clock.is_some_and(|clock| clock.poll(context).is_ready())
    }

    fn waits_for(&self) -> Wait {
        match &self.reading {
            Some((Wait::Head, _)) => Wait::Head,
            _ => Wait::Request,
        }
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the client took too long to {what}"))
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let begun = self.busy.begun();
        if begun != self.begun {
            // A request was made of the head that was waited for.
            (self.begun, self.reading) = (begun, None);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let wait = if read.is_ready() && buffer.filled().len() > before {
            // Something came: from here on it is a head that is waited for, until a request is made
            // of it. The clock is not set back by more of it.
            Wait::Head
        } else {
            self.waits_for()
        };
        if self.is_late(wait, context) {
            return Poll::Ready(Err(late("send a request")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> Guarded<S> {
    fn watched<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.writing = None;
            return written;
        }
        let patience = self.patience.write;
        let clock =
            self.writing.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
        ready!(clock.as_mut().poll(context));
        Poll::Ready(Err(late("read an answer")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn patience() -> Patience {
        let of = Duration::from_secs;
        Patience { head: of(10), idle: of(120), write: of(30) }
    }

    async fn read_one(guarded: &mut Guarded<tokio::io::DuplexStream>) -> io::Result<usize> {
        let mut buffer = [0; 1];
        guarded.read(&mut buffer).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_ten_seconds_however_many_bytes_come() {
        let (mut client, server) = duplex(1_024);
        let mut guarded = Guarded::new(server, patience(), Busy::default());
        let start = Instant::now();
        let slow = tokio::spawn(async move {
            for _ in 0..60 {
                let _ = client.write_all(b"G").await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        let error = loop {
            if let Err(error) = read_one(&mut guarded).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 10);
        slow.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_held_longer_and_a_busy_one_for_as_long_as_it_takes() {
        let (_client, server) = duplex(1_024);
        let busy = Busy::default();
        let mut guarded = Guarded::new(server, patience(), busy.clone());
        let start = Instant::now();
        read_one(&mut guarded).await.unwrap_err();
        assert_eq!(start.elapsed().as_secs(), 120);
        let (_client, server) = duplex(1_024);
        busy.begin();
        let mut guarded = Guarded::new(server, patience(), busy);
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, read_one(&mut guarded)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_request_the_connection_is_idle_again() {
        let (mut client, server) = duplex(1_024);
        let busy = Busy::default();
        let mut guarded = Guarded::new(server, patience(), busy.clone());
        client.write_all(b"G").await.unwrap();
        read_one(&mut guarded).await.unwrap();
        busy.begin();
        busy.end();
        let start = Instant::now();
        read_one(&mut guarded).await.unwrap_err();
        assert_eq!(start.elapsed().as_secs(), 120);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_let_go() {
        let (_client, server) = duplex(16);
        let mut guarded = Guarded::new(server, patience(), Busy::default());
        let start = Instant::now();
        let error = guarded.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 30);
    }
}
