//! An agent over a person's files: one ranked list for a message, with citations.
//!
//! `cargo run -p haversack --example prime`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use haversack::Engine;
use haversack::recipes::prime::{PrimeRequest, cite};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path())?;
    let files = engine.workspace("files")?;
    let file = |path: &str, text: &str| -> Result<Item, Box<dyn std::error::Error>> {
        let mut item = Item::new(ItemId::new(path)?, Kind::new("file")?, text);
        item.path = Some(path.to_owned());
        Ok(item)
    };
    files
        .put(vec![
            file("notes/prices.md", "From January Nightjar costs 22.90 a kilo.")?,
            file("notes/roaster.md", "The thermocouple was replaced on the ninth.")?,
        ])
        .await?;

    let mut request =
        PrimeRequest::new("", "What does Nightjar cost from January?").to_request()?;
    request.viewer = Viewer::user("mara")?;
    request.user = Some("mara".to_owned());
    let pack = files.pack(request).await?;
    println!("{}", pack.text());

    // The model names its sources, so that readers see which were used.
    let response = format!("22.90 a kilo [{}].", pack.pack.citations[0].id);
    println!("{}{}", response, cite(&pack, &response).sources);

    files.feedback(&Viewer::user("mara")?, "mara", &ItemId::new("notes/prices.md")?, true).await?;
    files.flush().await;
    Ok(())
}
