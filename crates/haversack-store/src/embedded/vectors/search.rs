//! Search in three stages: bits, bytes, exact vectors. Each keeps what the next looks at; what is far
//! down a long list is left as the bytes measure it.
//!
//! What a stage keeps depends on the readable slots alone, as a set. The first keeps every slot up
//! to a distance; the later ones follow a total order that ends in the slot's own numbers. No
//! stage counts, averages or orders by anything that a viewer cannot read.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::error::Error;

use super::codes::{Codes, GROUP, QueryCodes};
use super::error::SearchError;
use super::kernels::{self, Lanes};
use super::reader::VectorReader;
use super::{Hit, Slot};
use crate::embedded::row::{Bitmap, Row};

/// Slots that one call of a kernel looks at.
const STRIDE: usize = 1_024;

/// Exact vectors that are in memory at a time.
const EXACT_BATCH: usize = 1_024;

/// How many of the best are measured by their exact vectors, each of which is read from the store.
/// Behind them, where lists are only mixed, bytes tell enough: they are off by two thousandths at worst.
const EXACT_MAX: usize = 64;

/// How thorough a search is. What it finds is in order, the best 64 of it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Bits first: at least this many slots, and those as near as the last of them, go on to the
    /// bytes. Raised to eight times the limit, and for more than 100,000 readable rows. With the
    /// default of 1,000 about 99 % of the best 50 are found.
    Fast {
        /// The least number of slots, if there are as many.
        binary: usize,
    },
    /// Bytes of all readable slots.
    Full,
    /// Exact vectors of all readable slots. For small sets and for comparison.
    Exact,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort::Fast { binary: 1_000 }
    }
}

/// Fetches the exact vectors with these numbers, in this order.
pub type Fetch<'a, E> = dyn Fn(&[u32]) -> Result<Vec<Vec<f32>>, E> + 'a;

impl VectorReader {
    /// The best hits among the rows of a bitmap, best first; ties go by [`Slot::tie`], chunk and
    /// row. `exact` is asked for the vectors of the last stage by their numbers and answers in
    /// the same order. Vectors without a direction are never hits.
    ///
    /// # Errors
    ///
    /// If the query has the wrong length or is not finite, or if `exact` fails or answers with
    /// what cannot be the vectors asked for.
    pub fn search<E: Error + 'static>(
        &self,
        query: &[f32],
        among: &Bitmap,
        effort: Effort,
        limit: usize,
        exact: &Fetch<'_, E>,
    ) -> Result<Vec<Hit>, SearchError<E>> {
        let wanted = self.state.layout.dimensions;
        if query.len() != wanted {
            return Err(SearchError::QueryLength { found: query.len(), wanted });
        }
        if !query.iter().all(|value| value.is_finite()) {
            return Err(SearchError::QueryNotFinite);
        }
        if limit == 0 || query.iter().all(|value| value.abs() <= 0.0) {
            return Ok(Vec::new());
        }
        let codes = QueryCodes::of(query);
        let rescored = limit.saturating_add(limit / 8).saturating_add(8);
        let mut by_bytes = match effort {
            Effort::Fast { binary } => {
                let near = self.near(&codes, among, breadth(binary, limit, among));
                self.rescore(&codes, &near, rescored)
            }
            Effort::Full => self.rescore(&codes, &self.readable(among), rescored),
            Effort::Exact => return exact_scores(query, self.all(among), limit, exact),
        };
        let rest = by_bytes.split_off(by_bytes.len().min(EXACT_MAX));
        let slots = by_bytes.into_iter().map(|hit| hit.slot).collect();
        let mut hits = exact_scores(query, slots, limit, exact)?;
        hits.extend(rest.into_iter().filter(|hit| hit.score.abs() > 0.0));
        hits.sort_unstable_by(order);
        hits.truncate(limit);
        Ok(hits)
    }

    /// For each part, the slots within the least distance that holds `least` of them.
    fn near(&self, query: &QueryCodes, among: &Bitmap, least: usize) -> Vec<Vec<u32>> {
        let mut nearest = Nearest::new(self.state.layout.distance_max(), least);
        let mut found = Vec::new();
        for codes in self.state.parts() {
            let mut part = Vec::new();
            for from in (0..codes.len()).step_by(STRIDE) {
                nearest.scan(query, &codes, among, from, &mut part);
            }
            found.push(part);
        }
        let within = |(distance, at): &(u32, u32)| (*distance <= nearest.cut).then_some(*at);
        found.iter().map(|part| part.iter().filter_map(within).collect()).collect()
    }

    fn readable(&self, among: &Bitmap) -> Vec<Vec<u32>> {
        let part = |codes: Codes<'_>| {
            let rows = codes.rows.iter().zip(0_u32..);
            rows.filter(|(row, _)| contains(among, row)).map(|(_, at)| at).collect()
        };
        self.state.parts().map(part).collect()
    }

    fn rescore(&self, query: &QueryCodes, picked: &[Vec<u32>], keep: usize) -> Vec<Hit> {
        let mut best = Best::new(keep);
        let mut products = Vec::new();
        for (codes, picked) in self.state.parts().zip(picked) {
            for picked in picked.chunks(STRIDE) {
                kernels::products(&query.values, codes.int8, picked, &mut products);
                for (at, product) in picked.iter().zip(&products) {
                    let at = *at as usize;
                    #[expect(clippy::cast_precision_loss, reason = "rounded alike everywhere")]
                    let score = *product as f32 * codes.scale(at) * query.scale;
                    if codes.scale(at) > 0.0 && best.wants(score) {
                        best.offer(Hit { slot: codes.slot(at), score });
                    }
                }
            }
        }
        best.finish()
    }

    fn all(&self, among: &Bitmap) -> Vec<Slot> {
        let readable = self.readable(among);
        let parts = self.state.parts().zip(&readable);
        parts
            .flat_map(|(codes, picked)| picked.iter().map(move |at| codes.slot(*at as usize)))
            .collect()
    }
}

/// How many slots the first stage keeps. Among more rows more come between, so it grows with the
/// square root of what is readable. What is not readable is not counted.
fn breadth(binary: usize, limit: usize, among: &Bitmap) -> usize {
    let tenths = (among.len() / 1_000).isqrt().max(10);
    binary.max(limit.saturating_mul(8)).saturating_mul(tenths) / 10
}

/// The distance up to which slots can still be among the nearest.
struct Nearest {
    least: usize,
    /// How many slots were seen at each distance up to the cut.
    counts: Vec<usize>,
    within: usize,
    cut: u32,
    lanes: Vec<Lanes>,
}

impl Nearest {
    fn new(distance_max: usize, least: usize) -> Nearest {
        Nearest {
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
        kernels::readable(among, rows, &mut readable);
        let n_groups = rows.len().div_ceil(GROUP);
        let bytes = codes.layout.group_bytes();
        let groups = &codes.binary[from / GROUP * bytes..][..n_groups * bytes];
        kernels::near(&query.planes, groups, &readable, self.cut, &mut self.lanes, &mut near);
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

    /// Counts a slot, and lowers the cut while enough slots are nearer.
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
struct Best {
    limit: usize,
    hits: Vec<Hit>,
    floor: f32,
}

impl Best {
    fn new(limit: usize) -> Best {
        Best { limit, hits: Vec::new(), floor: f32::NEG_INFINITY }
    }

    fn wants(&self, score: f32) -> bool {
        score >= self.floor
    }

    fn offer(&mut self, hit: Hit) {
        self.hits.push(hit);
        if self.hits.len() >= self.limit.saturating_mul(2).max(256) {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.hits.len() > self.limit {
            let (_, last, _) = self.hits.select_nth_unstable_by(self.limit - 1, order);
            self.floor = last.score;
            self.hits.truncate(self.limit);
        }
    }

    fn finish(mut self) -> Vec<Hit> {
        self.shrink();
        self.hits.sort_unstable_by(order);
        self.hits
    }
}

/// The order of hits everywhere: best first, then by the slot's own numbers.
fn order(a: &Hit, b: &Hit) -> Ordering {
    let key = |slot: &Slot| (slot.tie, slot.chunk, slot.row, slot.embedding);
    b.score.total_cmp(&a.score).then_with(|| key(&a.slot).cmp(&key(&b.slot)))
}

fn exact_scores<E: Error + 'static>(
    query: &[f32],
    mut slots: Vec<Slot>,
    limit: usize,
    exact: &Fetch<'_, E>,
) -> Result<Vec<Hit>, SearchError<E>> {
    let mut best = Best::new(limit);
    // Neighbours in the store are read together, and texts that are equal share a vector.
    slots.sort_unstable_by_key(|slot| slot.embedding);
    for slots in slots.chunks(EXACT_BATCH) {
        let mut numbers: Vec<u32> = slots.iter().map(|slot| slot.embedding).collect();
        numbers.dedup();
        let vectors = exact(&numbers)
            .map_err(|source| SearchError::Exact { count: numbers.len(), source })?;
        if vectors.len() != numbers.len() {
            let (found, wanted) = (vectors.len(), numbers.len());
            return Err(SearchError::ExactCount { found, wanted });
        }
        let mut scores = HashMap::with_capacity(numbers.len());
        for (embedding, vector) in numbers.into_iter().zip(&vectors) {
            let score = if vector.len() == query.len() { product(query, vector) } else { f32::NAN };
            if !score.is_finite() {
                let (found, wanted) = (vector.len(), query.len());
                return Err(SearchError::ExactDamaged { embedding, found, wanted });
            }
            scores.insert(embedding, score);
        }
        for slot in slots {
            let score = scores[&slot.embedding];
            if score.abs() > 0.0 && best.wants(score) {
                best.offer(Hit { slot: *slot, score });
            }
        }
    }
    Ok(best.finish())
}

/// A product in one fixed order of additions, so that it has the same bits on every processor.
fn product(a: &[f32], b: &[f32]) -> f32 {
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
fn contains(among: &Bitmap, row: &[u8; 4]) -> bool {
    among.contains(Row::new(u32::from_le_bytes(*row)))
}
