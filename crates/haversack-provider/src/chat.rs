//! Questions to a chat model that answers in JSON. Servers differ in how they can be made to: the strictest way
//! that works is found once and remembered.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haversack_core::text::boundary::sentences;
use serde_json::Value;

use crate::allowance::{Reservation, current_allowances, with_allowances};
use crate::error::ProviderError;
use crate::protocol::{ChatAnswer, ChatCall, ChatContent, OutputMode, add_extra};
use crate::provider::{Failed, Provider};
use crate::settings::{ModelChoice, ModelRole};
use crate::usage::{Usage, UsageTotals};

/// Most tokens of an answer when neither the question nor the settings say a number.
const TOKENS_MAX: u32 = 2_048;

/// A question that is answered by one JSON object.
#[derive(Debug, Clone)]
pub struct ChatQuestion {
    /// What the model is to do.
    pub system: String,
    /// What it is to do it with.
    pub user: String,
    /// The JSON schema of the answer.
    pub schema: Value,
    /// Most tokens of the answer, where the settings do not say.
    pub tokens_max: Option<u32>,
    /// Whether an answer that reached the limit of tokens within a text is of use: it then ends with the last
    /// whole sentence of that text.
    pub accepts_cut: bool,
}

/// A chat model of a provider, for one role.
#[derive(Debug)]
pub struct ChatModel {
    provider: Arc<Provider>,
    choice: ModelChoice,
    role: ModelRole,
    name: String,
    dialect: Mutex<Dialect>,
    totals: Arc<UsageTotals>,
}

/// What was learnt about a server: how it takes what.
#[derive(Debug, Clone, Copy, Default)]
struct Dialect {
    /// The place of the output mode in the protocol's list.
    mode: usize,
    no_temperature: bool,
    completion_tokens: bool,
}

impl ChatModel {
    pub(crate) fn new(
        provider: Arc<Provider>,
        choice: ModelChoice,
        role: ModelRole,
        totals: Arc<UsageTotals>,
    ) -> ChatModel {
        let name = format!("{}@{}", choice.model, provider.name());
        ChatModel { provider, choice, role, name, dialect: Mutex::default(), totals }
    }

    /// The model and its provider, as results name them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How JSON is asked for at present.
    #[must_use]
    pub fn output_mode(&self) -> Option<OutputMode> {
        self.provider.protocol.output_modes().get(self.dialect().mode).copied()
    }

    /// The time for one question, retries included, where the settings say it.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.choice.deadline_ms.map(Duration::from_millis)
    }

    /// Asks a question. Returns the answer and the URL that was called.
    ///
    /// # Errors
    /// When the provider does not answer within the time, or with something that is no JSON object.
    pub async fn ask(
        &self,
        question: &ChatQuestion,
        within: Duration,
    ) -> Result<(Value, String), ProviderError> {
        let until = Instant::now() + within;
        let mut dialect = self.dialect();
        let mut first = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.ask_once(question, dialect, left).await {
                Ok(answer) => {
                    // Only what worked is remembered: the refusal may have had another cause.
                    *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
                    return Ok(answer);
                }
                Err(failed) => {
                    let adapted = self.adapt(dialect, &failed);
                    // The first refusal names the cause; the later ones are of our own making.
                    let error = first.take().unwrap_or(*failed.error);
                    match adapted.filter(|_| Instant::now() < until) {
                        Some(adapted) => (dialect, first) = (adapted, Some(error)),
                        None => return Err(error),
                    }
                }
            }
        }
    }

    /// Asks a question and blocks this thread. For code that is not async.
    ///
    /// # Errors
    /// As [`ChatModel::ask`].
    pub fn ask_blocking(
        self: &Arc<Self>,
        question: ChatQuestion,
        within: Duration,
    ) -> Result<(Value, String), ProviderError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let (model, allowances) = (Arc::clone(self), current_allowances());
        self.provider.spawn(with_allowances(allowances, async move {
            // The receiver waits as long as its thread lives.
            let _ = sender.send(model.ask(&question, within).await);
        }));
        receiver.recv().unwrap_or_else(|_| {
            let (provider, what) = (self.provider.name().to_owned(), "a thread");
            Err(ProviderError::Queued { provider, what })
        })
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to ask differently after a refusal, if there is anything.
    fn adapt(&self, dialect: Dialect, failed: &Failed) -> Option<Dialect> {
        // A server may also answer with prose where it ignores what it does not know.
        let is_prose = matches!(*failed.error, ProviderError::Malformed { .. }) && !failed.is_cut;
        if !failed.error.may_be_too_large() && !is_prose {
            return None;
        }
        match failed.parameter.as_deref() {
            Some("temperature") if !dialect.no_temperature => {
                Some(Dialect { no_temperature: true, ..dialect })
            }
            Some("max_tokens") if !dialect.completion_tokens => {
                Some(Dialect { completion_tokens: true, ..dialect })
            }
            _ => {
                let mode = dialect.mode + 1;
                let is_there = mode < self.provider.protocol.output_modes().len();
                is_there.then_some(Dialect { mode, ..dialect })
            }
        }
    }

    async fn ask_once(
        &self,
        question: &ChatQuestion,
        dialect: Dialect,
        within: Duration,
    ) -> Result<(Value, String), Failed> {
        let protocol = self.provider.protocol;
        let tokens_max = self.choice.max_tokens.or(question.tokens_max).unwrap_or(TOKENS_MAX);
        let temperature = self.choice.temperature.unwrap_or(0.0);
        let call = ChatCall {
            model: &self.choice.model,
            system: &question.system,
            user: &question.user,
            schema: &question.schema,
            mode: protocol.output_modes().get(dialect.mode).copied().unwrap_or(OutputMode::Prompt),
            temperature: (!dialect.no_temperature).then_some(temperature),
            tokens_max,
            completion_tokens: dialect.completion_tokens,
        };
        let refuse = |error| Failed {
            error: Box::new(error),
            parameter: None,
            is_cut: false,
            attempts: 0,
            time: Duration::ZERO,
        };
        let Some(mut outgoing) = protocol.chat(&call) else {
            let what = format!("{}: its protocol has no chat", self.provider.name());
            return Err(refuse(ProviderError::Settings { what }));
        };
        add_extra(&mut outgoing.body, &self.choice.extra);
        let estimated = (question.system.len() + question.user.len()) as u64 / 4 + 1;
        let role = (self.role, &self.choice);
        let _place = Reservation::take(estimated, role, &self.totals).map_err(refuse)?;
        let answered = self.provider.call_async(outgoing, estimated, within).await;
        let answered = answered.inspect_err(|failed| {
            let usage = Usage {
                calls: failed.attempts,
                failures: 1,
                time: failed.time,
                ..Usage::default()
            };
            self.totals.record(self.role, &usage);
        })?;
        let read = protocol.read_chat(&answered.value);
        let tokens = read.as_ref().map_or((None, None), |read| (read.tokens_in, read.tokens_out));
        let is_cut = read.as_ref().is_ok_and(|read| read.is_cut);
        let read = read.and_then(|read| json_object(read, tokens_max, question.accepts_cut));
        let usage = Usage {
            calls: answered.attempts,
            failures: u64::from(read.is_err()),
            tokens_in: tokens.0.unwrap_or(estimated),
            tokens_out: tokens.1.unwrap_or(0),
            time: answered.time,
            ..Usage::default()
        };
        self.totals.record(self.role, &usage.with_cost(&self.choice));
        let url = answered.url;
        match read {
            Ok(value) => Ok((value, url)),
            Err(what) => Err(Failed { is_cut, ..refuse(self.provider.malformed(&url, what)) }),
        }
    }
}

/// The JSON object of an answer. Small models like to wrap it in a code block or in words.
fn json_object(answer: ChatAnswer, tokens_max: u32, accepts_cut: bool) -> Result<Value, String> {
    let cut = || {
        format!(
            "the answer was cut at {tokens_max} tokens before its JSON was complete; raise max_tokens"
        )
    };
    let text = match answer.content {
        // A tool's input that was cut comes as an empty object.
        ChatContent::Json(_) if answer.is_cut => return Err(cut()),
        ChatContent::Json(value) if value.is_object() => return Ok(value),
        ChatContent::Json(_) => return Err("the answer is not a JSON object".to_owned()),
        ChatContent::Text(text) => text,
    };
    let starts = text.match_indices('{').map(|(at, _)| at);
    let parsed = starts.take(8).find_map(|start| {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        values.next()?.ok().filter(Value::is_object)
    });
    match parsed {
        Some(value) => Ok(value),
        None if answer.is_cut => {
            let completed = if accepts_cut { close_at_sentence(&text) } else { None };
            completed.ok_or_else(cut)
        }
        None => Err(format!("there is no JSON object in its {} bytes", text.len())),
    }
}

/// Completes an object that was cut within a text, after the last whole sentence.
fn close_at_sentence(text: &str) -> Option<Value> {
    let object = &text[text.find('{')?..];
    let unfinished = sentences(object).pop()?;
    let closed = format!("{}\"}}", object[..unfinished.start].trim_end());
    serde_json::from_str(&closed).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_where_small_models_hide_it() {
        let check = |text: &str, expected: Option<Value>| {
            let content = ChatContent::Text(text.to_owned());
            let answer = ChatAnswer { content, tokens_in: None, tokens_out: None, is_cut: false };
            assert_eq!(json_object(answer, 10, false).ok(), expected, "{text}");
        };
        check(r#"{"a": 1}"#, Some(json!({"a": 1})));
        check("```json\n{\"a\": 1}\n```", Some(json!({"a": 1})));
        check("Sure! {\"a\": {\"b\": 2}} Anything else?", Some(json!({"a": {"b": 2}})));
        check("{ not json {\"a\": 1}", Some(json!({"a": 1})));
        check("no", None);
        check("[1]", None);
    }

    #[test]
    fn a_cut_answer_says_what_to_raise() {
        let content = ChatContent::Text("{\"a\": [1, 2".to_owned());
        let answer = ChatAnswer { content, tokens_in: None, tokens_out: None, is_cut: true };
        assert!(json_object(answer, 10, true).unwrap_err().contains("raise max_tokens"));
    }

    #[test]
    fn a_cut_text_ends_with_its_last_whole_sentence() {
        let check = |text: &str, accepts_cut: bool, expected: Option<Value>| {
            let content = ChatContent::Text(text.to_owned());
            let answer = ChatAnswer { content, tokens_in: None, tokens_out: None, is_cut: true };
            assert_eq!(json_object(answer, 10, accepts_cut).ok(), expected, "{text}");
        };
        let text = r#"{"s": "It cost 3.5 kr.\nAnna \"paid\". Then th"#;
        check(text, true, Some(json!({"s": "It cost 3.5 kr.\nAnna \"paid\"."})));
        check(text, false, None);
        check(r#"{"s": "no whole sentence"#, true, None);
        check(r#"{"s": ["One. Two. Thr"#, true, None);
    }
}
