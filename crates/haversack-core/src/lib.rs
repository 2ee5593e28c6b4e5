//! The pure part of Haversack: ranking, selection and assembly, as functions over values.
//!
//! Candidates are ranked ([`rank`]), put into layers ([`layer`]) and packed into an exact token
//! budget ([`pack`]). The result is a [`pack::Pack`]: the final string, its sections and
//! citations, a [`ledger`] of every candidate, and a [`receipt`].
//!
//! ```
//! use std::sync::Arc;
//! use haversack_core::assemble::{Fencing, Template, TemplateText};
//! use haversack_core::budget::Budget;
//! use haversack_core::candidate::Candidate;
//! use haversack_core::ids::{CandidateId, ItemId};
//! use haversack_core::item::Kind;
//! use haversack_core::layer::Layer;
//! use haversack_core::ledger::{Outcome, Reason};
//! use haversack_core::pack::{PackRequest, Plan};
//! use haversack_core::rank::Ranked;
//! use haversack_core::text::tokenizer::Encoding;
//! use haversack_core::units::{Score, Tokens};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let note = |id: &str, score: f64, text: &str| -> Result<Ranked, Box<dyn std::error::Error>> {
//!     let id = CandidateId::whole(ItemId::new(id)?);
//!     let candidate = Candidate::new(id, Kind::new("note")?, text);
//!     Ok(Ranked { candidate, score: Score::unit(score), parts: Vec::new() })
//! };
//! let notes = vec![
//!     note("plan", 0.9, "The launch is on the third of May.")?,
//!     note("menu", 0.2, "There will be soup, then fish, then cake.")?,
//! ];
//! let mut request = PackRequest::new(Arc::new(Encoding::O200k), Budget::new(Tokens::new(12)));
//! request.fencing = Fencing::Off;
//! request.layers = vec![(Layer::new("notes", Template::new(TemplateText::PLAIN)?), notes)];
//!
//! let plan = Plan::new(&request)?;
//! let pack = plan.pack()?;
//! assert_eq!(pack.text, "The launch is on the third of May.\n");
//! assert!(pack.tokens <= Tokens::new(12));
//!
//! // The other note is out, and the ledger says at which budget it is in.
//! let Outcome::Out(Reason::OverBudget { whole_from, .. }) = pack.ledger[1].outcome else { panic!() };
//! assert!(plan.pack_at(whole_from)?.text.contains("soup"));
//! # Ok(())
//! # }
//! ```
//!
//! This crate does no I/O: no files, network, clock, environment, threads, async or logging. The
//! same request gives the same bytes on any machine, whatever the order of its candidates.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod budget;
pub mod cancel;
pub mod candidate;
pub mod embed;
pub mod ids;
pub mod item;
pub mod layer;
pub mod ledger;
pub mod pack;
pub mod query;
pub mod rank;
pub mod receipt;
pub mod select;
pub mod text;
pub mod units;
pub mod zone;
