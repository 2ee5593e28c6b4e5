//! How good the packing is: how much of a budget it uses, and how near the best it comes.

use haversack_core::assemble::Templates;
use haversack_core::layer::{Claim, Layer, Order};
use haversack_core::pack::pack;
use haversack_core::select::Selector;
use haversack_core::units::{Share, Tokens};
use proptest::prelude::*;

use crate::behaviour::{plain, ranked, request};
use crate::cases::n_cases;

fn small_pieces() -> impl Strategy<Value = Vec<String>> {
    let sentence = prop_oneof![
        6 => "[A-Z][a-z]{2,7}( [a-z]{2,8}){3,9}[.]",
        1 => "[一-十]{4,14}。",
        1 => "[क-ह]{2,5}( [क-ह]{2,5}){1,4}।",
        1 => r#"\{"[a-z]{3,6}": [0-9]{1,5}\}"#,
    ];
    proptest::collection::vec(sentence, 200..260)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_cases(150), ..ProptestConfig::default() })]

    /// At least 97 % of the budget is used when there is enough of small pieces.
    #[test]
    fn properties_the_budget_is_used(
        texts in small_pieces(),
        template in proptest::sample::select(vec!["chat", "plain", "summary"]),
        order in proptest::sample::select(vec![Order::Density, Order::Rank, Order::Essentials, Order::Blocks]),
        shared in any::<bool>(),
        total in 700u32..1_100,
    ) {
        let template = Templates::default().get(template).unwrap().clone();
        let layer = |name: &str, percent, spill| Layer {
            claim: Claim::Share(Share::percent(percent)),
            spill,
            order,
            ..Layer::new(name, template.clone())
        };
        let mut layers = if shared {
            vec![(layer("one", 60, 0), vec![]), (layer("two", 40, 1), vec![])]
        } else {
            vec![(layer("one", 0, 0), vec![])]
        };
        let n = layers.len();
        for (index, text) in texts.iter().enumerate() {
            let score = f64::from(u32::try_from(index * 7919 % 101).unwrap()) / 100.0;
            layers[index % n].1.push(ranked(&index.to_string(), score, text));
        }
        let packed = pack(&request(total, layers)).unwrap();
        prop_assert!(packed.tokens <= Tokens::new(total));
        let used = f64::from(packed.tokens.get()) / f64::from(total);
        prop_assert!(used >= 0.97, "{} of {total}", packed.tokens);
    }
}

/// Retrieval as it comes: few good hits, many poor ones, sizes from a line to a page.
fn realistic(seed: u64, n: usize) -> Vec<haversack_core::rank::Ranked> {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    (0..n)
        .map(|index| {
            let sentences = 1 + next(12) * next(3);
            let text =
                "Each of these has its own say. ".repeat(usize::try_from(sentences).unwrap());
            let noise = f64::from(u32::try_from(next(1_000)).unwrap()) / 1_000.0;
            let rank = f64::from(u32::try_from(index).unwrap());
            ranked(&index.to_string(), 1.0 / (1.0 + rank / 8.0) * (0.7 + 0.3 * noise), &text)
        })
        .collect()
}

/// The greedy selector stays within 5 % of the bound on average; the exact one within less.
#[test]
fn greedy_is_near_the_best() {
    let mut gaps = Vec::new();
    for seed in 0..60 {
        let total = 300 + u32::try_from(seed).unwrap() * 40;
        let mut request = request(total, vec![(plain("all"), realistic(seed + 1, 120))]);
        let greedy = pack(&request).unwrap();
        request.selector = Selector::Exact;
        let exact = pack(&request).unwrap();
        gaps.push((greedy.worth.gap().get(), exact.worth.gap().get()));
    }
    let n = f64::from(u32::try_from(gaps.len()).unwrap());
    let mean = |of: fn(&(f64, f64)) -> f64| gaps.iter().map(of).sum::<f64>() / n;
    let (greedy, exact) = (mean(|gap| gap.0), mean(|gap| gap.1));
    assert!(greedy < 0.05, "greedy stays {:.2} % below the bound", greedy * 100.0);
    assert!(exact <= greedy, "exact {exact} is worse than greedy {greedy}");
}
