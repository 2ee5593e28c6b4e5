//! `haversack read-files`: the child process that reads foreign file formats for `add` and its kin.

use anyhow::{Context, Result};

use crate::output::ExitOutcome;

pub(crate) fn run() -> Result<ExitOutcome> {
    let (input, output) = (std::io::stdin().lock(), std::io::stdout());
    haversack_reader::run_worker(input, output).context("cannot read files for the parent")?;
    Ok(ExitOutcome::Something)
}
