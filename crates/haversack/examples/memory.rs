//! A chat assistant with long-term memories: remember, ask, preview, read the past.
//!
//! `cargo run -p haversack --example memory`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use haversack::Engine;
use haversack::recipes::memory::MemoryRequest;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path())?;
    let noor = engine.workspace("noor")?;

    let memory = |id: &str, sort: &str, text: &str| -> Result<Item, Box<dyn std::error::Error>> {
        let mut item = Item::new(ItemId::new(id)?, Kind::new("memory")?, text);
        item.fields.insert("type".into(), json!(sort));
        item.fields.insert("confidence".into(), json!(0.9));
        Ok(item)
    };
    let told = noor
        .remember(
            &Viewer::owner(),
            vec![
                memory("m1", "preference", "Noor drinks green tea in the morning, never coffee.")?,
                memory("m2", "fact", "Lina, Noor's daughter, is allergic to hazelnuts.")?,
                memory("m3", "fact", "Lina, Noor's daughter, is allergic to hazelnuts!")?,
            ],
        )
        .await?;
    println!("stored {}, left out {:?}", told.committed.stored, told.left_out);

    let request = MemoryRequest {
        token_budget: Some(120),
        include_metadata: true,
        ..MemoryRequest::new("What can I bake for Lina's birthday?")
    };
    let preview = noor.preview_memory(&request).await?;
    println!("{:.0} % of the budget, {:?}", preview.budget_used, preview.memory_ids);

    let context = noor.memory(&request).await?;
    assert_eq!(context.context, preview.context.context);
    println!("{}", context.context);
    Ok(())
}
