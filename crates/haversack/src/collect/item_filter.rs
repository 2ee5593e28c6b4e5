//! The conditions that recipe and request set for a collector's items: a filter for the store, and
//! a check of the conditions that the store's filter cannot express.

use haversack_core::item::Kind;
use haversack_core::units::{Score, Timestamp};
use haversack_store::kinds::Kinds;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::Filter;
use serde_json::Value;

use super::{Question, Subject};
use crate::recipe::CollectorSpec;

/// A field, and the values of which it must have one.
type FieldCondition = (String, Vec<Value>);

/// The conditions that an item must meet to be found.
pub(super) struct ItemFilter<'q> {
    kinds: &'q [Kind],
    time: (Option<Timestamp>, Option<Timestamp>),
    /// The moment by which an item must have been recorded.
    known_by: Option<Timestamp>,
    confidence_least: Option<Score>,
    fields: Vec<FieldCondition>,
    /// Fields in which an item must agree with the subject.
    matching: &'q [String],
    subject: Option<&'q Subject>,
    definitions: &'q Kinds,
}

impl<'q> ItemFilter<'q> {
    /// The filter of collectors that search: all conditions of the recipe and the request.
    ///
    /// # Errors
    /// When the recipe's `with` cannot be read.
    pub(super) fn for_search(
        question: &'q Question,
        spec: &'q CollectorSpec,
    ) -> Result<ItemFilter<'q>, ReadError> {
        // A field without values is no condition.
        let requested = question.request.fields.iter().filter(|(_, values)| !values.is_empty());
        let mut fields: Vec<FieldCondition> = requested.cloned().collect();
        for pair in spec.settings.texts("with") {
            fields.push(parse_condition(pair)?);
        }
        let matching = spec.settings.texts("matching");
        Ok(ItemFilter { fields, matching, ..ItemFilter::for_links(question, spec) })
    }

    /// The filter of collectors that follow links: their items need not match the requested fields,
    /// but must be of the requested kinds, time and confidence.
    pub(super) fn for_links(question: &'q Question, spec: &'q CollectorSpec) -> ItemFilter<'q> {
        ItemFilter {
            kinds: &spec.kinds,
            time: question.request.time,
            known_by: question.request.facts_moment(),
            confidence_least: question.request.confidence_least,
            fields: Vec::new(),
            matching: &[],
            subject: question.subjects.main(),
            definitions: question.snapshot.kinds(),
        }
    }

    /// Returns the conditions that the store can check. Every item that this filter accepts passes
    /// it.
    pub(super) fn store_filter(&self) -> Filter {
        // An item that is said once dates from before it was written down, so the end of a time
        // range cannot be checked by when it was written.
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

    /// Whether the store's filter checks all conditions.
    pub(super) fn is_store_filter_exact(&self) -> bool {
        let timeless = self.time == (None, None);
        (timeless || self.time_is_exact())
            && self.known_by.is_none()
            && (self.matching.is_empty() || self.subject.is_none())
    }

    fn time_is_exact(&self) -> bool {
        !self.kinds.is_empty() && !self.kinds.iter().any(|kind| self.definitions.is_said_once(kind))
    }

    /// Whether an item meets all conditions, those of the store's filter included.
    pub(super) fn accepts(&self, stored: &Stored) -> bool {
        self.accepts_at(stored, stored.moment())
    }

    /// Whether an item meets all conditions by the moment of an event, such as a view.
    pub(super) fn accepts_at(&self, stored: &Stored, moment: Option<Timestamp>) -> bool {
        let item = &stored.item;
        let confidence = item.confidence;
        item.active
            && (self.kinds.is_empty() || self.kinds.contains(&item.kind))
            && self.confidence_least.is_none_or(|least| confidence.is_none_or(|c| c >= least))
            && self.is_in_time(moment)
            && was_recorded_by(item, self.known_by)
            && self.fields.iter().all(|(name, values)| has_any_value(item.fields.get(name), values))
            && self.agrees_with_subject(stored)
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

    /// Whether the item agrees with the subject in the fields that must match, where both have them
    /// (P10).
    fn agrees_with_subject(&self, stored: &Stored) -> bool {
        let Some(subject) = self.subject else { return true };
        self.matching.iter().all(|name| {
            let ours = lower_case_values(subject.field(name));
            let theirs = lower_case_values(stored.item.fields.get(name));
            ours.is_empty() || theirs.is_empty() || ours.iter().any(|word| theirs.contains(word))
        })
    }
}

/// Whether an item was recorded by a moment. An item without a date counts as recorded.
pub(crate) fn was_recorded_by(item: &Item, by: Option<Timestamp>) -> bool {
    let recorded = item.created.or(item.updated);
    by.is_none_or(|by| recorded.is_none_or(|recorded| recorded <= by))
}

/// Parses a recipe's `name=value`. A number, `true` or `false` matches the value and the text.
fn parse_condition(pair: &str) -> Result<FieldCondition, ReadError> {
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

/// Whether a field has one of the values, compared as the store does: an array has the values of
/// its entries, and a missing field is null.
fn has_any_value(field: Option<&Value>, values: &[Value]) -> bool {
    let entries = match field {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[Value::Null],
    };
    entries.iter().any(|entry| values.iter().any(|value| is_same_value(value, entry)))
}

/// Whether two values are the same; numbers are compared as numbers, however they are written.
fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

/// Returns a field's texts in lower case.
fn lower_case_values(value: Option<&Value>) -> Vec<String> {
    let entries = match value {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let words = entries.iter().filter_map(Value::as_str).map(|word| word.trim().to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}
