//! Collectors that search: by meaning, by words, by spelling, and by words and meaning together.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::{Candidate, merge};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::{ReadError, error_chain};
use haversack_store::store::query::{
    Effort, Filter, FuzzySearch, Hit, LIMIT_MAX, TextSearch, VectorSearch,
};

use super::candidates::{candidates_from_passages, collector_output};
use super::item_filter::ItemFilter;
use super::search_cache::{SearchCache, SearchKey};
use super::{Collector, CollectorOutput, Question};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CollectorSpec, LayerSpec};
use crate::search::{
    FusedHit, SIMILARITY_LEAST, SearchMethod, fuse_hits, fusion_depth, search_all_methods,
};

/// Collects what is nearest in meaning (W3, P8, P10, M2).
pub(super) struct SemanticCollector;

impl Collector for SemanticCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let filter = ItemFilter::for_search(question, spec)?;
            let mut quota =
                PassageQuota::of_items(items_max(question, spec), spec.settings.count("per_item"));
            let least = Score::unit(spec.settings.number("minimum"));
            let hits =
                search_by_meaning(question, filter.store_filter(), search_limit(&filter, &quota))
                    .await?;
            let near = |hit: &&Hit| Score::unit(hit.score.get()) >= least;
            let hits = hits.iter().filter(near).collect();
            let measured = |hit: &Hit, _| signals(&[Component::Semantic], hit.score);
            pick_passages(question, spec, &filter, &mut quota, hits, measured).await
        }
        .boxed()
    }
}

/// Collects texts with words of the query (K3).
pub(super) struct TextCollector;

impl Collector for TextCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        collect_by_words(question, spec, question.request.query.clone(), false).boxed()
    }
}

/// Collects texts with all keywords and phrases of the query (K3).
pub(super) struct KeywordCollector;

impl Collector for KeywordCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        let analysis = &question.analysis;
        let phrases = analysis.phrases.iter().map(|phrase| {
            // A quote inside would end the phrase.
            format!("\"{}\"", phrase.replace('"', " "))
        });
        let parts: Vec<String> = analysis.keywords.iter().cloned().chain(phrases).collect();
        collect_by_words(question, spec, parts.join(" "), true).boxed()
    }
}

/// Collects titles, paths and short texts with a similar spelling (K3).
pub(super) struct FuzzyCollector;

impl Collector for FuzzyCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let filter = ItemFilter::for_search(question, spec)?;
            // A match is one title, path or text, not several parts of an item.
            let mut quota = PassageQuota::of_items(items_max(question, spec), 1);
            let least = spec.settings.number("similarity");
            let hits = search_by_spelling(
                question,
                filter.store_filter(),
                least,
                search_limit(&filter, &quota),
            )
            .await?;
            let measured = |hit: &Hit, _| signals(&[Component::TextSimilarity], hit.score);
            pick_passages(question, spec, &filter, &mut quota, hits.iter().collect(), measured)
                .await
        }
        .boxed()
    }
}

/// Collects by words and meaning, fused by score.
pub(super) struct HybridCollector;

impl Collector for HybridCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let mut found = collect_hybrid(question, spec).await?;
            // Prioritized kinds are searched alone, too, so that others do not crowd them out.
            if spec.kinds.is_empty() && !question.request.prioritize.is_empty() {
                let kinds = question.request.prioritize.clone();
                let first =
                    collect_hybrid(question, &CollectorSpec { kinds, ..spec.clone() }).await?;
                found.candidates =
                    merge(found.candidates.into_iter().chain(first.candidates).collect());
            }
            Ok(found)
        }
        .boxed()
    }
}

async fn collect_hybrid(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<CollectorOutput, ReadError> {
    let filter = ItemFilter::for_search(question, spec)?;
    let mut quota =
        PassageQuota::of_passages(passages_max(question, spec), spec.settings.count("per_item"));
    let limit =
        question.search_cache.limit_for(&filter.store_filter(), search_limit(&filter, &quota));
    let mut notices = Vec::new();
    let lists = hit_lists(question, &filter, limit, &mut notices).await?;
    let weight = |method: SearchMethod| match method {
        SearchMethod::Text => Score::unit(spec.settings.number("text")),
        SearchMethod::Vector => Score::unit(spec.settings.number("vector")),
        SearchMethod::Fuzzy => method.weight(),
    };
    let fused = fuse_hits(&lists, weight);
    let best_by_words = best_score(&lists[0].1);
    let measured = |hit: &Hit, index: usize| {
        let mut all = signals(&[Component::Fusion], hit.score);
        all.strengthen(&signals_by_method(&fused[index], best_by_words));
        all
    };
    let hits = fused.iter().map(|fused| &fused.hit).collect();
    let mut output = pick_passages(question, spec, &filter, &mut quota, hits, measured).await?;
    output.notices = notices;
    Ok(output)
}

/// Creates the cache for a question's searches, with the limits that the recipe's layers need.
pub(crate) fn plan_searches(question: &Question, layers: &[LayerSpec]) -> SearchCache {
    let specs = layers.iter().flat_map(|layer| &layer.collect).filter(|spec| spec.by == "hybrid");
    SearchCache::with_planned_limits(specs.filter_map(|spec| {
        // A collector whose filter is not valid reports the error itself.
        let filter = ItemFilter::for_search(question, spec).ok()?;
        let quota = PassageQuota::of_passages(passages_max(question, spec), 1);
        Some((filter.store_filter(), search_limit(&filter, &quota)))
    }))
}

/// Returns the most items to find: the request's limit, or else the recipe's.
fn items_max(question: &Question, spec: &CollectorSpec) -> usize {
    let limit = question.request.limit.unwrap_or_else(|| spec.settings.count("limit"));
    limit.min(LIMIT_MAX)
}

/// Returns the most passages of a hybrid search: the recipe's limit, or the request's if it is
/// larger. A smaller limit of the request is applied after ranking, when it is known which
/// candidates are best.
fn passages_max(question: &Question, spec: &CollectorSpec) -> usize {
    let limit = question.request.limit.unwrap_or(0);
    limit.max(spec.settings.count("limit")).min(LIMIT_MAX)
}

/// Returns signals with a score for the collector and for each of these components.
fn signals(components: &[Component], score: Score) -> Signals {
    let with = |signals: Signals, component: &Component| signals.with(*component, score);
    components.iter().fold(Signals::default().with(Component::Collector, score), with)
}

/// Returns how many hits to search for, so that enough of them meet the filter.
fn search_limit(filter: &ItemFilter<'_>, quota: &PassageQuota) -> usize {
    if filter.is_store_filter_exact() { fusion_depth(quota.wanted) } else { LIMIT_MAX }
}

type Hits = Arc<[Hit]>;

async fn search_by_meaning(
    question: &Question,
    filter: Filter,
    limit: usize,
) -> Result<Hits, ReadError> {
    let Some(vector) = question.vector.clone() else { return Ok(Hits::default()) };
    let key = SearchKey::Vector(filter.clone(), limit);
    let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
    question.search_cache.get_or_search(key, question.snapshot.search_vectors(&search)).await
}

async fn search_by_words(
    question: &Question,
    query: String,
    all_words: bool,
    filter: Filter,
    limit: usize,
) -> Result<Hits, ReadError> {
    let search = TextSearch { query, unfinished: false, all_words, filter, limit };
    question
        .search_cache
        .get_or_search(SearchKey::Text(search.clone()), question.snapshot.search_text(&search))
        .await
}

async fn search_by_spelling(
    question: &Question,
    filter: Filter,
    least: f64,
    limit: usize,
) -> Result<Hits, ReadError> {
    let (query, similarity_least) = (question.request.query.clone(), Score::unit(least));
    let search = FuzzySearch { query, similarity_least, filter, limit };
    question
        .search_cache
        .get_or_search(SearchKey::Fuzzy(search.clone()), question.snapshot.search_fuzzy(&search))
        .await
}

async fn collect_by_words(
    question: &Question,
    spec: &CollectorSpec,
    query: String,
    all_words: bool,
) -> Result<CollectorOutput, ReadError> {
    let filter = ItemFilter::for_search(question, spec)?;
    let mut quota =
        PassageQuota::of_items(items_max(question, spec), spec.settings.count("per_item"));
    let limit = search_limit(&filter, &quota);
    let hits = search_by_words(question, query, all_words, filter.store_filter(), limit).await?;
    let best = best_score(&hits);
    let measured =
        |hit: &Hit, _| signals(&[Component::TextSimilarity], relative_score(hit.score, best));
    pick_passages(question, spec, &filter, &mut quota, hits.iter().collect(), measured).await
}

/// Runs the searches whose hits are fused; spelling is searched where words find little. If either
/// vectors or words cannot be searched, the other is searched alone, with a notice, unless the
/// request prefers an error.
async fn hit_lists(
    question: &Question,
    filter: &ItemFilter<'_>,
    limit: usize,
    notices: &mut Vec<Notice>,
) -> Result<Vec<(SearchMethod, Hits)>, ReadError> {
    let filter = filter.store_filter();
    let meaning = async {
        match search_by_meaning(question, filter.clone(), limit).await {
            Err(error @ ReadError::Stale(_)) if question.request.degrade != Some(false) => {
                Ok(Err(error_chain(&error)))
            }
            other => other.map(Ok),
        }
    };
    let query = question.request.query.clone();
    let words = async {
        match search_by_words(question, query, false, filter.clone(), limit).await {
            Err(error @ ReadError::Rebuilding) if question.request.degrade != Some(false) => {
                Ok(Err(error))
            }
            other => other.map(Ok),
        }
    };
    let spelling =
        async || search_by_spelling(question, filter.clone(), SIMILARITY_LEAST, limit).await;
    let (lists, notice) = search_all_methods(words, meaning, spelling).await?;
    notices.extend(notice.map(|message| Notice::new(NoticeCode::Degraded, message)));
    Ok(lists)
}

/// Returns the scores of a hit by each method, as signals of the component that the method
/// measures.
fn signals_by_method(fused: &FusedHit, best_by_words: Score) -> Signals {
    let mut signals = Signals::default();
    for method in SearchMethod::ALL {
        let Some(score) = fused.score_by(method) else { continue };
        let (component, score) = match method {
            SearchMethod::Text => (Component::TextSimilarity, relative_score(score, best_by_words)),
            SearchMethod::Vector => (Component::Semantic, score),
            SearchMethod::Fuzzy => (Component::TextSimilarity, score),
        };
        signals.strengthen(&Signals::default().with(component, score));
    }
    signals
}

fn best_score(hits: &[Hit]) -> Score {
    hits.iter().map(|hit| hit.score).max().unwrap_or(Score::ZERO)
}

/// Returns a score as a fraction of the best, because BM25 has no upper bound.
fn relative_score(score: Score, best: Score) -> Score {
    if best > Score::ZERO { Score::unit(score.get() / best.get()) } else { Score::ZERO }
}

/// Reads the passages of hits, best first, until the quota is used up. A passage that does not meet
/// the filter is given back to the quota, so the next one is read instead. `measured` returns the
/// signals of a hit by its index.
async fn pick_passages(
    question: &Question,
    spec: &CollectorSpec,
    filter: &ItemFilter<'_>,
    quota: &mut PassageQuota,
    hits: Vec<&Hit>,
    measured: impl Fn(&Hit, usize) -> Signals,
) -> Result<CollectorOutput, ReadError> {
    let mut hits = hits.into_iter().zip(0..).peekable();
    let mut picked = Vec::new();
    loop {
        let mut batch = Vec::new();
        while let Some((hit, _)) = hits.peek() {
            match quota.admit(&hit.id.item) {
                Admission::QuotaFull => break,
                Admission::ItemFull => drop(hits.next()),
                Admission::Admitted => batch.extend(hits.next()),
            }
        }
        if batch.is_empty() {
            break;
        }
        let ids: Vec<CandidateId> = batch.iter().map(|(hit, _)| hit.id.clone()).collect();
        let passages = question.snapshot.passages(&ids).await?;
        for ((hit, index), passage) in batch.into_iter().zip(passages) {
            match passage.filter(|passage| filter.accepts(&passage.stored)) {
                Some(passage) => picked.push((passage, measured(hit, index))),
                None => quota.give_back(&hit.id.item),
            }
        }
    }
    Ok(collector_output(spec, candidates_from_passages(question, &picked).await?))
}

/// How many passages may still be picked.
struct PassageQuota {
    /// The limit, in items or passages.
    wanted: usize,
    items_max: usize,
    passages_max: usize,
    per_item_max: usize,
    /// How many passages of each item were picked.
    of_item: BTreeMap<ItemId, usize>,
    /// How many passages were picked in all.
    passages: usize,
}

/// Whether a passage may be picked.
enum Admission {
    Admitted,
    /// There are enough passages of this item.
    ItemFull,
    /// There are enough passages altogether.
    QuotaFull,
}

impl PassageQuota {
    /// A quota of items, with at most `per_item` chunks of each.
    fn of_items(limit: usize, per_item: usize) -> PassageQuota {
        let quota = PassageQuota::of_passages(limit, per_item);
        PassageQuota { items_max: limit, passages_max: usize::MAX, ..quota }
    }

    /// A quota of chunks, with at most `per_item` of one item.
    fn of_passages(limit: usize, per_item: usize) -> PassageQuota {
        PassageQuota {
            wanted: limit,
            items_max: usize::MAX,
            passages_max: limit,
            per_item_max: per_item.max(1),
            of_item: BTreeMap::new(),
            passages: 0,
        }
    }

    /// Counts a passage of an item if it may be picked.
    fn admit(&mut self, item: &ItemId) -> Admission {
        let of_item = self.of_item.get(item).copied().unwrap_or(0);
        if of_item >= self.per_item_max {
            return Admission::ItemFull;
        }
        let is_new = of_item == 0;
        if self.passages >= self.passages_max || is_new && self.of_item.len() >= self.items_max {
            return Admission::QuotaFull;
        }
        self.of_item.insert(item.clone(), of_item + 1);
        self.passages += 1;
        Admission::Admitted
    }

    /// Uncounts a passage that is not used.
    fn give_back(&mut self, item: &ItemId) {
        self.passages -= 1;
        if let Some(count) = self.of_item.get_mut(item) {
            *count -= 1;
            if *count == 0 {
                self.of_item.remove(item);
            }
        }
    }
}
