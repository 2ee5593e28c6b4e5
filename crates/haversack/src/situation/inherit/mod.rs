//! Inheritance: loads a context and its ancestors, level by level, from one snapshot (S2).
//!
//! A child overrides its parents, lists are joined with the nearest first, and each ancestor's
//! distance is the fewest steps that lead to it. A context that the viewer may not read is reported
//! as missing, in the same words as one that does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::text::spelling::printable_name;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use thiserror::Error;

use super::context::{BehaviourRule, CONTEXT, ContextDocument, InjectionRule, without_repeats};
use crate::error::Error;

/// Longest chain of parents, unless the caller sets another limit.
pub const DEPTH_DEFAULT: usize = 64;

/// Most contexts that are read for one request.
pub const CONTEXTS_MAX: usize = 2_000;

/// How many items are read at a time.
const BATCH: usize = 200;

/// How many names from the start of a chain a message shows.
const SHOWN_FIRST: usize = 8;
/// How many names from the end of a chain a message shows.
const SHOWN_LAST: usize = 3;

/// Why a context cannot be used. Each variant's `chain` leads from the requested context to the one
/// that causes the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChainError {
    /// There is no such context, or the viewer may not read it; the error does not reveal which.
    #[error("{} (missing): there is no such context", format_chain(.chain))]
    Missing {
        /// The path to it.
        chain: Vec<ItemId>,
    },
    /// A context would inherit from itself.
    #[error("{}: a context cannot inherit from itself", format_chain(.chain))]
    Cycle {
        /// The path to the cycle and around it; the last id occurs twice.
        chain: Vec<ItemId>,
    },
    /// The item is of another kind.
    #[error("{} (a {kind}): only a context can be inherited or injected", format_chain(.chain))]
    NotAContext {
        /// The path to it.
        chain: Vec<ItemId>,
        /// Its kind.
        kind: Kind,
    },
    /// The context is not active.
    #[error("{} (not in use): put it to use again or name another", format_chain(.chain))]
    NotInUse {
        /// The path to it.
        chain: Vec<ItemId>,
    },
    /// The chain is too long.
    #[error("{}: a chain of parents has {limit} steps at most", format_chain(.chain))]
    TooLong {
        /// The chain as far as it was followed.
        chain: Vec<ItemId>,
        /// The largest number of steps.
        limit: usize,
    },
    /// There are too many contexts.
    #[error("{}: a request reads {limit} contexts at most", format_chain(.chain))]
    TooMany {
        /// The path to the first context over the limit.
        chain: Vec<ItemId>,
        /// The largest number of contexts.
        limit: usize,
    },
}

/// The ids of a chain with arrows between them; a long chain is shortened in the middle.
fn format_chain(chain: &[ItemId]) -> String {
    let names =
        |ids: &[ItemId]| ids.iter().map(|id| printable_name(id.as_str())).collect::<Vec<_>>();
    let mut parts = names(chain);
    if chain.len() > SHOWN_FIRST + SHOWN_LAST + 1 {
        parts = names(&chain[..SHOWN_FIRST]);
        parts.push("…".to_owned());
        parts.extend(names(&chain[chain.len() - SHOWN_LAST..]));
    }
    parts.join(" → ")
}

/// Why a chain cannot be loaded.
#[derive(Debug, Error)]
pub enum SituationError {
    /// A context of the chain cannot be used.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The request names the current context, so a fault in its chain is a fault of the request.
impl From<SituationError> for Error {
    fn from(error: SituationError) -> Error {
        match error {
            SituationError::Chain(error) => Error::invalid("currentContext", error.to_string()),
            SituationError::Read(error) => Error::Read(error),
        }
    }
}

/// A context in a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainMember {
    /// The context.
    pub context: Arc<ContextDocument>,
    /// The fewest steps that lead to it: 0 for the context itself, 1 for its direct parents.
    pub distance: usize,
}

/// A context and its ancestors, nearest first, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    members: Vec<ChainMember>,
}

/// A rule that a nearer context overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedRule {
    /// The context that has it.
    pub context: ItemId,
    /// Its name or trigger.
    pub rule: String,
    /// The context whose rule overrides it.
    pub replaced_by: ItemId,
}

impl Chain {
    /// Builds the chain of a context from a set of contexts in memory. Missing parents are left out,
    /// because the lint of a set of contexts reports them.
    #[must_use]
    pub fn from_contexts(
        contexts: &BTreeMap<&ItemId, &ContextDocument>,
        id: &ItemId,
    ) -> Option<Chain> {
        let first = contexts.get(id)?;
        let mut members = vec![ChainMember { context: Arc::new((*first).clone()), distance: 0 }];
        let mut seen: BTreeSet<ItemId> = [id.clone()].into();
        let mut at = 0;
        while let Some(ChainMember { context, distance }) = members.get(at).cloned() {
            let tree_parent = context.tree_parent.iter().filter(|_| context.parents.is_empty());
            for parent in context.parents.iter().chain(tree_parent) {
                let found = contexts.get(parent).filter(|_| members.len() < CONTEXTS_MAX);
                if let Some(parent) = found.filter(|_| seen.insert(parent.clone())) {
                    let context = Arc::new((*parent).clone());
                    members.push(ChainMember { context, distance: distance + 1 });
                }
            }
            at += 1;
        }
        Some(Chain { members })
    }

    /// The context and its ancestors, nearest first.
    #[must_use]
    pub fn members(&self) -> &[ChainMember] {
        &self.members
    }

    /// The context itself, without its ancestors.
    #[must_use]
    pub fn current(&self) -> &Arc<ContextDocument> {
        &self.members[0].context
    }

    /// The goal: the context's own, else the nearest ancestor's.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.nearest_text(|context| &context.goal)
    }

    /// The type of intent: the context's own, else the nearest ancestor's.
    #[must_use]
    pub fn intent(&self) -> &str {
        self.nearest_text(|context| &context.intent)
    }

    /// A text of the nearest context where it is not empty.
    fn nearest_text(&self, text_of: impl Fn(&ContextDocument) -> &String) -> &str {
        let mut texts = self.members.iter().map(|member| text_of(&member.context).as_str());
        texts.find(|text| !text.is_empty()).unwrap_or("")
    }

    /// The behaviour rules of each member that are in effect, in the members' order, and those that
    /// are overridden. For each trigger the nearest context that has it overrides the others, and
    /// identical rules count once.
    #[must_use]
    pub fn behaviour_rules(&self) -> (Vec<Vec<&BehaviourRule>>, Vec<ReplacedRule>) {
        let mut first_with: BTreeMap<String, usize> = BTreeMap::new();
        let (mut kept, mut replaced) = (Vec::with_capacity(self.members.len()), Vec::new());
        for (at, ChainMember { context, .. }) in self.members.iter().enumerate() {
            let mut own: Vec<&BehaviourRule> = Vec::with_capacity(context.behaviour_rules.len());
            for rule in &context.behaviour_rules {
                let first = *first_with.entry(rule.trigger.to_lowercase()).or_insert(at);
                let nearer = &self.members[first].context;
                if first == at && !own.contains(&rule) {
                    own.push(rule);
                } else if first != at && !nearer.behaviour_rules.contains(rule) {
                    let (context, rule) = (context.id.clone(), rule.trigger.clone());
                    replaced.push(ReplacedRule { context, rule, replaced_by: nearer.id.clone() });
                }
            }
            kept.push(own);
        }
        (kept, replaced)
    }

    /// The injection rules in effect, nearest first, each with the index of its context among the
    /// members and its own index there; and those that are overridden. A named rule overrides
    /// those of the same name in contexts further up.
    #[must_use]
    pub fn injection_rules(&self) -> (Vec<(usize, usize, &InjectionRule)>, Vec<ReplacedRule>) {
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut kept, mut replaced) = (Vec::new(), Vec::new());
        for (at, ChainMember { context, .. }) in self.members.iter().enumerate() {
            for (index, rule) in context.injection_rules.iter().enumerate() {
                let first = match rule.name.as_str() {
                    "" => at,
                    name => *named.entry(name).or_insert(at),
                };
                if first == at {
                    kept.push((at, index, rule));
                } else {
                    replaced.push(ReplacedRule {
                        context: context.id.clone(),
                        rule: rule.name.clone(),
                        replaced_by: self.members[first].context.id.clone(),
                    });
                }
            }
        }
        (kept, replaced)
    }

    /// The context merged with all that it inherits: its own name, type and text; the nearest goal
    /// and intent; adaptations and rules of all, nearest first, identical ones once.
    #[must_use]
    pub fn effective(&self) -> ContextDocument {
        let own = self.current();
        let adaptations =
            self.members.iter().flat_map(|member| member.context.adaptations.clone()).collect();
        ContextDocument {
            goal: self.goal().to_owned(),
            intent: self.intent().to_owned(),
            adaptations: without_repeats(adaptations),
            behaviour_rules: self.behaviour_rules().0.into_iter().flatten().cloned().collect(),
            injection_rules: self
                .injection_rules()
                .0
                .into_iter()
                .map(|(_, _, rule)| rule.clone())
                .collect(),
            ..ContextDocument::clone(own)
        }
    }
}

/// The result of reading an id.
#[derive(Debug, Clone)]
enum ContextLookup {
    Found(Arc<ContextDocument>),
    Missing,
    NotAContext(Kind),
    NotInUse,
}

/// Loads the contexts of one request, each once, from one snapshot.
pub struct ContextLoader<'s> {
    snapshot: &'s dyn Snapshot,
    kinds: Vec<Kind>,
    depth_max: usize,
    loaded: BTreeMap<ItemId, ContextLookup>,
    /// Whether reading stopped because there were too many.
    is_full: bool,
}

impl std::fmt::Debug for ContextLoader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextLoader").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

impl<'s> ContextLoader<'s> {
    /// Creates a loader for a snapshot. Items of `kinds` are contexts; when `kinds` is empty, those
    /// of the kind `context` are.
    #[must_use]
    pub fn new(snapshot: &'s dyn Snapshot, kinds: &[Kind], depth_max: usize) -> ContextLoader<'s> {
        let default = || Kind::new(CONTEXT).into_iter().collect();
        let kinds = if kinds.is_empty() { default() } else { kinds.to_vec() };
        ContextLoader { snapshot, kinds, depth_max, loaded: BTreeMap::new(), is_full: false }
    }

    /// Whether the viewer can read an active context with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn has_context(&mut self, id: &ItemId) -> Result<bool, ReadError> {
        self.read(vec![id.clone()]).await?;
        Ok(matches!(self.loaded.get(id), Some(ContextLookup::Found(_))))
    }

    /// Loads a context and its ancestors.
    ///
    /// # Errors
    /// When a context is missing, inherits from itself or cannot be one, or the store cannot be
    /// read.
    pub async fn load_chain(&mut self, id: &ItemId) -> Result<Chain, SituationError> {
        self.read_with_ancestors(vec![id.clone()]).await?;
        Ok(self.build_chain(id)?)
    }

    /// Loads the chains of several contexts, with one read per level for all of them.
    ///
    /// # Errors
    /// When the store cannot be read. An error of one chain is returned in its place.
    pub async fn load_chains(
        &mut self,
        ids: &[ItemId],
    ) -> Result<Vec<Result<Chain, ChainError>>, ReadError> {
        self.read_with_ancestors(ids.to_vec()).await?;
        Ok(ids.iter().map(|id| self.build_chain(id)).collect())
    }

    /// Reads contexts and their ancestors level by level, one level further than the longest chain,
    /// so that a chain that is too long is noticed.
    async fn read_with_ancestors(&mut self, ids: Vec<ItemId>) -> Result<(), ReadError> {
        let mut level = ids;
        let mut seen: BTreeSet<ItemId> = level.iter().cloned().collect();
        for _ in 0..=self.depth_max.saturating_add(1) {
            self.read(level.clone()).await?;
            let mut above = Vec::new();
            for id in &level {
                if let Some(ContextLookup::Found(context)) = self.loaded.get(id) {
                    above.extend(self.parents(context).filter(|id| seen.insert((*id).clone())));
                }
            }
            level = above.into_iter().cloned().collect();
            if level.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The parents of a context: those that its fields name, else its parent in the tree if that is a
    /// context.
    fn parents<'c>(&self, context: &'c ContextDocument) -> impl Iterator<Item = &'c ItemId> {
        let may_be_context = |id: &&ItemId| {
            self.loaded.get(*id).is_none_or(|lookup| matches!(lookup, ContextLookup::Found(_)))
        };
        let tree_parent = context.tree_parent.as_ref();
        let tree_parent = tree_parent.filter(|_| context.parents.is_empty()).filter(may_be_context);
        context.parents.iter().chain(tree_parent)
    }

    /// Reads the ids that are not loaded yet, up to [`CONTEXTS_MAX`] in all.
    async fn read(&mut self, mut ids: Vec<ItemId>) -> Result<(), ReadError> {
        ids.retain(|id| !self.loaded.contains_key(id));
        let ids = unique_ids(ids);
        let room = CONTEXTS_MAX.saturating_sub(self.loaded.len());
        self.is_full |= ids.len() > room;
        for batch in ids[..ids.len().min(room)].chunks(BATCH) {
            let found = self.snapshot.get(batch).await?;
            for (id, stored) in batch.iter().zip(found) {
                let lookup = stored.map_or(ContextLookup::Missing, |stored| self.classify(&stored));
                self.loaded.insert(id.clone(), lookup);
            }
        }
        Ok(())
    }

    fn classify(&self, stored: &Stored) -> ContextLookup {
        if !self.kinds.contains(&stored.item.kind) {
            ContextLookup::NotAContext(stored.item.kind.clone())
        } else if stored.item.active {
            ContextLookup::Found(Arc::new(ContextDocument::of_stored(stored)))
        } else {
            ContextLookup::NotInUse
        }
    }

    /// Builds the chain of a context whose ancestors were read.
    fn build_chain(&self, id: &ItemId) -> Result<Chain, ChainError> {
        let first = self.find(id, &[])?;
        self.check_ancestors(&first)?;
        let mut seen: BTreeSet<ItemId> = [id.clone()].into();
        let mut members = vec![ChainMember { context: first, distance: 0 }];
        // The index of the member through which each was reached.
        let mut from = vec![0];
        let mut at = 0;
        while let Some(ChainMember { context, distance }) = members.get(at).cloned() {
            for parent in self.parents(&context) {
                let Some(ContextLookup::Found(above)) = self.loaded.get(parent) else { continue };
                if seen.insert(parent.clone()) {
                    members
                        .push(ChainMember { context: Arc::clone(above), distance: distance + 1 });
                    from.push(at);
                }
            }
            at += 1;
        }
        let Some(far) = members.iter().position(|member| member.distance > self.depth_max) else {
            return Ok(Chain { members });
        };
        let path = std::iter::successors(Some(far), |&at| (at > 0).then(|| from[at]));
        let mut chain: Vec<ItemId> = path.map(|at| members[at].context.id.clone()).collect();
        chain.reverse();
        Err(ChainError::TooLong { chain, limit: self.depth_max })
    }

    /// Walks every path up to find missing contexts and cycles. It does not recurse, because a path
    /// can be as long as there are contexts.
    fn check_ancestors(&self, first: &Arc<ContextDocument>) -> Result<(), ChainError> {
        let mut done: BTreeSet<ItemId> = BTreeSet::new();
        let mut on_path: BTreeSet<ItemId> = [first.id.clone()].into();
        let mut path: Vec<(Arc<ContextDocument>, usize)> = vec![(Arc::clone(first), 0)];
        while let Some((context, next)) = path.last_mut() {
            let Some(parent) = self.parents(context).nth(*next).cloned() else {
                on_path.remove(&context.id);
                done.insert(context.id.clone());
                path.pop();
                continue;
            };
            *next += 1;
            if on_path.contains(&parent) {
                return Err(ChainError::Cycle { chain: path_to(&path, &parent) });
            }
            if !done.contains(&parent) {
                path.push((self.find(&parent, &path)?, 0));
                on_path.insert(parent);
            }
        }
        Ok(())
    }

    /// A context that was read, or why it cannot be used; `path` leads to it.
    fn find(
        &self,
        id: &ItemId,
        path: &[(Arc<ContextDocument>, usize)],
    ) -> Result<Arc<ContextDocument>, ChainError> {
        let chain = || path_to(path, id);
        match self.loaded.get(id) {
            Some(ContextLookup::Found(context)) => Ok(Arc::clone(context)),
            Some(ContextLookup::Missing) => Err(ChainError::Missing { chain: chain() }),
            Some(ContextLookup::NotInUse) => Err(ChainError::NotInUse { chain: chain() }),
            Some(ContextLookup::NotAContext(kind)) => {
                Err(ChainError::NotAContext { chain: chain(), kind: kind.clone() })
            }
            None if self.is_full => {
                Err(ChainError::TooMany { chain: chain(), limit: CONTEXTS_MAX })
            }
            None => Err(ChainError::TooLong { chain: chain(), limit: self.depth_max }),
        }
    }
}

fn path_to(path: &[(Arc<ContextDocument>, usize)], last: &ItemId) -> Vec<ItemId> {
    path.iter().map(|(context, _)| &context.id).chain([last]).cloned().collect()
}

fn unique_ids(ids: Vec<ItemId>) -> Vec<ItemId> {
    let mut seen = BTreeSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

#[cfg(test)]
mod tests;
