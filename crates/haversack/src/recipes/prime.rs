//! `prime`: one ranked list over a person's files and chat threads (K1 to K12).

use haversack_core::assemble::Item as PackItem;
use haversack_core::assemble::citation::{sources_block, used};
use haversack_core::candidate::Candidate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::wire::{WireRequest, id_opt};

/// What an agent asks for one message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The message.
    pub message: String,
    /// What every recipe can be asked.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

impl Request {
    /// A message in a thread.
    #[must_use]
    pub fn new(thread: &str, message: &str) -> Request {
        let thread_id = Some(thread.to_owned()).filter(|thread| !thread.is_empty());
        Request { thread_id, message: message.to_owned(), other: Map::new() }
    }

    /// The request that this says.
    ///
    /// # Errors
    /// When a field is wrong; the error names it.
    pub fn request(&self) -> Result<crate::Request, Error> {
        self.request_to("prime")
    }

    pub(super) fn request_to(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::read(Value::Object(self.other.clone()))?;
        let mut request = common.request(recipe)?;
        request.thread = id_opt("threadId", self.thread_id.as_ref())?;
        if !self.message.is_empty() {
            request.query.clone_from(&self.message);
        }
        Ok(request)
    }
}

/// The answer of `build` (K8).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeAnswer"))]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The context.
    pub data: Context,
    /// Its figures.
    pub meta: Meta,
    /// The final string.
    pub context: String,
    /// What every result shares.
    pub assembly: Assembly,
}

/// The figures of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeMeta"))]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Tokens of the final string.
    pub token_usage: u32,
    /// How many items are in.
    pub source_count: usize,
    /// How many citations there are.
    pub citation_count: usize,
}

/// One ranked list (K6).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeContext"))]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// The items, in the order of the text.
    pub items: Vec<Item>,
    /// Their citations.
    pub citations: Vec<Citation>,
    /// How many were found in which way.
    pub stats: Stats,
}

/// An item of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeItem"))]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The item's id.
    pub id: String,
    /// `reference`, `file`, `chunk`, `message`, or the item's own kind.
    #[serde(rename = "type")]
    pub sort: String,
    /// Its text as it is in.
    pub content: String,
    /// The most telling stretch of it, with the hits between `<<<` and `>>>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// Its score.
    pub relevance: f64,
    /// Its tokens.
    pub tokens: u32,
    /// What else is known.
    pub metadata: Metadata,
}

/// What else is known of an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeMetadata"))]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When it was made or last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The query's keywords that it holds.
    pub matched_keywords: Vec<String>,
    /// Its best place in a list of finds, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_rank: Option<u32>,
    /// First and last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u32; 2]>,
    /// Who found it.
    pub found_by: Vec<String>,
}

/// A source (K7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeCitation"))]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// The id as it stands in the text, such as `[fil-1x9k2]`.
    pub id: String,
    /// The item.
    pub item: String,
    /// Where it comes from.
    pub source: String,
    /// As the item's.
    #[serde(rename = "type")]
    pub sort: String,
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its score.
    pub relevance: f64,
    /// Whether a response named it.
    pub used_in_response: bool,
}

/// How many were found in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeStats"))]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// By explicit reference.
    pub explicit_count: usize,
    /// By search.
    pub search_count: usize,
    /// From the thread's history.
    pub history_count: usize,
    /// Found and not in.
    pub excluded_count: usize,
}

/// How K6 calls a candidate.
fn sort_of(candidate: &Candidate) -> String {
    let found_by = |name: &str| candidate.found.iter().any(|found| &*found.collector == name);
    match candidate.kind.as_str() {
        _ if found_by("references") => "reference".to_owned(),
        "file" if candidate.id.chunk.is_some() => "chunk".to_owned(),
        kind => kind.to_owned(),
    }
}

fn source_of(candidate: &Candidate) -> String {
    let place = &candidate.place;
    let named = place.path.clone().or_else(|| place.title.clone());
    named.unwrap_or_else(|| candidate.id.item.as_str().to_owned())
}

impl Answer {
    /// What was assembled, in this shape.
    #[must_use]
    pub fn of(assembled: &Assembled, explain: bool) -> Answer {
        let data = Context::of(assembled);
        let meta = Meta {
            token_usage: data.total_tokens,
            source_count: data.items.len(),
            citation_count: data.citations.len(),
        };
        let assembly = Assembly::of(assembled, explain);
        Answer { data, meta, context: assembled.text().to_owned(), assembly }
    }
}

impl Context {
    fn of(assembled: &Assembled) -> Context {
        let sections = &assembled.pack.sections;
        let items = sections.iter().flat_map(|section| &section.items);
        Context {
            total_tokens: assembled.pack.tokens.get(),
            items: items.clone().filter_map(|item| shown(assembled, item)).collect(),
            citations: items.filter_map(|item| citation(assembled, item)).collect(),
            stats: stats(assembled),
        }
    }
}

fn shown(assembled: &Assembled, item: &PackItem) -> Option<Item> {
    let ranked = assembled.ranked(&item.id)?;
    let candidate = &ranked.candidate;
    let content = assembled.content(item);
    let lower = content.to_lowercase();
    let keywords = assembled.analysis.keywords.iter();
    Some(Item {
        id: item.id.item.as_str().to_owned(),
        sort: sort_of(candidate),
        excerpt: assembled.excerpts.get(&item.id).cloned(),
        content,
        source: source_of(candidate),
        relevance: ranked.score.get(),
        tokens: item.tokens.get(),
        metadata: Metadata {
            path: candidate.place.path.clone(),
            created_at: candidate.moment.map(|moment| moment.to_string()),
            matched_keywords: keywords.filter(|word| lower.contains(*word)).cloned().collect(),
            search_rank: candidate.found.iter().map(|found| found.rank).min(),
            lines: candidate
                .place
                .lines
                .as_ref()
                .map(|lines| [lines.start, lines.end.saturating_sub(1)]),
            found_by: candidate.found.iter().map(|found| found.collector.to_string()).collect(),
        },
    })
}

fn citation(assembled: &Assembled, item: &PackItem) -> Option<Citation> {
    let ranked = assembled.ranked(&item.id)?;
    let candidate = &ranked.candidate;
    Some(Citation {
        id: format!("[{}]", item.citation),
        item: item.id.item.as_str().to_owned(),
        source: source_of(candidate),
        sort: sort_of(candidate),
        path: candidate.place.path.clone(),
        relevance: ranked.score.get(),
        used_in_response: false,
    })
}

/// Each candidate is counted once: as a reference, else as history, else as a find.
fn stats(assembled: &Assembled) -> Stats {
    let mut stats = Stats::default();
    for entry in &assembled.pack.ledger {
        let by = |name: &str| entry.found.iter().any(|found| &*found.collector == name);
        if by("references") {
            stats.explicit_count += 1;
        } else if by("history") {
            stats.history_count += 1;
        } else {
            stats.search_count += 1;
        }
        if matches!(entry.outcome, haversack_core::ledger::Outcome::Out(_)) {
            stats.excluded_count += 1;
        }
    }
    stats
}

/// A response's citations: which were used, and a block that names them (K7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeCited"))]
#[serde(rename_all = "camelCase")]
pub struct Cited {
    /// Every citation, with whether the response used it.
    pub citations: Vec<Citation>,
    /// The block of sources; empty when none was used.
    pub sources: String,
}

/// Marks the citations that a response used.
#[must_use]
pub fn cite(assembled: &Assembled, response: &str) -> Cited {
    let all = &assembled.pack.citations;
    let named = used(all, response);
    let mut citations = Context::of(assembled).citations;
    for citation in &mut citations {
        citation.used_in_response =
            named.iter().any(|named| citation.id == format!("[{}]", named.id));
    }
    Cited { citations, sources: sources_block(&named) }
}

impl Workspace {
    /// One ranked list for a message in a thread.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn prime(&self, request: &Request) -> Result<Answer, Error> {
        Ok(Answer::of(&*self.pack(request.request()?).await?, false))
    }
}
