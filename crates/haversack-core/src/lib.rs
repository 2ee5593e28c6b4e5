//! The thinking part of Haversack: values in, values out.
#![forbid(unsafe_code)]

pub mod ids;
pub mod query;
pub mod text;
pub mod units;
