//! File paths and names in a query, distinguished from other words with dots and slashes.

use std::ops::Range;

use super::literal::{distinct, is_quote, overlapping};

/// Endings by which a bare word is taken for a file's name. Sorted.
#[rustfmt::skip]
const EXTENSIONS: &[&str] = &[
    "adoc", "avi", "bak", "bash", "bat", "bib", "bmp", "c", "cc", "cfg", "clj", "cmd", "conf",
    "cpp", "cs", "css", "csv", "cts", "cxx", "dart", "db", "diff", "doc", "docx", "dylib",
    "ejs", "eml", "env", "epub", "erl", "ex", "exe", "exs", "fish", "gif", "go", "gradle",
    "graphql", "gz", "h", "hpp", "hs", "htm", "html", "ical", "ico", "ics", "ini", "ipynb",
    "jar", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "key", "kt", "kts", "less",
    "lock", "log", "lua", "markdown", "md", "mdx", "mjs", "mkv", "mov", "mp3", "mp4", "msg",
    "mts", "numbers", "odp", "ods", "odt", "ogg", "org", "parquet", "patch", "pdf", "pem",
    "php", "pl", "plist", "png", "ppt", "pptx", "properties", "proto", "ps1", "psd", "py",
    "pyi", "rb", "rs", "rst", "rtf", "sass", "scala", "scss", "sh", "so", "sql", "sqlite",
    "srt", "svelte", "svg", "swift", "tar", "tex", "tf", "tgz", "tif", "tiff", "toml", "ts",
    "tsv", "tsx", "txt", "vcf", "vue", "wasm", "wav", "webm", "webp", "xls", "xlsx", "xml",
    "yaml", "yml", "zig", "zip", "zsh",
];

/// Names that are files without an ending, lower-cased. Sorted.
#[rustfmt::skip]
const FILE_NAMES: &[&str] = &[
    ".bashrc", ".dockerignore", ".editorconfig", ".env", ".eslintrc", ".gitattributes",
    ".gitignore", ".npmrc", ".prettierrc", ".profile", ".vimrc", ".zshrc", "dockerfile",
    "gemfile", "jenkinsfile", "justfile", "makefile", "procfile", "rakefile", "vagrantfile",
];

/// Folders by which a word with slashes and no ending is taken for a path. Sorted.
#[rustfmt::skip]
const FOLDERS: &[&str] = &[
    "app", "apps", "assets", "bin", "build", "cmd", "components", "config", "crates", "data",
    "dev", "dist", "doc", "docs", "etc", "examples", "home", "include", "internal", "lib",
    "mnt", "node_modules", "notes", "opt", "packages", "pkg", "public", "root", "scripts",
    "spec", "src", "srv", "static", "target", "test", "tests", "tmp", "tools", "users", "usr",
    "var",
];

/// Names of products that look like files. Sorted.
#[rustfmt::skip]
const PRODUCTS: &[&str] = &[
    "alpine.js", "angular.js", "backbone.js", "chart.js", "d3.js", "discord.js", "ember.js",
    "express.js", "nest.js", "next.js", "node.js", "nuxt.js", "p5.js", "react.js", "solid.js",
    "three.js", "vue.js",
];

/// The distinct paths of a query, in order. `taken` are the sorted ranges of something else; a
/// quoted path may hold spaces.
pub(super) fn paths(text: &str, taken: &[Range<usize>], phrases: &[Range<usize>]) -> Vec<String> {
    let quoted: Vec<Range<usize>> =
        phrases.iter().filter(|range| is_quoted_path(&text[(*range).clone()])).cloned().collect();
    let mut found: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at + text[at..].find(|c| !is_separator(c)).unwrap_or(text.len() - at);
        let end = start + text[start..].find(is_separator).unwrap_or(text.len() - start);
        at = end;
        if let Some(phrase) = overlapping(&quoted, &(start..end)) {
            found.push(&text[phrase.clone()]);
            at = phrase.end.max(end);
        } else if overlapping(taken, &(start..end)).is_none() {
            found.push(Some(trimmed(&text[start..end])).filter(|word| is_path(word)).unwrap_or(""));
        }
    }
    distinct(found.into_iter())
}

/// Whether a character separates possible paths.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || is_quote(c)
        || matches!(c, '\'' | '’' | '‘' | '`' | '(' | ')' | '<' | '>' | '[' | ']' | '{' | '}')
        || matches!(c, ',' | ';' | '|' | '*' | '?' | '=' | '，' | '。' | '、' | '？' | '！' | '：')
}

/// Without punctuation at the end and without a line number (`main.rs:12:5`).
fn trimmed(word: &str) -> &str {
    let mut word = word.trim_end_matches(['.', ':', '!', '…']);
    while let Some((path, line)) = word.rsplit_once(':') {
        if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        word = path;
    }
    word
}

fn is_quoted_path(phrase: &str) -> bool {
    let rooted = phrase.starts_with(['/', '~']) || has_drive(phrase);
    !phrase.contains('\n')
        && if phrase.contains(char::is_whitespace) {
            phrase.contains(['/', '\\']) && (rooted || has_extension(phrase))
                || !phrase.contains(". ") && has_extension(phrase)
        } else {
            is_path(phrase)
        }
}

fn is_path(word: &str) -> bool {
    if !word.contains(char::is_alphanumeric) || word.contains(['@', '&', '%', '$']) {
        return false;
    }
    let lower = word.to_lowercase();
    if has_drive(word) || (word.starts_with(r"\\") && word.trim_matches('\\').contains('\\')) {
        return true;
    }
    if ["./", "../", "~/", r".\", r"..\"].iter().any(|start| word.starts_with(start)) {
        return true;
    }
    if word.contains(':') {
        return false;
    }
    if !word.contains(['/', '\\']) {
        return FILE_NAMES.binary_search(&lower.as_str()).is_ok()
            || (has_extension(word) && PRODUCTS.binary_search(&lower.as_str()).is_err());
    }
    is_joined_path(&lower)
}

/// Whether a lower-cased word with slashes is a path rather than alternatives (`and/or`, `24/7`).
fn is_joined_path(lower: &str) -> bool {
    let rooted = lower.starts_with('/');
    let inner = lower.strip_prefix('/').unwrap_or(lower);
    let folder = inner.ends_with(['/', '\\']);
    let inner = inner.trim_end_matches(['/', '\\']);
    let names: Vec<&str> = inner.split(['/', '\\']).collect();
    if names.iter().any(|name| name.is_empty()) || !inner.contains(char::is_alphabetic) {
        return false;
    }
    let last = names[names.len() - 1];
    let known = FOLDERS.binary_search(&names[0]).is_ok();
    let hidden = names.iter().any(|name| name.len() > 1 && name.starts_with('.'));
    known && (rooted || folder || names.len() > 1)
        || (rooted && names.len() > 1)
        || hidden
        || folder && !rooted
        || has_extension(last)
        || FILE_NAMES.binary_search(&last).is_ok()
        || names.iter().any(|name| name.contains('_'))
}

fn has_drive(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() > 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/')
        && bytes[3] != b'/'
}

fn has_extension(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let named = stem.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ')' | ']'));
    named && EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        for table in [EXTENSIONS, FILE_NAMES, FOLDERS, PRODUCTS] {
            assert!(table.is_sorted());
        }
    }
}
