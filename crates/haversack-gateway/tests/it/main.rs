//! The gateway, tested from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod gateway;
