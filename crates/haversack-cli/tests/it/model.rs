//! `haversack model`, with a tiny transformer that is written here.

use std::fs;

use super::{TestFolder, check, err, json, tiny};

/// A folder with a model, and two workspaces in `data`.
fn folder(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    tiny::write(&folder.0.join("tiny"));
    fs::create_dir_all(folder.0.join("docs")).unwrap();
    folder.file("docs/tea.md", "tea is green\n").file("docs/launch.md", "the launch is in may\n");
    for workspace in ["notes", "more"] {
        check(&folder, workspace, &["add", "docs"], 0);
    }
    folder
}

fn run(folder: &TestFolder, arguments: &[&str]) -> std::process::Output {
    folder.run(&[&["--data", "data", "--workspace", "notes"], arguments].concat())
}

#[test]
fn a_transformer_is_added_used_and_given_up_m4() {
    let folder = folder("model-use");
    let listed = check(&folder, "notes", &["model", "list"], 0);
    assert!(listed.contains("* built-in         256     inside     512  "), "{listed}");
    let added = check(&folder, "notes", &["model", "add", "./tiny"], 0);
    assert!(added.starts_with("added tiny: 32 dimensions, 0.1 MB, apache-2.0; "), "{added}");
    let next = "to put it to use: haversack model use tiny --workspace notes --data data\n";
    assert!(added.ends_with(next), "{added}");
    let used = check(&folder, "notes", &["model", "use", "tiny"], 0);
    let lines: Vec<&str> = used.lines().collect();
    assert!(lines[0].starts_with("more: 2 texts have vectors by tiny@"), "{used}");
    assert!(lines[1].starts_with("notes: 2 texts have vectors by tiny@"), "{used}");
    assert_eq!(lines[2], "tiny is in use");
    let stats = json(&run(&folder, &["stats", "--json"]));
    assert!(stats["model"].as_str().unwrap().ends_with("/32"), "{stats}");
    assert_eq!(stats["stale"], false);
    // What is added later is embedded by it, too, and found by meaning alone.
    folder.file("docs/coffee.md", "coffee is black\n");
    check(&folder, "notes", &["add", "docs"], 0);
    let found = json(&run(&folder, &["search", "--vector", "coffee is black", "--json"]));
    assert_eq!(found["results"].as_array().unwrap().len(), 3, "{found}");
    check(&folder, "notes", &["remember", "the launch is in may"], 0);
    let arguments = ["pack", "when is the launch?", "--recipe", "memory", "--json"];
    let packed = json(&run(&folder, &arguments));
    assert_eq!(packed["assembly"]["degraded"], false, "{packed}");
    assert_eq!(packed["assembly"]["notices"], serde_json::json!([]), "{packed}");
    let models = json(&run(&folder, &["model", "list", "--json"]));
    assert_eq!((&models[0]["inUse"], &models[1]["inUse"]), (&false.into(), &true.into()));
    assert_eq!((&models[1]["name"], &models[1]["dimensions"]), (&"tiny".into(), &32.into()));
    let refused = check(&folder, "notes", &["model", "remove", "tiny"], 2);
    assert!(
        refused.contains("the model \"tiny\" is in use: choose another one first"),
        "{refused}"
    );
    let back = json(&run(&folder, &["model", "use", "built-in", "--json"]));
    assert_eq!((&back["embedded"]["notes"], &back["embedded"]["more"]), (&4.into(), &2.into()));
    assert_eq!(json(&run(&folder, &["stats", "--json"]))["stale"], false);
    assert_eq!(check(&folder, "notes", &["model", "remove", "tiny"], 0), "removed tiny\n");
}

#[test]
fn a_reranker_is_added_used_and_given_up_m4() {
    let folder = folder("model-rerank");
    let mut config = tiny::config();
    config["architectures"] = serde_json::json!(["BertForSequenceClassification"]);
    folder.file("tiny/config.json", config.to_string());
    let added = check(&folder, "notes", &["model", "add", "./tiny", "--name", "pairs"], 0);
    assert!(added.starts_with("added pairs: a reranker, 0.1 MB, apache-2.0; "), "{added}");
    assert_eq!(check(&folder, "notes", &["model", "use", "pairs"], 0), "pairs reranks\n");
    let listed = check(&folder, "notes", &["model", "list"], 0);
    assert!(listed.contains("* built-in ") && listed.contains("* pairs "), "{listed}");
    // It counts where a recipe says so.
    let recipe = "haversack = 1\nname = \"reread\"\nextends = \"everything\"\n\
        [[layer]]\nname = \"found\"\nscore = { fusion = 0.5, rerank = 0.5 }\n";
    folder.file("reread.toml", recipe);
    let arguments = ["pack", "when is the launch?", "--recipe", "reread.toml", "--json"];
    let packed = json(&run(&folder, &[&arguments[..], &["--explain"]].concat()));
    let text = packed.to_string();
    assert!(text.contains("\"rerank\""), "{text}");
    let refused = check(&folder, "notes", &["model", "remove", "pairs"], 2);
    assert!(refused.contains("the model \"pairs\" is in use"), "{refused}");
    assert_eq!(check(&folder, "notes", &["model", "use", "none"], 0), "nothing reranks\n");
    assert!(
        !json(&run(&folder, &[&arguments[..], &["--explain"]].concat()))
            .to_string()
            .contains("\"rerank\"")
    );
    assert_eq!(check(&folder, "notes", &["model", "remove", "pairs"], 0), "removed pairs\n");
}

#[test]
fn what_is_no_model_is_told() {
    let folder = folder("model-errors");
    let told = |arguments: &[&str], expected: &str| {
        let error = check(&folder, "notes", arguments, 2);
        assert!(error.contains(expected), "{error}");
    };
    told(&["model", "add", "docs"], "docs/config.json is missing: a model's folder has");
    check(&folder, "notes", &["model", "add", "tiny", "--name", "small"], 0);
    told(&["model", "add", "tiny", "--name", "small"], "there is a model \"small\" already");
    told(&["model", "add", "tiny", "--name", "Not a name"], "cannot name a model: use 1 to 64");
    told(&["model", "use", "smal"], "error: there is no model \"smal\"\nhint: did you mean small?");
    told(&["model", "use", "qqqqqqqq"], "hint: there are built-in, small");
    told(&["model", "remove", "tiny"], "there is no model \"tiny\"");
    // A model in use whose files are damaged is named, with the way out.
    check(&folder, "notes", &["model", "use", "small"], 0);
    folder.file("data/models/small/config.json", "{}");
    told(&["search", "tea"], "`haversack model use built-in` goes back");
    let listed = run(&folder, &["model", "list"]);
    assert!(err(&listed).contains("note: small cannot be used: "), "{}", err(&listed));
    check(&folder, "notes", &["model", "use", "built-in"], 0);
    assert!(check(&folder, "notes", &["search", "tea"], 0).contains("docs/tea.md"));
}

#[test]
fn quality_can_be_measured_with_a_model_m4() {
    let folder = folder("model-eval");
    fs::create_dir_all(folder.0.join("set")).unwrap();
    let corpus =
        "{\"id\":\"a\",\"text\":\"tea is green\"}\n{\"id\":\"b\",\"text\":\"the launch\"}\n";
    folder
        .file("set/corpus.jsonl", corpus)
        .file("set/queries.jsonl", "{\"id\":\"q\",\"text\":\"green tea\"}\n")
        .file("set/qrels.tsv", "q\ta\t1\n");
    let ndcg = |embedder: &str| {
        let arguments = ["eval", "set", "--budgets", "100", "--json", "--embedder", embedder];
        json(&run(&folder, &arguments))["ndcg10"].as_f64()
    };
    assert_eq!(ndcg("./tiny"), Some(1.0));
    check(&folder, "notes", &["model", "add", "tiny"], 0);
    assert_eq!(ndcg("tiny"), Some(1.0));
    let arguments = ["eval", "set", "--embedder", "tinny"];
    let error = check(&folder, "notes", &arguments, 2);
    assert!(error.contains("hint: did you mean tiny?"), "{error}");
}
