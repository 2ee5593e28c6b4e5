//! Connection timeouts: closes connections whose client sends a request's head too slowly, reads a
//! response too slowly or is idle for too long. The HTTP library does not distinguish these. Also ends a
//! connection whose unread answer takes memory that others need.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::task::AtomicWaker;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::unread::UnreadAnswer;

/// Longest part of an answer that is handed to the connection at once. It is copied, so that the memory
/// of a long answer is not kept by the end of it that waits in a buffer.
const PART_BYTES_MAX: usize = 16 << 10;

/// The timeouts of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientTimeouts {
    pub(crate) head: Duration,
    pub(crate) idle: Duration,
    pub(crate) write: Duration,
}

/// Whether a request of the connection is in flight. Then no client timeout applies, and bodies have
/// their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
    is_cut: AtomicBool,
    /// Wakes the connection that waits for its client.
    writer: AtomicWaker,
}

impl Busy {
    pub(crate) fn begin(&self) {
        self.0.begun.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }

    /// Ends the connection, even if its client does not read.
    pub(crate) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::Release);
        self.0.writer.wake();
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::Acquire)
    }

    fn is_busy(&self) -> bool {
        self.0.ended.load(Ordering::Acquire) < self.0.begun.load(Ordering::Acquire)
    }

    fn begun(&self) -> u64 {
        self.0.begun.load(Ordering::Acquire)
    }
}

/// A response body that keeps the connection busy until its end, and counts what its client has not read.
#[derive(Debug)]
pub(crate) struct BusyBody {
    body: Body,
    busy: Busy,
    unread: UnreadAnswer,
    /// What is left of the frame that is handed out in parts, and how long the frame is.
    rest: Bytes,
    frame_bytes: usize,
}

impl BusyBody {
    /// Wraps a body; dropping it ends the request.
    pub(crate) fn new(body: Body, busy: Busy, unread: UnreadAnswer) -> BusyBody {
        let bytes = body.size_hint().lower();
        unread.set(usize::try_from(bytes).unwrap_or(usize::MAX));
        BusyBody { body, busy, unread, rest: Bytes::new(), frame_bytes: 0 }
    }

    /// Takes the next part of the frame.
    fn take_part(&mut self) -> Frame<Bytes> {
        let end = self.rest.len().min(PART_BYTES_MAX);
        let part = Bytes::copy_from_slice(&self.rest[..end]);
        let left = self.rest.slice(end..);
        // The whole frame stays in memory until its last part is taken.
        let held = if left.is_empty() { 0 } else { self.frame_bytes };
        self.rest = left;
        self.unread.set(held);
        Frame::data(part)
    }
}

impl Drop for BusyBody {
    fn drop(&mut self) {
        self.busy.end();
    }
}

impl HttpBody for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.take_part())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        match frame.into_data() {
            Ok(data) if data.len() > PART_BYTES_MAX => {
                self.frame_bytes = data.len();
                self.rest = data;
                Poll::Ready(Some(Ok(self.take_part())))
            }
            Ok(data) => {
                self.unread.set(0);
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Err(frame) => Poll::Ready(Some(Ok(frame))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// What the server waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AwaitedPart {
    /// The first byte of a request.
    Request,
    /// The rest of its head.
    Head,
}

/// A stream with client timeouts.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    timeouts: ClientTimeouts,
    busy: Busy,
    /// Requests begun when the timer was set.
    begun: u64,
    reading: Option<(AwaitedPart, Pin<Box<Sleep>>)>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    pub(crate) const fn new(stream: S, timeouts: ClientTimeouts, busy: Busy) -> TimedStream<S> {
        TimedStream { stream, timeouts, busy, begun: 0, reading: None, writing: None }
    }

    /// Whether the client exceeded the current timeout.
    fn is_late(&mut self, wait: AwaitedPart, context: &mut Context<'_>) -> bool {
        if self.busy.is_busy() {
            self.reading = None;
            return false;
        }
        if self.reading.as_ref().is_none_or(|(waited, _)| *waited != wait) {
            let timeouts = match wait {
                AwaitedPart::Request => self.timeouts.idle,
                AwaitedPart::Head => self.timeouts.head,
            };
            self.reading = Some((wait, Box::pin(sleep_until(Instant::now() + timeouts))));
        }
        let clock = self.reading.as_mut().map(|(_, clock)| clock.as_mut());
        clock.is_some_and(|clock| clock.poll(context).is_ready())
    }

    fn waits_for(&self) -> AwaitedPart {
        match &self.reading {
            Some((AwaitedPart::Head, _)) => AwaitedPart::Head,
            _ => AwaitedPart::Request,
        }
    }
}

fn cut_error() -> io::Error {
    let what = "the client left an answer unread whose memory others needed";
    io::Error::new(io::ErrorKind::ConnectionAborted, what)
}

fn timeout_error(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the client took too long to {what}"))
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let begun = self.busy.begun();
        if begun != self.begun {
            // The awaited head is complete.
            (self.begun, self.reading) = (begun, None);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let wait = if read.is_ready() && buffer.filled().len() > before {
            // Something came: from here on it is a head that is waited for, until a request is made
            // of it. The clock is not set back by more of it.
            AwaitedPart::Head
        } else {
            self.waits_for()
        };
        if self.is_late(wait, context) {
            return Poll::Ready(Err(timeout_error("send a request")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> TimedStream<S> {
    fn check_write_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            self.busy.0.writer.register(context.waker());
        }
        if self.busy.is_cut() {
            return Poll::Ready(Err(cut_error()));
        }
        if written.is_ready() {
            self.writing = None;
            return written;
        }
        let timeouts = self.timeouts.write;
        let clock =
            self.writing.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + timeouts)));
        ready!(clock.as_mut().poll(context));
        Poll::Ready(Err(timeout_error("read an answer")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_write_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check_write_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check_write_timeout(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn timeouts() -> ClientTimeouts {
        let of = Duration::from_secs;
        ClientTimeouts { head: of(10), idle: of(120), write: of(30) }
    }

    async fn read_one(timed: &mut TimedStream<tokio::io::DuplexStream>) -> io::Result<usize> {
        let mut buffer = [0; 1];
        timed.read(&mut buffer).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_head_times_out_even_if_bytes_arrive() {
        let (mut client, server) = duplex(1_024);
        let mut timed = TimedStream::new(server, timeouts(), Busy::default());
        let start = Instant::now();
        let slow = tokio::spawn(async move {
            for _ in 0..60 {
                let _ = client.write_all(b"G").await;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        let error = loop {
            if let Err(error) = read_one(&mut timed).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 10);
        slow.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_times_out_later_and_a_busy_one_never() {
        let (_client, server) = duplex(1_024);
        let busy = Busy::default();
        let mut timed = TimedStream::new(server, timeouts(), busy.clone());
        let start = Instant::now();
        read_one(&mut timed).await.unwrap_err();
        assert_eq!(start.elapsed().as_secs(), 120);
        let (_client, server) = duplex(1_024);
        busy.begin();
        let mut timed = TimedStream::new(server, timeouts(), busy);
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, read_one(&mut timed)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_request_the_connection_is_idle_again() {
        let (mut client, server) = duplex(1_024);
        let busy = Busy::default();
        let mut timed = TimedStream::new(server, timeouts(), busy.clone());
        client.write_all(b"G").await.unwrap();
        read_one(&mut timed).await.unwrap();
        busy.begin();
        busy.end();
        let start = Instant::now();
        read_one(&mut timed).await.unwrap_err();
        assert_eq!(start.elapsed().as_secs(), 120);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (_client, server) = duplex(16);
        let mut timed = TimedStream::new(server, timeouts(), Busy::default());
        let start = Instant::now();
        let error = timed.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 30);
    }
}
