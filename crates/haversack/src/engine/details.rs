//! What goes with a pack: details from the store, the key of the cache, usage events, the log line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Stability;
use haversack_core::units::Timestamp;
use haversack_provider::Usage;
use haversack_store::store::Snapshot;
use haversack_store::store::change::Change;
use haversack_store::store::item::{Event, EventKind};
use serde_json::json;

use super::CompiledRecipe;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::pipeline::{Assembled, PackDelta, add_fields_and_excerpts};
use crate::receipt::Receipt;
use crate::request::{OPPORTUNITY, RankerChoice, Request};
use crate::revision::RevisionId;
use crate::wire::{WireRequest, principals_of};

/// Adds fields and excerpts from the store to a pack, and a notice when its history is incomplete.
pub(super) async fn add_stored_details(
    assembled: &mut Assembled,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<(), Error> {
    add_fields_and_excerpts(assembled, snapshot).await?;
    if !snapshot.history_is_whole() {
        let message = "some of what was there then is no longer kept";
        assembled.notices.push(Notice::new(NoticeCode::HistoryIncomplete, message));
    }
    Ok(())
}

/// The notice of a pack that was made while the shared journal could not be reached.
pub(super) fn stale_notice(age: Duration) -> Notice {
    let seconds = age.as_secs().max(1);
    let message = format!(
        "the shared journal cannot be reached: what other nodes wrote in the last {seconds} s may be \
         missing"
    );
    Notice::new(NoticeCode::Stale, message)
}

/// Whether the cache key can hold everything that decides the pack: it cannot hold a function.
pub(super) fn is_cacheable(request: &Request) -> bool {
    !matches!(request.ranker, Some(RankerChoice::Given(_)))
}

/// Builds a cache key of everything that decides a pack, except the time. It contains nothing that the
/// viewer cannot read, because cache misses would reveal hidden writes.
pub(super) fn cache_key(
    ready: &CompiledRecipe,
    snapshot: &dyn Snapshot,
    request: &Request,
) -> String {
    let revision = RevisionId::for_viewer(snapshot, &request.viewer);
    let key = json!({
        "recipe": ready.hash,
        "revision": revision.to_string(),
        "activity": snapshot.activity(),
        "model": snapshot.embedder().model().to_string(),
        "viewer": principals_of(&request.viewer),
        "request": WireRequest::from_request(request),
        "factsAt": request.facts_at.map(Timestamp::as_millis),
        "keep": request.keep,
    });
    key.to_string()
}

/// Builds a usage event for each stored item of a pack.
pub(super) fn usage_events(assembled: &Assembled, user: &str, at: Timestamp) -> Vec<Change> {
    let sections = &assembled.pack.sections;
    let mut items: Vec<&ItemId> =
        sections.iter().flat_map(|section| &section.items).map(|item| &item.id.item).collect();
    items.sort_unstable();
    items.dedup();
    let event = |item: &ItemId| Event {
        item: item.clone(),
        user: user.to_owned(),
        event_kind: EventKind::Used,
        at,
    };
    items
        .into_iter()
        .filter(|item| !assembled.is_synthetic(item))
        .map(|item| Change::AddEvent(event(item)))
        .collect()
}

/// Compares a pack with the one before it in the conversation.
pub(super) fn delta_since(before: &Receipt, assembled: &Assembled) -> Result<PackDelta, Error> {
    let earlier: Vec<_> = before.previous()?.order.into_iter().map(|shown| shown.id).collect();
    let current: Vec<_> =
        assembled.pack.previous.order.iter().map(|shown| shown.id.clone()).collect();
    let missing = |of: &[CandidateId], from: &[CandidateId]| -> Vec<CandidateId> {
        of.iter().filter(|id| !from.contains(id)).cloned().collect()
    };
    Ok(PackDelta {
        previous: before.id.clone(),
        kept_bytes: before.unchanged_prefix_len(&assembled.pack.text),
        added: missing(&current, &earlier),
        removed: missing(&earlier, &current),
    })
}

/// Logs one line for a pack (P13).
pub(super) fn log_pack(workspace: &str, assembled: &Assembled) {
    let specs = assembled.recipe.layers.iter().zip(&assembled.layers);
    let foundational = specs.filter(|(spec, _)| spec.stability == Stability::Foundational);
    let foundational: u32 = foundational.map(|(_, layer)| layer.tokens.get()).sum();
    let total = assembled.pack.tokens.get();
    let categories: BTreeMap<&str, u32> =
        assembled.layers.iter().map(|layer| (layer.name.as_str(), layer.tokens.get())).collect();
    let opportunity = assembled.request.subjects.get(OPPORTUNITY).map(ItemId::as_str);
    let mut usage = Usage::default();
    assembled.model_usage.values().for_each(|used| usage.add(used));
    tracing::info!(
        target: "haversack",
        event = "context_assembled",
        organizationId = workspace,
        opportunityId = opportunity,
        recipe = assembled.recipe.name,
        receipt = assembled.receipt(),
        totalTokens = total,
        budgetLimit = assembled.core.budget.total().get(),
        foundationalTokens = foundational,
        // Everything that is not foundational, overhead included.
        ragTokens = total.saturating_sub(foundational),
        truncated = assembled.layers.iter().any(crate::pipeline::LayerReport::is_truncated),
        latencyMs = assembled.timings.total().as_secs_f64() * 1_000.0,
        categories = ?categories,
        modelCalls = usage.calls,
        modelTokens = usage.tokens_in + usage.tokens_out,
        modelCost = usage.cost,
        "context assembled"
    );
}
