//! Writes the events of a page as Markdown.
//!
//! Paragraphs are gathered in one line, as a browser collapses white space, and go out when a block begins or
//! ends. Lists and quotations are prefixes of the lines in them.

use super::block::{Block, Blocks};
use super::inline::Line;
use super::table::{Table, is_data_table};
use super::tag::Tag;
use super::tape::{Event, Tape};

/// Bytes of an address that is shown. Longer ones are for machines.
const ADDRESS_BYTES_MAX: usize = 200;

/// Bytes of the description of a picture.
const ALT_BYTES_MAX: usize = 1000;

/// Lists and quotations in each other; further ones are not indented.
const CONTAINERS_MAX: usize = 16;

/// A text whose white space counts.
#[derive(Debug)]
struct Preformatted {
    text: String,
    language: String,
    element: u32,
}

/// Writes Markdown.
#[derive(Debug)]
pub(crate) struct Writer<'t, 'h> {
    tape: &'t Tape<'h>,
    blocks: Blocks,
    line: Line,
    heading: Option<usize>,
    preformatted: Option<Preformatted>,
    tables: Vec<(u32, Table)>,
    /// The elements that opened lists, items and quotations.
    containers: Vec<(u32, Container)>,
    /// Bytes of text that were left out.
    left_out: u64,
}

/// A list, an item or a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Container {
    List { next: Option<u64> },
    Terms { is_open: bool },
    Item,
    Quote,
}

impl<'t, 'h> Writer<'t, 'h> {
    /// Writes a page, or one element of it. Gives the text and the bytes that were left out.
    pub(crate) fn write(tape: &'t Tape<'h>, root: Option<u32>) -> (String, u64) {
        let mut writer = Writer {
            tape,
            blocks: Blocks::default(),
            line: Line::default(),
            heading: None,
            preformatted: None,
            tables: Vec::new(),
            containers: Vec::new(),
            left_out: 0,
        };
        let end = tape.events.len();
        let (from, to) = root.map_or((0, end), |root| {
            let element = tape.element(root);
            (element.open as usize, (element.close as usize + 1).min(end))
        });
        writer.count_left_out(0, from);
        writer.write_events(from, to);
        writer.count_left_out(to, end);
        writer.flush();
        (writer.blocks.finish(), writer.left_out)
    }

    fn write_events(&mut self, from: usize, to: usize) {
        let mut at = from;
        while at < to {
            let event = self.tape.events[at];
            at += 1;
            match event {
                Event::Text { .. } => self.text(&self.tape.text(event)),
                Event::Close(number) => self.close(number),
                Event::Open(number) => {
                    let element = self.tape.element(number);
                    let is_formula = element.tag == Tag::Math && self.formula(number);
                    if element.is_skipped || is_formula {
                        let close = element.close as usize + 1;
                        if !element.tag.is_never_text() && !is_formula {
                            self.count_left_out(at, close);
                        }
                        at = close;
                        if element.tag.is_block() {
                            self.flush();
                        }
                    } else {
                        self.open(number, element.tag);
                    }
                }
            }
        }
    }

    /// Counts the text between two places as left out.
    fn count_left_out(&mut self, from: usize, to: usize) {
        let mut at = from;
        while at < to {
            match self.tape.events.get(at) {
                Some(Event::Text { start, end, .. }) => {
                    let text = self.tape.html.get(*start as usize..*end as usize);
                    self.left_out += text.unwrap_or_default().trim().len() as u64;
                }
                Some(Event::Open(number)) if self.tape.element(*number).tag.is_never_text() => {
                    at = self.tape.element(*number).close as usize;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.preformatted {
            Some(preformatted) => preformatted.text.push_str(text),
            None => self.line.push_text(text),
        }
    }

    fn open(&mut self, number: u32, tag: Tag) {
        if tag.is_block() {
            match &mut self.preformatted {
                // Some highlighters put each line into an element.
                Some(inner) if !inner.text.is_empty() && !inner.text.ends_with('\n') => {
                    inner.text.push('\n');
                }
                Some(_) => {}
                None => self.flush(),
            }
        }
        if self.preformatted.is_some() {
            if tag == Tag::Br {
                self.text("\n");
            }
            return;
        }
        match tag {
            Tag::Pre | Tag::Xmp => {
                let (text, language) = (String::new(), self.language(number));
                self.preformatted = Some(Preformatted { text, language, element: number });
            }
            Tag::H1 | Tag::H2 | Tag::H3 | Tag::H4 | Tag::H5 | Tag::H6 => {
                self.heading = tag.heading_level();
            }
            Tag::Table | Tag::Tr | Tag::Td | Tag::Th | Tag::Caption => self.open_table(number, tag),
            Tag::Ul
            | Tag::Ol
            | Tag::Menu
            | Tag::Dir
            | Tag::Li
            | Tag::Dl
            | Tag::Dt
            | Tag::Dd
            | Tag::Blockquote => self.open_container(number, tag),
            _ => self.open_inline(number, tag),
        }
    }

    fn open_inline(&mut self, number: u32, tag: Tag) {
        match tag {
            Tag::Br => self.line.push_break(),
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.line.open_code(),
            Tag::A => {
                let address = self.tape.attribute(number, "href").unwrap_or_default();
                let address = address.trim();
                let is_absolute = ["http://", "https://", "mailto:"].iter().any(|scheme| {
                    address
                        .get(..scheme.len())
                        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                });
                let is_shown = is_absolute
                    && address.len() <= ADDRESS_BYTES_MAX
                    && !address.contains(|odd: char| odd.is_whitespace() || odd.is_control())
                    && self.heading.is_none();
                self.line.open_link(if is_shown { address } else { "" });
            }
            Tag::Img => {
                let alt = self.tape.attribute(number, "alt").unwrap_or_default();
                if alt.len() <= ALT_BYTES_MAX && !is_file_name(&alt) {
                    self.line.push_text(&alt);
                }
            }
            Tag::Del | Tag::S | Tag::Strike => self.line.open_strike(),
            Tag::Q => self.line.push_text("“"),
            Tag::Rt => self.line.push_text("("),
            Tag::Sup => {
                let inside = self.tape.line(number, 8);
                let is_note = self.tape.inside(number).iter().any(|event| {
                    matches!(event, Event::Open(inner) if self.tape.element(*inner).tag == Tag::A)
                });
                self.line.open_raised(&inside, is_note);
            }
            Tag::Input => {
                let kind = self.tape.attribute(number, "type").unwrap_or_default();
                let is_item = matches!(self.containers.last(), Some((_, Container::Item)));
                if is_item && kind.eq_ignore_ascii_case("checkbox") {
                    let is_checked = self.tape.attribute(number, "checked").is_some();
                    self.line.push_text(if is_checked { "[x] " } else { "[ ] " });
                }
            }
            _ => {}
        }
    }

    fn open_container(&mut self, number: u32, tag: Tag) {
        if self.containers.len() >= CONTAINERS_MAX || self.is_in_cell() {
            if tag == Tag::Li {
                self.line.push_text("- ");
            }
            return;
        }
        // A list with headings in it is a page that was laid out as a list.
        if self.tape.element(number).has_heading && tag != Tag::Blockquote {
            return;
        }
        match tag {
            Tag::Blockquote => {
                self.blocks.open_quote();
                self.containers.push((number, Container::Quote));
            }
            Tag::Ul | Tag::Menu | Tag::Dir | Tag::Ol => {
                let start = self.tape.attribute(number, "start");
                let start = start.and_then(|start| start.trim().parse::<u32>().ok());
                let next = (tag == Tag::Ol).then_some(u64::from(start.unwrap_or(1)));
                self.blocks.open_list();
                self.containers.push((number, Container::List { next }));
            }
            Tag::Dl => {
                self.blocks.open_list();
                self.containers.push((number, Container::Terms { is_open: false }));
            }
            Tag::Li => {
                let marker = match self.containers.last_mut() {
                    Some((_, Container::List { next: Some(next) })) => {
                        *next += 1;
                        format!("{}. ", *next - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.blocks.open_item(&marker);
                self.containers.push((number, Container::Item));
            }
            Tag::Dt => self.open_term(),
            _ => {}
        }
    }

    /// A term of a definition list is an item; its definition follows in the same item.
    fn open_term(&mut self) {
        let Some((_, Container::Terms { is_open })) = self.containers.last_mut() else { return };
        if std::mem::replace(is_open, true) {
            self.blocks.close_item();
        }
        self.blocks.open_item("- ");
    }

    fn open_table(&mut self, number: u32, tag: Tag) {
        if tag == Tag::Table {
            if is_data_table(self.tape, number) {
                self.tables.push((number, Table::default()));
            }
            return;
        }
        let span = |name: &str| {
            let value = self.tape.attribute(number, name);
            value.and_then(|value| value.trim().parse::<usize>().ok()).unwrap_or(1)
        };
        let (columns, rows) = (span("colspan"), span("rowspan"));
        let Some((_, table)) = self.tables.last_mut() else { return };
        match tag {
            Tag::Tr => table.open_row(),
            Tag::Td | Tag::Th => table.open_cell(columns, rows),
            _ => {}
        }
    }

    fn close(&mut self, number: u32) {
        let tag = self.tape.element(number).tag;
        if let Some(inner) = &self.preformatted {
            if inner.element == number {
                self.close_preformatted();
            }
            return;
        }
        match tag {
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.line.close_code(),
            Tag::A => self.line.close_link(),
            Tag::Del | Tag::S | Tag::Strike => self.line.close_strike(),
            Tag::Q => self.line.push_text("”"),
            Tag::Rt => self.line.push_text(")"),
            Tag::Sup => self.line.close_raised(),
            _ => {}
        }
        if tag.is_block() {
            self.flush();
        }
        if tag.heading_level().is_some() {
            self.heading = None;
        }
        if tag == Tag::Dt && !self.is_in_cell() {
            self.blocks.end_term();
        }
        self.close_table(number, tag);
        self.close_containers(number);
    }

    fn close_containers(&mut self, number: u32) {
        if self.containers.last().is_none_or(|(element, _)| *element != number) {
            return;
        }
        let Some((_, container)) = self.containers.pop() else { return };
        match container {
            Container::List { .. } => self.blocks.close_list(),
            Container::Item => self.blocks.close_item(),
            Container::Quote => self.blocks.close_quote(),
            Container::Terms { is_open } => {
                if is_open {
                    self.blocks.close_item();
                }
                self.blocks.close_list();
            }
        }
    }

    fn close_table(&mut self, number: u32, tag: Tag) {
        if let Some((element, table)) = self.tables.last_mut() {
            if matches!(tag, Tag::Td | Tag::Th) {
                table.close_cell();
            } else if *element == number
                && let Some((_, table)) = self.tables.pop()
            {
                let block = Block::Verbatim(&table.finish());
                self.blocks.push(block);
            }
        }
    }

    fn close_preformatted(&mut self) {
        let Some(Preformatted { text, language, .. }) = self.preformatted.take() else { return };
        match self.tables.last_mut() {
            Some((_, table)) if table.is_in_cell() => table.push_text(&text.replace("\r\n", "\n")),
            _ => self.blocks.push_code(&text, &language),
        }
    }

    fn is_in_cell(&self) -> bool {
        self.tables.last().is_some_and(|(_, table)| table.is_in_cell())
    }

    /// Writes the line that was gathered.
    fn flush(&mut self) {
        let text = self.line.take();
        if text.is_empty() {
            return;
        }
        match self.tables.last_mut() {
            Some((_, table)) if table.is_in_cell() => table.push_text(&text),
            _ => match self.heading {
                Some(level) => self.blocks.push(Block::Heading(level, &text)),
                None => self.blocks.push(Block::Paragraph(&text)),
            },
        }
    }

    /// Writes a formula as the TeX that its element carries. False if it carries none.
    fn formula(&mut self, number: u32) -> bool {
        let Some(formula) = self.tape.attribute(number, "alttext") else { return false };
        let formula = formula.trim();
        if formula.is_empty() || self.tape.element(number).is_skipped {
            return false;
        }
        self.text(&format!("${formula}$"));
        true
    }

    /// The language of a preformatted text, from the classes of its element and those around and in it.
    fn language(&self, number: u32) -> String {
        let open = self.tape.element(number).open as usize;
        // The elements around it that begin close before, such as those of a highlighter.
        let before = self.tape.events[..open].iter().rev().take(4);
        let around = before.take_while(|event| match event {
            Event::Open(_) => true,
            Event::Text { .. } => self.tape.text(**event).trim().is_empty(),
            Event::Close(_) => false,
        });
        let inside = self.tape.inside(number).iter().take(3);
        let own = Event::Open(number);
        let elements =
            std::iter::once(&own).chain(inside).chain(around).filter_map(|event| match event {
                Event::Open(number) => Some(*number),
                _ => None,
            });
        for element in elements {
            let class = self.tape.attribute(element, "class").unwrap_or_default();
            if let Some(language) = language_of_class(&class) {
                return language;
            }
        }
        String::new()
    }
}

/// The language that a class names.
fn language_of_class(class: &str) -> Option<String> {
    const PREFIXES: &[&str] = &["language-", "lang-", "highlight-source-", "highlight-"];
    let mut words = class.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let named = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
        let follows =
            matches!(word, "sourceCode" | "brush:" | "src").then(|| words.peek()).flatten();
        let Some(language) = named.or(follows.copied()) else { continue };
        let language =
            language.trim_start_matches("src-").trim_end_matches(';').to_ascii_lowercase();
        let is_name =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'#' | b'-' | b'_');
        let is_language = language.len() <= 20 && language.bytes().all(is_name);
        return match language.as_str() {
            "default" | "none" | "text" | "plaintext" | "plain" | "notranslate" | "" => None,
            "python3" | "py" | "pycon" | "ipython3" => Some("python".to_owned()),
            _ => is_language.then_some(language),
        };
    }
    None
}

/// Whether the description of a picture is only the name of its file.
fn is_file_name(alt: &str) -> bool {
    let endings = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp"];
    let alt = alt.trim().to_ascii_lowercase();
    !alt.contains(' ') && endings.iter().any(|ending| alt.ends_with(ending))
}
