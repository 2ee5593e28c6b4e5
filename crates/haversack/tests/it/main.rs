//! Tests of the engine on real stores, by requirement id.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod blocks;
mod bounds;
mod budget_checks;
mod budgets;
mod caps;
mod determinism;
mod everywhere;
mod fresh;
mod hints;
mod log;
mod memory;
mod messages;
mod models;
mod open;
mod prime;
mod proposal;
mod reading;
mod recording;
mod reranking;
mod situation;
mod summaries;
mod support;
mod sync;
mod tokenizers;
mod vectors;
mod workspace;
