//! Integration tests of the store.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

mod backup;
mod conformance;
mod crash;
mod damage;
mod descriptors;
mod erased;
mod faults;
mod formats;
mod healing;
mod model;
mod model_change;
mod nodes;
mod non_interference;
mod replicas;
mod revocation;
mod support;
mod upgrade;
