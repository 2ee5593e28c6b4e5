//! `haversack remember`: stores a memory if it says something new.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use haversack::models::ExtractionOptions;
use haversack::remember::SkipReason;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::{Value, json};

use crate::args::{RememberArgs, StoreLocation};
use crate::input::{now, read_text};
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &RememberArgs) -> Result<ExitOutcome> {
    if let Some(file) = &args.from {
        return extract(location, args, file);
    }
    let item = item(args)?;
    let id = item.id.clone();
    match location.reach(StoreLocation::workspace_or_new)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let remembered = workspace.remember(&Viewer::owner(), vec![item]).await?;
            workspace.flush().await;
            for warning in &remembered.committed.warnings {
                say(&format!("note: {warning}"));
            }
            let left_out = remembered.left_out.first().map(|left_out| reason(&left_out.why));
            show(&id, left_out)
        }),
        WorkspaceTarget::Server(server) => {
            server.create_if_missing()?;
            let done = server.remember(&memory_document(&item))?;
            show(&id, done["leftOut"].get(0).map(server_reason))
        }
    }
}

/// Extracts memories from a conversation.
fn extract(location: &StoreLocation, args: &RememberArgs, file: &Path) -> Result<ExitOutcome> {
    let turns = turns(&read_text(file)?)?;
    let document = match location.reach(StoreLocation::workspace_or_new)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let options = ExtractionOptions {
                conversation: args.conversation.clone(),
                readers: None,
                dry_run: args.dry_run,
            };
            let turns = haversack::wire::conversation("conversation", &turns)?;
            let extraction = workspace.extract_memories(&Viewer::owner(), &turns, &options).await?;
            workspace.flush().await;
            anyhow::Ok(haversack_serve::extraction_document(&extraction))
        })?,
        WorkspaceTarget::Server(server) => {
            server.create_if_missing()?;
            server.extract(&json!({
                "conversation": turns, "conversationId": args.conversation, "dryRun": args.dry_run,
            }))?
        }
    };
    if args.json {
        print(&serde_json::to_string_pretty(&document)?)?;
    } else {
        print(&extraction_text(&document, args.dry_run))?;
    }
    let found = document["memories"].as_array().is_some_and(|found| !found.is_empty());
    Ok(if found { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

fn extraction_text(document: &Value, dry_run: bool) -> String {
    let list = |name: &str| document[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for memory in list("memories") {
        let (kind, content) = (text(&memory["type"]), text(&memory["content"]));
        let turn = memory["turn"].as_u64().map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let confidence = memory["confidence"].as_f64().unwrap_or_default();
        lines.push(format!("{}  {content}  ({kind}, {confidence:.2}{turn})", text(&memory["id"])));
        let old = memory["supersedes"].as_array().cloned().unwrap_or_default();
        lines.extend(old.iter().map(|old| format!("    supersedes {}", text(old))));
    }
    for left_out in list("leftOut") {
        lines.push(format!("not new: {}: {}", text(&left_out["id"]), server_reason(&left_out)));
    }
    let count = list("memories").len();
    let verb = if dry_run { "would be stored" } else { "stored" };
    lines.push(format!("{count} memories {verb}, found by {}", text(&document["model"])));
    lines.join("\n")
}

/// Reads a conversation: a JSON list, JSON lines, or lines of text that begin with a name and a colon.
fn turns(text: &str) -> Result<Vec<haversack::wire::WireTurn>> {
    let text = text.trim();
    if text.starts_with('[') {
        return serde_json::from_str(text).context("the conversation is not a JSON list of turns");
    }
    if text.starts_with('{') {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let turn = |(n, line): (usize, &str)| {
            serde_json::from_str(line).with_context(|| format!("line {} is not a turn", n + 1))
        };
        return lines.map(turn).collect();
    }
    let mut turns: Vec<haversack::wire::WireTurn> = Vec::new();
    for line in text.lines() {
        let named = line.split_once(':').filter(|(name, _)| is_speaker(name));
        match (named, turns.last_mut()) {
            (Some((name, content)), _) => turns.push(haversack::wire::WireTurn {
                role: name.trim().to_owned(),
                content: content.trim().to_owned(),
                timestamp: None,
            }),
            (None, Some(last)) => {
                last.content.push('\n');
                last.content.push_str(line);
            }
            (None, None) => turns.push(haversack::wire::WireTurn {
                role: "user".to_owned(),
                content: line.to_owned(),
                timestamp: None,
            }),
        }
    }
    Ok(turns)
}

/// Whether the beginning of a line names a speaker: one to three capitalised or known words.
fn is_speaker(name: &str) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    let known = ["user", "assistant", "system", "tool", "human"];
    (1..=3).contains(&words.len())
        && words.iter().all(|word| {
            word.starts_with(char::is_uppercase) || known.contains(&word.to_lowercase().as_str())
        })
}

fn show(id: &ItemId, left_out: Option<String>) -> Result<ExitOutcome> {
    match left_out {
        None => {
            print(&format!("remembered as {id}"))?;
            Ok(ExitOutcome::Something)
        }
        Some(reason) => {
            print(&format!("not stored: {reason}"))?;
            Ok(ExitOutcome::Nothing)
        }
    }
}

/// The memory as a server takes it.
fn memory_document(item: &Item) -> Value {
    let mut document = json!({ "id": item.id.as_str() });
    let names = [
        ("content", "content"),
        ("type", "type"),
        ("conversation", "conversationId"),
        ("confidence", "confidence"),
        ("created_at", "createdAt"),
    ];
    for (field, name) in names {
        if let Some(value) = item.fields.get(field) {
            document[name] = value.clone();
        }
    }
    document
}

/// SkipReason a server did not store a memory.
fn server_reason(left_out: &Value) -> String {
    let of = left_out["of"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of: Vec<&str> = of.collect();
    match left_out["reason"].as_str() {
        Some("repeats") => repeats(of.first().unwrap_or(&"another memory")),
        _ => echoes(&of.join(", ")),
    }
}

fn item(args: &RememberArgs) -> Result<Item> {
    let text = match args.text.as_str() {
        "-" => read_text(Path::new("-"))?,
        text => text.to_owned(),
    };
    ensure!(!text.trim().is_empty(), "there is nothing to remember: the text is empty");
    let at = now();
    let id = args.id.clone().unwrap_or_else(|| format!("memory-{}", at.as_millis()));
    let mut item = Item::new(ItemId::new(&id).context("--id")?, Kind::new("memory")?, "");
    let fields = [
        ("content", Some(json!(text.trim()))),
        ("type", args.memory_type.as_ref().map(|name| json!(name))),
        ("conversation", args.conversation.as_ref().map(|id| json!(id))),
        ("confidence", args.confidence.map(|part| json!(part))),
        ("created_at", Some(json!(at.as_millis()))),
    ];
    item.fields =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(item)
}

fn reason(why: &SkipReason) -> String {
    let names = |ids: &[ItemId]| ids.iter().map(ItemId::to_string).collect::<Vec<_>>().join(", ");
    match why {
        SkipReason::Repeats { of } => repeats(of.as_str()),
        SkipReason::Echoes { of } => echoes(&names(of)),
    }
}

fn repeats(of: &str) -> String {
    format!("it repeats {of}; --id {of} replaces that")
}

fn echoes(of: &str) -> String {
    format!("it only repeats what earlier packs said from {of}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_read_as_json_lines_or_text() {
        let check = |text: &str| {
            let turns = turns(text).unwrap();
            let shown: Vec<String> =
                turns.iter().map(|turn| format!("{}: {}", turn.role, turn.content)).collect();
            assert_eq!(shown, ["user: I moved.", "assistant: Where to?"], "{text}");
        };
        check(
            r#"[{"role": "user", "content": "I moved."},
                  {"role": "assistant", "content": "Where to?"}]"#,
        );
        check(
            "{\"role\": \"user\", \"content\": \"I moved.\"}\n\n\
               {\"role\": \"assistant\", \"content\": \"Where to?\"}",
        );
        check("user: I moved.\nassistant: Where to?");
        let long = turns("Anna Berg: one\nand more: of it\nBen: two").unwrap();
        assert_eq!(long.len(), 2);
        assert_eq!(long[0].content, "one\nand more: of it");
        turns("{\"role\": 1}").unwrap_err();
    }
}
