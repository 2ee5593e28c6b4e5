//! Measures the packs of the engine on labelled questions ([`eval`]), tunes the weights of recipes
//! ([`tune`]), compares packs with the contexts of another system ([`shadow`]) and checks what users
//! of the applications expect ([`scenarios`]). Also has the sample workspaces for demos and tests
//! ([`samples`]).
#![forbid(unsafe_code)]

pub mod eval;
pub mod samples;
pub mod scenarios;
pub mod shadow;
pub mod tune;
