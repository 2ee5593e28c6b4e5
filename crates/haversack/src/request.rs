//! The request for a pack: the viewer, the query, the position in the workspace and the budget.
//!
//! One type serves every recipe. The requests of the five applications ([`crate::recipes`]) are converted
//! into it.

use std::collections::BTreeMap;

use haversack_core::embed::Vector;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::rank::Ranker;
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_core::zone::Zone;
use haversack_store::revision::StateToken;
use haversack_store::store::viewer::Viewer;
use serde_json::{Map, Value};

use crate::engine::KeptTemplate;

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// The text of the turn.
    pub content: String,
    /// The time of the turn, if known.
    pub at: Option<Timestamp>,
}

/// A moment in the past at which the store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The state at this moment.
    Moment(Timestamp),
    /// The state with this number, for any viewer. Callers who cannot read everything use a token.
    Revision(u64),
    /// The state that a token of this viewer names.
    Token(StateToken),
}

/// A request to a recipe. Only the recipe's name is required.
#[derive(Debug, Clone)]
pub struct Request {
    /// The recipe's name.
    pub recipe: String,
    /// The query in the user's words; may be empty.
    pub query: String,
    /// A vector to search with in place of the query's own (M2).
    pub vector: Option<Vector>,
    /// The viewer with whose permissions everything is read (X3).
    pub viewer: Viewer,
    /// The user under whose name activity is recorded.
    pub user: Option<String>,
    /// The type of request, such as W9's `assist`, `chat`, `search`, `automate`.
    pub request_type: Option<String>,
    /// The item that the user is looking at (W9).
    pub focus: Option<ItemId>,
    /// The page of the item in focus, when the request names it separately.
    pub page: Option<ItemId>,
    /// The database of the item in focus, when the request names it separately.
    pub database: Option<ItemId>,
    /// The subjects of the request, by the recipe's names for them: an `opportunity` (P7), a `thread`
    /// (K2).
    pub subjects: BTreeMap<String, ItemId>,
    /// The current context (S1).
    pub context: Option<ItemId>,
    /// The facts of the situation by name, for rules (S3).
    pub situation: Map<String, Value>,
    /// The user's goal, in words (S).
    pub intent: Option<String>,
    /// The conversation so far, oldest turn first (W9).
    pub history: Vec<Turn>,
    /// Items that must be candidates.
    pub include: Vec<ItemId>,
    /// Items that must not be in the pack (W9).
    pub exclude: Vec<ItemId>,
    /// Kinds that rank higher (W9).
    pub prioritize: Vec<Kind>,
    /// Only items that changed in this range; the end is exclusive.
    pub time: (Option<Timestamp>, Option<Timestamp>),
    /// Only items with at least this confidence (M3).
    pub confidence_least: Option<Score>,
    /// Only items with these fields, such as a memory's `type` or `conversation` (M3). Several
    /// values of one field are alternatives.
    pub fields: Vec<(String, Vec<Value>)>,
    /// The number of steps that relations are followed, in place of the recipe's own.
    pub depth: Option<u32>,
    /// Most items that a search returns, in place of the recipe's own limit (M3).
    pub limit: Option<usize>,
    /// The budget, in place of the recipe's own. It includes the reserves.
    pub budget: Option<Tokens>,
    /// Caps of layers, in place of the recipe's own, by layer name (W9).
    pub caps: BTreeMap<String, Tokens>,
    /// Sizes of reserves, in place of the recipe's own, by name (P3).
    pub reserves: BTreeMap<String, Tokens>,
    /// The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer (P17).
    pub priorities: BTreeMap<String, f64>,
    /// The model that will read the pack; it caps the budget and chooses the tokenizer (P3).
    pub model: Option<String>,
    /// The tokenizer when no model is named: an encoding's name, or `characters/4`.
    pub tokenizer: Option<String>,
    /// A template in place of the layers' own (M3).
    pub template: Option<TemplateChoice>,
    /// Whether type, confidence and time are added after texts whose template shows none of them (M3).
    pub metadata: bool,
    /// A ranker in place of the layers' own.
    pub ranker: Option<RankerChoice>,
    /// Weights of similarity, recency and confidence in the ranker `default` (M6).
    pub ranking: Option<RankingWeights>,
    /// The receipt of the previous pack of the same conversation. Its beginning is kept unchanged.
    pub previous: Option<String>,
    /// The current time; the clock's when left out. Replays set it.
    pub now: Option<Timestamp>,
    /// The past state to read. A moment also sets the time of the facts, see `facts_at`.
    pub as_of: Option<AsOf>,
    /// Only facts stated by this moment are known, and validity is judged at this moment (B1). The
    /// moment of `as_of` when left out; without either, all facts are known.
    pub facts_at: Option<Timestamp>,
    /// The time zone in which dates are read (X10).
    pub time_zone: Zone,
    /// Whether a pack may be made without a failed provider, in place of the recipe's own (M11).
    pub degrade: Option<bool>,
    /// Whether a cached pack may be returned.
    pub cache: bool,
    /// Whether the receipt is stored, uses are recorded, missing summaries are made, and the pack is
    /// cached. A preview does none of this.
    pub keep: bool,
}

/// A ranker that replaces the recipe's own (M6).
#[derive(Debug, Clone)]
pub enum RankerChoice {
    /// The ranker of a name: `default`, `bySimilarity`, `byRecency`, `byConfidence`, or one that was registered.
    Named(String),
    /// An expression over the components.
    Expression(String),
    /// A function or weights, in Rust.
    Given(Ranker),
}

/// A template that replaces the recipe's own (M8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateChoice {
    /// The name of a built-in or registered template.
    Named(String),
    /// A template inside the request.
    Given {
        /// The template's name in the answer.
        name: String,
        /// The template.
        template: KeptTemplate,
    },
}

impl TemplateChoice {
    /// Returns the template's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            TemplateChoice::Named(name) | TemplateChoice::Given { name, .. } => name,
        }
    }
}

/// Weights of the ranker `default` (M6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingWeights {
    /// Weight of semantic similarity.
    pub similarity: f64,
    /// Weight of recency: 1 / (1 + days).
    pub recency: f64,
    /// Weight of the item's confidence.
    pub confidence: f64,
}

impl Default for RankingWeights {
    fn default() -> RankingWeights {
        RankingWeights { similarity: 0.6, recency: 0.2, confidence: 0.2 }
    }
}

/// The name of the subject of `prime` and of conversations.
pub const THREAD: &str = "thread";
/// The name of the subject of `proposal`.
pub const OPPORTUNITY: &str = "opportunity";

impl Request {
    /// Sets a subject, if there is one.
    pub fn set_subject(&mut self, name: &str, id: Option<ItemId>) {
        self.subjects.extend(id.map(|id| (name.to_owned(), id)));
    }

    /// Returns the wire field that names a subject.
    pub(crate) fn subject_key(name: &str) -> String {
        match name {
            THREAD | OPPORTUNITY => format!("{name}Id"),
            name => format!("subjects.{name}"),
        }
    }

    /// Returns the request with a subject, by the recipe's name for it.
    #[must_use]
    pub fn about(mut self, name: &str, id: ItemId) -> Request {
        self.set_subject(name, Some(id));
        self
    }

    /// Returns the moment whose facts are requested, unless it is the present.
    #[must_use]
    pub fn facts_moment(&self) -> Option<Timestamp> {
        self.facts_at.or(match self.as_of {
            Some(AsOf::Moment(moment)) => Some(moment),
            _ => None,
        })
    }

    /// Creates a request with the permissions of the data's owner and defaults for all other fields.
    #[must_use]
    pub fn new(recipe: &str, query: &str) -> Request {
        Request {
            recipe: recipe.to_owned(),
            query: query.to_owned(),
            vector: None,
            viewer: Viewer::owner(),
            user: None,
            request_type: None,
            focus: None,
            page: None,
            database: None,
            subjects: BTreeMap::new(),
            context: None,
            situation: Map::new(),
            intent: None,
            history: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            prioritize: Vec::new(),
            time: (None, None),
            confidence_least: None,
            fields: Vec::new(),
            depth: None,
            limit: None,
            budget: None,
            caps: BTreeMap::new(),
            reserves: BTreeMap::new(),
            priorities: BTreeMap::new(),
            model: None,
            tokenizer: None,
            template: None,
            metadata: false,
            ranker: None,
            ranking: None,
            previous: None,
            now: None,
            as_of: None,
            facts_at: None,
            time_zone: Zone::UTC,
            degrade: None,
            cache: true,
            keep: true,
        }
    }

    /// Returns the request with a budget in tokens.
    #[must_use]
    pub fn within(mut self, tokens: u32) -> Request {
        self.budget = Some(Tokens::new(tokens));
        self
    }
}
