//! Caps on what a workspace and a caller use of models in a day: what happens when they are reached, and what does
//! not count against them (B4).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use haversack::engine::EmbedderCatalog;
use haversack::models::ExtractionOptions;
use haversack::request::Turn;
use haversack::{Engine, NoticeCode, Request, Workspace};
use haversack_core::embed::{Embedder, Model};
use haversack_core::units::Timestamp;
use haversack_provider::{
    Allowance, AllowanceScope, DailyCap, ModelRole, ModelSet, with_allowances,
};
use haversack_store::store::viewer::Viewer;

use crate::models::{FakeProvider, item, put_notes, walk, weather};
use crate::summaries::SHORT;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// An engine whose workspaces have a cap, and a clock that the test sets.
struct Capped {
    provider: FakeProvider,
    folder: tempfile::TempDir,
    now: Arc<AtomicI64>,
}

impl Capped {
    fn start() -> Capped {
        let now = Arc::new(AtomicI64::new(20_000 * DAY_MS + 5_000));
        Capped { provider: FakeProvider::start(), folder: tempfile::tempdir().unwrap(), now }
    }

    fn engine(&self, settings: &str) -> Engine {
        let now = Arc::clone(&self.now);
        let clock = move || Timestamp::from_millis(now.load(Ordering::SeqCst));
        let models = Arc::new(self.provider.models(&self.folder, settings).with_clock(clock));
        Engine::builder().models(models).open(self.folder.path()).unwrap()
    }

    fn workspace(&self, settings: &str) -> Workspace {
        self.engine(settings).workspace("home").unwrap()
    }

    fn end_day(&self) {
        self.now.fetch_add(DAY_MS, Ordering::SeqCst);
    }
}

fn cap(tokens: u64, role: &str) -> String {
    format!(
        "[models]\ntokens_per_day = {tokens}\n[models.{role}]\nprovider = \"p\"\nmodel = \"m\"\n\
         price_in = 2.0\n"
    )
}

fn used(workspace: &Workspace) -> u64 {
    workspace.allowance_status().unwrap().tokens
}

fn ask(question: &str) -> Request {
    Request { cache: false, ..Request::new("everything", question).within(400) }
}

#[tokio::test]
async fn a_workspace_at_its_cap_packs_by_words_until_the_next_day_b4() {
    let capped = Capped::start();
    // Three notes and one question are five tokens each, by the provider's count.
    let workspace = capped.workspace(&cap(29, "embed"));
    put_notes(&workspace).await;
    let first = workspace.pack(ask("Where is the kettle?")).await.unwrap();
    assert_eq!(used(&workspace), 20);
    workspace.flush().await;
    let calls = capped.provider.calls();
    let again = workspace.pack(ask("Where is the kettle?")).await.unwrap();
    assert_eq!(again.model_usage[&ModelRole::Embed].cache_hits, 1);
    workspace.replay(&first.receipt(), &Viewer::owner()).await.unwrap();
    assert_eq!(used(&workspace), 20, "cached answers and replays charge nothing");
    let long = "Which of the boats that sail at ten has tea from Assam on board?";
    let without = workspace.pack(ask(long)).await.unwrap();
    let notice = without.notices.iter().find(|notice| notice.code == NoticeCode::Degraded);
    let message = &notice.unwrap().message;
    let expected = "workspace home has used 20 of its 29 tokens a day for models";
    assert!(message.contains(expected), "{message}");
    assert!(message.contains("lifted at 2024-10-05T00:00:00Z"), "{message}");
    assert!(without.text().contains("Boats sail"), "by words: {}", without.text());
    assert_eq!(without.model_usage[&ModelRole::Embed].refused, 1);
    assert_eq!(capped.provider.calls(), calls, "a refused call is not sent");
    let strict = Request { degrade: Some(false), ..ask(long) };
    let error = workspace.pack(strict).await.unwrap_err();
    assert_eq!(error.code(), haversack::ErrorCode::Embedding);
    let note = item("n9", "note", "A fourth note, which has to be embedded like the others.");
    let refused = workspace.put(vec![note.clone()]).await.unwrap_err();
    let chain = haversack_store::store::error::error_chain(&refused);
    assert!(chain.contains("workspace home has used 20 of its 29 tokens"), "{chain}");
    capped.end_day();
    workspace.put(vec![note]).await.unwrap();
    assert_eq!(used(&workspace), 5);
}

#[tokio::test]
async fn the_tally_of_a_day_survives_a_restart_and_each_workspace_has_its_own_b4() {
    let capped = Capped::start();
    let settings = cap(100, "embed");
    let workspace = capped.workspace(&settings);
    put_notes(&workspace).await;
    drop(workspace);
    let engine = capped.engine(&settings);
    assert_eq!(used(&engine.workspace("home").unwrap()), 15);
    assert_eq!(used(&engine.workspace("other").unwrap()), 0);
    drop(engine);
    capped.end_day();
    assert_eq!(used(&capped.workspace(&settings)), 0);
}

#[tokio::test]
async fn a_judge_at_its_cap_leaves_the_conditions_to_the_local_one_b4() {
    let capped = Capped::start();
    let workspace = capped.workspace(&cap(10, "judge"));
    weather(&workspace).await;
    let pack = workspace.pack(walk()).await.unwrap();
    let codes: Vec<NoticeCode> = pack.notices.iter().map(|notice| notice.code).collect();
    assert!(codes.contains(&NoticeCode::JudgedLocally), "{codes:?}");
    let mut messages = pack.notices.iter().map(|notice| notice.message.as_str());
    assert!(messages.any(|message| message.contains("0 of its 10 tokens a day")));
    assert_eq!(capped.provider.calls(), 0);
}

#[tokio::test]
async fn extraction_at_its_cap_is_a_clear_error_b4() {
    let capped = Capped::start();
    let workspace = capped.workspace(&cap(10, "extract"));
    let turns = [Turn { role: "user".into(), content: "I moved to Oslo.".into(), at: None }];
    let (owner, options) = (Viewer::owner(), ExtractionOptions::default());
    let error = workspace.extract_memories(&owner, &turns, &options).await.unwrap_err();
    assert_eq!(error.code(), haversack::ErrorCode::Model);
    assert!(error.to_string().contains("0 of its 10 tokens a day"), "{error}");
    assert_eq!(capped.provider.calls(), 0);
}

#[tokio::test]
async fn summaries_at_their_cap_are_not_made_b4() {
    let capped = Capped::start();
    let engine = capped.engine(&cap(10, "summarise"));
    let workspace = engine.workspace("home").unwrap();
    let text = "The painters worked in the hall, and each of its walls was white. ".repeat(60);
    workspace.put(vec![item("diary", "note", &text)]).await.unwrap();
    workspace.put_recipe("short", SHORT).await.unwrap();
    workspace.pack(Request::new("short", "painters").within(200)).await.unwrap();
    assert!(engine.wait_for_summaries(std::time::Duration::from_secs(20)));
    assert!(engine.model_usage()[&ModelRole::Summarise].refused > 0);
    assert_eq!(capped.provider.calls(), 0);
}

#[tokio::test]
async fn a_callers_allowance_counts_on_every_thread_of_its_request_and_for_nobody_else_b4() {
    let capped = Capped::start();
    let engine = capped.engine("[models.embed]\nprovider = \"p\"\nmodel = \"m\"\n");
    let workspace = engine.workspace("home").unwrap();
    assert!(workspace.allowance_status().is_none());
    let key = engine.allowance("key k1", DailyCap { tokens: Some(29), cost: None }).unwrap();
    let within = || vec![Arc::clone(&key)];
    with_allowances(within(), put_notes(&workspace)).await;
    assert_eq!(key.status().tokens, 15, "texts are embedded on the store's threads");
    let question = "Which of the boats that sail at ten has tea from Assam on board, and when?";
    let refused = with_allowances(within(), workspace.pack(ask(question))).await.unwrap();
    let messages: Vec<&str> = refused.notices.iter().map(|n| n.message.as_str()).collect();
    let expected = "key k1 has used 15 of its 29 tokens a day";
    assert!(messages.iter().any(|message| message.contains(expected)), "{messages:?}");
    let other = workspace.pack(ask(question)).await.unwrap();
    assert!(!other.notices.iter().any(|notice| notice.code == NoticeCode::Degraded));
    assert_eq!(key.status().tokens, 15);
}

/// A pack's caller pays for the summary that the pack asks for, although another thread makes it later.
#[tokio::test]
async fn a_summary_counts_for_the_caller_whose_pack_asked_for_it_b4_w8() {
    let capped = Capped::start();
    let engine = capped.engine("[models.summarise]\nprovider = \"p\"\nmodel = \"m\"\n");
    let workspace = engine.workspace("home").unwrap();
    let text = |room: &str| {
        format!("The painters worked in the {room}, and its walls were white. ").repeat(60)
    };
    let notes = vec![item("a", "note", &text("hall")), item("b", "note", &text("attic"))];
    workspace.put(notes).await.unwrap();
    workspace.put_recipe("short", SHORT).await.unwrap();
    let ask = |word: &str| Request::new("short", word).within(200);
    let wait = || assert!(engine.wait_for_summaries(std::time::Duration::from_secs(20)));
    let poor = caller(&engine, "poor", 10);
    with_allowances(vec![Arc::clone(&poor)], workspace.pack(ask("hall"))).await.unwrap();
    wait();
    assert_eq!((capped.provider.calls(), poor.status().tokens), (0, 0), "it is over the cap");
    assert!(engine.model_usage()[&ModelRole::Summarise].refused > 0);
    let rich = caller(&engine, "rich", 100_000);
    with_allowances(vec![Arc::clone(&rich)], workspace.pack(ask("attic"))).await.unwrap();
    wait();
    assert_eq!(rich.status().tokens % 70, 0, "70 tokens a summary, by the provider's count");
    assert!(rich.status().tokens > 0 && poor.status().tokens == 0);
}

fn caller(engine: &Engine, name: &str, tokens: u64) -> Arc<Allowance> {
    engine.allowance(&format!("key {name}"), DailyCap { tokens: Some(tokens), cost: None }).unwrap()
}

/// The provider's embedder by name.
#[derive(Debug)]
struct ProviderCatalog(Arc<ModelSet>);

impl EmbedderCatalog for ProviderCatalog {
    fn by_name(&self, _: &str, workspace: &str) -> Result<Arc<dyn Embedder>, haversack::Error> {
        let embedder = self.0.embedder().unwrap().unwrap();
        Ok(self.0.for_workspace(embedder, workspace))
    }

    fn by_model(&self, _: &Model, _: &str) -> Option<Arc<dyn Embedder>> {
        None
    }

    fn choose(&self, _: &str) -> Result<(), haversack::Error> {
        Ok(())
    }
}

#[tokio::test]
async fn a_change_of_the_model_counts_for_the_caller_who_started_it_b4() {
    let capped = Capped::start();
    let settings = "[models.embed]\nprovider = \"p\"\nmodel = \"m\"\n";
    let models = Arc::new(capped.provider.models(&capped.folder, settings));
    let catalog = Arc::new(ProviderCatalog(Arc::clone(&models)));
    let engine = Engine::builder().models(models).embedder_catalog(catalog);
    // The workspace begins with the model that needs no provider.
    let engine = engine.embedder(haversack::default_embedder()).open(capped.folder.path()).unwrap();
    let workspace = engine.workspace("home").unwrap();
    put_notes(&workspace).await;
    let change = |allowance: &Arc<Allowance>| {
        let _scope = AllowanceScope::enter(&[Arc::clone(allowance)]);
        workspace.start_model_change("embed").unwrap();
        crate::vectors::finished(&workspace)
    };
    // Its trial call learns the dimensions and takes part of the allowance.
    let poor = caller(&engine, "poor", 9);
    let failure = change(&poor).change.unwrap().failure.unwrap();
    assert!(failure.contains("of its 9 tokens a day"), "{failure}");
    let rich = caller(&engine, "rich", 1_000);
    assert_eq!(change(&rich).change, None);
    assert!(rich.status().tokens >= 15, "three notes of five tokens: {:?}", rich.status());
}

#[tokio::test]
async fn a_reranker_at_its_cap_leaves_the_order_as_it_is_with_a_notice_b4() {
    let recipe = "haversack = 1\nname = \"reread\"\nextends = \"everything\"\n\n\
                  [[layer]]\nname = \"found\"\nrerank = 10\n\
                  score = { fusion = 0.1, rerank = 0.9 }\n";
    let capped = Capped::start();
    let workspace = capped.workspace(&cap(3, "rerank"));
    put_notes(&workspace).await;
    workspace.put_recipe("reread", recipe).await.unwrap();
    let request = Request::new("reread", "Where is the kettle, the tea?").within(400);
    let pack = workspace.pack(request).await.unwrap();
    let notices = pack.notices.iter().filter(|notice| notice.code == NoticeCode::Degraded);
    let mut messages = notices.map(|notice| notice.message.as_str());
    assert!(
        messages.any(|message| message.contains("0 of its 3 tokens a day")),
        "{:?}",
        pack.notices
    );
    assert!(pack.text().contains("kettle") && capped.provider.calls() == 0);
    assert_eq!(pack.model_usage[&ModelRole::Rerank].refused, 1);
}
