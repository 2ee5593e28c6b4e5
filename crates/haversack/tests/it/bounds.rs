//! What keeps an answer quick and small, by construction: how much is asked of models and stores does
//! not grow with what there is. No clock is looked at.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use haversack::recipes::workspace::{Context, estimate_tokens};
use haversack::situation::{Judge, JudgeError, LocalJudge, Verdict};
use haversack::{Engine, ErrorCode, Request, Workspace};
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_core::units::Tokens;
use serde_json::{Map, Value, json};

use crate::recording::OpenRecorded as _;
use crate::support::{
    Counting, asked, empty, fill, id, item, listed, now, opened, pack, refused, sample, shown,
};

/// Ten questions, five times each, one after another.
async fn repeating(workspace: &Workspace, recipe: &str, user: &str) {
    let topics = ["lift", "price", "key", "tea", "move", "plan", "water", "door", "week", "list"];
    for _ in 0..5 {
        for topic in topics {
            pack(workspace, asked(recipe, &format!("What about the {topic}?"), user)).await;
            workspace.settle().await;
        }
    }
}

#[tokio::test]
async fn a_repeating_load_is_answered_from_what_is_there_k12_w14() {
    for (recipe, least) in [("prime", 0.3), ("workspace", 0.6)] {
        let fixture = sample(recipe);
        assert_eq!(fixture.repeats().hits + fixture.repeats().misses, 0);
        repeating(&fixture, recipe, "mara").await;
        let repeats = fixture.repeats();
        assert_eq!((repeats.hits, repeats.misses), (40, 10), "{recipe}");
        assert!(repeats.hit_rate() > least);
        // Whoever wants a fresh answer is not counted, and a write makes all answers old.
        let fresh = Request { cache: false, ..asked(recipe, "What about the lift?", "mara") };
        pack(&fixture, fresh).await;
        assert_eq!(fixture.repeats(), repeats);
        fixture.put(vec![item("new", "note", "A new one.", json!({}))]).await.unwrap();
        pack(&fixture, asked(recipe, "What about the lift?", "mara")).await;
        assert_eq!(fixture.repeats().misses, repeats.misses + 1, "{recipe}");
    }
}

/// A proposal over a hundred times as much data asks for one vector and looks at no more.
#[tokio::test]
async fn an_assembly_embeds_once_and_looks_at_a_bounded_number_p15() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Counting::new();
    let workspace = opened(folder.path(), embedder.clone());
    fill(&workspace, "proposal");
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
    embedder.taken();
    let mut request = asked("proposal", "Write the executive summary", "priya");
    request.name_subject("opportunity", Some(id("opp-harrowmere")));
    let assembled = pack(&workspace, request.clone()).await;
    assert_eq!(embedder.taken(), 2, "the prompt and the deal, once for all searches of a pack");
    for (layer, most) in
        [("products", 10), ("competitive", 25), ("playbooks", 5), ("historicalPatterns", 3)]
    {
        let found = listed(&assembled, layer).len();
        assert!(found <= most, "{layer}: {found}");
    }
    assert_eq!(listed(&assembled, "products").len(), 10);
    pack(&workspace, request).await;
    assert_eq!(embedder.taken(), 0, "the same question has the same vector");
}

/// A judge that notes what it is asked.
#[derive(Default)]
struct Noting {
    calls: AtomicUsize,
    conditions: Mutex<Vec<String>>,
}

struct Shared(Arc<Noting>);

impl Judge for Shared {
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
        let mut noted = self.0.conditions.lock().unwrap();
        noted.extend(conditions.iter().map(|condition| (*condition).to_owned()));
        let verdicts = LocalJudge::new().verdicts(situation, now, conditions);
        Box::pin(async move { Ok(verdicts) })
    }
}

/// All conditions in plain language are judged at once, expressions by nobody, and a situation has
/// one vector: what a pack waits for does not grow with its rules.
#[tokio::test]
async fn a_situation_asks_its_judge_and_its_embedder_once_s8() {
    let folder = tempfile::tempdir().unwrap();
    let (embedder, noting) = (Counting::new(), Arc::new(Noting::default()));
    let engine = Engine::builder()
        .clock(now)
        .embedder(embedder.clone())
        .judge(Arc::new(Shared(Arc::clone(&noting))))
        .open_recorded(folder.path())
        .unwrap();
    let workspace = engine.workspace("test").unwrap();
    fill(&workspace, "situation");
    embedder.taken();
    let mut request = asked("situation", "Repair the refunds", "katja");
    request.context = Some(id("task/refund-backfill"));
    request.situation.insert("environment".into(), json!("production"));
    request.situation.insert("tool".into(), json!("run_sql"));
    let assembled = pack(&workspace, request).await;
    assert!(shown(&assembled, "contexts").len() > 3);
    assert_eq!(noting.calls.load(Ordering::SeqCst), 1);
    assert_eq!(embedder.taken(), 1);
    let conditions = noting.conditions.lock().unwrap();
    assert!(conditions.len() > 1, "{conditions:?}");
    assert!(conditions.iter().all(|condition| !condition.contains("==")), "{conditions:?}");
}

/// The seed's list of what is forbidden, each with what would show it.
#[tokio::test]
async fn nobody_gets_a_dump_and_nothing_is_unbounded_or_static_w13() {
    let fixture = empty();
    let block = |n: usize| {
        let mut block =
            item(&format!("b{n:03}"), "text", &format!("The lift, note {n}"), json!({}));
        block.parent = (n > 0).then(|| id("b000"));
        block
    };
    fixture.put((0..400).map(block).collect()).await.unwrap();
    // No dump of the workspace, however much there would be room for.
    for (query, focus) in [("", Some("b007")), ("the lift", None), ("everything you have", None)] {
        let mut request = asked("workspace", query, "mara").within(1_000_000);
        request.focus = focus.map(id);
        for layer in ["focus", "semantic", "relations", "activity"] {
            request.caps.insert(layer.to_owned(), Tokens::new(900_000));
        }
        let assembled = pack(&fixture, request).await;
        let considered = assembled.pack.ledger.len();
        assert!(considered > 0 && considered <= 60, "{query:?}: {considered} of 400");
    }
    // No budget without an end, and none that is passed over.
    let endless = fixture.pack(asked("workspace", "the lift", "mara").within(u32::MAX)).await;
    assert_eq!(endless.as_ref().unwrap_err().code(), ErrorCode::Validation);
    assert!(refused(endless).contains("10000000"));
    let small = pack(&fixture, asked("workspace", "the lift", "mara").within(500)).await;
    assert!(Encoding::O200k.count(small.text()).get() <= 300, "200 are the system's");
    // No search without somebody who asks: a stranger is somebody, and gets what all may read.
    let mut own = item("own", "text", "The lift of mara alone", json!({}));
    own.readers = haversack_store::store::viewer::Readers::Only(
        [haversack_store::store::viewer::Principal::user("mara").unwrap()].into(),
    );
    fixture.put(vec![own]).await.unwrap();
    let query = "The lift of mara alone";
    let mara = pack(&fixture, asked("workspace", query, "mara")).await;
    let stranger = pack(&fixture, asked("workspace", query, "stranger")).await;
    assert!(listed(&mara, "semantic").contains(&"own".to_owned()));
    assert!(!listed(&stranger, "semantic").contains(&"own".to_owned()));
    // Nothing static: another question, focus or state is another context.
    let at = async |query: &str, focus: &str| {
        let request = Request { focus: Some(id(focus)), ..asked("workspace", query, "mara") };
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
async fn an_estimate_is_the_count_whoever_counts_w14() {
    let fixture = sample("workspace");
    let tokenizers: [&dyn Tokenizer; 3] = [&Encoding::O200k, &Encoding::Cl100k, &CharacterEstimate];
    for query in ["what about the goods lift?", "What tasks are overdue?", "日本語 и кириллица"]
    {
        for tokenizer in tokenizers {
            let mut request = asked("workspace", query, "mara");
            request.tokenizer = Some(tokenizer.name().to_owned());
            let context = Context::of(&*pack(&fixture, request).await, false);
            let estimate = estimate_tokens(&context, tokenizer);
            assert_eq!(estimate.get(), context.metadata.total_tokens, "{query}");
            assert_eq!(estimate, tokenizer.count(&context.serialized));
        }
    }
}

/// Files alone are no reason to leave the room empty: no other kind waits for it.
#[tokio::test]
async fn a_question_over_files_alone_uses_its_budget_k5() {
    let fixture = empty();
    let file = |n: usize| {
        let text = format!("Green coffee, lot {n}: the price rose by {n} cents in week {n}. ");
        let mut file = item(&format!("f{n:02}"), "file", &text.repeat(6), json!({}));
        file.path = Some(format!("prices/lot-{n}.md"));
        file
    };
    fixture.put((0..40).map(file).collect()).await.unwrap();
    let assembled = pack(&fixture, asked("prime", "price of green coffee", "mara")).await;
    let chosen = shown(&assembled, "context").len();
    let spent = f64::from(assembled.pack.tokens.get()) / f64::from(assembled.pack.limit.get());
    let found = listed(&assembled, "context").len();
    assert!(chosen > 7 && (chosen == found || spent > 0.8), "{chosen} of {found}, {spent:.2}");
}
