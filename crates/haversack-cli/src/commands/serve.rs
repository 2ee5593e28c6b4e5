//! `haversack serve` and `haversack config`: the server and its settings.

use std::collections::BTreeMap;
use std::future::Future;

use anyhow::{Context, Result};
use haversack_provider::ModelSet;
use haversack_serve::config::{COLLECTOR, LogFormat};
use haversack_serve::sources::SourceWatchers;
use haversack_serve::{Config, Server};
use haversack_store::descriptors;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::{self, StoreLocation};
use crate::commands::journal;
use crate::log::JsonLines;
use crate::output::{ExitOutcome, print, say};
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &args::ServeArgs) -> Result<ExitOutcome> {
    let config = settings(&args.settings)?;
    let folder = location.folder()?;
    if let Some(models) = config.models_config() {
        location.use_models(models)?;
    } else if !config.models.is_unset() {
        // Caps alone are for the models that the data folder names.
        let mut models = ModelSet::read_config(&folder)?;
        models.models.override_caps(&config.models);
        models.check()?;
        location.use_models(models)?;
    }
    // Each connection and open workspace takes some, and the usual limit is low.
    descriptors::raise_limit();
    log(&config);
    let journal = config.journal.as_ref().map(journal::open).transpose()?;
    let engine = location.engine_for_server(config.limits.open_workspaces, journal)?;
    if !haversack_serve::trace::CAN_SEND && std::env::var_os(COLLECTOR).is_some() {
        say(&format!(
            "{COLLECTOR} is set, but this program was built without traces: none are sent"
        ));
    }
    wait(async {
        let watched = engine.clone();
        let server = Server::bind(engine, &folder, config.clone(), args.settings.insecure).await?;
        print_address(&server, &config)?;
        let sources = SourceWatchers::start(&watched, &config.sources)?;
        drop(watched);
        server.run(shutdown_signal()?).await?;
        drop(sources);
        Ok(ExitOutcome::Something)
    })
}

pub(crate) fn config(command: &args::ConfigCommand) -> Result<ExitOutcome> {
    let args::ConfigCommand::Check(given) = command;
    let config = settings(given)?;
    config.check(given.insecure)?;
    print(&serde_json::to_string_pretty(&config)?)?;
    Ok(ExitOutcome::Something)
}

/// The settings of file, environment and flags, merged.
pub(crate) fn settings(given: &args::ServerSettingsArgs) -> Result<Config> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let mut config = Config::read(given.config.as_deref(), &environment)?;
    if let Some(listen) = given.listen {
        config.server.listen = listen;
    }
    config.server.hosts.extend(given.host.iter().cloned());
    if let Some(url) = &given.journal {
        config.journal.get_or_insert_default().url.clone_from(url);
    }
    if given.log_json {
        config.log.format = LogFormat::Json;
    }
    Ok(config)
}

/// Prints the address to standard output, so that a parent process can read the port.
pub(crate) fn print_address(server: &Server, config: &Config) -> Result<()> {
    let address = server.address().context("the listening address is unknown")?;
    print(&format!("haversack listens on http://{address}"))?;
    if config.needs_keys() {
        say("callers need a key: `haversack key create NAME` makes one");
    }
    Ok(())
}

/// Sends the log of the server to standard error.
pub(crate) fn log(config: &Config) {
    let level = LevelFilter::from_level(config.log.level.tracing());
    // Logs of libraries may contain the data that they were given.
    let targets = Targets::new().with_target("haversack", level);
    let registry = tracing_subscriber::registry().with(targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A subscriber that is already set stays.
    let _ = match config.log.format {
        LogFormat::Pretty => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Json => registry.with(lines.event_format(JsonLines)).try_init(),
    };
}

/// Resolves at the first stop signal. A second one ends the process at once.
pub(crate) fn shutdown_signal() -> Result<impl Future<Output = ()>> {
    let signals = StopSignals::new().context("cannot listen to signals")?;
    Ok(async move {
        let mut signals = signals;
        signals.next().await;
        say("shutting down: finishing requests in flight");
        tokio::spawn(async move {
            signals.next().await;
            #[expect(clippy::exit, reason = "a second signal ends the process at once")]
            std::process::exit(130);
        });
    })
}

#[cfg(unix)]
struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    fn new() -> std::io::Result<StopSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(StopSignals {
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
struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    fn new() -> std::io::Result<StopSignals> {
        Ok(StopSignals)
    }

    async fn next(&mut self) {
        // Without signals the process can only be ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
