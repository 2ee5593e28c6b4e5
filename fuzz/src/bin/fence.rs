//! Fences: a pack of any two fenced texts parses back to exactly those two.
#![no_main]

use std::sync::Arc;

use haversack_core::assemble::{Fencing, Template, TemplateText, fence};
use haversack_core::budget::Budget;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::layer::Layer;
use haversack_core::pack::{PackRequest, pack};
use haversack_core::rank::Ranked;
use haversack_core::text::tokenizer::CharacterEstimate;
use haversack_core::units::{Score, Tokens};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: [&str; 2]| {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return;
    }
    let ranked = |(id, text): (&str, &str)| {
        let id = CandidateId::whole(ItemId::new(id).expect("an id"));
        let mut candidate = Candidate::new(id, Kind::new("file").expect("a kind"), text);
        candidate.place.title = Some(text.to_owned());
        Ranked { candidate, score: Score::ONE, parts: Vec::new() }
    };
    let budget = Budget::new(Tokens::new(1_000_000));
    let mut request = PackRequest::new(Arc::new(CharacterEstimate), budget);
    request.fencing = Fencing::All;
    let template = Template::new(TemplateText::PLAIN).expect("parses");
    let candidates = [("a", texts[0]), ("b", texts[1])].map(ranked).to_vec();
    request.layers = vec![(Layer::new("all", template), candidates)];
    let packed = pack(&request).expect("a million tokens are enough");
    let nonce = packed.previous.nonce.expect("everything is fenced");
    let found: Vec<String> =
        fence::parse(&packed.text, &nonce).into_iter().map(|item| item.text.into_owned()).collect();
    assert_eq!(found, texts.map(str::trim_end), "fences hold");
    let _ = fence::parse(texts[0], &nonce);
});
