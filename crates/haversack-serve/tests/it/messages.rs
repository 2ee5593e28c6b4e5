//! Packs as messages for providers, over HTTP.

use haversack_eval::samples::Sample;
use serde_json::{Value, json};

use crate::support::Running;

const PATH: &str = "/v1/workspaces/proposal/context/proposal";

async fn proposals() -> (Running, Value) {
    let running = Running::start().await;
    running.sample("proposal");
    let prompt = Sample::named("proposal").unwrap().questions[0].text;
    let turns = json!([
        { "role": "user", "content": "Who is the customer?" },
        { "role": "tool", "content": "crm: Harrowmere" },
        { "role": "assistant", "content": "A hospital." },
    ]);
    let body = json!({
        "opportunityId": "opp-harrowmere", "userPrompt": prompt, "targetBudget": 12_000,
        "conversationHistory": turns,
    });
    (running, body)
}

/// The texts of a list of blocks, joined.
fn joined(blocks: &Value) -> String {
    blocks.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_is_given_as_messages_on_request() {
    let (running, body) = proposals().await;
    let plain = running.post(PATH, &body).await.json();
    assert!(plain["assembly"].get("messages").is_none());
    let prompt = &body["userPrompt"];
    let reply = running.post(&format!("{PATH}?messages=anthropic"), &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let mut reply = reply.json();
    let messages = reply["assembly"]["messages"].take();
    assert_eq!(joined(&messages["system"]), plain["context"].as_str().unwrap());
    assert_eq!(messages["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    let expected = json!([
        { "role": "user", "content": "Who is the customer?" },
        { "role": "assistant", "content": "A hospital." },
        { "role": "user", "content": prompt },
    ]);
    assert_eq!(messages["messages"], expected);
    let notices = reply["assembly"]["notices"].as_array().unwrap();
    let omitted = notices.iter().find(|notice| notice["code"] == "TURNS_OMITTED").unwrap();
    assert_eq!(omitted["details"], json!({ "turns": 3, "omitted": 1 }));
    // The field of the body does the same as the parameter, and decides.
    let mut asked = body.clone();
    asked["messages"] = json!("openai");
    let reply = running.post(&format!("{PATH}?messages=anthropic"), &asked).await.json();
    let messages = &reply["assembly"]["messages"];
    // All layers of a proposal are stable, so the whole pack is the system's message.
    assert_eq!(messages["messages"][0], json!({ "role": "system", "content": plain["context"] }));
    assert_eq!(messages["messages"].as_array().unwrap()[1..], expected.as_array().unwrap()[..]);
    let key = messages["prompt_cache_key"].as_str().unwrap();
    assert!(key.starts_with("haversack-") && key.len() <= 64, "{key}");
    running.stop().await;
}

/// Besides `messages` and its notice nothing differs, in any shape.
#[tokio::test(flavor = "multi_thread")]
async fn messages_are_all_that_a_result_gains() {
    let running = Running::start().await;
    let steady = |mut result: Value| {
        result["assembly"].as_object_mut().unwrap().remove("messages");
        result["assembly"].as_object_mut().unwrap().remove("timingsMs");
        result
    };
    for sample in haversack_eval::samples::ALL {
        let name = sample.name;
        running.sample(name);
        let question = &sample.questions[0];
        let mut body: Value = serde_json::from_str(question.with).unwrap();
        body["query"] = json!(question.text);
        body["user"] = json!(question.user);
        let path = format!("/v1/workspaces/{name}/context/{name}?preview=true");
        let plain = running.post(&path, &body).await.json();
        for format in ["anthropic", "openai"] {
            let reply = running.post(&format!("{path}&messages={format}"), &body).await.json();
            let messages = &reply["assembly"]["messages"];
            assert!(messages["messages"].is_array(), "{name}: {reply}");
            if format == "anthropic" {
                assert_eq!(joined(&messages["system"]), plain["context"].as_str().unwrap());
            }
            let expected = json!({ "plain": steady(plain.clone()) });
            assert_eq!(json!({ "plain": steady(reply.clone()) }), expected, "{name}");
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_can_be_streamed_and_unknown_formats_are_refused() {
    let (running, body) = proposals().await;
    let path = format!("{PATH}?messages=openai");
    let ask = running.ask("POST", &path).header("accept", "text/event-stream").json(&body);
    let reply = ask.send().await;
    let result = reply.text.split("event: result\ndata: ").nth(1).unwrap();
    let result: Value = serde_json::from_str(result.trim()).unwrap();
    assert!(result["assembly"]["messages"]["messages"].is_array(), "{result}");
    assert!(reply.text.contains("\"code\":\"TURNS_OMITTED\""), "{}", reply.text);
    let unknown = running.post(&format!("{PATH}?messages=gemini"), &body).await;
    assert_eq!((unknown.status, unknown.json()["field"].clone()), (400, json!("messages")));
    for wrong in [json!("gemini"), json!(["user"]), json!(true)] {
        let mut asked = body.clone();
        asked["messages"] = wrong;
        let refused = running.post(PATH, &asked).await;
        assert_eq!((refused.status, refused.json()["field"].clone()), (400, json!("messages")));
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("is neither anthropic nor openai"), "{detail}");
    }
    running.stop().await;
}

#[test]
fn the_openapi_document_names_the_formats_and_has_an_example() {
    let document = haversack_serve::openapi();
    let operation = &document["paths"]["/v1/workspaces/{ws}/context/{recipe}"]["post"];
    let parameters = operation["parameters"].as_array().unwrap();
    let messages = parameters.iter().find(|parameter| parameter["name"] == "messages").unwrap();
    assert_eq!(messages["schema"], json!({ "type": "string", "enum": ["anthropic", "openai"] }));
    let schemas = &document["components"]["schemas"];
    assert!(schemas["Assembly"]["properties"]["messages"].is_object());
    let example = &schemas["ProviderMessages"]["examples"][0];
    assert_eq!(example["system"][0]["cache_control"]["type"], "ephemeral");
}
