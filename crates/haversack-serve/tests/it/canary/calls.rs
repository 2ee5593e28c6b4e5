//! Calls at random: every sort of route and tool, in the caller's workspaces and in others', with names,
//! receipts and states of others wherever a request can hold one.

use serde_json::{Value, json};

use super::words::{Sees, name, open_word};
use super::{Credential, Finds, ITEMS, TENANTS};

/// A generator whose numbers depend on nothing but the seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        (!among.is_empty()).then(|| &among[self.below(among.len())])
    }
}

/// A call that was chosen.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// Whether it must be refused, because it would remove what others have.
    pub(super) must_fail: bool,
    /// Whether it shows an earlier request, with the names that were sent then.
    pub(super) shows_past: bool,
}

impl Call {
    fn get(path: String) -> Call {
        let (headers, body) = (Vec::new(), Vec::new());
        Call { method: "GET", path, headers, body, must_fail: false, shows_past: false }
    }

    fn with(method: &'static str, path: String, body: &Value) -> Call {
        let headers = vec![("content-type", "application/json".to_owned())];
        Call { method, headers, body: body.to_string().into_bytes(), ..Call::get(path) }
    }

    fn post(path: String, body: &Value) -> Call {
        Call::with("POST", path, body)
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.headers.push((name, value.into()));
        self
    }

    /// Everything that was sent, as text.
    pub(super) fn sent(&self) -> String {
        format!("{} {:?} {}", self.path, self.headers, String::from_utf8_lossy(&self.body))
    }
}

/// What a call is aimed at: a workspace, and names that may be of others.
struct Aim {
    workspace: String,
    base: String,
    /// Whether the caller has a right to the workspace.
    is_own: bool,
    item: String,
    receipts: [String; 2],
    state: String,
    query: String,
}

impl Aim {
    fn choose(dice: &mut Dice, credential: &Credential, finds: &Finds) -> Aim {
        let other = dice.below(TENANTS);
        let own = dice.pick(&credential.tenants).copied();
        let tenant = own.filter(|_| dice.below(4) > 0).unwrap_or(other);
        let workspace = name(tenant);
        let of_item = if dice.below(2) == 0 { tenant } else { dice.below(TENANTS) };
        let receipt = |dice: &mut Dice| {
            dice.pick(&finds.receipts).cloned().unwrap_or_else(|| "none".to_owned())
        };
        // Canaries are asked for by those alone who may see them; names, by everybody.
        let word = match own.filter(|_| credential.sees > Sees::Nothing) {
            Some(own) if dice.below(3) == 0 => open_word(own),
            _ => name(dice.below(TENANTS)),
        };
        let query = match dice.below(3) {
            0 => word,
            1 => format!("{word} plan budget"),
            _ => "plan budget launch tea".to_owned(),
        };
        Aim {
            base: format!("/v1/workspaces/{workspace}"),
            is_own: credential.tenants.contains(&tenant),
            workspace,
            item: format!("{}-{}", name(of_item), dice.below(ITEMS)),
            receipts: [receipt(dice), receipt(dice)],
            state: dice.pick(&finds.states).cloned().unwrap_or_else(|| "s-0".to_owned()),
            query,
        }
    }

    /// A request for a pack; one in three names an item or a receipt, which may be of others.
    fn pack(&self, dice: &mut Dice, recipe: &str) -> Value {
        let (query, item) = (&self.query, &self.item);
        let with_names = dice.below(3) == 0;
        let mut request = match recipe {
            "prime" => json!({ "message": query }),
            "workspace" => json!({ "query": query, "focus": { "blockId": item } }),
            "proposal" => json!({ "opportunityId": item, "userPrompt": query }),
            "situation" => {
                json!({ "currentContext": item, "situation": { "task": query }, "intent": query })
            }
            _ => json!({ "query": query, "tokenBudget": 900 }),
        };
        match (with_names, recipe) {
            (true, "prime") => request["threadId"] = json!(item),
            (true, "memory") => request["conversationId"] = json!(item),
            (true, "everything") if dice.below(2) == 0 => {
                request["previous"] = json!(self.receipts[0]);
            }
            (true, "everything") => request["hints"] = json!({ "includeBlocks": [item] }),
            _ => {}
        }
        request
    }
}

const RECIPES: [&str; 8] =
    ["everything", "everything", "memory", "memory", "prime", "workspace", "situation", "proposal"];

/// Chooses a call.
pub(super) fn choose(dice: &mut Dice, credential: &Credential, finds: &Finds) -> Call {
    let aim = Aim::choose(dice, credential, finds);
    let mut call = match dice.below(10) {
        0..=2 => packs(dice, &aim),
        3..=4 => reads(dice, &aim),
        5 => looks_back(dice, &aim),
        6 => writes(dice, &aim),
        7 => mistakes(dice, &aim),
        _ => over_mcp(dice, &aim),
    };
    if let Some(user) = credential.user {
        call = call.header("haversack-user", user);
    }
    call
}

fn packs(dice: &mut Dice, aim: &Aim) -> Call {
    let recipe = RECIPES[dice.below(RECIPES.len())];
    let (base, body) = (&aim.base, aim.pack(dice, recipe));
    match dice.below(6) {
        0 => Call::post(format!("{base}/context/{recipe}?preview=true"), &body),
        1 => Call::post(format!("{base}/context/{recipe}"), &body)
            .header("accept", "text/event-stream"),
        2 => {
            let request = json!({ "query": aim.query });
            let body = json!({ "request": request, "budgets": [200, 900] });
            Call::post(format!("{base}/frontier/{recipe}"), &body)
        }
        3 => {
            let body = json!({ "query": aim.query, "asOf": { "revision": aim.state } });
            Call::post(format!("{base}/context/everything"), &body)
        }
        4 => Call::post(format!("{base}/context/{recipe}?messages=anthropic"), &body),
        _ => Call::post(format!("{base}/context/{recipe}?explain=true"), &body),
    }
}

fn reads(dice: &mut Dice, aim: &Aim) -> Call {
    let Aim { base, item, query, .. } = aim;
    match dice.below(11) {
        0 => Call::get("/v1/workspaces".to_owned()),
        1 => Call::get(base.clone()),
        2 => Call::get(format!("{base}/items?limit=20")),
        3 => Call::get(format!("{base}/items?parent={item}&after={item}")),
        4 | 5 => Call::get(format!("{base}/items/{item}")),
        6 => Call::get(format!("{base}/recipes")),
        7 => Call::get(format!("{base}/templates")),
        8 => {
            let body = json!({ "searches": [{ "query": query }] });
            Call::post(format!("{base}/memories/search"), &body)
        }
        9 => Call::post(format!("{base}/estimate"), &json!({ "text": query })),
        _ => Call::post(format!("{base}/search"), &json!({ "query": query, "limit": 20 })),
    }
}

fn looks_back(dice: &mut Dice, aim: &Aim) -> Call {
    let Aim { base, receipts: [one, other], item, .. } = aim;
    let call = match dice.below(5) {
        0 => Call::get(format!("{base}/receipts/{one}")),
        1 => Call::post(format!("{base}/receipts/{one}/replay"), &json!({})),
        2 => Call::get(format!("{base}/receipts/{one}/diff/{other}")),
        3 => {
            let body = json!({ "receipt": one, "response": format!("As [{item}] says.") });
            Call::post(format!("{base}/citations"), &body)
        }
        _ => {
            let body = json!({ "contextItemId": item, "useful": true });
            Call::post(format!("{base}/feedback"), &body)
        }
    };
    Call { shows_past: true, ..call }
}

fn writes(dice: &mut Dice, aim: &Aim) -> Call {
    let Aim { base, item, query, .. } = aim;
    // Names of items that are written are few, so that a long run does not fill the folder.
    let own = format!("{}-late-{}", aim.workspace, dice.below(4));
    match dice.below(7) {
        0 => {
            let new =
                json!([{ "id": own, "kind": "note", "body": "Tea at four.", "parent": item }]);
            Call::post(format!("{base}/items"), &new)
        }
        1 => {
            let content = format!("The launch number {} has tea.", dice.below(9));
            let body = json!({ "memories": [{ "content": content, "type": "fact" }] });
            Call::post(format!("{base}/memories"), &body)
        }
        2 => {
            let link =
                json!({ "from": item, "to": format!("{}-0", aim.workspace), "sort": "link" });
            Call::post(format!("{base}/links"), &json!({ "add": [link] }))
        }
        3 => {
            let event = json!({ "item": item, "happening": "viewed", "user": "anna" });
            Call::post(format!("{base}/events"), &json!({ "events": [event] }))
        }
        4 => {
            let body = json!({ "header": "## Notes\n", "item": "- {{content}}\n" });
            Call::with("PUT", format!("{base}/templates/mine"), &body)
        }
        5 => {
            let method = if aim.is_own { "GET" } else { "DELETE" };
            let path =
                if dice.below(2) == 0 { base.clone() } else { format!("{base}/items/{item}") };
            let must_fail = !aim.is_own;
            Call { method, must_fail, ..Call::get(path) }
        }
        // A text that its reader would find again, of words that it may see.
        _ => Call::post(format!("{base}/search"), &json!({ "query": query, "fields": { "x": 1 } })),
    }
}

/// Requests that are wrong, whose errors name what was wrong.
fn mistakes(dice: &mut Dice, aim: &Aim) -> Call {
    let Aim { base, item, query, workspace, .. } = aim;
    match dice.below(8) {
        0 => Call::post(format!("{base}/items"), &json!([{ "id": 7 }])),
        1 => Call::post(format!("{base}/context/none"), &json!({ "query": query })),
        2 => Call::get(format!("{base}/templates/{workspace}")),
        3 => Call::get(format!("{base}/recipes/{workspace}")),
        4 => Call::get(format!("/v1/workspaces/{}", &workspace[..workspace.len() - 1])),
        5 => {
            let broken = Call::post(format!("{base}/search"), &json!({}));
            Call { body: format!("{{\"query\": \"{item}\"").into_bytes(), ..broken }
        }
        6 => {
            let body = json!({ "query": query, "template": workspace, "ranker": workspace });
            Call::post(format!("{base}/context/memory"), &body)
        }
        _ => Call::get(format!("{base}/{item}")),
    }
}

fn over_mcp(dice: &mut Dice, aim: &Aim) -> Call {
    let Aim { workspace, item, query, receipts, .. } = aim;
    let recipe = RECIPES[dice.below(RECIPES.len())];
    let uri = match dice.below(3) {
        0 => format!("haversack://{workspace}/receipts/{}", receipts[0]),
        _ => format!("haversack://{workspace}/items/{item}"),
    };
    let tool = |name: &str, mut arguments: Value| {
        arguments["workspace"] = json!(workspace);
        ("tools/call", json!({ "name": name, "arguments": arguments }))
    };
    let (method, params) = match dice.below(12) {
        0..=2 => tool("context_pack", json!({ "query": query, "recipe": recipe })),
        3 | 4 => tool("context_search", json!({ "query": query, "limit": 5 })),
        5 => tool("context_explain", json!({ "receipt": receipts[0] })),
        6 => tool("memory_add", json!({ "content": "The launch has tea, says everyone." })),
        7 => tool("feedback", json!({ "item": item, "useful": false })),
        8 => ("resources/list", json!({})),
        9 | 10 => ("resources/read", json!({ "uri": uri })),
        _ => {
            let arguments = json!({ "query": query });
            ("prompts/get", json!({ "name": recipe, "arguments": arguments }))
        }
    };
    let shows_past = params["name"] == "context_explain" || method == "resources/read";
    Call { shows_past, ..message(workspace, method, params) }
}

/// A message of the newer protocol, where each request stands alone.
fn message(workspace: &str, method: &'static str, mut params: Value) -> Call {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let call = Call::post("/mcp".to_owned(), &body)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("haversack-workspace", workspace)
        .header("mcp-method", method);
    let named = ["name", "uri"].into_iter().find_map(|field| body["params"][field].as_str());
    match named {
        Some(named) => call.header("mcp-name", named),
        None => call,
    }
}
