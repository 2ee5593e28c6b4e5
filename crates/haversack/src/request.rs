//! What is asked: who asks, what for, from where, and how much may come back.
//!
//! One request serves every recipe. The five applications have requests of their own shape
//! ([`crate::recipes`]); each becomes one of these.

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

/// Who speaks in a turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// What was said.
    pub content: String,
    /// When, if known.
    pub at: Option<Timestamp>,
}

/// A moment in the past at which the store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The state at this moment.
    Moment(Timestamp),
    /// The state with this number, whoever asks: callers who do not see everything are to use the
    /// name that they were told.
    Revision(u64),
    /// The state that the viewer knows by this name.
    Token(StateToken),
}

/// What is asked of a recipe. Everything but the recipe's name may be left out.
#[derive(Debug, Clone)]
pub struct Request {
    /// The recipe's name.
    pub recipe: String,
    /// The question, in the asker's words; may be empty.
    pub query: String,
    /// What to look for instead of the query's own vector (M2).
    pub vector: Option<Vector>,
    /// Who asks. Every read is theirs (X3).
    pub viewer: Viewer,
    /// The name under which the asker's activity is kept.
    pub user: Option<String>,
    /// The sort of request, such as W9's `assist`, `chat`, `search`, `automate`.
    pub sort: Option<String>,
    /// What the asker looks at (W9).
    pub focus: Option<ItemId>,
    /// The page it is on, when that is named apart.
    pub page: Option<ItemId>,
    /// The database it is in, when that is named apart.
    pub database: Option<ItemId>,
    /// What the request is about, by the names that the recipe gives: an `opportunity` (P7), a
    /// `thread` (K2).
    pub subjects: BTreeMap<String, ItemId>,
    /// The current context (S1).
    pub context: Option<ItemId>,
    /// What the situation is: facts by name, for rules (S3).
    pub situation: Map<String, Value>,
    /// What the asker wants to reach, in words (S).
    pub intent: Option<String>,
    /// What was said before, oldest first (W9).
    pub history: Vec<Turn>,
    /// Items that must be considered.
    pub include: Vec<ItemId>,
    /// Items that must not be in (W9).
    pub exclude: Vec<ItemId>,
    /// Kinds that count for more (W9).
    pub prioritize: Vec<Kind>,
    /// Only what changed in this time; the start is in, the end is not.
    pub time: (Option<Timestamp>, Option<Timestamp>),
    /// Only what its source is at least this sure of (M3).
    pub confidence_least: Option<Score>,
    /// Only items with these fields, such as a memory's `type` or `conversation` (M3). Several
    /// values of one field are alternatives.
    pub fields: Vec<(String, Vec<Value>)>,
    /// How many steps relations are followed, in place of the recipe's own.
    pub depth: Option<u32>,
    /// How many items a search finds, in place of the recipe's own (M3).
    pub limit: Option<usize>,
    /// The budget, in place of the recipe's own. Reserves are inside it.
    pub budget: Option<Tokens>,
    /// Caps of layers, in place of the recipe's own, by layer name (W9).
    pub caps: BTreeMap<String, Tokens>,
    /// Sizes of reserves, in place of the recipe's own, by name (P3).
    pub reserves: BTreeMap<String, Tokens>,
    /// How much each layer matters to the asker: 1 is as usual, 2 twice, 0 not at all (P17).
    pub priorities: BTreeMap<String, f64>,
    /// The model that will read the pack; caps the budget and counts (P3).
    pub model: Option<String>,
    /// Who counts, when no model is named: an encoding's name, or `characters/4`.
    pub tokenizer: Option<String>,
    /// A template in place of the layers' own (M3).
    pub template: Option<TemplateChoice>,
    /// Whether type, confidence and time stand behind texts whose template shows none of them (M3).
    pub metadata: bool,
    /// A ranker in place of the layers' own.
    pub ranker: Option<RankerChoice>,
    /// What similarity, recency and confidence count for in the ranker `default` (M6).
    pub ranking: Option<RankingWeights>,
    /// The receipt of the pack before this one in the same conversation, whose beginning is to
    /// stay.
    pub previous: Option<String>,
    /// What time it is; the clock's when left out. Replays say it.
    pub now: Option<Timestamp>,
    /// A state of the past to read. A moment is also the time of the facts, see `facts_at`.
    pub as_of: Option<AsOf>,
    /// Only what was said by this moment is known, and what held then holds (B1). That of `as_of`
    /// when left out; without either, all is known.
    pub facts_at: Option<Timestamp>,
    /// The time zone in which dates are read (X10).
    pub time_zone: Zone,
    /// Whether an answer without a failed provider will do, in place of the recipe's own (M11).
    pub degrade: Option<bool>,
    /// Whether an answer that was just given may be given again.
    pub cache: bool,
    /// Whether a receipt is kept, uses are noted, and the cache filled. A preview does none.
    pub keep: bool,
}

/// A ranker in place of a recipe's own (M6).
#[derive(Debug, Clone)]
pub enum RankerChoice {
    /// By name: `default`, `bySimilarity`, `byRecency`, `byConfidence`, or one that was registered.
    Named(String),
    /// An expression over the components.
    Expression(String),
    /// A function or weights, in Rust.
    Given(Ranker),
}

/// A template in place of a recipe's own (M8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateChoice {
    /// By name: a built-in one or one that was registered.
    Named(String),
    /// Written out in the request.
    Given {
        /// What the answer calls it.
        name: String,
        /// Its parts.
        template: KeptTemplate,
    },
}

impl TemplateChoice {
    /// Its name.
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
    /// What nearness of meaning counts for.
    pub similarity: f64,
    /// What newness counts for: 1 / (1 + days).
    pub recency: f64,
    /// What the source's own sureness counts for.
    pub confidence: f64,
}

impl Default for RankingWeights {
    fn default() -> RankingWeights {
        RankingWeights { similarity: 0.6, recency: 0.2, confidence: 0.2 }
    }
}

/// The subject of `prime` and of conversations.
pub const THREAD: &str = "thread";
/// The subject of `proposal`.
pub const OPPORTUNITY: &str = "opportunity";

impl Request {
    /// Names a subject, if there is one.
    pub fn name_subject(&mut self, name: &str, id: Option<ItemId>) {
        self.subjects.extend(id.map(|id| (name.to_owned(), id)));
    }

    /// The field in which requests name a subject.
    pub(crate) fn subject_key(name: &str) -> String {
        match name {
            THREAD | OPPORTUNITY => format!("{name}Id"),
            name => format!("subjects.{name}"),
        }
    }

    /// The same request about something, under the name that its recipe gives.
    #[must_use]
    pub fn about(mut self, name: &str, id: ItemId) -> Request {
        self.name_subject(name, Some(id));
        self
    }

    /// The moment whose facts are asked for, when it is not the present one.
    #[must_use]
    pub fn known_by(&self) -> Option<Timestamp> {
        self.facts_at.or(match self.as_of {
            Some(AsOf::Moment(moment)) => Some(moment),
            _ => None,
        })
    }

    /// A question to a recipe by the owner of the data, with nothing else said.
    #[must_use]
    pub fn new(recipe: &str, query: &str) -> Request {
        Request {
            recipe: recipe.to_owned(),
            query: query.to_owned(),
            vector: None,
            viewer: Viewer::owner(),
            user: None,
            sort: None,
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

    /// The same question within a budget of tokens.
    #[must_use]
    pub fn within(mut self, tokens: u32) -> Request {
        self.budget = Some(Tokens::new(tokens));
        self
    }
}
