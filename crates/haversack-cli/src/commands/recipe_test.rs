//! `haversack recipe test`: packs the sample workspaces by a recipe, as a first look at it.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use haversack::{Engine, Error, Request};
use haversack_eval::samples::{ALL, NOW, Sample};

use crate::output::{ExitOutcome, grouped, print};
use crate::runtime::wait;

/// Packs every question of the samples, and prints the result of each layer.
pub(crate) fn run(name: &str, text: &str) -> Result<ExitOutcome> {
    let folder = tempfile::tempdir().context("cannot make a folder for the samples")?;
    let engine = Engine::builder().recipe(name, text).clock(|| NOW).open(folder.path())?;
    let mut out = String::new();
    let mut packed = 0;
    for sample in &ALL {
        let workspace = engine.workspace(sample.name)?;
        sample.load(&**workspace.blocking_store())?;
        for question in sample.questions {
            let _ = writeln!(out, "{}: {}", sample.name, question.text);
            let request = request(name, sample, question)?;
            match wait(async { Ok(workspace.pack(request).await) })? {
                Ok(assembled) => {
                    packed += assembled.pack.citations.len();
                    let _ = writeln!(
                        out,
                        "  {} of {} tokens",
                        grouped(assembled.pack.tokens),
                        grouped(assembled.pack.limit)
                    );
                    for layer in &assembled.layers {
                        let _ = writeln!(
                            out,
                            "  {:<20} {:>6} tokens, {} of {} found, {} cut",
                            layer.name, layer.tokens, layer.items, layer.candidates, layer.cut
                        );
                    }
                }
                // A recipe may need more than a question; the message is part of the report.
                Err(error @ (Error::Invalid { .. } | Error::Pack(_))) => {
                    let _ = writeln!(out, "  {error}");
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    print(&out)?;
    Ok(if packed == 0 { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

/// A question of a sample with the sample's own fields, but this recipe's budget and layers.
fn request(
    recipe: &str,
    sample: &Sample,
    question: &haversack_eval::samples::SampleQuestion,
) -> Result<Request> {
    let mut request = sample.request(question, 0)?;
    request.recipe = recipe.to_owned();
    // The sample's own budgets and layers are not this recipe's.
    request.budget = None;
    request.caps.clear();
    request.reserves.clear();
    request.template = None;
    Ok(request)
}
