//! `haversack model`: the embedding models and rerankers of a data folder.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_model::{BUILT_IN, CrossEncoder, ModelCard, ModelRegistry, NONE, Transformer};
use haversack_provider::{
    MODELS_FILE, ModelChoice, ModelRole, ModelSet, ModelsConfig, TrialReport,
};
use haversack_store::DataFolder;
use haversack_store::store::block_on;
use haversack_store::store::maintenance::Stores;
use serde_json::{Value, json};

use super::embedding_usage::EmbeddingUsage;
use crate::args::{self, StoreLocation};
use crate::input::read_text;
use crate::output::{Bar, ExitOutcome, grouped, print, say};
use crate::remote::{RemoteWorkspace, WorkspaceTarget};

/// How many texts a new model is measured with, and the sentences of each.
const TRIAL_TEXTS: usize = 32;
const TRIAL_SENTENCES: usize = 5;

/// How often a server is asked how far a change of the model is.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn run(location: &StoreLocation, command: &args::ModelCommand) -> Result<ExitOutcome> {
    let registry = ModelRegistry::in_data_folder(&location.folder()?);
    match command {
        args::ModelCommand::List(args) => list(&registry, args),
        args::ModelCommand::Add(args) => add(location, &registry, args),
        args::ModelCommand::Use(args) => choose(location, &registry, args),
        args::ModelCommand::Remove(args) => {
            registry.remove(&args.name)?;
            print(&format!("removed {}", args.name))?;
            Ok(ExitOutcome::Something)
        }
        args::ModelCommand::Test(args) => test_models(location, args),
        args::ModelCommand::Set(args) => set_config(location, args),
        args::ModelCommand::Config => {
            let config = ModelSet::read_config(&location.folder()?)?;
            print(config.to_toml().trim_end())?;
            Ok(ExitOutcome::Something)
        }
    }
}

/// Calls each configured model once.
fn test_models(location: &StoreLocation, args: &args::ModelTestArgs) -> Result<ExitOutcome> {
    let only = match &args.role {
        None => None,
        Some(name) => Some(ModelRole::from_name(name).with_context(|| {
            let names: Vec<&str> = ModelRole::ALL.iter().map(|role| role.as_str()).collect();
            format!("{name:?} is not one of {}", names.join(", "))
        })?),
    };
    let Some(models) = location.models()? else {
        bail!(
            "no model of a provider is configured: write {MODELS_FILE}, then `haversack model set FILE`"
        );
    };
    let reports = models.try_models(only);
    let is_configured = only.is_none_or(|only| reports.iter().any(|report| report.role == only));
    ensure!(is_configured, "models.{} is not set", args.role.as_deref().unwrap_or_default());
    if args.json {
        let reports: Vec<Value> = reports.iter().map(report_document).collect();
        print(&serde_json::to_string_pretty(&Value::Array(reports))?)?;
    } else {
        for report in &reports {
            print(&report_line(report))?;
        }
    }
    let all_answered = reports.iter().all(|report| report.finding.is_ok());
    Ok(if all_answered { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

fn report_line(report: &TrialReport) -> String {
    let TrialReport { role, provider, model, latency, .. } = report;
    let millis = latency.as_millis();
    let what = format!("{role:<9} {model} ({provider})");
    match (&report.finding, &report.url) {
        (Ok(finding), Some(url)) => format!("{what}: {finding}; {millis} ms; {url}"),
        (Ok(finding), None) => format!("{what}: {finding}; {millis} ms"),
        (Err(error), _) => format!("{what}: FAILED after {millis} ms: {error}"),
    }
}

fn report_document(report: &TrialReport) -> Value {
    json!({
        "role": report.role.as_str(),
        "provider": report.provider,
        "model": report.model,
        "url": report.url,
        "ms": u64::try_from(report.latency.as_millis()).unwrap_or(u64::MAX),
        "found": report.finding.as_ref().ok(),
        "error": report.finding.as_ref().err(),
    })
}

/// Checks settings and writes them into the data folder.
fn set_config(location: &StoreLocation, args: &args::ModelSetArgs) -> Result<ExitOutcome> {
    let text = read_text(&args.file)?;
    let config = ModelsConfig::parse(&text)?;
    let folder = location.folder()?;
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(MODELS_FILE);
    // The text as it was written: comments stay.
    std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    let count = config.models.by_role().iter().filter(|(_, choice)| choice.is_some()).count();
    print(&format!(
        "{}: {count} models of {} providers\nto try them: {}",
        path.display(),
        config.providers.len(),
        location.command("model test")
    ))?;
    if config.models.embed.is_some() {
        let next = location.command("model use embed");
        say(&format!("texts that are stored already get their new vectors by `{next}`"));
    }
    Ok(ExitOutcome::Something)
}

fn is_folder(given: &str) -> bool {
    given.contains(['/', '\\']) || given == "."
}

/// The reranker of this name in the data folder, or in a folder of its own.
pub(crate) fn reranker(location: &StoreLocation, given: &str) -> Result<Arc<dyn Reranker>> {
    if is_folder(given) {
        return Ok(Arc::new(CrossEncoder::open(Path::new(given))?));
    }
    Ok(Arc::new(ModelRegistry::in_data_folder(&location.folder()?).open_reranker(given)?))
}

/// The embedding model of this name in the data folder, or in a folder of its own.
pub(crate) fn embedder(location: &StoreLocation, given: &str) -> Result<Arc<dyn Embedder>> {
    if is_folder(given) {
        return Ok(Arc::new(Transformer::open(Path::new(given))?));
    }
    // The built-in model needs no data folder.
    if given == BUILT_IN {
        return Ok(haversack::default_embedder());
    }
    Ok(ModelRegistry::in_data_folder(&location.folder()?).named(given)?)
}

fn list(registry: &ModelRegistry, args: &args::ModelListArgs) -> Result<ExitOutcome> {
    let names = [BUILT_IN.to_owned()].into_iter().chain(registry.names()?);
    let mut cards: Vec<ModelCard> = Vec::new();
    for name in names {
        match registry.card(&name) {
            Ok(card) => cards.push(card),
            // One that cannot be used does not hide the others.
            Err(error) => {
                say(&format!("note: {name} cannot be used: {:#}", anyhow::Error::new(error)))
            }
        }
    }
    let chosen = registry.in_use()?;
    if !cards.iter().any(|card| card.in_use && card.dimensions.is_some()) {
        say(&format!(
            "note: the model in use, {chosen:?}, is not there: `haversack model use NAME`"
        ));
    }
    if args.json {
        let cards: Vec<Value> = cards.iter().map(document).collect();
        print(&serde_json::to_string_pretty(&Value::Array(cards))?)?;
    } else {
        print(&table(&cards))?;
    }
    Ok(ExitOutcome::Something)
}

fn table(cards: &[ModelCard]) -> String {
    let longest = cards.iter().map(|card| card.name.len()).max().unwrap_or(0);
    let mut out = format!(
        "  {:<longest$}  {:>10}  {:>9}  {:>6}  license\n",
        "model", "dimensions", "size", "tokens"
    );
    for card in cards {
        let mark = if card.in_use { '*' } else { ' ' };
        let size = if card.name == BUILT_IN { "inside".to_owned() } else { megabytes(card.bytes) };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{mark} {:<longest$}  {:>10}  {size:>9}  {:>6}  {}",
            card.name,
            card.dimensions.map_or_else(|| "reranker".to_owned(), |count| count.to_string()),
            card.tokens_max,
            card.license.as_deref().unwrap_or("(not said)"),
        );
    }
    out
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn document(card: &ModelCard) -> Value {
    json!({
        "name": card.name,
        "model": card.model,
        "reranks": card.dimensions.is_none(),
        "dimensions": card.dimensions,
        "bytes": card.bytes,
        "tokensMax": card.tokens_max,
        "license": card.license,
        "inUse": card.in_use,
    })
}

fn add(
    location: &StoreLocation,
    registry: &ModelRegistry,
    args: &args::ModelAddArgs,
) -> Result<ExitOutcome> {
    let card = registry.add(&args.folder, args.name.as_deref())?;
    let rate = trial(registry, &card)?;
    if args.json {
        let mut json = document(&card);
        json["textsPerSecond"] = json!(rate);
        print(&serde_json::to_string_pretty(&json)?)?;
        return Ok(ExitOutcome::Something);
    }
    let license = card.license.as_deref().unwrap_or("license not said");
    let rate = grouped(format!("{rate:.0}"));
    let (name, size) = (&card.name, megabytes(card.bytes));
    let sort = match card.dimensions {
        Some(dimensions) => format!("{dimensions} dimensions"),
        None => "a reranker".to_owned(),
    };
    let next = location.command(&format!("model use {name}"));
    print(&format!(
        "added {name}: {sort}, {size}, {license}; {rate} paragraphs a second\n\
         to put it to use: {next}"
    ))?;
    Ok(ExitOutcome::Something)
}

/// Measures how many short paragraphs a model reads per second.
fn trial(registry: &ModelRegistry, card: &ModelCard) -> Result<f64> {
    let sentence = "The assistant keeps what it was told and finds it again when it matters.";
    let texts: Vec<String> = (0..TRIAL_TEXTS)
        .map(|n| format!("{n}. {}", [sentence; TRIAL_SENTENCES].join(" ")))
        .collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    // A first run, so that reading the files is not measured.
    let start = if card.dimensions.is_some() {
        let model = registry.open(&card.name)?;
        model.embed(&texts[..1])?;
        let start = Instant::now();
        model.embed(&texts)?;
        start
    } else {
        let model = registry.open_reranker(&card.name)?;
        let start = Instant::now();
        model.scores(sentence, &texts)?;
        start
    };
    Ok(texts.len() as f64 / start.elapsed().as_secs_f64())
}

fn choose(
    location: &StoreLocation,
    registry: &ModelRegistry,
    args: &args::ModelUseArgs,
) -> Result<ExitOutcome> {
    let remote = location.models()?.and_then(|models| models.config().models.embed.clone());
    let is_remote = args.name == ModelRole::Embed.as_str();
    if !is_remote
        && location.server_url()?.is_none()
        && (args.name == NONE || registry.is_reranker(&args.name)?)
    {
        return choose_reranker(registry, args);
    }
    let chosen =
        match location.reach(|location| open_for_change(location, remote.as_ref(), args))? {
            WorkspaceTarget::Local(change) => change_locally(location, registry, change, args)?,
            WorkspaceTarget::Server(server) => change_on_server(&server, args)?,
        };
    print_choice(&chosen, args)
}

/// The data folder that gets other vectors, if there is one, and the model that makes them.
struct LocalChange {
    stores: Option<DataFolder>,
    embedder: Arc<dyn Embedder>,
}

/// What was embedded by the chosen model: the texts of each workspace, where their number is known.
struct ModelChoiceReport {
    model: String,
    embedded: Vec<(String, Option<u64>)>,
    /// What that used of a provider's model, where it was made here.
    usage: Option<EmbeddingUsage>,
}

fn open_for_change(
    location: &StoreLocation,
    remote: Option<&ModelChoice>,
    args: &args::ModelUseArgs,
) -> Result<LocalChange> {
    let is_remote = args.name == ModelRole::Embed.as_str();
    let embedder = match (is_remote, remote) {
        (true, None) => bail!("models.embed is not set: `haversack model set FILE` sets it"),
        (true, Some(_)) => location.embedder()?,
        (false, None) => ModelRegistry::in_data_folder(&location.folder()?).named(&args.name)?,
        (false, Some(remote)) => bail!(
            "{MODELS_FILE} sets models.embed to {:?}, which embeds; take it out first to use {:?}",
            remote.model,
            args.name
        ),
    };
    let stores = location.folder()?.is_dir().then(|| location.stores()).transpose()?;
    Ok(LocalChange { stores, embedder })
}

fn change_locally(
    location: &StoreLocation,
    registry: &ModelRegistry,
    LocalChange { stores, embedder }: LocalChange,
    args: &args::ModelUseArgs,
) -> Result<ModelChoiceReport> {
    let mut embedded = Vec::new();
    let usage = EmbeddingUsage::start(location)?;
    if let Some(stores) = stores {
        for workspace in stores.names()? {
            let embedder = location.capped(Arc::clone(&embedder), &workspace)?;
            let store = stores.open_existing(&workspace, embedder)?;
            let mut bar = Bar::new();
            let done = block_on(store.for_blocking_threads().reembed(&mut |progress| {
                let line = progress_line(&workspace, progress.done, progress.total);
                bar.show(&format!("{line}{}", usage.progress()));
            }));
            bar.clear();
            embedded.push((workspace, Some(usage.report_failure(done)?.done)));
        }
        // While the folder is still locked, so that no process opens it with the old model.
        if args.name != ModelRole::Embed.as_str() {
            registry.choose(&args.name)?;
        }
    }
    Ok(ModelChoiceReport { model: embedder.model().to_string(), embedded, usage: Some(usage) })
}

fn progress_line(workspace: &str, done: u64, total: u64) -> String {
    format!("{workspace}: {} of {} texts embedded", grouped(done), grouped(total))
}

/// Changes the workspaces of a running server one after another. They answer all the while.
fn change_on_server(
    server: &RemoteWorkspace,
    args: &args::ModelUseArgs,
) -> Result<ModelChoiceReport> {
    let model = server.set_default_model(&args.name)?;
    let mut embedded = Vec::new();
    for workspace in server.workspace_names()? {
        let mut status = server.start_model_change(&workspace, &args.name)?;
        let mut bar = Bar::new();
        while let Some(change) = status.get("change").filter(|change| change.is_object()) {
            if let Some(failure) = change["failure"].as_str() {
                bar.clear();
                bail!("{workspace} stays at its old model: {failure}");
            }
            let count = |name: &str| change[name].as_u64().unwrap_or_default();
            bar.show(&progress_line(&workspace, count("done"), count("total")));
            std::thread::sleep(POLL_INTERVAL);
            status = server.model_status(&workspace)?;
        }
        bar.clear();
        embedded.push((workspace, None));
    }
    Ok(ModelChoiceReport { model, embedded, usage: None })
}

fn print_choice(chosen: &ModelChoiceReport, args: &args::ModelUseArgs) -> Result<ExitOutcome> {
    let ModelChoiceReport { model, embedded, usage } = chosen;
    if args.json {
        let workspaces: serde_json::Map<String, Value> =
            embedded.iter().map(|(name, texts)| (name.clone(), (*texts).into())).collect();
        let mut json = json!({ "name": args.name, "model": model, "embedded": workspaces });
        let usage = usage.as_ref().map(EmbeddingUsage::document);
        if let Some(usage) = usage.filter(|usage| !usage.is_null()) {
            json["embedding"] = usage;
        }
        print(&serde_json::to_string_pretty(&json)?)?;
        return Ok(ExitOutcome::Something);
    }
    let mut out = String::new();
    for (workspace, texts) in embedded {
        let texts = texts.map_or_else(|| "all".to_owned(), grouped);
        let _ = writeln!(out, "{workspace}: {texts} texts have vectors by {model}");
    }
    if let Some(line) = usage.as_ref().and_then(EmbeddingUsage::line) {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{} is in use", args.name);
    print(&out)?;
    Ok(ExitOutcome::Something)
}

/// A reranker works on search results, so nothing has to be embedded again.
fn choose_reranker(registry: &ModelRegistry, args: &args::ModelUseArgs) -> Result<ExitOutcome> {
    registry.choose(&args.name)?;
    let chosen = Some(&args.name).filter(|name| *name != NONE);
    if args.json {
        print(&serde_json::to_string_pretty(&json!({ "reranker": chosen }))?)?;
    } else {
        print(&format!("{} reranks", chosen.map_or("nothing", String::as_str)))?;
    }
    Ok(ExitOutcome::Something)
}
