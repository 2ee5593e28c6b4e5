//! `haversack demo --check`: runs the acceptance scenarios of the applications.

use anyhow::{Context, Result};
use clap::ValueEnum as _;
use haversack::Engine;
use haversack_eval::scenarios::{BUILT_IN, ScenarioOutcome, Suite};

use crate::args;
use crate::output::{ExitOutcome, counted, print};
use crate::paint::Paint;
use crate::runtime::wait;

pub(super) fn run(args: &args::DemoArgs) -> Result<ExitOutcome> {
    let only = args.only.and_then(|only| only.to_possible_value());
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| only.get_name() == name);
    let paint = Paint::of_stdout();
    let mut all_hold = true;
    for (name, text, data) in BUILT_IN.into_iter().filter(|(name, ..)| is_wanted(name)) {
        let suite = Suite::parse(text)?;
        let outcomes = wait(run_suite(&suite, data))?;
        all_hold &= outcomes.iter().all(holds_or_is_pending);
        print(&report(name, &outcomes, paint))?;
    }
    Ok(if all_hold { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

async fn run_suite<'s>(suite: &'s Suite, data: &str) -> Result<Vec<ScenarioOutcome<'s>>> {
    let now = suite.present()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the data")?;
    let engine = Engine::builder().clock(move || now).open(folder.path())?;
    let workspace = engine.workspace("check")?;
    suite.load(&workspace, data.as_bytes())?;
    Ok(suite.run(&workspace).await?)
}

/// Whether a scenario holds, or is marked as pending.
fn holds_or_is_pending(outcome: &ScenarioOutcome<'_>) -> bool {
    outcome.wrong.is_empty() || outcome.scenario.pending.is_some()
}

fn report(name: &str, outcomes: &[ScenarioOutcome<'_>], paint: Paint) -> String {
    let held = outcomes.iter().filter(|outcome| outcome.wrong.is_empty()).count();
    let count = counted(outcomes.len(), "expectation");
    let mut lines = vec![format!("{}: {held} of {count} hold", paint.bold(name))];
    for ScenarioOutcome { scenario, wrong, .. } in outcomes.iter().filter(|it| !it.wrong.is_empty())
    {
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
