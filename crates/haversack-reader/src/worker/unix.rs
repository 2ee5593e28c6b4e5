//! Limits of the process where the system has them.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{MEMORY_BYTES_MAX, PROCESSOR_SECONDS_MAX};

/// Limits memory and processor time; no core dumps and no files written.
pub(super) fn limit_process() -> io::Result<()> {
    let limits = [
        (Resource::As, MEMORY_BYTES_MAX),
        (Resource::Cpu, PROCESSOR_SECONDS_MAX),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}
