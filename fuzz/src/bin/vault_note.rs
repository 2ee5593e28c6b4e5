//! Notes of vaults: any text is read without a panic, and nothing grows.
#![no_main]

use haversack_reader::{clean_notion_name, read_vault_note};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let part = read_vault_note("Note.md", text);
    assert!(part.body.len() <= text.len() * 2, "a note does not grow");
    assert!(clean_notion_name(text).len() <= text.len());
});
