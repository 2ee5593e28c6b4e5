//! Checks external dependencies against `deps.toml`.
//!
//! The whole lock file is checked: dependencies of any platform, of tests and of build scripts
//! follow the same rules as shipped ones.

mod metadata;
mod policy;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::problem::{RuleViolation, conclude};
use crate::shell::Shell;
use metadata::{CargoMetadata, Package};
use policy::{Licences, Policy};

/// The only place packages may come from, under the name that lock files use for it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

const POLICY: &str = "deps.toml";

/// # Errors
/// When a rule is broken, a lock file is out of date, or `deps.toml` cannot be read.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let root = shell.root();
    let text = fs::read_to_string(root.join(POLICY)).context("cannot read deps.toml")?;
    let policy = Policy::parse(&text)?;
    let workspace = CargoMetadata::read(shell, "Cargo.toml")?;
    let fuzz = CargoMetadata::read(shell, "fuzz/Cargo.toml")?;

    let mut problems = packages(&workspace, "Cargo.lock", root, &policy.licences()?);
    problems.extend(packages(&fuzz, "fuzz/Cargo.lock", root, &policy.licences_for_fuzzing()?));
    problems.extend(duplicates(&workspace, &policy));
    problems.extend(core_dependencies(&workspace, &policy));
    problems.extend(advisories([&workspace, &fuzz], &policy));
    conclude("deps", problems)?;
    println!(
        "deps: {} packages, {} more for fuzzing; licences, sources and versions are in order; advisories of {} \
         were checked on {}",
        workspace.packages.len(),
        fuzz.packages.iter().filter(|package| !workspace.has(package)).count(),
        policy.advisories.database,
        policy.advisories.checked
    );
    Ok(())
}

/// Licence and source of every package.
fn packages(
    metadata: &CargoMetadata,
    lock: &str,
    root: &Path,
    licences: &Licences,
) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for package in &metadata.packages {
        if let Err(reason) = licences.judge(package.license.as_deref()) {
            problems.push(RuleViolation::in_file(lock, format!("{package}: {reason}")));
        }
        let is_known = match &package.source {
            Some(source) => source == REGISTRY,
            None => package.manifest_path.starts_with(root),
        };
        if !is_known {
            let source = package.source.as_deref().unwrap_or("a folder outside the repository");
            let message = format!("{package} comes from {source}; only the registry is allowed");
            problems.push(RuleViolation::in_file(lock, message));
        }
    }
    problems
}

/// Duplicate crates that the policy does not list, and stale entries of the list.
fn duplicates(metadata: &CargoMetadata, policy: &Policy) -> Vec<RuleViolation> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in &metadata.packages {
        found.entry(&package.name).or_default().insert(compatible_version(&package.version));
    }
    found.retain(|_, versions| versions.len() > 1);

    let mut problems = Vec::new();
    for (name, versions) in &found {
        let listed = policy.duplicates.get(*name).map(|duplicate| &duplicate.versions);
        if listed != Some(versions) {
            let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
            let message = format!(
                "{name} is here in versions {}: avoid that or list them with a reason",
                versions.join(" and ")
            );
            problems.push(RuleViolation::in_file(POLICY, message));
        }
    }
    for name in policy.duplicates.keys().filter(|name| !found.contains_key(name.as_str())) {
        let message = format!("{name} is here once: remove it from [duplicates]");
        problems.push(RuleViolation::in_file(POLICY, message));
    }
    problems
}

/// Refused packages that came back, and accepted advisories on packages that are gone.
fn advisories(metadata: [&CargoMetadata; 2], policy: &Policy) -> Vec<RuleViolation> {
    let is_used =
        |name: &str| metadata.iter().any(|m| m.packages.iter().any(|package| package.name == name));
    let listed = &policy.advisories;
    let back = listed.refused.iter().filter(|(name, _)| is_used(name));
    let back = back.map(|(name, reason)| format!("{name} is refused ({reason}): find another way"));
    let stale = listed.accepted.iter().filter(|(_, advisory)| !is_used(&advisory.name));
    let stale = stale.map(|(id, advisory)| {
        format!("{} is gone: remove {id} from [advisories.accepted]", advisory.name)
    });
    back.chain(stale).map(|message| RuleViolation::in_file(POLICY, message)).collect()
}

/// The part of a version that must be equal for two packages to be one: `1`, `0.8`, `0.0.3`.
fn compatible_version(version: &str) -> String {
    let mut kept = Vec::new();
    for part in version.split(['.', '-', '+']).take(3) {
        kept.push(part);
        if part != "0" {
            break;
        }
    }
    kept.join(".")
}

/// Direct dependencies of the core, each of which needs a reason.
fn core_dependencies(metadata: &CargoMetadata, policy: &Policy) -> Vec<RuleViolation> {
    let core = metadata.packages.iter().find(|package| package.name == "haversack-core");
    let used: BTreeSet<&str> = core.map(Package::normal_dependencies).unwrap_or_default();
    let listed: BTreeSet<&str> = policy.core_dependencies.keys().map(String::as_str).collect();

    let missing = used.difference(&listed).map(|name| {
        format!("haversack-core depends on {name}: list it in [core-dependencies] with a reason")
    });
    let stale = listed.difference(&used).map(|name| {
        format!("haversack-core no longer depends on {name}: remove it from [core-dependencies]")
    });
    missing.chain(stale).map(|message| RuleViolation::in_file(POLICY, message)).collect()
}

#[cfg(test)]
mod tests;
