//! What a workspace keeps under a name: templates, rankers and recipes.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::engine::KeptTemplate;
use haversack_store::store::item::Shelf;
use haversack_store::store::viewer::Viewer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, json, nothing};
use crate::codes::Code;
use crate::http::page::Asked;
use crate::problem::Problem;

pub(crate) use haversack::engine::KeptTemplate as WireTemplate;

/// Longest name.
const NAME_BYTES_MAX: usize = 128;

/// Names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Names")]
pub(crate) struct WireNames {
    /// In order.
    names: Vec<String>,
    /// What to pass as `after` for the next page; left out on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A ranker.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RankerText")]
pub(crate) struct WireRankerText {
    /// An expression over the components, such as `semantic * 0.7 + recency * 0.3`.
    expression: String,
}

/// A recipe.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RecipeText")]
pub(crate) struct WireRecipe {
    /// Its text, TOML.
    source: String,
}

/// The name of the path, if it can be one.
fn name(call: &Call) -> Result<String, Problem> {
    let name = call.parameter("name");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(plain) {
        let detail = format!("use 1 to {NAME_BYTES_MAX} of A-Z, a-z, 0-9, '-', '_' and '.'");
        return Err(Problem::invalid("name", detail));
    }
    Ok(name.to_owned())
}

const fn missing_code(shelf: Shelf) -> Code {
    match shelf {
        Shelf::Template => Code::TemplateNotFound,
        Shelf::Ranker => Code::RankerNotFound,
        Shelf::Recipe => Code::RecipeNotFound,
        Shelf::Receipt | Shelf::Source => Code::NotFound,
    }
}

async fn kept(workspace: &Workspace, shelf: Shelf, name: &str) -> Result<String, Problem> {
    if let Some(text) = workspace.kept(shelf, name).await? {
        return Ok(text);
    }
    let names = workspace.kept_names(shelf).await?;
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let detail = format!("the workspace has no {} {name:?}; it has {there}", shelf.as_str());
    let template = (shelf == Shelf::Template).then_some(name);
    Err(Problem::new(missing_code(shelf), detail).with_names(template, &names))
}

async fn names(call: Call, shelf: Shelf, others: Vec<String>) -> Answer {
    let asked = Asked::of(&call)?;
    let workspace = call.workspace().await?;
    let snapshot = workspace.store().snapshot(&Viewer::anyone()).await?;
    let mut names = snapshot.records(shelf, asked.after.as_deref(), asked.limit).await?;
    if let Some(last) = names.last().filter(|_| names.len() == asked.limit).cloned() {
        // One more tells whether there is a next page.
        names.extend(snapshot.records(shelf, Some(&last), 1).await?);
    }
    names.extend(others);
    let (names, next) = asked.page(names);
    json(StatusCode::OK, &WireNames { names, next })
}

async fn remove(call: Call, shelf: Shelf) -> Answer {
    let workspace = call.workspace().await?;
    let name = name(&call)?;
    kept(&workspace, shelf, &name).await?;
    workspace.discard(shelf, &name).await?;
    nothing()
}

pub(crate) fn templates(call: Call) -> BoxFuture<'static, Answer> {
    names(call, Shelf::Template, Vec::new()).boxed()
}

pub(crate) fn rankers(call: Call) -> BoxFuture<'static, Answer> {
    names(call, Shelf::Ranker, Vec::new()).boxed()
}

pub(crate) fn recipes(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let usable = call.workspace().await?.recipes().await?;
        names(call, Shelf::Recipe, usable).await
    }
    .boxed()
}

pub(crate) fn put_template(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let name = name(&call)?;
        let template: KeptTemplate = call.read().await?;
        workspace.keep_template(&name, &template).await?;
        nothing()
    }
    .boxed()
}

pub(crate) fn get_template(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let text = kept(&workspace, Shelf::Template, &name(&call)?).await?;
        let template: KeptTemplate = serde_json::from_str(&text).map_err(|error| {
            tracing::error!(target: "haversack", %error, "a template does not read back");
            Problem::new(Code::Storage, "the template does not read back")
        })?;
        json(StatusCode::OK, &template)
    }
    .boxed()
}

pub(crate) fn remove_template(call: Call) -> BoxFuture<'static, Answer> {
    remove(call, Shelf::Template).boxed()
}

pub(crate) fn put_ranker(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let name = name(&call)?;
        let ranker: WireRankerText = call.read().await?;
        workspace.put_ranker(&name, &ranker.expression).await?;
        nothing()
    }
    .boxed()
}

pub(crate) fn get_ranker(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let expression = kept(&workspace, Shelf::Ranker, &name(&call)?).await?;
        json(StatusCode::OK, &WireRankerText { expression })
    }
    .boxed()
}

pub(crate) fn remove_ranker(call: Call) -> BoxFuture<'static, Answer> {
    remove(call, Shelf::Ranker).boxed()
}

pub(crate) fn put_recipe(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let name = name(&call)?;
        let recipe: WireRecipe = call.read().await?;
        workspace.put_recipe(&name, &recipe.source).await?;
        nothing()
    }
    .boxed()
}

pub(crate) fn get_recipe(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let source = workspace.recipe_source(&name(&call)?).await?;
        json(StatusCode::OK, &WireRecipe { source })
    }
    .boxed()
}

pub(crate) fn remove_recipe(call: Call) -> BoxFuture<'static, Answer> {
    remove(call, Shelf::Recipe).boxed()
}
