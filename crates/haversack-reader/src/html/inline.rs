//! The inside of a paragraph: white space collapsed, code, links.

/// A line that is being gathered.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: String,
    /// Whether white space stands before the next word.
    has_space: bool,
    /// Where code began, and how many elements of code are open.
    code: Option<usize>,
    codes: usize,
    /// Where a link began, and its address.
    link: Option<(usize, String)>,
    strike: Option<usize>,
    /// What closes a raised text.
    raised: &'static str,
}

impl Line {
    /// Adds text. White space becomes one space.
    pub(crate) fn push_text(&mut self, text: &str) {
        if text.starts_with(is_collapsed) {
            self.has_space = true;
        }
        for word in text.split(is_collapsed).filter(|word| !word.is_empty()) {
            self.push_space();
            if word.is_ascii() {
                self.text.push_str(word);
            } else {
                self.text.extend(word.chars().filter(|character| !is_invisible(*character)));
            }
            self.has_space = true;
        }
        if !text.is_empty() && !text.ends_with(is_collapsed) {
            self.has_space = false;
        }
    }

    /// Writes the space that is due.
    fn push_space(&mut self) {
        let is_due = std::mem::take(&mut self.has_space);
        if is_due && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Adds a line break.
    pub(crate) fn push_break(&mut self) {
        if !self.text.is_empty() {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
        }
        self.has_space = false;
    }

    /// Begins code.
    pub(crate) fn open_code(&mut self) {
        self.codes += 1;
        if self.code.is_none() {
            self.push_space();
            self.code = Some(self.text.len());
        }
    }

    /// Ends code.
    pub(crate) fn close_code(&mut self) {
        self.codes = self.codes.saturating_sub(1);
        if self.codes == 0 {
            self.finish_code();
        }
    }

    /// Puts backticks around the code, as many as it needs.
    fn finish_code(&mut self) {
        let Some(start) = self.code.take() else { return };
        let code = self.text.split_off(start.min(self.text.len()));
        let inside = code.trim().replace('\n', " ");
        if inside.is_empty() {
            return;
        }
        if !inside.contains('`') && self.text.ends_with('`') && !self.text.ends_with("``") {
            // Two pieces of code without a space between them are one.
            self.text.pop();
            self.text.push_str(&inside);
            self.text.push('`');
            return;
        }
        let ticks = "`".repeat(longest_run(&inside, '`') + 1);
        let pad = if inside.contains('`') { " " } else { "" };
        for piece in [&ticks, pad, &inside, pad, &ticks] {
            self.text.push_str(piece);
        }
    }

    /// Begins a link. An empty address shows the text alone.
    pub(crate) fn open_link(&mut self, address: &str) {
        // A space before the link must not become a part of it.
        self.push_space();
        self.link = Some((self.text.len(), address.to_owned()));
    }

    /// Ends a link.
    pub(crate) fn close_link(&mut self) {
        let Some((start, address)) = self.link.take() else { return };
        if self.code.is_some() {
            return;
        }
        let Some(text) = self.text.get(start..) else { return };
        let text = text.trim();
        if matches!(text, "¶" | "#" | "§" | "🔗" | "\u{f0c1}" | "¶ ") {
            self.text.truncate(start);
            return;
        }
        let shown = address.strip_prefix("mailto:").unwrap_or(&address);
        let is_same = |text: &str| {
            let bare = |address: &str| {
                let address = address.trim_end_matches('/');
                let address = address.strip_prefix("https://").or(address.strip_prefix("http://"));
                address.map(str::to_owned)
            };
            text == shown || bare(&address).is_some_and(|bare| bare == text.trim_end_matches('/'))
        };
        let is_mail = address.len() > shown.len() && text.contains('@');
        if text.is_empty() || address.is_empty() || text == shown || is_mail {
            return;
        }
        let link = match is_same(text) {
            true => address.clone(),
            false => format!("[{}]({address})", text.replace('\n', " ").replace(['[', ']'], "")),
        };
        self.text.truncate(start);
        self.text.push_str(&link);
    }

    /// Begins a text that is struck out.
    pub(crate) fn open_strike(&mut self) {
        self.push_space();
        self.strike = Some(self.text.len());
    }

    /// Ends it.
    pub(crate) fn close_strike(&mut self) {
        let Some(start) = self.strike.take() else { return };
        let Some(text) = self.text.get(start..) else { return };
        if !text.trim().is_empty() && self.code.is_none() {
            let struck = format!("~~{}~~", text.trim());
            self.text.truncate(start);
            self.text.push_str(&struck);
        }
    }

    /// Begins a raised text: a power, or the mark of a note.
    pub(crate) fn open_raised(&mut self, inside: &str, is_note: bool) {
        self.raised = "";
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let follows = self.text.ends_with(|last: char| last.is_alphanumeric() || last == ')');
        if inside.is_empty() || inside.starts_with('[') || self.has_space {
        } else if is_note && is_number(inside) {
            self.text.push('[');
            self.raised = "]";
        } else if follows && !is_note {
            let digits = inside.trim_start_matches(['-', '−', '+']);
            if is_number(digits) || inside.chars().count() == 1 {
                self.text.push('^');
            }
        }
    }

    /// Ends a raised text.
    pub(crate) fn close_raised(&mut self) {
        self.text.push_str(std::mem::take(&mut self.raised));
    }

    /// Takes the line. What is open ends with it.
    pub(crate) fn take(&mut self) -> String {
        if self.text.is_empty() {
            self.has_space = false;
            return String::new();
        }
        if self.code.is_some() {
            self.finish_code();
        }
        if self.link.is_some() {
            self.close_link();
        }
        self.close_strike();
        // Elements of code that are open go on in the next line.
        self.code = (self.codes > 0).then_some(0);
        self.has_space = false;
        let text = std::mem::take(&mut self.text);
        match text.trim() {
            trimmed if trimmed.len() == text.len() => text,
            trimmed => trimmed.to_owned(),
        }
    }
}

/// Whether a character collapses with its neighbours. Spaces that do not break lines do so as well, because
/// nobody breaks lines here.
fn is_collapsed(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '\u{a0}' | '\u{202f}' | '\u{2007}')
}

/// Whether a character has no width and no meaning for readers.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{34f}')
}

/// The longest run of a character.
pub(crate) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
