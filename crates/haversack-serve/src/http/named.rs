//! What a workspace keeps under a name: templates, rankers and recipes.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::engine::KeptTemplate;
use haversack_store::store::item::DocumentKind;
use haversack_store::store::viewer::Viewer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json, no_content};
use crate::codes::Code;
use crate::http::page::PageParams;
use crate::problem::ApiProblem;

pub(crate) use haversack::engine::KeptTemplate as WireTemplate;

/// Longest name.
const NAME_BYTES_MAX: usize = 128;

/// A page of names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Names")]
pub(crate) struct WireNames {
    /// The names, sorted.
    names: Vec<String>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A ranker as an expression.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RankerText")]
pub(crate) struct WireRankerText {
    /// The expression over the components of a score, such as `semantic * 0.7 + recency * 0.3`.
    expression: String,
}

/// A recipe as TOML.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RecipeText")]
pub(crate) struct WireRecipe {
    /// The recipe's source.
    source: String,
}

/// The name in the path, checked.
fn checked_name(call: &Call) -> Result<String, ApiProblem> {
    let name = call.parameter("name");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(plain) {
        let detail = format!("use 1 to {NAME_BYTES_MAX} of A-Z, a-z, 0-9, '-', '_' and '.'");
        return Err(ApiProblem::invalid("name", detail));
    }
    Ok(name.to_owned())
}

const fn missing_code(document_kind: DocumentKind) -> Code {
    match document_kind {
        DocumentKind::Template => Code::TemplateNotFound,
        DocumentKind::Ranker => Code::RankerNotFound,
        DocumentKind::Recipe => Code::RecipeNotFound,
        DocumentKind::Receipt | DocumentKind::Source => Code::NotFound,
    }
}

async fn stored_text(
    workspace: &Workspace,
    document_kind: DocumentKind,
    name: &str,
) -> Result<String, ApiProblem> {
    if let Some(text) = workspace.stored_document(document_kind, name).await? {
        return Ok(text);
    }
    let names = workspace.stored_names(document_kind).await?;
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let detail =
        format!("the workspace has no {} {name:?}; it has {there}", document_kind.as_str());
    let template = (document_kind == DocumentKind::Template).then_some(name);
    Err(ApiProblem::new(missing_code(document_kind), detail).with_names(template, &names))
}

async fn list_names(call: Call, document_kind: DocumentKind, others: Vec<String>) -> RouteResult {
    let params = PageParams::from_call(&call)?;
    let workspace = call.workspace().await?;
    let snapshot = workspace.store().snapshot(&Viewer::anyone()).await?;
    let mut names = snapshot.records(document_kind, params.after.as_deref(), params.limit).await?;
    if let Some(last) = names.last().filter(|_| names.len() == params.limit).cloned() {
        // One more shows whether there is a next page.
        names.extend(snapshot.records(document_kind, Some(&last), 1).await?);
    }
    names.extend(others);
    let (names, next) = params.take_page(names);
    json(StatusCode::OK, &WireNames { names, next })
}

async fn remove(call: Call, document_kind: DocumentKind) -> RouteResult {
    let workspace = call.workspace().await?;
    let name = checked_name(&call)?;
    stored_text(&workspace, document_kind, &name).await?;
    workspace.remove_document(document_kind, &name).await?;
    no_content()
}

pub(crate) fn templates(call: Call) -> BoxFuture<'static, RouteResult> {
    list_names(call, DocumentKind::Template, Vec::new()).boxed()
}

pub(crate) fn rankers(call: Call) -> BoxFuture<'static, RouteResult> {
    list_names(call, DocumentKind::Ranker, Vec::new()).boxed()
}

pub(crate) fn recipes(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let usable = call.workspace().await?.recipes().await?;
        list_names(call, DocumentKind::Recipe, usable).await
    }
    .boxed()
}

pub(crate) fn put_template(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = checked_name(&call)?;
        let template: KeptTemplate = call.read().await?;
        workspace.put_stored_template(&name, &template).await?;
        no_content()
    }
    .boxed()
}

pub(crate) fn get_template(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let text = stored_text(&workspace, DocumentKind::Template, &checked_name(&call)?).await?;
        let template: KeptTemplate = serde_json::from_str(&text).map_err(|error| {
            tracing::error!(target: "haversack", %error, "a stored template cannot be read");
            ApiProblem::new(Code::Storage, "the stored template cannot be read")
        })?;
        json(StatusCode::OK, &template)
    }
    .boxed()
}

pub(crate) fn remove_template(call: Call) -> BoxFuture<'static, RouteResult> {
    remove(call, DocumentKind::Template).boxed()
}

pub(crate) fn put_ranker(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = checked_name(&call)?;
        let ranker: WireRankerText = call.read().await?;
        workspace.put_ranker(&name, &ranker.expression).await?;
        no_content()
    }
    .boxed()
}

pub(crate) fn get_ranker(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let expression =
            stored_text(&workspace, DocumentKind::Ranker, &checked_name(&call)?).await?;
        json(StatusCode::OK, &WireRankerText { expression })
    }
    .boxed()
}

pub(crate) fn remove_ranker(call: Call) -> BoxFuture<'static, RouteResult> {
    remove(call, DocumentKind::Ranker).boxed()
}

pub(crate) fn put_recipe(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let name = checked_name(&call)?;
        let recipe: WireRecipe = call.read().await?;
        workspace.put_recipe(&name, &recipe.source).await?;
        no_content()
    }
    .boxed()
}

pub(crate) fn get_recipe(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let source = workspace.recipe_source(&checked_name(&call)?).await?;
        json(StatusCode::OK, &WireRecipe { source })
    }
    .boxed()
}

pub(crate) fn remove_recipe(call: Call) -> BoxFuture<'static, RouteResult> {
    remove(call, DocumentKind::Recipe).boxed()
}
