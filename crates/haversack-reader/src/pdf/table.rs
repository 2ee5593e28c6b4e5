//! Tables: the parser's proposals, held against the lines of the page.
//!
//! The parser takes code and indented text for tables, too, and can lose words in them. One is
//! taken only if its
//! lines have cells and if it has all of their words.

use std::collections::BTreeMap;
use std::ops::Range;

use super::line::Line;

/// The share of the words of its lines that a table must have.
const RECALL_MIN: f64 = 0.98;

/// The share of a table's words that must stand in its lines.
const PRECISION_MIN: f64 = 0.9;

/// The share of cells that are not empty.
const FILLED_MIN: f64 = 0.4;

/// The share of its lines that wide gaps divide.
const DIVIDED_MIN: f64 = 0.5;

/// Rows of a table that the parser does not see.
const OWN_ROWS_MIN: usize = 3;

/// Its columns. Two are a list or a table of contents more often than a table.
const OWN_COLUMNS_MIN: usize = 3;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// Its rows.
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// All tables in the parser's Markdown.
    pub(super) fn all_in(markdown: &str) -> Vec<Table> {
        let mut tables = Vec::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for line in markdown.lines().chain([""]) {
            if line.starts_with('|') {
                rows.push(split_row(line));
            } else if !rows.is_empty() {
                rows.retain(|row| !is_rule(row));
                tables.push(Table { rows: std::mem::take(&mut rows) });
            }
        }
        tables.retain(Table::is_plausible);
        tables
    }

    fn is_plausible(&self) -> bool {
        let cells = self.rows.iter().flatten();
        let filled = cells.clone().filter(|cell| !cell.is_empty()).count();
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        columns >= 2 && self.rows.len() >= 2 && share(filled, cells.count()) >= FILLED_MIN
    }

    /// Tables that the parser does not see: lines below each other with as many cells, which begin
    /// below each other.
    pub(super) fn all_by_place(lines: &[Line]) -> Vec<(Range<usize>, Table)> {
        let mut tables = Vec::new();
        let mut start = 0;
        for run in lines.chunk_by(continues_table) {
            let range = start..start + run.len();
            start = range.end;
            let columns = run.first().map_or(0, |line| line.cells.len());
            if run.len() >= OWN_ROWS_MIN && columns >= OWN_COLUMNS_MIN {
                let cell = |(_, text): &(f32, String)| text.replace('|', "\\|");
                let rows = run.iter().map(|line| line.cells.iter().map(cell).collect());
                tables.push((range, Table { rows: rows.collect() }));
            }
        }
        tables
    }

    /// The lines that the table stands for; none if it is none or has lost words.
    pub(super) fn find_lines(&self, lines: &[Line]) -> Option<Range<usize>> {
        let words = count_words(self.rows.iter().flatten().map(String::as_str));
        let range = longest_run(&words, lines)?;
        let run = &lines[range.clone()];
        let theirs = count_words(run.iter().map(|line| line.text.as_str()));
        let (total, common) = (words.values().sum(), common_words(&words, &theirs));
        let divided = run.iter().filter(|line| !line.cells.is_empty()).count();
        let is_code = run.iter().all(|line| line.is_fixed);
        let holds = share(common, theirs.values().sum()) >= RECALL_MIN
            && share(common, total) >= PRECISION_MIN
            && share(divided, run.len()) >= DIVIDED_MIN
            && !is_code;
        holds.then_some(range)
    }

    /// The table as Markdown.
    pub(super) fn to_markdown(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text.push('|');
            for column in 0..columns {
                text.push(' ');
                text.push_str(row.get(column).map_or("", String::as_str));
                text.push_str(" |");
            }
            text.push('\n');
            if index == 0 {
                text.push('|');
                text.push_str(&" --- |".repeat(columns));
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Whether two lines are rows of one table.
fn continues_table(above: &Line, below: &Line) -> bool {
    let em = above.size.max(1.0);
    let gap = (above.y - below.y) / em;
    let is_code = above.is_fixed && below.is_fixed;
    let begin_together = above.cells.iter().zip(&below.cells).all(|(a, b)| (a.0 - b.0).abs() < em);
    above.cells.len() == below.cells.len()
        && begin_together
        && (0.5..3.0).contains(&gap)
        && !is_code
}

/// The longest run of lines most of whose words are the table's. One line in it may be another.
fn longest_run(words: &BTreeMap<String, usize>, lines: &[Line]) -> Option<Range<usize>> {
    let is_ours = |line: &Line| {
        let theirs = count_words([line.text.as_str()]);
        common_words(words, &theirs) * 5 >= theirs.values().sum::<usize>() * 4
    };
    let mut best: Range<usize> = 0..0;
    let mut start = None;
    for (index, line) in lines.iter().enumerate() {
        if !is_ours(line) {
            start = None;
            continue;
        }
        let from = *start.get_or_insert(index);
        if index + 1 - from > best.len() {
            best = from..index + 1;
        }
    }
    (best.len() >= 2).then_some(best)
}

fn split_row(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(clean_cell).collect()
}

/// A cell without the parser's marks of emphasis.
fn clean_cell(cell: &str) -> String {
    let marks = ["**", "<u>", "</u>", "<s>", "</s>", "<sup>", "</sup>", "<sub>", "</sub>"];
    let mut cell = cell.replace("<br>", " ");
    for mark in marks {
        cell = cell.replace(mark, "");
    }
    cell.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_rule(row: &[String]) -> bool {
    row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|mark| matches!(mark, '-' | ':')))
}

/// How often each word stands in the texts. Words are runs of letters and digits, in lower case.
fn count_words<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for text in texts {
        let parts = text.split(|letter: char| !letter.is_alphanumeric());
        for word in parts.filter(|word| !word.is_empty()) {
            *words.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    words
}

fn common_words(a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>) -> usize {
    a.iter().map(|(word, count)| (*count).min(b.get(word).copied().unwrap_or_default())).sum()
}

#[expect(clippy::cast_precision_loss, reason = "words and lines of a page")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}
