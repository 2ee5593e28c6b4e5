//! Receipts: what a pack was made from. They are stored beside the data, bounded in number, and can be
//! explained, replayed and compared.

mod diff;

use std::collections::BTreeMap;

use haversack_core::assemble::Nonce;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::ledger::{Entry, Outcome, Reason, Shortened};
use haversack_core::pack::{Previous, Segment, ShownCandidate};
use haversack_core::rank::Ranked;
use haversack_core::receipt::PACKING_VERSION;
use haversack_core::units::{Span, Tokens};
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::models::ModelAnswers;
use crate::pipeline::Assembled;
use crate::revision::RevisionId;
use crate::wire::{WireRequest, principals_of};

pub use diff::{CandidateChange, Difference, DifferenceCause};

/// The version of the receipt format.
const FORMAT: u32 = 1;

/// Most ledger lines of a receipt: packed candidates first, then the best of those left out.
const LINES_MAX: usize = 2_000;

/// A receipt: a record of what a pack was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The version of the receipt format.
    pub format: u32,
    /// The receipt's id.
    pub id: String,
    /// The version of the packing algorithm. Another version may give other bytes for the same
    /// request.
    pub packing: u32,
    /// The name of the recipe.
    pub recipe: String,
    /// A hash of the recipe, templates and rankers included.
    pub recipe_hash: String,
    /// The request.
    pub request: WireRequest,
    /// The principals of the viewer; absent for the owner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub viewer: Option<Vec<String>>,
    /// The state of the workspace, as the viewer's id of it.
    pub revision: RevisionId,
    /// The number of the state, for replays; it is not shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: Option<u64>,
    /// The time of the request, in Unix milliseconds.
    pub now: i64,
    /// The tokenizer that counted the tokens.
    pub tokenizer: String,
    /// The model that embedded the query.
    pub embedder: String,
    /// The reranker, if one was used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reranker: Option<String>,
    /// The budget, reserves included.
    pub budget: u32,
    /// Most tokens that the final string could have.
    pub limit: u32,
    /// Tokens of the final string.
    pub tokens: u32,
    /// A hash of everything that decided the pack.
    pub inputs: String,
    /// A hash of the final string.
    pub text: String,
    /// The nonce of the fences.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nonce: Option<String>,
    /// The end of each item in the final string, with a hash of the text before it.
    pub marks: Vec<PrefixHash>,
    /// The candidates: those in the pack in the order of the text, then the others.
    pub ledger: Vec<ReceiptLine>,
    /// The number of candidates that the ledger leaves out.
    pub unlisted: usize,
    /// What remote models answered; a replay uses it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub models: Option<ModelAnswers>,
}

/// A position in the final string, and a hash of the text before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Mark"))]
pub struct PrefixHash(pub usize, pub String);

/// The ledger's line for one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LedgerLine"))]
#[serde(rename_all = "camelCase")]
pub struct ReceiptLine {
    /// The item's id.
    pub item: String,
    /// The number of the chunk; absent for the whole item.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk: Option<u32>,
    /// The layer that the candidate belongs to.
    pub layer: String,
    /// The item's kind.
    pub kind: String,
    /// The collectors that found it, each with its rank in their list.
    pub found: BTreeMap<String, u32>,
    /// The candidate's score.
    pub score: f64,
    /// The components of the score, each with value and weight.
    pub parts: BTreeMap<String, (f64, f64)>,
    /// The outcome: `in`, `cut`, `essential` or `out`.
    pub outcome: String,
    /// The reason why it was left out, or the budget from which it is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The reason as a code for programs, such as `over_budget` or `repeats`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// The budget from which it is whole, if the budget decides that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub whole_from: Option<u32>,
    /// The candidate or layer that is in the pack instead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instead: Option<String>,
    /// The candidate's tokens in the pack.
    pub tokens: u32,
    /// The candidate's tokens in full.
    pub tokens_whole: u32,
    /// The last candidate that was selected before the budget excluded this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub displaced_by: Option<String>,
    /// A hash of the candidate's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The shown parts of the item, if the pack shows only a part.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub content: Vec<ContentPart>,
}

/// A part of a candidate's text in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Content"))]
#[serde(untagged)]
pub enum ContentPart {
    /// Bytes of the item's body, from and to.
    Body(usize, usize),
    /// Text that is not the item's: a repeated heading, a mark for an omission.
    Words(String),
}

impl ContentPart {
    fn from_segment(segment: &Segment) -> ContentPart {
        match segment {
            Segment::Body(span) => ContentPart::Body(span.start(), span.end()),
            Segment::Words(words) => ContentPart::Words(words.clone()),
        }
    }

    fn to_segment(&self) -> Result<Segment, Error> {
        match self {
            ContentPart::Body(start, end) => {
                Span::recorded(*start, *end).map(Segment::Body).ok_or_else(|| {
                    Error::invalid(
                        "receipt.ledger.content",
                        format!("{start} to {end} is no range"),
                    )
                })
            }
            ContentPart::Words(words) => Ok(Segment::Words(words.clone())),
        }
    }
}

impl ReceiptLine {
    /// The candidate.
    ///
    /// # Errors
    /// When the line is damaged.
    pub fn id(&self) -> Result<CandidateId, Error> {
        let item = ItemId::new(&self.item)
            .map_err(|error| Error::invalid("receipt.ledger.item", error.to_string()))?;
        Ok(CandidateId { item, chunk: self.chunk })
    }

    /// The candidate's id as text.
    #[must_use]
    pub fn name(&self) -> String {
        match self.chunk {
            Some(chunk) => format!("{}#{chunk}", self.item),
            None => self.item.clone(),
        }
    }

    fn is_in(&self) -> bool {
        self.outcome != "out"
    }
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the outcome's name, and the reason or the budget from which it is whole.
#[must_use]
pub fn outcome_and_detail(entry: &Entry) -> (&'static str, Option<String>) {
    match &entry.outcome {
        Outcome::In => ("in", None),
        Outcome::Cut { how, whole_from } => {
            let word = match how {
                Shortened::Trimmed => "cut",
                Shortened::Essential => "essential",
            };
            (word, whole_from.map(|tokens| format!("whole from {tokens} tokens")))
        }
        Outcome::Out(reason) => ("out", Some(reason.to_string())),
    }
}

impl Receipt {
    /// Makes the receipt of a pack.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, embedder: &str) -> Receipt {
        let pack = &assembled.pack;
        let (ledger, unlisted) = receipt_lines(assembled);
        Receipt {
            format: FORMAT,
            id: assembled.receipt(),
            packing: PACKING_VERSION,
            recipe: assembled.recipe.name.clone(),
            recipe_hash: assembled.recipe_hash.clone(),
            request: WireRequest::from_request(&assembled.request),
            viewer: principals_of(&assembled.request.viewer),
            revision: assembled.state.clone(),
            at: Some(assembled.revision),
            now: assembled.now.as_millis(),
            tokenizer: pack.tokenizer.clone(),
            embedder: embedder.to_owned(),
            reranker: assembled.reranker.clone(),
            budget: assembled.core.budget.total().get(),
            limit: pack.limit.get(),
            tokens: pack.tokens.get(),
            inputs: pack.receipt.inputs.to_string(),
            text: pack.receipt.text.to_string(),
            nonce: pack.previous.nonce.as_ref().map(|nonce| nonce.as_str().to_owned()),
            marks: prefix_hashes(assembled),
            ledger,
            unlisted,
            models: Some(&assembled.model_answers).filter(|answers| !answers.is_empty()).cloned(),
        }
    }

    /// Parses a stored receipt. One from before viewers had tokens for states has only the number,
    /// which is hidden from most viewers.
    pub(crate) fn from_json(text: &str) -> Result<Receipt, serde_json::Error> {
        let mut receipt: Receipt = serde_json::from_str(text)?;
        if let RevisionId::Number(number) = receipt.revision {
            receipt.at = receipt.at.or(Some(number));
            if receipt.viewer.is_some() {
                receipt.revision = RevisionId::unknown();
            }
        }
        Ok(receipt)
    }

    /// Returns the receipt as a viewer may see it: only the owner gets the state's number.
    #[must_use]
    pub fn redacted_for(&self, viewer: &Viewer) -> Receipt {
        let mut shown = self.clone();
        if let Some(number) = shown.at.take().filter(|_| *viewer == Viewer::owner()) {
            shown.revision = RevisionId::Number(number);
        }
        shown
    }

    /// Returns what the next pack of the conversation needs to keep its beginning unchanged.
    ///
    /// # Errors
    /// When the receipt is damaged.
    pub fn previous(&self) -> Result<Previous, Error> {
        let shown = self.ledger.iter().filter(|line| line.is_in());
        let shown = shown.map(|line| {
            let content: Result<Vec<Segment>, Error> =
                line.content.iter().map(ContentPart::to_segment).collect();
            Ok(ShownCandidate {
                layer: line.layer.as_str().into(),
                id: line.id()?,
                content: content?,
            })
        });
        let order: Result<_, Error> = shown.collect();
        Ok(Previous { nonce: self.nonce.as_deref().and_then(Nonce::parse), order: order? })
    }

    /// Counts the bytes at the beginning of `text` that equal those of this receipt's pack.
    #[must_use]
    pub fn unchanged_prefix_len(&self, text: &str) -> usize {
        // Each hash covers a longer prefix, so one pass over the text checks them all.
        let mut hasher = blake3::Hasher::new();
        let (mut hashed, mut kept) = (0, 0);
        for PrefixHash(at, hash) in &self.marks {
            let Some(more) = text.get(hashed..*at) else { break };
            hasher.update(more.as_bytes());
            hashed = *at;
            if hasher.finalize().to_hex()[..16] != *hash {
                break;
            }
            kept = *at;
        }
        kept
    }
}

/// Hashes the text up to the end of each item.
fn prefix_hashes(assembled: &Assembled) -> Vec<PrefixHash> {
    let text = &assembled.pack.text;
    let mut hasher = blake3::Hasher::new();
    let mut hashed = 0;
    let sections = &assembled.pack.sections;
    let ends = sections.iter().flat_map(|section| section.items.iter().map(|item| item.span.end()));
    ends.chain([text.len()])
        .map(|end| {
            hasher.update(&text.as_bytes()[hashed..end]);
            hashed = end;
            PrefixHash(end, hasher.finalize().to_hex()[..16].to_owned())
        })
        .collect()
}

/// Makes the ledger's lines: packed candidates in the order of the text, then the best of the rest.
fn receipt_lines(assembled: &Assembled) -> (Vec<ReceiptLine>, usize) {
    let pack = &assembled.pack;
    let texts: BTreeMap<&CandidateId, &Ranked> = assembled
        .core
        .layers
        .iter()
        .flat_map(|(_, ranked)| ranked)
        .map(|ranked| (&ranked.candidate.id, ranked))
        .collect();
    let places: BTreeMap<(&str, &CandidateId), usize> = pack
        .sections
        .iter()
        .flat_map(|section| section.items.iter().map(|item| (&*section.layer, &item.id)))
        .enumerate()
        .map(|(place, key)| (key, place))
        .collect();
    let mut entries: Vec<(usize, &Entry)> = pack
        .ledger
        .iter()
        .map(|entry| {
            let out = matches!(entry.outcome, Outcome::Out(_));
            let place = places.get(&(&*entry.layer, &entry.id)).copied();
            (if out { usize::MAX } else { place.unwrap_or(usize::MAX) }, entry)
        })
        .collect();
    entries.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then_with(|| other.score.cmp(&one.score)).then_with(|| one.id.cmp(&other.id))
    });
    let unlisted = entries.len().saturating_sub(LINES_MAX);
    entries.truncate(LINES_MAX);
    let contents: BTreeMap<(&str, &CandidateId), &[Segment]> = pack
        .previous
        .order
        .iter()
        .map(|shown| ((&*shown.layer, &shown.id), shown.content.as_slice()))
        .collect();
    let line = |(_, entry): (usize, &Entry)| {
        let content = contents.get(&(&*entry.layer, &entry.id)).copied().unwrap_or_default();
        let is_out = matches!(entry.outcome, Outcome::Out(_));
        let content = if is_out { &[] } else { content };
        receipt_line(entry, texts.get(&entry.id).copied(), content)
    };
    (entries.into_iter().map(line).collect(), unlisted)
}

fn receipt_line(entry: &Entry, ranked: Option<&Ranked>, content: &[Segment]) -> ReceiptLine {
    let (outcome, why) = outcome_and_detail(entry);
    let reason = match &entry.outcome {
        Outcome::Out(reason) => Some(reason),
        Outcome::In | Outcome::Cut { .. } => None,
    };
    let whole_from = match &entry.outcome {
        Outcome::Cut { whole_from, .. } => *whole_from,
        _ => reason.and_then(Reason::whole_from),
    };
    ReceiptLine {
        item: entry.id.item.as_str().to_owned(),
        chunk: entry.id.chunk,
        layer: entry.layer.to_string(),
        kind: entry.kind.to_string(),
        found: entry.found.iter().map(|found| (found.collector.to_string(), found.rank)).collect(),
        score: entry.score.get(),
        parts: entry
            .parts
            .iter()
            .map(|part| (part.component.to_string(), (part.value.get(), part.weight)))
            .collect(),
        outcome: outcome.to_owned(),
        why,
        code: reason.map(|reason| reason.code().to_owned()),
        whole_from: whole_from.map(Tokens::get),
        instead: reason.and_then(Reason::replaced_by),
        tokens: entry.tokens.get(),
        tokens_whole: entry.tokens_whole.get(),
        displaced_by: entry.displaced_by.as_ref().map(ToString::to_string),
        text: ranked.map(|ranked| short_hash(&ranked.candidate.text)),
        content: content.iter().map(ContentPart::from_segment).collect(),
    }
}
