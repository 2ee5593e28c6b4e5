//! Reads large JSON files piece by piece, and tells formats apart by the keys at a file's beginning.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use crate::part::ReadFailure;
use crate::source::SourceFile;

/// Bytes of one piece, such as a message or a whole conversation of an assistant.
pub(crate) const PIECE_BYTES_MAX: u64 = 32 << 20;

/// How deep keys are collected from the beginning of a file.
const SHAPE_DEPTH_MAX: usize = 6;

/// How many paths are collected from the beginning of a file.
const SHAPE_PATHS_MAX: usize = 4_000;

/// Receives one piece and the objects around it, outermost first, with what they held before it.
pub(crate) type TakePiece<'t> =
    dyn FnMut(&[Map<String, Value>], Value) -> Result<(), ReadFailure> + 't;

/// Hands on each piece of a JSON document, without ever holding all of it.
///
/// A path is keys on the way to the pieces, where `*` stands for each element of an array: with
/// `["messages", "*"]` the pieces are the elements of the array `messages`. What is not on the path is
/// context. Nesting is bounded by the parser (128).
///
/// # Errors
/// When it is no JSON, a piece is too large, or `take` fails.
pub(crate) fn read_pieces(
    input: impl Read,
    path: &[&str],
    take: &mut TakePiece<'_>,
) -> Result<u64, ReadFailure> {
    let since = Cell::new(0);
    let input = BufReader::new(MeteredInput { input, since: &since });
    let mut walk = Walk { take, context: Vec::new(), failure: None, pieces: 0, since: &since };
    let mut parser = serde_json::Deserializer::from_reader(SkipMark::new(input));
    let read = Step { walk: &mut walk, path }.deserialize(&mut parser);
    let read = read.and_then(|()| parser.end());
    match (walk.failure, read) {
        (Some(failure), _) => Err(failure),
        (None, Err(error)) => Err(json_failure(&error, since.get())),
        (None, Ok(())) => Ok(walk.pieces),
    }
}

/// Hands on each element of the list that a file holds, or the one object that it holds instead.
///
/// # Errors
/// As [`read_pieces`].
pub(crate) fn read_list_or_one(
    source: &mut SourceFile<'_>,
    take: &mut TakePiece<'_>,
) -> Result<u64, ReadFailure> {
    let is_list = source.head()?.text().trim_start().starts_with('[');
    let path: &[&str] = if is_list { &["*"] } else { &[] };
    read_pieces(source.rewound()?, path, take)
}

fn json_failure(error: &serde_json::Error, since: u64) -> ReadFailure {
    match error.is_io() && since > PIECE_BYTES_MAX {
        true => ReadFailure::too_large("one entry of a JSON file, in bytes", PIECE_BYTES_MAX),
        false => ReadFailure::malformed(format!("its JSON cannot be parsed: {error}")),
    }
}

/// Parses a JSON document that is in memory.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, ReadFailure> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let parsed = serde_json::from_slice(bytes);
    parsed.map_err(|error: serde_json::Error| json_failure(&error, 0))
}

struct Walk<'w> {
    take: &'w mut TakePiece<'w>,
    context: Vec<Map<String, Value>>,
    failure: Option<ReadFailure>,
    pieces: u64,
    since: &'w Cell<u64>,
}

/// One step on the path.
struct Step<'s, 'w> {
    walk: &'s mut Walk<'w>,
    path: &'s [&'s str],
}

impl<'de> DeserializeSeed<'de> for Step<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if !self.path.is_empty() {
            return deserializer.deserialize_any(self);
        }
        let piece: Value = serde::Deserialize::deserialize(deserializer)?;
        self.walk.since.set(0);
        self.walk.pieces += 1;
        (self.walk.take)(&self.walk.context, piece).map_err(|failure| {
            self.walk.failure = Some(failure);
            D::Error::custom("stopped")
        })
    }
}

impl<'de> Visitor<'de> for Step<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.path.first() == Some(&"*") { "an array" } else { "an object" };
        formatter.write_str(what)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let Some(("*", rest)) = self.path.split_first().map(|(key, rest)| (*key, rest)) else {
            return Err(A::Error::custom("an array where an object was expected"));
        };
        while array.next_element_seed(Step { walk: self.walk, path: rest })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Some((wanted, rest)) = self.path.split_first().filter(|(key, _)| **key != "*") else {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        self.walk.context.push(Map::new());
        while let Some(key) = object.next_key::<String>()? {
            if key == *wanted {
                object.next_value_seed(Step { walk: self.walk, path: rest })?;
                continue;
            }
            let value: Value = object.next_value()?;
            self.walk.since.set(0);
            // Long lists around the pieces, such as sessions and frequent contacts, say nothing about them.
            let is_small = value.as_array().is_none_or(|list| list.len() <= 256);
            if let Some(context) = self.walk.context.last_mut().filter(|it| it.len() < 64)
                && is_small
            {
                context.insert(key, value);
            }
        }
        self.walk.context.pop();
        Ok(())
    }
}

/// Counts the bytes since the last piece and stops when there are too many.
struct MeteredInput<'c, R> {
    input: R,
    since: &'c Cell<u64>,
}

impl<R: Read> Read for MeteredInput<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.since.set(self.since.get() + read as u64);
        match self.since.get() > PIECE_BYTES_MAX {
            true => Err(std::io::Error::other("one entry is too large")),
            false => Ok(read),
        }
    }
}

/// Leaves out a byte order mark.
struct SkipMark<R> {
    input: R,
    start: Vec<u8>,
    is_started: bool,
}

impl<R: Read> SkipMark<R> {
    const fn new(input: R) -> SkipMark<R> {
        SkipMark { input, start: Vec::new(), is_started: false }
    }
}

impl<R: Read> Read for SkipMark<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.is_started {
            self.is_started = true;
            self.input.by_ref().take(3).read_to_end(&mut self.start)?;
            if self.start == b"\xef\xbb\xbf" {
                self.start.clear();
            }
        }
        if self.start.is_empty() {
            return self.input.read(buffer);
        }
        let taken = self.start.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.start.drain(..taken)) {
            *to = from;
        }
        Ok(taken)
    }
}

/// The paths of keys in JSON that may break off anywhere: `messages[].id`.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    paths: BTreeSet<String>,
}

impl Shape {
    /// The shape of a text, empty unless it begins as an array or an object.
    pub(crate) fn of(text: &str) -> Shape {
        let mut shape = Shape::default();
        let text = text.trim_start();
        if text.starts_with(['{', '[']) {
            shape.scan(text.as_bytes());
        }
        shape
    }

    /// Whether there is such a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether there are all these paths.
    pub(crate) fn has_all(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.has(path))
    }

    /// Whether a path begins and ends like this.
    pub(crate) fn has_between(&self, start: &str, end: &str) -> bool {
        let from = self.paths.range(start.to_owned()..);
        from.take_while(|path| path.starts_with(start)).any(|path| path.ends_with(end))
    }

    fn scan(&mut self, text: &[u8]) {
        let mut path: Vec<String> = Vec::new();
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'[' | b'{' => {
                    depth += 1;
                    if *byte == b'[' && depth <= SHAPE_DEPTH_MAX {
                        path.push("[]".to_owned());
                    } else if depth <= SHAPE_DEPTH_MAX {
                        path.push(String::new());
                    }
                }
                b']' | b'}' => {
                    if depth <= SHAPE_DEPTH_MAX {
                        path.pop();
                    }
                    depth = depth.saturating_sub(1);
                }
                b'"' => {
                    let Some(end) = string_end(text, at) else { return };
                    let key = text.get(at..end).unwrap_or_default();
                    at = end + 1;
                    let next = text.get(at..).unwrap_or_default();
                    let is_key = next.iter().find(|it| !it.is_ascii_whitespace()) == Some(&b':');
                    if is_key && depth <= SHAPE_DEPTH_MAX && key.len() <= 128 {
                        self.add(&mut path, key);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, path: &mut [String], key: &[u8]) {
        let Some(last) = path.last_mut().filter(|last| *last != "[]") else { return };
        *last = String::from_utf8_lossy(key).into_owned();
        if self.paths.len() < SHAPE_PATHS_MAX {
            self.paths.insert(path.join(".").replace(".[]", "[]"));
        }
    }
}

/// Where a string ends that begins at a place.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A text in an object; `None` when it is missing, blank or of another type.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// A text or a number in an object, as text.
pub(crate) fn id(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The elements of an array in an object; none when it is missing.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a flag in an object is set.
pub(crate) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pieces(text: &str, path: &[&str]) -> Result<Vec<String>, ReadFailure> {
        let mut found = Vec::new();
        read_pieces(text.as_bytes(), path, &mut |context, piece| {
            found.push(format!("{} {piece}", json!(context)));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn pieces_come_with_what_stands_around_them() {
        let text = r#"{"about": 1, "chats": {"list": [{"name": "a", "m": [1, 2]}, {"m": [3]}]}}"#;
        let found = pieces(text, &["chats", "list", "*", "m", "*"]).unwrap();
        assert_eq!(
            found,
            [
                r#"[{"about":1},{},{"name":"a"}] 1"#,
                r#"[{"about":1},{},{"name":"a"}] 2"#,
                r#"[{"about":1},{},{}] 3"#
            ]
        );
        assert_eq!(pieces("\u{feff}[7]", &["*"]).unwrap(), ["[] 7"]);
        assert_eq!(pieces("null", &["*"]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_json_is_a_failure() {
        for text in ["", "[1", "{\"m\": ", "[1] x", "\u{0}", "7"] {
            assert!(pieces(text, &["*"]).is_err(), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(pieces(&deep, &["*"]).is_err());
    }

    #[test]
    fn a_piece_that_is_too_large_is_refused() {
        let large = usize::try_from(PIECE_BYTES_MAX).unwrap() + 100_000;
        let text = format!("[1, \"{}\"]", "x".repeat(large));
        let failure = pieces(&text, &["*"]).unwrap_err();
        assert!(matches!(failure, ReadFailure::TooLarge { .. }), "{failure}");
    }

    #[test]
    fn the_shape_is_known_from_the_beginning() {
        let shape = Shape::of(r#"[{"a": {"b": ["x", {"c": "\" : "}]}, "d" : 1}, {"e": "#);
        assert!(shape.has_all(&["[].a", "[].a.b", "[].a.b[].c", "[].d", "[].e"]));
        assert_eq!(shape.paths.len(), 5);
        assert!(shape.has_between("[].a.", ".c"));
        assert_eq!(Shape::of("\"a\": 1").paths.len(), 0);
    }
}
