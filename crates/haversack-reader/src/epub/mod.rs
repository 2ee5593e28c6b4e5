//! Books in EPUB: the chapters of the spine as one Markdown text.

mod package;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::archive::BoundedArchive;
use crate::encoding::decode_declared;
use crate::html::{HtmlOptions, markdown_of_html, parse_time};
use crate::limits::PART_BYTES_MAX;
use crate::part::{Part, PartSink, ReadFailure, ReadNotice};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;
use package::{Package, package_path, protects_content, read_contents};

/// The reader of books.
pub(crate) const READER: Reader =
    Reader { name: "EPUB", extensions: &["epub"], recognises, is_isolated: true, read };

const CONTAINER: &str = "META-INF/container.xml";

fn recognises(head: &FileHead) -> bool {
    head.extension() == "epub" || (head.has_entry(CONTAINER) && head.has_entry("mimetype"))
}

fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    if let Some(encryption) = read_text(&mut archive, "META-INF/encryption.xml")?
        && protects_content(&encryption)
    {
        return Err(ReadFailure::Encrypted);
    }
    let container = read_text(&mut archive, CONTAINER)?;
    let path = container.as_deref().and_then(package_path);
    let path = path.ok_or_else(|| ReadFailure::malformed(format!("no package in {CONTAINER}")))?;
    let text = read_text(&mut archive, &path)?;
    let text = text.ok_or_else(|| ReadFailure::malformed(format!("no package at {path}")))?;
    let package = Package::read(&text, &path);
    if package.chapters.is_empty() {
        return Err(ReadFailure::malformed("a book without chapters"));
    }
    let mut titles = BTreeMap::new();
    for contents in [&package.navigation, &package.contents].into_iter().flatten() {
        if titles.is_empty()
            && let Some(text) = read_text(&mut archive, contents)?
        {
            titles = read_contents(&text, contents);
        }
    }
    let body = read_chapters(&mut archive, &package, &titles, sink)?;
    sink.part(part_of(&package, body))
}

/// Reads the chapters, each with a heading.
fn read_chapters(
    archive: &mut BoundedArchive<'_>,
    package: &Package,
    titles: &BTreeMap<String, String>,
    sink: &mut PartSink<'_>,
) -> Result<String, ReadFailure> {
    let mut body = String::new();
    let all = package.chapters.len();
    for (at, path) in package.chapters.iter().enumerate() {
        sink.progress(at as u64, all as u64)?;
        // The table of contents is made of the headings that follow.
        if package.navigation.as_ref() == Some(path) {
            continue;
        }
        if body.len() > PART_BYTES_MAX {
            let what =
                format!("the last {} of {all} chapters are left out: too much text", all - at);
            sink.notice(ReadNotice::new(what).at(path.clone()))?;
            break;
        }
        let text = match read_text(archive, path) {
            Ok(Some(text)) => text,
            Ok(None) => {
                let what = "the chapter is missing from the archive".to_owned();
                sink.notice(ReadNotice::new(what).at(path.clone()))?;
                continue;
            }
            Err(ReadFailure::Malformed { what }) => {
                sink.notice(ReadNotice::new(what).at(path.clone()))?;
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let page = markdown_of_html(&text, HtmlOptions { only_main: false, is_xml: true })?;
        for notice in page.notices {
            sink.notice(notice.at(path.as_str()))?;
        }
        if page.body.is_empty() {
            continue;
        }
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        if let Some(title) = titles.get(path)
            && !has_heading(&page.body)
        {
            body.push_str("# ");
            body.push_str(title);
            body.push_str("\n\n");
        }
        body.push_str(&page.body);
    }
    Ok(body)
}

/// Whether a Markdown text has a heading before its first long paragraphs.
fn has_heading(body: &str) -> bool {
    body.lines().take(20).any(|line| line.starts_with('#'))
}

fn part_of(package: &Package, body: String) -> Part {
    let mut part = Part::of_file(&package.title, body);
    part.set_field("author", &package.authors.join(", "));
    if package.authors.len() > 1 {
        part.fields.insert("authors".to_owned(), Value::from(package.authors.clone()));
    }
    part.set_field("language", &package.language);
    part.set_field("publisher", &package.publisher);
    let description = markdown_of_html(&package.description, HtmlOptions::default());
    part.set_field("description", &description.map(|page| page.body).unwrap_or_default());
    part.created = parse_time(&package.date);
    part.updated = parse_time(&package.modified);
    part
}

/// Reads an entry as text.
fn read_text(archive: &mut BoundedArchive<'_>, name: &str) -> Result<Option<String>, ReadFailure> {
    let Some(bytes) = archive.entry(name)? else { return Ok(None) };
    let declared = crate::html::declared_encoding(&bytes);
    let decoded = decode_declared(&bytes, declared.as_deref());
    let decoded = decoded.ok_or_else(|| ReadFailure::malformed(format!("{name} is not text")))?;
    Ok(Some(decoded.text.into_owned()))
}
