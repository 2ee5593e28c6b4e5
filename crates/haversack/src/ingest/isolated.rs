//! The parent's side of the child process that reads foreign files ([`haversack_reader::run_worker`]). A file
//! that makes the child die, grow or hang costs that file alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use haversack_reader::{ReadFailure, ReadJob, ReadOutput, WorkerLine};

use super::IngestError;

/// The command of the program that starts a child.
pub const READER_COMMAND: &str = "read-files";

/// How long a child may take over a file.
const FILE_TIME_MAX: Duration = Duration::from_secs(600);

/// How long a child may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Bytes of one line of a child: the longest text of a part, escaped.
const LINE_BYTES_MAX: u64 = 100 << 20;

/// Lines that wait to be taken.
const LINES_WAITING_MAX: usize = 64;

/// Bytes of a dead child's last words that are read.
const LAST_WORDS_BYTES_MAX: u64 = 4 << 10;

/// Reads files in a child process, which is started with the first of them.
#[derive(Debug)]
pub(super) struct IsolatedReader {
    /// The program to start, if one is known.
    program: Option<PathBuf>,
    worker: Option<Worker>,
    limits: TimeLimits,
}

#[derive(Debug, Clone, Copy)]
struct TimeLimits {
    file: Duration,
    silence: Duration,
}

impl IsolatedReader {
    pub(super) fn new(program: Option<PathBuf>) -> IsolatedReader {
        let limits = TimeLimits { file: FILE_TIME_MAX, silence: SILENCE_MAX };
        IsolatedReader { program, worker: None, limits }
    }

    /// Takes the reader out of its place, to be put back after a file.
    pub(super) fn take(&mut self) -> IsolatedReader {
        let (worker, limits) = (self.worker.take(), self.limits);
        IsolatedReader { program: self.program.clone(), worker, limits }
    }

    /// Reads a file. The inner error is the file's, the outer one ends the run.
    pub(super) fn read(
        &mut self,
        (at, name, reader): (&Path, &str, &str),
        take: &mut dyn FnMut(ReadOutput) -> Result<(), IngestError>,
    ) -> Result<Result<(), ReadFailure>, IngestError> {
        let Some(program) = &self.program else {
            return Ok(Err(ReadFailure::Unsupported { what: no_program(reader) }));
        };
        let Some(at) = at.to_str() else {
            let what = "its path is not UTF-8; rename it".to_owned();
            return Ok(Err(ReadFailure::Unsupported { what }));
        };
        let job = ReadJob { at: at.to_owned(), name: name.to_owned(), reader: reader.to_owned() };
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => match Worker::start(program) {
                Ok(worker) => worker,
                Err(error) => {
                    let what = format!("{} cannot be started: {error}", program.display());
                    return Ok(Err(ReadFailure::Unsupported { what }));
                }
            },
        };
        // Until it has answered in full, the worker is not put back: whatever ends early ends it, too.
        let (worker, read) = worker.read(&job, self.limits, take)?;
        self.worker = worker;
        Ok(read)
    }
}

/// What to do when foreign formats cannot be read for lack of the program.
fn no_program(reader: &str) -> String {
    format!(
        "{reader} files are read in a process of their own, and no program is known for it: set \
         IngestRequest::reader_program to the haversack program"
    )
}

/// A running child. It is killed when dropped.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Result<WorkerLine, String>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(program: &Path) -> std::io::Result<Worker> {
        let mut child = Command::new(program)
            .arg(READER_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || std::io::Error::other("a pipe is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let (sender, lines) = sync_channel(LINES_WAITING_MAX);
        std::thread::Builder::new().name("haversack-reader".to_owned()).spawn(move || {
            let mut output = BufReader::with_capacity(256 << 10, output);
            // Ends when the child does, or when nobody takes more.
            while let Some(line) = next_line(&mut output) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Worker { child, input, lines })
    }

    /// Reads a file. Returns the worker if it can read another one.
    fn read(
        mut self,
        job: &ReadJob,
        limits: TimeLimits,
        take: &mut dyn FnMut(ReadOutput) -> Result<(), IngestError>,
    ) -> Result<(Option<Worker>, Result<(), ReadFailure>), IngestError> {
        let sent = serde_json::to_string(job).map_err(std::io::Error::other);
        let sent = sent.and_then(|line| writeln!(self.input, "{line}"));
        if sent.and_then(|()| self.input.flush()).is_err() {
            let failure = self.cause_of_death();
            return Ok((None, Err(failure)));
        }
        let until = Instant::now() + limits.file;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(limits.silence)) {
                Ok(Ok(WorkerLine::Output(output))) => take(output)?,
                Ok(Ok(WorkerLine::Done)) => return Ok((Some(self), Ok(()))),
                Ok(Ok(WorkerLine::Failed(failure))) => return Ok((Some(self), Err(failure))),
                Ok(Err(what)) => return Ok((None, Err(ReadFailure::Malformed { what }))),
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = limits.silence.min(limits.file).as_secs();
                    let what = format!("reading it takes more than {seconds} seconds");
                    let limit = seconds;
                    return Ok((None, Err(ReadFailure::TooLarge { what, limit })));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let failure = self.cause_of_death();
                    return Ok((None, Err(failure)));
                }
            }
        }
    }

    /// Why the child died, as far as its end and its last words tell.
    fn cause_of_death(&mut self) -> ReadFailure {
        let _ = self.child.kill();
        let status = self.child.wait();
        let mut last_words = String::new();
        if let Some(errors) = self.child.stderr.take() {
            // Nothing to say is an answer, too.
            let _ = errors.take(LAST_WORDS_BYTES_MAX).read_to_string(&mut last_words);
        }
        if last_words.contains("memory allocation of") {
            return ReadFailure::TooLarge {
                what: "the memory that it takes".into(),
                limit: 2 << 30,
            };
        }
        if last_words.contains("overflowed its stack") {
            return ReadFailure::Malformed { what: "it is nested too deeply".into() };
        }
        let how = status.map_or_else(|error| error.to_string(), describe_exit);
        ReadFailure::Malformed { what: format!("its reader ended with {how}") }
    }
}

fn describe_exit(status: ExitStatus) -> String {
    status.to_string()
}

/// Reads one line of a child. Returns `None` at the end.
fn next_line(output: &mut impl BufRead) -> Option<Result<WorkerLine, String>> {
    let mut line = Vec::new();
    match output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 == LINE_BYTES_MAX => {
            Some(Err("its reader gave a text that is too long".to_owned()))
        }
        // A line without an end was cut off by the child's death.
        Ok(_) if line.last() != Some(&b'\n') => None,
        Ok(_) => Some(
            serde_json::from_slice(&line)
                .map_err(|error| format!("its reader gave something else than parts: {error}")),
        ),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A reader whose program is a shell script.
    fn scripted(folder: &Path, script: &str) -> IsolatedReader {
        let program = folder.join("program.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let limits = TimeLimits { file: Duration::from_secs(20), silence: Duration::from_secs(2) };
        IsolatedReader { limits, ..IsolatedReader::new(Some(program)) }
    }

    fn read(reader: &mut IsolatedReader) -> (Result<(), ReadFailure>, usize) {
        let mut outputs = 0;
        let mut take = |_| {
            outputs += 1;
            Ok(())
        };
        let read = reader.read((Path::new("/x.pdf"), "x.pdf", "PDF"), &mut take).unwrap();
        (read, outputs)
    }

    #[test]
    fn a_child_reads_one_file_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"while read line; do
            echo '{"output":{"notice":{"place":null,"what":"hello"}}}'; echo '"done"'; done"#;
        let mut reader = scripted(folder.path(), script);
        for _ in 0..3 {
            assert_eq!(read(&mut reader), (Ok(()), 1));
        }
    }

    #[test]
    fn whatever_ends_a_child_is_a_failure_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for (script, expected) in [
            ("exit 3", "its reader ended with exit status: 3"),
            ("kill -SEGV $$", "signal: 11"),
            ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", "memory"),
            ("read line; echo nonsense", "something else than parts"),
            ("read line; printf '\"do'", "its reader ended with"),
            ("read line; exec sleep 30", "more than 2 seconds"),
        ] {
            let (read, outputs) = read(&mut scripted(folder.path(), script));
            let failure = read.unwrap_err().to_string();
            assert!(failure.contains(expected) && outputs == 0, "{script}: {failure}");
        }
    }

    #[test]
    fn without_a_program_the_file_says_what_to_set() {
        let (read, _) = read(&mut IsolatedReader::new(None));
        assert!(read.unwrap_err().to_string().contains("reader_program"));
        let (read, _) = read_missing();
        assert!(read.unwrap_err().to_string().contains("cannot be started"));
    }

    fn read_missing() -> (Result<(), ReadFailure>, usize) {
        read(&mut IsolatedReader::new(Some(PathBuf::from("/nowhere/haversack"))))
    }
}
