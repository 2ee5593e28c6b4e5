//! Reports and answers as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::figures::{AtBudget, Figures, Latency, Mean, OffTopic, Report};
use super::ruler::{Figure, Packed};

/// A figure without the digits that say nothing.
fn figure(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, figure)
}

fn millis(time: Duration) -> Value {
    json!((time.as_secs_f64() * 1e6).round() / 1e3)
}

fn latency(latency: Latency) -> Value {
    json!({ "p50": millis(latency.p50), "p95": millis(latency.p95) })
}

impl Figures {
    /// Each mean by its name and budget, and under `n` over how many questions it is.
    fn means(&self) -> Map<String, Value> {
        type Get<'g> = Box<dyn Fn(&AtBudget) -> Mean + 'g>;
        let shares = Figure::ALL.into_iter().map(|figure| {
            let get: Get<'_> = Box::new(move |at: &AtBudget| at.mean(figure));
            (figure.name(), get)
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
    fn at(&self, value: &dyn Fn(&AtBudget) -> Value) -> Value {
        Value::Object(self.budgets.iter().map(|at| (at.budget.to_string(), value(at))).collect())
    }
}

impl OffTopic {
    fn json(&self) -> Value {
        let at = |value: &dyn Fn(Mean, Mean) -> f64| -> Value {
            let budgets = self.budgets.iter();
            let values = budgets
                .map(|(at, packed, tokens)| (at.to_string(), figure(value(*packed, *tokens))));
            Value::Object(values.collect())
        };
        json!({
            "queries": self.questions,
            "packed": at(&|packed, _| packed.value),
            "tokens": at(&|_, tokens| tokens.value),
        })
    }
}

impl Report {
    /// The report as one document, the sets in it under `sets`.
    #[must_use]
    pub fn json(&self) -> Value {
        let Report { set, recipe, kind, candidates, scopes, figures, .. } = self;
        let Report { off_topic, ingest, remarks, sets, .. } = self;
        let [yes_no, in_question, nowhere] = figures.left_out;
        let mut report = Map::new();
        let mut add = |name: &str, value: Value| report.insert(name.to_owned(), value);
        add("set", json!(set));
        add("recipe", json!(recipe));
        add("kind", json!(kind));
        add("candidates", json!(candidates));
        add("queries", json!(figures.questions));
        add("scopes", json!(scopes));
        add("ndcg10", optional(figures.ndcg.get()));
        add("recall10", optional(figures.recall.get()));
        for (name, value) in figures.means() {
            add(&name, value);
        }
        add("leftOut", json!({ "yesNo": yes_no, "inQuestion": in_question, "nowhere": nowhere }));
        add(
            "withoutEvidence",
            json!({
                "queries": figures.without_evidence,
                "tokens": figures.at(&|at| optional(at.tokens_without_evidence.get())),
            }),
        );
        add("offTopic", off_topic.as_ref().map_or(Value::Null, OffTopic::json));
        add("latencyMs", latency(figures.latency));
        let steps = figures.steps.iter().map(|(name, time)| ((*name).to_owned(), latency(*time)));
        add("stages", Value::Object(steps.collect()));
        add(
            "ingest",
            json!({
                "items": ingest.items,
                "seconds": figure(ingest.elapsed.as_secs_f64()),
                "itemsPerSecond": figure(ingest.rate()),
            }),
        );
        add("unlabelled", json!(remarks.unlabelled));
        add("unknownQueries", json!(remarks.unknown_questions.count));
        add("unknownDocuments", json!(remarks.unknown_documents.count));
        add("remarks", json!(remarks.lines()));
        if !sets.is_empty() {
            let sets = sets.iter().map(|report| (report.set.clone(), report.json()));
            add("sets", Value::Object(sets.collect()));
        }
        Value::Object(report)
    }
}

impl Packed {
    /// A pack's figures; without labels those of its text alone.
    fn json(&self, is_labelled: bool) -> Value {
        let mut pack = Map::new();
        let wanted = Figure::ALL.into_iter();
        for one in wanted.filter(|figure| is_labelled || figure.is_of_the_text_alone()) {
            pack.insert(one.name().to_owned(), optional(self.shares.get(one)));
        }
        pack.insert("broken".to_owned(), json!(self.broken));
        pack.insert("tokens".to_owned(), json!(self.tokens.get()));
        pack.insert("ms".to_owned(), millis(self.time));
        Value::Object(pack)
    }
}

impl Answer {
    /// What became of a question, as one document.
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
