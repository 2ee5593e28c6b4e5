//! Reads JSON within limits. A short text can become hundreds of times its size in memory, and takes as
//! long to free as to read. So its values and its depth are counted before it is parsed, and what is long
//! is parsed on a blocking thread.

use bytes::Bytes;
use serde_json::Value;

use crate::codes::Code;
use crate::memory::HeldBytes;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// Deepest nesting; the parser itself ends at 128.
const DEPTH_MAX: usize = 100;

/// The most memory that a value takes, beside its text: an entry of an object, with its share of the table.
const BYTES_PER_VALUE: usize = 192;

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
    serde_json::from_slice(text).map_err(|error| ApiProblem::new(Code::BadJson, error.to_string()))
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
