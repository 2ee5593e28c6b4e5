//! `haversack replay`: a pack made again from its receipt, and whether it is the same.

use std::path::Path;

use anyhow::Result;
use haversack::{Builder, Engine, Error, Receipt};
use haversack_store::store::viewer::Viewer;

use super::asking::with_recipe;
use super::receipts;
use super::show::difference;
use crate::args::{self, Place};
use crate::input::tokenizer_file;
use crate::output::{Found, grouped, print, say};
use crate::paint::Paint;
use crate::runtime::wait;
use crate::trouble::Hinted;

pub(crate) fn run(place: &Place, args: &args::Replay) -> Result<Found> {
    let mut workspace = place.engine_on_existing(Engine::builder())?;
    let receipt = wait(async { receipts::find(&workspace, &args.receipt).await })?;
    if args.recipe.is_some() || args.tokenizer.is_some() {
        let brought = brought(args, &receipt)?;
        // A data folder is open once at a time.
        drop(workspace);
        workspace = place.engine_on_existing(brought)?;
    }
    wait(async {
        let replay = Box::pin(workspace.replay(&receipt.id, &Viewer::owner())).await;
        let replay = replay.map_err(|error| missing_file(error, &receipt))?;
        let same = replay.difference.same;
        let tokens = grouped(replay.assembled.pack.tokens);
        let verdict = match same {
            true => format!("same bytes: {tokens} tokens, as on receipt {}", receipt.id),
            false => format!("other bytes: {tokens} tokens, not as on receipt {}", receipt.id),
        };
        if args.json {
            print(&serde_json::to_string_pretty(&replay.difference)?)?;
        } else if args.print {
            print(replay.assembled.text())?;
            say(&verdict);
        } else {
            let paint = Paint::of_stdout();
            let told = if same { paint.good(&verdict) } else { paint.bad(&verdict) };
            let details = if same { String::new() } else { difference(&replay.difference, paint) };
            print(&format!("{told}\n{details}"))?;
        }
        Ok(if same { Found::Something } else { Found::Nothing })
    })
}

/// An engine with the files that the pack was made with, under the names that its receipt has for
/// them: they may have been moved since.
fn brought(args: &args::Replay, receipt: &Receipt) -> Result<Builder> {
    let mut builder = Engine::builder();
    if let Some(path) = &args.recipe {
        builder = with_recipe(builder, Path::new(path), &receipt.recipe)?;
    }
    if let Some(path) = &args.tokenizer {
        let name = receipt.request.tokenizer.as_deref().unwrap_or(path);
        builder = builder.tokenizer(name, tokenizer_file(path, name)?);
    }
    Ok(builder)
}

/// Receipts do not hold the files that a pack was made with: says which one is to be given again.
fn missing_file(error: Error, receipt: &Receipt) -> anyhow::Error {
    let hint = match &error {
        Error::NoRecipe { name, .. } if *name == receipt.recipe => {
            "this pack was made by a recipe file: give it again with --recipe FILE"
        }
        Error::Invalid { field, .. } if field == "tokenizer" => {
            "the tokens of this pack were counted by a file: give it again with --tokenizer FILE"
        }
        _ => return error.into(),
    };
    Hinted { error, hint: hint.to_owned() }.into()
}
