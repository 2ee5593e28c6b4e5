//! `haversack reembed`: the vectors anew, by the model in use.

use anyhow::Result;
use haversack_store::store::wait;

use crate::args::Place;
use crate::output::{Bar, Found, grouped, print};

pub(crate) fn run(place: &Place) -> Result<Found> {
    let store = place.existing()?;
    let mut bar = Bar::new();
    let done = wait(store.reembed(&mut |progress| {
        let (done, total) = (grouped(progress.done), grouped(progress.total));
        bar.show(&format!("{done} of {total} texts embedded"));
    }));
    bar.clear();
    let done = done?;
    print(&format!("{} texts have vectors by {}", grouped(done.done), store.model()))?;
    Ok(Found::Something)
}
