//! The engine: one data folder, its workspaces, and what they share: the embedder, the judge, and
//! everything else that an application registers. Nothing here is global.

mod allowances;
mod answers;
pub(crate) mod blocking;
mod caches;
mod details;
mod erase;
mod many;
mod model_change;
mod open;
mod outbox;
mod past;
pub(crate) mod ready;
mod rules;
mod workspace;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use haversack_core::assemble::{Template, TemplateText, Templates};
use haversack_core::embed::Embedder;
use haversack_core::rank::{Ranker, Reranker};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Timestamp;
use haversack_provider::{ModelSet, UsageByRole};
use haversack_store::DataFolder;
use haversack_store::kinds::Kinds;
use haversack_store::store::change::{Batch, WriteKey};
use haversack_store::store::error::OpenError;
use haversack_store::store::health::HealthProblem;
use haversack_store::store::journal::{Journal, ReplicaSettings};
use haversack_store::store::maintenance::{Maintenance, MaintenanceProgress, OnUpgrade, Stores};

use tokio::sync::Semaphore;

use self::caches::EngineCaches;
use self::open::OpenWorkspaces;
use crate::clock::SteadyClock;
use crate::collect::{self, Collector};
use crate::embed::CachingEmbedder;
use crate::error::Error;
use crate::models::{ConfiguredModels, EngineModels, SummaryWorker};
use crate::pipeline::FeatureCache;
use crate::recipe::BUILT_IN;
use crate::situation::{Judge, LocalJudge};

pub use answers::CacheCounts;
pub(crate) use blocking::{checkpoint, current_cancel_flag};
pub use erase::WorkspaceErasure;
pub use model_change::{EmbedderCatalog, ModelChangeStatus, ModelStatus};
pub use past::Replay;
pub(crate) use ready::CompiledRecipe;
pub use rules::{KeptTemplate, WireTemplate};
pub(crate) use workspace::WeakWorkspace;
pub use workspace::{Answer, Workspace};

/// Workspaces that record packs at the same time, each on a thread.
const RECORDING_MAX: usize = 16;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// An open data folder. Cheap to clone. The folder is unlocked when all clones and all workspace
/// handles are dropped.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Not in `shared`, because workspaces hold that and would keep one another open for ever.
    open: Arc<OpenWorkspaces>,
}

/// The parts that all workspaces of an engine share.
pub(crate) struct Shared {
    stores: Arc<dyn Stores>,
    /// The embedder of new workspaces.
    embedder: RwLock<Arc<CachingEmbedder>>,
    /// Further embedders, if the application has a catalog of them.
    catalog: Option<Arc<dyn EmbedderCatalog>>,
    /// Held while a workspace changes its model.
    model_changes: Mutex<()>,
    pub(crate) judge: Arc<dyn Judge>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    /// The models of providers, if any are configured.
    pub(crate) models: Option<EngineModels>,
    /// The application's own collectors.
    pub(crate) collectors: BTreeMap<String, Arc<dyn Collector>>,
    /// The built-in collectors: one instance of each, because some cache what they compiled.
    pub(crate) built_in: BTreeMap<&'static str, Arc<dyn Collector>>,
    pub(crate) rankers: BTreeMap<String, Ranker>,
    pub(crate) templates: Templates,
    pub(crate) tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
    pub(crate) recipes: BTreeMap<String, String>,
    pub(crate) clock: Clock,
    /// Cached text features of retrieved items.
    pub(crate) features: FeatureCache,
    caches: Arc<EngineCaches>,
    /// Held while packs are recorded later on: of many workspaces, only some write at a time.
    recording: Arc<Semaphore>,
    /// The program that reads foreign file formats.
    reader_program: Option<PathBuf>,
}

impl Shared {
    fn embedder(&self) -> Arc<CachingEmbedder> {
        Arc::clone(&self.embedder.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_embedder(&self, embedder: Arc<CachingEmbedder>) {
        *self.embedder.write().unwrap_or_else(PoisonError::into_inner) = embedder;
    }

    fn catalog(&self) -> Result<&Arc<dyn EmbedderCatalog>, Error> {
        self.catalog.as_ref().ok_or_else(|| {
            Error::invalid("name", "this application has no catalog of embedding models")
        })
    }

    /// The embedder that a workspace is opened with: the one that made its vectors, if it is known, else the
    /// one in use.
    fn embedder_for(&self, workspace: &str) -> Result<Arc<dyn Embedder>, OpenError> {
        let embedder = self.embedder();
        if let Some(catalog) = &self.catalog
            && let Some(stored) = self.stores.stored_model(workspace)?
            && stored != *embedder.model()
            && let Some(earlier) =
                self.caches.embedder(&stored, || catalog.by_model(&stored, workspace))
        {
            return Ok(self.capped(earlier, workspace));
        }
        Ok(match &self.models {
            Some(models) => self.capped(models.embedder_for(&embedder, workspace), workspace),
            None => embedder as Arc<dyn Embedder>,
        })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let embedder = self.shared.embedder();
        let model = embedder.model();
        f.debug_struct("Engine").field("embedder", model).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens a data folder with the built-in embedder, recipes and collectors. Creates the folder when it
    /// is missing.
    ///
    /// # Errors
    /// When another process has locked the folder or it cannot be opened.
    pub fn open(folder: impl AsRef<Path>) -> Result<Engine, Error> {
        Engine::builder().open(folder)
    }

    /// Returns a builder, with which an application sets its own embedder, judge, collectors and so on.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a workspace, or creates it when it is missing. Workspaces are isolated from one another
    /// (X3). When many are open, those that nobody uses are closed; opening one again shows what was
    /// there.
    ///
    /// # Errors
    /// When the name is not valid or the workspace cannot be opened.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        self.get_or_open(name, |stores| stores.open(name, self.shared.embedder_for(name)?))
    }

    /// Opens a workspace that exists.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be opened.
    pub fn existing_workspace(&self, name: &str) -> Result<Workspace, Error> {
        self.get_or_open(name, |stores| stores.open_existing(name, self.shared.embedder_for(name)?))
    }

    fn get_or_open(
        &self,
        name: &str,
        open: impl Fn(&dyn Stores) -> Result<Arc<dyn Maintenance>, OpenError>,
    ) -> Result<Workspace, Error> {
        self.open.get_or_open(name, |failed_change| {
            let store = open(&*self.shared.stores)?;
            Ok(Workspace::new(name, Arc::clone(&self.shared), store, failed_change))
        })
    }

    /// Creates a workspace that does not exist. With a key both are there or neither, even if the process is
    /// killed meanwhile; [`Store::find_write`](haversack_store::store::Store::find_write) finds the key.
    ///
    /// # Errors
    /// When there is a workspace of that name, the name is not valid, or the workspace cannot be written.
    pub fn create_workspace(&self, name: &str, key: Option<WriteKey>) -> Result<Workspace, Error> {
        self.open.create(name, |failed_change| {
            let first = Batch::new(self.now(), Vec::new()).with_key(key);
            let store = self.shared.stores.create(name, self.shared.embedder_for(name)?, first)?;
            Ok(Workspace::new(name, Arc::clone(&self.shared), store, failed_change))
        })
    }

    /// Closes the workspaces that nobody has used for a while. What waits to be written is written first.
    /// Returns how many were closed.
    #[must_use]
    pub fn close_unused_for(&self, time: Duration) -> usize {
        self.open.close_unused_for(time)
    }

    /// Returns a workspace if it is open. Reads no file and never blocks.
    #[must_use]
    pub fn get_if_open(&self, name: &str) -> Option<Workspace> {
        self.open.get(name)
    }

    /// The number of workspaces that are open.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.count()
    }

    /// What keeps open workspaces from writing or from searching everything, by workspace. Waits for no
    /// workspace that is being opened or removed.
    #[must_use]
    pub fn health(&self) -> Vec<(String, HealthProblem)> {
        let mut problems = Vec::new();
        for (name, workspace) in self.open.open_now() {
            let found = workspace.blocking_store().health();
            problems.extend(found.into_iter().map(|problem| (name.clone(), problem)));
        }
        problems
    }

    /// Waits until the receipts and usage events of all open workspaces are written. Calls
    /// [`Workspace::flush`] on each.
    pub async fn flush(&self) {
        for workspace in self.open.all() {
            workspace.flush().await;
        }
    }

    /// The `haversack` program, which reads foreign file formats in processes of its own, if it is known.
    #[must_use]
    pub fn reader_program(&self) -> Option<&Path> {
        self.shared.reader_program.as_deref()
    }

    /// The current time, by the engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// Whether requests may wait for models elsewhere.
    #[must_use]
    pub fn calls_models(&self) -> bool {
        let Shared { judge, reranker, models, .. } = &*self.shared;
        let counts = models.as_ref().is_some_and(|models| models.counter.is_some());
        let reranks = reranker.as_ref().is_some_and(|reranker| reranker.is_remote());
        self.shared.embedder().is_remote() || judge.is_remote() || reranks || counts
    }

    /// What was used of models from providers since the engine was opened.
    #[must_use]
    pub fn model_usage(&self) -> UsageByRole {
        self.shared.models.as_ref().map(EngineModels::usage).unwrap_or_default()
    }

    /// Waits until the summaries that packs have asked for are made or have failed, at most for a while.
    /// Returns whether all are. A program that ends after a pack waits, or they are lost.
    #[must_use]
    pub fn wait_for_summaries(&self, at_most: Duration) -> bool {
        let worker = self.shared.models.as_ref().and_then(|models| models.summaries.as_ref());
        worker.is_none_or(|worker| worker.wait(at_most))
    }

    /// How many summaries wait to be made or are being made.
    #[must_use]
    pub fn summaries_waiting(&self) -> usize {
        let worker = self.shared.models.as_ref().and_then(|models| models.summaries.as_ref());
        worker.map_or(0, SummaryWorker::waiting)
    }

    /// Returns the tokenizer of a model, or the one with a name; `o200k_base` when neither is given (M10).
    ///
    /// # Errors
    /// When there is no such model or tokenizer.
    pub fn tokenizer_for(
        &self,
        model: Option<&str>,
        tokenizer: Option<&str>,
    ) -> Result<Arc<dyn Tokenizer>, Error> {
        crate::pipeline::find_tokenizer(model, tokenizer, &self.shared.tokenizers)
    }

    /// Removes a workspace with all its data. Existing handles can still read it until they are
    /// dropped.
    ///
    /// # Errors
    /// When there is no workspace of that name, or its folder cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.open.remove(name, || self.shared.stores.remove(name))
    }

    /// The journal that the workspaces follow, if there is one.
    #[must_use]
    pub fn journal(&self) -> Option<Arc<dyn Journal>> {
        self.shared.stores.journal()
    }

    /// Lists the names of the workspaces.
    ///
    /// # Errors
    /// When the data folder cannot be read.
    pub fn workspaces(&self) -> Result<Vec<String>, Error> {
        Ok(self.shared.stores.names()?)
    }
}

/// Configures an engine. Everything has a default.
#[derive(Default)]
pub struct Builder {
    embedder: Option<Arc<dyn Embedder>>,
    catalog: Option<Arc<dyn EmbedderCatalog>>,
    reader_program: Option<PathBuf>,
    dimensions: Option<usize>,
    judge: Option<Arc<dyn Judge>>,
    reranker: Option<Arc<dyn Reranker>>,
    models: Option<Arc<ModelSet>>,
    collectors: BTreeMap<String, Arc<dyn Collector>>,
    rankers: BTreeMap<String, Ranker>,
    templates: Templates,
    tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
    recipes: BTreeMap<String, String>,
    kinds: Option<Arc<Kinds>>,
    clock: Option<Clock>,
    on_upgrade: Option<OnUpgrade>,
    open_max: Option<usize>,
    journal: Option<ReplicaSettings>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<String>>();
        f.debug_struct("Builder")
            .field("collectors", &names(self.collectors.keys().collect()))
            .field("recipes", &names(self.recipes.keys().collect()))
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the embedder. A workspace records the model of its vectors and refuses any other until it is
    /// re-embedded (M4).
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Builder {
        self.embedder = Some(embedder);
        self
    }

    /// Sets the models that workspaces can change to while they answer. A workspace whose vectors were made by
    /// one of them is opened with it, whatever the embedder for new workspaces is.
    #[must_use]
    pub fn embedder_catalog(mut self, catalog: Arc<dyn EmbedderCatalog>) -> Builder {
        self.catalog = Some(catalog);
        self
    }

    /// Sets the `haversack` program, which reads foreign file formats in processes of its own. Without it
    /// such files cannot be added.
    #[must_use]
    pub fn reader_program(mut self, program: PathBuf) -> Builder {
        self.reader_program = Some(program);
        self
    }

    /// Sets the dimensions that the application expects of vectors. Opening fails when the embedder's
    /// differ (M4).
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Builder {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets the judge of plain-language conditions (S3).
    #[must_use]
    pub fn judge(mut self, judge: Arc<dyn Judge>) -> Builder {
        self.judge = Some(judge);
        self
    }

    /// Sets the reranker, which scores the best candidates together with the query (M4). Recipes use it
    /// when their scores have `rerank`; without a reranker that component is left out.
    #[must_use]
    pub fn reranker(mut self, reranker: Arc<dyn Reranker>) -> Builder {
        self.reranker = Some(reranker);
        self
    }

    /// Uses the models of providers: an embedder, a judge, a reranker and others, as far as they are
    /// configured. What the application brings itself wins.
    #[must_use]
    pub fn models(mut self, models: Arc<ModelSet>) -> Builder {
        self.models = Some(models);
        self
    }

    /// Registers a collector that recipes can name.
    #[must_use]
    pub fn collector(mut self, name: &str, collector: impl Collector + 'static) -> Builder {
        self.collectors.insert(name.to_owned(), Arc::new(collector));
        self
    }

    /// Registers a ranker that recipes and requests can name (M6).
    #[must_use]
    pub fn ranker(mut self, name: &str, ranker: Ranker) -> Builder {
        self.rankers.insert(name.to_owned(), ranker);
        self
    }

    /// Registers a template that recipes and requests can name (M8).
    ///
    /// # Errors
    /// When the template does not parse or its name is not valid.
    pub fn template(mut self, name: &str, text: TemplateText<'_>) -> Result<Builder, Error> {
        self.templates.register(name, Template::new(text)?)?;
        Ok(self)
    }

    /// Registers a tokenizer that requests can name, such as one of a `tokenizer.json` (M10). It replaces
    /// a built-in tokenizer of the same name.
    #[must_use]
    pub fn tokenizer(mut self, name: &str, tokenizer: Arc<dyn Tokenizer>) -> Builder {
        self.tokenizers.insert(name.to_owned(), tokenizer);
        self
    }

    /// Registers a recipe, as TOML. It is validated at its first use, or by [`crate::recipe`].
    #[must_use]
    pub fn recipe(mut self, name: &str, source: &str) -> Builder {
        self.recipes.insert(name.to_owned(), source.to_owned());
        self
    }

    /// Sets the clock, for tests and replays.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Builder {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets a callback for the progress of upgrades. It gets the name of each workspace of an older format
    /// while that is upgraded at opening.
    #[must_use]
    pub fn on_upgrade(
        mut self,
        report: impl Fn(&str, MaintenanceProgress) + Send + Sync + 'static,
    ) -> Builder {
        self.on_upgrade = Some(OnUpgrade::new(report));
        self
    }

    /// Sets how many workspaces stay open without being used, 256 by default. Half of the file
    /// descriptors that the process may have limit it, too.
    #[must_use]
    pub fn open_workspaces(mut self, open_max: usize) -> Builder {
        self.open_max = Some(open_max);
        self
    }

    /// Makes the workspaces replicas of a journal that other nodes share (X4).
    #[must_use]
    pub fn journal(mut self, settings: ReplicaSettings) -> Builder {
        self.journal = Some(settings);
        self
    }

    /// Sets the kinds, in place of those that the data folder defines in `kinds.toml`.
    #[must_use]
    pub fn kinds(mut self, kinds: Arc<Kinds>) -> Builder {
        self.kinds = Some(kinds);
        self
    }

    /// Opens a data folder with this configuration.
    ///
    /// # Errors
    /// When another process has locked the folder, it cannot be opened, or the embedder's vectors do
    /// not have the expected dimensions.
    pub fn open(mut self, folder: impl AsRef<Path>) -> Result<Engine, Error> {
        let mut data = DataFolder::open(folder.as_ref())?;
        if let Some(kinds) = &self.kinds {
            data = data.with_kinds(Arc::clone(kinds));
        }
        if let Some(report) = self.on_upgrade.clone() {
            data = data.on_upgrade(report);
        }
        if let Some(settings) = self.journal.take() {
            data = data.with_journal(settings);
        }
        self.open_on(Arc::new(data))
    }

    /// Opens an engine on the application's own stores, which have their own kinds and upgrades.
    ///
    /// # Errors
    /// When the embedder's vectors do not have the dimensions that are expected.
    pub fn open_on(mut self, stores: Arc<dyn Stores>) -> Result<Engine, Error> {
        let models = self.open_models()?;
        self.check_dimensions()?;
        let embedder = self.embedder.unwrap_or_else(crate::default_embedder);
        let mut recipes: BTreeMap<String, String> = BUILT_IN
            .iter()
            .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()))
            .collect();
        recipes.extend(self.recipes);
        let shared = Shared {
            stores,
            judge: self.judge.unwrap_or_else(|| Arc::new(LocalJudge::new())),
            embedder: RwLock::new(Arc::new(CachingEmbedder::new(embedder))),
            catalog: self.catalog,
            reader_program: self.reader_program,
            model_changes: Mutex::default(),
            reranker: self.reranker,
            models,
            collectors: self.collectors,
            built_in: collect::BUILT_IN
                .iter()
                .map(|collector| (collector.name, (collector.create)()))
                .collect(),
            rankers: self.rankers,
            templates: self.templates,
            tokenizers: self.tokenizers,
            recipes,
            clock: self.clock.unwrap_or_else(|| {
                let clock = SteadyClock::default();
                Arc::new(move || clock.now())
            }),
            features: FeatureCache::default(),
            caches: Arc::default(),
            recording: Arc::new(Semaphore::new(RECORDING_MAX)),
        };
        let open = OpenWorkspaces::new(self.open_max.unwrap_or(open::OPEN_MAX));
        Ok(Engine { shared: Arc::new(shared), open: Arc::new(open) })
    }

    /// Opens the configured models and takes those over that the application does not bring itself.
    fn open_models(&mut self) -> Result<Option<EngineModels>, Error> {
        let Some(set) = self.models.take() else { return Ok(None) };
        let configured = ConfiguredModels::open(set)?;
        self.embedder = self.embedder.take().or(configured.embedder);
        self.judge = self.judge.take().or(configured.judge);
        self.reranker = self.reranker.take().or(configured.reranker);
        Ok(Some(configured.models))
    }

    /// Checks the dimensions of the embedder's vectors.
    fn check_dimensions(&self) -> Result<(), Error> {
        let Some(expected) = self.dimensions else { return Ok(()) };
        let embedder = self.embedder.clone().unwrap_or_else(crate::default_embedder);
        let model = embedder.model();
        let found = model.dimensions;
        if found == expected {
            return Ok(());
        }
        let message = format!("{model} makes {found}, not the {expected} that are expected");
        Err(Error::invalid("dimensions", message))
    }
}
