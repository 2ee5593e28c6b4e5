//! `haversack undo`: takes back what one import stored.

use anyhow::{Result, bail};
use haversack_store::store::block_on;
use haversack_store::store::error::CommitError;

use crate::args::{self, StoreLocation};
use crate::input::now;
use crate::output::{ExitOutcome, grouped, print, say};

/// Items that are named; more are only counted.
const SHOWN_MAX: usize = 20;

pub(crate) fn run(location: &StoreLocation, args: &args::UndoArgs) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let undone = match block_on(store.undo(&args.import, now())) {
        Ok(undone) => undone,
        // The problem is the given name, not a change in a batch.
        Err(CommitError::Invalid(problems)) if !problems.is_empty() => {
            bail!("{}", problems[0].message)
        }
        Err(error) => return Err(error.into()),
    };
    for id in undone.kept.iter().take(SHOWN_MAX) {
        say(&format!("kept: {id} was changed since"));
    }
    if undone.kept.len() > SHOWN_MAX {
        say(&format!("kept: and {} more", grouped(undone.kept.len() - SHOWN_MAX)));
    }
    if undone.removed + undone.restored + undone.kept.len() == 0 {
        say(&format!("there is nothing to undo of {:?}", args.import));
        return Ok(ExitOutcome::Nothing);
    }
    print(&format!(
        "removed {} items, restored {}, kept {}",
        grouped(undone.removed),
        grouped(undone.restored),
        grouped(undone.kept.len())
    ))?;
    Ok(ExitOutcome::Something)
}
