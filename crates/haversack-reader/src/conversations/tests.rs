//! Tests of the readers of conversations, through the table, so that their recognisers are tested too.

use serde_json::{Value, json};

use crate::archive::tests::zip_of;
use crate::outcome::{self, Outcome};
use crate::part::{Part, ReadFailure};

/// Reads bytes with whichever reader recognises them.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Outcome, ReadFailure> {
    let outcome = outcome::read(name, bytes)?;
    check_order(&outcome.parts);
    Ok(outcome)
}

/// Keys are unique and parents come before their children.
fn check_order(parts: &[Part]) {
    let mut keys = std::collections::BTreeSet::new();
    for part in parts {
        if let Some(parent) = &part.parent {
            assert!(keys.contains(parent), "{parent:?} is not there before {:?}", part.key);
        }
        assert!(keys.insert(part.key.clone()), "{:?} is there twice", part.key);
        assert!(!part.key.chars().any(char::is_control) && part.key.len() < 300, "{:?}", part.key);
    }
}

/// Each part on a line: its kind, key, author, title, body, and moment.
pub(crate) fn lines(outcome: &Outcome) -> Vec<String> {
    let line = |part: &Part| {
        let author = part.fields.get("author").and_then(Value::as_str).unwrap_or("-");
        format!(
            "{} {} | {author} | {} | {}",
            part.kind,
            part.key,
            part.title,
            part.body.replace('\n', "⏎")
        )
    };
    outcome.parts.iter().map(line).collect()
}

fn check(name: &str, bytes: &[u8], reader: &str, expected: &[&str], notice: &str) {
    let outcome = read(name, bytes).unwrap();
    assert_eq!(outcome.reader, reader);
    assert_eq!(lines(&outcome), expected);
    assert_eq!(outcome.notices.join("\n"), notice);
}

/// Broken bytes never panic, and never run for ever.
pub(crate) fn check_hostile(name: &str, bytes: &[u8]) {
    let step = (bytes.len() / 150).max(1);
    for end in (0..bytes.len()).step_by(step) {
        let _ = read(name, &bytes[..end]);
    }
    let mut state = 0x9e37_79b9_u64;
    for _ in 0..150 {
        let mut broken = bytes.to_vec();
        for _ in 0..3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap() % broken.len();
            broken[at] = u8::try_from((state >> 20) & 0xff).unwrap();
        }
        let _ = read(name, &broken);
    }
}

fn chatgpt() -> String {
    let message = |id: &str, role: &str, content: Value| json!({"id": id, "author": {"role": role}, "create_time": 1_714_989_600.5, "content": content, "metadata": {}, "recipient": "all"});
    let text = |text: &str| json!({"content_type": "text", "parts": [text]});
    let image = json!({"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "x"}, "what is it?"]});
    let profile = json!({"content_type": "user_editable_context", "user_profile": "I am Anna."});
    json!([{
        "title": "Tea", "create_time": 1_714_989_600.0, "update_time": 1_714_989_700.0, "conversation_id": "c-1",
        "mapping": {
            "root": {"id": "root", "message": null, "parent": null, "children": ["s"]},
            "s": {"id": "s", "message": message("s", "system", text("")), "parent": "root", "children": ["p"]},
            "p": {"id": "p", "message": message("p", "user", profile), "parent": "s", "children": ["u"]},
            "u": {"id": "u", "message": message("u", "user", image), "parent": "p", "children": ["t", "old"]},
            "old": {"id": "old", "message": message("old", "assistant", text("coffee")), "parent": "u", "children": []},
            "t": {"id": "t", "message": message("t", "tool", text("searched")), "parent": "u", "children": ["a"]},
            "a": {"id": "a", "message": message("a", "assistant", text("Tea \u{e200}cite\u{e202}turn0\u{e201}leaves.")), "parent": "t", "children": []}
        },
        "current_node": "a"
    }])
    .to_string()
}

const CHATGPT: &[&str] = &[
    "thread c-1 | - | Tea | ",
    "message c-1/u | User |  | [image]⏎⏎what is it?",
    "message c-1/a | ChatGPT |  | Tea leaves.",
];

#[test]
fn chatgpt_gives_the_branch_that_was_open_last() {
    let notice =
        "1 conversations, 2 messages; left out: 1 messages of other branches, 1 messages of tools";
    check("conversations.json", chatgpt().as_bytes(), "ChatGPT conversations", CHATGPT, notice);
    let zip =
        zip_of(&[("chat.html", ""), ("conversations-000.json", &chatgpt()), ("user.json", "{}")]);
    check("x.zip", &zip, "ChatGPT archive", CHATGPT, notice);
    let outcome = read("c.json", chatgpt().as_bytes()).unwrap();
    assert_eq!(outcome.parts[0].fields["instructions"], "I am Anna.");
    assert_eq!(outcome.parts[1].fields["role"], "user");
    assert_eq!(outcome.parts[1].created, Some(1_714_989_600_500));
    assert_eq!(outcome.parts[2].position, 1);
}

#[test]
fn a_circle_in_the_tree_ends() {
    let node = |parent: &str| json!({"message": null, "parent": parent, "children": []});
    let circle =
        json!([{"title": "x", "mapping": {"a": node("b"), "b": node("a")}, "current_node": "a"}]);
    let outcome = read("conversations.json", circle.to_string().as_bytes()).unwrap();
    assert_eq!(outcome.notices, ["nothing taken; left out: 1 conversations without text"]);
}

fn claude() -> String {
    json!([{
        "uuid": "c1", "name": "Plan", "summary": "", "created_at": "2024-05-06T10:00:00Z", "updated_at": "2024-05-06T11:00:00Z",
        "chat_messages": [
            {"uuid": "m1", "text": "", "content": [{"type": "text", "text": "Read this"}], "sender": "human", "created_at": "2024-05-06T10:00:00Z",
             "attachments": [{"file_name": "a.txt", "extracted_content": "line ``` one"}], "files": [{"file_name": "b.png"}]},
            {"uuid": "m2", "text": "Done", "sender": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use"}, {"type": "text", "text": "Done."}]},
            {"uuid": "m3", "text": "only text", "sender": "human"},
            {"uuid": "m4", "text": "", "content": [], "sender": "assistant"}
        ]
    }]).to_string()
}

#[test]
fn claude_gives_conversations_documents_and_memories() {
    let expected = [
        "thread c1 | - | Plan | ",
        "message c1/m1 | User |  | Read this⏎⏎Attached file a.txt:⏎⏎````⏎line ``` one⏎````⏎⏎[file: b.png]",
        "message c1/m2 | Claude |  | Done.",
        "message c1/m3 | User |  | only text",
    ];
    let left = "left out: 1 calls of tools, 1 messages without text, 1 thoughts of the model";
    check(
        "conversations.json",
        claude().as_bytes(),
        "Claude conversations",
        &expected,
        &format!("1 conversations, 3 messages; {left}"),
    );
    let projects = json!([{"uuid": "p", "name": "House", "description": "Build", "docs": [{"uuid": "d", "filename": "a.md", "content": "# A"}]}]);
    let memories =
        json!([{"conversations_memory": "Likes tea", "project_memories": {"p": "Brick"}}]);
    let (projects, memories) = (projects.to_string(), memories.to_string());
    let zip = zip_of(&[
        ("conversations.json", &claude()),
        ("users.json", "[]"),
        ("projects.json", &projects),
        ("memories.json", &memories),
    ]);
    let outcome = read("data.zip", &zip).unwrap();
    assert_eq!(outcome.reader, "Claude archive");
    let rest = lines(&outcome).split_off(4);
    assert_eq!(
        rest,
        [
            "memory memory:conversations | - | Memory of all chats | Likes tea",
            "memory memory:p | - | Memory of a project | Brick",
            "file project/project:p | - | House | Build",
            "file project/project:p/d | - | a.md | # A",
        ]
    );
    assert_eq!(
        outcome.notices,
        [format!("1 conversations, 3 messages, 2 memories, 1 projects, 1 documents; {left}")]
    );
}

const SLACK_DAY: &str = r##"[
    {"type": "message", "user": "U1", "text": "Hi <@U2>, see <https://a.b|the page> &amp; <#C1|general> *now* `*x*`", "ts": "1714989600.000100", "thread_ts": "1714989600.000100", "reply_count": 1},
    {"type": "message", "user": "U2", "text": "ok", "ts": "1714989660.000200", "thread_ts": "1714989600.000100"},
    {"type": "message", "subtype": "channel_join", "user": "U2", "text": "joined", "ts": "1714989500.000000"},
    {"type": "message", "user": "U2", "text": "lunch?", "ts": "1714989700.000300", "files": [{"name": "menu.pdf"}]}
]"##;

#[test]
fn slack_gives_days_and_reply_threads() {
    let users = r#"[{"id": "U1", "name": "anna", "profile": {"display_name": "Anna"}}, {"id": "U2", "real_name": "Ben"}]"#;
    let zip = zip_of(&[
        ("channels.json", r#"[{"id": "C1", "name": "general", "topic": {"value": "All"}}]"#),
        ("users.json", users),
        ("general/2024-05-06.json", SLACK_DAY),
        (
            "general/2024-05-07.json",
            r#"[{"type": "message", "user": "U1", "text": "late", "ts": "1715076000.000100", "thread_ts": "1714989600.000100"}]"#,
        ),
    ]);
    let root = "C1:1714989600.000100";
    check(
        "slack.zip",
        &zip,
        "Slack archive",
        &[
            "thread C1:2024-05-06 | - | #general, 2024-05-06 | ",
            "message C1:2024-05-06/1714989700.000300 | Ben |  | lunch?⏎⏎[file: menu.pdf]",
            &format!(
                "thread {root} | - | #general, 2024-05-06: Hi @Ben, see [the page](https://a.b) & #general **now** `*x* | "
            ),
            &format!(
                "message {root}/1714989600.000100 | Anna |  | Hi @Ben, see [the page](https://a.b) & #general **now** `*x*`"
            ),
            &format!("message {root}/1714989660.000200 | Ben |  | ok"),
            &format!("message {root}/1715076000.000100 | Anna |  | late"),
        ],
        "2 conversations, 4 messages; left out: 1 service messages",
    );
    let day = read("x/general/2024-05-06.json", SLACK_DAY.as_bytes()).unwrap();
    assert_eq!((day.reader, day.parts.len()), ("Slack channel day", 5));
    assert_eq!(day.parts[0].title, "#general, 2024-05-06");
}

const WHATSAPP: &str = "\u{200e}[06/05/24, 3:04:00\u{202f}PM] Team: \u{200e}Messages and calls are end-to-end encrypted.
[06/05/24, 3:04:10\u{202f}PM] Anna: Hello
second line
[06/05/24, 3:05:00\u{202f}PM] Ben: \u{200e}image omitted
[07/05/24, 9:00:00\u{202f}AM] Ben: Hi: there
[07/05/24, 9:00:00\u{202f}AM] Ben: Hi: there
";

#[test]
fn whatsapp_gives_messages_with_keys_that_stay() {
    let outcome = read("WhatsApp Chat - Team.txt", WHATSAPP.as_bytes()).unwrap();
    assert_eq!(outcome.reader, "WhatsApp chat");
    let bodies: Vec<&str> = outcome.parts.iter().map(|part| part.body.as_str()).collect();
    assert_eq!(bodies, ["", "Hello\nsecond line", "Hi: there", "Hi: there"]);
    assert_eq!((outcome.parts[0].title.as_str(), outcome.parts[0].key.as_str()), ("Team", ""));
    assert_eq!(outcome.parts[0].fields["participants"], json!(["Anna", "Ben"]));
    assert_eq!(
        outcome.parts[1].created,
        crate::conversations::when::moment_of_text("2024-05-06T15:04:10Z")
    );
    assert_eq!(outcome.parts[3].key, format!("{}~2", outcome.parts[2].key));
    assert_eq!(
        outcome.notices,
        ["1 conversations, 3 messages; left out: 1 media that were not exported, 1 system lines"]
    );
    // A longer export shows that the month comes first: the keys stay all the same.
    let longer = format!("{WHATSAPP}[08/25/24, 9:00:00\u{202f}AM] Ben: later\n");
    let longer = read("WhatsApp Chat - Team.txt", longer.as_bytes()).unwrap();
    let keys =
        |outcome: &Outcome| outcome.parts.iter().map(|part| part.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&longer)[..4], keys(&outcome)[..]);
    assert_ne!(longer.parts[1].created, outcome.parts[1].created);
}

#[test]
fn telegram_gives_chats_with_rich_text() {
    let messages = json!([
        {"id": 1, "type": "service", "date": "2024-05-06T10:00:00", "action": "create_group"},
        {"id": 2, "type": "message", "date": "2024-05-06T10:00:00", "date_unixtime": "1714989600", "from": "Anna", "from_id": "user1",
         "text": ["See ", {"type": "bold", "text": "this"}, {"type": "text_link", "text": "page", "href": "https://a.b"}]},
        {"id": 3, "type": "message", "date": "2024-05-06T10:01:00", "from": null, "from_id": "user2", "reply_to_message_id": 2, "photo": "x", "text": ""}
    ]);
    let chat = |name: &str, id: u64| json!({"name": name, "type": "personal_chat", "id": id, "messages": messages});
    let one = chat("Anna", 7).to_string();
    let notice = "1 conversations, 2 messages; left out: 1 service messages";
    check(
        "result.json",
        one.as_bytes(),
        "Telegram export",
        &[
            "thread  | - | Anna | ",
            "message 2 | Anna |  | See **this**[page](https://a.b)",
            "message 3 | Deleted account |  | [photo]",
        ],
        notice,
    );
    let all = json!({"about": "x", "personal_information": {}, "chats": {"about": "", "list": [chat("A", 7), chat("B", 8)]}});
    let outcome = read("result.json", all.to_string().as_bytes()).unwrap();
    let keys: Vec<&str> = outcome.parts.iter().map(|part| part.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "personal_chat:7",
            "personal_chat:7/2",
            "personal_chat:7/3",
            "personal_chat:8",
            "personal_chat:8/2",
            "personal_chat:8/3"
        ]
    );
}

#[test]
fn discord_gives_channels() {
    let export = json!({"guild": {"id": "1", "name": "Club"}, "channel": {"id": "2", "type": "GuildTextChat", "name": "news", "topic": "t"},
        "messages": [
            {"id": "9", "type": "Default", "timestamp": "2024-05-06T10:00:00+00:00", "content": "hi", "author": {"name": "anna", "nickname": "Anna"}, "attachments": [{"fileName": "a.png"}]},
            {"id": "10", "type": "GuildMemberJoin", "content": "Joined.", "author": {"name": "ben"}}
        ]}).to_string();
    check(
        "news.json",
        export.as_bytes(),
        "Discord channel",
        &["thread  | - | #news, Club | ", "message 9 | Anna |  | hi⏎⏎[file: a.png]"],
        "1 messages; left out: 1 service messages",
    );
    let zip = zip_of(&[
        ("Account/user.json", r#"{"username": "anna"}"#),
        ("Messages/index.json", "{}"),
        ("Messages/c55/channel.json", r#"{"id": "55", "name": "news", "guild": {"name": "Club"}}"#),
        (
            "Messages/c55/messages.json",
            r#"[{"ID": 2, "Timestamp": "2024-05-06 10:01:00", "Contents": "b", "Attachments": ""}, {"ID": 1, "Timestamp": "2024-05-06 10:00:00", "Contents": "a", "Attachments": "https://x/y.png?q"}]"#,
        ),
    ]);
    check(
        "package.zip",
        &zip,
        "Discord package",
        &[
            "thread 55 | - | #news, Club | ",
            "message 55/1 | anna |  | a⏎⏎[file: y.png]",
            "message 55/2 | anna |  | b",
        ],
        "1 conversations, 2 messages; the package holds only the user's own messages",
    );
}

#[test]
fn claude_code_gives_what_was_said() {
    let lines = [
        json!({"type": "summary", "summary": "Fix login", "leafUuid": "x"}),
        json!({"type": "user", "uuid": "a", "sessionId": "s", "timestamp": "2024-05-06T10:00:00Z", "cwd": "/home/x", "message": {"role": "user", "content": "Fix it<system-reminder>no</system-reminder>"}}),
        json!({"type": "assistant", "uuid": "b", "sessionId": "s", "message": {"role": "assistant", "content": [{"type": "tool_use"}, {"type": "text", "text": "Done."}]}}),
        json!({"type": "user", "uuid": "c", "sessionId": "s", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\n{broken";
    check(
        "s.jsonl",
        text.as_bytes(),
        "Claude Code session",
        &[
            "thread  | - | Fix login | ",
            "message a | User |  | Fix it",
            "message b | Claude |  | Done.",
        ],
        "2 messages; left out: 1 calls of tools, 1 lines that are no JSON objects, 1 results of tools",
    );
}

#[test]
fn transcripts_and_subtitles_give_turns() {
    let text = "[00:00:05] Anna: Hello.\n[00:12:31] Ben: Hi.\nAnd more.\n[00:13:00] Anna: Good.\n[1:00:00] Ben: Bye.\n";
    let outcome = read("call.txt", text.as_bytes()).unwrap();
    assert_eq!(outcome.reader, "transcript");
    assert_eq!(outcome.parts[2].title, "00:12:31 Ben");
    assert_eq!(
        (outcome.parts[2].body.as_str(), &outcome.parts[2].fields["at"]),
        ("Hi.\n\nAnd more.", &json!("00:12:31"))
    );
    let vtt = "WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.000\n<v Anna>Hello\n\n00:00:02.000 --> 00:00:03.000\n<v Anna>there &amp; you\n\n00:12:31.000 --> 00:12:33.000 align:start\n<v Ben>Hi</v>\n";
    let outcome = read("call.vtt", vtt.as_bytes()).unwrap();
    let turns: Vec<String> =
        outcome.parts[1..].iter().map(|part| format!("{}: {}", part.title, part.body)).collect();
    assert_eq!(turns, ["00:00:01 Anna: Hello there & you", "00:12:31 Ben: Hi"]);
    let srt =
        "1\n00:00:01,000 --> 00:00:02,000\n<i>One</i>\n2\n00:00:02,000 --> 00:00:03,000\ntwo.\n\n";
    let outcome = read("film.srt", srt.as_bytes()).unwrap();
    assert_eq!((outcome.parts.len(), outcome.parts[1].body.as_str()), (2, "One two."));
}

#[test]
fn strangers_are_left_alone() {
    for (name, text) in [
        ("conversations.json", r#"[{"id": 1, "title": "x", "messages": []}]"#),
        ("conversations.json", r#"{"mapping": {"a": 1}}"#),
        ("package.json", r#"{"name": "x", "type": "module", "id": 1, "messages": {"a": 1}}"#),
        ("2024-05-06.json", r#"[{"type": "x", "value": 1}]"#),
        ("memory.json", r#"{"results": [{"id": 1, "name": "x"}]}"#),
        ("a.jsonl", "{\"type\": \"user\", \"message\": \"x\"}"),
        ("notes.txt", "Anna: see below\nThis is a text.\nIt has lines.\nTodo: more\n"),
        ("settings.txt", "Host: a\nPort: 1\nUser: b\nColour: red\nSize: 3\n"),
        ("log.txt", "2024-05-06 10:00:00 INFO started\n2024-05-06 10:00:01 INFO Server: up\n"),
        (
            "log.txt",
            "06.05.2024, 10:00 - started\n06.05.2024, 10:01 - stopped\n06.05.2024, 10:02 - started\n",
        ),
        ("letter.txt", "Dear Anna,\nthank you: it was nice.\nYours\nBen\n"),
    ] {
        assert_eq!(read(name, text.as_bytes()).unwrap().reader, "", "{name}: {text}");
    }
    let zip = zip_of(&[("conversations.json", "[]"), ("a.txt", "")]);
    assert_eq!(read("x.zip", &zip).unwrap().reader, "");
}

#[test]
fn broken_files_never_panic() {
    check_hostile("conversations.json", chatgpt().as_bytes());
    check_hostile("conversations.json", claude().as_bytes());
    check_hostile("2024-05-06.json", SLACK_DAY.as_bytes());
    check_hostile("chat.txt", WHATSAPP.as_bytes());
    check_hostile("a.vtt", b"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Anna>Hello {\\an8}\n\n");
    check_hostile("x.zip", &zip_of(&[("chat.html", ""), ("conversations.json", &chatgpt())]));
    let deep = format!("[{{\"uuid\": 1, \"chat_messages\": {}", "[".repeat(50_000));
    assert!(read("conversations.json", deep.as_bytes()).is_err());
}

#[test]
fn a_bomb_in_an_archive_is_refused() {
    let mut bomb = String::from("[");
    bomb.push_str(&" ".repeat(160 << 20));
    let zip = zip_of(&[("channels.json", "[]"), ("users.json", &bomb)]);
    let failure = read("slack.zip", &zip).unwrap_err();
    assert!(matches!(failure, ReadFailure::TooLarge { .. }), "{failure}");
}
