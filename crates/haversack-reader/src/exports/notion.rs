//! Exports of Notion as an archive of Markdown and CSV: pages as files, databases as rows.

use std::collections::BTreeSet;

use serde_json::Value;

use super::notes::{clean_notion_name, notion_id};
use crate::conversations::archive::Archive;
use crate::conversations::turn::{Keys, Tally, hash, name};
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};

/// Fields of a row.
const COLUMNS_MAX: usize = 100;

/// Whether it is such an archive: Markdown, CSV or HTML whose names end in Notion's ids.
pub(crate) fn is_archive(head: &FileHead) -> bool {
    let pages = || head.entries.iter().filter(|entry| page_stem(entry).is_some());
    let marked = pages().filter(|entry| page_stem(entry).and_then(notion_id).is_some()).count();
    marked > 0 && marked * 2 >= pages().count()
}

/// The name of a page or a database without folders and extension.
fn page_stem(entry: &str) -> Option<&str> {
    let file = entry.rsplit('/').next()?;
    let stem =
        ["md", "csv", "html"].iter().find_map(|it| file.strip_suffix(it)?.strip_suffix('.'))?;
    Some(stem.strip_suffix("_all").unwrap_or(stem))
}

/// Reads an archive.
pub(crate) fn read(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let mut archive = Archive::open(source)?;
    let mut names = archive.names();
    names.sort();
    let all: BTreeSet<String> = names.iter().cloned().collect();
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    for entry in &names {
        if entry.ends_with(".md") {
            let bytes = archive.read(entry)?;
            write_page(entry, &String::from_utf8_lossy(&bytes), &mut keys, &mut tally, sink)?;
        } else if let Some(stem) = entry.strip_suffix(".csv") {
            // Beside a view of a database there can be one with all of its rows.
            if all.contains(&format!("{stem}_all.csv")) {
                tally.leave("views of databases that are there as a whole");
                continue;
            }
            let bytes = archive.read(entry)?;
            write_database(entry, &bytes, &mut keys, &mut tally, sink)?;
        } else if entry.ends_with(".html") {
            tally.leave("pages as HTML (export as Markdown & CSV, or unpack the archive)");
        } else if entry.ends_with(".zip") {
            tally.leave("inner archives (unpack them and add each)");
        } else {
            tally.leave("attached files");
        }
    }
    tally.give_summary(sink)
}

/// The key of an entry: Notion's id, which stays when a page is renamed.
fn entry_key(entry: &str, keys: &mut Keys) -> String {
    let id = page_stem(entry).and_then(notion_id).map_or_else(|| hash(&[entry]), str::to_owned);
    keys.key(&id)
}

fn title(entry: &str) -> String {
    let path = clean_notion_name(entry);
    let file = path.rsplit('/').next().unwrap_or(&path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    name(stem.strip_suffix("_all").unwrap_or(stem))
}

fn write_page(
    entry: &str,
    text: &str,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        tally.leave("empty pages");
        return Ok(());
    }
    let heading = text.lines().next().and_then(|line| line.strip_prefix("# ")).map(name);
    let mut part = Part::of_file(&heading.unwrap_or_else(|| title(entry)), text.to_owned());
    part.key = entry_key(entry, keys);
    part.position = i64::try_from(tally.taken("pages")).unwrap_or_default();
    part.set_field("folder", &folder(entry));
    tally.take("pages");
    sink.part(part)
}

fn folder(entry: &str) -> String {
    let path = clean_notion_name(entry);
    path.rsplit_once('/').map(|(folder, _)| name(folder)).unwrap_or_default()
}

fn write_database(
    entry: &str,
    bytes: &[u8],
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let failure = |error: csv::Error| ReadFailure::malformed(format!("{entry}: {error}"));
    let headers = reader.byte_headers().map_err(failure)?.clone();
    let headers: Vec<String> =
        headers.iter().take(COLUMNS_MAX).map(|it| name(&String::from_utf8_lossy(it))).collect();
    let mut part = Part::of_file(&title(entry), format!("Columns: {}", headers.join(", ")));
    part.key = entry_key(entry, keys);
    part.set_field("folder", &folder(entry));
    let parent = part.key.clone();
    tally.take("databases");
    sink.part(part)?;
    let mut rows = Keys::default();
    for (position, record) in reader.byte_records().enumerate() {
        let record = record.map_err(failure)?;
        let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
        let cells: Vec<String> = cells.take(COLUMNS_MAX).collect();
        let filled = || headers.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
        if filled().next().is_none() {
            tally.leave("empty rows");
            continue;
        }
        let lines: Vec<String> = filled()
            .map(|(header, cell)| format!("- {header}: {}", cell.replace('\n', " ")))
            .collect();
        let first = cells.first().map(String::as_str).unwrap_or_default();
        let row = if first.is_empty() { hash(&[&lines.join("\n")]) } else { hash(&[first]) };
        let mut part = Part::of_file(&name(first), lines.join("\n"));
        part.kind = "row".to_owned();
        part.key = format!("{parent}/{}", rows.key(&row));
        part.parent = Some(parent.clone());
        part.position = i64::try_from(position).unwrap_or_default();
        let fitting = filled().filter(|(header, cell)| {
            !header.is_empty() && header.len() <= 100 && cell.len() <= 2_000
        });
        for (header, cell) in fitting {
            part.fields.insert(header.clone(), Value::from(cell.as_str()));
        }
        tally.take("rows");
        sink.part(part)?;
    }
    Ok(())
}
