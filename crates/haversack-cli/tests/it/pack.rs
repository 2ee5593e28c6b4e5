//! Packs: of files, and of a workspace by every recipe, as the samples' page asks for them.

use haversack::{Engine, Request};
use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::viewer::Viewer;
use serde_json::Value;

use super::{TestFolder, check, err, json, out, sample_data};

const NOTES: &str = "# Team\n\nAnna leads the design team.\n\n# Launch\n\nThe launch of the new \
    map is planned for the third of May. Anna signs it off.\n\n# Lunch\n\nSoup on Mondays.\n";

#[test]
fn files_are_packed_within_a_budget_and_the_pack_explains_itself() {
    let folder = TestFolder::new("pack-files");
    folder.file("notes.md", NOTES);
    let args = ["pack", "when is the launch?", "notes.md"];
    let with = |more: &[&str]| folder.run(&[&args[..], more].concat());
    let packed = with(&["--budget", "120"]);
    assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
    assert!(out(&packed).contains("third of May"), "{}", out(&packed));
    assert!(err(&packed).contains("of 120 tokens (o200k_base, exact) · "), "{}", err(&packed));
    assert!(err(&packed).trim_end().ends_with(", not kept"), "{}", err(&packed));
    let explained = out(&with(&["--explain"]));
    for expected in ["What was found", "found by hybrid 1", "fusion 0.", "quality", "time"] {
        assert!(explained.contains(expected), "{expected}: {explained}");
    }
    assert!(!explained.contains('\u{1b}'), "no colours outside a terminal: {explained}");
    assert!(out(&with(&["--frontier"])).contains("coverage"));
    let document = json(&with(&["--json"]));
    assert!(document["tokenCount"].as_u64().unwrap() <= 4_000);
    assert_eq!(document["citations"][0]["path"], "notes.md");
    assert!(document["assembly"].get("ledger").is_none());
    assert!(json(&with(&["--json", "--explain"]))["assembly"]["ledger"].is_array());
    assert_eq!(out(&with(&[])), out(&with(&[])), "same input, same bytes");
    assert!(!folder.0.join("data").exists(), "nothing is kept");
}

#[test]
fn nothing_found_is_said_and_is_exit_code_one() {
    let folder = TestFolder::new("pack-nothing");
    folder.file("notes.md", NOTES).file("empty.md", "");
    let nothing = folder.run(&["pack", "launch", "empty.md"]);
    assert_eq!((nothing.status.code(), out(&nothing)), (Some(1), String::new()));
    assert!(err(&nothing).contains("nothing relevant was found"), "{}", err(&nothing));
}

/// X1: what does not fit is an error that names the least budget, and that budget works.
#[test]
fn a_budget_that_is_too_small_is_an_error_that_names_one_that_works() {
    let folder = TestFolder::new("pack-least");
    folder.file("notes.md", NOTES);
    for command in [&["pack"][..], &["frontier", "--budgets", "5"]] {
        let mut arguments = command.to_vec();
        arguments.extend(["launch", "notes.md"]);
        if command == ["pack"] {
            arguments.extend(["--budget", "5"]);
        }
        let small = folder.run(&arguments);
        assert_eq!((small.status.code(), out(&small)), (Some(2), String::new()));
        let said = err(&small);
        let least = said.split("hint: --budget ").nth(1).unwrap_or_else(|| panic!("{said}")).trim();
        let enough = folder.run(&["pack", "launch", "notes.md", "--budget", least]);
        assert_eq!(enough.status.code(), Some(0), "{}", err(&enough));
        assert!(!out(&enough).is_empty());
    }
    for none in ["0", "-5", "10000001", "many"] {
        let refused = folder.run(&["pack", "launch", "notes.md", "--budget", none]);
        assert_eq!(refused.status.code(), Some(2), "{none}");
        assert!(err(&refused).contains(none), "{}", err(&refused));
    }
}

#[test]
fn files_of_one_name_folders_and_standard_input_are_packed_together() {
    let folder = TestFolder::new("pack-many");
    for name in ["a", "b", "c/d"] {
        std::fs::create_dir_all(folder.0.join(name)).unwrap();
    }
    folder
        .file("a/notes.md", "The launch is in May.")
        .file("b/notes.md", "The launch was in April before.")
        .file("c/d/plan.txt", "After the launch there is cake.")
        .file(
            "rows.jsonl",
            "{\"id\": 7, \"title\": \"Plan\", \"text\": \"The launch is soon.\"}\n",
        );
    let paths = ["a/notes.md", "b/notes.md", "c", "rows.jsonl", "-"];
    let args = [&["pack", "launch", "--json"][..], &paths].concat();
    let packed = json(&folder.run_with(&args, b"The launch is sold out."));
    let citations = packed["citations"].as_array().unwrap();
    let mut items: Vec<&str> = citations.iter().map(|c| c["item"].as_str().unwrap()).collect();
    items.sort_unstable();
    assert_eq!(items, ["7", "a/notes.md", "b/notes.md", "c/d/plan.txt", "stdin"]);
}

#[test]
fn places_are_those_of_the_file_whatever_is_hidden_in_it() {
    let folder = TestFolder::new("places");
    let text = "\u{feff}First\r\n\r\nThe la\u{200b}unch is \u{202e}in May.\r\n";
    folder.file("notes.txt", text);
    let packed = folder.run(&["pack", "launch", "notes.txt", "--json"]);
    let document = json(&packed);
    assert!(document["context"].as_str().unwrap().contains("The launch is in May."));
    let span = &document["citations"][0]["spans"][0];
    let at = |index: usize| usize::try_from(span[index].as_u64().unwrap()).unwrap();
    assert!(text.get(at(0)..at(1)).is_some());
    let told = "note (HIDDEN_CHARACTERS): removed 2 hidden characters from notes.txt\n";
    assert!(err(&packed).contains(told), "{}", err(&packed));
}

#[test]
fn a_named_file_that_cannot_be_packed_is_an_error_and_a_bad_line_is_passed_over() {
    let folder = TestFolder::new("pack-bad");
    folder
        .file("broken.pdf", b"%PDF-1.4 nothing")
        .file("lone.jsonl", "{\"text\": \"launch\"}\n{\"text\": \"\\ud800\"}\n")
        .file("a.txt", "text");
    let fails = |arguments: &[&str], expected: &str| {
        let failed = folder.run(arguments);
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}");
        assert!(err(&failed).contains(expected), "{}", err(&failed));
    };
    fails(&["pack", "q", "gone.txt"], "error: cannot open gone.txt");
    fails(
        &["pack", "q", "broken.pdf"],
        "cannot pack broken.pdf: damaged or not what its name says",
    );
    fails(&["pack"], "say what is asked");
    fails(&["pack", "q", "a.txt", "--tokenizer", "o300k"], "o300k is neither a file nor one of");
    fails(&["pack", "q", "a.txt", "--tokenizer", "a.txt"], "is not a readable tokenizer.json");
    fails(&["pack", "q", "a.txt", "--model", "gpt-4p"], "unknown model \"gpt-4p\": nearest are");
    fails(&["pack", "q", "a.txt", "--all"], "--explain");
    fails(&["pack", "q", "-", "--request", "-"], "standard input is either");
    let packed = folder.run(&["pack", "launch", "lone.jsonl"]);
    assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
    assert!(err(&packed).contains("skipped: lone.jsonl:2: "), "{}", err(&packed));
    let capped = ["pack", "launch", "a.txt", "--model", "gpt-4", "--budget", "90000"];
    let told = err(&folder.run(&capped));
    let capped = "note (BUDGET_CAPPED): gpt-4 has room for 4192 tokens of context, not 90000\n";
    assert!(told.contains(capped), "{told}");
}

#[test]
fn each_application_is_asked_with_options_and_answers_in_its_own_shape_x5() {
    let folder = sample_data("shapes", &["proposal", "prime", "workspace", "situation", "memory"]);
    let ask = |recipe: &str, arguments: &[&str]| -> Value {
        let place = ["--data", "data", "--workspace", recipe];
        let common = ["--recipe", recipe, "--now", "2026-11-16T09:00:00Z", "--json"];
        json(&folder.run(&[&place[..], &["pack"], arguments, &common].concat()))
    };
    let proposal = ask(
        "proposal",
        &["Write the summary", "--opportunity", "opp-harrowmere", "--user", "priya"],
    );
    assert!(proposal["companyProfile"].is_object(), "{proposal}");
    assert_eq!(proposal["retrievalMetrics"]["dealContextItems"], 15);
    assert!(!proposal.to_string().contains("har-15"), "priya may not read it");
    let desk = ["--user", "priya", "--group", "deal-desk", "--opportunity", "opp-harrowmere"];
    let proposal = ask("proposal", &[&["Write the summary"][..], &desk].concat());
    assert_eq!(proposal["retrievalMetrics"]["dealContextItems"], 16);

    let prime =
        ask("prime", &["What must Nightjar cost?", "--thread", "t-price", "--user", "mara"]);
    assert!(prime["meta"]["tokenUsage"].as_u64().unwrap() <= 3_500);
    assert!(prime["data"]["stats"]["explicitCount"].as_u64().unwrap() > 0, "{}", prime["data"]);

    let page = ["--page", "p-opening", "--type", "assist", "--budget", "3000", "--user", "mara"];
    let blocks = ask("workspace", &[&["Summarise this page"][..], &page].concat());
    assert_eq!(blocks["metadata"]["focusPageId"], "p-opening");
    assert_eq!(blocks["sections"][0]["type"], "focus");
    let excluded = ["--exclude", "p-opening"];
    let blocks = ask("workspace", &[&["Summarise this page"][..], &page, &excluded].concat());
    assert!(!blocks["sections"].to_string().contains("\"blockId\":\"p-opening\""));

    let facts = r#"{"environment": "production", "tool": "run_sql"}"#;
    let context = ["--context", "task/refund-backfill", "--situation", facts, "--budget", "1200"];
    let situation = ask("situation", &[&context[..], &["--user", "katja"]].concat());
    assert_eq!(situation["metadata"]["currentContext"], "task/refund-backfill");
    assert!(situation["tokenCount"].as_u64().unwrap() <= 1_200);
    assert!(situation["rules"].to_string().contains("\"judge\":\"cel\""));

    let memory = ["How should answers be written?", "--type", "preference", "--budget", "150"];
    let memory = ask("memory", &[&memory[..], &["--user", "noor"]].concat());
    let found = memory["memories"].as_array().unwrap();
    assert!(found.iter().all(|found| found["memory"]["type"] == "preference"), "{memory}");
}

/// The program prints what the library packs, byte for byte, for each of the five.
#[test]
fn the_program_and_the_library_pack_the_same_bytes_x5() {
    let names = ["proposal", "prime", "workspace", "situation", "memory"];
    let folder = sample_data("same-bytes", &names);
    let facts = r#"{"environment": "production", "tool": "run_sql"}"#;
    let typed: [&[&str]; 5] = [
        &["Write the summary", "--user", "priya", "--opportunity", "opp-harrowmere"],
        &["What must Nightjar cost?", "--user", "mara", "--thread", "t-price"],
        &["What about the goods lift?", "--user", "mara", "--focus", "task-periodicals"],
        &["--user", "katja", "--context", "task/refund-backfill", "--situation", facts],
        &["Where does Noor live?", "--user", "noor", "--budget", "300"],
    ];
    let common = ["--now", "2026-11-16T09:00:00Z", "--preview"];
    let printed: Vec<String> = names
        .iter()
        .zip(typed)
        .map(|(name, typed)| {
            let ask = [&["pack", "--recipe", name][..], typed, &common].concat();
            check(&folder, name, &ask, 0)
        })
        .collect();
    let engine = Engine::open(folder.0.join("data")).unwrap();
    for (name, printed) in names.iter().zip(printed) {
        let id = |name: &str| Some(ItemId::new(name).unwrap());
        let about = |asked: Request, subject: &str, id: &str| {
            asked.about(subject, ItemId::new(id).unwrap())
        };
        let asked = |query: &str, user: &str| Request {
            viewer: Viewer::user(user).unwrap(),
            user: Some(user.to_owned()),
            now: Some(Timestamp::from_millis(1_794_819_600_000)),
            ..Request::new(name, query)
        };
        let request = match *name {
            "proposal" => {
                about(asked("Write the summary", "priya"), "opportunity", "opp-harrowmere")
            }
            "prime" => about(asked("What must Nightjar cost?", "mara"), "thread", "t-price"),
            "workspace" => Request {
                focus: id("task-periodicals"),
                ..asked("What about the goods lift?", "mara")
            },
            "situation" => Request {
                context: id("task/refund-backfill"),
                situation: serde_json::from_str(facts).unwrap(),
                ..asked("", "katja")
            },
            _ => asked("Where does Noor live?", "noor").within(300),
        };
        let workspace = engine.existing_workspace(name).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let packed = runtime.block_on(workspace.pack(request)).unwrap();
        let text = packed.text();
        assert!(text.len() > 100, "{name}: {text}");
        // Standard output ends with the end of a line.
        let line = if text.ends_with('\n') { "" } else { "\n" };
        assert_eq!(printed, format!("{text}{line}"), "{name}");
    }
}

#[test]
fn a_whole_request_comes_as_json_from_an_option_a_file_or_standard_input() {
    let folder = sample_data("request", &["memory"]);
    let whole = r#"{"query": "Where does Noor live now?", "includeRelationships": true,
        "tokenBudget": 500, "now": "2026-11-16T09:00:00Z"}"#;
    folder.file("request.json", whole);
    let base = ["--data", "data", "--workspace", "memory", "pack", "--recipe", "memory"];
    let ask = |request: &str, input: &str| {
        let asked =
            folder.run_with(&[&base[..], &["--request", request]].concat(), input.as_bytes());
        assert_eq!(asked.status.code(), Some(0), "{}", err(&asked));
        out(&asked)
    };
    let expected = ask(whole, "");
    assert!(expected.contains("Mechelen"), "{expected}");
    assert_eq!(ask("@request.json", ""), expected);
    assert_eq!(ask("-", whole), expected);
    let smaller = folder.run(&[&base[..], &["--request", whole, "--budget", "60"]].concat());
    assert!(err(&smaller).contains(" of 60 tokens"), "{}", err(&smaller));
}

#[test]
fn errors_have_their_name_for_programs_and_the_nearest_name_for_people_m11() {
    let folder = sample_data("pack-errors", &["memory"]);
    let fails = |arguments: &[&str], expected: &[&str]| {
        let base = ["--data", "data", "--workspace", "memory", "pack", "q"];
        let failed = folder.run(&[&base[..], arguments].concat());
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}");
        assert_eq!(out(&failed), "");
        for expected in expected {
            assert!(err(&failed).contains(expected), "{expected}: {}", err(&failed));
        }
    };
    fails(
        &["--recipe", "memry"],
        &["error (recipe_not_found): there is no recipe \"memry\"", "hint: did you mean memory?"],
    );
    fails(
        &["--recipe", "memory", "--template", "detaled"],
        &["error (template_not_found): ", "hint: did you mean detailed?"],
    );
    fails(&["--focus", "a\nb"], &["error (validation_error): focus.blockId: a name must not hold"]);
    fails(&["--now", "yesterday"], &["error (validation_error): now: is not a moment"]);
    fails(&["--recipe", "proposal"], &["(validation_error): opportunityId: is missing"]);
    fails(&["--previous", "0123456789abcdef"], &["error (receipt_not_found): there is no receipt"]);
    fails(&["--request", "[1]"], &["error: --request is not a JSON object"]);
    fails(&["--request", "{"], &["error: --request is not JSON: EOF while parsing"]);
    fails(&["--request", r#"{"qury": 1}"#], &["(validation_error): qury: unknown field `qury`"]);
    fails(&["--situation", "@gone.json"], &["error: --situation: cannot open gone.json"]);
    fails(&["--type", "a", "--type", "b"], &["--type: a request has one type"]);
    fails(&["--recipe", "gone.toml"], &["error: cannot open gone.toml"]);
    let elsewhere = folder.run(&["--data", "data", "--workspace", "memori", "pack", "q"]);
    assert!(err(&elsewhere).contains("nearest are memory"), "{}", err(&elsewhere));
    let nowhere = folder.run(&["--data", "gone", "pack", "q"]);
    assert!(err(&nowhere).contains("there is no data folder gone"), "{}", err(&nowhere));
}

#[test]
fn a_recipe_of_ones_own_is_a_file_beside_others_x6() {
    let folder = sample_data("own-recipe", &["memory"]);
    folder
        .file("base.toml", "haversack = 1\nextends = \"memory\"\n[budget]\ntotal = 90\n")
        .file("mine.toml", "haversack = 1\nextends = \"base\"\ndescription = \"mine\"\n");
    let base = ["--data", "data", "--workspace", "memory", "pack", "the kitchen"];
    let packed = folder.run(&[&base[..], &["--recipe", "./mine.toml"]].concat());
    assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
    assert!(err(&packed).contains(" of 90 tokens "), "{}", err(&packed));
}

#[test]
fn a_preview_leaves_no_trace_m9() {
    let folder = sample_data("preview", &["memory"]);
    let base = ["pack", "the kitchen", "--recipe", "memory", "--user", "noor"];
    let ask = |more: &[&str]| check(&folder, "memory", &[&base[..], more].concat(), 0);
    let receipts = || {
        let lines = check(&folder, "memory", &["export"], 0);
        lines.lines().filter(|line| line.contains("\"shelf\":\"receipt\"")).count()
    };
    let now = ["--now", "2026-11-16T09:00:00Z"];
    let previewed = ask(&[&now[..], &["--preview"]].concat());
    assert_eq!(receipts(), 0);
    assert_eq!(ask(&now), previewed, "a preview is what the build then gives");
    assert_eq!(receipts(), 1);
}

/// The body for a provider holds the context byte for byte, and nothing else is printed.
#[test]
fn a_pack_is_printed_as_messages_for_a_provider() {
    let folder = TestFolder::new("pack-messages");
    folder.file("notes.md", NOTES);
    let with = |more: &[&str]| {
        folder.run(&[&["pack", "when is the launch?", "notes.md"][..], more].concat())
    };
    let context = out(&with(&[]));
    let question = serde_json::json!("when is the launch?");
    let anthropic = json(&with(&["--as", "anthropic"]));
    // Files have no stable part, so nothing is worth a breakpoint.
    let blocks = anthropic["system"].as_array().unwrap();
    assert_eq!((blocks.len(), blocks[0].as_object().unwrap().len()), (1, 2), "{anthropic}");
    assert_eq!(blocks[0]["text"].as_str().unwrap().trim_end(), context.trim_end());
    assert_eq!(anthropic["messages"][0]["content"], question);
    let openai = json(&with(&["--as", "openai"]));
    let parts = &openai["messages"][0]["content"];
    assert_eq!(parts[0]["text"], blocks[0]["text"]);
    assert_eq!((&openai["messages"][0]["role"], &parts[1]["text"]), (&"user".into(), &question));
    assert!(openai["prompt_cache_key"].as_str().unwrap().starts_with("haversack-"));
    let turns = r#"{"conversationHistory": [{"role": "user", "content": "hello"},
        {"role": "tool", "content": "42"}]}"#;
    let talked = with(&["--as", "anthropic", "--request", turns]);
    let said = "note (TURNS_OMITTED): 1 of 2 turns of the conversation are not among the messages";
    assert!(err(&talked).contains(said), "{}", err(&talked));
    assert_eq!(json(&talked)["messages"][0]["content"], "hello");
    for wrong in [&["--as", "gemini"][..], &["--as", "openai", "--json"]] {
        let refused = with(wrong);
        assert_eq!((refused.status.code(), out(&refused)), (Some(2), String::new()));
        assert!(err(&refused).contains("--as"), "{}", err(&refused));
    }
}
