//! Finds blocks that cost tokens and answer nothing: import lists, navigation, licence headers.

use haversack_core::text::chunk::Format;

use super::blocks::{DocumentBlock, DocumentBlockKind, list_marker};

/// How many blocks at the start of a document may be a licence header.
const LICENCE_BLOCKS: usize = 3;

/// Marks the clutter among the blocks of a document.
pub(super) fn mark(text: &str, format: Format, blocks: &mut [DocumentBlock]) {
    let is_code = matches!(format, Format::Code(_));
    for (index, block) in blocks.iter_mut().enumerate() {
        let own = &text[block.range.clone()];
        block.is_clutter = block.kind == DocumentBlockKind::Paragraph
            && (is_import_list(own, is_code)
                || is_link_line(own)
                || is_contents(own)
                || (index < LICENCE_BLOCKS && is_licence(own)));
    }
    mark_link_lists(text, blocks);
}

/// Marks the items of lists in which every item is a link and nothing else.
fn mark_link_lists(text: &str, blocks: &mut [DocumentBlock]) {
    let is_item = |block: &DocumentBlock| block.kind == DocumentBlockKind::ListItem;
    for list in blocks.chunk_by_mut(|a, b| is_item(a) && is_item(b)) {
        let is_navigation = list.len() > 1
            && list.iter().all(|block| is_item(block) && is_link_item(&text[block.range.clone()]));
        if is_navigation {
            list.iter_mut().for_each(|block| block.is_clutter = true);
        }
    }
}

fn is_link_item(item: &str) -> bool {
    let own = list_marker(item).map_or(item, |start| &item[start..]);
    count_if_only_links(own) == Some(1)
}

/// Whether a block is a line of several links, such as breadcrumbs.
fn is_link_line(block: &str) -> bool {
    count_if_only_links(block).is_some_and(|links| links > 1)
}

/// The number of links in a text that has no other words; `None` otherwise.
fn count_if_only_links(text: &str) -> Option<usize> {
    let (mut rest, mut links) = (text, 0);
    loop {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !['[', '<'].contains(&c));
        if rest.is_empty() {
            return (links > 0).then_some(links);
        }
        rest = text_after_link(rest)?;
        links += 1;
    }
}

/// The text after a leading link: `[text](target)`, `[[page]]`, `<address>` or an address.
fn text_after_link(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("[[") {
        return rest.split_once("]]").map(|(_, rest)| rest);
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (_, rest) = rest.split_once("](")?;
        return rest.split_once(')').map(|(_, rest)| rest);
    }
    let is_address = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>').filter(|_| is_address(rest)).map(|(_, rest)| rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    is_address(text).then(|| &text[end..])
}

/// Whether a block is a table of contents with dot leaders.
fn is_contents(block: &str) -> bool {
    let leads = |line: &str| {
        let title = line.trim_end().trim_end_matches(|c: char| c.is_ascii_digit());
        title.len() < line.trim_end().len() && title.trim_end().ends_with("...")
    };
    block.lines().count() > 1 && block.lines().all(leads)
}

/// Whether every line is an import. Outside known code, only forms count that no sentence has.
fn is_import_list(block: &str, is_code: bool) -> bool {
    let (mut imports, mut is_inside) = (0, false);
    for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if is_inside {
            is_inside = !line.contains(['}', ')']);
            continue;
        }
        if !is_import(line, is_code) {
            return false;
        }
        imports += 1;
        // The list of names continues on the next line.
        is_inside = match line.rfind(['{', '(']) {
            Some(open) => !line[open..].contains(['}', ')']),
            None => false,
        };
    }
    imports > 0
}

fn is_import(line: &str, is_code: bool) -> bool {
    let has_quotes = line.contains(['"', '\'']);
    let is_script = (line.starts_with("import ") || line.starts_with("export "))
        && (has_quotes
            && (line.contains(" from ")
                || line.starts_with("import \"")
                || line.starts_with("import '")));
    let opens_script = line.starts_with("import {") && !line.contains('}');
    let is_require = line.contains("require(")
        && has_quotes
        && ["const ", "let ", "var "].iter().any(|word| line.starts_with(word));
    let is_python = line.starts_with("from ") && line.contains(" import ");
    let is_include = line.starts_with("#include ");
    let is_statement = ["import ", "use ", "pub use ", "using ", "package "]
        .iter()
        .any(|word| line.starts_with(word));
    let ends_as_statement = line.ends_with([';', '{', '(', ',']);
    is_script
        || opens_script
        || is_require
        || is_include
        || (is_python && (is_code || ends_as_statement))
        || (is_statement && (is_code || line.ends_with(';') || line.ends_with('{')))
}

/// Whether a block has the wording of a licence header.
fn is_licence(block: &str) -> bool {
    let words = block.to_lowercase();
    let has = |part: &str| words.contains(part);
    has("spdx-license-identifier")
        || has("permission is hereby granted")
        || (has("copyright") && (has("licen") || has("rights reserved")))
        || (has("licensed under the") && has("you may not use this file"))
}

#[cfg(test)]
mod tests {
    use haversack_core::text::chunk::CodeLanguage;

    use super::super::blocks::blocks;
    use super::*;

    /// The first lines of blocks that are clutter.
    fn cluttered(text: &str, format: Format) -> Vec<&str> {
        let blocks = blocks(text, format);
        let clutter = blocks.iter().filter(|block| block.is_clutter);
        clutter.filter_map(|block| text[block.range.clone()].lines().next()).collect()
    }

    #[test]
    fn clutter_in_markdown() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(cluttered(text, Format::Markdown), expected, "{text:?}");
        };
        check("Imports of tea rise.\nThey fell before.", &[]);
        check("import duties rise from \"ten\" to twelve\nand fall", &[]);
        check("import A from './a'\nimport { B } from \"b\"\n\ntext", &["import A from './a'"]);
        check("import {\n  A,\n  B\n} from 'c'", &["import {"]);
        check("```js\nimport A from './a'\n```", &[]);
        check("- [A](a)\n- [B](b)\n\ntext", &["- [A](a)", "- [B](b)"]);
        check("- [A](a): what A is\n- [B](b)", &[]);
        check("- [A](a)\n\nalone is no list", &[]);
        check(
            "1. [[A]]\n2. <https://b>\n3. https://c",
            &["1. [[A]]", "2. <https://b>", "3. https://c"],
        );
        check("[Home](/) » [Docs](/docs)", &["[Home](/) » [Docs](/docs)"]);
        check("[Home](/)", &[]);
        check("Intro ..... 3\nMore ...... 12", &["Intro ..... 3"]);
        check(
            "Copyright 2020 A. All rights reserved.\n\n# T",
            &["Copyright 2020 A. All rights reserved."],
        );
        check("a\n\nb\n\nc\n\nCopyright 2020 A. All rights reserved.", &[]);
    }

    #[test]
    fn clutter_in_code() {
        let check = |language, text: &str, expected: &[&str]| {
            assert_eq!(cluttered(text, Format::Code(language)), expected, "{text:?}");
        };
        check(
            CodeLanguage::Python,
            "import os\nfrom a import (\n    b,\n    c,\n)\n\nx = 1",
            &["import os"],
        );
        check(CodeLanguage::Python, "import os\nx = 1", &[]);
        check(CodeLanguage::Rust, "use a::{\n    b,\n};\nuse c;\n\nfn f() {}", &["use a::{"]);
        check(
            CodeLanguage::Rust,
            "// SPDX-License-Identifier: MIT\n\nfn f() {}",
            &["// SPDX-License-Identifier: MIT"],
        );
        check(CodeLanguage::C, "#include <a.h>\n#include \"b.h\"\n\nint x;", &["#include <a.h>"]);
        check(
            CodeLanguage::JavaScript,
            "const a = require('a')\n\na()",
            &["const a = require('a')"],
        );
    }
}
