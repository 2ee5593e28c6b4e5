//! Finds or installs the tools that tasks need besides cargo.

use anyhow::{Result, ensure};

use crate::shell::Shell;

/// What runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    /// Slower and without timeouts; only when nextest is unavailable.
    CargoTest,
}

/// The version that this repository is tested with; a newer one may need a newer compiler.
const NEXTEST: &str = "0.9.143";

/// rustfmt and clippy, which a minimal toolchain comes without.
///
/// # Errors
/// When one is missing and rustup cannot add it.
pub(crate) fn require_components(shell: &Shell) -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let works = || shell.works(&mut shell.cargo([subcommand, "--version"]));
        if !works() {
            println!("{component} is missing: adding it to the toolchain");
            let mut add = shell.command("rustup");
            if let Err(error) = shell.run(add.args(["component", "add", component])) {
                println!("notice: {error:#}");
            }
        }
        ensure!(works(), "{component} is missing and `rustup component add {component}` failed");
    }
    Ok(())
}

/// Nextest from the machine, from the tools folder, or installed now; else plain `cargo test`.
pub(crate) fn find_runner(shell: &mut Shell) -> Result<Runner> {
    shell.use_tools()?;
    let nextest_works = |shell: &Shell| shell.works(&mut shell.cargo(["nextest", "--version"]));
    if nextest_works(shell) {
        return Ok(Runner::Nextest);
    }
    println!("cargo-nextest is missing: installing it into {}", shell.tools().display());
    let mut install =
        shell.cargo(["install", "--locked", "--version", NEXTEST, "cargo-nextest", "--root"]);
    // Its build leftovers stay out of the target folder.
    install.arg(shell.tools()).env_remove("CARGO_TARGET_DIR");
    if let Err(error) = shell.run(&mut install) {
        println!("notice: {error:#}");
    }
    if nextest_works(shell) {
        return Ok(Runner::Nextest);
    }
    println!("notice: cargo-nextest could not be installed; the tests run with `cargo test`");
    Ok(Runner::CargoTest)
}
