//! Properties that Haversack guarantees, checked on the packs that were just made.

use std::collections::BTreeSet;

use anyhow::Result;
use haversack::Assembled;
use haversack::remember::SkipReason;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::ledger::Outcome;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::{Value, json};

use super::PlayedScene;
use super::judge::model_among;
use crate::args::Application;
use crate::commands::show::{candidate_label, clipped, percent, plural};
use crate::output::grouped;

/// A guarantee that holds, with the evidence.
pub(super) struct DemoCheck {
    pub(super) says: String,
    pub(super) shown: Vec<String>,
}

/// Checks one guarantee of each application, and returns those that hold.
pub(super) async fn passed_checks(played: &PlayedScene) -> Result<Vec<DemoCheck>> {
    let kept = match played.scene.application {
        Application::Proposal => other_reader(played, "priya", &["deal-desk"]).await?,
        Application::Prime => more_is_never_worse(played, 4_000).await?,
        Application::Workspace => other_reader(played, "helena", &["leadership"]).await?,
        Application::Situation => rules(&played.assembled),
        Application::Memory => {
            let mut kept = same_bytes(played).await?;
            kept.extend(nothing_twice(played).await?);
            return Ok(kept);
        }
    };
    Ok(kept.into_iter().collect())
}

/// The items that were found, in or out.
fn candidate_items(assembled: &Assembled) -> BTreeSet<&ItemId> {
    assembled.pack.ledger.iter().map(|entry| &entry.id.item).collect()
}

/// The items that are in.
fn inside(assembled: &Assembled) -> BTreeSet<&ItemId> {
    let entries = assembled.pack.ledger.iter();
    entries
        .filter(|entry| !matches!(entry.outcome, Outcome::Out(_)))
        .map(|entry| &entry.id.item)
        .collect()
}

/// The same question by a user with more permissions.
async fn other_reader(
    played: &PlayedScene,
    user: &str,
    groups: &[&str],
) -> Result<Option<DemoCheck>> {
    let mut request = played.scene.request()?;
    request.viewer = Viewer::user(user)?;
    request.user = Some(user.to_owned());
    for group in groups {
        request.viewer = request.viewer.in_group(group)?;
    }
    request.keep = false;
    let other = played.workspace.pack(request).await?;
    let own = candidate_items(&played.assembled);
    let more: Vec<&ItemId> =
        candidate_items(&other).into_iter().filter(|id| !own.contains(id)).collect();
    let asker = played.scene.question().user;
    let mut readable = Vec::new();
    let snapshot = played.workspace.store().snapshot(&played.assembled.request.viewer).await?;
    for id in more {
        if snapshot.get(std::slice::from_ref(id)).await?.pop().flatten().is_none() {
            readable.push(id);
        }
    }
    let Some(first) = readable.first() else { return Ok(None) };
    let names: Vec<String> = readable.iter().take(2).map(|id| name(&other, id)).collect();
    let verb = if readable.len() == 1 { "is" } else { "are" };
    let list = names.join(", ");
    let more = if readable.len() > 2 { ", …" } else { "" };
    let to = format!("{user} of {}", groups.join(", "));
    Ok(Some(DemoCheck {
        says: "What you may not read cannot change your result".to_owned(),
        shown: vec![format!(
            "{list}{more} {verb} found for {to}. For {asker} {} not exist: not in the text, not in a \
             score, not in a count.",
            if readable.len() == 1 { format!("{first} does") } else { "they do".to_owned() }
        )],
    }))
}

/// An item's label in a pack.
fn name(assembled: &Assembled, id: &ItemId) -> String {
    let all = assembled.core.layers.iter().flat_map(|(_, ranked)| ranked);
    let dropped = assembled.core.dropped.iter().map(|dropped| &dropped.ranked);
    let ranked = all.chain(dropped).find(|ranked| ranked.candidate.id.item == *id);
    let label = ranked.map(|ranked| candidate_label(&ranked.candidate)).unwrap_or_default();
    if label.is_empty() { id.to_string() } else { format!("“{}” ({id})", clipped(&label, 48)) }
}

/// The same question with a larger budget.
async fn more_is_never_worse(played: &PlayedScene, budget: u32) -> Result<Option<DemoCheck>> {
    let mut request = played.scene.request()?;
    request.budget = Some(haversack_core::units::Tokens::new(budget));
    request.keep = false;
    let larger = played.workspace.pack(request).await?;
    let (small, large) = (inside(&played.assembled), inside(&larger));
    let still = small.intersection(&large).count();
    Ok((still == small.len()).then(|| DemoCheck {
        says: "More is never worse".to_owned(),
        shown: vec![format!(
            "All {still} that fit {} tokens are there at {}, with {} more; coverage rises from {} \
             to {}.",
            grouped(played.scene.budget),
            grouped(budget),
            large.len() - still,
            percent(played.assembled.quality().coverage.get()),
            percent(larger.quality().coverage.get()),
        )],
    }))
}

/// The rules that were judged, by which judge, and with which confidence.
fn rules(assembled: &Assembled) -> Option<DemoCheck> {
    let facts = assembled.facts.get("contexts.contexts")?;
    let text = |rule: &Value, name: &str| {
        rule.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let line = |rule: &Value| {
        let applies = rule.get("applies").and_then(Value::as_bool).unwrap_or_default();
        let is_open = text(rule, "answer") == "undecided";
        let verdict = match (is_open, applies) {
            (false, true) => "holds",
            (false, false) => "does not hold",
            (true, true) => "undecided, brought in as the rule says",
            (true, false) => "undecided, left out as the rule says",
        };
        let condition = text(rule, "condition");
        let condition = if condition.is_empty() { "always".to_owned() } else { condition };
        let sure = rule.get("sureness").and_then(Value::as_f64).filter(|_| !is_open).map(percent);
        let sure = sure.map(|sure| format!(", {sure} sure")).unwrap_or_default();
        let (condition, judge) = (clipped(&condition, 60), text(rule, "judge"));
        // Lines are filled anew, word by word: a gap of more than one space would be lost.
        format!("{verdict}: {condition} ({judge}{sure})")
    };
    let rules = facts.get("rules")?.as_array()?;
    let holds = |rule: &&Value| rule.get("applies") == Some(&json!(true));
    let (holding, others): (Vec<&Value>, Vec<&Value>) = rules.iter().partition(holds);
    let applying = holding.len();
    let judge = model_among(rules);
    let by = judge.map_or_else(|| "on this machine".to_owned(), |judge| format!("with {judge}"));
    Some(DemoCheck {
        says: format!(
            "{} judged {by}, {applying} apply, and the result says by whom",
            plural(rules.len(), "rule", "rules"),
        ),
        shown: holding.into_iter().chain(others).map(line).collect(),
    })
}

/// The same pack made again from its receipt.
async fn same_bytes(played: &PlayedScene) -> Result<Vec<DemoCheck>> {
    let receipt = played.assembled.receipt();
    let replay = Box::pin(played.workspace.replay(&receipt, &Viewer::owner())).await?;
    let bytes = grouped(replay.assembled.text().len());
    Ok(Vec::from_iter(replay.difference.same.then(|| DemoCheck {
        says: "Same input, same bytes".to_owned(),
        shown: vec![format!("Made again from receipt {receipt}: {bytes} bytes, all the same.")],
    })))
}

/// A memory that repeats one that is stored.
async fn nothing_twice(played: &PlayedScene) -> Result<Vec<DemoCheck>> {
    let known = played.assembled.core.layers.iter().flat_map(|(_, ranked)| ranked).next();
    let Some(known) = known else { return Ok(Vec::new()) };
    let mut item = Item::new(ItemId::new("told-again")?, Kind::new("memory")?, "");
    item.fields.insert("content".to_owned(), json!(known.candidate.text.to_string()));
    let remembered = played.workspace.remember(&Viewer::owner(), vec![item]).await?;
    let Some(left_out) = remembered.left_out.first() else { return Ok(Vec::new()) };
    let of = match &left_out.why {
        SkipReason::Repeats { of } => of.to_string(),
        SkipReason::Echoes { of } => {
            of.iter().map(ItemId::to_string).collect::<Vec<_>>().join(", ")
        }
    };
    let text = clipped(&known.candidate.text, 60);
    Ok(vec![DemoCheck {
        says: "A memory does not fill up with itself".to_owned(),
        shown: vec![format!("“{text}” told again: not stored, {of} says it.")],
    }])
}
