//! Templates: any source parses or is rejected, and inserted values are rendered verbatim.
#![no_main]

use std::sync::Arc;

use haversack_core::assemble::{Fencing, Template, TemplateText};
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

fuzz_target!(|input: (&str, &str, &str)| {
    let (item, separator, content) = input;
    let text = TemplateText { item, separator, header: item, ..TemplateText::PLAIN };
    let text = if Template::new(text).is_ok() { text } else { TemplateText { header: "", ..text } };
    let Ok(template) = Template::new(text) else { return };
    let id = CandidateId::whole(ItemId::new("a").expect("an id"));
    let candidate = Candidate::new(id, Kind::new("file").expect("a kind"), content);
    let ranked = Ranked { candidate, score: Score::ONE, parts: Vec::new() };
    let budget = Budget::new(Tokens::new(1_000_000));
    let mut request = PackRequest::new(Arc::new(CharacterEstimate), budget);
    request.fencing = Fencing::Off;
    request.layers = vec![(Layer::new("all", template), vec![ranked])];
    let packed = pack(&request).expect("a million tokens are enough");
    assert!(packed.text.contains(content.trim_end()), "a text is never changed by its template");
});
