//! `haversack models`: what is known of each model.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_core::text::model;

use crate::args;
use crate::output::{Found, grouped, print};

pub(crate) fn run(args: &args::Models) -> Result<Found> {
    let filter = args.filter.as_deref().unwrap_or_default().to_lowercase();
    let mut out = format!("{:<34} {:>11} {:>11}  counted by\n", "model", "window", "for context");
    let mut found = Found::Nothing;
    for model in model::all().iter().filter(|model| model.name().contains(&filter)) {
        found = Found::Something;
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
