//! A pack as people and programs read it.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_core::ledger::{Entry, Outcome, Shortened};
use haversack_core::pack::{Pack, Plan};
use haversack_core::units::Tokens;
use serde_json::{Value, json};

use crate::output::grouped;

/// One line on what was packed.
pub(crate) fn summary(pack: &Pack) -> String {
    format!(
        "{} of {} tokens ({}, {}) · {} of {} candidates · receipt {}",
        grouped(pack.tokens),
        grouped(pack.limit),
        pack.tokenizer,
        pack.accuracy,
        grouped(pack.citations.len()),
        grouped(pack.ledger.len()),
        pack.receipt,
    )
}

fn outcome(entry: &Entry) -> String {
    match &entry.outcome {
        Outcome::In => "in".to_owned(),
        Outcome::Cut { how, whole_from } => {
            let how = match how {
                Shortened::Trimmed => "cut",
                Shortened::Essential => "essential",
            };
            match whole_from {
                Some(tokens) => format!("{how}: whole from {} tokens", grouped(tokens)),
                None => how.to_owned(),
            }
        }
        Outcome::Out(reason) => format!("out: {reason}"),
    }
}

/// Every candidate, the best first, with its score by component and its fate.
pub(crate) fn ledger(pack: &Pack) -> String {
    let mut entries: Vec<&Entry> = pack.ledger.iter().collect();
    entries.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    let mut out = format!("{:>7} {:>7}  {:<44} candidate\n", "score", "tokens", "outcome");
    for entry in entries {
        let parts: Vec<String> = entry
            .parts
            .iter()
            .map(|part| format!("{} {:.2}×{:.2}", part.component, part.value.get(), part.weight))
            .collect();
        let _ = writeln!(
            out,
            "{:>7.3} {:>7}  {:<44} {} ({})",
            entry.score.get(),
            grouped(entry.tokens_whole),
            outcome(entry),
            entry.id,
            parts.join(", "),
        );
    }
    out
}

/// What twelve budgets up to the largest useful one would give.
pub(crate) fn frontier(plan: &Plan<'_>) -> Result<String> {
    let (least, most) = (plan.least().get(), plan.most().get());
    let steps = 12;
    let step = (most - least).div_ceil(steps).max(1);
    let totals: Vec<Tokens> =
        (0..=steps).map(|n| Tokens::new((least + n * step).min(most))).collect();
    let mut out = format!(
        "{:>9} {:>9} {:>7} {:>9} {:>9}\n",
        "budget", "tokens", "items", "value", "coverage"
    );
    let mut points = plan.frontier(&totals)?;
    points.dedup_by_key(|point| point.total);
    for point in points {
        let _ = writeln!(
            out,
            "{:>9} {:>9} {:>7} {:>9.2} {:>7.1} %",
            grouped(point.total),
            grouped(point.tokens),
            point.n_items,
            point.worth.value,
            point.worth.coverage().get() * 100.0,
        );
    }
    Ok(out)
}

/// The pack as JSON.
pub(crate) fn json(pack: &Pack) -> String {
    let items: Vec<Value> = pack
        .citations
        .iter()
        .zip(pack.sections.iter().flat_map(|section| &section.items))
        .map(|(citation, item)| {
            json!({
                "id": item.id.to_string(),
                "citation": citation.id,
                "title": citation.place.title,
                "path": citation.place.path,
                "breadcrumb": citation.place.breadcrumb,
                "lines": citation.place.lines.as_ref().map(|lines| [lines.start, lines.end.saturating_sub(1)]),
                "spans": citation.spans.iter().map(|span| [span.start(), span.end()]).collect::<Vec<_>>(),
                "tokens": item.tokens.get(),
            })
        })
        .collect();
    let ledger: Vec<Value> = pack
        .ledger
        .iter()
        .map(|entry| {
            let parts: serde_json::Map<String, Value> = entry
                .parts
                .iter()
                .map(|part| (part.component.to_string(), json!(part.value.get())))
                .collect();
            json!({
                "id": entry.id.to_string(),
                "score": entry.score.get(),
                "parts": parts,
                "tokens": entry.tokens.get(),
                "tokensWhole": entry.tokens_whole.get(),
                "outcome": outcome(entry),
                "displacedBy": entry.displaced_by.as_ref().map(ToString::to_string),
            })
        })
        .collect();
    let pack = json!({
        "context": pack.text,
        "tokens": pack.tokens.get(),
        "limit": pack.limit.get(),
        "tokenizer": pack.tokenizer,
        "accuracy": pack.accuracy.to_string(),
        "items": items,
        "ledger": ledger,
        "value": pack.worth.value,
        "bound": pack.worth.bound,
        "receipt": pack.receipt.inputs.to_string(),
    });
    format!("{pack:#}")
}
