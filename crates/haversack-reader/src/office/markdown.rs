//! Blocks as Markdown: whole paragraphs on one line, lists by indentation, tables with pipes.

use super::blocks::{Block, flatten};

const FENCE: &str = "```";

/// Renders blocks.
pub(crate) fn render(blocks: &[Block]) -> String {
    let mut page = Page::default();
    for block in blocks {
        match block {
            Block::Heading(level, text) => page.heading(*level, text),
            Block::Paragraph(text) => page.paragraph(text),
            Block::Item { level, label, text } => page.item(*level, label, text),
            Block::Code(text) => page.code(text),
            Block::Table(rows) => page.table(rows),
        }
    }
    page.close();
    page.text
}

#[derive(Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Text,
    Item,
    Code,
}

#[derive(Debug, Default)]
struct Page {
    text: String,
    after: After,
    /// The lists that are open: their level, and where their text begins.
    lists: Vec<(usize, usize)>,
    /// Empty lines of code that follow only if more code does.
    blank_code_lines: usize,
}

impl Page {
    /// Begins a block with a blank line before it.
    fn begin(&mut self) {
        self.close();
        self.lists.clear();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn close(&mut self) {
        if self.after == After::Code {
            self.text.push_str(FENCE);
            self.text.push('\n');
        }
        self.blank_code_lines = 0;
        self.after = After::Text;
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heading(&mut self, level: u8, text: &str) {
        let text = join_lines(text);
        if text.is_empty() {
            return;
        }
        self.begin();
        self.line(&format!("{} {text}", "#".repeat(usize::from(level.clamp(1, 6)))));
    }

    fn paragraph(&mut self, text: &str) {
        let text = clean_lines(text);
        if text.is_empty() {
            return;
        }
        self.begin();
        for line in text.lines() {
            // A line that only looks like a heading or a fence must not cut the text in two.
            let is_mark = line.starts_with('#') || line.starts_with(FENCE);
            let line = if is_mark { format!("\\{line}") } else { line.to_owned() };
            self.line(&line);
        }
    }

    fn item(&mut self, level: usize, label: &str, text: &str) {
        let text = join_lines(text);
        if text.is_empty() {
            return;
        }
        if self.after == After::Item {
            while self.lists.last().is_some_and(|(open, _)| *open >= level) {
                self.lists.pop();
            }
        } else {
            self.begin();
        }
        let indent = self.lists.last().map_or(0, |(_, content)| *content);
        let marker = match is_number(label) {
            true => format!("{label} "),
            false if label.is_empty() => "- ".to_owned(),
            false => format!("- {label} "),
        };
        let width = if is_number(label) { marker.len() } else { 2 };
        self.lists.push((level, indent + width));
        self.line(&format!("{:indent$}{marker}{text}", ""));
        self.after = After::Item;
    }

    fn code(&mut self, text: &str) {
        if self.after != After::Code {
            if text.trim().is_empty() {
                return;
            }
            self.begin();
            self.line(FENCE);
            self.after = After::Code;
        }
        for line in text.split('\n') {
            if line.trim().is_empty() {
                self.blank_code_lines += 1;
                continue;
            }
            let blank = std::mem::take(&mut self.blank_code_lines);
            self.text.push_str(&"\n".repeat(blank));
            let line: String = line.chars().filter(|letter| !is_invisible(*letter)).collect();
            // A fence within would end the code.
            self.line(&line.trim_end().replace(FENCE, "'''").replace('\u{a0}', " "));
        }
    }

    fn table(&mut self, rows: &[Vec<Vec<Block>>]) {
        let cell = |blocks: &Vec<Block>| flatten(blocks).replace('|', "\\|");
        let rows = rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>());
        self.text_table(&rows.collect::<Vec<_>>());
    }

    fn text_table(&mut self, rows: &[Vec<String>]) {
        let rows: Vec<_> =
            rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())).collect();
        let filled = |row: &&Vec<String>| row.iter().rposition(|cell| !cell.is_empty());
        let Some(last) = rows.iter().filter_map(filled).max() else { return };
        self.begin();
        for (index, row) in rows.iter().enumerate() {
            self.text.push('|');
            for column in 0..=last {
                let cell = row.get(column).map_or("", String::as_str);
                self.text.push(' ');
                self.text.push_str(cell);
                self.text.push_str(if cell.is_empty() { "|" } else { " |" });
            }
            self.text.push('\n');
            if index == 0 {
                self.line(&format!("|{}", " --- |".repeat(last + 1)));
            }
        }
    }
}

/// Whether Markdown takes a label for a number of a list.
fn is_number(label: &str) -> bool {
    let digits = label.strip_suffix(['.', ')']).unwrap_or_default();
    !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
        || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// A text with single spaces and without what cannot be seen. Line feeds stay.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\u{b}' | '\u{2028}' => {
                clean.truncate(clean.trim_end_matches(' ').len());
                if !clean.is_empty() && !clean.ends_with('\n') {
                    clean.push('\n');
                }
            }
            letter if is_invisible(letter) => {}
            letter if letter.is_whitespace() => {
                if !clean.is_empty() && !clean.ends_with([' ', '\n']) {
                    clean.push(' ');
                }
            }
            letter => clean.push(letter),
        }
    }
    clean.truncate(clean.trim_end().len());
    clean
}

/// A text on one line.
pub(crate) fn join_lines(text: &str) -> String {
    clean_lines(text).replace('\n', " ")
}

/// A link: its text, and its address when that says more.
pub(crate) fn link(text: &str, address: &str) -> String {
    let (shown, address) = (clean_lines(text), address.trim());
    let bare = |text: &str| {
        let text = text.trim_start_matches("mailto:").trim_start_matches("https://");
        text.trim_start_matches("http://").trim_end_matches('/').to_lowercase()
    };
    let is_outside = ["http://", "https://", "mailto:", "ftp://"];
    let is_outside = is_outside.iter().any(|scheme| address.starts_with(scheme));
    let is_plain =
        !shown.contains(['[', ']', '\n']) && !address.contains([' ', '(', ')', '<', '>']);
    match is_outside && !shown.is_empty() && is_plain && bare(&shown) != bare(address) {
        true => {
            let before = if text.starts_with(char::is_whitespace) { " " } else { "" };
            let after = if text.ends_with(char::is_whitespace) { " " } else { "" };
            format!("{before}[{shown}]({address}){after}")
        }
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(level: usize, label: &str, text: &str) -> Block {
        Block::Item { level, label: label.to_owned(), text: text.to_owned() }
    }

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(text.to_owned())
    }

    #[test]
    fn blocks_are_apart() {
        let blocks = [
            Block::Heading(1, "A \n b".to_owned()),
            paragraph(" x\u{ad}y\u{a0} z \n\n w "),
            paragraph(" \n"),
            paragraph("# no heading"),
            Block::Code("a\n  b".to_owned()),
            Block::Code(String::new()),
            Block::Code("c".to_owned()),
            Block::Code(String::new()),
            paragraph("end"),
        ];
        assert_eq!(
            render(&blocks),
            "# A b\n\nxy z\nw\n\n\\# no heading\n\n```\na\n  b\n\nc\n```\n\nend\n"
        );
    }

    #[test]
    fn lists_are_indented_under_their_parents() {
        let blocks = [
            item(0, "9.", "a"),
            item(2, "", "b"),
            item(2, "", "c"),
            item(1, "a)", "d"),
            item(0, "10.", "e"),
            item(1, "", "f"),
            paragraph("p"),
            item(3, "", "g"),
        ];
        assert_eq!(
            render(&blocks),
            "9. a\n   - b\n   - c\n   - a) d\n10. e\n    - f\n\np\n\n- g\n"
        );
    }

    #[test]
    fn tables_have_pipes() {
        let cell = |text: &str| vec![paragraph(text)];
        let rows = vec![
            vec![cell("a"), cell("b|c"), vec![]],
            vec![vec![]],
            vec![vec![paragraph("x"), paragraph("y.\nz")], vec![]],
        ];
        assert_eq!(render(&[Block::Table(rows)]), "| a | b\\|c |\n| --- | --- |\n| x; y. z | |\n");
    }

    #[test]
    fn links_keep_addresses_that_say_more() {
        assert_eq!(link("here ", "https://a.example/b"), "[here](https://a.example/b) ");
        assert_eq!(link("a.example/b", "https://a.example/b/"), "a.example/b");
        assert_eq!(link("Me@a.example", "mailto:me@a.example"), "Me@a.example");
        assert_eq!(link("part", "#part"), "part");
    }
}
