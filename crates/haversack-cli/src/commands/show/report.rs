//! The outcome of a pack's candidates by layer, from a new pack, a receipt or a server's result.

use std::collections::BTreeMap;

use haversack::receipt::ReceiptLine;
use haversack::{Assembled, Receipt};
use haversack_core::candidate::Candidate;
use serde_json::Value;

use super::clipped;

/// Longest label.
const LABEL: usize = 200;

/// Characters of a label that are shown, however long the id beside it.
const LABEL_LEAST: usize = 16;

/// The outcome of a pack's candidates, layer by layer.
#[derive(Debug)]
pub(crate) struct PackReport {
    /// The query.
    pub(crate) question: String,
    /// The recipe, the user, the time and the receipt, in one line.
    pub(crate) about: String,
    /// The budget, reserves included.
    pub(crate) budget: u32,
    /// The most tokens that the text may have.
    pub(crate) limit: u32,
    /// The tokens that it has.
    pub(crate) tokens: u32,
    /// The layers, in the recipe's order.
    pub(crate) layers: Vec<ReportLayer>,
    /// How many candidates are not listed.
    pub(crate) unlisted: usize,
}

/// The outcome of one layer's candidates.
#[derive(Debug)]
pub(crate) struct ReportLayer {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Tokens of its section.
    pub(crate) tokens: u32,
    /// Candidates that are in, in the order of the text, then the rest, best first.
    pub(crate) lines: Vec<CandidateLine>,
}

/// The outcome of one candidate.
#[derive(Debug)]
pub(crate) struct CandidateLine {
    pub(crate) line: ReceiptLine,
    /// Its title or path.
    pub(crate) label: String,
}

impl CandidateLine {
    pub(crate) fn is_in(&self) -> bool {
        self.line.outcome == "in"
    }

    pub(crate) fn is_out(&self) -> bool {
        self.line.outcome == "out" && !self.is_elsewhere()
    }

    /// Whether it is in, but shortened.
    pub(crate) fn is_cut(&self) -> bool {
        !self.is_in() && self.line.outcome != "out"
    }

    /// Whether it is a candidate of another layer instead.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.line.code.as_deref() == Some("elsewhere")
    }

    /// Its label with its id, unless they are the same, in about `characters_max` characters.
    pub(crate) fn name(&self, characters_max: usize) -> String {
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

impl ReportLayer {
    /// How many candidates are in, shortened and left out.
    pub(crate) fn counts(&self) -> String {
        let count =
            |is: fn(&CandidateLine) -> bool| self.lines.iter().filter(|line| is(line)).count();
        let (whole, cut, out) = (
            count(CandidateLine::is_in),
            count(CandidateLine::is_cut),
            count(CandidateLine::is_out),
        );
        let all = whole + cut + out;
        if all == 0 {
            return String::new();
        }
        let mut text = format!("{} of {all} in", whole + cut);
        if cut > 0 {
            text.push_str(&format!(", {cut} shortened"));
        }
        if out > 0 {
            text.push_str(&format!(", {out} left out"));
        }
        text
    }
}

impl PackReport {
    /// The report of a pack that was just made.
    pub(crate) fn of_pack(assembled: &Assembled) -> PackReport {
        let receipt = Receipt::from_assembled(assembled, "");
        let candidates = assembled.core.layers.iter().flat_map(|(_, ranked)| ranked);
        let dropped = assembled.core.dropped.iter().map(|dropped| &dropped.ranked);
        let labels: BTreeMap<String, String> = candidates
            .chain(dropped)
            .map(|ranked| (ranked.candidate.id.to_string(), candidate_label(&ranked.candidate)))
            .collect();
        let titles: Vec<(String, String)> = assembled
            .layers
            .iter()
            .map(|layer| (layer.name.clone(), layer.title.clone()))
            .collect();
        let mut report = PackReport::of_receipt(&receipt, &titles, &labels);
        for (layer, made) in report.layers.iter_mut().zip(&assembled.layers) {
            layer.tokens = made.tokens.get();
        }
        report
    }

    /// The report of a receipt. `titles` are names and titles of layers in the recipe's order; other
    /// layers of the receipt come after them.
    pub(crate) fn of_receipt(
        receipt: &Receipt,
        titles: &[(String, String)],
        labels: &BTreeMap<String, String>,
    ) -> PackReport {
        PackReport {
            question: receipt.request.query.clone(),
            about: describe_request(receipt),
            budget: receipt.budget,
            limit: receipt.limit,
            tokens: receipt.tokens,
            layers: layers_of(&receipt.ledger, titles, labels),
            unlisted: receipt.unlisted,
        }
    }

    /// The report of a result that a server sent with its ledger.
    pub(crate) fn of_result(
        result: &Value,
        (question, asker): (&str, &str),
        labels: &BTreeMap<String, String>,
    ) -> PackReport {
        let assembly = &result["assembly"];
        let field = |name: &str| match &assembly[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let number = |name: &str| json_u32(&assembly[name]);
        let made: Vec<&Value> = assembly["layers"].as_array().into_iter().flatten().collect();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let titles: Vec<(String, String)> =
            made.iter().map(|layer| (text(&layer["name"]), text(&layer["title"]))).collect();
        let mut layers = layers_of(&ledger_of(result), &titles, labels);
        for (layer, made) in layers.iter_mut().zip(made) {
            layer.tokens = json_u32(&made["tokens"]);
        }
        PackReport {
            question: question.to_owned(),
            about: format!(
                "recipe {} · asked by {asker} · at {} · state {} · counted by {} · receipt {}",
                field("recipe"),
                field("now"),
                field("revision"),
                field("tokenizer"),
                field("receipt")
            ),
            budget: number("budget"),
            limit: number("limit"),
            tokens: number("tokens"),
            layers,
            unlisted: 0,
        }
    }
}

/// The candidates of a result that a server sent with `explain`.
pub(crate) fn ledger_of(result: &Value) -> Vec<ReceiptLine> {
    serde_json::from_value(result["assembly"]["ledger"].clone()).unwrap_or_default()
}

/// A number of a server's result; 0 where there is none.
pub(crate) fn json_u32(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// The lines of a ledger by layer.
fn layers_of(
    ledger: &[ReceiptLine],
    titles: &[(String, String)],
    labels: &BTreeMap<String, String>,
) -> Vec<ReportLayer> {
    let new_layer = |(name, title): &(String, String)| ReportLayer {
        name: name.clone(),
        title: title.clone(),
        tokens: 0,
        lines: Vec::new(),
    };
    let mut layers: Vec<ReportLayer> = titles.iter().map(new_layer).collect();
    for line in ledger {
        let at = layers.iter().position(|layer| layer.name == line.layer);
        let at = at.unwrap_or_else(|| {
            layers.push(new_layer(&(line.layer.clone(), line.layer.clone())));
            layers.len() - 1
        });
        let label = labels.get(&line.name()).cloned().unwrap_or_default();
        layers[at].tokens += line.tokens;
        layers[at].lines.push(CandidateLine { line: line.clone(), label });
    }
    layers
}

fn describe_request(receipt: &Receipt) -> String {
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

/// A candidate's label: path and lines of a file, else the title, else its first line.
pub(crate) fn candidate_label(candidate: &Candidate) -> String {
    let place = &candidate.place;
    let title = place.title.as_deref().unwrap_or_default();
    let path = place.path.as_deref().unwrap_or_default();
    let label = item_label(path, candidate.kind.as_str(), title, &candidate.text);
    if path.is_empty() || candidate.kind.as_str() != FILE {
        return label;
    }
    let lines = place.lines.as_ref().filter(|_| candidate.id.chunk.is_some());
    let lines = lines.map(|lines| format!(":{}-{}", lines.start, lines.end.saturating_sub(1)));
    format!("{path}{}", lines.unwrap_or_default())
}

/// An item's label: the path of a file, else the title, else its first line.
pub(crate) fn item_label(path: &str, kind: &str, title: &str, text: &str) -> String {
    if kind == FILE && !path.is_empty() {
        return clipped(path, usize::MAX);
    }
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    clipped(if title.trim().is_empty() { first } else { title }, LABEL)
}

/// The kind whose items are known by their paths.
const FILE: &str = "file";
