//! Recipes: which layers a pack has, what finds, ranks, bounds and shows them. Data, not code (X6).
//!
//! A recipe is a TOML file. The built-in ones stand beside this file and are read like any other.

mod built_in;
mod document;
mod facts;
mod keys;
mod known;
mod lint;
mod parse;
mod problem;
mod read;
mod settings;
mod starter;
#[cfg(test)]
mod tests;
pub(crate) mod words;
mod write;

use std::time::Duration;

use haversack_core::assemble::Fencing;
use haversack_core::item::Kind;
use haversack_core::layer::{Arrangement, KindCap, Order, Stability};
use haversack_core::pack::Overflow;
use haversack_core::rank::{Component, Recency};
use haversack_core::select::{Selector, Stop};
use haversack_core::text::truncate::Truncation;
use haversack_core::units::{Score, Share, Tokens};
use thiserror::Error;

use crate::condition::{Condition, ConditionError, Facts};

pub use built_in::{BUILT_IN, builtin};
pub use document::document;
pub use facts::{FACTS, FactDefault, FactSpec, default_facts};
pub use known::Known;
pub use lint::{Finding, Severity, lint};
pub use problem::{Places, Problem, RecipeError};
pub use settings::{Setting, SettingSpec, SettingType, Settings};

/// The version of the format that is read and written here.
pub const FORMAT: u32 = 1;
/// Longest recipe in bytes.
pub const RECIPE_BYTES_MAX: usize = 256 << 10;
/// Most collectors of a layer.
pub const COLLECTORS_MAX: usize = 16;
/// Most subjects of a recipe.
pub const SUBJECTS_MAX: usize = 16;
/// Most facts that a subject gives to conditions.
pub const SUBJECT_FACTS_MAX: usize = 32;
/// Most adaptations of a recipe.
pub const ADAPTATIONS_MAX: usize = 64;
/// Most recipes that extend each other in a row.
pub const CHAIN_MAX: usize = 16;

/// The form of a recipe's result on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Shape {
    /// Sections and citations: what every recipe can be shown as.
    #[default]
    Sections,
    /// P11.
    Proposal,
    /// K6.
    Prime,
    /// W10.
    Workspace,
    /// S6.
    Situation,
    /// M9.
    Memory,
}

/// A recipe, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// What it is for, in a line.
    pub description: String,
    /// The form of its result.
    pub shape: Shape,
    /// The recipe it was made from, if any.
    pub extends: Option<String>,
    /// What may be spent.
    pub budget: BudgetSpec,
    /// Who counts.
    pub counting: CountingSpec,
    /// What requests can be about. The first is what the recipe is made for.
    pub subjects: Vec<SubjectSpec>,
    /// What the query's vector is made from.
    pub embed: Vec<QueryPart>,
    /// Words of questions about fields beside the built-in ones, by the name of what they say; those
    /// of a kind under `kind NAME`.
    pub words: Vec<(String, Vec<String>)>,
    /// How long an answer is given again; `None` never.
    pub cache: Option<CacheSpec>,
    /// What stands around all sections; may name `{{query}}`.
    pub frame: FrameSpec,
    /// Which texts are fenced.
    pub fencing: Fencing,
    /// How candidates are chosen.
    pub selector: Selector,
    /// When enough is enough.
    pub stop: Option<Stop>,
    /// Whether a pack without a failed provider is better than none (M11).
    pub degrade: bool,
    /// Its layers, in the order in which they stand.
    pub layers: Vec<LayerSpec>,
    /// What changes with the request.
    pub adapt: Vec<Adaptation>,
}

/// What a recipe may spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetSpec {
    /// All of it.
    pub total: Tokens,
    /// What is kept free for others, by name.
    pub reserves: Vec<(String, Tokens)>,
    /// What happens when pinned text does not fit.
    pub overflow: Overflow,
}

/// Who counts when the request does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountingSpec {
    /// As this model does.
    Model(String),
    /// By this encoding.
    Tokenizer(String),
}

/// What a query's vector is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryPart {
    /// The query itself.
    Query,
    /// What the first subject is about: its own text and its latest items (P8).
    Subject,
    /// The situation's facts.
    Situation,
    /// The last turns of the conversation.
    History,
}

/// Something that requests can be about: an opportunity, a thread, a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectSpec {
    /// What the recipe and its requests call it.
    pub name: String,
    /// The kind of the item.
    pub kind: Kind,
    /// The field by which other items name it.
    pub field: String,
    /// Fields of it that conditions can name.
    pub facts: Vec<String>,
    /// Whether it may be known by what names it alone, without an item of its own.
    pub implied: bool,
}

/// How long answers are given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSpec {
    /// How many are kept.
    pub entries: u64,
    /// How long after it was last asked for.
    pub idle: Duration,
}

impl Default for CacheSpec {
    fn default() -> CacheSpec {
        CacheSpec { entries: 100, idle: Duration::from_secs(30) }
    }
}

/// What stands around all sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameSpec {
    /// Before the first.
    pub before: String,
    /// After the last.
    pub after: String,
}

/// One layer.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in a recipe")]
pub struct LayerSpec {
    /// Its name, unique in the recipe; on the wire where the shape has categories.
    pub name: String,
    /// What its header calls it.
    pub title: String,
    /// Whether all of it is always in, whole.
    pub pinned: bool,
    /// What it is guaranteed of what pinned layers leave.
    pub share: Share,
    /// The most it may take.
    pub cap: Option<Tokens>,
    /// Its place when leftovers are given away, lowest first; the highest is cut first.
    pub spill: u32,
    /// In which order its candidates are paid for.
    pub order: Order,
    /// How the one that does not fit is shortened; `None` leaves it out.
    pub cut: Option<Truncation>,
    /// Whether a model is to summarise what does not fit, where one is configured; `cut` says what
    /// is done without one (W8).
    pub summarise: bool,
    /// The least of a text that is worth showing.
    pub least: Tokens,
    /// Whether reduced forms may stand for whole texts.
    pub essential: bool,
    /// In which order the chosen stand.
    pub arrange: Arrangement,
    /// How steady it is from one request to the next.
    pub stability: Stability,
    /// A limit on one kind.
    pub kind_cap: Option<KindCap>,
    /// Which of its texts are fenced; `None` goes by the recipe.
    pub fencing: Option<Fencing>,
    /// How it looks.
    pub template: TemplateSpec,
    /// Who finds its candidates.
    pub collect: Vec<CollectorSpec>,
    /// How they are scored.
    pub score: ScoreSpec,
    /// How age counts.
    pub recency: Recency,
    /// How many a reranker reads, best first, where the score counts what it says.
    pub rerank: usize,
    /// The least score that is considered.
    pub minimum: Option<Score>,
    /// How likely the layer's finds must be to have to do with the query for any to be shown.
    pub floor: Option<Score>,
    /// The part of what the best find meets of the query that every find must meet to be shown.
    pub relative_floor: Option<Score>,
    /// Whether what holds now stands before what it replaced (B1).
    pub prefer_current: bool,
    /// How alike two texts may be before one is left out as a repeat; `None` lets both in.
    pub repeats: Option<Score>,
    /// How much a text that says something new is preferred: 1 is by score alone.
    pub diversity: Option<Score>,
    /// How many candidates go on to selection at most, best first.
    pub limit: Option<usize>,
}

/// How a layer looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateSpec {
    /// A template by name: built in, or registered in the workspace.
    Named(String),
    /// Written out.
    Inline {
        /// Before the first item.
        header: String,
        /// One item.
        item: String,
        /// Between two items.
        separator: String,
        /// After the last item.
        footer: String,
        /// What it says when there is none.
        empty: Option<String>,
    },
}

/// How candidates of a layer are scored.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreSpec {
    /// A weighted sum.
    Weights {
        /// What every score starts at.
        base: f64,
        /// What each component counts for.
        weights: Vec<(Component, f64)>,
    },
    /// An expression over the components.
    Expression(String),
    /// A ranker that was registered, by name.
    Named(String),
}

/// Who finds, among what.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectorSpec {
    /// The collector's name.
    pub by: String,
    /// Only these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// What else it is told.
    pub settings: Settings,
    /// How long it may take.
    pub deadline: Duration,
}

impl CollectorSpec {
    /// Which subject it is told to follow, for collectors that follow one: a subject's name, `focus`,
    /// `workspace`, or nothing for the first subject.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.settings.get("of").map(|_| self.settings.text("of"))
    }
}

/// What changes when a request is of a certain sort (W9, P17). All of a recipe whose conditions hold
/// are used, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptation {
    /// A condition over the request's facts, such as `type == "search"` or
    /// `complexity == "high"`.
    pub when: Condition,
    /// The budget then.
    pub total: Option<Tokens>,
    /// Shares of layers then, by name.
    pub shares: Vec<(String, Share)>,
    /// Caps of layers then, by name.
    pub caps: Vec<(String, Tokens)>,
}

/// The condition of an adaptation could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the condition {condition:?} failed: {cause}")]
pub struct AdaptationError {
    /// The condition.
    pub condition: String,
    /// Why.
    pub cause: ConditionError,
}

impl Recipe {
    /// Whether a layer has a collector of this name.
    #[must_use]
    pub fn collects(&self, by: &str) -> bool {
        self.layers.iter().flat_map(|layer| &layer.collect).any(|spec| spec.by == by)
    }

    /// The subject of that name; without a name, the first.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<&SubjectSpec> {
        match name {
            "" => self.subjects.first(),
            _ => self.subjects.iter().find(|subject| subject.name == name),
        }
    }

    /// Reads a recipe. `name` is what it is called when it does not say so itself.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line and column.
    pub fn parse(name: &str, source: &str, known: &Known) -> Result<Recipe, RecipeError> {
        parse::parse(name, source, known).map(|(recipe, _)| recipe)
    }

    /// Reads a recipe, and where everything in it stands, for those who have more to say of it.
    ///
    /// # Errors
    /// As [`Recipe::parse`].
    pub fn parse_with_places(
        name: &str,
        source: &str,
        known: &Known,
    ) -> Result<(Recipe, Places), RecipeError> {
        parse::parse(name, source, known)
    }

    /// The layer of that name.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// What changes in a request with these facts: every adaptation whose condition holds, in the
    /// recipe's order, so that the later of two that speak of the same thing wins.
    ///
    /// # Errors
    /// When a condition fails.
    pub fn adaptations(&self, facts: &Facts) -> Result<Vec<&Adaptation>, AdaptationError> {
        let mut holding = Vec::new();
        for adaptation in &self.adapt {
            let holds = adaptation.when.evaluate(facts).map_err(|cause| AdaptationError {
                condition: adaptation.when.source().to_owned(),
                cause,
            })?;
            if holds {
                holding.push(adaptation);
            }
        }
        Ok(holding)
    }
}
