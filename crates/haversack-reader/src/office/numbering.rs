//! The lists of a DOCX: which paragraphs have bullets, and the numbers of the others.

use std::collections::BTreeMap;

use super::styles::Styles;
use crate::part::ReadFailure;
use crate::xml::{XmlEvent, XmlReader};

/// Levels of a list.
const LEVELS: usize = 9;

/// How a level of a list is numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListLevel {
    format: String,
    /// The text of the number, with `%1` for the number of the first level.
    text: String,
    start: u32,
}

#[derive(Debug, Clone, Default)]
struct AbstractList {
    levels: BTreeMap<usize, ListLevel>,
    /// The style that defines the levels instead.
    style: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct List {
    base: i64,
    /// Levels that the list defines otherwise.
    levels: BTreeMap<usize, ListLevel>,
    starts: BTreeMap<usize, u32>,
    is_begun: bool,
}

/// All lists of a document, and how far they are counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    bases: BTreeMap<i64, AbstractList>,
    lists: BTreeMap<i64, List>,
    counters: BTreeMap<i64, [u32; LEVELS]>,
}

impl Numbering {
    pub(super) fn parse(place: &str, text: &str) -> Result<Numbering, ReadFailure> {
        let mut reader = XmlReader::new(place, text);
        let mut numbering = Numbering::default();
        let (mut base, mut list) = (None, None);
        let mut level = 0;
        while let Some(event) = reader.next()? {
            let XmlEvent::Start(element) = event else { continue };
            match element.name() {
                "abstractNum" => {
                    (base, list) = (element.number("abstractNumId"), None);
                    if let Some(base) = base {
                        numbering.bases.insert(base, AbstractList::default());
                    }
                }
                "num" => {
                    (base, list) = (None, element.number("numId"));
                    if let Some(list) = list {
                        numbering.lists.insert(list, List::default());
                    }
                }
                "lvl" | "lvlOverride" => level = level_number(element.number("ilvl")),
                _ => {}
            }
            if let Some(list) = list.and_then(|list| numbering.lists.get_mut(&list)) {
                match (element.name(), element.number("val")) {
                    ("abstractNumId", Some(base)) => list.base = base,
                    ("startOverride", Some(start)) => {
                        list.starts.insert(level, u32::try_from(start).unwrap_or(1));
                    }
                    (name, _) => {
                        let value = element.attribute("val").unwrap_or_default();
                        read_level(&mut list.levels, level, name, value);
                    }
                }
            } else if let Some(base) = base.and_then(|base| numbering.bases.get_mut(&base)) {
                let value = element.attribute("val").unwrap_or_default();
                match element.name() {
                    "numStyleLink" => base.style = Some(value),
                    name => read_level(&mut base.levels, level, name, value),
                }
            }
        }
        Ok(numbering)
    }

    /// Counts a paragraph of a list and returns its label: empty for a bullet. `None` when there
    /// is no such list, or it has no marks.
    pub(super) fn next_label(
        &mut self,
        list_number: i64,
        level: i64,
        styles: &Styles,
    ) -> Option<String> {
        let level = level_number(Some(level));
        let list = self.lists.get(&list_number)?;
        let (mut base_number, starts) = (list.base, list.starts.clone());
        let own_levels = list.levels.clone();
        let is_begun = list.is_begun;
        let linked = self.bases.get(&base_number).and_then(|base| base.style.as_deref());
        if let Some(list) = linked.and_then(|style| self.lists.get(&styles.list_of(style)?)) {
            base_number = list.base;
        }
        let mut levels = self.bases.get(&base_number)?.levels.clone();
        levels.extend(own_levels);
        let counters = self.counters.entry(base_number).or_insert([0; LEVELS]);
        if !is_begun {
            for (level, start) in &starts {
                counters[*level] = start.saturating_sub(1);
                counters[*level + 1..].fill(0);
            }
        }
        let start = |level: usize| {
            let start = starts.get(&level).copied();
            start.unwrap_or_else(|| levels.get(&level).map_or(1, |level| level.start))
        };
        for (above, counter) in counters.iter_mut().enumerate().take(level) {
            if *counter == 0 {
                *counter = start(above);
            }
        }
        counters[level] = counters[level].saturating_add(1).max(start(level));
        counters[level + 1..].fill(0);
        let own = levels.get(&level);
        let is_plain = own.is_some_and(|level| level.format == "none");
        let label = own.map_or(String::new(), |level| level.label(&levels, counters));
        if let Some(list) = self.lists.get_mut(&list_number) {
            list.is_begun = true;
        }
        (!is_plain).then_some(label)
    }
}

fn level_number(level: Option<i64>) -> usize {
    usize::try_from(level.unwrap_or_default()).unwrap_or_default().min(LEVELS - 1)
}

fn read_level(levels: &mut BTreeMap<usize, ListLevel>, level: usize, name: &str, value: String) {
    let decimal = || ListLevel { format: "decimal".to_owned(), text: String::new(), start: 1 };
    match name {
        "start" => {
            levels.entry(level).or_insert_with(decimal).start = value.parse().unwrap_or(1);
        }
        "numFmt" => levels.entry(level).or_insert_with(decimal).format = value,
        "lvlText" => levels.entry(level).or_insert_with(decimal).text = value,
        _ => {}
    }
}

impl ListLevel {
    fn label(&self, levels: &BTreeMap<usize, ListLevel>, counters: &[u32; LEVELS]) -> String {
        if matches!(self.format.as_str(), "bullet" | "none") {
            return String::new();
        }
        let mut label = String::new();
        let mut letters = self.text.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                label.push(letter);
                continue;
            }
            let digit = letters.next().and_then(|digit| digit.to_digit(10));
            let Some(index) = digit.and_then(|digit| (digit as usize).checked_sub(1)) else {
                continue;
            };
            let format = levels.get(&index).map_or("decimal", |level| &level.format);
            let number = counters.get(index).copied().unwrap_or_default();
            label.push_str(&format_number(format, number));
        }
        label.trim().to_owned()
    }
}

/// A number as a list shows it.
pub(super) fn format_number(format: &str, number: u32) -> String {
    match format {
        "lowerLetter" | "a" => letters(number, b'a'),
        "upperLetter" | "A" => letters(number, b'A'),
        "lowerRoman" | "i" => roman(number).to_lowercase(),
        "upperRoman" | "I" => roman(number),
        "decimalZero" => format!("{number:02}"),
        _ => number.to_string(),
    }
}

/// a, b, … z, aa, bb, as word processors count.
fn letters(number: u32, first: u8) -> String {
    let Some(index) = number.checked_sub(1) else { return number.to_string() };
    let letter = char::from(first + u8::try_from(index % 26).unwrap_or_default());
    match index / 26 {
        times if times < 10 => String::from(letter).repeat(times as usize + 1),
        _ => number.to_string(),
    }
}

fn roman(number: u32) -> String {
    const SIGNS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if number == 0 || number > 3999 {
        return number.to_string();
    }
    let (mut rest, mut text) = (number, String::new());
    for (value, sign) in SIGNS {
        while rest >= value {
            text.push_str(sign);
            rest -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: &str = r#"<w:numbering xmlns:w="w">
        <w:abstractNum w:abstractNumId="0">
            <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
            <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>
        </w:abstractNum>
        <w:abstractNum w:abstractNumId="1">
            <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl>
        </w:abstractNum>
        <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
        <w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
        <w:num w:numId="3"><w:abstractNumId w:val="0"/>
            <w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
        <w:num w:numId="4"><w:abstractNumId w:val="0"/>
            <w:lvlOverride w:ilvl="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:lvlOverride>
            <w:lvlOverride w:ilvl="1"><w:lvl w:ilvl="1"><w:numFmt w:val="none"/></w:lvl></w:lvlOverride></w:num>
    </w:numbering>"#;

    #[test]
    fn paragraphs_are_counted() {
        let mut numbering = Numbering::parse("numbering.xml", LISTS).unwrap();
        let styles = Styles::default();
        let items = [
            (1, 0),
            (1, 1),
            (1, 1),
            (2, 0),
            (1, 0),
            (1, 1),
            (3, 0),
            (3, 0),
            (4, 0),
            (4, 1),
            (9, 0),
        ];
        let labels: Vec<_> = items
            .iter()
            .map(|(list, level)| numbering.next_label(*list, *level, &styles))
            .collect();
        let expected = ["1.", "1.a)", "1.b)", "", "2.", "2.a)", "5.", "6.", ""];
        let expected = expected.iter().map(|label| Some((*label).to_owned())).chain([None, None]);
        assert_eq!(labels, expected.collect::<Vec<_>>());
    }

    #[test]
    fn numbers_have_formats() {
        assert_eq!(format_number("lowerRoman", 1994), "mcmxciv");
        assert_eq!(format_number("upperLetter", 28), "BB");
        assert_eq!(format_number("decimalZero", 7), "07");
        assert_eq!(format_number("lowerLetter", 0), "0");
        assert_eq!(format_number("upperRoman", 4_000_000_000), "4000000000");
    }
}
