//! The workspace that contexts are compared with: opened here, or behind a server. Nothing is written.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use haversack::recipe::Recipe;
use haversack::recipes::{parse_request, result_json};
use haversack::search::{Search, SearchMethod, hybrid};
use haversack::{Engine, Error, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::pack::PackError;
use haversack_core::units::Tokens;
use haversack_eval::shadow::{DataError, ReadAs, ShadowData, ShadowItem, ShadowPack};
use haversack_serve::{ApiError, stored_document};
use haversack_store::store::Snapshot;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::super::request::{
    add_budget, object, query_field, recipe_and_siblings, time_value, tokenizer_path, with_recipes,
};
use super::super::show::ledger_of;
use crate::args::{IdentityArgs, ListArgs, SearchArgs, SearchWayArgs, ShadowArgs, StoreLocation};
use crate::input::tokenizer;
use crate::remote::{RemotePackOptions, RemoteWorkspace, WorkspaceTarget};
use crate::runtime;

/// Items that are read together.
const READ_AT_ONCE: usize = 500;

/// Items of a server's list that random contexts are made of.
const LISTED_MAX: usize = 2_000;

/// A workspace, and how its packs are asked for.
pub(super) struct ComparedWorkspace {
    target: Target,
    recipe: Arc<Recipe>,
    /// The name by which the recipe is asked for.
    name: String,
    /// The fields that all requests have.
    fields: Map<String, Value>,
}

#[expect(clippy::large_enum_variant, reason = "a command has one")]
enum Target {
    Local { workspace: Workspace, runtime: Runtime },
    Server(RemoteWorkspace),
}

/// Opens the workspace.
pub(super) fn open(location: &StoreLocation, args: &ShadowArgs) -> Result<ComparedWorkspace> {
    let mut fields = match &args.request {
        Some(text) => object("--request", text)?,
        None => Map::new(),
    };
    // The same tokenizer counts their context and ours.
    match &args.counting.model {
        Some(model) => fields.insert("model".to_owned(), json!(model)),
        None => fields.insert("tokenizer".to_owned(), json!(tokenizer(&args.counting)?.name())),
    };
    if let Some(time) = &args.now {
        fields.insert("now".to_owned(), time_value(time));
    }
    fields.insert("cache".to_owned(), json!(false));
    let target = location.reach(|location| open_here(location, args))?;
    let (target, recipe, name) = match target {
        WorkspaceTarget::Local(opened) => opened,
        WorkspaceTarget::Server(server) => {
            let name = &args.recipe;
            ensure!(
                !name.ends_with(".toml"),
                "{name}: a server packs by its own recipes: store this one there and give its name"
            );
            if let Some(file) = tokenizer_path(&args.counting) {
                bail!("{file}: a server cannot count by a file: give --model or an encoding");
            }
            let recipe = Arc::new(server.recipe(name)?);
            (Target::Server(server), recipe, name.clone())
        }
    };
    // Reserves are for what is not context; theirs has none.
    let reserves = recipe.budget.reserves.iter().map(|(name, _)| (name.clone(), json!(0)));
    fields.entry("reserves").or_insert_with(|| Value::Object(reserves.collect()));
    Ok(ComparedWorkspace { target, recipe, name, fields })
}

fn open_here(location: &StoreLocation, args: &ShadowArgs) -> Result<(Target, Arc<Recipe>, String)> {
    let mut builder = Engine::builder();
    if let Some(name) = tokenizer_path(&args.counting) {
        builder = builder.tokenizer(name, tokenizer(&args.counting)?);
    }
    let (name, recipes) = recipe_and_siblings(&args.recipe)?;
    let workspace = location.existing_workspace(with_recipes(builder, &recipes))?;
    let runtime = runtime::start()?;
    let recipe = runtime.block_on(workspace.recipe(&name))?;
    Ok((Target::Local { workspace, runtime }, recipe, name))
}

fn identity(asker: &ReadAs) -> IdentityArgs {
    IdentityArgs { user: asker.user.clone(), group: asker.groups.clone() }
}

impl ComparedWorkspace {
    /// The name of the recipe.
    pub(super) fn recipe(&self) -> &str {
        &self.name
    }

    fn request(&self, question: &str, asker: &ReadAs, budget: Tokens) -> Map<String, Value> {
        let mut fields = self.fields.clone();
        let shape = self.recipe.shape;
        fields.insert(query_field(shape).to_owned(), json!(question));
        if let Some(user) = &asker.user {
            fields.insert("user".to_owned(), json!(user));
        }
        if !asker.groups.is_empty() {
            fields.insert("groups".to_owned(), json!(asker.groups));
        }
        add_budget(&mut fields, budget.get(), shape);
        fields
    }

    /// Makes a pack of which nothing is kept, in the shape of its recipe.
    fn preview(&self, fields: Map<String, Value>) -> Result<Value> {
        match &self.target {
            Target::Local { workspace, runtime } => {
                let fields = Value::Object(fields);
                let mut request = parse_request(&self.name, self.recipe.shape, fields)?;
                request.keep = false;
                let assembled = runtime.block_on(Box::pin(workspace.pack(request)))?;
                Ok(result_json(&assembled, true))
            }
            Target::Server(server) => {
                let options = RemotePackOptions { preview: true, explain: true, messages: None };
                server.pack(&self.name, fields, options)
            }
        }
    }

    /// Works on the state that somebody sees.
    fn read<T>(
        runtime: &Runtime,
        workspace: &Workspace,
        asker: &ReadAs,
        read: impl AsyncFnOnce(&dyn Snapshot) -> Result<T>,
    ) -> Result<T> {
        let viewer = identity(asker).viewer()?;
        runtime.block_on(async {
            let snapshot = workspace.store().snapshot(&viewer).await?;
            read(&*snapshot).await
        })
    }

    fn found_ids(&self, words: &str, limit: usize) -> Result<Vec<String>> {
        match &self.target {
            Target::Local { workspace, runtime } => {
                let mut search = Search::new(words, limit);
                (search.only, search.per_item_max) = (Some(SearchMethod::Text), 1);
                ComparedWorkspace::read(
                    runtime,
                    workspace,
                    &ReadAs::default(),
                    async |snapshot: &dyn Snapshot| {
                        let found = hybrid(snapshot, &*snapshot.embedder(), &search).await?.found;
                        Ok(found.into_iter().map(|hit| hit.id.item.as_str().to_owned()).collect())
                    },
                )
            }
            Target::Server(server) => {
                let page = server.search(&SearchArgs {
                    query: words.to_owned(),
                    limit,
                    kind: Vec::new(),
                    path: None,
                    identity: IdentityArgs::owner(),
                    json: false,
                    way: SearchWayArgs { text: true, vector: false, fuzzy: false },
                })?;
                Ok(page.hits.into_iter().map(|hit| hit.id).collect())
            }
        }
    }

    fn documents(&self, ids: &[String], asker: &ReadAs) -> Result<Vec<Option<Value>>> {
        // A name that cannot be an id is no item.
        let valid: Vec<Option<ItemId>> = ids.iter().map(|id| ItemId::new(id).ok()).collect();
        match &self.target {
            Target::Local { workspace, runtime } => {
                let viewer = identity(asker).viewer()?;
                let wanted: Vec<ItemId> = valid.iter().flatten().cloned().collect();
                let mut found = ComparedWorkspace::read(
                    runtime,
                    workspace,
                    asker,
                    async |snapshot: &dyn Snapshot| {
                        let mut found = Vec::with_capacity(wanted.len());
                        for ids in wanted.chunks(READ_AT_ONCE) {
                            found.extend(snapshot.get(ids).await?);
                        }
                        Ok(found)
                    },
                )?
                .into_iter();
                let document = |valid: Option<ItemId>| {
                    let stored = valid.and_then(|_| found.next().flatten())?;
                    Some(stored_document(stored, &viewer))
                };
                Ok(valid.into_iter().map(document).collect())
            }
            Target::Server(server) => {
                let identity = identity(asker);
                let one = |id: Option<ItemId>| match id {
                    Some(id) => server.item(id.as_str(), &identity),
                    None => Ok(None),
                };
                valid.into_iter().map(one).collect()
            }
        }
    }

    fn ids(&self, asker: &ReadAs) -> Result<Vec<String>> {
        match &self.target {
            Target::Local { workspace, runtime } => ComparedWorkspace::read(
                runtime,
                workspace,
                asker,
                async |snapshot: &dyn Snapshot| {
                    let ids = snapshot.ids_parents_first().await?;
                    let mut ids: Vec<String> =
                        ids.iter().map(|id| id.as_str().to_owned()).collect();
                    ids.sort_unstable();
                    Ok(ids)
                },
            ),
            Target::Server(server) => {
                let items = server.items(&ListArgs {
                    kind: None,
                    path: None,
                    limit: LISTED_MAX,
                    identity: identity(asker),
                    json: false,
                })?;
                let ids = items.iter().filter_map(|item| item["id"].as_str());
                Ok(ids.map(str::to_owned).collect())
            }
        }
    }
}

impl ShadowData for ComparedWorkspace {
    fn pack(
        &self,
        question: &str,
        asker: &ReadAs,
        budget: Tokens,
    ) -> Result<ShadowPack, DataError> {
        match self.preview(self.request(question, asker, budget)) {
            Ok(result) => Ok(pack_of(&result)),
            Err(error) => match least_budget(&error) {
                Some(least) => {
                    Ok(ShadowPack { least_budget: Some(least), ..ShadowPack::default() })
                }
                None => Err(error.into()),
            },
        }
    }

    fn search(&self, words: &str, limit: usize) -> Result<Vec<String>, DataError> {
        Ok(self.found_ids(words, limit)?)
    }

    fn items(&self, ids: &[String], asker: &ReadAs) -> Result<Vec<Option<ShadowItem>>, DataError> {
        let documents = self.documents(ids, asker)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let item = |document: Value| ShadowItem {
            id: text(&document["id"]),
            title: text(&document["title"]),
            path: document["path"].as_str().map(str::to_owned),
            body: text(&document["body"]),
        };
        Ok(documents.into_iter().map(|document| document.map(item)).collect())
    }

    fn readable_ids(&self, asker: &ReadAs) -> Result<Vec<String>, DataError> {
        Ok(self.ids(asker)?)
    }
}

/// What a pack's result says: the text, the items in it, the time.
fn pack_of(result: &Value) -> ShadowPack {
    let assembly = &result["assembly"];
    let mut items: Vec<String> = Vec::new();
    for line in ledger_of(result).into_iter().filter(|line| line.outcome != "out") {
        if !items.contains(&line.item) {
            items.push(line.item);
        }
    }
    let millis = assembly["timingsMs"]["total"].as_f64().unwrap_or(0.0).max(0.0);
    let notices = assembly["notices"].as_array().into_iter().flatten();
    ShadowPack {
        text: result["context"].as_str().unwrap_or_default().to_owned(),
        items,
        time: Duration::from_secs_f64(millis / 1e3),
        least_budget: None,
        notices: notices
            .filter_map(|notice| notice["message"].as_str().map(str::to_owned))
            .collect(),
    }
}

/// The least budget that would do, if the budget was too small.
fn least_budget(error: &anyhow::Error) -> Option<u32> {
    error.chain().find_map(|cause| {
        if let Some(Error::Pack(PackError::Infeasible { least, .. })) = cause.downcast_ref() {
            return Some(least.get());
        }
        match cause.downcast_ref()? {
            ApiError::Refused { least, .. } => *least,
            _ => None,
        }
    })
}
