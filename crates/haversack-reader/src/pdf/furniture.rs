//! Running headers, footers and page numbers: lines that stand at the edge of many pages.

use std::collections::BTreeMap;

use super::inspect::Page;
use super::line::Line;

/// A line at the edge must stand on so many pages.
const PAGES_MIN: usize = 3;

/// A longer line is text, whatever number it ends in.
const LETTERS_MAX: usize = 120;

/// So many lines at the top and at the bottom of a page can be headers and footers.
const EDGE_LINES: usize = 2;

/// Removes running headers, footers and page numbers, and gives back how many lines.
pub(super) fn remove_furniture(pages: &mut [Page], body_size: f32) -> usize {
    let mut seen: BTreeMap<(String, i64), usize> = BTreeMap::new();
    for page in pages.iter() {
        for index in edges(&page.lines) {
            for place in places(&page.lines[index]) {
                *seen.entry(place).or_default() += 1;
            }
        }
    }
    let offset = page_number_offset(pages);
    let mut removed = 0;
    for (number, page) in (0_i64..).zip(pages) {
        let gone: Vec<usize> = edges(&page.lines)
            .into_iter()
            .filter(|&index| {
                let line = &page.lines[index];
                let count = places(line).iter().filter_map(|place| seen.get(place)).max();
                let has_number = |at: i64| numbers_at_ends(&line.text).contains(&Some(number + at));
                let is_numbered = line.size <= body_size * 1.15 && offset.is_some_and(has_number);
                is_numbered || is_furniture(line, count.copied().unwrap_or_default(), body_size)
            })
            .collect();
        removed += gone.len();
        let mut index = 0;
        page.lines.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
    }
    removed
}

/// What has to be added to a page's index for the number that is printed on it, if most pages
/// agree.
fn page_number_offset(pages: &[Page]) -> Option<i64> {
    let mut offsets: BTreeMap<i64, usize> = BTreeMap::new();
    for (index, page) in (0_i64..).zip(pages) {
        let lines = edges(&page.lines).into_iter().map(|at| &page.lines[at]);
        let mut here: Vec<i64> = lines
            .flat_map(|line| numbers_at_ends(&line.text))
            .flatten()
            .map(|number| number - index)
            .collect();
        here.sort_unstable();
        here.dedup();
        for offset in here {
            *offsets.entry(offset).or_default() += 1;
        }
    }
    let (offset, count) = offsets.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (count >= PAGES_MIN && count * 2 > pages.len()).then_some(offset)
}

/// The numbers with which a line begins and ends.
fn numbers_at_ends(text: &str) -> [Option<i64>; 2] {
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u16>().ok()).map(i64::from);
    [number(text.split(' ').next()), number(text.rsplit(' ').next())]
}

/// A heading of the content can stand at the top of many pages, too: "Example", on slides.
fn is_furniture(line: &Line, count: usize, body_size: f32) -> bool {
    let is_large = line.size > body_size * 1.15;
    let is_number = line.text.chars().all(|letter| !letter.is_alphabetic());
    count >= PAGES_MIN && (is_number || !is_large)
}

/// The lines at the top and the bottom of a page.
fn edges(lines: &[Line]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|&a, &b| lines[b].y.total_cmp(&lines[a].y).then(a.cmp(&b)));
    let bottom = order.len().saturating_sub(EDGE_LINES).max(EDGE_LINES.min(order.len()));
    let mut edges = order[..EDGE_LINES.min(order.len())].to_vec();
    edges.extend_from_slice(&order[bottom..]);
    edges.retain(|&index| lines[index].text.chars().count() <= LETTERS_MAX);
    edges
}

/// What a line says, numbers aside, and where; in two rasters, so that no border between them
/// divides equals.
fn places(line: &Line) -> [(String, i64); 2] {
    let text = without_numbers(&line.text);
    #[expect(clippy::cast_possible_truncation, reason = "points of a page; others saturate")]
    let [fine, shifted] = [(line.y / 6.0) as i64 * 2, ((line.y + 3.0) / 6.0) as i64 * 2 + 1];
    [(text.clone(), fine), (text, shifted)]
}

/// Numbers, Roman ones among them if they stand alone, are replaced.
fn without_numbers(text: &str) -> String {
    let mut kept = String::new();
    for word in text.split(' ') {
        let is_roman = word.len() <= 6
            && !word.is_empty()
            && word.bytes().all(|byte| b"ivxlc".contains(&byte));
        if is_roman || word.parse::<u32>().is_ok() {
            kept.push('#');
        } else {
            let letters = word.chars().map(|letter| if letter.is_numeric() { '#' } else { letter });
            kept.extend(letters.flat_map(char::to_lowercase));
        }
        kept.push(' ');
    }
    kept
}
