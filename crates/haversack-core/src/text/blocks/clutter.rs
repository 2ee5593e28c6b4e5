//! Detects boilerplate blocks: imports, navigation, licence headers, metadata.

/// How many of a block's lines must be imports.
const IMPORTS_PERCENT: usize = 70;

/// How much of a block's text must be links, and how many there must be, for it to be a menu.
const LINKS_PERCENT: usize = 80;
const LINKS_LEAST: usize = 3;

/// The longest link that is read as one.
const LINK_BYTES_MAX: usize = 500;

/// Phrases of licence headers.
const LICENCES: [&str; 6] = [
    "licensed under the",
    "spdx-license-identifier",
    "all rights reserved",
    "permission is hereby granted",
    "without warranties or conditions",
    "redistribution and use in source",
];

/// What the names of elements contain that show pictures or films.
const MEDIA: [&str; 5] = ["video", "image", "img", "screenshot", "iframe"];

/// Whether a line opens and closes metadata at the beginning of a text.
pub(super) fn is_front_matter(line: &str) -> bool {
    matches!(line, "---" | "+++")
}

/// Whether a block is clutter. `is_first` is the block at the beginning of a text.
pub(super) fn is_clutter(block: &str, is_first: bool) -> bool {
    let block = block.trim();
    let is_metadata = is_first
        && block.lines().next().is_some_and(|line| is_front_matter(line.trim_end()))
        && block.lines().count() > 1;
    is_metadata
        || is_imports(block)
        || is_navigation(block)
        || is_media(block)
        || (is_first && is_licence(block))
}

/// Whether a block is an element that shows a picture or a film, with no text of its own.
fn is_media(block: &str) -> bool {
    let Some(element) = block.strip_prefix('<').filter(|rest| rest.ends_with('>')) else {
        return false;
    };
    let name = element.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let name = name.to_lowercase();
    MEDIA.iter().any(|media| name.contains(media)) && !has_text_outside_tags(block)
}

fn has_text_outside_tags(block: &str) -> bool {
    let mut depth = 0_usize;
    block.chars().any(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => return depth == 0 && c.is_alphanumeric(),
        }
        false
    })
}

fn is_licence(block: &str) -> bool {
    let block = block.to_lowercase();
    LICENCES.iter().any(|phrase| block.contains(phrase))
}

fn is_imports(block: &str) -> bool {
    let lines = block.lines().map(str::trim).filter(|line| !line.is_empty());
    // An import of several names goes on over lines of names alone.
    let (mut imports, mut all, mut is_open) = (0, 0, false);
    for line in lines {
        all += 1;
        let starts = is_import(line);
        if starts || is_open {
            imports += 1;
            let opens = line.matches(['{', '(']).count();
            let closes = line.matches(['}', ')']).count();
            is_open = if starts { opens > closes } else { closes == 0 };
        }
    }
    imports > 0 && imports * 100 >= all * IMPORTS_PERCENT
}

fn is_import(line: &str) -> bool {
    let code_ends = || line.ends_with([';', '{', '\'', '"', '(']);
    let is_require = || line.contains("= require(") || line.contains("=require(");
    if let Some(rest) = line.strip_prefix("import ") {
        // Python's and Java's imports name a module and nothing else; JavaScript's quote it.
        let names = rest.trim_end_matches(';');
        return rest.contains(" from ")
            || code_ends()
            || names.split([',', ' ']).all(|name| name.is_empty() || is_path(name));
    }
    (line.starts_with("from ") && line.contains(" import "))
        || line.starts_with("#include")
        || (line.starts_with("use ") && code_ends())
        || (line.starts_with("pub use ") && code_ends())
        || (line.starts_with("export ") && line.contains(" from "))
        || line.starts_with("require ")
        || (line.starts_with("using ") && line.ends_with(';'))
        || (line.starts_with("package ") && code_ends())
        || is_require()
}

fn is_path(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ':' | '/' | '*' | '-'))
}

/// Links make up nearly all of it.
fn is_navigation(block: &str) -> bool {
    let (mut links, mut linked) = (0, 0);
    let mut rest = block;
    while let Some(at) = rest.find('[') {
        rest = &rest[at..];
        // Bounded, or a text of opening brackets would be read again for each of them.
        let near = &rest[..rest.floor_char_boundary(LINK_BYTES_MAX)];
        let target = near.find("](").and_then(|middle| {
            let label_is_short = !near[1..middle].contains(['\n', '[']);
            let end = near[middle..].find(')')? + middle;
            (label_is_short && !near[middle..end].contains('\n')).then_some(end)
        });
        match target {
            Some(end) => {
                links += 1;
                linked += rest[..=end].chars().filter(|c| !c.is_whitespace()).count();
                rest = &rest[end + 1..];
            }
            None => rest = &rest[1..],
        }
    }
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+' | '|' | '•' | '·');
    let all = block.chars().filter(|c| !is_mark(*c)).count();
    links >= LINKS_LEAST && linked * 100 >= all.max(1) * LINKS_PERCENT
}
