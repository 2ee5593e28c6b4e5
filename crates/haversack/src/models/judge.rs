//! A chat model as the judge of conditions in plain language (S3): all conditions of a request in one call,
//! remembered by condition and situation.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::units::{Score, Timestamp};
use haversack_provider::{ChatModel, ChatQuestion, ModelRole, Usage, record_in_scope};
use moka::sync::Cache;
use serde_json::{Map, Value, json};

use super::prompt::{DATA_ONLY, cut, share};
use crate::situation::{Judge, JudgeAnswer, JudgeError, Verdict};

/// How long a request waits for the judge when the settings say nothing.
const WITHIN: Duration = Duration::from_secs(5);

/// Verdicts that are remembered, and for how long.
const REMEMBERED: u64 = 10_000;
const KEPT: Duration = Duration::from_secs(60 * 60);

/// Conditions of one call; more are judged in several.
const CONDITIONS_MAX: usize = 64;

/// Bytes of a situation and of a condition that a model is shown.
const SITUATION_BYTES_MAX: usize = 48 << 10;
const CONDITION_BYTES_MAX: usize = 2 << 10;

/// Characters of a reason that are kept.
const REASON_BYTES_MAX: usize = 300;

/// Tokens of an answer: a few for each condition, with a reason.
const TOKENS_EACH: usize = 80;

const TASK: &str = "You decide for each condition whether it holds in the situation. Use only what the situation \
                    says: answer \"yes\" when it shows that the condition holds, \"no\" when it shows that it does \
                    not, and \"undecided\" when it does not say. Give for each a sureness from 0 to 1 and a reason \
                    of at most fifteen words, in the language of the condition.";

/// A judge that asks a chat model.
#[derive(Debug)]
pub struct ChatJudge {
    model: Arc<ChatModel>,
    verdicts: Cache<[u8; 32], Verdict>,
}

impl ChatJudge {
    /// A judge that remembers ten thousand verdicts for an hour.
    #[must_use]
    pub fn new(model: Arc<ChatModel>) -> ChatJudge {
        let verdicts = Cache::builder().max_capacity(REMEMBERED).time_to_live(KEPT).build();
        ChatJudge { model, verdicts }
    }

    async fn verdicts(
        &self,
        situation: &Map<String, Value>,
        now: Timestamp,
        conditions: &[&str],
    ) -> Result<Vec<Verdict>, JudgeError> {
        let situation = Value::Object(situation.clone()).to_string();
        let hour = now.to_string();
        let hour = hour.get(..13).unwrap_or(&hour);
        let key = |condition: &str| -> [u8; 32] {
            let mut hasher = blake3::Hasher::new();
            for part in [self.model.name(), hour, &situation, condition] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
            *hasher.finalize().as_bytes()
        };
        let keys: Vec<[u8; 32]> = conditions.iter().map(|condition| key(condition)).collect();
        let mut known: Vec<Option<Verdict>> =
            keys.iter().map(|key| self.verdicts.get(key)).collect();
        let open: Vec<usize> = (0..known.len()).filter(|at| known[*at].is_none()).collect();
        let hits = (known.len() - open.len()) as u64;
        if hits > 0 {
            record_in_scope(ModelRole::Judge, &Usage { cache_hits: hits, ..Usage::default() });
        }
        for part in open.chunks(CONDITIONS_MAX) {
            let asked: Vec<&str> = part.iter().map(|at| conditions[*at]).collect();
            let judged = self.ask(&situation, hour, &asked).await?;
            for (at, verdict) in part.iter().zip(judged) {
                self.verdicts.insert(keys[*at], verdict.clone());
                known[*at] = Some(verdict);
            }
        }
        Ok(known.into_iter().map(|verdict| verdict.unwrap_or(Verdict::UNDECIDED)).collect())
    }

    async fn ask(
        &self,
        situation: &str,
        hour: &str,
        conditions: &[&str],
    ) -> Result<Vec<Verdict>, JudgeError> {
        let failed =
            |cause: String| JudgeError { judge: self.model.name().to_owned(), cause: cause.into() };
        let listed: Vec<Value> = conditions
            .iter()
            .enumerate()
            .map(|(n, condition)| json!({ "id": n, "condition": cut(condition, CONDITION_BYTES_MAX) }))
            .collect();
        let question = ChatQuestion {
            system: format!("{TASK} {DATA_ONLY}"),
            user: format!(
                "Time: {hour}:00 UTC\nSituation: {}\nConditions: {}",
                cut(situation, SITUATION_BYTES_MAX),
                Value::Array(listed)
            ),
            schema: schema(),
            tokens_max: u32::try_from(200 + conditions.len() * TOKENS_EACH).ok(),
            accepts_cut: false,
        };
        let within = self.model.deadline().unwrap_or(WITHIN);
        let (answer, _) = self.model.ask(&question, within).await.map_err(|e| failed(e.chain()))?;
        read_verdicts(&answer, conditions.len()).map_err(failed)
    }
}

impl Judge for ChatJudge {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn deadline(&self) -> Duration {
        self.model.deadline().unwrap_or(WITHIN)
    }

    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        self.verdicts(situation, now, conditions).boxed()
    }
}

/// The schema of an answer. All properties are required and nothing else is allowed, as strict modes want it.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "integer" },
                        "reason": { "type": "string" },
                        "answer": { "type": "string", "enum": ["yes", "no", "undecided"] },
                        "sureness": { "type": "number" },
                    },
                    "required": ["id", "reason", "answer", "sureness"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["verdicts"],
        "additionalProperties": false,
    })
}

/// One verdict for each condition. A condition without one is undecided; an answer without any is none.
fn read_verdicts(answer: &Value, conditions: usize) -> Result<Vec<Verdict>, String> {
    let list = answer.get("verdicts").and_then(Value::as_array);
    let list = list.ok_or("the answer has no list of verdicts")?;
    let mut verdicts = vec![None; conditions];
    for (place, entry) in list.iter().enumerate() {
        let id = entry.get("id").and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let Some(slot) = verdicts.get_mut(id.unwrap_or(place)) else { continue };
        let Some(answer) = entry.get("answer").and_then(Value::as_str) else { continue };
        let answer = match answer.trim().to_lowercase().as_str() {
            "yes" | "true" => JudgeAnswer::Yes,
            "no" | "false" => JudgeAnswer::No,
            _ => JudgeAnswer::Undecided,
        };
        let sureness = match answer {
            JudgeAnswer::Undecided => 0.0,
            JudgeAnswer::Yes | JudgeAnswer::No => share(entry.get("sureness")).unwrap_or(0.5),
        };
        let reason = entry.get("reason").and_then(Value::as_str).map(str::trim);
        let reason = reason.filter(|reason| !reason.is_empty());
        *slot = Some(Verdict {
            answer,
            sureness: Score::unit(sureness),
            reason: reason.map(|reason| cut(reason, REASON_BYTES_MAX).to_owned()),
        });
    }
    if conditions > 0 && verdicts.iter().all(Option::is_none) {
        return Err("the answer decides none of the conditions".to_owned());
    }
    Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::UNDECIDED)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(answer: &Value, conditions: usize) -> Result<Vec<(&'static str, f64)>, String> {
        let verdicts = read_verdicts(answer, conditions)?;
        Ok(verdicts.iter().map(|v| (v.answer.as_str(), v.sureness.get())).collect())
    }

    #[test]
    fn verdicts_are_put_in_the_order_of_the_conditions_s3() {
        let answer = json!({"verdicts": [
            {"id": 1, "answer": "No", "sureness": "90%", "reason": " it is tested "},
            {"id": 0, "answer": "yes", "sureness": 0.8, "reason": ""},
            {"id": 9, "answer": "yes", "sureness": 1, "reason": "of nothing"},
        ]});
        let expected = vec![("yes", 0.8), ("no", 0.9), ("undecided", 0.0)];
        assert_eq!(answers(&answer, 3).unwrap(), expected);
        let reasons = read_verdicts(&answer, 3).unwrap();
        assert_eq!(reasons[1].reason.as_deref(), Some("it is tested"));
        assert_eq!(reasons[0].reason, None);
    }

    #[test]
    fn an_answer_without_verdicts_is_an_error_so_that_the_local_judge_decides_s3() {
        answers(&json!({}), 1).unwrap_err();
        answers(&json!({"verdicts": []}), 1).unwrap_err();
        answers(&json!({"verdicts": [{"id": 0}]}), 1).unwrap_err();
    }
}
