//! MCP: packs, searches and memories as tools, items and receipts as resources, recipes as prompts.
//!
//! One handler serves every revision of the protocol, over standard streams ([`Session`]) and under
//! `/mcp` of the server, where the same keys count as on the other routes. The [`gateway`] stands
//! before any other MCP server and gives its tools context.

mod caller;
mod cursor;
pub mod gateway;
mod handler;
mod prompts;
mod read;
mod resources;
mod schema;
mod session;
mod tools;
mod uri;
mod write;

pub(crate) use caller::Caller;
pub(crate) use handler::Handler;
pub use session::{Session, SessionError};
