//! Collectors by time and owner: recent activity, newest items, the request's subject, and the one
//! item of a kind.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join, try_join_all};
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::Component;
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{EventKind, Stored};
use haversack_store::store::query::{Filter, LIMIT_MAX, ListOrder, Page, Usage};
use serde_json::Value;

use super::candidates::{
    candidate_from_item, candidate_from_passage, collector_output, falling_relevance, get_items,
    linear_relevance, relevant_candidate,
};
use super::item_filter::ItemFilter;
use super::partial_read::{Total, partial_read_notice};
use super::{Collector, CollectorOutput, Question};
use crate::notice::Notice;
use crate::recipe::CollectorSpec;
use crate::request::Request;

/// Most bytes of a recently used file that is shown whole; of a longer one only the opening is
/// shown.
const WHOLE_BYTES_MAX: usize = 4 << 10;

/// Collects the items that the user edited and viewed recently (W5).
pub(super) struct ActivityCollector;

impl Collector for ActivityCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let (edits, views) = (spec.settings.count("edits"), spec.settings.count("views"));
            let (edited, viewed) = try_join(
                recent_items(question, spec, &[EventKind::Edited], edits),
                recent_items(question, spec, &[EventKind::Viewed], views),
            )
            .await?;
            let edit = |(rank, (stored, usage)): (usize, &(Stored, Usage))| {
                let mut candidate = relevant_candidate(stored, falling_relevance(600, 20, rank));
                // An edit may be recorded as an event without changing the item; it dates the item,
                // too.
                candidate.moment = candidate.moment.max(Some(usage.last));
                candidate
            };
            let view = |(rank, (stored, _)): (usize, &(Stored, Usage))| {
                relevant_candidate(stored, falling_relevance(500, 20, rank))
            };
            let hours = spec.settings.count("hours");
            let notices = [
                edited.partial_notice(spec, &format!("items edited in {hours} hours")),
                viewed.partial_notice(spec, &format!("items viewed in {hours} hours")),
            ];
            let edited = edited.found.iter().enumerate().map(edit);
            let viewed = viewed.found.iter().enumerate().map(view);
            let mut output = collector_output(spec, edited.chain(viewed).collect());
            output.notices.extend(notices.into_iter().flatten());
            Ok(output)
        }
        .boxed()
    }
}

/// Collects the files that the user opened or was given recently (K2).
pub(super) struct RecentCollector;

impl Collector for RecentCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let limit = spec.settings.count("limit");
            let event_kinds = [EventKind::Viewed, EventKind::Used];
            let used = recent_items(question, spec, &event_kinds, limit).await?;
            let mut candidates: Vec<Candidate> =
                used.found.iter().map(|(stored, _)| candidate_from_item(stored)).collect();
            shorten_to_openings(question, &mut candidates).await?;
            for (rank, candidate) in candidates.iter_mut().enumerate() {
                candidate.signals.set(Component::Collector, linear_relevance(rank, limit));
            }
            let mut output = collector_output(spec, candidates);
            output.notices.extend(used.partial_notice(spec, "items used of late"));
            Ok(output)
        }
        .boxed()
    }
}

/// Items that a user edited, viewed or used recently, and how many there are.
struct RecentItems {
    found: Vec<(Stored, Usage)>,
    total: Total,
}

impl RecentItems {
    fn partial_notice(&self, spec: &CollectorSpec, what: &str) -> Option<Notice> {
        partial_read_notice(&spec.by, self.found.len(), self.total, what)
    }
}

/// Replaces long texts by their first passage.
async fn shorten_to_openings(
    question: &Question,
    candidates: &mut [Candidate],
) -> Result<(), ReadError> {
    let long: Vec<&mut Candidate> =
        candidates.iter_mut().filter(|candidate| candidate.text.len() > WHOLE_BYTES_MAX).collect();
    let ids: Vec<CandidateId> = long.iter().map(|candidate| candidate.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let openings = question.snapshot.passages(&ids).await?;
    for (candidate, opening) in long.into_iter().zip(openings) {
        if let Some(passage) = opening {
            *candidate = candidate_from_passage(&passage);
        }
    }
    Ok(())
}

/// Returns the items of the user's recent events, latest first, each once; none if the request has
/// no user.
async fn recent_items(
    question: &Question,
    spec: &CollectorSpec,
    event_kinds: &[EventKind],
    limit: usize,
) -> Result<RecentItems, ReadError> {
    let Some(user) = question.request.user.as_deref().filter(|_| limit > 0) else {
        return Ok(RecentItems { found: Vec::new(), total: Total::Exactly(0) });
    };
    let filter = ItemFilter::for_links(question, spec);
    let hours = i64::try_from(spec.settings.count("hours")).unwrap_or(i64::MAX);
    let since = question.now.as_millis().saturating_sub(hours.saturating_mul(3_600_000));
    let since = Timestamp::from_millis(since);
    // The filter may refuse some, so more are read than the limit.
    let events_max = limit.saturating_mul(4).clamp(50, LIMIT_MAX);
    let (snapshot, until) = (&question.snapshot, Some(question.events_until()));
    let lists = event_kinds
        .iter()
        .map(|event_kind| snapshot.recent(user, *event_kind, since, until, events_max));
    let mut latest: BTreeMap<ItemId, Usage> = BTreeMap::new();
    let lists = try_join_all(lists).await?;
    let is_truncated = lists.iter().any(|list| list.len() >= events_max);
    for usage in lists.into_iter().flatten() {
        let known = latest.entry(usage.item.clone()).or_insert_with(|| usage.clone());
        if known.last < usage.last {
            *known = usage;
        }
    }
    let mut latest: Vec<Usage> = latest.into_values().collect();
    latest.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.item.cmp(&b.item)));
    let ids: Vec<ItemId> = latest.iter().map(|usage| usage.item.clone()).collect();
    let stored = get_items(question, &ids).await?;
    let known = stored.into_iter().zip(latest).filter_map(|(stored, usage)| Some((stored?, usage)));
    let is_accepted =
        |(stored, usage): &(Stored, Usage)| filter.accepts_at(stored, Some(usage.last));
    let mut found: Vec<(Stored, Usage)> = known.filter(is_accepted).collect();
    let total =
        if is_truncated { Total::AtLeast(found.len()) } else { Total::Exactly(found.len()) };
    found.truncate(limit);
    Ok(RecentItems { found, total })
}

/// Collects the newest item of each kind, for kinds of which there is one (P5, P6).
pub(super) struct SingletonCollector;

impl Collector for SingletonCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let one = spec.kinds.iter().map(|kind| async move {
                let page = Page { order: ListOrder::Newest, after: None, limit: 1 };
                question.snapshot.list(&Filter::kind(kind.clone()), &page).await
            });
            let found: Vec<Stored> = try_join_all(one).await?.into_iter().flatten().collect();
            let candidate = |stored: &Stored| {
                let mut candidate = candidate_from_item(stored);
                candidate.signals.set(Component::Collector, Score::ONE);
                candidate
            };
            Ok(collector_output(spec, found.iter().map(candidate).collect()))
        }
        .boxed()
    }
}

/// Collects the item that the request is about.
pub(super) struct SubjectCollector;

impl Collector for SubjectCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let found = match spec.settings.text("of") {
                "focus" => {
                    get_items(question, narrowest_focus(&question.request).as_slice()).await?
                }
                name => vec![question.subjects.get(name).and_then(|it| it.item.clone())],
            };
            let subject = |stored: &Stored| {
                let mut candidate = relevant_candidate(stored, Score::ONE);
                candidate.is_requested = true;
                // By time it comes before the items that belong to it.
                candidate.moment = stored.item.created.or(candidate.moment);
                candidate
            };
            Ok(collector_output(spec, found.iter().flatten().map(subject).collect()))
        }
        .boxed()
    }
}

/// Collects the item that the request is about if the layer's other collectors found something.
pub(super) struct HeadingCollector;

impl Collector for HeadingCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        if found.is_empty() {
            return async { Ok(CollectorOutput::default()) }.boxed();
        }
        SubjectCollector.collect(question, spec, found)
    }

    fn runs_after_others(&self) -> bool {
        true
    }
}

/// Collects the items that belong to a subject, the focus or the workspace, newest first (P7).
pub(super) struct NewestCollector;

impl Collector for NewestCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let (filter, request) = (ItemFilter::for_links(question, spec), &question.request);
            let limit = spec.settings.count("limit");
            let of = spec.settings.text("of");
            let (owner, field) = match of {
                "focus" => (narrowest_focus(request), None),
                "workspace" => (None, None),
                name => {
                    let subject = question.subjects.get(name);
                    (subject.map(|it| it.id.clone()), subject.map(|it| &*it.spec.field))
                }
            };
            let of_workspace = of == "workspace";
            let mut found = match owner {
                Some(owner) => {
                    items_of_owner(question, &owner, field, &filter.store_filter()).await?
                }
                None if of_workspace => list_newest(question, &filter.store_filter()).await?,
                None => Vec::new(),
            };
            found.retain(|stored| filter.accepts(stored));
            found.sort_by_key(|stored| (Reverse(stored.moment()), stored.item.id.clone()));
            let candidate = |(rank, stored): (usize, &Stored)| {
                let mut candidate = candidate_from_item(stored);
                candidate.signals.set(Component::Collector, linear_relevance(rank, limit));
                candidate
            };
            let total = Total::capped_at(found.len(), LIMIT_MAX);
            let notice = partial_read_notice(&spec.by, found.len().min(limit), total, "items");
            let candidates = found.iter().take(limit).enumerate().map(candidate);
            let mut output = collector_output(spec, candidates.collect());
            output.notices.extend(notice);
            Ok(output)
        }
        .boxed()
    }
}

/// Returns what the user looks at: the block, else the page, else the database.
fn narrowest_focus(request: &Request) -> Option<ItemId> {
    let focused = [&request.focus, &request.page, &request.database];
    focused.into_iter().flatten().next().cloned()
}

/// Lists the newest items of a filter.
async fn list_newest(question: &Question, filter: &Filter) -> Result<Vec<Stored>, ReadError> {
    let page = Page { order: ListOrder::Newest, after: None, limit: LIMIT_MAX };
    question.snapshot.list(filter, &page).await
}

/// Returns the items that are under an owner or name it in a field, each once, sorted by id.
pub(super) async fn items_of_owner(
    question: &Question,
    owner: &ItemId,
    field: Option<&str>,
    filter: &Filter,
) -> Result<Vec<Stored>, ReadError> {
    let under = Filter { under: Some(owner.clone()), ..filter.clone() };
    let mut naming = filter.clone();
    if let Some(field) = field {
        naming.fields.push((field.to_owned(), vec![Value::from(owner.as_str())]));
    }
    let by_field = async {
        if field.is_some() { list_newest(question, &naming).await } else { Ok(Vec::new()) }
    };
    let (under, by_field) = try_join(list_newest(question, &under), by_field).await?;
    let mut found: BTreeMap<ItemId, Stored> = BTreeMap::new();
    for stored in under.into_iter().chain(by_field) {
        found.insert(stored.item.id.clone(), stored);
    }
    found.remove(owner);
    Ok(found.into_values().collect())
}
