//! Exports of Notion as an archive of Markdown or HTML and CSV: pages as files, databases as rows.

use std::collections::BTreeSet;
use std::io::Cursor;

use serde_json::Value;

use super::notes::{clean_notion_name, notion_id};
use crate::archive::BoundedArchive;
use crate::conversations::turn::{Keys, Tally, hash, name};
use crate::html::{HtmlOptions, read_page};
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of archives of Notion.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "Notion archive",
    extensions: &["zip"],
    recognises: is_archive,
    is_isolated: true,
    read,
};

/// Fields of a row.
const COLUMNS_MAX: usize = 100;

/// Archives in an archive. Large exports come as an archive of archives.
const INNER_ARCHIVES_MAX: usize = 64;

/// Whether it is such an archive: Markdown, CSV or HTML whose names end in Notion's ids, or nothing but such
/// archives.
fn is_archive(head: &FileHead) -> bool {
    let pages = || head.entries.iter().filter(|entry| page_stem(entry).is_some());
    let marked = pages().filter(|entry| page_stem(entry).and_then(notion_id).is_some()).count();
    let is_part = |entry: &String| {
        let file = entry.rsplit('/').next().unwrap_or(entry);
        file.starts_with("ExportBlock-") && file.ends_with(".zip")
    };
    let parts = head.entries.iter().filter(|entry| !entry.ends_with('/'));
    marked > 0 && marked * 2 >= pages().count()
        || !head.entries.is_empty() && parts.clone().count() > 0 && parts.clone().all(is_part)
}

/// The name of a page or a database without folders and extension.
fn page_stem(entry: &str) -> Option<&str> {
    let file = entry.rsplit('/').next()?;
    let stem =
        ["md", "csv", "html"].iter().find_map(|it| file.strip_suffix(it)?.strip_suffix('.'))?;
    Some(stem.strip_suffix("_all").unwrap_or(stem))
}

/// Reads an archive.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let mut export = Export { keys: Keys::default(), tally: Tally::default(), sink };
    let inner = export.read_entries(&mut archive)?;
    for (number, entry) in inner.iter().enumerate() {
        if number >= INNER_ARCHIVES_MAX {
            export.tally.leave("inner archives beyond the limit (unpack them and add each)");
            continue;
        }
        let bytes = archive.named_entry(entry)?;
        let mut input = Cursor::new(bytes);
        let mut source = SourceFile::new(entry, &mut input)?;
        let mut nested = match archive.open_inner(&mut source) {
            Ok(nested) => nested,
            Err(ReadFailure::Malformed { .. }) => {
                export.tally.leave("inner archives that are damaged");
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let deeper = export.read_entries(&mut nested)?;
        archive.end_inner(&nested);
        export.tally.leave_many("archives in inner archives", deeper.len() as u64);
    }
    export.tally.give_summary(export.sink)
}

/// What was read so far of an export.
struct Export<'e, 's> {
    keys: Keys,
    tally: Tally,
    sink: &'e mut PartSink<'s>,
}

impl Export<'_, '_> {
    /// Reads the pages and databases of an archive. Returns the names of the archives in it.
    fn read_entries(
        &mut self,
        archive: &mut BoundedArchive<'_>,
    ) -> Result<Vec<String>, ReadFailure> {
        let mut names = archive.names();
        names.sort();
        let all: BTreeSet<String> = names.iter().cloned().collect();
        let has_rows = |stem: &str| {
            all.contains(&format!("{stem}.csv")) || all.contains(&format!("{stem}_all.csv"))
        };
        let mut inner = Vec::new();
        for entry in names {
            let (keys, tally) = (&mut self.keys, &mut self.tally);
            if entry.ends_with(".md") {
                let bytes = archive.named_entry(&entry)?;
                write_page(&entry, &String::from_utf8_lossy(&bytes), keys, tally, self.sink)?;
            } else if let Some(stem) = entry.strip_suffix(".csv") {
                // Beside a view of a database there can be one with all of its rows.
                if all.contains(&format!("{stem}_all.csv")) {
                    tally.leave("views of databases that are there as a whole");
                    continue;
                }
                let bytes = archive.named_entry(&entry)?;
                write_database(&entry, &bytes, keys, tally, self.sink)?;
            } else if let Some(stem) = entry.strip_suffix(".html") {
                if has_rows(stem) || entry.rsplit('/').next() == Some("index.html") {
                    tally.leave("pages that list what is there");
                    continue;
                }
                let bytes = archive.named_entry(&entry)?;
                write_html_page(&entry, &bytes, keys, tally, self.sink)?;
            } else if entry.ends_with(".zip") {
                inner.push(entry);
            } else {
                tally.leave("attached files");
            }
        }
        Ok(inner)
    }
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

/// Writes a page of an export as HTML, whose properties are a table at its start.
fn write_html_page(
    entry: &str,
    bytes: &[u8],
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    // All of it: an exported page has no menus, and its header holds its properties.
    let mut part = match read_page(bytes, HtmlOptions { only_main: false, is_xml: false }, sink) {
        Ok(part) => part,
        Err(ReadFailure::Malformed { .. }) => {
            tally.leave("pages that cannot be read");
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    if part.body.trim().is_empty() {
        tally.leave("empty pages");
        return Ok(());
    }
    if part.title.is_empty() {
        part.title = title(entry);
    }
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
