//! `deps.toml`: what is allowed, and the reason for every exception.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Policy {
    licenses: LicenceLists,
    /// Name and reason.
    pub(super) core_dependencies: BTreeMap<String, String>,
    pub(super) duplicates: BTreeMap<String, Duplicate>,
    pub(super) advisories: Advisories,
}

/// What is known of vulnerable and abandoned packages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Advisories {
    /// The day on which the lock files were compared with the advisory database.
    pub(super) checked: String,
    /// The day of the database's last change then.
    pub(super) database: String,
    /// Advisories that apply and are accepted, by id.
    pub(super) accepted: BTreeMap<String, AcceptedAdvisory>,
    /// Packages that are not used, and the reason.
    pub(super) refused: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AcceptedAdvisory {
    #[serde(rename = "crate")]
    pub(super) name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LicenceLists {
    allowed: Vec<String>,
    fuzzing: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Duplicate {
    pub(super) versions: BTreeSet<String>,
    reason: String,
}

impl Policy {
    /// # Errors
    /// When the text is not such a policy or a reason is empty.
    pub(super) fn parse(text: &str) -> Result<Policy> {
        let policy: Policy = toml::from_str(text).context("cannot read deps.toml")?;
        let core = policy.core_dependencies.iter();
        let duplicates = policy.duplicates.iter().map(|(name, listed)| (name, &listed.reason));
        let accepted = policy.advisories.accepted.iter().map(|(id, listed)| (id, &listed.reason));
        let refused = policy.advisories.refused.iter();
        for (name, reason) in core.chain(duplicates).chain(accepted).chain(refused) {
            ensure!(!reason.trim().is_empty(), "deps.toml gives no reason for {name}");
        }
        Ok(policy)
    }

    pub(super) fn licences(&self) -> Result<Licences> {
        Licences::new(&self.licenses.allowed)
    }

    pub(super) fn licences_for_fuzzing(&self) -> Result<Licences> {
        Licences::new(self.licenses.allowed.iter().chain(&self.licenses.fuzzing))
    }
}

/// The licences that a package may be used under.
#[derive(Debug)]
pub(super) struct Licences(Vec<Licensee>);

impl Licences {
    fn new<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<Licences> {
        let parse = |name: &String| {
            Licensee::parse(name).with_context(|| format!("`{name}` in deps.toml is no licence"))
        };
        names.into_iter().map(parse).collect::<Result<_>>().map(Licences)
    }

    /// # Errors
    /// Why a package under this expression may not be used.
    pub(super) fn judge(&self, expression: Option<&str>) -> Result<(), String> {
        let Some(text) = expression else { return Err("it names no licence".to_owned()) };
        // Old packages write `MIT/Apache-2.0`.
        let expression = Expression::parse_mode(text, ParseMode::LAX)
            .map_err(|error| format!("its licence `{text}` is not SPDX: {}", error.reason))?;
        let allowed = expression.evaluate(|need| self.0.iter().any(|own| own.satisfies(need)));
        if allowed { Ok(()) } else { Err(format!("its licence `{text}` is not allowed")) }
    }
}
