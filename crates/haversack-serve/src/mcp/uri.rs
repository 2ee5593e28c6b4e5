//! The URIs of resources: `haversack://{workspace}/items/{id}`, and the same for receipts.

/// The scheme of all URIs.
const SCHEME: &str = "haversack://";

/// The resource that a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// An item, by id.
    Item(String),
    /// A receipt, by id.
    Receipt(String),
}

/// The URI template of items.
pub(crate) const ITEMS: &str = "haversack://{workspace}/items/{id}";

/// The URI template of receipts.
pub(crate) const RECEIPTS: &str = "haversack://{workspace}/receipts/{id}";

/// The URI of an item.
pub(crate) fn item_uri(workspace: &str, id: &str) -> String {
    format!("{SCHEME}{workspace}/items/{}", percent_encode(id))
}

/// Reads the workspace and the resource from a URI; `None` for foreign URIs.
pub(crate) fn parse(uri: &str) -> Option<(String, Resource)> {
    let (workspace, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (sort, id) = rest.split_once('/')?;
    let id = percent_decode(id)?;
    let resource = match sort {
        "items" => Resource::Item(id),
        "receipts" => Resource::Receipt(id),
        _ => return None,
    };
    Some((percent_decode(workspace)?, resource))
}

/// Percent-encodes a text.
fn percent_encode(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_leads_back_to_its_item() {
        for id in ["n1", "docs/a b.md", "ü%/..//?#", "file:///x"] {
            let uri = item_uri("acme", id);
            let expected = ("acme".to_owned(), Resource::Item(id.to_owned()));
            assert_eq!(parse(&uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn foreign_and_malformed_uris_are_refused() {
        for uri in [
            "",
            "file:///etc/passwd",
            "haversack://acme",
            "haversack://acme/items",
            "haversack://acme/items/",
            "haversack://acme/keys/x",
            "haversack://acme/items/%",
            "haversack://acme/items/%ff",
            "haversack:///items/x",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
