//! `haversack audit`: whether the server's audit log is as it was written. The server may run meanwhile.

use anyhow::Result;
use haversack_serve::audit::{self, VerifyError};

use crate::args::{self, Place};
use crate::output::{Found, grouped, print, say};

pub(crate) fn run(place: &Place, command: &args::Audit) -> Result<Found> {
    let args::Audit::Verify = command;
    match audit::verify(&place.existing_folder()?) {
        Ok(sum) => {
            let (lines, files) = (grouped(sum.lines), grouped(sum.files));
            print(&format!("all is sound; lines: {lines}, files: {files}"))?;
            print(&format!("last hash: {}", sum.last))?;
            Ok(Found::Something)
        }
        Err(error @ (VerifyError::Broken { .. } | VerifyError::Missing { .. })) => {
            say(&error.to_string());
            Ok(Found::Nothing)
        }
        Err(error) => Err(error.into()),
    }
}
