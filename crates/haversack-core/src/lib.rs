//! The thinking part of Haversack: values in, values out.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod budget;
pub mod candidate;
pub mod ids;
pub mod item;
pub mod layer;
pub mod ledger;
pub mod pack;
pub mod query;
pub mod rank;
pub mod receipt;
pub mod select;
pub mod text;
pub mod units;
