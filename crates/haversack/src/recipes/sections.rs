//! `sections`, the shape that every recipe can have: sections with their items, and citations.

use haversack_core::assemble::Citation;
use serde::Serialize;

use super::Assembly;
use crate::pipeline::Assembled;

/// Sections and citations.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsContext"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsContext {
    /// The final string.
    pub context: String,
    /// Its tokens.
    pub token_count: u32,
    /// Its sections, in order.
    pub sections: Vec<SectionsSection>,
    /// Its sources, in the order of the text.
    pub citations: Vec<WireCitation>,
    /// What every result shares.
    pub assembly: Assembly,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsSection"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsSection {
    /// Its layer.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its tokens.
    pub token_count: u32,
    /// Its items, in order.
    pub items: Vec<SectionsItem>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionsItem"))]
#[serde(rename_all = "camelCase")]
pub struct SectionsItem {
    /// The item's id.
    pub id: String,
    /// Which chunk of it; none when it is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u32>,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text as it is in.
    pub content: String,
    /// Its score.
    pub relevance: f64,
    /// Its citation id, brackets included.
    pub citation: String,
    /// Its tokens.
    pub tokens: u32,
    /// Whether it was shortened.
    pub shortened: bool,
}

/// A source (K7, X7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Citation"))]
#[serde(rename_all = "camelCase")]
pub struct WireCitation {
    /// The id as it stands in the text, brackets included.
    pub id: String,
    /// The item.
    pub item: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Headings and ancestors, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breadcrumb: Vec<String>,
    /// First and last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[u32; 2]>,
    /// The bytes of the item's text that are in.
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
