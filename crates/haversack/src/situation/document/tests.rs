use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const PAYMENTS: &str = r#"
# The payments team.
metadata:
  name: Payments
  type: team
parent: org
intent_context:
  business_goal: >
    No order is lost,
    no card is charged twice.
  intent_type: operate
behavior_rules:
  - trigger: a refund is asked for
    action: check the ledger first
injection_rules:
  - name: complexity_check
    condition: task is complex
    inject: ["helpers/complexity-guide"]
  - inject: [always-there]
"#;

fn id(id: &str) -> ItemId {
    ItemId::new(id).unwrap()
}

#[track_caller]
fn check(text: &str, format: DocumentFormat) -> Item {
    parse(text, format, Some(&id("x"))).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn check_refused(text: &str, format: DocumentFormat, expected: &[&str]) {
    let error = parse(text, format, Some(&id("x"))).expect_err("it is refused");
    let lines: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{text}");
}

#[test]
fn a_document_reads_the_same_in_yaml_json_and_markdown_s1() {
    let yaml = check(PAYMENTS, DocumentFormat::Yaml);
    assert_eq!(yaml.title, "Payments");
    assert_eq!(yaml.kind.as_str(), "context");
    assert_eq!(yaml.fields["metadata"], json!({ "name": "Payments", "type": "team" }));
    let goal = "No order is lost, no card is charged twice.\n";
    assert_eq!(yaml.fields["intent_context"]["business_goal"], goal);
    assert_eq!(yaml.fields["injection_rules"][0]["inject"], json!(["helpers/complexity-guide"]));
    let text = Value::Object(yaml.fields.clone());
    let json = check(&serde_json::to_string_pretty(&text).unwrap(), DocumentFormat::Json);
    assert_eq!(json, yaml);
    let markdown = format!("---{PAYMENTS}---\n\n# How we work\n\nCalmly.\n");
    let markdown = check(&markdown, DocumentFormat::Markdown);
    assert_eq!(markdown.body, "# How we work\n\nCalmly.");
    assert_eq!(Item { body: String::new(), ..markdown }, yaml);
}

#[test]
fn the_id_is_given_or_the_name_s1() {
    assert_eq!(parse(PAYMENTS, DocumentFormat::Yaml, None).unwrap().id, id("Payments"));
    let nameless = parse("Just text.", DocumentFormat::Markdown, None).unwrap_err();
    assert_eq!(nameless.to_string(), "metadata.name is missing, and no id is given");
    let guide = check("Split the task.\n", DocumentFormat::Markdown);
    assert_eq!((guide.title.as_str(), guide.body.as_str()), ("x", "Split the task."));
    let body = check("metadata: {name: A}\nbody: |\n  One.\n\n  Two.\n", DocumentFormat::Yaml);
    assert_eq!(body.body, "One.\n\nTwo.\n");
    assert!(!body.fields.contains_key("body"));
}

#[test]
fn scalars_follow_yamls_core_schema() {
    let text = "a: ~\nb: yes\nc: True\nd: 0x1F\ne: -7\nf: 1e3\ng: '7'\nh: 2026-01-31\ni: !!str 7\n\
                j: .5\nk: 18446744073709551615\nl: .inf\nm: 1.2.3\nn: 0o17\no: +3\np: 1-2\nq: \"-\"\n";
    let (value, _) = yaml::parse(text).unwrap();
    let expected = json!({
        "a": null, "b": "yes", "c": true, "d": 31, "e": -7, "f": 1000.0, "g": "7",
        "h": "2026-01-31", "i": "7", "j": 0.5, "k": 18_446_744_073_709_551_615_u64, "l": ".inf",
        "m": "1.2.3", "n": 15, "o": 3, "p": "1-2", "q": "-",
    });
    assert_eq!(value, expected);
}

#[test]
fn errors_name_line_and_field_s1() {
    let rules =
        "metadata: {name: A}\ninjection_rules:\n  - name: one\n    inject: [x]\n  - name: two\n";
    let refused = ["line 5: injection_rules[1].inject is missing"];
    check_refused(rules, DocumentFormat::Yaml, &refused);
    let markdown = format!("---\n{rules}---\nText.\n");
    check_refused(
        &markdown,
        DocumentFormat::Markdown,
        &["line 6: injection_rules[1].inject is missing"],
    );
    check_refused(
        "{\n \"metadata\": {\"name\": 7},\n \"behavior_rules\": \"none\"\n}",
        DocumentFormat::Json,
        &[
            "line 2: metadata.name must be a text, not 7",
            "line 3: behavior_rules must be a list of objects, not \"none\"",
        ],
    );
    check_refused(
        "a: 1\nb: 2\na: 3\n",
        DocumentFormat::Yaml,
        &["line 3: a: the field is given twice"],
    );
    check_refused(
        "- 1\n- 2\n",
        DocumentFormat::Yaml,
        &["line 1: a context document is made of named fields"],
    );
    check_refused(
        "a: 1\n---\nb: 2\n",
        DocumentFormat::Yaml,
        &["line 2: a file holds one document, and this is a second"],
    );
    check_refused(
        "---\nmetadata: {name: A}\n",
        DocumentFormat::Markdown,
        &["line 1: the front matter has no end: close it with a line ---"],
    );
    check_refused(
        "a: !secret x\n",
        DocumentFormat::Yaml,
        &["line 1: a: the tag !secret is not known here"],
    );
    check_refused(
        "---\nbody: one\n---\ntwo\n",
        DocumentFormat::Markdown,
        &["line 2: body: the text below the front matter is the body already"],
    );
    let broken = parse("a: [1, 2\nb: 3\n", DocumentFormat::Yaml, None).unwrap_err().to_string();
    assert!(broken.starts_with("line 2: the YAML cannot be read: "), "{broken}");
    let broken = parse("{\"a\": }", DocumentFormat::Json, None).unwrap_err().to_string();
    assert!(broken.starts_with("line 1: the JSON cannot be read: "), "{broken}");
}

#[test]
fn aliases_cannot_make_a_small_file_large_s1() {
    let one = "a: &a {x: 1}\nb: *a\n";
    assert_eq!(yaml::parse(one).unwrap().0, json!({ "a": { "x": 1 }, "b": { "x": 1 } }));
    let mut laughs = "a0: &a0 [lol, lol]\n".to_owned();
    for level in 1..30 {
        let before = level - 1;
        laughs.push_str(&format!("a{level}: &a{level} [*a{before}, *a{before}]\n"));
    }
    let error = yaml::parse(&laughs).unwrap_err();
    assert!(error.message.contains("4096 values"), "{}", error.message);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), ["*a"; 20].join(", "));
    assert!(yaml::parse(&long).unwrap_err().message.contains("1048576 bytes of text"));
    for own in ["a: &a [*a]\n", "a: &a {b: *a}\n"] {
        assert!(yaml::parse(own).unwrap_err().message.contains("alias"), "{own}");
    }
    let deep = format!("a: {}{}", "[".repeat(50), "]".repeat(50));
    assert!(yaml::parse(&deep).unwrap_err().message.contains("32 deep"));
    let wide = format!("a: [{}]", ["1"; 5_000].join(","));
    assert!(yaml::parse(&wide).unwrap_err().message.contains("4096 values"));
    assert!(yaml::parse("b: {<<: *x}\n").is_err());
    assert!(yaml::parse("a: &a {x: 1}\nb: {<<: *a}\n").unwrap_err().message.contains("<<"));
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_folder_gives_contexts_by_their_paths_s1() {
    let folder = folder(&[
        ("org.json", r#"{"metadata": {"name": "Organisation"}}"#),
        ("teams/payments.yaml", PAYMENTS),
        ("helpers/complexity-guide.md", "Split the task.\n"),
        ("helpers/other.yml", "metadata: {name: Other}\n"),
        ("helpers/.hidden.yaml", "not: [read"),
        ("notes.txt", "not a context"),
    ]);
    let items = items_from_folder(folder.path()).unwrap();
    let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["helpers/complexity-guide", "helpers/other", "org", "teams/payments"]);
    assert_eq!(items[0].path.as_deref(), Some("helpers/complexity-guide.md"));
    assert!(items.iter().all(|item| item.updated.is_some()));
    assert_eq!(items[3].title, "Payments");
}

#[test]
fn everything_wrong_with_a_folder_is_said_at_once_s1() {
    let large = "x".repeat(DOCUMENT_BYTES_MAX + 1);
    let folder = folder(&[
        ("a.yaml", "metadata: {name: A}\n"),
        ("a.md", "The same id."),
        ("b.yaml", "metadata: {name: [B]}\n"),
        ("large.md", &large),
    ]);
    fs::write(folder.path().join("z.md"), b"caf\xe9").unwrap();
    let error = items_from_folder(folder.path()).unwrap_err().to_string();
    let expected = "a.yaml: a is the id of a.md, too: rename one\n\
                    b.yaml:1: metadata.name must be a text, not a list\n\
                    large.md: the document is over the limit of 1048576 bytes\n\
                    z.md: the text is not UTF-8 at byte 3";
    assert_eq!(error, expected);
    let missing = items_from_folder(&folder.path().join("nowhere")).unwrap_err().to_string();
    assert!(missing.contains("nowhere: cannot be read"), "{missing}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// No text makes the parser panic.
    #[test]
    fn any_text_is_a_document_or_not(
        pieces in prop::collection::vec(prop_oneof![
            prop::sample::select(&[
                "---", "\n", "  ", "a", ": ", "- ", "[", "]", "{", "}", ",", "&x ", "*x", "!t ", "|\n",
                ">\n", "'", "\"", "#", "? ", "metadata", "name", "injection_rules", "<<", "~", "1",
                "\t", "%YAML 1.2\n",
            ][..]).prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ], 0..40),
    ) {
        let text = pieces.concat();
        for format in [DocumentFormat::Yaml, DocumentFormat::Json, DocumentFormat::Markdown] {
            let _ = parse(&text, format, Some(&id("x")));
        }
    }
}
