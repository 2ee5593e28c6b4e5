//! `haversack user`: erases a user, and shows that nothing is left.

use anyhow::{Context, Result};
use haversack_serve::audit::Audit;
use haversack_serve::erase::{UserErasure, erase_user};
use haversack_serve::who::Control;
use haversack_store::store::viewer::Principal;

use crate::args::{StoreLocation, UserCommand, UserEraseArgs};
use crate::commands::key::write_audit_entry;
use crate::input::now;
use crate::output::{ExitOutcome, counted, grouped, print, say};
use crate::remote::WorkspaceTarget;

pub(crate) fn run(location: &StoreLocation, command: &UserCommand) -> Result<ExitOutcome> {
    let UserCommand::Erase(args) = command;
    Principal::user(&args.name).context("the user's name")?;
    let open = |location: &StoreLocation| {
        location.existing_folder()?;
        location.engine()
    };
    let erasure = match location.reach(open)? {
        WorkspaceTarget::Local(engine) => {
            let folder = location.folder()?;
            // A folder that no server was started on has neither keys nor a log.
            let control = Control::exists(&folder).then(|| Control::open(&folder)).transpose()?;
            let erasure = erase_user(&engine, &folder, control.as_ref(), &args.name)?;
            if control.is_some() {
                let audit = Audit::open(&folder).context("the audit log cannot be opened")?;
                write_audit_entry(&audit, "eraseUser", "user erase", None, now())?;
            }
            erasure
        }
        WorkspaceTarget::Server(server) => server.erase_user(&args.name)?,
    };
    print_erasure(&erasure, args)
}

fn print_erasure(erasure: &UserErasure, args: &UserEraseArgs) -> Result<ExitOutcome> {
    if args.json {
        print(&serde_json::to_string_pretty(erasure)?)?;
    } else {
        for done in &erasure.workspaces {
            let (erased, kept) = (counted(done.erased, "item"), counted(done.kept, "item"));
            let receipts = counted(done.receipts, "receipt");
            print(&format!(
                "{}: erased {erased} and {receipts}; {kept} stay without the name",
                done.workspace
            ))?;
        }
        let (keys, lines) = (grouped(erasure.keys), grouped(erasure.audit_lines));
        print(&format!("keys removed: {keys}; lines of the audit log without the name: {lines}"))?;
        let (files, bytes) = (grouped(erasure.files_searched), grouped(erasure.bytes_searched));
        let found = match erasure.left.len() {
            0 => "nothing is left".to_owned(),
            left => format!("found {left}"),
        };
        print(&format!("searched {files} files, {bytes} bytes: {found}"))?;
        for left in &erasure.left {
            say(&format!("left: {}: {}: {}", left.place, left.what, left.why));
        }
    }
    Ok(if erasure.left.is_empty() { ExitOutcome::Something } else { ExitOutcome::Nothing })
}
