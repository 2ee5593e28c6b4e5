//! Recipes: the layers of a pack, and how each is collected, ranked, bounded and rendered. A recipe
//! is data, not code (X6).
//!
//! A recipe is a TOML file. The built-in ones are beside this file and are parsed like any other.

mod built_in;
mod document;
mod facts;
mod keys;
mod lint;
mod parse;
mod problem;
mod read;
mod registry;
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
pub use lint::{RecipeFinding, Severity, lint};
pub use problem::{Places, RecipeError, RecipeProblem};
pub use registry::RecipeRegistry;
pub use settings::{Setting, SettingSpec, SettingType, Settings};

/// The version of the format that is parsed and written.
pub const FORMAT: u32 = 1;
/// Longest recipe in bytes.
pub const RECIPE_BYTES_MAX: usize = 256 << 10;
/// Most collectors of a layer.
pub const COLLECTORS_MAX: usize = 16;
/// Most subjects of a recipe.
pub const SUBJECTS_MAX: usize = 16;
/// Most facts that a subject provides for conditions.
pub const SUBJECT_FACTS_MAX: usize = 32;
/// Most adaptations of a recipe.
pub const ADAPTATIONS_MAX: usize = 64;
/// Most recipes in a chain of `extends`.
pub const CHAIN_MAX: usize = 16;

/// The form of a recipe's result on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Shape {
    /// Sections and citations; every recipe can have this shape.
    #[default]
    Sections,
    /// Categories with their truncation, for a sales proposal (P11).
    Proposal,
    /// Items with excerpts and citations, for files and threads (K6).
    Prime,
    /// Sections of blocks, for a block workspace (W10).
    Workspace,
    /// Active contexts and their rules, for a situation (S6).
    Situation,
    /// A context and its memories, for a chat assistant (M9).
    Memory,
}

/// A validated recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
    /// The form of its result.
    pub shape: Shape,
    /// The recipe that it extends, if any.
    pub extends: Option<String>,
    /// Its budget.
    pub budget: BudgetSpec,
    /// The model or tokenizer that counts tokens.
    pub counting: CountingSpec,
    /// The subjects that requests can be about. The first is the main one.
    pub subjects: Vec<SubjectSpec>,
    /// The parts of the request that are embedded as the query.
    pub embed: Vec<QueryPart>,
    /// Words of questions about fields, beside the built-in ones, by the name of their meaning.
    /// Words for a kind are under `kind NAME`.
    pub words: Vec<(String, Vec<String>)>,
    /// How results are cached; `None` for no cache.
    pub cache: Option<CacheSpec>,
    /// The text around all sections; may name `{{query}}`.
    pub frame: FrameSpec,
    /// The texts that are fenced.
    pub fencing: Fencing,
    /// How candidates are selected.
    pub selector: Selector,
    /// When selection stops before the budget is spent.
    pub stop: Option<Stop>,
    /// Whether to pack without a failed provider rather than return an error (M11).
    pub degrade: bool,
    /// Its layers, in order.
    pub layers: Vec<LayerSpec>,
    /// Changes that depend on the request.
    pub adapt: Vec<Adaptation>,
}

/// The budget of a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetSpec {
    /// The total, reserves included.
    pub total: Tokens,
    /// Tokens that are kept free for other text, by name.
    pub reserves: Vec<(String, Tokens)>,
    /// What happens when pinned text does not fit.
    pub overflow: Overflow,
}

/// What counts tokens when the request does not name a model or tokenizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountingSpec {
    /// The tokenizer of this model.
    Model(String),
    /// This encoding.
    Tokenizer(String),
}

/// A part of the request that is embedded as the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryPart {
    /// The query itself.
    Query,
    /// The first subject: its own text and its latest items (P8).
    Subject,
    /// The situation's facts.
    Situation,
    /// The last turns of the conversation.
    History,
}

/// Something that requests can be about: an opportunity, a thread, a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectSpec {
    /// Its name in the recipe and in requests.
    pub name: String,
    /// The kind of the item.
    pub kind: Kind,
    /// The field by which other items name it.
    pub field: String,
    /// The fields of the item that conditions can name.
    pub facts: Vec<String>,
    /// Whether the items that name it are enough, without an item of its own.
    pub implied: bool,
}

/// How results are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSpec {
    /// How many results are kept.
    pub entries: u64,
    /// How long a result is kept after it was last requested.
    pub idle: Duration,
}

impl Default for CacheSpec {
    fn default() -> CacheSpec {
        CacheSpec { entries: 100, idle: Duration::from_secs(30) }
    }
}

/// The text around all sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameSpec {
    /// The text before the first section.
    pub before: String,
    /// The text after the last section.
    pub after: String,
}

/// A layer of a recipe: one section of the pack.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in a recipe")]
pub struct LayerSpec {
    /// Its name, unique in the recipe; on the wire where the shape has categories.
    pub name: String,
    /// Its title in the header.
    pub title: String,
    /// Whether all of it is always in the pack, untruncated.
    pub pinned: bool,
    /// The share it is guaranteed of the budget that pinned layers leave.
    pub share: Share,
    /// The most tokens that it may take.
    pub cap: Option<Tokens>,
    /// Its position when unused budget is passed on, lowest first; the highest is truncated first.
    pub spill: u32,
    /// The order in which its candidates are bought.
    pub order: Order,
    /// How a text that does not fit is truncated; `None` leaves it out.
    pub cut: Option<Truncation>,
    /// Whether a model summarises texts that do not fit. Without a configured model, `cut` applies
    /// (W8).
    pub summarise: bool,
    /// The least tokens of a text that are worth showing.
    pub least: Tokens,
    /// Whether essential forms may replace whole texts.
    pub essential: bool,
    /// The order of the selected texts.
    pub arrange: Arrangement,
    /// How stable it is from one request to the next.
    pub stability: Stability,
    /// A limit on one kind.
    pub kind_cap: Option<KindCap>,
    /// The texts that are fenced; `None` uses the recipe's setting.
    pub fencing: Option<Fencing>,
    /// How it is rendered.
    pub template: TemplateSpec,
    /// The collectors that find its candidates.
    pub collect: Vec<CollectorSpec>,
    /// How they are scored.
    pub score: ScoreSpec,
    /// How age affects the score.
    pub recency: Recency,
    /// How many candidates a reranker reads, best first, where the score uses the reranker.
    pub rerank: usize,
    /// The minimum score of a candidate.
    pub minimum: Option<Score>,
    /// How likely the layer's candidates must be to be relevant for any to be shown.
    pub floor: Option<Score>,
    /// The fraction of the best candidate's relevance that every other candidate must reach.
    pub relative_floor: Option<Score>,
    /// Whether current facts come before those they replaced (B1).
    pub prefer_current: bool,
    /// How similar two texts may be before one is left out as a repeat; `None` keeps both.
    pub repeats: Option<Score>,
    /// How much novelty is preferred: 1 is by score alone.
    pub diversity: Option<Score>,
    /// The most candidates that go on to selection, best first.
    pub limit: Option<usize>,
}

/// The template of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateSpec {
    /// A template by name: built in, or registered in the workspace.
    Named(String),
    /// A template written out in the recipe.
    Inline {
        /// Before the first item.
        header: String,
        /// One item.
        item: String,
        /// Between two items.
        separator: String,
        /// After the last item.
        footer: String,
        /// The text when there is no item; `None` leaves the section out.
        empty: Option<String>,
    },
}

/// How candidates of a layer are scored.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreSpec {
    /// A weighted sum.
    Weights {
        /// The constant term.
        base: f64,
        /// The weight of each component.
        weights: Vec<(Component, f64)>,
    },
    /// An expression over the components.
    Expression(String),
    /// A registered ranker, by name.
    Named(String),
}

/// A collector of a layer, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectorSpec {
    /// The collector's name.
    pub by: String,
    /// Only these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Its own settings.
    pub settings: Settings,
    /// Its deadline.
    pub deadline: Duration,
}

impl CollectorSpec {
    /// The setting `of` of collectors that follow a subject: a subject's name, `focus`,
    /// `workspace`, or empty for the first subject.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.settings.get("of").map(|_| self.settings.text("of"))
    }
}

/// A change of budget, shares or caps for requests that meet a condition (W9, P17). All adaptations
/// whose conditions hold are applied, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptation {
    /// A condition over the request's facts, such as `type == "search"` or
    /// `complexity == "high"`.
    pub when: Condition,
    /// The budget.
    pub total: Option<Tokens>,
    /// Shares of layers, by name.
    pub shares: Vec<(String, Share)>,
    /// Caps of layers, by name.
    pub caps: Vec<(String, Tokens)>,
}

/// The condition of an adaptation could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the condition {condition:?} failed: {cause}")]
pub struct AdaptationError {
    /// The condition.
    pub condition: String,
    /// The cause.
    pub cause: ConditionError,
}

impl Recipe {
    /// Whether a layer has a collector of this name.
    #[must_use]
    pub fn collects(&self, by: &str) -> bool {
        self.layers.iter().flat_map(|layer| &layer.collect).any(|spec| spec.by == by)
    }

    /// The subject with this name; the first when the name is empty.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<&SubjectSpec> {
        match name {
            "" => self.subjects.first(),
            _ => self.subjects.iter().find(|subject| subject.name == name),
        }
    }

    /// Parses a recipe. `name` is its name when the text does not set one.
    ///
    /// # Errors
    /// All its problems, each with line and column.
    pub fn parse(
        name: &str,
        source: &str,
        registry: &RecipeRegistry,
    ) -> Result<Recipe, RecipeError> {
        parse::parse(name, source, registry).map(|(recipe, _)| recipe)
    }

    /// Parses a recipe, and returns the positions of its keys for further messages such as those of
    /// [`lint()`].
    ///
    /// # Errors
    /// As [`Recipe::parse`].
    pub fn parse_with_places(
        name: &str,
        source: &str,
        registry: &RecipeRegistry,
    ) -> Result<(Recipe, Places), RecipeError> {
        parse::parse(name, source, registry)
    }

    /// The layer with this name.
    #[must_use]
    pub fn layer(&self, name: &str) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// The adaptations whose conditions hold for a request with these facts, in the recipe's order,
    /// so that the later of two that change the same thing wins.
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
