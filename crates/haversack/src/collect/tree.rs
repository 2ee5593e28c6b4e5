//! What the asker looks at, and what stands around it in the tree (W2).

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all, try_join3};
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use haversack_store::store::query::LIMIT_MAX;

use super::make::{collected, falling, relevant};
use super::{Collected, Collector, Question};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CollectorSpec, Settings};

/// How many blocks of a page are read: whoever looks at a page must see it, whatever suffices around
/// a block.
const PAGE_BLOCKS_MAX: usize = 800;

/// Kinds of blocks that others are nested in, which are read along with the page.
const CONTAINERS: [&str; 6] = ["callout", "heading", "kanban_card", "list", "quote", "todo"];

/// How many containers are looked into, and for how many blocks each.
const CONTAINERS_MAX: usize = 200;
const NESTED_MAX: usize = 100;

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
            let roots = focused(question).await?;
            let around = roots.into_iter().map(|(sort, root)| async move {
                match sort {
                    Sort::Block => around_block(question, settings, root).await,
                    Sort::Page => page(question, root).await,
                    Sort::Database => database(question, settings, root).await,
                }
            });
            let around = try_join_all(around).await?;
            let is_cut = around.iter().any(|around| around.is_cut);
            let mut around: Vec<(Stored, Score)> =
                around.into_iter().flat_map(|around| around.found).collect();
            // Stable: what is equally relevant stays in the order in which it was looked at.
            around.sort_by_key(|(_, relevance)| std::cmp::Reverse(*relevance));
            let kinds = &spec.kinds;
            let of_kind = |stored: &Stored| kinds.is_empty() || kinds.contains(&stored.item.kind);
            let candidates = around.iter().filter(|(stored, _)| of_kind(stored));
            let candidates = candidates.map(|(stored, at)| relevant(stored, *at)).collect();
            let mut collected = collected(spec, candidates);
            if is_cut {
                let message = format!(
                    "focus: there is more than was read; the first {} were",
                    collected.candidates.len()
                );
                collected.notices.push(Notice::new(NoticeCode::MoreMatches, message));
            }
            Ok(collected)
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

async fn focused(question: &Question) -> Result<Vec<(Sort, Stored)>, ReadError> {
    let request = &question.request;
    let named = [
        (&request.focus, Sort::Block, "block"),
        (&request.page, Sort::Page, "page"),
        (&request.database, Sort::Database, "database"),
    ];
    let named: Vec<(&ItemId, Sort, &str)> = named
        .into_iter()
        .filter_map(|(id, sort, called)| id.as_ref().map(|id| (id, sort, called)))
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<ItemId> = named.iter().map(|(id, _, _)| (*id).clone()).collect();
    let stored = question.snapshot.get(&ids).await?;
    let root = |((id, sort, called), stored): ((&ItemId, Sort, &str), Option<Stored>)| {
        let what =
            || format!("focus: there is no {called} {:?} that this user can read", id.as_str());
        let stored = stored.ok_or_else(|| ReadError::Invalid { what: what() })?;
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

/// What stands around a focus, itself first, and whether there is more.
struct Around {
    found: Vec<(Stored, Score)>,
    is_cut: bool,
}

fn in_use(stored: &Stored) -> bool {
    stored.item.active
}

/// How many are read so that enough of them are in use.
fn some_more(wanted: usize) -> usize {
    if wanted == 0 { 0 } else { (wanted * 2 + 8).min(LIMIT_MAX) }
}

async fn around_block(
    question: &Question,
    settings: &Settings,
    block: Stored,
) -> Result<Around, ReadError> {
    let (snapshot, id) = (&question.snapshot, block.item.id.clone());
    let (either_side, below) = (settings.count("siblings"), settings.count("children"));
    let (ancestors, siblings, children) = try_join3(
        snapshot.ancestors(&id, settings.count("ancestors")),
        snapshot.siblings(&id, some_more(either_side)),
        snapshot.children(&id, some_more(below)),
    )
    .await?;
    let level = |(place, stored)| (stored, falling(900, 100, place));
    let child = |(place, stored)| (stored, falling(850, 50, place));
    let sibling = |(place, stored)| (stored, falling(800, 50, place));
    let mut around = vec![(block, Score::ONE)];
    around.extend(ancestors.into_iter().filter(in_use).enumerate().map(level));
    around.extend(children.into_iter().filter(in_use).take(below).enumerate().map(child));
    around.extend(nearest(siblings, either_side).into_iter().enumerate().map(sibling));
    Ok(Around { found: around, is_cut: false })
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

/// A page with its blocks as they stand on it, and whether there are more.
async fn page(question: &Question, page: Stored) -> Result<Around, ReadError> {
    let blocks = question.snapshot.children(&page.item.id, LIMIT_MAX).await?;
    let mut is_cut = blocks.len() >= LIMIT_MAX;
    let blocks: Vec<Stored> = blocks.into_iter().filter(in_use).collect();
    let is_container = |block: &&Stored| CONTAINERS.contains(&block.item.kind.as_str());
    let containers: Vec<&Stored> =
        blocks.iter().filter(is_container).take(CONTAINERS_MAX).collect();
    is_cut |= blocks.iter().filter(is_container).count() > containers.len();
    let nested =
        containers.iter().map(|block| question.snapshot.children(&block.item.id, NESTED_MAX));
    let nested = try_join_all(nested).await?;
    is_cut |= nested.iter().any(|inside| inside.len() >= NESTED_MAX);
    let ids: Vec<ItemId> = containers.iter().map(|block| block.item.id.clone()).collect();
    let mut nested = ids.into_iter().zip(nested).peekable();
    let mut all = Vec::new();
    for block in blocks {
        let inside = nested.next_if(|(id, _)| *id == block.item.id).map(|(_, inside)| inside);
        all.push(block);
        all.extend(inside.into_iter().flatten().filter(in_use));
    }
    is_cut |= all.len() > PAGE_BLOCKS_MAX;
    all.truncate(PAGE_BLOCKS_MAX);
    // All blocks of a page matter; the order in which they stand breaks the tie.
    let block = |(place, stored)| (stored, falling(850, 1, place));
    let all = all.into_iter().enumerate().map(block);
    Ok(Around { found: std::iter::once((page, Score::ONE)).chain(all).collect(), is_cut })
}

async fn database(
    question: &Question,
    settings: &Settings,
    database: Stored,
) -> Result<Around, ReadError> {
    let count = settings.count("rows");
    let rows = question.snapshot.children(&database.item.id, some_more(count)).await?;
    let is_cut = rows.iter().filter(|row| in_use(row)).count() > count;
    let row = |(place, stored)| (stored, falling(850, 1, place));
    let rows = rows.into_iter().filter(in_use).take(count).enumerate().map(row);
    Ok(Around { found: std::iter::once((database, Score::ONE)).chain(rows).collect(), is_cut })
}
