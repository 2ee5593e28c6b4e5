//! Receipts: what a pack was made from, kept beside the data, bounded. One can be explained,
//! replayed, and compared with another.

mod diff;

use std::collections::BTreeMap;

use haversack_core::assemble::Nonce;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::ledger::{Entry, Outcome, Reason, Shortened};
use haversack_core::pack::{Previous, Segment, Shown};
use haversack_core::rank::Ranked;
use haversack_core::receipt::PACKING_VERSION;
use haversack_core::units::{Span, Tokens};
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::pipeline::Assembled;
use crate::revision::RevisionId;
use crate::wire::{WireRequest, principals_of};

pub use diff::{Cause, Change, Difference};

/// The form in which receipts are written here.
const FORMAT: u32 = 1;

/// Most lines of a ledger that are kept; what is in comes first, then the best of what is out.
const LINES_MAX: usize = 2_000;

/// A receipt as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The form it is written in.
    pub format: u32,
    /// Its name.
    pub id: String,
    /// The version of packing: the same request may give other bytes by another.
    pub packing: u32,
    /// The recipe.
    pub recipe: String,
    /// A hash of the recipe, templates and rankers included.
    pub recipe_hash: String,
    /// What was asked.
    pub request: WireRequest,
    /// Through which principals was read; none for the owner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub viewer: Option<Vec<String>>,
    /// The state of the workspace, as it was told to whoever asked.
    pub revision: RevisionId,
    /// Its number, for replays; not shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub at: Option<u64>,
    /// What time it was, in Unix milliseconds.
    pub now: i64,
    /// Who counted.
    pub tokenizer: String,
    /// The model that made the query's vector.
    pub embedder: String,
    /// The model that read the best once more, where one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reranker: Option<String>,
    /// The budget, reserves included.
    pub budget: u32,
    /// What the text could have at most.
    pub limit: u32,
    /// What it has.
    pub tokens: u32,
    /// A hash of everything that decided the pack.
    pub inputs: String,
    /// A hash of the final string.
    pub text: String,
    /// The fences' nonce.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nonce: Option<String>,
    /// Where items end in the final string, with a hash of all up to there.
    pub marks: Vec<Mark>,
    /// What became of each candidate: those that are in, in the order of the text, then the rest.
    pub ledger: Vec<Line>,
    /// How many more candidates there were than are listed.
    pub unlisted: usize,
}

/// A place in the final string, with a hash of all up to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark(pub usize, pub String);

/// One candidate's line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LedgerLine"))]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The item.
    pub item: String,
    /// Which chunk of it; none when it is all of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk: Option<u32>,
    /// The layer it was found for.
    pub layer: String,
    /// Its kind.
    pub kind: String,
    /// Who found it, with its place in their lists.
    pub found: BTreeMap<String, u32>,
    /// Its score.
    pub score: f64,
    /// How the score came about: value and weight by component.
    pub parts: BTreeMap<String, (f64, f64)>,
    /// `in`, `cut`, `essential` or `out`.
    pub outcome: String,
    /// Why it is out, or at which budget it is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The same for programs: why it is out, as a code such as `over_budget` or `repeats`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// The budget from which it is in whole, where a budget decides that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub whole_from: Option<u32>,
    /// The candidate or the layer that stands in its place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instead: Option<String>,
    /// What it costs in the pack.
    pub tokens: u32,
    /// What it costs whole.
    pub tokens_whole: u32,
    /// What was bought last before the budget kept it out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub displaced_by: Option<String>,
    /// A hash of its text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// What stood in the pack, where that is a part of the item: bytes of its body, from and to, and
    /// what stood between them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub content: Vec<Content>,
}

/// A part of what a candidate showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Content {
    /// Bytes of the item's body, from and to.
    Body(usize, usize),
    /// Words that are not the item's: a heading repeated, a mark for what was left out.
    Words(String),
}

impl Content {
    fn of(segment: &Segment) -> Content {
        match segment {
            Segment::Body(span) => Content::Body(span.start(), span.end()),
            Segment::Words(words) => Content::Words(words.clone()),
        }
    }

    fn segment(&self) -> Result<Segment, Error> {
        match self {
            Content::Body(start, end) => {
                Span::recorded(*start, *end).map(Segment::Body).ok_or_else(|| {
                    Error::invalid(
                        "receipt.ledger.content",
                        format!("{start} to {end} is no range"),
                    )
                })
            }
            Content::Words(words) => Ok(Segment::Words(words.clone())),
        }
    }
}

impl Line {
    /// The candidate.
    ///
    /// # Errors
    /// When the line was damaged.
    pub fn id(&self) -> Result<CandidateId, Error> {
        let item = ItemId::new(&self.item)
            .map_err(|error| Error::invalid("receipt.ledger.item", error.to_string()))?;
        Ok(CandidateId { item, chunk: self.chunk })
    }

    /// The candidate as people write it.
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

/// The outcome's word, and what else there is to say.
#[must_use]
pub fn outcome_words(entry: &Entry) -> (&'static str, Option<String>) {
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
    /// The receipt of a pack.
    #[must_use]
    pub fn of(assembled: &Assembled, embedder: &str) -> Receipt {
        let pack = &assembled.pack;
        let (ledger, unlisted) = lines(assembled);
        Receipt {
            format: FORMAT,
            id: assembled.receipt(),
            packing: PACKING_VERSION,
            recipe: assembled.recipe.name.clone(),
            recipe_hash: assembled.recipe_hash.clone(),
            request: WireRequest::of(&assembled.request),
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
            marks: marks(assembled),
            ledger,
            unlisted,
        }
    }

    /// A receipt as it was kept. One that was kept before viewers had names for states has only the
    /// number, which is not for everybody to know.
    pub(crate) fn kept(text: &str) -> Result<Receipt, serde_json::Error> {
        let mut receipt: Receipt = serde_json::from_str(text)?;
        if let RevisionId::Number(number) = receipt.revision {
            receipt.at = receipt.at.or(Some(number));
            if receipt.viewer.is_some() {
                receipt.revision = RevisionId::unknown();
            }
        }
        Ok(receipt)
    }

    /// The receipt as a viewer may see it: the state's number is for those who see everything.
    #[must_use]
    pub fn shown_to(&self, viewer: &Viewer) -> Receipt {
        let mut shown = self.clone();
        if let Some(number) = shown.at.take().filter(|_| *viewer == Viewer::owner()) {
            shown.revision = RevisionId::Number(number);
        }
        shown
    }

    /// What the next pack of the same conversation is given, so that its beginning can stay.
    ///
    /// # Errors
    /// When the receipt was damaged.
    pub fn previous(&self) -> Result<Previous, Error> {
        let shown = self.ledger.iter().filter(|line| line.is_in());
        let shown = shown.map(|line| {
            let content: Result<Vec<Segment>, Error> =
                line.content.iter().map(Content::segment).collect();
            Ok(Shown { layer: line.layer.as_str().into(), id: line.id()?, content: content? })
        });
        let order: Result<_, Error> = shown.collect();
        Ok(Previous { nonce: self.nonce.as_deref().and_then(Nonce::parse), order: order? })
    }

    /// How many bytes at the beginning of `text` are those of the pack that this is the receipt of.
    #[must_use]
    pub fn kept_bytes(&self, text: &str) -> usize {
        // Hashes are of growing beginnings, so one pass over the text serves them all.
        let mut hasher = blake3::Hasher::new();
        let (mut hashed, mut kept) = (0, 0);
        for Mark(at, hash) in &self.marks {
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

/// Where items end in the text, with hashes of all up to there.
fn marks(assembled: &Assembled) -> Vec<Mark> {
    let text = &assembled.pack.text;
    let mut hasher = blake3::Hasher::new();
    let mut hashed = 0;
    let sections = &assembled.pack.sections;
    let ends = sections.iter().flat_map(|section| section.items.iter().map(|item| item.span.end()));
    ends.chain([text.len()])
        .map(|end| {
            hasher.update(&text.as_bytes()[hashed..end]);
            hashed = end;
            Mark(end, hasher.finalize().to_hex()[..16].to_owned())
        })
        .collect()
}

/// The ledger's lines: what is in, in the order of the text, then the best of the rest.
fn lines(assembled: &Assembled) -> (Vec<Line>, usize) {
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
        line(entry, texts.get(&entry.id).copied(), content)
    };
    (entries.into_iter().map(line).collect(), unlisted)
}

fn line(entry: &Entry, ranked: Option<&Ranked>, content: &[Segment]) -> Line {
    let (outcome, why) = outcome_words(entry);
    let reason = match &entry.outcome {
        Outcome::Out(reason) => Some(reason),
        Outcome::In | Outcome::Cut { .. } => None,
    };
    let whole_from = match &entry.outcome {
        Outcome::Cut { whole_from, .. } => *whole_from,
        _ => reason.and_then(Reason::whole_from),
    };
    Line {
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
        instead: reason.and_then(Reason::instead),
        tokens: entry.tokens.get(),
        tokens_whole: entry.tokens_whole.get(),
        displaced_by: entry.displaced_by.as_ref().map(ToString::to_string),
        text: ranked.map(|ranked| short_hash(&ranked.candidate.text)),
        content: content.iter().map(Content::of).collect(),
    }
}
