//! Drains unread request bodies. A client that is still sending when the connection closes loses the
//! response, so the rest of its body is read and discarded, within bounds.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// How much of a refused request is drained, and for how long: what has arrived already.
const REFUSED: (usize, Duration) = (256 << 10, Duration::from_millis(20));

/// How much of other requests is drained, and for how long.
const ADMITTED: (usize, Duration) = (64 << 20, Duration::from_secs(10));

/// A body that outlives its reader.
#[derive(Debug, Clone)]
pub(crate) struct UnreadBody(Arc<Mutex<Body>>);

impl UnreadBody {
    /// Splits off the body of a request so that it can be drained later.
    pub(crate) fn split_from(request: Request) -> (Request, UnreadBody) {
        let (head, body) = request.into_parts();
        let rest = UnreadBody(Arc::new(Mutex::new(body)));
        (Request::from_parts(head, Body::new(rest.clone())), rest)
    }

    /// Reads and discards the rest. Returns whether the end was reached.
    pub(crate) async fn drain(mut self, is_refused: bool) -> bool {
        let (most, patience) = if is_refused { REFUSED } else { ADMITTED };
        let drain = async {
            let mut read = 0;
            while let Some(frame) = self.frame().await {
                read += frame.ok()?.data_ref().map_or(0, Bytes::len);
                if read > most {
                    return None;
                }
            }
            Some(())
        };
        tokio::time::timeout(patience, drain).await.is_ok_and(|drained| drained.is_some())
    }
}

impl HttpBody for UnreadBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // Never contended: the reader is gone when the rest is drained.
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
