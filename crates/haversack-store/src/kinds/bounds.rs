//! What holds for the fields of every item, whatever its kind: they are not too large.

use std::io;

use serde_json::Value;

use super::Fields;
use super::problem::{FieldErrors, Limit, Path, Wrong};

/// How deep values may stand: a field's own value is one deep.
pub const DEPTH_MAX: usize = 32;
/// Most values of all fields together, those inside others included.
pub const VALUES_MAX: usize = 1_024;
/// Most bytes of all fields together, as compact JSON.
pub const JSON_BYTES_MAX: usize = 256 * 1_024;
/// Longest name of a field in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// Adds what is too large to `errors`.
pub(super) fn check(fields: &Fields, errors: &mut FieldErrors) {
    let mut walk = Walk { errors, values: 0, too_deep: false };
    walk.object(&Path::Fields, fields, 1);
    let Walk { errors, values, too_deep } = walk;
    if values > VALUES_MAX {
        let wrong = Wrong::OverLimit { limit: Limit::Values, found: values, max: VALUES_MAX };
        errors.push(&Path::Fields, wrong);
    }
    // Writing JSON descends as deep as the value does.
    if too_deep {
        return;
    }
    let found = json_bytes(fields);
    if found > JSON_BYTES_MAX {
        let wrong = Wrong::OverLimit { limit: Limit::JsonBytes, found, max: JSON_BYTES_MAX };
        errors.push(&Path::Fields, wrong);
    }
}

struct Walk<'e> {
    errors: &'e mut FieldErrors,
    values: usize,
    too_deep: bool,
}

impl Walk<'_> {
    fn object(&mut self, path: &Path<'_>, object: &Fields, depth: usize) {
        for (key, value) in object {
            let path = Path::Key(path, key);
            if key.len() > KEY_BYTES_MAX {
                let found = key.len();
                let limit = Limit::NameBytes;
                self.errors.push(&path, Wrong::OverLimit { limit, found, max: KEY_BYTES_MAX });
            }
            if let Some(control) = key.chars().find(|c| c.is_control()) {
                self.errors.push(&path, Wrong::ControlInName { code: control.into() });
            }
            self.value(&path, value, depth);
        }
    }

    fn value(&mut self, path: &Path<'_>, value: &Value, depth: usize) {
        self.values += 1;
        if depth > DEPTH_MAX {
            if !self.too_deep {
                self.too_deep = true;
                let limit = Limit::Depth;
                self.errors.push(path, Wrong::OverLimit { limit, found: depth, max: DEPTH_MAX });
            }
            return;
        }
        match value {
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.value(&Path::Entry(path, index), entry, depth + 1);
                }
            }
            Value::Object(object) => self.object(path, object, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The size as JSON, without writing it anywhere.
fn json_bytes(fields: &Fields) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What JSON cannot express counts as too large.
    serde_json::to_writer(&mut count, fields).map_or(usize::MAX, |()| count.0)
}
