//! Prompts: one for each recipe of the workspace, which brings the packed context as a message.

use haversack::recipe::Shape;
use rmcp::model::{
    CacheScope, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Map, Value, json};

use super::caller::Caller;
use super::read::packed;
use crate::problem::Problem;
use crate::state::State;
use crate::who::Scope;

/// The recipes of the usual workspace.
pub(crate) async fn list(state: &State, caller: &Caller) -> Result<ListPromptsResult, Problem> {
    caller.needs(Scope::Read)?;
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

/// An argument of prompts. Arguments of prompts are texts.
struct Argument {
    name: &'static str,
    what: &'static str,
    required: bool,
    /// The one shape it is for; all when there is none.
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
    argument("budget", "The most tokens", None),
    Argument { required: true, ..argument("opportunityId", "The deal", Some(Shape::Proposal)) },
    argument("threadId", "The thread", Some(Shape::Prime)),
    argument("currentContext", "The current context, by id", Some(Shape::Situation)),
    argument("intent", "What is to be reached", Some(Shape::Situation)),
    argument("conversationId", "Only memories of this conversation", Some(Shape::Memory)),
];

/// The context that a recipe packs, as a message.
pub(crate) async fn get(
    state: &State,
    caller: &Caller,
    name: &str,
    given: &Map<String, Value>,
) -> Result<GetPromptResult, Problem> {
    caller.needs(Scope::Read)?;
    let workspace = caller.workspace(state, None).await?;
    let recipe = workspace.recipe(name).await?;
    let mut body = Map::new();
    for (argument, value) in given {
        let known = ARGUMENTS.iter().find(|known| known.name == argument);
        if !known.is_some_and(|known| known.is_for(recipe.shape)) {
            return Err(Problem::invalid(argument, "is not an argument of this prompt"));
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if argument == "budget" {
            let tokens: u32 = text.parse().map_err(|_| {
                Problem::invalid("budget", format!("{text:?} is not a number of tokens"))
            })?;
            body.insert("tokenBudget".to_owned(), json!(tokens));
        } else {
            body.insert(argument.clone(), json!(text));
        }
    }
    let assembled = packed(state, caller, &workspace, name, body).await?;
    let described =
        format!("{} tokens, receipt {}", assembled.pack.tokens.get(), assembled.receipt());
    let message = PromptMessage::new_text(Role::User, assembled.text());
    Ok(GetPromptResult::new(vec![message]).with_description(described))
}
