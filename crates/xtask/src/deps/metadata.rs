//! The part of `cargo metadata` that the checks read.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::shell::Shell;

#[derive(Debug, Deserialize)]
pub(super) struct CargoMetadata {
    pub(super) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) license: Option<String>,
    /// `None` for a package from a folder.
    pub(super) source: Option<String>,
    pub(super) manifest_path: PathBuf,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// `None` is a normal one; otherwise `dev` or `build`.
    pub(super) kind: Option<String>,
}

impl CargoMetadata {
    /// # Errors
    /// When cargo fails, as it does when the lock file is out of date.
    pub(super) fn read(shell: &Shell, manifest: &str) -> Result<CargoMetadata> {
        let mut command = shell.cargo(["metadata", "--locked", "--format-version", "1"]);
        let text = shell.read(command.args(["--manifest-path", manifest])).with_context(|| {
            format!("if its lock file is out of date: cargo update -w --manifest-path {manifest}")
        })?;
        CargoMetadata::parse(&text)
    }

    pub(super) fn parse(text: &str) -> Result<CargoMetadata> {
        serde_json::from_str(text).context("cannot read the output of `cargo metadata`")
    }

    pub(super) fn has(&self, package: &Package) -> bool {
        let same = |own: &Package| own.name == package.name && own.version == package.version;
        self.packages.iter().any(same)
    }
}

impl Package {
    pub(super) fn normal_dependencies(&self) -> BTreeSet<&str> {
        let normal = self.dependencies.iter().filter(|dependency| dependency.kind.is_none());
        normal.map(|dependency| dependency.name.as_str()).collect()
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}
