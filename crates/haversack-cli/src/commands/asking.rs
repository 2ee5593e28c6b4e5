//! From what was typed to a request: where it is asked, and what it says in the recipe's own shape.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use haversack::ingest::{self, Summary};
use haversack::recipe::Shape;
use haversack::recipes::request_of;
use haversack::{Builder, Engine, Request, Workspace};
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_store::KINDS_FILE;
use haversack_store::kinds::Kinds;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::recipe::recipes_of;
use crate::args::{Asking, Place};
use crate::input::{now, read_text, tokenizer};
use crate::output::{Bar, grouped, say};

/// What standard input is called among files.
const STDIN: &str = "stdin";

/// Where a question is asked.
pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    /// The recipe's name.
    recipe: String,
    /// The folder of a workspace that was made for this question alone. It is dropped last.
    folder: Option<TempDir>,
}

impl Desk {
    /// Whether all that is kept here is gone in a moment.
    pub(crate) const fn is_for_once(&self) -> bool {
        self.folder.is_some()
    }
}

/// Opens the workspace that is asked, or makes one from the given files.
pub(crate) fn open(place: &Place, asking: &Asking) -> Result<Desk> {
    let standing = &asking.standing;
    let stands = [
        &asking.choice.request,
        &standing.situation,
        &standing.context,
        &standing.focus,
        &standing.page,
        &standing.database,
        &standing.thread,
        &standing.opportunity,
    ];
    let says_something = asking.query.is_some()
        || stands.into_iter().any(Option::is_some)
        || !standing.about.is_empty();
    ensure!(says_something, "say what is asked, such as `haversack pack \"who approves it?\"`");
    let (builder, recipe) = brought(asking)?;
    if asking.files.is_empty() {
        let workspace = place.engine_on_existing(builder)?;
        return Ok(Desk { workspace, recipe, folder: None });
    }
    let (workspace, folder) = of_files(asking, builder)?;
    Ok(Desk { workspace, recipe, folder: Some(folder) })
}

/// An engine with what the user brings in files, and the recipe's name.
fn brought(asking: &Asking) -> Result<(Builder, String)> {
    let mut builder = Engine::builder();
    if let Some(name) = &asking.counting.tokenizer
        && Encoding::by_name(name).is_none()
        && name != CharacterEstimate.name()
    {
        builder = builder.tokenizer(name, tokenizer(&asking.counting)?);
    }
    let (name, recipes) = brought_recipes(&asking.recipe)?;
    // A data folder has its own; files have what stands beside the recipe.
    if !asking.files.is_empty() && name != asking.recipe {
        builder = builder.kinds(kinds_beside(Path::new(&asking.recipe))?);
    }
    Ok((with_recipes(builder, &recipes), name))
}

/// A recipe's name; and when it was given as a file, its text under that name, and those of the
/// files beside it, which it may extend.
pub(super) fn brought_recipes(given: &str) -> Result<(String, Recipes)> {
    if !given.ends_with(".toml") {
        return Ok((given.to_owned(), Recipes::new()));
    }
    let path = Path::new(given);
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    Ok((name.clone(), recipes_at(path, &name)?))
}

/// The kinds that are defined beside a recipe's file, and the built-in ones.
pub(super) fn kinds_beside(recipe: &Path) -> Result<Arc<Kinds>> {
    let path = recipe.with_file_name(KINDS_FILE);
    if !path.exists() {
        return Ok(Arc::clone(Kinds::built_in()));
    }
    let kinds = Kinds::with(&read_text(&path)?);
    Ok(Arc::new(kinds.with_context(|| format!("{} cannot be used", path.display()))?))
}

/// The recipe of a file under a name, and those beside it.
fn recipes_at(path: &Path, name: &str) -> Result<Recipes> {
    let source = read_text(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut recipes = recipes_of(folder.unwrap_or(Path::new(".")));
    recipes.insert(name.to_owned(), source);
    Ok(recipes)
}

/// Recipes' texts by their names.
pub(super) type Recipes = BTreeMap<String, String>;

/// An engine that knows these recipes.
pub(super) fn with_recipes(builder: Builder, recipes: &Recipes) -> Builder {
    recipes.iter().fold(builder, |builder, (name, source)| builder.recipe(name, source))
}

/// An engine with the recipe of a file under a name, and those beside it, which it may extend.
pub(crate) fn with_recipe(builder: Builder, path: &Path, name: &str) -> Result<Builder> {
    Ok(with_recipes(builder, &recipes_at(path, name)?))
}

fn of_files(asking: &Asking, builder: Builder) -> Result<(Workspace, TempDir)> {
    let (piped, paths): (Vec<_>, Vec<_>) =
        asking.files.iter().cloned().partition(|path| path == Path::new("-"));
    let takes_stdin = !piped.is_empty();
    let request_takes_it = asking.choice.request.as_deref() == Some("-");
    ensure!(!(takes_stdin && request_takes_it), "standard input is either a text or the request");
    for path in &paths {
        std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    }
    let folder = tempfile::tempdir().context("cannot make a folder for the files' index")?;
    let workspace = builder.open(folder.path().join("data"))?.workspace("files")?;
    let add = |paths| {
        let (at, origin) = (now(), "pack".to_owned());
        ingest::Add { paths, kind: None, users: BTreeMap::new(), prune: false, at, origin }
    };
    let mut bar = Bar::new();
    let mut show = |progress: ingest::Progress| {
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
        tell_skips(summary, asking)?;
    }
    Ok((workspace, folder))
}

/// Says what was passed over; a file that was named and cannot be used is an error.
fn tell_skips(summary: &Summary, asking: &Asking) -> Result<()> {
    let is_named = |path: &str| {
        path == STDIN || asking.files.iter().any(|file| Path::new(path) == file.as_path())
    };
    for skip in &summary.skips {
        if skip.line.is_none() && is_named(&skip.path) {
            bail!("cannot pack {skip}");
        }
        say(&format!("skipped: {skip}"));
    }
    for remark in &summary.remarks {
        say(&format!("note: {remark}"));
    }
    Ok(())
}

/// The request that was typed.
pub(crate) async fn request(desk: &Desk, asking: &Asking) -> Result<Request> {
    let shape = desk.workspace.recipe(&desk.recipe).await?.shape;
    Ok(request_of(&desk.recipe, shape, Value::Object(fields(asking, shape)?))?)
}

/// What was typed, under the names of the wire: the whole request, and the options on top of it.
fn fields(asking: &Asking, shape: Shape) -> Result<Map<String, Value>> {
    let mut fields = match &asking.choice.request {
        Some(text) => object("--request", text)?,
        None => Map::new(),
    };
    let (standing, choice) = (&asking.standing, &asking.choice);
    let query = match shape {
        Shape::Prime => "message",
        Shape::Proposal => "userPrompt",
        _ => "query",
    };
    let texts = [
        (query, &asking.query),
        ("user", &asking.asker.user),
        ("model", &asking.counting.model),
        ("tokenizer", &asking.counting.tokenizer),
        ("template", &asking.template),
        ("threadId", &standing.thread),
        ("opportunityId", &standing.opportunity),
        ("currentContext", &standing.context),
        ("previous", &standing.previous),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    for about in &standing.about {
        let Some((name, id)) = about.split_once('=') else {
            bail!("--about {about}: say NAME=ID, as in --about ticket=T-17");
        };
        let subjects = fields.entry("subjects").or_insert_with(|| json!({}));
        if let Some(subjects) = subjects.as_object_mut() {
            subjects.insert(name.to_owned(), json!(id));
        }
    }
    for (name, time) in [("now", &standing.now), ("asOf", &standing.as_of)] {
        if let Some(time) = time {
            let millis: Option<i64> = time.parse().ok();
            fields.insert(name.to_owned(), millis.map_or_else(|| json!(time), |ms| json!(ms)));
        }
    }
    if !asking.asker.group.is_empty() {
        fields.insert("groups".to_owned(), json!(asking.asker.group));
    }
    if let Some(text) = &standing.situation {
        fields.insert("situation".to_owned(), Value::Object(object("--situation", text)?));
    }
    let focus = [
        ("blockId", &standing.focus),
        ("pageId", &standing.page),
        ("databaseId", &standing.database),
    ];
    for (name, id) in focus {
        if let Some(id) = id {
            inner(&mut fields, "focus").insert(name.to_owned(), json!(id));
        }
    }
    for (name, ids) in [("includeBlocks", &choice.include), ("excludeBlocks", &choice.exclude)] {
        if !ids.is_empty() {
            inner(&mut fields, "hints").insert(name.to_owned(), json!(ids));
        }
    }
    add_sort(&mut fields, &choice.sort, shape)?;
    if let Some(budget) = asking.budget {
        add_budget(&mut fields, budget, shape);
    }
    Ok(fields)
}

/// What a request is for; of memories, which ones.
fn add_sort(fields: &mut Map<String, Value>, sort: &[String], shape: Shape) -> Result<()> {
    match (shape, sort) {
        (_, []) => {}
        (Shape::Memory, types) => {
            fields.insert("memoryTypes".to_owned(), json!(types));
        }
        (_, [sort]) => {
            fields.insert("type".to_owned(), json!(sort));
        }
        _ => bail!("--type: a request is for one thing; give it once"),
    }
    Ok(())
}

/// The budget, under the name that the recipe's shape has for it.
fn add_budget(fields: &mut Map<String, Value>, budget: u32, shape: Shape) {
    let name = match shape {
        Shape::Proposal => "targetBudget",
        Shape::Situation => "maxTokens",
        _ => "tokenBudget",
    };
    match fields.get_mut(name) {
        // Caps of sections that the request says stay as they are.
        Some(Value::Object(sections)) => sections.insert("total".to_owned(), json!(budget)),
        _ => fields.insert(name.to_owned(), json!(budget)),
    };
}

/// The object in a field, made if need be.
fn inner<'f>(fields: &'f mut Map<String, Value>, name: &str) -> &'f mut Map<String, Value> {
    let value = fields.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made one")
}

/// A JSON object that was typed, or is in a file or on standard input.
fn object(option: &str, text: &str) -> Result<Map<String, Value>> {
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
        assert_eq!(Value::Object(fields(&pack.asking, shape).unwrap()), *expected);
    }

    #[test]
    fn options_stand_under_the_names_of_the_recipe() {
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
    fn options_come_on_top_of_a_whole_request() {
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
