//! What the asker looks at, and what stands around it in the tree (W2).

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

use super::limits::{Total, left_unread};
use super::make::{collected, falling, relevant};
use super::{Collected, Collector, Outline, Question};
use crate::notice::Notice;
use crate::recipe::{CollectorSpec, Settings};
use crate::request::Request;

/// How many blocks of a page are read: whoever looks at a page must see it, whatever suffices around
/// a block.
const PAGE_BLOCKS_MAX: usize = 800;

/// How many levels of a page are read unless the request says.
const PAGE_LEVELS: usize = 8;

/// Kinds on a page that have blocks of their own.
const CLOSED: [&str; 2] = ["page", "database"];

/// How much of the focus is text to search by, in bytes, and how many blocks it is taken from.
const TEXT_BYTES_MAX: usize = 2_000;
const TEXT_BLOCKS_MAX: usize = 60;

/// The focus and its surroundings.
pub(super) struct Focus;

/// What a focus is looked at as.
#[derive(Clone, Copy)]
enum Sort {
    Block,
    Page,
    Database,
}

impl Collector for Focus {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let settings = &spec.settings;
            let around = focused(question).await?.into_iter().map(|(sort, root)| async move {
                match sort {
                    Sort::Block => around_block(question, settings, root).await,
                    Sort::Page => page(question, root).await,
                    Sort::Database => database(question, settings, root).await,
                }
            });
            let (mut found, mut notices, mut outlines) = (Vec::new(), Vec::new(), Vec::new());
            for around in try_join_all(around).await? {
                found.extend(around.found);
                notices.extend(around.notices);
                outlines.extend(around.outline);
            }
            // Stable: what is equally relevant stays in the order in which it was looked at.
            found.sort_by_key(|(_, relevance)| std::cmp::Reverse(*relevance));
            let kinds = &spec.kinds;
            let of_kind = |stored: &Stored| kinds.is_empty() || kinds.contains(&stored.item.kind);
            let candidates = found.iter().filter(|(stored, _)| of_kind(stored));
            let candidates = candidates.map(|(stored, at)| relevant(stored, *at)).collect();
            Ok(Collected { notices, outlines, ..collected(spec, candidates) })
        }
        .boxed()
    }
}

/// The items that the request looks at: none, or all that it names.
///
/// # Errors
/// When one is not there or not readable, which must look the same.
pub(super) async fn roots(question: &Question) -> Result<Vec<Stored>, ReadError> {
    Ok(focused(question).await?.into_iter().map(|(_, stored)| stored).collect())
}

/// The names that a request has for what the asker looks at.
fn named(request: &Request) -> Vec<(&ItemId, Sort, &'static str)> {
    let named = [
        (&request.focus, Sort::Block, "block"),
        (&request.page, Sort::Page, "page"),
        (&request.database, Sort::Database, "database"),
    ];
    let given = named.into_iter();
    given.filter_map(|(id, sort, called)| id.as_ref().map(|id| (id, sort, called))).collect()
}

async fn focused(question: &Question) -> Result<Vec<(Sort, Stored)>, ReadError> {
    let named = named(&question.request);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<ItemId> = named.iter().map(|(id, _, _)| (*id).clone()).collect();
    let stored = question.snapshot.get(&ids).await?;
    let root = |((id, sort, called), stored): ((&ItemId, Sort, &str), Option<Stored>)| {
        let what = || format!("there is no {called} {:?} that this user can read", id.as_str());
        let stored = stored.ok_or_else(|| ReadError::invalid("focus", what()))?;
        // A page is a page, under whichever name it was given.
        let sort = match stored.item.kind.as_str() {
            "page" => Sort::Page,
            "database" => Sort::Database,
            _ => sort,
        };
        Ok((sort, stored))
    };
    named.into_iter().zip(stored).map(root).collect()
}

/// What the focus says, to search for what is like it: its title and text, and the texts of what
/// hangs under it, as far as the asker can read them. Nothing without a focus.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn focus_text(
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Option<String>, ReadError> {
    let ids: Vec<ItemId> = named(request).into_iter().map(|(id, _, _)| id.clone()).collect();
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

/// What stands around a focus, itself first.
struct Around {
    found: Vec<(Stored, Score)>,
    notices: Vec<Notice>,
    outline: Option<Outline>,
}

fn in_use(stored: &Stored) -> bool {
    stored.item.active
}

/// How many levels the request would have, or else so many.
fn levels(request: &Request, usual: usize) -> usize {
    request.depth.map_or(usual, |depth| usize::try_from(depth).unwrap_or(usize::MAX))
}

/// A name for a block in notices: its title, else its id.
fn called(stored: &Stored) -> String {
    let item = &stored.item;
    let title = item.title.trim();
    let name = if title.is_empty() { item.id.as_str() } else { title };
    format!("{} {name:?}", item.kind)
}

/// How many are read so that enough of them are in use.
fn some_more(wanted: usize) -> usize {
    if wanted == 0 { 0 } else { (wanted * 2 + 8).min(LIMIT_MAX) }
}

/// What stands right under an item.
fn children_only(limit: usize) -> Descent {
    Descent { depth: 1, closed: Vec::new(), limit }
}

async fn around_block(
    question: &Question,
    settings: &Settings,
    block: Stored,
) -> Result<Around, ReadError> {
    let (snapshot, id) = (&question.snapshot, block.item.id.clone());
    let either_side = settings.count("siblings");
    let up = levels(&question.request, settings.count("ancestors")).min(LIMIT_MAX);
    let below = children_only(settings.count("children").min(LIMIT_MAX));
    let below = Descent { depth: levels(&question.request, 1).min(1), ..below };
    let (ancestors, siblings, children) = try_join3(
        snapshot.ancestors(&id, up.max(1)),
        snapshot.siblings(&id, some_more(either_side)),
        snapshot.descendants(&id, &below),
    )
    .await?;
    let parent = ancestors.first().map(|parent| parent.item.id.clone());
    let siblings = nearest(siblings, either_side);
    let name = called(&block);
    let mut notices = Vec::new();
    let total = Total::up_to(children.total, FAMILY_MAX);
    notices.extend(left_unread(
        "focus",
        children.found.len(),
        total,
        &format!("blocks under {name}"),
    ));
    if let Some(parent) = parent.filter(|_| either_side > 0) {
        let family = snapshot.descendants(&parent, &children_only(0)).await?.total;
        let others = family.saturating_sub(usize::from(block.item.active));
        let total = Total::up_to(others, FAMILY_MAX - 1);
        notices.extend(left_unread(
            "focus",
            siblings.len(),
            total,
            &format!("blocks beside {name}"),
        ));
    }
    let level = |(place, stored)| (stored, falling(900, 100, place));
    let child = |(place, (_, stored))| (stored, falling(850, 50, place));
    let sibling = |(place, stored)| (stored, falling(800, 50, place));
    let mut around = vec![(block, Score::ONE)];
    around.extend(ancestors.into_iter().take(up).filter(in_use).enumerate().map(level));
    around.extend(children.found.into_iter().enumerate().map(child));
    around.extend(siblings.into_iter().enumerate().map(sibling));
    Ok(Around { found: around, notices, outline: None })
}

/// Neighbours in turn, the nearest first, of two as near the one before.
fn nearest((before, after): (Vec<Stored>, Vec<Stored>), either_side: usize) -> Vec<Stored> {
    let mut before = before.into_iter().rev().filter(in_use).take(either_side);
    let mut after = after.into_iter().filter(in_use).take(either_side);
    let mut nearest = Vec::new();
    loop {
        let pair = [before.next(), after.next()];
        if pair.iter().all(Option::is_none) {
            return nearest;
        }
        nearest.extend(pair.into_iter().flatten());
    }
}

/// How a page is read.
fn page_descent(request: &Request) -> Descent {
    let closed = CLOSED.into_iter().filter_map(|kind| Kind::new(kind).ok()).collect();
    Descent { depth: levels(request, PAGE_LEVELS), closed, limit: PAGE_BLOCKS_MAX }
}

/// A page with its blocks as they stand on it.
async fn page(question: &Question, page: Stored) -> Result<Around, ReadError> {
    let all = Descent { depth: PAGE_LEVELS, limit: 0, ..page_descent(&question.request) };
    // Levels that the request would not have are not left out in silence, either.
    let (below, all) = try_join(
        question.snapshot.descendants(&page.item.id, &page_descent(&question.request)),
        question.snapshot.descendants(&page.item.id, &all),
    )
    .await?;
    let total = all.total.max(below.total);
    Ok(in_order(page, below.found, total, "blocks"))
}

async fn database(
    question: &Question,
    settings: &Settings,
    database: Stored,
) -> Result<Around, ReadError> {
    let descent = children_only(settings.count("rows").min(LIMIT_MAX));
    let below = question.snapshot.descendants(&database.item.id, &descent).await?;
    Ok(in_order(database, below.found, below.total, "rows"))
}

/// Something with all that stands on it. All of it matters; the order in which it stands breaks the
/// tie.
fn in_order(root: Stored, below: Vec<(usize, Stored)>, total: usize, what: &str) -> Around {
    let name = called(&root);
    let total = Total::up_to(total, FAMILY_MAX);
    let notice = left_unread("focus", below.len(), total, &format!("{what} of {name}"));
    let outline =
        Outline { id: root.item.id.clone(), name, what: what.to_owned(), blocks: outlined(&below) };
    let block = |(place, (_, stored))| (stored, falling(850, 1, place));
    let below = below.into_iter().enumerate().map(block);
    let found = std::iter::once((root, Score::ONE)).chain(below).collect();
    Around { found, notices: notice.into_iter().collect(), outline: Some(outline) }
}

/// Each block with the place of the one that it stands under: the block that it is nested in, or
/// else the last heading before it.
fn outlined(below: &[(usize, Stored)]) -> Vec<(ItemId, Option<usize>)> {
    let mut outlined = Vec::with_capacity(below.len());
    // The last block of each level, and the headings in force with their ranks.
    let mut open: Vec<usize> = Vec::new();
    let mut headings: Vec<(u64, usize)> = Vec::new();
    for (place, (level, stored)) in below.iter().enumerate() {
        open.truncate(level.saturating_sub(1));
        let rank = heading_rank(stored).filter(|_| *level == 1);
        if let Some(rank) = rank {
            headings.retain(|(known, _)| *known < rank);
        }
        let heading = headings.last().map(|(_, place)| *place);
        outlined.push((stored.item.id.clone(), open.last().copied().or(heading)));
        headings.extend(rank.map(|rank| (rank, place)));
        open.push(place);
    }
    outlined
}

/// How deep a heading stands, if it is one.
fn heading_rank(stored: &Stored) -> Option<u64> {
    let item = &stored.item;
    let is_heading = item.kind.as_str() == "heading";
    is_heading.then(|| item.fields.get("level").and_then(Value::as_u64).unwrap_or(1))
}
