//! Queries about fields become a filter, and all matches are known before anything is searched
//! (X10).

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::query::{
    Analysis, FieldQuery, FieldRole, KnownValues, QuestionContext, TimeRange, Vocabulary,
    understand,
};
use haversack_core::units::Timestamp;
use haversack_core::zone::Zone;
use haversack_store::kinds::FactValue;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use haversack_store::store::query::{FactFilter, Filter, LIMIT_MAX, ListOrder, Page};

use crate::collect::was_recorded_by;
use crate::request::Request;

/// Longest query about fields, in bytes. A longer one is about texts, or is pasted text.
const QUESTION_BYTES_MAX: usize = 1_024;

/// A day in milliseconds.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// Most words of a query that are looked up as values.
const WORDS_MAX: usize = 64;

/// The items that a query about fields asks for.
#[derive(Debug, Clone)]
pub struct FieldMatches {
    /// Sorted by due date, or else newest first.
    pub items: Vec<Stored>,
    /// Whether there are more than the limit.
    pub is_truncated: bool,
}

impl FieldMatches {
    /// The ids of the items.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<&ItemId> {
        self.items.iter().map(|stored| &stored.item.id).collect()
    }
}

/// Parses a query about fields, and finds all items that match it.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn find_matches(
    snapshot: &dyn Snapshot,
    request: &Request,
    analysis: &mut Analysis,
    (now, vocabulary): (Timestamp, &Vocabulary),
) -> Result<Option<FieldMatches>, ReadError> {
    if request.query.len() > QUESTION_BYTES_MAX {
        return Ok(None);
    }
    let known = NamedValues::look_up(snapshot, request).await?;
    let (times, language) = (&*analysis.times, analysis.language);
    let reading = QuestionContext { times, now, zone: &request.time_zone, language };
    let Some(field_query) = understand(&request.query, &reading, vocabulary, &known) else {
        return Ok(None);
    };
    // Where no item has such a field, the query is about something else.
    let due = field_query.due.map(|_| FieldRole::Due);
    let done = field_query.done.map(|_| FieldRole::Done);
    for role in due.into_iter().chain(done) {
        let any = Filter { facts: vec![any_value(role)], ..Filter::default() };
        if snapshot.count(&any).await? == 0 {
            return Ok(None);
        }
    }
    let page = Page { order: ListOrder::Newest, after: None, limit: LIMIT_MAX };
    let mut items = snapshot.list(&store_filter(&field_query, request), &page).await?;
    let is_truncated = items.len() >= LIMIT_MAX;
    if let Some((from, to)) = field_query.created {
        items.retain(|stored| {
            let created = stored.item.created.or(stored.item.updated);
            created.is_some_and(|at| from <= at && at < to)
        });
    }
    items.retain(|stored| was_recorded_by(&stored.item, request.facts_moment()));
    if let Some(range) = field_query.due {
        let overdue_at = field_query.overdue.then_some(now);
        items.retain(|stored| {
            due_at(stored).is_some_and(|due| is_due(due, range, overdue_at, &request.time_zone))
        });
        items.sort_by_key(|stored| (due_at(stored), stored.item.id.clone()));
    }
    analysis.fields = Some(field_query);
    Ok(Some(FieldMatches { items, is_truncated }))
}

/// Whether a due date is in a range. A date at midnight UTC is a day without a time, and is
/// compared in the zone. A moment is overdue as soon as it is past.
fn is_due(
    due: i64,
    (from, to): (Timestamp, Timestamp),
    overdue_at: Option<Timestamp>,
    zone: &Zone,
) -> bool {
    let is_day = due.rem_euclid(DAY_MILLIS) == 0;
    let bound = |at: Timestamp| match at {
        TimeRange::EARLIEST | TimeRange::LATEST => at.as_millis(),
        at if is_day => zone.wall(at).as_millis(),
        at => at.as_millis(),
    };
    let to = overdue_at.filter(|_| !is_day).unwrap_or(to);
    bound(from) <= due && due < bound(to)
}

const fn any_value(role: FieldRole) -> FactFilter {
    FactFilter::Within(role, i64::MIN, i64::MAX)
}

/// When an item is due.
fn due_at(stored: &Stored) -> Option<i64> {
    stored.facts().into_iter().find_map(|fact| match fact.value {
        FactValue::Number(at) if fact.role == FieldRole::Due => Some(at),
        _ => None,
    })
}

/// Converts a query about fields into a filter of the store.
fn store_filter(field_query: &FieldQuery, request: &Request) -> Filter {
    let mut facts: Vec<FactFilter> = Vec::new();
    if let Some((from, to)) = field_query.due {
        // A day without a time is stored as midnight UTC, which is another moment in other zones.
        let (from, to) = (from.as_millis() - 2 * DAY_MILLIS, to.as_millis() + 2 * DAY_MILLIS);
        facts.push(FactFilter::Within(FieldRole::Due, from, to));
    }
    match field_query.done {
        Some(done) => {
            let done = i64::from(done);
            facts.push(FactFilter::Within(FieldRole::Done, done, done + 1));
        }
        None => facts.extend(field_query.tasks.then(|| any_value(FieldRole::Done))),
    }
    for (role, values) in &field_query.values {
        facts.push(FactFilter::OneOf(*role, values.clone()));
    }
    let (mut from, mut until) = request.time;
    if let Some((first, last)) = field_query.changed {
        from = Some(from.map_or(first, |from| from.max(first)));
        until = Some(until.map_or(last, |until| until.min(last)));
    }
    Filter {
        kinds: field_query.kinds.iter().filter_map(|kind| Kind::new(kind).ok()).collect(),
        updated: (from, until),
        confidence_least: request.confidence_least,
        fields: request.fields.iter().filter(|(_, values)| !values.is_empty()).cloned().collect(),
        facts,
        ..Filter::default()
    }
}

/// The field values of a workspace that a query names.
struct NamedValues {
    values: BTreeSet<(FieldRole, String)>,
    asker: Option<String>,
}

impl NamedValues {
    async fn look_up(snapshot: &dyn Snapshot, request: &Request) -> Result<NamedValues, ReadError> {
        let mut words: BTreeSet<String> = BTreeSet::new();
        let split =
            request.query.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')));
        for word in split.filter(|word| !word.is_empty()).take(WORDS_MAX) {
            let word = word.to_lowercase().replace('’', "'");
            for ending in ["'s", "'", "ies", "es", "s", "en", "n"] {
                if let Some(stem) = word.strip_suffix(ending) {
                    let stem = if ending == "ies" { format!("{stem}y") } else { stem.to_owned() };
                    words.insert(stem);
                }
            }
            words.insert(word);
        }
        let roles = [FieldRole::Assignee, FieldRole::Author, FieldRole::Status, FieldRole::Type];
        let possible_values: Vec<(FieldRole, String)> =
            words.into_iter().flat_map(|word| roles.map(|role| (role, word.clone()))).collect();
        let known = snapshot.have_facts(&possible_values).await?;
        let values = possible_values
            .into_iter()
            .zip(known)
            .filter(|(_, known)| *known)
            .map(|(value, _)| value);
        let asker = request.user.as_ref().map(|user| user.to_lowercase());
        Ok(NamedValues { values: values.collect(), asker })
    }
}

impl KnownValues for NamedValues {
    fn has(&self, role: FieldRole, value: &str) -> bool {
        self.values.contains(&(role, value.to_owned()))
    }

    fn asker(&self) -> Option<&str> {
        self.asker.as_deref()
    }
}
