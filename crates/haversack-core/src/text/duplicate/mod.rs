//! Duplicate detection: texts that are equal up to case and white space, nearly equal, or
//! contained.
//!
//! A text repeats another when their content hashes agree, when their sets of shingles overlap
//! enough, or when it lies wholly inside an earlier, longer one. Candidates come from an index of
//! rare shingles rather than from bands of sketches: a set that shares a given part with another
//! must share one of its own rarest shingles, so nothing is missed by chance, and containment,
//! which sketches cannot see, is found by the same look-up. [`Sketch`] is for callers that cannot
//! keep the texts.

mod shingles;
mod sketch;

use std::collections::BTreeMap;
use std::fmt;

pub use sketch::Sketch;

use crate::units::Score;
use shingles::{ShingleIds, Shingles, UNSHARED};

/// Share of a text's shingles that must be inside an earlier text to be contained in it.
const CONTAINED_MIN: f64 = 0.95;

/// Lower thresholds would match unrelated texts and compare all pairs.
const THRESHOLD_MIN: f64 = 0.1;

/// How many places of its shingles are looked up for one text, those of the rarest first.
const PLACES_MAX: usize = 1_024;

/// A hash of a text that ignores case and white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The bare bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    /// 64 hexadecimal digits in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// BLAKE3 of the normalised text.
///
/// Normalised means: lower case (Unicode, without regard to the language), every run of white
/// space as one space, none at either end. Everything else counts, punctuation included.
#[must_use]
pub fn content_hash(text: &str) -> ContentHash {
    ContentHash(*blake3::hash(normalised(text).as_bytes()).as_bytes())
}

/// Lower case, white space as single spaces, trimmed.
fn normalised(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut apart = false;
    for c in text.chars() {
        if c.is_whitespace() {
            apart = !normal.is_empty();
            continue;
        }
        if std::mem::take(&mut apart) {
            normal.push(' ');
        }
        if c.is_ascii() {
            normal.push(c.to_ascii_lowercase());
        } else {
            // Character by character: the whole-string way treats a final sigma by its neighbours.
            normal.extend(c.to_lowercase());
        }
    }
    normal
}

/// For each text the index of the earlier text it repeats, or `None`.
///
/// The first of several equals wins and is itself no repeat: `result[result[i]]` is always `None`.
/// A text repeats an earlier one when
/// - their [`content_hash`]es agree, or
/// - the Jaccard similarity of their shingles is at least `threshold` (taken as 0.1 when lower), or
/// - it has five words or more and 95 % of its shingles are in the earlier, longer one.
///
/// Blank texts are never duplicates. For each text at most 1,024 places of its
/// rarest shingles are looked up, which bounds the time for texts made from one template.
#[must_use]
pub fn duplicates(texts: &[&str], threshold: Score) -> Vec<Option<usize>> {
    let threshold = threshold.get().max(THRESHOLD_MIN);
    // By the normalised text itself, which is exact and cheaper than hashing it.
    let mut keepers: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = ShingleIds::for_bytes(texts.iter().map(|text| text.len()).sum());
    let mut sets: Vec<Option<ShingleSet>> = Vec::with_capacity(texts.len());
    let mut result = vec![None; texts.len()];
    for (index, text) in texts.iter().enumerate() {
        let normal = normalised(text);
        if normal.is_empty() {
            sets.push(None);
        } else if let Some(&first) = keepers.get(&normal) {
            result[index] = Some(first);
            sets.push(None);
        } else {
            sets.push(Some(ShingleSet::new(&Shingles::from_text(&normal), &mut ids)));
            keepers.insert(normal, index);
        }
    }
    let ranks = ids.ranks();
    sets.iter_mut().flatten().for_each(|set| set.rank(&ranks));
    near_duplicates(&sets, ids.n_shared(), threshold, &mut result);
    // An exact repeat of a near repeat repeats what that one repeats.
    for index in 0..result.len() {
        if let Some(keeper) = result[index].and_then(|first| result[first]) {
            result[index] = Some(keeper);
        }
    }
    result
}

/// One text's shingles as numbers.
#[derive(Debug)]
struct ShingleSet {
    /// All distinct shingles, those included that no other text has.
    len: usize,
    /// The shingles other texts have, too: once ranked, the rarest first and hence sorted.
    ids: Vec<u32>,
    /// Long enough to be called contained in another.
    containable: bool,
}

impl ShingleSet {
    fn new(shingles: &Shingles, ids: &mut ShingleIds) -> ShingleSet {
        ids.begin_text();
        let ids: Vec<u32> = shingles.hashes.iter().filter_map(|&hash| ids.count_up(hash)).collect();
        ShingleSet { len: ids.len(), ids, containable: shingles.containable }
    }

    fn rank(&mut self, ranks: &[u32]) {
        self.ids.retain_mut(|id| {
            *id = ranks[*id as usize];
            *id != UNSHARED
        });
        self.ids.sort_unstable();
    }

    /// How many shared shingles make this text a repeat of an earlier one.
    fn needed(&self, earlier: &ShingleSet, threshold: f64) -> usize {
        let alike = part_of(self.len + earlier.len, threshold / (1.0 + threshold));
        if self.containable && self.len < earlier.len {
            alike.min(part_of(self.len, CONTAINED_MIN))
        } else {
            alike
        }
    }

    fn repeats(&self, earlier: &ShingleSet, threshold: f64) -> bool {
        let needed = self.needed(earlier, threshold);
        let (few, many) = if self.ids.len() <= earlier.ids.len() {
            (&self.ids, &earlier.ids)
        } else {
            (&earlier.ids, &self.ids)
        };
        // Most comparisons fail, and fail early: the rarest shingles come first.
        let Some(mut misses_left) = few.len().checked_sub(needed) else { return false };
        let mut rest = many.as_slice();
        for id in few {
            let at = if rest.len() / 8 > few.len() {
                rest.partition_point(|other| other < id)
            } else {
                rest.iter().position(|other| other >= id).unwrap_or(rest.len())
            };
            rest = &rest[at..];
            if rest.first() != Some(id) {
                if misses_left == 0 {
                    return false;
                }
                misses_left -= 1;
            }
        }
        true
    }

    /// The rarest shingles, so many that a text which shares enough must share one of these.
    fn probes(&self, threshold: f64) -> &[u32] {
        let share = if self.containable { threshold.min(CONTAINED_MIN) } else { threshold };
        let n_probes = (self.len + 1).saturating_sub(part_of(self.len, share));
        let n_unshared = self.len - self.ids.len();
        &self.ids[..n_probes.saturating_sub(n_unshared).min(self.ids.len())]
    }
}

/// The smallest number that is at least `share` of `whole`, and at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "numbers of shingles are far below 2^52"
)]
fn part_of(whole: usize, share: f64) -> usize {
    // The small step back keeps a share that is exact in decimals from rounding up.
    ((share * whole as f64 - 1e-9).ceil() as usize).max(1)
}

/// For each shared shingle the texts that contain it, in one allocation.
struct Postings {
    /// Where each shingle's room begins in `texts`.
    starts: Vec<usize>,
    /// Where its filled part ends.
    ends: Vec<usize>,
    texts: Vec<u32>,
}

impl Postings {
    fn new(sets: &[Option<ShingleSet>], n_shared: usize) -> Postings {
        let mut counts = vec![0; n_shared];
        for id in sets.iter().flatten().flat_map(|set| &set.ids) {
            counts[*id as usize] += 1;
        }
        let mut total = 0;
        let starts: Vec<usize> = counts
            .into_iter()
            .map(|count: usize| {
                total += count;
                total - count
            })
            .collect();
        Postings { ends: starts.clone(), starts, texts: vec![0; total] }
    }

    fn of(&self, id: u32) -> &[u32] {
        &self.texts[self.starts[id as usize]..self.ends[id as usize]]
    }

    fn push(&mut self, id: u32, text: u32) {
        let end = &mut self.ends[id as usize];
        self.texts[*end] = text;
        *end += 1;
    }
}

/// Adds near duplicates to `result`, which already holds the exact ones.
fn near_duplicates(
    sets: &[Option<ShingleSet>],
    n_shared: usize,
    threshold: f64,
    result: &mut [Option<usize>],
) {
    let mut postings = Postings::new(sets, n_shared);
    let mut candidates: Vec<u32> = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let Some(set) = set else { continue };
        candidates.clear();
        for &id in set.probes(threshold) {
            let left = PLACES_MAX - candidates.len();
            candidates.extend(postings.of(id).iter().take(left));
        }
        candidates.sort_unstable();
        candidates.dedup();
        result[index] = candidates.iter().map(|&earlier| earlier as usize).find(|&earlier| {
            sets[earlier].as_ref().is_some_and(|earlier| set.repeats(earlier, threshold))
        });
        if result[index].is_none() {
            for &id in &set.ids {
                postings.push(id, u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests;
