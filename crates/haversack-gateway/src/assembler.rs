//! Assembles the context of one tool call, from the data folder or from a Haversack server.

use axum::http::Uri;
use bytes::Bytes;
use haversack::{Request, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::units::Tokens;
use haversack_store::store::viewer::Viewer;
use serde_json::{Map, Value, json};

use haversack_serve::client::{self, CallError, Client};
use haversack_serve::problem::ApiProblem;

use crate::GatewayError;
use crate::settings::{ContextSettings, ToolRule, read_secret};

/// Longest query made from a call's arguments, in characters.
const QUERY_CHARS_MAX: usize = 2_000;

/// Longest argument, as JSON, that counts as a fact of the situation. Longer ones would bloat every
/// receipt.
const FACT_BYTES_MAX: usize = 4 << 10;

/// Most such arguments.
const FACTS_MAX: usize = 100;

/// Longest response of the server.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Where context is assembled.
#[derive(Debug)]
pub(crate) enum Assembler {
    Local(Workspace),
    Remote(Box<RemoteAssembler>),
}

/// A Haversack server that assembles context.
#[derive(Debug)]
pub(crate) struct RemoteAssembler {
    client: Client,
    workspace: String,
}

/// A tool call that needs context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolCall<'c> {
    pub(crate) tool: &'c str,
    pub(crate) arguments: &'c Map<String, Value>,
    pub(crate) rule: ToolRule<'c>,
    pub(crate) context: &'c ContextSettings,
}

/// The context of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolContext {
    pub(crate) text: String,
    recipe: String,
    receipt: String,
    tokens: u32,
    items: Vec<String>,
    notices: Vec<String>,
}

impl ToolContext {
    /// The context as a tool's argument.
    pub(crate) fn to_argument(&self) -> Value {
        json!({
            "context": self.text,
            "tokens": self.tokens,
            "recipe": self.recipe,
            "receipt": self.receipt,
            "items": self.items,
        })
    }

    /// The report in the result's `_meta`: everything but the text.
    pub(crate) fn to_report(&self) -> Value {
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
    pub(crate) const fn local(workspace: Workspace) -> Assembler {
        Assembler::Local(workspace)
    }

    pub(crate) fn remote(
        server: &str,
        workspace: &str,
        settings: &ContextSettings,
    ) -> Result<Assembler, GatewayError> {
        let key = read_secret("context.key_env", settings.key_env.as_ref())?;
        let client = Client::new(server, key.as_deref())?;
        Ok(Assembler::Remote(Box::new(RemoteAssembler { client, workspace: workspace.to_owned() })))
    }

    /// Assembles the context of a call. The error is a reason that the client may read.
    pub(crate) async fn assemble(&self, call: ToolCall<'_>) -> Result<ToolContext, String> {
        match self {
            Assembler::Local(workspace) => {
                assemble_locally(workspace, call).await.map_err(|problem| problem.to_string())
            }
            Assembler::Remote(remote) => remote.assemble(call).await.map_err(|error| {
                tracing::warn!(target: "haversack", %error, "the Haversack server did not answer");
                "the Haversack server did not answer".to_owned()
            })?,
        }
    }
}

impl ToolCall<'_> {
    /// The query: the texts and numbers among the arguments.
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

    /// The facts that rules are evaluated on: the tool and its arguments.
    fn situation(&self) -> Map<String, Value> {
        let short = |value: &Value| value.to_string().len() <= FACT_BYTES_MAX;
        let params: Map<String, Value> = self
            .arguments
            .iter()
            .filter(|(_, value)| short(value))
            .take(FACTS_MAX)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // Rules may use both `environment` and `params.environment`.
        let mut facts = params.clone();
        facts.insert("params".to_owned(), Value::Object(params));
        facts.insert("tool".to_owned(), json!(self.tool));
        facts
    }

    fn text_argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    fn current_context(&self) -> Option<&str> {
        self.rule.context.or_else(|| self.text_argument("context"))
    }
}

async fn assemble_locally(
    workspace: &Workspace,
    call: ToolCall<'_>,
) -> Result<ToolContext, ApiProblem> {
    let mut request = Request::new(call.rule.recipe, &call.query());
    let (user, groups) = (&call.context.user, &call.context.groups);
    if user.is_some() || !groups.is_empty() {
        request.viewer = viewer(user.as_deref(), groups)?;
        request.user.clone_from(user);
    }
    request.budget = Some(Tokens::new(call.rule.budget));
    request.situation = call.situation();
    request.intent = call.text_argument("intent").map(str::to_owned);
    request.context = match call.current_context() {
        // The tool's own argument `context` may mean something else.
        Some(text) if call.rule.context.is_none() => ItemId::new(text).ok(),
        Some(text) => {
            let wrong = |error: haversack_core::ids::IdError| {
                ApiProblem::invalid("context.context", error.to_string())
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
    Ok(ToolContext {
        text: assembled.text().to_owned(),
        recipe: assembled.recipe.name.clone(),
        receipt: assembled.receipt(),
        tokens: assembled.pack.tokens.get(),
        items,
        notices: assembled.notices.iter().map(notice).collect(),
    })
}

fn viewer(user: Option<&str>, groups: &[String]) -> Result<Viewer, ApiProblem> {
    let wrong = |error: haversack_core::ids::IdError| {
        ApiProblem::invalid("context.user", error.to_string())
    };
    let mut viewer = match user {
        Some(user) => Viewer::user(user).map_err(wrong)?,
        None => Viewer::anyone(),
    };
    for group in groups {
        viewer = viewer.in_group(group).map_err(wrong)?;
    }
    Ok(viewer)
}

impl RemoteAssembler {
    /// Asks the server. The outer error means no response, the inner one a refusal.
    async fn assemble(&self, call: ToolCall<'_>) -> Result<Result<ToolContext, String>, CallError> {
        let mut body = json!({
            "query": call.query(),
            "tokenBudget": call.rule.budget,
            "situation": call.situation(),
            "groups": call.context.groups,
        });
        let optional = [
            ("user", call.context.user.as_deref()),
            ("intent", call.text_argument("intent")),
            ("currentContext", call.current_context()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let recipe = call.rule.recipe;
        let base = self.client.address().to_string();
        let to: Uri = format!(
            "{}/v1/workspaces/{}/context/{recipe}?explain=true",
            base.trim_end_matches('/'),
            self.workspace
        )
        .parse()?;
        let response = self.client.post(&to, Vec::new(), Bytes::from(body.to_string())).await?;
        let is_good = response.status().is_success();
        let answer = client::read_whole(response.into_body(), ANSWER_BYTES_MAX).await?;
        let answer: Value = serde_json::from_slice(&answer)?;
        if !is_good {
            let detail = answer["detail"].as_str().unwrap_or("it gave no reason");
            return Ok(Err(format!("the Haversack server refused: {detail}")));
        }
        Ok(Ok(context_from(&answer)))
    }
}

/// Reads a server's response.
fn context_from(answer: &Value) -> ToolContext {
    let assembly = &answer["assembly"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ledger = assembly["ledger"].as_array().into_iter().flatten();
    let shown = ledger.filter(|line| line["outcome"] != "out");
    let mut items: Vec<String> = shown.map(|line| text(&line["item"])).collect();
    items.dedup();
    let notices = assembly["notices"].as_array().into_iter().flatten();
    let notice =
        |notice: &Value| format!("{}: {}", text(&notice["code"]), text(&notice["message"]));
    ToolContext {
        text: text(&answer["context"]),
        recipe: text(&assembly["recipe"]),
        receipt: text(&assembly["receipt"]),
        tokens: assembly["tokens"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        items,
        notices: notices.map(notice).collect(),
    }
}
