//! Token counts by the provider itself, for models whose tokenizer is not public. Counts are remembered by
//! content.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::allowance::Reservation;
use crate::error::ProviderError;
use crate::provider::Provider;
use crate::settings::{ModelChoice, ModelRole};
use crate::usage::{Usage, UsageTotals};

/// Counts that are remembered.
const REMEMBERED: usize = 1_024;

/// How long a request waits for a count when the settings say nothing.
const WITHIN: Duration = Duration::from_secs(2);

/// Counts the tokens of texts by a call to the provider.
#[derive(Debug)]
pub struct TokenCounter {
    provider: Arc<Provider>,
    choice: ModelChoice,
    name: String,
    counted: Mutex<VecDeque<([u8; 32], u64)>>,
    totals: Arc<UsageTotals>,
}

impl TokenCounter {
    pub(crate) fn new(
        provider: Arc<Provider>,
        choice: ModelChoice,
        totals: Arc<UsageTotals>,
    ) -> TokenCounter {
        let name = format!("{}@{}", choice.model, provider.name());
        TokenCounter { provider, choice, name, counted: Mutex::default(), totals }
    }

    /// The model and its provider, as results name them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts a text as one message of a user, which adds a few tokens of the message's own.
    ///
    /// # Errors
    /// When the provider does not answer in time, or not with a number.
    pub fn count(&self, text: &str) -> Result<u64, ProviderError> {
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        let known = |counted: &VecDeque<([u8; 32], u64)>| {
            counted.iter().find(|(known, _)| *known == key).map(|(_, count)| *count)
        };
        if let Some(count) = known(&self.counted.lock().unwrap_or_else(PoisonError::into_inner)) {
            let usage = Usage { cache_hits: 1, ..Usage::default() };
            self.totals.record(ModelRole::Count, &usage);
            return Ok(count);
        }
        let count = self.ask(text)?;
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.push_front((key, count));
        counted.truncate(REMEMBERED);
        Ok(count)
    }

    fn ask(&self, text: &str) -> Result<u64, ProviderError> {
        let protocol = self.provider.protocol;
        let outgoing = protocol.count_tokens(&self.choice.model, text).ok_or_else(|| {
            let what = format!("{}: its protocol does not count tokens", self.provider.name());
            ProviderError::Settings { what }
        })?;
        let within = self.choice.deadline_ms.map_or(WITHIN, Duration::from_millis);
        // Counting costs no tokens, but a cap that is reached is reached.
        let _place = Reservation::take(0, (ModelRole::Count, &self.choice), &self.totals)?;
        let answered = self.provider.call_blocking(outgoing, 0, within);
        let usage = |calls, failures, time| Usage { calls, failures, time, ..Usage::default() };
        match answered {
            Ok(answered) => {
                self.totals.record(ModelRole::Count, &usage(answered.attempts, 0, answered.time));
                let read = protocol.read_token_count(&answered.value);
                read.map_err(|what| self.provider.malformed(&answered.url, what))
            }
            Err(failed) => {
                self.totals.record(ModelRole::Count, &usage(failed.attempts, 1, failed.time));
                Err(*failed.error)
            }
        }
    }
}
