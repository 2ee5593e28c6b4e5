//! `haversack remember`: one memory, if it says something new.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use haversack::remember::Why;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::args::{self, Place};
use crate::input::{now, read_text};
use crate::output::{Found, print, say};
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Remember) -> Result<Found> {
    let item = item(args)?;
    let id = item.id.clone();
    let workspace = place.engine_on_made()?;
    wait(async {
        let remembered = workspace.remember(&Viewer::owner(), vec![item]).await?;
        workspace.settle().await;
        for warning in &remembered.committed.warnings {
            say(&format!("note: {warning}"));
        }
        match remembered.left_out.first() {
            None => {
                print(&format!("remembered as {id}"))?;
                Ok(Found::Something)
            }
            Some(left_out) => {
                print(&format!("not stored: {}", reason(&left_out.why)))?;
                Ok(Found::Nothing)
            }
        }
    })
}

fn item(args: &args::Remember) -> Result<Item> {
    let text = match args.text.as_str() {
        "-" => read_text(Path::new("-"))?,
        text => text.to_owned(),
    };
    ensure!(!text.trim().is_empty(), "there is nothing to remember: the text is empty");
    let at = now();
    let id = args.id.clone().unwrap_or_else(|| format!("memory-{}", at.as_millis()));
    let mut item = Item::new(ItemId::new(&id).context("--id")?, Kind::new("memory")?, "");
    let fields = [
        ("content", Some(json!(text.trim()))),
        ("type", args.sort.as_ref().map(|sort| json!(sort))),
        ("conversation", args.conversation.as_ref().map(|id| json!(id))),
        ("confidence", args.confidence.map(|part| json!(part))),
        ("created_at", Some(json!(at.as_millis()))),
    ];
    item.fields =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(item)
}

fn reason(why: &Why) -> String {
    let names = |ids: &[ItemId]| ids.iter().map(ItemId::to_string).collect::<Vec<_>>().join(", ");
    match why {
        Why::Repeats { of } => format!("it says what {of} says; --id {of} replaces that"),
        Why::Echoes { of } => format!("it is made of what is known from {}", names(of)),
    }
}
