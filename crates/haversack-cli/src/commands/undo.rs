//! `haversack undo`: what one import stored, taken back.

use anyhow::{Result, bail};
use haversack_store::store::error::CommitError;
use haversack_store::store::wait;

use crate::args::{self, Place};
use crate::input::now;
use crate::output::{Found, grouped, print, say};

/// Items that are named; more are only counted.
const SHOWN_MAX: usize = 20;

pub(crate) fn run(place: &Place, args: &args::Undo) -> Result<Found> {
    let store = place.existing()?;
    let undone = match wait(store.undo(&args.import, now())) {
        Ok(undone) => undone,
        // It is about the name that was given, not about a change in a batch.
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
        return Ok(Found::Nothing);
    }
    print(&format!(
        "removed {} items, restored {}, kept {}",
        grouped(undone.removed),
        grouped(undone.restored),
        grouped(undone.kept.len())
    ))?;
    Ok(Found::Something)
}
