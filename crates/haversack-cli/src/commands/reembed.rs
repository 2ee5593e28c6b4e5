//! `haversack reembed`: embeds all texts again with the model in use.

use anyhow::Result;
use haversack_store::store::block_on;
use serde_json::json;

use super::embedding_usage::EmbeddingUsage;
use crate::args::{ReembedArgs, StoreLocation};
use crate::output::{Bar, ExitOutcome, grouped, print};

pub(crate) fn run(location: &StoreLocation, args: &ReembedArgs) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let usage = EmbeddingUsage::start(location)?;
    let mut bar = Bar::new();
    let done = block_on(store.reembed(&mut |progress| {
        let (done, total) = (grouped(progress.done), grouped(progress.total));
        bar.show(&format!("{done} of {total} texts embedded{}", usage.progress()));
    }));
    bar.clear();
    let done = usage.report_failure(done)?;
    let model = store.model();
    if args.json {
        let embedded = json!({ "texts": done.done, "model": model.to_string(), "embedding": usage.document() });
        print(&serde_json::to_string_pretty(&embedded)?)?;
    } else {
        let usage = usage.line().map(|line| format!("\n{line}")).unwrap_or_default();
        print(&format!("{} texts have vectors by {model}{usage}", grouped(done.done)))?;
    }
    Ok(ExitOutcome::Something)
}
