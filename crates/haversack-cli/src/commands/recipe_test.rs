//! `haversack recipe test`: a recipe tried on the sample workspaces, as a first look at what it packs.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use haversack::samples::{ALL, NOW, Sample};
use haversack::{Engine, Error, Request};

use crate::output::{Found, grouped, print};
use crate::runtime::wait;

/// Packs every sample's questions by a recipe, and shows what each layer got.
pub(crate) fn run(name: &str, text: &str) -> Result<Found> {
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
                // What needs more than a question says so: that is worth knowing, too.
                Err(error @ (Error::Invalid { .. } | Error::Pack(_))) => {
                    let _ = writeln!(out, "  {error}");
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    print(&out)?;
    Ok(if packed == 0 { Found::Nothing } else { Found::Something })
}

/// The sample's question, with all that the sample knows of its place.
fn request(
    recipe: &str,
    sample: &Sample,
    question: &haversack::samples::Question,
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
