//! What is linked with what the asker looks at (W4), and with what was found (M7).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join};
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::query::{Direction, LIMIT_MAX, Linked, Neighbours};
use serde_json::{Value, json};

use super::follow::best_first;
use super::make::{collected, from_stored, get, relevant};
use super::sieve::Sieve;
use super::tree::roots;
use super::{Collected, Collector, Question};
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
            let reached = walk(question, spec, roots.into_iter(), seen).await?;
            let candidate = |node: &Node| relevant(&node.stored, node.relevance);
            let mut collected = collected(spec, reached.iter().map(candidate).collect());
            collected.facts = facts(&reached);
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
            let reached = walk(question, spec, starts.into_iter().flatten(), seen).await?;
            let candidate = |node: &Node| {
                let start = found.iter().filter(|candidate| candidate.id.item == node.start);
                expanded(node, start)
            };
            let mut collected = collected(spec, reached.iter().map(candidate).collect());
            collected.facts = facts(&reached);
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

/// How each item was reached, for those who show it.
fn facts(reached: &[Node]) -> Value {
    let related = |node: &Node| {
        json!({
            "id": node.stored.item.id.as_str(),
            "from": node.from.as_str(),
            "sort": node.sort,
            "direction": match node.direction {
                Direction::Outward => "outward",
                Direction::Inward => "inward",
            },
            "depth": node.depth,
        })
    };
    match reached {
        [] => Value::Null,
        _ => json!({ "related": reached.iter().map(related).collect::<Vec<_>>() }),
    }
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
) -> Result<Vec<Node>, ReadError> {
    // What is related to finds is among what is asked for (M7); what is around a focus need not be.
    let sieve = match spec.by.as_str() {
        "expand" => Sieve::searching(question, spec)?,
        _ => Sieve::following(question, spec),
    };
    let limit = spec.settings.count("limit");
    // Each with the start that it was reached from.
    let mut frontier: Vec<(Stored, ItemId)> =
        starts.map(|stored| (stored.clone(), stored.item.id)).collect();
    let mut reached: Vec<Node> = Vec::new();
    let mut scale = 1.0;
    for depth in 1..=depth(question, spec) {
        if frontier.is_empty() || reached.len() >= limit {
            break;
        }
        let mut next = Vec::new();
        for edge in edges(question, spec, &frontier).await? {
            if !edge.to.item.active || !seen.insert(edge.to.item.id.clone()) {
                continue;
            }
            let (from, start) = &frontier[edge.from];
            if next.len() < FRONTIER_MAX {
                next.push((edge.to.clone(), start.clone()));
            }
            if reached.len() < limit && sieve.passes(&edge.to) {
                reached.push(Node {
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
        frontier = next;
        scale *= PER_STEP;
    }
    Ok(reached)
}

/// The steps that can be taken from a frontier, the most worth first; equal ones as the frontier
/// stands, then by sort and id.
async fn edges(
    question: &Question,
    spec: &CollectorSpec,
    frontier: &[(Stored, ItemId)],
) -> Result<Vec<Edge>, ReadError> {
    let sorts = spec.settings.texts("sorts");
    let limit = spec.settings.count("limit").clamp(LINKS_LEAST, LIMIT_MAX);
    let froms: Vec<ItemId> = frontier.iter().map(|(stored, _)| stored.item.id.clone()).collect();
    let links = question.snapshot.neighbours(&froms, sorts, limit);
    let named: Vec<Vec<Pointer>> =
        frontier.iter().map(|(stored, _)| pointers(&stored.item, sorts)).collect();
    let ids: Vec<ItemId> = named.iter().flatten().map(|pointer| pointer.to.clone()).collect();
    let targets =
        async { if ids.is_empty() { Ok(Vec::new()) } else { question.snapshot.get(&ids).await } };
    let (links, targets) = try_join(links, targets).await?;
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
            edges.extend(linked.into_iter().map(edge));
        }
    }
    edges.sort_by_key(|edge| Reverse(Score::unit(edge.worth)));
    Ok(edges)
}

/// A link that an item's fields make.
struct Pointer {
    to: ItemId,
    sort: String,
    worth: f64,
}

/// The links that an item's fields make: a row's relations, a memory's relationships, what a
/// reference refers to.
fn pointers(item: &Item, sorts: &[String]) -> Vec<Pointer> {
    let mut pointers = Vec::new();
    let mut add = |to: &Value, (sort, family): (&str, &str), worth| {
        let wanted = sorts.is_empty() || sorts.iter().any(|known| known == sort || known == family);
        if let Some(to) = to.as_str().and_then(|to| ItemId::new(to).ok()).filter(|_| wanted) {
            pointers.push(Pointer { to, sort: sort.to_owned(), worth });
        }
    };
    let objects = |name: &str| item.fields.get(name).and_then(Value::as_array);
    for relation in objects("relations").into_iter().flatten() {
        let name = relation["name"].as_str().unwrap_or("relation");
        for to in relation["targetIds"].as_array().into_iter().flatten() {
            add(to, (name, "relation"), ROW);
        }
    }
    for relationship in objects("relationships").into_iter().flatten() {
        let sort = relationship["type"].as_str().unwrap_or("relationship");
        add(&relationship["target"], (sort, "relationship"), OUTWARD);
    }
    if let Some(to) = item.fields.get("targetId") {
        add(to, ("reference", "reference"), OUTWARD);
    }
    pointers
}
