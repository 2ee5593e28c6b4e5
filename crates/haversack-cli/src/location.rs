//! Where the workspaces are: finding the data folder or the server, and opening them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use haversack::engine::EmbedderCatalog;
use haversack::{Builder, Engine, Error, Workspace};
use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_core::text::spelling::{nearest, printable_name};
use haversack_model::ModelRegistry;
use haversack_provider::{ModelSet, ModelsConfig};
use haversack_serve::ServerFile;
use haversack_store::kinds::Kinds;
use haversack_store::store::error::OpenError;
use haversack_store::store::journal::ReplicaSettings;
use haversack_store::store::maintenance::{Maintenance, MaintenanceProgress, OnUpgrade, Stores};
use haversack_store::{DataFolder, KINDS_FILE};

use crate::args::StoreLocation;
use crate::input::{read_text, reader_program};
use crate::model_catalog::DataFolderModels;
use crate::output::{Bar, grouped, say};
use crate::remote::{KEY_VARIABLE, RemoteWorkspace, WorkspaceTarget};

impl StoreLocation {
    /// Opens what a command works on: in the data folder, or behind a server. A server is used when
    /// one was named, and when one has the data folder open.
    pub(crate) fn reach<L>(
        &self,
        open: impl FnOnce(&StoreLocation) -> Result<L>,
    ) -> Result<WorkspaceTarget<L>> {
        if let Some(url) = self.server_url()? {
            return Ok(WorkspaceTarget::Server(self.remote(&url)?));
        }
        let error = match open(self) {
            Ok(opened) => return Ok(WorkspaceTarget::Local(opened)),
            Err(error) => error,
        };
        let Some(server) = server_of(&error) else { return Err(error) };
        say(&format!(
            "the data folder is in use by a server at {}; going on through it",
            server.url
        ));
        Ok(WorkspaceTarget::Server(self.remote(&server.url)?))
    }

    fn remote(&self, url: &str) -> Result<RemoteWorkspace> {
        let key = self.key_env.as_deref().unwrap_or(KEY_VARIABLE);
        RemoteWorkspace::new(url, key, &self.workspace)
    }

    /// The server that was named: by `--server`, or by `$HAVERSACK_SERVER` unless `--data` names a
    /// folder.
    pub(crate) fn server_url(&self) -> Result<Option<String>> {
        if let Some(url) = &self.server {
            ensure!(self.data.is_none(), "--server and --data: give one of them");
            return Ok(Some(url.clone()));
        }
        if self.data.is_some() {
            return Ok(None);
        }
        Ok(std::env::var("HAVERSACK_SERVER").ok().filter(|url| !url.is_empty()))
    }

    /// The kinds that the data folder defines, and the built-in ones.
    pub(crate) fn kinds(&self) -> Result<Arc<Kinds>> {
        if self.server_url()?.is_some() {
            return Ok(Arc::clone(Kinds::built_in()));
        }
        kinds_at(&self.folder()?.join(KINDS_FILE))
    }

    /// The data folder.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.data {
            return Ok(folder.clone());
        }
        match std::env::var_os("HAVERSACK_DATA").filter(|folder| !folder.is_empty()) {
            Some(folder) => Ok(folder.into()),
            None => {
                default_folder().context("there is no home folder: name a data folder with --data")
            }
        }
    }

    /// The stores of the data folder, which must exist.
    pub(crate) fn stores(&self) -> Result<DataFolder> {
        Ok(DataFolder::open(&self.existing_folder()?)?
            .on_upgrade(OnUpgrade::new(upgrade_progress())))
    }

    pub(crate) fn existing_folder(&self) -> Result<PathBuf> {
        let folder = self.folder()?;
        if !folder.is_dir() {
            bail!("there is no data folder {}: begin with `haversack add PATH`", folder.display());
        }
        Ok(folder)
    }

    /// The embedding models of the data folder, and the models of providers.
    pub(crate) fn catalog(&self) -> Result<&Arc<DataFolderModels>> {
        let folder = self.folder()?;
        Ok(self.catalog.get_or_init(|| Arc::new(DataFolderModels::new(folder, None))))
    }

    /// The models of providers that the data folder's `models.toml` names, if it names any.
    pub(crate) fn models(&self) -> Result<Option<Arc<ModelSet>>> {
        Ok(self.catalog()?.provider_models()?)
    }

    /// Uses these settings of models instead of those in the data folder.
    pub(crate) fn use_models(&self, config: ModelsConfig) -> Result<()> {
        let catalog = Arc::new(DataFolderModels::new(self.folder()?, Some(config)));
        self.catalog.set(catalog).map_err(|_| anyhow!("the models are in use already"))
    }

    /// The embedder of a provider, as the workspace uses it, if one is configured.
    pub(crate) fn remote_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(models) = self.models()? else { return Ok(None) };
        let embedder = models.embedder()?;
        Ok(embedder.map(|embedder| models.for_workspace(embedder, &self.workspace)))
    }

    /// The embedder with its calls counted against a workspace's cap, if the settings have one.
    pub(crate) fn capped(
        &self,
        embedder: Arc<dyn Embedder>,
        workspace: &str,
    ) -> Result<Arc<dyn Embedder>> {
        Ok(match self.models()? {
            Some(models) => models.capped(embedder, workspace),
            None => embedder,
        })
    }

    /// The embedding model of the data folder: a provider's, if one is configured, else the chosen one.
    pub(crate) fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        if let Some(embedder) = self.remote_embedder()? {
            return Ok(embedder);
        }
        let registry = ModelRegistry::in_data_folder(&self.folder()?);
        let chosen = registry.in_use()?;
        registry.named(&chosen).with_context(|| {
            format!(
                "the model {chosen:?}, which this data folder uses, cannot be opened; `haversack \
                     model use built-in` goes back to the one that is always there"
            )
        })
    }

    /// The embedder of a workspace: the one that made its vectors, if it can be opened, else the one in use.
    pub(crate) fn embedder_for(
        &self,
        stores: &DataFolder,
        workspace: &str,
    ) -> Result<Arc<dyn Embedder>> {
        let embedder = self.embedder()?;
        let embedder = match stores.stored_model(workspace)? {
            Some(stored) if stored != *embedder.model() => {
                self.catalog()?.by_model(&stored, workspace).unwrap_or(embedder)
            }
            _ => embedder,
        };
        self.capped(embedder, workspace)
    }

    /// The reranker that was chosen for the data folder, if one was.
    pub(crate) fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>> {
        let models = self.models()?;
        if let Some(models) = &models
            && let Some(reranker) = models.reranker()?
        {
            return Ok(Some(reranker));
        }
        let local = ModelRegistry::in_data_folder(&self.folder()?).reranker().context(
            "the reranker that this data folder uses cannot be opened; `haversack model use none` \
             does without",
        )?;
        Ok(match models {
            Some(models) => local.map(|local| models.with_deadline(local)),
            None => local,
        })
    }

    /// An engine's builder with the models that were chosen for the data folder.
    pub(crate) fn with_models(&self, builder: Builder) -> Result<Builder> {
        let builder = builder.on_upgrade(upgrade_progress());
        let catalog: Arc<DataFolderModels> = Arc::clone(self.catalog()?);
        let mut builder = builder.embedder_catalog(catalog);
        if let Some(program) = reader_program() {
            builder = builder.reader_program(program);
        }
        let models = self.models()?;
        // A provider's embedder is the engine's to open: each workspace gets its own keys of the cache.
        if models.as_ref().is_none_or(|models| models.config().models.embed.is_none()) {
            builder = builder.embedder(self.embedder()?);
        }
        let builder = reranking(builder, self.reranker()?);
        Ok(match models {
            Some(models) => builder.models(models),
            None => builder,
        })
    }

    /// The store of the workspace, which must exist.
    pub(crate) fn existing_store(&self) -> Result<Arc<dyn Maintenance>> {
        let stores = self.stores()?;
        let store = match stores
            .open_existing(&self.workspace, self.embedder_for(&stores, &self.workspace)?)
        {
            Ok(store) => store,
            Err(error @ OpenError::Missing { .. }) => {
                bail!("{error}: {}", self.nearest(&stores.names()?))
            }
            Err(error) => return Err(error.into()),
        };
        print_repairs(&*store);
        Ok(store.for_blocking_threads())
    }

    /// The workspace, which must exist, with an engine that has nothing but its models.
    pub(crate) fn plain_workspace(&self) -> Result<Workspace> {
        self.existing_workspace(Engine::builder())
    }

    /// The workspace, which must exist, with the engine around it.
    pub(crate) fn existing_workspace(&self, builder: Builder) -> Result<Workspace> {
        let engine = self.with_models(builder)?.open(self.existing_folder()?)?;
        let workspace = match engine.existing_workspace(&self.workspace) {
            Ok(workspace) => workspace,
            Err(Error::Open(error @ OpenError::Missing { .. })) => {
                bail!("{error}: {}", self.nearest(&engine.workspaces()?))
            }
            Err(error) => return Err(error.into()),
        };
        print_repairs(&**workspace.blocking_store());
        Ok(workspace)
    }

    /// An engine on the data folder, which is created if it does not exist.
    pub(crate) fn engine(&self) -> Result<Engine> {
        Ok(self.with_models(Engine::builder())?.open(self.folder()?)?)
    }

    /// An engine on the data folder that keeps so many unused workspaces open, and follows a journal.
    pub(crate) fn engine_for_server(
        &self,
        open_workspaces: usize,
        journal: Option<ReplicaSettings>,
    ) -> Result<Engine> {
        let mut builder = Engine::builder().open_workspaces(open_workspaces);
        if let Some(journal) = journal {
            builder = builder.journal(journal);
        }
        Ok(self.with_models(builder)?.open(self.folder()?)?)
    }

    /// The workspace, created if it does not exist, with the engine around it.
    pub(crate) fn workspace_or_new(&self) -> Result<Workspace> {
        let workspace = self.engine()?.workspace(&self.workspace)?;
        print_repairs(&**workspace.blocking_store());
        Ok(workspace)
    }

    /// The workspaces that exist, nearest names first, for a message about a missing one.
    fn nearest(&self, names: &[String]) -> String {
        let near = nearest(&self.workspace, names.iter().map(|name| (&**name, &**name)));
        match (&near[..], names) {
            ([], []) => "it has none yet; begin with `haversack add PATH`".to_owned(),
            ([], names) => format!("it has {}", printable_name(&names.join(", "))),
            (near, _) => format!("nearest are {}", near.join(", ")),
        }
    }

    /// The store of the workspace, which is created if it does not exist.
    pub(crate) fn store_or_new(&self) -> Result<Arc<dyn Maintenance>> {
        let stores =
            DataFolder::open(&self.folder()?)?.on_upgrade(OnUpgrade::new(upgrade_progress()));
        let store = stores.open(&self.workspace, self.embedder_for(&stores, &self.workspace)?)?;
        print_repairs(&*store);
        Ok(store.for_blocking_threads())
    }

    /// How the user would type a command for this location.
    pub(crate) fn command(&self, command: &str) -> String {
        let mut line = format!("haversack {command}");
        if self.workspace != "default" {
            line.push_str(&format!(" --workspace {}", self.workspace));
        }
        if let Some(folder) = &self.data {
            line.push_str(&format!(" --data {}", folder.display()));
        }
        if let Some(url) = &self.server {
            line.push_str(&format!(" --server {url}"));
        }
        line
    }
}

/// A builder with the reranker, if there is one.
pub(crate) fn reranking(builder: Builder, reranker: Option<Arc<dyn Reranker>>) -> Builder {
    match reranker {
        Some(reranker) => builder.reranker(reranker),
        None => builder,
    }
}

/// Shows the progress of upgrading a workspace of an older version.
fn upgrade_progress() -> impl Fn(&str, MaintenanceProgress) + Send + Sync + 'static {
    let bar: Mutex<Option<Bar>> = Mutex::new(None);
    move |workspace, MaintenanceProgress { done, total }| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        let (shown, of) = (grouped(done), grouped(total));
        let line = format!("upgrading workspace {workspace}: {shown} of {of} items");
        bar.get_or_insert_with(Bar::new).show(&line);
        if done >= total {
            if let Some(bar) = bar.take() {
                bar.clear();
            }
            say(&format!("workspace {workspace} was upgraded: {of} items"));
        }
    }
}

/// The server that has the data folder open, if that is why opening failed.
pub(crate) fn server_of(error: &anyhow::Error) -> Option<ServerFile> {
    let open_error = |cause: &(dyn std::error::Error + 'static)| {
        if let Some(error) = cause.downcast_ref::<OpenError>() {
            return server_with_lock(error);
        }
        match cause.downcast_ref::<Error>()? {
            Error::Open(error) => server_with_lock(error),
            _ => None,
        }
    };
    error.chain().find_map(open_error)
}

fn server_with_lock(error: &OpenError) -> Option<ServerFile> {
    match error {
        OpenError::InUse { folder, owner } => ServerFile::of_process(folder, owner),
        _ => None,
    }
}

/// The kinds that a file defines, and the built-in ones; only those if there is no such file.
pub(crate) fn kinds_at(path: &Path) -> Result<Arc<Kinds>> {
    if !path.exists() {
        return Ok(Arc::clone(Kinds::built_in()));
    }
    let kinds = Kinds::with(&read_text(path)?);
    Ok(Arc::new(kinds.with_context(|| format!("{} cannot be used", path.display()))?))
}

fn print_repairs(store: &dyn Maintenance) {
    for repaired in store.repaired() {
        say(&format!("repaired: {repaired}"));
    }
}

/// The folder in which this system keeps the data of programs.
fn default_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = if cfg!(windows) {
        set("LOCALAPPDATA").or_else(|| set("APPDATA"))?
    } else if cfg!(target_os = "macos") {
        std::env::home_dir()?.join("Library/Application Support")
    } else {
        match set("XDG_DATA_HOME").filter(|folder| folder.is_absolute()) {
            Some(folder) => folder,
            None => std::env::home_dir()?.join(".local/share"),
        }
    };
    Some(folder.join("haversack"))
}
