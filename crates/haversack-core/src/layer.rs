//! A layer: one section of a pack, as data. What differs between applications stands here.

use std::sync::Arc;

use crate::assemble::{Fencing, Template};
use crate::text::truncate::Truncation;
use crate::units::{Share, Tokens};

/// What a layer may take of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// All its candidates, whole, whatever else there is (P2).
    Pinned,
    /// A guaranteed share of what pinned layers leave. A share of zero lives on what others leave.
    Share(Share),
}

/// In which order a layer's candidates are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Most value for a token first; essential forms are bought before the rest of their texts.
    Density,
    /// Best score first, each whole; of a long text that is not the best, the essential form in its
    /// place and the rest after all others.
    Rank,
    /// Best score first, the essential form of each before the rest of any (P8, P9).
    Essentials,
    /// Best block first, whichever text it is of. A text grows by its blocks, in its own order,
    /// until it is whole; a short one is whole at once.
    Blocks,
}

/// How the one candidate that does not fit whole is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// What to keep.
    pub strategy: Truncation,
    /// The least that is worth showing.
    pub least: Tokens,
}

/// In which order the chosen stand in the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Best first.
    Ranked,
    /// Best first and last, weakest in the middle, where models read least.
    Edges,
    /// Newest first; what has no moment comes last.
    Newest,
    /// Oldest first; what has no moment comes last.
    Oldest,
    /// As they were found by the first collector that did: a page's blocks as they stand on it.
    Found,
}

/// How often a section changes from one request to the next. A provider's prompt cache pays for
/// an unchanged beginning, so the steadiest stand first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// The same for every request.
    Foundational,
    /// The same for many.
    Stable,
    /// Another for each.
    Volatile,
}

/// A kind that has its share of what is chosen gets no more until others caught up, once enough is
/// chosen (K5). It gives way to others: when none of them waits, it may have the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindCap {
    /// The largest share, by number.
    pub share: Share,
    /// How many may be chosen before the rule holds; at least one.
    pub after: usize,
}

/// One section of a pack.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Its name, unique in a request.
    pub name: Arc<str>,
    /// What its header calls it.
    pub title: String,
    /// What it may take.
    pub claim: Claim,
    /// The most it may take, whatever is left over.
    pub cap: Option<Tokens>,
    /// Its place when leftovers are given away, lowest first; under pressure the highest is cut
    /// first.
    pub spill: u32,
    /// In which order its candidates are paid for.
    pub order: Order,
    /// How the one that does not fit is shortened; `None` leaves it out.
    pub cut: Option<Cut>,
    /// In which order the chosen stand.
    pub arrangement: Arrangement,
    /// How steady it is.
    pub stability: Stability,
    /// A limit on one kind.
    pub kind_cap: Option<KindCap>,
    /// Which of its texts are fenced; `None` goes by the request.
    pub fencing: Option<Fencing>,
    /// How it looks.
    pub template: Template,
}

impl Layer {
    /// The least of a text that a cut leaves by default: some fifty characters (W8).
    pub const LEAST: Tokens = Tokens::new(12);

    /// A layer that takes what is left, best value first, cut by extraction, best first.
    #[must_use]
    pub fn new(name: &str, template: Template) -> Layer {
        Layer {
            name: name.into(),
            title: name.to_owned(),
            claim: Claim::Share(Share::ZERO),
            cap: None,
            spill: 0,
            order: Order::Density,
            cut: Some(Cut { strategy: Truncation::Extractive, least: Layer::LEAST }),
            arrangement: Arrangement::Ranked,
            stability: Stability::Volatile,
            kind_cap: None,
            fencing: None,
            template,
        }
    }

    /// A layer that is always whole and stands first.
    #[must_use]
    pub fn pinned(name: &str, template: Template) -> Layer {
        Layer {
            claim: Claim::Pinned,
            cut: None,
            order: Order::Rank,
            stability: Stability::Foundational,
            ..Layer::new(name, template)
        }
    }
}
