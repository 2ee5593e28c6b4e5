//! Items and search, on a snapshot, for a viewer.
#![deny(unsafe_code)]

pub mod descriptors;
#[doc(hidden)]
pub mod embedded;
pub mod kinds;
mod prepare;
pub mod revision;
pub mod store;
pub mod transfer;

pub use embedded::{DataFolder, KINDS_FILE};
