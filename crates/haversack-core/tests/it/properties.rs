//! The promises as properties, over generated requests.

use std::collections::BTreeMap;

use haversack_core::assemble::Fencing;
use haversack_core::assemble::fence;
use haversack_core::ids::CandidateId;
use haversack_core::layer::Claim;
use haversack_core::ledger::{Outcome, PackNotice, Reason};
use haversack_core::pack::{Overflow, Pack, PackError, PackRequest, Plan, pack};
use haversack_core::select::Selector;
use haversack_core::text::chunk::{ChunkLimits, CodeLanguage, Format, chunk};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::Tokens;
use proptest::prelude::*;

use crate::cases::{any_request, any_text, n_cases};

/// The pack at a budget, or at the least budget when that is more.
fn feasible<'r>(plan: &Plan<'r>, total: Tokens) -> (Tokens, Pack) {
    let total = total.max(plan.least());
    (total, plan.pack_at(total).expect("the least budget is feasible"))
}

fn outcomes(pack: &Pack) -> BTreeMap<String, Outcome> {
    pack.ledger
        .iter()
        .filter(|entry| {
            !matches!(entry.outcome, Outcome::Out(Reason::Elsewhere { .. } | Reason::Empty))
        })
        .map(|entry| (entry.id.to_string(), entry.outcome.clone()))
        .collect()
}

/// In, as far as its layer's cap lets it.
fn is_in(pack: &Pack, id: &CandidateId) -> bool {
    matches!(outcomes(pack)[&id.to_string()], Outcome::In | Outcome::Cut { whole_from: None, .. })
}

fn n_candidates(request: &PackRequest) -> usize {
    request.layers.iter().map(|(_, ranked)| ranked.len()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_cases(1_200), ..ProptestConfig::default() })]

    /// X1, P2, P3: never over budget, counted on the bytes; an impossible budget names the least.
    #[test]
    fn properties_no_pack_is_over_budget(request in any_request()) {
        let plan = Plan::new(&request).unwrap();
        let total = request.budget.total();
        match plan.pack() {
            Ok(pack) => {
                prop_assert_eq!(pack.tokens, request.tokenizer.count(&pack.text));
                // Only what is pinned may have more, of the reserves and then of the budget.
                let limit = request.budget.spendable();
                if pack.tokens > limit {
                    prop_assert_eq!(request.overflow, Overflow::Exceed);
                    let pinned = |layer: &str| request.layers.iter()
                        .any(|(known, _)| *known.name == *layer && known.claim == Claim::Pinned);
                    for section in pack.sections.iter().filter(|section| !section.items.is_empty()) {
                        prop_assert!(pinned(&section.layer), "{} > {limit}", pack.tokens);
                    }
                    let said = pack.notices.iter().any(|n| matches!(n, PackNotice::OverBudget { .. }));
                    prop_assert!(said || pack.tokens <= total);
                }
                prop_assert!(pack.worth.bound >= pack.worth.value);
            }
            Err(PackError::Infeasible { least, .. }) => {
                prop_assert!(least > total);
                prop_assert!(plan.pack_at(least).is_ok());
                if let Some(less) = least.checked_sub(Tokens::new(1)) {
                    prop_assert!(plan.pack_at(less).is_err());
                }
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    /// X1: a pack that would be empty for want of room is refused with a budget that shows
    /// something.
    #[test]
    fn properties_the_least_budget_of_a_refusal_shows_something(request in any_request()) {
        let plan = Plan::new(&request).unwrap();
        let total = request.budget.total();
        for total in [total, Tokens::ZERO, Tokens::new(1), plan.least()] {
            match plan.pack_shown_at(total) {
                Ok(pack) => prop_assert_eq!(pack.text, plan.pack_at(total).unwrap().text),
                Err(PackError::Infeasible { least, .. }) => {
                    prop_assert!(least > total, "{least} is no more than {total}");
                    let shown = plan.pack_shown_at(least);
                    prop_assert!(shown.is_ok_and(|pack| pack.tokens <= least), "at {least}");
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }

    /// P2, X2: pinned text is whole; every candidate is in the ledger exactly once; what the ledger
    /// says is in the pack is there, and nothing else is; spans slice.
    #[test]
    fn properties_the_ledger_partitions_the_candidates(request in any_request()) {
        let plan = Plan::new(&request).unwrap();
        let (_, pack) = feasible(&plan, request.budget.total());
        prop_assert_eq!(pack.ledger.len(), n_candidates(&request));
        let mut said: Vec<String> = pack.ledger.iter()
            .filter(|entry| !matches!(entry.outcome, Outcome::Out(_)))
            .map(|entry| format!("{} {}", entry.layer, entry.id))
            .collect();
        let mut shown: Vec<String> = Vec::new();
        for section in &pack.sections {
            let text = section.span.slice(&pack.text).unwrap();
            prop_assert_eq!(section.tokens, request.tokenizer.count(text));
            let (layer, _) = request.layers.iter()
                .find(|(layer, _)| layer.name == section.layer).unwrap();
            if let Some(cap) = layer.cap {
                prop_assert!(section.tokens <= cap || section.items.is_empty());
            }
            for item in &section.items {
                shown.push(format!("{} {}", section.layer, item.id));
                prop_assert!(item.span.slice(&pack.text).is_some());
            }
        }
        said.sort();
        shown.sort();
        prop_assert_eq!(said, shown);
        for entry in &pack.ledger {
            let (layer, _) =
                request.layers.iter().find(|(layer, _)| layer.name == entry.layer).unwrap();
            let aside = matches!(entry.outcome, Outcome::Out(Reason::Elsewhere { .. } | Reason::Empty));
            if layer.claim == Claim::Pinned && !aside {
                prop_assert_eq!(&entry.outcome, &Outcome::In);
            }
            if let (Claim::Pinned, Outcome::Out(Reason::Elsewhere { layer })) =
                (layer.claim, &entry.outcome)
            {
                let (holder, _) = request.layers.iter().find(|(l, _)| l.name == *layer).unwrap();
                prop_assert_eq!(holder.claim, Claim::Pinned);
            }
        }
        for (citation, item) in
            pack.citations.iter().zip(pack.sections.iter().flat_map(|section| &section.items))
        {
            prop_assert_eq!((&citation.id, &citation.candidate), (&item.citation, &item.id));
        }
        let ids: std::collections::BTreeSet<_> = pack.citations.iter().map(|c| &c.id).collect();
        prop_assert_eq!(ids.len(), pack.citations.len());
    }

    /// X2: the budget that the ledger names lets the candidate in, and no smaller one does.
    #[test]
    fn properties_a_counterfactual_budget_lets_its_item_in(request in any_request()) {
        let plan = Plan::new(&request).unwrap();
        let (total, pack) = feasible(&plan, request.budget.total());
        let claims = pack.ledger.iter().filter_map(|entry| match entry.outcome {
            Outcome::Out(Reason::OverBudget { whole_from, least }) => {
                Some((entry, whole_from, least))
            }
            Outcome::Out(Reason::FullEnough { whole_from }) => Some((entry, whole_from, true)),
            Outcome::Cut { whole_from: Some(whole_from), .. } => Some((entry, whole_from, true)),
            _ => None,
        });
        for (entry, needs, least) in claims.take(4) {
            prop_assert!(needs > total, "{}: {needs} is no more than {total}", entry.id);
            let (_, with) = feasible(&plan, needs);
            prop_assert!(is_in(&with, &entry.id), "{} is not in at {needs}", entry.id);
            let (less, without) = feasible(&plan, needs.saturating_sub(Tokens::new(1)));
            if least && less < needs {
                prop_assert!(!is_in(&without, &entry.id), "{} is in below {needs}", entry.id);
            }
        }
    }

    /// A larger budget keeps what a smaller one had and is never worth less; each point of the
    /// frontier is what a run of its own gives.
    #[test]
    fn properties_more_budget_is_never_worse(request in any_request(), more in 1u32..300) {
        let plan = Plan::new(&request).unwrap();
        let (total, pack) = feasible(&plan, request.budget.total());
        let (larger, richer) = feasible(&plan, total + Tokens::new(more));
        prop_assert!(
            richer.worth.value >= pack.worth.value - 1e-9,
            "{} at {larger}, {} at {total}", richer.worth.value, pack.worth.value
        );
        let after = outcomes(&richer);
        for (id, outcome) in outcomes(&pack) {
            if outcome == Outcome::In {
                prop_assert_eq!(&after[&id], &Outcome::In, "{} was in", id);
            }
        }
        for (point, pack) in
            plan.frontier(&[total, larger]).unwrap().into_iter().zip([&pack, &richer])
        {
            prop_assert_eq!(point.tokens, pack.tokens);
            prop_assert_eq!(point.worth, pack.worth);
            let n: usize = pack.sections.iter().map(|section| section.items.len()).sum();
            prop_assert_eq!(point.n_items, n);
        }
    }

    /// Same input, same bytes, in whatever order it came; a separate run gives what a plan gives.
    #[test]
    fn properties_input_order_does_not_change_the_bytes(
        request in any_request(), turn in 0usize..20,
    ) {
        let mut turned = request.clone();
        for (_, ranked) in &mut turned.layers {
            let len = ranked.len().max(1);
            ranked.rotate_left(turn % len);
            ranked.reverse();
        }
        match (pack(&request), pack(&turned)) {
            (Ok(a), Ok(b)) => {
                prop_assert_eq!(&a.text, &b.text);
                prop_assert_eq!(a.receipt, b.receipt);
                prop_assert_eq!(format!("{:?}", a.ledger), format!("{:?}", b.ledger));
                let mut again = request.clone();
                again.seed.push('x');
                if let Ok(again) = pack(&again) {
                    prop_assert_ne!(again.receipt.inputs, a.receipt.inputs);
                }
            }
            (a, b) => prop_assert_eq!(a.err(), b.err()),
        }
    }

    /// Fenced packs parse back to the same items, whatever their texts hold.
    #[test]
    fn properties_fenced_packs_parse_back(request in any_request()) {
        let plan = Plan::new(&request).unwrap();
        let (_, pack) = feasible(&plan, request.budget.total());
        let Some(nonce) = &pack.previous.nonce else { return Ok(()) };
        let candidates: BTreeMap<_, _> = request.layers.iter()
            .flat_map(|(_, ranked)| ranked)
            .map(|ranked| (&ranked.candidate.id, &ranked.candidate))
            .collect();
        let items: Vec<_> = pack.sections.iter().flat_map(|section| &section.items).collect();
        let parsed = fence::parse(&pack.text, nonce);
        if request.fencing == Fencing::Sections {
            let sections: Vec<_> = pack.sections.iter()
                .filter(|section| !section.items.is_empty())
                .map(|section| section.layer.replace(' ', "-"))
                .collect();
            let mut names = sections.iter();
            for fenced in &parsed {
                let known = names.any(|name| name == fenced.citation);
                prop_assert!(known, "a text forged the fence {:?}", fenced.citation);
            }
            return Ok(());
        }
        let mut parsed = parsed.iter().peekable();
        for item in items {
            let candidate = candidates[&item.id];
            let open = format!("<data-{} ", nonce.as_str());
            if !item.span.slice(&pack.text).unwrap().starts_with(&open) {
                continue;
            }
            let fenced = parsed.next().unwrap();
            prop_assert_eq!(fenced.citation, item.citation.as_str());
            // Two candidates of one id and different texts leave open which of them stands there.
            let twins = request.layers.iter().flat_map(|(_, ranked)| ranked)
                .filter(|ranked| ranked.candidate.id == item.id).count() > 1;
            if item.shortened.is_none() && !twins {
                prop_assert_eq!(fenced.trust, candidate.trust);
                prop_assert!(fenced.text.contains(candidate.text.trim_end()));
            }
        }
        prop_assert!(parsed.next().is_none(), "a text forged a fence");
    }

    /// The exact selector is never worth less than the greedy one, and within budget all the same.
    #[test]
    fn properties_exact_is_never_worse_than_greedy(mut request in any_request()) {
        request.stop = None;
        let plan = Plan::new(&request).unwrap();
        let (total, greedy) = feasible(&plan, request.budget.total());
        drop(plan);
        request.selector = Selector::Exact;
        let plan = Plan::new(&request).unwrap();
        let exact = plan.pack_at(total).unwrap();
        prop_assert!(
            exact.worth.value >= greedy.worth.value,
            "{} is less than {}",
            exact.worth.value,
            greedy.worth.value
        );
        prop_assert!(exact.worth.bound >= exact.worth.value);
        prop_assert!(exact.tokens <= greedy.tokens.max(total.saturating_sub(request.budget.reserved())));
        prop_assert_eq!(exact.tokens, request.tokenizer.count(&exact.text));
        prop_assert_eq!(exact.ledger.len(), n_candidates(&request));
        for entry in exact.ledger.iter().take(3) {
            if let Outcome::Out(Reason::OverBudget { whole_from, .. }) = entry.outcome {
                let (_, with) = feasible(&plan, whole_from);
                prop_assert!(is_in(&with, &entry.id), "{} is not in at {whole_from}: {:?}", entry.id, outcomes(&with));
            }
        }
    }

    /// A pack that follows itself keeps all that was whole, in the order in which it stood. (Room
    /// for a little more may appear, for what was not in has another place now.)
    #[test]
    fn properties_a_pack_that_follows_itself_keeps_its_order(mut request in any_request()) {
        let Ok(first) = pack(&request) else { return Ok(()) };
        request.previous = Some(first.previous.clone());
        let second = pack(&request).unwrap();
        let whole = |pack: &Pack| -> Vec<CandidateId> {
            let items = pack.sections.iter().flat_map(|section| &section.items);
            items.filter(|item| item.shortened.is_none()).map(|item| item.id.clone()).collect()
        };
        let (mut before, mut after) = (whole(&first), whole(&second));
        after.retain(|id| before.contains(id));
        if request.layers.iter().any(|(layer, _)| layer.cap.is_some()) {
            // A text that is cut to its layer's cap may be cut elsewhere in another place, and a
            // token more there is one less for what comes last.
            before.retain(|id| after.contains(id));
        }
        prop_assert_eq!(before, after);
        prop_assert_eq!(first.previous.nonce, second.previous.nonce);
    }

    /// X7: chunks slice back, keep to their limit, and leave out nothing but white space.
    #[test]
    fn properties_chunks_slice_back(
        text in proptest::collection::vec(any_text(), 1..6),
        format in proptest::sample::select(vec![
            Format::Plain, Format::Markdown, Format::Code(CodeLanguage::Rust), Format::Code(CodeLanguage::Python),
        ]),
        max in 16u32..200,
        o200k in any::<bool>(),
    ) {
        let text = text.concat();
        let tokenizer = if o200k { Encoding::O200k } else { Encoding::Cl100k };
        let limits = ChunkLimits::new(Tokens::new(max / 2), Tokens::new(max)).unwrap();
        let mut end = 0;
        for chunk in chunk(&text, format, &tokenizer, limits) {
            prop_assert!(text[end..chunk.span.start()].trim().is_empty());
            let slice = chunk.span.slice(&text).unwrap();
            prop_assert!(!slice.trim().is_empty());
            prop_assert_eq!(chunk.tokens, tokenizer.count(slice));
            prop_assert!(chunk.tokens <= Tokens::new(max));
            end = chunk.span.end();
        }
        prop_assert!(text[end..].trim().is_empty());
    }
}
