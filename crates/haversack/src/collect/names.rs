//! Collectors of items that are named: by references of a thread or a query (K2), and by mentions
//! in the query or the subject (P9).

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
use haversack_store::store::query::{
    Filter, FuzzySearch, Hit, LIMIT_MAX, ListOrder, Page, TextSearch,
};
use moka::sync::Cache;
use serde_json::Value;

use super::candidates::{
    candidate_from_item, collector_output, essential_form, get_items, path_of, relevant_candidate,
};
use super::item_filter::ItemFilter;
use super::partial_read::{Total, partial_read_notice};
use super::time::items_of_owner;
use super::{Collector, CollectorOutput, Question, Subject};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::CollectorSpec;
use crate::search::SIMILARITY_LEAST;

/// How many of a conversation's last turns are searched for names.
const TURNS_MAX: usize = 4;

/// Most names and paths of a query that are looked up.
const NAMES_MAX: usize = 16;

/// Most items that a name stands for.
const NAMESAKES_MAX: usize = 3;

/// Most hits of a search that are compared with a name.
const COMPARED_MAX: usize = 50;

/// The least similarity of a title or path to a misspelt name.
const MISSPELT_SIMILARITY: f64 = 0.6;

/// Most items whose names are searched for, and how many are read at a time.
const NAMED_ITEMS_MAX: usize = 5_000;
const NAMED_ITEMS_PAGE: usize = 1_000;

/// Most sets of names in the cache.
const CACHED_MAX: u64 = 64;

/// Collects the items that the thread, the query or the request refers to.
pub(super) struct ReferencesCollector;

impl Collector for ReferencesCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let (mut candidates, named, (included, mut notices)) = try_join3(
                subject_references(question, spec),
                items_named_in_query(question, spec),
                included_items(question),
            )
            .await?;
            candidates.extend(named.iter().map(|stored| relevant_candidate(stored, Score::ONE)));
            let total = Total::capped_at(candidates.len(), LIMIT_MAX);
            candidates.truncate(spec.settings.count("limit"));
            notices.extend(partial_read_notice(&spec.by, candidates.len(), total, "references"));
            let analysis = &question.analysis;
            let names = Total::Exactly(analysis.references.len() + analysis.paths.len());
            let looked_up = NAMES_MAX.min(analysis.references.len() + analysis.paths.len());
            notices.extend(partial_read_notice(
                &spec.by,
                looked_up,
                names,
                "names in the question",
            ));
            // The limit does not apply to items that the request itself includes.
            candidates.extend(included.iter().map(|stored| relevant_candidate(stored, Score::ONE)));
            for candidate in &mut candidates {
                candidate.signals.set(Component::SourcePriority, Score::ONE);
            }
            Ok(CollectorOutput { notices, ..collector_output(spec, candidates) })
        }
        .boxed()
    }
}

/// Returns the targets of a subject's references, newest first; the reference itself where its
/// target does not exist or is not readable.
async fn subject_references(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<Vec<Candidate>, ReadError> {
    let subject = question.subjects.get(spec.settings.text("of"));
    let Some(subject) = subject else { return Ok(Vec::new()) };
    let filter = Filter::kind(Kind::new("reference").expect("a word is a kind"));
    let field = Some(&*subject.spec.field);
    let mut references = items_of_owner(question, &subject.id, field, &filter).await?;
    references.sort_by_key(|stored| (std::cmp::Reverse(stored.moment()), stored.item.id.clone()));
    let target = |stored: &Stored| {
        let is_reference = |it: &Relation| it.family == RelationFamily::Reference;
        stored.relations().into_iter().find(is_reference).map(|relation| relation.to)
    };
    let ids: Vec<ItemId> = references.iter().filter_map(target).collect();
    let mut targets = get_items(question, &ids).await?.into_iter();
    let candidate = |reference: &Stored| {
        let found = target(reference).and_then(|_| targets.next().flatten());
        match found.filter(|stored| stored.item.active) {
            Some(stored) => target_candidate(&stored, &reference.item),
            None => unresolved_candidate(reference),
        }
    };
    Ok(references.iter().map(candidate).collect())
}

/// Returns a field's text, unless it is blank.
fn text_field<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    let text = item.fields.get(name).and_then(Value::as_str);
    text.filter(|text| !text.trim().is_empty())
}

/// Makes a candidate of a reference's target. The quoted excerpt is its essential form.
fn target_candidate(target: &Stored, reference: &Item) -> Candidate {
    let mut candidate = relevant_candidate(target, Score::ONE);
    let quoted = text_field(reference, "excerpt").filter(|text| text.len() < candidate.text.len());
    candidate.essential = candidate.essential.or(quoted.map(essential_form));
    candidate
}

/// Makes a candidate of a reference without a readable target, from the excerpt that it quotes.
fn unresolved_candidate(reference: &Stored) -> Candidate {
    let item = &reference.item;
    let mut candidate = relevant_candidate(reference, Score::ONE);
    let quoted = text_field(item, "excerpt").unwrap_or(&item.body);
    candidate.set_text(quoted);
    candidate.span = Span::whole(quoted);
    if let Some(source) = text_field(item, "source") {
        candidate.place.path = candidate.place.path.or(Some(source.to_owned()));
    }
    candidate
}

/// Reads the items that the request includes by id, with notices about missing ones.
async fn included_items(question: &Question) -> Result<(Vec<Stored>, Vec<Notice>), ReadError> {
    let ids = &question.request.include;
    let (mut included, mut notices) = (Vec::new(), Vec::new());
    for (id, stored) in ids.iter().zip(get_items(question, ids).await?) {
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

/// Reads the items that the query names by `@name` or path, in the order of the query.
async fn items_named_in_query(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<Vec<Stored>, ReadError> {
    let analysis = &question.analysis;
    let names: Vec<&str> =
        analysis.references.iter().chain(&analysis.paths).map(|n| &**n).collect();
    let names = &names[..names.len().min(NAMES_MAX)];
    let ids = names.iter().map(|name| ItemId::new(name).ok());
    let valid: Vec<ItemId> = ids.clone().flatten().collect();
    let filter = Filter { kinds: spec.kinds.clone(), ..Filter::default() };
    let is_wanted = |stored: &Stored| {
        stored.item.active && (spec.kinds.is_empty() || spec.kinds.contains(&stored.item.kind))
    };
    let mut by_id = get_items(question, &valid).await?.into_iter();
    let by_id: Vec<Option<Stored>> =
        ids.map(|id| id.and_then(|_| by_id.next().flatten()).filter(is_wanted)).collect();
    let searched = names.iter().zip(&by_id).map(|(name, by_id)| {
        let filter = &filter;
        async move {
            match by_id {
                Some(stored) => Ok(vec![stored.item.id.clone()]),
                None => find_by_name(question, filter, name).await,
            }
        }
    });
    let ids: Vec<ItemId> = try_join_all(searched).await?.into_iter().flatten().collect();
    let stored = get_items(question, &ids).await?;
    Ok(stored.into_iter().flatten().collect())
}

/// Finds the items that a name stands for: by path or title, else by the end of the path, else the
/// item with the most similar spelling.
async fn find_by_name(
    question: &Question,
    filter: &Filter,
    name: &str,
) -> Result<Vec<ItemId>, ReadError> {
    let prefix = Filter { path_prefix: Some(name.to_owned()), ..filter.clone() };
    let first = Page { order: ListOrder::Id, after: None, limit: NAMESAKES_MAX };
    let (query, limit) = (name.to_owned(), COMPARED_MAX);
    let spelling = FuzzySearch {
        query: query.clone(),
        similarity_least: Score::unit(SIMILARITY_LEAST),
        filter: filter.clone(),
        limit,
    };
    let words =
        TextSearch { query, unfinished: false, all_words: true, filter: filter.clone(), limit };
    let snapshot = &question.snapshot;
    let (listed, similar, with_words) = try_join3(
        snapshot.list(&prefix, &first),
        snapshot.search_fuzzy(&spelling),
        snapshot.search_text(&words),
    )
    .await?;
    let whole = |hit: &Hit| CandidateId::whole(hit.id.item.clone());
    let mut ids: Vec<CandidateId> = similar.iter().chain(&with_words).map(whole).collect();
    ids.sort();
    ids.dedup();
    let passages = snapshot.passages(&ids).await?;
    let items = passages.iter().flatten().map(|passage| &passage.stored.item);
    let mut matching: Vec<(NameMatch, usize, &ItemId)> = listed
        .iter()
        .map(|stored| &stored.item)
        .chain(items)
        .filter_map(|item| {
            let length = path_of(item).unwrap_or(&item.title).len();
            Some((match_name(name, item)?, length, &item.id))
        })
        .collect();
    matching.sort();
    matching.dedup();
    let Some((best, _, _)) = matching.first() else {
        let misspelt = similar.iter().find(|hit| hit.score >= Score::unit(MISSPELT_SIMILARITY));
        return Ok(misspelt.map(|hit| hit.id.item.clone()).into_iter().collect());
    };
    let namesakes = matching.iter().take_while(|(name_match, _, _)| name_match == best);
    Ok(namesakes.take(NAMESAKES_MAX).map(|(_, _, id)| (*id).clone()).collect())
}

/// How a name matches an item, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameMatch {
    Path,
    Title,
    /// The name is the last part or parts of the path.
    EndOfPath,
    /// The name is that of the file, without its extension.
    Stem,
}

fn match_name(name: &str, item: &Item) -> Option<NameMatch> {
    let normalized = |text: &str| {
        let text = text.trim().replace('\\', "/").to_lowercase();
        text.trim_start_matches("./").trim_start_matches("~/").trim_matches('/').to_owned()
    };
    let name = normalized(name);
    let path = path_of(item).map(normalized).unwrap_or_default();
    if name.is_empty() {
        None
    } else if path == name {
        Some(NameMatch::Path)
    } else if normalized(&item.title) == name {
        Some(NameMatch::Title)
    } else if path.strip_suffix(&name).is_some_and(|before| before.ends_with('/')) {
        Some(NameMatch::EndOfPath)
    } else {
        let file = path.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map(|(stem, _)| stem);
        (stem == Some(&name)).then_some(NameMatch::Stem)
    }
}

/// Collects the items that are mentioned by name in the query and the subject, misspellings
/// included.
pub(super) struct MentionsCollector {
    /// The names of items, by state token and kinds. A state token depends only on what its viewer
    /// can read.
    cache: Cache<(StateToken, Vec<Kind>), Arc<NameIndex>>,
}

impl Default for MentionsCollector {
    fn default() -> MentionsCollector {
        MentionsCollector { cache: Cache::new(CACHED_MAX) }
    }
}

/// The names of items, ready to be searched for in texts.
struct NameIndex {
    mentions: Mentions,
    /// How many items were read.
    n_items: usize,
}

impl MentionsCollector {
    /// Returns the names of the items of a collector's kinds, from the cache if they are there.
    async fn name_index(
        &self,
        question: &Question,
        spec: &CollectorSpec,
    ) -> Result<Arc<NameIndex>, ReadError> {
        let request = &question.request;
        let is_cacheable = request.time == (None, None)
            && request.confidence_least.is_none()
            && request.facts_moment().is_none();
        let key = is_cacheable.then(|| (question.snapshot.token(), spec.kinds.clone()));
        if let Some(index) = key.as_ref().and_then(|key| self.cache.get(key)) {
            return Ok(index);
        }
        let items = read_named_items(question, spec).await?;
        let names: Vec<Name> = items
            .iter()
            .map(|stored| Name { id: stored.item.id.clone(), names: stored.names() })
            .filter(|name| !name.names.is_empty())
            .collect();
        let index = Arc::new(NameIndex { mentions: Mentions::new(&names), n_items: items.len() });
        if let Some(key) = key {
            self.cache.insert(key, Arc::clone(&index));
        }
        Ok(index)
    }
}

impl Collector for MentionsCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let index = self.name_index(question, spec).await?;
            let (mentions, texts) = (&index.mentions, texts_to_search(question, spec));
            let in_query = best_mentions(mentions, texts.get(..1).unwrap_or_default());
            let in_query: BTreeSet<&ItemId> = in_query.keys().collect();
            let best = best_mentions(mentions, &texts);
            let mut order: Vec<(&ItemId, MentionRank)> =
                best.iter().map(|(id, rank)| (id, *rank)).collect();
            order.sort_by_key(|(id, rank)| (*rank, *id));
            let (limit, n_found) = (spec.settings.count("limit"), order.len());
            order.truncate(limit);
            let ids: Vec<ItemId> = order.iter().map(|(id, _)| (*id).clone()).collect();
            let stored = get_items(question, &ids).await?;
            let candidate = |((id, rank), stored): ((&ItemId, MentionRank), Option<Stored>)| {
                let mut candidate = candidate_from_item(&stored?);
                let score = Score::unit(1.0 - 0.1 * f64::from(rank.0));
                candidate.signals.set(Component::Mention, score);
                candidate.signals.set(Component::Collector, score);
                // The first of the texts is the query itself.
                candidate.is_requested = in_query.contains(id);
                Some(candidate)
            };
            let n_items = index.n_items;
            let notices = [
                partial_read_notice(&spec.by, order.len(), Total::Exactly(n_found), "mentions"),
                partial_read_notice(
                    &spec.by,
                    n_items,
                    Total::capped_at(n_items, NAMED_ITEMS_MAX),
                    "names",
                )
                .filter(|_| n_items >= NAMED_ITEMS_MAX),
            ];
            let candidates = order.into_iter().zip(stored).filter_map(candidate).collect();
            let mut output = collector_output(spec, candidates);
            output.notices.extend(notices.into_iter().flatten());
            Ok(output)
        }
        .boxed()
    }
}

/// The order of mentions: by how many letters the name differs, by text, and by position in it.
type MentionRank = (u32, usize, Span);

/// Returns the best mention of each item: exact before misspelt, then the first.
fn best_mentions(mentions: &Mentions, texts: &[String]) -> BTreeMap<ItemId, MentionRank> {
    let mut best: BTreeMap<ItemId, MentionRank> = BTreeMap::new();
    for (text, index) in texts.iter().zip(0..) {
        for mention in mentions.find(text) {
            let distance = u32::try_from(mention.distance).unwrap_or(u32::MAX);
            let rank = (distance, index, mention.span);
            let known = best.entry(mention.id).or_insert(rank);
            *known = (*known).min(rank);
        }
    }
    best
}

/// Returns the texts to search for names: the query, the last turns, then the subject and its
/// items.
fn texts_to_search(question: &Question, spec: &CollectorSpec) -> Vec<String> {
    let turns =
        question.request.history.iter().rev().take(TURNS_MAX).map(|turn| turn.content.clone());
    let conversation = std::iter::once(question.request.query.clone()).chain(turns);
    if spec.settings.text("within") == "query" {
        return conversation.collect();
    }
    let about = question.subjects.main().into_iter().flat_map(Subject::all_items);
    conversation.chain(about.map(Stored::text)).collect()
}

/// Reads the items whose names are searched for.
async fn read_named_items(
    question: &Question,
    spec: &CollectorSpec,
) -> Result<Vec<Stored>, ReadError> {
    let filter = ItemFilter::for_links(question, spec);
    let store_filter = filter.store_filter();
    let mut items: Vec<Stored> = Vec::new();
    let mut after = None;
    while items.len() < NAMED_ITEMS_MAX {
        let page = Page { order: ListOrder::Id, after, limit: NAMED_ITEMS_PAGE };
        let read = question.snapshot.list(&store_filter, &page).await?;
        let is_last = read.len() < NAMED_ITEMS_PAGE;
        after = read.last().map(|stored| stored.item.id.clone());
        items.extend(read);
        if is_last {
            break;
        }
    }
    items.retain(|stored| filter.accepts(stored));
    Ok(items)
}
