//! `haversack serve` and `haversack config`: the server, and what it is told.

use std::collections::BTreeMap;
use std::future::Future;

use anyhow::{Context, Result};
use haversack_serve::config::{COLLECTOR, LogFormat};
use haversack_serve::{Config, Server};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{self, Place};
use crate::log::JsonLines;
use crate::output::{Found, print, say};
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Serve) -> Result<Found> {
    let config = settings(&args.settings)?;
    let folder = place.folder()?;
    let engine = place.engine()?;
    log(&config);
    if !haversack_serve::trace::CAN_SEND && std::env::var_os(COLLECTOR).is_some() {
        say(&format!(
            "{COLLECTOR} is set, but this program was built without traces: none are sent"
        ));
    }
    wait(async {
        let server = Server::bind(engine, &folder, config.clone(), args.settings.insecure).await?;
        greet(&server, &config)?;
        server.run(stopped()?).await?;
        Ok(Found::Something)
    })
}

pub(crate) fn config(command: &args::Config) -> Result<Found> {
    let args::Config::Check(given) = command;
    let config = settings(given)?;
    config.check(given.insecure)?;
    print(&serde_json::to_string_pretty(&config)?)?;
    Ok(Found::Something)
}

/// What file, environment and flags say together.
pub(crate) fn settings(given: &args::Settings) -> Result<Config> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mut config = Config::read(given.config.as_deref(), &environment)?;
    if let Some(listen) = given.listen {
        config.server.listen = listen;
    }
    config.server.hosts.extend(given.host.iter().cloned());
    if given.log_json {
        config.log.format = LogFormat::Json;
    }
    Ok(config)
}

/// Says where the server is. On standard output, so that whoever started it can read the port.
pub(crate) fn greet(server: &Server, config: &Config) -> Result<()> {
    let address = server.address().context("cannot tell where the server listens")?;
    print(&format!("haversack listens on http://{address}"))?;
    if config.needs_keys() {
        say("callers need a key: `haversack key create NAME` makes one");
    }
    Ok(())
}

/// Sends the log of the server to standard error.
pub(crate) fn log(config: &Config) {
    let level = LevelFilter::from_level(config.log.level.tracing());
    // What libraries tell is about themselves, and may hold what they were given.
    let targets = Targets::new().with_target("haversack", level);
    let registry = tracing_subscriber::registry().with(targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // Already set up by whoever runs this in the same process: then theirs stays.
    let _ = match config.log.format {
        LogFormat::Pretty => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.event_format(JsonLines)).try_init(),
    };
}

/// Comes when the process is asked to stop. The second time, it stops at once.
pub(crate) fn stopped() -> Result<impl Future<Output = ()>> {
    let asked = Asked::new().context("cannot listen to signals")?;
    Ok(async move {
        let mut asked = asked;
        asked.next().await;
        say("stopping: finishing what was begun");
        tokio::spawn(async move {
            asked.next().await;
            #[expect(clippy::exit, reason = "asked twice, the process is to end now")]
            std::process::exit(130);
        });
    })
}

#[cfg(unix)]
struct Asked {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Asked {
    fn new() -> std::io::Result<Asked> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Asked {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Asked;

#[cfg(not(unix))]
impl Asked {
    fn new() -> std::io::Result<Asked> {
        Ok(Asked)
    }

    async fn next(&mut self) {
        // Without signals the process can only be ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
