//! Mutation testing of the code that decides rights and budgets: each change of it by `cargo mutants` has to
//! make a test fail.

use anyhow::{Result, ensure};

use crate::shell::Shell;

/// A package's code that is changed, and the tests that have to notice.
#[derive(Debug)]
struct Part {
    package: &'static str,
    files: &'static [&'static str],
    tests: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        package: "haversack-core",
        files: &["src/budget/*.rs", "src/select/*.rs", "src/pack.rs", "src/assemble/mod.rs"],
        tests: "all()",
    },
    Part {
        package: "haversack-store",
        files: &[
            "src/embedded/records/rights.rs",
            "src/embedded/catalogue.rs",
            "src/store/viewer.rs",
        ],
        tests: "test(/rights|catalogue|viewer|conformance|non_interference|revocation/)",
    },
    Part {
        package: "haversack-serve",
        files: &["src/who/*.rs", "src/gate.rs"],
        tests: "test(/^(who|gate|access|authority|absent|limits|signed|hostile)::/)",
    },
];

/// Tests the mutants of all parts, or of one package; `shard` K/N takes every Nth from the Kth on.
///
/// # Errors
/// When cargo-mutants is missing, there is no such part, or a mutant was not noticed.
pub(crate) fn run(shell: &Shell, package: Option<&str>, shard: Option<&str>) -> Result<()> {
    let installed = shell.works(&mut shell.cargo(["mutants", "--version"]));
    ensure!(installed, "cargo-mutants is missing: `cargo install cargo-mutants --locked`");
    let chosen = || PARTS.iter().filter(|part| package.is_none_or(|wanted| wanted == part.package));
    let names: Vec<&str> = PARTS.iter().map(|part| part.package).collect();
    ensure!(chosen().next().is_some(), "there is no such part: use one of {}", names.join(", "));
    let mut failed = Vec::new();
    for part in chosen() {
        let mut command = shell.cargo(["mutants", "--test-tool", "nextest", "--no-shuffle"]);
        // A copy of the sources is built in a folder of its own, one mutant after another.
        command.env_remove("CARGO_TARGET_DIR");
        command.args(["--package", part.package, "--timeout-multiplier", "3"]);
        command.args(["--minimum-test-timeout", "60", "--baseline", "run"]);
        command.arg("--output").arg(shell.target().join("mutants").join(part.package));
        for file in part.files {
            command.args(["--file", &format!("crates/{}/{file}", part.package)]);
        }
        if let Some(shard) = shard {
            command.args(["--shard", shard, "--sharding", "round-robin"]);
        }
        command.args(["--", "--lib", "--test", "it", "-E", part.tests]);
        if let Err(error) = shell.run(&mut command) {
            println!("notice: {error:#}");
            failed.push(part.package);
        }
    }
    ensure!(failed.is_empty(), "not every mutant was noticed in {}", failed.join(", "));
    Ok(())
}
