//! Scores as weighted sums over named components.

use std::fmt;

use thiserror::Error;

use crate::units::Score;

/// A relevance signal, normalised to 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// Vector similarity (W6, M6, P8–P10).
    Semantic,
    /// Lexical similarity, by TF-IDF cosine or normalised BM25 (K4).
    TextSimilarity,
    /// Share of the query's keywords that occur (K4).
    KeywordMatch,
    /// How new it is (K4, W6, M6, P7).
    Recency,
    /// How directly it was retrieved (K4).
    SourcePriority,
    /// How often it was used before (K4).
    Usage,
    /// How near it is in the tree (W6).
    Structural,
    /// Whether its kind matches the query's intent (W6).
    TypeMatch,
    /// How much the user has interacted with it (W6).
    Affinity,
    /// Its confidence (M6).
    Confidence,
    /// It is named in the request, the deal (P9) or another candidate.
    Mention,
    /// It is the current context (S5).
    Current,
    /// It is the current context's direct parent (S5).
    Parent,
    /// It has behaviour rules (S5).
    Rules,
    /// Its collector's own score, such as 0.9 for an ancestor (W2).
    Collector,
    /// Its fused score over several result lists.
    Fusion,
    /// The score of its neighbour.
    Neighbour,
    /// Its reranker score.
    Rerank,
    /// How near it is to a time in the query.
    Timing,
    /// How well its best window matches each query word (late interaction).
    MaxSim,
    /// It is safety-relevant.
    Safety,
}

impl Component {
    /// Every component.
    pub const ALL: [Component; 21] = [
        Component::Semantic,
        Component::TextSimilarity,
        Component::KeywordMatch,
        Component::Recency,
        Component::SourcePriority,
        Component::Usage,
        Component::Structural,
        Component::TypeMatch,
        Component::Affinity,
        Component::Confidence,
        Component::Mention,
        Component::Current,
        Component::Parent,
        Component::Rules,
        Component::Collector,
        Component::Fusion,
        Component::Neighbour,
        Component::Rerank,
        Component::Timing,
        Component::MaxSim,
        Component::Safety,
    ];

    /// The name used in expressions, recipes and ledgers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Component::Semantic => "semantic",
            Component::TextSimilarity => "text_similarity",
            Component::KeywordMatch => "keyword_match",
            Component::Recency => "recency",
            Component::SourcePriority => "source_priority",
            Component::Usage => "usage",
            Component::Structural => "structural",
            Component::TypeMatch => "type_match",
            Component::Affinity => "affinity",
            Component::Confidence => "confidence",
            Component::Mention => "mention",
            Component::Current => "current",
            Component::Parent => "parent",
            Component::Rules => "rules",
            Component::Collector => "collector",
            Component::Fusion => "fusion",
            Component::Neighbour => "neighbour",
            Component::Rerank => "rerank",
            Component::Timing => "timing",
            Component::MaxSim => "maxsim",
            Component::Safety => "safety",
        }
    }

    /// The component of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Component> {
        Component::ALL.into_iter().find(|component| component.name() == name)
    }

    /// The default for a missing signal: neutral where absence is no evidence (K4, W6), else zero.
    #[must_use]
    pub const fn when_unknown(self) -> Score {
        match self {
            Component::Recency | Component::Structural | Component::TypeMatch => Score::HALF,
            _ => Score::ZERO,
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The signals of one candidate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signals(Vec<(Component, Score)>);

impl Signals {
    /// Sets a signal, clamped to 0 to 1.
    pub fn set(&mut self, component: Component, value: Score) {
        let value = Score::unit(value.get());
        match self.0.binary_search_by_key(&component, |&(known, _)| known) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (component, value)),
        }
    }

    /// Sets a signal, for chaining.
    #[must_use]
    pub fn with(mut self, component: Component, value: Score) -> Signals {
        self.set(component, value);
        self
    }

    /// The signal of a component, if set.
    #[must_use]
    pub fn get(&self, component: Component) -> Option<Score> {
        let at = self.0.binary_search_by_key(&component, |&(known, _)| known).ok()?;
        Some(self.0[at].1)
    }

    /// The similarity to the query: semantic, else the fused score (M6, M8).
    #[must_use]
    pub fn similarity(&self) -> Option<Score> {
        [Component::Semantic, Component::Fusion]
            .into_iter()
            .find_map(|component| self.get(component))
    }

    /// Takes the maximum of each signal.
    pub fn strengthen(&mut self, other: &Signals) {
        for &(component, value) in &other.0 {
            if self.get(component).is_none_or(|known| known < value) {
                self.set(component, value);
            }
        }
    }

    /// The signals as parts of weight zero, for scores that are not weighted sums.
    pub(super) fn as_parts(&self) -> Vec<ScorePart> {
        self.iter().map(|(component, value)| ScorePart { component, value, weight: 0.0 }).collect()
    }

    /// All signals, in the order of [`Component::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Component, Score)> + '_ {
        self.0.iter().copied()
    }
}

/// One component's contribution to a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScorePart {
    /// The component.
    pub component: Component,
    /// Its signal, or the default for a missing one.
    pub value: Score,
    /// Its weight.
    pub weight: f64,
}

/// Why weights are invalid.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WeightError {
    /// Not a number, infinite, or beyond [`Scoring::WEIGHT_MAX`].
    #[error("the weight {weight} of {component} is not a number between -{max} and {max}", max = Scoring::WEIGHT_MAX)]
    NotUsable {
        /// The component.
        component: Component,
        /// The weight.
        weight: f64,
    },
    /// A component occurs twice.
    #[error("{component} has two weights")]
    Twice {
        /// The component.
        component: Component,
    },
}

/// A weighted sum of components. Finite by construction.
#[derive(Debug, Clone, PartialEq)]
pub struct Scoring {
    base: f64,
    weights: Vec<(Component, f64)>,
}

/// The formula, as in `0 + 0.5 * semantic`.
impl fmt::Display for Scoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.base)?;
        self.weights
            .iter()
            .try_for_each(|(component, weight)| write!(f, " + {weight} * {component}"))
    }
}

impl Scoring {
    /// Maximum absolute weight. With components between 0 and 1 no sum can overflow.
    pub const WEIGHT_MAX: f64 = 1_000.0;

    /// A sum with these weights; every score starts at `base`.
    ///
    /// # Errors
    /// When a weight is out of range, or a component occurs twice.
    pub fn new(base: Score, weights: &[(Component, f64)]) -> Result<Scoring, WeightError> {
        let mut kept: Vec<(Component, f64)> = Vec::with_capacity(weights.len());
        for &(component, weight) in weights {
            if !(-Scoring::WEIGHT_MAX..=Scoring::WEIGHT_MAX).contains(&weight) {
                return Err(WeightError::NotUsable { component, weight });
            }
            if kept.iter().any(|&(known, _)| known == component) {
                return Err(WeightError::Twice { component });
            }
            kept.push((component, weight));
        }
        Ok(Scoring { base: base.get(), weights: kept })
    }

    /// K4: files and chat threads.
    #[must_use]
    pub fn prime() -> Scoring {
        Scoring::constant(
            0.0,
            &[
                (Component::TextSimilarity, 0.35),
                (Component::KeywordMatch, 0.25),
                (Component::Recency, 0.15),
                (Component::SourcePriority, 0.15),
                (Component::Usage, 0.10),
            ],
        )
    }

    /// W6: blocks of a workspace.
    #[must_use]
    pub fn workspace() -> Scoring {
        Scoring::constant(
            0.0,
            &[
                (Component::Semantic, 0.35),
                (Component::Structural, 0.25),
                (Component::Recency, 0.15),
                (Component::TypeMatch, 0.15),
                (Component::Affinity, 0.10),
            ],
        )
    }

    /// S5: contexts of a situation, between 1 and 5.5.
    #[must_use]
    pub fn situation() -> Scoring {
        Scoring::constant(
            1.0,
            &[
                (Component::Current, 2.0),
                (Component::Parent, 1.0),
                (Component::Rules, 0.5),
                (Component::Recency, 1.0),
            ],
        )
    }

    /// M6: memories, with the default weights; [`Scoring::new`] takes others.
    #[must_use]
    pub fn memory() -> Scoring {
        Scoring::constant(
            0.0,
            &[(Component::Semantic, 0.6), (Component::Recency, 0.2), (Component::Confidence, 0.2)],
        )
    }

    /// P9: named competitors before merely similar ones.
    #[must_use]
    pub fn battlecards() -> Scoring {
        Scoring::constant(0.0, &[(Component::Mention, 1.0), (Component::Semantic, 0.5)])
    }

    /// One component alone: `bySimilarity`, `byRecency`, `byConfidence` (M6), newest first (P7),
    /// most similar first (P8, P10).
    #[must_use]
    pub fn by(component: Component) -> Scoring {
        Scoring::constant(0.0, &[(component, 1.0)])
    }

    fn constant(base: f64, weights: &[(Component, f64)]) -> Scoring {
        Scoring { base, weights: weights.to_vec() }
    }

    /// The same sum without one component.
    #[must_use]
    pub fn without(mut self, component: Component) -> Scoring {
        self.weights.retain(|&(known, _)| known != component);
        self
    }

    /// The weights, in their order.
    #[must_use]
    pub fn weights(&self) -> &[(Component, f64)] {
        &self.weights
    }

    /// The score of a candidate's signals, and its parts.
    #[must_use]
    pub fn score(&self, signals: &Signals) -> (Score, Vec<ScorePart>) {
        let mut sum = self.base;
        let parts = self
            .weights
            .iter()
            .map(|&(component, weight)| {
                let value = signals.get(component).unwrap_or(component.when_unknown());
                sum += value.get() * weight;
                ScorePart { component, value, weight }
            })
            .collect();
        (Score::new(sum).unwrap_or(Score::ZERO), parts)
    }
}
