//! The embedding models of a data folder: the built-in one, those on disk, and those of providers, now and by
//! earlier settings.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haversack::Error;
use haversack::engine::EmbedderCatalog;
use haversack_core::embed::{BuiltIn, Embedder, Model};
use haversack_model::{ModelError, ModelRegistry};
use haversack_provider::{MODELS_FILE, ModelRole, ModelSet, ModelsConfig, ProviderError};

/// The embedding models that the workspaces of a data folder can use, and the models of providers.
#[derive(Debug)]
pub(crate) struct DataFolderModels {
    folder: PathBuf,
    settings: ModelSettings,
    /// The models by the settings, opened when they are first needed.
    opened: Mutex<Option<Arc<ModelSet>>>,
}

/// Where the settings of models come from.
#[derive(Debug)]
enum ModelSettings {
    /// The data folder's file, which is read again each time, so that a running server sees its changes.
    DataFolder,
    /// The server's own configuration.
    Fixed(Box<ModelsConfig>),
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl DataFolderModels {
    /// The models of a data folder by its own settings, or by those that are given.
    pub(crate) fn new(folder: PathBuf, fixed: Option<ModelsConfig>) -> DataFolderModels {
        let settings =
            fixed.map_or(ModelSettings::DataFolder, |fixed| ModelSettings::Fixed(Box::new(fixed)));
        DataFolderModels { folder, settings, opened: Mutex::default() }
    }

    fn registry(&self) -> ModelRegistry {
        ModelRegistry::in_data_folder(&self.folder)
    }

    /// The models of providers, if any are configured.
    pub(crate) fn provider_models(&self) -> Result<Option<Arc<ModelSet>>, ProviderError> {
        let config = match &self.settings {
            ModelSettings::DataFolder => ModelSet::read_config(&self.folder)?,
            ModelSettings::Fixed(config) => (**config).clone(),
        };
        if config.is_empty() {
            return Ok(None);
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = opened.as_ref().filter(|models| *models.config() == config) {
            return Ok(Some(Arc::clone(models)));
        }
        let models = Arc::new(ModelSet::open(config, Some(&self.folder), &variable)?);
        Ok(Some(Arc::clone(opened.insert(models))))
    }

    /// The provider's embedder, if one is configured.
    fn of_provider(&self, workspace: &str) -> Result<Option<Arc<dyn Embedder>>, Error> {
        let Some(models) = self.provider_models()? else { return Ok(None) };
        let embedder = models.embedder()?;
        Ok(embedder.map(|embedder| models.for_workspace(embedder, workspace)))
    }
}

fn unusable(error: &ModelError) -> Error {
    Error::invalid("name", haversack_store::store::error::error_chain(error))
}

impl EmbedderCatalog for DataFolderModels {
    fn by_name(&self, name: &str, workspace: &str) -> Result<Arc<dyn Embedder>, Error> {
        let of_provider = self.of_provider(workspace)?;
        match (name == ModelRole::Embed.as_str(), of_provider) {
            (true, Some(embedder)) => Ok(embedder),
            (true, None) => {
                let message = "models.embed is not set: `haversack model set FILE` sets it";
                Err(Error::invalid("name", message))
            }
            (false, Some(embedder)) => {
                let message = format!(
                    "{MODELS_FILE} sets models.embed to {:?}, which embeds; take it out first to use {name:?}",
                    embedder.model().name
                );
                Err(Error::invalid("name", message))
            }
            (false, None) => {
                let registry = self.registry();
                if registry.is_reranker(name).map_err(|error| unusable(&error))? {
                    let message = format!("{name:?} is a reranker, not an embedding model");
                    return Err(Error::invalid("name", message));
                }
                registry.named(name).map_err(|error| unusable(&error))
            }
        }
    }

    fn by_model(&self, model: &Model, workspace: &str) -> Option<Arc<dyn Embedder>> {
        let built_in = BuiltIn::new();
        if built_in.model() == model {
            return Some(Arc::new(built_in));
        }
        let registry = self.registry();
        let wanted = model.to_string();
        let names = registry.names().unwrap_or_default();
        let is_it = |name: &&String| registry.card(name).is_ok_and(|card| card.model == wanted);
        if let Some(name) = names.iter().find(is_it) {
            return registry.named(name).ok();
        }
        let now = self.of_provider(workspace).ok().flatten();
        if let Some(embedder) = now.filter(|embedder| embedder.model() == model) {
            return Some(embedder);
        }
        let earlier = ModelSet::of_earlier_embedder(&self.folder, model, &variable)?;
        let embedder = earlier.embedder().ok().flatten()?;
        (embedder.model() == model).then(|| earlier.for_workspace(embedder, workspace))
    }

    fn choose(&self, name: &str) -> Result<(), Error> {
        // A provider's model is chosen by the settings.
        if name == ModelRole::Embed.as_str() {
            return Ok(());
        }
        self.registry().choose(name).map_err(|error| unusable(&error))
    }
}
