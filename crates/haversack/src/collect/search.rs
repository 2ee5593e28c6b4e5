//! Collectors that search: by meaning, by words, by spelling, and by words and meaning together.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join};
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::{ReadError, chain};
use haversack_store::store::query::{
    Effort, Filter, FuzzySearch, Hit, LIMIT_MAX, TextSearch, VectorSearch,
};

use super::make::{collected, from_passages};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::CollectorSpec;
use crate::search::{SIMILARITY, Way, depth, fused, is_little};

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
            let mut hits = by_meaning(question, sieve.filter(), reach(&sieve, &room)).await?;
            hits.retain(|hit| Score::unit(hit.score.get()) >= least);
            let measured = |hit: &Hit| signals(&[Component::Semantic], hit.score);
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
            let measured = |hit: &Hit| signals(&[Component::TextSimilarity], hit.score);
            pick(question, spec, &sieve, &mut room, hits, measured).await
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
            let sieve = Sieve::searching(question, spec)?;
            let limit = limit(question, spec);
            let mut room = Room::of_passages(limit, spec.settings.count("per_item"));
            let reach = reach(&sieve, &room);
            let mut notices = Vec::new();
            let lists = lists(question, &sieve, reach, &mut notices).await?;
            let weight = |way: Way| match way {
                Way::Text => Score::unit(spec.settings.number("text")),
                Way::Vector => Score::unit(spec.settings.number("vector")),
                Way::Fuzzy => way.weight(),
            };
            let hits = fused(&lists, weight);
            let by_way = measured(lists);
            let all = |hit: &Hit| {
                let mut all = signals(&[Component::Fusion], hit.score);
                all.strengthen(by_way.get(&hit.id).unwrap_or(&Signals::default()));
                all
            };
            let mut collected = pick(question, spec, &sieve, &mut room, hits, all).await?;
            collected.notices = notices;
            Ok(collected)
        }
        .boxed()
    }
}

/// How many the request, or else the recipe, asks for.
fn limit(question: &Question, spec: &CollectorSpec) -> usize {
    let limit = question.request.limit.unwrap_or_else(|| spec.settings.count("limit"));
    limit.min(LIMIT_MAX)
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

async fn by_meaning(
    question: &Question,
    filter: Filter,
    limit: usize,
) -> Result<Vec<Hit>, ReadError> {
    let Some(vector) = question.vector.clone() else { return Ok(Vec::new()) };
    question.snapshot.vector(&VectorSearch { vector, effort: Effort::Fast, filter, limit }).await
}

async fn by_words(
    question: &Question,
    query: String,
    all_words: bool,
    filter: Filter,
    limit: usize,
) -> Result<Vec<Hit>, ReadError> {
    let search = TextSearch { query, unfinished: false, all_words, filter, limit };
    question.snapshot.text(&search).await
}

async fn by_spelling(
    question: &Question,
    filter: Filter,
    least: f64,
    limit: usize,
) -> Result<Vec<Hit>, ReadError> {
    let (query, similarity_least) = (question.request.query.clone(), Score::unit(least));
    question.snapshot.fuzzy(&FuzzySearch { query, similarity_least, filter, limit }).await
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
    let measured = |hit: &Hit| signals(&[Component::TextSimilarity], part(hit.score, best));
    pick(question, spec, &sieve, &mut room, hits, measured).await
}

/// The lists that are fused; spelling joins in where words found little. Vectors that cannot be
/// searched leave the words alone, with a notice, unless the request would have an error.
async fn lists(
    question: &Question,
    sieve: &Sieve<'_>,
    limit: usize,
    notices: &mut Vec<Notice>,
) -> Result<Vec<(Way, Vec<Hit>)>, ReadError> {
    let filter = sieve.filter();
    let meaning = async {
        match by_meaning(question, filter.clone(), limit).await {
            Err(error @ ReadError::Stale(_)) if question.request.degrade != Some(false) => {
                Ok(Err(error))
            }
            other => other.map(Ok),
        }
    };
    let query = question.request.query.clone();
    let (words, meaning) =
        try_join(by_words(question, query, false, filter.clone(), limit), meaning).await?;
    let little = is_little(&words);
    let mut lists = vec![(Way::Text, words)];
    match meaning {
        Ok(hits) => lists.push((Way::Vector, hits)),
        Err(error) => {
            let message = format!("by words alone: {}", chain(&error));
            notices.push(Notice::new(NoticeCode::Degraded, message));
        }
    }
    if little {
        lists.push((Way::Fuzzy, by_spelling(question, filter, SIMILARITY, limit).await?));
    }
    Ok(lists)
}

/// What each way says of each hit, in the component that it measures.
fn measured(lists: Vec<(Way, Vec<Hit>)>) -> BTreeMap<CandidateId, Signals> {
    let mut measured: BTreeMap<CandidateId, Signals> = BTreeMap::new();
    for (way, hits) in lists {
        let best = best(&hits);
        for hit in hits {
            let (component, score) = match way {
                Way::Text => (Component::TextSimilarity, part(hit.score, best)),
                Way::Vector => (Component::Semantic, hit.score),
                Way::Fuzzy => (Component::TextSimilarity, hit.score),
            };
            let known = measured.entry(hit.id).or_default();
            known.strengthen(&Signals::default().with(component, score));
        }
    }
    measured
}

fn best(hits: &[Hit]) -> Score {
    hits.iter().map(|hit| hit.score).max().unwrap_or(Score::ZERO)
}

/// A score as a part of the best: BM25 has no upper bound of its own.
fn part(score: Score, best: Score) -> Score {
    if best > Score::ZERO { Score::unit(score.get() / best.get()) } else { Score::ZERO }
}

/// Reads hits, best first, as long as there is room for them. What does not pass the sieve takes
/// none, so the next one is read in its place.
async fn pick(
    question: &Question,
    spec: &CollectorSpec,
    sieve: &Sieve<'_>,
    room: &mut Room,
    hits: Vec<Hit>,
    measured: impl Fn(&Hit) -> Signals,
) -> Result<Collected, ReadError> {
    let mut hits = hits.into_iter().peekable();
    let mut picked = Vec::new();
    loop {
        let mut batch = Vec::new();
        while let Some(hit) = hits.peek() {
            match room.take(&hit.id.item) {
                Taken::No => break,
                Taken::NotThis => drop(hits.next()),
                Taken::Yes => batch.extend(hits.next()),
            }
        }
        if batch.is_empty() {
            break;
        }
        let ids: Vec<CandidateId> = batch.iter().map(|hit| hit.id.clone()).collect();
        let passages = question.snapshot.passages(&ids).await?;
        for (hit, passage) in batch.into_iter().zip(passages) {
            match passage.filter(|passage| sieve.passes(&passage.stored)) {
                Some(passage) => picked.push((passage, measured(&hit))),
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
