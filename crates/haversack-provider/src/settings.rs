//! The settings of providers and models, as they stand in `models.toml` of a data folder and in the
//! server's configuration. Keys are never in them: settings name environment variables.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::allowance::DailyCap;
use crate::error::ProviderError;
use crate::http;
use crate::protocol::{self, PROTOCOLS};

/// The file in a data folder.
pub const MODELS_FILE: &str = "models.toml";

/// Most bytes of such a file.
pub const MODELS_FILE_BYTES_MAX: u64 = 256 << 10;

/// The provider of `models.rerank` that stands for the reranker on disk: only its deadline counts.
pub const LOCAL: &str = "local";

/// Begins a header's value that is read from an environment variable.
const FROM_ENVIRONMENT: &str = "env:";

/// Providers, and which model does what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelsConfig {
    /// The providers, by a name of your own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// The models, by what they do.
    #[serde(skip_serializing_if = "ModelChoices::is_unset")]
    pub models: ModelChoices,
    /// A cache of embeddings that several machines share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheSettings>,
}

/// One provider: where it is and how it may be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderSettings {
    /// The protocol: `openai`, `azure`, `anthropic`, `gemini`, `cohere`, `jina`, `voyage`, `tei` or
    /// `ollama`.
    pub protocol: String,
    /// Where it is, with or without `/v1`; empty for the vendor's own address.
    pub base_url: String,
    /// The environment variable with the key; empty for none.
    pub api_key_env: String,
    /// Further headers. A value `env:NAME` is read from the environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Seconds that one attempt may take.
    pub timeout: f64,
    /// How often a failed call is tried again.
    pub retries: u32,
    /// Calls in flight.
    pub concurrency: usize,
    /// Requests a minute; 0 for no limit.
    pub rpm: u32,
    /// Tokens a minute; 0 for no limit.
    pub tpm: u32,
}

impl Default for ProviderSettings {
    fn default() -> ProviderSettings {
        ProviderSettings {
            protocol: String::new(),
            base_url: String::new(),
            api_key_env: String::new(),
            headers: BTreeMap::new(),
            timeout: 30.0,
            retries: 2,
            concurrency: 4,
            rpm: 0,
            tpm: 0,
        }
    }
}

/// Which model does what. What is not set is done locally, or not at all.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelChoices {
    /// Most tokens that a workspace uses of models in a day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// The most that a workspace's use of models costs in a day (UTC), by the prices of the models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_day: Option<f64>,
    /// Makes vectors of texts and queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embed: Option<ModelChoice>,
    /// Judges conditions in plain language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<ModelChoice>,
    /// Summarises texts that do not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarise: Option<ModelChoice>,
    /// Scores the best candidates once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank: Option<ModelChoice>,
    /// Turns conversations into memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extract: Option<ModelChoice>,
    /// Counts tokens, for a model whose tokenizer is not public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<ModelChoice>,
}

impl ModelChoices {
    /// The roles with their models, in a fixed order.
    #[must_use]
    pub fn by_role(&self) -> [(ModelRole, Option<&ModelChoice>); 6] {
        [
            (ModelRole::Embed, self.embed.as_ref()),
            (ModelRole::Judge, self.judge.as_ref()),
            (ModelRole::Summarise, self.summarise.as_ref()),
            (ModelRole::Rerank, self.rerank.as_ref()),
            (ModelRole::Extract, self.extract.as_ref()),
            (ModelRole::Count, self.count.as_ref()),
        ]
    }

    /// Whether nothing is set, neither a model nor a cap.
    #[must_use]
    pub fn is_unset(&self) -> bool {
        self.is_empty() && self.cap().is_none()
    }

    /// The cap of each workspace.
    #[must_use]
    pub fn cap(&self) -> DailyCap {
        DailyCap { tokens: self.tokens_per_day, cost: self.cost_per_day }
    }

    /// Takes over the caps that are set in other settings.
    pub fn override_caps(&mut self, other: &ModelChoices) {
        self.tokens_per_day = other.tokens_per_day.or(self.tokens_per_day);
        self.cost_per_day = other.cost_per_day.or(self.cost_per_day);
    }

    /// Checks the caps.
    fn check_caps(&self) -> Result<(), String> {
        let Some(cost) = self.cost_per_day else { return Ok(()) };
        if !cost.is_finite() || cost < 0.0 {
            return Err(format!("cost_per_day: {cost} is not a cost"));
        }
        let has_price = |choice: &ModelChoice| choice.price_in.or(choice.price_out).is_some();
        if self.by_role().iter().any(|(_, choice)| choice.is_some_and(has_price)) {
            return Ok(());
        }
        Err("cost_per_day: no model has a price (price_in, price_out), so nothing has a cost"
            .into())
    }

    /// Whether no model is chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_role().iter().all(|(_, choice)| choice.is_none())
    }
}

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelRole {
    /// Makes vectors.
    Embed,
    /// Judges conditions.
    Judge,
    /// Summarises.
    Summarise,
    /// Reranks.
    Rerank,
    /// Extracts memories.
    Extract,
    /// Counts tokens.
    Count,
}

impl ModelRole {
    /// All roles.
    pub const ALL: [ModelRole; 6] = [
        ModelRole::Embed,
        ModelRole::Judge,
        ModelRole::Summarise,
        ModelRole::Rerank,
        ModelRole::Extract,
        ModelRole::Count,
    ];

    /// Finds a role by its name in the settings.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ModelRole> {
        ModelRole::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// The name in settings, metrics and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ModelRole::Embed => "embed",
            ModelRole::Judge => "judge",
            ModelRole::Summarise => "summarise",
            ModelRole::Rerank => "rerank",
            ModelRole::Extract => "extract",
            ModelRole::Count => "count",
        }
    }
}

impl fmt::Display for ModelRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A model of a provider, and how it is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelChoice {
    /// The provider's name in `[providers]`.
    pub provider: String,
    /// The model, as the provider spells it.
    pub model: String,
    /// The length of vectors. Sent to the provider only when it is set; else learnt from the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<usize>,
    /// Texts in one call; a call that is too large is halved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Text before each query.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query_prefix: String,
    /// Text before each stored text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub passage_prefix: String,
    /// The temperature; 0 when it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Milliseconds that a request waits for the model, retries included, before it goes on without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Whether a reranker's scores are logits, to be mapped to 0..1; found out when it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_scores: Option<bool>,
    /// Price of a million tokens of input, in a currency of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_in: Option<f64>,
    /// Price of a million tokens of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_out: Option<f64>,
    /// Fields that are added to each request, such as `reasoning_effort`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// A shared cache of embeddings in Redis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSettings {
    /// Its address, such as `redis://127.0.0.1:6379/0`, without a password.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub redis: String,
    /// The environment variable with an address that holds a password.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub redis_env: String,
    /// Days that a vector is kept.
    pub ttl_days: u32,
    /// Whether workspaces share vectors of equal texts. That saves calls, but by the time of an answer one
    /// tenant could learn that another has a text.
    pub across_workspaces: bool,
}

impl Default for CacheSettings {
    fn default() -> CacheSettings {
        CacheSettings {
            redis: String::new(),
            redis_env: String::new(),
            ttl_days: 30,
            across_workspaces: false,
        }
    }
}

impl ModelsConfig {
    /// Parses and checks the text of a `models.toml`.
    ///
    /// # Errors
    /// When the text is no such file, or a setting is wrong; the message names it.
    pub fn parse(text: &str) -> Result<ModelsConfig, ProviderError> {
        let config: ModelsConfig = toml::from_str(text)
            .map_err(|error| ProviderError::Settings { what: error.to_string() })?;
        config.check()?;
        Ok(config)
    }

    /// The settings as TOML. There are no keys in them.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Whether nothing is set: no network is used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Checks everything that can be checked without a call.
    ///
    /// # Errors
    /// When a setting is wrong; the message names it.
    pub fn check(&self) -> Result<(), ProviderError> {
        for (name, provider) in &self.providers {
            provider.check().map_err(|what| settings(format!("providers.{name}.{what}")))?;
        }
        for (role, choice) in self.models.by_role() {
            if let Some(choice) = choice {
                self.check_choice(role, choice)
                    .map_err(|what| settings(format!("models.{role}.{what}")))?;
            }
        }
        if !self.models.is_empty() {
            self.models.check_caps().map_err(|what| settings(format!("models.{what}")))?;
        }
        if let Some(cache) = &self.cache {
            cache.check().map_err(|what| settings(format!("cache.{what}")))?;
        }
        Ok(())
    }

    fn check_choice(&self, role: ModelRole, choice: &ModelChoice) -> Result<(), String> {
        if role == ModelRole::Rerank && choice.provider == LOCAL {
            return Ok(());
        }
        let Some(provider) = self.providers.get(&choice.provider) else {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none is set".to_owned() } else { known.join(", ") };
            return Err(format!("provider: there is no provider {:?} ({known})", choice.provider));
        };
        if choice.model.trim().is_empty() && provider.protocol != "tei" {
            return Err("model: must not be empty".to_owned());
        }
        if role == ModelRole::Embed && choice.dimensions == Some(0) || choice.batch == Some(0) {
            return Err("dimensions and batch must be at least 1".to_owned());
        }
        let protocol = protocol::find(&provider.protocol).ok_or("provider: unknown protocol")?;
        let can = match role {
            ModelRole::Embed => protocol.embed(&probe_embedding(choice)).is_some(),
            ModelRole::Rerank => protocol.rerank(&probe_rerank(choice)).is_some(),
            ModelRole::Judge | ModelRole::Summarise | ModelRole::Extract => {
                !protocol.output_modes().is_empty()
            }
            ModelRole::Count => protocol.count_tokens(&choice.model, "").is_some(),
        };
        if can {
            Ok(())
        } else {
            Err(format!("provider: the protocol {:?} cannot {role}", provider.protocol))
        }
    }
}

fn probe_embedding(choice: &ModelChoice) -> protocol::EmbedCall<'_> {
    let role = protocol::TextRole::Query;
    protocol::EmbedCall { model: &choice.model, texts: &[], role, dimensions: None }
}

fn probe_rerank(choice: &ModelChoice) -> protocol::RerankCall<'_> {
    protocol::RerankCall { model: &choice.model, query: "", texts: &[] }
}

fn settings(what: String) -> ProviderError {
    ProviderError::Settings { what }
}

impl ProviderSettings {
    fn check(&self) -> Result<(), String> {
        let Some(protocol) = protocol::find(&self.protocol) else {
            let known: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name()).collect();
            let (given, known) = (&self.protocol, known.join(", "));
            return Err(format!("protocol: {given:?} is not one of {known}"));
        };
        if self.base_url.is_empty() && protocol.base_url().is_empty() {
            return Err(format!("base_url: the protocol {:?} needs one", self.protocol));
        }
        let url = self.url(protocol);
        let has_secret = !self.api_key_env.is_empty()
            || self.headers.values().any(|value| value.starts_with(FROM_ENVIRONMENT));
        http::address_for(url, has_secret).map_err(|error| format!("base_url: {error}"))?;
        if !(0.01..=600.0).contains(&self.timeout) {
            return Err(format!("timeout: {} is not between 0.01 and 600 seconds", self.timeout));
        }
        if !(1..=256).contains(&self.concurrency) {
            return Err(format!("concurrency: {} is not between 1 and 256", self.concurrency));
        }
        if self.retries > 10 {
            return Err(format!("retries: {} is over the limit of 10", self.retries));
        }
        for (name, value) in &self.headers {
            if !value.starts_with(FROM_ENVIRONMENT) && names_a_secret(name) {
                return Err(format!(
                    "headers.{name}: looks like a secret; write \"env:NAME\" and set the variable"
                ));
            }
        }
        Ok(())
    }

    /// The base URL that counts.
    pub(crate) fn url<'a>(&'a self, protocol: &'a dyn protocol::Protocol) -> &'a str {
        if self.base_url.is_empty() { protocol.base_url() } else { &self.base_url }
    }

    /// The headers with the values of environment variables.
    pub(crate) fn resolved_headers(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<(String, String)>, String> {
        let value = |name: &String, value: &String| match value.strip_prefix(FROM_ENVIRONMENT) {
            None => Ok((name.clone(), value.clone())),
            Some(variable) => match environment(variable) {
                Some(value) => Ok((name.clone(), value)),
                None => Err(format!("headers.{name}: the variable {variable} is not set")),
            },
        };
        self.headers.iter().map(|(name, given)| value(name, given)).collect()
    }
}

fn names_a_secret(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    ["authorization", "key", "token", "secret", "cookie"].iter().any(|part| header.contains(part))
}

impl CacheSettings {
    fn check(&self) -> Result<(), String> {
        match (self.redis.is_empty(), self.redis_env.is_empty()) {
            (true, true) => return Err("redis: name an address, or a variable in redis_env".into()),
            (false, false) => return Err("redis and redis_env exclude each other".into()),
            _ => {}
        }
        if self.redis.contains('@') {
            return Err("redis: put an address with a password into a variable and name it in \
                        redis_env"
                .into());
        }
        if self.ttl_days == 0 || self.ttl_days > 3650 {
            return Err(format!("ttl_days: {} is not between 1 and 3650", self.ttl_days));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[providers.openai]
protocol = "openai"
api_key_env = "OPENAI_API_KEY"
rpm = 3000

[providers.here]
protocol = "tei"
base_url = "http://127.0.0.1:8080"

[models.embed]
provider = "openai"
model = "text-embedding-3-small"

[models.rerank]
provider = "here"
deadline_ms = 300

[cache]
redis = "redis://127.0.0.1:6379"
"#;

    #[test]
    fn settings_are_read_written_and_read_again_m4() {
        let config = ModelsConfig::parse(GOOD).unwrap();
        assert_eq!(config.models.embed.as_ref().unwrap().model, "text-embedding-3-small");
        assert_eq!(config.providers["openai"].retries, 2);
        assert_eq!(ModelsConfig::parse(&config.to_toml()).unwrap(), config);
        assert!(ModelsConfig::parse("").unwrap().is_empty());
    }

    #[test]
    fn wrong_settings_are_named() {
        let check = |from: &str, to: &str, expected: &str| {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD);
            let message = ModelsConfig::parse(&text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        check("protocol = \"tei\"", "protocol = \"tie\"", "providers.here.protocol: \"tie\"");
        check("rpm", "rmp", "unknown field `rmp`");
        check("provider = \"here\"", "provider = \"there\"", "no provider \"there\"");
        check("model = \"text-embedding-3-small\"", "", "models.embed.model: must not be empty");
        check("rpm = 3000", "base_url = \"http://a.example\"", "use https");
        check("rpm = 3000", "headers = { x-api-key = \"abc\" }", "looks like a secret");
        check("redis://", "redis://:hunter2@", "redis_env");
        check("rpm = 3000", "timeout = 0", "timeout: 0 is not between");
        let cap = "[models]\ncost_per_day = 1.5\n[models.embed]";
        check("[models.embed]", cap, "models.cost_per_day: no model has a price");
        let judge = GOOD.replace("[models.rerank]", "[models.judge]\nmodel = \"x\"");
        let message = ModelsConfig::parse(&judge).unwrap_err().to_string();
        assert!(message.contains("the protocol \"tei\" cannot judge"), "{message}");
    }
}
