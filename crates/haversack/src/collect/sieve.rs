//! Which items a collector may find: what the recipe and the request say, as a filter of the store
//! and as a check of what the filter cannot say.

use haversack_core::item::Kind;
use haversack_core::units::{Score, Timestamp};
use haversack_store::kinds::Kinds;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::Filter;
use serde_json::Value;

use super::{Question, Subject};
use crate::recipe::CollectorSpec;

/// A field and the values of which it must have one.
type Wanted = (String, Vec<Value>);

/// Which items may be found.
pub(super) struct Sieve<'q> {
    kinds: &'q [Kind],
    time: (Option<Timestamp>, Option<Timestamp>),
    /// The moment by which an item must have been said.
    known_by: Option<Timestamp>,
    confidence_least: Option<Score>,
    fields: Vec<Wanted>,
    matching: &'q [String],
    subject: Option<&'q Subject>,
    known: &'q Kinds,
}

impl<'q> Sieve<'q> {
    /// For collectors that search: all that the recipe and the request ask for.
    ///
    /// # Errors
    /// When the recipe's `with` cannot be read.
    pub(super) fn searching(
        question: &'q Question,
        spec: &'q CollectorSpec,
    ) -> Result<Sieve<'q>, ReadError> {
        // No value to choose from is no wish.
        let asked = question.request.fields.iter().filter(|(_, values)| !values.is_empty());
        let mut fields: Vec<Wanted> = asked.cloned().collect();
        for pair in spec.settings.texts("with") {
            fields.push(wanted(pair)?);
        }
        let matching = spec.settings.texts("matching");
        Ok(Sieve { fields, matching, ..Sieve::following(question, spec) })
    }

    /// For collectors that follow a trail: what they find need not be what is searched for, but
    /// must be of the kinds, the time and the confidence that are asked for.
    pub(super) fn following(question: &'q Question, spec: &'q CollectorSpec) -> Sieve<'q> {
        Sieve {
            kinds: &spec.kinds,
            time: question.request.time,
            known_by: question.request.facts_moment(),
            confidence_least: question.request.confidence_least,
            fields: Vec::new(),
            matching: &[],
            subject: question.subjects.main(),
            known: question.snapshot.kinds(),
        }
    }

    /// What the store can check by itself. Everything that passes the sieve passes this.
    pub(super) fn filter(&self) -> Filter {
        // What is said once came to be before it was written down, so its end cannot be filtered.
        let (from, until) = self.time;
        let until = until.filter(|_| self.time_is_exact());
        Filter {
            kinds: self.kinds.to_vec(),
            active_only: true,
            updated: (from, until),
            confidence_least: self.confidence_least,
            fields: self.fields.clone(),
            ..Filter::default()
        }
    }

    /// Whether the filter is all there is to check.
    pub(super) fn is_exact(&self) -> bool {
        let timeless = self.time == (None, None);
        (timeless || self.time_is_exact())
            && self.known_by.is_none()
            && (self.matching.is_empty() || self.subject.is_none())
    }

    fn time_is_exact(&self) -> bool {
        !self.kinds.is_empty() && !self.kinds.iter().any(|kind| self.known.is_said_once(kind))
    }

    /// Whether an item may be found. It need not have come through the filter.
    pub(super) fn passes(&self, stored: &Stored) -> bool {
        self.passes_at(stored, stored.moment())
    }

    /// Whether an item may be found for something that happened to it at a moment.
    pub(super) fn passes_at(&self, stored: &Stored, moment: Option<Timestamp>) -> bool {
        let item = &stored.item;
        let confidence = item.confidence;
        item.active
            && (self.kinds.is_empty() || self.kinds.contains(&item.kind))
            && self.confidence_least.is_none_or(|least| confidence.is_none_or(|c| c >= least))
            && self.is_in_time(moment)
            && is_known(item, self.known_by)
            && self.fields.iter().all(|(name, values)| has_one(item.fields.get(name), values))
            && self.agrees(stored)
    }

    fn is_in_time(&self, moment: Option<Timestamp>) -> bool {
        match (self.time, moment) {
            ((None, None), _) => true,
            (_, None) => false,
            ((from, until), Some(at)) => {
                from.is_none_or(|from| from <= at) && until.is_none_or(|until| at < until)
            }
        }
    }

    /// Whether the item says nothing else than the subject in the fields that must match (P10).
    fn agrees(&self, stored: &Stored) -> bool {
        let Some(subject) = self.subject else { return true };
        self.matching.iter().all(|name| {
            let ours = words(subject.field(name));
            let theirs = words(stored.item.fields.get(name));
            ours.is_empty() || theirs.is_empty() || ours.iter().any(|word| theirs.contains(word))
        })
    }
}

/// Whether an item had been said by a moment, as far as it tells.
pub(crate) fn is_known(item: &Item, by: Option<Timestamp>) -> bool {
    let said = item.created.or(item.updated);
    by.is_none_or(|by| said.is_none_or(|said| said <= by))
}

/// `name=value` of a recipe. What looks like a number, `true` or `false` may be stored as such or
/// as a text.
fn wanted(pair: &str) -> Result<Wanted, ReadError> {
    let invalid =
        || ReadError::invalid("with", format!("{pair:?} is not of the form \"name=value\""));
    let (name, value) = pair.split_once('=').ok_or_else(invalid)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(invalid());
    }
    let mut values = vec![Value::from(value)];
    if let Ok(plain @ (Value::Bool(_) | Value::Number(_))) = serde_json::from_str(value) {
        values.push(plain);
    }
    Ok((name.to_owned(), values))
}

/// Whether a field has one of the values, as the store compares them: an array has the values that
/// are its entries, and what is not there is null.
fn has_one(field: Option<&Value>, values: &[Value]) -> bool {
    let entries = match field {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[Value::Null],
    };
    entries.iter().any(|entry| values.iter().any(|value| same(value, entry)))
}

/// Whether two values are the same; numbers by what they come to.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

/// A field's word or words, lower-cased.
fn words(value: Option<&Value>) -> Vec<String> {
    let entries = match value {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let words = entries.iter().filter_map(Value::as_str).map(|word| word.trim().to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}
