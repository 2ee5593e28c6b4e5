//! `haversack models`: what is known of each model.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_core::text::model;

use crate::args;
use crate::output::{ExitOutcome, grouped, print};

pub(crate) fn run(args: &args::ModelsArgs) -> Result<ExitOutcome> {
    let filter = args.filter.as_deref().unwrap_or_default().to_lowercase();
    let mut out = format!("{:<34} {:>11} {:>11}  counted by\n", "model", "window", "for context");
    let mut found = ExitOutcome::Nothing;
    for model in model::all_models().iter().filter(|model| model.name().contains(&filter)) {
        found = ExitOutcome::Something;
        let tokenizer = model.tokenizer();
        let _ = writeln!(
            out,
            "{:<34} {:>11} {:>11}  {} ({})",
            model.name(),
            grouped(model.window()),
            grouped(model.context_max()),
            tokenizer.name(),
            tokenizer.accuracy(),
        );
    }
    print(&out)?;
    Ok(found)
}
