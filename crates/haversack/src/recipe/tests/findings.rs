//! What is found out about recipes that can be used.

use haversack_core::assemble::Templates;

use super::*;

/// Everything found out about a recipe, a line each; help left out.
fn found(source: &str) -> String {
    let (recipe, places) =
        Recipe::parse_with_places("mine", source, &own()).unwrap_or_else(|error| panic!("{error}"));
    let findings =
        lint(&recipe, &places, &Templates::default(), haversack_store::kinds::Kinds::built_in());
    let lines =
        findings.into_iter().map(|finding| RecipeFinding { help: String::new(), ..finding });
    lines.map(|finding| format!("{finding}\n")).collect()
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(found(source).trim_end(), expected, "\n{source}");
}

/// The same for lines in a layer that is otherwise in order; the first of them is line 5.
#[track_caller]
fn check_layer(lines: &str, expected: &str) {
    check(&format!("haversack = 1\n[[layer]]\nname = \"a\"\nshare = 1\n{lines}\n"), expected);
}

const TEXT: &str = "collect = [{ by = \"text\" }]";

#[test]
fn a_sound_recipe_has_no_findings() {
    check_layer(TEXT, "");
}

#[test]
fn layers_that_nothing_reaches_are_found() {
    check_layer("", "2:1: error: layer a is always empty: nobody collects for it");
    check_layer(&format!("{TEXT}\ncap = 0"), "6:1: error: layer a is always empty: its cap is 0");
    check_layer(
        &format!("{TEXT}\ncap = 3"),
        "6:1: error: layer a is always empty: its cap is 3, and its header and footer take 4",
    );
    check_layer(
        &format!("{TEXT}\ncap = 11"),
        "6:1: warning: layer a cuts nothing: its cap is 11, less than the least worth showing (12)",
    );
    check_layer(
        &format!("{TEXT}\ncap = 0\n[[adapt]]\nwhen = 'words > 3'\ncaps = {{ a = 500 }}"),
        "6:1: warning: layer a cuts nothing: its cap is 0, less than the least worth showing (12)",
    );
    check_layer(
        "collect = [{ by = \"expand\" }]",
        "5:12: error: layer a: expand starts from what others find, and it is alone",
    );
    check_layer(
        "collect = [{ by = \"hybrid\", text = 0, vector = 0 }]",
        "5:12: warning: layer a: words and meaning count for nothing in hybrid",
    );
}

#[test]
fn what_shares_leave_over_is_said_p4() {
    let layers = |shares: &[&str]| {
        let layer = |(n, share)| format!("[[layer]]\nname = \"l{n}\"\n{TEXT}\n{share}\n");
        format!("haversack = 1\n{}", shares.iter().enumerate().map(layer).collect::<String>())
    };
    check(
        &layers(&["share = 0.5\nspill = 7", "share = 0.25\nspill = 3"]),
        "2:3: remark: shares add up to 0.75; the remaining 0.25 goes to layer l1 first, by spill",
    );
    check(
        &layers(&["", ""]),
        "2:3: remark: no layer has a share: layer l0 takes what it wants before any other gets a token",
    );
    check(&layers(&["share = 1", ""]), "");
    check(
        &layers(&["share = 0.5\nspill = 1", "share = 0.5\nspill = 1"]),
        "11:1: remark: layers l0 and l1 have the same spill of 1: leftovers go to the one that comes first in the file",
    );
}

#[test]
fn pinned_text_is_counted_at_its_largest_p2() {
    let source = |total: u32, overflow: &str| {
        format!(
            "haversack = 1\n[budget]\ntotal = {total}\nreserve = {{ system = 200 }}\noverflow = \"{overflow}\"\n\
             [[layer]]\nname = \"us\"\npinned = true\ntemplate = \"plain\"\n\
             collect = [{{ by = \"singleton\", kinds = [\"company_profile\", \"brand_settings\"] }}]\n"
        )
    };
    check(&source(2_000, "refuse"), "");
    let text = found(&source(1_700, "refuse"));
    assert!(text.starts_with("3:1: warning: pinned layers may take 1,59"), "{text}");
    check(&source(200, "exceed"), "3:1: error: reserves take all of the 200 tokens");
    check_layer(
        "pinned = false\ncollect = [{ by = \"newest\", of = \"workspace\" }]\n[[layer]]\nname = \"p\"\npinned = true\ncollect = [{ by = \"newest\", of = \"workspace\" }]",
        "9:1: remark: layer p is pinned, and nothing bounds how much it finds",
    );
    check(
        "haversack = 1\n[budget]\nmodel = \"gpt-4\"\ntotal = 9_000\n[[layer]]\nname = \"a\"\ncollect = [{ by = \"text\" }]\n",
        "4:1: warning: gpt-4 has room for 4,192 of the 9,000 tokens",
    );
}

#[test]
fn citations_are_missed_where_they_are_needed_k7() {
    check(
        "haversack = 1\nshape = \"prime\"\n[[layer]]\nname = \"a\"\ncollect = [{ by = \"text\" }]\ntemplate = \"chat\"\n",
        "6:1: warning: layer a shows no {{citation}}: a response cannot cite its texts (K7)",
    );
    check(
        "haversack = 1\nshape = \"prime\"\n[[layer]]\nname = \"a\"\ncollect = [{ by = \"text\" }]\n",
        "",
    );
}

#[test]
fn scores_that_say_nothing_are_found() {
    let score = |lines: &str, expected: &str| check_layer(&format!("{TEXT}\n{lines}"), expected);
    score("score = \"1 + 2\"", "6:1: warning: layer a: every text has a score of 3");
    score("score = { base = 2, usage = 0 }", "6:1: warning: layer a: every text has a score of 2");
    score(
        "score = { semantic = 0.6, usage = -1 }\nminimum = 0.7",
        "7:1: error: layer a is always empty: its minimum is 0.7, and no score is above 0.6",
    );
    score("score = { semantic = 0.6 }\nminimum = 0.6", "");
    score(
        "score = { semantic = 0.6 }\nminimum = 0",
        "7:1: remark: layer a: no score is below its minimum of 0",
    );
    score(
        "score = \"min(semantic, 0.5)\"\nminimum = 0.6",
        "7:1: error: layer a is always empty: its minimum is 0.6, and no score is above 0.5",
    );
    score(
        "score = \"semantic / usage\"",
        "6:1: warning: layer a: the score may divide by zero, and then the request fails",
    );
}

#[test]
fn conditions_that_never_differ_are_found() {
    let adapt = |adapts: &[&str], expected: &str| {
        let lines: String =
            adapts.iter().map(|when| format!("\n[[adapt]]\nwhen = '{when}'\ntotal = 9")).collect();
        check_layer(&format!("{TEXT}{lines}"), expected);
    };
    adapt(&["type == \"search\""], "");
    adapt(&["1 < 2"], "7:1: warning: adapt 1 is always used: its condition names no fact");
    adapt(&["1 > 2"], "7:1: warning: adapt 1 is never used: its condition names no fact");
    adapt(&["query"], "7:1: error: the condition of adapt 1 gives a value of type string");
    adapt(&["words > 3", "words > 3"], "10:1: remark: adapt 1 and adapt 2 have the same condition");
    adapt(
        &["type == \"serach\""],
        "7:1: warning: type is compared with \"serach\", perhaps search; usual are assist, chat, search, automate",
    );
    let text = found(&format!(
        "haversack = 1\n[[layer]]\nname = \"a\"\nshare = 1\n{TEXT}\n[[adapt]]\nwhen = 'situation.x > 1'\ntotal = 9\n"
    ));
    assert!(
        text.starts_with(
            "7:1: warning: the condition of adapt 1 fails when no fact is set: there is no fact"
        ),
        "{text}"
    );
    check_layer(
        &format!("{TEXT}\n[[adapt]]\nwhen = 'words > 3'\ntotal = 4_000\nshares = {{ a = 1 }}"),
        "6:1: remark: adapt 1 says what holds anyway",
    );
}

#[test]
fn adaptations_that_do_not_go_together_are_found_p17() {
    let adapt = |other: &str, expected: &str| {
        check(
            &format!(
                "haversack = 1\n[[layer]]\nname = \"a\"\nshare = 0.5\n{TEXT}\n\
                 [[layer]]\nname = \"b\"\nshare = 0.5\n{TEXT}\n\
                 [[adapt]]\nwhen = 'type == \"chat\"'\nshares = {{ a = 0.75, b = 0.25 }}\n\
                 [[adapt]]\nwhen = '{other}'\nshares = {{ b = 0.5 }}\n"
            ),
            expected,
        );
    };
    adapt(
        "words > 3",
        "15:1: warning: adapt 1 and adapt 2 may hold at once, and then shares add up to more than 1",
    );
    adapt("type == \"search\"", "");
}

#[test]
fn what_requests_seldom_bring_is_remarked() {
    let shaped = |shape: &str, by: &str| {
        format!(
            "haversack = 1\nshape = \"{shape}\"\n[[layer]]\nname = \"a\"\ncollect = [{{ by = \"{by}\" }}]\ntemplate = \"section\"\n"
        )
    };
    check(&shaped("workspace", "focus"), "");
    check(&shaped("sections", "focus"), "");
    check(
        &shaped("memory", "focus"),
        "5:12: remark: focus needs a focus, which requests of this shape seldom bring",
    );
    check_layer(
        "collect = [{ by = \"text\", kinds = [\"memry\"] }]",
        "5:27: remark: memry is no known kind, but memory is",
    );
    check_layer(
        "collect = [{ by = \"singleton\", kinds = [\"product\"] }]",
        "5:32: warning: there may be many items of the kind product; one is shown",
    );
}

#[test]
fn stops_without_effect_are_found_k5() {
    let output = |output: &str, expected: &str| {
        let source =
            format!("haversack = 1\n[output]\n{output}\n[[layer]]\nname = \"a\"\n{TEXT}\n");
        check(&source, expected);
    };
    output(
        "selector = \"exact\"\nstop = { fill = 0.9, items = 10 }",
        "4:1: warning: stop has no effect: the exact selector has no order that it could end",
    );
    output(
        "stop = { fill = 0, items = 10 }",
        "3:1: warning: stop has no effect: a fill of 0 would let nothing in, so it is no stop",
    );
}
