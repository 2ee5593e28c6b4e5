//! Peers that are written in Rust, for the bench: `rust-peers PEER FOLDER DIMENSIONS` answers each
//! line on its input with one on its output, both JSON. `adapters/rust_peers.py` is the other side.

#![forbid(unsafe_code)]

mod mente;
mod veles;

use std::io::{BufRead, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// A part of a document; its place among all that were added is its name.
#[derive(Deserialize)]
struct Piece {
    text: String,
    vector: Hex,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Asked {
    Add(Vec<Piece>),
    /// All pieces are there: what a peer writes at the end, it writes now.
    Done,
    Find {
        text: String,
        vector: Hex,
        most: usize,
    },
    /// The string for a model, of these places alone, best first.
    Pack {
        places: Vec<usize>,
        budget: usize,
        packing: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ready,
    Found(Vec<usize>),
    Packed { text: String, places: Vec<usize> },
}

/// What the bench needs of a peer.
trait Peer {
    fn add(&mut self, pieces: Vec<Piece>) -> Result<()>;
    fn done(&mut self) -> Result<()>;
    /// Places, the best first.
    fn find(&mut self, text: &str, vector: &[f32], most: usize) -> Result<Vec<usize>>;
    /// The string, and the places in it in order. It follows the `find` of its question.
    fn pack(
        &mut self,
        places: &[usize],
        budget: usize,
        packing: &str,
    ) -> Result<(String, Vec<usize>)>;
}

/// Floats as the hexadecimal digits of their bytes, the lowest first: JSON's own are slow to read.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Hex(Vec<f32>);

impl TryFrom<String> for Hex {
    type Error = anyhow::Error;

    fn try_from(digits: String) -> Result<Hex> {
        let digits = digits.as_bytes();
        ensure!(digits.len().is_multiple_of(8), "a float has 8 digits");
        let floats = digits.chunks_exact(8).map(|float| {
            let mut bytes = [0; 4];
            for (byte, pair) in bytes.iter_mut().zip(float.chunks_exact(2)) {
                *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
            }
            Ok(f32::from_le_bytes(bytes))
        });
        Ok(Hex(floats.collect::<Result<_>>()?))
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder, dimensions] = arguments.as_slice() else {
        bail!("usage: rust-peers PEER FOLDER DIMENSIONS");
    };
    let (folder, dimensions) = (Path::new(folder), dimensions.parse()?);
    let mut peer: Box<dyn Peer> = match name.as_str() {
        "mentedb" => Box::new(mente::Mente::open(folder)?),
        "velesdb" => Box::new(veles::Veles::open(folder, dimensions)?),
        _ => bail!("{name:?} is none of mentedb, velesdb"),
    };
    let mut output = std::io::stdout().lock();
    send(&mut output, &Answer::Ready)?;
    for line in std::io::stdin().lock().lines() {
        let asked = serde_json::from_str(&line?).context("not a line of the protocol")?;
        let answer = match asked {
            Asked::Add(pieces) => peer.add(pieces).map(|()| Answer::Ready)?,
            Asked::Done => peer.done().map(|()| Answer::Ready)?,
            Asked::Find { text, vector, most } => Answer::Found(peer.find(&text, &vector.0, most)?),
            Asked::Pack { places, budget, packing } => {
                let (text, places) = peer.pack(&places, budget, &packing)?;
                Answer::Packed { text, places }
            }
        };
        send(&mut output, &answer)?;
    }
    Ok(())
}

fn send(output: &mut impl Write, answer: &Answer) -> Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    Ok(output.flush()?)
}
