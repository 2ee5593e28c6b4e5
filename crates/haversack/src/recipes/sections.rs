//! `sections`, the shape that every recipe can have: sections with their items, and citations.

use haversack_core::assemble::Citation;
use serde::Serialize;

use super::Assembly;
use crate::pipeline::Assembled;

/// The result of a recipe without a shape of its own: sections and citations.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsContext"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsContext {
    /// The final string.
    pub context: String,
    /// Tokens of the final string.
    pub token_count: u32,
    /// The sections, in order.
    pub sections: Vec<SectionsSection>,
    /// The citations, in the order of the text.
    pub citations: Vec<WireCitation>,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// A section of a pack.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsSection"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsSection {
    /// The name of the section's layer.
    pub name: String,
    /// The section's title.
    pub title: String,
    /// The section's tokens.
    pub token_count: u32,
    /// The section's items, in order.
    pub items: Vec<SectionsItem>,
}

/// An item in a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsItem"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsItem {
    /// The item's id.
    pub id: String,
    /// The number of the chunk; absent for the whole item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u32>,
    /// The item's kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The item's text in the pack.
    pub content: String,
    /// The item's score.
    pub relevance: f64,
    /// The citation id, brackets included.
    pub citation: String,
    /// The item's tokens in the pack.
    pub tokens: u32,
    /// Whether the text was truncated.
    pub shortened: bool,
}

/// A citation (K7, X7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Citation"))]
#[serde(rename_all = "camelCase")]
pub struct WireCitation {
    /// The citation id in the text, brackets included.
    pub id: String,
    /// The id of the cited item.
    pub item: String,
    /// The item's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The item's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The item's ancestors and headings, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breadcrumb: Vec<String>,
    /// The first and the last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u32; 2]>,
    /// The first and the last page, or slide, of a document that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<[u32; 2]>,
    /// The byte ranges of the item's text that are in the pack.
    pub spans: Vec<[usize; 2]>,
}

impl WireCitation {
    /// Converts a citation to its wire form.
    #[must_use]
    pub fn from_citation(citation: &Citation) -> WireCitation {
        let place = &citation.place;
        WireCitation {
            id: format!("[{}]", citation.id),
            item: citation.candidate.item.as_str().to_owned(),
            title: place.title.clone(),
            path: place.path.clone(),
            breadcrumb: place.breadcrumb.clone(),
            lines: place.lines.as_ref().map(|lines| [lines.start, lines.end.saturating_sub(1)]),
            pages: place.pages(),
            spans: citation.spans.iter().map(|span| [span.start(), span.end()]).collect(),
        }
    }
}

/// Converts the items of one section of a pack.
pub(super) fn section_items(
    assembled: &Assembled,
    section: &haversack_core::assemble::Section,
) -> Vec<SectionsItem> {
    let item = |item: &haversack_core::assemble::PackedItem| {
        let ranked = assembled.ranked(&item.id);
        SectionsItem {
            id: item.id.item.as_str().to_owned(),
            chunk: item.id.chunk,
            kind: ranked.map_or_else(String::new, |ranked| ranked.candidate.kind.to_string()),
            content: assembled.content(item),
            relevance: ranked.map_or(0.0, |ranked| ranked.score.get()),
            citation: format!("[{}]", item.citation),
            tokens: item.tokens.get(),
            shortened: item.shortened.is_some(),
        }
    };
    section.items.iter().map(item).collect()
}

impl SectionsContext {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> SectionsContext {
        let section = |section: &haversack_core::assemble::Section| SectionsSection {
            name: section.layer.to_string(),
            title: section.title.clone(),
            token_count: section.tokens.get(),
            items: section_items(assembled, section),
        };
        SectionsContext {
            context: assembled.text().to_owned(),
            token_count: assembled.pack.tokens.get(),
            sections: assembled.pack.sections.iter().map(section).collect(),
            citations: assembled.pack.citations.iter().map(WireCitation::from_citation).collect(),
            assembly: Assembly::from_assembled(assembled, explain),
        }
    }
}
