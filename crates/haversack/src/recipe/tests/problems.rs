//! What is said of recipes that are wrong: all of it, each with its place.

use super::*;

/// What is wrong with a recipe, a line for each problem.
#[track_caller]
fn wrong(source: &str) -> String {
    let error = Recipe::parse("mine", source, &own()).unwrap_err();
    error.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[track_caller]
fn check(source: &str, expected: &str) {
    let found = wrong(source);
    assert_eq!(found.trim_end(), expected, "\n{source}");
}

/// The same for lines in a layer; the first of them is line 5.
#[track_caller]
fn check_layer(lines: &str, expected: &str) {
    check(&format!("haversack = 1\n\n[[layer]]\nname = \"a\"\n{lines}\n"), expected);
}

/// The same for lines in the document; the first of them is line 2.
#[track_caller]
fn check_top(lines: &str, expected: &str) {
    check(&format!("haversack = 1\n{lines}\n[[layer]]\nname = \"a\"\n"), expected);
}

#[test]
fn the_version_comes_first() {
    check(
        "name = \"x\"",
        "1:1: the version of the format is missing: begin the file with `haversack = 1`",
    );
    check(
        "haversack = 2",
        "1:13: haversack is 2; the version of the format that is known here is 1",
    );
    check("haversack = \"1\"", "1:13: haversack must be the version of the format: 1");
}

#[test]
fn a_syntax_error_has_its_place() {
    let found = wrong("haversack = 1\nname = \"é\" x\n[[layer]]\nbad\n");
    assert!(found.starts_with("2:12: this is not TOML: "), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
    let twice = wrong("haversack = 1\nname = \"a\"\nname = \"b\"\n");
    assert!(twice.starts_with("3:1: this is not TOML: duplicate key"), "{twice}");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    check(
        "haversack = 1\nshap = \"prime\"\n[budget]\ntotal = \"many\"\n[[layer]]\nname = \"a\"\n\
         share = 1.5\ncut = \"kep_start\"\n[[layer]]\nname = \"b\"\ncollect = [{ by = \"hybird\", limit = 0 }, { by = \"text\", limit = 0 }]\n",
        "2:1: unknown key shap, perhaps shape\n\
         4:9: budget: total is a text; it must be a whole number from 0 to 100,000,000\n\
         7:9: layer a: share is 1.5; it must be a number from 0 to 1\n\
         8:7: layer a: cut is \"kep_start\", perhaps keep_start; it must be one of extractive, keep_start, keep_end, summarize, none\n\
         11:19: layer b collect 1 (hybird): by is \"hybird\", which is no collector, perhaps hybrid\n\
         11:65: layer b collect 2 (text): limit is 0; it must be a whole number from 1 to 1,000",
    );
}

#[test]
fn types_are_checked() {
    check_layer("title = 3", "5:9: layer a: title is a whole number; it must be a text");
    check_layer("pinned = \"yes\"", "5:10: layer a: pinned is a text; it must be true or false");
    check_layer(
        "collect = 3",
        "5:11: layer a: collect is a whole number; it must be a list of tables",
    );
    check_layer(
        "collect = [3]",
        "5:12: layer a: collect holds a whole number; it must be a list of tables",
    );
    check_layer("kind_cap = 1", "5:12: layer a: kind_cap is a whole number; it must be a table");
    check_layer(
        "limit = 1.5",
        "5:9: layer a: limit is a decimal number; it must be a whole number from 1 to 100,000",
    );
    check_layer(
        "share = nan",
        "5:9: layer a: share is a decimal number; it must be a number from 0 to 1",
    );
    check_layer(
        "cap = 99999999999999999999",
        "5:7: layer a: cap is a whole number; it must be a whole number from 0 to 100,000,000",
    );
    check(
        "haversack = 1\n[layer]\nname = \"a\"",
        "2:1: layer is a table; it must be a list of tables: put two brackets around its name",
    );
    check("haversack = 1\nlayer = 1", "2:9: layer is a whole number; it must be a list of tables");
}

#[test]
fn names_are_checked() {
    check(
        "haversack = 1\n[[layer]]\nshare = 0.1",
        "2:1: layer 1: name is missing; every layer has one",
    );
    check_layer(
        "[[layer]]\nname = \"a\"",
        "6:8: layer 2: name is \"a\", and so is another layer's",
    );
    check(
        "haversack = 1\n[[layer]]\nname = \"a b\"",
        "3:8: layer 1: name is \"a b\"; it must have 1 to 64 letters, digits or any of _-, a letter or digit first",
    );
    check_top(
        "name = \"../x\"",
        "2:8: name is \"../x\"; it must have 1 to 64 letters, digits or any of _-., a letter or digit first",
    );
    check("haversack = 1", "1:1: there is no layer; a recipe has at least one [[layer]]");
}

#[test]
fn budgets_are_checked_p3() {
    check_top(
        "budget = { total = 100, reserve = { system = 60, buffer = 70 } }",
        "2:10: budget: reserves of 130 tokens do not fit a total of 100",
    );
    check_top(
        "budget = { total = -1 }",
        "2:20: budget: total is -1; it must be a whole number from 0 to 100,000,000",
    );
    check_top(
        "budget = { model = \"gpt-4p\" }",
        "2:20: budget: model names an unknown model \"gpt-4p\": nearest are gpt-4, gpt-4o, gpt-4.1",
    );
    check_top(
        "budget = { tokenizer = \"o200k_bas\" }",
        "2:24: budget: tokenizer is \"o200k_bas\", which is not known, perhaps o200k_base or cl100k_base or p50k_base",
    );
    check_top(
        "budget = { model = \"gpt-4o\", tokenizer = \"o200k_base\" }",
        "2:42: budget: tokenizer and model are both set; the model has its tokenizer",
    );
    check_top(
        "query = { embed = [\"deals\"] }",
        "2:20: query: embed names \"deals\", which is not known; there are query, subject, situation, history",
    );
    check_top(
        "query = { embed = [] }",
        "2:19: query: embed names nothing; a query's vector is made from something",
    );
    check_top("output = { stop = { fill = 0.9 } }", "2:19: output stop: items is missing");
}

#[test]
fn shares_never_exceed_the_whole_p3() {
    check_layer(
        "share = 0.75\n[[layer]]\nname = \"b\"\nshare = 0.5",
        "3:1: the layers' shares add up to 1.25, which is 0.25 more than 1",
    );
    check_layer(
        "pinned = true\nshare = 0.1",
        "6:9: layer a: share has no meaning: the layer is pinned, so all of it is in, whole",
    );
    check_layer(
        "pinned = true\ncap = 100",
        "6:7: layer a: cap has no meaning: the layer is pinned, so all of it is in, whole",
    );
}

#[test]
fn templates_are_checked_m8() {
    check_layer(
        "template = \"secton\"",
        "5:12: layer a: template is \"secton\", which is not there, perhaps section; there are chat, detailed, letter, plain, section, summary",
    );
    check_layer(
        "template = 5",
        "5:12: layer a: template must be a template's name, or a table with an item",
    );
    check_layer(
        "template = { header = \"{{content}}\", item = \"{{contnt}}\", foter = \"\" }",
        "5:23: layer a template: header cannot be used: the header names \"content\" at byte 0, which is not one of section, query, open, close\n\
         5:45: layer a template: item cannot be used: the item format names \"contnt\" at byte 0, which is not one of content, type, confidence, timestamp, score, citation, title, label, speaker, path, breadcrumb, lines, source, id, trust, open, close; perhaps content\n\
         5:59: layer a template: unknown key foter, perhaps footer; there are header, item, separator, footer, empty",
    );
    check_layer(
        "template = { item = \"nothing\" }",
        "5:21: layer a template: item cannot be used: the item format has no {{content}}",
    );
    check_layer(
        "template = {}",
        "5:12: layer a template: item is missing; say how one text looks, such as \"{{content}}\"",
    );
    check_top(
        "output = { before = \"{{open\" }",
        "2:21: output: before cannot be read: the frame opens {{ at byte 0 and never closes it",
    );
}

#[test]
fn scores_are_checked_m6() {
    check_layer(
        "score = { semantic = 1001 }",
        "5:22: layer a score: semantic is 1001; it must be a number from -1000 to 1000",
    );
    check_layer(
        "score = { semantics = 1 }",
        "5:11: layer a score: unknown key semantics, perhaps semantic",
    );
    check_layer("score = {}", "5:9: layer a score says nothing; name a component");
    check_layer(
        "score = true",
        "5:9: layer a: score must be a table of weights such as { semantic = 1.0 }, or an expression",
    );
    check_layer(
        "score = { ranker = \"hause\" }",
        "5:20: layer a score: ranker is \"hause\", which is not there, perhaps house; there are byConfidence, byRecency, bySimilarity, default, house",
    );
    check_layer(
        "score = { ranker = \"house\", recency = 1 }",
        "5:29: layer a score: unknown key recency; beside a ranker nothing counts; there is only ranker",
    );
    let found = wrong("haversack = 1\n[[layer]]\nname = \"a\"\nscore = \"semantc + 1\"\n");
    assert!(
        found.starts_with(
            "4:9: layer a: score cannot be used: semantc is not a component; there are semantic"
        ),
        "{found}"
    );
    let found = wrong("haversack = 1\n[[layer]]\nname = \"a\"\nscore = \"semantic +\"\n");
    assert!(
        found.starts_with("4:9: layer a: score cannot be used: the expression cannot be read"),
        "{found}"
    );
    check_layer(
        "recency = \"hourley\"",
        "5:11: layer a: recency is \"hourley\", perhaps hourly; it must be one of over_month, over_day, hourly, harmonic",
    );
    check_layer(
        "recency = { per_hour = 1, over_hours = 2 }",
        "5:11: layer a recency: set one of per_hour and over_hours",
    );
}

#[test]
fn collectors_are_checked() {
    check_layer(
        "collect = [{ by = \"newest\", of = \"oportunity\", limt = 3 }]",
        "5:29: layer a collect 1 (newest): of is \"oportunity\", which is no subject\n\
         5:48: layer a collect 1 (newest): unknown key limt, perhaps limit; it can be told by, kinds, deadline_ms, of, limit",
    );
    check_layer(
        "collect = [{ by = \"singleton\" }]",
        "5:12: layer a collect 1 (singleton): kinds is missing; a singleton is the one item of a kind",
    );
    check_layer(
        "collect = [{ by = \"text\", kinds = [\"\"] }]",
        "5:36: layer a collect 1 (text): a kind cannot be used: a name must not be empty",
    );
    check_layer(
        "collect = [{ by = \"text\", kinds = [\"a\", \"a\"] }]",
        "5:41: layer a collect 1 (text): kinds names a twice",
    );
    check_layer(
        "collect = [{ by = \"text\", with = [\"stage\"] }]",
        "5:35: layer a collect 1 (text): with holds \"stage\"; it must be \"name=value\"",
    );
    check_layer(
        "collect = [{ by = \"crm\", when = 2026-01-01 }]",
        "5:26: layer a collect 1 (crm): when is a date, which no setting can be",
    );
    let found =
        wrong("haversack = 1\n[[layer]]\nname = \"a\"\ncollect = [{ kinds = [\"file\"] }]\n");
    assert!(
        found.starts_with(
            "4:12: layer a collect 1: by is missing; name a collector: activity, beside"
        ),
        "{found}"
    );
}

#[test]
fn adaptations_are_checked_w9() {
    check_layer(
        "share = 0.5\n[[layer]]\nname = \"b\"\nshare = 0.5\n[[adapt]]\nwhen = 'typ == \"search\"'\ntotal = 5\n\
         [[adapt]]\nwhen = 'type == '\nshares = { a = 0.6 }\ncaps = { c = 5 }\n[[adapt]]\nwhen = 'words > 2'\n",
        "10:8: adapt 1: when names typ, which is no fact, perhaps type\n\
         13:8: adapt 2: when cannot be used: the condition cannot be read at line 1, column 9: unexpected end\n\
         14:10: with adapt 2 the layers' shares add up to 1.1, which is 0.1 more than 1\n\
         15:8: adapt 2 caps: there is no layer c; there are a, b\n\
         16:1: adapt 3 changes nothing; set total, shares or caps",
    );
}

#[test]
fn there_are_limits() {
    let long = format!("haversack = 1\n# {}\n", "x".repeat(300_000));
    check(&long, "1:1: the recipe has 300017 bytes, more than the limit of 262144");
    let layers: String = (0..65).map(|n| format!("[[layer]]\nname = \"l{n}\"\n")).collect();
    let found = wrong(&format!("haversack = 1\n{layers}"));
    assert_eq!(found.trim_end(), "2:1: layer has 65 entries, more than the limit of 64");
    let collectors = "{ by = \"text\" },".repeat(17);
    check_layer(
        &format!("collect = [{collectors}]"),
        "5:11: layer a: collect has 17 entries, more than the limit of 16",
    );
}

#[test]
fn an_error_lists_its_problems_under_the_recipes_name() {
    let error = Recipe::parse("mine", "haversack = 1\nx = 1\ny = 2\n", &own()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the recipe \"mine\" cannot be used:\n  1:1: there is no layer"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 4, "{text}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(source in "\\PC{0,60}", line in "[a-z]{1,8} = [a-z0-9\\[\\]{}\",. ]{0,30}") {
        let _ = Recipe::parse("x", &source, &RecipeRegistry::default());
        let _ = Recipe::parse("x", &format!("haversack = 1\n{line}\n[[layer]]\n{line}\n"), &RecipeRegistry::default());
    }
}
