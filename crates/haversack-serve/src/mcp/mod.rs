//! MCP: packs, searches and memories as tools, items and receipts as resources, recipes as prompts.
//!
//! One handler serves every revision of the protocol, over standard streams ([`Session`]) and under
//! `/mcp` of the server, where the same keys apply as on the other routes.

mod caller;
mod cursor;
mod handler;
mod prompts;
mod read;
mod resources;
mod schema;
mod session;
mod tools;
mod uri;
mod write;

pub(crate) use caller::McpCaller;
pub(crate) use handler::Handler;
pub use session::{Session, SessionError};
