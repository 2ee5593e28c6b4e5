//! The gateway's settings.

use std::collections::BTreeMap;
use std::path::Path;

use haversack_serve::config::{FileError, from_file};
use serde::Deserialize;
use thiserror::Error;

/// The gateway's settings. [The crate](crate) shows the format.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewaySettings {
    /// The context of all tools.
    pub context: ContextSettings,
    /// Overrides for single tools, by name.
    pub tools: BTreeMap<String, ToolSettings>,
    /// The wrapped server, when it is reached by URL.
    pub server: RemoteSettings,
    /// Limits.
    pub limits: GatewayLimits,
}

/// Which context tools get.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextSettings {
    /// The workspace.
    pub workspace: Option<String>,
    /// The recipe.
    pub recipe: String,
    /// The current context, by id; else the call's own argument `context`.
    pub context: Option<String>,
    /// The user to read as.
    pub user: Option<String>,
    /// Their groups.
    pub groups: Vec<String>,
    /// The token budget of a call.
    pub budget: u32,
    /// Which tools get it.
    pub give: GiveContext,
    /// After this time a call is sent without context.
    pub deadline_seconds: f64,
    /// A Haversack server to use instead of the data folder.
    pub server: Option<String>,
    /// The environment variable with its key.
    pub key_env: Option<String>,
}

impl Default for ContextSettings {
    fn default() -> ContextSettings {
        ContextSettings {
            workspace: None,
            recipe: "situation".to_owned(),
            context: None,
            user: None,
            groups: Vec::new(),
            budget: 1_000,
            give: GiveContext::Auto,
            deadline_seconds: 2.0,
            server: None,
            key_env: None,
        }
    }
}

/// Which tools get context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GiveContext {
    /// Tools whose schema has `_context` or allows additional properties.
    #[default]
    Auto,
    /// All tools, regardless of their schema.
    Always,
    /// No tools: their calls pass unchanged.
    Never,
}

/// Overrides for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSettings {
    /// Whether it gets context.
    pub give: Option<GiveContext>,
    /// The recipe.
    pub recipe: Option<String>,
    /// The current context.
    pub context: Option<String>,
    /// The token budget.
    pub budget: Option<u32>,
}

/// The wrapped server, when it is reached by URL.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RemoteSettings {
    /// The address.
    pub url: Option<String>,
    /// The environment variable with its bearer token.
    pub bearer_env: Option<String>,
    /// The timeout of a reply.
    pub timeout_seconds: f64,
}

impl Default for RemoteSettings {
    fn default() -> RemoteSettings {
        RemoteSettings { url: None, bearer_env: None, timeout_seconds: 300.0 }
    }
}

/// A gateway's limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayLimits {
    /// Longest message.
    pub message_bytes: usize,
}

impl Default for GatewayLimits {
    fn default() -> GatewayLimits {
        GatewayLimits { message_bytes: 16 << 20 }
    }
}

/// Why settings are invalid.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatewaySettingsError {
    /// The file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// A value is invalid.
    #[error("{name}: {message}")]
    Value {
        /// Which.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
    /// An environment variable is not set.
    #[error("{name} names the variable {variable:?}, which is not set")]
    Variable {
        /// The setting.
        name: &'static str,
        /// The variable.
        variable: String,
    },
    /// No server to wrap is named.
    #[error("there is no server to wrap: name a command after `--`, or a URL")]
    Nothing,
}

/// The settings that apply to one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolRule<'s> {
    pub(crate) give: GiveContext,
    pub(crate) recipe: &'s str,
    pub(crate) context: Option<&'s str>,
    pub(crate) budget: u32,
}

impl GatewaySettings {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or a name in it is unknown.
    pub fn read(path: &Path) -> Result<GatewaySettings, GatewaySettingsError> {
        Ok(from_file(path)?)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// When a value is invalid.
    pub fn check(&self) -> Result<(), GatewaySettingsError> {
        let times = [
            ("context.deadline_seconds", self.context.deadline_seconds),
            ("server.timeout_seconds", self.server.timeout_seconds),
        ];
        for (name, time) in times {
            if !(time > 0.0 && time <= 1e6) {
                let message = format!("{time} is out of range: use more than 0, up to 1,000,000");
                return Err(GatewaySettingsError::Value { name, message });
            }
        }
        let counts = [
            ("context.budget", usize::try_from(self.context.budget).unwrap_or(usize::MAX)),
            ("limits.message_bytes", self.limits.message_bytes),
        ];
        for (name, count) in counts {
            if count == 0 {
                let message = "is 0, which would block everything: use 1 or more".to_owned();
                return Err(GatewaySettingsError::Value { name, message });
            }
        }
        Ok(())
    }

    /// The settings that apply to a tool.
    pub(crate) fn rule(&self, tool: &str) -> ToolRule<'_> {
        let own = self.tools.get(tool);
        let context = own.and_then(|own| own.context.as_deref());
        ToolRule {
            give: own.and_then(|own| own.give).unwrap_or(self.context.give),
            recipe: own.and_then(|own| own.recipe.as_deref()).unwrap_or(&self.context.recipe),
            context: context.or(self.context.context.as_deref()),
            budget: own.and_then(|own| own.budget).unwrap_or(self.context.budget),
        }
    }
}

/// Reads the environment variable that a setting names, if any.
pub(crate) fn read_secret(
    name: &'static str,
    variable: Option<&String>,
) -> Result<Option<String>, GatewaySettingsError> {
    let Some(variable) = variable else { return Ok(None) };
    let held = std::env::var(variable).ok().filter(|held| !held.is_empty());
    let missing = || GatewaySettingsError::Variable { name, variable: variable.clone() };
    held.map(Some).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_settings_have_defaults_and_unknown_ones_are_refused_s7() {
        let settings: GatewaySettings = toml::from_str("").unwrap();
        settings.check().unwrap();
        let expected =
            ToolRule { give: GiveContext::Auto, recipe: "situation", context: None, budget: 1_000 };
        assert_eq!(settings.rule("any"), expected);
        let wrong = toml::from_str::<GatewaySettings>("[context]\nbugdet = 5\n").unwrap_err();
        assert!(wrong.to_string().contains("bugdet"), "{wrong}");
    }

    #[test]
    fn a_tool_overrides_single_settings_s7() {
        let text = "[context]\ncontext = \"a\"\ngive = \"never\"\n\
                    [tools.deploy]\ngive = \"always\"\nbudget = 40\n";
        let settings: GatewaySettings = toml::from_str(text).unwrap();
        let expected = ToolRule {
            give: GiveContext::Always,
            recipe: "situation",
            context: Some("a"),
            budget: 40,
        };
        assert_eq!(settings.rule("deploy"), expected);
        assert_eq!(settings.rule("other").give, GiveContext::Never);
    }

    #[test]
    fn invalid_values_are_named_s7() {
        for text in ["[context]\nbudget = 0", "[context]\ndeadline_seconds = nan"] {
            let settings: GatewaySettings = toml::from_str(text).unwrap();
            let wrong = settings.check().unwrap_err().to_string();
            assert!(wrong.starts_with("context."), "{wrong}");
        }
    }
}
