//! Packs as messages for providers: the same bytes, cut where a prompt cache can reuse them.

use haversack::messages::{
    CACHED_BLOCK_TOKENS_MIN, Format, MessageContent, MessageRole, OpenAiMessages, ProviderMessage,
    ProviderMessages, TextBlock,
};
use haversack::request::Turn;
use haversack::{Assembled, NoticeCode, Request};
use serde_json::json;

use crate::support::{Fixture, empty_workspace, id, item, pack, sample_workspace, user_request};

/// The blocks and messages of a pack for Anthropic.
fn anthropic(assembled: &Assembled) -> (Vec<TextBlock>, Vec<ProviderMessage>) {
    match assembled.to_messages(Format::Anthropic) {
        ProviderMessages::Anthropic(body) => (body.system, body.messages),
        ProviderMessages::OpenAi(_) => panic!("asked for Anthropic"),
    }
}

fn openai(assembled: &Assembled) -> OpenAiMessages {
    match assembled.to_messages(Format::OpenAi) {
        ProviderMessages::OpenAi(body) => body,
        ProviderMessages::Anthropic(_) => panic!("asked for OpenAI"),
    }
}

/// The texts of a message.
fn texts(message: &ProviderMessage) -> Vec<&str> {
    match &message.content {
        MessageContent::Text(text) => vec![text],
        MessageContent::Blocks(blocks) => blocks.iter().map(|block| block.text.as_str()).collect(),
    }
}

/// Roles and texts of messages.
fn spoken(messages: &[ProviderMessage]) -> Vec<(MessageRole, Vec<&str>)> {
    messages.iter().map(|message| (message.role, texts(message))).collect()
}

/// The stable part and the rest, as they are among OpenAI's messages.
fn openai_context(body: &OpenAiMessages, query: &str) -> (String, String) {
    let system = body.messages.first().filter(|message| message.role == MessageRole::System);
    let stable = system.map_or_else(String::new, |message| texts(message).concat());
    let last = texts(body.messages.last().unwrap());
    let rest = match last[..] {
        [rest, last] if last == query => rest.to_owned(),
        [last] if last == query => String::new(),
        _ => panic!("{last:?}"),
    };
    (stable, rest)
}

/// The promises that hold for every pack.
fn check(assembled: &Assembled) {
    let text = assembled.text();
    let (blocks, messages) = anthropic(assembled);
    let joined: String = blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(joined, text);
    assert_eq!(texts(messages.last().unwrap()), [assembled.request.query.as_str()]);
    assert!(blocks.iter().filter(|block| block.cache_control.is_some()).count() <= 4);
    let sections = &assembled.pack.sections;
    let is_border =
        |at: usize| at == text.len() || sections.iter().any(|section| section.span.end() == at);
    let mut at = 0;
    for block in &blocks {
        at += block.text.len();
        assert!(is_border(at), "a cut at {at} of {text}");
        let tokens = assembled.core.tokenizer.count(&block.text);
        assert!(block.cache_control.is_none() || tokens >= CACHED_BLOCK_TOKENS_MIN, "{tokens}");
    }
    let body = openai(assembled);
    let (stable, rest) = openai_context(&body, &assembled.request.query);
    assert_eq!(format!("{stable}{rest}"), text);
    assert!(stable.is_empty() || is_border(stable.len()));
}

#[tokio::test]
async fn the_parts_of_every_pack_joined_are_its_text() {
    for (sample, user) in [
        ("proposal", "priya"),
        ("prime", "ines"),
        ("workspace", "mara"),
        ("situation", "mara"),
        ("memory", "noor"),
    ] {
        let fixture = sample_workspace(sample);
        for recipe in [sample, "everything"] {
            for budget in [2_500, 8_000, 32_000] {
                let query = "What was decided about the prices?";
                let mut request = user_request(recipe, query, user).within(budget);
                if recipe == "proposal" {
                    request.set_subject("opportunity", Some(id("opp-harrowmere")));
                }
                check(&*pack(&fixture, request).await);
            }
        }
    }
}

/// A desk with rules for every request, a manual for most, and notes that are searched.
const DESK: &str = r###"
haversack = 1
[budget]
total = 12_000
[output]
before = "# Desk\n\n"
after = "---\nAnswer: {{query}}\n"
[[layer]]
name = "notes"
share = 0.2
collect = [{ by = "hybrid", kinds = ["note"], limit = 20 }]
template = { header = "## Notes\n\n", item = "{{content}}", footer = "\n\n" }
[[layer]]
name = "manual"
share = 0.4
stability = "stable"
collect = [{ by = "newest", kinds = ["manual"], of = "workspace" }]
order = "rank"
template = { header = "## Manual\n\n", item = "{{content}}", footer = "\n\n" }
[[layer]]
name = "rules"
pinned = true
collect = [{ by = "newest", kinds = ["rule"], of = "workspace" }]
template = { header = "## Rules\n\n", item = "{{content}}", footer = "\n\n" }
"###;

async fn desk(recipe: &str) -> Fixture {
    let fixture = empty_workspace();
    fixture.put_recipe("desk", recipe).await.unwrap();
    let lines = |what: &str, n: usize| -> String {
        (0..n).map(|n| format!("{what} number {n} is written down here.\n")).collect()
    };
    fixture
        .put(vec![
            item("rule", "rule", &lines("Rule", 150), json!({})),
            item("manual", "manual", &lines("Step", 150), json!({})),
            item("tea", "note", "Anna drinks green tea, never coffee.", json!({})),
            item("soup", "note", "There is soup on Mondays and on Thursdays.", json!({})),
        ])
        .await
        .unwrap();
    fixture
}

#[tokio::test]
async fn each_stable_class_ends_with_a_breakpoint() {
    let fixture = desk(DESK).await;
    let assembled = pack(&fixture, Request::new("desk", "What does Anna drink?")).await;
    check(&assembled);
    let (blocks, messages) = anthropic(&assembled);
    let is_cached: Vec<bool> = blocks.iter().map(|block| block.cache_control.is_some()).collect();
    assert_eq!(is_cached, [true, true, false], "{blocks:?}");
    for (block, shown) in [(0, "# Desk"), (0, "## Rules"), (1, "## Manual"), (2, "## Notes")] {
        let holders: Vec<usize> =
            (0..3).filter(|&index| blocks[index].text.contains(shown)).collect();
        assert_eq!(holders, [block], "{shown}");
    }
    assert!(blocks[2].text.contains("green tea"));
    assert!(blocks[2].text.ends_with("Answer: What does Anna drink?\n"));
    assert_eq!(spoken(&messages), [(MessageRole::User, vec!["What does Anna drink?"])]);
    let body = openai(&assembled);
    let (stable, rest) = openai_context(&body, "What does Anna drink?");
    assert_eq!(stable, format!("{}{}", blocks[0].text, blocks[1].text));
    assert_eq!(rest, blocks[2].text);
    let body = serde_json::to_value(assembled.to_messages(Format::Anthropic)).unwrap();
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(body["system"][2].as_object().unwrap().len(), 2, "type and text alone");
}

/// A beginning that shows the query differs in every request, whatever its layer says.
#[tokio::test]
async fn what_shows_the_query_has_no_breakpoint() {
    let before = DESK.replace("# Desk\\n\\n", "# Desk for {{query}}\\n\\n");
    let manual = DESK.replace("## Manual\\n\\n", "## Manual for {{query}}\\n\\n");
    for (recipe, n_cached) in [(before, 0), (manual, 1), (DESK.to_owned(), 2)] {
        let fixture = desk(&recipe).await;
        let assembled = pack(&fixture, Request::new("desk", "What does Anna drink?")).await;
        check(&assembled);
        let (blocks, _) = anthropic(&assembled);
        let cached = blocks.iter().filter(|block| block.cache_control.is_some());
        assert_eq!(cached.count(), n_cached, "{recipe}");
    }
}

/// P17: what the delta says was kept is the same in the blocks, too.
#[tokio::test]
async fn the_cached_blocks_of_a_conversation_stay_the_same_p17() {
    let fixture = desk(DESK).await;
    let first = pack(&fixture, Request::new("desk", "What does Anna drink?")).await;
    let mut next = Request::new("desk", "When is there soup?");
    next.previous = Some(first.receipt());
    let second = pack(&fixture, next).await;
    let kept_bytes = second.delta.as_ref().unwrap().kept_bytes;
    let (before, after) = (anthropic(&first).0, anthropic(&second).0);
    let cached = |blocks: &[TextBlock]| -> Vec<TextBlock> {
        blocks.iter().filter(|block| block.cache_control.is_some()).cloned().collect()
    };
    let (before, after) = (cached(&before), cached(&after));
    let bytes: usize = before.iter().map(|block| block.text.len()).sum();
    assert_eq!(before.len(), 2);
    assert!(bytes <= kept_bytes, "{bytes} of {kept_bytes}");
    assert_eq!(before, after);
    let (one, two) = (openai(&first), openai(&second));
    assert_eq!(one.messages[0], two.messages[0]);
    assert_eq!(one.prompt_cache_key, two.prompt_cache_key);
}

#[tokio::test]
async fn the_cache_key_is_of_workspace_and_recipe_and_names_neither() {
    let fixture = desk(DESK).await;
    let key = async |recipe: &str, query: &str| {
        openai(&*pack(&fixture, Request::new(recipe, query)).await).prompt_cache_key
    };
    let one = key("desk", "What does Anna drink?").await;
    assert_eq!(one, key("desk", "When is there soup?").await);
    assert_ne!(one, key("everything", "When is there soup?").await);
    assert!(one.len() <= 64 && !one.contains("desk") && !one.contains("test"), "{one}");
}

fn turn(role: &str, content: &str) -> Turn {
    Turn { role: role.to_owned(), content: content.to_owned(), at: None }
}

/// A conversation is sent once: in the pack where the recipe collects it, else as messages.
#[tokio::test]
async fn a_conversation_is_in_the_pack_or_among_the_messages() {
    let fixture = desk(DESK).await;
    let query = "And what does Anna drink?";
    for (recipe, collects) in [
        ("everything", false),
        ("memory", false),
        ("desk", false),
        ("workspace", true),
        ("prime", true),
        ("situation", true),
    ] {
        let mut request = Request::new(recipe, query);
        request.history = vec![
            turn("user", "Is there a parrot in the kitchen?"),
            turn("tool", "parrots: 1"),
            turn("assistant", "A parrot is in the kitchen."),
        ];
        let assembled = pack(&fixture, request).await;
        check(&assembled);
        assert_eq!(assembled.text().contains("parrot"), collects, "{}", assembled.text());
        let (_, messages) = anthropic(&assembled);
        let notice = assembled.omitted_turns_notice(Format::Anthropic);
        if collects {
            assert_eq!(spoken(&messages), [(MessageRole::User, vec![query])], "{recipe}");
            assert!(notice.is_none(), "{recipe}");
            continue;
        }
        let expected = [
            (MessageRole::User, vec!["Is there a parrot in the kitchen?"]),
            (MessageRole::Assistant, vec!["A parrot is in the kitchen."]),
            (MessageRole::User, vec![query]),
        ];
        assert_eq!(spoken(&messages), expected, "{recipe}");
        let body = openai(&assembled);
        let skip = usize::from(body.messages[0].role == MessageRole::System);
        assert_eq!(spoken(&body.messages)[skip..skip + 2], expected[..2], "{recipe}");
        let notice = notice.unwrap();
        assert_eq!(notice.code, NoticeCode::TurnsOmitted);
        assert_eq!(notice.details, json!({ "turns": 3, "omitted": 1 }));
    }
}

#[tokio::test]
async fn an_empty_pack_and_a_missing_query_are_no_messages() {
    let fixture = empty_workspace();
    let empty = pack(&fixture, Request::new("everything", "What does Anna drink?")).await;
    assert_eq!(empty.text(), "");
    let body = serde_json::to_value(empty.to_messages(Format::Anthropic)).unwrap();
    let question = json!({ "role": "user", "content": "What does Anna drink?" });
    assert_eq!(body, json!({ "messages": [question] }));
    let fixture = desk(DESK).await;
    let silent = pack(&fixture, Request::new("desk", "")).await;
    let (blocks, messages) = anthropic(&silent);
    assert!(!blocks.is_empty() && messages.is_empty(), "{messages:?}");
}
