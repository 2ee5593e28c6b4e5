//! Tests of the engine on the samples and scenarios.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../haversack/tests/it/budget_checks.rs"]
mod budget_checks;
mod budgets;
mod scenarios;
