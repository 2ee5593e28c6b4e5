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

/// The package of PostgreSQL in Debian and its descendants.
const POSTGRES_PACKAGE: &str = "postgresql";

/// The package of a pooler of its connections, which also is the name of the program.
const POOLER_PACKAGE: &str = "pgbouncer";

/// By this variable tests know that there is no PostgreSQL; without it they fail.
const NO_POSTGRES: &str = "HAVERSACK_NO_POSTGRES";

/// PostgreSQL, of which tests start servers of their own. Debian's package is installed when it is missing and
/// this is root; else the tests that need it are left out, which is said here and at the end.
pub(crate) fn find_postgres(shell: &mut Shell) -> bool {
    if !has_postgres(shell) {
        install_package(shell, POSTGRES_PACKAGE);
    }
    if !has_pooler() {
        install_package(shell, POOLER_PACKAGE);
    }
    if !has_pooler() {
        println!("notice: there is no {POOLER_PACKAGE}; the test behind it is left out");
    }
    let found = has_postgres(shell);
    if !found {
        println!("notice: there is no PostgreSQL; tests that need it are left out");
        shell.set_variable(NO_POSTGRES, "1");
    }
    found
}

/// Installs a package of Debian if this may.
fn install_package(shell: &mut Shell, package: &str) {
    if !shell.works(shell.command("test").args(["-w", "/var/lib/dpkg"])) {
        return;
    }
    println!("{package} is missing: installing it");
    let quiet = ["--yes", "--quiet", "--no-install-recommends"];
    let mut install = shell.command("apt-get");
    install.arg("install").args(quiet).arg(package);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    if !shell.works(&mut install) {
        let _ = shell.works(shell.command("apt-get").args(["update", "--quiet"]));
        if let Err(error) = shell.run(&mut install) {
            println!("notice: {error:#}");
        }
    }
}

/// Whether the pooler is where Debian keeps it, which is where `testkit` looks for it.
fn has_pooler() -> bool {
    std::path::Path::new("/usr/sbin").join(POOLER_PACKAGE).is_file()
}

/// Whether PostgreSQL is where Debian keeps it, or on the path.
fn has_postgres(shell: &Shell) -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let in_debian =
        versions.map(|it| it.path()).any(|version| version.join("bin/initdb").is_file());
    in_debian || shell.works(shell.command("initdb").arg("--version"))
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
