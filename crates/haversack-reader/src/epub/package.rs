//! The package of a book: what it is called, and the order of its chapters.

use std::collections::BTreeMap;

use crate::html::{Token, Tokens, attribute, decode_attribute, decode_text};
use crate::limits::PAGES_MAX;

/// What a package document says.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) title: String,
    pub(super) authors: Vec<String>,
    pub(super) language: String,
    pub(super) publisher: String,
    pub(super) description: String,
    pub(super) date: String,
    pub(super) modified: String,
    /// The paths of the chapters, in order.
    pub(super) chapters: Vec<String>,
    /// The path of the table of contents of EPUB 3.
    pub(super) navigation: Option<String>,
    /// The path of the table of contents of EPUB 2.
    pub(super) contents: Option<String>,
}

impl Package {
    /// Reads a package document, whose path others are relative to.
    pub(super) fn read(text: &str, path: &str) -> Package {
        let mut package = Package::default();
        let mut manifest = BTreeMap::new();
        let mut spine = Vec::new();
        let mut open = String::new();
        for token in Tokens::new(text, true) {
            match token {
                Token::Start { name, attributes, .. } => {
                    let value = |name: &str| {
                        decode_attribute(attribute(attributes, name).unwrap_or_default())
                            .into_owned()
                    };
                    open = local_name(name).to_ascii_lowercase();
                    match open.as_str() {
                        "item" => {
                            let target = join_path(path, &value("href"));
                            if value("properties").split(' ').any(|property| property == "nav") {
                                package.navigation = Some(target.clone());
                            }
                            if value("media-type") == "application/x-dtbncx+xml" {
                                package.contents = Some(target.clone());
                            }
                            manifest.insert(value("id"), target);
                        }
                        "itemref" => spine.push(value("idref")),
                        "meta" if value("property") == "dcterms:modified" => {
                            "modified".clone_into(&mut open)
                        }
                        _ => {}
                    }
                }
                Token::Text(text) => package.take_text(&open, &decode_text(text)),
                Token::Raw(text) => package.take_text(&open, text),
                Token::End(_) => open.clear(),
            }
        }
        let chapters = spine.iter().filter_map(|id| manifest.get(id).cloned());
        package.chapters = chapters.take(PAGES_MAX).collect();
        package
    }

    fn take_text(&mut self, element: &str, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        let field = match element {
            "title" => &mut self.title,
            "language" => &mut self.language,
            "publisher" => &mut self.publisher,
            "description" => &mut self.description,
            "date" => &mut self.date,
            "modified" => &mut self.modified,
            "creator" => return self.authors.push(text),
            _ => return,
        };
        if field.is_empty() {
            *field = text;
        }
    }
}

/// The titles of chapters in a table of contents of either kind, by their paths.
pub(super) fn read_contents(text: &str, path: &str) -> BTreeMap<String, String> {
    let mut titles = BTreeMap::new();
    let (mut label, mut target, mut is_open) = (String::new(), None, false);
    for token in Tokens::new(text, true) {
        match token {
            Token::Start { name, attributes, .. } => match local_name(name) {
                "a" => {
                    let address =
                        decode_attribute(attribute(attributes, "href").unwrap_or_default());
                    (target, is_open) = (Some(join_path(path, &address)), true);
                    label.clear();
                }
                "text" => {
                    is_open = true;
                    label.clear();
                }
                "content" => {
                    let address =
                        decode_attribute(attribute(attributes, "src").unwrap_or_default());
                    add_title(&mut titles, join_path(path, &address), &label);
                }
                _ => {}
            },
            Token::Text(text) if is_open => label.push_str(&decode_text(text)),
            Token::End(name) if matches!(local_name(name), "a" | "text") => {
                is_open = false;
                if let Some(target) = target.take() {
                    add_title(&mut titles, target, &label);
                }
            }
            _ => {}
        }
    }
    titles
}

/// Adds a title. The first of a chapter counts; further ones are of its sections.
fn add_title(titles: &mut BTreeMap<String, String>, path: String, label: &str) {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if !label.is_empty() {
        titles.entry(path).or_insert(label);
    }
}

/// The path of the package document that a container names.
pub(super) fn package_path(container: &str) -> Option<String> {
    let mut tokens = Tokens::new(container, true);
    tokens.find_map(|token| match token {
        Token::Start { name, attributes, .. } if local_name(name) == "rootfile" => {
            attribute(attributes, "full-path").map(|path| decode_attribute(path).into_owned())
        }
        _ => None,
    })
}

/// Whether a list of encrypted entries holds anything but fonts that are only scrambled.
pub(super) fn protects_content(encryption: &str) -> bool {
    const SCRAMBLED: [&str; 2] =
        ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];
    let mut is_scrambled = false;
    for token in Tokens::new(encryption, true) {
        let Token::Start { name, attributes, .. } = token else { continue };
        match local_name(name) {
            "EncryptedData" => is_scrambled = false,
            "EncryptionMethod" => {
                let algorithm = attribute(attributes, "Algorithm").unwrap_or_default();
                is_scrambled |= SCRAMBLED.contains(&algorithm);
            }
            "CipherReference" if !is_scrambled => return true,
            _ => {}
        }
    }
    false
}

/// The name of an element without the prefix of its namespace.
fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The path of a reference in a document, without its fragment.
fn join_path(document: &str, reference: &str) -> String {
    let reference = reference.split('#').next().unwrap_or_default();
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let decoded = decode_percent(reference);
    for name in decoded.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Decodes `%20` and its like.
fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
