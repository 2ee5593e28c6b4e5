//! `haversack audit`: verifies the server's audit log, also while the server runs.

use anyhow::Result;
use haversack_serve::audit::{self, VerifyError};

use crate::args::{self, StoreLocation};
use crate::output::{ExitOutcome, grouped, print, say};

pub(crate) fn run(location: &StoreLocation, command: &args::AuditCommand) -> Result<ExitOutcome> {
    let args::AuditCommand::Verify = command;
    match audit::verify(&location.existing_folder()?) {
        Ok(sum) => {
            let (lines, files) = (grouped(sum.lines), grouped(sum.files));
            print(&format!("all is sound; lines: {lines}, files: {files}"))?;
            print(&format!("last hash: {}", sum.last))?;
            Ok(ExitOutcome::Something)
        }
        Err(error @ (VerifyError::Broken { .. } | VerifyError::Missing { .. })) => {
            say(&error.to_string());
            Ok(ExitOutcome::Nothing)
        }
        Err(error) => Err(error.into()),
    }
}
