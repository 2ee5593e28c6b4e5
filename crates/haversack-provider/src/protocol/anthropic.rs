//! Anthropic's messages. JSON comes back as the input of a tool that the model is made to call.

use serde_json::{Value, json};

use super::{
    ChatAnswer, ChatCall, ChatContent, Outgoing, OutputMode, Protocol, ReadResult, count, field,
    system_with_schema,
};

const TOOL: &str = "answer";

pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["/v1"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn output_modes(&self) -> &'static [OutputMode] {
        &[OutputMode::Schema, OutputMode::Format, OutputMode::Prompt]
    }

    fn chat(&self, call: &ChatCall<'_>) -> Option<Outgoing> {
        let mut body = json!({
            "model": call.model,
            "max_tokens": call.tokens_max,
            "system": system_with_schema(call),
            "messages": [{ "role": "user", "content": call.user }],
        });
        if let Some(temperature) = call.temperature {
            body["temperature"] = json!(temperature);
        }
        if call.mode == OutputMode::Schema {
            body["tools"] = json!([{
                "name": TOOL, "description": "Gives the answer.", "input_schema": call.schema,
            }]);
            body["tool_choice"] = json!({ "type": "tool", "name": TOOL });
        }
        if call.mode == OutputMode::Format {
            body["output_config"] =
                json!({ "format": { "type": "json_schema", "schema": call.schema } });
        }
        Some(Outgoing::new("/messages", body))
    }

    fn read_chat(&self, answer: &Value) -> ReadResult<ChatAnswer> {
        let blocks = field(answer, "/content")?.as_array().ok_or("content is not a list")?;
        let of_type = |wanted: &'static str| {
            blocks.iter().filter(move |block| block["type"].as_str() == Some(wanted))
        };
        let content = match of_type("tool_use").next().and_then(|block| block.get("input")) {
            Some(input) => ChatContent::Json(input.clone()),
            None => {
                let texts: Vec<&str> =
                    of_type("text").filter_map(|block| block["text"].as_str()).collect();
                if texts.is_empty() {
                    return Err("content has neither a tool's input nor a text".to_owned());
                }
                ChatContent::Text(texts.concat())
            }
        };
        Ok(ChatAnswer {
            content,
            tokens_in: tokens_in(answer),
            tokens_out: count(answer, "/usage/output_tokens"),
            is_cut: answer["stop_reason"].as_str() == Some("max_tokens"),
        })
    }

    fn count_tokens(&self, model: &str, text: &str) -> Option<Outgoing> {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": text }] });
        Some(Outgoing::new("/messages/count_tokens", body))
    }

    fn read_token_count(&self, answer: &Value) -> ReadResult<u64> {
        count(answer, "/input_tokens").ok_or_else(|| "it has no input_tokens".to_owned())
    }
}

/// All tokens that were read: those from the prompt cache are counted separately.
fn tokens_in(answer: &Value) -> Option<u64> {
    let read = count(answer, "/usage/input_tokens")?;
    let cached = ["/usage/cache_read_input_tokens", "/usage/cache_creation_input_tokens"];
    Some(read + cached.iter().filter_map(|pointer| count(answer, pointer)).sum::<u64>())
}
