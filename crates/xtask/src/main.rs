//! The chores of this repository, one subcommand each; `cargo xtask test` is the one that counts.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command line tool for people; nothing parses its output"
)]

mod deps;
mod fuzz;
mod problem;
mod shell;
mod suite;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::shell::Shell;

/// The chores of the Haversack repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run everything a change must pass, in order, up to the first failure
    Test,
    /// Check the house rules that the compiler does not know
    Tidy,
    /// Check licences, sources and versions of all dependencies against deps.toml
    Deps,
    /// Run the property tests for long
    Properties {
        /// How many cases each property sees
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
        cases: u32,
    },
    /// Run the benchmarks of haversack-core
    Bench,
    /// Fuzz on the stable toolchain
    Fuzz {
        /// A file name in fuzz/src/bin without its ending [default: all of them]
        target: Option<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
}

fn main() -> ExitCode {
    // Printed here and not by the runtime, which would add a backtrace that helps nobody.
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let shell = Shell::new()?;
    match task {
        Task::Test => suite::test(shell),
        Task::Tidy => tidy::run(shell.root()),
        Task::Deps => deps::run(&shell),
        Task::Properties { cases } => suite::properties(shell, cases),
        Task::Bench => shell.run(&mut shell.cargo([
            "bench",
            "--locked",
            "-p",
            "haversack-core",
            "--bench",
            "core",
        ])),
        Task::Fuzz { target, seconds } => fuzz::run(&shell, target.as_deref(), seconds),
    }
}
