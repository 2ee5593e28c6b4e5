//! Questions from what readers did: a receipt says what was asked and found, and events say what of
//! it was called useful before the same user's next pack.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::units::{Timestamp, Tokens};
use haversack_store::store::item::{Happening, Item, Shelf};
use haversack_store::store::viewer::Viewer;

use crate::engine::Workspace;
use crate::error::Error;
use crate::eval::{Answer, EvalError, Evidence, Library, Question, Text, measured};
use crate::receipt::Receipt;
use crate::request::Request;
use crate::wire::viewer_of;

/// Receipts that are read at a time.
const PAGE: usize = 200;

/// A question of the past, and what was useful for it.
pub(super) struct Labelled {
    request: Request,
    question: Question,
}

/// Every pack of a recipe for which something was called useful, the newest first.
pub(super) async fn labelled(
    workspace: &Workspace,
    recipe: &str,
    limit: Option<usize>,
) -> Result<Vec<Labelled>, EvalError> {
    let read = read(workspace, recipe).await;
    let mut labelled = read.map_err(|source| EvalError::Store {
        set: workspace.name().to_owned(),
        source: Box::new(source),
    })?;
    let key = |one: &Labelled| (std::cmp::Reverse(one.request.now), one.question.id.clone());
    labelled.sort_by_cached_key(key);
    labelled.truncate(limit.unwrap_or(usize::MAX));
    Ok(labelled)
}

async fn read(workspace: &Workspace, recipe: &str) -> Result<Vec<Labelled>, Error> {
    let owner = Viewer::owner();
    let snapshot = workspace.store().snapshot(&owner).await?;
    let mut of_users: BTreeMap<String, Vec<Arc<Receipt>>> = BTreeMap::new();
    let mut after: Option<String> = None;
    loop {
        let names = snapshot.records(Shelf::Receipt, after.as_deref(), PAGE).await?;
        for name in &names {
            let receipt = workspace.receipt(name, &owner).await?;
            if let Some(user) = receipt.request.request(&receipt.recipe)?.user {
                of_users.entry(user).or_default().push(receipt);
            }
        }
        match names.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    let mut labelled = Vec::new();
    for (user, receipts) in &mut of_users {
        receipts.sort_by_key(|receipt| receipt.now);
        let next = receipts.iter().skip(1).map(|next| Some(Timestamp::from_millis(next.now)));
        for (receipt, next) in receipts.iter().zip(next.chain([None])) {
            if receipt.recipe == recipe {
                labelled.extend(question(workspace, receipt, user, next).await?);
            }
        }
    }
    Ok(labelled)
}

/// What a receipt asked, if its user called something that it found useful, up to the next one.
async fn question(
    workspace: &Workspace,
    receipt: &Receipt,
    user: &str,
    next: Option<Timestamp>,
) -> Result<Option<Labelled>, Error> {
    let viewer = viewer_of(receipt.viewer.as_deref())?;
    let mut request = receipt.request.request(&receipt.recipe)?;
    let mut items: Vec<ItemId> =
        receipt.ledger.iter().filter_map(|line| ItemId::new(&line.item).ok()).collect();
    items.sort_unstable();
    items.dedup();
    let made = Timestamp::from_millis(receipt.now);
    let snapshot = workspace.store().snapshot(&viewer).await?;
    let mut judged: BTreeMap<ItemId, i128> = BTreeMap::new();
    // What was noted between two packs is what was noted up to the one without what was noted up
    // to the other.
    for (sign, until) in [(1, next), (-1, Some(made))] {
        for usage in snapshot.usage(&items, Some(user), until).await? {
            let sign = match usage.happening {
                Happening::Useful => sign,
                Happening::NotUseful => -sign,
                _ => continue,
            };
            *judged.entry(usage.item).or_default() += sign * i128::from(usage.count);
        }
    }
    let useful = judged.into_iter().filter(|(_, count)| *count > 0);
    let evidence: BTreeMap<String, Evidence> = useful
        .map(|(item, _)| (item.as_str().to_owned(), Evidence { grade: 1, spans: Vec::new() }))
        .collect();
    if evidence.is_empty() {
        return Ok(None);
    }
    request.viewer = viewer;
    request.now = Some(made);
    request.previous = None;
    let (id, text) = (receipt.id.clone(), request.query.clone());
    let question = Question { evidence, ..Question::new(id, text) };
    Ok(Some(Labelled { request, question }))
}

impl Labelled {
    /// What a recipe gives for it now.
    pub(super) async fn ask(
        &self,
        workspace: &Workspace,
        name: &str,
        budgets: &[Tokens],
    ) -> Result<Answer, EvalError> {
        let failed = |error: Error| EvalError::Pack {
            set: workspace.name().to_owned(),
            question: self.question.id.clone(),
            source: Box::new(error),
        };
        let recipe = workspace.recipe(name).await.map_err(failed)?;
        let Request { reserves, tokenizer, cache, keep, .. } =
            measured(name, &recipe, &self.question.text);
        let own = self.request.clone();
        let recipe = name.to_owned();
        let request = Request { recipe, reserves, tokenizer, cache, keep, ..own };
        let packs = workspace.pack_many(request, budgets).await.map_err(failed)?;
        let library = self.library(workspace).await.map_err(failed)?;
        Ok(Answer::of(workspace.name(), &self.question, &packs, &library))
    }

    /// The texts of what was useful, as they are now.
    async fn library(&self, workspace: &Workspace) -> Result<Library, Error> {
        let ids: Vec<ItemId> =
            self.question.evidence.keys().filter_map(|id| ItemId::new(id).ok()).collect();
        let snapshot = workspace.store().snapshot(&self.request.viewer).await?;
        let mut library = Library::default();
        for stored in snapshot.get(&ids).await?.into_iter().flatten() {
            let Item { id, title, body, path, .. } = stored.item;
            let title = Some(title).filter(|title| !title.is_empty());
            library.insert(id.as_str().to_owned(), Text::new(title, body, path.as_deref()));
        }
        Ok(library)
    }
}
