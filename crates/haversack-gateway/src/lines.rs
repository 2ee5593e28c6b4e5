//! Messages on streams: one JSON document per line.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::GatewayError;

/// Reads lines up to a maximum length.
pub(crate) struct LineReader<R> {
    stream: BufReader<R>,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(stream: R, bytes_max: usize) -> LineReader<R> {
        LineReader { stream: BufReader::new(stream), bytes_max }
    }

    /// Reads the next line that is not empty; `None` at the end. Invalid UTF-8 is replaced.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, GatewayError> {
        loop {
            let mut line = Vec::new();
            let most = u64::try_from(self.bytes_max).unwrap_or(u64::MAX).saturating_add(1);
            let read = (&mut self.stream).take(most).read_until(b'\n', &mut line).await?;
            if read == 0 {
                return Ok(None);
            }
            if line.last() != Some(&b'\n') && line.len() > self.bytes_max {
                return Err(GatewayError::TooLong(self.bytes_max));
            }
            let text = String::from_utf8_lossy(line.trim_ascii());
            if !text.is_empty() {
                return Ok(Some(text.into_owned()));
            }
        }
    }
}

/// Writes each message as a line until the channel closes.
pub(crate) async fn write(
    mut stream: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(mut message) = messages.recv().await {
        message.push('\n');
        stream.write_all(message.as_bytes()).await?;
        stream.flush().await?;
    }
    stream.shutdown().await
}
