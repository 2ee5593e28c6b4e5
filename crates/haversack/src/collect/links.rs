//! Collectors of items that are linked with the focus (W4), and with other candidates (M7).

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
    Direction, FactFilter, Filter, LIMIT_MAX, LinkedItem, ListOrder, Neighbours, Page, VALUES_MAX,
};
use serde_json::{Value, json};

use super::candidates::{candidate_from_item, collector_output, get_items, relevant_candidate};
use super::follow::best_first;
use super::item_filter::ItemFilter;
use super::partial_read::{Total, partial_read_notice};
use super::tree::focused_items;
use super::{Collector, CollectorOutput, Question};
use crate::notice::Notice;
use crate::recipe::CollectorSpec;

/// The scores of a related row, an outward link and a backlink (W4).
const ROW_SCORE: f64 = 0.75;
const OUTWARD_SCORE: f64 = 0.7;
const INWARD_SCORE: f64 = 0.65;

/// The factor for each further step. It is small enough that the best item of a step scores less
/// than the worst item of the step before: nearer items always come first.
const STEP_DECAY: f64 = 0.8;

/// Most steps, whatever the request says.
const DEPTH_MAX: usize = 8;

/// Most items from which the next step is taken.
const FRONTIER_MAX: usize = 100;

/// How many of the best candidates have their links followed if the request has no limit.
const STARTS_DEFAULT: usize = 20;

/// Most reported links between items that were reached already.
const CROSS_LINKS_MAX: usize = 200;

/// The least limit for links of one item in one direction.
const LINKS_LEAST: usize = 100;

/// Collects related rows, links and backlinks of the focus.
pub(super) struct RelationsCollector;

impl Collector for RelationsCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let roots = focused_items(question).await?;
            let seen = roots.iter().map(|stored| stored.item.id.clone()).collect();
            let walk = follow_links(question, spec, roots.into_iter(), seen).await?;
            let candidate = |node: &Node| relevant_candidate(&node.stored, node.relevance);
            let mut output = collector_output(spec, walk.reached.iter().map(candidate).collect());
            output.facts = link_facts(&walk);
            output.notices.extend(walk.notice);
            Ok(output)
        }
        .boxed()
    }
}

/// Collects items that are related to the candidates of the layer's other collectors.
pub(super) struct ExpandCollector;

impl Collector for ExpandCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            if walk_depth(question, spec) == 0 {
                return Ok(CollectorOutput::default());
            }
            let mut seen = BTreeSet::new();
            let items = best_first(found).into_iter().map(|candidate| &candidate.id.item);
            let mut ids: Vec<ItemId> =
                items.filter(|id| seen.insert((*id).clone())).cloned().collect();
            // A search finds more than the pack shows, and what is related to the rest is noise.
            // Candidates of the rest may still be reached from the best ones.
            let first = question.request.limit.unwrap_or(STARTS_DEFAULT).min(FRONTIER_MAX);
            for id in ids.drain(first.min(ids.len())..) {
                seen.remove(&id);
            }
            // Candidates that are not stored, such as turns of the conversation, have no links.
            let starts = get_items(question, &ids).await?;
            let walk = follow_links(question, spec, starts.into_iter().flatten(), seen).await?;
            let candidate = |node: &Node| {
                let start = found.iter().filter(|candidate| candidate.id.item == node.start);
                expanded_candidate(node, start)
            };
            let mut output = collector_output(spec, walk.reached.iter().map(candidate).collect());
            output.facts = link_facts(&walk);
            output.notices.extend(walk.notice);
            Ok(output)
        }
        .boxed()
    }

    fn runs_after_others(&self) -> bool {
        true
    }
}

/// Makes a candidate with the search scores of the one it was reached from, lowered by its own
/// relevance: the item itself was not compared with the question.
fn expanded_candidate<'c>(node: &Node, start: impl Iterator<Item = &'c Candidate>) -> Candidate {
    let mut candidate = candidate_from_item(&node.stored);
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

/// Returns facts for the result: how each item was reached, and links between items, each link
/// once.
fn link_facts(walk: &LinkWalk) -> Value {
    let mut seen = BTreeSet::new();
    let nodes = walk.reached.iter().chain(&walk.cross_links);
    let related: Vec<Value> = nodes
        .filter(|node| {
            let is_outward = matches!(node.direction, Direction::Outward);
            let ends = (node.start.clone(), node.from.clone(), node.stored.item.id.clone());
            seen.insert((ends, node.link_type.clone(), is_outward))
        })
        .map(|node| {
            json!({
                "id": node.stored.item.id.as_str(),
                "start": node.start.as_str(),
                "from": node.from.as_str(),
                "sort": node.link_type,
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

/// Returns how many steps to take: as the request, or else the recipe says.
fn walk_depth(question: &Question, spec: &CollectorSpec) -> usize {
    let requested =
        question.request.depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX));
    requested.unwrap_or_else(|| spec.settings.count("depth")).min(DEPTH_MAX)
}

/// An item that was reached by a link.
struct Node {
    stored: Stored,
    /// The item that the first step went from.
    start: ItemId,
    /// The item that the last step went from.
    from: ItemId,
    /// The type of the link that the last step followed.
    link_type: String,
    /// The direction in which the last step followed the link.
    direction: Direction,
    depth: usize,
    relevance: Score,
}

/// The result of following links.
#[derive(Default)]
struct LinkWalk {
    /// The items that were reached, each once.
    reached: Vec<Node>,
    /// Links from the starts to items that were reached already, or to other starts.
    cross_links: Vec<Node>,
    /// Says how many items were not reached because of the limit.
    notice: Option<Notice>,
}

/// A link that can be followed.
struct Edge {
    to: Stored,
    /// The index in the frontier of the item that it goes from.
    from: usize,
    link_type: String,
    direction: Direction,
    score: f64,
}

/// Follows relations and links from item to item, breadth first. Each item is reached once; those
/// in `seen` are not reached.
async fn follow_links(
    question: &Question,
    spec: &CollectorSpec,
    starts: impl Iterator<Item = Stored>,
    mut seen: BTreeSet<ItemId>,
) -> Result<LinkWalk, ReadError> {
    // Items related to candidates must meet the request's conditions (M7); those around a focus
    // need not.
    let filter = match spec.by.as_str() {
        "expand" => ItemFilter::for_search(question, spec)?,
        _ => ItemFilter::for_links(question, spec),
    };
    let limit = spec.settings.count("limit");
    // Each item with the start that it was reached from.
    let mut frontier: Vec<(Stored, ItemId)> =
        starts.map(|stored| (stored.clone(), stored.item.id)).collect();
    let mut walk = LinkWalk::default();
    let (mut total, mut is_truncated) = (0, false);
    let mut scale = 1.0;
    for depth in 1..=walk_depth(question, spec) {
        if frontier.is_empty() || walk.reached.len() >= limit {
            break;
        }
        let mut next = Vec::new();
        let links = links_from(question, spec, &frontier).await?;
        is_truncated |= links.is_truncated;
        for edge in links.edges {
            let (from, start) = &frontier[edge.from];
            let id = &edge.to.item.id;
            let is_excluded = !edge.to.item.active || question.request.exclude.contains(id);
            if is_excluded || *id == from.item.id {
                continue;
            }
            let is_new = seen.insert(edge.to.item.id.clone());
            if is_new && next.len() < FRONTIER_MAX {
                next.push((edge.to.clone(), start.clone()));
            }
            let is_accepted = filter.accepts(&edge.to);
            total += usize::from(is_new && is_accepted);
            let (list, nodes_max) = match is_new {
                true => (&mut walk.reached, limit),
                false => (&mut walk.cross_links, CROSS_LINKS_MAX),
            };
            // Of cross links only those from the starts are kept: a link back from farther away
            // says nothing new.
            if list.len() < nodes_max && (is_new || depth == 1) && is_accepted {
                list.push(Node {
                    stored: edge.to,
                    start: start.clone(),
                    from: from.item.id.clone(),
                    link_type: edge.link_type,
                    direction: edge.direction,
                    depth,
                    relevance: Score::unit(edge.score * scale),
                });
            }
        }
        is_truncated |= next.len() >= FRONTIER_MAX;
        frontier = next;
        scale *= STEP_DECAY;
    }
    // Items beyond the limits were not counted.
    let total = if is_truncated { Total::AtLeast(total) } else { Total::Exactly(total) };
    walk.notice = partial_read_notice(&spec.by, walk.reached.len(), total, "related items");
    Ok(walk)
}

/// The links from a frontier, and whether there are more than were read.
struct FrontierLinks {
    edges: Vec<Edge>,
    is_truncated: bool,
}

/// Reads the links from a frontier, best score first; equal scores in the order of the frontier,
/// then by link type and id.
async fn links_from(
    question: &Question,
    spec: &CollectorSpec,
    frontier: &[(Stored, ItemId)],
) -> Result<FrontierLinks, ReadError> {
    let link_types = spec.settings.texts("sorts");
    let limit = spec.settings.count("limit").clamp(LINKS_LEAST, LIMIT_MAX);
    let froms: Vec<ItemId> = frontier.iter().map(|(stored, _)| stored.item.id.clone()).collect();
    let links = question.snapshot.neighbours(&froms, link_types, limit);
    let by_fields: Vec<Vec<FieldLink>> =
        frontier.iter().map(|(stored, _)| field_links(stored, link_types)).collect();
    let ids: Vec<ItemId> = by_fields.iter().flatten().map(|link| link.to.clone()).collect();
    let targets =
        async { if ids.is_empty() { Ok(Vec::new()) } else { question.snapshot.get(&ids).await } };
    // Items that name the frontier in a field matter around a focus only. For other candidates,
    // whoever shows them adds such items.
    let backward = async {
        match spec.by.as_str() {
            "relations" => items_naming(question, &froms, limit).await,
            _ => Ok(Vec::new()),
        }
    };
    let (links, targets, backward) = try_join3(links, targets, backward).await?;
    let mut is_truncated = backward.len() >= limit;
    let mut targets = targets.into_iter();
    let mut edges: Vec<Edge> = Vec::new();
    for (from, (Neighbours { outward, inward }, field_links)) in
        links.into_iter().zip(by_fields).enumerate()
    {
        for FieldLink { link_type, score, .. } in field_links {
            let (direction, target) = (Direction::Outward, targets.next().flatten());
            edges.extend(target.map(|to| Edge { to, from, link_type, direction, score }));
        }
        for (linked, direction, score) in [
            (outward, Direction::Outward, OUTWARD_SCORE),
            (inward, Direction::Inward, INWARD_SCORE),
        ] {
            let edge = |LinkedItem { link, stored: to }| Edge {
                to,
                from,
                link_type: link.link_type,
                direction,
                score,
            };
            is_truncated |= linked.len() >= limit;
            edges.extend(linked.into_iter().map(edge));
        }
    }
    for to in backward {
        for link in field_links(&to, link_types) {
            let Some(from) = froms.iter().position(|id| *id == link.to) else { continue };
            let score = if link.score < ROW_SCORE { INWARD_SCORE } else { ROW_SCORE };
            let (link_type, direction) = (link.link_type, Direction::Inward);
            edges.push(Edge { to: to.clone(), from, link_type, direction, score });
        }
    }
    edges.sort_by_key(|edge| Reverse(Score::unit(edge.score)));
    Ok(FrontierLinks { edges, is_truncated })
}

/// Reads the items that name one of these in a relation field, sorted by id.
async fn items_naming(
    question: &Question,
    ids: &[ItemId],
    limit: usize,
) -> Result<Vec<Stored>, ReadError> {
    let mut found: Vec<Stored> = Vec::new();
    for ids in ids.chunks(VALUES_MAX) {
        let ids = ids.iter().map(|id| id.as_str().to_owned()).collect();
        let facts = vec![FactFilter::OneOf(FieldRole::Relation, ids)];
        let page = Page { order: ListOrder::Id, after: None, limit };
        found.extend(question.snapshot.list(&Filter { facts, ..Filter::default() }, &page).await?);
    }
    Ok(found)
}

/// A link that an item's field states.
struct FieldLink {
    to: ItemId,
    link_type: String,
    score: f64,
}

/// Returns the links that an item's fields state, of these types or of all if there are none.
fn field_links(stored: &Stored, link_types: &[String]) -> Vec<FieldLink> {
    let is_wanted = |relation: &Relation| {
        let family = relation.family.as_str();
        link_types.is_empty()
            || link_types.iter().any(|wanted| *wanted == relation.name || wanted == family)
    };
    let field_link = |relation: Relation| {
        let is_row = relation.family == RelationFamily::Row;
        let score = if is_row { ROW_SCORE } else { OUTWARD_SCORE };
        FieldLink { to: relation.to, link_type: relation.name, score }
    };
    stored.relations().into_iter().filter(is_wanted).map(field_link).collect()
}
