//! `haversack reembed`: embeds all texts again with the model in use.

use anyhow::Result;
use haversack_store::store::block_on;

use crate::args::StoreLocation;
use crate::output::{Bar, ExitOutcome, grouped, print};

pub(crate) fn run(location: &StoreLocation) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let mut bar = Bar::new();
    let done = block_on(store.reembed(&mut |progress| {
        let (done, total) = (grouped(progress.done), grouped(progress.total));
        bar.show(&format!("{done} of {total} texts embedded"));
    }));
    bar.clear();
    let done = done?;
    print(&format!("{} texts have vectors by {}", grouped(done.done), store.model()))?;
    Ok(ExitOutcome::Something)
}
