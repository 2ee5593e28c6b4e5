//! Assembling the context of one call: in the data folder, or by asking a Haversack server.

use axum::http::Uri;
use bytes::Bytes;
use haversack::{Request, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::units::Tokens;
use haversack_store::store::viewer::Viewer;
use serde_json::{Map, Value, json};

use super::GatewayError;
use super::settings::{Context, Rule, secret};
use crate::client::{self, CallError, Client};
use crate::problem::Problem;

/// Longest question that is made of a call's arguments, in characters.
const QUERY_CHARS_MAX: usize = 2_000;

/// Longest argument that is a fact of the situation, as JSON. Longer ones are contents, not facts,
/// and would be kept in every receipt.
const FACT_BYTES_MAX: usize = 4 << 10;

/// Most such arguments.
const FACTS_MAX: usize = 100;

/// Longest answer of a server.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Who assembles.
#[derive(Debug)]
pub(super) enum Assembler {
    Local(Workspace),
    Remote(Box<Remote>),
}

/// A Haversack server that assembles.
#[derive(Debug)]
pub(super) struct Remote {
    client: Client,
    workspace: String,
}

/// What context is wanted for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'c> {
    pub(super) tool: &'c str,
    pub(super) arguments: &'c Map<String, Value>,
    pub(super) rule: Rule<'c>,
    pub(super) context: &'c Context,
}

/// What was assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) text: String,
    recipe: String,
    receipt: String,
    tokens: u32,
    items: Vec<String>,
    notices: Vec<String>,
}

impl Given {
    /// The argument that a tool gets.
    pub(super) fn argument(&self) -> Value {
        json!({
            "context": self.text,
            "tokens": self.tokens,
            "recipe": self.recipe,
            "receipt": self.receipt,
            "items": self.items,
        })
    }

    /// What a result says of it: everything but the text, which the tool has.
    pub(super) fn used(&self) -> Value {
        let mut used = json!({
            "given": true,
            "recipe": self.recipe,
            "receipt": self.receipt,
            "tokens": self.tokens,
            "items": self.items,
        });
        if !self.notices.is_empty() {
            used["notices"] = json!(self.notices);
        }
        used
    }
}

impl Assembler {
    pub(super) const fn local(workspace: Workspace) -> Assembler {
        Assembler::Local(workspace)
    }

    pub(super) fn remote(
        server: &str,
        workspace: &str,
        settings: &Context,
    ) -> Result<Assembler, GatewayError> {
        let key = secret("context.key_env", settings.key_env.as_ref())?;
        let client = Client::new(server, key.as_deref())?;
        Ok(Assembler::Remote(Box::new(Remote { client, workspace: workspace.to_owned() })))
    }

    /// The context of a call, or why there is none, in words that a client may read.
    pub(super) async fn assemble(&self, wanted: Wanted<'_>) -> Result<Given, String> {
        match self {
            Assembler::Local(workspace) => {
                local(workspace, wanted).await.map_err(|problem| problem.to_string())
            }
            Assembler::Remote(remote) => remote.assemble(wanted).await.map_err(|error| {
                tracing::warn!(target: "haversack", %error, "the Haversack server did not answer");
                "the Haversack server did not answer".to_owned()
            })?,
        }
    }
}

impl Wanted<'_> {
    /// What the call is about, in words: the texts among its arguments.
    fn query(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        for value in self.arguments.values() {
            match value {
                Value::String(text) => words.push(text.clone()),
                Value::Number(number) => words.push(number.to_string()),
                _ => {}
            }
        }
        words.join(" ").chars().take(QUERY_CHARS_MAX).collect()
    }

    /// The facts of the situation, by which rules are judged: which tool, and with what.
    fn situation(&self) -> Map<String, Value> {
        let short = |value: &Value| value.to_string().len() <= FACT_BYTES_MAX;
        let params: Map<String, Value> = self
            .arguments
            .iter()
            .filter(|(_, value)| short(value))
            .take(FACTS_MAX)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // Rules speak of `environment` as of `params.environment`: both are there.
        let mut facts = params.clone();
        facts.insert("params".to_owned(), Value::Object(params));
        facts.insert("tool".to_owned(), json!(self.tool));
        facts
    }

    fn said(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    fn current(&self) -> Option<&str> {
        self.rule.context.or_else(|| self.said("context"))
    }
}

async fn local(workspace: &Workspace, wanted: Wanted<'_>) -> Result<Given, Problem> {
    let mut request = Request::new(wanted.rule.recipe, &wanted.query());
    let (user, groups) = (&wanted.context.user, &wanted.context.groups);
    if user.is_some() || !groups.is_empty() {
        request.viewer = viewer(user.as_deref(), groups)?;
        request.user.clone_from(user);
    }
    request.budget = Some(Tokens::new(wanted.rule.budget));
    request.situation = wanted.situation();
    request.intent = wanted.said("intent").map(str::to_owned);
    request.context = match wanted.current() {
        // A tool's own argument of that name may mean something else.
        Some(text) if wanted.rule.context.is_none() => ItemId::new(text).ok(),
        Some(text) => {
            let wrong = |error: haversack_core::ids::IdError| {
                Problem::invalid("context.context", error.to_string())
            };
            Some(ItemId::new(text).map_err(wrong)?)
        }
        None => None,
    };
    let assembled = workspace.pack(request).await?;
    let mut items: Vec<String> = Vec::new();
    for citation in &assembled.pack.citations {
        items.push(citation.candidate.item.as_str().to_owned());
    }
    items.dedup();
    let notice =
        |notice: &haversack::Notice| format!("{}: {}", notice.code.as_str(), notice.message);
    Ok(Given {
        text: assembled.text().to_owned(),
        recipe: assembled.recipe.name.clone(),
        receipt: assembled.receipt(),
        tokens: assembled.pack.tokens.get(),
        items,
        notices: assembled.notices.iter().map(notice).collect(),
    })
}

fn viewer(user: Option<&str>, groups: &[String]) -> Result<Viewer, Problem> {
    let wrong =
        |error: haversack_core::ids::IdError| Problem::invalid("context.user", error.to_string());
    let mut viewer = match user {
        Some(user) => Viewer::user(user).map_err(wrong)?,
        None => Viewer::anyone(),
    };
    for group in groups {
        viewer = viewer.in_group(group).map_err(wrong)?;
    }
    Ok(viewer)
}

impl Remote {
    /// Asks the server. The outer error is that it did not answer, the inner one its answer.
    async fn assemble(&self, wanted: Wanted<'_>) -> Result<Result<Given, String>, CallError> {
        let mut body = json!({
            "query": wanted.query(),
            "tokenBudget": wanted.rule.budget,
            "situation": wanted.situation(),
            "groups": wanted.context.groups,
        });
        let optional = [
            ("user", wanted.context.user.as_deref()),
            ("intent", wanted.said("intent")),
            ("currentContext", wanted.current()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let recipe = wanted.rule.recipe;
        let base = self.client.address().to_string();
        let to: Uri = format!(
            "{}/v1/workspaces/{}/context/{recipe}?explain=true",
            base.trim_end_matches('/'),
            self.workspace
        )
        .parse()?;
        let response = self.client.post(&to, Vec::new(), Bytes::from(body.to_string())).await?;
        let is_good = response.status().is_success();
        let answer = client::whole(response.into_body(), ANSWER_BYTES_MAX).await?;
        let answer: Value = serde_json::from_slice(&answer)?;
        if !is_good {
            let detail = answer["detail"].as_str().unwrap_or("it gave no reason");
            return Ok(Err(format!("the Haversack server refused: {detail}")));
        }
        Ok(Ok(given(&answer)))
    }
}

/// What a server's answer says.
fn given(answer: &Value) -> Given {
    let assembly = &answer["assembly"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ledger = assembly["ledger"].as_array().into_iter().flatten();
    let shown = ledger.filter(|line| line["outcome"] != "out");
    let mut items: Vec<String> = shown.map(|line| text(&line["item"])).collect();
    items.dedup();
    let notices = assembly["notices"].as_array().into_iter().flatten();
    let notice =
        |notice: &Value| format!("{}: {}", text(&notice["code"]), text(&notice["message"]));
    Given {
        text: text(&answer["context"]),
        recipe: text(&assembly["recipe"]),
        receipt: text(&assembly["receipt"]),
        tokens: assembly["tokens"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        items,
        notices: notices.map(notice).collect(),
    }
}
