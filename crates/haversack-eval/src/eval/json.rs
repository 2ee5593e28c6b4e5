//! Reports and answers as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::EvalAnswer;
use super::metrics::{BudgetMetrics, EvalMetrics, EvalReport, Latency, Mean, OffTopic};
use super::ruler::{Metric, PackMeasurement};

/// A number rounded to six decimals.
fn rounded(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, rounded)
}

fn millis(time: Duration) -> Value {
    json!((time.as_secs_f64() * 1e6).round() / 1e3)
}

fn latency(latency: Latency) -> Value {
    json!({ "p50": millis(latency.p50), "p95": millis(latency.p95) })
}

impl EvalMetrics {
    /// Each mean by name and budget, and its sample size under `n`.
    fn means(&self) -> Map<String, Value> {
        type Get<'g> = Box<dyn Fn(&BudgetMetrics) -> Mean + 'g>;
        let shares = Metric::ALL.into_iter().map(|metric| {
            let get: Get<'_> = Box::new(move |at: &BudgetMetrics| at.mean(metric));
            (metric.name(), get)
        });
        let others: [(&str, Get<'_>); 5] = [
            ("mustAll", Box::new(|at| at.must_all)),
            ("broken", Box::new(|at| at.broken)),
            ("brokenPacks", Box::new(|at| at.broken_packs)),
            ("tokens", Box::new(|at| at.tokens)),
            ("ms", Box::new(|at| at.ms)),
        ];
        let (mut means, mut counts) = (Map::new(), Map::new());
        for (name, get) in shares.chain(others) {
            means.insert(name.to_owned(), self.at(&|at| optional(get(at).get())));
            counts.insert(name.to_owned(), self.at(&|at| json!(get(at).n)));
        }
        means.insert("n".to_owned(), Value::Object(counts));
        means
    }

    /// A value for each budget.
    fn at(&self, value: &dyn Fn(&BudgetMetrics) -> Value) -> Value {
        Value::Object(self.budgets.iter().map(|at| (at.budget.to_string(), value(at))).collect())
    }
}

impl OffTopic {
    fn json(&self) -> Value {
        let at = |value: &dyn Fn(Mean, Mean) -> f64| -> Value {
            let budgets = self.budgets.iter();
            let values = budgets
                .map(|(at, packed, tokens)| (at.to_string(), rounded(value(*packed, *tokens))));
            Value::Object(values.collect())
        };
        json!({
            "queries": self.questions,
            "packed": at(&|packed, _| packed.value),
            "tokens": at(&|_, tokens| tokens.value),
        })
    }
}

impl EvalReport {
    /// The report as one JSON object, with nested sets under `sets`.
    #[must_use]
    pub fn json(&self) -> Value {
        let EvalReport { set, recipe, kind, candidates, scopes, metrics, .. } = self;
        let EvalReport { off_topic, ingest, warnings, sets, .. } = self;
        let [yes_no, in_question, nowhere] = metrics.skipped;
        let mut report = Map::new();
        let mut add = |name: &str, value: Value| report.insert(name.to_owned(), value);
        add("set", json!(set));
        add("recipe", json!(recipe));
        add("kind", json!(kind));
        add("candidates", json!(candidates));
        add("queries", json!(metrics.questions));
        add("scopes", json!(scopes));
        add("ndcg10", optional(metrics.ndcg.get()));
        add("recall10", optional(metrics.recall.get()));
        for (name, value) in metrics.means() {
            add(&name, value);
        }
        add("leftOut", json!({ "yesNo": yes_no, "inQuestion": in_question, "nowhere": nowhere }));
        add(
            "withoutEvidence",
            json!({
                "queries": metrics.without_evidence,
                "tokens": metrics.at(&|at| optional(at.tokens_without_evidence.get())),
            }),
        );
        add("offTopic", off_topic.as_ref().map_or(Value::Null, OffTopic::json));
        add("latencyMs", latency(metrics.latency));
        let steps = metrics.steps.iter().map(|(name, time)| ((*name).to_owned(), latency(*time)));
        add("stages", Value::Object(steps.collect()));
        add(
            "ingest",
            json!({
                "items": ingest.items,
                "seconds": rounded(ingest.elapsed.as_secs_f64()),
                "itemsPerSecond": rounded(ingest.rate()),
            }),
        );
        add("unlabelled", json!(warnings.unlabelled));
        add("unknownQueries", json!(warnings.unknown_questions.count));
        add("unknownDocuments", json!(warnings.unknown_documents.count));
        add("remarks", json!(warnings.lines()));
        if !sets.is_empty() {
            let sets = sets.iter().map(|report| (report.set.clone(), report.json()));
            add("sets", Value::Object(sets.collect()));
        }
        Value::Object(report)
    }
}

impl PackMeasurement {
    /// The metrics of a pack; without labels only those that need none.
    fn json(&self, is_labelled: bool) -> Value {
        let mut pack = Map::new();
        let wanted = Metric::ALL.into_iter();
        for one in wanted.filter(|metric| is_labelled || metric.needs_no_labels()) {
            pack.insert(one.name().to_owned(), optional(self.shares.get(one)));
        }
        pack.insert("broken".to_owned(), json!(self.broken));
        pack.insert("tokens".to_owned(), json!(self.tokens.get()));
        pack.insert("ms".to_owned(), millis(self.time));
        Value::Object(pack)
    }
}

impl EvalAnswer {
    /// The measurements for a question as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let packs = self.packs.iter();
        let packs = packs.map(|pack| (pack.budget.to_string(), pack.json(self.is_labelled)));
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
            "set": self.set,
            "id": self.id,
            "ndcg10": optional(self.ndcg),
            "recall10": optional(self.recall),
            "labelled": self.is_labelled,
            "packs": packs.collect::<Map<_, _>>(),
            "missing": missing.collect::<Vec<_>>(),
        })
    }
}
