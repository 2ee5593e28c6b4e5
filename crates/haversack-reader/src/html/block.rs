//! Puts blocks of Markdown below each other, with the prefixes of lists and quotations.

use super::inline::longest_run;

/// A block of text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Block<'t> {
    /// A paragraph. Line breaks in it are the author's.
    Paragraph(&'t str),
    /// A heading with its level.
    Heading(usize, &'t str),
    /// Lines that are Markdown already.
    Verbatim(&'t str),
}

/// What a list, an item or a quotation changed, to be taken back at its end.
#[derive(Debug, Clone, Copy)]
struct Saved {
    prefix: usize,
    marker: Option<usize>,
}

/// Blocks of Markdown.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    out: String,
    /// What each line begins with.
    prefix: String,
    /// What the first line of the next block begins with in place of the prefix from `marker_at` on.
    marker: Option<String>,
    marker_at: usize,
    saved: Vec<Saved>,
    /// For each open list: how many blocks its last item has, none before the first item.
    lists: Vec<Option<usize>>,
    /// The prefix of the last block, for the blank line after it.
    last_prefix: String,
    /// Whether the last block is a term and its definition goes on in the same line.
    is_after_term: bool,
}

impl Blocks {
    /// Begins a quotation.
    pub(crate) fn open_quote(&mut self) {
        self.save();
        if let Some(marker) = &mut self.marker {
            marker.push_str("> ");
        }
        self.prefix.push_str("> ");
    }

    /// Ends a quotation.
    pub(crate) fn close_quote(&mut self) {
        self.restore();
    }

    /// Begins a list.
    pub(crate) fn open_list(&mut self) {
        self.lists.push(None);
    }

    /// Ends a list.
    pub(crate) fn close_list(&mut self) {
        self.lists.pop();
        self.is_after_term = false;
    }

    /// Begins an item of a list.
    pub(crate) fn open_item(&mut self, marker: &str) {
        self.save();
        match &mut self.marker {
            Some(before) => before.push_str(marker),
            None => {
                self.marker_at = self.prefix.len();
                self.marker = Some(marker.to_owned());
            }
        }
        self.prefix.extend(std::iter::repeat_n(' ', marker.len()));
        self.is_after_term = false;
    }

    /// Ends an item. One without text leaves nothing behind.
    pub(crate) fn close_item(&mut self) {
        self.restore();
    }

    /// Ends a term, whose definition follows.
    pub(crate) fn end_term(&mut self) {
        self.is_after_term = self.marker.is_none() && !self.out.ends_with('\n');
    }

    fn save(&mut self) {
        let marker = self.marker.as_ref().map(String::len);
        self.saved.push(Saved { prefix: self.prefix.len(), marker });
    }

    fn restore(&mut self) {
        let Some(Saved { prefix, marker }) = self.saved.pop() else { return };
        self.prefix.truncate(prefix);
        match (marker, &mut self.marker) {
            (Some(length), Some(marker)) => marker.truncate(length),
            _ => self.marker = None,
        }
    }

    /// Adds a block.
    pub(crate) fn push(&mut self, block: Block<'_>) {
        let is_after_term = std::mem::take(&mut self.is_after_term);
        match block {
            Block::Paragraph(text) if is_after_term && self.marker.is_none() => {
                self.out.push_str(if self.out.ends_with(':') { " " } else { ": " });
                self.push_lines(text, true, true);
            }
            Block::Paragraph(text) => {
                self.begin();
                self.push_lines(text, false, true);
            }
            Block::Heading(level, text) => {
                self.begin();
                self.out.extend(std::iter::repeat_n('#', level));
                self.out.push(' ');
                self.push_lines(&text.replace('\n', " "), true, false);
            }
            Block::Verbatim("") => {}
            Block::Verbatim(text) => {
                self.begin();
                self.push_lines(text, false, false);
            }
        }
    }

    /// Adds a text whose white space counts, in a fence.
    pub(crate) fn push_code(&mut self, text: &str, language: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let is_filled = |line: &&str| !line.is_empty();
        let Some(first) = lines.iter().position(is_filled) else { return };
        let last = lines.iter().rposition(is_filled).unwrap_or(first);
        let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
        let code = format!("{fence}{language}\n{}\n{fence}", lines[first..=last].join("\n"));
        self.push(Block::Verbatim(&code));
    }

    /// Writes what stands before a block: line ends, and the prefix or the marker of its item.
    fn begin(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
            if !self.is_tight() {
                let common = self.prefix.bytes().zip(self.last_prefix.bytes());
                let common = common.take_while(|(now, last)| now == last).count();
                self.out.push_str(self.prefix[..common].trim_end());
                self.out.push('\n');
            }
        }
        match self.marker.take() {
            Some(marker) => {
                self.out.push_str(&self.prefix[..self.marker_at.min(self.prefix.len())]);
                self.out.push_str(&marker);
                // Lists whose first item begins with this block have one now.
                for list in &mut self.lists {
                    *list = list.or(Some(1));
                }
                if let Some(list) = self.lists.last_mut() {
                    *list = Some(1);
                }
            }
            None => {
                self.out.push_str(&self.prefix);
                if let Some(Some(blocks)) = self.lists.last_mut() {
                    *blocks += 1;
                }
            }
        }
        self.last_prefix.clone_from(&self.prefix);
    }

    /// Whether the next block follows without a blank line: an item after a short item, or in one.
    fn is_tight(&self) -> bool {
        if self.marker.is_none() {
            return false;
        }
        match self.lists.last() {
            Some(Some(blocks)) => *blocks <= 1 || self.lists.len() > 1,
            // The first item of a list stands tight in an item only.
            _ => {
                self.lists.len() > 1
                    && self.lists[..self.lists.len() - 1].iter().any(Option::is_some)
            }
        }
    }

    /// Writes lines with the prefix before each but the first. What would be taken for a heading, a list or a
    /// fence is escaped.
    fn push_lines(&mut self, text: &str, is_inside: bool, is_prose: bool) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
                let prefix = if line.is_empty() { self.prefix.trim_end() } else { &self.prefix };
                self.out.push_str(prefix);
            }
            if is_prose && !(is_inside && number == 0) && means_a_block(line) {
                self.out.push('\\');
            }
            self.out.push_str(line);
        }
    }

    /// The Markdown.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Whether a line of prose would be taken for the beginning of a block.
fn means_a_block(line: &str) -> bool {
    let rest = |marks: &str| line.trim_start_matches(|character| marks.contains(character));
    let ends_word = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    match line.as_bytes().first() {
        Some(b'#') => line.len() - rest("#").len() <= 6 && ends_word(rest("#")),
        Some(b'>') => true,
        Some(b'-' | b'+' | b'*') => {
            ends_word(&line[1..]) || (line.len() > 2 && rest("-* ").is_empty())
        }
        Some(b'=') => rest("=").is_empty(),
        Some(b'`') => line.starts_with("```"),
        Some(b'~') => line.starts_with("~~~"),
        Some(b'<') => {
            line[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "!?/".contains(next))
        }
        _ => false,
    }
}
