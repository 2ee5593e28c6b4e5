//! The child process that reads foreign files: its protocol, and its side of it.
//!
//! The parent writes one line of JSON for each file, a [`ReadJob`]. The child answers with lines of
//! [`WorkerLine`], the last of which says how the file ended. A child that dies or goes silent costs one file:
//! the parent starts another one.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

#[cfg(not(unix))]
use self::other::limit_process;
#[cfg(unix)]
use self::unix::limit_process;
use crate::part::{PartSink, ReadFailure, ReadOutput, SinkClosed};
use crate::source::with_source;
use crate::table::READERS;

/// Bytes of memory that the child may map.
const MEMORY_BYTES_MAX: u64 = 2 << 30;

/// Seconds of processor time that the child may use before it is ended, should its parent be gone.
const PROCESSOR_SECONDS_MAX: u64 = 1_800;

/// Stack of the thread that reads. Foreign parsers recurse over what is nested.
const STACK_BYTES: usize = 64 << 20;

/// A file to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadJob {
    /// Where it is.
    pub at: String,
    /// Its path in the store.
    pub name: String,
    /// The name of its reader.
    pub reader: String,
}

/// One line that the child writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerLine {
    /// An output of the reader.
    Output(ReadOutput),
    /// The file was read to its end.
    Done,
    /// The file cannot be read, or not to its end.
    Failed(ReadFailure),
}

/// Reads files as the parent names them, until it closes the input. Limits the process first.
///
/// # Errors
/// When the parent cannot be read or written.
pub fn run_worker(input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    limit_process()?;
    // A panic of a foreign parser is reported as a failure of the file.
    std::panic::set_hook(Box::new(|_| {}));
    let mut output = BufWriter::new(output);
    for line in input.lines() {
        let job: ReadJob = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let last = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let reading = thread.spawn_scoped(scope, || read_one(&job, &mut output))?;
            reading.join().unwrap_or_else(|_| Ok(WorkerLine::Failed(panicked())))
        })?;
        write_line(&mut output, &last)?;
        output.flush()?;
    }
    Ok(())
}

fn panicked() -> ReadFailure {
    ReadFailure::malformed("its reader failed on it")
}

/// Reads a file and writes what it gives. Returns the last line.
fn read_one(job: &ReadJob, output: &mut (impl Write + Send)) -> io::Result<WorkerLine> {
    let Some(reader) = READERS.iter().find(|reader| reader.name == job.reader) else {
        let what = format!("there is no reader {:?}; is this another version?", job.reader);
        return Ok(WorkerLine::Failed(ReadFailure::Unsupported { what }));
    };
    let mut file = match File::open(&job.at) {
        Ok(file) => file,
        Err(error) => return Ok(WorkerLine::Failed(error.into())),
    };
    let mut broken = None;
    let mut take = |read: ReadOutput| {
        // Progress is only worth something at once; it also shows that the reader is alive.
        let is_progress = matches!(read, ReadOutput::Progress { .. });
        let written = write_line(output, &WorkerLine::Output(read));
        let written = written.and_then(|()| if is_progress { output.flush() } else { Ok(()) });
        written.map_err(|error| {
            broken = Some(error);
            SinkClosed
        })
    };
    let read = catch_unwind(AssertUnwindSafe(|| {
        with_source(&job.name, &mut file, |source| {
            (reader.read)(source, &mut PartSink::new(&mut take))
        })
    }));
    if let Some(error) = broken {
        return Err(error);
    }
    Ok(match read {
        Ok(Ok(())) => WorkerLine::Done,
        Ok(Err(failure)) => WorkerLine::Failed(failure),
        Err(_) => WorkerLine::Failed(panicked()),
    })
}

fn write_line(output: &mut impl Write, line: &WorkerLine) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}
