//! `haversack recipe`: lists, prints, checks, creates and lints recipes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use haversack::recipe::{
    self, RECIPE_BYTES_MAX, Recipe, RecipeError, RecipeFinding, RecipeRegistry, Severity,
};
use haversack_core::assemble::Templates;
use haversack_core::text::spelling::{nearest, printable_name};
use serde_json::{Value, json};

use super::request::kinds_beside;
use crate::args::{self, StoreLocation};
use crate::input::read_text;
use crate::output::{ExitOutcome, counted, grouped, print, say};

/// Most files of a folder that are looked at for recipes to extend.
const FILES_MAX: usize = 1_000;

pub(crate) fn run(location: &StoreLocation, command: &args::RecipeCommand) -> Result<ExitOutcome> {
    match command {
        args::RecipeCommand::List(args) => list(args),
        args::RecipeCommand::Show(args) => show(args),
        args::RecipeCommand::Check(args) => check(args),
        args::RecipeCommand::New(args) => new(args),
        args::RecipeCommand::Lint(args) => lint(args),
        args::RecipeCommand::Test(args) => {
            let source = RecipeSource::find(&args.recipe)?;
            source.usable()?;
            super::recipe_test::run(&source.name, &source.text)
        }
        args::RecipeCommand::JudgeEval(args) => super::judge_eval::run(location, args),
        args::RecipeCommand::Format => print(&recipe::document()).map(|()| ExitOutcome::Something),
    }
}

/// A recipe's text, its origin, and the names that it may use.
struct RecipeSource {
    /// Its name in messages: the file's path, or the recipe's name.
    origin: String,
    name: String,
    text: String,
    registry: RecipeRegistry,
}

impl RecipeSource {
    fn file(path: &Path) -> Result<RecipeSource> {
        let text = read_text(path)?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let mut registry = RecipeRegistry::default();
        if path != Path::new("-") {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            registry.recipes = recipes_of(folder.unwrap_or(Path::new(".")));
            // A recipe is not its own base; the built-in one of its name may be.
            registry.recipes.remove(&name);
        }
        let name = if name == "-" { "recipe".to_owned() } else { name };
        Ok(RecipeSource { origin: path.display().to_string(), name, text, registry })
    }

    /// A file when it looks like one, else a recipe by name.
    fn find(recipe: &str) -> Result<RecipeSource> {
        let path = Path::new(recipe);
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        if recipe == "-" || is_toml || path.components().count() > 1 || path.is_file() {
            return RecipeSource::file(path);
        }
        let registry = RecipeRegistry::default();
        let Some(text) = registry.recipe(recipe) else {
            let names = registry.recipe_names();
            let near = nearest(recipe, names.iter().map(|&name| (name, name)));
            let near = if near.is_empty() {
                format!("there are {}", names.join(", "))
            } else {
                format!("perhaps {}", near.join(" or "))
            };
            bail!("there is no recipe {:?}: {near}", printable_name(recipe));
        };
        let text = text.to_owned();
        Ok(RecipeSource { origin: recipe.to_owned(), name: recipe.to_owned(), text, registry })
    }

    fn parse(&self) -> Result<Recipe, RecipeError> {
        Recipe::parse(&self.name, &self.text, &self.registry)
    }

    /// The parsed recipe, or an error with all its problems.
    fn usable(&self) -> Result<Recipe> {
        self.parse().map_err(|error| {
            let lines: Vec<String> = error
                .problems
                .iter()
                .map(|problem| format!("  {}:{problem}", self.origin))
                .collect();
            anyhow::anyhow!("the recipe cannot be used:\n{}", lines.join("\n"))
        })
    }
}

/// The recipes of a folder, by file name without `.toml`. Files that cannot be read are skipped.
pub(super) fn recipes_of(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    paths.truncate(FILES_MAX);
    let fits = |path: &Path| {
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= RECIPE_BYTES_MAX as u64)
    };
    let is_recipe = |text: &str| {
        let mut words = text.lines().map(|line| line.split('=').next().unwrap_or_default().trim());
        words.any(|word| word == "haversack")
    };
    let named = |path: PathBuf| {
        let name = path.file_stem()?.to_str()?.to_owned();
        let text = fs::read_to_string(&path).ok()?;
        is_recipe(&text).then_some((name, text))
    };
    paths.into_iter().filter(|path| fits(path)).filter_map(named).collect()
}

fn list(args: &args::RecipeListArgs) -> Result<ExitOutcome> {
    let registry = RecipeRegistry::default();
    let mut recipes = Vec::new();
    for name in registry.recipe_names() {
        recipes.push(RecipeSource::find(name)?.usable()?);
    }
    if args.json {
        let rows: Vec<Value> = recipes
            .iter()
            .map(|recipe| {
                let layers: Vec<&str> = recipe.layers.iter().map(|layer| &*layer.name).collect();
                json!({
                    "name": recipe.name,
                    "description": recipe.description,
                    "total": recipe.budget.total.get(),
                    "layers": layers,
                })
            })
            .collect();
        print(&serde_json::to_string_pretty(&json!({ "recipes": rows }))?)?;
    } else {
        let mut out = format!("{:<14} {:>8} {:>7}  what for\n", "recipe", "tokens", "layers");
        for recipe in &recipes {
            let (total, layers) = (grouped(recipe.budget.total), recipe.layers.len());
            let Recipe { name, description, .. } = recipe;
            let _ = writeln!(out, "{name:<14} {total:>8} {layers:>7}  {description}");
        }
        print(&out)?;
    }
    Ok(ExitOutcome::Something)
}

fn show(args: &args::RecipeShowArgs) -> Result<ExitOutcome> {
    let source = RecipeSource::find(&args.recipe)?;
    let text = if args.resolved { source.usable()?.to_toml() } else { source.text };
    print(&text)?;
    Ok(ExitOutcome::Something)
}

fn check(args: &args::RecipeCheckArgs) -> Result<ExitOutcome> {
    let source = RecipeSource::file(&args.file)?;
    let parsed = source.parse();
    let problems = parsed.as_ref().map_or_else(|error| &*error.problems, |_| &[]);
    if args.json {
        let rows: Vec<Value> = problems
            .iter()
            .map(|p| json!({ "line": p.line, "column": p.column, "message": p.message }))
            .collect();
        let report = json!({ "file": source.origin, "usable": rows.is_empty(), "problems": rows });
        print(&serde_json::to_string_pretty(&report)?)?;
    } else if !problems.is_empty() {
        let lines: Vec<String> =
            problems.iter().map(|problem| format!("{}:{problem}", source.origin)).collect();
        print(&lines.join("\n"))?;
    }
    match parsed {
        Ok(recipe) => {
            let layers = recipe.layers.len();
            say(&format!("{} can be used: recipe {}, {layers} layers", source.origin, recipe.name));
            Ok(ExitOutcome::Something)
        }
        Err(error) => {
            bail!("{} cannot be used: {}", source.origin, counted(error.problems.len(), "problem"))
        }
    }
}

fn new(args: &args::RecipeNewArgs) -> Result<ExitOutcome> {
    let (base, registry) = match &args.from {
        None => (None, RecipeRegistry::default()),
        Some(from) => {
            let source = RecipeSource::find(from)?;
            let base = source.usable()?;
            let mut registry = source.registry;
            // The base is named as it will be found: a file by its own name.
            registry.recipes.insert(source.name.clone(), source.text);
            (Some(Recipe { name: source.name, ..base }), registry)
        }
    };
    let text = Recipe::starter(&args.name, base.as_ref(), &registry)?;
    let Some(path) = &args.output else {
        print(&text)?;
        return Ok(ExitOutcome::Something);
    };
    let name = path.display();
    let mut file = File::create_new(path).with_context(|| format!("cannot create {name}"))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {name}"))?;
    say(&format!("wrote {name}; `haversack recipe check {name}` finds mistakes"));
    Ok(ExitOutcome::Something)
}

fn lint(args: &args::RecipeLintArgs) -> Result<ExitOutcome> {
    let source = RecipeSource::find(&args.recipe)?;
    source.usable()?;
    let (recipe, places) = Recipe::parse_with_places(&source.name, &source.text, &source.registry)?;
    let kinds = kinds_beside(Path::new(&args.recipe))?;
    let findings = recipe::lint(&recipe, &places, &Templates::default(), &kinds);
    if args.json {
        let rows: Vec<Value> = findings.iter().map(finding_json).collect();
        let report = json!({ "recipe": recipe.name, "findings": rows });
        print(&serde_json::to_string_pretty(&report)?)?;
    } else if !findings.is_empty() {
        let lines: Vec<String> = findings
            .iter()
            .map(|finding| {
                let between = if finding.place.is_some() { ":" } else { ": " };
                format!("{}{between}{finding}", source.origin)
            })
            .collect();
        print(&lines.join("\n"))?;
    }
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let errors = of(Severity::Error);
    if errors > 0 {
        bail!("{}: {}", source.origin, counted(errors, "error"));
    }
    let (warnings, remarks) = (of(Severity::Warning), of(Severity::Remark));
    say(&format!(
        "{}: no errors, {}, {}",
        source.origin,
        counted(warnings, "warning"),
        counted(remarks, "remark")
    ));
    Ok(ExitOutcome::Something)
}

fn finding_json(finding: &RecipeFinding) -> Value {
    json!({
        "severity": finding.severity.to_string(),
        "line": finding.place.map(|(line, _)| line),
        "column": finding.place.map(|(_, column)| column),
        "message": finding.message,
        "help": finding.help,
    })
}
