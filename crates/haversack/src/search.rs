//! Finding: by words, by meaning and by spelling at once, fused into one order.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join;
use haversack_core::embed::{EmbedError, Embedder};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{RankedList, fuse_scores};
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::error::{ReadError, chain};
use haversack_store::store::item::Passage;
use haversack_store::store::query::{
    Effort, Excerpt, Filter, FuzzySearch, Hit, LIMIT_MAX, TextSearch, VectorSearch,
};
use thiserror::Error;

/// How many of each list are fused for each one that is asked for: what both ways find late counts,
/// too. With 10 nothing more is found, but a name is read for each.
const DEPTH: usize = 5;

/// The least and most of each list that is fused.
const DEPTHS: (usize, usize) = (100, LIMIT_MAX);

/// With fewer hits than this by words, spelling is tried as well.
const FEW: usize = 3;

/// How alike a spelling must be: PostgreSQL's default.
pub(crate) const SIMILARITY: f64 = 0.3;

/// How much of a list is looked at when so many answers are asked for.
pub(crate) fn depth(limit: usize) -> usize {
    limit.saturating_mul(DEPTH).clamp(DEPTHS.0, DEPTHS.1)
}

/// A way to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// By the words of the query.
    Text,
    /// By what the query means.
    Vector,
    /// By how the query is spelt.
    Fuzzy,
}

impl Way {
    /// Every way, in the order of the list of them above.
    pub(crate) const ALL: [Way; 3] = [Way::Text, Way::Vector, Way::Fuzzy];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Way::Text => "text",
            Way::Vector => "vector",
            Way::Fuzzy => "fuzzy",
        }
    }

    /// What its best hit is worth beside the others'. The built-in model alone finds less than
    /// words do; with this weight the two together find more than either, by score and not by rank.
    pub(crate) fn weight(self) -> Score {
        Score::unit(match self {
            Way::Text => 0.7,
            Way::Vector | Way::Fuzzy => 0.3,
        })
    }
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The question, in words.
    pub query: String,
    /// Among which items.
    pub filter: Filter,
    /// One way alone; all together when `None`.
    pub only: Option<Way>,
    /// How many answers at most.
    pub limit: usize,
    /// How many of them from one item at most.
    pub per_item_max: usize,
    /// Longest excerpt in characters.
    pub excerpt_chars_max: usize,
}

impl Search {
    /// A search in all ways among all active items.
    #[must_use]
    pub fn new(query: &str, limit: usize) -> Search {
        let filter = Filter::default();
        let query = query.to_owned();
        Search { query, filter, only: None, limit, per_item_max: limit, excerpt_chars_max: 280 }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Which chunk of which item.
    pub id: CandidateId,
    /// How well it answers: between 0 and 1 when ways were fused, else in the way's own measure.
    pub score: Score,
    /// Its place in the list of each way that found it, from 1.
    pub ranks: Vec<(Way, usize)>,
    /// Its text and place.
    pub passage: Passage,
    /// The most telling stretch of it.
    pub excerpt: Excerpt,
}

/// The answers, and what the asker should know about them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// Best first.
    pub found: Vec<Found>,
    /// Ways that failed while others went on, and how far the answers can be trusted.
    pub notices: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The workspace cannot be read, or not be asked this.
    #[error("cannot search")]
    Read(#[from] ReadError),
    /// The query has no vector.
    #[error("cannot embed the query")]
    Embed(#[from] EmbedError),
}

/// Searches in all ways and fuses what they find. What only one of them found can still win.
///
/// Without usable vectors the words answer alone, with a notice; unless meaning was asked for
/// alone.
///
/// # Errors
/// When the limit is too large or the store cannot be read.
pub async fn hybrid(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
) -> Result<Answers, SearchError> {
    let mut answers = Answers::default();
    let lists = lists(snapshot, embedder, search, &mut answers.notices).await?;
    let order = order(&lists, search);
    let ids: Vec<CandidateId> = order.iter().map(|(id, _, _)| id.clone()).collect();
    let passages = snapshot.passages(&ids).await?;
    let there: Vec<&Passage> = passages.iter().flatten().collect();
    let excerpts = snapshot.excerpts(&there, &search.query, search.excerpt_chars_max);
    let mut excerpts = excerpts.into_iter();
    for ((id, score, ranks), passage) in order.into_iter().zip(passages) {
        let Some((passage, excerpt)) = passage.and_then(|it| Some((it, excerpts.next()?))) else {
            continue;
        };
        answers.found.push(Found { id, score, ranks, passage, excerpt });
    }
    Ok(answers)
}

async fn lists(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
    notices: &mut Vec<String>,
) -> Result<Vec<(Way, Vec<Hit>)>, SearchError> {
    let limit = depth(search.limit);
    if search.limit > LIMIT_MAX {
        let what = format!("{} is over the most, {LIMIT_MAX}", search.limit);
        return Err(ReadError::invalid("limit", what).into());
    }
    let by_words = by_words(snapshot, search, limit);
    let by_meaning = by_meaning(snapshot, embedder, search, limit);
    let by_spelling = async || by_spelling(snapshot, search, limit).await;
    let hits = match search.only {
        Some(Way::Text) => by_words.await?,
        Some(Way::Vector) => by_meaning.await?,
        Some(Way::Fuzzy) => by_spelling().await?,
        None => {
            let by_meaning = async { Ok(by_meaning.await.map_err(|error| chain(&error))) };
            let (lists, notice) = search_all_ways(by_words, by_meaning, by_spelling).await?;
            notices.extend(notice);
            let is_empty = |way: Way| lists.iter().any(|(of, hits)| *of == way && hits.is_empty());
            if is_empty(Way::Text) && !is_empty(Way::Vector) {
                // Something is always nearest, so the caller must know how little that may mean.
                let notice =
                    "no word of the query occurs; these are nearest in meaning or spelling";
                notices.push(notice.to_owned());
            }
            return Ok(lists);
        }
    };
    Ok(search.only.map(|way| (way, hits)).into_iter().collect())
}

/// Searches by words and by meaning at once, and by spelling where words found little. Where meaning
/// cannot be searched, the reason is returned as a notice and the words answer alone.
pub(crate) async fn search_all_ways<H: AsRef<[Hit]>, E>(
    by_words: impl Future<Output = Result<H, E>>,
    by_meaning: impl Future<Output = Result<Result<H, String>, E>>,
    by_spelling: impl AsyncFnOnce() -> Result<H, E>,
) -> Result<(Vec<(Way, H)>, Option<String>), E> {
    let (words, meaning) = try_join(by_words, by_meaning).await?;
    let words_are_few = words.as_ref().len() < FEW;
    let mut lists = vec![(Way::Text, words)];
    let mut notice = None;
    match meaning {
        Ok(hits) => lists.push((Way::Vector, hits)),
        Err(reason) => notice = Some(format!("by words alone: {reason}")),
    }
    if words_are_few {
        lists.push((Way::Fuzzy, by_spelling().await?));
    }
    Ok((lists, notice))
}

async fn by_words(
    snapshot: &dyn Snapshot,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let (query, filter) = (search.query.clone(), search.filter.clone());
    let search = TextSearch { query, unfinished: false, all_words: false, filter, limit };
    Ok(snapshot.text(&search).await?)
}

async fn by_meaning(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let vector = embedder.embed_query(&search.query)?;
    let (effort, filter) = (Effort::Fast, search.filter.clone());
    Ok(snapshot.vector(&VectorSearch { vector, effort, filter, limit }).await?)
}

async fn by_spelling(
    snapshot: &dyn Snapshot,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let (query, filter) = (search.query.clone(), search.filter.clone());
    let similarity_least = Score::unit(SIMILARITY);
    let search = FuzzySearch { query, similarity_least, filter, limit };
    Ok(snapshot.fuzzy(&search).await?)
}

type Ordered = (CandidateId, Score, Vec<(Way, usize)>);

/// One order out of the lists, with a bound on how often an item comes.
fn order(lists: &[(Way, Vec<Hit>)], search: &Search) -> Vec<Ordered> {
    let mut ranks: BTreeMap<&CandidateId, Vec<(Way, usize)>> = BTreeMap::new();
    for (way, hits) in lists {
        for (hit, rank) in hits.iter().zip(1..) {
            ranks.entry(&hit.id).or_default().push((*way, rank));
        }
    }
    let fused = match lists {
        [(_, hits)] => hits.clone(),
        lists => fused(lists, Way::weight).into_iter().map(|fused| fused.hit).collect(),
    };
    let mut of_item: BTreeMap<ItemId, usize> = BTreeMap::new();
    fused
        .into_iter()
        .filter(|hit| {
            let count = of_item.entry(hit.id.item.clone()).or_default();
            *count += 1;
            *count <= search.per_item_max
        })
        .take(search.limit)
        .map(|hit| {
            let ranks = ranks.get(&hit.id).cloned().unwrap_or_default();
            (hit.id, hit.score, ranks)
        })
        .collect()
}

/// One of several lists' hits, and what each way that found it said of it.
#[derive(Debug)]
pub(crate) struct FusedHit {
    pub(crate) hit: Hit,
    /// The ways' own scores, by their place among [`Way::ALL`].
    scores: [Option<Score>; Way::ALL.len()],
}

impl FusedHit {
    /// What a way said of it.
    pub(crate) const fn by(&self, way: Way) -> Option<Score> {
        self.scores[way as usize]
    }
}

/// Several lists as one, scored between 0 and 1; ties go by id.
pub(crate) fn fused<L: AsRef<[Hit]>>(
    lists: &[(Way, L)],
    weight: impl Fn(Way) -> Score,
) -> Vec<FusedHit> {
    // Ids are long and alike at the beginning, so numbers stand for them while lists are compared.
    let mut numbers: HashMap<&CandidateId, u32> = HashMap::new();
    let mut known: Vec<(&CandidateId, [Option<Score>; Way::ALL.len()])> = Vec::new();
    let mut numbered = Vec::with_capacity(lists.len());
    for (way, hits) in lists {
        let mut list = Vec::with_capacity(hits.as_ref().len());
        for hit in hits.as_ref() {
            let number = *numbers.entry(&hit.id).or_insert_with(|| {
                known.push((&hit.id, Default::default()));
                u32::try_from(known.len() - 1).unwrap_or(u32::MAX)
            });
            let score = &mut known[number as usize].1[*way as usize];
            *score = (*score).max(Some(hit.score));
            list.push((number, hit.score));
        }
        numbered.push(RankedList { weight: weight(*way), hits: list });
    }
    let mut order: Vec<(Score, u32)> =
        fuse_scores(&numbered).into_iter().map(|fused| (fused.score, fused.id)).collect();
    let id = |number: u32| known[number as usize].0;
    order.sort_by(|(a, a_id), (b, b_id)| b.cmp(a).then_with(|| id(*a_id).cmp(id(*b_id))));
    let fused = |(score, number): (Score, u32)| {
        let (id, scores) = &known[number as usize];
        FusedHit { hit: Hit { id: (*id).clone(), score }, scores: *scores }
    };
    order.into_iter().map(fused).collect()
}
