//! Pages of three and more columns of text, which the parser takes for one wide table.
//!
//! Between columns of text runs a gap that nothing crosses, from the top to the bottom. So it does between the
//! columns of a table. But the rows of a table stand beside each other and leave gaps across all columns, while
//! lines of independent columns stand at any height.

use pdf_inspector::TextItem;

/// Fewer columns the parser finds itself.
const COLUMNS_MIN: usize = 3;

/// Lines in each column.
const LINES_MIN: usize = 8;

/// A gap between columns is at least as wide as this, in font sizes.
const GAP_EMS_MIN: f32 = 1.0;

/// Narrower gaps than this, compared with the widest, are inside columns.
const GAP_SHARE_MIN: f32 = 0.6;

/// The widest column is at most so many times as wide as the narrowest.
const WIDTH_RATIO_MAX: f32 = 1.4;

/// Rows that gaps across the page divide, compared with the lines of the longest column. Tables have as many.
const ROWS_SHARE_MAX: f32 = 0.7;

/// The part of the text's height, at the top and at the bottom, in which titles and footers may cross columns.
const EDGE_SHARE: f32 = 0.1;

/// The height of letters above their line, in font sizes.
const LETTER_EMS: f32 = 0.75;

/// The items of a page in groups that are read one after the other: what stands above the columns, the rows of each
/// column, and what stands below. One group if the page has no three columns.
pub(super) fn split_columns(items: Vec<TextItem>) -> Vec<Vec<TextItem>> {
    let is_plain = |item: &TextItem| {
        item.rotation.abs() < 1.0 && [item.x, item.y, item.width].iter().all(|it| it.is_finite())
    };
    if !items.iter().all(is_plain) {
        return vec![items];
    }
    let Some(layout) = ColumnLayout::of(&items) else { return vec![items] };
    let mut groups: Vec<Vec<TextItem>> = Vec::new();
    groups.resize_with(layout.gaps.len() + 3, Vec::new);
    let below = groups.len() - 1;
    for item in items {
        let group = match layout.crosses(&item) {
            true if item.y > layout.middle => 0,
            true => below,
            false => 1 + column_of(&layout.gaps, &item),
        };
        groups[group].push(item);
    }
    if layout.is_right_to_left {
        groups[1..below].reverse();
    }
    let last = groups.pop();
    let columns = groups.split_off(1).into_iter().flat_map(|column| split_rows(column, layout.em));
    let all = groups.into_iter().chain(columns.collect::<Vec<_>>()).chain(last);
    all.filter(|group| !group.is_empty()).collect()
}

/// The rows of a column, so that what a table says of a thing stays beside it. Where the cells of a row are centred,
/// their lines are not on one height: each cell is then read by itself.
fn split_rows(mut items: Vec<TextItem>, em: f32) -> Vec<Vec<TextItem>> {
    items.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)));
    let mut groups = Vec::new();
    for row in items.chunk_by(|above, below| above.y - below.y <= em * LETTER_EMS) {
        let cells: Vec<&TextItem> = row.iter().collect();
        let gaps = wide_gaps(&cells, em);
        if gaps.is_empty() || count_lines(&cells, em) == 1 {
            groups.push(row.to_vec());
            continue;
        }
        for cell in 0..=gaps.len() {
            let is_in = |item: &&TextItem| column_of(&gaps, item) == cell;
            groups.push(row.iter().filter(is_in).cloned().collect());
        }
    }
    groups
}

/// Where the columns of a page are.
#[derive(Debug)]
struct ColumnLayout {
    /// The gaps between the columns.
    gaps: Vec<(f32, f32)>,
    /// The middle of the page's height.
    middle: f32,
    /// The font size of most items.
    em: f32,
    is_right_to_left: bool,
}

impl ColumnLayout {
    fn of(items: &[TextItem]) -> Option<ColumnLayout> {
        let visible = || items.iter().filter(|item| !item.text.trim().is_empty());
        let em = median(visible().map(|item| item.font_size).collect())?.max(1.0);
        let top = visible().map(|item| item.y).fold(f32::NEG_INFINITY, f32::max);
        let bottom = visible().map(|item| item.y).fold(f32::INFINITY, f32::min);
        let edge = (top - bottom) * EDGE_SHARE;
        let within: Vec<&TextItem> =
            visible().filter(|item| (bottom + edge..=top - edge).contains(&item.y)).collect();
        let gaps = wide_gaps(&within, em);
        let is_right_to_left = is_right_to_left(&within);
        let middle = f32::midpoint(top, bottom);
        let layout = ColumnLayout { gaps, middle, em, is_right_to_left };
        (layout.gaps.len() + 1 >= COLUMNS_MIN && layout.is_plausible(&within)).then_some(layout)
    }

    /// Whether the gaps divide columns of text, and not those of a table.
    fn is_plausible(&self, items: &[&TextItem]) -> bool {
        let em = self.em;
        let mut columns: Vec<Vec<&TextItem>> = vec![Vec::new(); self.gaps.len() + 1];
        for item in items {
            columns[column_of(&self.gaps, item)].push(item);
        }
        let widths: Vec<f32> = columns.iter().map(|column| width(column)).collect();
        let widest = widths.iter().copied().fold(0.0, f32::max);
        let narrowest = widths.iter().copied().fold(f32::INFINITY, f32::min);
        let lines: Vec<usize> = columns.iter().map(|column| count_lines(column, em)).collect();
        let most = lines.iter().copied().max().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "lines of a page")]
        let rows_share = count_rows(items, em) as f32 / most.max(1) as f32;
        lines.iter().all(|count| *count >= LINES_MIN)
            && widest <= narrowest * WIDTH_RATIO_MAX
            && rows_share <= ROWS_SHARE_MAX
    }

    fn crosses(&self, item: &TextItem) -> bool {
        let crosses = |(start, end): &(f32, f32)| item.x < *start && item.x + item.width > *end;
        self.gaps.iter().any(crosses)
    }
}

/// The column, between gaps, in which the middle of an item stands.
fn column_of(gaps: &[(f32, f32)], item: &TextItem) -> usize {
    let middle = item.x + item.width / 2.0;
    gaps.iter().filter(|(start, end)| middle > f32::midpoint(*start, *end)).count()
}

/// The gaps that no item crosses, without those that are much narrower than the widest.
fn wide_gaps(items: &[&TextItem], em: f32) -> Vec<(f32, f32)> {
    let mut spans: Vec<(f32, f32)> =
        items.iter().map(|item| (item.x, item.x + item.width)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut gaps = Vec::new();
    let mut end = spans.first().map_or(0.0, |span| span.0);
    for (left, right) in spans {
        if left - end >= em * GAP_EMS_MIN {
            gaps.push((end, left));
        }
        end = end.max(right);
    }
    let widest = gaps.iter().map(|(start, end)| end - start).fold(0.0, f32::max);
    gaps.retain(|(start, end)| end - start >= widest * GAP_SHARE_MIN);
    gaps
}

fn width(items: &[&TextItem]) -> f32 {
    let left = items.iter().map(|item| item.x).fold(f32::INFINITY, f32::min);
    let right = items.iter().map(|item| item.x + item.width).fold(f32::NEG_INFINITY, f32::max);
    right - left
}

/// Lines on which items stand.
fn count_lines(items: &[&TextItem], em: f32) -> usize {
    let mut heights: Vec<f32> = items.iter().map(|item| item.y).collect();
    heights.sort_by(f32::total_cmp);
    heights.chunk_by(|below, above| above - below <= em * 0.3).count()
}

/// Rows of items that gaps across all of them divide.
fn count_rows(items: &[&TextItem], em: f32) -> usize {
    let mut heights: Vec<f32> = items.iter().map(|item| item.y).collect();
    heights.sort_by(f32::total_cmp);
    heights.chunk_by(|below, above| above - below <= em * LETTER_EMS).count()
}

fn median(mut numbers: Vec<f32>) -> Option<f32> {
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied().filter(|number| number.is_finite())
}

/// Whether most letters belong to a script that is written from right to left.
fn is_right_to_left(items: &[&TextItem]) -> bool {
    let letters =
        || items.iter().flat_map(|item| item.text.chars()).filter(|it| it.is_alphabetic());
    let is_one = |letter: &char| matches!(u32::from(*letter), 0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF);
    letters().filter(is_one).count() * 2 > letters().count()
}
