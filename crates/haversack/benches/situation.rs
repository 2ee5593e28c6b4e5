//! The cost of rules: a thousand parsed expressions must be evaluated in under a millisecond (S3), and
//! contexts collected well within S8's 200 ms.

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use haversack::Request;
use haversack::collect::{Collector, ContextsCollector, Question, SearchCache};
use haversack::condition::{ConditionCache, Facts};
use haversack::recipe::{CollectorSpec, Settings};
use haversack::situation::{Judge, LocalJudge};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::query::analyse;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::store::change::Batch;
use haversack_store::store::item::Item;
use haversack_store::store::maintenance::Stores;
use haversack_store::store::viewer::Viewer;
use serde_json::{Map, Value, json};

const RULES: usize = 1_000;
const LEVELS: usize = 5;

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

/// Evaluates each condition, looked up by its source as in a request.
fn judge(bencher: Bencher<'_, '_>, shape: impl Fn(usize) -> String) {
    let facts =
        Facts::from_situation(&situation(), Some("ship the release"), Timestamp::from_millis(0));
    let conditions = ConditionCache::new();
    let sources: Vec<String> = (0..RULES).map(shape).collect();
    let decided = |source: &String| {
        let condition = conditions.compile_bounded(source).expect("the shapes are conditions");
        condition.evaluate(&facts) == Ok(true)
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
fn a_condition_compiled_for_the_first_time(bencher: Bencher<'_, '_>) {
    let source = "situation.environment == \"production\" && attempt < 10";
    bencher.bench_local(|| ConditionCache::new().compile_bounded(source));
}

#[divan::bench]
fn facts_of_a_situation(bencher: Bencher<'_, '_>) {
    let situation = situation();
    bencher.bench_local(|| Facts::from_situation(&situation, None, Timestamp::from_millis(0)));
}

#[divan::bench(args = [1, 10, 100])]
fn conditions_judged_locally(bencher: Bencher<'_, '_>, count: usize) {
    let (judge, situation) = (LocalJudge::new(), situation());
    let now = Timestamp::from_millis(1_794_819_600_000);
    let conditions: Vec<String> = (0..count)
        .map(|at| format!("the team deploys service number {at} to production"))
        .collect();
    let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
    bencher.bench_local(|| judge.verdicts(&situation, now, &conditions));
}

/// A context with four ancestors, a thousand rules among them and twenty contexts injected.
fn contexts() -> Vec<Item> {
    let kind = Kind::new("context").expect("a kind");
    let item = |id: &str, fields: Value, body: &str| {
        let fields = fields.as_object().cloned().unwrap_or_default();
        let id = ItemId::new(id).expect("an id");
        Item { title: id.to_string(), fields, ..Item::new(id, kind.clone(), body) }
    };
    let mut items: Vec<Item> = (0..20)
        .map(|at| {
            let body = format!("Guidance number {at}: look before you leap, and say what you saw.");
            item(&format!("helper-{at}"), json!({ "parent": "level-4" }), &body)
        })
        .collect();
    for level in 0..LEVELS {
        let rules: Vec<Value> = (0..RULES / LEVELS)
            .map(|at| {
                json!({
                    "name": format!("rule-{level}-{at}"),
                    "condition": format!("environment == \"production\" && attempt < {}", at + 2),
                    "inject": [format!("helper-{}", at % 20)],
                })
            })
            .collect();
        let mut fields = json!({ "injection_rules": rules });
        if level + 1 < LEVELS {
            fields["parent"] = json!(format!("level-{}", level + 1));
        }
        items.push(item(&format!("level-{level}"), fields, "A level of the organisation."));
    }
    items
}

#[divan::bench]
fn contexts_with_a_thousand_rules(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let stores = DataFolder::open(folder.path()).expect("a data folder");
    let store = stores.open("bench", haversack::default_embedder()).expect("a workspace");
    let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    let now = Timestamp::from_millis(0);
    let question = runtime.block_on(async {
        store.write(Batch::put(now, contexts())).await.expect("written");
        let snapshot = store.snapshot(&Viewer::owner()).await.expect("a snapshot");
        let mut request = Request::new("situation", "");
        request.context = ItemId::new("level-0").ok();
        request.situation = situation();
        let judge: Arc<dyn Judge> = Arc::new(LocalJudge::new());
        let analysis = analyse("", now);
        let (vector, search_cache) = (None, SearchCache::default());
        let matches = None;
        let focus_query = None;
        Question {
            request,
            snapshot,
            now,
            analysis,
            vector,
            subjects: haversack::collect::Subjects::default(),
            judge,
            search_cache,
            matches,
            focus_query,
            missing_summaries: None,
        }
    });
    let spec = CollectorSpec {
        by: "contexts".to_owned(),
        kinds: Vec::new(),
        settings: Settings::default(),
        deadline: Duration::from_secs(1),
    };
    let collector = ContextsCollector::new();
    let collect = || runtime.block_on(collector.collect(&question, &spec, &[])).expect("collected");
    assert_eq!(collect().candidates.len(), 20 + LEVELS);
    bencher.bench_local(collect);
}
