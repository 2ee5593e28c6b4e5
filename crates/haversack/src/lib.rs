//! Haversack as a library: context for language models, from a store of your own, inside an exact
//! token budget, with a reason for everything that is in and everything that is not.
//!
//! Open a folder, take a workspace, put items in, ask:
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
//! // Every candidate has its line, and the same receipt gives the same bytes again.
//! for entry in &pack.pack.ledger {
//!     println!("{} scored {} in {}", entry.id, entry.score, entry.layer);
//! }
//! let again = acme.replay(&pack.receipt(), &haversack_store::store::viewer::Viewer::owner()).await?;
//! assert!(again.difference.same);
//! # Ok(())
//! # }
//! ```
//!
//! # The words
//!
//! A **workspace** is the unit of isolation. An **item** is what is stored; a **viewer** is who asks,
//! and every read is theirs: what a viewer may not read changes nothing they get. A **recipe** says
//! which **layers** a pack has, what finds, ranks, bounds and shows them; it is a file
//! ([`recipe`]). A **collector** finds **candidates** for a layer. The **ledger** says what became of
//! each candidate, a **receipt** what a pack was made from, a **notice** what the caller should know.
//!
//! # The applications
//!
//! Five recipes serve five kinds of application, each with a request and a result under the names
//! of its own documents: [`recipes::proposal`], [`recipes::prime`], [`recipes::workspace`],
//! [`recipes::situation`], [`recipes::memory`]. A sixth, `everything`, packs any mixed workspace. The
//! examples of this crate show one each.
//!
//! # What you can bring
//!
//! [`Engine::builder`] takes an [embedder](haversack_core::embed::Embedder), a
//! [judge](situation::Judge) for conditions in plain language, [collectors](collect::Collector) for
//! sources of your own, rankers, templates and recipes. A workspace keeps recipes, templates and
//! rankers of its own as data.
//!
//! # Errors
//!
//! [`Error::code`] is for programs, its message for people; it names the field and what would do.
//! What failed in part is no error but a [`Notice`] beside a usable answer.
#![forbid(unsafe_code)]

pub mod collect;
pub mod condition;
pub mod embed;
pub mod engine;
pub mod error;
pub mod ingest;
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
pub mod wire;

use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder};

pub use engine::{Builder, Engine, Workspace};
pub use error::{Error, ErrorCode};
pub use notice::{Notice, NoticeCode};
pub use pipeline::Assembled;
pub use receipt::Receipt;
pub use request::Request;

/// Who embeds when nobody says otherwise: the model that comes with Haversack and needs nothing.
#[must_use]
pub fn embedder() -> Arc<dyn Embedder> {
    Arc::new(BuiltIn::new())
}

/// The README's example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
