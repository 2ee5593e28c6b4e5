//! The words of each workspace, who may see them, and how they are found in a response.

use std::collections::BTreeSet;

use serde_json::Value;

/// What every canary begins with. No request ever holds one that its sender may not see.
const CANARY: &str = "canary";

/// What every name begins with. Anyone may send one, so a response may repeat one that was sent.
const NAME: &str = "harbour";

/// A workspace's name, which its items' ids and texts hold, too.
pub(super) fn name(tenant: usize) -> String {
    format!("{NAME}{tenant:03}x")
}

/// A word in the texts that everyone in the workspace can read.
pub(super) fn open_word(tenant: usize) -> String {
    format!("{CANARY}open{tenant:03}q")
}

/// A word in the texts for Anna alone.
pub(super) fn kept_word(tenant: usize) -> String {
    format!("{CANARY}kept{tenant:03}q")
}

/// A group among the readers of those texts. Only who sees everything is told readers.
pub(super) fn group_word(tenant: usize) -> String {
    format!("{CANARY}group{tenant:03}q")
}

/// How much of its workspaces a credential sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sees {
    Nothing,
    /// What everyone in the workspace can read.
    Open,
    /// That, and what Anna can read.
    Kept,
    /// That, and who can read it.
    Everything,
}

/// The words that a credential may see.
pub(super) fn visible_words(tenants: &[usize], sees: Sees) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for tenant in tenants {
        let by_level = [
            (Sees::Open, name(*tenant)),
            (Sees::Open, open_word(*tenant)),
            (Sees::Kept, kept_word(*tenant)),
            (Sees::Everything, group_word(*tenant)),
        ];
        words
            .extend(by_level.into_iter().filter(|(least, _)| sees >= *least).map(|(_, word)| word));
    }
    words
}

/// Every canary and name in a text, in lower case; one that the text cuts short is as long as it stands.
pub(super) fn marks(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let mut found = BTreeSet::new();
    for prefix in [CANARY, NAME] {
        for (at, _) in text.match_indices(prefix) {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// The words in a response that its caller may not see: neither its own nor a name that it sent.
pub(super) fn leaks(response: &str, sent: &str, visible: &BTreeSet<String>) -> Vec<String> {
    let sent = marks(sent);
    let is_leak = |mark: &String| {
        let is_visible = visible.iter().any(|word| word.starts_with(mark.as_str()));
        let is_echo = mark.starts_with(NAME) && sent.contains(mark);
        !is_visible && !is_echo
    };
    marks(response).into_iter().filter(is_leak).collect()
}

/// Whether a response holds a vector: a list of so many numbers stands nowhere else (S24).
pub(super) fn holds_vector(value: &Value) -> bool {
    match value {
        Value::Array(list) => {
            list.len() >= 32 && list.iter().all(Value::is_number) || list.iter().any(holds_vector)
        }
        Value::Object(fields) => fields.values().any(holds_vector),
        _ => false,
    }
}

/// The canaries in a file that are not of this workspace. In a file, bytes of other things may follow a
/// word directly.
pub(super) fn foreign_in_file(bytes: &[u8], tenant: usize) -> Vec<String> {
    let own = visible_words(&[tenant], Sees::Everything);
    let is_own = |mark: &str| {
        own.iter().any(|word| word.starts_with(mark) || mark.starts_with(word.as_str()))
    };
    let found = marks(&String::from_utf8_lossy(bytes));
    found.into_iter().filter(|mark| mark.starts_with(CANARY) && !is_own(mark)).collect()
}

#[test]
fn a_foreign_canary_is_a_leak_and_an_own_one_is_none() {
    let own = visible_words(&[7], Sees::Open);
    let check = |response: &str, sent: &str, expected: &[&str]| {
        assert_eq!(leaks(response, sent, &own), expected, "{response}");
    };
    check(r#"{"body":"The CanaryOpen007q plan","name":"harbour007x"}"#, "", &[]);
    check(r#"{"body":"canaryopen00"}"#, "", &[]);
    check(r#"{"body":"the canaryopen008q plan"}"#, "", &["canaryopen008q"]);
    check(r#"{"body":"\ncanarykept007q"}"#, "", &["canarykept007q"]);
    check("no item \"harbour008x-1\"", "GET /items/harbour008x-1", &[]);
    check("nearest are harbour009x", "GET /items/harbour008x-1", &["harbour009x"]);
    // A canary that was sent is no excuse: none is sent by who may not see it.
    check("canaryopen008q", "canaryopen008q", &["canaryopen008q"]);
    assert_eq!(foreign_in_file(b"\x02canaryopen007qz canaryopen008q", 7), ["canaryopen008q"]);
}
