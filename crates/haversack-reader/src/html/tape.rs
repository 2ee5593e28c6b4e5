//! A page as a flat list of events, with the end tags that its author left out.
//!
//! There is no tree: elements know where they open and close. Nothing here or after it recurses, and the
//! stack of open elements is bounded, so that every input takes linear time.

use std::borrow::Cow;

use super::entity::{decode_attribute, decode_text};
use super::tag::Tag;
use super::token::{Token, Tokens, attribute};
use crate::limits::DEPTH_MAX;
use crate::part::ReadFailure;

/// Bytes of a page. Offsets in it have 32 bits.
pub(crate) const HTML_BYTES_MAX: usize = 64 << 20;

/// Elements of a page.
const ELEMENTS_MAX: usize = 4_000_000;

/// What happens in a page, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// An element begins.
    Open(u32),
    /// An element ends.
    Close(u32),
    /// A text stands here: its place in the page, and whether it has entities.
    Text { start: u32, end: u32, is_raw: bool },
}

/// An element of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) tag: Tag,
    /// Whether it is left out.
    pub(crate) is_skipped: bool,
    /// The place of its attributes in the page.
    attributes: (u32, u32),
    /// The event that opens it.
    pub(crate) open: u32,
    /// The event that closes it.
    pub(crate) close: u32,
    /// Bytes of text in it that are not white space.
    pub(crate) text_bytes: u32,
    /// Those of them that are in links.
    pub(crate) link_bytes: u32,
    /// How many links are in it.
    pub(crate) links: u32,
    /// Whether it holds a heading.
    pub(crate) has_heading: bool,
}

/// A page as a list of events.
#[derive(Debug)]
pub(crate) struct Tape<'h> {
    pub(crate) html: &'h str,
    pub(crate) events: Vec<Event>,
    pub(crate) elements: Vec<Element>,
    /// Elements that are nested too deep and count as parts of their surroundings.
    pub(crate) flattened: usize,
    /// Whether the page ends inside a tag or a comment.
    pub(crate) is_cut: bool,
}

impl<'h> Tape<'h> {
    /// Reads a page.
    pub(crate) fn read(html: &'h str, is_xml: bool) -> Result<Tape<'h>, ReadFailure> {
        if html.len() > HTML_BYTES_MAX {
            let what = format!("a web page of {} bytes", html.len());
            return Err(ReadFailure::too_large(what, HTML_BYTES_MAX as u64));
        }
        let (events, elements) = (Vec::new(), Vec::new());
        let tape = Tape { html, events, elements, flattened: 0, is_cut: false };
        let (stack, open, beyond) = (Vec::new(), [0; Tag::COUNT], [0; Tag::COUNT]);
        let mut builder = Builder { tape, stack, open, beyond };
        let mut tokens = Tokens::new(html, is_xml);
        for token in tokens.by_ref() {
            builder.take(token, is_xml)?;
        }
        builder.close_to(0);
        builder.tape.is_cut = tokens.is_cut;
        Ok(builder.tape)
    }

    /// An element by its number.
    pub(crate) fn element(&self, element: u32) -> &Element {
        &self.elements[element as usize]
    }

    /// The raw attributes of an element.
    pub(crate) fn attributes(&self, element: u32) -> &'h str {
        let (start, end) = self.element(element).attributes;
        self.html.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The value of an attribute.
    pub(crate) fn attribute(&self, element: u32, name: &str) -> Option<Cow<'h, str>> {
        attribute(self.attributes(element), name).map(decode_attribute)
    }

    /// A text of the page, decoded.
    pub(crate) fn text(&self, event: Event) -> Cow<'h, str> {
        let Event::Text { start, end, is_raw } = event else { return Cow::Borrowed("") };
        let text = self.html.get(start as usize..end as usize).unwrap_or_default();
        if is_raw { Cow::Borrowed(text) } else { decode_text(text) }
    }

    /// The events inside an element.
    pub(crate) fn inside(&self, element: u32) -> &[Event] {
        let Element { open, close, .. } = *self.element(element);
        self.events.get(open as usize + 1..close as usize).unwrap_or_default()
    }

    /// The first texts in an element as one line, at most so many bytes or a little more.
    pub(crate) fn line(&self, element: u32, bytes_max: usize) -> String {
        let mut line = String::new();
        for event in self.inside(element) {
            if line.len() >= bytes_max {
                break;
            }
            if matches!(event, Event::Text { .. }) {
                line.push_str(&self.text(*event));
            }
        }
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Builds the list of events.
struct Builder<'h> {
    tape: Tape<'h>,
    /// Open elements.
    stack: Vec<u32>,
    /// How many elements of each kind are open.
    open: [u32; Tag::COUNT],
    /// How many of each kind are open but too deep for the stack.
    beyond: [u32; Tag::COUNT],
}

impl<'h> Builder<'h> {
    fn take(&mut self, token: Token<'h>, is_xml: bool) -> Result<(), ReadFailure> {
        match token {
            Token::Text(text) => self.push_text(text, false),
            Token::Raw(text) => self.push_text(text, true),
            Token::End(name) => self.end(Tag::of_name(name)),
            Token::Start { name, attributes, is_empty } => {
                let tag = Tag::of_name(name);
                self.start(tag, attributes)?;
                let is_foreign = self.open[Tag::Svg as usize] + self.open[Tag::Math as usize] > 0;
                if is_empty && (is_xml || is_foreign) && !tag.is_void() {
                    self.end(tag);
                }
            }
        }
        Ok(())
    }

    /// The place of a piece of the page in it.
    fn place(&self, piece: &str) -> (u32, u32) {
        let start = piece.as_ptr().addr().saturating_sub(self.tape.html.as_ptr().addr());
        let of = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        (of(start), of(start + piece.len()))
    }

    fn push_text(&mut self, text: &'h str, is_raw: bool) {
        let is_blank = text.bytes().all(|byte| byte.is_ascii_whitespace());
        if self.open[Tag::Head as usize] > 0 && !is_blank && !self.is_in_head_element() {
            self.end(Tag::Head);
        }
        let (start, end) = self.place(text);
        self.tape.events.push(Event::Text { start, end, is_raw });
    }

    /// Whether the innermost element is one of the head, so that text in it is no text of the page.
    fn is_in_head_element(&self) -> bool {
        self.stack.last().is_some_and(|top| self.tape.element(*top).tag.is_of_head())
    }

    fn start(&mut self, tag: Tag, attributes: &'h str) -> Result<(), ReadFailure> {
        if matches!(tag, Tag::Html | Tag::Body) && self.open[tag as usize] > 0 {
            return Ok(());
        }
        if self.open[Tag::Head as usize] > 0 && !tag.is_of_head() && !self.is_in_head_element() {
            self.end(Tag::Head);
        }
        self.end_implied(tag);
        let number = self.tape.elements.len();
        if number >= ELEMENTS_MAX {
            return Err(ReadFailure::too_large("elements of a web page", ELEMENTS_MAX as u64));
        }
        let is_beyond = !tag.is_void() && self.stack.len() >= DEPTH_MAX;
        if is_beyond {
            self.tape.flattened += 1;
            self.beyond[tag as usize] += 1;
            // The element is lost, but its beginning still ends a paragraph.
            return if tag.is_block() { self.start(Tag::Hr, "") } else { Ok(()) };
        }
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let open = u32::try_from(self.tape.events.len()).unwrap_or(u32::MAX);
        self.tape.events.push(Event::Open(number));
        self.tape.elements.push(Element {
            tag,
            is_skipped: false,
            attributes: self.place(attributes),
            open,
            close: open + 1,
            text_bytes: 0,
            link_bytes: 0,
            links: 0,
            has_heading: false,
        });
        if tag.is_void() {
            self.tape.events.push(Event::Close(number));
        } else {
            self.stack.push(number);
            self.open[tag as usize] += 1;
        }
        Ok(())
    }

    /// Ends the elements that cannot hold what begins.
    fn end_implied(&mut self, tag: Tag) {
        let (ended, holders) = tag.implied_ends();
        if ended.iter().any(|ended| self.open[*ended as usize] > 0) {
            let tag_at = |at: &usize| self.tape.element(self.stack[*at]).tag;
            let places =
                (0..self.stack.len()).rev().take_while(|at| !holders.contains(&tag_at(at)));
            // A row ends its cells and itself; an item ends itself with all that is open in it.
            if let Some(at) = places.filter(|at| ended.contains(&tag_at(at))).last() {
                self.close_to(at);
            }
        }
        if tag.is_block() && self.open[Tag::P as usize] > 0 {
            self.end_up_to(Tag::P, |tag| tag.is_of_table() || matches!(tag, Tag::Li | Tag::Dd));
        }
        if tag.heading_level().is_some()
            && let Some(top) = self.stack.last()
            && self.tape.element(*top).tag.heading_level().is_some()
        {
            self.close_to(self.stack.len() - 1);
        }
        if tag == Tag::A && self.open[Tag::A as usize] > 0 {
            self.end_up_to(Tag::A, Tag::is_block);
        }
    }

    fn end(&mut self, tag: Tag) {
        if self.beyond[tag as usize] > 0 {
            self.beyond[tag as usize] -= 1;
            return;
        }
        if self.open[tag as usize] == 0 {
            return;
        }
        let is_of_table = tag.is_of_table();
        self.end_up_to(tag, |other| match is_of_table {
            true => other == Tag::Table,
            false => matches!(other, Tag::Table | Tag::Td | Tag::Th),
        });
    }

    /// Ends the innermost element of a kind, unless another kind of element stands before it.
    fn end_up_to(&mut self, tag: Tag, is_barrier: impl Fn(Tag) -> bool) {
        for at in (0..self.stack.len()).rev() {
            let found = self.tape.element(self.stack[at]).tag;
            if found == tag {
                self.close_to(at);
                return;
            }
            if is_barrier(found) {
                return;
            }
        }
    }

    /// Closes open elements until so many are left.
    fn close_to(&mut self, left: usize) {
        for number in self.stack.drain(left.min(self.stack.len())..).rev() {
            let close = u32::try_from(self.tape.events.len()).unwrap_or(u32::MAX);
            self.tape.events.push(Event::Close(number));
            let element = &mut self.tape.elements[number as usize];
            element.close = close;
            self.open[element.tag as usize] -= 1;
        }
    }
}
