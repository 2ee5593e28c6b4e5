//! The model registry of a data folder: installed models, and which of them are in use.
//!
//! `models/<name>/` holds the files of one, `models/in-use` the name of the one that embeds and
//! `models/reranks` of the one that reranks. They serve all workspaces of the folder. Without any,
//! the built-in one embeds and nothing reranks.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder};
use haversack_core::rank::Reranker;

use crate::file::small;
use crate::settings::{ModelSettings, OWN, SMALL_FILES};
use crate::transformer::{NEEDED, Transformer};
use crate::{CrossEncoder, ModelError};

/// The name of the built-in model.
pub const BUILT_IN: &str = "built-in";

/// The choice that turns reranking off.
pub const NONE: &str = "none";

const FOLDER: &str = "models";
const IN_USE: &str = "in-use";
const RERANKS: &str = "reranks";
/// Reserved names.
const RESERVED: [&str; 4] = [BUILT_IN, NONE, IN_USE, RERANKS];
/// Files that may state a model's licence, besides its card.
const LICENSE_FILES: [&str; 4] = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"];
const CARD_FILE: &str = "README.md";
const LICENSE_CHARS_MAX: usize = 60;

/// The models of a data folder.
#[derive(Debug, Clone)]
pub struct ModelRegistry {
    folder: PathBuf,
}

/// The description of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCard {
    /// Its name in the registry.
    pub name: String,
    /// Its name and version, as recorded with vectors and scores.
    pub model: String,
    /// The length of its vectors; `None` for a reranker.
    pub dimensions: Option<usize>,
    /// The size of its files; zero for the built-in model.
    pub bytes: u64,
    /// Its licence, if its files state one.
    pub license: Option<String>,
    /// Its token limit per text.
    pub tokens_max: usize,
    /// Whether it is in use.
    pub in_use: bool,
}

impl ModelRegistry {
    /// The registry of a data folder; neither needs to exist yet.
    #[must_use]
    pub fn in_data_folder(data: &Path) -> ModelRegistry {
        ModelRegistry { folder: data.join(FOLDER) }
    }

    /// The names of the installed models, sorted.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, ModelError> {
        let io = |error| ModelError::io("list", &self.folder, error);
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_name(&name) && entry.path().is_dir() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens an installed embedder.
    ///
    /// # Errors
    /// When there is none of that name, or its files cannot be used.
    pub fn open(&self, name: &str) -> Result<Transformer, ModelError> {
        Transformer::open(&self.folder_of(name)?)
    }

    /// Opens an installed reranker.
    ///
    /// # Errors
    /// As [`ModelRegistry::open`].
    pub fn open_reranker(&self, name: &str) -> Result<CrossEncoder, ModelError> {
        CrossEncoder::open(&self.folder_of(name)?)
    }

    /// Whether an installed model is a reranker; all others are embedders.
    ///
    /// # Errors
    /// As [`ModelRegistry::open`].
    pub fn is_reranker(&self, name: &str) -> Result<bool, ModelError> {
        if name == BUILT_IN { Ok(false) } else { CrossEncoder::is_in(&self.folder_of(name)?) }
    }

    /// The folder of a model's files.
    fn folder_of(&self, name: &str) -> Result<PathBuf, ModelError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            let available = [BUILT_IN.to_owned()].into_iter().chain(names).collect();
            return Err(ModelError::Unknown { name: name.to_owned(), available });
        }
        Ok(self.folder.join(name))
    }

    /// The embedder with a name: an installed model, or the built-in one.
    ///
    /// # Errors
    /// As [`ModelRegistry::open`].
    pub fn named(&self, name: &str) -> Result<Arc<dyn Embedder>, ModelError> {
        if name == BUILT_IN {
            return Ok(Arc::new(BuiltIn::new()));
        }
        Ok(Arc::new(self.open(name)?))
    }

    /// The name of the embedder in use.
    ///
    /// # Errors
    /// When the choice cannot be read.
    pub fn in_use(&self) -> Result<String, ModelError> {
        let chosen = small(&self.folder.join(IN_USE))?;
        Ok(chosen.map_or_else(|| BUILT_IN.to_owned(), |name| name.trim().to_owned()))
    }

    /// The embedder in use.
    ///
    /// # Errors
    /// When the model in use is gone or cannot be used.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        self.named(&self.in_use()?)
    }

    /// The name of the reranker in use, if any.
    ///
    /// # Errors
    /// When the choice cannot be read.
    pub fn reranks(&self) -> Result<Option<String>, ModelError> {
        Ok(small(&self.folder.join(RERANKS))?.map(|name| name.trim().to_owned()))
    }

    /// The reranker in use, if any. Its files are read immediately.
    ///
    /// # Errors
    /// When the model in use is gone or cannot be used.
    pub fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>, ModelError> {
        let Some(name) = self.reranks()? else { return Ok(None) };
        Ok(Some(Arc::new(self.open_reranker(&name)?)))
    }

    /// Selects the embedder or reranker to use; [`BUILT_IN`] selects the built-in embedder,
    /// [`NONE`] turns reranking off. After a change of embedder all stored vectors must be
    /// recomputed: do that first, so that a model that fails is never selected.
    ///
    /// # Errors
    /// When there is none of that name, or the choice cannot be written.
    pub fn choose(&self, name: &str) -> Result<(), ModelError> {
        match name {
            BUILT_IN => self.clear_choice(IN_USE),
            NONE => self.clear_choice(RERANKS),
            name if self.is_reranker(name)? => {
                self.open_reranker(name)?;
                self.write_choice(RERANKS, name)
            }
            name => {
                self.open(name)?;
                self.write_choice(IN_USE, name)
            }
        }
    }

    fn write_choice(&self, choice: &str, name: &str) -> Result<(), ModelError> {
        let (path, part) = (self.folder.join(choice), self.folder.join(format!(".{choice}")));
        let write = || {
            let mut file = fs::File::create(&part)?;
            writeln!(file, "{name}")?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(|error| ModelError::io("write", &path, error))
    }

    fn clear_choice(&self, choice: &str) -> Result<(), ModelError> {
        let path = self.folder.join(choice);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(ModelError::io("write", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Verifies the model in a folder and copies it atomically.
    ///
    /// # Errors
    /// When the folder holds no usable model, the name is taken or invalid, or the copy fails.
    pub fn add(&self, folder: &Path, name: Option<&str>) -> Result<ModelCard, ModelError> {
        // The recorded version is computed from the files, not taken from an earlier copy.
        let read = if CrossEncoder::is_in(folder)? {
            CrossEncoder::open(folder)?.settings().clone()
        } else {
            let read = Transformer::open(folder)?;
            read.verify()?;
            read.settings().clone()
        };
        let name = name.unwrap_or(&read.name).to_owned();
        if !is_name(&name) || RESERVED.contains(&name.as_str()) {
            return Err(ModelError::Name { name });
        }
        let place = self.folder.join(&name);
        if place.exists() {
            return Err(ModelError::Taken { name });
        }
        let license = read.license.clone().or(license(folder)?);
        let settings = ModelSettings { name: name.clone(), license, ..read };
        // Not a valid model name, so the remains of a failed copy are not listed.
        let part = self.folder.join(format!(".adding-{name}"));
        let io = |doing, path: &Path| {
            let path = path.to_owned();
            move |error| ModelError::io(doing, &path, error)
        };
        if part.exists() {
            fs::remove_dir_all(&part).map_err(io("clear", &part))?;
        }
        fs::create_dir_all(&part).map_err(io("make", &part))?;
        let files = NEEDED.iter().chain(&SMALL_FILES).chain(&LICENSE_FILES).chain(&[CARD_FILE]);
        for file in files {
            copy(&folder.join(file), &part.join(file))?;
        }
        let own = part.join(OWN);
        fs::write(&own, settings.to_toml()).map_err(io("write", &own))?;
        fs::rename(&part, &place).map_err(io("make", &place))?;
        self.card(&name)
    }

    /// Deletes a model and its files.
    ///
    /// # Errors
    /// When there is none of that name, it is in use, or its files cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ModelError> {
        let place = self.folder_of(name)?;
        if self.in_use()? == name || self.reranks()?.as_deref() == Some(name) {
            return Err(ModelError::InUse { name: name.to_owned() });
        }
        fs::remove_dir_all(&place).map_err(|error| ModelError::io("remove", &place, error))
    }

    /// The description of a model.
    ///
    /// # Errors
    /// As [`ModelRegistry::open`].
    pub fn card(&self, name: &str) -> Result<ModelCard, ModelError> {
        if name == BUILT_IN {
            let built_in = BuiltIn::new();
            return Ok(ModelCard {
                name: BUILT_IN.to_owned(),
                model: built_in.model().to_string(),
                dimensions: Some(built_in.model().dimensions),
                bytes: 0,
                license: Some("Apache-2.0".to_owned()),
                tokens_max: BUILT_IN_TOKENS_MAX,
                in_use: self.in_use()? == BUILT_IN,
            });
        }
        let folder = self.folder_of(name)?;
        let size = |file: &&str| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        let (bytes, name) = (NEEDED.iter().map(size).sum(), name.to_owned());
        if CrossEncoder::is_in(&folder)? {
            let model = CrossEncoder::open(&folder)?;
            let ModelSettings { license, tokens_max, .. } = model.settings().clone();
            let in_use = self.reranks()?.as_ref() == Some(&name);
            let model = model.name().to_owned();
            return Ok(ModelCard {
                name,
                model,
                dimensions: None,
                bytes,
                license,
                tokens_max,
                in_use,
            });
        }
        let model = Transformer::open(&folder)?;
        let ModelSettings { license, tokens_max, .. } = model.settings().clone();
        let (in_use, dimensions) = (self.in_use()? == name, Some(model.model().dimensions));
        let model = model.model().to_string();
        Ok(ModelCard { name, model, dimensions, bytes, license, tokens_max, in_use })
    }
}

/// Word pieces that the built-in model reads.
const BUILT_IN_TOKENS_MAX: usize = 512;

/// Copies a file if it exists. Follows links, which model hubs use.
fn copy(from: &Path, to: &Path) -> Result<(), ModelError> {
    if !from.is_file() {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| ModelError::io("make", parent, error))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(|error| ModelError::io("copy", from, error))
}

/// A model's licence: from its card, else the first line of its licence file.
fn license(folder: &Path) -> Result<Option<String>, ModelError> {
    let clean = |text: &str| {
        let plain: String = text.trim().chars().filter(|c| !c.is_control()).collect();
        let plain = plain.trim_matches(['"', '\'', '#', ' ']).to_owned();
        (!plain.is_empty()).then(|| plain.chars().take(LICENSE_CHARS_MAX).collect::<String>())
    };
    if let Some(card) = small(&folder.join(CARD_FILE))?
        && let Some(front) = card.strip_prefix("---\n")
        && let Some((front, _)) = front.split_once("\n---")
        && let Some(said) = front.lines().find_map(|line| line.strip_prefix("license:"))
        && let Some(license) = clean(said)
    {
        return Ok(Some(license));
    }
    for file in LICENSE_FILES {
        let text = small(&folder.join(file))?.unwrap_or_default();
        if let Some(license) = text.lines().find_map(clean) {
            return Ok(Some(license));
        }
    }
    Ok(None)
}

/// Whether a name is valid for a model, and so for a folder on every system.
fn is_name(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=64).contains(&bytes.len())
        && plain(bytes[0])
        && bytes.iter().all(|c| plain(*c) || matches!(c, b'-' | b'_' | b'.'))
        && !name.ends_with('.')
}
