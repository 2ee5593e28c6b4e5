//! What rules cost: a thousand conditions must be judged in under a millisecond when they are
//! expressions that were read before (S3).

use divan::Bencher;
use haversack::situation::expression::{Expressions, Facts, Outcome};
use haversack_core::units::Timestamp;
use serde_json::{Map, Value, json};

const RULES: usize = 1_000;

fn main() {
    divan::main();
}

fn situation() -> Map<String, Value> {
    let value = json!({
        "tool": "deploy",
        "environment": "production",
        "params": { "force": true, "replicas": 12, "region": "eu-west-1" },
        "labels": ["release", "urgent", "payments"],
        "attempt": 3,
        "user": { "role": "admin", "team": "platform" },
    });
    match value {
        Value::Object(situation) => situation,
        _ => Map::new(),
    }
}

/// Judges each condition, found by its source as a request would.
fn judge(bencher: Bencher<'_, '_>, shape: impl Fn(usize) -> String) {
    let facts = Facts::new(&situation(), Some("ship the release"), Timestamp::from_millis(0));
    let expressions = Expressions::new();
    let sources: Vec<String> = (0..RULES).map(shape).collect();
    let decided = |source: &String| {
        let read = expressions.read(source).expect("the shapes are expressions");
        matches!(read.judge(&facts), Outcome::Decided(true))
    };
    sources.iter().for_each(|source| assert!(decided(source) || source.contains("false")));
    bencher.bench_local(|| sources.iter().filter(|source| decided(source)).count());
}

#[divan::bench]
fn a_thousand_usual_conditions(bencher: Bencher<'_, '_>) {
    judge(bencher, |at| match at % 4 {
        0 => format!("situation.environment == \"production\" && attempt < {}", at + 10),
        1 => format!("tool == \"deploy\" && params.force && params.replicas != {}", at + 100),
        2 => format!("\"urgent\" in labels || \"label-{at}\" in labels"),
        _ => format!("has(user.role) && user.role in [\"admin\", \"role-{at}\"]"),
    });
}

#[divan::bench]
fn a_thousand_interpreted_conditions(bencher: Bencher<'_, '_>) {
    judge(bencher, |at| match at % 3 {
        0 => format!("size(labels) + {at} > 2"),
        1 => format!("labels.exists(label, label == \"urgent\" || label == \"label-{at}\")"),
        _ => format!("params.replicas * 2 < {at} + 100 && environment == \"production\""),
    });
}

#[divan::bench]
fn facts_of_a_situation(bencher: Bencher<'_, '_>) {
    let situation = situation();
    bencher.bench_local(|| Facts::new(&situation, None, Timestamp::from_millis(0)));
}
