//! Haversack as a server: everything the library does, over HTTP and MCP, safe to expose on a network.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use haversack::Engine;
//! use haversack_serve::{Config, Server};
//!
//! let folder = std::path::Path::new("data");
//! let server = Server::bind(Engine::open(folder)?, folder, Config::default(), false).await?;
//! println!("listening on {}", server.address()?);
//! server.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! One table of routes generates the router, the OpenAPI document, the scopes and the tests. Callers on
//! this machine need no key unless the server can be reached from elsewhere ([`who`]). Everything has a
//! limit ([`config::Limits`]), problems have stable codes ([`codes`]), and refused and administrative
//! requests are audited ([`audit`]).
#![forbid(unsafe_code)]

mod api_client;
pub mod audit;
mod call;
pub use haversack_provider::http as client;
pub mod codes;
pub mod config;
mod database_sources;
mod decode;
pub mod erase;
mod freshness;
mod front;
mod gate;
mod guard;
mod http;
mod inspector;
mod json_body;
pub mod mcp;
mod memory;
mod metrics;
mod model_metrics;
mod openapi;
pub mod problem;
mod readiness;
mod repeat;
mod resource;
mod rest;
mod route;
mod router;
mod server;
mod server_file;
pub mod sources;
mod state;
pub mod trace;
mod unread;
pub mod who;
mod wire;

pub use api_client::{ApiCall, ApiClient, ApiError};
pub use client::ClientError;
pub use config::Config;
pub use http::memories::extraction_document;
pub use openapi::document as openapi;
pub use server::Server;
pub use server_file::ServerFile;
pub use state::StartError;
pub use wire::{item_document, stored_document};
