//! Parses the values of request fields; errors name the field.

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::{Score, Timestamp};
use haversack_core::zone::Zone;
use haversack_store::kinds;
use haversack_store::store::viewer::Viewer;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::LIST_MAX;
use crate::error::Error;
use crate::pipeline::BUDGET_MAX;

/// Deserialises JSON into a request type.
///
/// # Errors
/// When a field has the wrong type or an unknown name; the error names the field.
pub fn parse_json<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        // A missing field has no path of its own.
        let missing =
            message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let field = match (path.as_str(), missing) {
            (".", Some(name)) => name.to_owned(),
            (".", None) => "request".to_owned(),
            (path, Some(name)) => format!("{path}.{name}"),
            (path, None) => path.to_owned(),
        };
        Error::invalid(field, message)
    })
}

/// Parses an item's id.
pub(crate) fn parse_id(field: &str, text: &str) -> Result<ItemId, Error> {
    ItemId::new(text).map_err(|error| Error::invalid(field, error.to_string()))
}

pub(crate) fn parse_id_opt(field: &str, text: Option<&String>) -> Result<Option<ItemId>, Error> {
    text.map(|text| parse_id(field, text)).transpose()
}

pub(crate) fn parse_ids(field: &str, texts: &[String]) -> Result<Vec<ItemId>, Error> {
    check_list_len(field, texts.len())?;
    texts.iter().enumerate().map(|(n, text)| parse_id(&format!("{field}[{n}]"), text)).collect()
}

pub(crate) fn parse_kinds(field: &str, texts: &[String]) -> Result<Vec<Kind>, Error> {
    check_list_len(field, texts.len())?;
    let kind = |(n, text): (usize, &String)| {
        Kind::new(text).map_err(|error| Error::invalid(format!("{field}[{n}]"), error.to_string()))
    };
    texts.iter().enumerate().map(kind).collect()
}

/// Checks the length of a list.
pub(super) fn check_list_len(field: &str, len: usize) -> Result<(), Error> {
    if len <= LIST_MAX {
        return Ok(());
    }
    Err(Error::invalid(field, format!("has {len} entries; the limit is {LIST_MAX}")))
}

/// Parses a moment.
pub(crate) fn parse_moment(field: &str, value: &Value) -> Result<Timestamp, Error> {
    kinds::moment(value).ok_or_else(|| {
        let message = "is not a moment: RFC 3339 such as 2026-01-31T09:30:00Z, a day, or Unix \
                       milliseconds";
        Error::invalid(field, message)
    })
}

pub(crate) fn parse_moment_opt(
    field: &str,
    value: Option<&Value>,
) -> Result<Option<Timestamp>, Error> {
    value.map(|value| parse_moment(field, value)).transpose()
}

/// Deserialises a budget; the error says what is accepted.
pub(crate) fn deserialize_budget<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<u32>, D::Error> {
    let value = Option::<Value>::deserialize(reader)?.filter(|value| !value.is_null());
    let tokens = |value: Value| {
        let tokens = value.as_u64().filter(|tokens| (1..=u64::from(BUDGET_MAX)).contains(tokens));
        tokens.and_then(|tokens| u32::try_from(tokens).ok()).ok_or_else(|| {
            let message = format!("{value} is not a number of tokens from 1 to {BUDGET_MAX}");
            D::Error::custom(message)
        })
    };
    value.map(tokens).transpose()
}

/// Looks up a time zone by its name; UTC without a name.
pub(super) fn parse_zone(name: Option<&str>) -> Result<Zone, Error> {
    let Some(name) = name else { return Ok(Zone::UTC) };
    Zone::from_name(name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let message =
            format!("there is no time zone {shown:?}; IANA names such as Europe/Berlin are known");
        Error::invalid("timeZone", message)
    })
}

/// Parses a moment; a day without a time starts at midnight in the zone.
pub(crate) fn parse_moment_in(
    zone: &Zone,
    field: &str,
    value: Option<&Value>,
) -> Result<Option<Timestamp>, Error> {
    let day = value.and_then(Value::as_str).and_then(|day| zone.start_of(day));
    day.map_or_else(|| parse_moment_opt(field, value), |day| Ok(Some(day)))
}

/// Parses a number between 0 and 1.
pub(crate) fn parse_unit(field: &str, value: f64) -> Result<Score, Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(Score::unit(value));
    }
    Err(Error::invalid(field, format!("{value} is not a number from 0 to 1")))
}

/// Builds the viewer for a user and their groups; the owner when neither is named.
pub(crate) fn build_viewer(user: Option<&String>, groups: &[String]) -> Result<Viewer, Error> {
    check_list_len("groups", groups.len())?;
    let mut viewer = match user {
        Some(user) => Viewer::user(user).map_err(|e| Error::invalid("user", e.to_string()))?,
        None if groups.is_empty() => return Ok(Viewer::owner()),
        None => Viewer::anyone(),
    };
    for (n, group) in groups.iter().enumerate() {
        let field = format!("groups[{n}]");
        viewer = viewer.in_group(group).map_err(|e| Error::invalid(field, e.to_string()))?;
    }
    Ok(viewer)
}
