//! Fuzzing on the stable toolchain: libFuzzer with coverage from LLVM's own pass.
//!
//! A target is one file in `fuzz/src/bin`; its seeds are the files in `fuzz/corpus/<target>`. New
//! inputs go to `fuzz/grown`, failing ones to `fuzz/artifacts`; neither is committed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell::Shell;

/// Without the last of these LLVM folds branches, and the fuzzer cannot distinguish them.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg fuzzing",
    "-Ccodegen-units=1",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// Builds and runs one target, or all of them one after the other.
pub(crate) fn run(shell: &Shell, wanted: Option<&str>, seconds: u32) -> Result<()> {
    let targets = choose(find_targets(&shell.root().join("fuzz/src/bin"))?, wanted)?;
    let host = shell.read(shell.command("rustc").args(["--print", "host-tuple"]))?;
    let host = host.trim();
    build(shell, host, wanted)?;
    for target in &targets {
        run_target(shell, host, target, seconds)?;
        println!("{target}: no failure in {seconds} s");
    }
    Ok(())
}

/// Names of the files in the folder, in order of name.
fn find_targets(folder: &Path) -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let path = entry?.path();
        if let (Some(stem), Some("rs")) =
            (path.file_stem(), path.extension().and_then(|extension| extension.to_str()))
        {
            targets.push(stem.to_string_lossy().into_owned());
        }
    }
    targets.sort();
    Ok(targets)
}

fn choose(targets: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>> {
    let Some(wanted) = wanted else { return Ok(targets) };
    let known = targets.join(", ");
    ensure!(
        targets.iter().any(|target| target == wanted),
        "no target {wanted}; there are: {known}"
    );
    Ok(vec![wanted.to_owned()])
}

fn build(shell: &Shell, host: &str, wanted: Option<&str>) -> Result<()> {
    let mut command = shell.cargo(["build", "--locked", "--release"]);
    // Naming the target platform keeps the flags away from build scripts and procedural macros.
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--target", host]);
    match wanted {
        Some(target) => command.args(["--bin", target]),
        None => command.arg("--bins"),
    };
    command.env("CARGO_TARGET_DIR", shell.target().join("fuzz"));
    command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", FLAGS.join(" "));
    shell.run(&mut command)
}

fn run_target(shell: &Shell, host: &str, target: &str, seconds: u32) -> Result<()> {
    let fuzz = shell.root().join("fuzz");
    let grown = fuzz.join("grown").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    let seeds = fuzz.join("corpus").join(target);
    for folder in [&grown, &artifacts, &seeds] {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let binary = shell.target().join("fuzz").join(host).join("release").join(target);
    let mut command = shell.command(binary);
    command.arg(format!("-max_total_time={seconds}"));
    command.args(["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    // New inputs are written to the first folder, the others are only read.
    command.arg(grown).arg(seeds);
    let failed = || format!("{target} failed; the input is in fuzz/artifacts/{target}");
    shell.run(&mut command).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_chosen_by_name() {
        let all = || vec!["fence".to_owned(), "query".to_owned()];
        assert_eq!(choose(all(), None).unwrap(), all());
        assert_eq!(choose(all(), Some("query")).unwrap(), ["query"]);
        let error = choose(all(), Some("quarry")).unwrap_err();
        assert_eq!(error.to_string(), "no target quarry; there are: fence, query");
    }
}
