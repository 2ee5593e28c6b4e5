//! `haversack mcp`: a workspace for an MCP client, or context for another server's tools. Standard
//! output belongs to the protocol.

use std::collections::BTreeMap;

use anyhow::Result;
use haversack::Engine;
use haversack_serve::Config;
use haversack_serve::config::Level;
use haversack_serve::mcp::Session;
use haversack_serve::mcp::gateway::{Gateway, Settings, Wrapped};

use super::serve::log;
use crate::args::{self, McpCommand, Place};
use crate::output::Found;
use crate::runtime::wait_alone;

pub(crate) fn run(place: &Place, args: &args::Mcp) -> Result<Found> {
    log(&settings()?);
    if let Some(McpCommand::Wrap(args)) = &args.command {
        return wrap(place, args);
    }
    let folder = place.folder()?;
    let engine = place.engine()?;
    // A client that is set up before anything was stored can begin by remembering.
    engine.workspace(&place.workspace)?;
    let user = args.user.clone().map(|user| (user, args.group.iter().cloned().collect()));
    let session = Session::new(engine, &folder, &place.workspace, user, !args.read_only)?;
    wait_alone(async {
        session.run().await?;
        Ok(Found::Something)
    })
}

fn wrap(place: &Place, args: &args::Wrap) -> Result<Found> {
    let settings = match &args.config {
        Some(path) => Settings::read(path)?,
        None => Settings::default(),
    };
    let wrapped = match (&args.url, args.server.is_empty()) {
        (Some(url), _) => Some(Wrapped::Url(url.clone())),
        (None, false) => Some(Wrapped::Command(args.server.clone())),
        (None, true) => None,
    };
    wait_alone(async {
        let folder = place.folder()?;
        let builder = place.equipped(Engine::builder())?;
        let open = || builder.open(&folder);
        let gateway = Gateway::new(settings, open, &place.workspace, wrapped)?;
        gateway.run(tokio::io::stdin(), tokio::io::stdout()).await?;
        Ok(Found::Something)
    })
}

/// How much is told on standard error: only what a person should look at, unless the environment says
/// more.
fn settings() -> Result<Config> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("HAVERSACK_LOG_"))
        .collect();
    let mut config = Config::read(None, &environment)?;
    if !environment.contains_key("HAVERSACK_LOG_LEVEL") {
        config.log.level = Level::Warn;
    }
    Ok(config)
}
