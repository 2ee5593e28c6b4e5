//! What is called by its name: references of a thread or a query (K2), and names that the query or
//! the deal mentions (P9).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all, try_join3};
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::query::mention::{Mentions, Name};
use haversack_core::rank::Component;
use haversack_core::units::{Score, Span};
use haversack_store::kinds::{Relation, RelationFamily};
use haversack_store::revision::StateToken;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::{Filter, FuzzySearch, Hit, LIMIT_MAX, Order, Page, TextSearch};
use moka::sync::Cache;
use serde_json::Value;

use super::limits::{Total, left_unread};
use super::make::{collected, essential, from_stored, get, path_of, relevant};
use super::sieve::Sieve;
use super::time::belonging;
use super::{Collected, Collector, Question, Subject};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::CollectorSpec;
use crate::search::SIMILARITY;

/// How many of the last turns of a conversation are read for names.
const TURNS: usize = 4;

/// How many names and paths of a query are looked up.
const NAMES_MAX: usize = 16;

/// How many items may go by one name before it says too little.
const NAMESAKES_MAX: usize = 3;

/// How many hits of a search are compared with a name.
const COMPARED_MAX: usize = 50;

/// How alike a title or path must be to be a misspelt name.
const MISSPELT: f64 = 0.6;

/// Most items whose names are looked for, and how many of them are read at a time.
const KNOWN_MAX: usize = 5_000;
/// Most states and kinds whose names are remembered.
const STATES_MAX: u64 = 64;
const KNOWN_PAGE: usize = 1_000;

/// What the thread, the query or the request refers to.
pub(super) struct References;

impl Collector for References {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let (of_thread, named, (included, mut notices)) =
                try_join3(of_subject(question, spec), named(question, spec), included(question))
                    .await?;
            let mut candidates: Vec<Candidate> = of_thread;
            candidates.extend(named.iter().map(|stored| relevant(stored, Score::ONE)));
            let total = Total::up_to(candidates.len(), LIMIT_MAX);
            candidates.truncate(spec.settings.count("limit"));
            notices.extend(left_unread(&spec.by, candidates.len(), total, "references"));
            let analysis = &question.analysis;
            let names = Total::Exactly(analysis.references.len() + analysis.paths.len());
            let looked_up = NAMES_MAX.min(analysis.references.len() + analysis.paths.len());
            notices.extend(left_unread(&spec.by, looked_up, names, "names in the question"));
            // Whatever the request itself includes is considered, however much it is.
            candidates.extend(included.iter().map(|stored| relevant(stored, Score::ONE)));
            for candidate in &mut candidates {
                candidate.signals.set(Component::SourcePriority, Score::ONE);
            }
            Ok(Collected { notices, ..collected(spec, candidates) })
        }
        .boxed()
    }
}

/// What a subject's references refer to, the newest first; the reference itself where that is
/// not there or not readable, as far as it says something.
async fn of_subject(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<Vec<Candidate>, ReadError> {
    let subject = question.subjects.get(spec.settings.text("of"));
    let Some(subject) = subject else { return Ok(Vec::new()) };
    let filter = Filter::kind(Kind::new("reference").expect("a word is a kind"));
    let field = Some(&*subject.spec.field);
    let mut references = belonging(question, &subject.id, field, &filter).await?;
    references.sort_by_key(|stored| (std::cmp::Reverse(stored.moment()), stored.item.id.clone()));
    let target = |stored: &Stored| {
        let is_reference = |it: &Relation| it.family == RelationFamily::Reference;
        stored.relations().into_iter().find(is_reference).map(|relation| relation.to)
    };
    let ids: Vec<ItemId> = references.iter().filter_map(target).collect();
    let mut targets = get(question, &ids).await?.into_iter();
    let candidate = |reference: &Stored| {
        let found = target(reference).and_then(|_| targets.next().flatten());
        match found.filter(|stored| stored.item.active) {
            Some(stored) => referred(&stored, &reference.item),
            None => unresolved(reference),
        }
    };
    Ok(references.iter().map(candidate).collect())
}

fn field<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    let text = item.fields.get(name).and_then(Value::as_str);
    text.filter(|text| !text.trim().is_empty())
}

/// What a reference refers to. What was quoted of it may stand for it where room is short.
fn referred(target: &Stored, reference: &Item) -> Candidate {
    let mut candidate = relevant(target, Score::ONE);
    let quoted = field(reference, "excerpt").filter(|text| text.len() < candidate.text.len());
    candidate.essential = candidate.essential.or(quoted.map(essential));
    candidate
}

fn unresolved(reference: &Stored) -> Candidate {
    let item = &reference.item;
    let mut candidate = relevant(reference, Score::ONE);
    let quoted = field(item, "excerpt").unwrap_or(&item.body);
    candidate.set_text(quoted);
    candidate.span = Span::whole(quoted);
    if let Some(source) = field(item, "source") {
        candidate.place.path = candidate.place.path.or(Some(source.to_owned()));
    }
    candidate
}

/// The items that the request includes by id, and word of those that are not there.
async fn included(question: &Question) -> Result<(Vec<Stored>, Vec<Notice>), ReadError> {
    let ids = &question.request.include;
    let (mut included, mut notices) = (Vec::new(), Vec::new());
    for (id, stored) in ids.iter().zip(get(question, ids).await?) {
        match stored.filter(|stored| stored.item.active) {
            Some(stored) => included.push(stored),
            None => {
                let id = id.as_str();
                let message = format!("include: there is no item {id:?} that this user can read");
                notices.push(Notice::new(NoticeCode::NotFound, message));
            }
        }
    }
    Ok((included, notices))
}

/// What the query refers to by `@name` or by path, in its order.
async fn named(question: &Question, spec: &CollectorSpec) -> Result<Vec<Stored>, ReadError> {
    let analysis = &question.analysis;
    let names: Vec<&str> =
        analysis.references.iter().chain(&analysis.paths).map(|n| &**n).collect();
    let names = &names[..names.len().min(NAMES_MAX)];
    let ids = names.iter().map(|name| ItemId::new(name).ok());
    let known: Vec<ItemId> = ids.clone().flatten().collect();
    let filter = Filter { kinds: spec.kinds.clone(), ..Filter::default() };
    let sieve = |stored: &Stored| {
        stored.item.active && (spec.kinds.is_empty() || spec.kinds.contains(&stored.item.kind))
    };
    let mut by_id = get(question, &known).await?.into_iter();
    let by_id: Vec<Option<Stored>> =
        ids.map(|id| id.and_then(|_| by_id.next().flatten()).filter(sieve)).collect();
    let searched = names.iter().zip(&by_id).map(|(name, by_id)| {
        let filter = &filter;
        async move {
            match by_id {
                Some(stored) => Ok(vec![stored.item.id.clone()]),
                None => by_name(question, filter, name).await,
            }
        }
    });
    let ids: Vec<ItemId> = try_join_all(searched).await?.into_iter().flatten().collect();
    let stored = get(question, &ids).await?;
    Ok(stored.into_iter().flatten().collect())
}

/// The items that go by a name: by path or title, else by the end of the path, else the one that is
/// spelt most alike.
async fn by_name(
    question: &Question,
    filter: &Filter,
    name: &str,
) -> Result<Vec<ItemId>, ReadError> {
    let prefix = Filter { path_prefix: Some(name.to_owned()), ..filter.clone() };
    let first = Page { order: Order::Id, after: None, limit: NAMESAKES_MAX };
    let (query, limit) = (name.to_owned(), COMPARED_MAX);
    let spelt = FuzzySearch {
        query: query.clone(),
        similarity_least: Score::unit(SIMILARITY),
        filter: filter.clone(),
        limit,
    };
    let words =
        TextSearch { query, unfinished: false, all_words: true, filter: filter.clone(), limit };
    let snapshot = &question.snapshot;
    let (listed, spelt, worded) =
        try_join3(snapshot.list(&prefix, &first), snapshot.fuzzy(&spelt), snapshot.text(&words))
            .await?;
    let whole = |hit: &Hit| CandidateId::whole(hit.id.item.clone());
    let mut ids: Vec<CandidateId> = spelt.iter().chain(&worded).map(whole).collect();
    ids.sort();
    ids.dedup();
    let passages = snapshot.passages(&ids).await?;
    let items = passages.iter().flatten().map(|passage| &passage.stored.item);
    let mut alike: Vec<(Likeness, usize, &ItemId)> = listed
        .iter()
        .map(|stored| &stored.item)
        .chain(items)
        .filter_map(|item| {
            let length = path_of(item).unwrap_or(&item.title).len();
            Some((likeness(name, item)?, length, &item.id))
        })
        .collect();
    alike.sort();
    alike.dedup();
    let Some((best, _, _)) = alike.first() else {
        let misspelt = spelt.iter().find(|hit| hit.score >= Score::unit(MISSPELT));
        return Ok(misspelt.map(|hit| hit.id.item.clone()).into_iter().collect());
    };
    let namesakes = alike.iter().take_while(|(likeness, _, _)| likeness == best);
    Ok(namesakes.take(NAMESAKES_MAX).map(|(_, _, id)| (*id).clone()).collect())
}

/// How a name names an item, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Path,
    Title,
    /// The name is the last part or parts of the path.
    EndOfPath,
    /// The name is that of the file, without its ending.
    Stem,
}

fn likeness(name: &str, item: &Item) -> Option<Likeness> {
    let plain = |text: &str| {
        let text = text.trim().replace('\\', "/").to_lowercase();
        text.trim_start_matches("./").trim_start_matches("~/").trim_matches('/').to_owned()
    };
    let name = plain(name);
    let path = path_of(item).map(plain).unwrap_or_default();
    if name.is_empty() {
        None
    } else if path == name {
        Some(Likeness::Path)
    } else if plain(&item.title) == name {
        Some(Likeness::Title)
    } else if path.strip_suffix(&name).is_some_and(|before| before.ends_with('/')) {
        Some(Likeness::EndOfPath)
    } else {
        let file = path.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map(|(stem, _)| stem);
        (stem == Some(&name)).then_some(Likeness::Stem)
    }
}

/// What is mentioned by name in the query and the subject, misspellings included.
pub(super) struct Mentioned {
    /// The names of kinds, by the state in which they were read: that follows from what its viewer can
    /// read and from nothing else.
    known: Cache<(StateToken, Vec<Kind>), Arc<Names>>,
}

impl Default for Mentioned {
    fn default() -> Mentioned {
        Mentioned { known: Cache::new(STATES_MAX) }
    }
}

/// Names made ready to be looked for.
struct Names {
    mentions: Mentions,
    /// How many items were read for them.
    n_known: usize,
}

impl Mentioned {
    async fn names(
        &self,
        question: &Question,
        spec: &CollectorSpec,
    ) -> Result<Arc<Names>, ReadError> {
        let request = &question.request;
        let is_for_all = request.time == (None, None)
            && request.confidence_least.is_none()
            && request.facts_moment().is_none();
        let key = is_for_all.then(|| (question.snapshot.token(), spec.kinds.clone()));
        if let Some(names) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Ok(names);
        }
        let known = known(question, spec).await?;
        let names: Vec<Name> = known
            .iter()
            .map(|stored| Name { id: stored.item.id.clone(), names: stored.names() })
            .filter(|name| !name.names.is_empty())
            .collect();
        let names = Arc::new(Names { mentions: Mentions::new(&names), n_known: known.len() });
        if let Some(key) = key {
            self.known.insert(key, Arc::clone(&names));
        }
        Ok(names)
    }
}

impl Collector for Mentioned {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let names = self.names(question, spec).await?;
            let (mentions, texts) = (&names.mentions, texts(question, spec));
            let in_query = best_mentions(mentions, texts.get(..1).unwrap_or_default());
            let in_query: BTreeSet<&ItemId> = in_query.keys().collect();
            let best = best_mentions(mentions, &texts);
            let mut order: Vec<(&ItemId, Spot)> = best.iter().map(|(id, at)| (id, *at)).collect();
            order.sort_by_key(|(id, spot)| (*spot, *id));
            let (limit, n_found) = (spec.settings.count("limit"), order.len());
            order.truncate(limit);
            let ids: Vec<ItemId> = order.iter().map(|(id, _)| (*id).clone()).collect();
            let stored = get(question, &ids).await?;
            let candidate = |((id, spot), stored): ((&ItemId, Spot), Option<Stored>)| {
                let mut candidate = from_stored(&stored?);
                let sure = Score::unit(1.0 - 0.1 * f64::from(spot.0));
                candidate.signals.set(Component::Mention, sure);
                candidate.signals.set(Component::Collector, sure);
                // The first of the texts is the query itself.
                candidate.is_requested = in_query.contains(id);
                Some(candidate)
            };
            let n_known = names.n_known;
            let unread = [
                left_unread(&spec.by, order.len(), Total::Exactly(n_found), "mentions"),
                left_unread(&spec.by, n_known, Total::up_to(n_known, KNOWN_MAX), "names")
                    .filter(|_| n_known >= KNOWN_MAX),
            ];
            let candidates = order.into_iter().zip(stored).filter_map(candidate).collect();
            let mut collected = collected(spec, candidates);
            collected.notices.extend(unread.into_iter().flatten());
            Ok(collected)
        }
        .boxed()
    }
}

/// Where a name is mentioned: by how many letters it differs, in which text, and where in it.
type Spot = (u32, usize, Span);

/// The best mention of each item: exact before misspelt, then the first.
fn best_mentions(mentions: &Mentions, texts: &[String]) -> BTreeMap<ItemId, Spot> {
    let mut best: BTreeMap<ItemId, Spot> = BTreeMap::new();
    for (text, place) in texts.iter().zip(0..) {
        for mention in mentions.find(text) {
            let distance = u32::try_from(mention.distance).unwrap_or(u32::MAX);
            let spot = (distance, place, mention.span);
            let known = best.entry(mention.id).or_insert(spot);
            *known = (*known).min(spot);
        }
    }
    best
}

/// The query, then the last turns before it, then the subject and what was written about it.
fn texts(question: &Question, spec: &CollectorSpec) -> Vec<String> {
    let turns = question.request.history.iter().rev().take(TURNS).map(|turn| turn.content.clone());
    let said = std::iter::once(question.request.query.clone()).chain(turns);
    if spec.settings.text("within") == "query" {
        return said.collect();
    }
    let about = question.subjects.main().into_iter().flat_map(Subject::stored);
    said.chain(about.map(Stored::text)).collect()
}

/// The items whose names are looked for.
async fn known(question: &Question, spec: &CollectorSpec) -> Result<Vec<Stored>, ReadError> {
    let sieve = Sieve::following(question, spec);
    let filter = sieve.filter();
    let mut known: Vec<Stored> = Vec::new();
    let mut after = None;
    while known.len() < KNOWN_MAX {
        let page = Page { order: Order::Id, after, limit: KNOWN_PAGE };
        let read = question.snapshot.list(&filter, &page).await?;
        let is_last = read.len() < KNOWN_PAGE;
        after = read.last().map(|stored| stored.item.id.clone());
        known.extend(read);
        if is_last {
            break;
        }
    }
    known.retain(|stored| sieve.passes(stored));
    Ok(known)
}
