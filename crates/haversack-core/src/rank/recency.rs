//! Recency scores: the decay functions of the recipes.

use crate::units::{Score, Timestamp};

/// A decay function from age to a score between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recency {
    /// 1 / (1 + days) (M6).
    Hyperbolic,
    /// e^(−rate · hours) (K4, with a rate of 0.01).
    Exponential {
        /// Decay per hour; zero or more.
        rate_per_hour: f64,
    },
    /// From 1 down to 0 over a span (W6 over 30 days, S5 over 24 hours).
    Linear {
        /// The age at which nothing is left, in hours; more than zero.
        span_hours: f64,
    },
}

impl Recency {
    /// K4's law.
    pub const PRIME: Recency = Recency::Exponential { rate_per_hour: 0.01 };
    /// W6's law.
    pub const WORKSPACE: Recency = Recency::Linear { span_hours: 30.0 * 24.0 };
    /// S5's law.
    pub const SITUATION: Recency = Recency::Linear { span_hours: 24.0 };
    /// M6's law.
    pub const MEMORY: Recency = Recency::Hyperbolic;

    /// The score of a timestamp at `now`. The future counts as new.
    #[must_use]
    pub fn score(self, moment: Timestamp, now: Timestamp) -> Score {
        let hours = moment.age_hours(now);
        Score::unit(match self {
            Recency::Hyperbolic => 1.0 / (1.0 + hours / 24.0),
            // Not the platform's `exp`: its last bit differs between systems, and with it the
            // bytes.
            Recency::Exponential { rate_per_hour } => libm::exp(-rate_per_hour.max(0.0) * hours),
            Recency::Linear { span_hours } if span_hours > 0.0 => 1.0 - hours / span_hours,
            Recency::Linear { .. } => 0.0,
        })
    }
}
