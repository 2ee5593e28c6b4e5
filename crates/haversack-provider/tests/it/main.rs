//! Providers as they are called: each protocol, and every fault that a server can have.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::needless_pass_by_value, reason = "cases are written as values")]

mod faults;
mod protocols;
mod server;
mod shared_cache;

use haversack_provider::{ModelSet, ModelsConfig};

use crate::server::TestServer;

const KEY: &str = "sk-test-0123456789abcdef";

/// The models of a configuration, with `URL` replaced by a server's address.
fn models(server: &TestServer, config: &str) -> ModelSet {
    let config = ModelsConfig::parse(&config.replace("URL", &server.url)).unwrap();
    ModelSet::open(config, None, &|name| (name == "TEST_KEY").then(|| KEY.to_owned())).unwrap()
}
