//! An assistant inside a workspace of blocks: the user's focus and its surroundings.
//!
//! `cargo run -p haversack --example blocks`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use haversack::Engine;
use haversack::recipes::workspace::{WorkspaceRequest, WorkspaceUser};
use haversack::wire::WireFocus;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path())?;
    let library = engine.workspace("library")?;
    let block = |id: &str, kind: &str, parent: Option<&str>, text: &str| {
        let mut item = Item::new(ItemId::new(id)?, Kind::new(kind)?, text);
        item.parent = parent.map(ItemId::new).transpose()?;
        if kind == "page" {
            item.title = text.to_owned();
            item.body = String::new();
        }
        Ok::<_, Box<dyn std::error::Error>>(item)
    };
    library
        .put(vec![
            block("move", "page", None, "Moving the library")?,
            block("why", "text", Some("move"), "The old building has no lift and a leaking roof.")?,
            block("task", "todo", Some("move"), "Move the periodicals into the new stacks.")?,
            block("like", "todo", Some("move"), "Move the maps: measure, label, pack, carry.")?,
        ])
        .await?;

    let request = WorkspaceRequest {
        focus: Some(WireFocus { block_id: Some("task".into()), ..WireFocus::default() }),
        request_type: Some("assist".into()),
        user: Some(WorkspaceUser::Name("mara".into())),
        ..WorkspaceRequest::new("Break this task into subtasks")
    };
    let context = library.blocks(&request).await?;
    println!("{}", context.serialized);
    println!(
        "{} blocks of {}",
        context.metadata.blocks_included, context.metadata.blocks_considered
    );
    Ok(())
}
