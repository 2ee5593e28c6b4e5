//! Values of PostgreSQL in its binary format, as JSON.

use std::error::Error as StdError;

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};
use postgres_protocol::types as protocol;
use serde_json::{Number, Value};
use tokio_postgres::types::{FromSql, Kind, Type};

use crate::query::Cell;

/// From 1970 to 2000, where the moments of PostgreSQL begin.
const EPOCH_SECONDS: i64 = 946_684_800;

type DecodeError = Box<dyn StdError + Sync + Send>;

/// A value of any type.
pub(super) struct RowCell(pub(super) Cell);

impl<'a> FromSql<'a> for RowCell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<RowCell, DecodeError> {
        let value = decode(ty, raw)?;
        Ok(RowCell(value.map_or_else(|| Cell::Unreadable(ty.name().to_owned()), Cell::Value)))
    }

    fn from_sql_null(_: &Type) -> Result<RowCell, DecodeError> {
        Ok(RowCell(Cell::Value(Value::Null)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The value as JSON; `None` for a type that is not read.
fn decode(ty: &Type, raw: &[u8]) -> Result<Option<Value>, DecodeError> {
    let value = match *ty {
        Type::BOOL => protocol::bool_from_sql(raw)?.into(),
        Type::INT2 => protocol::int2_from_sql(raw)?.into(),
        Type::INT4 => protocol::int4_from_sql(raw)?.into(),
        Type::INT8 => protocol::int8_from_sql(raw)?.into(),
        Type::OID => protocol::oid_from_sql(raw)?.into(),
        // By its shortest digits: 0.1 stays 0.1.
        Type::FLOAT4 => real(protocol::float4_from_sql(raw)?.to_string().parse()?),
        Type::FLOAT8 => real(protocol::float8_from_sql(raw)?),
        Type::NUMERIC => numeric(raw)?,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::XML | Type::UNKNOWN => {
            protocol::text_from_sql(raw)?.into()
        }
        // What is nested deeper than the parser goes is not read.
        Type::JSON => return Ok(serde_json::from_slice(raw).ok()),
        // The first byte is the version of the format.
        Type::JSONB => return Ok(serde_json::from_slice(raw.get(1..).unwrap_or_default()).ok()),
        Type::UUID => uuid(protocol::uuid_from_sql(raw)?).into(),
        Type::DATE => date(protocol::date_from_sql(raw)?),
        Type::TIME => time(protocol::time_from_sql(raw)?),
        // A time without a zone is taken as UTC.
        Type::TIMESTAMP | Type::TIMESTAMPTZ => timestamp(protocol::timestamp_from_sql(raw)?),
        _ => return decode_by_kind(ty, raw),
    };
    Ok(Some(value))
}

fn decode_by_kind(ty: &Type, raw: &[u8]) -> Result<Option<Value>, DecodeError> {
    match ty.kind() {
        Kind::Enum(_) => Ok(Some(protocol::text_from_sql(raw)?.into())),
        Kind::Domain(inner) => decode(inner, raw),
        Kind::Array(_) => decode_array(ty, raw),
        // Types of extensions have no fixed number.
        _ if ty.name() == "citext" => Ok(Some(protocol::text_from_sql(raw)?.into())),
        _ => Ok(None),
    }
}

/// A list; `None` for several dimensions, or members of a type that is not read.
fn decode_array(ty: &Type, raw: &[u8]) -> Result<Option<Value>, DecodeError> {
    // An array begins with the number of its dimensions.
    if protocol::int4_from_sql(raw.get(..4).ok_or("an array is malformed")?)? > 1 {
        return Ok(None);
    }
    let members = Vec::<RowCell>::from_sql(ty, raw)?;
    let values = members.into_iter().map(|RowCell(member)| match member {
        Cell::Value(value) => Some(value),
        Cell::Unreadable(_) => None,
    });
    Ok(values.collect::<Option<Vec<Value>>>().map(Value::Array))
}

fn real(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn date(days: i32) -> Value {
    match days {
        i32::MAX => return "infinity".into(),
        i32::MIN => return "-infinity".into(),
        _ => {}
    }
    let epoch = Date::constant(2000, 1, 1);
    let hours = i64::from(days) * 24;
    match epoch.checked_add(SignedDuration::from_hours(hours)) {
        Ok(date) => date.to_string().into(),
        Err(_) => format!("{days} days after 2000-01-01").into(),
    }
}

fn time(micros: i64) -> Value {
    match Time::midnight().checked_add(SignedDuration::from_micros(micros)) {
        Ok(time) => time.to_string().into(),
        // 24:00:00 is a time of PostgreSQL.
        Err(_) => "24:00:00".into(),
    }
}

fn timestamp(micros: i64) -> Value {
    match micros {
        i64::MAX => return "infinity".into(),
        i64::MIN => return "-infinity".into(),
        _ => {}
    }
    let epoch = Timestamp::from_second(EPOCH_SECONDS);
    let moment = epoch.and_then(|epoch| epoch.checked_add(SignedDuration::from_micros(micros)));
    match moment {
        Ok(moment) => moment.to_string().into(),
        Err(_) => format!("{micros} microseconds after 2000-01-01").into(),
    }
}

/// An exact number: as a JSON number if that is the same number, else as text.
fn numeric(raw: &[u8]) -> Result<Value, DecodeError> {
    let text = numeric_text(raw).ok_or("a numeric value is malformed")?;
    if let Ok(whole) = text.parse::<i64>() {
        return Ok(whole.into());
    }
    let shortest = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let number = text.parse::<f64>().ok().filter(|number| number.to_string() == shortest);
    Ok(number.and_then(Number::from_f64).map_or_else(|| text.clone().into(), Value::Number))
}

/// The digits of an exact number, of which the format has groups of four.
fn numeric_text(raw: &[u8]) -> Option<String> {
    let word = |index: usize| {
        let bytes = raw.get(2 * index..2 * index + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (groups, sign, scale) = (usize::from(word(0)?), word(2)?, usize::from(word(3)?));
    let weight = i64::from(i16::from_be_bytes(raw.get(2..4)?.try_into().ok()?));
    match sign {
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => {}
    }
    let group = |power: i64| -> Option<u16> {
        match usize::try_from(weight - power) {
            Ok(index) if index < groups => word(4 + index),
            _ => Some(0),
        }
    };
    let mut text = String::new();
    for power in (0..=weight.max(0)).rev() {
        text.push_str(&format!("{:04}", group(power)?));
    }
    let mut text = match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        whole => whole.to_owned(),
    };
    if scale > 0 {
        let mut fraction = String::new();
        let mut power = -1;
        while fraction.len() < scale {
            fraction.push_str(&format!("{:04}", group(power)?));
            power -= 1;
        }
        fraction.truncate(scale);
        text = format!("{text}.{fraction}");
    }
    Some(if sign == 0x4000 { format!("-{text}") } else { text })
}
