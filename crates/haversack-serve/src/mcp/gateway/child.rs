//! A wrapped server that is a program of this machine: it is started with the gateway and ends with
//! it. What it says on its standard error goes to the gateway's.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::mpsc;

use super::GatewayError;
use super::lines::{self, Reader};
use super::relay::Outgoing;

/// How long it may take to end after its input has.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts a program, hands it messages and takes what it says, until either side ends.
pub(super) async fn run(
    command: &[String],
    bytes_max: usize,
    mut messages: mpsc::Receiver<Outgoing>,
    said: mpsc::Sender<String>,
) -> Result<(), GatewayError> {
    let (name, arguments) = command.split_first().ok_or(super::SettingsError::Nothing)?;
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
    let (texts, for_input) = mpsc::channel(super::WAITING);
    let writing = tokio::spawn(lines::write(input, for_input));
    let asking = tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            // When it no longer reads, it ends soon, which is what is reported.
            if texts.send(message.text).await.is_err() {
                return;
            }
        }
    });
    let mut reader = Reader::new(output, bytes_max);
    let reading = async {
        while let Some(line) = reader.next().await? {
            if said.send(line).await.is_err() {
                break;
            }
        }
        Ok::<(), GatewayError>(())
    };
    tokio::pin!(reading);
    // Either it closes its output, or the client ends: then its input is closed and it has a while.
    let (closed, asked) = tokio::select! {
        read = &mut reading => { read?; (true, asking.is_finished()) }
        // All that the client said was written: it ended. Else the pipe broke. The task that asks
        // may not be seen to be finished yet.
        written = writing => (false, matches!(written, Ok(Ok(())))),
    };
    if !closed && tokio::time::timeout(PATIENCE, &mut reading).await.is_err() {
        tracing::warn!(target: "haversack", "the wrapped server did not end, and is ended");
        child.start_kill()?;
    }
    let status = tokio::time::timeout(PATIENCE, child.wait()).await;
    asking.abort();
    match status {
        Ok(status) if asked => status.map(drop).map_err(GatewayError::Broken),
        Ok(status) => Err(GatewayError::Ended(status?)),
        Err(_) => {
            child.start_kill()?;
            Ok(())
        }
    }
}
