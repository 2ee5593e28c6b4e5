//! The collector of the focus, which is what the user looks at, and of the items around it in the
//! tree (W2).

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join, try_join_all, try_join3};
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use haversack_store::store::query::{Descent, FAMILY_MAX, LIMIT_MAX};
use serde_json::Value;

use super::candidates::{collector_output, falling_relevance, relevant_candidate};
use super::partial_read::{Total, partial_read_notice};
use super::{Collector, CollectorOutput, Outline, Question};
use crate::models::{SUMMARY, page_summary};
use crate::notice::Notice;
use crate::recipe::{CollectorSpec, Settings};
use crate::request::Request;

/// Most blocks of a page that are read. It is high, because a user who looks at a page expects an
/// answer from all of it.
const PAGE_BLOCKS_MAX: usize = 800;

/// How many levels of a page are read if the request does not say.
const PAGE_LEVELS: usize = 8;

/// Kinds on a page whose own blocks are not read with it.
const CLOSED_KINDS: [&str; 2] = ["page", "database"];

/// Most bytes of the focus's text to search by, and most blocks that it is taken from.
const TEXT_BYTES_MAX: usize = 2_000;
const TEXT_BLOCKS_MAX: usize = 60;

/// Collects the focus and the items around it.
pub(super) struct FocusCollector;

/// What kind of thing the focus is.
#[derive(Clone, Copy)]
enum FocusType {
    Block,
    Page,
    Database,
}

impl Collector for FocusCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let settings = &spec.settings;
            let around =
                typed_focus(question).await?.into_iter().map(|(focus_type, root)| async move {
                    match focus_type {
                        FocusType::Block => block_surroundings(question, settings, root).await,
                        FocusType::Page => page_blocks(question, root).await,
                        FocusType::Database => database_rows(question, settings, root).await,
                    }
                });
            let (mut found, mut notices, mut outlines) = (Vec::new(), Vec::new(), Vec::new());
            let mut summaries = Vec::new();
            for around in try_join_all(around).await? {
                found.extend(around.found);
                notices.extend(around.notices);
                outlines.extend(around.outline);
                summaries.extend(around.summary);
            }
            // The sort is stable: equally relevant items stay in the order in which they were read.
            found.sort_by_key(|(_, relevance)| std::cmp::Reverse(*relevance));
            let kinds = &spec.kinds;
            let of_kind = |stored: &Stored| kinds.is_empty() || kinds.contains(&stored.item.kind);
            let candidates = found.iter().filter(|(stored, _)| of_kind(stored));
            let candidates = candidates.map(|(stored, score)| relevant_candidate(stored, *score));
            let candidates = candidates.chain(summaries).collect();
            Ok(CollectorOutput { notices, outlines, ..collector_output(spec, candidates) })
        }
        .boxed()
    }
}

/// Reads the items that the request names as its focus, if any.
///
/// # Errors
/// When one does not exist or is not readable; both give the same error.
pub(super) async fn focused_items(question: &Question) -> Result<Vec<Stored>, ReadError> {
    Ok(typed_focus(question).await?.into_iter().map(|(_, stored)| stored).collect())
}

/// Returns the ids of the focused items, each with its type and that type's name for messages.
fn focus_ids(request: &Request) -> Vec<(&ItemId, FocusType, &'static str)> {
    let fields = [
        (&request.focus, FocusType::Block, "block"),
        (&request.page, FocusType::Page, "page"),
        (&request.database, FocusType::Database, "database"),
    ];
    let given = fields.into_iter();
    given
        .filter_map(|(id, focus_type, name)| id.as_ref().map(|id| (id, focus_type, name)))
        .collect()
}

/// Reads the focused items, each with its type.
async fn typed_focus(question: &Question) -> Result<Vec<(FocusType, Stored)>, ReadError> {
    let focus_ids = focus_ids(&question.request);
    if focus_ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<ItemId> = focus_ids.iter().map(|(id, _, _)| (*id).clone()).collect();
    let stored = question.snapshot.get(&ids).await?;
    let root = |((id, focus_type, name), stored): ((&ItemId, FocusType, &str), Option<Stored>)| {
        let what = || format!("there is no {name} {:?} that this user can read", id.as_str());
        let stored = stored.ok_or_else(|| ReadError::invalid("focus", what()))?;
        // The item's kind decides, whichever field of the request has its id.
        let focus_type = match stored.item.kind.as_str() {
            "page" => FocusType::Page,
            "database" => FocusType::Database,
            _ => focus_type,
        };
        Ok((focus_type, stored))
    };
    focus_ids.into_iter().zip(stored).map(root).collect()
}

/// Returns the text of the focus, to search for similar items: its title and text, and those of the
/// readable items under it. Returns `None` without a focus.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn focus_text(
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Option<String>, ReadError> {
    let ids: Vec<ItemId> = focus_ids(request).into_iter().map(|(id, _, _)| id.clone()).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    let mut add = |stored: &Stored| {
        if text.len() < TEXT_BYTES_MAX && !request.exclude.contains(&stored.item.id) {
            for part in [&stored.item.title, &stored.text()] {
                text.push_str(part);
                text.push('\n');
            }
        }
    };
    for root in snapshot.get(&ids).await?.iter().flatten() {
        add(root);
        let descent = Descent { limit: TEXT_BLOCKS_MAX, ..page_descent(request) };
        let below = snapshot.descendants(&root.item.id, &descent).await?;
        below.found.iter().for_each(|(_, stored)| add(stored));
    }
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// A focused item and the items around it, each with its relevance.
struct Surroundings {
    found: Vec<(Stored, Score)>,
    notices: Vec<Notice>,
    outline: Option<Outline>,
    /// A summary of the page by a model.
    summary: Option<Candidate>,
}

fn is_active(stored: &Stored) -> bool {
    stored.item.active
}

/// Returns the request's depth, or else the default.
fn requested_depth(request: &Request, default: usize) -> usize {
    request.depth.map_or(default, |depth| usize::try_from(depth).unwrap_or(usize::MAX))
}

/// Returns an item's name for notices: its kind with its title, else with its id.
fn display_name(stored: &Stored) -> String {
    let item = &stored.item;
    let title = item.title.trim();
    let name = if title.is_empty() { item.id.as_str() } else { title };
    format!("{} {name:?}", item.kind)
}

/// Returns how many items to read so that enough of them are active.
fn with_spare(wanted: usize) -> usize {
    if wanted == 0 { 0 } else { (wanted * 2 + 8).min(LIMIT_MAX) }
}

/// A descent to an item's children, not farther.
fn children_only(limit: usize) -> Descent {
    Descent { depth: 1, closed: Vec::new(), limit }
}

/// Reads a block with its ancestors, children and nearest siblings.
async fn block_surroundings(
    question: &Question,
    settings: &Settings,
    block: Stored,
) -> Result<Surroundings, ReadError> {
    let (snapshot, id) = (&question.snapshot, block.item.id.clone());
    let either_side = settings.count("siblings");
    let up = requested_depth(&question.request, settings.count("ancestors")).min(LIMIT_MAX);
    let below = children_only(settings.count("children").min(LIMIT_MAX));
    let below = Descent { depth: requested_depth(&question.request, 1).min(1), ..below };
    let (ancestors, siblings, children) = try_join3(
        snapshot.ancestors(&id, up.max(1)),
        snapshot.siblings(&id, with_spare(either_side)),
        snapshot.descendants(&id, &below),
    )
    .await?;
    let parent = ancestors.first().map(|parent| parent.item.id.clone());
    let siblings = nearest_siblings(siblings, either_side);
    let name = display_name(&block);
    let mut notices = Vec::new();
    let total = Total::capped_at(children.total, FAMILY_MAX);
    notices.extend(partial_read_notice(
        "focus",
        children.found.len(),
        total,
        &format!("blocks under {name}"),
    ));
    if let Some(parent) = parent.filter(|_| either_side > 0) {
        let family = snapshot.descendants(&parent, &children_only(0)).await?.total;
        let others = family.saturating_sub(usize::from(block.item.active));
        let total = Total::capped_at(others, FAMILY_MAX - 1);
        notices.extend(partial_read_notice(
            "focus",
            siblings.len(),
            total,
            &format!("blocks beside {name}"),
        ));
    }
    let ancestor = |(rank, stored)| (stored, falling_relevance(900, 100, rank));
    let child = |(rank, (_, stored))| (stored, falling_relevance(850, 50, rank));
    let sibling = |(rank, stored)| (stored, falling_relevance(800, 50, rank));
    let mut found = vec![(block, Score::ONE)];
    found.extend(ancestors.into_iter().take(up).filter(is_active).enumerate().map(ancestor));
    found.extend(children.found.into_iter().enumerate().map(child));
    found.extend(siblings.into_iter().enumerate().map(sibling));
    Ok(Surroundings { found, notices, outline: None, summary: None })
}

/// Returns the nearest siblings, alternating between those before and those after.
fn nearest_siblings(
    (before, after): (Vec<Stored>, Vec<Stored>),
    either_side: usize,
) -> Vec<Stored> {
    let mut before = before.into_iter().rev().filter(is_active).take(either_side);
    let mut after = after.into_iter().filter(is_active).take(either_side);
    let mut nearest = Vec::new();
    loop {
        let pair = [before.next(), after.next()];
        if pair.iter().all(Option::is_none) {
            return nearest;
        }
        nearest.extend(pair.into_iter().flatten());
    }
}

/// How the blocks of a page are read.
pub(crate) fn page_descent(request: &Request) -> Descent {
    let closed = CLOSED_KINDS.into_iter().filter_map(|kind| Kind::new(kind).ok()).collect();
    Descent { depth: requested_depth(request, PAGE_LEVELS), closed, limit: PAGE_BLOCKS_MAX }
}

/// Reads a page with its blocks, in document order.
async fn page_blocks(question: &Question, page: Stored) -> Result<Surroundings, ReadError> {
    let all = Descent { depth: PAGE_LEVELS, limit: 0, ..page_descent(&question.request) };
    // Levels that the request does not want are counted, so that the notice covers them.
    let (mut below, all) = try_join(
        question.snapshot.descendants(&page.item.id, &page_descent(&question.request)),
        question.snapshot.descendants(&page.item.id, &all),
    )
    .await?;
    let read = below.found.len();
    below.found.retain(|(_, stored)| stored.item.kind.as_str() != SUMMARY);
    let total = all.total.max(below.total) - (read - below.found.len());
    let summary = match &question.missing_summaries {
        Some(missing) => page_summary(&*question.snapshot, missing, &page, &below.found).await?,
        None => None,
    };
    let mut page = in_document_order(page, below.found, total, "blocks");
    if let (Some(outline), Some(summary)) = (&mut page.outline, &summary) {
        outline.summary = Some(summary.id.item.clone());
    }
    page.summary = summary;
    Ok(page)
}

/// Reads a database with its rows, in their order.
async fn database_rows(
    question: &Question,
    settings: &Settings,
    database: Stored,
) -> Result<Surroundings, ReadError> {
    let descent = children_only(settings.count("rows").min(LIMIT_MAX));
    let below = question.snapshot.descendants(&database.item.id, &descent).await?;
    Ok(in_document_order(database, below.found, below.total, "rows"))
}

/// Makes the surroundings of a page or database. All its blocks are about equally relevant;
/// document order breaks the tie.
fn in_document_order(
    root: Stored,
    below: Vec<(usize, Stored)>,
    total: usize,
    what: &str,
) -> Surroundings {
    let name = display_name(&root);
    let total = Total::capped_at(total, FAMILY_MAX);
    let notice = partial_read_notice("focus", below.len(), total, &format!("{what} of {name}"));
    let outline = Outline {
        id: root.item.id.clone(),
        name,
        what: what.to_owned(),
        blocks: outline_blocks(&below),
        summary: None,
    };
    let block = |(rank, (_, stored))| (stored, falling_relevance(850, 1, rank));
    let below = below.into_iter().enumerate().map(block);
    let found = std::iter::once((root, Score::ONE)).chain(below).collect();
    Surroundings {
        found,
        notices: notice.into_iter().collect(),
        outline: Some(outline),
        summary: None,
    }
}

/// Returns each block with the index of its parent: the block that it is nested in, or else the
/// last heading before it.
fn outline_blocks(below: &[(usize, Stored)]) -> Vec<(ItemId, Option<usize>)> {
    let mut blocks = Vec::with_capacity(below.len());
    // The last block of each level, and the current headings with their levels.
    let mut open: Vec<usize> = Vec::new();
    let mut headings: Vec<(u64, usize)> = Vec::new();
    for (index, (depth, stored)) in below.iter().enumerate() {
        open.truncate(depth.saturating_sub(1));
        let level = heading_level(stored).filter(|_| *depth == 1);
        if let Some(level) = level {
            headings.retain(|(above, _)| *above < level);
        }
        let heading = headings.last().map(|(_, index)| *index);
        blocks.push((stored.item.id.clone(), open.last().copied().or(heading)));
        headings.extend(level.map(|level| (level, index)));
        open.push(index);
    }
    blocks
}

/// Returns the level of a heading, or none if the item is no heading.
fn heading_level(stored: &Stored) -> Option<u64> {
    let item = &stored.item;
    let is_heading = item.kind.as_str() == "heading";
    is_heading.then(|| item.fields.get("level").and_then(Value::as_u64).unwrap_or(1))
}
