//! Hybrid search: by words, by meaning and by spelling at once, fused into one order.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as StdError;

use futures_util::future::try_join;
use haversack_core::candidate::pages_at;
use haversack_core::embed::{EmbedError, Embedder};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{RankedList, fuse_scores};
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::error::{ReadError, error_chain};
use haversack_store::store::item::Passage;
use haversack_store::store::query::{
    Effort, Excerpt, Filter, Frequencies, FuzzySearch, Hit, LIMIT_MAX, TextSearch, VectorSearch,
};
use thiserror::Error;

use crate::collect::page_lines;

/// How many hits of each list are fused per requested hit: a hit low in two lists may still win.
/// Twice as many find nothing more, but each costs a read of its id.
const DEPTH_FACTOR: usize = 5;

/// The least and most hits of each list that are fused.
const DEPTH_RANGE: (usize, usize) = (100, LIMIT_MAX);

/// With fewer hits than this by words, spelling is searched as well.
const FEW_HITS: usize = 3;

/// The least similarity of a spelling: PostgreSQL's default.
pub(crate) const SIMILARITY_LEAST: f64 = 0.3;

/// Returns how many hits of each list to fuse for a limit.
pub(crate) fn fusion_depth(limit: usize) -> usize {
    limit.saturating_mul(DEPTH_FACTOR).clamp(DEPTH_RANGE.0, DEPTH_RANGE.1)
}

/// A search method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SearchMethod {
    /// By the words of the query.
    Text,
    /// By the meaning of the query.
    Vector,
    /// By the spelling of the query.
    Fuzzy,
}

impl SearchMethod {
    /// Every method, in the order of the variants.
    pub(crate) const ALL: [SearchMethod; 3] =
        [SearchMethod::Text, SearchMethod::Vector, SearchMethod::Fuzzy];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            SearchMethod::Text => "text",
            SearchMethod::Vector => "vector",
            SearchMethod::Fuzzy => "fuzzy",
        }
    }

    /// The weight of its scores in the fusion. The built-in model alone finds less than words do;
    /// with these weights the two together find more than either, fused by score and not by rank.
    pub(crate) fn weight(self) -> Score {
        Score::unit(match self {
            SearchMethod::Text => 0.7,
            SearchMethod::Vector | SearchMethod::Fuzzy => 0.3,
        })
    }
}

/// A search of a workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The query.
    pub query: String,
    /// The items to search.
    pub filter: Filter,
    /// One method alone; all methods if `None`.
    pub only: Option<SearchMethod>,
    /// Most hits.
    pub limit: usize,
    /// Most hits from one item.
    pub per_item_max: usize,
    /// Longest excerpt in characters.
    pub excerpt_chars_max: usize,
}

impl Search {
    /// A search by all methods in all active items.
    #[must_use]
    pub fn new(query: &str, limit: usize) -> Search {
        let filter = Filter::default();
        let query = query.to_owned();
        Search { query, filter, only: None, limit, per_item_max: limit, excerpt_chars_max: 280 }
    }
}

/// A hit of a hybrid search.
#[derive(Debug, Clone, PartialEq)]
pub struct HybridHit {
    /// Its item and chunk.
    pub id: CandidateId,
    /// Its score: between 0 and 1 if methods were fused, else the method's own.
    pub score: Score,
    /// Its rank by each method that found it, from 1.
    pub ranks: Vec<(SearchMethod, usize)>,
    /// Its passage.
    pub passage: Passage,
    /// The best excerpt of it.
    pub excerpt: Excerpt,
}

impl HybridHit {
    /// The first and the last page, or slide, of a document that has them.
    #[must_use]
    pub fn pages(&self) -> Option<[u32; 2]> {
        let (first, last) = self.passage.lines;
        pages_at(&page_lines(&self.passage.stored.item), first, last)
    }
}

/// The hits of a hybrid search, with notices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HybridResults {
    /// The hits, best first.
    pub found: Vec<HybridHit>,
    /// Says which methods failed, and when no word of the query was found.
    pub notices: Vec<String>,
}

/// Why a search failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The workspace cannot be read, or the search is not valid.
    #[error("cannot search")]
    Read(#[from] ReadError),
    /// The query cannot be embedded.
    #[error("cannot embed the query")]
    Embed(#[from] EmbedError),
}

/// Searches by all methods and fuses their hits. A hit of a single method can still rank first.
///
/// If vectors cannot be searched, words are searched alone, with a notice; a search by meaning
/// alone is then an error. The same holds the other way round while the text index is rebuilt.
///
/// # Errors
/// When the limit is too large or the store cannot be read.
pub async fn hybrid(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
) -> Result<HybridResults, SearchError> {
    let mut results = HybridResults::default();
    let lists = hit_lists(snapshot, embedder, search, &mut results.notices).await?;
    let order = rank_hits(&lists, search);
    let ids: Vec<CandidateId> = order.iter().map(|(id, _, _)| id.clone()).collect();
    let passages = snapshot.passages(&ids).await?;
    let readable: Vec<&Passage> = passages.iter().flatten().collect();
    let excerpts = snapshot.excerpts(&readable, &search.query, search.excerpt_chars_max);
    let mut excerpts = excerpts.into_iter();
    for ((id, score, ranks), passage) in order.into_iter().zip(passages) {
        let Some((passage, excerpt)) = passage.and_then(|it| Some((it, excerpts.next()?))) else {
            continue;
        };
        results.found.push(HybridHit { id, score, ranks, passage, excerpt });
    }
    Ok(results)
}

/// Runs the searches of the requested methods.
async fn hit_lists(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
    notices: &mut Vec<String>,
) -> Result<Vec<(SearchMethod, Vec<Hit>)>, SearchError> {
    let limit = fusion_depth(search.limit);
    if search.limit > LIMIT_MAX {
        let what = format!("{} is over the most, {LIMIT_MAX}", search.limit);
        return Err(ReadError::invalid("limit", what).into());
    }
    let by_words = search_by_words(snapshot, search, limit);
    let by_meaning = search_by_meaning(snapshot, embedder, search, limit);
    let by_spelling = async || search_by_spelling(snapshot, search, limit).await;
    let hits = match search.only {
        Some(SearchMethod::Text) => by_words.await?,
        Some(SearchMethod::Vector) => by_meaning.await?,
        Some(SearchMethod::Fuzzy) => by_spelling().await?,
        None => {
            let by_meaning = async { Ok(by_meaning.await.map_err(|error| error_chain(&error))) };
            let by_words = async {
                match by_words.await {
                    Err(error @ SearchError::Read(ReadError::Rebuilding)) => Ok(Err(error)),
                    other => other.map(Ok),
                }
            };
            let (lists, notice) = search_all_methods(by_words, by_meaning, by_spelling).await?;
            notices.extend(notice);
            let is_empty = |method: SearchMethod| {
                lists.iter().any(|(of, hits)| *of == method && hits.is_empty())
            };
            if is_empty(SearchMethod::Text) && !is_empty(SearchMethod::Vector) {
                // Something is always nearest, so the caller must know how little that may mean.
                let notice =
                    "no word of the query occurs; these are nearest in meaning or spelling";
                notices.push(notice.to_owned());
            }
            return Ok(lists);
        }
    };
    Ok(search.only.map(|method| (method, hits)).into_iter().collect())
}

/// Searches by words and by meaning at once, and by spelling if words found little. If one of words
/// and meaning cannot be searched, the reason is returned as a notice, beside the hits by the other.
pub(crate) async fn search_all_methods<H: AsRef<[Hit]>, E: StdError>(
    by_words: impl Future<Output = Result<Result<H, E>, E>>,
    by_meaning: impl Future<Output = Result<Result<H, String>, E>>,
    by_spelling: impl AsyncFnOnce() -> Result<H, E>,
) -> Result<(Vec<(SearchMethod, H)>, Option<String>), E> {
    let (words, meaning) = try_join(by_words, by_meaning).await?;
    let (words, meaning) = match (words, meaning) {
        (Ok(words), meaning) => (words, meaning),
        // Spelling is searched in the same index.
        (Err(error), Ok(meaning)) => {
            let notice = format!("by meaning alone: {}", error_chain(&error));
            return Ok((vec![(SearchMethod::Vector, meaning)], Some(notice)));
        }
        (Err(error), Err(_)) => return Err(error),
    };
    let words_are_few = words.as_ref().len() < FEW_HITS;
    let mut lists = vec![(SearchMethod::Text, words)];
    let mut notice = None;
    match meaning {
        Ok(hits) => lists.push((SearchMethod::Vector, hits)),
        Err(reason) => notice = Some(format!("by words alone: {reason}")),
    }
    if words_are_few {
        lists.push((SearchMethod::Fuzzy, by_spelling().await?));
    }
    Ok((lists, notice))
}

/// The document frequencies of a text's terms; none while the text index is being rebuilt, which the
/// searches by words report.
pub(crate) async fn frequencies_if_known(
    snapshot: &dyn Snapshot,
    text: &str,
) -> Result<Frequencies, ReadError> {
    match snapshot.frequencies(text).await {
        Err(ReadError::Rebuilding) => Ok(Frequencies::default()),
        known => known,
    }
}

async fn search_by_words(
    snapshot: &dyn Snapshot,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let (query, filter) = (search.query.clone(), search.filter.clone());
    let search = TextSearch { query, unfinished: false, all_words: false, filter, limit };
    Ok(snapshot.search_text(&search).await?)
}

async fn search_by_meaning(
    snapshot: &dyn Snapshot,
    embedder: &dyn Embedder,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let vector = embedder.embed_query(&search.query)?;
    let (effort, filter) = (Effort::Fast, search.filter.clone());
    Ok(snapshot.search_vectors(&VectorSearch { vector, effort, filter, limit }).await?)
}

async fn search_by_spelling(
    snapshot: &dyn Snapshot,
    search: &Search,
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let (query, filter) = (search.query.clone(), search.filter.clone());
    let similarity_least = Score::unit(SIMILARITY_LEAST);
    let search = FuzzySearch { query, similarity_least, filter, limit };
    Ok(snapshot.search_fuzzy(&search).await?)
}

/// A hit's id, its score, and its rank by each method.
type FusedRank = (CandidateId, Score, Vec<(SearchMethod, usize)>);

/// Fuses the lists and applies the limits of hits, altogether and per item.
fn rank_hits(lists: &[(SearchMethod, Vec<Hit>)], search: &Search) -> Vec<FusedRank> {
    let mut ranks: BTreeMap<&CandidateId, Vec<(SearchMethod, usize)>> = BTreeMap::new();
    for (method, hits) in lists {
        for (hit, rank) in hits.iter().zip(1..) {
            ranks.entry(&hit.id).or_default().push((*method, rank));
        }
    }
    let fused = match lists {
        [(_, hits)] => hits.clone(),
        lists => {
            fuse_hits(lists, SearchMethod::weight).into_iter().map(|fused| fused.hit).collect()
        }
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

/// A fused hit, with its score by each method that found it.
#[derive(Debug)]
pub(crate) struct FusedHit {
    pub(crate) hit: Hit,
    /// The methods' own scores, in the order of [`SearchMethod::ALL`].
    scores: [Option<Score>; SearchMethod::ALL.len()],
}

impl FusedHit {
    /// Returns its score by a method.
    pub(crate) const fn score_by(&self, method: SearchMethod) -> Option<Score> {
        self.scores[method as usize]
    }
}

/// Fuses lists into one, with scores between 0 and 1; ties are broken by id.
pub(crate) fn fuse_hits<L: AsRef<[Hit]>>(
    lists: &[(SearchMethod, L)],
    weight: impl Fn(SearchMethod) -> Score,
) -> Vec<FusedHit> {
    // Ids are long and share prefixes, so they are replaced by numbers while lists are fused.
    let mut numbers: HashMap<&CandidateId, u32> = HashMap::new();
    let mut known: Vec<(&CandidateId, [Option<Score>; SearchMethod::ALL.len()])> = Vec::new();
    let mut numbered = Vec::with_capacity(lists.len());
    for (method, hits) in lists {
        let mut list = Vec::with_capacity(hits.as_ref().len());
        for hit in hits.as_ref() {
            let number = *numbers.entry(&hit.id).or_insert_with(|| {
                known.push((&hit.id, Default::default()));
                u32::try_from(known.len() - 1).unwrap_or(u32::MAX)
            });
            let score = &mut known[number as usize].1[*method as usize];
            *score = (*score).max(Some(hit.score));
            list.push((number, hit.score));
        }
        numbered.push(RankedList { weight: weight(*method), hits: list });
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
