//! Models of providers inside of packs, against a server on loopback: what they decide, what happens when they
//! fail, and that a receipt replays without them.

#[expect(dead_code, reason = "the tests of providers use more of it")]
#[path = "../../../haversack-provider/tests/it/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haversack::models::ExtractionOptions;
use haversack::recipes::situation::SituationRequest;
use haversack::request::Turn;
use haversack::{Engine, NoticeCode, Request, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_provider::{ModelRole, ModelSet, ModelsConfig};
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::{Map, Value, json};

use server::{Asked, Reply, TestServer};

/// A provider of everything. It embeds by counting letters, differently at every call, and judges that
/// conditions about rain hold.
pub(crate) struct FakeProvider {
    server: TestServer,
    is_down: Arc<AtomicBool>,
}

impl FakeProvider {
    pub(crate) fn start() -> FakeProvider {
        let is_down = Arc::new(AtomicBool::new(false));
        let (down, calls) = (Arc::clone(&is_down), AtomicUsize::new(0));
        let server = TestServer::start(move |asked, _| {
            if down.load(Ordering::SeqCst) {
                return Reply::status(503, "{}");
            }
            let call = calls.fetch_add(1, Ordering::SeqCst);
            if asked.path.ends_with("/embeddings") {
                return embeddings(asked, call);
            }
            if asked.path.ends_with("/rerank") {
                return scores(asked);
            }
            chat(asked)
        });
        FakeProvider { server, is_down }
    }

    fn workspace(&self, folder: &tempfile::TempDir, models: &str) -> Workspace {
        self.engine(folder, models).workspace("home").unwrap()
    }

    pub(crate) fn engine(&self, folder: &tempfile::TempDir, models: &str) -> Engine {
        let models = Arc::new(self.models(folder, models));
        Engine::builder().models(models).open(folder.path()).unwrap()
    }

    pub(crate) fn models(&self, folder: &tempfile::TempDir, models: &str) -> ModelSet {
        let provider = format!(
            "[providers.p]\nprotocol = \"openai\"\nbase_url = \"{}\"\nretries = 0\ntimeout = 5\n",
            self.server.url
        );
        let config = ModelsConfig::parse(&format!("{provider}{models}")).unwrap();
        ModelSet::open(config, Some(folder.path()), &|_| None).unwrap()
    }

    /// How often it was called.
    pub(crate) fn calls(&self) -> usize {
        self.server.asked().len()
    }

    /// The texts that were to be summarised.
    pub(crate) fn summarised(&self) -> Vec<String> {
        let asked = self.server.asked();
        let users = asked.iter().filter_map(|asked| asked.body["messages"][1]["content"].as_str());
        users.filter_map(|user| Some(user.strip_prefix("Text: ")?.to_owned())).collect()
    }

    /// Answers with an error from now on.
    pub(crate) fn fail(&self) {
        self.is_down.store(true, Ordering::SeqCst);
    }

    fn chat_calls(&self) -> usize {
        self.server.asked().iter().filter(|asked| asked.path.ends_with("/completions")).count()
    }
}

fn embeddings(asked: &Asked, call: usize) -> Reply {
    let texts = asked.body["input"].as_array().cloned().unwrap_or_default();
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let text = text.as_str().unwrap_or_default();
            let count = |letter: char| text.chars().filter(|c| *c == letter).count() as f64;
            // A little noise, as real servers have it.
            let noise = call as f64 * 1e-3;
            json!({"index": index, "embedding": [count('t') + noise, count('e'), count('k'), 1.0]})
        })
        .collect();
    Reply::json(&json!({"data": data, "usage": {"prompt_tokens": texts.len() * 5}}))
}

fn scores(asked: &Asked) -> Reply {
    let texts = asked.body["documents"].as_array().cloned().unwrap_or_default();
    let results: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let score =
                if text.as_str().unwrap_or_default().contains("kettle") { 0.9 } else { 0.1 };
            json!({"index": index, "relevance_score": score})
        })
        .collect();
    Reply::json(&json!({ "results": results }))
}

fn chat(asked: &Asked) -> Reply {
    let user = asked.body["messages"][1]["content"].as_str().unwrap_or_default();
    let answer = if user.contains("Conditions:") {
        let list = user.split("Conditions: ").nth(1).unwrap_or("[]");
        let list: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
        let verdict = |entry: &Value| {
            let holds = entry["condition"].as_str().unwrap_or_default().contains("rain");
            json!({
                "id": entry["id"], "answer": if holds { "yes" } else { "no" }, "sureness": 0.9,
                "reason": "the situation says so",
            })
        };
        json!({"verdicts": list.iter().map(verdict).collect::<Vec<_>>()})
    } else if user.starts_with("Text: ") {
        json!({"summary": "In short: nine rooms were painted, and the cellar is still damp."})
    } else if user.contains("New memories:") {
        json!({"replacements": [{"new": 0, "old": 0}, {"new": 7, "old": 0}, {"new": 0, "old": 99}]})
    } else {
        json!({"memories": [
            {"content": "Anna lives in Oslo since May 2026.", "type": "fact", "confidence": 0.9,
             "turn": 0, "date": "2026-05-01"},
            {"content": "Anna drinks green tea.", "type": "preference", "confidence": 0.8,
             "turn": 1, "date": ""},
        ]})
    };
    let message = json!({"choices": [{"message": {"content": answer.to_string()}}],
                         "usage": {"prompt_tokens": 50, "completion_tokens": 20}});
    Reply::json(&message)
}

const EMBED: &str = "[models.embed]\nprovider = \"p\"\nmodel = \"m\"\nprice_in = 2.0\n";
const JUDGE: &str = "[models.judge]\nprovider = \"p\"\nmodel = \"j\"\n";
const EXTRACT: &str = "[models.extract]\nprovider = \"p\"\nmodel = \"x\"\n";

pub(crate) fn item(id: &str, kind: &str, text: &str) -> Item {
    Item::new(ItemId::new(id).unwrap(), Kind::new(kind).unwrap(), text)
}

pub(crate) async fn put_notes(workspace: &Workspace) {
    let texts = ["The kettle is on the stove.", "Tea comes from Assam.", "Boats sail at ten."];
    let items = texts.iter().enumerate().map(|(n, text)| item(&format!("n{n}"), "note", text));
    workspace.put(items.collect()).await.unwrap();
}

#[tokio::test]
async fn a_pack_by_a_remote_embedder_replays_although_its_vectors_change_m4_x2() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let workspace = provider.workspace(&folder, EMBED);
    put_notes(&workspace).await;
    let request = || Request::new("everything", "Where is the kettle?").within(400);
    let pack = workspace.pack(request()).await.unwrap();
    assert!(pack.text().contains("on the stove"));
    assert!(!pack.notices.iter().any(|notice| notice.code == NoticeCode::Degraded));
    let usage = pack.model_usage[&ModelRole::Embed];
    assert_eq!((usage.calls, usage.tokens_in), (1, 5), "{usage:?}");
    assert!(usage.cost > 0.0);
    workspace.flush().await;
    let receipt = pack.receipt();
    let kept = workspace.receipt(&receipt, &Viewer::owner()).await.unwrap();
    assert_eq!(kept.models.as_ref().unwrap().vectors.len(), 1);
    drop((workspace, pack));
    // Another process, without the cache of the first, while the provider is down.
    let workspace = provider.workspace(&folder, EMBED);
    provider.is_down.store(true, Ordering::SeqCst);
    let before = provider.server.asked().len();
    let replay = workspace.replay(&receipt, &Viewer::owner()).await.unwrap();
    assert!(replay.difference.same, "{:?}", replay.difference);
    assert_eq!(provider.server.asked().len(), before, "a replay calls nobody");
}

#[tokio::test]
async fn a_failed_embedding_is_an_error_or_a_notice_as_asked_m11() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let workspace = provider.workspace(&folder, EMBED);
    put_notes(&workspace).await;
    provider.is_down.store(true, Ordering::SeqCst);
    let mut strict = Request::new("memory", "kettle").within(400);
    strict.degrade = Some(false);
    let error = workspace.pack(strict.clone()).await.unwrap_err();
    assert_eq!(error.code().as_str(), "embedding_error");
    strict.degrade = Some(true);
    let pack = workspace.pack(strict).await.unwrap();
    let notice = pack.notices.iter().find(|notice| notice.code == NoticeCode::Degraded).unwrap();
    assert!(notice.message.contains("503"), "{}", notice.message);
    workspace.flush().await;
    // The fallback is part of the pack: with the provider back, the replay still does without.
    provider.is_down.store(false, Ordering::SeqCst);
    let replay = workspace.replay(&pack.receipt(), &Viewer::owner()).await.unwrap();
    assert!(replay.difference.same, "{:?}", replay.difference);
}

pub(crate) async fn weather(workspace: &Workspace) {
    let context = |id: &str, fields: Value| {
        let mut item = item(id, "context", "");
        item.fields = fields.as_object().unwrap().clone();
        item
    };
    let rule = |name: &str, condition: &str, inject: &str| json!({"name": name, "condition": condition, "inject": [inject]});
    let walk = json!({
        "metadata": {"name": "Walk", "type": "task"},
        "intent_context": {"business_goal": "Get home", "intent_type": "walk"},
        "injection_rules": [
            rule("wet", "it will rain on the way", "umbrella"),
            rule("cold", "there is ice on the road", "boots"),
        ],
    });
    let plain = |name: &str| {
        json!({
            "metadata": {"name": name, "type": "helper"},
            "intent_context": {"business_goal": "Stay dry", "intent_type": "help"},
        })
    };
    let items = vec![
        context("walk", walk),
        context("umbrella", plain("Umbrella")),
        context("boots", plain("Boots")),
    ];
    workspace.put(items).await.unwrap();
}

pub(crate) fn walk() -> Request {
    let situation: Map<String, Value> =
        json!({"forecast": "showers"}).as_object().cloned().unwrap_or_default();
    SituationRequest::new("walk", situation).to_request().unwrap()
}

#[tokio::test]
async fn a_model_judges_all_conditions_in_one_call_and_says_why_s3() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let workspace = provider.workspace(&folder, JUDGE);
    weather(&workspace).await;
    let pack = workspace.pack(walk()).await.unwrap();
    assert_eq!(provider.chat_calls(), 1, "all conditions in one call");
    assert!(pack.text().contains("Umbrella") && !pack.text().contains("Boots"), "{}", pack.text());
    let facts = serde_json::to_string(&pack.facts).unwrap();
    assert!(facts.contains("j@p") && facts.contains("the situation says so"), "{facts}");
    assert!(!pack.notices.iter().any(|notice| notice.code == NoticeCode::JudgedLocally));
    let mut again = walk();
    again.cache = false;
    let again = workspace.pack(again).await.unwrap();
    assert_eq!(provider.chat_calls(), 1, "verdicts are remembered by condition and situation");
    assert_eq!(again.model_usage[&ModelRole::Judge].cache_hits, 2);
    workspace.flush().await;
    provider.is_down.store(true, Ordering::SeqCst);
    let replay = workspace.replay(&pack.receipt(), &Viewer::owner()).await.unwrap();
    assert!(replay.difference.same, "{:?}", replay.difference);
}

#[tokio::test]
async fn without_an_answer_of_the_model_the_local_judge_decides_with_a_notice_s3() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    provider.is_down.store(true, Ordering::SeqCst);
    let workspace = provider.workspace(&folder, JUDGE);
    weather(&workspace).await;
    let pack = workspace.pack(walk()).await.unwrap();
    let codes: Vec<NoticeCode> = pack.notices.iter().map(|notice| notice.code).collect();
    assert!(codes.contains(&NoticeCode::Degraded), "{codes:?}");
    assert!(codes.contains(&NoticeCode::JudgedLocally), "{codes:?}");
    workspace.flush().await;
    provider.is_down.store(false, Ordering::SeqCst);
    let replay = workspace.replay(&pack.receipt(), &Viewer::owner()).await.unwrap();
    assert!(replay.difference.same, "the fallback is replayed: {:?}", replay.difference);
    assert_eq!(replay.assembled.pack.text, pack.pack.text);
}

#[tokio::test]
async fn a_remote_reranker_takes_part_and_a_slow_one_is_done_without() {
    let recipe = "haversack = 1\nname = \"reread\"\nextends = \"everything\"\n\n\
                  [[layer]]\nname = \"found\"\nrerank = 10\n\
                  score = { fusion = 0.1, rerank = 0.9 }\n";
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let config = format!(
        "[providers.p]\nprotocol = \"openai\"\nbase_url = \"{}\"\nretries = 0\n\
         [models.rerank]\nprovider = \"p\"\nmodel = \"r\"\ndeadline_ms = 2000\n",
        provider.server.url
    );
    let config = ModelsConfig::parse(&config).unwrap();
    let models = Arc::new(ModelSet::open(config, None, &|_| None).unwrap());
    let builder = Engine::builder().models(models).recipe("reread", recipe);
    let workspace = builder.open(folder.path()).unwrap().workspace("home").unwrap();
    put_notes(&workspace).await;
    let request = || Request::new("reread", "Where is the kettle, the tea?").within(400);
    let pack = workspace.pack(request()).await.unwrap();
    assert_eq!(pack.pack.sections[0].items[0].id.item.as_str(), "n0");
    assert_eq!(pack.model_usage[&ModelRole::Rerank].calls, 1);
    workspace.flush().await;
    provider.is_down.store(true, Ordering::SeqCst);
    let replay = workspace.replay(&pack.receipt(), &Viewer::owner()).await.unwrap();
    assert!(replay.difference.same, "{:?}", replay.difference);
    let mut fresh = request();
    fresh.cache = false;
    fresh.query.push_str(" Now?");
    let without = workspace.pack(fresh).await.unwrap();
    let is_degraded = without.notices.iter().any(|notice| notice.code == NoticeCode::Degraded);
    assert!(is_degraded && !without.text().is_empty());
}

#[tokio::test]
async fn memories_are_extracted_with_their_source_and_supersede_older_ones_b3() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let workspace = provider.workspace(&folder, EXTRACT);
    let mut old = item("old", "memory", "");
    old.fields =
        json!({"content": "Anna lives in Bergen since 2020."}).as_object().unwrap().clone();
    let mut known = item("tea", "memory", "");
    known.fields = json!({"content": "Anna drinks green tea."}).as_object().unwrap().clone();
    workspace.put(vec![old, known]).await.unwrap();
    let turn = |content: &str| Turn { role: "user".into(), content: content.into(), at: None };
    let turns = [turn("I moved from Bergen to Oslo in May."), turn("I drink green tea.")];
    let mut options = ExtractionOptions {
        conversation: Some("c1".to_owned()),
        dry_run: true,
        ..ExtractionOptions::default()
    };
    let owner = Viewer::owner();
    let dry = workspace.extract_memories(&owner, &turns, &options).await.unwrap();
    assert_eq!(dry.memories.len(), 1, "one is known already: {:?}", dry.left_out);
    assert_eq!(dry.left_out.len(), 1);
    assert!(dry.committed.is_none());
    let memory = &dry.memories[0];
    assert_eq!((memory.turn, memory.supersedes[0].as_str()), (Some(0), "old"));
    let snapshot = workspace.store().snapshot(&owner).await.unwrap();
    let stored = snapshot.get(std::slice::from_ref(&memory.item.id)).await.unwrap();
    assert!(stored[0].is_none(), "a dry run stores nothing");
    options.dry_run = false;
    let done = workspace.extract_memories(&owner, &turns, &options).await.unwrap();
    assert!(done.committed.is_some());
    let snapshot = workspace.store().snapshot(&owner).await.unwrap();
    let ids = [done.memories[0].item.id.clone(), ItemId::new("old").unwrap()];
    let stored = snapshot.get(&ids).await.unwrap();
    assert!(stored.iter().all(Option::is_some), "superseded, not deleted");
    let fields = &stored[0].as_ref().unwrap().item.fields;
    assert_eq!(fields["conversation"], "c1");
    assert_eq!(fields["source_turn"], 0);
    let again = workspace.extract_memories(&owner, &turns, &options).await.unwrap();
    let ids: Vec<&str> = again.memories.iter().map(|m| m.item.id.as_str()).collect();
    assert!(ids.is_empty() || ids == [done.memories[0].item.id.as_str()], "{ids:?}");
}

#[tokio::test]
async fn without_a_model_extraction_says_what_to_set_b3() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
    let turns = [Turn { role: "user".into(), content: "Hello.".into(), at: None }];
    let options = ExtractionOptions::default();
    let error = workspace.extract_memories(&Viewer::owner(), &turns, &options).await.unwrap_err();
    assert!(error.to_string().contains("[models.extract]"), "{error}");
}

#[tokio::test]
async fn without_providers_receipts_and_results_have_no_word_of_models() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
    put_notes(&workspace).await;
    let pack = workspace.pack(Request::new("everything", "kettle").within(300)).await.unwrap();
    workspace.flush().await;
    let receipt = workspace.receipt(&pack.receipt(), &Viewer::owner()).await.unwrap();
    assert!(!serde_json::to_string(&*receipt).unwrap().contains("\"models\""));
    assert!(pack.model_usage.is_empty() && pack.provider_count.is_none());
}
