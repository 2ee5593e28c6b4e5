//! Cuts HTML into tags and texts: one pass, nothing copied, and every input has tokens.

/// A piece of HTML. Comments, doctypes and processing instructions are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'h> {
    /// Text with entities.
    Text(&'h str),
    /// Text without entities: the inside of a script or a CDATA section.
    Raw(&'h str),
    /// A start tag.
    Start {
        /// Its name as written.
        name: &'h str,
        /// Everything between the name and the end of the tag.
        attributes: &'h str,
        /// Whether it ends in `/>`.
        is_empty: bool,
    },
    /// An end tag, with its name as written.
    End(&'h str),
}

/// Elements whose inside is text up to their own end tag.
const RAW_ELEMENTS: [&str; 8] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Gives the tokens of HTML.
#[derive(Debug)]
pub(crate) struct Tokens<'h> {
    html: &'h str,
    at: usize,
    is_xml: bool,
    /// The raw element whose inside comes next.
    raw: Option<usize>,
    /// Raw elements whose end tag is not found in the rest: not to be looked for again.
    is_endless: [bool; RAW_ELEMENTS.len()],
    /// Whether the last tag or comment is not closed, so that what follows it is lost.
    pub(crate) is_cut: bool,
}

impl<'h> Tokens<'h> {
    /// The tokens of HTML; of XHTML if `is_xml`, where every element may be empty.
    pub(crate) fn new(html: &'h str, is_xml: bool) -> Tokens<'h> {
        let is_endless = [false; RAW_ELEMENTS.len()];
        Tokens { html, at: 0, is_xml, raw: None, is_endless, is_cut: false }
    }

    fn rest(&self) -> &'h str {
        self.html.get(self.at..).unwrap_or_default()
    }

    /// Takes the next bytes.
    fn take(&mut self, count: usize) -> &'h str {
        let rest = self.rest();
        let taken = rest.get(..count).unwrap_or(rest);
        self.at += taken.len();
        taken
    }

    /// The inside of a raw element, up to its end tag.
    fn take_raw(&mut self, element: usize) -> Option<Token<'h>> {
        let rest = self.rest();
        let Some(end) = find_end_tag(rest, RAW_ELEMENTS[element]) else {
            self.is_endless[element] = true;
            return None;
        };
        let inside = self.take(end);
        let is_plain = matches!(RAW_ELEMENTS[element], "textarea" | "title");
        Some(if is_plain { Token::Text(inside) } else { Token::Raw(inside) })
    }

    /// What stands at a `<` and is no element: a comment, a doctype, an instruction. None if it is text.
    fn take_declaration(&mut self) -> Option<Option<Token<'h>>> {
        let rest = self.rest();
        if rest.starts_with("<!--") {
            let is_short = rest.starts_with("<!-->") || rest.starts_with("<!--->");
            let end = if is_short { rest.find('>').map(|at| at + 1) } else { comment_end(rest) };
            self.skip_to(end);
        } else if self.is_xml && rest.starts_with("<![CDATA[") {
            self.at += 9;
            let end = self.rest().find("]]>");
            let inside = self.take(end.unwrap_or(usize::MAX));
            self.at += end.map_or(0, |_| 3);
            return Some(Some(Token::Raw(inside)));
        } else if rest.starts_with("<!") || rest.starts_with("<?") {
            self.skip_to(rest.find('>').map(|at| at + 1));
        } else {
            return None;
        }
        Some(None)
    }

    /// Skips to a place, or to the end if there is none.
    fn skip_to(&mut self, end: Option<usize>) {
        self.is_cut |= end.is_none();
        self.at += end.unwrap_or(self.rest().len());
    }

    /// A start tag or end tag. None if the `<` is text.
    fn take_tag(&mut self) -> Option<Option<Token<'h>>> {
        let rest = self.rest();
        let is_end = rest.starts_with("</");
        let name_start = 1 + usize::from(is_end);
        if !rest.as_bytes().get(name_start)?.is_ascii_alphabetic() {
            // A browser takes `</` and anything but a letter for a comment.
            return (is_end && rest.len() > 2).then(|| {
                self.skip_to(rest.find('>').map(|at| at + 1));
                None
            });
        }
        let is_name =
            |byte: &u8| !matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>');
        let length = rest.as_bytes()[name_start..].iter().take_while(|byte| is_name(byte)).count();
        let name_end = name_start + length;
        let Some(end) = tag_end(rest.as_bytes(), name_end) else {
            self.skip_to(None);
            return Some(None);
        };
        self.at += end + 1;
        let name = &rest[name_start..name_end];
        if is_end {
            return Some(Some(Token::End(name)));
        }
        let attributes = &rest[name_end..end];
        let is_empty = attributes.ends_with('/');
        if !(is_empty && self.is_xml) {
            let element = RAW_ELEMENTS.iter().position(|raw| raw.eq_ignore_ascii_case(name));
            self.raw = element.filter(|element| !self.is_endless[*element]);
        }
        Some(Some(Token::Start { name, attributes, is_empty }))
    }
}

impl<'h> Iterator for Tokens<'h> {
    type Item = Token<'h>;

    fn next(&mut self) -> Option<Token<'h>> {
        loop {
            if let Some(element) = self.raw.take()
                && let Some(token) = self.take_raw(element)
            {
                return Some(token);
            }
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            let mut text = 0;
            if rest.starts_with('<') {
                if let Some(found) = self.take_declaration().or_else(|| self.take_tag()) {
                    match found {
                        Some(token) => return Some(token),
                        None => continue,
                    }
                }
                text = 1;
            }
            let end = rest[text..].find('<').map_or(rest.len(), |at| at + text);
            return Some(Token::Text(self.take(end)));
        }
    }
}

/// The end of a comment: after `-->`, or after `--!>` as browsers have it.
fn comment_end(rest: &str) -> Option<usize> {
    let mut from = 4;
    loop {
        let at = from + rest.get(from..)?.find("--")?;
        let after = &rest[at + 2..];
        if after.starts_with('>') {
            return Some(at + 3);
        }
        if after.starts_with("!>") {
            return Some(at + 4);
        }
        from = at + 1;
    }
}

/// The `>` that ends a tag: not one inside a quoted value.
fn tag_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    // A quote opens a value only after `=`.
    let mut after_equals = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'>' => return Some(at),
            b'=' => after_equals = true,
            b'"' | b'\'' if after_equals => {
                at += 1 + bytes[at + 1..].iter().position(|other| other == byte)?;
                after_equals = false;
            }
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => {}
            _ => after_equals = false,
        }
        at += 1;
    }
    None
}

/// The beginning of an end tag with this name.
fn find_end_tag(rest: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = rest[from..].find("</") {
        let at = from + found;
        let after = &rest.as_bytes()[at + 2..];
        let is_name = after
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
        if is_name && !after.get(name.len()).is_some_and(u8::is_ascii_alphanumeric) {
            return Some(at);
        }
        from = at + 2;
    }
    None
}

/// The attributes of a tag: names as written and values with entities.
pub(crate) fn attributes(raw: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = raw;
    let is_space = |character: char| character.is_ascii_whitespace();
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|character| is_space(character) || character == '/');
        if rest.is_empty() {
            return None;
        }
        let ends_name = |character: char| is_space(character) || matches!(character, '=' | '/');
        // An equals sign at the beginning belongs to the name.
        let skip = usize::from(rest.starts_with('='));
        let end = rest[skip..].find(ends_name).map_or(rest.len(), |at| at + skip);
        let (name, after) = rest.split_at(end);
        rest = after;
        let Some(value) = after.trim_start_matches(is_space).strip_prefix('=') else {
            return Some((name, ""));
        };
        let value = value.trim_start_matches(is_space);
        let quote = value.chars().next().filter(|character| matches!(character, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(value.find(is_space).unwrap_or(value.len())),
        };
        rest = after;
        Some((name, value))
    })
}

/// The value of an attribute, with entities; the first one if there are several.
pub(crate) fn attribute<'h>(raw: &'h str, name: &str) -> Option<&'h str> {
    attributes(raw).find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
