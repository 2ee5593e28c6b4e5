//! `haversack workspaces`: their names.

use anyhow::Result;
use haversack_store::store::maintenance::Stores;

use crate::args::Place;
use crate::output::{Found, print, say};

pub(crate) fn run(place: &Place) -> Result<Found> {
    let names = place.stores()?.names()?;
    if names.is_empty() {
        say("there are no workspaces yet: begin with `haversack add PATH`");
        return Ok(Found::Nothing);
    }
    print(&names.join("\n"))?;
    Ok(Found::Something)
}
