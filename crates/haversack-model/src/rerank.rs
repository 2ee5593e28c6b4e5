//! The reranker: a cross-encoder that scores a query and a text together.

use std::fmt;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use haversack_core::rank::{RerankError, Reranker};
use haversack_core::units::Score;
use ndarray::Array2;

use crate::ModelError;
use crate::bert::{Bert, Ids, Linear, prefix, spans, wanted};
use crate::file::small;
use crate::settings::{BertShape, CONFIG, ModelSettings};
use crate::tokens::{ModelTokenizer, TOKENIZER};
use crate::transformer::{batches, in_parallel, version};
use crate::weights::Header;

const POOLER: &str = "pooler.dense";
const CLASSIFIER: &str = "classifier";
const ARCHITECTURE: &str = "BertForSequenceClassification";

/// Part of the version hash; changes whenever the computation gives different scores.
const COMPUTED: &str = "haversack-model reranker 1";

/// A BERT with one output on top of its first token, from a folder as of an
/// [embedder](crate::Transformer).
pub struct CrossEncoder {
    folder: PathBuf,
    settings: ModelSettings,
    /// Name and version.
    name: String,
    tokens: ModelTokenizer,
    bert: Bert,
    pooler: Linear,
    classifier: Linear,
}

impl fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrossEncoder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CrossEncoder {
    /// Reads the model in a folder.
    ///
    /// # Errors
    /// When a file is missing, too large or not what it should be; see [`ModelError`].
    pub fn open(folder: &Path) -> Result<CrossEncoder, ModelError> {
        let shape = BertShape::read(folder)?;
        let settings = ModelSettings::read(folder, &shape)?;
        let header = Header::read(folder)?;
        let prefix = prefix(&header);
        let outputs = header.shape(&format!("{CLASSIFIER}.weight")).map(|shape| shape[0]);
        if outputs != Some(1) {
            let found = outputs.map_or("no".to_owned(), |outputs| outputs.to_string());
            let architecture = shape.architectures.first().map_or("a model", |name| &**name);
            let what = format!(
                "{architecture} has {found} classifier outputs; a reranker has one \
                 ({ARCHITECTURE} with one label)"
            );
            return Err(ModelError::unsupported(&folder.join(CONFIG), what));
        }
        let size = shape.hidden_size;
        let (pooler, classifier) = (format!("{prefix}{POOLER}"), CLASSIFIER.to_owned());
        let mut wanted = wanted(&shape, prefix);
        wanted.push((format!("{pooler}.weight"), vec![size, size]));
        wanted.push((format!("{pooler}.bias"), vec![size]));
        wanted.push((format!("{classifier}.weight"), vec![1, size]));
        wanted.push((format!("{classifier}.bias"), vec![1]));
        header.check(&wanted)?;
        let mut hasher = Hasher::new();
        hasher.update(format!("{COMPUTED}\n{}\n", settings.tokens_max).as_bytes());
        hasher.update(small(&folder.join(CONFIG))?.unwrap_or_default().as_bytes());
        let tokens = ModelTokenizer::read(folder, &shape, settings.tokens_max, &mut hasher)?;
        let mut tensors = header.tensors(&wanted, &mut hasher)?;
        let bert = Bert::new(&shape, prefix, &mut tensors);
        let mut linear = |name: &str| {
            let weight = tensors.take(&format!("{name}.weight"));
            Linear::new(&weight, tensors.take(&format!("{name}.bias")))
        };
        let (pooler, classifier) = (linear(&pooler), linear(&classifier));
        let (folder, found) = (folder.to_owned(), version(&hasher));
        if let Some(wanted) = settings.version.clone().filter(|wanted| *wanted != found) {
            return Err(ModelError::Changed { folder, wanted, found });
        }
        let name = format!("{}@{found}", settings.name);
        let settings = ModelSettings { version: Some(found), ..settings };
        Ok(CrossEncoder { folder, settings, name, tokens, bert, pooler, classifier })
    }

    /// Whether a folder holds a cross-encoder.
    pub(crate) fn is_in(folder: &Path) -> Result<bool, ModelError> {
        let shape = BertShape::read(folder)?;
        Ok(shape.architectures.iter().any(|name| name == ARCHITECTURE))
    }

    pub(crate) fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// The network's outputs for a batch of pairs.
    fn outputs(&self, pairs: &[&Ids]) -> Vec<f32> {
        let rows = self.bert.encode(pairs);
        let firsts: Vec<f32> =
            spans(pairs).iter().flat_map(|span| rows.row(span.start).to_vec()).collect();
        let firsts = Array2::from_shape_vec((pairs.len(), rows.ncols()), firsts)
            .expect("a row for each pair");
        let pooled = self.pooler.apply(&firsts).mapv_into(f32::tanh);
        self.classifier.apply(&pooled).iter().copied().collect()
    }
}

impl Reranker for CrossEncoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
        let failed =
            |error: ModelError| RerankError { reranker: self.name.clone(), cause: error.into() };
        let ids = texts.iter().map(|text| self.tokens.ids(query, Some(text)));
        let bad = |cause| failed(ModelError::unreadable(&self.folder.join(TOKENIZER), &cause));
        let ids: Vec<Ids> = ids.collect::<Result<_, String>>().map_err(bad)?;
        let batches = batches(&ids);
        let outputs = in_parallel(&batches, |group| {
            self.outputs(&group.iter().map(|at| &ids[*at]).collect::<Vec<&Ids>>())
        });
        let mut scores = vec![Score::ZERO; texts.len()];
        for (at, output) in batches.iter().flatten().zip(outputs.into_iter().flatten()) {
            let share = 1.0 / (1.0 + (-f64::from(output)).exp());
            scores[*at] = Score::new(share).ok_or_else(|| {
                let what = "the model's score of a text is not finite";
                failed(ModelError::weights(&self.folder, what))
            })?;
        }
        Ok(scores)
    }
}
