//! Builds questions from feedback: a receipt has the query and its candidates, and events say which
//! of them its user marked as useful before their next pack.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::units::{Timestamp, Tokens};
use haversack_store::store::item::{DocumentKind, EventKind, Item};
use haversack_store::store::viewer::Viewer;

use crate::eval::{
    EvalAnswer, EvalError, EvalQuestion, Evidence, LibraryText, TextLibrary, full_budget_request,
};
use haversack::engine::Workspace;
use haversack::error::Error;
use haversack::receipt::Receipt;
use haversack::request::Request;
use haversack::wire::viewer_from_principals;

/// The page size for receipts.
const PAGE: usize = 200;

/// The request of a receipt, and the items that were useful for it.
pub(super) struct FeedbackQuestion {
    request: Request,
    question: EvalQuestion,
}

/// All questions of a recipe with useful items, newest first.
pub(super) async fn read_questions(
    workspace: &Workspace,
    recipe: &str,
    limit: Option<usize>,
) -> Result<Vec<FeedbackQuestion>, EvalError> {
    let read = read(workspace, recipe).await;
    let mut labelled = read.map_err(|source| EvalError::Store {
        set: workspace.name().to_owned(),
        source: Box::new(source),
    })?;
    let key =
        |one: &FeedbackQuestion| (std::cmp::Reverse(one.request.now), one.question.id.clone());
    labelled.sort_by_cached_key(key);
    labelled.truncate(limit.unwrap_or(usize::MAX));
    Ok(labelled)
}

async fn read(workspace: &Workspace, recipe: &str) -> Result<Vec<FeedbackQuestion>, Error> {
    let owner = Viewer::owner();
    let snapshot = workspace.store().snapshot(&owner).await?;
    let mut of_users: BTreeMap<String, Vec<Arc<Receipt>>> = BTreeMap::new();
    let mut after: Option<String> = None;
    loop {
        let names = snapshot.records(DocumentKind::Receipt, after.as_deref(), PAGE).await?;
        for name in &names {
            let receipt = workspace.receipt(name, &owner).await?;
            if let Some(user) = receipt.request.to_request(&receipt.recipe)?.user {
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

/// The question of a receipt, if its user marked a candidate as useful before their next pack.
async fn question(
    workspace: &Workspace,
    receipt: &Receipt,
    user: &str,
    next: Option<Timestamp>,
) -> Result<Option<FeedbackQuestion>, Error> {
    let viewer = viewer_from_principals(receipt.viewer.as_deref())?;
    let mut request = receipt.request.to_request(&receipt.recipe)?;
    let mut items: Vec<ItemId> =
        receipt.ledger.iter().filter_map(|line| ItemId::new(&line.item).ok()).collect();
    items.sort_unstable();
    items.dedup();
    let made = Timestamp::from_millis(receipt.now);
    let snapshot = workspace.store().snapshot(&viewer).await?;
    let mut judged: BTreeMap<ItemId, i128> = BTreeMap::new();
    // Events between two packs: those up to the later one minus those up to the earlier one.
    for (sign, until) in [(1, next), (-1, Some(made))] {
        for usage in snapshot.usage(&items, Some(user), until).await? {
            let sign = match usage.event_kind {
                EventKind::Useful => sign,
                EventKind::NotUseful => -sign,
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
    let question = EvalQuestion { evidence, ..EvalQuestion::new(id, text) };
    Ok(Some(FeedbackQuestion { request, question }))
}

impl FeedbackQuestion {
    /// Builds and measures the packs of a recipe for it.
    pub(super) async fn answer_with(
        &self,
        workspace: &Workspace,
        name: &str,
        budgets: &[Tokens],
    ) -> Result<EvalAnswer, EvalError> {
        let failed = |error: Error| EvalError::Pack {
            set: workspace.name().to_owned(),
            question: self.question.id.clone(),
            source: Box::new(error),
        };
        let recipe = workspace.recipe(name).await.map_err(failed)?;
        let Request { reserves, tokenizer, cache, keep, .. } =
            full_budget_request(name, &recipe, &self.question.text);
        let own = self.request.clone();
        let recipe = name.to_owned();
        let request = Request { recipe, reserves, tokenizer, cache, keep, ..own };
        let packs = workspace.pack_many(request, budgets).await.map_err(failed)?;
        let library = self.library(workspace).await.map_err(failed)?;
        Ok(EvalAnswer::of(workspace.name(), &self.question, &packs, &library))
    }

    /// The current texts of the useful items.
    async fn library(&self, workspace: &Workspace) -> Result<TextLibrary, Error> {
        let ids: Vec<ItemId> =
            self.question.evidence.keys().filter_map(|id| ItemId::new(id).ok()).collect();
        let snapshot = workspace.store().snapshot(&self.request.viewer).await?;
        let mut library = TextLibrary::default();
        for stored in snapshot.get(&ids).await?.into_iter().flatten() {
            let Item { id, title, body, path, .. } = stored.item;
            let title = Some(title).filter(|title| !title.is_empty());
            library.insert(id.as_str().to_owned(), LibraryText::new(title, body, path.as_deref()));
        }
        Ok(library)
    }
}
