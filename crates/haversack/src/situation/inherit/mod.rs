//! Inheritance: a context with all that it takes over, read level by level from one snapshot (S2).
//!
//! A child overrides what its parents say, lists are joined with the nearest first, and each
//! ancestor's distance is the fewest steps that lead to it. What the viewer may not read is
//! missing, in the same words as what does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::text::spelling::shown;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use thiserror::Error;

use super::context::{BehaviourRule, CONTEXT, Context, InjectionRule, once};
use crate::error::Error;

/// How long a chain of parents may be when nobody says otherwise.
pub const DEPTH_DEFAULT: usize = 64;

/// Most contexts that are read for one request.
pub const CONTEXTS_MAX: usize = 2_000;

/// How many are asked for at a time.
const BATCH: usize = 200;

/// Names of a chain that a message shows at either end.
const SHOWN_FIRST: usize = 8;
const SHOWN_LAST: usize = 3;

/// Why a context cannot be used. Each variant's `chain` leads from the context that was asked for to
/// the one that is to blame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChainError {
    /// There is no such context, or the viewer may not read it: nobody can tell which.
    #[error("{} (missing): there is no such context", arrows(.chain))]
    Missing {
        /// How one came there.
        chain: Vec<ItemId>,
    },
    /// A context would inherit from itself.
    #[error("{}: a context cannot inherit from itself", arrows(.chain))]
    Cycle {
        /// The way round; its last name stands in it twice.
        chain: Vec<ItemId>,
    },
    /// The item is something else.
    #[error("{} (a {kind}): only a context can be inherited or injected", arrows(.chain))]
    NotAContext {
        /// How one came there.
        chain: Vec<ItemId>,
        /// What it is.
        kind: Kind,
    },
    /// The context was put out of use.
    #[error("{} (not in use): put it to use again or name another", arrows(.chain))]
    NotInUse {
        /// How one came there.
        chain: Vec<ItemId>,
    },
    /// The chain is too long.
    #[error("{}: a chain of parents has {limit} steps at most", arrows(.chain))]
    TooLong {
        /// The chain as far as it was followed.
        chain: Vec<ItemId>,
        /// The most steps.
        limit: usize,
    },
    /// There are too many contexts.
    #[error("{}: a request reads {limit} contexts at most", arrows(.chain))]
    TooMany {
        /// How one came to the one that was too many.
        chain: Vec<ItemId>,
        /// The most contexts.
        limit: usize,
    },
}

fn arrows(chain: &[ItemId]) -> String {
    let names = |ids: &[ItemId]| ids.iter().map(|id| shown(id.as_str())).collect::<Vec<_>>();
    let mut parts = names(chain);
    if chain.len() > SHOWN_FIRST + SHOWN_LAST + 1 {
        parts = names(&chain[..SHOWN_FIRST]);
        parts.push("…".to_owned());
        parts.extend(names(&chain[chain.len() - SHOWN_LAST..]));
    }
    parts.join(" → ")
}

/// Why there is no chain.
#[derive(Debug, Error)]
pub enum SituationError {
    /// The contexts are not as they should be.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// As a request's answer: the current context is the asker's choice, so its chain is, too.
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
pub struct Member {
    /// The context.
    pub context: Arc<Context>,
    /// The fewest steps that lead to it: 0 for the context itself, 1 for its direct parents.
    pub distance: usize,
}

/// A context and its ancestors, nearest first, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    members: Vec<Member>,
}

/// A rule that gave way to a nearer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Where it stands.
    pub context: ItemId,
    /// Its name or trigger.
    pub rule: String,
    /// Where the one stands that counts.
    pub by: ItemId,
}

impl Chain {
    /// The chain of a context among others that are all at hand. What is missing is left out: whoever
    /// checks a set of contexts is told of that elsewhere.
    #[must_use]
    pub fn among(contexts: &BTreeMap<&ItemId, &Context>, id: &ItemId) -> Option<Chain> {
        let first = contexts.get(id)?;
        let mut members = vec![Member { context: Arc::new((*first).clone()), distance: 0 }];
        let mut seen: BTreeSet<ItemId> = [id.clone()].into();
        let mut at = 0;
        while let Some(Member { context, distance }) = members.get(at).cloned() {
            let under = context.under.iter().filter(|_| context.parents.is_empty());
            for parent in context.parents.iter().chain(under) {
                let known = contexts.get(parent).filter(|_| members.len() < CONTEXTS_MAX);
                if let Some(parent) = known.filter(|_| seen.insert(parent.clone())) {
                    let context = Arc::new((*parent).clone());
                    members.push(Member { context, distance: distance + 1 });
                }
            }
            at += 1;
        }
        Some(Chain { members })
    }

    /// The context and its ancestors, nearest first.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The context that was asked for.
    #[must_use]
    pub fn own(&self) -> &Arc<Context> {
        &self.members[0].context
    }

    /// The goal: the context's own, else the nearest ancestor's.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.nearest(|context| &context.goal)
    }

    /// The sort of intent: the context's own, else the nearest ancestor's.
    #[must_use]
    pub fn intent(&self) -> &str {
        self.nearest(|context| &context.intent)
    }

    fn nearest(&self, of: impl Fn(&Context) -> &String) -> &str {
        let mut given = self.members.iter().map(|member| of(&member.context).as_str());
        given.find(|text| !text.is_empty()).unwrap_or("")
    }

    /// What each member says of behaviour that counts, in the members' order: for one trigger the
    /// nearest context that names it is heard, and what is said twice is heard once.
    #[must_use]
    pub fn behaviour(&self) -> (Vec<Vec<&BehaviourRule>>, Vec<Replaced>) {
        let mut heard: BTreeMap<String, usize> = BTreeMap::new();
        let (mut kept, mut replaced) = (Vec::with_capacity(self.members.len()), Vec::new());
        for (at, Member { context, .. }) in self.members.iter().enumerate() {
            let mut own: Vec<&BehaviourRule> = Vec::with_capacity(context.behaviour.len());
            for rule in &context.behaviour {
                let first = *heard.entry(rule.trigger.to_lowercase()).or_insert(at);
                let nearer = &self.members[first].context;
                if first == at && !own.contains(&rule) {
                    own.push(rule);
                } else if first != at && !nearer.behaviour.contains(rule) {
                    let (context, rule) = (context.id.clone(), rule.trigger.clone());
                    replaced.push(Replaced { context, rule, by: nearer.id.clone() });
                }
            }
            kept.push(own);
        }
        (kept, replaced)
    }

    /// The injection rules that count, nearest first, each with the place of its context among the
    /// members and its own place there. A named rule stands in for those of the same name further
    /// up.
    #[must_use]
    pub fn injection(&self) -> (Vec<(usize, usize, &InjectionRule)>, Vec<Replaced>) {
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut kept, mut replaced) = (Vec::new(), Vec::new());
        for (at, Member { context, .. }) in self.members.iter().enumerate() {
            for (index, rule) in context.injection.iter().enumerate() {
                let first = match rule.name.as_str() {
                    "" => at,
                    name => *named.entry(name).or_insert(at),
                };
                if first == at {
                    kept.push((at, index, rule));
                } else {
                    replaced.push(Replaced {
                        context: context.id.clone(),
                        rule: rule.name.clone(),
                        by: self.members[first].context.id.clone(),
                    });
                }
            }
        }
        (kept, replaced)
    }

    /// The context with all that it takes over, as one: its own name, sort and text; the nearest
    /// goal and intent; adaptations and rules of all, nearest first, identical ones once.
    #[must_use]
    pub fn effective(&self) -> Context {
        let own = self.own();
        let adaptations =
            self.members.iter().flat_map(|member| member.context.adaptations.clone()).collect();
        Context {
            goal: self.goal().to_owned(),
            intent: self.intent().to_owned(),
            adaptations: once(adaptations),
            behaviour: self.behaviour().0.into_iter().flatten().cloned().collect(),
            injection: self.injection().0.into_iter().map(|(_, _, rule)| rule.clone()).collect(),
            ..Context::clone(own)
        }
    }
}

/// What is known of an id.
#[derive(Debug, Clone)]
enum Known {
    Context(Arc<Context>),
    Missing,
    NotAContext(Kind),
    NotInUse,
}

/// The contexts of one request: each is read once, from one snapshot.
pub struct Library<'s> {
    snapshot: &'s dyn Snapshot,
    kinds: Vec<Kind>,
    depth_max: usize,
    known: BTreeMap<ItemId, Known>,
    /// Whether reading stopped because there were too many.
    is_full: bool,
}

impl std::fmt::Debug for Library<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("known", &self.known).finish_non_exhaustive()
    }
}

impl<'s> Library<'s> {
    /// A library over a snapshot. Items of `kinds` are contexts; when none are named, those of the
    /// kind `context` are.
    #[must_use]
    pub fn new(snapshot: &'s dyn Snapshot, kinds: &[Kind], depth_max: usize) -> Library<'s> {
        let default = || Kind::new(CONTEXT).into_iter().collect();
        let kinds = if kinds.is_empty() { default() } else { kinds.to_vec() };
        Library { snapshot, kinds, depth_max, known: BTreeMap::new(), is_full: false }
    }

    /// Whether the viewer finds a context of this id that is in use.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn has(&mut self, id: &ItemId) -> Result<bool, ReadError> {
        self.read(vec![id.clone()]).await?;
        Ok(matches!(self.known.get(id), Some(Known::Context(_))))
    }

    /// A context and its ancestors.
    ///
    /// # Errors
    /// When a context is missing, inherits from itself or cannot be one, or the store cannot be
    /// read.
    pub async fn chain(&mut self, id: &ItemId) -> Result<Chain, SituationError> {
        self.read_up(vec![id.clone()]).await?;
        Ok(self.resolve(id)?)
    }

    /// The same for many, with one read for each level of all of them.
    ///
    /// # Errors
    /// When the store cannot be read. What is wrong with one context is said in its place.
    pub async fn chains(
        &mut self,
        ids: &[ItemId],
    ) -> Result<Vec<Result<Chain, ChainError>>, ReadError> {
        self.read_up(ids.to_vec()).await?;
        Ok(ids.iter().map(|id| self.resolve(id)).collect())
    }

    /// Reads contexts and what they inherit from, level by level, one level further than a chain
    /// may be long.
    async fn read_up(&mut self, ids: Vec<ItemId>) -> Result<(), ReadError> {
        let mut level = ids;
        let mut seen: BTreeSet<ItemId> = level.iter().cloned().collect();
        for _ in 0..=self.depth_max.saturating_add(1) {
            self.read(level.clone()).await?;
            let mut above = Vec::new();
            for id in &level {
                if let Some(Known::Context(context)) = self.known.get(id) {
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

    /// What a context inherits from: what its fields name, else the context it hangs under.
    fn parents<'c>(&self, context: &'c Context) -> impl Iterator<Item = &'c ItemId> {
        let counts = |id: &&ItemId| {
            self.known.get(*id).is_none_or(|known| matches!(known, Known::Context(_)))
        };
        let under = context.under.as_ref().filter(|_| context.parents.is_empty()).filter(counts);
        context.parents.iter().chain(under)
    }

    async fn read(&mut self, mut ids: Vec<ItemId>) -> Result<(), ReadError> {
        ids.retain(|id| !self.known.contains_key(id));
        let ids = once_by_id(ids);
        let room = CONTEXTS_MAX.saturating_sub(self.known.len());
        self.is_full |= ids.len() > room;
        for batch in ids[..ids.len().min(room)].chunks(BATCH) {
            let found = self.snapshot.get(batch).await?;
            for (id, stored) in batch.iter().zip(found) {
                let known = stored.map_or(Known::Missing, |stored| self.look_at(&stored));
                self.known.insert(id.clone(), known);
            }
        }
        Ok(())
    }

    fn look_at(&self, stored: &Stored) -> Known {
        if !self.kinds.contains(&stored.item.kind) {
            Known::NotAContext(stored.item.kind.clone())
        } else if stored.item.active {
            Known::Context(Arc::new(Context::of_stored(stored)))
        } else {
            Known::NotInUse
        }
    }

    /// The chain of a context whose ancestors were read.
    fn resolve(&self, id: &ItemId) -> Result<Chain, ChainError> {
        let first = self.find(id, &[])?;
        self.walk(&first)?;
        let mut seen: BTreeSet<ItemId> = [id.clone()].into();
        let mut members = vec![Member { context: first, distance: 0 }];
        // From which member each was come upon.
        let mut from = vec![0];
        let mut at = 0;
        while let Some(Member { context, distance }) = members.get(at).cloned() {
            for parent in self.parents(&context) {
                let Some(Known::Context(above)) = self.known.get(parent) else { continue };
                if seen.insert(parent.clone()) {
                    members.push(Member { context: Arc::clone(above), distance: distance + 1 });
                    from.push(at);
                }
            }
            at += 1;
        }
        let Some(far) = members.iter().position(|member| member.distance > self.depth_max) else {
            return Ok(Chain { members });
        };
        let way = std::iter::successors(Some(far), |&at| (at > 0).then(|| from[at]));
        let mut chain: Vec<ItemId> = way.map(|at| members[at].context.id.clone()).collect();
        chain.reverse();
        Err(ChainError::TooLong { chain, limit: self.depth_max })
    }

    /// Walks every way up, to find what is missing and what leads back to itself. Without
    /// recursion: a way can be as long as there are contexts.
    fn walk(&self, first: &Arc<Context>) -> Result<(), ChainError> {
        let mut done: BTreeSet<ItemId> = BTreeSet::new();
        let mut on_way: BTreeSet<ItemId> = [first.id.clone()].into();
        let mut way: Vec<(Arc<Context>, usize)> = vec![(Arc::clone(first), 0)];
        while let Some((context, next)) = way.last_mut() {
            let Some(parent) = self.parents(context).nth(*next).cloned() else {
                on_way.remove(&context.id);
                done.insert(context.id.clone());
                way.pop();
                continue;
            };
            *next += 1;
            if on_way.contains(&parent) {
                return Err(ChainError::Cycle { chain: ids_to(&way, &parent) });
            }
            if !done.contains(&parent) {
                way.push((self.find(&parent, &way)?, 0));
                on_way.insert(parent);
            }
        }
        Ok(())
    }

    fn find(&self, id: &ItemId, way: &[(Arc<Context>, usize)]) -> Result<Arc<Context>, ChainError> {
        let chain = || ids_to(way, id);
        match self.known.get(id) {
            Some(Known::Context(context)) => Ok(Arc::clone(context)),
            Some(Known::Missing) => Err(ChainError::Missing { chain: chain() }),
            Some(Known::NotInUse) => Err(ChainError::NotInUse { chain: chain() }),
            Some(Known::NotAContext(kind)) => {
                Err(ChainError::NotAContext { chain: chain(), kind: kind.clone() })
            }
            None if self.is_full => {
                Err(ChainError::TooMany { chain: chain(), limit: CONTEXTS_MAX })
            }
            None => Err(ChainError::TooLong { chain: chain(), limit: self.depth_max }),
        }
    }
}

fn ids_to(way: &[(Arc<Context>, usize)], last: &ItemId) -> Vec<ItemId> {
    way.iter().map(|(context, _)| &context.id).chain([last]).cloned().collect()
}

fn once_by_id(ids: Vec<ItemId>) -> Vec<ItemId> {
    let mut seen = BTreeSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

#[cfg(test)]
mod tests;
