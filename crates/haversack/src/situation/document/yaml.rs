//! Parses YAML into values, with the line of each. Limits also count what aliases repeat, so that they
//! cannot make a small file large.

use std::collections::BTreeMap;

use haversack_core::text::spelling::printable_name;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

/// Most values of a document, including nested ones and those that aliases repeat.
pub(super) const VALUES_MAX: usize = 4_096;
/// How deep values may be nested.
pub(super) const DEPTH_MAX: usize = 32;
/// Most bytes of all texts of a document, including those that aliases repeat.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;

/// Why a text cannot be parsed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    /// The line, from 1.
    pub(super) line: usize,
    /// The field, if the parser was inside one.
    pub(super) field: Option<String>,
    pub(super) message: String,
}

/// The line of each field, by its path as in `injection_rules[0].inject`.
#[derive(Debug, Default)]
pub(super) struct FieldLines(BTreeMap<String, usize>);

impl FieldLines {
    /// The line of a field, or of the nearest field that contains it.
    pub(super) fn line_of(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            if let Some(line) = self.0.get(path) {
                return Some(*line);
            }
            path = path.rfind(['.', '[']).map(|at| &path[..at])?;
        }
    }

    /// Moves all lines down, for a text that begins inside another.
    pub(super) fn shifted_by(mut self, lines: usize) -> FieldLines {
        self.0.values_mut().for_each(|line| *line += lines);
        self
    }
}

/// Parses a text that holds one YAML document.
pub(super) fn parse(text: &str) -> Result<(Value, FieldLines), YamlError> {
    let mut reader = YamlReader {
        parser: Parser::new_from_str(text),
        anchors: BTreeMap::new(),
        lines: FieldLines::default(),
        values: 0,
        text_bytes: 0,
    };
    let value = reader.document()?;
    Ok((value, reader.lines))
}

struct YamlReader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: BTreeMap<usize, Value>,
    lines: FieldLines,
    values: usize,
    text_bytes: usize,
}

impl<'t> YamlReader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(scan_error(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Result<Value, YamlError> {
        let mut value = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(value.unwrap_or(Value::Null)),
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if value.is_some() => {
                    return Err(error_at(
                        span,
                        "",
                        "a file holds one document, and this is a second",
                    ));
                }
                Event::DocumentStart(_) => {}
                event => value = Some(self.value(event, span, "", 0)?),
            }
        }
    }

    fn value(
        &mut self,
        event: Event<'t>,
        span: Span,
        path: &str,
        depth: usize,
    ) -> Result<Value, YamlError> {
        let refuse = |message: String| Err(error_at(span, path, &message));
        self.values += 1;
        if self.values > VALUES_MAX {
            return refuse(format!("a document holds {VALUES_MAX} values at most"));
        }
        if depth > DEPTH_MAX {
            return refuse(format!("values are nested {DEPTH_MAX} deep at most"));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.text_bytes += text.len();
                let value = parse_scalar(&text, style, tag.as_deref());
                (value.map_err(|message| error_at(span, path, &message))?, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), &["seq"]).map_err(|m| error_at(span, path, &m))?;
                (self.list(path, depth)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), &["map"]).map_err(|m| error_at(span, path, &m))?;
                (self.object(path, depth)?, anchor)
            }
            Event::Alias(anchor) => (self.alias(anchor, span, path, depth)?, 0),
            _ => return refuse("a value is missing".to_owned()),
        };
        if self.text_bytes > TEXT_BYTES_MAX {
            return refuse(format!("the texts of a document take {TEXT_BYTES_MAX} bytes at most"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn list(&mut self, path: &str, depth: usize) -> Result<Value, YamlError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Value::Array(entries));
            }
            let path = format!("{path}[{}]", entries.len());
            self.lines.0.insert(path.clone(), span.start.line());
            entries.push(self.value(event, span, &path, depth + 1)?);
        }
    }

    fn object(&mut self, path: &str, depth: usize) -> Result<Value, YamlError> {
        let mut object = Map::new();
        loop {
            let (event, span) = self.next()?;
            let (key, is_plain) = match event {
                Event::MappingEnd => return Ok(Value::Object(object)),
                Event::Scalar(key, style, ..) => (key, style == ScalarStyle::Plain),
                _ => return Err(error_at(span, path, "the name of a field must be a text")),
            };
            if key == "<<" && is_plain {
                let message = "merging with << is not known here: write the fields out, or inherit \
                               them from a parent";
                return Err(error_at(span, path, message));
            }
            let path = field_path(path, &key);
            if object.contains_key(&*key) {
                return Err(error_at(span, &path, "the field is given twice"));
            }
            self.text_bytes += key.len();
            self.lines.0.insert(path.clone(), span.start.line());
            let (event, span) = self.next()?;
            let value = self.value(event, span, &path, depth + 1)?;
            object.insert(key.into_owned(), value);
        }
    }

    /// A copy of an anchored value, which counts against the limits as if it were written out.
    fn alias(
        &mut self,
        anchor: usize,
        span: Span,
        path: &str,
        depth: usize,
    ) -> Result<Value, YamlError> {
        let Some(value) = self.anchors.get(&anchor) else {
            return Err(error_at(span, path, "an alias cannot stand inside what it repeats"));
        };
        let (values, bytes, levels) = size_of_value(value);
        self.values += values - 1;
        self.text_bytes += bytes;
        let too_large = self.values > VALUES_MAX || self.text_bytes > TEXT_BYTES_MAX;
        if too_large || depth + levels > DEPTH_MAX + 1 {
            let message = format!(
                "with what its aliases repeat, a document holds {VALUES_MAX} values, \
                 {TEXT_BYTES_MAX} bytes of text and {DEPTH_MAX} levels at most"
            );
            return Err(error_at(span, path, &message));
        }
        Ok(value.clone())
    }
}

/// The number of values, bytes of text, and levels of a value.
fn size_of_value(value: &Value) -> (usize, usize, usize) {
    let sum = |parts: &mut dyn Iterator<Item = (usize, usize, usize)>| {
        parts.fold((1, 0, 1), |(values, bytes, levels), (v, b, l)| {
            (values + v, bytes + b, levels.max(l + 1))
        })
    };
    match value {
        Value::Array(entries) => sum(&mut entries.iter().map(size_of_value)),
        Value::Object(object) => sum(&mut object.iter().map(|(name, value)| {
            let (values, bytes, levels) = size_of_value(value);
            (values, bytes + name.len(), levels)
        })),
        Value::String(text) => (1, text.len(), 1),
        Value::Null | Value::Bool(_) | Value::Number(_) => (1, 0, 1),
    }
}

/// Parses a scalar by YAML's core schema. A quoted one is a text.
fn parse_scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    check_tag(tag, &["str", "int", "float", "bool", "null"])?;
    let is_text = tag.is_some_and(|tag| tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Ok(Value::String(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        plain => match parse_number(plain) {
            Some(number) => Value::Number(number),
            None => Value::String(plain.to_owned()),
        },
    })
}

fn check_tag(tag: Option<&Tag>, allowed: &[&str]) -> Result<(), String> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() || !allowed.contains(&tag.suffix.as_str()) => {
            Err(format!("the tag {} is not known here", printable_name(&tag.to_string())))
        }
        _ => Ok(()),
    }
}

fn parse_number(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(Number::from);
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16).filter(|_| !digits.starts_with(['+', '-']));
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8).filter(|_| !digits.starts_with(['+', '-']));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts = unsigned.starts_with(|c: char| c.is_ascii_digit())
        || unsigned
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    // Rust also parses `inf` and `nan`, which are texts in YAML's core schema.
    if !starts || !unsigned.bytes().all(|c| c.is_ascii_digit() || b".eE+-".contains(&c)) {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(large) = text.parse::<u64>() {
        return Some(large.into());
    }
    Number::from_f64(text.parse().ok()?)
}

/// The path of a field in an object, as in messages about fields.
fn field_path(path: &str, key: &str) -> String {
    let is_plain =
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), is_plain) {
        (true, true) => printable_name(key),
        (false, true) => format!("{path}.{}", printable_name(key)),
        (true, false) => format!("fields[\"{}\"]", printable_name(key)),
        (false, false) => format!("{path}[\"{}\"]", printable_name(key)),
    }
}

fn error_at(span: Span, field: &str, message: &str) -> YamlError {
    let field = (!field.is_empty()).then(|| field.to_owned());
    YamlError { line: span.start.line(), field, message: message.to_owned() }
}

fn scan_error(error: &ScanError) -> YamlError {
    let message = format!("the YAML cannot be read: {}", error.info());
    YamlError { line: error.marker().line(), field: None, message }
}
