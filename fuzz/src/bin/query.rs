//! Queries: any string is analysed without a panic, and found paths, URLs and mentions occur in it.
#![no_main]

use haversack_core::ids::ItemId;
use haversack_core::query::analyse;
use haversack_core::query::mention::{Mentions, Name};
use haversack_core::rank::Expression;
use haversack_core::units::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (i64, &str)| {
    let (moment, text) = input;
    let analysis = analyse(text, Timestamp::from_millis(moment));
    for found in analysis.paths.iter().chain(&analysis.urls) {
        assert!(text.contains(found.as_str()), "{found:?} does not stand in the query");
    }
    for range in &analysis.times {
        assert!(range.from <= range.to, "{:?} ends before it begins", range.text);
    }
    let names = ["Acme", "Blue Ocean", "Zürich Re"]
        .map(|name| Name { id: ItemId::new(name).expect("an id"), names: vec![name.to_owned()] });
    for mention in Mentions::new(&names).find(text) {
        assert_eq!(mention.span.slice(text), Some(mention.matched.as_str()));
    }
    // Expressions come from users too: they parse or are rejected, and run without a panic.
    if let Ok(expression) = Expression::new(text) {
        let _ = expression.scorer().score(&haversack_core::rank::Signals::default());
    }
});
