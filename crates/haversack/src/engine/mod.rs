//! The engine: one data folder, its workspaces, and what they share: the embedder, the judge, and
//! whatever an application brings along. Nothing here is global.

mod answers;
pub(crate) mod blocking;
mod many;
mod outbox;
mod past;
pub(crate) mod ready;
mod rules;
mod workspace;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use haversack_core::assemble::{Template, TemplateText, Templates};
use haversack_core::embed::Embedder;
use haversack_core::rank::{Ranker, Reranker};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::kinds::Kinds;
use haversack_store::store::block_on;
use haversack_store::store::error::OpenError;
use haversack_store::store::maintenance::{Maintenance, MaintenanceProgress, OnUpgrade, Stores};

use crate::collect::{self, Collector};
use crate::embed::CachingEmbedder;
use crate::error::Error;
use crate::pipeline::FeatureCache;
use crate::recipe::BUILT_IN;
use crate::situation::{Judge, LocalJudge};

pub use answers::CacheCounts;
pub use past::Replay;
pub(crate) use ready::CompiledRecipe;
pub use rules::{KeptTemplate, WireTemplate};
pub use workspace::{Answer, Workspace};

/// Says what time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A data folder and everything that works on it. Cheap to clone. The folder is free again when
/// every clone is gone, and every workspace with them.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Beside what workspaces share, not in it: they would keep one another open for ever.
    open: Arc<Mutex<BTreeMap<String, Slot>>>,
}

/// A workspace, or the place of one: whoever opens or removes it holds the lock, and no other
/// workspace waits for that.
type Slot = Arc<Mutex<Option<Workspace>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all workspaces of an engine share.
pub(crate) struct Shared {
    stores: Arc<dyn Stores>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) judge: Arc<dyn Judge>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    /// The application's own collectors.
    pub(crate) collectors: BTreeMap<String, Arc<dyn Collector>>,
    /// Those that are built in: some remember what they compiled, so there is one of each.
    pub(crate) built_in: BTreeMap<&'static str, Arc<dyn Collector>>,
    pub(crate) rankers: BTreeMap<String, Ranker>,
    pub(crate) templates: Templates,
    pub(crate) tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
    pub(crate) recipes: BTreeMap<String, String>,
    pub(crate) clock: Clock,
    /// What was read of texts that were found.
    pub(crate) features: FeatureCache,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.shared.embedder.model();
        f.debug_struct("Engine").field("embedder", model).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens a data folder, making it when it is not there, with all that is built in.
    ///
    /// # Errors
    /// When another process has the folder or it cannot be opened.
    pub fn open(folder: impl AsRef<Path>) -> Result<Engine, Error> {
        Engine::builder().open(folder)
    }

    /// An engine to which an application brings its own embedder, judge, collectors and so on.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A workspace, made when it is not there. Nothing crosses from one to another (X3).
    ///
    /// # Errors
    /// When the name will not do or the workspace cannot be opened.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        self.opened(name, |stores| stores.open(name, Arc::clone(&self.shared.embedder)))
    }

    /// A workspace that is there already.
    ///
    /// # Errors
    /// When there is none of that name, or it cannot be opened.
    pub fn existing(&self, name: &str) -> Result<Workspace, Error> {
        self.opened(name, |stores| stores.open_existing(name, Arc::clone(&self.shared.embedder)))
    }

    fn opened(
        &self,
        name: &str,
        open: impl FnOnce(&dyn Stores) -> Result<Arc<dyn Maintenance>, OpenError>,
    ) -> Result<Workspace, Error> {
        let slot = self.slot(name);
        let mut place = locked(&slot);
        if let Some(workspace) = &*place {
            return Ok(workspace.clone());
        }
        match open(&*self.shared.stores) {
            Ok(store) => {
                let workspace = Workspace::new(name, Arc::clone(&self.shared), store);
                Ok(place.insert(workspace).clone())
            }
            Err(error) => {
                drop(place);
                self.forget(name, slot);
                Err(error.into())
            }
        }
    }

    /// A workspace that is open already. Reads no file and waits for nobody.
    #[must_use]
    pub fn at_hand(&self, name: &str) -> Option<Workspace> {
        let slot = Arc::clone(locked(&self.open).get(name)?);
        let place = slot.try_lock().ok()?;
        place.clone()
    }

    /// Waits until what packs leave behind is in the stores of all workspaces that are open:
    /// [`Workspace::settle`] for each.
    pub async fn settle(&self) {
        let slots: Vec<Slot> = locked(&self.open).values().cloned().collect();
        for slot in slots {
            let workspace = locked(&slot).clone();
            if let Some(workspace) = workspace {
                workspace.settle().await;
            }
        }
    }

    fn slot(&self, name: &str) -> Slot {
        let mut slots = locked(&self.open);
        match slots.get(name) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(slots.entry(name.to_owned()).or_default()),
        }
    }

    /// Gives up an empty place, unless somebody else is there.
    fn forget(&self, name: &str, slot: Slot) {
        let mut slots = locked(&self.open);
        drop(slot);
        if slots
            .get(name)
            .is_some_and(|slot| Arc::strong_count(slot) == 1 && locked(slot).is_none())
        {
            slots.remove(name);
        }
    }

    /// Who counts for a model or under a name; `o200k_base` when neither is said (M10).
    ///
    /// # Errors
    /// When there is no such model or tokenizer.
    pub fn counter(
        &self,
        model: Option<&str>,
        tokenizer: Option<&str>,
    ) -> Result<Arc<dyn Tokenizer>, Error> {
        crate::pipeline::find_tokenizer(model, tokenizer, &self.shared.tokenizers)
    }

    /// Removes a workspace with all that is in it. Who still has it in hand can read on, from what
    /// is no longer anywhere else.
    ///
    /// # Errors
    /// When there is none of that name, or its folder cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let slot = self.slot(name);
        let mut place = locked(&slot);
        // Nothing may be written while the folder goes.
        if let Some(workspace) = &*place {
            block_on(workspace.blocking_store().close());
        }
        let removed = self.shared.stores.remove(name);
        if removed.is_ok() {
            *place = None;
        }
        drop(place);
        self.forget(name, slot);
        Ok(removed?)
    }

    /// The names of the workspaces.
    ///
    /// # Errors
    /// When the data folder cannot be read.
    pub fn workspaces(&self) -> Result<Vec<String>, Error> {
        Ok(self.shared.stores.names()?)
    }
}

/// What an application brings to an engine. Everything has a default.
#[derive(Default)]
pub struct Builder {
    embedder: Option<Arc<dyn Embedder>>,
    dimensions: Option<usize>,
    judge: Option<Arc<dyn Judge>>,
    reranker: Option<Arc<dyn Reranker>>,
    collectors: BTreeMap<String, Arc<dyn Collector>>,
    rankers: BTreeMap<String, Ranker>,
    templates: Templates,
    tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
    recipes: BTreeMap<String, String>,
    kinds: Option<Arc<Kinds>>,
    clock: Option<Clock>,
    on_upgrade: Option<OnUpgrade>,
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
    /// Who makes vectors. A workspace remembers which model made its own and refuses another
    /// until it is re-embedded (M4).
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Builder {
        self.embedder = Some(embedder);
        self
    }

    /// How many numbers the application expects of a vector. An embedder that makes another number
    /// is refused when the engine opens (M4).
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Builder {
        self.dimensions = Some(dimensions);
        self
    }

    /// Who judges conditions in plain language (S3).
    #[must_use]
    pub fn judge(mut self, judge: Arc<dyn Judge>) -> Builder {
        self.judge = Some(judge);
        self
    }

    /// Who reads the best finds once more, together with the query (M4). It counts in recipes whose
    /// scores have `rerank`; without one that part of a score falls away.
    #[must_use]
    pub fn reranker(mut self, reranker: Arc<dyn Reranker>) -> Builder {
        self.reranker = Some(reranker);
        self
    }

    /// A collector that recipes can name.
    #[must_use]
    pub fn collector(mut self, name: &str, collector: impl Collector + 'static) -> Builder {
        self.collectors.insert(name.to_owned(), Arc::new(collector));
        self
    }

    /// A ranker that recipes and requests can name (M6).
    #[must_use]
    pub fn ranker(mut self, name: &str, ranker: Ranker) -> Builder {
        self.rankers.insert(name.to_owned(), ranker);
        self
    }

    /// A template that recipes and requests can name (M8).
    ///
    /// # Errors
    /// When the template does not parse or its name will not do.
    pub fn template(mut self, name: &str, text: TemplateText<'_>) -> Result<Builder, Error> {
        self.templates.register(name, Template::new(text)?)?;
        Ok(self)
    }

    /// A tokenizer that requests can name, such as one of a `tokenizer.json` (M10). It stands in for
    /// a built-in one of its name.
    #[must_use]
    pub fn tokenizer(mut self, name: &str, tokenizer: Arc<dyn Tokenizer>) -> Builder {
        self.tokenizers.insert(name.to_owned(), tokenizer);
        self
    }

    /// A recipe, as TOML; it is checked when it is first used, or by [`crate::recipe`].
    #[must_use]
    pub fn recipe(mut self, name: &str, source: &str) -> Builder {
        self.recipes.insert(name.to_owned(), source.to_owned());
        self
    }

    /// Who says what time it is; for tests and replays.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Builder {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Is told how far a workspace of an older version is with being brought up to date when it is
    /// opened, by its name.
    #[must_use]
    pub fn on_upgrade(
        mut self,
        tell: impl Fn(&str, MaintenanceProgress) + Send + Sync + 'static,
    ) -> Builder {
        self.on_upgrade = Some(OnUpgrade::new(tell));
        self
    }

    /// Knows these kinds, in place of those that the data folder defines in `kinds.toml`.
    #[must_use]
    pub fn kinds(mut self, kinds: Arc<Kinds>) -> Builder {
        self.kinds = Some(kinds);
        self
    }

    /// Opens a data folder with all this.
    ///
    /// # Errors
    /// When another process has the folder, it cannot be opened, or the embedder's vectors do not
    /// have the dimensions that are expected.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<Engine, Error> {
        self.check_dimensions()?;
        let mut data = DataFolder::open(folder.as_ref())?;
        if let Some(kinds) = &self.kinds {
            data = data.with_kinds(Arc::clone(kinds));
        }
        if let Some(report) = self.on_upgrade.clone() {
            data = data.on_upgrade(report);
        }
        self.open_on(Arc::new(data))
    }

    /// Opens an engine on stores of the application's own. Kinds and upgrades are theirs.
    ///
    /// # Errors
    /// When the embedder's vectors do not have the dimensions that are expected.
    pub fn open_on(self, stores: Arc<dyn Stores>) -> Result<Engine, Error> {
        self.check_dimensions()?;
        let embedder = self.embedder.unwrap_or_else(crate::embedder);
        let mut recipes: BTreeMap<String, String> = BUILT_IN
            .iter()
            .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()))
            .collect();
        recipes.extend(self.recipes);
        let shared = Shared {
            stores,
            judge: self.judge.unwrap_or_else(|| Arc::new(LocalJudge::new())),
            embedder: Arc::new(CachingEmbedder::new(embedder)),
            reranker: self.reranker,
            collectors: self.collectors,
            built_in: collect::BUILT_IN
                .iter()
                .map(|collector| (collector.name, (collector.create)()))
                .collect(),
            rankers: self.rankers,
            templates: self.templates,
            tokenizers: self.tokenizers,
            recipes,
            clock: self.clock.unwrap_or_else(|| Arc::new(system_time)),
            features: FeatureCache::default(),
        };
        Ok(Engine { shared: Arc::new(shared), open: Arc::default() })
    }

    /// Checks the embedder before anything is opened.
    fn check_dimensions(&self) -> Result<(), Error> {
        let Some(expected) = self.dimensions else { return Ok(()) };
        let embedder = self.embedder.clone().unwrap_or_else(crate::embedder);
        let model = embedder.model();
        let found = model.dimensions;
        if found == expected {
            return Ok(());
        }
        let message = format!("{model} makes {found}, not the {expected} that are expected");
        Err(Error::invalid("dimensions", message))
    }
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
