//! The embedder: a sentence transformer, loaded on first use.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use blake3::Hasher;
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use ndarray::Axis;

use crate::ModelError;
use crate::bert::{Bert, Ids, part, prefix, spans, wanted};
use crate::file::small;
use crate::settings::{BertShape, CONFIG, ModelSettings, Pooling};
use crate::tokens::{ModelTokenizer, TOKENIZER};
use crate::weights::{Header, WEIGHTS};

/// Tokens per batch, unless one text has more. Larger batches only use more memory: about 5 MB per
/// thread for a small model.
const ROWS_AT_ONCE: usize = 256;

/// Texts tokenized at a time.
const TEXTS_AT_ONCE: usize = 1_024;

/// Part of the version hash; changes whenever the computation gives different vectors.
const COMPUTED: &str = "haversack-model 1";

/// Length of a version: letters of the hash.
const VERSION_LETTERS: usize = 12;

/// A sentence transformer from a folder. Cloning it is cheap.
#[derive(Clone)]
pub struct Transformer {
    folder: PathBuf,
    shape: Arc<BertShape>,
    settings: Arc<ModelSettings>,
    model: Model,
    loaded: Arc<Mutex<Option<Arc<LoadedModel>>>>,
}

/// The loaded tokenizer and network.
#[derive(Debug)]
struct LoadedModel {
    tokens: ModelTokenizer,
    bert: Bert,
}

impl fmt::Debug for Transformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformer")
            .field("folder", &self.folder)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Transformer {
    /// Checks the model in a folder. One that was added to a [registry](crate::ModelRegistry) is
    /// read only when it first embeds; any other one now, because its version is the hash of its
    /// files.
    ///
    /// # Errors
    /// When a file is missing, too large or not what it should be; see [`ModelError`].
    pub fn open(folder: &Path) -> Result<Transformer, ModelError> {
        let shape = BertShape::read(folder)?;
        let mut settings = ModelSettings::read(folder, &shape)?;
        let header = Header::read(folder)?;
        header.check(&wanted(&shape, prefix(&header)))?;
        let tokenizer = folder.join(TOKENIZER);
        if !tokenizer.is_file() {
            return Err(ModelError::Missing { path: tokenizer });
        }
        let mut loaded = None;
        let version = match &settings.version {
            Some(version) => version.clone(),
            None => {
                let (read, version) = LoadedModel::read(folder, &shape, &settings)?;
                loaded = Some(Arc::new(read));
                version
            }
        };
        settings.version = Some(version.clone());
        let name = settings.name.clone();
        let model = Model { name, version, dimensions: shape.hidden_size };
        Ok(Transformer {
            folder: folder.to_owned(),
            shape: Arc::new(shape),
            settings: Arc::new(settings),
            model,
            loaded: Arc::new(Mutex::new(loaded)),
        })
    }

    /// The folder of its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the vectors of a text's tokens become one.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        self.settings.pooling
    }

    /// The token limit per text.
    #[must_use]
    pub fn tokens_max(&self) -> usize {
        self.settings.tokens_max
    }

    /// The prefix of queries.
    #[must_use]
    pub fn query_prefix(&self) -> &str {
        &self.settings.query_prefix
    }

    pub(crate) fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Loads the model and checks its version.
    pub(crate) fn verify(&self) -> Result<(), ModelError> {
        self.loaded().map(|_| ())
    }

    /// The loaded model; loads it on first use.
    fn loaded(&self) -> Result<Arc<LoadedModel>, ModelError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loaded {
            return Ok(Arc::clone(loaded));
        }
        let (read, found) = LoadedModel::read(&self.folder, &self.shape, &self.settings)?;
        if found != self.model.version {
            let (folder, wanted) = (self.folder.clone(), self.model.version.clone());
            return Err(ModelError::Changed { folder, wanted, found });
        }
        Ok(Arc::clone(loaded.insert(Arc::new(read))))
    }

    /// One vector per text, each prefixed with `before`.
    fn vectors(&self, texts: &[&str], before: &str) -> Result<Vec<Vector>, EmbedError> {
        let never = |cause| EmbedError::NeverRetry { model: self.model.clone(), cause };
        let loaded = self.loaded().map_err(|error| never(error.into()))?;
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            let ids = texts.iter().map(|text| match before {
                "" => loaded.tokens.ids(text, None),
                before => loaded.tokens.ids(&format!("{before}{text}"), None),
            });
            let ids: Vec<Ids> =
                ids.collect::<Result<_, _>>().map_err(|error| never(error.into()))?;
            for numbers in loaded.pooled(&ids, self.settings.pooling) {
                vectors.push(Vector::new(numbers).map_err(|error| never(error.into()))?);
            }
        }
        Ok(vectors)
    }
}

impl Embedder for Transformer {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.vectors(texts, &self.settings.document_prefix)
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let vectors = self.vectors(&[query], &self.settings.query_prefix)?;
        Ok(vectors.into_iter().next().expect("one text has one vector"))
    }
}

impl LoadedModel {
    /// Loads the model and computes the version of its files.
    fn read(
        folder: &Path,
        shape: &BertShape,
        settings: &ModelSettings,
    ) -> Result<(LoadedModel, String), ModelError> {
        let mut hasher = Hasher::new();
        let ModelSettings { pooling, document_prefix, tokens_max, .. } = settings;
        // The query prefix is not hashed, because it changes no stored vector.
        let line = format!("{COMPUTED}\n{pooling}\n{document_prefix}\n{tokens_max}\n");
        hasher.update(line.as_bytes());
        hasher.update(small(&folder.join(CONFIG))?.unwrap_or_default().as_bytes());
        let tokens = ModelTokenizer::read(folder, shape, *tokens_max, &mut hasher)?;
        let header = Header::read(folder)?;
        let prefix = prefix(&header);
        let mut tensors = header.tensors(&wanted(shape, prefix), &mut hasher)?;
        let bert = Bert::new(shape, prefix, &mut tensors);
        Ok((LoadedModel { tokens, bert }, version(&hasher)))
    }

    /// The pooled vector of each text. Batching and threads do not change the result.
    fn pooled(&self, texts: &[Ids], pooling: Pooling) -> Vec<Vec<f32>> {
        let groups = batches(texts);
        let one = |group: &[usize]| {
            let texts: Vec<&Ids> = group.iter().map(|at| &texts[*at]).collect();
            let rows = self.bert.encode(&texts);
            let row = |at: usize| rows.row(at).to_vec();
            let pool = |span: std::ops::Range<usize>| match pooling {
                Pooling::Cls => row(span.start),
                Pooling::Mean => {
                    let sum = part(rows.view(), &span, 0..rows.ncols()).sum_axis(Axis(0));
                    #[expect(
                        clippy::cast_precision_loss,
                        reason = "texts have a few thousand tokens"
                    )]
                    let count = span.len() as f32;
                    sum.iter().map(|number| number / count).collect()
                }
            };
            spans(&texts).into_iter().map(pool).collect::<Vec<Vec<f32>>>()
        };
        let done = in_parallel(&groups, one);
        let mut pooled = vec![Vec::new(); texts.len()];
        for (group, numbers) in groups.iter().zip(done) {
            for (at, numbers) in group.iter().zip(numbers) {
                pooled[*at] = numbers;
            }
        }
        pooled
    }
}

/// The version of a model's files and settings.
pub(crate) fn version(hasher: &Hasher) -> String {
    hasher.finalize().to_hex()[..VERSION_LETTERS].to_owned()
}

/// Groups texts into batches, longest first, so that no thread ends with a long one.
pub(crate) fn batches(texts: &[Ids]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(texts[*at].ids.len()), *at));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for at in order {
        let rows = texts[at].ids.len();
        match groups.last_mut() {
            Some(group) if rows <= room => {
                group.push(at);
                room -= rows;
            }
            _ => {
                groups.push(vec![at]);
                room = ROWS_AT_ONCE.saturating_sub(rows);
            }
        }
    }
    groups
}

/// Processes batches in parallel, one thread per processor.
pub(crate) fn in_parallel<T: Send>(
    groups: &[Vec<usize>],
    work: impl Fn(&[usize]) -> T + Sync,
) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(groups.len());
    if threads < 2 {
        return groups.iter().map(|group| work(group)).collect();
    }
    let next = AtomicUsize::new(0);
    let turn = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(group) = groups.get(at)
        {
            done.push((at, work(group)));
        }
        done
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(turn)).collect();
        let mut done = turn();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, done)| done).collect()
}

/// Required files.
pub(crate) const NEEDED: [&str; 3] = [CONFIG, TOKENIZER, WEIGHTS];
