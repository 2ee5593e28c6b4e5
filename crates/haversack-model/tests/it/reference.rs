//! The same network in plain loops and double precision, written from its description and not from
//! the code under test.

use crate::tiny::{HEADS, LAYERS, SIZE, TinyTensors, WIDE};

/// A row for each token.
pub(crate) fn encode(tensors: &TinyTensors, ids: &[usize], types: &[usize]) -> Vec<Vec<f64>> {
    let of = |name: &str| -> Vec<f64> {
        tensors[name].1.iter().map(|number| f64::from(*number)).collect()
    };
    let [words, places, kinds] = ["word", "position", "token_type"]
        .map(|table| of(&format!("embeddings.{table}_embeddings.weight")));
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (place, (id, kind)) in ids.iter().zip(types).enumerate() {
        let at = |table: &[f64], row: usize, column: usize| table[row * SIZE + column];
        let row =
            (0..SIZE).map(|c| at(&words, *id, c) + at(&places, place, c) + at(&kinds, *kind, c));
        rows.push(norm(tensors, "embeddings.LayerNorm", &row.collect::<Vec<f64>>()));
    }
    for layer in 0..LAYERS {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let each = |part: &str, rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| linear(tensors, &name(part), row)).collect()
        };
        let [q, k, v] =
            ["query", "key", "value"].map(|part| each(&format!("attention.self.{part}"), &rows));
        let mut mixed = vec![vec![0.0; SIZE]; rows.len()];
        for head in 0..HEADS {
            let columns = head * SIZE / HEADS..(head + 1) * SIZE / HEADS;
            for token in 0..rows.len() {
                let alike = |other: usize| -> f64 {
                    let dot: f64 = columns.clone().map(|c| q[token][c] * k[other][c]).sum();
                    (dot / ((SIZE / HEADS) as f64).sqrt()).exp()
                };
                let weights: Vec<f64> = (0..rows.len()).map(alike).collect();
                let all: f64 = weights.iter().sum();
                for column in columns.clone() {
                    mixed[token][column] =
                        weights.iter().zip(&v).map(|(weight, v)| weight / all * v[column]).sum();
                }
            }
        }
        let attended = each("attention.output.dense", &mixed);
        let attended = joined(tensors, &name("attention.output.LayerNorm"), &attended, &rows);
        let wide: Vec<Vec<f64>> = each("intermediate.dense", &attended)
            .into_iter()
            .map(|row| row.into_iter().map(gelu).collect())
            .collect();
        assert_eq!(wide[0].len(), WIDE);
        let narrow = each("output.dense", &wide);
        rows = joined(tensors, &name("output.LayerNorm"), &narrow, &attended);
    }
    rows
}

/// A layer's output for one row.
pub(crate) fn linear(tensors: &TinyTensors, name: &str, row: &[f64]) -> Vec<f64> {
    let weight = &tensors[&format!("{name}.weight")].1;
    let bias = &tensors[&format!("{name}.bias")].1;
    let output = |at: usize| -> f64 {
        let products =
            row.iter().enumerate().map(|(c, x)| f64::from(weight[at * row.len() + c]) * x);
        products.sum::<f64>() + f64::from(bias[at])
    };
    (0..bias.len()).map(output).collect()
}

fn joined(
    tensors: &TinyTensors,
    name: &str,
    one: &[Vec<f64>],
    other: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let sum = |(one, other): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        one.iter().zip(other).map(|(a, b)| a + b).collect()
    };
    one.iter().zip(other).map(|rows| norm(tensors, name, &sum(rows))).collect()
}

fn norm(tensors: &TinyTensors, name: &str, row: &[f64]) -> Vec<f64> {
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let weight = &tensors[&format!("{name}.weight")].1;
    let bias = &tensors[&format!("{name}.bias")].1;
    let scaled = |(at, x): (usize, &f64)| {
        (x - mean) / (variance + 1e-12).sqrt() * f64::from(weight[at]) + f64::from(bias[at])
    };
    row.iter().enumerate().map(scaled).collect()
}

/// By the series of the error function, which converges for what occurs here.
fn gelu(x: f64) -> f64 {
    let z = x / 2f64.sqrt();
    assert!(z.abs() < 5.0, "the series is for small numbers");
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    x * 0.5 * (1.0 + 2.0 / std::f64::consts::PI.sqrt() * sum)
}

/// The mean of rows, at unit length.
pub(crate) fn mean(rows: &[Vec<f64>]) -> Vec<f64> {
    unit((0..SIZE).map(|c| rows.iter().map(|row| row[c]).sum()).collect())
}

pub(crate) fn unit(row: Vec<f64>) -> Vec<f64> {
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.into_iter().map(|x| x / length).collect()
}
