//! Rerankers: models that read a query and a text together and say how well they belong.

use std::fmt;
use std::path::Path;

use blake3::Hasher;
use haversack_core::units::Score;
use ndarray::Array2;

use crate::ModelError;
use crate::bert::{Bert, Ids, Linear, prefix, spans, wanted};
use crate::settings::{CONFIG, Settings, Shape};
use crate::tokens::{TOKENIZER, Tokens};
use crate::transformer::{groups, in_parallel};
use crate::weights::Header;

const POOLER: &str = "pooler.dense";
const CLASSIFIER: &str = "classifier";

/// Scores texts for a query. It sees both at once, which is better and far slower than comparing
/// vectors: it is for the few that a search has found.
pub trait Reranker: Send + Sync + fmt::Debug {
    /// What scores.
    fn name(&self) -> &str;

    /// One score between 0 and 1 for each text, in the order of the texts.
    ///
    /// # Errors
    ///
    /// When one text fails, all fail.
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, ModelError>;
}

/// A BERT with one output on top of its first token, from a folder as of an
/// [embedder](crate::Transformer).
pub struct CrossEncoder {
    folder: std::path::PathBuf,
    name: String,
    tokens: Tokens,
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
        let shape = Shape::read(folder)?;
        let settings = Settings::read(folder, &shape)?;
        let header = Header::read(folder)?;
        let prefix = prefix(&header);
        let outputs = header.shape(&format!("{CLASSIFIER}.weight")).map(|shape| shape[0]);
        if outputs != Some(1) {
            let found = outputs.map_or("no".to_owned(), |outputs| outputs.to_string());
            let architecture = shape.architectures.first().map_or("a model", |name| &**name);
            let what = format!(
                "{architecture} has {found} classifier outputs; a reranker has one \
                 (BertForSequenceClassification with one label)"
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
        let tokens = Tokens::read(folder, &shape, settings.tokens_max, &mut hasher)?;
        let mut tensors = header.tensors(&wanted, &mut hasher)?;
        let bert = Bert::new(&shape, prefix, &mut tensors);
        let mut linear = |name: &str| {
            let weight = tensors.take(&format!("{name}.weight"));
            Linear::new(&weight, tensors.take(&format!("{name}.bias")))
        };
        let (pooler, classifier) = (linear(&pooler), linear(&classifier));
        let folder = folder.to_owned();
        Ok(CrossEncoder { folder, name: settings.name, tokens, bert, pooler, classifier })
    }

    /// The outputs of pairs that go through the network together.
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

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, ModelError> {
        let ids = texts.iter().map(|text| self.tokens.ids(query, Some(text)));
        let bad = |cause| ModelError::unreadable(&self.folder.join(TOKENIZER), &cause);
        let ids: Vec<Ids> = ids.collect::<Result<_, String>>().map_err(bad)?;
        let groups = groups(&ids);
        let outputs = in_parallel(&groups, |group| {
            self.outputs(&group.iter().map(|at| &ids[*at]).collect::<Vec<&Ids>>())
        });
        let mut scores = vec![Score::ZERO; texts.len()];
        for (at, output) in groups.iter().flatten().zip(outputs.into_iter().flatten()) {
            let share = 1.0 / (1.0 + (-f64::from(output)).exp());
            scores[*at] = Score::new(share).ok_or_else(|| {
                ModelError::weights(&self.folder, "the model's score of a text is not finite")
            })?;
        }
        Ok(scores)
    }
}
