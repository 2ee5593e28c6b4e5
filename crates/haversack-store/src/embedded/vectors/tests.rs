use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::embedded::row::Bitmap;

/// A deterministic random number generator.
struct TestRng(u64);

impl TestRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// Approximately normal: the sum of a few uniform numbers.
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32 - 0.5).sum()
    }

    fn vector(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let vector = centre.iter().map(|value| value + spread * self.normal()).collect::<Vec<_>>();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }

    fn near(&mut self, vectors: &[Vec<f32>], spread: f32) -> Vec<f32> {
        let at = self.below(vectors.len());
        self.vector(&vectors[at], spread)
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }
}

/// Slots and their vectors; the number of an embedding is its index in `vectors`.
#[derive(Clone)]
struct VectorFixture {
    dimensions: u32,
    slots: Vec<(u64, VectorSlot)>,
    vectors: Vec<Vec<f32>>,
    expected: OnceLock<(Vec<VectorSlot>, FoundSlots)>,
}

/// Slots that were found, with the bits of their scores.
type FoundSlots = Vec<(VectorSlot, u32)>;

const REVISION_SLOTS: u64 = 10;

impl VectorFixture {
    /// Clusters, with some equal vectors and some zero vectors.
    fn new(seed: u64, dimensions: u32, count: u32, clusters: usize) -> VectorFixture {
        let mut dice = TestRng(seed);
        let zero = vec![0.0; dimensions as usize];
        let centres: Vec<_> = (0..clusters).map(|_| dice.vector(&zero, 1.0)).collect();
        let mut world = VectorFixture {
            dimensions,
            slots: Vec::new(),
            vectors: Vec::new(),
            expected: OnceLock::new(),
        };
        for number in 0..count {
            let vector = match dice.below(20) {
                0 => zero.clone(),
                1 if number > 0 => world.vectors[dice.below(number as usize)].clone(),
                _ => dice.near(&centres, 0.1),
            };
            let slot = VectorSlot {
                row: Row::new(number / 2),
                chunk: number % 2,
                embedding: number,
                tie: u64::from(number / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            };
            world.slots.push((u64::from(number) / REVISION_SLOTS + 1, slot));
            world.vectors.push(vector);
        }
        world
    }

    fn tag(&self) -> ModelTag {
        ModelTag { name: "mill".to_owned(), version: "1".to_owned(), dimensions: self.dimensions }
    }

    fn open(&self, folder: &Path) -> OpenedVectors {
        Vectors::open(folder, &self.tag()).unwrap()
    }

    fn of(&self, range: std::ops::RangeInclusive<u64>) -> Vec<(VectorSlot, &[f32])> {
        let slots = self.slots.iter().filter(|(revision, _)| range.contains(revision));
        slots.map(|(_, slot)| (*slot, &*self.vectors[slot.embedding as usize])).collect()
    }

    fn last(&self) -> u64 {
        self.slots.iter().map(|(revision, _)| *revision).max().unwrap_or(0)
    }

    /// Appends all revisions not yet appended, sealing after the given ones.
    fn feed(&self, vectors: &mut Vectors, seals: &[u64]) {
        for revision in vectors.reached().get() + 1..=self.last() {
            vectors.append(Revision::new(revision), &self.of(revision..=revision)).unwrap();
            if seals.contains(&revision) {
                vectors.seal().unwrap();
            }
        }
    }

    fn all(&self) -> Bitmap {
        self.slots.iter().map(|(_, slot)| slot.row).collect()
    }

    fn search(
        &self,
        of: &Vectors,
        query: &[f32],
        among: &Bitmap,
        effort: ScanEffort,
    ) -> Vec<VectorHit> {
        of.reader().search(query, among, effort, 5, &|numbers| self.exact(numbers)).unwrap()
    }

    fn exact(&self, numbers: &[u32]) -> Result<Vec<Vec<f32>>, Infallible> {
        Ok(numbers.iter().map(|number| self.vectors[*number as usize].clone()).collect())
    }

    /// All results for some queries and bitmaps, with every effort.
    fn answers(&self, vectors: &Vectors) -> FoundSlots {
        let mut dice = TestRng(7);
        let mut answers = Vec::new();
        for round in 0..6 {
            let query = dice.near(&self.vectors, 0.05);
            let among: Bitmap =
                self.all().iter().filter(|row| row.get() % 3 != round % 3 || round > 3).collect();
            for effort in [ScanEffort::Fast { binary: 20 }, ScanEffort::Full, ScanEffort::Exact] {
                let hits = self.search(vectors, &query, &among, effort);
                answers.extend(hits.iter().map(|hit| (hit.slot, hit.score.to_bits())));
            }
        }
        answers
    }
}

fn slots(vectors: &Vectors) -> Vec<VectorSlot> {
    let mut slots: Vec<VectorSlot> = vectors.reader().slots().collect();
    slots.sort_by_key(|slot| (slot.row, slot.chunk));
    slots
}

/// The index must give the same results as one that was built at once and never closed.
#[track_caller]
fn check_same(world: &VectorFixture, vectors: &Vectors) {
    let expected = world.expected.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let mut fresh = world.open(folder.path()).vectors;
        world.feed(&mut fresh, &[]);
        (slots(&fresh), world.answers(&fresh))
    });
    assert_eq!((slots(vectors), world.answers(vectors)), *expected);
    let reader = vectors.reader();
    for (index, slot) in reader.slots().enumerate() {
        assert!(reader.matches(index, &world.vectors[slot.embedding as usize]));
    }
    assert_eq!(reader.verify(), []);
}

/// Feeds the missing ranges; the index must then equal a new one.
#[track_caller]
fn check_mended(world: &VectorFixture, folder: &Path) {
    let OpenedVectors { mut vectors, missing } = world.open(folder);
    for range in missing {
        let (first, last) = (range.first.get(), range.last.get());
        vectors.append_range(range, &world.of(first..=last)).unwrap();
    }
    assert_eq!(vectors.missing(), []);
    world.feed(&mut vectors, &[]);
    check_same(world, &vectors);
    vectors.seal().unwrap();
    drop(vectors);
    let again = world.open(folder);
    assert_eq!((again.missing, again.vectors.covered().get()), (Vec::new(), world.last()));
    check_same(world, &again.vectors);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn copy(from: &Path) -> TempDir {
    let to = TempDir::new().unwrap();
    for file in files(from) {
        fs::copy(&file, to.path().join(file.file_name().unwrap())).unwrap();
    }
    to
}

/// A folder of four segments: revisions 1 to 3, 4 to 5, 6 to 9, 10 to 12.
fn four_segments(dimensions: u32) -> (VectorFixture, TempDir) {
    let world = VectorFixture::new(3, dimensions, 120, 6);
    let folder = TempDir::new().unwrap();
    world.feed(&mut world.open(folder.path()).vectors, &[3, 5, 9, 12]);
    assert_eq!(files(folder.path()).len(), 4);
    (world, folder)
}

fn brute_force_nearest(
    world: &VectorFixture,
    query: &[f32],
    among: &Bitmap,
    limit: usize,
) -> Vec<VectorSlot> {
    let mut hits: Vec<(f64, VectorSlot)> = Vec::new();
    for (_, slot) in world.slots.iter().filter(|(_, slot)| among.contains(slot.row)) {
        let vector = &world.vectors[slot.embedding as usize];
        let product = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
        let score: f64 = query.iter().zip(vector).map(product).sum();
        if score.abs() > 0.0 {
            hits.push((score, *slot));
        }
    }
    hits.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then_with(|| (a.1.tie, a.1.chunk).cmp(&(b.1.tie, b.1.chunk)))
    });
    hits.into_iter().map(|(_, slot)| slot).take(limit).collect()
}

#[test]
fn exact_search_is_brute_force() {
    for (dimensions, count) in [(1, 50), (64, 300), (100, 300), (1_536, 60)] {
        let world = VectorFixture::new(11, dimensions, count, 5);
        let folder = TempDir::new().unwrap();
        let mut vectors = world.open(folder.path()).vectors;
        world.feed(&mut vectors, &[2, 7]);
        check_same(&world, &vectors);
        let mut dice = TestRng(5);
        for _ in 0..if dimensions == 1 { 0 } else { 20 } {
            let query = dice.near(&world.vectors, 0.2);
            let among: Bitmap = world.all().iter().filter(|_| dice.below(3) > 0).collect();
            let found = world.search(&vectors, &query, &among, ScanEffort::Exact);
            let slots: Vec<VectorSlot> = found.iter().map(|hit| hit.slot).collect();
            assert_eq!(slots, brute_force_nearest(&world, &query, &among, 5));
            assert_eq!(found, world.search(&vectors, &query, &among, ScanEffort::Full));
        }
    }
}

#[test]
fn fast_search_finds_nearly_all() {
    let world = VectorFixture::new(23, 256, 20_000, 200);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    world.feed(&mut vectors, &[700]);
    let (mut dice, mut found, mut wanted) = (TestRng(1), 0, 0);
    for _ in 0..20 {
        let query = dice.near(&world.vectors, 0.05);
        let best = |effort| {
            let exact = &|numbers: &[u32]| world.exact(numbers);
            vectors.reader().search(&query, &world.all(), effort, 50, exact).unwrap()
        };
        let truth = best(ScanEffort::Exact);
        found += best(ScanEffort::default()).iter().filter(|hit| truth.contains(hit)).count();
        wanted += truth.len();
    }
    assert!(found * 100 >= wanted * 98, "{found} of {wanted}");
}

#[test]
fn int8_scores_are_off_by_at_most_two_thousandths() {
    let world = VectorFixture::new(29, 256, 2_000, 20);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    world.feed(&mut vectors, &[]);
    let (mut dice, mut worst) = (TestRng(3), 0.0_f32);
    for _ in 0..20 {
        let query = dice.near(&world.vectors, 0.05);
        let exact = &|numbers: &[u32]| world.exact(numbers);
        let hits = vectors.reader().search(&query, &world.all(), ScanEffort::Full, 1_000, exact);
        for hit in hits.unwrap() {
            let vector = &world.vectors[hit.slot.embedding as usize];
            let product: f32 = query.iter().zip(vector).map(|(a, b)| a * b).sum();
            worst = worst.max((product - hit.score).abs());
        }
    }
    assert!(worst > 1e-6 && worst < 2e-3, "{worst}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unreadable_rows_change_nothing(
        seed: u64,
        dimensions in prop_oneof![Just(64_u32), Just(100), Just(130)],
        share in 1_usize..10,
        seals in prop::collection::vec(1_u64..60, 0..5),
        other_seals in prop::collection::vec(1_u64..60, 0..5),
    ) {
        let world = VectorFixture::new(seed, dimensions, 600, 8);
        let mut dice = TestRng(seed ^ 1);
        let among: Bitmap = world.all().iter().filter(|_| dice.below(10) < share).collect();
        let mut readable = world.clone();
        readable.slots.retain(|(_, slot)| among.contains(slot.row));
        let mut revisions: Vec<u64> = readable.slots.iter().map(|(revision, _)| *revision).collect();
        dice.shuffle(&mut revisions);
        readable.slots.iter_mut().zip(revisions).for_each(|(slot, revision)| slot.0 = revision);
        dice.shuffle(&mut readable.slots);

        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let mut all = world.open(folders[0].path()).vectors;
        world.feed(&mut all, &seals);
        let mut only = readable.open(folders[1].path()).vectors;
        readable.feed(&mut only, &other_seals);
        for _ in 0..4 {
            let query = dice.near(&world.vectors, 0.05);
            for effort in [ScanEffort::Fast { binary: 1 }, ScanEffort::Full, ScanEffort::Exact] {
                let bits = |vectors| {
                    let hits = world.search(vectors, &query, &among, effort);
                    hits.iter().map(|hit| (hit.slot, hit.score.to_bits())).collect::<Vec<_>>()
                };
                prop_assert_eq!(bits(&all), bits(&only));
            }
        }
    }
}

#[test]
fn a_reader_is_a_snapshot() {
    let world = VectorFixture::new(2, 100, 700, 4);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    vectors.append(Revision::new(1), &world.of(1..=1)).unwrap();
    let reader = vectors.reader();
    world.feed(&mut vectors, &[20]);
    assert_eq!((reader.len(), vectors.reader().len()), (10, 700));
    vectors.compact(&Bitmap::new()).unwrap();
    assert_eq!(reader.slots().count(), 10);
    std::thread::scope(|scope| scope.spawn(|| assert!(!reader.is_empty())).join().unwrap());
}

#[test]
fn sealed_vectors_survive_reopening() {
    for dimensions in [64, 100, 1_536] {
        let (world, folder) = four_segments(dimensions);
        let opened = world.open(folder.path());
        assert_eq!((opened.missing, opened.vectors.covered().get()), (Vec::new(), 12));
        check_same(&world, &opened.vectors);
    }
}

#[test]
fn a_full_tail_is_sealed() {
    let world = VectorFixture::new(2, 1, 10, 1);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    let many = vec![world.of(1..=1)[0]; SEGMENT_SLOTS_MAX];
    vectors.append(Revision::new(4), &many).unwrap();
    vectors.append(Revision::new(4), &[]).unwrap();
    assert_eq!((vectors.covered().get(), vectors.reached().get()), (0, 4));
    vectors.append(Revision::new(5), &[]).unwrap();
    assert_eq!((vectors.covered().get(), vectors.reached().get()), (4, 5));
    assert_eq!(world.open(folder.path()).vectors.reader().len(), SEGMENT_SLOTS_MAX);
}

#[test]
fn lost_segments_are_reported_and_restored() {
    let (world, folder) = four_segments(100);
    let check = |lost: &[usize], expected: &[(u64, u64)], covered: u64| {
        let copy = copy(folder.path());
        let names = files(copy.path());
        lost.iter().for_each(|at| fs::remove_file(&names[*at]).unwrap());
        let opened = world.open(copy.path());
        let missing = opened.missing.iter().map(|range| (range.first.get(), range.last.get()));
        assert_eq!(missing.collect::<Vec<_>>(), expected);
        assert_eq!(opened.vectors.covered().get(), covered);
        drop(opened);
        check_mended(&world, copy.path());
    };
    check(&[0], &[(1, 3)], 12);
    check(&[1], &[(4, 5)], 12);
    check(&[0, 2], &[(1, 3), (6, 9)], 12);
    check(&[1, 2], &[(4, 9)], 12);
    check(&[3], &[], 9);
    check(&[0, 3], &[(1, 3)], 9);
    check(&[0, 1, 2, 3], &[], 0);
}

/// Changes one of four segment files; the damage must be detected and repaired.
#[track_caller]
fn check_damage(world: &VectorFixture, folder: &Path, at: usize, damage: impl Fn(&mut Vec<u8>)) {
    let copy = copy(folder);
    let path = &files(copy.path())[at];
    let mut bytes = fs::read(path).unwrap();
    damage(&mut bytes);
    fs::write(path, bytes).unwrap();
    drop(world.open(copy.path()));
    assert!(!path.exists(), "the damage was not seen");
    check_mended(world, copy.path());
}

#[test]
fn damage_is_detected_and_restored() {
    let (world, folder) = four_segments(100);
    let mut dice = TestRng(99);
    for _ in 0..200 {
        let number = dice.next();
        check_damage(&world, folder.path(), dice.below(4), |bytes| {
            let at = usize::try_from(number >> 3).unwrap() % bytes.len();
            bytes[at] ^= 1 << (number % 8);
        });
    }
    for at in (0..256).step_by(3) {
        check_damage(&world, folder.path(), 1, |bytes| bytes[at] ^= 1 << (at % 8));
    }
    for _ in 0..20 {
        let number = usize::try_from(dice.next() >> 1).unwrap();
        let at = dice.below(4);
        check_damage(&world, folder.path(), at, |bytes| bytes.truncate(number % bytes.len()));
    }
    check_damage(&world, folder.path(), 0, Vec::clear);
    check_damage(&world, folder.path(), 0, |bytes| bytes.push(0));
    let other = fs::read(&files(folder.path())[2]).unwrap();
    check_damage(&world, folder.path(), 0, |bytes| bytes.clone_from(&other));
}

#[test]
fn a_crash_while_sealing_leaves_the_old_state() {
    let (world, folder) = four_segments(100);
    for at in 0..4 {
        let copy = copy(folder.path());
        let path = files(copy.path())[at].clone();
        let whole = fs::read(&path).unwrap();
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(".unfinished");
        fs::write(&unfinished, &whole[..whole.len() / 2]).unwrap();
        fs::remove_file(path).unwrap();
        drop(world.open(copy.path()));
        assert!(!Path::new(&unfinished).exists());
        check_mended(&world, copy.path());
    }
}

#[test]
fn compaction_keeps_the_requested_rows() {
    let (world, folder) = four_segments(100);
    let mut vectors = world.open(folder.path()).vectors;
    let keep: Bitmap = world.all().iter().filter(|row| row.get() % 4 == 0).collect();
    let expected: Vec<VectorSlot> =
        slots(&vectors).into_iter().filter(|slot| keep.contains(slot.row)).collect();
    vectors.compact(&keep).unwrap();
    assert_eq!(slots(&vectors), expected);
    assert_eq!(files(folder.path()).len(), 1);
    vectors.compact(&keep).unwrap();
    drop(vectors);
    let opened = world.open(folder.path());
    assert_eq!((slots(&opened.vectors), opened.missing), (expected, Vec::new()));
    assert_eq!(opened.vectors.covered().get(), 12);
}

#[test]
fn compaction_does_not_merge_across_missing_ranges() {
    let (world, folder) = four_segments(100);
    fs::remove_file(&files(folder.path())[1]).unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    vectors.compact(&world.all()).unwrap();
    assert_eq!(files(folder.path()).len(), 2);
    drop(vectors);
    check_mended(&world, folder.path());
}

#[test]
fn a_crash_while_compacting_leaves_the_old_or_the_new_state() {
    let (world, folder) = four_segments(100);
    let new = copy(folder.path());
    world.open(new.path()).vectors.compact(&world.all()).unwrap();
    let merged = &files(new.path())[0];
    let merged_bytes = fs::read(merged).unwrap();
    // Any of the four old files may be removed once the new one exists.
    for gone in 0..16_usize {
        let crashed = copy(folder.path());
        for (at, path) in files(crashed.path()).iter().enumerate() {
            if gone >> at & 1 == 1 {
                fs::remove_file(path).unwrap();
            }
        }
        fs::copy(merged, crashed.path().join(merged.file_name().unwrap())).unwrap();
        let opened = world.open(crashed.path());
        assert_eq!((opened.missing, opened.vectors.covered().get()), (Vec::new(), 12));
        check_same(&world, &opened.vectors);
        assert_eq!(files(crashed.path()).len(), 1);
    }
    // A damaged new file beside the old ones loses nothing.
    let crashed = copy(folder.path());
    let half = &merged_bytes[..merged_bytes.len() / 2];
    fs::write(crashed.path().join(merged.file_name().unwrap()), half).unwrap();
    let opened = world.open(crashed.path());
    assert_eq!((opened.missing, opened.vectors.covered().get()), (Vec::new(), 12));
    check_same(&world, &opened.vectors);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let (world, folder) = four_segments(100);
    let path = &files(folder.path())[1];
    let mut bytes = fs::read(path).unwrap();
    bytes[8..12].copy_from_slice(&7_u32.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..12]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    fs::write(path, bytes).unwrap();
    let error = Vectors::open(folder.path(), &world.tag()).unwrap_err();
    let expected = format!("{} has format version 7, this program knows 1", path.display());
    assert_eq!(error.to_string(), expected);
    assert_eq!(files(folder.path()).len(), 4);
}

#[test]
fn another_model_is_stale_until_discarded() {
    let (world, folder) = four_segments(100);
    let path = files(folder.path())[0].display().to_string();
    let tag = ModelTag { version: "2".to_owned(), ..world.tag() };
    let error = Vectors::open(folder.path(), &tag).unwrap_err();
    assert!(matches!(error, VectorsError::OtherModel { .. }));
    let expected = "was made with model mill version 1 (100 dimensions), \
                    not mill version 2 (100 dimensions)";
    assert_eq!(error.to_string(), format!("{path} {expected}"));
    assert_eq!(files(folder.path()).len(), 4);
    Vectors::discard(folder.path()).unwrap();
    let opened = Vectors::open(folder.path(), &tag).unwrap();
    assert_eq!((opened.missing, opened.vectors.covered()), (Vec::new(), Revision::ZERO));
}

#[test]
fn invalid_appends_are_refused() {
    let world = VectorFixture::new(3, 100, 30, 2);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    let slot = world.slots[0].1;
    let mut check = |revision: u64, vector: &[f32], expected: &str| {
        let result = vectors.append(Revision::new(revision), &[(slot, vector)]);
        assert_eq!(result.map_or_else(|error| error.to_string(), |()| String::new()), expected);
    };
    check(0, &[0.1; 100], "revision 0 cannot be appended after revision 0");
    check(1, &[0.1; 99], "vector of row 0, chunk 0 has 99 dimensions, the index 100");
    check(1, &[f32::NAN; 100], "vector of row 0, chunk 0 has a value that is not finite");
    check(2, &[0.1; 100], "");
    check(1, &[0.1; 100], "revision 1 cannot be appended after revision 2");
    vectors.seal().unwrap();
    vectors.seal().unwrap();
    let range = RevisionRange { first: Revision::new(1), last: Revision::new(2) };
    let error = vectors.append_range(range, &[]).unwrap_err();
    assert_eq!(error.to_string(), "revisions 1 to 2 are not missing");
    let tag = ModelTag { dimensions: 8_193, ..world.tag() };
    let error = Vectors::open(folder.path(), &tag).unwrap_err();
    assert_eq!(error.to_string(), "a model of 8193 dimensions is not within 1 to 8192");
}

#[test]
fn invalid_searches_are_refused() {
    let world = VectorFixture::new(3, 100, 30, 2);
    let folder = TempDir::new().unwrap();
    let mut vectors = world.open(folder.path()).vectors;
    vectors.append(Revision::new(1), &world.of(2..=2)).unwrap();
    let check = |query: &[f32], stored: &[f32], per_number: usize, expected: &str| {
        let exact = |numbers: &[u32]| -> Result<Vec<Vec<f32>>, Infallible> {
            Ok(vec![stored.to_vec(); numbers.len() * per_number])
        };
        let reader = vectors.reader();
        let result = reader.search(query, &world.all(), ScanEffort::default(), 3, &exact);
        let said = result.map_or_else(|error| error.to_string(), |hits| hits.len().to_string());
        assert!(said.starts_with(expected), "{said}");
    };
    let good = [0.1; 100];
    check(&good, &good, 1, "3");
    check(&good, &[0.0; 100], 1, "0");
    check(&[0.0; 100], &good, 1, "0");
    check(&[0.1; 99], &good, 1, "the query has 99 dimensions, the index 100");
    check(&[f32::INFINITY; 100], &good, 1, "the query has a value that is not finite");
    check(&good, &good, 2, "asked for");
    check(&good, &[0.1; 99], 1, "exact vector 10 is damaged: 99 dimensions of 100");
    check(&good, &[f32::NAN; 100], 1, "exact vector 10 is damaged: 100 dimensions of 100");
    let exact = |_: &[u32]| Err(std::io::Error::other("gone"));
    let error = vectors.reader().search(&good, &world.all(), ScanEffort::Exact, 3, &exact);
    assert_eq!(error.unwrap_err().to_string(), "cannot read 10 exact vectors");
}
