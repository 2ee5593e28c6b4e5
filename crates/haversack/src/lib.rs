//! Haversack as a library: it assembles context for language models from your own store, within an exact
//! token budget, and gives a reason for every candidate that is included or left out.
//!
//! Open a data folder and a workspace, store items, and request a pack:
//!
//! ```
//! use haversack::{Engine, Request};
//! use haversack_core::ids::ItemId;
//! use haversack_core::item::Kind;
//! use haversack_store::store::item::Item;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let engine = Engine::open(folder.path())?;
//! let acme = engine.workspace("acme")?;
//! let note = |id: &str, text: &str| -> Result<Item, Box<dyn std::error::Error>> {
//!     Ok(Item::new(ItemId::new(id)?, Kind::new("note")?, text))
//! };
//! acme.put(vec![
//!     note("launch", "The launch moved to the third of May, because the venue was taken.")?,
//!     note("menu", "There will be soup, then fish, then cake.")?,
//! ])
//! .await?;
//!
//! let pack = acme.pack(Request::new("everything", "When is the launch?").within(400)).await?;
//! assert!(pack.text().contains("third of May"));
//! assert!(pack.pack.tokens.get() <= 400);
//!
//! // The ledger has an entry for every candidate, and replaying a receipt gives the same bytes.
//! for entry in &pack.pack.ledger {
//!     println!("{} scored {} in {}", entry.id, entry.score, entry.layer);
//! }
//! let again = acme.replay(&pack.receipt(), &haversack_store::store::viewer::Viewer::owner()).await?;
//! assert!(again.difference.same);
//! # Ok(())
//! # }
//! ```
//!
//! # Terms
//!
//! A **workspace** is the unit of isolation. An **item** is a stored text with its kind and fields. A
//! **viewer** stands for a caller's permissions: items that a viewer may not read change nothing in the
//! answer. A **recipe** is a file ([`recipe`]) that defines the **layers** of a pack, and how each is
//! collected, ranked, limited and rendered. A **collector** retrieves **candidates** for a layer. The
//! **ledger** records what happened to each candidate, a **receipt** what a pack was made from, and a
//! **notice** what the caller should know.
//!
//! # The applications
//!
//! Five recipes serve five kinds of application. Each has its own request and result types, with the field
//! names of that application: [`recipes::proposal`], [`recipes::prime`], [`recipes::workspace`],
//! [`recipes::situation`], [`recipes::memory`]. A sixth, `everything`, packs any mixed workspace. Each
//! has an example in this crate.
//!
//! # Extension points
//!
//! [`Engine::builder`] takes an [embedder](haversack_core::embed::Embedder), a
//! [judge](situation::Judge) for conditions in plain language, [collectors](collect::Collector) for
//! sources of your own, rankers, templates and recipes. A workspace can also store its own recipes,
//! templates and rankers.
//!
//! # Errors
//!
//! [`Error::code`] is for programs. The message is for people; it names the field and what is accepted.
//! A partial failure is not an error but a [`Notice`] beside a usable answer.
#![forbid(unsafe_code)]

pub mod clock;
pub mod collect;
pub mod condition;
pub mod embed;
pub mod engine;
pub mod error;
pub mod ingest;
pub mod messages;
pub mod models;
pub mod notice;
pub mod pipeline;
pub mod receipt;
pub mod recipe;
pub mod recipes;
pub mod remember;
pub mod request;
pub mod revision;
pub mod search;
pub mod situation;
pub mod sync;
pub mod wire;

use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder};

pub use engine::{Builder, Engine, Workspace};
pub use error::{Error, ErrorCode};
pub use notice::{Notice, NoticeCode};
pub use pipeline::Assembled;
pub use receipt::Receipt;
pub use request::Request;

/// Returns the default embedder: the built-in model, which needs no files and no network.
#[must_use]
pub fn default_embedder() -> Arc<dyn Embedder> {
    Arc::new(BuiltIn::new())
}

/// The README's example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
