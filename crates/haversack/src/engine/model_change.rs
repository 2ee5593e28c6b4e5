//! Changing the embedding model of a workspace while it answers (B4, M4), and the models that a change can go
//! to or from.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haversack_core::embed::{Embedder, Model};
use haversack_provider::{AllowanceScope, current_allowances};
use haversack_store::store::block_on;
use haversack_store::store::error::{CommitError, error_chain};
use haversack_store::store::maintenance::{Maintenance, MaintenanceProgress};

use super::{Engine, Workspace};
use crate::embed::CachingEmbedder;
use crate::error::Error;

/// The embedding models that an application can open beside the one in use.
pub trait EmbedderCatalog: fmt::Debug + Send + Sync {
    /// Opens the embedder of a name that people use, such as `built-in`, for one workspace.
    ///
    /// # Errors
    /// When there is no such model or it cannot be opened.
    fn by_name(&self, name: &str, workspace: &str) -> Result<Arc<dyn Embedder>, Error>;

    /// Opens the embedder that made stored vectors, if it is still known.
    fn by_model(&self, model: &Model, workspace: &str) -> Option<Arc<dyn Embedder>>;

    /// Keeps a name as the choice for new workspaces and later starts.
    ///
    /// # Errors
    /// When the choice cannot be kept.
    fn choose(&self, name: &str) -> Result<(), Error>;
}

/// The embedding model of a workspace, and a change that is running or has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// The model whose vectors are searched.
    pub model: Model,
    /// The change to another model, if one is running or the last one failed.
    pub change: Option<ModelChangeStatus>,
}

/// A change to another embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChangeStatus {
    /// The model that the workspace changes to.
    pub to: Model,
    /// Versions of items that have vectors of the new model.
    pub progress: MaintenanceProgress,
    /// Why it failed. The old model stays in use, and a new try continues where this one stopped.
    pub failure: Option<String>,
}

/// The change of one workspace, shared with the thread that makes it.
pub(super) type SharedModelChange = Arc<Mutex<Option<ModelChangeStatus>>>;

impl Engine {
    /// The model that new workspaces are created with.
    #[must_use]
    pub fn model(&self) -> Model {
        self.shared.embedder().model().clone()
    }

    /// Creates new workspaces with another model from now on, and keeps the choice. Existing workspaces stay
    /// as they are; [`Workspace::start_model_change`] changes them one by one.
    ///
    /// # Errors
    /// When there is no such model, it cannot be opened, or the choice cannot be kept.
    pub fn use_model(&self, name: &str) -> Result<Model, Error> {
        let catalog = self.shared.catalog()?;
        let embedder = catalog.by_name(name, "")?;
        let model = embedder.model().clone();
        catalog.choose(name)?;
        self.shared.set_embedder(Arc::new(CachingEmbedder::new(embedder)));
        Ok(model)
    }
}

impl Workspace {
    /// The embedding model of this workspace, and a change of it.
    #[must_use]
    pub fn model_status(&self) -> ModelStatus {
        let change = self.0.model_change.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ModelStatus { model: self.0.store.embedder().model().clone(), change }
    }

    /// Starts to change this workspace to another embedding model, on a thread of its own. Searches and writes
    /// go on with the model in use until all texts have new vectors; then the workspace switches in one step.
    /// Changes of several workspaces run one after another. The caller's allowances of models count for it.
    ///
    /// # Errors
    /// When there is no such model, it cannot be opened, or a change is running already. Call it on a thread
    /// that may block.
    pub fn start_model_change(&self, name: &str) -> Result<ModelStatus, Error> {
        let embedder = self.0.shared.catalog()?.by_name(name, self.name())?;
        let embedder = Arc::new(CachingEmbedder::new(embedder));
        let embedder = self.0.shared.capped(embedder, self.name());
        let to = embedder.model().clone();
        let mut running = self.0.model_change.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(change) = running.as_ref().filter(|change| change.failure.is_none()) {
            return Err(CommitError::ModelChanging { to: change.to.clone() }.into());
        }
        *running = None;
        let stats = block_on(self.0.blocking_store.stats())?;
        if stats.model == to && !stats.stale {
            drop(running);
            return Ok(self.model_status());
        }
        let progress = MaintenanceProgress::default();
        *running = Some(ModelChangeStatus { to, progress, failure: None });
        drop(running);
        let (workspace, allowances) = (self.clone(), current_allowances());
        let change = move || {
            let _scope = AllowanceScope::enter(&allowances);
            workspace.change_model(embedder);
        };
        let thread = std::thread::Builder::new().name("haversack-model-change".to_owned());
        let spawned = thread.spawn(change);
        if let Err(error) = spawned {
            *self.0.model_change.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let cause = format!("no thread can be started to change the model: {error}");
            return Err(CommitError::Storage { cause: cause.into() }.into());
        }
        Ok(self.model_status())
    }

    fn change_model(&self, embedder: Arc<dyn Embedder>) {
        // One after another, so that a provider is not asked by all workspaces at once.
        let _turn = self.0.shared.model_changes.lock().unwrap_or_else(PoisonError::into_inner);
        let change = &self.0.model_change;
        let update = |edit: &dyn Fn(&mut ModelChangeStatus)| {
            if let Some(change) = &mut *change.lock().unwrap_or_else(PoisonError::into_inner) {
                edit(change);
            }
        };
        let (workspace, model) = (self.name(), embedder.model().to_string());
        tracing::info!(target: "haversack", workspace, model, "changing the embedding model");
        let mut report = |progress| update(&|change| change.progress = progress);
        let store: &dyn Maintenance = &*self.0.blocking_store;
        match block_on(store.change_model(embedder, &mut report)) {
            Ok(_) => {
                *change.lock().unwrap_or_else(PoisonError::into_inner) = None;
                tracing::info!(target: "haversack", workspace, model, "the embedding model was changed");
            }
            Err(error) => {
                let cause = error_chain(&error);
                update(&|change| change.failure = Some(cause.clone()));
                tracing::error!(target: "haversack", workspace, model, cause, "the embedding model stays");
            }
        }
    }
}
