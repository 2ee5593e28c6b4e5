//! Where the store is, and opening it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use haversack::{Builder, Engine, Error, Workspace};
use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_core::text::spelling::{nearest, shown};
use haversack_model::Shelf;
use haversack_store::DataFolder;
use haversack_store::store::error::OpenError;
use haversack_store::store::maintenance::{Maintenance, OnUpgrade, Progress, Stores};

use crate::args::Place;
use crate::output::{Bar, grouped, say};

impl Place {
    /// The data folder.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.data {
            return Ok(folder.clone());
        }
        match std::env::var_os("HAVERSACK_DATA").filter(|folder| !folder.is_empty()) {
            Some(folder) => Ok(folder.into()),
            None => usual().context("there is no home folder: name a data folder with --data"),
        }
    }

    /// The stores of the data folder, which must exist.
    pub(crate) fn stores(&self) -> Result<DataFolder> {
        Ok(DataFolder::open(&self.existing_folder()?)?.on_upgrade(OnUpgrade::new(upgrading())))
    }

    pub(crate) fn existing_folder(&self) -> Result<PathBuf> {
        let folder = self.folder()?;
        if !folder.is_dir() {
            bail!("there is no data folder {}: begin with `haversack add PATH`", folder.display());
        }
        Ok(folder)
    }

    /// What makes the vectors of the data folder: the model that was chosen for it.
    pub(crate) fn embedder(&self) -> Result<Arc<dyn Embedder>> {
        let shelf = Shelf::of(&self.folder()?);
        let chosen = shelf.in_use()?;
        shelf.named(&chosen).with_context(|| {
            format!(
                "the model {chosen:?}, which this data folder uses, cannot be opened; `haversack \
                     model use built-in` goes back to the one that is always there"
            )
        })
    }

    /// What reranks in the data folder, if a model was chosen for it.
    pub(crate) fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>> {
        Shelf::of(&self.folder()?).reranker().context(
            "the reranker that this data folder uses cannot be opened; `haversack model use none` \
             does without",
        )
    }

    /// An engine's builder with the models that were chosen for the data folder.
    pub(crate) fn equipped(&self, builder: Builder) -> Result<Builder> {
        let builder = builder.embedder(self.embedder()?).on_upgrade(upgrading());
        Ok(reranking(builder, self.reranker()?))
    }

    /// The store of the workspace, which must exist.
    pub(crate) fn existing(&self) -> Result<Arc<dyn Maintenance>> {
        let stores = self.stores()?;
        let store = match stores.open_existing(&self.workspace, self.embedder()?) {
            Ok(store) => store,
            Err(error @ OpenError::Missing { .. }) => {
                bail!("{error}: {}", self.nearest(&stores.names()?))
            }
            Err(error) => return Err(error.into()),
        };
        tell_repairs(&*store);
        Ok(store.for_blocking_threads())
    }

    /// The workspace, which must be there, with the engine around it.
    pub(crate) fn engine_on_existing(&self, builder: Builder) -> Result<Workspace> {
        let engine = self.equipped(builder)?.open(self.existing_folder()?)?;
        let workspace = match engine.existing(&self.workspace) {
            Ok(workspace) => workspace,
            Err(Error::Open(error @ OpenError::Missing { .. })) => {
                bail!("{error}: {}", self.nearest(&engine.workspaces()?))
            }
            Err(error) => return Err(error.into()),
        };
        tell_repairs(&**workspace.blocking_store());
        Ok(workspace)
    }

    /// The data folder, which is made if need be, with the engine on it.
    pub(crate) fn engine(&self) -> Result<Engine> {
        Ok(self.equipped(Engine::builder())?.open(self.folder()?)?)
    }

    /// The workspace, which is made if need be, with the engine around it.
    pub(crate) fn engine_on_made(&self) -> Result<Workspace> {
        let workspace = self.engine()?.workspace(&self.workspace)?;
        tell_repairs(&**workspace.blocking_store());
        Ok(workspace)
    }

    /// What there is in place of a workspace that is not there.
    fn nearest(&self, names: &[String]) -> String {
        let near = nearest(&self.workspace, names.iter().map(|name| (&**name, &**name)));
        match (&near[..], names) {
            ([], []) => "it has none yet; begin with `haversack add PATH`".to_owned(),
            ([], names) => format!("it has {}", shown(&names.join(", "))),
            (near, _) => format!("nearest are {}", near.join(", ")),
        }
    }

    /// The store of the workspace, which is created if it does not exist.
    pub(crate) fn made(&self) -> Result<Arc<dyn Maintenance>> {
        let stores = DataFolder::open(&self.folder()?)?.on_upgrade(OnUpgrade::new(upgrading()));
        let store = stores.open(&self.workspace, self.embedder()?)?;
        tell_repairs(&*store);
        Ok(store.for_blocking_threads())
    }

    /// How the user would type a command for this place.
    pub(crate) fn command(&self, command: &str) -> String {
        let mut line = format!("haversack {command}");
        if self.workspace != "default" {
            line.push_str(&format!(" --workspace {}", self.workspace));
        }
        if let Some(folder) = &self.data {
            line.push_str(&format!(" --data {}", folder.display()));
        }
        line
    }
}

/// A builder with a reranker, where there is one.
pub(crate) fn reranking(builder: Builder, reranker: Option<Arc<dyn Reranker>>) -> Builder {
    match reranker {
        Some(reranker) => builder.reranker(reranker),
        None => builder,
    }
}

/// Shows how far a workspace of an older version is with being brought up to date.
fn upgrading() -> impl Fn(&str, Progress) + Send + Sync + 'static {
    let bar: Mutex<Option<Bar>> = Mutex::new(None);
    move |workspace, Progress { done, total }| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        let (shown, of) = (grouped(done), grouped(total));
        let line = format!("bringing workspace {workspace} up to date: {shown} of {of} items");
        bar.get_or_insert_with(Bar::new).show(&line);
        if done >= total {
            if let Some(bar) = bar.take() {
                bar.clear();
            }
            say(&format!("workspace {workspace} was brought up to date: {of} items"));
        }
    }
}

fn tell_repairs(store: &dyn Maintenance) {
    for repaired in store.repaired() {
        say(&format!("repaired: {repaired}"));
    }
}

/// Where this system keeps the data of programs.
fn usual() -> Option<PathBuf> {
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
