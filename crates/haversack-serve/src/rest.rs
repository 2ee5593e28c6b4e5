//! What is left of a body that nobody read to its end. A client that is still sending when the answer
//! comes and the connection closes loses the answer, so the rest is read and thrown away, within bounds.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// How much is read of who was refused at the door, and for how long: what has come already.
const AT_THE_DOOR: (usize, Duration) = (256 << 10, Duration::from_millis(20));

/// How much is read of anybody else, and for how long.
const INSIDE: (usize, Duration) = (64 << 20, Duration::from_secs(10));

/// A body that stays when its reader goes.
#[derive(Debug, Clone)]
pub(crate) struct Rest(Arc<Mutex<Body>>);

impl Rest {
    /// A request whose body stays.
    pub(crate) fn of(request: Request) -> (Request, Rest) {
        let (head, body) = request.into_parts();
        let rest = Rest(Arc::new(Mutex::new(body)));
        (Request::from_parts(head, Body::new(rest.clone())), rest)
    }

    /// Reads what is left and throws it away; tells whether the end was reached.
    pub(crate) async fn drain(mut self, at_the_door: bool) -> bool {
        let (most, patience) = if at_the_door { AT_THE_DOOR } else { INSIDE };
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

impl HttpBody for Rest {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // Nobody waits here: the reader is gone when the rest is drained.
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
