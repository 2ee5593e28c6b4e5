//! Truncation to a token limit: prefix and suffix stay within the limit and are parts of the text.
#![no_main]

use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::Tokens;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (limit, text) = (Tokens::new(u32::from(input.0)), input.1);
    let tokenizer: &dyn Tokenizer = &Encoding::O200k;

    let prefix = tokenizer.prefix(text, limit);
    assert!(text.starts_with(prefix), "a prefix is where the text begins");
    assert!(tokenizer.count(prefix) <= limit, "a prefix keeps to {limit} tokens");

    let suffix = tokenizer.suffix(text, limit);
    assert!(text.ends_with(suffix), "a suffix is where the text ends");
    assert!(tokenizer.count(suffix) <= limit, "a suffix keeps to {limit} tokens");

    if tokenizer.count(text) <= limit {
        assert_eq!((prefix, suffix), (text, text), "a text that fits is not cut");
    }
});
