//! `haversack mcp`: serves a workspace to an MCP client, or adds context to another server's tools.
//! Standard output belongs to the protocol.

use std::collections::BTreeMap;

use anyhow::Result;
use haversack::Engine;
use haversack_gateway::{Gateway, GatewaySettings, WrappedServer};
use haversack_serve::Config;
use haversack_serve::config::LogLevel;
use haversack_serve::mcp::Session;

use super::serve::log;
use crate::args::{self, McpCommand, StoreLocation};
use crate::output::ExitOutcome;
use crate::runtime::wait_without_stdin;

pub(crate) fn run(location: &StoreLocation, args: &args::McpArgs) -> Result<ExitOutcome> {
    log(&settings()?);
    if let Some(McpCommand::Wrap(args)) = &args.command {
        return wrap(location, args);
    }
    let folder = location.folder()?;
    let engine = location.engine()?;
    // A client that is set up before anything was stored can begin by remembering.
    engine.workspace(&location.workspace)?;
    let user = args.user.clone().map(|user| (user, args.group.iter().cloned().collect()));
    let session = Session::new(engine, &folder, &location.workspace, user, !args.read_only)?;
    wait_without_stdin(async {
        session.run().await?;
        Ok(ExitOutcome::Something)
    })
}

fn wrap(location: &StoreLocation, args: &args::WrapArgs) -> Result<ExitOutcome> {
    let settings = match &args.config {
        Some(path) => GatewaySettings::read(path)?,
        None => GatewaySettings::default(),
    };
    let wrapped = match (&args.url, args.program.is_empty()) {
        (Some(url), _) => Some(WrappedServer::Url(url.clone())),
        (None, false) => Some(WrappedServer::Command(args.program.clone())),
        (None, true) => None,
    };
    wait_without_stdin(async {
        let folder = location.folder()?;
        let builder = location.with_models(Engine::builder())?;
        let open = || builder.open(&folder);
        let gateway = Gateway::new(settings, open, &location.workspace, wrapped)?;
        gateway.run(tokio::io::stdin(), tokio::io::stdout()).await?;
        Ok(ExitOutcome::Something)
    })
}

/// Log settings: warnings and errors only, unless the environment says otherwise.
fn settings() -> Result<Config> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("HAVERSACK_LOG_"))
        .collect();
    let mut config = Config::read(None, &environment)?;
    if !environment.contains_key("HAVERSACK_LOG_LEVEL") {
        config.log.level = LogLevel::Warn;
    }
    Ok(config)
}
