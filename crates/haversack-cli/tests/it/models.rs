//! Models of a provider on loopback, used by commands: what embedding costs, caps, a judge in the demo, and summaries
//! that are made before the program ends.

#[expect(dead_code, reason = "the tests of providers use more of it")]
#[path = "../../../haversack-provider/tests/it/server.rs"]
mod provider;

use serde_json::{Value, json};

use self::provider::{Asked, Reply, TestServer};
use super::server::RunningServer;
use super::{TestFolder, check, err, json as printed, out};

fn answer(asked: &Asked, _: usize) -> Reply {
    if asked.path.ends_with("/embeddings") {
        let texts = asked.body["input"].as_array().cloned().unwrap_or_default();
        let vector = |(index, _)| json!({"index": index, "embedding": [1.0, 0.5, 0.25]});
        let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
        return Reply::json(&json!({"data": data, "usage": {"prompt_tokens": texts.len() * 500}}));
    }
    let user = asked.body["messages"][1]["content"].as_str().unwrap_or_default();
    let content = match user.split_once("Conditions: ") {
        Some((_, conditions)) => {
            let conditions: Vec<Value> = serde_json::from_str(conditions).unwrap();
            let verdict = |condition: &Value| json!({"id": condition["id"], "answer": "yes", "sureness": 0.9, "reason": "it says so"});
            json!({"verdicts": conditions.iter().map(verdict).collect::<Vec<_>>()})
        }
        None => json!({"summary": "In short: the painters worked in the hall."}),
    };
    Reply::json(&json!({
        "choices": [{"message": {"content": content.to_string()}}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 20},
    }))
}

/// A provider, and a folder whose `data` has these settings for it.
fn start(test: &str, models: &str) -> (TestServer, TestFolder) {
    let (provider, folder) = (TestServer::start(answer), TestFolder::new(test));
    let settings = format!(
        "[providers.p]\nprotocol = \"openai\"\nbase_url = \"{}\"\nretries = 0\n{models}",
        provider.url
    );
    folder.file("models.toml", settings);
    check(&folder, "notes", &["model", "set", "models.toml"], 0);
    std::fs::create_dir_all(folder.0.join("docs")).unwrap();
    folder.file("docs/tea.md", "tea is green\n").file("docs/launch.md", "the launch is in may\n");
    (provider, folder)
}

fn run(folder: &TestFolder, arguments: &[&str]) -> std::process::Output {
    folder.run(&[&["--data", "data", "--workspace", "notes"], arguments].concat())
}

const EMBED: &str =
    "[models.embed]\nprovider = \"p\"\nmodel = \"e\"\ndimensions = 3\nprice_in = 2.0\n";

#[test]
fn commands_that_embed_end_with_what_that_used_m5() {
    let (_provider, folder) = start("embed-cost", EMBED);
    let used = "embedded 2 texts: 1 call, 1,000 tokens, 0.0020 (prices of models.toml)\n";
    let added = check(&folder, "notes", &["add", "docs"], 0);
    assert!(added.contains(used), "{added}");
    let again = printed(&run(&folder, &["add", "docs", "--json"]));
    assert_eq!((&again["stored"], &again["unchanged"]), (&json!(0), &json!(2)), "{again}");
    let nothing = json!({"texts": 0, "calls": 0, "tokens": 0, "cost": 0.0});
    assert_eq!(again["embedding"], nothing, "{again}");
    folder.file("docs/coffee.md", "coffee is black\n");
    let third = printed(&run(&folder, &["add", "docs", "--json"]));
    let one = json!({"texts": 1, "calls": 1, "tokens": 500, "cost": 0.001});
    assert_eq!(third["embedding"], one, "{third}");
    let reembedded = printed(&run(&folder, &["reembed", "--json"]));
    assert_eq!(reembedded["texts"], 3, "{reembedded}");
    assert!(reembedded["embedding"]["tokens"].is_u64(), "{reembedded}");
    let used = printed(&run(&folder, &["model", "use", "embed", "--json"]));
    assert!(used["embedding"]["calls"].is_u64(), "{used}");
    let shown = check(&folder, "notes", &["model", "use", "embed"], 0);
    assert!(shown.contains("\nembedded "), "{shown}");
}

#[test]
fn without_a_provider_no_command_speaks_of_its_cost() {
    let folder = TestFolder::new("no-cost");
    folder.file("a.md", "tea is green\n");
    let added = check(&folder, "notes", &["add", "a.md"], 0);
    assert!(!added.contains("embedded"), "{added}");
    let again = printed(&run(&folder, &["add", "a.md", "--json"]));
    assert_eq!(again["embedding"], Value::Null);
    assert!(!check(&folder, "notes", &["reembed"], 0).contains("token"));
}

#[test]
fn an_import_over_the_cap_is_refused_and_the_tally_outlives_the_process_b4() {
    let settings = format!("[models]\ntokens_per_day = 1200\n{EMBED}");
    let (provider, folder) = start("embed-cap", &settings);
    check(&folder, "notes", &["add", "docs"], 0);
    folder.file("docs/coffee.md", "coffee is black\n");
    check(&folder, "notes", &["add", "docs"], 0);
    let calls = provider.asked().len();
    folder.file("docs/juice.md", "juice is orange\n");
    let refused = run(&folder, &["add", "docs"]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    let expected = "workspace notes has used 1500 of its 1200 tokens a day for models";
    assert!(err(&refused).contains(expected), "{}", err(&refused));
    assert!(err(&refused).contains("embedded 0 texts: 0 calls"), "{}", err(&refused));
    assert_eq!(provider.asked().len(), calls);
    let found = run(&folder, &["search", "coffee", "--json"]);
    assert_eq!(printed(&found)["results"].as_array().unwrap().len(), 1);
    // Another workspace has its own.
    let other = check(&folder, "other", &["add", "docs/tea.md"], 0);
    assert!(other.contains("embedded 1 text: 1 call, 500 tokens"), "{other}");
}

/// A server's file may hold caps alone; they are for the models that the data folder names.
#[test]
fn caps_of_the_servers_file_hold_for_the_models_of_the_data_folder_b4() {
    let (provider, folder) = start("server-caps", EMBED);
    folder.file("server.toml", "[models]\ntokens_per_day = 1200\n");
    let _server = RunningServer::start_with(&folder, "off", &["--config", "server.toml"]);
    check(&folder, "notes", &["add", "docs"], 0);
    folder.file("docs/coffee.md", "coffee is black\n");
    check(&folder, "notes", &["add", "docs"], 0);
    let calls = provider.asked().len();
    folder.file("docs/juice.md", "juice is orange\n");
    let refused = run(&folder, &["add", "docs"]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("of its 1200 tokens a day"), "{}", err(&refused));
    assert_eq!(provider.asked().len(), calls);
}

#[test]
fn a_key_is_created_with_a_cap_that_the_list_shows_b4() {
    let folder = TestFolder::new("key-cap");
    let caps = ["--model-tokens-per-day", "50000", "--model-cost-per-day", "2.5"];
    check(&folder, "notes", &[&["key", "create", "app"][..], &caps].concat(), 0);
    check(&folder, "notes", &["key", "create", "free"], 0);
    let listed = check(&folder, "notes", &["key", "list"], 0);
    let lines: Vec<&str> = listed.lines().collect();
    let capped = lines.iter().find(|line| line.contains("  app  ")).unwrap();
    assert!(
        capped.ends_with("at most 50,000 tokens and a cost of 2.5 of models a day"),
        "{listed}"
    );
    let free = lines.iter().find(|line| line.contains("  free  ")).unwrap();
    assert!(free.ends_with("never used"), "{listed}");
    let keys = printed(&run(&folder, &["key", "list", "--json"]));
    let app = keys.as_array().unwrap().iter().find(|key| key["name"] == "app").unwrap();
    assert_eq!((&app["modelTokensPerDay"], &app["modelCostPerDay"]), (&json!(50_000), &json!(2.5)));
    let wrong = run(&folder, &["key", "create", "bad", "--model-cost-per-day", "-1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
}

const JUDGE: &str = "[models.judge]\nprovider = \"p\"\nmodel = \"j\"\n";

#[test]
fn the_demo_is_judged_by_the_model_of_the_users_settings_s3() {
    let (provider, folder) = start("demo-judge", JUDGE);
    let asked = |folder: &TestFolder, arguments: &[&str]| {
        let shown = folder.run(&[&["demo", "--only", "situation"], arguments].concat());
        assert_eq!(shown.status.code(), Some(0), "{}", err(&shown));
        out(&shown)
    };
    let page = asked(&folder, &["--models", "models.toml"]);
    assert!(page.contains("judged with j@p"), "{page}");
    assert!(page.contains("but for j@p, which judges the situation"), "{page}");
    assert_eq!(provider.asked().len(), 1, "all conditions in one call");
    // Settings in the data folder that the demo fills count, too.
    assert!(asked(&folder, &["--data", "data"]).contains("judged with j@p"));
    // Settings without a judge change nothing.
    folder.file("data/models.toml", "[providers.p]\nprotocol = \"openai\"\n");
    let local = asked(&folder, &["--data", "data"]);
    assert!(local.contains("judged on this machine"), "{local}");
    let none = folder.run(&["demo", "--models", "data/models.toml"]);
    assert!(err(&none).contains("models.judge is not set"), "{}", err(&none));
}

#[test]
fn a_pack_waits_for_the_summaries_that_it_asked_for_w8() {
    let summarise = "[models.summarise]\nprovider = \"p\"\nmodel = \"s\"\n";
    let (_provider, folder) = start("summaries", summarise);
    let recipe = "haversack = 1\nname = \"short\"\n[[layer]]\nname = \"notes\"\ntitle = \"Notes\"\n\
                  cut = \"summarize\"\nshare = 1.0\ncollect = [{ by = \"hybrid\", limit = 20 }]\n";
    let diary: String =
        (0..80).map(|n| format!("On day {n} the painters worked in the hall. ")).collect();
    folder.file("short.toml", recipe).file("docs/diary.txt", diary);
    check(&folder, "notes", &["add", "docs"], 0);
    let pack = ["pack", "painters", "--recipe", "short.toml", "--budget", "200"];
    let first = run(&folder, &pack);
    assert!(err(&first).contains("making 1 summary for later packs"), "{}", err(&first));
    assert!(!out(&first).contains("In short"), "{}", out(&first));
    let second = run(&folder, &pack);
    assert!(out(&second).contains("by s@p) In short"), "{}", out(&second));
    assert!(!err(&second).contains("making"), "{}", err(&second));
}
