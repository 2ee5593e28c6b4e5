//! `haversack model`: which models make the vectors of a data folder and rerank in it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_model::{BUILT_IN, Card, CrossEncoder, NONE, Shelf, Transformer};
use haversack_store::store::maintenance::Stores;
use haversack_store::store::wait;
use serde_json::{Value, json};

use crate::args::{self, Place};
use crate::output::{Bar, Found, grouped, print, say};

/// How many texts a new model is tried with, and how long they are: a short paragraph each.
const TRIAL_TEXTS: usize = 32;
const TRIAL_SENTENCES: usize = 5;

pub(crate) fn run(place: &Place, command: &args::Model) -> Result<Found> {
    let shelf = Shelf::of(&place.folder()?);
    match command {
        args::Model::List(args) => list(&shelf, args),
        args::Model::Add(args) => add(place, &shelf, args),
        args::Model::Use(args) => choose(place, &shelf, args),
        args::Model::Remove(args) => {
            shelf.remove(&args.name)?;
            print(&format!("removed {}", args.name))?;
            Ok(Found::Something)
        }
    }
}

fn is_folder(given: &str) -> bool {
    given.contains(['/', '\\']) || given == "."
}

/// What reranks under a name of the data folder, or in a folder of its own.
pub(crate) fn reranker(place: &Place, given: &str) -> Result<Arc<dyn Reranker>> {
    if is_folder(given) {
        return Ok(Arc::new(CrossEncoder::open(Path::new(given))?));
    }
    Ok(Arc::new(Shelf::of(&place.folder()?).open_reranker(given)?))
}

/// What makes vectors under a name of the data folder, or in a folder of its own.
pub(crate) fn embedder(place: &Place, given: &str) -> Result<Arc<dyn Embedder>> {
    if is_folder(given) {
        return Ok(Arc::new(Transformer::open(Path::new(given))?));
    }
    // The built-in model asks for no data folder.
    if given == BUILT_IN {
        return Ok(haversack::embedder());
    }
    Ok(Shelf::of(&place.folder()?).named(given)?)
}

fn list(shelf: &Shelf, args: &args::ModelList) -> Result<Found> {
    let names = [BUILT_IN.to_owned()].into_iter().chain(shelf.names()?);
    let mut cards: Vec<Card> = Vec::new();
    for name in names {
        match shelf.card(&name) {
            Ok(card) => cards.push(card),
            // One that cannot be used does not hide the others.
            Err(error) => {
                say(&format!("note: {name} cannot be used: {:#}", anyhow::Error::new(error)))
            }
        }
    }
    let chosen = shelf.in_use()?;
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
    Ok(Found::Something)
}

fn table(cards: &[Card]) -> String {
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

fn document(card: &Card) -> Value {
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

fn add(place: &Place, shelf: &Shelf, args: &args::ModelAdd) -> Result<Found> {
    let card = shelf.add(&args.folder, args.name.as_deref())?;
    let rate = trial(shelf, &card)?;
    if args.json {
        let mut json = document(&card);
        json["textsPerSecond"] = json!(rate);
        print(&serde_json::to_string_pretty(&json)?)?;
        return Ok(Found::Something);
    }
    let license = card.license.as_deref().unwrap_or("license not said");
    let rate = grouped(format!("{rate:.0}"));
    let (name, size) = (&card.name, megabytes(card.bytes));
    let sort = match card.dimensions {
        Some(dimensions) => format!("{dimensions} dimensions"),
        None => "a reranker".to_owned(),
    };
    let next = place.command(&format!("model use {name}"));
    print(&format!(
        "added {name}: {sort}, {size}, {license}; {rate} paragraphs a second\n\
         to put it to use: {next}"
    ))?;
    Ok(Found::Something)
}

/// How many short paragraphs a second a model reads.
fn trial(shelf: &Shelf, card: &Card) -> Result<f64> {
    let sentence = "The assistant keeps what it was told and finds it again when it matters.";
    let texts: Vec<String> = (0..TRIAL_TEXTS)
        .map(|n| format!("{n}. {}", [sentence; TRIAL_SENTENCES].join(" ")))
        .collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    // Once before, so that reading the files is not measured.
    let start = if card.dimensions.is_some() {
        let model = shelf.open(&card.name)?;
        model.embed(&texts[..1])?;
        let start = Instant::now();
        model.embed(&texts)?;
        start
    } else {
        let model = shelf.open_reranker(&card.name)?;
        let start = Instant::now();
        model.scores(sentence, &texts)?;
        start
    };
    Ok(texts.len() as f64 / start.elapsed().as_secs_f64())
}

fn choose(place: &Place, shelf: &Shelf, args: &args::ModelUse) -> Result<Found> {
    if args.name == NONE || shelf.is_reranker(&args.name)? {
        return choose_reranker(shelf, args);
    }
    let embedder = shelf.named(&args.name)?;
    let model = embedder.model().clone();
    let mut embedded = Vec::new();
    if place.folder()?.is_dir() {
        let stores = place.stores()?;
        for workspace in stores.names()? {
            let store = stores.open_existing(&workspace, Arc::clone(&embedder))?;
            let mut bar = Bar::new();
            let done = wait(store.for_blocking_threads().reembed(&mut |progress| {
                let (done, total) = (grouped(progress.done), grouped(progress.total));
                bar.show(&format!("{workspace}: {done} of {total} texts embedded"));
            }));
            bar.clear();
            embedded.push((workspace, done?.done));
        }
        // While the folder is still ours alone, so that nobody opens it with the model of before.
        shelf.choose(&args.name)?;
    }
    if args.json {
        let workspaces: serde_json::Map<String, Value> =
            embedded.into_iter().map(|(name, texts)| (name, texts.into())).collect();
        let json = json!({
            "name": args.name, "model": model.to_string(), "embedded": workspaces,
        });
        print(&serde_json::to_string_pretty(&json)?)?;
        return Ok(Found::Something);
    }
    let mut out = String::new();
    for (workspace, texts) in &embedded {
        let _ = writeln!(out, "{workspace}: {} texts have vectors by {model}", grouped(texts));
    }
    let _ = writeln!(out, "{} is in use", args.name);
    print(&out)?;
    Ok(Found::Something)
}

/// A reranker works on what is found, so nothing that is stored has to be made anew.
fn choose_reranker(shelf: &Shelf, args: &args::ModelUse) -> Result<Found> {
    shelf.choose(&args.name)?;
    let chosen = Some(&args.name).filter(|name| *name != NONE);
    if args.json {
        print(&serde_json::to_string_pretty(&json!({ "reranker": chosen }))?)?;
    } else {
        print(&format!("{} reranks", chosen.map_or("nothing", String::as_str)))?;
    }
    Ok(Found::Something)
}
