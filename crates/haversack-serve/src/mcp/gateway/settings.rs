//! What a gateway is told.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::config::{FileError, from_file};

/// What a gateway is told. The format is shown where [the gateway](super) is described.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Which context, for all tools.
    pub context: Context,
    /// What differs for one tool, by its name.
    pub tools: BTreeMap<String, Tool>,
    /// The wrapped server, when it is reached by URL.
    pub server: Server,
    /// What it bears.
    pub limits: Limits,
}

/// Which context tools are given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Context {
    /// The workspace.
    pub workspace: Option<String>,
    /// The recipe.
    pub recipe: String,
    /// The current context, by id; else the call's own argument `context`.
    pub context: Option<String>,
    /// With whose eyes.
    pub user: Option<String>,
    /// Their groups.
    pub groups: Vec<String>,
    /// The most tokens for a call.
    pub budget: u32,
    /// Which tools get it.
    pub give: Give,
    /// After how long a call goes through without.
    pub deadline_seconds: f64,
    /// A Haversack server to ask, in place of the data folder.
    pub server: Option<String>,
    /// The variable that holds its key.
    pub key_env: Option<String>,
}

impl Default for Context {
    fn default() -> Context {
        Context {
            workspace: None,
            recipe: "situation".to_owned(),
            context: None,
            user: None,
            groups: Vec::new(),
            budget: 1_000,
            give: Give::Auto,
            deadline_seconds: 2.0,
            server: None,
            key_env: None,
        }
    }
}

/// Which tools get context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Give {
    /// Those whose schema has `_context` or does not forbid what it does not name.
    #[default]
    Auto,
    /// Whatever the schema says.
    Always,
    /// None: such calls pass untouched.
    Never,
}

/// What differs for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tool {
    /// Whether it gets context.
    pub give: Option<Give>,
    /// The recipe.
    pub recipe: Option<String>,
    /// The current context.
    pub context: Option<String>,
    /// The most tokens.
    pub budget: Option<u32>,
}

/// The wrapped server, when it is reached by URL.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Where.
    pub url: Option<String>,
    /// The variable that holds the token it asks for.
    pub bearer_env: Option<String>,
    /// How long an answer may take.
    pub timeout_seconds: f64,
}

impl Default for Server {
    fn default() -> Server {
        Server { url: None, bearer_env: None, timeout_seconds: 300.0 }
    }
}

/// What a gateway bears.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Longest message.
    pub message_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { message_bytes: 16 << 20 }
    }
}

/// What is wrong with what a gateway is told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Its file will not do.
    #[error(transparent)]
    File(#[from] FileError),
    /// A value cannot be.
    #[error("{name}: {message}")]
    Value {
        /// Which.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A variable is named and not set.
    #[error("{name} names the variable {variable:?}, which is not set")]
    Variable {
        /// The setting.
        name: &'static str,
        /// The variable.
        variable: String,
    },
    /// Nobody said what it stands before.
    #[error("there is no server to wrap: name a command after `--`, or a URL")]
    Nothing,
}

/// What counts for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule<'s> {
    pub(super) give: Give,
    pub(super) recipe: &'s str,
    pub(super) context: Option<&'s str>,
    pub(super) budget: u32,
}

impl Settings {
    /// What a file says.
    ///
    /// # Errors
    /// When it cannot be read, or a name in it is unknown.
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        Ok(from_file(path)?)
    }

    /// Looks for values that cannot work.
    ///
    /// # Errors
    /// When one cannot.
    pub fn check(&self) -> Result<(), SettingsError> {
        let times = [
            ("context.deadline_seconds", self.context.deadline_seconds),
            ("server.timeout_seconds", self.server.timeout_seconds),
        ];
        for (name, time) in times {
            if !(time > 0.0 && time <= 1e6) {
                let message = format!("{time} will not do: use more than 0, up to 1,000,000");
                return Err(SettingsError::Value { name, message });
            }
        }
        let counts = [
            ("context.budget", usize::try_from(self.context.budget).unwrap_or(usize::MAX)),
            ("limits.message_bytes", self.limits.message_bytes),
        ];
        for (name, count) in counts {
            if count == 0 {
                let message = "is 0, so nothing would come through: use 1 or more".to_owned();
                return Err(SettingsError::Value { name, message });
            }
        }
        Ok(())
    }

    /// What counts for a tool.
    pub(super) fn rule(&self, tool: &str) -> Rule<'_> {
        let own = self.tools.get(tool);
        let context = own.and_then(|own| own.context.as_deref());
        Rule {
            give: own.and_then(|own| own.give).unwrap_or(self.context.give),
            recipe: own.and_then(|own| own.recipe.as_deref()).unwrap_or(&self.context.recipe),
            context: context.or(self.context.context.as_deref()),
            budget: own.and_then(|own| own.budget).unwrap_or(self.context.budget),
        }
    }
}

/// What a variable of the environment holds, if a setting names one.
pub(super) fn secret(
    name: &'static str,
    variable: Option<&String>,
) -> Result<Option<String>, SettingsError> {
    let Some(variable) = variable else { return Ok(None) };
    let held = std::env::var(variable).ok().filter(|held| !held.is_empty());
    let missing = || SettingsError::Variable { name, variable: variable.clone() };
    held.map(Some).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_a_default_and_what_is_unknown_is_refused_s7() {
        let settings: Settings = toml::from_str("").unwrap();
        settings.check().unwrap();
        let expected = Rule { give: Give::Auto, recipe: "situation", context: None, budget: 1_000 };
        assert_eq!(settings.rule("any"), expected);
        let wrong = toml::from_str::<Settings>("[context]\nbugdet = 5\n").unwrap_err();
        assert!(wrong.to_string().contains("bugdet"), "{wrong}");
    }

    #[test]
    fn a_tool_has_its_own_rule_and_the_rest_is_as_for_all_s7() {
        let text = "[context]\ncontext = \"a\"\ngive = \"never\"\n\
                    [tools.deploy]\ngive = \"always\"\nbudget = 40\n";
        let settings: Settings = toml::from_str(text).unwrap();
        let expected =
            Rule { give: Give::Always, recipe: "situation", context: Some("a"), budget: 40 };
        assert_eq!(settings.rule("deploy"), expected);
        assert_eq!(settings.rule("other").give, Give::Never);
    }

    #[test]
    fn values_that_cannot_work_are_named_s7() {
        for text in ["[context]\nbudget = 0", "[context]\ndeadline_seconds = nan"] {
            let settings: Settings = toml::from_str(text).unwrap();
            let wrong = settings.check().unwrap_err().to_string();
            assert!(wrong.starts_with("context."), "{wrong}");
        }
    }
}
