//! What differs between two packs, and why: causes first, then what they did.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Line, Receipt};
use crate::revision::RevisionId;

/// Something that decided one pack otherwise than the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "cause")]
#[non_exhaustive]
pub enum Cause {
    /// A field of the request.
    Request {
        /// Which.
        field: String,
        /// What the first said; empty when nothing.
        before: String,
        /// What the second said; empty when nothing.
        after: String,
    },
    /// Another recipe, or the same one changed.
    Recipe {
        /// The first's name and hash.
        before: String,
        /// The second's name and hash.
        after: String,
    },
    /// Another viewer.
    Viewer,
    /// Another state of the workspace.
    Data {
        /// The first's.
        before: RevisionId,
        /// The second's.
        after: RevisionId,
    },
    /// Another time, by which ages and relative dates are measured.
    Time {
        /// The first's, in Unix milliseconds.
        before: i64,
        /// The second's.
        after: i64,
    },
    /// Another tokenizer.
    Tokenizer {
        /// The first's.
        before: String,
        /// The second's.
        after: String,
    },
    /// Another embedding model.
    Embedder {
        /// The first's.
        before: String,
        /// The second's.
        after: String,
    },
    /// Another reranker; nothing where nobody reranked.
    Reranker {
        /// The first's.
        before: String,
        /// The second's.
        after: String,
    },
    /// Another version of packing.
    Packing {
        /// The first's.
        before: u32,
        /// The second's.
        after: u32,
    },
}

/// What became otherwise of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "change")]
#[non_exhaustive]
pub enum Change {
    /// It is in now and was not.
    Entered {
        /// Why it was not: not found, or its reason.
        before: String,
    },
    /// It was in and is not.
    Left {
        /// Why it is not: not found, or its reason.
        after: String,
    },
    /// It is in both, at another size.
    Resized {
        /// Before.
        before: u32,
        /// After.
        after: u32,
    },
    /// Its text is another.
    Rewritten,
    /// Its score is another.
    Rescored {
        /// Before.
        before: f64,
        /// After.
        after: f64,
        /// The components that differ, with both values.
        parts: BTreeMap<String, (f64, f64)>,
    },
}

/// What differs between two packs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Whether the two have the same bytes.
    pub same: bool,
    /// What decided them differently.
    pub causes: Vec<Cause>,
    /// What became otherwise, by candidate.
    pub candidates: BTreeMap<String, Vec<Change>>,
}

impl Receipt {
    /// What differs between this pack and a later one.
    #[must_use]
    pub fn diff(&self, after: &Receipt) -> Difference {
        Difference {
            same: self.text == after.text,
            causes: causes(self, after),
            candidates: changes(self, after),
        }
    }
}

fn causes(before: &Receipt, after: &Receipt) -> Vec<Cause> {
    let mut causes = Vec::new();
    let recipe = |receipt: &Receipt| format!("{} ({})", receipt.recipe, receipt.recipe_hash);
    if recipe(before) != recipe(after) {
        causes.push(Cause::Recipe { before: recipe(before), after: recipe(after) });
    }
    causes.extend(request_causes(before, after));
    if before.viewer != after.viewer {
        causes.push(Cause::Viewer);
    }
    // States of two numbers may look the same to whoever asked.
    let is_one = before.at.is_some() && before.at == after.at;
    if !is_one && before.revision != after.revision {
        let (before, after) = (before.revision.clone(), after.revision.clone());
        causes.push(Cause::Data { before, after });
    }
    if before.now != after.now {
        causes.push(Cause::Time { before: before.now, after: after.now });
    }
    if before.tokenizer != after.tokenizer {
        let (before, after) = (before.tokenizer.clone(), after.tokenizer.clone());
        causes.push(Cause::Tokenizer { before, after });
    }
    if before.embedder != after.embedder {
        let (before, after) = (before.embedder.clone(), after.embedder.clone());
        causes.push(Cause::Embedder { before, after });
    }
    if before.reranker != after.reranker {
        let name = |receipt: &Receipt| receipt.reranker.clone().unwrap_or_default();
        causes.push(Cause::Reranker { before: name(before), after: name(after) });
    }
    if before.packing != after.packing {
        causes.push(Cause::Packing { before: before.packing, after: after.packing });
    }
    causes
}

/// The fields of the requests that differ, but for those that only say when it was asked.
fn request_causes(before: &Receipt, after: &Receipt) -> Vec<Cause> {
    let fields = |receipt: &Receipt| -> BTreeMap<String, String> {
        let value = serde_json::to_value(&receipt.request).unwrap_or_default();
        let fields = value.as_object().cloned().unwrap_or_default();
        fields.into_iter().map(|(name, value)| (name, value.to_string())).collect()
    };
    let (before, after) = (fields(before), fields(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |fields: &BTreeMap<String, String>, name: &String| {
        fields.get(name).cloned().unwrap_or_default()
    };
    names
        .into_iter()
        .filter(|name| !matches!(name.as_str(), "now" | "asOf" | "cache"))
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Cause::Request {
            field: name.clone(),
            before: of(&before, name),
            after: of(&after, name),
        })
        .collect()
}

fn changes(before: &Receipt, after: &Receipt) -> BTreeMap<String, Vec<Change>> {
    let lines = |receipt: &'_ Receipt| -> BTreeMap<String, Line> {
        let mut lines: BTreeMap<String, Line> = BTreeMap::new();
        // A candidate of several layers: where it is in counts, and else the first.
        for line in receipt.ledger.iter().rev() {
            let known = lines.get(&line.name());
            if known.is_none_or(|known| line.is_in() || !known.is_in()) {
                lines.insert(line.name(), line.clone());
            }
        }
        lines
    };
    let (before, after) = (lines(before), lines(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| (name.clone(), change(before.get(name), after.get(name))))
        .filter(|(_, changes)| !changes.is_empty())
        .collect()
}

fn change(before: Option<&Line>, after: Option<&Line>) -> Vec<Change> {
    let is_in = |line: Option<&Line>| line.is_some_and(Line::is_in);
    let why = |line: Option<&Line>| match line {
        Some(line) => line.why.clone().unwrap_or_else(|| line.outcome.clone()),
        None => "not found".to_owned(),
    };
    let mut changes = Vec::new();
    match (is_in(before), is_in(after)) {
        (false, true) => changes.push(Change::Entered { before: why(before) }),
        (true, false) => changes.push(Change::Left { after: why(after) }),
        (true, true) | (false, false) => {}
    }
    let (Some(before), Some(after)) = (before, after) else { return changes };
    if before.text != after.text && before.text.is_some() && after.text.is_some() {
        changes.push(Change::Rewritten);
    }
    if before.is_in() && after.is_in() && before.tokens != after.tokens {
        changes.push(Change::Resized { before: before.tokens, after: after.tokens });
    }
    if before.score.to_bits() != after.score.to_bits() {
        let mut parts = BTreeMap::new();
        for (name, &(value, _)) in &after.parts {
            let earlier = before.parts.get(name).map_or(0.0, |&(value, _)| value);
            if earlier.to_bits() != value.to_bits() {
                parts.insert(name.clone(), (earlier, value));
            }
        }
        changes.push(Change::Rescored { before: before.score, after: after.score, parts });
    }
    changes
}
