//! The models of a data folder: those that were added, and which of them are in use.
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
use crate::settings::{OWN, SMALL_FILES, Settings};
use crate::transformer::{NEEDED, Transformer};
use crate::{CrossEncoder, ModelError};

/// The name of the model that is always there.
pub const BUILT_IN: &str = "built-in";

/// What is chosen so that nothing reranks.
pub const NONE: &str = "none";

const FOLDER: &str = "models";
const IN_USE: &str = "in-use";
const RERANKS: &str = "reranks";
/// What no model of one's own can be called.
const RESERVED: [&str; 4] = [BUILT_IN, NONE, IN_USE, RERANKS];
/// Files that may say under which terms a model is given out, besides its card.
const LICENSE_FILES: [&str; 4] = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"];
const CARD_FILE: &str = "README.md";
const LICENSE_CHARS_MAX: usize = 60;

/// The models of a data folder.
#[derive(Debug, Clone)]
pub struct Shelf {
    folder: PathBuf,
}

/// What there is to know of a model on a shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its name here.
    pub name: String,
    /// Its name with its version: what vectors are marked with, or scores come from.
    pub model: String,
    /// How many numbers its vectors have; none for a reranker.
    pub dimensions: Option<usize>,
    /// How many bytes its files have; none for the built-in one.
    pub bytes: u64,
    /// The terms it is given out under, as far as its files say.
    pub license: Option<String>,
    /// Up to how many tokens it reads.
    pub tokens_max: usize,
    /// Whether it is the one that embeds, or reranks.
    pub in_use: bool,
}

impl Shelf {
    /// The shelf of a data folder, neither of which has to be there yet.
    #[must_use]
    pub fn of(data: &Path) -> Shelf {
        Shelf { folder: data.join(FOLDER) }
    }

    /// The names of the models that were added, in order.
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

    /// An embedder that was added.
    ///
    /// # Errors
    /// When there is none of that name, or its files cannot be used.
    pub fn open(&self, name: &str) -> Result<Transformer, ModelError> {
        Transformer::open(&self.place(name)?)
    }

    /// A reranker that was added.
    ///
    /// # Errors
    /// As [`Shelf::open`].
    pub fn open_reranker(&self, name: &str) -> Result<CrossEncoder, ModelError> {
        CrossEncoder::open(&self.place(name)?)
    }

    /// Whether a model that was added reranks; the others embed.
    ///
    /// # Errors
    /// As [`Shelf::open`].
    pub fn is_reranker(&self, name: &str) -> Result<bool, ModelError> {
        if name == BUILT_IN { Ok(false) } else { CrossEncoder::is_in(&self.place(name)?) }
    }

    /// Where a model's files are.
    fn place(&self, name: &str) -> Result<PathBuf, ModelError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            let available = [BUILT_IN.to_owned()].into_iter().chain(names).collect();
            return Err(ModelError::Unknown { name: name.to_owned(), available });
        }
        Ok(self.folder.join(name))
    }

    /// What makes vectors under a name: a model that was added, or the built-in one.
    ///
    /// # Errors
    /// As [`Shelf::open`].
    pub fn named(&self, name: &str) -> Result<Arc<dyn Embedder>, ModelError> {
        if name == BUILT_IN {
            return Ok(Arc::new(BuiltIn::new()));
        }
        Ok(Arc::new(self.open(name)?))
    }

    /// The name of the model that embeds.
    ///
    /// # Errors
    /// When the choice cannot be read.
    pub fn in_use(&self) -> Result<String, ModelError> {
        let chosen = small(&self.folder.join(IN_USE))?;
        Ok(chosen.map_or_else(|| BUILT_IN.to_owned(), |name| name.trim().to_owned()))
    }

    /// What makes the vectors of this data folder.
    ///
    /// # Errors
    /// When the model in use is gone or cannot be used.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>, ModelError> {
        self.named(&self.in_use()?)
    }

    /// The name of the model that reranks, if one does.
    ///
    /// # Errors
    /// When the choice cannot be read.
    pub fn reranks(&self) -> Result<Option<String>, ModelError> {
        Ok(small(&self.folder.join(RERANKS))?.map(|name| name.trim().to_owned()))
    }

    /// What reranks in this data folder, if anything does. Its files are read now.
    ///
    /// # Errors
    /// When the model in use is gone or cannot be used.
    pub fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>, ModelError> {
        let Some(name) = self.reranks()? else { return Ok(None) };
        Ok(Some(Arc::new(self.open_reranker(&name)?)))
    }

    /// Puts a model to use, for what it is made for; [`BUILT_IN`] embeds, and with [`NONE`] nothing
    /// reranks. The vectors that are stored have to be made anew by one that embeds: do that first,
    /// so that nothing is in use that did not work.
    ///
    /// # Errors
    /// When there is none of that name, or the choice cannot be written.
    pub fn choose(&self, name: &str) -> Result<(), ModelError> {
        match name {
            BUILT_IN => self.forget(IN_USE),
            NONE => self.forget(RERANKS),
            name if self.is_reranker(name)? => {
                self.open_reranker(name)?;
                self.keep(RERANKS, name)
            }
            name => {
                self.open(name)?;
                self.keep(IN_USE, name)
            }
        }
    }

    fn keep(&self, choice: &str, name: &str) -> Result<(), ModelError> {
        let (path, part) = (self.folder.join(choice), self.folder.join(format!(".{choice}")));
        let write = || {
            let mut file = fs::File::create(&part)?;
            writeln!(file, "{name}")?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(|error| ModelError::io("write", &path, error))
    }

    fn forget(&self, choice: &str) -> Result<(), ModelError> {
        let path = self.folder.join(choice);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(ModelError::io("write", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Checks the model in a folder and copies it. It is there whole or not at all.
    ///
    /// # Errors
    /// When the folder is no model, the name is taken or will not do, or the copy fails.
    pub fn add(&self, folder: &Path, name: Option<&str>) -> Result<Card, ModelError> {
        // What is written down is what the files make, whatever an earlier copy said.
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
        let settings = Settings { name: name.clone(), license, ..read };
        // A name that begins so is none, so that what is left of a failure is not on the shelf.
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

    /// Takes a model away, with its files.
    ///
    /// # Errors
    /// When there is none of that name, it is in use, or its files cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ModelError> {
        let place = self.place(name)?;
        if self.in_use()? == name || self.reranks()?.as_deref() == Some(name) {
            return Err(ModelError::InUse { name: name.to_owned() });
        }
        fs::remove_dir_all(&place).map_err(|error| ModelError::io("remove", &place, error))
    }

    /// What there is to know of a model.
    ///
    /// # Errors
    /// As [`Shelf::open`].
    pub fn card(&self, name: &str) -> Result<Card, ModelError> {
        if name == BUILT_IN {
            let built_in = BuiltIn::new();
            return Ok(Card {
                name: BUILT_IN.to_owned(),
                model: built_in.model().to_string(),
                dimensions: Some(built_in.model().dimensions),
                bytes: 0,
                license: Some("Apache-2.0".to_owned()),
                tokens_max: BUILT_IN_TOKENS_MAX,
                in_use: self.in_use()? == BUILT_IN,
            });
        }
        let folder = self.place(name)?;
        let size = |file: &&str| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        let (bytes, name) = (NEEDED.iter().map(size).sum(), name.to_owned());
        if CrossEncoder::is_in(&folder)? {
            let model = CrossEncoder::open(&folder)?;
            let Settings { license, tokens_max, .. } = model.settings().clone();
            let in_use = self.reranks()?.as_ref() == Some(&name);
            let model = model.name().to_owned();
            return Ok(Card { name, model, dimensions: None, bytes, license, tokens_max, in_use });
        }
        let model = Transformer::open(&folder)?;
        let Settings { license, tokens_max, .. } = model.settings().clone();
        let (in_use, dimensions) = (self.in_use()? == name, Some(model.model().dimensions));
        let model = model.model().to_string();
        Ok(Card { name, model, dimensions, bytes, license, tokens_max, in_use })
    }
}

/// Word pieces that the built-in model reads.
const BUILT_IN_TOKENS_MAX: usize = 512;

/// Copies a file that may not be there. Links are followed: model hubs keep files behind them.
fn copy(from: &Path, to: &Path) -> Result<(), ModelError> {
    if !from.is_file() {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| ModelError::io("make", parent, error))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(|error| ModelError::io("copy", from, error))
}

/// The terms a model is given out under: as its card says, else the first line of its licence.
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

/// Whether a text can name a model, and so a folder on every system.
fn is_name(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=64).contains(&bytes.len())
        && plain(bytes[0])
        && bytes.iter().all(|c| plain(*c) || matches!(c, b'-' | b'_' | b'.'))
        && !name.ends_with('.')
}
