//! A request's hints: kinds that rank first, and items to include or exclude by name (W9). A hint
//! that names nothing becomes a notice.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_core::layer::{Layer, Order};
use haversack_core::rank::{Component, Ranked, Ranker, sort};
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Filter;

use crate::notice::{Notice, NoticeCode};
use crate::request::Request;

/// The part of the best match that a candidate needs to rank first for its kind: a kind is no
/// reason to show something irrelevant.
const PRIORITIZED_SCORE_SHARE: f64 = 0.5;

/// Returns notices about hints that name nothing this viewer can read.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn check_hints(
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Vec<Notice>, ReadError> {
    let mut notices = Vec::new();
    let mut add_notice = |message: String| notices.push(Notice::new(NoticeCode::NotFound, message));
    if !request.exclude.is_empty() {
        let there = snapshot.exist(&request.exclude).await?;
        for (id, _) in request.exclude.iter().zip(there).filter(|(_, is_there)| !is_there) {
            add_notice(format!(
                "exclude: there is no item {:?} that this user can read",
                id.as_str()
            ));
        }
    }
    for id in request.include.iter().filter(|id| request.exclude.contains(id)) {
        add_notice(format!("include: {:?} is also excluded, so it is left out", id.as_str()));
    }
    for kind in &request.prioritize {
        if snapshot.count(&Filter::kind(kind.clone())).await? == 0 {
            add_notice(format!("prioritize: there is no item of type {:?}", kind.as_str()));
        }
    }
    Ok(notices)
}

/// Makes layers that score kinds buy candidates in rank order: else a short text of another kind
/// would go before a long one of a prioritized kind.
pub(super) fn buy_in_rank_order(request: &Request, layers: &mut [Layer], rankers: &[Ranker]) {
    if request.prioritize.is_empty() {
        return;
    }
    for (layer, ranker) in layers.iter_mut().zip(rankers) {
        if ranker.uses(Component::TypeMatch) && layer.order == Order::Density {
            layer.order = Order::Rank;
        }
    }
}

/// Ranks prioritized kinds before the others, in layers that score kinds.
pub(super) fn rank_prioritized_first(request: &Request, ranker: &Ranker, ranked: &mut [Ranked]) {
    if request.prioritize.is_empty() || !ranker.uses(Component::TypeMatch) {
        return;
    }
    let met = |ranked: &Ranked| ranked.candidate.signals.get(Component::MaxSim);
    let best = ranked.iter().filter_map(met).max().unwrap_or(Score::ZERO).get();
    for ranked in ranked.iter_mut() {
        let is_near = met(ranked).is_none_or(|met| met.get() >= best * PRIORITIZED_SCORE_SHARE);
        let is_first = is_near && request.prioritize.contains(&ranked.candidate.kind);
        let score = ranked.score.get().clamp(0.0, 1.0);
        let score = if is_first { 0.5 + score / 2.0 } else { score / 2.0 };
        ranked.score = Score::unit(score);
    }
    sort(ranked);
}

/// Returns a notice about included items for which there was no room.
pub(super) fn left_out_notice(
    request: &Request,
    found: &BTreeSet<&ItemId>,
    shown: impl Fn(&ItemId) -> bool,
) -> Option<Notice> {
    let is_out = |id: &&ItemId| found.contains(*id) && !shown(id) && !request.exclude.contains(id);
    let out: Vec<&str> = request.include.iter().filter(is_out).map(ItemId::as_str).collect();
    (!out.is_empty()).then(|| {
        let message = format!("include: no room was left for {}", out.join(", "));
        let details = serde_json::json!({ "category": "included", "ids": out });
        Notice { details, ..Notice::new(NoticeCode::ContextTruncated, message) }
    })
}
