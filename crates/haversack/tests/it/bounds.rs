//! Bounds on the work of a pack: calls to models and stores do not grow with the data. No test measures
//! time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use haversack::recipes::workspace::{WorkspaceContext, estimate_tokens};
use haversack::situation::{Judge, JudgeError, LocalJudge, Verdict};
use haversack::{Engine, ErrorCode, Request, Workspace};
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_core::units::Tokens;
use serde_json::{Map, Value, json};

use crate::recording::OpenRecorded as _;
use crate::support::{
    CountingEmbedder, empty_workspace, id, import_sample, item, ledger_ids, now,
    open_with_embedder, pack, packed_ids, refusal, sample_workspace, user_request,
};

/// Ten queries, five times each, in sequence.
async fn repeating(workspace: &Workspace, recipe: &str, user: &str) {
    let topics = ["lift", "price", "key", "tea", "move", "plan", "water", "door", "week", "list"];
    for _ in 0..5 {
        for topic in topics {
            pack(workspace, user_request(recipe, &format!("What about the {topic}?"), user)).await;
            workspace.flush().await;
        }
    }
}

#[tokio::test]
async fn repeated_requests_are_answered_from_the_cache_k12_w14() {
    for (recipe, least) in [("prime", 0.3), ("workspace", 0.6)] {
        let fixture = sample_workspace(recipe);
        assert_eq!(fixture.cache_counts().hits + fixture.cache_counts().misses, 0);
        repeating(&fixture, recipe, "mara").await;
        let repeats = fixture.cache_counts();
        assert_eq!((repeats.hits, repeats.misses), (40, 10), "{recipe}");
        assert!(repeats.hit_rate() > least);
        // Whoever wants a fresh answer is not counted, and a write makes all answers old.
        let fresh =
            Request { cache: false, ..user_request(recipe, "What about the lift?", "mara") };
        pack(&fixture, fresh).await;
        assert_eq!(fixture.cache_counts(), repeats);
        fixture.put(vec![item("new", "note", "A new one.", json!({}))]).await.unwrap();
        pack(&fixture, user_request(recipe, "What about the lift?", "mara")).await;
        assert_eq!(fixture.cache_counts().misses, repeats.misses + 1, "{recipe}");
    }
}

/// A proposal over a hundred times the data embeds once and examines no more items.
#[tokio::test]
async fn a_pack_embeds_once_and_examines_a_bounded_number_of_items_p15() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = CountingEmbedder::new();
    let workspace = open_with_embedder(folder.path(), embedder.clone());
    import_sample(&workspace, "proposal");
    let mut more = Vec::new();
    for n in 0..120 {
        let about = format!("Controls barrier number {n} of a car park");
        let name = format!("Thing {n}");
        more.push(item(
            &format!("p{n}"),
            "product",
            "",
            json!({ "name": name, "description": about }),
        ));
        more.push(item(&format!("c{n}"), "battlecard", "", json!({ "competitorName": name })));
        more.push(item(
            &format!("y{n}"),
            "playbook",
            "",
            json!({ "name": name, "content": about }),
        ));
    }
    workspace.put(more).await.unwrap();
    embedder.take_count();
    let mut request = user_request("proposal", "Write the executive summary", "priya");
    request.set_subject("opportunity", Some(id("opp-harrowmere")));
    let assembled = pack(&workspace, request.clone()).await;
    assert_eq!(
        embedder.take_count(),
        2,
        "the prompt and the deal, once for all searches of a pack"
    );
    for (layer, most) in
        [("products", 10), ("competitive", 25), ("playbooks", 5), ("historicalPatterns", 3)]
    {
        let found = ledger_ids(&assembled, layer).len();
        assert!(found <= most, "{layer}: {found}");
    }
    assert_eq!(ledger_ids(&assembled, "products").len(), 10);
    pack(&workspace, request).await;
    assert_eq!(embedder.take_count(), 0, "the same question has the same vector");
}

/// The calls that a judge received.
#[derive(Default)]
struct JudgeCalls {
    calls: AtomicUsize,
    conditions: Mutex<Vec<String>>,
}

struct RecordingJudge(Arc<JudgeCalls>);

impl Judge for RecordingJudge {
    fn name(&self) -> &str {
        "noting"
    }

    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: haversack_core::units::Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let mut conditions_seen = self.0.conditions.lock().unwrap();
        conditions_seen.extend(conditions.iter().map(|condition| (*condition).to_owned()));
        let verdicts = LocalJudge::new().verdicts(situation, now, conditions);
        Box::pin(async move { Ok(verdicts) })
    }
}

/// All conditions in plain language are judged in one call, expressions without a judge, and a
/// situation is embedded once: a pack's waiting time does not grow with its rules.
#[tokio::test]
async fn a_situation_asks_its_judge_and_its_embedder_once_s8() {
    let folder = tempfile::tempdir().unwrap();
    let (embedder, noting) = (CountingEmbedder::new(), Arc::new(JudgeCalls::default()));
    let engine = Engine::builder()
        .clock(now)
        .embedder(embedder.clone())
        .judge(Arc::new(RecordingJudge(Arc::clone(&noting))))
        .open_recorded(folder.path())
        .unwrap();
    let workspace = engine.workspace("test").unwrap();
    import_sample(&workspace, "situation");
    embedder.take_count();
    let mut request = user_request("situation", "Repair the refunds", "katja");
    request.context = Some(id("task/refund-backfill"));
    request.situation.insert("environment".into(), json!("production"));
    request.situation.insert("tool".into(), json!("run_sql"));
    let assembled = pack(&workspace, request).await;
    assert!(packed_ids(&assembled, "contexts").len() > 3);
    assert_eq!(noting.calls.load(Ordering::SeqCst), 1);
    assert_eq!(embedder.take_count(), 1);
    let conditions = noting.conditions.lock().unwrap();
    assert!(conditions.len() > 1, "{conditions:?}");
    assert!(conditions.iter().all(|condition| !condition.contains("==")), "{conditions:?}");
}

/// The list of forbidden behaviours, each with a check.
#[tokio::test]
async fn packs_are_selected_bounded_and_adapted_to_the_request_w13() {
    let fixture = empty_workspace();
    let block = |n: usize| {
        let mut block =
            item(&format!("b{n:03}"), "text", &format!("The lift, note {n}"), json!({}));
        block.parent = (n > 0).then(|| id("b000"));
        block
    };
    fixture.put((0..400).map(block).collect()).await.unwrap();
    // No dump of the workspace, however much there would be room for.
    for (query, focus) in [("", Some("b007")), ("the lift", None), ("everything you have", None)] {
        let mut request = user_request("workspace", query, "mara").within(1_000_000);
        request.focus = focus.map(id);
        for layer in ["focus", "semantic", "relations", "activity"] {
            request.caps.insert(layer.to_owned(), Tokens::new(900_000));
        }
        let assembled = pack(&fixture, request).await;
        let considered = assembled.pack.ledger.len();
        assert!(considered > 0 && considered <= 60, "{query:?}: {considered} of 400");
    }
    // No budget without an end, and none that is passed over.
    let endless =
        fixture.pack(user_request("workspace", "the lift", "mara").within(u32::MAX)).await;
    assert_eq!(endless.as_ref().unwrap_err().code(), ErrorCode::Validation);
    assert!(refusal(endless).contains("10000000"));
    let small = pack(&fixture, user_request("workspace", "the lift", "mara").within(500)).await;
    assert!(Encoding::O200k.count(small.text()).get() <= 300, "200 are the system's");
    // Every search has a viewer: a stranger gets what everyone may read.
    let mut own = item("own", "text", "The lift of mara alone", json!({}));
    own.readers = haversack_store::store::viewer::Readers::Only(
        [haversack_store::store::viewer::Principal::user("mara").unwrap()].into(),
    );
    fixture.put(vec![own]).await.unwrap();
    let query = "The lift of mara alone";
    let mara = pack(&fixture, user_request("workspace", query, "mara")).await;
    let stranger = pack(&fixture, user_request("workspace", query, "stranger")).await;
    assert!(ledger_ids(&mara, "semantic").contains(&"own".to_owned()));
    assert!(!ledger_ids(&stranger, "semantic").contains(&"own".to_owned()));
    // Nothing static: another question, focus or state is another context.
    let at = async |query: &str, focus: &str| {
        let request =
            Request { focus: Some(id(focus)), ..user_request("workspace", query, "mara") };
        pack(&fixture, request).await.text().to_owned()
    };
    let texts =
        [at("note 12", "b007").await, at("note 77", "b007").await, at("note 12", "b200").await];
    assert!(texts[0] != texts[1] && texts[0] != texts[2]);
    let mut changed = block(7);
    changed.body.push_str(" is out of order");
    fixture.put(vec![changed]).await.unwrap();
    assert_ne!(at("note 12", "b007").await, texts[0]);
}

#[tokio::test]
async fn an_estimate_equals_the_count_with_every_tokenizer_w14() {
    let fixture = sample_workspace("workspace");
    let tokenizers: [&dyn Tokenizer; 3] = [&Encoding::O200k, &Encoding::Cl100k, &CharacterEstimate];
    for query in ["what about the goods lift?", "What tasks are overdue?", "日本語 и кириллица"]
    {
        for tokenizer in tokenizers {
            let mut request = user_request("workspace", query, "mara");
            request.tokenizer = Some(tokenizer.name().to_owned());
            let context = WorkspaceContext::from_assembled(&*pack(&fixture, request).await, false);
            let estimate = estimate_tokens(&context, tokenizer);
            assert_eq!(estimate.get(), context.metadata.total_tokens, "{query}");
            assert_eq!(estimate, tokenizer.count(&context.serialized));
        }
    }
}

/// A workspace of files alone still fills its budget.
#[tokio::test]
async fn a_question_over_files_alone_uses_its_budget_k5() {
    let fixture = empty_workspace();
    let file = |n: usize| {
        let text = format!("Green coffee, lot {n}: the price rose by {n} cents in week {n}. ");
        let mut file = item(&format!("f{n:02}"), "file", &text.repeat(6), json!({}));
        file.path = Some(format!("prices/lot-{n}.md"));
        file
    };
    fixture.put((0..40).map(file).collect()).await.unwrap();
    let assembled = pack(&fixture, user_request("prime", "price of green coffee", "mara")).await;
    let chosen = packed_ids(&assembled, "context").len();
    let spent = f64::from(assembled.pack.tokens.get()) / f64::from(assembled.pack.limit.get());
    let found = ledger_ids(&assembled, "context").len();
    assert!(chosen > 7 && (chosen == found || spent > 0.8), "{chosen} of {found}, {spent:.2}");
}
