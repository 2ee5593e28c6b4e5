//! The models of a data folder: those that were added, and which one is in use.
//!
//! `models/<name>/` holds the files of one, `models/in-use` the name of the one that embeds. One
//! model serves all workspaces of the folder. Without any, the built-in one does.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder, Model};

use crate::file::small;
use crate::settings::{OWN, SMALL_FILES, Settings};
use crate::transformer::{NEEDED, Transformer};
use crate::{ModelError, Pooling};

/// The name of the model that is always there.
pub const BUILT_IN: &str = "built-in";

const FOLDER: &str = "models";
const IN_USE: &str = "in-use";
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
    /// What its vectors are marked with.
    pub model: Model,
    /// How many bytes its files have; none for the built-in one.
    pub bytes: u64,
    /// The terms it is given out under, as far as its files say.
    pub license: Option<String>,
    /// Up to how many tokens it reads.
    pub tokens_max: usize,
    /// How tokens become a vector.
    pub pooling: Pooling,
    /// Whether it is the one that embeds.
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

    /// A model that was added.
    ///
    /// # Errors
    /// When there is none of that name, or its files cannot be used.
    pub fn open(&self, name: &str) -> Result<Transformer, ModelError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            let available = [BUILT_IN.to_owned()].into_iter().chain(names).collect();
            return Err(ModelError::Unknown { name: name.to_owned(), available });
        }
        Transformer::open(&self.folder.join(name))
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

    /// The name of the model in use.
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

    /// Puts a model to use. The vectors that are stored have to be made anew by it: do that
    /// first, so that nothing is in use that did not work.
    ///
    /// # Errors
    /// When there is none of that name, or the choice cannot be written.
    pub fn choose(&self, name: &str) -> Result<(), ModelError> {
        self.named(name)?;
        let path = self.folder.join(IN_USE);
        let failed = |error| ModelError::io("write", &path, error);
        if name == BUILT_IN {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let part = self.folder.join(format!(".{IN_USE}"));
        let write = || {
            let mut file = fs::File::create(&part)?;
            writeln!(file, "{name}")?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(failed)
    }

    /// Checks the model in a folder and copies it. It is there whole or not at all.
    ///
    /// # Errors
    /// When the folder is no model, the name is taken or will not do, or the copy fails.
    pub fn add(&self, folder: &Path, name: Option<&str>) -> Result<Transformer, ModelError> {
        let read = Transformer::open(folder)?;
        // What is written down is what the files make, whatever an earlier copy said.
        read.verify()?;
        let name = name.unwrap_or(&read.settings().name).to_owned();
        if !is_name(&name) || name == BUILT_IN || name == IN_USE {
            return Err(ModelError::Name { name });
        }
        let place = self.folder.join(&name);
        if place.exists() {
            return Err(ModelError::Taken { name });
        }
        let license = read.settings().license.clone().or(license(folder)?);
        let settings = Settings { name: name.clone(), license, ..read.settings().clone() };
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
        Transformer::open(&place)
    }

    /// Takes a model away, with its files.
    ///
    /// # Errors
    /// When there is none of that name, it is in use, or its files cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), ModelError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            let available = names;
            return Err(ModelError::Unknown { name: name.to_owned(), available });
        }
        if self.in_use()? == name {
            return Err(ModelError::InUse { name: name.to_owned() });
        }
        let place = self.folder.join(name);
        fs::remove_dir_all(&place).map_err(|error| ModelError::io("remove", &place, error))
    }

    /// What there is to know of a model.
    ///
    /// # Errors
    /// As [`Shelf::open`].
    pub fn card(&self, name: &str) -> Result<Card, ModelError> {
        let in_use = self.in_use()? == name;
        if name == BUILT_IN {
            return Ok(Card {
                name: BUILT_IN.to_owned(),
                model: BuiltIn::new().model().clone(),
                bytes: 0,
                license: Some("Apache-2.0".to_owned()),
                tokens_max: BUILT_IN_TOKENS_MAX,
                pooling: Pooling::Mean,
                in_use,
            });
        }
        let model = self.open(name)?;
        let folder = model.folder();
        let size = |file: &&str| fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        Ok(Card {
            name: name.to_owned(),
            model: model.model().clone(),
            bytes: NEEDED.iter().map(size).sum(),
            license: model.settings().license.clone(),
            tokens_max: model.tokens_max(),
            pooling: model.pooling(),
            in_use,
        })
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
