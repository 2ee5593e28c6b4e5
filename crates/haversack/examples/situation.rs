//! Guidance for tools and agents: contexts that inherit, and rules that add more of them.
//!
//! `cargo run -p haversack --example situation`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use haversack::Engine;
use haversack::recipes::situation::SituationRequest;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use serde_json::{Value, json};

fn context(id: &str, fields: &Value) -> Result<Item, Box<dyn std::error::Error>> {
    let mut item = Item::new(ItemId::new(id)?, Kind::new("context")?, "");
    item.fields = fields.as_object().cloned().unwrap_or_default();
    Ok(item)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path())?;
    let pay = engine.workspace("pay")?;
    pay.put(vec![
        context(
            "team",
            &json!({
                "metadata": {"name": "Payments", "type": "team"},
                "intent_context": {"business_goal": "No citizen pays twice."},
                "behavior_rules": [{"trigger": "money moves", "action": "ask a second person"}],
                "injection_rules": [{
                    "name": "production",
                    "condition": "situation.environment == \"production\"",
                    "inject": ["guides/release"],
                }],
            }),
        )?,
        context(
            "task",
            &json!({
                "metadata": {"name": "Refund backfill", "type": "task"},
                "intent_context": {"business_goal": "Repair the weekend's refunds."},
                "parent": "team",
            }),
        )?,
        context(
            "guides/release",
            &json!({
                "metadata": {"name": "Release guide", "type": "guide"},
                "behavior_rules": [{"trigger": "before a run", "action": "take a backup"}],
            }),
        )?,
    ])
    .await?;

    let situation = json!({"tool": "run_script", "environment": "production"});
    let situation = situation.as_object().cloned().unwrap_or_default();
    let context = pay.situation(&SituationRequest::new("task", situation)).await?;
    println!("{}", context.context);
    println!("{:#}", context.rules);
    Ok(())
}
