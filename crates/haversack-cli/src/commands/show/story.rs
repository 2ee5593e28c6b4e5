//! What became of a pack's candidates, by layer, whether it was just made or is read from a receipt.

use std::collections::BTreeMap;

use haversack::receipt::Line;
use haversack::{Assembled, Receipt};
use haversack_core::candidate::Candidate;
use haversack_core::item::Kind;

use super::clipped;

/// Longest name of a candidate that is kept.
const LABEL: usize = 200;

/// Characters of a name that are shown, however long the id beside it.
const LABEL_LEAST: usize = 16;

/// What became of a pack's candidates.
#[derive(Debug)]
pub(crate) struct Story {
    /// What was asked.
    pub(crate) question: String,
    /// By whom, by which recipe, when.
    pub(crate) about: String,
    /// The budget, reserves included.
    pub(crate) budget: u32,
    /// What the text could have at most.
    pub(crate) limit: u32,
    /// What it has.
    pub(crate) tokens: u32,
    /// The layers, in the recipe's order.
    pub(crate) chapters: Vec<Chapter>,
    /// How many candidates are not listed.
    pub(crate) unlisted: usize,
}

/// What became of a layer's candidates.
#[derive(Debug)]
pub(crate) struct Chapter {
    pub(crate) name: String,
    pub(crate) title: String,
    /// What its section has.
    pub(crate) tokens: u32,
    /// Those that are in, in the order of the text, then the rest, best first.
    pub(crate) told: Vec<Told>,
}

/// What became of a candidate.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) line: Line,
    /// What people call it.
    pub(crate) label: String,
}

impl Told {
    pub(crate) fn is_in(&self) -> bool {
        self.line.outcome == "in"
    }

    pub(crate) fn is_out(&self) -> bool {
        self.line.outcome == "out" && !self.is_elsewhere()
    }

    /// In, but shortened.
    pub(crate) fn is_cut(&self) -> bool {
        !self.is_in() && self.line.outcome != "out"
    }

    /// Not in this section, because another one has it as a candidate.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.line.code.as_deref() == Some("elsewhere")
    }

    /// The name, and the id where that says more, in about so many characters.
    pub(crate) fn full(&self, characters_max: usize) -> String {
        let id = self.line.name();
        if self.label.is_empty() || self.label == id {
            id
        } else if self.label.starts_with(&self.line.item) {
            clipped(&self.label, characters_max)
        } else {
            let room = characters_max.saturating_sub(id.chars().count() + 3);
            format!("{} ({id})", clipped(&self.label, room.max(LABEL_LEAST)))
        }
    }
}

impl Chapter {
    /// How many are in, cut and out.
    pub(crate) fn counts(&self) -> String {
        let count = |is: fn(&Told) -> bool| self.told.iter().filter(|told| is(told)).count();
        let (whole, cut, out) = (count(Told::is_in), count(Told::is_cut), count(Told::is_out));
        let own = whole + cut + out;
        if own == 0 {
            return String::new();
        }
        let mut text = format!("{} of {own} in", whole + cut);
        if cut > 0 {
            text.push_str(&format!(", {cut} shortened"));
        }
        if out > 0 {
            text.push_str(&format!(", {out} left out"));
        }
        text
    }
}

impl Story {
    /// Of a pack that was just made.
    pub(crate) fn of(assembled: &Assembled) -> Story {
        let receipt = Receipt::of(assembled, "");
        let candidates = assembled.core.layers.iter().flat_map(|(_, ranked)| ranked);
        let dropped = assembled.core.dropped.iter().map(|dropped| &dropped.ranked);
        let labels: BTreeMap<String, String> = candidates
            .chain(dropped)
            .map(|ranked| (ranked.candidate.id.to_string(), label(&ranked.candidate)))
            .collect();
        let layers: Vec<(String, String)> = assembled
            .layers
            .iter()
            .map(|layer| (layer.name.clone(), layer.title.clone()))
            .collect();
        let mut story = Story::of_receipt(&receipt, &layers, &labels);
        for (chapter, layer) in story.chapters.iter_mut().zip(&assembled.layers) {
            chapter.tokens = layer.tokens.get();
        }
        story
    }

    /// Of a receipt. `layers` are names and titles in the recipe's order; what the receipt has beside
    /// them comes after.
    pub(crate) fn of_receipt(
        receipt: &Receipt,
        layers: &[(String, String)],
        labels: &BTreeMap<String, String>,
    ) -> Story {
        let chapter = |(name, title): &(String, String)| Chapter {
            name: name.clone(),
            title: title.clone(),
            tokens: 0,
            told: Vec::new(),
        };
        let mut chapters: Vec<Chapter> = layers.iter().map(chapter).collect();
        for line in &receipt.ledger {
            let at = chapters.iter().position(|chapter| chapter.name == line.layer);
            let at = at.unwrap_or_else(|| {
                chapters.push(chapter(&(line.layer.clone(), line.layer.clone())));
                chapters.len() - 1
            });
            let label = labels.get(&line.name()).cloned().unwrap_or_default();
            chapters[at].tokens += line.tokens;
            chapters[at].told.push(Told { line: line.clone(), label });
        }
        Story {
            question: receipt.request.query.clone(),
            about: about(receipt),
            budget: receipt.budget,
            limit: receipt.limit,
            tokens: receipt.tokens,
            chapters,
            unlisted: receipt.unlisted,
        }
    }
}

fn about(receipt: &Receipt) -> String {
    let asker = match (&receipt.viewer, &receipt.request.user) {
        (None, _) => "the owner".to_owned(),
        (Some(_), user) => {
            let user = user.as_deref().unwrap_or("anyone");
            let groups = &receipt.request.groups;
            let of = if groups.is_empty() { "" } else { " of " };
            format!("{user}{of}{}", groups.join(", "))
        }
    };
    let now = haversack_core::units::Timestamp::from_millis(receipt.now);
    format!(
        "recipe {} · asked by {asker} · at {now} · state {} · counted by {} · receipt {}",
        receipt.recipe, receipt.revision, receipt.tokenizer, receipt.id
    )
}

/// What people call a candidate: a file by its path and lines, others by their title, and what has
/// none by how it begins.
pub(crate) fn label(candidate: &Candidate) -> String {
    let place = &candidate.place;
    if let Some(path) = &place.path
        && candidate.kind == *FILE
    {
        let lines = place.lines.as_ref().filter(|_| candidate.id.chunk.is_some());
        let lines = lines.map(|lines| format!(":{}-{}", lines.start, lines.end.saturating_sub(1)));
        return format!("{path}{}", lines.unwrap_or_default());
    }
    named(place.title.as_deref().unwrap_or_default(), &candidate.text)
}

/// A title, or the first line of a text without one.
pub(crate) fn named(title: &str, text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    clipped(if title.trim().is_empty() { first } else { title }, LABEL)
}

static FILE: std::sync::LazyLock<Kind> =
    std::sync::LazyLock::new(|| Kind::new("file").expect("a short name is a kind"));
