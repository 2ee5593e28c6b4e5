//! The engine on real stores: what each requirement asks of it, by its id.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod blocks;
mod bounds;
mod budgets;
mod everywhere;
mod fresh;
mod hints;
mod log;
mod memory;
mod prime;
mod proposal;
mod reading;
mod recording;
mod reranking;
mod scenarios;
mod situation;
mod support;
mod tokenizers;
mod vectors;
mod workspace;
