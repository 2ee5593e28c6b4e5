//! Collectors that search: by meaning, by words, by spelling, and by words and meaning together.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::{Candidate, merge};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::{ReadError, chain};
use haversack_store::store::query::{
    Effort, Filter, FuzzySearch, Hit, LIMIT_MAX, TextSearch, VectorSearch,
};

use super::asked::{Asked, Searches};
use super::make::{collected, from_passages};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CollectorSpec, LayerSpec};
use crate::search::{FusedHit, SIMILARITY, Way, depth, fused, search_all_ways};

/// What is nearest in meaning (W3, P8, P10, M2).
pub(super) struct Semantic;

impl Collector for Semantic {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let sieve = Sieve::searching(question, spec)?;
            let mut room = Room::of_items(limit(question, spec), spec.settings.count("per_item"));
            let least = Score::unit(spec.settings.number("minimum"));
            let hits = by_meaning(question, sieve.filter(), reach(&sieve, &room)).await?;
            let near = |hit: &&Hit| Score::unit(hit.score.get()) >= least;
            let hits = hits.iter().filter(near).collect();
            let measured = |hit: &Hit, _| signals(&[Component::Semantic], hit.score);
            pick(question, spec, &sieve, &mut room, hits, measured).await
        }
        .boxed()
    }
}

/// What holds the query's words (K3).
pub(super) struct Text;

impl Collector for Text {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        words(question, spec, question.request.query.clone(), false).boxed()
    }
}

/// What holds all of the query's keywords and phrases (K3).
pub(super) struct Keyword;

impl Collector for Keyword {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        let analysis = &question.analysis;
        let phrases = analysis.phrases.iter().map(|phrase| {
            // A quote inside would end the phrase.
            format!("\"{}\"", phrase.replace('"', " "))
        });
        let parts: Vec<String> = analysis.keywords.iter().cloned().chain(phrases).collect();
        words(question, spec, parts.join(" "), true).boxed()
    }
}

/// What is spelt alike (K3).
pub(super) struct Fuzzy;

impl Collector for Fuzzy {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let sieve = Sieve::searching(question, spec)?;
            // One title, path or text is spelt alike, not several parts of an item.
            let mut room = Room::of_items(limit(question, spec), 1);
            let least = spec.settings.number("similarity");
            let hits = by_spelling(question, sieve.filter(), least, reach(&sieve, &room)).await?;
            let measured = |hit: &Hit, _| signals(&[Component::TextSimilarity], hit.score);
            pick(question, spec, &sieve, &mut room, hits.iter().collect(), measured).await
        }
        .boxed()
    }
}

/// Words and meaning, fused by score.
pub(super) struct Hybrid;

impl Collector for Hybrid {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let mut found = hybrid(question, spec).await?;
            // Kinds that were asked for first are not crowded out by others that match better.
            if spec.kinds.is_empty() && !question.request.prioritize.is_empty() {
                let kinds = question.request.prioritize.clone();
                let first = hybrid(question, &CollectorSpec { kinds, ..spec.clone() }).await?;
                found.candidates =
                    merge(found.candidates.into_iter().chain(first.candidates).collect());
            }
            Ok(found)
        }
        .boxed()
    }
}

async fn hybrid(question: &Question, spec: &CollectorSpec) -> Result<Collected, ReadError> {
    let sieve = Sieve::searching(question, spec)?;
    let mut room = Room::of_passages(deep(question, spec), spec.settings.count("per_item"));
    let reach = question.searches.reach(&sieve.filter(), reach(&sieve, &room));
    let mut notices = Vec::new();
    let lists = lists(question, &sieve, reach, &mut notices).await?;
    let weight = |way: Way| match way {
        Way::Text => Score::unit(spec.settings.number("text")),
        Way::Vector => Score::unit(spec.settings.number("vector")),
        Way::Fuzzy => way.weight(),
    };
    let fused = fused(&lists, weight);
    let best_by_words = best(&lists[0].1);
    let all = |hit: &Hit, place: usize| {
        let mut all = signals(&[Component::Fusion], hit.score);
        all.strengthen(&by_way(&fused[place], best_by_words));
        all
    };
    let hits = fused.iter().map(|fused| &fused.hit).collect();
    let mut collected = pick(question, spec, &sieve, &mut room, hits, all).await?;
    collected.notices = notices;
    Ok(collected)
}

/// The searches of a question by a recipe, before any of them is made.
pub(crate) fn plan(question: &Question, layers: &[LayerSpec]) -> Searches {
    let specs = layers.iter().flat_map(|layer| &layer.collect).filter(|spec| spec.by == "hybrid");
    Searches::reaching(specs.filter_map(|spec| {
        // A collector that cannot search says so itself.
        let sieve = Sieve::searching(question, spec).ok()?;
        let room = Room::of_passages(deep(question, spec), 1);
        Some((sieve.filter(), reach(&sieve, &room)))
    }))
}

/// How many the request, or else the recipe, asks for.
fn limit(question: &Question, spec: &CollectorSpec) -> usize {
    let limit = question.request.limit.unwrap_or_else(|| spec.settings.count("limit"));
    limit.min(LIMIT_MAX)
}

/// How many passages are fused: as many as the recipe says, and more where the request would have
/// more. What a request's limit leaves out is decided after ranking, when it is known what is best.
fn deep(question: &Question, spec: &CollectorSpec) -> usize {
    let limit = question.request.limit.unwrap_or(0);
    limit.max(spec.settings.count("limit")).min(LIMIT_MAX)
}

/// What a list's score says: of the collector, and of these components.
fn signals(components: &[Component], score: Score) -> Signals {
    let with = |signals: Signals, component: &Component| signals.with(*component, score);
    components.iter().fold(Signals::default().with(Component::Collector, score), with)
}

/// How many hits are asked of a search so that enough pass.
fn reach(sieve: &Sieve<'_>, room: &Room) -> usize {
    if sieve.is_exact() { depth(room.wanted) } else { LIMIT_MAX }
}

type Hits = Arc<[Hit]>;

async fn by_meaning(question: &Question, filter: Filter, limit: usize) -> Result<Hits, ReadError> {
    let Some(vector) = question.vector.clone() else { return Ok(Hits::default()) };
    let asked = Asked::Vector(filter.clone(), limit);
    let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
    question.searches.once(asked, question.snapshot.vector(&search)).await
}

async fn by_words(
    question: &Question,
    query: String,
    all_words: bool,
    filter: Filter,
    limit: usize,
) -> Result<Hits, ReadError> {
    let search = TextSearch { query, unfinished: false, all_words, filter, limit };
    question.searches.once(Asked::Text(search.clone()), question.snapshot.text(&search)).await
}

async fn by_spelling(
    question: &Question,
    filter: Filter,
    least: f64,
    limit: usize,
) -> Result<Hits, ReadError> {
    let (query, similarity_least) = (question.request.query.clone(), Score::unit(least));
    let search = FuzzySearch { query, similarity_least, filter, limit };
    question.searches.once(Asked::Fuzzy(search.clone()), question.snapshot.fuzzy(&search)).await
}

async fn words(
    question: &Question,
    spec: &CollectorSpec,
    query: String,
    all_words: bool,
) -> Result<Collected, ReadError> {
    let sieve = Sieve::searching(question, spec)?;
    let mut room = Room::of_items(limit(question, spec), spec.settings.count("per_item"));
    let filter = sieve.filter();
    let hits = by_words(question, query, all_words, filter, reach(&sieve, &room)).await?;
    let best = best(&hits);
    let measured = |hit: &Hit, _| signals(&[Component::TextSimilarity], part(hit.score, best));
    pick(question, spec, &sieve, &mut room, hits.iter().collect(), measured).await
}

/// The lists that are fused; spelling joins in where words found little. Vectors that cannot be
/// searched leave the words alone, with a notice, unless the request would have an error.
async fn lists(
    question: &Question,
    sieve: &Sieve<'_>,
    limit: usize,
    notices: &mut Vec<Notice>,
) -> Result<Vec<(Way, Hits)>, ReadError> {
    let filter = sieve.filter();
    let meaning = async {
        match by_meaning(question, filter.clone(), limit).await {
            Err(error @ ReadError::Stale(_)) if question.request.degrade != Some(false) => {
                Ok(Err(chain(&error)))
            }
            other => other.map(Ok),
        }
    };
    let query = question.request.query.clone();
    let words = by_words(question, query, false, filter.clone(), limit);
    let spelling = async || by_spelling(question, filter.clone(), SIMILARITY, limit).await;
    let (lists, notice) = search_all_ways(words, meaning, spelling).await?;
    notices.extend(notice.map(|message| Notice::new(NoticeCode::Degraded, message)));
    Ok(lists)
}

/// What each way says of a hit, in the component that it measures.
fn by_way(fused: &FusedHit, best_by_words: Score) -> Signals {
    let mut signals = Signals::default();
    for way in Way::ALL {
        let Some(score) = fused.by(way) else { continue };
        let (component, score) = match way {
            Way::Text => (Component::TextSimilarity, part(score, best_by_words)),
            Way::Vector => (Component::Semantic, score),
            Way::Fuzzy => (Component::TextSimilarity, score),
        };
        signals.strengthen(&Signals::default().with(component, score));
    }
    signals
}

fn best(hits: &[Hit]) -> Score {
    hits.iter().map(|hit| hit.score).max().unwrap_or(Score::ZERO)
}

/// A score as a part of the best: BM25 has no upper bound of its own.
fn part(score: Score, best: Score) -> Score {
    if best > Score::ZERO { Score::unit(score.get() / best.get()) } else { Score::ZERO }
}

/// Reads hits, best first, as long as there is room for them. What does not pass the sieve takes
/// none, so the next one is read in its place. What was measured of a hit is asked for by its place
/// among them.
async fn pick(
    question: &Question,
    spec: &CollectorSpec,
    sieve: &Sieve<'_>,
    room: &mut Room,
    hits: Vec<&Hit>,
    measured: impl Fn(&Hit, usize) -> Signals,
) -> Result<Collected, ReadError> {
    let mut hits = hits.into_iter().zip(0..).peekable();
    let mut picked = Vec::new();
    loop {
        let mut batch = Vec::new();
        while let Some((hit, _)) = hits.peek() {
            match room.take(&hit.id.item) {
                Taken::No => break,
                Taken::NotThis => drop(hits.next()),
                Taken::Yes => batch.extend(hits.next()),
            }
        }
        if batch.is_empty() {
            break;
        }
        let ids: Vec<CandidateId> = batch.iter().map(|(hit, _)| hit.id.clone()).collect();
        let passages = question.snapshot.passages(&ids).await?;
        for ((hit, place), passage) in batch.into_iter().zip(passages) {
            match passage.filter(|passage| sieve.passes(&passage.stored)) {
                Some(passage) => picked.push((passage, measured(hit, place))),
                None => room.give_back(&hit.id.item),
            }
        }
    }
    Ok(collected(spec, from_passages(question, &picked).await?))
}

/// How much may still be picked.
struct Room {
    /// How many were asked for, items or passages.
    wanted: usize,
    items_max: usize,
    passages_max: usize,
    per_item_max: usize,
    of_item: BTreeMap<ItemId, usize>,
    passages: usize,
}

enum Taken {
    Yes,
    /// There are enough of this item.
    NotThis,
    /// There is enough altogether.
    No,
}

impl Room {
    /// Room for so many items, with so many chunks of each.
    fn of_items(limit: usize, per_item: usize) -> Room {
        Room { items_max: limit, passages_max: usize::MAX, ..Room::of_passages(limit, per_item) }
    }

    /// Room for so many chunks, and so many of one item.
    fn of_passages(limit: usize, per_item: usize) -> Room {
        Room {
            wanted: limit,
            items_max: usize::MAX,
            passages_max: limit,
            per_item_max: per_item.max(1),
            of_item: BTreeMap::new(),
            passages: 0,
        }
    }

    fn take(&mut self, item: &ItemId) -> Taken {
        let of_item = self.of_item.get(item).copied().unwrap_or(0);
        if of_item >= self.per_item_max {
            return Taken::NotThis;
        }
        let is_new = of_item == 0;
        if self.passages >= self.passages_max || is_new && self.of_item.len() >= self.items_max {
            return Taken::No;
        }
        self.of_item.insert(item.clone(), of_item + 1);
        self.passages += 1;
        Taken::Yes
    }

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
