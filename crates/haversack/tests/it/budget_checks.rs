//! Checks that a pack keeps its budget. The tests of `haversack-eval` include this file as well.

use haversack::{Assembled, Error, ErrorCode, NoticeCode, Request, Workspace};
use haversack_core::ledger::{Entry, Outcome, Reason};
use haversack_core::pack::{Overflow, PackError};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::Tokens;

/// The least budget that an error names.
fn least_of(error: &Error) -> u32 {
    assert_eq!(error.code(), ErrorCode::BudgetTooSmall, "{error}");
    match error {
        Error::Pack(PackError::Infeasible { least, .. }) => least.get(),
        other => panic!("{other}"),
    }
}

/// Whether a pack is what its budget lets it be.
pub(crate) fn check_kept(assembled: &Assembled, budget: u32) {
    let counted = Encoding::O200k.count(assembled.text());
    let name = &assembled.recipe.name;
    assert_eq!(assembled.pack.tokens, counted);
    let may_exceed = assembled.recipe.budget.overflow == Overflow::Exceed;
    let reserved = assembled.core.budget.reserved().get();
    let has = |code| assembled.notices.iter().any(|notice| notice.code == code);
    let is_over = counted.get() > budget;
    let is_in_reserve = !is_over && counted.get() + reserved > budget;
    assert_eq!(has(NoticeCode::OverBudget), is_over, "{name} at {budget}: {counted}");
    assert_eq!(has(NoticeCode::ReservesUsed), is_in_reserve, "{name} at {budget}: {counted}");
    if is_over || is_in_reserve {
        assert!(may_exceed, "{name} at {budget}: {counted}");
        for (layer, section) in assembled.layers.iter().filter(|layer| layer.items > 0).zip(1..) {
            assert!(layer.pinned, "{name} at {budget}: section {section} is {}", layer.name);
        }
    }
}

/// Asks within a budget; what is refused is asked again within the least that the error names.
pub(crate) async fn check_budget(workspace: &Workspace, request: &Request, budget: u32) {
    match workspace.pack(request.clone().within(budget)).await {
        Ok(assembled) => {
            check_kept(&assembled, budget);
            // What its layer's cap keeps out, no budget lets in.
            let could_be_in = |entry: &Entry| match &entry.outcome {
                Outcome::Out(Reason::OverCap { .. }) => false,
                _ => entry.tokens_whole > Tokens::ZERO,
            };
            let found = assembled.pack.ledger.iter().any(could_be_in);
            assert!(!found || assembled.pack.n_items() > 0, "{} at {budget}", request.recipe);
        }
        Err(error) => {
            let least = least_of(&error);
            assert!(least > budget, "{error}");
            let assembled = workspace.pack(request.clone().within(least)).await.unwrap();
            check_kept(&assembled, least);
            let less = workspace.pack(request.clone().within(least - 1)).await;
            assert_eq!(least_of(&less.unwrap_err()), least, "{}", request.recipe);
        }
    }
}
