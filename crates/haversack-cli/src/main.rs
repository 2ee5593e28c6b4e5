//! The `haversack` command: what was typed, resolved, done and shown.
//!
//! Data goes to standard output, everything else to standard error. Exit codes: 0 found, 1 nothing
//! found, 2 error; a closed pipe is no error.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod input;
mod log;
mod output;
mod paint;
mod place;
mod runtime;
mod trouble;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::output::{Found, is_closed_pipe};

fn main() -> ExitCode {
    let Cli { place, command } = Cli::parse();
    let done = match command {
        Command::Demo(args) => commands::demo::run(&place, &args),
        Command::Add(args) => commands::add::run(&place, &args),
        Command::Contexts(args) => commands::contexts::run(&place, &args),
        Command::Search(args) => commands::search::run(&place, &args),
        Command::Stats(args) => commands::stats::run(&place, &args),
        Command::Workspaces => commands::workspaces::run(&place),
        Command::Undo(args) => commands::undo::run(&place, &args),
        Command::Check(args) => commands::check::run(&place, &args),
        Command::Export(args) => commands::export::run(&place, &args),
        Command::Import(args) => commands::import::run(&place, &args),
        Command::Backup(args) => commands::backup::run(&place, &args),
        Command::Reembed => commands::reembed::run(&place),
        Command::Tokens(args) => commands::tokens::run(&args),
        Command::Trim(args) => commands::trim::run(&args),
        Command::Chunk(args) => commands::chunk::run(&args),
        Command::Eval(args) => commands::eval::run(&place, &args),
        Command::Tune(args) => commands::tune::run(&place, &args),
        Command::Recipe(command) => commands::recipe::run(&command),
        Command::Pack(args) => commands::pack::run(&place, &args),
        Command::Frontier(args) => commands::frontier::run(&place, &args),
        Command::Explain(args) => commands::explain::run(&place, &args),
        Command::Replay(args) => commands::replay::run(&place, &args),
        Command::Diff(args) => commands::diff::run(&place, &args),
        Command::Feedback(args) => commands::feedback::run(&place, &args),
        Command::Remember(args) => commands::remember::run(&place, &args),
        Command::Serve(args) => commands::serve::run(&place, &args),
        Command::Mcp(args) => commands::mcp::run(&place, &args),
        Command::Key(command) => commands::key::run(&place, &command),
        Command::Audit(command) => commands::audit::run(&place, &command),
        Command::Config(command) => commands::serve::config(&command),
        Command::Model(command) => commands::model::run(&place, &command),
        Command::Models(args) => commands::models::run(&args),
        Command::Kinds(args) => commands::kinds::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::completions::man(&args),
    };
    match done {
        Ok(Found::Something) => ExitCode::SUCCESS,
        Ok(Found::Nothing) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            trouble::tell(&error);
            ExitCode::from(2)
        }
    }
}
