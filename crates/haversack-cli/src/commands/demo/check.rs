//! `haversack demo --check`: what users expect of the applications, tried here and now.

use anyhow::{Context, Result};
use clap::ValueEnum as _;
use haversack::Engine;
use haversack::scenarios::{BUILT_IN, Outcome, Suite};

use crate::args;
use crate::output::{Found, counted, print};
use crate::paint::Paint;
use crate::runtime::wait;

pub(super) fn run(args: &args::Demo) -> Result<Found> {
    let only = args.only.and_then(|only| only.to_possible_value());
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| only.get_name() == name);
    let paint = Paint::of_stdout();
    let mut all_hold = true;
    for (name, text, data) in BUILT_IN.into_iter().filter(|(name, ..)| is_wanted(name)) {
        let suite = Suite::parse(text)?;
        let outcomes = wait(tried(&suite, data))?;
        all_hold &= outcomes.iter().all(is_as_said);
        print(&report(name, &outcomes, paint))?;
    }
    Ok(if all_hold { Found::Something } else { Found::Nothing })
}

async fn tried<'s>(suite: &'s Suite, data: &str) -> Result<Vec<Outcome<'s>>> {
    let now = suite.present()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the data")?;
    let engine = Engine::builder().clock(move || now).open(folder.path())?;
    let workspace = engine.workspace("check")?;
    suite.load(&workspace, data.as_bytes())?;
    Ok(suite.run(&workspace).await?)
}

/// Whether a scenario holds, or does not and says so.
fn is_as_said(outcome: &Outcome<'_>) -> bool {
    outcome.wrong.is_empty() || outcome.scenario.pending.is_some()
}

fn report(name: &str, outcomes: &[Outcome<'_>], paint: Paint) -> String {
    let held = outcomes.iter().filter(|outcome| outcome.wrong.is_empty()).count();
    let count = counted(outcomes.len(), "expectation");
    let mut lines = vec![format!("{}: {held} of {count} hold", paint.bold(name))];
    for Outcome { scenario, wrong, .. } in outcomes.iter().filter(|it| !it.wrong.is_empty()) {
        match &scenario.pending {
            Some(why) => {
                lines.push(format!("  not yet  {}\n           {}", scenario.name, paint.dim(why)))
            }
            None => {
                lines.push(format!("  failed   {}\n           {}", scenario.name, wrong.join("; ")))
            }
        }
    }
    lines.join("\n")
}
