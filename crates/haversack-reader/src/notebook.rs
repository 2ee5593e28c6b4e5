//! Notebooks of Jupyter: text as it is, code in fences, and the text of outputs.

use serde_json::Value;

use crate::encoding::decode;
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;
use crate::table::Reader;

/// The reader of notebooks.
pub(crate) const READER: Reader = Reader {
    name: "notebook",
    extensions: &["ipynb"],
    recognises: |head| head.extension() == "ipynb",
    is_isolated: true,
    read,
};

/// Bytes of the output of one cell.
const OUTPUT_BYTES_MAX: usize = 4000;

/// What is left out of a notebook.
#[derive(Debug, Default)]
struct LeftOut {
    /// Outputs without text: pictures and widgets.
    outputs: usize,
    /// Bytes of long outputs.
    bytes: usize,
}

fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    let decoded =
        decode(&bytes).ok_or_else(|| ReadFailure::malformed("a notebook that is not text"))?;
    let notebook: Value = serde_json::from_str(&decoded.text)
        .map_err(|error| ReadFailure::malformed(format!("a notebook that is not JSON: {error}")))?;
    let cells = cells_of(&notebook)
        .ok_or_else(|| ReadFailure::malformed("a notebook without a list of cells"))?;
    let mut left_out = LeftOut::default();
    let mut blocks = Vec::new();
    let language = language_of(&notebook);
    for cell in cells {
        push_cell(cell, language, &mut blocks, &mut left_out);
    }
    let body = blocks.join("\n\n");
    let named = notebook.pointer("/metadata/title").and_then(Value::as_str);
    let title = named.map(str::to_owned).or_else(|| first_heading(&blocks)).unwrap_or_default();
    let mut part = Part::of_file(&title, body);
    part.set_field("codeLanguage", language);
    if left_out.outputs > 0 {
        let what =
            format!("{} outputs without text (pictures, widgets) are left out", left_out.outputs);
        let notice = ReadNotice::new(what);
        sink.notice(notice.omitting(OmissionKind::Outputs, left_out.outputs as u64))?;
    }
    if left_out.bytes > 0 {
        let what = format!("{} bytes of long outputs are left out", left_out.bytes);
        let notice = ReadNotice::new(what);
        sink.notice(notice.omitting(OmissionKind::LongOutputs, left_out.bytes as u64))?;
    }
    sink.part(part)
}

/// The cells of a notebook: those of its worksheets up to version 3.
fn cells_of(notebook: &Value) -> Option<Vec<&Value>> {
    if let Some(cells) = notebook.get("cells") {
        return Some(cells.as_array()?.iter().collect());
    }
    let sheets = notebook.get("worksheets")?.as_array()?;
    let cells = sheets.iter().filter_map(|sheet| sheet.get("cells")?.as_array());
    Some(cells.flatten().collect())
}

/// The language of the code.
fn language_of(notebook: &Value) -> &str {
    let places = ["/metadata/language_info/name", "/metadata/kernelspec/language"];
    let found = places.iter().find_map(|place| notebook.pointer(place)?.as_str());
    let cell = || cells_of(notebook)?.into_iter().find_map(|cell| cell.get("language")?.as_str());
    let language = found.or_else(cell).unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte);
    if language.len() <= 30 && language.bytes().all(is_name) { language } else { "" }
}

fn push_cell(cell: &Value, language: &str, blocks: &mut Vec<String>, left_out: &mut LeftOut) {
    let source = lines_of(cell.get("source").or_else(|| cell.get("input")));
    let source = source.trim_matches('\n').trim_end();
    match cell.get("cell_type").and_then(Value::as_str).unwrap_or_default() {
        "code" => {
            push_fence(source, language, blocks);
            let outputs = cell.get("outputs").and_then(Value::as_array);
            let mut text = String::new();
            for output in outputs.into_iter().flatten() {
                match output_text(output) {
                    Some(output) => {
                        if !text.is_empty() && !text.ends_with('\n') {
                            text.push('\n');
                        }
                        text.push_str(&without_escapes(&output));
                    }
                    None => left_out.outputs += 1,
                }
            }
            let text = truncate(text.trim_end(), left_out);
            push_fence(&text, "output", blocks);
        }
        "heading" => {
            let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1).clamp(1, 6);
            let marks = "######".get(..usize::try_from(level).unwrap_or(1)).unwrap_or("#");
            blocks.push(format!("{marks} {}", source.replace('\n', " ")));
        }
        _ if source.is_empty() => {}
        "raw" => push_fence(source, "", blocks),
        _ => blocks.push(without_data(source)),
    }
}

/// A text that is a string or a list of lines.
fn lines_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The text of an output. None if it has none.
fn output_text(output: &Value) -> Option<String> {
    let kind = output.get("output_type").and_then(Value::as_str).unwrap_or_default();
    if matches!(kind, "error" | "pyerr") {
        let text = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
        let (name, value) = (text("ename"), text("evalue"));
        let line = if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") };
        return Some(line);
    }
    let plain = output.pointer("/data/text~1plain").or_else(|| output.get("text"));
    let has_picture = output
        .get("data")
        .and_then(Value::as_object)
        .is_some_and(|data| data.keys().any(|name| name.starts_with("image/")));
    let text = lines_of(plain);
    // The text of a picture is the name of its object, such as `<Figure size 640x480 with 1 Axes>`.
    let is_name = has_picture && text.starts_with('<') && !text.trim_end().contains('\n');
    (plain.is_some() && !is_name).then_some(text)
}

/// Shortens an output to its beginning and says so in it.
fn truncate(text: &str, left_out: &mut LeftOut) -> String {
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(OUTPUT_BYTES_MAX);
    let end = text[..end].rfind('\n').unwrap_or(end);
    left_out.bytes += text.len() - end;
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

fn push_fence(text: &str, language: &str, blocks: &mut Vec<String>) {
    if !text.trim().is_empty() {
        let fence = "`".repeat(crate::html::longest_run(text, '`').max(2) + 1);
        blocks.push(format!("{fence}{language}\n{text}\n{fence}"));
    }
}

/// A text without the colours of a terminal, and with only the last state of lines that were overwritten.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                while characters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
                characters.next();
            }
            '\r' if characters.peek().is_some_and(|next| *next != '\n') => {
                let line = out.rfind('\n').map_or(0, |at| at + 1);
                out.truncate(line);
            }
            '\r' => {}
            character => out.push(character),
        }
    }
    out
}

/// Markdown without pictures that are written into it as data.
fn without_data(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("data:image/") {
        let data = &rest[at..];
        let end = data.find([')', '"', '\'', '>', ' ', '\n']).unwrap_or(data.len());
        out.push_str(&rest[..at]);
        rest = &data[end..];
    }
    out.push_str(rest);
    out
}

/// The first heading among the blocks.
fn first_heading(blocks: &[String]) -> Option<String> {
    let texts = blocks.iter().filter(|block| !block.starts_with("```"));
    let mut headings = texts.flat_map(|block| block.lines()).filter(|line| line.starts_with('#'));
    let heading = headings.find_map(|line| {
        let text = line.trim_start_matches('#');
        text.starts_with(' ').then(|| text.trim().trim_end_matches('#').trim_end())
    });
    heading.filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome;

    fn read_text(text: &str) -> Result<(Part, Vec<String>), ReadFailure> {
        Ok(outcome::read_by(&READER, "a.ipynb", text.as_bytes())?.into_part())
    }

    #[test]
    fn cells_become_markdown() {
        let (part, notices) = read_text(
            r###"{"metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "cells": [
            {"cell_type": "markdown", "source": ["## Bees\n", "![](data:image/png;base64,AAAA)"]},
            {"cell_type": "code", "source": "1 + 1", "outputs": [
                {"output_type": "stream", "text": ["\u001b[31ma\u001b[0m\n", "10%\r20%\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2", "image/png": "AAAA"}},
                {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "AAAA"}},
                {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["x"]}]},
            {"cell_type": "code", "source": [], "outputs": []}]}"###,
        )
        .unwrap();
        assert_eq!(
            part.body,
            "## Bees\n![]()\n\n```python\n1 + 1\n```\n\n```output\na\n20%\n2\nE: bad\n```"
        );
        assert_eq!((part.title.as_str(), notices.len()), ("Bees", 1));
    }

    #[test]
    fn old_notebooks_have_worksheets() {
        let (part, _) = read_text(
            r#"{"nbformat": 3, "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 2, "source": ["Old"]},
            {"cell_type": "code", "language": "julia", "input": ["x = 1"], "outputs": [
                {"output_type": "pyout", "text": ["1"]}]}]}]}"#,
        )
        .unwrap();
        assert_eq!(part.body, "## Old\n\n```julia\nx = 1\n```\n\n```output\n1\n```");
    }

    #[test]
    fn long_outputs_are_truncated_with_a_mark() {
        let text = "line\\n".repeat(2000);
        let notebook = format!(
            r#"{{"cells": [{{"cell_type": "code", "source": "x", "outputs": [{{"output_type": "stream", "text": "{text}"}}]}}]}}"#
        );
        let (part, notices) = read_text(&notebook).unwrap();
        assert!(part.body.len() < OUTPUT_BYTES_MAX + 100 && part.body.contains("more bytes"));
        assert!(notices[0].contains("bytes of long outputs"));
    }

    #[test]
    fn what_is_no_notebook_fails() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[]", "{}", r#"{"cells": 1}"#, "\0\0", &deep] {
            assert!(matches!(read_text(text), Err(ReadFailure::Malformed { .. })), "{:.20}", text);
        }
        let odd = r#"{"cells": [1, {"cell_type": 2}, {"cell_type": "code", "outputs": [3, {}]}]}"#;
        assert_eq!(read_text(odd).unwrap().0.body, "");
    }
}
