//! The BERT encoder: token ids to one row per token.
//!
//! Texts of a batch are concatenated without padding; each text attends only to itself.

use std::fmt;
use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use crate::math::{Norm, add_and_norm, add_bias, add_bias_and_gelu, norm, softmax};
use crate::settings::BertShape;
use crate::weights::{Header, TensorSpec, Tensors};

/// The token ids of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) ids: Vec<u32>,
    /// Which of two texts a token belongs to.
    pub(crate) types: Vec<u32>,
}

/// A layer that multiplies by a matrix and adds a bias.
pub(crate) struct Linear {
    /// A column for each output: files have a row for each, but a product reads many outputs of one
    /// input at a time. Side by side, a query takes half as long.
    weight: Array2<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// From a row of weights for each output.
    pub(crate) fn new(weight: &[f32], bias: Vec<f32>) -> Linear {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        let weight = Array2::from_shape_vec((inputs, outputs), transposed(weight, outputs, inputs))
            .expect("shapes were checked");
        Linear { weight, bias }
    }

    /// The product without the bias.
    fn product(&self, rows: &Array2<f32>) -> Array2<f32> {
        let mut out = Array2::zeros((rows.nrows(), self.bias.len()));
        general_mat_mul(1.0, rows, &self.weight, 0.0, &mut out);
        out
    }

    /// Product and bias.
    pub(crate) fn apply(&self, rows: &Array2<f32>) -> Array2<f32> {
        let mut out = self.product(rows);
        add_bias(numbers(&mut out), &self.bias);
        out
    }
}

/// A matrix with its rows as columns, in blocks that a cache holds.
fn transposed(numbers: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    const BLOCK: usize = 32;
    let mut out = vec![0.0; numbers.len()];
    for row_start in (0..rows).step_by(BLOCK) {
        for column_start in (0..columns).step_by(BLOCK) {
            for row in row_start..rows.min(row_start + BLOCK) {
                for column in column_start..columns.min(column_start + BLOCK) {
                    out[column * rows + row] = numbers[row * columns + column];
                }
            }
        }
    }
    out
}

/// The numbers of a matrix, row by row.
fn numbers(matrix: &mut Array2<f32>) -> &mut [f32] {
    matrix.as_slice_mut().expect("matrices are made row by row")
}

struct EncoderLayer {
    /// Queries, keys and values in one.
    attention: Linear,
    attended: Linear,
    attended_norm: Norm,
    widen: Linear,
    narrow: Linear,
    narrow_norm: Norm,
}

/// The encoder.
pub(crate) struct Bert {
    size: usize,
    heads: usize,
    words: Vec<f32>,
    positions: Vec<f32>,
    types: Vec<f32>,
    norm: Norm,
    layers: Vec<EncoderLayer>,
}

impl fmt::Debug for Bert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bert { size, layers, .. } = self;
        f.debug_struct("Bert").field("size", size).field("layers", &layers.len()).finish()
    }
}

/// The prefix of the encoder's tensor names in a file.
pub(crate) fn prefix(header: &Header) -> &'static str {
    // Files with a head on top of the encoder use a prefix.
    if header.has("bert.embeddings.word_embeddings.weight") { "bert." } else { "" }
}

/// The tensors of an encoder.
pub(crate) fn wanted(shape: &BertShape, prefix: &str) -> Vec<TensorSpec> {
    let (size, wide) = (shape.hidden_size, shape.intermediate_size);
    let mut all: Vec<TensorSpec> = Vec::new();
    let mut one = |name: String, shape: Vec<usize>| all.push((format!("{prefix}{name}"), shape));
    let tables = [
        ("word", shape.vocab_size),
        ("position", shape.max_position_embeddings),
        ("token_type", shape.type_vocab_size),
    ];
    for (table, rows) in tables {
        one(format!("embeddings.{table}_embeddings.weight"), vec![rows, size]);
    }
    let mut pair = |name: String, weight: Vec<usize>| {
        one(format!("{name}.bias"), vec![weight[0]]);
        one(format!("{name}.weight"), weight);
    };
    pair("embeddings.LayerNorm".to_owned(), vec![size]);
    for layer in 0..shape.num_hidden_layers {
        let layer = format!("encoder.layer.{layer}");
        for part in ["query", "key", "value"] {
            pair(format!("{layer}.attention.self.{part}"), vec![size, size]);
        }
        pair(format!("{layer}.attention.output.dense"), vec![size, size]);
        pair(format!("{layer}.attention.output.LayerNorm"), vec![size]);
        pair(format!("{layer}.intermediate.dense"), vec![wide, size]);
        pair(format!("{layer}.output.dense"), vec![size, wide]);
        pair(format!("{layer}.output.LayerNorm"), vec![size]);
    }
    all
}

impl Bert {
    /// Takes the tensors of [`wanted`].
    pub(crate) fn new(shape: &BertShape, prefix: &str, tensors: &mut Tensors) -> Bert {
        let mut take = |name: &str| tensors.take(&format!("{prefix}{name}"));
        let mut pair =
            |name: &str| (take(&format!("{name}.weight")), take(&format!("{name}.bias")));
        let epsilon = shape.layer_norm_eps;
        let as_norm = |(weight, bias): (Vec<f32>, Vec<f32>)| Norm { weight, bias, epsilon };
        let as_linear = |(weight, bias): (Vec<f32>, Vec<f32>)| Linear::new(&weight, bias);
        let mut layers = Vec::with_capacity(shape.num_hidden_layers);
        for layer in 0..shape.num_hidden_layers {
            let layer = format!("encoder.layer.{layer}");
            let mut attention = (Vec::new(), Vec::new());
            for part in ["query", "key", "value"] {
                let (weight, bias) = pair(&format!("{layer}.attention.self.{part}"));
                attention.0.extend(weight);
                attention.1.extend(bias);
            }
            layers.push(EncoderLayer {
                attention: as_linear(attention),
                attended: as_linear(pair(&format!("{layer}.attention.output.dense"))),
                attended_norm: as_norm(pair(&format!("{layer}.attention.output.LayerNorm"))),
                widen: as_linear(pair(&format!("{layer}.intermediate.dense"))),
                narrow: as_linear(pair(&format!("{layer}.output.dense"))),
                narrow_norm: as_norm(pair(&format!("{layer}.output.LayerNorm"))),
            });
        }
        let norm = as_norm(pair("embeddings.LayerNorm"));
        Bert {
            size: shape.hidden_size,
            heads: shape.num_attention_heads,
            words: take("embeddings.word_embeddings.weight"),
            positions: take("embeddings.position_embeddings.weight"),
            types: take("embeddings.token_type_embeddings.weight"),
            norm,
            layers,
        }
    }

    /// One row per token, texts concatenated. Ids, types and lengths must be within the tables.
    pub(crate) fn encode(&self, texts: &[&Ids]) -> Array2<f32> {
        let spans = spans(texts);
        let mut rows = self.embeddings(texts);
        for layer in &self.layers {
            let attended = self.attend(&layer.attention.apply(&rows), &spans);
            let mut attended = layer.attended.product(&attended);
            let (bias, norm) = (&layer.attended.bias, &layer.attended_norm);
            add_and_norm(numbers(&mut attended), bias, numbers(&mut rows), norm);
            let mut wide = layer.widen.product(&attended);
            add_bias_and_gelu(numbers(&mut wide), &layer.widen.bias);
            rows = layer.narrow.product(&wide);
            let (bias, norm) = (&layer.narrow.bias, &layer.narrow_norm);
            add_and_norm(numbers(&mut rows), bias, numbers(&mut attended), norm);
        }
        rows
    }

    /// The sum of word, position and type embeddings of each token.
    fn embeddings(&self, texts: &[&Ids]) -> Array2<f32> {
        let size = self.size;
        let mut all =
            Vec::with_capacity(texts.iter().map(|text| text.ids.len()).sum::<usize>() * size);
        for text in texts {
            for (position, (id, kind)) in text.ids.iter().zip(&text.types).enumerate() {
                let word = &self.words[*id as usize * size..][..size];
                let place = &self.positions[position * size..][..size];
                let kind = &self.types[*kind as usize * size..][..size];
                all.extend(word.iter().zip(place).zip(kind).map(|((w, p), k)| w + k + p));
            }
        }
        norm(&mut all, &self.norm);
        Array2::from_shape_vec((all.len() / size, size), all).expect("whole rows were added")
    }

    /// Attention of each token over the tokens of its own text.
    fn attend(&self, qkv: &Array2<f32>, spans: &[Range<usize>]) -> Array2<f32> {
        let (size, width) = (self.size, self.size / self.heads);
        #[expect(clippy::cast_precision_loss, reason = "a head has a few hundred numbers")]
        let scale = 1.0 / (width as f32).sqrt();
        let longest = spans.iter().map(Range::len).max().unwrap_or(0);
        let mut likeness = vec![0.0; longest * longest];
        let mut out = Array2::zeros((qkv.nrows(), size));
        for span in spans {
            let length = span.len();
            let shares = &mut likeness[..length * length];
            for head in 0..self.heads {
                let part = |which: usize| {
                    let start = which * size + head * width;
                    part(qkv.view(), span, start..start + width)
                };
                let (query, key, value) = (part(0), part(1), part(2));
                let mut matrix = ArrayViewMut2::from_shape((length, length), &mut *shares)
                    .expect("it has as many numbers");
                general_mat_mul(1.0, &query, &key.t(), 0.0, &mut matrix);
                softmax(shares, length, scale);
                let matrix = ArrayView2::from_shape((length, length), &*shares)
                    .expect("it has as many numbers");
                let mut out = out.view_mut();
                out.slice_axis_inplace(Axis(0), span.clone().into());
                out.slice_axis_inplace(Axis(1), (head * width..(head + 1) * width).into());
                general_mat_mul(1.0, &matrix, &value, 0.0, &mut out);
            }
        }
        out
    }
}

/// Some rows and columns of a matrix.
pub(crate) fn part<'m>(
    mut matrix: ArrayView2<'m, f32>,
    rows: &Range<usize>,
    columns: Range<usize>,
) -> ArrayView2<'m, f32> {
    matrix.slice_axis_inplace(Axis(0), rows.clone().into());
    matrix.slice_axis_inplace(Axis(1), columns.into());
    matrix
}

/// The rows of each text.
pub(crate) fn spans(texts: &[&Ids]) -> Vec<Range<usize>> {
    let mut end = 0;
    texts
        .iter()
        .map(|text| {
            let start = end;
            end += text.ids.len();
            start..end
        })
        .collect()
}
