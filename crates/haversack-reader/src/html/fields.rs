//! What a page says about itself: its title, address, author, language and dates.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::tag::Tag;
use super::tape::{Event, Tape};
use crate::part::Part;

/// Bytes of a field.
const FIELD_BYTES_MAX: usize = 2000;

/// What stands between a page's title and the name of its site.
const TITLE_SEPARATORS: &[&str] = &[" | ", " - ", " — ", " – ", " :: ", " · ", " » ", " « ", " • "];

/// Fields of a page. Empty texts are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PageFields {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) author: String,
    pub(crate) language: String,
    pub(crate) description: String,
    pub(crate) created: Option<i64>,
    pub(crate) updated: Option<i64>,
}

/// A field and how much its source is worth: the lower number wins.
#[derive(Debug, Default)]
struct Best(Option<(u8, String)>);

impl Best {
    fn offer(&mut self, rank: u8, value: &str) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_better = self.0.as_ref().is_none_or(|(best, _)| rank < *best);
        if is_better && !value.is_empty() && value.len() <= FIELD_BYTES_MAX {
            self.0 = Some((rank, value));
        }
    }

    fn take(self) -> String {
        self.0.map(|(_, value)| value).unwrap_or_default()
    }
}

/// The candidates for each field.
#[derive(Debug, Default)]
struct Found {
    title: Best,
    heading: Best,
    url: Best,
    author: Best,
    language: Best,
    description: Best,
    created: Best,
    updated: Best,
}

impl PageFields {
    /// Finds the fields of a page whose main content is an element, if that is known.
    pub(crate) fn of_page(tape: &Tape<'_>, root: Option<u32>) -> PageFields {
        let mut found = Found::default();
        let within =
            root.map_or((0, u32::MAX), |root| (tape.element(root).open, tape.element(root).close));
        for number in 0..u32::try_from(tape.elements.len()).unwrap_or(u32::MAX) {
            found.take_element(tape, number, within);
        }
        let heading = found.heading.take();
        let heading = heading.trim_end_matches(['¶', '#', '§', '🔗', '\u{f0c1}', ' ']);
        PageFields {
            title: choose_title(&found.title.take(), heading),
            url: found.url.take(),
            author: found.author.take(),
            language: found.language.take(),
            description: found.description.take(),
            created: parse_time(&found.created.take()),
            updated: parse_time(&found.updated.take()),
        }
    }

    /// Writes the fields to a part, but not the title.
    pub(crate) fn write_to(&self, part: &mut Part) {
        part.set_field("url", &self.url);
        part.set_field("author", &self.author);
        part.set_field("language", &self.language);
        part.set_field("description", &self.description);
        part.created = self.created;
        part.updated = self.updated;
    }
}

impl Found {
    fn take_element(&mut self, tape: &Tape<'_>, number: u32, within: (u32, u32)) {
        let element = tape.element(number);
        let value = |name: &str| tape.attribute(number, name).unwrap_or_default();
        let is_inside = element.open >= within.0 && element.close <= within.1;
        match element.tag {
            Tag::Html => {
                self.language.offer(1, &value("lang"));
                self.language.offer(2, &value("xml:lang"));
            }
            Tag::Title => self.title.offer(2, &tape.line(number, FIELD_BYTES_MAX)),
            Tag::H1 if is_inside && !element.is_skipped => {
                self.heading.offer(1, &tape.line(number, FIELD_BYTES_MAX));
            }
            Tag::Link if value("rel").eq_ignore_ascii_case("canonical") => {
                let address = value("href");
                if address.starts_with("http") {
                    self.url.offer(1, &address);
                }
            }
            Tag::Meta => {
                let name =
                    [value("property"), value("name"), value("itemprop"), value("http-equiv")];
                let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
                self.take_meta(&name.to_ascii_lowercase(), &value("content"));
            }
            Tag::Time if is_inside => {
                let time = value("datetime");
                let time = if time.is_empty() { tape.line(number, 40).into() } else { time };
                if parse_time(&time).is_some() {
                    let is_update =
                        value("itemprop") == "dateModified" || value("class").contains("updated");
                    if is_update {
                        self.updated.offer(4, &time)
                    } else {
                        self.created.offer(5, &time)
                    }
                }
            }
            Tag::A if value("rel") == "author" => self.author.offer(4, &tape.line(number, 200)),
            Tag::Script if value("type").eq_ignore_ascii_case("application/ld+json") => {
                let text =
                    tape.inside(number).iter().find(|event| matches!(event, Event::Text { .. }));
                let text = text.map(|event| tape.text(*event)).unwrap_or_default();
                if let Ok(data) = serde_json::from_str::<Value>(&text) {
                    self.take_linked_data(&data);
                }
            }
            _ => {}
        }
    }

    fn take_meta(&mut self, name: &str, content: &str) {
        match name {
            "og:title" => self.title.offer(1, content),
            "og:url" if content.starts_with("http") => self.url.offer(2, content),
            "author" | "dc.creator" | "dcterms.creator" | "citation_author" => {
                self.author.offer(1, content)
            }
            "article:author" if !content.starts_with("http") => self.author.offer(2, content),
            "content-language" | "dc.language" => self.language.offer(3, content),
            "description" => self.description.offer(1, content),
            "og:description" | "dc.description" => self.description.offer(2, content),
            "article:published_time" => self.created.offer(1, content),
            "datepublished" | "dc.date" | "dc.date.issued" | "dcterms.created"
            | "citation_date" | "date" | "pubdate" => self.created.offer(3, content),
            "article:modified_time" | "og:updated_time" => self.updated.offer(1, content),
            "datemodified" | "dcterms.modified" | "last-modified" => self.updated.offer(3, content),
            _ => {}
        }
    }

    /// Takes dates and authors from JSON-LD: an object, a list, or a graph of objects.
    fn take_linked_data(&mut self, data: &Value) {
        let list = data.get("@graph").unwrap_or(data);
        let objects = list.as_array().map_or_else(|| vec![list], |list| list.iter().collect());
        for object in objects {
            let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
            self.created.offer(2, text("datePublished"));
            self.updated.offer(2, text("dateModified"));
            let author = object.get("author");
            let author = author.and_then(|author| author.get(0)).or(author);
            let name = author.and_then(|author| author.get("name").or(Some(author)));
            self.author.offer(3, name.and_then(Value::as_str).unwrap_or_default());
        }
    }
}

/// Takes the site's name from a title, if the heading shows which part of it is the page's.
fn choose_title(title: &str, heading: &str) -> String {
    let plain = |text: &str| text.to_lowercase().replace(['’', '‘'], "'");
    if title.is_empty() {
        return heading.to_owned();
    }
    for separator in TITLE_SEPARATORS {
        for (at, _) in title.match_indices(separator) {
            for part in [&title[..at], &title[at + separator.len()..]] {
                if !heading.is_empty() && plain(part.trim()) == plain(heading) {
                    return part.trim().to_owned();
                }
            }
        }
    }
    title.to_owned()
}

/// A time in one of the forms that pages and books use, in milliseconds. Without a zone it is UTC.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() < 4 || text.len() > 64 {
        return None;
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    if let Ok(time) = jiff::fmt::rfc2822::parse(text) {
        return Some(time.timestamp().as_millisecond());
    }
    let of_local = |time: DateTime| {
        let zoned = time.to_zoned(TimeZone::UTC).ok()?;
        Some(zoned.timestamp().as_millisecond())
    };
    if let Ok(time) = text.parse::<DateTime>() {
        return of_local(time);
    }
    if let Ok(date) = text.parse::<Date>() {
        return of_local(date.at(0, 0, 0, 0));
    }
    // Only a month, or only a year.
    let mut numbers = text.split(['-', '/']).map(str::parse::<i16>);
    let year = numbers.next()?.ok().filter(|year| (1000..3000).contains(year))?;
    let month = numbers.next().map_or(Some(1), Result::ok)?;
    let day = numbers.next().map_or(Some(1), Result::ok)?;
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    of_local(date.at(0, 0, 0, 0))
}
