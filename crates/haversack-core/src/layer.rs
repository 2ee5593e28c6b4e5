//! Layers: the sections of a pack, as data. Applications differ in their layers.

use std::sync::Arc;

use crate::assemble::{Fencing, Template};
use crate::text::truncate::Truncation;
use crate::units::{Share, Tokens};

/// A layer's claim on the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// All its candidates, never truncated (P2).
    Pinned,
    /// A guaranteed share of what pinned layers leave. A layer with a zero share gets only what
    /// other layers leave over.
    Share(Share),
}

/// The order in which a layer's candidates are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Highest value per token first; essential forms before the rest of their texts.
    Density,
    /// Best score first, each whole. A long text that does not rank first gets its essential form
    /// at its rank and the rest after all others.
    Rank,
    /// Best score first, the essential form of each before the rest of any (P8, P9).
    Essentials,
    /// Best block first, across all texts. A text grows by blocks, shown in their original order,
    /// until it is whole; a short text is added whole.
    Blocks,
}

/// How the last candidate that does not fit whole is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// What to keep.
    pub strategy: Truncation,
    /// The smallest result worth showing.
    pub least: Tokens,
}

/// The order of the selected candidates within the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Best first.
    Ranked,
    /// Best first and last, weakest in the middle, where models pay least attention.
    Edges,
    /// Newest first; candidates without a timestamp come last.
    Newest,
    /// Oldest first; candidates without a timestamp come last.
    Oldest,
    /// In the order of the first collector that returned them, such as a page's blocks.
    Found,
}

/// How often a section changes between requests. Providers' prompt caches reward an unchanged
/// prefix, so the most stable sections come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// The same in every request.
    Foundational,
    /// The same in many requests.
    Stable,
    /// Different in each request.
    Volatile,
}

/// A soft cap on the share of one kind (K5). Once `after` candidates are selected, a kind at its
/// cap waits until other kinds catch up; when no other kind is left, it may take the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindCap {
    /// The largest share, by number.
    pub share: Share,
    /// How many candidates may be selected before the cap applies; at least one.
    pub after: usize,
}

/// One section of a pack.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Its name, unique in a request.
    pub name: Arc<str>,
    /// The title in its header.
    pub title: String,
    /// Its claim on the budget.
    pub claim: Claim,
    /// A hard maximum.
    pub cap: Option<Tokens>,
    /// Its rank when leftover tokens are distributed, lowest first. When the budget is tight, the
    /// layer with the highest rank is truncated first.
    pub spill: u32,
    /// The order in which its candidates are selected.
    pub order: Order,
    /// How the last candidate is truncated; `None` drops it instead.
    pub cut: Option<Cut>,
    /// The order of selected candidates.
    pub arrangement: Arrangement,
    /// How often it changes.
    pub stability: Stability,
    /// A limit on one kind.
    pub kind_cap: Option<KindCap>,
    /// Which of its texts are fenced; `None` uses the request's setting.
    pub fencing: Option<Fencing>,
    /// How it is rendered.
    pub template: Template,
}

impl Layer {
    /// The default for [`Cut::least`]: about fifty characters (W8).
    pub const LEAST: Tokens = Tokens::new(12);

    /// A layer without a share, selected by density, truncated by extraction, best first.
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

    /// A layer that is never truncated and comes first.
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
