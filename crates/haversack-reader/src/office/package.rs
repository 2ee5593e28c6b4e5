//! What documents in an archive have in common: relationships, properties, and a count of what is
//! left out.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::archive::BoundedArchive;
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::xml::{XmlEvent, XmlReader};

/// Counts what is left out of a text, by its name in singular and plural.
#[derive(Debug, Default)]
pub(crate) struct Omissions {
    counts: Vec<(&'static str, &'static str, u64)>,
}

impl Omissions {
    pub(crate) fn add(&mut self, one: &'static str, many: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        match self.counts.iter_mut().find(|(name, ..)| *name == one) {
            Some((_, _, all)) => *all += count,
            None => self.counts.push((one, many, count)),
        }
    }

    /// Adds all counts of another.
    pub(crate) fn merge(&mut self, other: Omissions) {
        for (one, many, count) in other.counts {
            self.add(one, many, count);
        }
    }

    /// Gives one notice that names everything that was left out.
    pub(crate) fn report(self, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
        let show = |(one, many, count): &(&str, &str, u64)| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let shown: Vec<String> = self.counts.iter().map(show).collect();
        if shown.is_empty() {
            return Ok(());
        }
        let count = self.counts.iter().map(|(_, _, count)| count).sum();
        let notice = ReadNotice::new(format!("left out: {}", shown.join(", ")));
        // What was hidden or embedded on purpose can be what a reader looks for.
        let is_text = |(one, ..): &(&str, &str, u64)| {
            one.starts_with("hidden") || one.starts_with("embedded")
        };
        sink.notice(match self.counts.iter().any(is_text) {
            true => notice,
            false => notice.omitting(OmissionKind::Pictures, count),
        })
    }
}

/// A relationship of a file in the archive to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relationship {
    pub(crate) id: String,
    /// The last word of its type, such as `styles`.
    pub(crate) kind: String,
    /// A path in the archive, or an address when it is external.
    pub(crate) target: String,
    pub(crate) is_external: bool,
}

/// The relationships of a file in the archive; of the archive itself with an empty path.
#[derive(Debug, Default)]
pub(crate) struct Relationships {
    all: Vec<Relationship>,
}

impl Relationships {
    pub(crate) fn read(
        archive: &mut BoundedArchive<'_>,
        path: &str,
    ) -> Result<Relationships, ReadFailure> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let slash = if folder.is_empty() { "" } else { "/" };
        let place = format!("{folder}{slash}_rels/{name}.rels");
        let Some(text) = archive.entry_text(&place)? else { return Ok(Relationships::default()) };
        let mut reader = XmlReader::new(&place, &text);
        let mut all = Vec::new();
        while let Some(event) = reader.next()? {
            let XmlEvent::Start(element) = event else { continue };
            if element.name() != "Relationship" {
                continue;
            }
            let value = |name: &str| element.attribute(name).unwrap_or_default();
            let is_external = value("TargetMode") == "External";
            let target = match is_external {
                true => value("Target"),
                false => resolve_path(folder, &value("Target")),
            };
            let kind = value("Type").rsplit('/').next().unwrap_or_default().to_owned();
            all.push(Relationship { id: value("Id"), kind, target, is_external });
        }
        Ok(Relationships { all })
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&Relationship> {
        self.all.iter().find(|relationship| relationship.id == id)
    }

    pub(crate) fn by_kind(&self, kind: &str) -> Option<&str> {
        let mut all = self.all.iter();
        let found = all.find(|found| found.kind == kind && !found.is_external);
        found.map(|found| found.target.as_str())
    }

    pub(crate) fn count(&self, kind: &str) -> u64 {
        self.all.iter().filter(|relationship| relationship.kind == kind).count() as u64
    }
}

/// A path in the archive, from a folder in it.
fn resolve_path(folder: &str, target: &str) -> String {
    let mut path: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|name| !name.is_empty()).collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            name => path.push(name),
        }
    }
    path.join("/")
}

/// The properties of a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) title: String,
    author: String,
    subject: String,
    keywords: Vec<String>,
    description: String,
    created: Option<i64>,
    updated: Option<i64>,
}

impl Properties {
    /// Reads the properties of an Office document.
    pub(crate) fn of_office(
        archive: &mut BoundedArchive<'_>,
        package: &Relationships,
    ) -> Result<Properties, ReadFailure> {
        let path = package.by_kind("core-properties").unwrap_or("docProps/core.xml").to_owned();
        Properties::read(archive, &path)
    }

    /// Reads properties from a file in the archive. They are not worth a failure: what is damaged
    /// is as good as absent.
    pub(crate) fn read(
        archive: &mut BoundedArchive<'_>,
        path: &str,
    ) -> Result<Properties, ReadFailure> {
        let text = match archive.entry_text(path) {
            Ok(text) => text.unwrap_or_default(),
            Err(ReadFailure::Malformed { .. }) => String::new(),
            Err(failure) => return Err(failure),
        };
        let mut properties = Properties::default();
        let mut reader = XmlReader::new(path, &text);
        let mut name = String::new();
        while let Ok(Some(event)) = reader.next() {
            match event {
                XmlEvent::Start(element) => name = element.name().to_owned(),
                XmlEvent::Text(text) => properties.set(&name, text.trim()),
                XmlEvent::End(_) => name.clear(),
            }
        }
        Ok(properties)
    }

    fn set(&mut self, name: &str, text: &str) {
        let add = |to: &mut String| {
            // Entities cut a text in pieces.
            if !to.is_empty() && !text.is_empty() {
                to.push(' ');
            }
            to.push_str(text);
        };
        match name {
            "title" => add(&mut self.title),
            "initial-creator" => self.author = text.to_owned(),
            "creator" if self.author.is_empty() => add(&mut self.author),
            "subject" => add(&mut self.subject),
            "description" => add(&mut self.description),
            "keyword" | "keywords" if !text.is_empty() => self.keywords.push(text.to_owned()),
            "created" | "creation-date" => self.created = parse_time(text),
            "modified" | "date" => self.updated = parse_time(text),
            _ => {}
        }
    }

    /// Sets the fields of the part for the file.
    pub(crate) fn apply(&self, part: &mut Part) {
        part.created = self.created;
        part.updated = self.updated;
        part.set_field("author", &self.author);
        part.set_field("subject", &self.subject);
        part.set_field("keywords", &self.keywords.join(", "));
        // Programs leave their own advertisement there.
        if !self.description.starts_with("generated ") {
            part.set_field("description", &self.description);
        }
    }
}

/// A moment in milliseconds; a time without zone is taken as UTC.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    let moment = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(moment.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_folders() {
        assert_eq!(resolve_path("ppt/slides", "../media/a.png"), "ppt/media/a.png");
        assert_eq!(resolve_path("ppt", "/word/a.xml"), "word/a.xml");
        assert_eq!(resolve_path("", "../../a.xml"), "a.xml");
    }

    #[test]
    fn times_without_zone_are_utc() {
        assert_eq!(parse_time("2024-05-01T10:00:00Z"), Some(1_714_557_600_000));
        assert_eq!(parse_time("2024-05-01T10:00:00.5"), Some(1_714_557_600_500));
        assert_eq!(parse_time("yesterday"), None);
    }
}
