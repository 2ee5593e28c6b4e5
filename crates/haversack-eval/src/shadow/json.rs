//! A comparison as JSON.

use serde_json::{Map, Value, json};

use super::compare::{ContextReport, QuestionReport};
use super::report::{ShadowReport, SideSummary};
use crate::eval::{Mean, Metric};

/// A number rounded to six decimals.
fn rounded(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, rounded)
}

impl SideSummary {
    fn json(&self) -> Value {
        let mut side = Map::new();
        let mut counts = Map::new();
        let mut add = |name: &str, mean: Mean| {
            side.insert(name.to_owned(), optional(mean.get()));
            counts.insert(name.to_owned(), json!(mean.n));
        };
        add("tokens", self.tokens);
        add("sources", self.sources);
        add("repeated", self.repeated);
        add("broken", self.broken);
        add("ms", self.ms);
        add("score", self.score);
        self.metrics.iter().for_each(|(metric, mean)| add(metric.name(), *mean));
        side.insert("n".to_owned(), Value::Object(counts));
        Value::Object(side)
    }
}

impl ContextReport {
    fn json(&self) -> Value {
        let metrics = Metric::ALL.into_iter().filter_map(|metric| {
            Some((metric.name().to_owned(), rounded(self.shares.get(metric)?)))
        });
        json!({
            "tokens": self.tokens.get(),
            "sources": self.sources,
            "repeated": rounded(self.repeated),
            "broken": self.broken,
            "ms": optional(self.ms),
            "score": optional(self.score),
            "metrics": metrics.collect::<Map<_, _>>(),
            "text": self.text,
        })
    }
}

impl QuestionReport {
    fn json(&self) -> Value {
        let passages = self.data.passages.iter().map(|passage| {
            json!({
                "start": passage.bytes.start,
                "end": passage.bytes.end,
                "source": passage.source,
                "notReadable": rounded(passage.hidden),
                "notInData": rounded(passage.missing),
            })
        });
        json!({
            "line": self.line,
            "id": self.id,
            "question": self.text,
            "labelled": self.is_labelled,
            "theirs": self.theirs.json(),
            "ours": self.ours.json(),
            "random": self.control.json(),
            "overlap": {
                "theirsInOurs": rounded(self.overlap.0),
                "oursInTheirs": rounded(self.overlap.1),
                "theirsInRandom": rounded(self.overlap_by_chance),
            },
            "sources": {
                "both": self.sources.both,
                "theirs": self.sources.theirs,
                "ours": self.sources.ours,
            },
            "notInData": rounded(self.data.missing),
            "notReadable": rounded(self.data.hidden),
            "notReadableSources": self.data.hidden_sources,
            "passages": passages.collect::<Vec<_>>(),
            "leastBudget": self.least_budget,
            "notices": self.notices,
            "evidenceNotInData": self.evidence_not_in_data,
            "answerIsNowhere": self.answer_is_nowhere,
            "gain": optional(self.gain()),
            "winner": self.winner(),
        })
    }
}

impl ShadowReport {
    /// The comparison as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let [theirs, ours, control] = self.sides();
        let verdicts = self.verdicts().map(|it| {
            json!({
                "ours": it.ours, "theirs": it.theirs, "equal": it.equal,
                "gain": rounded(it.gain), "error": rounded(it.error),
            })
        });
        let skipped = self.skipped.iter();
        let skipped = skipped.map(|one| json!({ "id": one.id, "reason": one.reason }));
        json!({
            "file": self.file,
            "tokenizer": self.tokenizer,
            "queries": self.questions.len(),
            "skipped": skipped.collect::<Vec<_>>(),
            "theirs": theirs.json(),
            "ours": ours.json(),
            "random": control.json(),
            "overlap": {
                "theirsInOurs": rounded(self.mean(|one| one.overlap.0)),
                "oursInTheirs": rounded(self.mean(|one| one.overlap.1)),
                "theirsInRandom": rounded(self.mean(|one| one.overlap_by_chance)),
            },
            "sources": {
                "both": rounded(self.mean(|one| one.sources.both as f64)),
                "theirs": rounded(self.mean(|one| one.sources.theirs as f64)),
                "ours": rounded(self.mean(|one| one.sources.ours as f64)),
            },
            "notInData": rounded(self.mean(|one| one.data.missing)),
            "notReadable": rounded(self.mean(|one| one.data.hidden)),
            "wins": verdicts,
            "remarks": self.remarks(),
            "results": self.questions.iter().map(QuestionReport::json).collect::<Vec<_>>(),
        })
    }
}
