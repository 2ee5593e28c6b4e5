//! Prompts: one for each recipe of the workspace, with the packed context as a message.

use haversack::recipe::Shape;
use rmcp::model::{
    CacheScope, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Map, Value, json};

use super::caller::McpCaller;
use super::read::build_within_limits;
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::who::KeyScope;

/// Lists the recipes of the default workspace.
pub(crate) async fn list(
    state: &ServerState,
    caller: &McpCaller,
) -> Result<ListPromptsResult, ApiProblem> {
    caller.check_scope(KeyScope::Read)?;
    let workspace = caller.workspace(state, None).await?;
    let mut prompts = Vec::new();
    for name in workspace.recipes().await? {
        // A recipe of the workspace that can no longer be used is not offered.
        let Ok(recipe) = workspace.recipe(&name).await else { continue };
        let arguments = ARGUMENTS.iter().filter(|argument| argument.is_for(recipe.shape));
        let arguments = arguments.map(|argument| {
            PromptArgument::new(argument.name)
                .with_description(argument.what)
                .with_required(argument.required)
        });
        let described = Some(recipe.description.as_str()).filter(|text| !text.is_empty());
        prompts.push(Prompt::new(name, described, Some(arguments.collect())));
    }
    let result = ListPromptsResult::with_all_items(prompts);
    Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// An argument of prompts, which is always a text.
struct Argument {
    name: &'static str,
    what: &'static str,
    required: bool,
    /// The only shape it applies to; all if `None`.
    only: Option<Shape>,
}

impl Argument {
    fn is_for(&self, shape: Shape) -> bool {
        self.only.is_none_or(|only| only == shape)
    }
}

const fn argument(name: &'static str, what: &'static str, only: Option<Shape>) -> Argument {
    Argument { name, what, required: false, only }
}

static ARGUMENTS: [Argument; 7] = [
    argument("query", "The question or task", None),
    argument("budget", "Token budget", None),
    Argument { required: true, ..argument("opportunityId", "The deal", Some(Shape::Proposal)) },
    argument("threadId", "The thread", Some(Shape::Prime)),
    argument("currentContext", "The current context, by id", Some(Shape::Situation)),
    argument("intent", "The goal", Some(Shape::Situation)),
    argument("conversationId", "Only memories of this conversation", Some(Shape::Memory)),
];

/// Builds the context of a recipe as a message.
pub(crate) async fn get(
    state: &ServerState,
    caller: &McpCaller,
    name: &str,
    given: &Map<String, Value>,
) -> Result<GetPromptResult, ApiProblem> {
    caller.check_scope(KeyScope::Read)?;
    let workspace = caller.workspace(state, None).await?;
    let recipe = workspace.recipe(name).await?;
    let mut body = Map::new();
    for (argument, value) in given {
        let known = ARGUMENTS.iter().find(|known| known.name == argument);
        if !known.is_some_and(|known| known.is_for(recipe.shape)) {
            return Err(ApiProblem::invalid(argument, "is not an argument of this prompt"));
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if argument == "budget" {
            let tokens: u32 = text.parse().map_err(|_| {
                ApiProblem::invalid("budget", format!("{text:?} is not a number of tokens"))
            })?;
            body.insert("tokenBudget".to_owned(), json!(tokens));
        } else {
            body.insert(argument.clone(), json!(text));
        }
    }
    let assembled = build_within_limits(state, caller, &workspace, name, body).await?;
    let described =
        format!("{} tokens, receipt {}", assembled.pack.tokens.get(), assembled.receipt());
    let message = PromptMessage::new_text(Role::User, assembled.text());
    Ok(GetPromptResult::new(vec![message]).with_description(described))
}
