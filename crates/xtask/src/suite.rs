//! The test command: all checks that a change must pass, fastest first.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::shell::Shell;
use crate::tools::{self, Runner};
use crate::{deps, tidy};

type SuiteStep<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// Runs all steps, up to the first that fails.
pub(crate) fn test(mut shell: Shell) -> Result<()> {
    let start = Instant::now();
    tools::require_components(&shell)?;
    let runner = tools::find_runner(&mut shell)?;
    let has_postgres = tools::find_postgres(&mut shell);
    println!("building in {}", shell.target().display());
    let steps: [SuiteStep<'_>; 8] = [
        ("fmt", &|| fmt(&shell)),
        ("tidy", &|| tidy::run(shell.root())),
        ("clippy", &|| clippy(&shell)),
        ("tests", &|| tests(&shell, runner)),
        ("doc tests", &|| doc_tests(&shell)),
        ("docs", &|| docs(&shell)),
        ("deps", &|| deps::run(&shell)),
        ("clients", &|| clients(&shell)),
    ];
    run_steps(&steps)?;
    if !has_postgres {
        println!("NOT TESTED: PostgreSQL, as it cannot be had");
    }
    println!("all {} steps passed in {}", steps.len(), seconds(start.elapsed()));
    Ok(())
}

fn run_steps(steps: &[SuiteStep<'_>]) -> Result<()> {
    for (number, (name, run)) in (1..).zip(steps) {
        let place = format!("[{number}/{}] {name}", steps.len());
        println!("{place}");
        let start = Instant::now();
        let result = run();
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        println!("{place}: {verdict} in {}", seconds(start.elapsed()));
        result.with_context(|| format!("step {number} of {} ({name})", steps.len()))?;
    }
    Ok(())
}

/// Runs only the property tests, with many cases, optimised.
pub(crate) fn properties(mut shell: Shell, cases: u32) -> Result<()> {
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run", "--locked", "--release"]);
            command.args(["-p", "haversack-core", "--test", "it"]);
            command.args(["--profile", "properties", "--no-fail-fast", "-E", "test(properties)"]);
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test", "--locked", "--release"]);
            command.args(["-p", "haversack-core", "--test", "it", "properties"]);
            command
        }
    };
    command.env("HAVERSACK_CASES", cases.to_string());
    shell.run(&mut command)
}

/// Runs the store's soak tests with the given amounts, optimised.
pub(crate) fn soak(mut shell: Shell, amounts: &[(&str, u32)]) -> Result<()> {
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run", "--locked", "--release"]);
            command.args(["-p", "haversack-store", "--test", "it"]);
            command.args(["--profile", "properties", "--no-fail-fast"]);
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test", "--locked", "--release"]);
            command.args(["-p", "haversack-store", "--test", "it"]);
            command
        }
    };
    command.envs(amounts.iter().map(|(name, amount)| (name, amount.to_string())));
    shell.run(&mut command)
}

/// Runs the canary test with so many calls, optimised.
pub(crate) fn canary(mut shell: Shell, calls: u32, seed: u32) -> Result<()> {
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run", "--locked", "--release"]);
            command.args(["-p", "haversack-serve", "--test", "it", "--profile", "properties"]);
            // What it counted is printed although it passes.
            command.args(["--success-output", "final", "-E", "test(canary::no_word_reaches)"]);
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test", "--locked", "--release"]);
            command.args(["-p", "haversack-serve", "--test", "it", "canary::no_word_reaches"]);
            command
        }
    };
    command.env("HAVERSACK_CANARY_CALLS", calls.to_string());
    shell.run(command.env("HAVERSACK_SEED", seed.to_string()))
}

/// Runs the test of several nodes with so many operations, optimised.
pub(crate) fn cluster(mut shell: Shell, operations: u32) -> Result<()> {
    tools::find_postgres(&mut shell);
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run", "--locked", "--release"]);
            command.args(["-p", "haversack-cli", "--test", "it", "--profile", "properties"]);
            command.args(["--success-output", "final", "-E", "test(cluster::three_nodes)"]);
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test", "--locked", "--release"]);
            command.args(["-p", "haversack-cli", "--test", "it", "cluster::three_nodes"]);
            command
        }
    };
    shell.run(command.env("HAVERSACK_CLUSTER_OPERATIONS", operations.to_string()))
}

/// Runs the store's tests of faults, damage and the model with the given amounts, optimised.
pub(crate) fn faults(mut shell: Shell, amounts: &[(&str, u32)]) -> Result<()> {
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run", "--locked", "--release"]);
            command.args(["-p", "haversack-store", "--lib", "--test", "it"]);
            command.args(["--profile", "properties", "--no-fail-fast", "-E"]);
            command.arg("test(/(fault_tests|damage|healing|model)::/)");
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test", "--locked", "--release"]);
            command.args(["-p", "haversack-store", "--lib", "--test", "it"]);
            command
        }
    };
    command.envs(amounts.iter().map(|(name, amount)| (name, amount.to_string())));
    shell.run(&mut command)
}

/// Runs the trace tests against a server built with traces.
pub(crate) fn traces(mut shell: Shell) -> Result<()> {
    let features = ["--locked", "--workspace", "--features", "haversack-cli/otlp"];
    let mut command = match tools::find_runner(&mut shell)? {
        Runner::Nextest => {
            let mut command = shell.cargo(["nextest", "run"]);
            command.args(features).args(["-E", "package(haversack-serve) & test(trace)"]);
            command
        }
        Runner::CargoTest => {
            let mut command = shell.cargo(["test"]);
            command.args(features).args(["--lib", "--test", "it", "trace"]);
            command
        }
    };
    shell.run(&mut command)
}

/// Builds the program and uses it with real model servers. They come from `PyPI` and the system's packages, so
/// this is not part of the test command.
pub(crate) fn providers(shell: &Shell, cache: Option<&Path>) -> Result<()> {
    // With the tests, because features are then those of the test command and nothing is built twice.
    shell.run(&mut shell.cargo(["build", "--locked", "--workspace", "--bins", "--tests"]))?;
    let name = format!("haversack{}", std::env::consts::EXE_SUFFIX);
    let haversack = shell.target().join("debug").join(name);
    let mut servers = shell.command("python3");
    servers.arg("tools/providers/servers.py");
    if let Some(cache) = cache {
        servers.arg("--cache").arg(cache);
    }
    servers.args(["--", "python3", "tools/providers/end_to_end.py"]).arg(haversack);
    shell.run(&mut servers)
}

fn fmt(shell: &Shell) -> Result<()> {
    shell.run(&mut shell.cargo(["fmt", "--all", "--check"]))?;
    for manifest in ["fuzz/Cargo.toml", "bench/peers/rust/Cargo.toml"] {
        shell.run(&mut shell.cargo(["fmt", "--manifest-path", manifest, "--check"]))?;
    }
    Ok(())
}

fn clippy(shell: &Shell) -> Result<()> {
    let mut command = shell.cargo(["clippy", "--locked", "--workspace", "--all-targets"]);
    shell.run(command.args(["--", "-D", "warnings"]))?;
    // The same selection of packages, so that only the server and the command are checked again.
    let mut command = shell.cargo(["clippy", "--locked", "--workspace", "--all-targets"]);
    command.args(["--features", "haversack-cli/otlp"]);
    shell.run(command.args(["--", "-D", "warnings"]))?;
    // Without PostgreSQL, as a library may be built: it changes this crate alone.
    let mut command = shell.cargo(["clippy", "--locked", "-p", "haversack-database"]);
    shell.run(command.args(["--", "-D", "warnings"]))?;
    // The fuzz targets are a workspace of their own; they must at least go on compiling.
    let mut command = shell.cargo(["check", "--locked", "--bins"]);
    shell.run(command.args(["--manifest-path", "fuzz/Cargo.toml"]))
}

fn tests(shell: &Shell, runner: Runner) -> Result<()> {
    let mut command = match runner {
        Runner::Nextest => shell.cargo(["nextest", "run", "--locked", "--workspace"]),
        Runner::CargoTest => {
            shell.cargo(["test", "--locked", "--workspace", "--lib", "--bins", "--tests"])
        }
    };
    shell.run(&mut command)
}

fn doc_tests(shell: &Shell) -> Result<()> {
    shell.run(&mut shell.cargo(["test", "--locked", "--workspace", "--doc"]))
}

fn docs(shell: &Shell) -> Result<()> {
    let mut command = shell.cargo(["doc", "--locked", "--workspace", "--no-deps"]);
    shell.run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The script's exit code when packages are unavailable.
const PACKAGES_UNAVAILABLE: i32 = 75;

/// Tests the clients with the program built by the earlier steps.
fn clients(shell: &Shell) -> Result<()> {
    let program = shell.target().join("debug/haversack");
    let mut command = shell.command("sh");
    command.arg("tools/clients.sh").arg(program);
    let status = command.status().context("cannot run tools/clients.sh")?;
    if status.code() == Some(PACKAGES_UNAVAILABLE) {
        println!("NOT TESTED: the clients, as their packages cannot be had");
        return Ok(());
    }
    ensure!(status.success(), "tools/clients.sh: {status}");
    Ok(())
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_run_stops_at_the_first_failure_and_names_it() {
        let steps: [SuiteStep<'_>; 3] = [
            ("good", &|| Ok(())),
            ("bad", &|| bail!("broken")),
            ("never", &|| unreachable!("the step before failed")),
        ];
        let error = run_steps(&steps).unwrap_err();
        assert_eq!(format!("{error:#}"), "step 2 of 3 (bad): broken");
    }

    #[test]
    fn durations_are_short_to_read() {
        assert_eq!(seconds(Duration::from_millis(61_049)), "61.0 s");
    }
}
