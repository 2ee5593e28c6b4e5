//! A proposal writer: the context of one opportunity in layers, with a foundation that is never
//! truncated.
//!
//! `cargo run -p haversack --example proposal`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use haversack::Engine;
use haversack::recipes::proposal::ProposalRequest;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use serde_json::{Value, json};

fn item(id: &str, kind: &str, fields: &Value) -> Result<Item, Box<dyn std::error::Error>> {
    let mut item = Item::new(ItemId::new(id)?, Kind::new(kind)?, "");
    item.fields = fields.as_object().cloned().unwrap_or_default();
    Ok(item)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path())?;
    let sales = engine.workspace("sales")?;
    sales
        .put(vec![
            item(
                "company",
                "company_profile",
                &json!({"summary": "Fennmark watches the temperature of what must stay cold.",
                       "keyDifferentiators": ["sensors that last ten years"]}),
            )?,
            item("brand", "brand_settings", &json!({"tone": "consultative", "formality": "formal"}))?,
            item(
                "harrow",
                "opportunity",
                &json!({"name": "Harrow Hospitals", "vertical": "healthcare", "stage": "proposal"}),
            )?,
            item(
                "call",
                "deal_context_item",
                &json!({"rawContent": "They lost a fridge of vaccines in May and looked at Polarwatch.",
                       "opportunityId": "harrow", "createdAt": "2026-11-02T10:00:00Z"}),
            )?,
            item(
                "probe",
                "product",
                &json!({"name": "Cold Probe", "description": "A wireless sensor for fridges.",
                       "pricing": "4 € a month", "features": ["alarms by text message"]}),
            )?,
            item(
                "polarwatch",
                "battlecard",
                &json!({"competitorName": "Polarwatch", "winThemes": ["our alarms reach people"]}),
            )?,
        ])
        .await?;

    let context =
        sales.proposal(&ProposalRequest::new("harrow", "Write the executive summary")).await?;
    println!("{}", context.context);
    println!(
        "{} of {} tokens; competitors: {}",
        context.budget_status.total_tokens,
        context.budget_status.budget_limit,
        context.competitive.len(),
    );
    Ok(())
}
