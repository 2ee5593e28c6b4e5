//! Looking back at packs, and at what other budgets would have given.

use super::{TestFolder, check, err, json, out, sample_data};

const NOW: [&str; 2] = ["--now", "2026-11-16T09:00:00Z"];

/// Packs and gives the receipt.
fn pack(folder: &TestFolder, arguments: &[&str]) -> String {
    let base = ["--data", "data", "--workspace", "memory", "pack", "--recipe", "memory"];
    let packed = folder.run(&[&base[..], &NOW, arguments].concat());
    assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
    let told = err(&packed);
    told.trim_end().rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn a_receipt_is_explained_by_its_name_or_its_beginning_x2() {
    let folder = sample_data("explain", &["memory"]);
    let receipt = pack(&folder, &["Where does Noor live now?", "--budget", "120"]);
    let page = check(&folder, "memory", &["explain", &receipt], 0);
    for expected in [
        "Where does Noor live now?\n",
        "recipe memory · asked by the owner · at 2026-11-16T09:00:00Z · ",
        " of 120 tokens, ",
        "Memories  ",
        "found by hybrid ",
        "over budget: whole from ",
        "fusion ",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert_eq!(check(&folder, "memory", &["explain", &receipt[..6]], 0), page);
    let all = check(&folder, "memory", &["explain", &receipt, "--all"], 0);
    assert!(page.contains("\n--all shows every candidate\n"), "{page}");
    assert!(!all.contains("--all") && all.contains(" · the last to fit was "), "{all}");
    let document = check(&folder, "memory", &["explain", &receipt, "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["id"], receipt.as_str());
    assert!(document["ledger"].as_array().unwrap().len() > 5);
}

#[test]
fn a_replay_is_the_same_bytes_until_a_text_is_gone_x2() {
    let folder = sample_data("replay", &["memory"]);
    let question = ["Where does Noor live now?", "--budget", "200"];
    let receipt = pack(&folder, &question);
    let same = check(&folder, "memory", &["replay", &receipt], 0);
    assert!(same.starts_with("same bytes: "), "{same}");
    let printed = check(&folder, "memory", &["replay", &receipt, "--print"], 0);
    assert!(printed.contains("Mechelen"), "{printed}");
    let base = ["--recipe", "memory", "--preview"];
    let again = [&["pack"], &question[..], &base, &NOW].concat();
    assert_eq!(check(&folder, "memory", &again, 0), printed);
    // Another state does not matter: the receipt knows its own.
    check(&folder, "memory", &["remember", "Noor lives in a lighthouse now."], 0);
    check(&folder, "memory", &["replay", &receipt], 0);
    let found = check(&folder, "memory", &["replay", &receipt, "--json"], 0);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["same"], true);
}

/// A receipt names the files that a pack was made with and does not hold them.
#[test]
fn a_pack_made_with_files_is_replayed_with_the_same_files_x2() {
    let folder = sample_data("replay-files", &["memory"]);
    let vocabulary = r#"{"version": "1.0", "model": {"type": "WordLevel", "vocab": {"[UNK]": 0},
        "unk_token": "[UNK]"}, "pre_tokenizer": {"type": "Whitespace"}}"#;
    folder
        .file("base.toml", "haversack = 1\nextends = \"memory\"\n[budget]\ntotal = 90\n")
        .file("mine.toml", "haversack = 1\nextends = \"base\"\ndescription = \"mine\"\n")
        .file("words.json", vocabulary);
    let ask = |more: &[&str]| {
        let base = ["--data", "data", "--workspace", "memory", "pack", "Where does Noor live?"];
        let packed = folder.run(&[&base[..], more, &NOW].concat());
        assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
        err(&packed).trim_end().rsplit(' ').next().unwrap().to_owned()
    };
    let replay = |receipt: &str, more: &[&str], code: i32| {
        check(&folder, "memory", &[&["replay", receipt][..], more].concat(), code)
    };
    let by_recipe = ask(&["--recipe", "mine.toml"]);
    let told = replay(&by_recipe, &[], 2);
    assert!(told.starts_with("error (recipe_not_found): there is no recipe \"mine\""), "{told}");
    assert!(told.ends_with(
        "hint: this pack was made by a recipe file: give it again with --recipe FILE\n"
    ));
    assert!(replay(&by_recipe, &["--recipe", "mine.toml"], 0).starts_with("same bytes: "));
    // It may have been moved, but not changed.
    std::fs::rename(folder.0.join("mine.toml"), folder.0.join("other.toml")).unwrap();
    assert!(replay(&by_recipe, &["--recipe", "other.toml"], 0).starts_with("same bytes: "));
    folder.file("base.toml", "haversack = 1\nextends = \"memory\"\n[budget]\ntotal = 40\n");
    let told = replay(&by_recipe, &["--recipe", "other.toml"], 1);
    assert!(told.starts_with("other bytes: "), "{told}");

    let by_tokenizer = ask(&["--recipe", "memory", "--tokenizer", "words.json"]);
    let told = replay(&by_tokenizer, &[], 2);
    assert!(told.ends_with("give it again with --tokenizer FILE\n"), "{told}");
    assert!(replay(&by_tokenizer, &["--tokenizer", "./words.json"], 0).starts_with("same bytes: "));
}

#[test]
fn two_packs_differ_by_causes_first_and_then_by_candidates_x2() {
    let folder = sample_data("diff", &["memory"]);
    let small = pack(&folder, &["Where does Noor live now?", "--budget", "60"]);
    let large = pack(&folder, &["Where does Noor live now?", "--budget", "600"]);
    let told = check(&folder, "memory", &["diff", &small, &large], 0);
    assert!(told.starts_with("other bytes\n\nCauses\n"), "{told}");
    assert!(told.contains("the request's tokenBudget: 60 became 600\n"), "{told}");
    assert!(told.contains(" entered\n") && !told.contains(" left\n"), "{told}");
    assert!(told.contains("was out: over budget: whole from "), "{told}");
    let same = check(&folder, "memory", &["diff", &small, &small], 0);
    assert_eq!(same, "same bytes\n\nCauses\n  none: both packs have the same inputs\n");
    let document = check(&folder, "memory", &["diff", &small, &large, "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["causes"][0]["cause"], "request");
    assert_eq!(document["causes"][0]["field"], "tokenBudget");
}

#[test]
fn a_receipt_that_is_not_there_is_named_with_the_nearest() {
    let folder = sample_data("no-receipt", &["memory"]);
    let receipt = pack(&folder, &["Lina"]);
    let typo = format!("{}x", &receipt[..15]);
    for command in ["explain", "replay"] {
        let told = check(&folder, "memory", &[command, &typo], 2);
        assert!(told.starts_with("error (receipt_not_found): there is no receipt "), "{told}");
        assert!(told.ends_with(&format!("hint: did you mean {receipt}?\n")), "{told}");
    }
    let told = check(&folder, "memory", &["diff", &receipt, "zzzzzzzzzzzzzzzz"], 2);
    assert!(told.contains("hint: each workspace keeps its last 10,000 receipts"), "{told}");
}

#[test]
fn a_frontier_is_a_picture_a_table_and_a_document_x2() {
    let folder = sample_data("frontier", &["memory"]);
    let ask = ["frontier", "Where does Noor live now?", "--recipe", "memory"];
    let drawn = check(&folder, "memory", &[&ask[..], &NOW].concat(), 0);
    assert!(drawn.contains("  100 % ┤") && drawn.contains("coverage\n"), "{drawn}");
    let few = [&ask[..], &NOW, &["--budgets", "60,120,240", "--json"]].concat();
    let document = check(&folder, "memory", &few, 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    let coverage = |at: usize| points[at]["coverage"].as_f64().unwrap();
    assert!(coverage(0) <= coverage(1) && coverage(1) <= coverage(2), "{document}");
    let own = pack(&folder, &["Where does Noor live now?", "--budget", "120"]);
    let kept = check(&folder, "memory", &["explain", &own, "--json"], 0);
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(points[1]["tokens"], kept["tokens"], "a point is what a pack of its own gives");
}

#[test]
fn a_conversation_goes_on_from_the_pack_before_p17() {
    let folder = sample_data("previous", &["memory"]);
    let first = pack(&folder, &["Where does Noor live now?", "--budget", "200"]);
    let base = ["--data", "data", "--workspace", "memory", "pack", "--recipe", "memory", "--json"];
    let next = ["Where does Noor live now?", "--budget", "300", "--previous", &first];
    let next = json(&folder.run(&[&base[..], &NOW, &next].concat()));
    assert_eq!(next["assembly"]["delta"]["previous"], first.as_str());
    assert!(next["assembly"]["delta"]["keptBytes"].as_u64().unwrap() > 0, "{next}");
}

#[test]
fn what_helped_and_what_is_to_be_remembered_is_noted_k8() {
    let folder = sample_data("feedback", &["prime"]);
    let noted = check(&folder, "prime", &["feedback", "f-nightjar", "--useful"], 0);
    assert_eq!(noted, "noted: f-nightjar was useful to owner\n");
    let noted = ["feedback", "f-nightjar", "--not-useful", "--user", "mara"];
    assert_eq!(check(&folder, "prime", &noted, 0), "noted: f-nightjar was not useful to mara\n");
    let hidden = ["feedback", "f-price-ideas", "--useful", "--user", "jonas"];
    let told = check(&folder, "prime", &hidden, 2);
    assert!(
        told.starts_with("error (validation_error): contextItemId: there is no item"),
        "{told}"
    );
    let both = folder.run(&["feedback", "x", "--useful", "--not-useful"]);
    assert_eq!((both.status.code(), out(&both)), (Some(2), String::new()));
}

#[test]
fn a_memory_is_stored_once_and_says_why_it_is_not_again() {
    let folder = TestFolder::new("remember");
    let text = "Anna drinks green tea in the morning and never any coffee.";
    let place = ["--data", "data"];
    let run = |arguments: &[&str]| folder.run(&[&place[..], arguments].concat());
    let typed = ["--type", "preference", "--id", "tea", "--confidence", "0.9"];
    let stored = run(&[&["remember", text][..], &typed, &["--conversation", "c1"]].concat());
    assert_eq!(out(&stored), "remembered as tea\n", "{}", err(&stored));
    let again = run(&["remember", text]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(out(&again), "not stored: it repeats tea; --id tea replaces that\n");
    let changed = run(&["remember", "Anna drinks black tea.", "--id", "tea"]);
    assert_eq!(out(&changed), "remembered as tea\n");
    let found = run(&["pack", "what does Anna drink?", "--recipe", "memory"]);
    assert!(out(&found).contains("black tea") && !out(&found).contains("green"), "{}", out(&found));
    let piped = folder.run_with(&["--data", "data", "remember", "-"], b"Ben plays chess.\n");
    assert!(out(&piped).starts_with("remembered as memory-"), "{}", err(&piped));
    let bad = run(&["remember", "Something.", "--confidence", "7"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(err(&bad).contains("error (validation_error): ") && err(&bad).contains("confidence"));
    assert!(err(&run(&["remember", " "])).contains("the text is empty"));
}
