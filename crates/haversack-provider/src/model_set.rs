//! All configured models: opened once from the settings, then shared by everything that calls them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::embed::{Embedder, Model};
use haversack_core::rank::Reranker;
use haversack_core::units::Timestamp;
use serde_json::json;

use crate::allowance::{Allowance, DailyCap};
use crate::allowance_book::{AllowanceBook, CappedEmbedder};
use crate::chat::{ChatModel, ChatQuestion};
use crate::embedder::RemoteEmbedder;
use crate::error::ProviderError;
use crate::provider::{CallRuntime, Provider};
use crate::reranker::{RemoteReranker, RerankDeadline};
use crate::settings::{
    LOCAL, MODELS_FILE, MODELS_FILE_BYTES_MAX, ModelChoice, ModelRole, ModelsConfig,
};
use crate::shared_cache::{SharedCacheEmbedder, SharedVectorCache};
use crate::token_counter::TokenCounter;
use crate::usage::UsageTotals;

/// The file that remembers the dimensions of models, so that a start needs no call.
const LEARNT_FILE: &str = "models/dimensions.toml";

/// The models of the settings.
#[derive(Debug)]
pub struct ModelSet {
    config: ModelsConfig,
    providers: BTreeMap<String, Arc<Provider>>,
    cache: Option<Arc<SharedVectorCache>>,
    totals: Arc<UsageTotals>,
    /// Where learnt dimensions are kept.
    folder: Option<PathBuf>,
    allowances: AllowanceBook,
}

/// What a trial call of a model found.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialReport {
    /// What the model does.
    pub role: ModelRole,
    /// Its provider and name.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The URL that was called, or nothing when the settings already failed.
    pub url: Option<String>,
    /// How long the call took.
    pub latency: Duration,
    /// What was found, or what is wrong.
    pub finding: Result<String, String>,
}

impl ModelSet {
    /// Reads the settings of a data folder; without the file, none.
    ///
    /// # Errors
    /// When the file cannot be read or a setting is wrong.
    pub fn read_config(data: &Path) -> Result<ModelsConfig, ProviderError> {
        let path = data.join(MODELS_FILE);
        let wrong =
            |what: String| ProviderError::Settings { what: format!("{}: {what}", path.display()) };
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ModelsConfig::default());
            }
            Err(error) => return Err(wrong(error.to_string())),
            Ok(file) if file.len() > MODELS_FILE_BYTES_MAX => {
                let size = file.len();
                return Err(wrong(format!("{size} bytes, more than {MODELS_FILE_BYTES_MAX}")));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        ModelsConfig::parse(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Opens the providers that the settings use. Nothing is called.
    ///
    /// # Errors
    /// When a setting is wrong, or a variable with a key is not set.
    pub fn open(
        config: ModelsConfig,
        data: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ModelSet, ProviderError> {
        config.check()?;
        let runtime = Arc::new(CallRuntime::start()?);
        let mut providers = BTreeMap::new();
        for (name, settings) in &config.providers {
            let is_used = config
                .models
                .by_role()
                .iter()
                .any(|(_, choice)| choice.is_some_and(|choice| choice.provider == *name));
            if is_used {
                let provider = Provider::new(name, settings, Arc::clone(&runtime), environment)?;
                providers.insert(name.clone(), Arc::new(provider));
            }
        }
        let cache = config.cache.as_ref();
        let cache = cache.map(|cache| SharedVectorCache::new(cache, environment)).transpose()?;
        Ok(ModelSet {
            config,
            providers,
            cache: cache.map(Arc::new),
            totals: Arc::default(),
            folder: data.map(Path::to_owned),
            allowances: AllowanceBook::new(data.map(Path::to_owned), None),
        })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ModelsConfig {
        &self.config
    }

    /// What was used of all models.
    #[must_use]
    pub fn usage(&self) -> &Arc<UsageTotals> {
        &self.totals
    }

    /// Reads the time from another clock, which decides when a day ends. For tests.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> ModelSet {
        self.allowances = AllowanceBook::new(self.folder.clone(), Some(Arc::new(clock)));
        self
    }

    /// The allowance of an owner such as `key 1f3a`; `None` without a cap. What it used today is kept in the data
    /// folder.
    #[must_use]
    pub fn allowance(&self, owner: &str, cap: DailyCap) -> Option<Arc<Allowance>> {
        (!cap.is_none()).then(|| self.allowances.allowance(owner, cap))
    }

    /// The allowance of a workspace, if the settings cap workspaces.
    #[must_use]
    pub fn workspace_allowance(&self, workspace: &str) -> Option<Arc<Allowance>> {
        self.allowance(&format!("workspace {workspace}"), self.config.models.cap())
    }

    /// The embedder with its calls counted against a workspace's allowance, if workspaces have one.
    #[must_use]
    pub fn capped(&self, embedder: Arc<dyn Embedder>, workspace: &str) -> Arc<dyn Embedder> {
        match self.workspace_allowance(workspace) {
            Some(allowance) if embedder.is_remote() => {
                Arc::new(CappedEmbedder { inner: embedder, allowance })
            }
            _ => embedder,
        }
    }

    fn provider(&self, choice: &ModelChoice) -> Result<&Arc<Provider>, ProviderError> {
        self.providers.get(&choice.provider).ok_or_else(|| ProviderError::Settings {
            what: format!("there is no provider {:?}", choice.provider),
        })
    }

    /// The embedder, if one is configured. Its dimensions are those of the settings, those learnt before, or
    /// learnt now by a call.
    ///
    /// # Errors
    /// When the dimensions must be learnt and the provider cannot be called.
    pub fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, ProviderError> {
        let Some(choice) = &self.config.models.embed else { return Ok(None) };
        let provider = self.provider(choice)?;
        let known = choice.dimensions.or_else(|| self.learnt(choice));
        let dimensions = match known {
            Some(dimensions) => dimensions,
            None => {
                let (dimensions, _) = RemoteEmbedder::learn_dimensions(provider, choice)?;
                self.learn(choice, dimensions);
                dimensions
            }
        };
        let totals = Arc::clone(&self.totals);
        let embedder =
            RemoteEmbedder::new(Arc::clone(provider), choice.clone(), dimensions, totals);
        self.keep_embedder_settings(choice, embedder.model());
        Ok(Some(Arc::new(embedder)))
    }

    /// Opens the models by the settings under which a model made vectors earlier, if the data folder still has
    /// them: those vectors can be searched after the settings name another model.
    #[must_use]
    pub fn of_earlier_embedder(
        data: &Path,
        model: &Model,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Option<ModelSet> {
        let text = fs::read_to_string(data.join(earlier_settings_file(model))).ok()?;
        let config = ModelsConfig::parse(&text).ok()?;
        ModelSet::open(config, Some(data), environment).ok()
    }

    /// Keeps the settings of the embedder in the data folder. Failing to is no error: it matters only after the
    /// settings change.
    fn keep_embedder_settings(&self, choice: &ModelChoice, model: &Model) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(earlier_settings_file(model));
        if path.exists() {
            return;
        }
        let mut config = ModelsConfig::default();
        let settings = self.config.providers.get(&choice.provider);
        config.providers.extend(settings.map(|kept| (choice.provider.clone(), kept.clone())));
        let dimensions = Some(model.dimensions);
        config.models.embed = Some(ModelChoice { dimensions, ..choice.clone() });
        config.cache.clone_from(&self.config.cache);
        if let Err(error) = write_with_folder(&path, &config.to_toml()) {
            tracing::warn!(path = %path.display(), error, "settings of the embedder cannot be kept");
        }
    }

    /// The embedder as one workspace uses it: through the shared cache, if there is one.
    #[must_use]
    pub fn for_workspace(&self, embedder: Arc<dyn Embedder>, workspace: &str) -> Arc<dyn Embedder> {
        match &self.cache {
            Some(cache) if embedder.is_remote() => {
                let (cache, totals) = (Arc::clone(cache), Arc::clone(&self.totals));
                Arc::new(SharedCacheEmbedder::new(embedder, cache, workspace, totals))
            }
            _ => embedder,
        }
    }

    /// The reranker, if one is configured.
    ///
    /// # Errors
    /// When its provider is not configured.
    pub fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>, ProviderError> {
        let choice = self.config.models.rerank.as_ref();
        let Some(choice) = choice.filter(|choice| choice.provider != LOCAL) else {
            return Ok(None);
        };
        let (provider, totals) = (Arc::clone(self.provider(choice)?), Arc::clone(&self.totals));
        Ok(Some(Arc::new(RemoteReranker::new(provider, choice.clone(), totals))))
    }

    /// Gives the reranker on disk the deadline of the settings, if they have one for it.
    #[must_use]
    pub fn with_deadline(&self, local: Arc<dyn Reranker>) -> Arc<dyn Reranker> {
        let choice = self.config.models.rerank.as_ref();
        match choice.filter(|choice| choice.provider == LOCAL).and_then(|c| c.deadline_ms) {
            Some(millis) => Arc::new(RerankDeadline::new(local, Duration::from_millis(millis))),
            None => local,
        }
    }

    /// The chat model of a role, if one is configured.
    ///
    /// # Errors
    /// When its provider is not configured.
    pub fn chat(&self, role: ModelRole) -> Result<Option<Arc<ChatModel>>, ProviderError> {
        let choices = self.config.models.by_role();
        let choice = choices.into_iter().find_map(|(of, choice)| choice.filter(|_| of == role));
        let Some(choice) = choice else { return Ok(None) };
        let (provider, totals) = (Arc::clone(self.provider(choice)?), Arc::clone(&self.totals));
        Ok(Some(Arc::new(ChatModel::new(provider, choice.clone(), role, totals))))
    }

    /// The counter of tokens, if one is configured.
    ///
    /// # Errors
    /// When its provider is not configured.
    pub fn counter(&self) -> Result<Option<Arc<TokenCounter>>, ProviderError> {
        let Some(choice) = &self.config.models.count else { return Ok(None) };
        let (provider, totals) = (Arc::clone(self.provider(choice)?), Arc::clone(&self.totals));
        Ok(Some(Arc::new(TokenCounter::new(provider, choice.clone(), totals))))
    }

    /// Calls each configured model once, and says what was found.
    #[must_use]
    pub fn try_models(&self, only: Option<ModelRole>) -> Vec<TrialReport> {
        let choices = self.config.models.by_role();
        let wanted = choices.into_iter().filter(|(role, _)| only.is_none_or(|only| only == *role));
        let remote = wanted.filter_map(|(role, choice)| Some((role, choice?)));
        let remote = remote.filter(|(_, choice)| choice.provider != LOCAL);
        remote.map(|(role, choice)| self.try_model(role, choice)).collect()
    }

    fn try_model(&self, role: ModelRole, choice: &ModelChoice) -> TrialReport {
        let start = Instant::now();
        let tried = match role {
            ModelRole::Embed => self.try_embedder(choice),
            ModelRole::Rerank => self.try_reranker(choice),
            ModelRole::Judge | ModelRole::Summarise | ModelRole::Extract => self.try_chat(role),
            ModelRole::Count => self.try_counter(choice),
        };
        let latency = start.elapsed();
        let (url, finding) = match tried {
            Ok((url, finding)) => (Some(url), Ok(finding)),
            Err(error) => (None, Err(error.chain())),
        };
        let (provider, model) = (choice.provider.clone(), choice.model.clone());
        TrialReport { role, provider, model, url, latency, finding }
    }

    fn try_embedder(&self, choice: &ModelChoice) -> Result<(String, String), ProviderError> {
        let (dimensions, url) = RemoteEmbedder::learn_dimensions(self.provider(choice)?, choice)?;
        if let Some(learnt) = self.learnt(choice).filter(|learnt| *learnt != dimensions) {
            let what = format!(
                "the vectors now have {dimensions} dimensions, {learnt} before: embed the texts again with \
                 `haversack model use {}`",
                ModelRole::Embed
            );
            return Err(ProviderError::Settings { what });
        }
        self.learn(choice, dimensions);
        Ok((url, format!("{dimensions} dimensions")))
    }

    fn try_reranker(&self, choice: &ModelChoice) -> Result<(String, String), ProviderError> {
        let (provider, totals) = (Arc::clone(self.provider(choice)?), Arc::clone(&self.totals));
        // One call may be slow; a trial is not in a hurry.
        let patient = ModelChoice {
            deadline_ms: Some(u64::try_from(provider.timeout().as_millis()).unwrap_or(u64::MAX)),
            ..choice.clone()
        };
        let reranker = RemoteReranker::new(provider, patient, totals);
        let texts = ["Paris is the capital of France.", "The kettle is on the stove."];
        let (scores, url) = reranker.raw_scores("What is the capital of France?", &texts)?;
        let shown: Vec<String> = scores.iter().map(|score| format!("{score:.3}")).collect();
        let verdict = if scores[0] > scores[1] { "in order" } else { "in the WRONG order" };
        Ok((url, format!("two texts scored {}, {verdict}", shown.join(" and "))))
    }

    fn try_counter(&self, choice: &ModelChoice) -> Result<(String, String), ProviderError> {
        let text = "The quick brown fox jumps over the lazy dog.";
        let Some(counter) = self.counter()? else {
            return Err(ProviderError::Settings { what: "models.count is not set".to_owned() });
        };
        let count = counter.count(text)?;
        let url = self.provider(choice)?.base().to_owned();
        Ok((url, format!("{count} tokens in a sentence of {} bytes", text.len())))
    }

    fn try_chat(&self, role: ModelRole) -> Result<(String, String), ProviderError> {
        let Some(model) = self.chat(role)? else {
            return Err(ProviderError::Settings { what: format!("models.{role} is not set") });
        };
        let question = ChatQuestion {
            system: "You answer in JSON.".to_owned(),
            user: "Is the sky blue on a clear day?".to_owned(),
            schema: json!({
                "type": "object",
                "properties": { "answer": { "type": "string", "enum": ["yes", "no"] } },
                "required": ["answer"],
                "additionalProperties": false,
            }),
            tokens_max: Some(200),
            accepts_cut: false,
        };
        let within = Duration::from_secs(120);
        let (value, url) = model.ask_blocking(question, within)?;
        let mode = match model.output_mode() {
            Some(crate::OutputMode::Schema | crate::OutputMode::Format) => "JSON by schema",
            Some(crate::OutputMode::Json) => "JSON, schema in the prompt",
            _ => "JSON by prompt alone",
        };
        let answer = match value.get("answer").and_then(|answer| answer.as_str()) {
            Some("yes") => "the trial question was answered well",
            Some("no") => "the trial question was answered WRONGLY",
            _ => "the answer did NOT follow the schema",
        };
        Ok((url, format!("{mode}; {answer}")))
    }

    /// The dimensions that were learnt before.
    fn learnt(&self, choice: &ModelChoice) -> Option<usize> {
        let text = fs::read_to_string(self.folder.as_ref()?.join(LEARNT_FILE)).ok()?;
        let table: BTreeMap<String, usize> = toml::from_str(&text).ok()?;
        table.get(&self.learnt_key(choice)).copied()
    }

    /// Remembers dimensions. Failing to is no error: they are learnt again.
    fn learn(&self, choice: &ModelChoice, dimensions: usize) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(LEARNT_FILE);
        let known = fs::read_to_string(&path).ok();
        let mut table: BTreeMap<String, usize> =
            known.and_then(|text| toml::from_str(&text).ok()).unwrap_or_default();
        table.insert(self.learnt_key(choice), dimensions);
        let text = toml::to_string(&table).map_err(|error| error.to_string());
        let written = text.and_then(|text| write_with_folder(&path, &text));
        if let Err(error) = written {
            tracing::warn!(path = %path.display(), error, "learnt dimensions cannot be written");
        }
    }

    fn learnt_key(&self, choice: &ModelChoice) -> String {
        let base = self.provider(choice).map_or("", |provider| provider.base());
        format!("{}|{}|{}", base, choice.model, choice.dimensions.unwrap_or(0))
    }
}

/// The file that keeps the settings under which a model makes vectors.
fn earlier_settings_file(model: &Model) -> String {
    let hash = blake3::hash(model.to_string().as_bytes()).to_hex();
    format!("models/embedders/{}.toml", &hash[..16])
}

/// Writes a file, and creates its folder if it is missing.
fn write_with_folder(path: &Path, text: &str) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    fs::write(path, text).map_err(|error| error.to_string())
}
