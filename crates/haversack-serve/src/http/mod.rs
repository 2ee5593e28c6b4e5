//! What each route does, a room for each sort of thing.

pub(crate) mod context;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod items;
pub(crate) mod mcp;
pub(crate) mod memories;
pub(crate) mod models;
pub(crate) mod named;
mod page;
pub(crate) mod receipts;
pub(crate) mod resource;
pub(crate) mod search;
pub(crate) mod sources;
pub(crate) mod tokens;
pub(crate) mod users;
pub(crate) mod workspaces;
