//! Links and names in the Markdown of note-taking programs: Obsidian's links and Notion's file names.

/// Makes the links of an Obsidian vault plain, and returns the notes that they lead to, in order and once.
///
/// `[[Note|alias]]` becomes `alias`, `[[Note#Part]]` becomes `Note, Part`, and `![[picture.png]]` becomes
/// `[picture.png]`. Code is left as it is.
pub(crate) fn clean_wikilinks(text: &str) -> (String, Vec<String>) {
    let (mut clean, mut links) = (String::with_capacity(text.len()), Vec::new());
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_fenced ^= is_fence;
        match is_fenced || is_fence {
            true => clean.push_str(line),
            false => clean_line(line, &mut clean, &mut links),
        }
    }
    (clean, links)
}

fn clean_line(line: &str, clean: &mut String, links: &mut Vec<String>) {
    for (at, piece) in line.split('`').enumerate() {
        if at > 0 {
            clean.push('`');
        }
        if at % 2 == 1 {
            clean.push_str(piece);
            continue;
        }
        let mut rest = piece;
        while let Some(start) = rest.find("[[") {
            let Some(length) = rest[start..].find("]]") else { break };
            let inner = &rest[start + 2..start + length];
            let before = &rest[..start];
            let is_embedded = before.ends_with('!');
            clean.push_str(before.strip_suffix('!').unwrap_or(before));
            clean.push_str(&link_text(inner, is_embedded));
            add_link(inner, links);
            rest = &rest[start + length + 2..];
        }
        clean.push_str(rest);
    }
}

fn link_text(inner: &str, is_embedded: bool) -> String {
    let (target, alias) = inner.split_once('|').unwrap_or((inner, ""));
    let target = target.trim_end_matches('\\').trim();
    // What follows the bar of an embedded picture is its width.
    let text = match alias.trim() {
        "" => target.replace("#^", "#").replace('#', ", ").trim_start_matches(", ").to_owned(),
        _ if is_embedded => target.to_owned(),
        alias => alias.to_owned(),
    };
    if is_embedded { format!("[{text}]") } else { text }
}

fn add_link(inner: &str, links: &mut Vec<String>) {
    let target = inner.split(['|', '#']).next().unwrap_or_default().trim_end_matches('\\').trim();
    if !target.is_empty() && links.len() < 1_000 && !links.iter().any(|known| known == target) {
        links.push(target.to_owned());
    }
}

/// A path without the 32 hexadecimal digits that Notion adds to the names of pages and folders.
#[must_use]
pub fn clean_notion_name(path: &str) -> String {
    path.split('/').map(clean_segment).collect::<Vec<_>>().join("/")
}

fn clean_segment(segment: &str) -> String {
    let (stem, extension) = match segment.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 5 => (stem, Some(extension)),
        _ => (segment, None),
    };
    let (stem, all) = match stem.strip_suffix("_all") {
        Some(stem) => (stem, true),
        None => (stem, false),
    };
    let Some(name) = notion_id(stem).and_then(|id| stem.strip_suffix(id)) else {
        return segment.to_owned();
    };
    let name = name.trim_end();
    let name = if name.is_empty() { "Untitled" } else { name };
    let all = if all { "_all" } else { "" };
    extension.map_or_else(|| format!("{name}{all}"), |it| format!("{name}{all}.{it}"))
}

/// The 32 hexadecimal digits at the end of a name, after a space.
pub(crate) fn notion_id(stem: &str) -> Option<&str> {
    let at = stem.len().checked_sub(32)?;
    let id = stem.get(at..)?;
    let is_apart = at == 0 || stem.get(..at)?.ends_with([' ', '-']);
    (is_apart && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, links: &[&str]) {
        let (clean, found) = clean_wikilinks(text);
        assert_eq!(
            (clean.as_str(), found),
            (expected, links.iter().map(|it| (*it).to_owned()).collect())
        );
    }

    #[test]
    fn wikilinks_become_text() {
        check("see [[Kiel]] and [[Kiel|the city]]", "see Kiel and the city", &["Kiel"]);
        check("[[Kiel#Harbour]], [[#Here]]", "Kiel, Harbour, Here", &["Kiel"]);
        check("![[a b.png|300]]!", "[a b.png]!", &["a b.png"]);
        check("`[[code]]` [[open", "`[[code]]` [[open", &[]);
        check("```\n[[code]]\n```\n[[A]]", "```\n[[code]]\n```\nA", &["A"]);
        check("| [[A\\|b]] |", "| b |", &["A"]);
        check("[[]]", "", &[]);
    }

    #[test]
    fn names_of_notion_lose_their_ids() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(clean_notion_name(&format!("My Wiki {id}/Page {id}.md")), "My Wiki/Page.md");
        assert_eq!(clean_notion_name(&format!("Tasks {id}_all.csv")), "Tasks_all.csv");
        assert_eq!(clean_notion_name(&format!("{id}.md")), "Untitled.md");
        assert_eq!(clean_notion_name("a/b.md"), "a/b.md");
        assert_eq!(clean_notion_name("é".repeat(31).as_str()), "é".repeat(31));
    }
}
