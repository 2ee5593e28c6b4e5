//! The bench beside the peers: installs what `bench/peers/requirements.txt` pins into a virtual
//! environment and runs the program in `bench/peers` with it. The peers make packs, `haversack
//! eval --packs` scores them. Peers in Rust are built from `bench/peers/rust`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::Shell;

/// The Python that the pinned packages were chosen for.
const PYTHON: &str = "python3.11";

/// The peers that are run by a Rust program.
const IN_RUST: [&str; 2] = ["mentedb", "velesdb"];

/// Options of the peer benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct PeerOptions {
    /// The folder of the labelled sets, in the form of `haversack eval`
    #[arg(long)]
    data: PathBuf,
    /// The folder of the sets over documentation that `bench/docs/fetch.py` makes
    #[arg(long)]
    docs: Option<PathBuf>,
    /// How many questions of each set
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Which peers, several with commas [default: all]
    #[arg(long)]
    peers: Option<String>,
    /// Which sets, several with commas [default: all]
    #[arg(long)]
    sets: Option<String>,
    /// Which runs: `shipped` with each system's own number of results, `equal` with the same for
    /// all, or both with a comma [default: both]
    #[arg(long)]
    runs: Option<String>,
    /// Which of the steps `pack`, `score` and `report`, several with commas [default: all]
    #[arg(long)]
    steps: Option<String>,
    /// The folder for packs and scores [default: a cache folder of the user]
    #[arg(long)]
    packs_dir: Option<PathBuf>,
    /// Keep packs and scores that were made with the same options
    #[arg(long)]
    keep: bool,
    /// The program to measure [default: built now, optimised]
    #[arg(long)]
    haversack: Option<PathBuf>,
}

/// Installs the peers if need be, builds Haversack and measures both.
pub(crate) fn run(shell: &Shell, options: &PeerOptions) -> Result<()> {
    let data = std::path::absolute(&options.data)?;
    let python = install(shell)?;
    let haversack = match &options.haversack {
        Some(program) => std::path::absolute(program)?,
        None => build(shell)?,
    };
    let mut bench = shell.command(&python);
    bench.args(["-m", "bench.peers.run", "--data"]).arg(data);
    bench.args(["--limit", &options.limit.to_string(), "--haversack"]).arg(haversack);
    let chosen = options.peers.as_deref();
    if chosen.is_none_or(|peers| peers.split(',').any(|peer| IN_RUST.contains(&peer))) {
        bench.arg("--rust").arg(build_rust(shell)?);
    }
    let choices = [
        ("--peers", &options.peers),
        ("--sets", &options.sets),
        ("--runs", &options.runs),
        ("--steps", &options.steps),
    ];
    for (name, chosen) in choices {
        if let Some(chosen) = chosen {
            bench.args([name, chosen]);
        }
    }
    for (name, folder) in [("--docs", &options.docs), ("--packs-dir", &options.packs_dir)] {
        if let Some(folder) = folder {
            bench.arg(name).arg(std::path::absolute(folder)?);
        }
    }
    if options.keep {
        bench.arg("--keep");
    }
    shell.run(&mut bench)
}

fn build(shell: &Shell) -> Result<PathBuf> {
    shell.run(&mut shell.cargo(["build", "--release", "--locked", "--workspace", "--bins"]))?;
    Ok(program(shell.target(), "haversack"))
}

/// Builds the peers that are written in Rust, in a folder of their own: they share no lock file
/// with the workspace.
fn build_rust(shell: &Shell) -> Result<PathBuf> {
    let folder = shell.target().join("rust-peers");
    let mut cargo = shell.cargo(["build", "--release", "--locked", "--manifest-path"]);
    shell.run(cargo.arg("bench/peers/rust/Cargo.toml").env("CARGO_TARGET_DIR", &folder))?;
    Ok(program(&folder, "rust-peers"))
}

fn program(target: &Path, name: &str) -> PathBuf {
    target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The Python of an environment that has what is pinned.
fn install(shell: &Shell) -> Result<PathBuf> {
    let folder = shell.target().join("peers");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let pinned = Path::new("bench/peers/requirements.txt");
    let wanted = fs::read_to_string(shell.root().join(pinned)).context("no requirements.txt")?;
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let mut make = shell.command(PYTHON);
    shell
        .run(make.args(["-m", "venv", "--clear"]).arg(&folder))
        .with_context(|| format!("{PYTHON} is needed for the peers"))?;
    let mut pip = shell.command(&python);
    shell.run(pip.args(["-m", "pip", "install", "--quiet", "-r"]).arg(pinned))?;
    fs::write(&mark, wanted).context("cannot note what was installed")?;
    Ok(python)
}
