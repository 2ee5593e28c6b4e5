//! `haversack audit`: verifies the server's audit log, also while the server runs.

use anyhow::{Context, Result};
use haversack_serve::audit::{self, Audit, Verified, VerifyError};

use crate::args::{self, StoreLocation};
use crate::commands::key::write_audit_entry;
use crate::input::now;
use crate::output::{ExitOutcome, grouped, print, say};

pub(crate) fn run(location: &StoreLocation, command: &args::AuditCommand) -> Result<ExitOutcome> {
    let folder = location.existing_folder()?;
    match command {
        args::AuditCommand::Verify => verify(audit::verify(&folder)),
        args::AuditCommand::Accept => {
            let audit = Audit::open(&folder).context("the audit log cannot be opened")?;
            let breaks = audit.accept_breaks()?;
            if breaks == 0 {
                say("there is nothing to accept: the log is as it was left");
                return Ok(ExitOutcome::Nothing);
            }
            write_audit_entry(&audit, "acceptAuditLog", "audit accept", None, now())?;
            print(&format!("accepted the log as it is; breaks: {}", grouped(breaks)))?;
            Ok(ExitOutcome::Something)
        }
    }
}

fn verify(verified: Result<Verified, VerifyError>) -> Result<ExitOutcome> {
    match verified {
        Ok(sum) if !sum.breaks.is_empty() => {
            for found in &sum.breaks {
                say(&format!("found on {}: {}", found.at, found.what));
            }
            say("`haversack audit accept` takes the log as it is, if that was on purpose");
            Ok(ExitOutcome::Nothing)
        }
        Ok(sum) => {
            let (lines, files) = (grouped(sum.lines), grouped(sum.files));
            print(&format!("all is sound; lines: {lines}, files: {files}"))?;
            print(&format!("last hash: {}", sum.last))?;
            Ok(ExitOutcome::Something)
        }
        Err(error @ VerifyError::Read { .. }) => Err(error.into()),
        Err(error) => {
            say(&error.to_string());
            Ok(ExitOutcome::Nothing)
        }
    }
}
