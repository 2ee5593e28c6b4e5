//! What the styles of a DOCX say about paragraphs: heading, title, code, list.

use std::collections::BTreeMap;

use crate::part::ReadFailure;
use crate::xml::{XmlEvent, XmlReader};

/// How far styles are followed to those that they are based on.
const BASES_MAX: usize = 20;

/// What a paragraph is by its style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParagraphStyle {
    /// Whether it is the title of the document.
    pub(super) is_title: bool,
    /// Its level as a heading, from 0.
    pub(super) outline: Option<i64>,
    /// Whether it holds code.
    pub(super) is_code: bool,
    /// Whether it is a line of a table of contents.
    pub(super) is_contents: bool,
    /// Its list, by number; 0 for none.
    pub(super) list: Option<i64>,
    /// Its level in the list, from 0.
    pub(super) list_level: Option<i64>,
    /// How deep its name says it stands: "List Bullet 2" is a list of its own, only further right.
    pub(super) list_depth: i64,
}

#[derive(Debug, Default)]
struct StyleEntry {
    base: Option<String>,
    is_default: bool,
    style: ParagraphStyle,
}

/// The styles of a document, by id.
#[derive(Debug, Default)]
pub(super) struct Styles {
    entries: BTreeMap<String, StyleEntry>,
}

impl Styles {
    pub(super) fn parse(place: &str, text: &str) -> Result<Styles, ReadFailure> {
        let mut reader = XmlReader::new(place, text);
        let mut styles = Styles::default();
        let mut open: Option<(String, StyleEntry)> = None;
        while let Some(event) = reader.next()? {
            match event {
                XmlEvent::Start(element) if element.name() == "style" => {
                    let id = element.attribute("styleId").unwrap_or_default();
                    let is_default = element.attribute("default").is_some_and(|on| on != "0")
                        && element.attribute("type").as_deref() == Some("paragraph");
                    open = Some((id, StyleEntry { is_default, ..StyleEntry::default() }));
                }
                XmlEvent::End(name) if name == "style" => {
                    if let Some((id, entry)) = open.take() {
                        styles.entries.insert(id, entry);
                    }
                }
                XmlEvent::Start(element) => {
                    let Some((_, entry)) = &mut open else { continue };
                    match element.name() {
                        "name" => name_style(
                            &mut entry.style,
                            &element.attribute("val").unwrap_or_default(),
                        ),
                        "basedOn" => entry.base = element.attribute("val"),
                        "outlineLvl" => entry.style.outline = element.number("val"),
                        "numId" => entry.style.list = element.number("val"),
                        "ilvl" => entry.style.list_level = element.number("val"),
                        _ => {}
                    }
                }
                XmlEvent::End(_) | XmlEvent::Text(_) => {}
            }
        }
        Ok(styles)
    }

    /// What a style says, with what it inherits. Without an id, the default style.
    pub(super) fn resolve(&self, id: Option<&str>) -> ParagraphStyle {
        let default = || self.entries.values().find(|entry| entry.is_default);
        let mut next = match id {
            Some(id) => self.entries.get(id),
            None => default(),
        };
        let mut all = ParagraphStyle::default();
        for _ in 0..BASES_MAX {
            let Some(StyleEntry { base, style, .. }) = next else { break };
            all.is_title |= style.is_title;
            all.is_code |= style.is_code;
            all.is_contents |= style.is_contents;
            all.outline = all.outline.or(style.outline);
            all.list_depth = all.list_depth.max(style.list_depth);
            all.list = all.list.or(style.list);
            all.list_level = all.list_level.or(style.list_level);
            next = base.as_ref().and_then(|base| self.entries.get(base));
        }
        // A document without styles still names them.
        if let Some(id) = id.filter(|id| !self.entries.contains_key(*id)) {
            name_style(&mut all, id);
        }
        all
    }

    /// The list that a style of lists refers to.
    pub(super) fn list_of(&self, id: &str) -> Option<i64> {
        self.entries.get(id)?.style.list
    }
}

/// Whether a style holds code, by its name in lower case.
pub(super) fn is_code_name(name: &str) -> bool {
    let words = ["code", "preformatted", "listing", "quelltext", "quellcode", "verbatim"];
    words.iter().any(|word| name.contains(word)) && !name.contains("char")
}

/// Whether a style is that of the document's title, by its name in lower case.
pub(super) fn is_title_name(name: &str) -> bool {
    matches!(name, "title" | "titel" | "titre" | "título")
}

/// Notes what the name of a style means. Word keeps the names of its own styles in English in
/// every language; other programs may not.
fn name_style(style: &mut ParagraphStyle, name: &str) {
    let name = name.trim().to_lowercase();
    style.is_code |= is_code_name(&name);
    style.is_title |= is_title_name(&name);
    style.is_contents |= name.starts_with("toc ") || name.starts_with("table of ");
    for prefix in ["list bullet ", "list number "] {
        let depth = name.strip_prefix(prefix).and_then(|depth| depth.parse::<i64>().ok());
        style.list_depth =
            depth.filter(|depth| (2..=5).contains(depth)).map_or(0, |depth| depth - 1);
        if style.list_depth > 0 {
            break;
        }
    }
    for prefix in ["heading", "überschrift", "titre", "título", "titolo", "kop"] {
        let Some(number) = name.strip_prefix(prefix) else { continue };
        if let Ok(number) = number.trim().parse::<i64>() {
            style.outline = style.outline.or((1..=9).contains(&number).then_some(number - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_inherit() {
        let text = r#"<w:styles xmlns:w="w">
            <w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
            <w:style w:styleId="berschrift2"><w:name w:val="heading 2"/><w:basedOn w:val="Standard"/>
                <w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
            <w:style w:styleId="Mine"><w:name w:val="Mein Abschnitt"/><w:basedOn w:val="berschrift2"/></w:style>
            <w:style w:styleId="A"><w:name w:val="Source Code"/><w:basedOn w:val="B"/></w:style>
            <w:style w:styleId="B"><w:name w:val="b"/><w:basedOn w:val="A"/></w:style>
        </w:styles>"#;
        let styles = Styles::parse("styles.xml", text).unwrap();
        let mine = styles.resolve(Some("Mine"));
        assert_eq!((mine.outline, mine.list, mine.list_level), (Some(1), Some(3), Some(1)));
        assert!(styles.resolve(Some("B")).is_code);
        assert_eq!(styles.resolve(None), ParagraphStyle::default());
        assert_eq!(styles.resolve(Some("Heading3")).outline, Some(2));
        assert_eq!(styles.resolve(Some("Heading Three")).outline, None);
        assert!(styles.resolve(Some("Title")).is_title);
    }
}
