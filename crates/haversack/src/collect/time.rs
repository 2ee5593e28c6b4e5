//! Collectors that go by time: what the asker did of late, what is newest, and the one of its kind.

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
use haversack_store::store::query::{Filter, LIMIT_MAX, Order, Page, Usage};
use serde_json::Value;

use super::limits::{Total, left_unread};
use super::make::{collected, falling, from_passage, from_stored, get, relevant, share_left};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::notice::Notice;
use crate::recipe::CollectorSpec;
use crate::request::Request;

/// A file longer than this is not shown whole for having been opened of late.
const WHOLE_BYTES_MAX: usize = 4 << 10;

/// What the asker edited and viewed of late (W5).
pub(super) struct Activity;

impl Collector for Activity {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let (edits, views) = (spec.settings.count("edits"), spec.settings.count("views"));
            let (edited, viewed) = try_join(
                of_late(question, spec, &[EventKind::Edited], edits),
                of_late(question, spec, &[EventKind::Viewed], views),
            )
            .await?;
            let edit = |(place, (stored, usage)): (usize, &(Stored, Usage))| {
                let mut candidate = relevant(stored, falling(600, 20, place));
                // An edit that was only noted is a change as well.
                candidate.moment = candidate.moment.max(Some(usage.last));
                candidate
            };
            let view = |(place, (stored, _)): (usize, &(Stored, Usage))| {
                relevant(stored, falling(500, 20, place))
            };
            let hours = spec.settings.count("hours");
            let unread = [
                edited.unread(spec, &format!("items edited in {hours} hours")),
                viewed.unread(spec, &format!("items viewed in {hours} hours")),
            ];
            let edited = edited.found.iter().enumerate().map(edit);
            let viewed = viewed.found.iter().enumerate().map(view);
            let mut collected = collected(spec, edited.chain(viewed).collect());
            collected.notices.extend(unread.into_iter().flatten());
            Ok(collected)
        }
        .boxed()
    }
}

/// Files the asker opened or was given of late (K2).
pub(super) struct Recent;

impl Collector for Recent {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let limit = spec.settings.count("limit");
            let event_kinds = [EventKind::Viewed, EventKind::Used];
            let used = of_late(question, spec, &event_kinds, limit).await?;
            let mut candidates: Vec<Candidate> =
                used.found.iter().map(|(stored, _)| from_stored(stored)).collect();
            open(question, &mut candidates).await?;
            for (place, candidate) in candidates.iter_mut().enumerate() {
                candidate.signals.set(Component::Collector, share_left(place, limit));
            }
            let mut collected = collected(spec, candidates);
            collected.notices.extend(used.unread(spec, "items used of late"));
            Ok(collected)
        }
        .boxed()
    }
}

/// What somebody did of late, and how much of it there is.
struct OfLate {
    found: Vec<(Stored, Usage)>,
    total: Total,
}

impl OfLate {
    fn unread(&self, spec: &CollectorSpec, what: &str) -> Option<Notice> {
        left_unread(&spec.by, self.found.len(), self.total, what)
    }
}

/// Puts the opening of a long text in its place.
async fn open(question: &Question, candidates: &mut [Candidate]) -> Result<(), ReadError> {
    let long: Vec<&mut Candidate> =
        candidates.iter_mut().filter(|candidate| candidate.text.len() > WHOLE_BYTES_MAX).collect();
    let ids: Vec<CandidateId> = long.iter().map(|candidate| candidate.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let openings = question.snapshot.passages(&ids).await?;
    for (candidate, opening) in long.into_iter().zip(openings) {
        if let Some(passage) = opening {
            *candidate = from_passage(&passage);
        }
    }
    Ok(())
}

/// What the asker did of late, the latest first, each item once; nothing when nobody is named.
async fn of_late(
    question: &Question,
    spec: &CollectorSpec,
    event_kinds: &[EventKind],
    limit: usize,
) -> Result<OfLate, ReadError> {
    let Some(user) = question.request.user.as_deref().filter(|_| limit > 0) else {
        return Ok(OfLate { found: Vec::new(), total: Total::Exactly(0) });
    };
    let sieve = Sieve::following(question, spec);
    let hours = i64::try_from(spec.settings.count("hours")).unwrap_or(i64::MAX);
    let since = question.now.as_millis().saturating_sub(hours.saturating_mul(3_600_000));
    let since = Timestamp::from_millis(since);
    // Some may not pass, so more are asked for.
    let reach = limit.saturating_mul(4).clamp(50, LIMIT_MAX);
    let (snapshot, until) = (&question.snapshot, Some(question.before()));
    let lists = event_kinds
        .iter()
        .map(|event_kind| snapshot.recent(user, *event_kind, since, until, reach));
    let mut latest: BTreeMap<ItemId, Usage> = BTreeMap::new();
    let lists = try_join_all(lists).await?;
    let is_cut = lists.iter().any(|list| list.len() >= reach);
    for usage in lists.into_iter().flatten() {
        let known = latest.entry(usage.item.clone()).or_insert_with(|| usage.clone());
        if known.last < usage.last {
            *known = usage;
        }
    }
    let mut latest: Vec<Usage> = latest.into_values().collect();
    latest.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.item.cmp(&b.item)));
    let ids: Vec<ItemId> = latest.iter().map(|usage| usage.item.clone()).collect();
    let stored = get(question, &ids).await?;
    let known = stored.into_iter().zip(latest).filter_map(|(stored, usage)| Some((stored?, usage)));
    let passes = |(stored, usage): &(Stored, Usage)| sieve.passes_at(stored, Some(usage.last));
    let mut found: Vec<(Stored, Usage)> = known.filter(passes).collect();
    let total = if is_cut { Total::AtLeast(found.len()) } else { Total::Exactly(found.len()) };
    found.truncate(limit);
    Ok(OfLate { found, total })
}

/// The one item of each kind (P5, P6).
pub(super) struct Singleton;

impl Collector for Singleton {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let one = spec.kinds.iter().map(|kind| async move {
                let page = Page { order: Order::Newest, after: None, limit: 1 };
                question.snapshot.list(&Filter::kind(kind.clone()), &page).await
            });
            let found: Vec<Stored> = try_join_all(one).await?.into_iter().flatten().collect();
            let candidate = |stored: &Stored| {
                let mut candidate = from_stored(stored);
                candidate.signals.set(Component::Collector, Score::ONE);
                candidate
            };
            Ok(collected(spec, found.iter().map(candidate).collect()))
        }
        .boxed()
    }
}

/// The item that the request is about.
pub(super) struct Subject;

impl Collector for Subject {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let found = match spec.settings.text("of") {
                "focus" => get(question, focus(&question.request).as_slice()).await?,
                name => vec![question.subjects.get(name).and_then(|it| it.item.clone())],
            };
            let subject = |stored: &Stored| {
                let mut candidate = relevant(stored, Score::ONE);
                candidate.is_requested = true;
                // It stands where it began, before all that belongs to it.
                candidate.moment = stored.item.created.or(candidate.moment);
                candidate
            };
            Ok(collected(spec, found.iter().flatten().map(subject).collect()))
        }
        .boxed()
    }
}

/// The item that the request is about, above what others found.
pub(super) struct Heading;

impl Collector for Heading {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        if found.is_empty() {
            return async { Ok(Collected::default()) }.boxed();
        }
        Subject.collect(question, spec, found)
    }

    fn comes_after(&self) -> bool {
        true
    }
}

/// Items that belong to something, newest first (P7).
pub(super) struct Newest;

impl Collector for Newest {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let (sieve, request) = (Sieve::following(question, spec), &question.request);
            let limit = spec.settings.count("limit");
            let of = spec.settings.text("of");
            let (owner, field) = match of {
                "focus" => (focus(request), None),
                "workspace" => (None, None),
                name => {
                    let subject = question.subjects.get(name);
                    (subject.map(|it| it.id.clone()), subject.map(|it| &*it.spec.field))
                }
            };
            let of_workspace = of == "workspace";
            let mut found = match owner {
                Some(owner) => belonging(question, &owner, field, &sieve.filter()).await?,
                None if of_workspace => latest(question, &sieve.filter()).await?,
                None => Vec::new(),
            };
            found.retain(|stored| sieve.passes(stored));
            found.sort_by_key(|stored| (Reverse(stored.moment()), stored.item.id.clone()));
            let candidate = |(place, stored): (usize, &Stored)| {
                let mut candidate = from_stored(stored);
                candidate.signals.set(Component::Collector, share_left(place, limit));
                candidate
            };
            let total = Total::up_to(found.len(), LIMIT_MAX);
            let unread = left_unread(&spec.by, found.len().min(limit), total, "items");
            let candidates = found.iter().take(limit).enumerate().map(candidate);
            let mut collected = collected(spec, candidates.collect());
            collected.notices.extend(unread);
            Ok(collected)
        }
        .boxed()
    }
}

/// What the asker looks at, at its narrowest.
fn focus(request: &Request) -> Option<ItemId> {
    let places = [&request.focus, &request.page, &request.database];
    places.into_iter().flatten().next().cloned()
}

async fn latest(question: &Question, filter: &Filter) -> Result<Vec<Stored>, ReadError> {
    let page = Page { order: Order::Newest, after: None, limit: LIMIT_MAX };
    question.snapshot.list(filter, &page).await
}

/// What hangs under an owner or names it in a field, each once, by id.
pub(super) async fn belonging(
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
    let by_field =
        async { if field.is_some() { latest(question, &naming).await } else { Ok(Vec::new()) } };
    let (under, by_field) = try_join(latest(question, &under), by_field).await?;
    let mut found: BTreeMap<ItemId, Stored> = BTreeMap::new();
    for stored in under.into_iter().chain(by_field) {
        found.insert(stored.item.id.clone(), stored);
    }
    found.remove(owner);
    Ok(found.into_values().collect())
}
