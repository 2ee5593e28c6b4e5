//! VelesDB: the hybrid search of velesdb-core and the context compiler of velesdb-memory.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tiktoken::CoreBpe;
use velesdb_core::{Database, DistanceMetric, Point, VectorCollection};
use velesdb_memory::context::{
    CompilePolicy, CompileRequest, ContextCompiler, ContextFragment, TokenEstimator,
};

use crate::{Peer, Piece};

pub(crate) struct Veles {
    pieces: VectorCollection,
    texts: Vec<String>,
    query: String,
    exact: ContextCompiler,
    /// With its own estimate of tokens.
    estimating: ContextCompiler,
    _database: Database,
}

/// The vocabulary that the bench counts by.
struct Exact(&'static CoreBpe);

impl TokenEstimator for Exact {
    fn estimate(&self, text: &str) -> u64 {
        self.0.count(text) as u64
    }

    fn bytes_per_token_hint(&self) -> u64 {
        4
    }
}

impl Veles {
    pub(crate) fn open(folder: &Path, dimensions: usize) -> Result<Veles> {
        let database = Database::open(folder)?;
        database.create_collection("pieces", dimensions, DistanceMetric::Cosine)?;
        let pieces = database.get_vector_collection("pieces").context("no collection")?;
        let vocabulary = tiktoken::get_encoding("o200k_base").context("no vocabulary")?;
        // Read before any time is taken.
        ensure!(vocabulary.count("a word") == 2, "the vocabulary is another one");
        let [exact, estimating] = [(); 2].map(|()| ContextCompiler::new(CompilePolicy::default()));
        Ok(Veles {
            pieces,
            texts: Vec::new(),
            query: String::new(),
            exact: exact.with_estimator(Box::new(Exact(vocabulary))),
            estimating,
            _database: database,
        })
    }

    /// In order of rank. Unless all are marked verbatim, those with numbers, links, code or a "do
    /// not" come before all others; unless they have priorities, words shared with the question
    /// decide among the rest.
    fn fragment(&self, rank: usize, place: usize) -> ContextFragment {
        ContextFragment {
            id: Some(place as u64),
            content: self.texts[place].clone(),
            path: None,
            kind: None,
            priority: Some(u8::MAX - u8::try_from(rank).unwrap_or(u8::MAX)),
            metadata: json!({"verbatim": true}).as_object().cloned(),
            media: None,
        }
    }
}

impl Peer for Veles {
    fn add(&mut self, pieces: Vec<Piece>) -> Result<()> {
        let first = self.texts.len();
        let mut points = Vec::with_capacity(pieces.len());
        for (place, piece) in (first..).zip(pieces) {
            let payload = json!({"text": piece.text});
            points.push(Point::new(place as u64, piece.vector.0, Some(payload)));
            self.texts.push(piece.text);
        }
        self.pieces.upsert_bulk(&points)?;
        Ok(())
    }

    fn done(&mut self) -> Result<()> {
        Ok(self.pieces.flush()?)
    }

    fn find(&mut self, text: &str, vector: &[f32], most: usize) -> Result<Vec<usize>> {
        text.clone_into(&mut self.query);
        let found = self.pieces.hybrid_search(vector, text, most, None)?;
        Ok(found.into_iter().map(|hit| usize::try_from(hit.point.id)).collect::<Result<_, _>>()?)
    }

    fn pack(
        &mut self,
        places: &[usize],
        budget: usize,
        packing: &str,
    ) -> Result<(String, Vec<usize>)> {
        let fragments = places.iter().enumerate();
        let request = CompileRequest {
            query: self.query.clone(),
            fragments: fragments.map(|(rank, place)| self.fragment(rank, *place)).collect(),
            project: None,
            target_model: None,
            token_budget: budget as u64,
            memory_scope: None,
            policy: None,
        };
        let compiler = if packing == "estimated" { &self.estimating } else { &self.exact };
        let compiled = compiler.compile(&request)?;
        let ids = compiled.sections.iter().flat_map(|section| &section.fragment_ids);
        let packed = ids.map(|id| usize::try_from(*id)).collect::<Result<_, _>>()?;
        Ok((compiled.content, packed))
    }
}
