//! The `haversack` command: parses the arguments, runs one command and reports its result.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 found, 1 nothing
//! found, 2 error; a closed pipe is no error.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod errors;
mod input;
mod location;
mod log;
mod model_catalog;
mod output;
mod paint;
mod remote;
mod runtime;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;

use crate::args::{Cli, Command, ModelCommand, StoreLocation};
use crate::output::{ExitOutcome, is_closed_pipe};

fn main() -> ExitCode {
    let Cli { location, command } = Cli::parse();
    match run(&location, command) {
        Ok(ExitOutcome::Something) => ExitCode::SUCCESS,
        Ok(ExitOutcome::Nothing) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            errors::report(&error);
            ExitCode::from(2)
        }
    }
}

fn run(location: &StoreLocation, command: Command) -> Result<ExitOutcome> {
    if let Some(name) = folder_command(&command)
        && let Some(url) = location.server_url()?
    {
        bail!(
            "`haversack {name}` works on a data folder and not through the server at {url}: run it \
             where that folder is, or give --data"
        );
    }
    match command {
        Command::Demo(args) => commands::demo::run(location, &args),
        Command::Add(args) => commands::add::run(location, &args),
        Command::Watch(args) => commands::watch::run(location, &args),
        Command::Sync(args) => commands::sync::run(location, &args),
        Command::Contexts(args) => commands::contexts::run(location, &args),
        Command::Search(args) => commands::search::run(location, &args),
        Command::Get(args) => commands::get::run(location, &args),
        Command::List(args) => commands::list::run(location, &args),
        Command::Delete(args) => commands::delete::run(location, &args),
        Command::Stats(args) => commands::stats::run(location, &args),
        Command::Workspaces => commands::workspaces::run(location),
        Command::Undo(args) => commands::undo::run(location, &args),
        Command::Check(args) => commands::check::run(location, &args),
        Command::Export(args) => commands::export::run(location, &args),
        Command::Import(args) => commands::import::run(location, &args),
        Command::Backup(args) => commands::backup::run(location, &args),
        Command::Reembed(args) => commands::reembed::run(location, &args),
        Command::Tokens(args) => commands::tokens::run(&args),
        Command::Trim(args) => commands::trim::run(&args),
        Command::Chunk(args) => commands::chunk::run(&args),
        Command::Eval(args) => commands::eval::run(location, &args),
        Command::Shadow(args) => commands::shadow::run(location, &args),
        Command::Tune(args) => commands::tune::run(location, &args),
        Command::Recipe(command) => commands::recipe::run(location, &command),
        Command::Pack(args) => commands::pack::run(location, &args),
        Command::Frontier(args) => commands::frontier::run(location, &args),
        Command::Explain(args) => commands::explain::run(location, &args),
        Command::Replay(args) => commands::replay::run(location, &args),
        Command::Diff(args) => commands::diff::run(location, &args),
        Command::Feedback(args) => commands::feedback::run(location, &args),
        Command::Remember(args) => commands::remember::run(location, &args),
        Command::Serve(args) => commands::serve::run(location, &args),
        Command::Mcp(args) => commands::mcp::run(location, &args),
        Command::Journal(command) => commands::journal::run(location, &command),
        Command::Key(command) => commands::key::run(location, &command),
        Command::User(command) => commands::user::run(location, &command),
        Command::Audit(command) => commands::audit::run(location, &command),
        Command::Config(command) => commands::serve::config(&command),
        Command::Model(command) => commands::model::run(location, &command),
        Command::Models(args) => commands::models::run(&args),
        Command::Kinds(args) => commands::kinds::run(location, &args),
        Command::ReadFiles => commands::read_files::run(),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::completions::man(&args),
    }
}

/// The name of a command that works only on the data folder itself.
const fn folder_command(command: &Command) -> Option<&'static str> {
    match command {
        Command::Undo(_) => Some("undo"),
        Command::Check(_) => Some("check"),
        Command::Export(_) => Some("export"),
        Command::Import(_) => Some("import"),
        Command::Backup(_) => Some("backup"),
        Command::Reembed(_) => Some("reembed"),
        Command::Tune(_) => Some("tune"),
        Command::Serve(_) => Some("serve"),
        Command::Mcp(_) => Some("mcp"),
        Command::Journal(_) => Some("journal"),
        Command::Key(_) => Some("key"),
        Command::Audit(_) => Some("audit"),
        Command::Model(ModelCommand::Use(_)) => None,
        Command::Model(_) => Some("model"),
        Command::Kinds(_) => Some("kinds"),
        _ => None,
    }
}
