//! Metrics of models from providers, by what a model does. They are read when the page is.

use haversack_provider::UsageByRole;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoleLabels {
    role: &'static str,
}

/// A figure of a usage, and its counter.
type ModelCounters = Family<RoleLabels, Counter>;

/// The counters of all models.
#[derive(Debug, Default)]
pub(crate) struct ModelMetrics {
    calls: ModelCounters,
    failures: ModelCounters,
    refusals: ModelCounters,
    cache_hits: ModelCounters,
    tokens: ModelCounters,
    milliseconds: ModelCounters,
}

impl ModelMetrics {
    /// Adds the counters to the page.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let counters = [
            ("model_calls", "Calls to models of providers, retries included", &self.calls),
            ("model_failures", "Calls to models that failed in the end", &self.failures),
            (
                "model_refusals",
                "Calls to models not made, because a cap was reached",
                &self.refusals,
            ),
            ("model_cache_hits", "Answers of models from a cache", &self.cache_hits),
            ("model_tokens", "Tokens that models read and wrote", &self.tokens),
            ("model_milliseconds", "Time spent waiting for models", &self.milliseconds),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
    }

    /// Raises the counters to the engine's totals.
    pub(crate) fn update(&self, totals: &UsageByRole) {
        for (role, usage) in totals {
            let raise = |counters: &ModelCounters, total: u64| {
                let counter = counters.get_or_create(&RoleLabels { role: role.as_str() });
                counter.inc_by(total.saturating_sub(counter.get()));
            };
            raise(&self.calls, usage.calls);
            raise(&self.failures, usage.failures);
            raise(&self.refusals, usage.refused);
            raise(&self.cache_hits, usage.cache_hits);
            raise(&self.tokens, usage.tokens_in + usage.tokens_out);
            raise(&self.milliseconds, u64::try_from(usage.time.as_millis()).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use haversack_provider::{ModelRole, Usage};
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn counters_follow_the_totals_k11() {
        let (metrics, mut registry) = (ModelMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        for calls in [2, 5, 5] {
            let usage = Usage { calls, tokens_in: calls * 10, ..Usage::default() };
            metrics.update(&UsageByRole::from([(ModelRole::Embed, usage)]));
        }
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        assert!(page.contains("model_calls_total{role=\"embed\"} 5\n"), "{page}");
        assert!(page.contains("model_tokens_total{role=\"embed\"} 50\n"), "{page}");
    }
}
