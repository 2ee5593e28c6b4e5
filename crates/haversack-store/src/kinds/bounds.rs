//! Size limits for the fields of items of any kind.

use std::io;

use serde_json::Value;

use super::Fields;
use super::problem::{FieldErrors, FieldFault, FieldPath, Limit};

/// The deepest nesting of values; a field's own value has depth 1.
pub const DEPTH_MAX: usize = 32;
/// The most values of all fields together, nested ones included.
pub const VALUES_MAX: usize = 1_024;
/// The most bytes of all fields together, as compact JSON.
pub const JSON_BYTES_MAX: usize = 256 * 1_024;
/// The longest field name in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// Adds violated limits to `errors`.
pub(super) fn check(fields: &Fields, errors: &mut FieldErrors) {
    let mut walk = BoundsChecker { errors, values: 0, too_deep: false };
    walk.check_object(&FieldPath::Fields, fields, 1);
    let BoundsChecker { errors, values, too_deep } = walk;
    if values > VALUES_MAX {
        let wrong = FieldFault::OverLimit { limit: Limit::Values, found: values, max: VALUES_MAX };
        errors.push(&FieldPath::Fields, wrong);
    }
    // Serialising JSON recurses as deep as the value.
    if too_deep {
        return;
    }
    let found = json_bytes(fields);
    if found > JSON_BYTES_MAX {
        let wrong = FieldFault::OverLimit { limit: Limit::JsonBytes, found, max: JSON_BYTES_MAX };
        errors.push(&FieldPath::Fields, wrong);
    }
}

struct BoundsChecker<'e> {
    errors: &'e mut FieldErrors,
    values: usize,
    too_deep: bool,
}

impl BoundsChecker<'_> {
    fn check_object(&mut self, path: &FieldPath<'_>, object: &Fields, depth: usize) {
        for (key, value) in object {
            let path = FieldPath::Key(path, key);
            if key.len() > KEY_BYTES_MAX {
                let found = key.len();
                let limit = Limit::NameBytes;
                self.errors.push(&path, FieldFault::OverLimit { limit, found, max: KEY_BYTES_MAX });
            }
            if let Some(control) = key.chars().find(|c| c.is_control()) {
                self.errors.push(&path, FieldFault::ControlInName { code: control.into() });
            }
            self.check_value(&path, value, depth);
        }
    }

    fn check_value(&mut self, path: &FieldPath<'_>, value: &Value, depth: usize) {
        self.values += 1;
        if depth > DEPTH_MAX {
            if !self.too_deep {
                self.too_deep = true;
                let limit = Limit::Depth;
                self.errors
                    .push(path, FieldFault::OverLimit { limit, found: depth, max: DEPTH_MAX });
            }
            return;
        }
        match value {
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.check_value(&FieldPath::Entry(path, index), entry, depth + 1);
                }
            }
            Value::Object(object) => self.check_object(path, object, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The size as JSON, without allocating it.
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
    // A serialisation error counts as too large.
    serde_json::to_writer(&mut count, fields).map_or(usize::MAX, |()| count.0)
}
