//! What embedding used of a provider's model, as commands report it.

use std::sync::Arc;

use anyhow::Result;
use haversack_provider::{ModelRole, ModelSet, Usage};
use serde_json::{Value, json};

use crate::args::StoreLocation;
use crate::output::{grouped, say};

/// What embedding uses from a moment on, if a provider embeds.
pub(crate) struct EmbeddingUsage {
    models: Option<Arc<ModelSet>>,
    before: Usage,
}

impl EmbeddingUsage {
    /// Begins to measure.
    pub(crate) fn start(location: &StoreLocation) -> Result<EmbeddingUsage> {
        let models = location.models()?;
        let models = models.filter(|models| models.config().models.embed.is_some());
        let mut usage = EmbeddingUsage { models, before: Usage::default() };
        usage.before = usage.so_far().unwrap_or_default();
        Ok(usage)
    }

    /// What was used since the beginning; `None` when no provider embeds.
    fn so_far(&self) -> Option<Usage> {
        let totals = self.models.as_ref()?.usage().snapshot();
        let now = totals.get(&ModelRole::Embed).copied().unwrap_or_default();
        Some(Usage {
            calls: now.calls - self.before.calls,
            texts: now.texts - self.before.texts,
            tokens_in: now.tokens_in - self.before.tokens_in,
            cost: now.cost - self.before.cost,
            ..Usage::default()
        })
    }

    /// An addition to a line of progress.
    pub(crate) fn progress(&self) -> String {
        let used = self.so_far().filter(|used| used.tokens_in > 0);
        used.map(|used| format!(", {} tokens", grouped(used.tokens_in))).unwrap_or_default()
    }

    /// The line at the end of a command, if a provider embeds.
    pub(crate) fn line(&self) -> Option<String> {
        let has_price = self.has_price();
        self.so_far().map(|used| usage_line(&used, has_price))
    }

    /// The same for programs; `null` when no provider embeds.
    pub(crate) fn document(&self) -> Value {
        let Some(used) = self.so_far() else { return Value::Null };
        let mut document =
            json!({ "texts": used.texts, "calls": used.calls, "tokens": used.tokens_in });
        if self.has_price() {
            document["cost"] = json!(used.cost);
        }
        document
    }

    /// Reports what a command that failed used nevertheless.
    pub(crate) fn report_failure<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err()
            && let Some(line) = self.line()
        {
            say(&line);
        }
        result
    }

    fn has_price(&self) -> bool {
        let choice = self.models.as_ref().and_then(|models| models.config().models.embed.as_ref());
        choice.is_some_and(|choice| choice.price_in.is_some())
    }
}

fn usage_line(used: &Usage, has_price: bool) -> String {
    let noun = |count: u64, noun: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!("{} {noun}{ending}", grouped(count))
    };
    let mut line = format!(
        "embedded {}: {}, {}",
        noun(used.texts, "text"),
        noun(used.calls, "call"),
        noun(used.tokens_in, "token")
    );
    if has_price {
        line.push_str(&format!(", {:.4} (prices of models.toml)", used.cost));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_calls_tokens_and_the_cost_where_there_is_a_price() {
        let used =
            Usage { texts: 1_204, calls: 12, tokens_in: 310_000, cost: 0.0062, ..Usage::default() };
        let line = "embedded 1,204 texts: 12 calls, 310,000 tokens";
        assert_eq!(usage_line(&used, false), line);
        assert_eq!(usage_line(&used, true), format!("{line}, 0.0062 (prices of models.toml)"));
        let one = Usage { texts: 1, calls: 1, tokens_in: 1, ..Usage::default() };
        assert_eq!(usage_line(&one, false), "embedded 1 text: 1 call, 1 token");
    }
}
