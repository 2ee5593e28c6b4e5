//! Reports and answers as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Packed};
use super::figures::{AtBudget, Figures, Latency, Report};

/// A figure without the digits that say nothing.
fn figure(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

fn millis(time: Duration) -> Value {
    json!((time.as_secs_f64() * 1e6).round() / 1e3)
}

fn latency(latency: Latency) -> Value {
    json!({ "p50": millis(latency.p50), "p95": millis(latency.p95) })
}

impl Report {
    /// The report as one document, the sets in it under `sets`.
    #[must_use]
    pub fn json(&self) -> Value {
        let Report { set, recipe, kind, scopes, figures, ingest, remarks, sets } = self;
        let Figures { questions, ndcg, recall, budgets, by_spans, .. } = figures;
        let at = |value: &dyn Fn(&AtBudget) -> f64| -> Value {
            let values = budgets.iter().map(|at| (at.budget.to_string(), figure(value(at))));
            Value::Object(values.collect())
        };
        let steps = figures.steps.iter().map(|(name, time)| ((*name).to_owned(), latency(*time)));
        let mut report = json!({
            "set": set,
            "recipe": recipe,
            "kind": kind,
            "queries": questions,
            "scopes": scopes,
            "ndcg10": figure(*ndcg),
            "recall10": figure(*recall),
            "er": at(&|at| at.evidence),
            "all": at(&|at| at.all),
            "tokens": at(&|at| at.tokens),
            "latencyMs": latency(figures.latency),
            "stages": steps.collect::<Map<_, _>>(),
            "ingest": {
                "items": ingest.items,
                "seconds": figure(ingest.elapsed.as_secs_f64()),
                "itemsPerSecond": figure(ingest.rate()),
            },
            "unlabelled": remarks.unlabelled,
            "unknownQueries": remarks.unknown_questions.count,
            "unknownDocuments": remarks.unknown_documents.count,
            "remarks": remarks.lines(),
        });
        if *by_spans {
            report["erDocuments"] = at(&|at| at.documents);
            report["allDocuments"] = at(&|at| at.all_documents);
        }
        if !sets.is_empty() {
            let sets = sets.iter().map(|report| (report.set.clone(), report.json()));
            report["sets"] = Value::Object(sets.collect());
        }
        report
    }
}

impl Answer {
    /// What became of a question, as one document.
    #[must_use]
    pub fn json(&self) -> Value {
        let at = |value: &dyn Fn(&Packed) -> Value| -> Value {
            let values = self.packs.iter().map(|pack| (pack.budget.to_string(), value(pack)));
            Value::Object(values.collect())
        };
        let missing = self.missing.iter().map(|missing| {
            json!({
                "document": missing.document,
                "rank": missing.rank,
                "passage": missing.passage,
                "at": missing.at.iter().map(|budget| budget.get()).collect::<Vec<_>>(),
                "why": missing.why,
            })
        });
        json!({
            "id": self.id,
            "scope": self.set,
            "ndcg10": figure(self.ndcg),
            "recall10": figure(self.recall),
            "er": at(&|pack| figure(pack.evidence)),
            "tokens": at(&|pack| json!(pack.tokens.get())),
            "latencyMs": at(&|pack| millis(pack.timings.total())),
            "missing": missing.collect::<Vec<_>>(),
        })
    }
}
