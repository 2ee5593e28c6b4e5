//! What is linked with what the asker looks at (W4), and with what was found (M7).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join3};
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::query::FieldRole;
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::kinds::{Relation, RelationFamily};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use haversack_store::store::query::{
    Direction, FactFilter, Filter, LIMIT_MAX, Linked, Neighbours, Order, Page, VALUES_MAX,
};
use serde_json::{Value, json};

use super::follow::best_first;
use super::limits::{Total, left_unread};
use super::make::{collected, from_stored, get, relevant};
use super::sieve::Sieve;
use super::tree::roots;
use super::{Collected, Collector, Question};
use crate::notice::Notice;
use crate::recipe::CollectorSpec;

/// What a step is worth by the way it goes (W4).
const ROW: f64 = 0.75;
const OUTWARD: f64 = 0.7;
const INWARD: f64 = 0.65;

/// What is left of that for each step before it. Small enough that the best of a step is worth less
/// than the worst of the step before: nearer always comes first.
const PER_STEP: f64 = 0.8;

/// Most steps, whatever a request says.
const DEPTH_MAX: usize = 8;

/// From how many items the next step is taken.
const FRONTIER_MAX: usize = 100;

/// From how many finds, the best first, links are followed when the request names no number.
const EXPANDED: usize = 20;

/// Most links between what was found that are told.
const BETWEEN_MAX: usize = 200;

/// How many links of one item and direction are followed at least.
const LINKS_LEAST: usize = 100;

/// Related rows, links and backlinks of the focus.
pub(super) struct Relations;

impl Collector for Relations {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let roots = roots(question).await?;
            let seen = roots.iter().map(|stored| stored.item.id.clone()).collect();
            let walked = walk(question, spec, roots.into_iter(), seen).await?;
            let candidate = |node: &Node| relevant(&node.stored, node.relevance);
            let mut collected = collected(spec, walked.reached.iter().map(candidate).collect());
            collected.facts = facts(&walked);
            collected.notices.extend(walked.notice);
            Ok(collected)
        }
        .boxed()
    }
}

/// What is related to what the layer's other collectors found.
pub(super) struct Expand;

impl Collector for Expand {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            if depth(question, spec) == 0 {
                return Ok(Collected::default());
            }
            let mut seen = BTreeSet::new();
            let items = best_first(found).into_iter().map(|candidate| &candidate.id.item);
            let mut ids: Vec<ItemId> =
                items.filter(|id| seen.insert((*id).clone())).cloned().collect();
            // A search finds more than is shown; what is related to the rest of it is noise. What
            // was found further down may still be reached from the first.
            let first = question.request.limit.unwrap_or(EXPANDED).min(FRONTIER_MAX);
            for id in ids.drain(first.min(ids.len())..) {
                seen.remove(&id);
            }
            // What is not of the store, such as a turn of the conversation, leads nowhere.
            let starts = get(question, &ids).await?;
            let walked = walk(question, spec, starts.into_iter().flatten(), seen).await?;
            let candidate = |node: &Node| {
                let start = found.iter().filter(|candidate| candidate.id.item == node.start);
                expanded(node, start)
            };
            let mut collected = collected(spec, walked.reached.iter().map(candidate).collect());
            collected.facts = facts(&walked);
            collected.notices.extend(walked.notice);
            Ok(collected)
        }
        .boxed()
    }

    fn comes_after(&self) -> bool {
        true
    }
}

/// A candidate that is as near to the question as the one it was reached from, less what the steps
/// cost: nobody has compared it with the question itself.
fn expanded<'c>(node: &Node, start: impl Iterator<Item = &'c Candidate>) -> Candidate {
    let mut candidate = from_stored(&node.stored);
    candidate.signals.set(Component::Collector, node.relevance);
    for start in start {
        for component in [Component::Semantic, Component::Fusion] {
            if let Some(value) = start.signals.get(component) {
                let value = Score::unit(value.get() * node.relevance.get());
                candidate.signals.strengthen(&Signals::default().with(component, value));
            }
        }
    }
    candidate
}

/// How each item was reached, and what links those that were found, for those who show it: each
/// link once.
fn facts(walked: &Walked) -> Value {
    let mut seen = BTreeSet::new();
    let nodes = walked.reached.iter().chain(&walked.between);
    let related: Vec<Value> = nodes
        .filter(|node| {
            let is_outward = matches!(node.direction, Direction::Outward);
            let ends = (node.start.clone(), node.from.clone(), node.stored.item.id.clone());
            seen.insert((ends, node.sort.clone(), is_outward))
        })
        .map(|node| {
            json!({
                "id": node.stored.item.id.as_str(),
                "start": node.start.as_str(),
                "from": node.from.as_str(),
                "sort": node.sort,
                "direction": match node.direction {
                    Direction::Outward => "outward",
                    Direction::Inward => "inward",
                },
                "depth": node.depth,
            })
        })
        .collect();
    if related.is_empty() { Value::Null } else { json!({ "related": related }) }
}

fn depth(question: &Question, spec: &CollectorSpec) -> usize {
    let asked = question.request.depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX));
    asked.unwrap_or_else(|| spec.settings.count("depth")).min(DEPTH_MAX)
}

/// An item that was reached.
struct Node {
    stored: Stored,
    /// What the first step went from.
    start: ItemId,
    /// What the last step went from.
    from: ItemId,
    /// The sort of link that the last step followed.
    sort: String,
    /// Whether it did so from the link's beginning or from its end.
    direction: Direction,
    depth: usize,
    relevance: Score,
}

/// What was met on the way.
#[derive(Default)]
struct Walked {
    /// What was reached, each once.
    reached: Vec<Node>,
    /// Links from the starts to what was met already: other starts, or what another one led to.
    between: Vec<Node>,
    /// Word of what was not reached for the limit.
    notice: Option<Notice>,
}

/// One possible step.
struct Edge {
    to: Stored,
    /// The place in the frontier that it goes from.
    from: usize,
    sort: String,
    direction: Direction,
    worth: f64,
}

/// Follows relations and links from item to item, nearest first. Each is reached once, and what
/// was seen before is not.
async fn walk(
    question: &Question,
    spec: &CollectorSpec,
    starts: impl Iterator<Item = Stored>,
    mut seen: BTreeSet<ItemId>,
) -> Result<Walked, ReadError> {
    // What is related to finds is among what is asked for (M7); what is around a focus need not be.
    let sieve = match spec.by.as_str() {
        "expand" => Sieve::searching(question, spec)?,
        _ => Sieve::following(question, spec),
    };
    let limit = spec.settings.count("limit");
    // Each with the start that it was reached from.
    let mut frontier: Vec<(Stored, ItemId)> =
        starts.map(|stored| (stored.clone(), stored.item.id)).collect();
    let mut walked = Walked::default();
    let (mut total, mut is_cut) = (0, false);
    let mut scale = 1.0;
    for depth in 1..=depth(question, spec) {
        if frontier.is_empty() || walked.reached.len() >= limit {
            break;
        }
        let mut next = Vec::new();
        let edges = edges(question, spec, &frontier).await?;
        is_cut |= edges.is_cut;
        for edge in edges.found {
            let (from, start) = &frontier[edge.from];
            let id = &edge.to.item.id;
            let is_out = !edge.to.item.active || question.request.exclude.contains(id);
            if is_out || *id == from.item.id {
                continue;
            }
            let is_new = seen.insert(edge.to.item.id.clone());
            if is_new && next.len() < FRONTIER_MAX {
                next.push((edge.to.clone(), start.clone()));
            }
            let passes = sieve.passes(&edge.to);
            total += usize::from(is_new && passes);
            let (list, most) = match is_new {
                true => (&mut walked.reached, limit),
                false => (&mut walked.between, BETWEEN_MAX),
            };
            // What leads back from farther away says nothing new.
            if list.len() < most && (is_new || depth == 1) && passes {
                list.push(Node {
                    stored: edge.to,
                    start: start.clone(),
                    from: from.item.id.clone(),
                    sort: edge.sort,
                    direction: edge.direction,
                    depth,
                    relevance: Score::unit(edge.worth * scale),
                });
            }
        }
        is_cut |= next.len() >= FRONTIER_MAX;
        frontier = next;
        scale *= PER_STEP;
    }
    // Steps that were not taken for the limit are not counted.
    let total = if is_cut { Total::AtLeast(total) } else { Total::Exactly(total) };
    walked.notice = left_unread(&spec.by, walked.reached.len(), total, "related items");
    Ok(walked)
}

/// The steps from a frontier, and whether there are more than were read.
struct Edges {
    found: Vec<Edge>,
    is_cut: bool,
}

/// The steps that can be taken from a frontier, the most worth first; equal ones as the frontier
/// stands, then by sort and id.
async fn edges(
    question: &Question,
    spec: &CollectorSpec,
    frontier: &[(Stored, ItemId)],
) -> Result<Edges, ReadError> {
    let sorts = spec.settings.texts("sorts");
    let limit = spec.settings.count("limit").clamp(LINKS_LEAST, LIMIT_MAX);
    let froms: Vec<ItemId> = frontier.iter().map(|(stored, _)| stored.item.id.clone()).collect();
    let links = question.snapshot.neighbours(&froms, sorts, limit);
    let named: Vec<Vec<Pointer>> =
        frontier.iter().map(|(stored, _)| pointers(stored, sorts)).collect();
    let ids: Vec<ItemId> = named.iter().flatten().map(|pointer| pointer.to.clone()).collect();
    let targets =
        async { if ids.is_empty() { Ok(Vec::new()) } else { question.snapshot.get(&ids).await } };
    // What names finds in a field is for whoever shows the finds; around a focus it matters.
    let backward = async {
        match spec.by.as_str() {
            "relations" => naming(question, &froms, limit).await,
            _ => Ok(Vec::new()),
        }
    };
    let (links, targets, backward) = try_join3(links, targets, backward).await?;
    let mut is_cut = backward.len() >= limit;
    let mut targets = targets.into_iter();
    let mut edges: Vec<Edge> = Vec::new();
    for (from, (Neighbours { outward, inward }, pointers)) in
        links.into_iter().zip(named).enumerate()
    {
        for Pointer { sort, worth, .. } in pointers {
            let (direction, target) = (Direction::Outward, targets.next().flatten());
            edges.extend(target.map(|to| Edge { to, from, sort, direction, worth }));
        }
        for (linked, direction, worth) in
            [(outward, Direction::Outward, OUTWARD), (inward, Direction::Inward, INWARD)]
        {
            let edge =
                |Linked { link, stored: to }| Edge { to, from, sort: link.sort, direction, worth };
            is_cut |= linked.len() >= limit;
            edges.extend(linked.into_iter().map(edge));
        }
    }
    for to in backward {
        for pointer in pointers(&to, sorts) {
            let Some(from) = froms.iter().position(|id| *id == pointer.to) else { continue };
            let worth = if pointer.worth < ROW { INWARD } else { ROW };
            let (sort, direction) = (pointer.sort, Direction::Inward);
            edges.push(Edge { to: to.clone(), from, sort, direction, worth });
        }
    }
    edges.sort_by_key(|edge| Reverse(Score::unit(edge.worth)));
    Ok(Edges { found: edges, is_cut })
}

/// The items that name one of these in a field, by id.
async fn naming(
    question: &Question,
    ids: &[ItemId],
    limit: usize,
) -> Result<Vec<Stored>, ReadError> {
    let mut found: Vec<Stored> = Vec::new();
    for ids in ids.chunks(VALUES_MAX) {
        let ids = ids.iter().map(|id| id.as_str().to_owned()).collect();
        let facts = vec![FactFilter::OneOf(FieldRole::Relation, ids)];
        let page = Page { order: Order::Id, after: None, limit };
        found.extend(question.snapshot.list(&Filter { facts, ..Filter::default() }, &page).await?);
    }
    Ok(found)
}

/// A link that an item's fields make.
struct Pointer {
    to: ItemId,
    sort: String,
    worth: f64,
}

/// The links that an item's fields make, of these sorts.
fn pointers(stored: &Stored, sorts: &[String]) -> Vec<Pointer> {
    let is_wanted = |relation: &Relation| {
        let family = relation.family.as_str();
        sorts.is_empty() || sorts.iter().any(|sort| *sort == relation.name || sort == family)
    };
    let pointer = |relation: Relation| {
        let worth = if relation.family == RelationFamily::Row { ROW } else { OUTWARD };
        Pointer { to: relation.to, sort: relation.name, worth }
    };
    stored.relations().into_iter().filter(is_wanted).map(pointer).collect()
}
