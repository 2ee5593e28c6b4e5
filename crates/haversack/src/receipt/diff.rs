//! Compares two packs: the causes of differences, and the changes by candidate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Receipt, ReceiptLine};
use crate::revision::RevisionId;

/// An input that differs between two packs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cause"))]
#[serde(rename_all = "camelCase", tag = "cause")]
#[non_exhaustive]
pub enum DifferenceCause {
    /// A field of the request differs.
    Request {
        /// The field's name.
        field: String,
        /// The first request's value; empty when it has none.
        before: String,
        /// The second request's value; empty when it has none.
        after: String,
    },
    /// The recipe differs, or its source changed.
    Recipe {
        /// The first recipe's name and hash.
        before: String,
        /// The second recipe's name and hash.
        after: String,
    },
    /// The viewer differs.
    Viewer,
    /// The state of the workspace differs.
    Data {
        /// The first pack's state.
        before: RevisionId,
        /// The second pack's state.
        after: RevisionId,
    },
    /// The time differs, by which ages and relative dates are measured.
    Time {
        /// The first pack's time, in Unix milliseconds.
        before: i64,
        /// The second pack's time, in Unix milliseconds.
        after: i64,
    },
    /// The tokenizer differs.
    Tokenizer {
        /// The first pack's tokenizer.
        before: String,
        /// The second pack's tokenizer.
        after: String,
    },
    /// The embedding model differs.
    Embedder {
        /// The first pack's model.
        before: String,
        /// The second pack's model.
        after: String,
    },
    /// The reranker differs; empty if none was used.
    Reranker {
        /// The first pack's reranker.
        before: String,
        /// The second pack's reranker.
        after: String,
    },
    /// The version of the packing algorithm differs.
    Packing {
        /// The first pack's version.
        before: u32,
        /// The second pack's version.
        after: u32,
    },
}

/// A change of one candidate between two packs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Change"))]
#[serde(rename_all = "camelCase", tag = "change")]
#[non_exhaustive]
pub enum CandidateChange {
    /// The candidate is only in the second pack.
    Entered {
        /// The reason why the first pack left it out, or that it was not found.
        before: String,
    },
    /// The candidate is only in the first pack.
    Left {
        /// The reason why the second pack left it out, or that it was not found.
        after: String,
    },
    /// The candidate is in both packs with different sizes.
    Resized {
        /// Its tokens in the first pack.
        before: u32,
        /// Its tokens in the second pack.
        after: u32,
    },
    /// The candidate's text changed.
    Rewritten,
    /// The candidate's score changed.
    Rescored {
        /// The first pack's score.
        before: f64,
        /// The second pack's score.
        after: f64,
        /// The components that differ, with both values.
        parts: BTreeMap<String, (f64, f64)>,
    },
}

/// The differences between two packs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Whether the two packs have the same bytes.
    pub same: bool,
    /// The inputs that differ.
    pub causes: Vec<DifferenceCause>,
    /// The changes, by candidate.
    pub candidates: BTreeMap<String, Vec<CandidateChange>>,
}

impl Receipt {
    /// Compares this pack with a later one.
    #[must_use]
    pub fn diff(&self, after: &Receipt) -> Difference {
        Difference {
            same: self.text == after.text,
            causes: find_causes(self, after),
            candidates: find_changes(self, after),
        }
    }
}

fn find_causes(before: &Receipt, after: &Receipt) -> Vec<DifferenceCause> {
    let mut causes = Vec::new();
    let recipe = |receipt: &Receipt| format!("{} ({})", receipt.recipe, receipt.recipe_hash);
    if recipe(before) != recipe(after) {
        causes.push(DifferenceCause::Recipe { before: recipe(before), after: recipe(after) });
    }
    causes.extend(request_causes(before, after));
    if before.viewer != after.viewer {
        causes.push(DifferenceCause::Viewer);
    }
    // States with different numbers may be the same state to the viewer.
    let is_one = before.at.is_some() && before.at == after.at;
    if !is_one && before.revision != after.revision {
        let (before, after) = (before.revision.clone(), after.revision.clone());
        causes.push(DifferenceCause::Data { before, after });
    }
    if before.now != after.now {
        causes.push(DifferenceCause::Time { before: before.now, after: after.now });
    }
    if before.tokenizer != after.tokenizer {
        let (before, after) = (before.tokenizer.clone(), after.tokenizer.clone());
        causes.push(DifferenceCause::Tokenizer { before, after });
    }
    if before.embedder != after.embedder {
        let (before, after) = (before.embedder.clone(), after.embedder.clone());
        causes.push(DifferenceCause::Embedder { before, after });
    }
    if before.reranker != after.reranker {
        let name = |receipt: &Receipt| receipt.reranker.clone().unwrap_or_default();
        causes.push(DifferenceCause::Reranker { before: name(before), after: name(after) });
    }
    if before.packing != after.packing {
        causes.push(DifferenceCause::Packing { before: before.packing, after: after.packing });
    }
    causes
}

/// Finds the request fields that differ, except those that only say when the request was made.
fn request_causes(before: &Receipt, after: &Receipt) -> Vec<DifferenceCause> {
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
        .map(|name| DifferenceCause::Request {
            field: name.clone(),
            before: of(&before, name),
            after: of(&after, name),
        })
        .collect()
}

fn find_changes(before: &Receipt, after: &Receipt) -> BTreeMap<String, Vec<CandidateChange>> {
    let lines = |receipt: &'_ Receipt| -> BTreeMap<String, ReceiptLine> {
        let mut lines: BTreeMap<String, ReceiptLine> = BTreeMap::new();
        // Of a candidate in several layers, the line of the layer that has it in counts, else the first.
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
        .map(|name| (name.clone(), candidate_changes(before.get(name), after.get(name))))
        .filter(|(_, changes)| !changes.is_empty())
        .collect()
}

fn candidate_changes(
    before: Option<&ReceiptLine>,
    after: Option<&ReceiptLine>,
) -> Vec<CandidateChange> {
    let is_in = |line: Option<&ReceiptLine>| line.is_some_and(ReceiptLine::is_in);
    let why = |line: Option<&ReceiptLine>| match line {
        Some(line) => line.why.clone().unwrap_or_else(|| line.outcome.clone()),
        None => "not found".to_owned(),
    };
    let mut changes = Vec::new();
    match (is_in(before), is_in(after)) {
        (false, true) => changes.push(CandidateChange::Entered { before: why(before) }),
        (true, false) => changes.push(CandidateChange::Left { after: why(after) }),
        (true, true) | (false, false) => {}
    }
    let (Some(before), Some(after)) = (before, after) else { return changes };
    if before.text != after.text && before.text.is_some() && after.text.is_some() {
        changes.push(CandidateChange::Rewritten);
    }
    if before.is_in() && after.is_in() && before.tokens != after.tokens {
        changes.push(CandidateChange::Resized { before: before.tokens, after: after.tokens });
    }
    if before.score.to_bits() != after.score.to_bits() {
        let mut parts = BTreeMap::new();
        for (name, &(value, _)) in &after.parts {
            let earlier = before.parts.get(name).map_or(0.0, |&(value, _)| value);
            if earlier.to_bits() != value.to_bits() {
                parts.insert(name.clone(), (earlier, value));
            }
        }
        changes.push(CandidateChange::Rescored { before: before.score, after: after.score, parts });
    }
    changes
}
