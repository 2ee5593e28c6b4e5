//! The addresses of resources: `haversack://{workspace}/items/{id}` and the same for receipts.

/// What all addresses begin with.
const SCHEME: &str = "haversack://";

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// An item, by id.
    Item(String),
    /// A receipt, by id.
    Receipt(String),
}

/// The template of items' addresses.
pub(crate) const ITEMS: &str = "haversack://{workspace}/items/{id}";

/// The template of receipts' addresses.
pub(crate) const RECEIPTS: &str = "haversack://{workspace}/receipts/{id}";

/// The address of an item.
pub(crate) fn of_item(workspace: &str, id: &str) -> String {
    format!("{SCHEME}{workspace}/items/{}", encoded(id))
}

/// The workspace and what of it an address names; nothing for addresses of others.
pub(crate) fn parse(uri: &str) -> Option<(String, Resource)> {
    let (workspace, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (sort, id) = rest.split_once('/')?;
    let id = decoded(id)?;
    let resource = match sort {
        "items" => Resource::Item(id),
        "receipts" => Resource::Receipt(id),
        _ => return None,
    };
    Some((decoded(workspace)?, resource))
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
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

fn decoded(text: &str) -> Option<String> {
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
    fn an_address_leads_back_to_its_item() {
        for id in ["n1", "docs/a b.md", "ü%/..//?#", "file:///x"] {
            let uri = of_item("acme", id);
            let expected = ("acme".to_owned(), Resource::Item(id.to_owned()));
            assert_eq!(parse(&uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn what_is_no_address_of_ours_names_nothing() {
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
