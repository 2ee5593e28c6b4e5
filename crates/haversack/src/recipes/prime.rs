//! `prime`: one ranked list over a person's files and chat threads (K1 to K12).

use std::collections::BTreeMap;

use haversack_core::assemble::PackedItem as PackItem;
use haversack_core::assemble::citation::used;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::ledger::{Entry, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::request::THREAD;
use crate::wire::{WireRequest, parse_id_opt};

/// A request of an agent for one message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct PrimeRequest {
    /// The id of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The user's message.
    pub message: String,
    /// The fields of all requests.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

impl PrimeRequest {
    /// Makes a request for a message in a thread; an empty thread is none.
    #[must_use]
    pub fn new(thread: &str, message: &str) -> PrimeRequest {
        let thread_id = Some(thread.to_owned()).filter(|thread| !thread.is_empty());
        PrimeRequest { thread_id, message: message.to_owned(), other: Map::new() }
    }

    /// Converts a request of the application into the engine's request.
    ///
    /// # Errors
    /// When a field is invalid; the error names it.
    pub fn to_request(&self) -> Result<crate::Request, Error> {
        self.to_request_for("prime")
    }

    pub(super) fn to_request_for(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::parse_json(Value::Object(self.other.clone()))?;
        let mut request = common.to_request(recipe)?;
        request.set_subject(THREAD, parse_id_opt("threadId", self.thread_id.as_ref())?);
        if !self.message.is_empty() {
            request.query.clone_from(&self.message);
        }
        if request.query.trim().is_empty() && request.vector.is_none() {
            return Err(Error::invalid("message", "is missing: give the message to answer"));
        }
        Ok(request)
    }
}

/// The result of `prime` (K8).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeAnswer"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeAnswer {
    /// The ranked list.
    pub data: PrimeContext,
    /// Counts of tokens, items and citations.
    pub meta: PrimeMeta,
    /// The final string.
    pub context: String,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// Counts of tokens, items and citations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeMeta"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeMeta {
    /// Tokens of the final string.
    pub token_usage: u32,
    /// The number of items in the pack.
    pub source_count: usize,
    /// The number of citations.
    pub citation_count: usize,
}

/// One ranked list of items (K6).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeContext"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeContext {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// The items, in the order of the text.
    pub items: Vec<PrimeItem>,
    /// The citations of the items.
    pub citations: Vec<PrimeCitation>,
    /// The number of items by the way they were found.
    pub stats: PrimeStats,
}

/// An item of the ranked list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeItem"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeItem {
    /// The item's id.
    pub id: String,
    /// The type: `reference`, `file`, `chunk`, `message`, or the item's own kind.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The item's text in the pack.
    pub content: String,
    /// The most relevant excerpt of the item, with hits between `<<<` and `>>>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The source, for people: a title, a speaker with a time, a path or an id.
    pub source: String,
    /// The item's score.
    pub relevance: f64,
    /// The item's tokens in the pack.
    pub tokens: u32,
    /// The item's metadata.
    pub metadata: PrimeMetadata,
}

/// The metadata of an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeMetadata"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeMetadata {
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The time of the last change, or else of creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The keywords of the query that occur in the item.
    pub matched_keywords: Vec<String>,
    /// The item's best rank in a search, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_rank: Option<u32>,
    /// The first and the last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u32; 2]>,
    /// The first and the last page, or slide, of a document that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<[u32; 2]>,
    /// The collectors that found the item.
    pub found_by: Vec<String>,
}

/// A citation (K7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeCitation"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeCitation {
    /// The citation id in the text, such as `[fil-1x9k2]`.
    pub id: String,
    /// The id of the cited item.
    pub item: String,
    /// The source, for people: a title, a speaker with a time, a path or an id.
    pub source: String,
    /// The type of the source: `file`, `message` or `document`.
    #[serde(rename = "type")]
    pub source_type: String,
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The most relevant excerpt of the item, with hits between `<<<` and `>>>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The item's score.
    pub relevance: f64,
    /// Whether a response cites it.
    pub used_in_response: bool,
}

/// The number of items by the way they were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeStats"))]
#[serde(rename_all = "camelCase")]
pub struct PrimeStats {
    /// Items that the message refers to explicitly.
    pub explicit_count: usize,
    /// Items that a search found.
    pub search_count: usize,
    /// Items of the thread's history.
    pub history_count: usize,
    /// Items that were found and left out.
    pub excluded_count: usize,
}

/// The `type` of an item: `reference`, `chunk`, or the candidate's kind (K6).
fn item_type(candidate: &Candidate) -> String {
    let found_by = |name: &str| candidate.found.iter().any(|found| &*found.collector == name);
    match candidate.kind.as_str() {
        _ if found_by("references") => "reference".to_owned(),
        "file" if candidate.id.chunk.is_some() => "chunk".to_owned(),
        kind => kind.to_owned(),
    }
}

/// The source of a candidate for people: its title, else its speaker and time, else its path or id.
fn source_label(candidate: &Candidate) -> String {
    let place = &candidate.place;
    let speaker_and_time = |speaker: &String| match candidate.moment {
        Some(moment) => format!("{speaker}, {moment}"),
        None => speaker.clone(),
    };
    let named = place.title.clone().or_else(|| place.speaker.as_ref().map(speaker_and_time));
    let named = named.or_else(|| place.path.clone());
    named.unwrap_or_else(|| candidate.id.item.as_str().to_owned())
}

impl PrimeAnswer {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> PrimeAnswer {
        let data = PrimeContext::from_assembled(assembled);
        let meta = PrimeMeta {
            token_usage: data.total_tokens,
            source_count: data.items.len(),
            citation_count: data.citations.len(),
        };
        let assembly = Assembly::from_assembled(assembled, explain);
        PrimeAnswer { data, meta, context: assembled.text().to_owned(), assembly }
    }
}

impl PrimeContext {
    fn from_assembled(assembled: &Assembled) -> PrimeContext {
        let sections = &assembled.pack.sections;
        // The thread's own line is only a heading for its messages.
        let is_listed =
            |item: &&PackItem| assembled.request.subjects.get(THREAD) != Some(&item.id.item);
        let items = sections.iter().flat_map(|section| &section.items).filter(is_listed);
        PrimeContext {
            total_tokens: assembled.pack.tokens.get(),
            items: items.clone().filter_map(|item| to_item(assembled, item)).collect(),
            citations: items.filter_map(|item| to_citation(assembled, item)).collect(),
            stats: count_stats(assembled),
        }
    }
}

fn to_item(assembled: &Assembled, item: &PackItem) -> Option<PrimeItem> {
    let ranked = assembled.ranked(&item.id)?;
    let candidate = &ranked.candidate;
    let content = assembled.content(item);
    let lower = content.to_lowercase();
    let keywords = assembled.analysis.keywords.iter();
    Some(PrimeItem {
        id: item.id.item.as_str().to_owned(),
        item_type: item_type(candidate),
        excerpt: assembled.excerpts.get(&item.id).cloned(),
        content,
        source: source_label(candidate),
        relevance: ranked.score.get(),
        tokens: item.tokens.get(),
        metadata: PrimeMetadata {
            path: candidate.place.path.clone(),
            created_at: candidate.moment.map(|moment| moment.to_string()),
            matched_keywords: keywords.filter(|word| lower.contains(*word)).cloned().collect(),
            search_rank: candidate.found.iter().map(|found| found.rank).min(),
            lines: candidate
                .place
                .lines
                .as_ref()
                .map(|lines| [lines.start, lines.end.saturating_sub(1)]),
            pages: candidate.place.pages(),
            found_by: candidate.found.iter().map(|found| found.collector.to_string()).collect(),
        },
    })
}

fn to_citation(assembled: &Assembled, item: &PackItem) -> Option<PrimeCitation> {
    let ranked = assembled.ranked(&item.id)?;
    let candidate = &ranked.candidate;
    Some(PrimeCitation {
        id: format!("[{}]", item.citation),
        item: item.id.item.as_str().to_owned(),
        source: source_label(candidate),
        source_type: match candidate.kind.as_str() {
            kind @ ("file" | "message") => kind.to_owned(),
            _ => "document".to_owned(),
        },
        path: candidate.place.path.clone(),
        excerpt: assembled.excerpts.get(&item.id).cloned(),
        relevance: ranked.score.get(),
        used_in_response: false,
    })
}

/// Counts each item once: as a reference, else as history, else as a search result. The thread
/// itself is not counted, because the request named it.
fn count_stats(assembled: &Assembled) -> PrimeStats {
    let mut items: BTreeMap<&ItemId, Vec<&Entry>> = BTreeMap::new();
    for entry in &assembled.pack.ledger {
        items.entry(&entry.id.item).or_default().push(entry);
    }
    let mut stats = PrimeStats::default();
    for entries in items.values() {
        let found = entries.iter().flat_map(|entry| &entry.found);
        let by = |name: &str| found.clone().any(|found| &*found.collector == name);
        if by("heading") {
            continue;
        } else if by("references") {
            stats.explicit_count += 1;
        } else if by("history") {
            stats.history_count += 1;
        } else {
            stats.search_count += 1;
        }
        let is_out = |entry: &&Entry| matches!(entry.outcome, Outcome::Out(_));
        stats.excluded_count += usize::from(entries.iter().all(is_out));
    }
    stats
}

/// The citations that a response used, and the block of sources that lists them (K7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrimeCited"))]
#[serde(rename_all = "camelCase")]
pub struct ResponseCitations {
    /// Every citation, and whether the response used it.
    pub citations: Vec<PrimeCitation>,
    /// The block of sources; empty when none was used.
    pub sources: String,
}

/// Marks the citations that a response used, and makes its block of sources.
#[must_use]
pub fn cite(assembled: &Assembled, response: &str) -> ResponseCitations {
    let all = &assembled.pack.citations;
    let named = used(all, response);
    let mut citations = PrimeContext::from_assembled(assembled).citations;
    for citation in &mut citations {
        citation.used_in_response =
            named.iter().any(|named| citation.id == format!("[{}]", named.id));
    }
    let sources = named.iter().filter_map(|named| {
        let id = format!("[{}]", named.id);
        citations.iter().find(|citation| citation.id == id).map(source_line)
    });
    let sources: Vec<String> = sources.collect();
    let sources = match sources[..] {
        [] => String::new(),
        _ => format!("\n\n---\nSources:\n{}", sources.join("\n")),
    };
    ResponseCitations { citations, sources }
}

/// How many characters of an excerpt a line of the Sources block shows.
const SOURCE_CHARS_MAX: usize = 50;

/// A line of the Sources block (K7).
fn source_line(citation: &PrimeCitation) -> String {
    let excerpt = citation.excerpt.as_deref().unwrap_or_default();
    let excerpt = excerpt.replace("<<<", "").replace(">>>", "");
    let excerpt: String = excerpt.trim().chars().take(SOURCE_CHARS_MAX).collect();
    let line = match &*excerpt {
        "" => format!("{}: {}", citation.id, citation.source),
        excerpt => format!("{}: {} - {excerpt}...", citation.id, citation.source),
    };
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl Workspace {
    /// Packs one ranked list for a message in a thread.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn prime(&self, request: &PrimeRequest) -> Result<PrimeAnswer, Error> {
        Ok(PrimeAnswer::from_assembled(&*self.pack(request.to_request()?).await?, false))
    }
}
