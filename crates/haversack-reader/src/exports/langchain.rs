//! Documents of `LangChain` as JSON or JSON lines, plain or as `dumps` writes them.

use serde_json::Value;

use super::fields;
use crate::conversations::claude_code::for_each_line;
use crate::conversations::json::{self, Shape, read_list_or_one};
use crate::conversations::turn::{Keys, Tally, hash};
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of documents.
pub(crate) const READER: Reader = Reader {
    name: "LangChain documents",
    extensions: &["json"],
    recognises: is_json,
    is_isolated: false,
    read: read_json,
};

/// The reader of documents, one in each line.
pub(crate) const LINES_READER: Reader = Reader {
    name: "LangChain document lines",
    extensions: &["jsonl", "ndjson"],
    recognises: is_lines,
    is_isolated: false,
    read: read_lines,
};

/// Whether it is a list of documents.
fn is_json(head: &FileHead) -> bool {
    let shape = Shape::of(head.text());
    is_document(&shape, "[].") || !is_lines(head) && is_document(&shape, "")
}

/// Whether it is one document on each line.
fn is_lines(head: &FileHead) -> bool {
    let mut lines = head.text().lines().filter(|line| !line.trim().is_empty());
    let is_one = |line: &str| is_document(&Shape::of(line), "");
    matches!(head.extension(), "jsonl" | "ndjson") && lines.next().is_some_and(is_one)
}

fn is_document(shape: &Shape, start: &str) -> bool {
    let has = |name: &str| shape.has(&format!("{start}{name}"));
    has("page_content") && has("metadata") || has("lc") && has("kwargs.page_content")
}

/// Reads a list of documents.
fn read_json(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    read_list_or_one(source, &mut |_, document| write(&document, &mut keys, &mut tally, sink))?;
    tally.give_summary(sink)
}

/// Reads one document from each line.
fn read_lines(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    let broken =
        for_each_line(source, &mut |document| write(&document, &mut keys, &mut tally, sink))?;
    tally.leave_many("lines that are no JSON objects", broken);
    tally.give_summary(sink)
}

fn write(
    document: &Value,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let document = document.get("kwargs").unwrap_or(document);
    let Some(text) = json::text(document, "page_content") else {
        tally.leave("documents without text");
        return Ok(());
    };
    let metadata = document["metadata"].as_object().cloned().unwrap_or_default();
    let id = json::id(document, "id").unwrap_or_else(|| hash(&[text, &fields::title(&metadata)]));
    let mut part = Part::of_file(&fields::title(&metadata), text.to_owned());
    part.key = keys.key(&id);
    part.position = i64::try_from(tally.taken("documents")).unwrap_or_default();
    fields::keep(&metadata, &[], &mut part, tally);
    tally.take("documents");
    sink.part(part)
}
