//! A wrapped server that runs as a child process. It starts and ends with the gateway and shares its
//! standard error.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::mpsc;

use crate::GatewayError;
use crate::lines::{self, LineReader};
use crate::relay::OutgoingMessage;

/// How long the process may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the process and relays messages in both directions until either side ends.
pub(crate) async fn run(
    command: &[String],
    bytes_max: usize,
    mut messages: mpsc::Receiver<OutgoingMessage>,
    replies: mpsc::Sender<String>,
) -> Result<(), GatewayError> {
    let (name, arguments) = command.split_first().ok_or(crate::GatewaySettingsError::Nothing)?;
    let started = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let start = |cause| GatewayError::Start { command: name.clone(), cause };
    let mut child = started.map_err(start)?;
    let missing = || std::io::Error::other("it has no standard streams");
    let input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    let (texts, for_input) = mpsc::channel(crate::QUEUE_MAX);
    let writing = tokio::spawn(lines::write(input, for_input));
    let forwarding = tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            // A process that no longer reads exits soon; the exit is reported.
            if texts.send(message.text).await.is_err() {
                return;
            }
        }
    });
    let mut reader = LineReader::new(output, bytes_max);
    let reading = async {
        while let Some(line) = reader.next().await? {
            if replies.send(line).await.is_err() {
                break;
            }
        }
        Ok::<(), GatewayError>(())
    };
    tokio::pin!(reading);
    // Either the process closes its output, or the client ends and the process gets time to exit.
    let (closed, client_ended) = tokio::select! {
        read = &mut reading => { read?; (true, forwarding.is_finished()) }
        // If all messages were written, the client ended; otherwise the pipe broke.
        written = writing => (false, matches!(written, Ok(Ok(())))),
    };
    if !closed && tokio::time::timeout(EXIT_TIMEOUT, &mut reading).await.is_err() {
        tracing::warn!(target: "haversack", "the wrapped server did not exit in time and is killed");
        child.start_kill()?;
    }
    let status = tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await;
    forwarding.abort();
    match status {
        Ok(status) if client_ended => status.map(drop).map_err(GatewayError::Broken),
        Ok(status) => Err(GatewayError::Ended(status?)),
        Err(_) => {
            child.start_kill()?;
            Ok(())
        }
    }
}
