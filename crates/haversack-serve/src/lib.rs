//! Haversack as a server: everything the library does, over HTTP and MCP, safe to put on a network.
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
//! Routes are one table; the router, the OpenAPI document, the scopes and the tests are made from it.
//! Callers on this machine need no key unless others reach the server; those do ([`who`]). Everything has a limit
//! ([`config::Limits`]), problems have stable codes ([`codes`]), and what is denied or administered is
//! audited ([`audit`]).
#![forbid(unsafe_code)]

pub mod audit;
mod call;
mod client;
pub mod codes;
pub mod config;
mod gate;
mod guard;
mod http;
mod inspector;
pub mod mcp;
mod metrics;
mod openapi;
pub mod problem;
mod repeat;
mod resource;
mod rest;
mod route;
mod router;
mod server;
mod state;
pub mod trace;
pub mod who;
mod wire;

pub use client::ClientError;
pub use config::Config;
pub use openapi::document as openapi;
pub use server::Server;
pub use state::StartError;
