//! Scenarios: a request to known data, and what users of the application expect of the pack.
//!
//! A suite is a TOML file with its data, an export, beside it. [`Suite::load`] imports the data
//! into a workspace, and [`Suite::run`] reports for each scenario which expectations failed.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::kinds::moment;
use haversack_store::transfer::{ImportError, import};
use serde::Deserialize;
use serde_json::{Map, Value};

use haversack::engine::Workspace;
use haversack::error::Error;
use haversack::pipeline::Assembled;
use haversack::recipes::{parse_request, result_json};

/// The built-in suites of the five applications: name, suite and data.
#[rustfmt::skip]
pub const BUILT_IN: [(&str, &str, &str); 5] = [
    ("proposal", include_str!("../scenarios/proposal.toml"), include_str!("../scenarios/proposal.jsonl")),
    ("prime", include_str!("../scenarios/prime.toml"), include_str!("../scenarios/prime.jsonl")),
    ("workspace", include_str!("../scenarios/workspace.toml"), include_str!("../scenarios/workspace.jsonl")),
    ("situation", include_str!("../scenarios/situation.toml"), include_str!("../scenarios/situation.jsonl")),
    ("memory", include_str!("../scenarios/memory.toml"), include_str!("../scenarios/memory.jsonl")),
];

/// Scenarios over the same data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The file of the data, beside the suite's own.
    pub data: String,
    /// The recipe of all requests.
    pub recipe: String,
    /// The time of all requests, RFC 3339.
    pub now: String,
    /// The scenarios, in order.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
}

/// A request and what is expected of its pack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The expected behaviour, as a sentence.
    pub name: String,
    /// The ids of the requirements that it covers.
    #[serde(default)]
    pub shows: Vec<String>,
    /// Why it is known to fail. A passing scenario must not have this.
    #[serde(default)]
    pub pending: Option<String>,
    /// An earlier scenario whose pack this one continues.
    #[serde(default)]
    pub after: Option<String>,
    /// The request, in the application's own shape.
    pub request: Map<String, Value>,
    /// What is expected of the pack.
    pub expect: Expectation,
}

/// What is expected of a pack. Absent fields are not checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// Items with text in the pack.
    #[serde(rename = "in")]
    pub inside: Vec<String>,
    /// Items without text in the pack.
    pub out: Vec<String>,
    /// Items that must appear in this order.
    pub order: Vec<String>,
    /// Strings that the text contains.
    pub text: Vec<String>,
    /// Strings that the text does not contain.
    pub no_text: Vec<String>,
    /// Codes of expected notices.
    pub notices: Vec<String>,
    /// Codes of notices that must not occur.
    pub no_notices: Vec<String>,
    /// Parts of the expected error message; then there is no pack.
    pub refused: Vec<String>,
    /// The maximum number of tokens.
    pub tokens_max: Option<u32>,
    /// Expected values of the response, by JSON pointer.
    pub answer: BTreeMap<String, Value>,
}

/// The result of a scenario.
#[derive(Debug)]
pub struct ScenarioOutcome<'s> {
    /// The scenario.
    pub scenario: &'s Scenario,
    /// The failed expectations.
    pub wrong: Vec<String>,
    /// The packed text, or the message of the error.
    pub text: String,
}

impl Suite {
    /// Parses a suite.
    ///
    /// # Errors
    /// When the text is not a valid suite; the error names the place.
    pub fn parse(text: &str) -> Result<Suite, Error> {
        let suite: Suite =
            toml::from_str(text).map_err(|error| Error::invalid("scenarios", error.to_string()))?;
        suite.present()?;
        Ok(suite)
    }

    /// The time of all requests.
    ///
    /// # Errors
    /// When `now` is not RFC 3339.
    pub fn present(&self) -> Result<Timestamp, Error> {
        let now = moment(&Value::String(self.now.clone()));
        now.ok_or_else(|| Error::invalid("now", format!("{:?} is not RFC 3339", self.now)))
    }

    /// Imports the suite's data into a workspace.
    ///
    /// # Errors
    /// When the data is not an export, or the workspace cannot be written.
    pub fn load(&self, workspace: &Workspace, data: &[u8]) -> Result<(), ImportError> {
        let at = self.present().unwrap_or(Timestamp::from_millis(0));
        let store = &**workspace.blocking_store();
        import(store, &mut &*data, (&self.recipe, at), &mut |_| {}).map(drop)
    }

    /// Runs every scenario on a workspace with the data.
    ///
    /// # Errors
    /// When a scenario cannot be run at all.
    pub async fn run(&self, workspace: &Workspace) -> Result<Vec<ScenarioOutcome<'_>>, Error> {
        let mut receipts: BTreeMap<&str, String> = BTreeMap::new();
        let mut outcomes = Vec::with_capacity(self.scenarios.len());
        for scenario in &self.scenarios {
            let mut fields = scenario.request.clone();
            if let Some(after) = &scenario.after {
                let receipt = receipts.get(after.as_str()).ok_or_else(|| {
                    let message = format!("{:?} has no pack before {:?}", after, scenario.name);
                    Error::invalid("after", message)
                })?;
                fields.insert("previous".to_owned(), Value::String(receipt.clone()));
            }
            let (wrong, text) = match self.ask(workspace, fields).await {
                Ok(assembled) => {
                    receipts.insert(&scenario.name, assembled.receipt());
                    (scenario.expect.check(&assembled), assembled.text().to_owned())
                }
                Err(error) => {
                    let message = error.to_string();
                    (scenario.expect.check_refusal(&message), message)
                }
            };
            outcomes.push(ScenarioOutcome { scenario, wrong, text });
        }
        Ok(outcomes)
    }

    async fn ask(
        &self,
        workspace: &Workspace,
        fields: Map<String, Value>,
    ) -> Result<std::sync::Arc<Assembled>, Error> {
        let shape = workspace.recipe(&self.recipe).await?.shape;
        let mut request = parse_request(&self.recipe, shape, Value::Object(fields))?;
        request.now = Some(self.present()?);
        let assembled = workspace.pack(request).await?;
        workspace.flush().await;
        Ok(assembled)
    }
}

impl Expectation {
    /// The expectations that a pack fails.
    fn check(&self, assembled: &Assembled) -> Vec<String> {
        let mut wrong = Vec::new();
        if !self.refused.is_empty() {
            wrong.push("was not refused".to_owned());
        }
        let shown = items_in_text_order(assembled);
        let is_in = |id: &&String| shown.iter().any(|shown| shown.as_str() == **id);
        let missing: Vec<&String> = self.inside.iter().filter(|id| !is_in(id)).collect();
        if !missing.is_empty() {
            let of = self.inside.len();
            wrong.push(format!("not in, {} of {of}: {missing:?}", missing.len()));
        }
        let surplus: Vec<&String> = self.out.iter().filter(is_in).collect();
        if !surplus.is_empty() {
            wrong.push(format!("in: {surplus:?}"));
        }
        let mut places = shown.iter();
        let in_order = |id: &String| places.any(|shown| shown.as_str() == id);
        if !self.order.iter().all(in_order) {
            let order: Vec<&str> = shown.iter().map(ItemId::as_str).collect();
            wrong.push(format!("the order is {order:?}"));
        }
        let text = assembled.text();
        for (strings, is_wanted) in [(&self.text, true), (&self.no_text, false)] {
            let lost = strings.iter().filter(|part| text.contains(&***part) != is_wanted);
            let what = if is_wanted { "not in the text" } else { "in the text" };
            wrong.extend(lost.map(|part| format!("{what}: {part:?}")));
        }
        let codes: Vec<&str> =
            assembled.notices.iter().map(|notice| notice.code.as_str()).collect();
        for (wanted, is_wanted) in [(&self.notices, true), (&self.no_notices, false)] {
            let lost = wanted.iter().filter(|code| codes.contains(&&***code) != is_wanted);
            wrong.extend(lost.map(|code| format!("{code}: the notices are {codes:?}")));
        }
        let tokens = assembled.pack.tokens.get();
        if let Some(most) = self.tokens_max.filter(|most| tokens > *most) {
            wrong.push(format!("{tokens} tokens are over {most}"));
        }
        let answer = result_json(assembled, true);
        for (pointer, expected) in &self.answer {
            match answer.pointer(pointer) {
                Some(found) if found == expected => {}
                found => wrong.push(format!("{pointer} is {found:?} and not {expected}")),
            }
        }
        wrong
    }

    /// The expectations that an error message fails.
    fn check_refusal(&self, message: &str) -> Vec<String> {
        if self.refused.is_empty() {
            return vec![format!("refused: {message}")];
        }
        let lost = self.refused.iter().filter(|part| !message.contains(&***part));
        lost.map(|part| format!("the message does not say {part:?}: {message}")).collect()
    }
}

/// The items of a pack in text order, each at its first occurrence.
fn items_in_text_order(assembled: &Assembled) -> Vec<ItemId> {
    let mut shown: Vec<ItemId> = Vec::new();
    for section in &assembled.pack.sections {
        for item in &section.items {
            if !shown.contains(&item.id.item) {
                shown.push(item.id.item.clone());
            }
        }
    }
    shown
}
