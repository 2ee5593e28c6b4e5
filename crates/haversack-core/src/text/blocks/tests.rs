use proptest::prelude::*;

use super::*;

/// Each block as `kind under text`, with `!` for clutter and `~` for a line break.
fn shown(text: &str) -> Vec<String> {
    let line = |block: &TextBlock| {
        let kind = match block.kind {
            BlockKind::Heading(level) => format!("h{level}"),
            BlockKind::Prose => "prose".to_owned(),
            BlockKind::List => "list".to_owned(),
            BlockKind::Fence => "fence".to_owned(),
            BlockKind::Table => "table".to_owned(),
        };
        let under = block.under.map_or("-".to_owned(), |under| under.to_string());
        let clutter = if block.is_clutter { "!" } else { "" };
        let text = text[block.range.clone()].trim_end().replace('\n', "~");
        format!("{kind}{clutter} {under} {text}")
    };
    blocks(text).iter().map(line).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(shown(text), expected, "{text:?}");
}

#[test]
fn paragraphs_hang_under_their_headings() {
    check("", &[]);
    check("  \n", &["prose - "]);
    check("One.\n\nTwo.\n", &["prose - One.", "prose - Two."]);
    check(
        "# A\n\nOne.\n\n## B\nTwo.\n\n# C\n\nThree.",
        &["h1 - # A", "prose 0 One.", "h2 0 ## B", "prose 2 Two.", "h1 - # C", "prose 4 Three."],
    );
    check("#hashtag\n\n####### seven", &["prose - #hashtag", "prose - ####### seven"]);
}

#[test]
fn a_listing_is_one_block_with_the_line_that_introduces_it() {
    check(
        "Run it like this:\n\n```sh\nferry --book\n\nferry --pay\n```\n\nThen wait.",
        &["fence - Run it like this:~~```sh~ferry --book~~ferry --pay~```", "prose - Then wait."],
    );
    check("~~~\n```\n~~~\nafter", &["fence - ~~~~```~~~~", "prose - after"]);
    check("```\nnever closed\n\n# no heading", &["fence - ```~never closed~~# no heading"]);
    check("`one` and ```two``` here", &["prose - `one` and ```two``` here"]);
}

#[test]
fn a_short_list_is_one_block_and_a_long_one_is_read_by_its_items() {
    check(
        "Take:\n\n- a map\n- a rope,\n  long enough\n\n  and dry\n\nGo.",
        &["prose - Take:", "list 0 - a map~- a rope,~  long enough~~  and dry", "prose - Go."],
    );
    let item = format!("- {}\n", "word ".repeat(60).trim());
    let found = shown(&format!("Take:\n\n{}", item.repeat(4)));
    assert_eq!(found.len(), 5);
    assert!(found[1..].iter().all(|block| block.starts_with("list 0 - word")), "{found:?}");
    check("1. one\n2. two\n\nx 3. y", &["list - 1. one~2. two", "prose - x 3. y"]);
}

#[test]
fn rows_of_a_long_table_hang_under_its_header() {
    check("| a | b |\n|---|---|\n| 1 | 2 |", &["table - | a | b |~|---|---|~| 1 | 2 |"]);
    let row = format!("| {} | 2 |\n", "word ".repeat(40).trim());
    let found = shown(&format!("# T\n\n| a | b |\n|---|---|\n{}", row.repeat(8)));
    assert_eq!(found[1], "table 0 | a | b |~|---|---|");
    assert!(found.len() > 3 && found[2..].iter().all(|row| row.starts_with("table 1 ")));
    let found = shown(&format!("# T\n\n<Tab>\n\n| a | b |\n|---|---|\n{}", row.repeat(8)));
    assert_eq!(found[1], "table 0 <Tab>~~| a | b |~|---|---|");
    assert!(found.len() > 3 && found[2..].iter().all(|row| row.starts_with("table 1 ")));
}

#[test]
fn a_function_is_one_block_with_its_body() {
    check(
        "def a():\n    x = 1\n\n    return x\n\ndef b():\n    pass\n",
        &["prose - def a():~    x = 1~~    return x", "prose - def b():~    pass"],
    );
    check("fn a() {\n    x();\n\n    y();\n\n}\n", &["prose - fn a() {~    x();~~    y();~~}"]);
}

#[test]
fn imports_navigation_licences_and_metadata_are_clutter() {
    check("---\ntitle: A\n---\n\nText.", &["prose! - ---~title: A~---", "prose - Text."]);
    check(
        "import os\nfrom a import b\n\nx = 1",
        &["prose! - import os~from a import b", "prose - x = 1"],
    );
    check(
        "import { A } from './a'\nimport {\n  B,\n} from './b'\n\nText.",
        &["prose! - import { A } from './a'~import {~  B,~} from './b'", "prose - Text."],
    );
    check(
        "<ProductVideo\n  src=\"a.mp4\"\n/>\n\nText.",
        &["prose! - <ProductVideo~  src=\"a.mp4\"~/>", "prose - Text."],
    );
    check("<Note>Mind the gap.</Note>", &["prose - <Note>Mind the gap.</Note>"]);
    check("use a::b;\nuse c::{d, e};", &["prose! - use a::b;~use c::{d, e};"]);
    check("- [A](a)\n- [B](b)\n- [C](c)", &["list! - - [A](a)~- [B](b)~- [C](c)"]);
    check(
        "See [A](a), [B](b) and [C](c) for the long story of how it came to be so.",
        &["prose - See [A](a), [B](b) and [C](c) for the long story of how it came to be so."],
    );
    check(
        "// Licensed under the MIT licence.\n\nfn a() {}",
        &["prose! - // Licensed under the MIT licence.", "prose - fn a() {}"],
    );
    check(
        "Import duties from May on are higher.",
        &["prose - Import duties from May on are higher."],
    );
}

#[test]
fn tags_go_with_a_block_beside_them() {
    check(
        "# A\n\n<AppOnly>\n\nOne.\n\n</AppOnly>\n\n# B\n\n</X>\n\n# C\n\nTwo.",
        &[
            "h1 - # A",
            "prose 0 <AppOnly>~~One.~~</AppOnly>",
            "h1 - # B~~</X>",
            "h1 - # C",
            "prose 3 Two.",
        ],
    );
    check("<Tabs>\n\n</Tabs>", &["prose - <Tabs>~~</Tabs>"]);
    check("a < b\n\n<b>", &["prose - a < b~~<b>"]);
}

#[test]
fn a_long_paragraph_is_read_by_its_sentences() {
    let text = "The ferry leaves at nine in the morning and comes back at noon. ".repeat(60);
    let found = blocks(&text);
    assert!(found.len() > 2);
    assert!(found[1..].iter().all(|block| text[block.range.clone()].starts_with("The ferry")));
}

proptest! {
    #[test]
    fn blocks_cover_any_text_and_hang_under_earlier_ones(
        lines in proptest::collection::vec(
            prop_oneof![
                Just(String::new()), "[-*] [a-z ]{0,20}", "#{1,7} [a-z]{0,9}", "```[a-z]{0,3}",
                "\\|[a-z |]{0,20}", " {0,6}[a-z.]{0,40}", "\\PC{0,30}", "~~~~", "[0-9]{1,4}\\. x",
                "\\[[a-z]{0,5}\\]\\([a-z]{0,5}\\)", "import [a-z]{1,9}",
            ],
            0..40,
        ),
    ) {
        let text = lines.join("\n");
        let found = blocks(&text);
        let mut at = 0;
        for (place, block) in found.iter().enumerate() {
            prop_assert_eq!(block.range.start, at);
            prop_assert!(block.range.end > at && text.is_char_boundary(block.range.end));
            prop_assert!(block.under.is_none_or(|under| under < place));
            at = block.range.end;
        }
        prop_assert_eq!(at, text.len());
    }
}

#[test]
fn separated_values_are_a_table_whose_rows_hang_under_the_first_line() {
    check(
        "no,name,place\n1,lamp,shelf\n2,\"desk, small\",cellar\n",
        &["table - no,name,place~1,lamp,shelf~2,\"desk, small\",cellar"],
    );
    let rows: String = (0..60).map(|n| format!("{n};lamp;shelf {n}\n")).collect();
    let found = shown(&format!("no;name;place\n{rows}"));
    assert_eq!(found[0], "table - no;name;place");
    assert!(
        found.len() > 2 && found[1..].iter().all(|row| row.starts_with("table 0 ")),
        "{found:?}"
    );
    let prose = "He came, saw, and left.\nShe ran, fell, and rose.";
    check(prose, &[&format!("prose - {}", prose.replace('\n', "~"))]);
    let verse = format!(
        "{0}, {0}, {0}\n{0}, {0}, {0}\n{0}, {0}, {0}",
        "a long part of a sentence that goes on and on"
    );
    assert!(shown(&verse)[0].starts_with("prose"));
}
