//! Search in three stages: binary codes, int8 codes, exact vectors. Each stage selects the
//! candidates of the next; beyond the best, the int8 scores stand.
//!
//! The selection of a stage depends only on the set of readable slots. The first keeps every slot
//! up to a distance; the later ones use a total order that ends in the slot's own numbers. No stage
//! counts, averages or orders by anything that a viewer cannot read.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::error::Error;

use super::codes::{Codes, GROUP, QueryCodes};
use super::error::VectorSearchError;
use super::kernels::{self, Lanes};
use super::reader::VectorReader;
use super::{VectorHit, VectorSlot};
use crate::embedded::row::{Bitmap, Row};

/// Slots per kernel call.
const STRIDE: usize = 1_024;

/// Exact vectors in memory at a time.
const EXACT_BATCH: usize = 1_024;

/// The number of best hits scored with exact vectors, each of which is read from the store. Beyond
/// them int8 scores are precise enough for fusion: they are off by at most two thousandths.
const EXACT_MAX: usize = 64;

/// How thorough a search is. Results are ordered, the best 64 by exact scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanEffort {
    /// Binary codes first: at least this many slots, and ties with the last of them, are rescored
    /// with int8 codes. Raised to eight times the limit, and for more than 100,000 readable rows.
    /// With the default of 1,000 about 99 % of the best 50 are found.
    Fast {
        /// The least number of slots, if there are as many.
        binary: usize,
    },
    /// Int8 codes of all readable slots.
    Full,
    /// Exact vectors of all readable slots. For small sets and for comparison.
    Exact,
}

impl Default for ScanEffort {
    fn default() -> ScanEffort {
        ScanEffort::Fast { binary: 1_000 }
    }
}

/// Fetches the exact vectors with these numbers, in this order.
pub type FetchVectors<'a, E> = dyn Fn(&[u32]) -> Result<Vec<Vec<f32>>, E> + 'a;

impl VectorReader {
    /// The best hits among the rows of a bitmap, best first; ties go by [`VectorSlot::tie`], chunk
    /// and row. `exact` fetches the vectors of the last stage by number, in the same order. Zero
    /// vectors are never hits.
    ///
    /// # Errors
    ///
    /// If the query has the wrong length or is not finite, or if `exact` fails or returns vectors
    /// of the wrong number or length.
    pub fn search<E: Error + 'static>(
        &self,
        query: &[f32],
        among: &Bitmap,
        effort: ScanEffort,
        limit: usize,
        exact: &FetchVectors<'_, E>,
    ) -> Result<Vec<VectorHit>, VectorSearchError<E>> {
        let wanted = self.state.layout.dimensions;
        if query.len() != wanted {
            return Err(VectorSearchError::QueryLength { found: query.len(), wanted });
        }
        if !query.iter().all(|value| value.is_finite()) {
            return Err(VectorSearchError::QueryNotFinite);
        }
        if limit == 0 || query.iter().all(|value| value.abs() <= 0.0) {
            return Ok(Vec::new());
        }
        let codes = QueryCodes::from_vector(query);
        let rescored = limit.saturating_add(limit / 8).saturating_add(8);
        let mut by_bytes = match effort {
            ScanEffort::Fast { binary } => {
                let near =
                    self.nearest_slots(&codes, among, first_stage_size(binary, limit, among));
                self.rescore(&codes, &near, rescored)
            }
            ScanEffort::Full => self.rescore(&codes, &self.readable_slots(among), rescored),
            ScanEffort::Exact => return exact_scores(query, self.all_slots(among), limit, exact),
        };
        let rest = by_bytes.split_off(by_bytes.len().min(EXACT_MAX));
        let slots = by_bytes.into_iter().map(|hit| hit.slot).collect();
        let mut hits = exact_scores(query, slots, limit, exact)?;
        hits.extend(rest.into_iter().filter(|hit| hit.score.abs() > 0.0));
        hits.sort_unstable_by(by_score);
        hits.truncate(limit);
        Ok(hits)
    }

    /// For each part, the slots within the smallest distance that holds at least `least` of them.
    fn nearest_slots(&self, query: &QueryCodes, among: &Bitmap, least: usize) -> Vec<Vec<u32>> {
        let mut nearest = NearestSlots::new(self.state.layout.distance_max(), least);
        let mut found = Vec::new();
        for codes in self.state.code_parts() {
            let mut part = Vec::new();
            for from in (0..codes.len()).step_by(STRIDE) {
                nearest.scan(query, &codes, among, from, &mut part);
            }
            found.push(part);
        }
        let within = |(distance, at): &(u32, u32)| (*distance <= nearest.cut).then_some(*at);
        found.iter().map(|part| part.iter().filter_map(within).collect()).collect()
    }

    fn readable_slots(&self, among: &Bitmap) -> Vec<Vec<u32>> {
        let part = |codes: Codes<'_>| {
            let rows = codes.rows.iter().zip(0_u32..);
            rows.filter(|(row, _)| contains_row(among, row)).map(|(_, at)| at).collect()
        };
        self.state.code_parts().map(part).collect()
    }

    fn rescore(&self, query: &QueryCodes, picked: &[Vec<u32>], keep: usize) -> Vec<VectorHit> {
        let mut best = BestHits::new(keep);
        let mut products = Vec::new();
        for (codes, picked) in self.state.code_parts().zip(picked) {
            for picked in picked.chunks(STRIDE) {
                kernels::int8_products(&query.values, codes.int8, picked, &mut products);
                for (at, product) in picked.iter().zip(&products) {
                    let at = *at as usize;
                    #[expect(clippy::cast_precision_loss, reason = "rounded alike everywhere")]
                    let score = *product as f32 * codes.scale(at) * query.scale;
                    if codes.scale(at) > 0.0 && best.accepts(score) {
                        best.offer(VectorHit { slot: codes.slot(at), score });
                    }
                }
            }
        }
        best.finish()
    }

    fn all_slots(&self, among: &Bitmap) -> Vec<VectorSlot> {
        let readable = self.readable_slots(among);
        let parts = self.state.code_parts().zip(&readable);
        parts
            .flat_map(|(codes, picked)| picked.iter().map(move |at| codes.slot(*at as usize)))
            .collect()
    }
}

/// The number of slots that the first stage keeps. More rows mean more near misses, so it grows
/// with the square root of the number of readable rows.
fn first_stage_size(binary: usize, limit: usize, among: &Bitmap) -> usize {
    let tenths = (among.len() / 1_000).isqrt().max(10);
    binary.max(limit.saturating_mul(8)).saturating_mul(tenths) / 10
}

/// Tracks the distance up to which slots can still be among the nearest.
struct NearestSlots {
    least: usize,
    /// The number of slots at each distance up to the cut.
    counts: Vec<usize>,
    within: usize,
    cut: u32,
    lanes: Vec<Lanes>,
}

impl NearestSlots {
    fn new(distance_max: usize, least: usize) -> NearestSlots {
        NearestSlots {
            least: least.max(1),
            counts: vec![0; distance_max + 1],
            within: 0,
            cut: u32::try_from(distance_max).unwrap_or(u32::MAX),
            lanes: vec![[0; GROUP]; STRIDE / GROUP],
        }
    }

    fn scan(
        &mut self,
        query: &QueryCodes,
        codes: &Codes<'_>,
        among: &Bitmap,
        from: usize,
        found: &mut Vec<(u32, u32)>,
    ) {
        let mut readable = [0_u8; STRIDE / GROUP];
        let mut near = [0_u8; STRIDE / GROUP];
        let rows = &codes.rows[from..codes.len().min(from + STRIDE)];
        kernels::mark_readable(among, rows, &mut readable);
        let n_groups = rows.len().div_ceil(GROUP);
        let bytes = codes.layout.group_bytes();
        let groups = &codes.binary[from / GROUP * bytes..][..n_groups * bytes];
        kernels::mark_near(&query.planes, groups, &readable, self.cut, &mut self.lanes, &mut near);
        for (group, mut mask) in near[..n_groups].iter().copied().enumerate() {
            while mask != 0 {
                let lane = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let (distance, at) = (self.lanes[group][lane], from + group * GROUP + lane);
                if distance <= self.cut && codes.scale(at) > 0.0 {
                    self.count(distance);
                    found.push((distance, u32::try_from(at).unwrap_or(u32::MAX)));
                }
            }
        }
    }

    /// Counts a slot and lowers the cut while enough slots are nearer.
    fn count(&mut self, distance: u32) {
        self.counts[distance as usize] += 1;
        self.within += 1;
        while self.cut > 0 && self.within - self.counts[self.cut as usize] >= self.least {
            self.within -= self.counts[self.cut as usize];
            self.cut -= 1;
        }
    }
}

/// The best hits so far, under the total order.
struct BestHits {
    limit: usize,
    hits: Vec<VectorHit>,
    floor: f32,
}

impl BestHits {
    fn new(limit: usize) -> BestHits {
        BestHits { limit, hits: Vec::new(), floor: f32::NEG_INFINITY }
    }

    fn accepts(&self, score: f32) -> bool {
        score >= self.floor
    }

    fn offer(&mut self, hit: VectorHit) {
        self.hits.push(hit);
        if self.hits.len() >= self.limit.saturating_mul(2).max(256) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.hits.len() > self.limit {
            let (_, last, _) = self.hits.select_nth_unstable_by(self.limit - 1, by_score);
            self.floor = last.score;
            self.hits.truncate(self.limit);
        }
    }

    fn finish(mut self) -> Vec<VectorHit> {
        self.shrink();
        self.hits.sort_unstable_by(by_score);
        self.hits
    }
}

/// The total order of hits: best first, then by the slot's own numbers.
fn by_score(a: &VectorHit, b: &VectorHit) -> Ordering {
    let key = |slot: &VectorSlot| (slot.tie, slot.chunk, slot.row, slot.embedding);
    b.score.total_cmp(&a.score).then_with(|| key(&a.slot).cmp(&key(&b.slot)))
}

fn exact_scores<E: Error + 'static>(
    query: &[f32],
    mut slots: Vec<VectorSlot>,
    limit: usize,
    exact: &FetchVectors<'_, E>,
) -> Result<Vec<VectorHit>, VectorSearchError<E>> {
    let mut best = BestHits::new(limit);
    // Sorted for sequential reads; equal texts share a vector.
    slots.sort_unstable_by_key(|slot| slot.embedding);
    for slots in slots.chunks(EXACT_BATCH) {
        let mut numbers: Vec<u32> = slots.iter().map(|slot| slot.embedding).collect();
        numbers.dedup();
        let vectors = exact(&numbers)
            .map_err(|source| VectorSearchError::Exact { count: numbers.len(), source })?;
        if vectors.len() != numbers.len() {
            let (found, wanted) = (vectors.len(), numbers.len());
            return Err(VectorSearchError::ExactCount { found, wanted });
        }
        let mut scores = HashMap::with_capacity(numbers.len());
        for (embedding, vector) in numbers.into_iter().zip(&vectors) {
            let score =
                if vector.len() == query.len() { dot_product(query, vector) } else { f32::NAN };
            if !score.is_finite() {
                let (found, wanted) = (vector.len(), query.len());
                return Err(VectorSearchError::ExactDamaged { embedding, found, wanted });
            }
            scores.insert(embedding, score);
        }
        for slot in slots {
            let score = scores[&slot.embedding];
            if score.abs() > 0.0 && best.accepts(score) {
                best.offer(VectorHit { slot: *slot, score });
            }
        }
    }
    Ok(best.finish())
}

/// A dot product with a fixed order of additions: bit-identical on every processor.
fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += a * b;
    }
    sums.iter().sum()
}

#[inline]
fn contains_row(among: &Bitmap, row: &[u8; 4]) -> bool {
    among.contains(Row::new(u32::from_le_bytes(*row)))
}
