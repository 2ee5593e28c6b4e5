//! Haversack's promises, shown from outside the crate.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

mod bad_input;
mod behaviour;
mod cases;
mod properties;
mod quality;
