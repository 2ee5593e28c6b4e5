//! Generated requests: every script, every kind of layer, budgets from nothing to plenty.

use std::sync::Arc;

use haversack_core::assemble::{Fencing, Pattern, Template, TemplateText, Templates};
use haversack_core::budget::Budget;
use haversack_core::candidate::{Block, Candidate, Essential, Place};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::{Kind, Trust};
use haversack_core::layer::{Arrangement, Claim, Cut, KindCap, Layer, Order, Stability};
use haversack_core::pack::{Frame, Overflow, PackRequest};
use haversack_core::rank::Ranked;
use haversack_core::select::{Selector, Stop};
use haversack_core::text::boundary::sentences;
use haversack_core::text::tokenizer::{
    CharacterEstimate, Counted, Encoding, Tokenizer, UpperEstimate,
};
use haversack_core::text::truncate::Truncation;
use haversack_core::units::{Score, Share, Timestamp, Tokens};
use proptest::prelude::*;
use proptest::sample::select;

/// How many cases each property is tried on: a few thousand in the test command, as many as
/// `cargo xtask properties` asks for.
#[expect(clippy::disallowed_methods, reason = "a test's own setting, not core's")]
pub(crate) fn n_cases(by_default: u32) -> u32 {
    let cases = std::env::var("HAVERSACK_CASES").ok();
    cases.and_then(|cases| cases.parse().ok()).unwrap_or(by_default)
}

/// Text as people have it: English, Chinese, Hindi, Arabic, emoji, JSON, hex, code, and mixtures.
pub(crate) fn any_text() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        4 => "[A-Z][a-z]{1,7}( [a-z]{1,9}){1,9}[.!?] ",
        1 => "[A-Z][a-z]{1,7}( [a-z]{1,9}){20,40}[.!?] ",
        1 => "[ก-ฮ]{3,30}",
        1 => "[一-鿋]{2,12}[。！？，]",
        1 => "[क-ह][ा-ौ]?([क-ह ]){2,12}। ",
        1 => "[ا-ي]{2,8}( [ا-ي]{2,8}){0,3}؟ ",
        1 => "[🙂🚀👩🏽‍💻🇫🇷✔️]{1,4} ?",
        1 => r#"\{"[a-z]{1,6}": ("[a-z]{1,8}"|[0-9]{1,6}), "[a-z]{1,4}": \[[0-9]{1,3}\]\} "#,
        1 => "[0-9a-f]{8,40} ",
        1 => "(fn|def|let|if) [a-z_]{1,8}\\([a-z]{0,3}\\) \\{\n    [a-z]+\\(\\);\n\\}\n",
        1 => "(\n\n|\n- |\n# |\t|  |/|\\{\\{content\\}\\}|</data-|<data-)",
        1 => "\\PC{1,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 1..10).prop_map(|pieces| pieces.concat()).boxed()
}

fn any_tokenizer() -> BoxedStrategy<Arc<dyn Tokenizer>> {
    prop_oneof![
        4 => Just(Arc::new(Encoding::O200k) as Arc<dyn Tokenizer>),
        3 => Just(Arc::new(Encoding::Cl100k) as Arc<dyn Tokenizer>),
        1 => Just(Arc::new(Encoding::R50k) as Arc<dyn Tokenizer>),
        1 => Just(Arc::new(CharacterEstimate) as Arc<dyn Tokenizer>),
        1 => Just(Arc::new(UpperEstimate::new(Arc::new(Encoding::O200k), 40)) as Arc<dyn Tokenizer>),
    ]
    .boxed()
}

fn any_template() -> BoxedStrategy<Template> {
    let built_in = Templates::default();
    let mut templates: Vec<Template> = ["chat", "detailed", "summary", "section"]
        .iter()
        .map(|name| built_in.get(name).unwrap().clone())
        .collect();
    let texts = [
        TemplateText { separator: "", footer: "", ..TemplateText::PLAIN },
        TemplateText { separator: "\n", empty: Some("nothing"), ..TemplateText::PLAIN },
        TemplateText {
            header: "{{section}}:",
            item: "/{{title}}{{content}}/",
            separator: "/",
            footer: "\n\n",
            empty: None,
        },
        TemplateText {
            header: "# {{query}}\n",
            item: "{{citation}} {{breadcrumb}} {{lines}} {{content}}",
            separator: "\n \n",
            ..TemplateText::PLAIN
        },
    ];
    templates.extend(texts.map(|text| Template::new(text).unwrap()));
    select(templates).boxed()
}

prop_compose! {
    fn any_layer(name: &'static str)(
        template in any_template(),
        pinned in prop::bool::weighted(0.12),
        share in 0u32..34,
        cap in prop::option::weighted(0.25, 0u32..400),
        spill in 0u32..3,
        order in select(vec![Order::Density, Order::Rank, Order::Essentials, Order::Blocks]),
        cut in prop::option::weighted(0.8, select(vec![
            Truncation::KeepStart, Truncation::KeepEnd, Truncation::Extractive,
        ])),
        arrangement in select(vec![
            Arrangement::Ranked, Arrangement::Edges, Arrangement::Newest, Arrangement::Oldest,
        ]),
        stability in select(vec![
            Stability::Foundational, Stability::Stable, Stability::Volatile,
        ]),
        kind_cap in prop::option::weighted(0.2, 0usize..6),
    ) -> Layer {
        let layer = Layer::new(name, template.clone());
        if pinned {
            return Layer::pinned(name, template);
        }
        Layer {
            claim: Claim::Share(Share::percent(share)),
            cap: cap.map(Tokens::new),
            spill,
            order,
            cut: cut.map(|strategy| Cut { strategy, least: Layer::LEAST }),
            arrangement,
            stability,
            kind_cap: kind_cap.map(|after| KindCap { share: Share::percent(70), after }),
            ..layer
        }
    }
}

prop_compose! {
    fn any_ranked()(
        id in 0u32..60,
        chunk in prop::option::weighted(0.3, 0u32..3),
        kind in select(vec!["file", "message", "память"]),
        text in prop_oneof![9 => any_text(), 1 => "[ \n]{0,2}"],
        score in prop_oneof![(0u32..8).prop_map(|n| f64::from(n) / 8.0), 0.0..1.0],
        essential in prop::bool::weighted(0.3),
        worth in prop_oneof![Just(0.5), 0.0..1.0],
        trust in select(vec![Trust::External, Trust::Internal, Trust::Trusted]),
        moment in prop::option::of(0i64..1_000_000_000_000),
        title in prop::option::of("[\\PC\n\"<>/-]{0,12}"),
        counted in any::<bool>(),
        measured in proptest::collection::vec(0.0..2.0, 0..6),
    ) -> (Ranked, bool) {
        // Short texts come whole; only long ones grow by their blocks.
        let text = if measured.len() > 2 && !text.trim().is_empty() {
            std::iter::repeat_n(text.as_str(), 900 / text.len() + 2).collect::<Vec<_>>().join("\n\n")
        } else {
            text
        };
        let item = ItemId::new(&format!("item {id}")).unwrap();
        let id = CandidateId { item, chunk };
        let mut candidate = Candidate::new(id, Kind::new(kind).unwrap(), &text);
        let first = text.split_whitespace().next();
        candidate.essential = first.filter(|_| essential).map(|word| Essential {
            text: word.into(),
            worth: Score::unit(worth),
        });
        if !measured.is_empty() {
            let scores = measured.iter().cycle();
            let ranges = sentences(&text).into_iter().zip(scores).enumerate();
            candidate.blocks = ranges
                .map(|(place, (range, &score))| Block {
                    range,
                    score: Score::new(score).unwrap(),
                    under: (place % 3 == 2).then(|| place - 2),
                    is_lead: place % 5 == 3,
                    is_prose: place % 4 != 1,
                    is_clutter: place % 7 == 4,
                })
                .collect();
        }
        candidate.trust = trust;
        candidate.moment = moment.map(Timestamp::from_millis);
        candidate.place = Place { title, breadcrumb: vec!["A".into(), "B".into()], ..Place::default() };
        (Ranked { candidate, score: Score::new(score).unwrap(), parts: Vec::new() }, counted)
    }
}

fn any_total() -> BoxedStrategy<u32> {
    prop_oneof![2 => 0u32..60, 5 => 20u32..1_200, 2 => 1_000u32..6_000, 1 => 5_000u32..50_000]
        .boxed()
}

prop_compose! {
    /// Any request that is not malformed.
    pub(crate) fn any_request()(
        tokenizer in any_tokenizer(),
        total in any_total(),
        reserve in 0u32..20,
        layers in (any_layer("one"), any_layer("two"), any_layer("three")),
        n_layers in 1usize..=3,
        ranked in proptest::collection::vec((any_ranked(), 0usize..3), 0..24),
        fencing in select(vec![Fencing::Off, Fencing::Lines, Fencing::Untrusted, Fencing::All, Fencing::Sections]),
        overflow in prop_oneof![4 => Just(Overflow::Refuse), 1 => Just(Overflow::Exceed)],
        stop in prop::option::weighted(0.15, (50u32..100, 0usize..6)),
        frame in prop::bool::weighted(0.3),
        query in "[a-z ]{0,20}",
    ) -> PackRequest {
        let total = Tokens::new(total.max(reserve));
        let budget = Budget::new(total).reserve("system", Tokens::new(reserve)).unwrap();
        let (one, two, three) = layers;
        let mut layers: Vec<(Layer, Vec<Ranked>)> =
            [one, two, three].into_iter().take(n_layers).map(|layer| (layer, Vec::new())).collect();
        for ((mut ranked, counted), layer) in ranked {
            let candidate = &mut ranked.candidate;
            if counted {
                let parts = sentences(&candidate.text).into_iter();
                let parts = parts.filter_map(|part| Counted::count_part(&*tokenizer, &candidate.text, part));
                candidate.counted = parts.collect();
            }
            layers[layer % n_layers].1.push(ranked);
        }
        let frame_of = |source: &str| {
            Pattern::frame(if frame { source } else { "" }).unwrap()
        };
        PackRequest {
            query_terms: query.split_whitespace().map(str::to_owned).collect(),
            query,
            overflow,
            layers,
            frame: Frame { before: frame_of("Context\n\n"), after: frame_of("\nQuery: {{query}}") },
            fencing,
            stop: stop.map(|(fill, items)| Stop { fill: Share::percent(fill), items }),
            selector: Selector::Greedy,
            ..PackRequest::new(tokenizer, budget)
        }
    }
}
