//! From typed arguments to a request in the recipe's own shape, and what answers it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use haversack::ingest::{self, IngestSummary};
use haversack::recipe::{Recipe, Shape};
use haversack::recipes::parse_request;
use haversack::{Builder, Engine, Request, Workspace};
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_store::KINDS_FILE;
use haversack_store::kinds::Kinds;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::omissions::omission_lines;
use super::recipe::recipes_of;
use crate::args::{RequestArgs, StoreLocation, TokenizerArgs};
use crate::input::{now, read_text, reader_program, tokenizer};
use crate::location::kinds_at;
use crate::output::{Bar, grouped, say};
use crate::remote::{RemoteWorkspace, WorkspaceTarget};

/// The file name of standard input.
const STDIN: &str = "stdin";

/// What answers a request.
#[expect(clippy::large_enum_variant, reason = "a command has one")]
pub(crate) enum QueryTarget {
    Workspace(QueryWorkspace),
    Server(QueryServer),
}

/// A workspace that was opened here.
pub(crate) struct QueryWorkspace {
    pub(crate) workspace: Workspace,
    /// The recipe's name.
    recipe: String,
    /// The folder of a workspace that was made for this request alone. It is dropped last.
    folder: Option<TempDir>,
}

/// A workspace behind a server.
pub(crate) struct QueryServer {
    pub(crate) server: RemoteWorkspace,
    pub(crate) recipe: Recipe,
}

impl QueryWorkspace {
    /// Whether the workspace is gone after this request.
    pub(crate) const fn is_temporary(&self) -> bool {
        self.folder.is_some()
    }
}

/// Opens the workspace that answers, or makes one from the given files.
pub(crate) fn open(location: &StoreLocation, typed: &RequestArgs) -> Result<QueryTarget> {
    let position = &typed.position;
    let options = [
        &typed.selection.request,
        &position.situation,
        &position.context,
        &position.focus,
        &position.page,
        &position.database,
        &position.thread,
        &position.opportunity,
    ];
    let says_something = typed.query.is_some()
        || options.into_iter().any(Option::is_some)
        || !position.about.is_empty();
    ensure!(says_something, "say what is asked, such as `haversack pack \"who approves it?\"`");
    if !typed.files.is_empty() {
        let (builder, recipe) = builder_with_files(typed)?;
        let (workspace, folder) = of_files(typed, builder)?;
        let target = QueryWorkspace { workspace, recipe, folder: Some(folder) };
        return Ok(QueryTarget::Workspace(target));
    }
    let target = location.reach(|location| {
        let (builder, recipe) = builder_with_files(typed)?;
        let workspace = location.existing_workspace(builder)?;
        Ok(QueryWorkspace { workspace, recipe, folder: None })
    })?;
    match target {
        WorkspaceTarget::Local(target) => Ok(QueryTarget::Workspace(target)),
        WorkspaceTarget::Server(server) => {
            let recipe = &typed.recipe;
            ensure!(
                !recipe.ends_with(".toml"),
                "{recipe}: a server packs by its own recipes: store this one there (PUT \
                 /v1/workspaces/{{ws}}/recipes/{{name}}) and give its name, or stop the server"
            );
            if let Some(file) = tokenizer_path(&typed.counting) {
                bail!("{file}: a server cannot count by a file: give --model or an encoding");
            }
            let recipe = server.recipe(recipe)?;
            Ok(QueryTarget::Server(QueryServer { server, recipe }))
        }
    }
}

/// The tokenizer file that was given, if one was.
pub(super) fn tokenizer_path(counting: &TokenizerArgs) -> Option<&str> {
    let name = counting.tokenizer.as_deref()?;
    let is_built_in = Encoding::by_name(name).is_some() || name == CharacterEstimate.name();
    (!is_built_in).then_some(name)
}

/// An engine with the recipe and tokenizer files that were given, and the recipe's name.
fn builder_with_files(typed: &RequestArgs) -> Result<(Builder, String)> {
    let mut builder = Engine::builder();
    if let Some(name) = tokenizer_path(&typed.counting) {
        builder = builder.tokenizer(name, tokenizer(&typed.counting)?);
    }
    let (name, recipes) = recipe_and_siblings(&typed.recipe)?;
    // A data folder has its own; files have what stands beside the recipe.
    if !typed.files.is_empty() && name != typed.recipe {
        builder = builder.kinds(kinds_beside(Path::new(&typed.recipe))?);
    }
    Ok((with_recipes(builder, &recipes), name))
}

/// The name of a recipe; for a file also its text, and the recipes in its folder, which it may
/// extend.
pub(super) fn recipe_and_siblings(given: &str) -> Result<(String, Recipes)> {
    if !given.ends_with(".toml") {
        return Ok((given.to_owned(), Recipes::new()));
    }
    let path = Path::new(given);
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    Ok((name.clone(), recipes_at(path, &name)?))
}

/// The kinds that are defined in a recipe's folder, and the built-in ones.
pub(super) fn kinds_beside(recipe: &Path) -> Result<Arc<Kinds>> {
    kinds_at(&recipe.with_file_name(KINDS_FILE))
}

/// The recipe of a file under this name, and those of its folder.
fn recipes_at(path: &Path, name: &str) -> Result<Recipes> {
    let source = read_text(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut recipes = recipes_of(folder.unwrap_or(Path::new(".")));
    recipes.insert(name.to_owned(), source);
    Ok(recipes)
}

/// Texts of recipes by name.
pub(super) type Recipes = BTreeMap<String, String>;

/// An engine that knows these recipes.
pub(super) fn with_recipes(builder: Builder, recipes: &Recipes) -> Builder {
    recipes.iter().fold(builder, |builder, (name, source)| builder.recipe(name, source))
}

/// An engine with the recipe of a file under this name, and those of its folder.
pub(crate) fn with_recipe(builder: Builder, path: &Path, name: &str) -> Result<Builder> {
    Ok(with_recipes(builder, &recipes_at(path, name)?))
}

fn of_files(typed: &RequestArgs, builder: Builder) -> Result<(Workspace, TempDir)> {
    let (piped, paths): (Vec<_>, Vec<_>) =
        typed.files.iter().cloned().partition(|path| path == Path::new("-"));
    let takes_stdin = !piped.is_empty();
    let request_takes_it = typed.selection.request.as_deref() == Some("-");
    ensure!(!(takes_stdin && request_takes_it), "standard input is either a text or the request");
    for path in &paths {
        std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the files' index")?;
    let workspace = builder.open(folder.path().join("data"))?.workspace("files")?;
    let add = |paths| ingest::IngestRequest {
        reader_program: reader_program(),
        ..ingest::IngestRequest::new(paths, now(), "pack")
    };
    let mut bar = Bar::new();
    let mut show = |progress: ingest::IngestProgress| {
        bar.show(&format!("reading: {} items", grouped(progress.stored)));
    };
    let store = &**workspace.blocking_store();
    let mut done = vec![ingest::add_by_path(store, &add(paths), &mut show)?];
    if takes_stdin {
        let file = folder.path().join(STDIN);
        std::fs::write(&file, read_text(Path::new("-"))?).context("cannot keep standard input")?;
        done.push(ingest::add(store, &add(vec![file]), &mut show)?);
    }
    bar.clear();
    for summary in &done {
        print_skips(summary, typed)?;
    }
    Ok((workspace, folder))
}

/// Prints the skipped files; one that was named itself is an error.
fn print_skips(summary: &IngestSummary, typed: &RequestArgs) -> Result<()> {
    let is_named = |path: &str| {
        path == STDIN || typed.files.iter().any(|file| Path::new(path) == file.as_path())
    };
    for skip in &summary.skips {
        if skip.line.is_none() && is_named(&skip.path) {
            bail!("cannot pack {skip}");
        }
        say(&format!("skipped: {skip}"));
    }
    let omissions = omission_lines(&summary.omissions, false, "");
    for remark in summary.remarks.iter().chain(&omissions) {
        say(&format!("note: {remark}"));
    }
    Ok(())
}

/// The typed request, for a workspace that was opened here.
pub(crate) async fn of_workspace(target: &QueryWorkspace, typed: &RequestArgs) -> Result<Request> {
    let shape = target.workspace.recipe(&target.recipe).await?.shape;
    Ok(parse_request(&target.recipe, shape, Value::Object(fields(typed, shape)?))?)
}

/// The fields of the request in the recipe's shape: those of --request, overridden by options.
pub(crate) fn fields(typed: &RequestArgs, shape: Shape) -> Result<Map<String, Value>> {
    let mut fields = match &typed.selection.request {
        Some(text) => object("--request", text)?,
        None => Map::new(),
    };
    let (position, selection) = (&typed.position, &typed.selection);
    let texts = [
        (query_field(shape), &typed.query),
        ("user", &typed.identity.user),
        ("model", &typed.counting.model),
        ("tokenizer", &typed.counting.tokenizer),
        ("template", &typed.template),
        ("threadId", &position.thread),
        ("opportunityId", &position.opportunity),
        ("currentContext", &position.context),
        ("previous", &position.previous),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    for about in &position.about {
        let Some((name, id)) = about.split_once('=') else {
            bail!("--about {about}: say NAME=ID, as in --about ticket=T-17");
        };
        let subjects = fields.entry("subjects").or_insert_with(|| json!({}));
        if let Some(subjects) = subjects.as_object_mut() {
            subjects.insert(name.to_owned(), json!(id));
        }
    }
    for (name, time) in [("now", &position.now), ("asOf", &position.as_of)] {
        if let Some(time) = time {
            fields.insert(name.to_owned(), time_value(time));
        }
    }
    if !typed.identity.group.is_empty() {
        fields.insert("groups".to_owned(), json!(typed.identity.group));
    }
    if let Some(text) = &position.situation {
        fields.insert("situation".to_owned(), Value::Object(object("--situation", text)?));
    }
    let focus = [
        ("blockId", &position.focus),
        ("pageId", &position.page),
        ("databaseId", &position.database),
    ];
    for (name, id) in focus {
        if let Some(id) = id {
            object_field(&mut fields, "focus").insert(name.to_owned(), json!(id));
        }
    }
    for (name, ids) in
        [("includeBlocks", &selection.include), ("excludeBlocks", &selection.exclude)]
    {
        if !ids.is_empty() {
            object_field(&mut fields, "hints").insert(name.to_owned(), json!(ids));
        }
    }
    add_type(&mut fields, &selection.request_type, shape)?;
    if let Some(budget) = typed.budget {
        add_budget(&mut fields, budget, shape);
    }
    Ok(fields)
}

/// The field that holds the question in a recipe's shape.
pub(super) const fn query_field(shape: Shape) -> &'static str {
    match shape {
        Shape::Prime => "message",
        Shape::Proposal => "userPrompt",
        _ => "query",
    }
}

/// A time as it was typed: Unix milliseconds, or text.
pub(super) fn time_value(time: &str) -> Value {
    time.parse::<i64>().map_or_else(|_| json!(time), |millis| json!(millis))
}

/// The type of the request; for memories, which types to look for.
fn add_type(fields: &mut Map<String, Value>, types: &[String], shape: Shape) -> Result<()> {
    match (shape, types) {
        (_, []) => {}
        (Shape::Memory, types) => {
            fields.insert("memoryTypes".to_owned(), json!(types));
        }
        (_, [only]) => {
            fields.insert("type".to_owned(), json!(only));
        }
        _ => bail!("--type: a request has one type; give it once"),
    }
    Ok(())
}

/// Sets the budget under the name that the recipe's shape has for it.
pub(super) fn add_budget(fields: &mut Map<String, Value>, budget: u32, shape: Shape) {
    let name = match shape {
        Shape::Proposal => "targetBudget",
        Shape::Situation => "maxTokens",
        _ => "tokenBudget",
    };
    match fields.get_mut(name) {
        // Caps of sections in the request stay.
        Some(Value::Object(sections)) => sections.insert("total".to_owned(), json!(budget)),
        _ => fields.insert(name.to_owned(), json!(budget)),
    };
}

/// The object in a field, created if it is missing.
fn object_field<'f>(fields: &'f mut Map<String, Value>, name: &str) -> &'f mut Map<String, Value> {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made one")
}

/// A JSON object on the command line, in a file or on standard input.
pub(super) fn object(option: &str, text: &str) -> Result<Map<String, Value>> {
    let read = match text.strip_prefix('@') {
        Some(file) => Some(read_text(Path::new(file)).context(option.to_owned())?),
        None if text == "-" => Some(read_text(Path::new("-")).context(option.to_owned())?),
        None => None,
    };
    let value: Value = serde_json::from_str(read.as_deref().unwrap_or(text))
        .with_context(|| format!("{option} is not JSON"))?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => bail!("{option} is not a JSON object"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[track_caller]
    fn check(typed: &[&str], shape: Shape, expected: &Value) {
        let arguments = [&["haversack", "pack"], typed].concat();
        let Command::Pack(pack) = Cli::parse_from(arguments).command else {
            panic!("pack is a command");
        };
        assert_eq!(Value::Object(fields(&pack.request, shape).unwrap()), *expected);
    }

    #[test]
    fn options_become_fields_of_the_recipes_shape() {
        check(&["q"], Shape::Sections, &json!({ "query": "q" }));
        check(
            &["q", "--opportunity", "o", "--budget", "9"],
            Shape::Proposal,
            &json!({ "userPrompt": "q", "opportunityId": "o", "targetBudget": 9 }),
        );
        check(
            &["q", "--thread", "t", "--user", "u", "--group", "g", "--now", "5"],
            Shape::Prime,
            &json!({ "message": "q", "user": "u", "threadId": "t", "now": 5, "groups": ["g"] }),
        );
        check(
            &["q", "--type", "fact", "--type", "plan"],
            Shape::Memory,
            &json!({ "query": "q", "memoryTypes": ["fact", "plan"] }),
        );
        check(
            &["--context", "c", "--situation", r#"{"a": 1}"#, "--budget", "7"],
            Shape::Situation,
            &json!({ "currentContext": "c", "situation": { "a": 1 }, "maxTokens": 7 }),
        );
    }

    #[test]
    fn options_override_the_fields_of_a_whole_request() {
        let whole = r#"{"query": "a", "type": "chat", "focus": {"blockId": "b"},
            "tokenBudget": {"total": 1, "focus": 2}}"#;
        check(
            &["q", "--request", whole, "--page", "p", "--budget", "5", "--exclude", "x"],
            Shape::Workspace,
            &json!({
                "query": "q",
                "type": "chat",
                "focus": { "blockId": "b", "pageId": "p" },
                "tokenBudget": { "total": 5, "focus": 2 },
                "hints": { "excludeBlocks": ["x"] },
            }),
        );
    }
}
