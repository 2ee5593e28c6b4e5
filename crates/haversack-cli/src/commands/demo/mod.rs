//! `haversack demo`: five assistants on one engine, shown on samples that come with the program.
//!
//! Nothing is canned: every figure and every claim is read from the packs that were just made.

mod check;
mod judge;
mod promise;
mod scene;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use haversack::{Assembled, Engine, Workspace};
use haversack_eval::samples::{NOW, Sample};
use haversack_serve::config::LogLevel;
use haversack_serve::{Config, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::scene::{SCENES, Scene};
use super::show::duration;
use crate::args::{self, StoreLocation};
use crate::output::{ExitOutcome, grouped, print};
use crate::paint::Paint;
use crate::runtime::wait;

/// Width of a rule across the page.
const COLUMNS: usize = 96;

/// The data folder of the samples.
struct DemoFolder {
    engine: Engine,
    folder: PathBuf,
    /// The folder, if it is removed at the end.
    temporary: Option<TempDir>,
    /// The model of the user's that judges the situation.
    judge: Option<String>,
}

impl DemoFolder {
    fn open(location: &StoreLocation, args: &args::DemoArgs) -> Result<DemoFolder> {
        let mut temporary = None;
        let folder = match &location.data {
            Some(folder) => folder.clone(),
            None => {
                let folder = tempfile::Builder::new().prefix("haversack-demo-").tempdir();
                let folder = folder.context("cannot make a folder for the samples")?;
                if args.keep { folder.keep() } else { temporary.insert(folder).path().to_owned() }
            }
        };
        // The samples have a present of their own.
        let mut builder = Engine::builder().clock(|| NOW);
        let judge = judge::open(location, args, &folder)?;
        let name = judge.as_ref().map(|judge| judge.name.clone());
        if let Some(judge) = judge {
            builder = builder.models(judge.models);
        }
        let engine = builder.open(&folder)?;
        Ok(DemoFolder { engine, folder, temporary, judge: name })
    }

    /// The workspace of a sample, filled when it is new, with the number of its items.
    fn load(&self, sample: &Sample) -> Result<(Workspace, u64)> {
        let workspace = self.engine.workspace(&workspace_of(sample))?;
        let store = workspace.blocking_store();
        if haversack_store::store::block_on(store.stats())?.items == 0 {
            sample.load(&**store)?;
        }
        let items = haversack_store::store::block_on(store.stats())?.items;
        Ok((workspace, items))
    }
}

fn workspace_of(sample: &Sample) -> String {
    format!("demo-{}", sample.name)
}

/// A scene with its pack.
struct PlayedScene {
    scene: &'static Scene,
    workspace: Workspace,
    assembled: std::sync::Arc<Assembled>,
}

pub(crate) fn run(location: &StoreLocation, args: &args::DemoArgs) -> Result<ExitOutcome> {
    if args.check {
        return check::run(args);
    }
    let demo = DemoFolder::open(location, args)?;
    let paint = Paint::of_stdout();
    let scenes: Vec<&'static Scene> = SCENES
        .iter()
        .filter(|scene| args.only.is_none_or(|only| only == scene.application))
        .collect();
    wait(async {
        let (loaded, items, time) = load(&demo, &scenes)?;
        if args.json {
            return print_json(&scenes, loaded).await;
        }
        print(&opening(items, time, demo.judge.as_deref(), paint))?;
        let count = scenes.len();
        let mut receipts = Vec::new();
        for ((scene, workspace), number) in scenes.into_iter().zip(loaded).zip(1..) {
            let played = play(scene, workspace).await?;
            let heading = heading(&played, number, count, paint);
            let body = Box::pin(scene::render(&played, paint)).await?;
            print(&format!("{heading}{body}"))?;
            receipts.push((scene, played.assembled.receipt()));
            played.workspace.flush().await;
        }
        print(&closing(&demo, args, &receipts, paint))?;
        if let Some(address) = args.serve {
            Box::pin(serve(&demo, address, paint)).await?;
        }
        Ok(ExitOutcome::Something)
    })
}

type LoadedSamples = (Vec<Workspace>, u64, Duration);

fn load(demo: &DemoFolder, scenes: &[&'static Scene]) -> Result<LoadedSamples> {
    let started = Instant::now();
    let mut items = 0;
    let mut workspaces = Vec::new();
    for scene in scenes {
        let (workspace, count) = demo.load(&scene.application.sample())?;
        workspaces.push(workspace);
        items += count;
    }
    Ok((workspaces, items, started.elapsed()))
}

async fn play(scene: &'static Scene, workspace: Workspace) -> Result<PlayedScene> {
    let request = scene.request()?;
    let assembled = workspace.pack(request).await?;
    Ok(PlayedScene { scene, workspace, assembled })
}

async fn print_json(scenes: &[&'static Scene], workspaces: Vec<Workspace>) -> Result<ExitOutcome> {
    let mut shown: Vec<Value> = Vec::new();
    for (scene, workspace) in scenes.iter().zip(workspaces) {
        let played = play(scene, workspace).await?;
        let (sample, question) = (scene.application.sample(), scene.question());
        shown.push(json!({
            "name": sample.name,
            "title": sample.title,
            "question": question.text,
            "user": question.user,
            "budget": scene.budget,
            "result": haversack::recipes::result_json(&played.assembled, true),
        }));
        played.workspace.flush().await;
    }
    print(&serde_json::to_string_pretty(&Value::Array(shown))?)?;
    Ok(ExitOutcome::Something)
}

fn opening(items: u64, time: Duration, judge: Option<&str>, paint: Paint) -> String {
    let title = paint.bold("Haversack: the right texts, within an exact budget, and why");
    let without = match judge {
        None => "without a network or a key".to_owned(),
        Some(judge) => {
            format!("without a network or a key but for {judge}, which judges the situation")
        }
    };
    format!(
        "{title}\n\n\
         A language model answers as well as what it is given to read. These are invented workspaces, \
         each\nasked a question that somebody would ask an assistant. What follows is made now, on \
         this machine,\n{without}: {} items, loaded and indexed in {}.\n",
        grouped(items),
        duration(time),
    )
}

fn heading(played: &PlayedScene, number: usize, count: usize, paint: Paint) -> String {
    let application = played.scene.application.to_possible_value();
    let help = application.as_ref().and_then(|value| value.get_help());
    let what = help.map(ToString::to_string).unwrap_or_default();
    let sample = played.scene.application.sample();
    let text = format!("━━ {number} of {count} · {} · {what} ", sample.name);
    let rule = "━".repeat(COLUMNS.saturating_sub(text.chars().count()));
    format!("\n{}\n{}\n\n", paint.bold(&format!("{text}{rule}")), sample.title)
}

/// Commands that work from here.
fn closing(
    demo: &DemoFolder,
    args: &args::DemoArgs,
    receipts: &[(&'static Scene, String)],
    paint: Paint,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = |command: String, why: &str| {
        lines.push(format!("  {}\n      {}", paint.bold(&command), paint.dim(why)));
    };
    if demo.temporary.is_none() {
        for (scene, receipt) in receipts.iter().take(1) {
            let location = workspace_options(&demo.folder, &scene.application.sample());
            line(format!("haversack explain {receipt} {location}"), "every candidate and its fate");
            line(format!("haversack replay {receipt} {location}"), "the same bytes, made again");
            line(
                format!("haversack {} {location} --explain", scene.command_line()),
                "the same question, yours to change",
            );
        }
    } else {
        let only = match args.only.and_then(|only| only.to_possible_value()) {
            Some(only) => format!(" --only {}", only.get_name()),
            None => String::new(),
        };
        line(
            format!("haversack demo{only} --keep"),
            "the same, but the data stays, and you can ask it yourself",
        );
    }
    line(
        "haversack demo --check".to_owned(),
        "all that is expected of the five applications, tried on this machine",
    );
    line("haversack add ~/notes docs/".to_owned(), "your own files, searchable in seconds");
    line("haversack pack \"what did we decide?\" --explain".to_owned(), "and the first question");
    format!("\n{}\n\n{}\n", paint.bold("What to try next"), lines.join("\n"))
}

/// Serves the samples until a signal stops it.
async fn serve(demo: &DemoFolder, address: SocketAddr, paint: Paint) -> Result<()> {
    let mut config = Config::default();
    config.server.listen = address;
    // What is served is shown here; a line for each request would hide it.
    config.log.level = LogLevel::Warn;
    super::serve::log(&config);
    let server = Server::bind(demo.engine.clone(), &demo.folder, config.clone(), false).await?;
    super::serve::print_address(&server, &config)?;
    let address = server.address()?;
    let url = format!("http://{address}/v1/workspaces/demo-memory/context/memory");
    let command = format!(
        "curl {url} -H 'content-type: application/json' \\\n       -d '{{\"query\": \"what can I cook \
         that is safe for Lina?\", \"user\": \"noor\", \"tokenBudget\": 500}}'"
    );
    let page = paint.bold(&format!("http://{address}/"));
    print(&format!("\n  {page}\n      in a browser: why this is in a pack, and that is not"))?;
    print(&format!("\n  {}\n", paint.bold(&command)))?;
    server.run(super::serve::shutdown_signal()?).await?;
    Ok(())
}

/// The options that name a sample's workspace.
fn workspace_options(folder: &Path, sample: &Sample) -> String {
    format!("--data {} --workspace {}", folder.display(), workspace_of(sample))
}
