//! What a request hints at: kinds that come first, and items that it includes or leaves out by name
//! (W9). A hint that names nothing is told.

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

/// How much of the best match of the question something must have to come first for its kind: a
/// kind is no reason to show what has nothing to do with the question.
const NEAR: f64 = 0.5;

/// Says which hints name nothing that this reader has.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn check_hints(
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Vec<Notice>, ReadError> {
    let mut notices = Vec::new();
    let mut tell = |message: String| notices.push(Notice::new(NoticeCode::NotFound, message));
    if !request.exclude.is_empty() {
        let there = snapshot.are_there(&request.exclude).await?;
        for (id, _) in request.exclude.iter().zip(there).filter(|(_, is_there)| !is_there) {
            tell(format!("exclude: there is no item {:?} that this user can read", id.as_str()));
        }
    }
    for id in request.include.iter().filter(|id| request.exclude.contains(id)) {
        tell(format!("include: {:?} is excluded, too, and left out", id.as_str()));
    }
    for kind in &request.prioritize {
        if snapshot.count(&Filter::kind(kind.clone())).await? == 0 {
            tell(format!("prioritize: there is no item of type {:?}", kind.as_str()));
        }
    }
    Ok(notices)
}

/// Lets layers that count kinds pay for the best first: else a short text of another kind would go
/// before a long one of a kind that was asked for.
pub(super) fn pay_by_rank(request: &Request, layers: &mut [Layer], rankers: &[Ranker]) {
    if request.prioritize.is_empty() {
        return;
    }
    for (layer, ranker) in layers.iter_mut().zip(rankers) {
        if ranker.uses(Component::TypeMatch) && layer.order == Order::Density {
            layer.order = Order::Rank;
        }
    }
}

/// Puts kinds that were asked for before the others, where kinds count.
pub(super) fn put_first(request: &Request, ranker: &Ranker, ranked: &mut [Ranked]) {
    if request.prioritize.is_empty() || !ranker.uses(Component::TypeMatch) {
        return;
    }
    let met = |ranked: &Ranked| ranked.candidate.signals.get(Component::MaxSim);
    let best = ranked.iter().filter_map(met).max().unwrap_or(Score::ZERO).get();
    for ranked in ranked.iter_mut() {
        let is_near = met(ranked).is_none_or(|met| met.get() >= best * NEAR);
        let is_first = is_near && request.prioritize.contains(&ranked.candidate.kind);
        let score = ranked.score.get().clamp(0.0, 1.0);
        let score = if is_first { 0.5 + score / 2.0 } else { score / 2.0 };
        ranked.score = Score::unit(score);
    }
    sort(ranked);
}

/// Says which items that the request includes found no room.
pub(super) fn left_out(
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
