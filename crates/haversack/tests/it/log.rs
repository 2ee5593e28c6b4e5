//! P13: the log line of each pack.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{id, pack, sample_workspace, user_request};

type LogFields = BTreeMap<String, Value>;

/// Records the events of this thread.
#[derive(Debug, Clone, Default)]
struct AssemblyLog(Arc<Mutex<Vec<LogFields>>>);

impl AssemblyLog {
    fn take_lines(&self) -> Vec<LogFields> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

struct FieldVisitor(LogFields);

impl Visit for FieldVisitor {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

impl Subscriber for AssemblyLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut reading = FieldVisitor(LogFields::new());
        event.record(&mut reading);
        if reading.0.get("event").is_some_and(|name| name == "context_assembled") {
            self.0.lock().unwrap().push(reading.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_pack_logs_one_line_with_the_documented_fields_p13() {
    let fixture = sample_workspace("proposal");
    let kept = AssemblyLog::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    for (budget, truncated) in [(5_000, true), (200_000, false)] {
        let mut request =
            user_request("proposal", "Write the executive summary", "priya").within(budget);
        request.set_subject("opportunity", Some(id("opp-harrowmere")));
        let assembled = pack(&fixture, request).await;
        let [line] = &kept.take_lines()[..] else { panic!("one line for one assembly") };
        let number = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name}: {line:?}"));
        assert_eq!(line["organizationId"], "test");
        assert_eq!(line["opportunityId"], "opp-harrowmere");
        assert_eq!(line["receipt"], assembled.receipt());
        assert_eq!(number("totalTokens"), u64::from(assembled.pack.tokens.get()));
        assert_eq!(number("budgetLimit"), u64::from(budget));
        assert_eq!(line["truncated"], truncated);
        assert!(line["latencyMs"].as_f64().unwrap() >= 0.0);
        let categories: BTreeMap<String, u64> =
            serde_json::from_str(line["categories"].as_str().unwrap()).unwrap();
        for name in [
            "companyProfile",
            "brandContext",
            "dealContext",
            "products",
            "competitive",
            "playbooks",
        ] {
            assert!(categories[name] > 0, "{name}: {categories:?}");
        }
        let foundational = categories["companyProfile"] + categories["brandContext"];
        assert_eq!(number("foundationalTokens"), foundational);
        assert_eq!(number("ragTokens"), number("totalTokens") - foundational);
    }
}

#[tokio::test]
async fn the_log_line_contains_no_user_text_p13() {
    let fixture = sample_workspace("proposal");
    let kept = AssemblyLog::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let mut request = user_request("proposal", "Write the executive summary", "priya");
    request.set_subject("opportunity", Some(id("opp-harrowmere")));
    let assembled = pack(&fixture, request).await;
    let line = format!("{:?}", kept.take_lines());
    assert!(line.contains("context_assembled"));
    let mut said: Vec<&str> = vec!["executive summary", "priya"];
    for (_, ranked) in &assembled.core.layers {
        said.extend(ranked.iter().flat_map(|ranked| ranked.candidate.text.lines()));
        said.extend(ranked.iter().filter_map(|ranked| ranked.candidate.place.title.as_deref()));
    }
    // A single word such as `products` may also be a category's name; a sentence may not.
    for words in said.into_iter().filter(|words| words.contains(' ')) {
        assert!(!line.contains(words), "{words:?} is in the log: {line}");
    }
}

/// A cache hit assembles nothing.
#[tokio::test]
async fn a_cache_hit_logs_no_line_p13() {
    let fixture = sample_workspace("memory");
    let kept = AssemblyLog::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    for expected in [1, 0] {
        pack(&fixture, user_request("memory", "Where does Noor live?", "noor")).await;
        assert_eq!(kept.take_lines().len(), expected);
    }
}
