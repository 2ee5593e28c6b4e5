//! MenteDB: its hybrid recall of vectors and BM25 and its context assembler.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use mentedb::context::layout::ScoredMemory;
use mentedb::context::{AssemblyConfig, ContextAssembler, OutputFormat};
use mentedb::index::FusionConfig;
use mentedb::prelude::{AgentId, MemoryId, MemoryNode, MemoryType};
use mentedb::{CognitiveConfig, MenteDb};

use crate::{Peer, Piece};

pub(crate) struct Mente {
    store: MenteDb,
    ids: Vec<MemoryId>,
    places: HashMap<MemoryId, usize>,
    /// Of the last question.
    scores: HashMap<usize, f32>,
    opened_at: u64,
}

impl Mente {
    pub(crate) fn open(folder: &Path) -> Result<Mente> {
        // Documents do not replace one another, so that looking for those that do only takes time.
        let config = CognitiveConfig { write_inference: false, ..CognitiveConfig::default() };
        let mut store = MenteDb::open_with_config(folder, config)?;
        // Off unless asked for; by its words, to be tried against ranks alone, and better here.
        let fusion = FusionConfig { magnitude_aware: true, ..FusionConfig::default() };
        store.set_fusion(fusion);
        Ok(Mente {
            store,
            ids: Vec::new(),
            places: HashMap::new(),
            scores: HashMap::new(),
            opened_at: now()?,
        })
    }
}

impl Peer for Mente {
    fn add(&mut self, pieces: Vec<Piece>) -> Result<()> {
        let nodes = pieces.into_iter().map(|piece| {
            let (text, vector) = (piece.text, piece.vector.0);
            let mut node = MemoryNode::new(AgentId::nil(), MemoryType::Semantic, text, vector);
            // A set has no times: what was added first must not have faded a little more.
            node.created_at = self.opened_at;
            node.accessed_at = self.opened_at;
            node
        });
        for id in self.store.store_batch(nodes.collect())? {
            self.places.insert(id, self.ids.len());
            self.ids.push(id);
        }
        Ok(())
    }

    fn done(&mut self) -> Result<()> {
        Ok(self.store.flush()?)
    }

    fn find(&mut self, text: &str, vector: &[f32], most: usize) -> Result<Vec<usize>> {
        let found =
            self.store.recall_hybrid_at(vector, Some(text), most, now()?, None, None, None)?;
        let scored: Vec<(usize, f32)> =
            found.into_iter().map(|(id, score)| (self.places[&id], score)).collect();
        self.scores = scored.iter().copied().collect();
        Ok(scored.into_iter().map(|(place, _)| place).collect())
    }

    fn pack(
        &mut self,
        places: &[usize],
        budget: usize,
        _packing: &str,
    ) -> Result<(String, Vec<usize>)> {
        let memories = places.iter().map(|place| {
            let memory = self.store.get_memory(self.ids[*place])?;
            let score = self.scores.get(place).context("a place that was not found")?;
            Ok(ScoredMemory { memory, score: *score })
        });
        let config = AssemblyConfig {
            token_budget: budget,
            format: OutputFormat::Compact,
            ..AssemblyConfig::default()
        };
        let memories = memories.collect::<Result<_>>()?;
        let window = ContextAssembler::assemble(memories, Vec::new(), &config);
        let packed = window.blocks.iter().flat_map(|block| &block.memories);
        let packed = packed.map(|scored| self.places[&scored.memory.id]).collect();
        Ok((window.format, packed))
    }
}

fn now() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?)
}
