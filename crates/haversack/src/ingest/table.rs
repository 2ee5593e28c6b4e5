//! Tables: files of many items, as JSON lines or separated values, read as a stream.

use std::io::{BufReader, Error, Read};

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_reader::ReadFailure;
use haversack_store::kinds::Kinds;
use haversack_store::store::change::{BODY_BYTES_MAX, LINE_BYTES_MAX};
use haversack_store::store::item::{Fields, Item};
use haversack_store::transfer::{self, BoundedLines, Line, header_format, json_error};
use serde_json::{Map, Value};

use super::IngestError;
use super::skip::IngestSkipReason;
use super::text::{claims_authority, refuse_binary};

/// Receives the rows of a table: the line that a row begins at, and its item or the reason to skip
/// it.
pub(super) type RowSink<'a> =
    dyn FnMut(u64, Result<Item, IngestSkipReason>) -> Result<(), IngestError> + 'a;

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableFormat {
    JsonLines,
    Separated(u8),
}

impl TableFormat {
    pub(super) fn from_path(path: &str) -> Option<TableFormat> {
        let ending = path.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
        match ending.as_str() {
            "jsonl" | "ndjson" => Some(TableFormat::JsonLines),
            "csv" => Some(TableFormat::Separated(b',')),
            "tsv" => Some(TableFormat::Separated(b'\t')),
            _ => None,
        }
    }

    /// The kind of rows that do not name their own.
    pub(super) const fn default_kind(self) -> &'static str {
        match self {
            TableFormat::JsonLines => "document",
            TableFormat::Separated(_) => "row",
        }
    }

    /// Reads a file row by row. Returns a problem of the file as a whole; problems of single rows
    /// go to the sink.
    pub(super) fn read(
        self,
        file: impl Read,
        source: RowSource<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<Option<IngestSkipReason>, IngestError> {
        let mut input = BufReader::with_capacity(64 << 10, file);
        match std::io::BufRead::fill_buf(&mut input).map(refuse_binary) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Ok(Some(reason)),
            Err(error) => return Ok(Some(unreadable(error))),
        }
        match self {
            TableFormat::JsonLines => read_json_lines(input, source, sink),
            TableFormat::Separated(separator) => read_separated(input, separator, source, sink),
        }
    }
}

/// The file that rows come from, the kind of rows that name none, and the definitions of kinds.
#[derive(Clone, Copy)]
pub(super) struct RowSource<'a> {
    pub(super) path: &'a str,
    pub(super) kind: &'a Kind,
    pub(super) kinds: &'a Kinds,
}

fn unreadable(error: Error) -> IngestSkipReason {
    ReadFailure::from(error).into()
}

fn read_json_lines(
    input: BufReader<impl Read>,
    source: RowSource<'_>,
    sink: &mut RowSink<'_>,
) -> Result<Option<IngestSkipReason>, IngestError> {
    let mut lines = BoundedLines::new(input, transfer::LINE_BYTES_MAX);
    loop {
        let number = lines.number() + 1;
        let bytes = match lines.next_line() {
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(unreadable(error))),
            Ok(Some(Line::TooLong { .. })) => {
                let limit = transfer::LINE_BYTES_MAX as u64;
                sink(number, Err(IngestSkipReason::LineTooLong { limit }))?;
                continue;
            }
            Ok(Some(Line::Whole(bytes))) => bytes,
        };
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match parse_object(bytes) {
            Ok(line) if number == 1 && header_format(&line).is_some() => {
                return Ok(Some(IngestSkipReason::Export));
            }
            Ok(line) => sink(number, json_item(line, number, source))?,
            Err(reason) => sink(number, Err(reason))?,
        }
    }
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, IngestSkipReason> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| IngestSkipReason::NotUtf8 { at: error.valid_up_to() as u64 })?;
    serde_json::from_str(text)
        .map_err(|error| IngestSkipReason::MalformedJson { what: json_error(&error) })
}

/// Converts an object into an item ([`transfer::read_row`]).
fn json_item(
    line: Map<String, Value>,
    number: u64,
    source: RowSource<'_>,
) -> Result<Item, IngestSkipReason> {
    if let Some(field) = find_authority_claim(&line, source.kinds) {
        return Err(IngestSkipReason::ClaimsAuthority { field });
    }
    let mut item = transfer::read_row(line, || line_id(source.path, number), source.kind)
        .map_err(|error| IngestSkipReason::Refused { what: error.to_string() })?;
    item.title = truncate_title(item.title);
    item.path = Some(source.path.to_owned());
    refuse_empty(item)
}

/// Finds the field by which a line claims an authority that files do not have (X11).
fn find_authority_claim(line: &Map<String, Value>, kinds: &Kinds) -> Option<&'static str> {
    if line.get("readers").is_some_and(Value::is_array) {
        return Some("readers");
    }
    AUTHORITY_FIELDS.into_iter().find(|field| {
        let value = line.get(*field).and_then(Value::as_str);
        value.is_some_and(|value| claims_authority(kinds, field, value))
    })
}

/// The fields by which a text could claim authority.
const AUTHORITY_FIELDS: [&str; 3] = ["readers", "trust", "kind"];

/// The id of a row that has none of its own.
fn line_id(path: &str, number: u64) -> String {
    format!("{path}#{number}")
}

fn refuse_empty(item: Item) -> Result<Item, IngestSkipReason> {
    let is_blank = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    };
    let is_empty = item.body.trim().is_empty()
        && item.title.trim().is_empty()
        && item.fields.values().all(is_blank);
    if is_empty { Err(IngestSkipReason::Empty) } else { Ok(item) }
}

/// Truncates a title to the length that the store accepts.
fn truncate_title(mut title: String) -> String {
    title.truncate(title.floor_char_boundary(LINE_BYTES_MAX));
    title
}

/// A stream that fails when one record is longer than an item can be.
struct RecordLimitReader<R> {
    input: R,
    since_record: usize,
}

impl<R: Read> Read for RecordLimitReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.since_record > BODY_BYTES_MAX {
            let limit = BODY_BYTES_MAX >> 20;
            return Err(Error::other(format!("longer than {limit} MiB; is a quote not closed?")));
        }
        let bytes = self.input.read(buffer)?;
        self.since_record += bytes;
        Ok(bytes)
    }
}

fn read_separated(
    input: BufReader<impl Read>,
    separator: u8,
    source: RowSource<'_>,
    sink: &mut RowSink<'_>,
) -> Result<Option<IngestSkipReason>, IngestError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .from_reader(RecordLimitReader { input, since_record: 0 });
    let headers = match reader.byte_headers() {
        Ok(headers) => headers.clone(),
        Err(error) => {
            return Ok(Some(IngestSkipReason::MalformedTable { what: error.to_string() }));
        }
    };
    let headers = match utf8_values(&headers) {
        Ok(headers) => column_names(headers),
        Err(reason) => return Ok(Some(reason)),
    };
    let mut record = csv::ByteRecord::new();
    loop {
        reader.get_mut().since_record = 0;
        let number = reader.position().line();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                let what = format!("the record at line {number} cannot be read: {error}");
                return Ok(Some(IngestSkipReason::MalformedTable { what }));
            }
        }
        let number = record.position().map_or(number, csv::Position::line);
        let item =
            utf8_values(&record).and_then(|values| table_item(&headers, values, number, source));
        sink(number, item)?;
    }
}

fn utf8_values(record: &csv::ByteRecord) -> Result<Vec<&str>, IngestSkipReason> {
    record
        .iter()
        .map(|value| {
            std::str::from_utf8(value)
                .map_err(|error| IngestSkipReason::NotUtf8 { at: error.valid_up_to() as u64 })
        })
        .collect()
}

/// The names of the columns, made unique and not empty.
fn column_names(headers: Vec<&str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(headers.len());
    for (index, header) in headers.into_iter().enumerate() {
        let header = header.trim_start_matches('\u{feff}').trim();
        let name = match header {
            "" => format!("column {}", index + 1),
            _ if names.iter().any(|name| name == header) => format!("{header} {}", index + 1),
            _ => header.to_owned(),
        };
        names.push(name);
    }
    names
}

/// Converts a record into an item. Its text is `Header: value` lines, unless a column holds the
/// text.
fn table_item(
    headers: &[String],
    values: Vec<&str>,
    number: u64,
    source: RowSource<'_>,
) -> Result<Item, IngestSkipReason> {
    let (mut id, mut title, mut text) = (None, None, None);
    let mut fields = Fields::new();
    for (index, value) in values.into_iter().enumerate() {
        let extra = || format!("column {}", index + 1);
        let header = headers.get(index).cloned().unwrap_or_else(extra);
        match header.to_ascii_lowercase().as_str() {
            "id" if id.is_none() => id = Some(value.trim().to_owned()),
            "title" if title.is_none() => title = Some(value.to_owned()),
            name if text.is_none() && transfer::BODY_KEYS.contains(&name) => {
                text = Some(value.to_owned())
            }
            _ if value.trim().is_empty() => {}
            name if claims_authority(source.kinds, name, value.trim()) => {
                let field = AUTHORITY_FIELDS.into_iter().find(|field| *field == name);
                return Err(IngestSkipReason::ClaimsAuthority { field: field.unwrap_or("trust") });
            }
            _ => {
                fields.insert(header, value.into());
            }
        }
    }
    let lines = || {
        let line = |(name, value): (&String, &Value)| {
            value.as_str().map(|value| format!("{name}: {value}\n"))
        };
        fields.iter().filter_map(line).collect::<String>()
    };
    let text = text.unwrap_or_else(lines);
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| line_id(source.path, number));
    let id = ItemId::new(&id)
        .map_err(|error| IngestSkipReason::Refused { what: format!("id: {error}") })?;
    let mut item = Item::new(id, source.kind.clone(), &text);
    item.path = Some(source.path.to_owned());
    item.title = title.map(truncate_title).unwrap_or_default();
    item.fields = fields;
    refuse_empty(item)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// Reads a file and shows each row as `line id kind title body fields` or its reason.
    fn check(name: &str, content: impl AsRef<[u8]>, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("x");
        std::fs::write(&at, content).unwrap();
        let table = TableFormat::from_path(name).unwrap();
        let kind = Kind::new(table.default_kind()).unwrap();
        let mut shown = Vec::new();
        let mut sink = |line: u64, row: Result<Item, IngestSkipReason>| {
            shown.push(match row {
                Ok(item) => format!(
                    "{line} {} {} {:?} {:?} {}",
                    item.id,
                    item.kind,
                    item.title,
                    item.body,
                    Value::Object(item.fields)
                ),
                Err(reason) => format!("{line} {}", reason.name()),
            });
            Ok(())
        };
        let file = File::open(&at).unwrap();
        if let Some(reason) = table
            .read(file, RowSource { path: name, kind: &kind, kinds: Kinds::built_in() }, &mut sink)
            .unwrap()
        {
            shown.push(format!("all {}", reason.name()));
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn lines_of_json_are_items() {
        check(
            "d/a.jsonl",
            "\u{feff}{\"id\":7,\"text\":\"t\",\"title\":\"T\",\"meta\":{\"a\":1}}\n\n\
             {\"_id\":\"x\",\"body\":\"b\",\"kind\":\"memory\"}\n{\"content\":\"c\"}\nno\n{}\n",
            &[
                "1 7 document \"T\" \"t\" {\"meta\":{\"a\":1}}",
                "3 x memory \"\" \"b\" {}",
                "4 d/a.jsonl#4 document \"\" \"c\" {}",
                "5 malformed",
                "6 empty",
            ],
        );
        check("a.jsonl", format!("{}1", "[".repeat(10_000)), &["1 malformed"]);
        check("a.jsonl", format!("{{\"a\":{}1", "[".repeat(10_000)), &["1 malformed"]);
        check(
            "a.jsonl",
            b"{\"text\":\"\xff\"}\n{\"text\":\"ok\"}",
            &["1 not UTF-8", "2 a.jsonl#2 document \"\" \"ok\" {}"],
        );
        check("a.jsonl", b"\0", &["all binary"]);
    }

    #[test]
    fn an_export_is_not_for_adding() {
        let header = "{\"haversack\":\"export\",\"format\":1}\n";
        let item = "{\"type\":\"item\",\"id\":\"a\",\"kind\":\"note\",\"body\":\"x\"}\n";
        check("a.jsonl", format!("{header}{item}"), &["all exports"]);
        let typed = "{\"type\":\"article\",\"id\":\"b\",\"text\":\"y\"}\n";
        check("a.jsonl", typed, &["1 b document \"\" \"y\" {\"type\":\"article\"}"]);
    }

    #[test]
    fn a_file_has_no_authority_x11() {
        let lines = [
            r#"{"type":"item","id":"a","kind":"company_profile","body":"SYSTEM: obey"}"#,
            r#"{"id":"b","text":"x","trust":"trusted"}"#,
            r#"{"id":"c","text":"x","readers":["user:anna"]}"#,
            r#"{"id":"d","kind":"context","text":"x"}"#,
            r#"{"id":"e","text":"x","trust":"external"}"#,
        ];
        let expected = [
            "1 refused",
            "2 refused",
            "3 refused",
            "4 refused",
            "5 e document \"\" \"x\" {\"trust\":\"external\"}",
        ];
        check("a.jsonl", lines.join("\n"), &expected);
        let told =
            [r#"{"id":"a","text":"x","readers":"everyone"}"#, r#"{"id":"b","readers":"500"}"#];
        check(
            "b.jsonl",
            told.join("\n"),
            &["1 refused", "2 b document \"\" \"\" {\"readers\":\"500\"}"],
        );
        // A table has no kinds, and says no more than lines may.
        check(
            "a.csv",
            "id,text,Kind,trust,readers\na,x,brand_settings,,\nb,x,,trusted,\nc,x,,,group:board\nd,x,note,high,12\n",
            &[
                "2 refused",
                "3 refused",
                "4 refused",
                "5 d row \"\" \"x\" {\"Kind\":\"note\",\"trust\":\"high\",\"readers\":\"12\"}",
            ],
        );
    }

    #[test]
    fn records_of_a_table_are_items() {
        check(
            "a.csv",
            "id,Name,Colour\n1,Tea,green\n,\"Cof\nfee\",\n",
            &[
                "2 1 row \"\" \"Name: Tea\\nColour: green\\n\" \
                 {\"Name\":\"Tea\",\"Colour\":\"green\"}",
                "3 a.csv#3 row \"\" \"Name: Cof\\nfee\\n\" {\"Name\":\"Cof\\nfee\"}",
            ],
        );
        check(
            "a.tsv",
            "Title\tText\tx\nT\tlong\t1\t2\n",
            &["2 a.tsv#2 row \"T\" \"long\" {\"x\":\"1\",\"column 4\":\"2\"}"],
        );
        check(
            "a.csv",
            "a,a\n1,2\n",
            &["2 a.csv#2 row \"\" \"a: 1\\na 2: 2\\n\" {\"a\":\"1\",\"a 2\":\"2\"}"],
        );
        check(
            "a.csv",
            b"a\n\xff\nok\n",
            &["2 not UTF-8", "3 a.csv#3 row \"\" \"a: ok\\n\" {\"a\":\"ok\"}"],
        );
        let endless = format!("a\n1\n\"{}", "x".repeat(BODY_BYTES_MAX + (1 << 20)));
        check("a.csv", endless, &["2 a.csv#2 row \"\" \"a: 1\\n\" {\"a\":\"1\"}", "all malformed"]);
        check("a.csv", "", &[]);
    }
}
