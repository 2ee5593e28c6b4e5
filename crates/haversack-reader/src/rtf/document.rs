//! Reads RTF token by token into blocks. What a group sets ends with the group.

use std::collections::BTreeMap;

use encoding_rs::Encoding;

use super::encoding::{of_code_page, of_font_set};
use super::paragraphs::Paragraphs;
use super::token::{Token, Tokens};
use crate::limits::DEPTH_MAX;
use crate::office::blocks::Block;

/// Fonts and styles that are remembered.
const TABLE_ENTRIES_MAX: usize = 10_000;

/// Where text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    Body,
    /// Nowhere: pictures, colours, what only programs need.
    Nowhere,
    FontTable,
    StyleSheet,
    Title,
    Author,
    /// A date of the document, of which numbers are read.
    Created,
    Changed,
    /// The bullet or number of an item.
    Label,
    Note,
}

/// What holds in a group and the groups in it.
#[derive(Debug, Clone, Copy)]
struct Group {
    destination: Destination,
    encoding: &'static Encoding,
    /// Characters that follow an escaped one, for programs that cannot read it.
    fallback: usize,
    is_hidden: bool,
}

/// A date as numbers: year, month, day, hour, minute.
pub(super) type DateParts = [i32; 5];

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) blocks: Vec<Block>,
    pub(super) title: String,
    pub(super) author: String,
    pub(super) created: DateParts,
    pub(super) changed: DateParts,
    /// Groups that are nested too deep.
    pub(super) too_deep: u64,
    pub(super) pictures: u64,
    /// Characters that could not be decoded.
    pub(super) replaced: u64,
}

/// Reads a file.
pub(super) fn read_document(bytes: &[u8]) -> Document {
    let mut reader = DocumentReader::new();
    for token in Tokens::new(bytes) {
        reader.take(token);
    }
    reader.flush_bytes();
    reader.document.blocks = reader.paragraphs.finish();
    reader.document
}

struct DocumentReader {
    document: Document,
    paragraphs: Paragraphs,
    groups: Vec<Group>,
    group: Group,
    /// Groups that are open beyond the limit.
    open_too_deep: u64,
    /// The encoding of the document.
    encoding: &'static Encoding,
    fonts: BTreeMap<i32, &'static Encoding>,
    /// The font or style that the table at hand defines.
    entry: i32,
    entry_name: String,
    /// The levels of the headings among the styles.
    headings: BTreeMap<i32, u8>,
    /// Bytes of text that are not decoded yet: a character can be several escapes.
    bytes: Vec<u8>,
    /// Characters to be skipped after an escaped one.
    skip: usize,
    /// The first half of a character beyond the basic plane.
    high_half: Option<u16>,
    /// Whether the group was just opened and may be of no concern, as `\*` says.
    is_optional: bool,
}

impl DocumentReader {
    fn new() -> DocumentReader {
        let encoding = of_code_page(1252);
        let group =
            Group { destination: Destination::Body, encoding, fallback: 1, is_hidden: false };
        DocumentReader {
            document: Document::default(),
            paragraphs: Paragraphs::default(),
            groups: Vec::new(),
            group,
            open_too_deep: 0,
            encoding,
            fonts: BTreeMap::new(),
            entry: 0,
            entry_name: String::new(),
            headings: BTreeMap::new(),
            bytes: Vec::new(),
            skip: 0,
            high_half: None,
            is_optional: false,
        }
    }

    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Open => self.open(),
            Token::Close => self.close(),
            Token::Word(name, number) => self.word(name, number),
            Token::Symbol(symbol) => self.symbol(symbol),
            Token::Byte(byte) => self.push_bytes(&[byte]),
            Token::Text(text) => self.push_bytes(text),
        }
    }

    fn open(&mut self) {
        self.flush_bytes();
        (self.skip, self.is_optional) = (0, false);
        if self.groups.len() >= DEPTH_MAX {
            self.open_too_deep += 1;
            self.document.too_deep += 1;
            return;
        }
        self.groups.push(self.group);
    }

    fn close(&mut self) {
        self.flush_bytes();
        (self.skip, self.is_optional) = (0, false);
        if self.open_too_deep > 0 {
            self.open_too_deep -= 1;
            return;
        }
        // More ends than beginnings are damage; the text goes on.
        let Some(outer) = self.groups.pop() else { return };
        let was = std::mem::replace(&mut self.group, outer);
        match was.destination {
            Destination::StyleSheet => self.end_style(),
            Destination::Note if outer.destination != Destination::Note => {
                self.paragraphs.end_note();
            }
            _ => {}
        }
    }

    fn symbol(&mut self, symbol: u8) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        match symbol {
            b'*' => self.is_optional = true,
            b'\\' | b'{' | b'}' => self.push_bytes(&[symbol]),
            b'~' => self.push_char('\u{a0}'),
            b'_' => self.push_char('-'),
            b'\n' | b'\r' => self.end_paragraph(),
            // A hyphen where a word may be divided, and marks of an index.
            _ => {}
        }
    }

    fn word(&mut self, name: &str, number: Option<i32>) {
        if name != "u" && self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let is_optional = std::mem::take(&mut self.is_optional);
        if name != "u" {
            self.flush_bytes();
        }
        if let Some(destination) = destination_of(name) {
            self.begin_destination(name, destination);
        } else if is_optional {
            self.group.destination = Destination::Nowhere;
        } else if self.group.destination == Destination::StyleSheet && name == "s" {
            self.entry = number.unwrap_or_default();
        } else if !self.text_word(name, number) && !self.property_word(name, number) {
            match self.group.destination {
                Destination::Body => self.paragraph_word(name, number),
                Destination::Created | Destination::Changed => {
                    self.date_part(name, number.unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn begin_destination(&mut self, name: &str, destination: Destination) {
        self.group.destination = destination;
        match name {
            "pict" => self.document.pictures += 1,
            "footnote" => self.paragraphs.begin_note(),
            "stylesheet" => (self.entry, self.entry_name) = (0, String::new()),
            _ => {}
        }
    }

    /// Words that stand for text. Returns whether it is one.
    fn text_word(&mut self, name: &str, number: Option<i32>) -> bool {
        let letter = match name {
            "tab" => '\t',
            "emdash" => '—',
            "endash" => '–',
            "lquote" => '‘',
            "rquote" => '’',
            "ldblquote" => '“',
            "rdblquote" => '”',
            "bullet" => '•',
            "emspace" | "enspace" | "qmspace" => ' ',
            "line" | "lbr" => '\n',
            "u" => {
                self.unicode(number.unwrap_or_default());
                return true;
            }
            "par" | "sect" | "page" | "column" => {
                self.end_paragraph();
                return true;
            }
            _ => return false,
        };
        self.push_char(letter);
        true
    }

    /// Words that change how text is read. Returns whether it is one.
    fn property_word(&mut self, name: &str, number: Option<i32>) -> bool {
        let is_on = number != Some(0);
        match name {
            "uc" => self.group.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(32),
            "v" | "deleted" => self.group.is_hidden = is_on,
            "plain" => (self.group.is_hidden, self.group.encoding) = (false, self.encoding),
            "f" if self.group.destination == Destination::FontTable => {
                self.entry = number.unwrap_or_default();
            }
            "f" => {
                let font = number.and_then(|number| self.fonts.get(&number));
                self.group.encoding = font.copied().unwrap_or(self.encoding);
            }
            "ansicpg" => self.set_encoding(number.unwrap_or(1252)),
            "mac" => self.set_encoding(10000),
            "fcharset" => {
                let encoding = of_font_set(number.unwrap_or_default());
                if let Some(encoding) = encoding.filter(|_| self.fonts.len() < TABLE_ENTRIES_MAX) {
                    self.fonts.insert(self.entry, encoding);
                }
            }
            _ => return false,
        }
        true
    }

    /// Words of paragraphs and tables. Those in styles, labels and the like are about themselves.
    fn paragraph_word(&mut self, name: &str, number: Option<i32>) {
        match name {
            "outlinelevel" => self.paragraphs.set_heading(heading_level(number)),
            "s" => {
                let level = number.and_then(|number| self.headings.get(&number)).copied();
                self.paragraphs.set_heading(level);
            }
            "pard" => self.paragraphs.reset(),
            "ilvl" => {
                self.paragraphs.set_item_level(usize::try_from(number.unwrap_or(0)).unwrap_or(0));
            }
            "intbl" => self.paragraphs.set_in_table(true),
            "cell" | "nestcell" => self.paragraphs.end_cell(),
            "row" => self.paragraphs.end_row(),
            _ => {}
        }
    }

    fn date_part(&mut self, name: &str, number: i32) {
        let date = match self.group.destination {
            Destination::Created => &mut self.document.created,
            Destination::Changed => &mut self.document.changed,
            _ => return,
        };
        let names = ["yr", "mo", "dy", "hr", "min"];
        if let Some(part) = names.iter().position(|it| *it == name).and_then(|at| date.get_mut(at))
        {
            *part = number;
        }
    }

    fn set_encoding(&mut self, code_page: i32) {
        self.encoding = of_code_page(code_page);
        self.group.encoding = self.encoding;
    }

    /// A character by its number, of which those beyond 32767 are negative.
    fn unicode(&mut self, number: i32) {
        self.flush_bytes();
        // What was to be skipped after the last one ends where the next begins.
        self.skip = 0;
        let Ok(unit) = u16::try_from(number.rem_euclid(0x1_0000)) else { return };
        let letter = match (self.high_half.take(), unit) {
            (_, 0xD800..=0xDBFF) => {
                self.high_half = Some(unit);
                None
            }
            (Some(high), low) => char::decode_utf16([high, low]).next().and_then(Result::ok),
            (None, unit) => char::from_u32(u32::from(unit)),
        };
        if let Some(letter) = letter {
            self.push_char(letter);
        }
        self.skip = self.group.fallback;
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        self.is_optional = false;
        self.bytes.extend_from_slice(&bytes[skipped..]);
    }

    fn push_char(&mut self, letter: char) {
        self.flush_bytes();
        self.push_text(letter.encode_utf8(&mut [0; 4]));
    }

    fn flush_bytes(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        let (text, _) = self.group.encoding.decode_without_bom_handling(&bytes);
        if self.group.destination == Destination::Body {
            self.document.replaced += text.matches('\u{fffd}').count() as u64;
        }
        self.push_text(&text);
    }

    fn push_text(&mut self, text: &str) {
        if self.group.is_hidden {
            return;
        }
        match self.group.destination {
            Destination::Body | Destination::Note => self.paragraphs.push(text),
            Destination::Label => self.paragraphs.push_label(text),
            Destination::Title => self.document.title.push_str(text),
            Destination::Author => self.document.author.push_str(text),
            Destination::StyleSheet => self.entry_name.push_str(text),
            Destination::Nowhere
            | Destination::FontTable
            | Destination::Created
            | Destination::Changed => {}
        }
    }

    fn end_paragraph(&mut self) {
        self.flush_bytes();
        match self.group.destination {
            Destination::Body => self.paragraphs.end(),
            Destination::Note => self.paragraphs.push(" "),
            _ => {}
        }
    }

    /// Ends the definition of a style: `heading 2;`.
    fn end_style(&mut self) {
        let name = std::mem::take(&mut self.entry_name).to_lowercase();
        let name = name.trim_end_matches(';').trim();
        let number = name.strip_prefix("heading ").and_then(|number| number.parse().ok());
        let level = if name == "title" { Some(1) } else { number };
        if let Some(level) = level.filter(|_| self.headings.len() < TABLE_ENTRIES_MAX) {
            self.headings.insert(self.entry, level.clamp(1, 6));
        }
        self.entry = 0;
    }
}

/// The level of a heading by its level in the outline, from 0. Nine stands for none.
fn heading_level(outline: Option<i32>) -> Option<u8> {
    let level = u8::try_from(outline.unwrap_or_default()).ok()?;
    (level < 9).then_some((level + 1).min(6))
}

/// The destination that a word begins, whether or not `\*` stands before it.
fn destination_of(name: &str) -> Option<Destination> {
    Some(match name {
        "fonttbl" => Destination::FontTable,
        "stylesheet" => Destination::StyleSheet,
        "title" => Destination::Title,
        "author" => Destination::Author,
        "creatim" => Destination::Created,
        "revtim" => Destination::Changed,
        "listtext" | "pntext" => Destination::Label,
        "footnote" => Destination::Note,
        "shptxt" | "fldrslt" | "result" => Destination::Body,
        "info" | "colortbl" | "pict" | "object" | "fldinst" | "header" | "headerl" | "headerr"
        | "headerf" | "footer" | "footerl" | "footerr" | "footerf" | "nonshppict" | "xe" | "tc"
        | "rxe" | "txe" | "annotation" | "atnid" | "atnauthor" | "themedata" | "datafield"
        | "ftnsep" | "ftnsepc" | "aftnsep" | "aftnsepc" | "nonesttables" | "filetbl"
        | "listtable" | "listoverridetable" | "revtbl" | "rsidtbl" | "generator" | "pnseclvl" => {
            Destination::Nowhere
        }
        _ => return None,
    })
}
