//! `haversack replay`: a pack made again from its receipt, and whether it is the same.

use std::path::Path;

use anyhow::{Result, ensure};
use haversack::receipt::Difference;
use haversack::{Builder, Engine, Error, Receipt, Workspace};
use haversack_store::store::viewer::Viewer;

use super::receipts;
use super::request::with_recipe;
use super::show::difference;
use crate::args::{ReplayArgs, StoreLocation};
use crate::errors::HintedError;
use crate::input::tokenizer_file;
use crate::output::{ExitOutcome, grouped, print, say};
use crate::paint::Paint;
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &ReplayArgs) -> Result<ExitOutcome> {
    let target = location.reach(|location| location.existing_workspace(Engine::builder()))?;
    match target {
        WorkspaceTarget::Local(workspace) => replay_locally(location, workspace, args),
        WorkspaceTarget::Server(server) => {
            ensure!(
                args.recipe.is_none() && args.tokenizer.is_none(),
                "--recipe and --tokenizer: a server replays with what it has itself; stop the \
                 server to give files"
            );
            let replay = receipts::of_server(server.replay(&args.receipt))?;
            let text = replay.result["context"].as_str().unwrap_or_default();
            let tokens = replay.result["assembly"]["tokens"].as_u64().unwrap_or(0);
            show(&replay.difference, text, &grouped(tokens), &args.receipt, args)
        }
    }
}

fn replay_locally(
    location: &StoreLocation,
    mut workspace: Workspace,
    args: &ReplayArgs,
) -> Result<ExitOutcome> {
    let receipt = wait(async { receipts::find(&workspace, &args.receipt).await })?;
    if args.recipe.is_some() || args.tokenizer.is_some() {
        let builder = builder_with_files(args, &receipt)?;
        // A data folder is open once at a time.
        drop(workspace);
        workspace = location.existing_workspace(builder)?;
    }
    wait(async {
        let replay = Box::pin(workspace.replay(&receipt.id, &Viewer::owner())).await;
        let replay = replay.map_err(|error| missing_file(error, &receipt))?;
        let tokens = grouped(replay.assembled.pack.tokens);
        show(&replay.difference, replay.assembled.text(), &tokens, &receipt.id, args)
    })
}

fn show(
    found: &Difference,
    text: &str,
    tokens: &str,
    receipt: &str,
    args: &ReplayArgs,
) -> Result<ExitOutcome> {
    let verdict = match found.same {
        true => format!("same bytes: {tokens} tokens, as on receipt {receipt}"),
        false => format!("other bytes: {tokens} tokens, not as on receipt {receipt}"),
    };
    if args.json {
        print(&serde_json::to_string_pretty(found)?)?;
    } else if args.print {
        print(text)?;
        say(&verdict);
    } else {
        let paint = Paint::of_stdout();
        let heading = if found.same { paint.good(&verdict) } else { paint.bad(&verdict) };
        let details = if found.same { String::new() } else { difference(found, paint) };
        print(&format!("{heading}\n{details}"))?;
    }
    Ok(if found.same { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

/// An engine with the files that the pack was made with, under their names on the receipt: they may
/// have moved since.
fn builder_with_files(args: &ReplayArgs, receipt: &Receipt) -> Result<Builder> {
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
    HintedError { error, hint: hint.to_owned() }.into()
}
