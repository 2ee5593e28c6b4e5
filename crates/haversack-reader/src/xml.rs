//! XML as a stream of events with a bounded depth. There is no tree, and entities are not expanded.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::limits::DEPTH_MAX;
use crate::part::ReadFailure;

/// What stands next in a document. Names are without prefix, since files choose their prefixes
/// freely.
#[derive(Debug)]
pub(crate) enum XmlEvent<'x> {
    /// An element begins. An empty element begins and ends.
    Start(XmlElement<'x>),
    /// The element with this name ends.
    End(String),
    /// Text between elements.
    Text(Cow<'x, str>),
}

/// The beginning of an element.
#[derive(Debug)]
pub(crate) struct XmlElement<'x> {
    start: BytesStart<'x>,
}

impl XmlElement<'_> {
    /// Its name, without prefix.
    pub(crate) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    /// The value of an attribute, by its name without prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.find(|_, local| local == name)
    }

    /// The value of an attribute that has a prefix, by its name without it: `r:id` beside `id`.
    pub(crate) fn prefixed_attribute(&self, name: &str) -> Option<String> {
        self.find(|key, local| local == name && key.len() > local.len())
    }

    /// The value of an attribute with this prefix, where the same name has several.
    pub(crate) fn prefixed_value(&self, prefix: &str, name: &str) -> Option<String> {
        self.find(|key, local| {
            local == name && key.strip_suffix(local) == Some(&*format!("{prefix}:"))
        })
    }

    /// The value of an attribute as a number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// Whether a switch such as `<w:b/>` or `<w:b w:val="0"/>` is on.
    pub(crate) fn is_on(&self) -> bool {
        let value = self.attribute("val");
        !matches!(value.as_deref(), Some("0" | "false" | "off" | "none"))
    }

    fn find(&self, matches: impl Fn(&str, &str) -> bool) -> Option<String> {
        let mut attributes = self.start.attributes();
        let found = attributes.with_checks(false).filter_map(Result::ok).find(|attribute| {
            matches(attribute.key.into_inner(), attribute.key.local_name().into_inner())
        })?;
        match found.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => Some(value.into_owned()),
            Err(_) => Some(found.value.into_owned()),
        }
    }
}

/// Reads events from a text.
pub(crate) struct XmlReader<'x> {
    reader: Reader<&'x [u8]>,
    /// The file that the text comes from, for messages.
    place: &'x str,
    depth: usize,
    /// The name of an empty element whose end comes next.
    pending_end: Option<String>,
    too_deep: u64,
}

impl<'x> XmlReader<'x> {
    pub(crate) fn new(place: &'x str, text: &'x str) -> XmlReader<'x> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader::from_str(text);
        reader.config_mut().allow_dangling_amp = true;
        XmlReader { reader, place, depth: 0, pending_end: None, too_deep: 0 }
    }

    /// How many elements were skipped because they are nested too deeply.
    pub(crate) const fn too_deep(&self) -> u64 {
        self.too_deep
    }

    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<XmlEvent<'x>>, ReadFailure> {
        if let Some(name) = self.pending_end.take() {
            return Ok(Some(XmlEvent::End(name)));
        }
        loop {
            let event = self.reader.read_event().map_err(|error| self.malformed(&error))?;
            match event {
                Event::Start(_) if self.depth >= DEPTH_MAX => {
                    self.too_deep += 1;
                    self.skip()?;
                }
                Event::Empty(_) if self.depth >= DEPTH_MAX => self.too_deep += 1,
                Event::Start(start) => {
                    self.depth += 1;
                    return Ok(Some(XmlEvent::Start(XmlElement { start })));
                }
                Event::Empty(start) => {
                    self.pending_end = Some(start.local_name().into_inner().to_owned());
                    return Ok(Some(XmlEvent::Start(XmlElement { start })));
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    let name = end.local_name().into_inner().to_owned();
                    return Ok(Some(XmlEvent::End(name)));
                }
                Event::Text(text) => return Ok(Some(XmlEvent::Text(text.xml10_content()))),
                Event::CData(text) => return Ok(Some(XmlEvent::Text(text.xml10_content()))),
                Event::GeneralRef(reference) => {
                    let text = resolve(&reference, reference.resolve_char_ref().ok().flatten());
                    return Ok(Some(XmlEvent::Text(Cow::Owned(text))));
                }
                Event::Eof if self.depth > 0 => {
                    let what = format!("{} ends too early", self.place);
                    return Err(ReadFailure::malformed(what));
                }
                Event::Eof => return Ok(None),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// Skips the element that has just begun, up to its end, which is not given.
    pub(crate) fn skip_element(&mut self) -> Result<(), ReadFailure> {
        if self.pending_end.take().is_some() {
            return Ok(());
        }
        self.depth = self.depth.saturating_sub(1);
        self.skip()
    }

    /// The text of the element that has just begun and of all within, up to its end.
    pub(crate) fn element_text(&mut self) -> Result<String, ReadFailure> {
        let (mut text, mut open) = (String::new(), 1_usize);
        while open > 0 {
            match self.next()? {
                Some(XmlEvent::Start(_)) => open += 1,
                Some(XmlEvent::End(_)) => open -= 1,
                Some(XmlEvent::Text(more)) => text.push_str(&more),
                None => break,
            }
        }
        Ok(text)
    }

    /// Skips to the end of an element whose beginning was read.
    fn skip(&mut self) -> Result<(), ReadFailure> {
        let mut open = 1_usize;
        while open > 0 {
            match self.reader.read_event().map_err(|error| self.malformed(&error))? {
                Event::Start(_) => open += 1,
                Event::End(_) => open -= 1,
                Event::Eof => {
                    let what = format!("{} ends too early", self.place);
                    return Err(ReadFailure::malformed(what));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn malformed(&self, error: &quick_xml::Error) -> ReadFailure {
        let at = self.reader.error_position();
        ReadFailure::malformed(format!("{} at byte {at}: {error}", self.place))
    }
}

/// The text of a reference. Entities that a document defines itself stay as they are written: to
/// expand them is how small files become large.
fn resolve(name: &str, character: Option<char>) -> String {
    match (name, character) {
        (_, Some('\0')) => String::new(),
        (_, Some(character)) => character.to_string(),
        ("amp", None) => "&".to_owned(),
        ("lt", None) => "<".to_owned(),
        ("gt", None) => ">".to_owned(),
        ("quot", None) => "\"".to_owned(),
        ("apos", None) => "'".to_owned(),
        ("nbsp", None) => "\u{a0}".to_owned(),
        (name, None) => format!("&{name};"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> Result<String, ReadFailure> {
        let mut reader = XmlReader::new("a.xml", text);
        let mut shown = String::new();
        while let Some(event) = reader.next()? {
            match event {
                XmlEvent::Start(element) => {
                    shown.push_str(&format!("<{}", element.name()));
                    if let Some(value) = element.attribute("v") {
                        shown.push_str(&format!(" {value}"));
                    }
                    shown.push('>');
                }
                XmlEvent::End(name) => shown.push_str(&format!("</{name}>")),
                XmlEvent::Text(text) => shown.push_str(&text),
            }
        }
        Ok(format!("{shown}{}", reader.too_deep()))
    }

    #[test]
    fn events_come_without_prefixes() {
        let shown = show("\u{feff}<?xml version='1.0'?><a:b c:v='1 &amp; 2'>x&lt;&#228;<d/></a:b>");
        assert_eq!(shown.unwrap(), "<b 1 & 2>x<ä<d></d></b>0");
        assert_eq!(show("<a><![CDATA[<x>]]>&own; & b</a>").unwrap(), "<a><x>&own; & b</a>0");
    }

    #[test]
    fn attributes_with_a_prefix_are_told_from_those_without() {
        let mut reader = XmlReader::new("a.xml", "<s id='1' r:id='2' n='-3'/>");
        let Some(XmlEvent::Start(element)) = reader.next().unwrap() else { panic!("no element") };
        assert_eq!(element.attribute("id").as_deref(), Some("1"));
        assert_eq!(element.prefixed_attribute("id").as_deref(), Some("2"));
        assert_eq!(element.number("n"), Some(-3));
    }

    #[test]
    fn entities_are_not_expanded() {
        let lines: String =
            (1..30).map(|n| format!("<!ENTITY e{n} '&e{0};&e{0};'>", n - 1)).collect();
        let text = format!("<!DOCTYPE a [<!ENTITY e0 'ha'>{lines}]><a>&e29;</a>");
        assert_eq!(show(&text).unwrap(), "<a>&e29;</a>0");
    }

    #[test]
    fn depth_is_bounded() {
        let text = format!("{}x{}y", "<a>".repeat(30_000), "</a>".repeat(30_000));
        let shown = show(&text).unwrap();
        assert!(shown.ends_with("</a>y1"), "{shown}");
        assert_eq!(shown.matches("<a>").count(), DEPTH_MAX);
        let open = show(&"<a>".repeat(30_000));
        assert!(matches!(open, Err(ReadFailure::Malformed { .. })));
    }

    #[test]
    fn truncated_documents_are_malformed() {
        let text = "<a b='c'><d>text</d><e/></a>";
        for length in 1..text.len() {
            assert!(show(&text[..length]).is_err(), "{length}");
        }
        assert!(show("<a><b></a></b>").is_err());
    }

    #[test]
    fn elements_can_be_skipped() {
        let mut reader = XmlReader::new("a.xml", "<a><b><c>x</c></b><d/>y</a>");
        let mut rest = String::new();
        while let Some(event) = reader.next().unwrap() {
            match event {
                XmlEvent::Start(element) if element.name() != "a" => reader.skip_element().unwrap(),
                XmlEvent::Text(text) => rest.push_str(&text),
                XmlEvent::Start(_) | XmlEvent::End(_) => rest.push('|'),
            }
        }
        assert_eq!(rest, "|y|");
    }
}
