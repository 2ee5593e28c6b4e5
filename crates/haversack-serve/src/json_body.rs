//! Reads JSON within limits. A short text can become hundreds of times its size in memory, and takes as
//! long to free as to read. So its values and its depth are counted before it is parsed, and what is long
//! is parsed on a blocking thread.

use std::fmt;

use bytes::Bytes;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::codes::Code;
use crate::memory::HeldBytes;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// Deepest nesting; the parser itself ends at 128.
const DEPTH_MAX: usize = 100;

/// The most memory that a value takes, beside its text: an entry of an object, with its share of the table.
const BYTES_PER_VALUE: usize = 192;

/// The most characters of a key in an error.
const KEY_SHOWN_MAX: usize = 64;

/// Longest text that is parsed at once, on the thread that serves connections.
const BYTES_AT_ONCE: usize = 32 << 10;

/// Parses JSON and converts it. `held` counts what it will take before it is taken.
pub(crate) async fn parse<T: Send + 'static>(
    text: Bytes,
    values_max: usize,
    held: &mut HeldBytes,
    convert: impl FnOnce(Value) -> Result<T, ApiProblem> + Send + 'static,
) -> Result<T, ApiProblem> {
    if text.len() <= BYTES_AT_ONCE {
        held.grow(check_size(&text, values_max)?)?;
        return convert(parse_value(&text)?);
    }
    let (text, size) = on_blocking_thread(move || {
        let size = check_size(&text, values_max)?;
        Ok::<_, ApiProblem>((text, size))
    })
    .await??;
    held.grow(size)?;
    on_blocking_thread(move || convert(parse_value(&text)?)).await?
}

/// Returns the most memory that a JSON text takes when it is parsed.
///
/// # Errors
/// As [`check_shape`].
pub(crate) fn check_size(text: &[u8], values_max: usize) -> Result<usize, ApiProblem> {
    let values = check_shape(text, values_max)?;
    Ok(text.len().saturating_add(values.saturating_mul(BYTES_PER_VALUE)))
}

fn parse_value(text: &[u8]) -> Result<Value, ApiProblem> {
    match serde_json::from_slice(text) {
        Ok(UniqueKeys(value)) => Ok(value),
        Err(error) => Err(ApiProblem::new(Code::BadJson, error.to_string())),
    }
}

/// JSON none of whose objects has a key twice. Readers differ in which of the two counts, so what one
/// program checked could be something else than what the next one acts on.
pub(crate) struct UniqueKeys(pub(crate) Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueKeys, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor).map(UniqueKeys)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeys(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let key: String = key.chars().take(KEY_SHOWN_MAX).collect();
                return Err(A::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            let UniqueKeys(value) = entries.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Counts the values of a JSON text without parsing it.
///
/// # Errors
/// When there are too many, or they are nested too deeply. Anything else that is wrong is left to the
/// parser.
fn check_shape(text: &[u8], values_max: usize) -> Result<usize, ApiProblem> {
    let (mut values, mut depth) = (1_usize, 0_usize);
    let mut is_text = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        if is_text {
            match byte {
                b'"' => is_text = false,
                b'\\' => _ = bytes.next(),
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' | b'{' => {
                (values, depth) = (values + 1, depth + 1);
                if depth > DEPTH_MAX {
                    let detail = format!("the JSON is nested more than {DEPTH_MAX} levels deep");
                    return Err(ApiProblem::new(Code::BadJson, detail));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    if values > values_max {
        let detail = format!(
            "the JSON holds more than {values_max} values: send it in parts, or raise \
             limits.body_values"
        );
        return Err(ApiProblem::new(Code::TooLarge, detail));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, values: usize) {
        assert_eq!(check_shape(text.as_bytes(), usize::MAX).unwrap(), values, "{text}");
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        check("1", 1);
        check("[]", 2);
        check("[1,2,3]", 4);
        check(r#"{"a":[1,{"b":2}],"c":"[[,,"}"#, 6);
        check(r#"["\"[[[,", "\\"]"#, 3);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_wherever_it_is() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#, r#"{"a":1,"\u0061":2}"#]
        {
            let problem = parse_value(text.as_bytes()).unwrap_err();
            assert_eq!(problem.code, Code::BadJson, "{text}");
            let start = r#"the key "a" is there twice at line 1 column"#;
            assert!(problem.detail.starts_with(start), "{}", problem.detail);
        }
    }

    #[test]
    fn all_else_is_read_as_the_library_reads_it() {
        let text =
            r#"{"a":[null,true,-7,18446744073709551615,0.1,1e300,"x\u0000\n"],"b":{"a":{}},"":[]}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse_value(text.as_bytes()).unwrap(), expected);
        for wrong in ["", "{", "[1,]", "nul", "1 2", r#"{"a"}"#, r#"{1:2}"#, "1e999"] {
            let error = serde_json::from_str::<Value>(wrong).unwrap_err();
            assert_eq!(parse_value(wrong.as_bytes()).unwrap_err().detail, error.to_string());
        }
    }

    #[test]
    fn too_many_values_and_too_deep_ones_are_refused() {
        let list = format!("[{}0]", "0,".repeat(8));
        assert_eq!(check_shape(list.as_bytes(), 10).unwrap(), 10);
        assert_eq!(check_shape(list.as_bytes(), 9).unwrap_err().code, Code::TooLarge);
        let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(check_shape(nested(DEPTH_MAX).as_bytes(), 1_000).is_ok());
        let deep = check_shape(nested(DEPTH_MAX + 1).as_bytes(), 1_000).unwrap_err();
        assert_eq!(deep.code, Code::BadJson);
        assert!(parse_value(nested(DEPTH_MAX).as_bytes()).is_ok(), "the parser goes as deep");
    }
}
