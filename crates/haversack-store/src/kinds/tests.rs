use proptest::prelude::*;
use serde_json::json;

use super::*;

fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

fn fields(json: Value) -> Fields {
    match json {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

/// The errors of an item, or else its warnings, one per line.
fn report_of(name: &str, title: &str, body: &str, fields: &Fields) -> String {
    match Kinds::built_in().check(&kind(name), title, body, fields) {
        Ok(warnings) => warnings.iter().map(FieldWarning::to_string).collect::<Vec<_>>().join("\n"),
        Err(errors) => errors.to_string(),
    }
}

#[track_caller]
fn check(name: &str, json: Value, expected: &str) {
    check_with(name, "", "", json, expected);
}

#[track_caller]
fn check_with(name: &str, title: &str, body: &str, json: Value, expected: &str) {
    let fields = fields(json);
    assert_eq!(report_of(name, title, body, &fields), expected, "{name} {title} {body} {fields:?}");
}

#[track_caller]
fn check_text(name: &str, title: &str, body: &str, json: Value, expected: &str) {
    assert_eq!(Kinds::built_in().searchable(&kind(name), title, body, &fields(json)), expected);
}

#[track_caller]
fn check_essential(name: &str, title: &str, body: &str, json: Value, expected: Option<&str>) {
    assert_eq!(
        Kinds::built_in().essential(&kind(name), title, body, &fields(json)).as_deref(),
        expected
    );
}

#[test]
fn p5_a_company_profile_is_single_and_has_its_fields() {
    let profile = json!({
        "summary": "Makes pumps.", "companyOverview": null, "valueProposition": "They last.",
        "targetCustomers": "Ships", "keyDifferentiators": ["quiet", "light"], "industry": "marine",
        "isVerified": true
    });
    check("company_profile", profile.clone(), "");
    let known = "; it has summary, companyOverview, valueProposition, targetCustomers, \
                 keyDifferentiators, industry";
    for (nothing, given) in
        [(json!({}), ""), (json!({"sumary": "Makes pumps."}), ": it has no sumary")]
    {
        let message = format!("fields have nothing to show of a company_profile{given}{known}");
        check("company_profile", nothing, &message);
    }
    check(
        "company_profile",
        json!({"keyDifferentiators": "quiet", "isVerified": "yes", "industry": 7}),
        "keyDifferentiators must be a list of texts, not \"quiet\"\n\
         industry must be a text, not 7\n\
         isVerified must be true or false, not \"yes\"",
    );
    check(
        "company_profile",
        json!({"keyDifferentiators": ["a", null]}),
        "keyDifferentiators[1] must be a text, not null",
    );
    check_text(
        "company_profile",
        "Profile",
        "",
        profile,
        "Makes pumps.\nValue proposition: They last.\nTarget customers: Ships\n\
         Key differentiators:\n- quiet\n- light\nIndustry: marine",
    );
    assert!(
        Kinds::built_in().single(&kind("company_profile"))
            && Kinds::built_in().single(&kind("brand_settings"))
    );
    assert!(
        !Kinds::built_in().single(&kind("product")) && !Kinds::built_in().single(&kind("note"))
    );
}

#[test]
fn p5_p6_foundational_text_over_its_size_is_stored_with_a_warning() {
    // In `o200k_base`, " a" and "a" are one token each.
    let words = |count: usize| vec!["a"; count].join(" ");
    check_with("company_profile", "", &words(1_000), json!({}), "");
    check("company_profile", json!({"summary": words(1_000)}), "");
    check(
        "company_profile",
        json!({"summary": words(1_001)}),
        "company_profile of 1001 tokens is part of every context and should have at most 1000",
    );
    check_with("brand_settings", "", &words(500), json!({}), "");
    check_with(
        "brand_settings",
        "",
        &words(501),
        json!({}),
        "brand_settings of 501 tokens is part of every context and should have at most 500",
    );
    check_with("product", "Pump", &words(5_000), json!({}), "");
}

#[test]
fn p6_unknown_values_of_brand_settings_are_refused_by_name() {
    let settings = json!({
        "tone": "consultative", "formality": "conversational", "keyMessages": ["quiet"],
        "contentStyle": "outcome_focused", "competitivePositioning": "balanced"
    });
    check("brand_settings", settings, "");
    check(
        "brand_settings",
        json!({"tone": "profesional", "formality": "X", "contentStyle": 3, "competitivePositioning": "Premium"}),
        "tone must be one of professional, friendly, technical, consultative, not \"profesional\": nearest is professional\n\
         formality must be one of formal, casual, conversational, not \"X\"\n\
         contentStyle must be one of benefit_focused, feature_focused, outcome_focused, not 3\n\
         competitivePositioning must be one of premium, value, balanced, not \"Premium\": nearest is premium",
    );
}

#[test]
fn p7_deal_context_has_content_and_an_opportunity() {
    check(
        "deal_context_item",
        json!({"rawContent": "They called.", "type": "call_notes", "opportunityId": "o-1", "createdAt": "2026-01-31T09:30:00Z"}),
        "",
    );
    check_with(
        "deal_context_item",
        "",
        "They called.",
        json!({"createdAt": 1_769_852_000_000_i64}),
        "",
    );
    check("deal_context_item", json!({}), "rawContent is missing: give it or a body");
    check(
        "deal_context_item",
        json!({"raw_content": "x"}),
        "rawContent is missing: give it or a body (is \"raw_content\" meant for it?)",
    );
    check(
        "deal_context_item",
        json!({"rawContent": " \n"}),
        "rawContent is missing: give it or a body",
    );
    check(
        "deal_context_item",
        json!({"rawContent": "x", "opportunityId": ""}),
        "opportunityId must be the id of an item: a name must not be empty",
    );
}

#[test]
fn p8_a_products_core_survives_its_features() {
    let pump = json!({
        "features": ["quiet", "light"], "pricing": {"amount": 900, "currency": "EUR"},
        "description": "A pump.", "name": "P1", "isActive": true
    });
    check("product", pump.clone(), "");
    let core = "Name: P1\nDescription: A pump.\nPricing:\n- amount: 900\n- currency: EUR";
    check_text("product", "P1", "", pump.clone(), &format!("{core}\nFeatures:\n- quiet\n- light"));
    check_essential("product", "P1", "", pump, Some(core));
    check_essential(
        "product",
        "P1",
        "A pump.",
        json!({"features": ["quiet, light and cheap"]}),
        Some("Name: P1\nDescription: A pump."),
    );
    check_essential("product", "P1", "A pump.", json!({}), None);
    check_essential("product", "", "", json!({"name": "P1", "features": ["quiet"]}), None);
    check("product", json!({"pricing": "on request"}), "name is missing: give it or a title");
}

#[test]
fn p9_battlecards_keep_win_themes_and_are_found_by_names() {
    let card = json!({
        "competitorName": "Acme", "aliases": ["ACME Corp", "acme", " "], "winThemes": ["service"],
        "differentiators": ["local", "fast"], "strengths": ["price"], "weaknesses": [],
        "objectionHandling": [{"objection": "too dear", "response": "lasts longer"}], "isActive": false
    });
    check("battlecard", card.clone(), "");
    check_essential(
        "battlecard",
        "Card",
        "",
        card.clone(),
        Some("Competitor name: Acme\nWin themes: service\nDifferentiators:\n- local\n- fast"),
    );
    assert_eq!(
        Kinds::built_in().names(&kind("battlecard"), "Card", &fields(card.clone())),
        ["Acme", "ACME Corp"]
    );
    assert_eq!(Kinds::built_in().names(&kind("battlecard"), "Acme", &fields(json!({}))), ["Acme"]);
    assert_eq!(
        Kinds::built_in().names(&kind("product"), "Pump", &fields(json!({"name": null}))),
        ["Pump"]
    );
    assert!(
        Kinds::built_in().names(&kind("file"), "a.txt", &fields(json!({"name": "x"}))).is_empty()
    );
    assert_eq!(
        Kinds::built_in().implied(&kind("battlecard"), &fields(card.clone())).active,
        Some(false)
    );
    assert!(
        Kinds::built_in()
            .searchable(&kind("battlecard"), "", "", &fields(card.clone()))
            .contains("Objection handling: objection: too dear; response: lasts longer")
    );
}

#[test]
fn p10_playbooks_name_their_verticals_and_segments() {
    check_with(
        "playbook",
        "Banks",
        "Ask first.",
        json!({"vertical": "banking", "segment": ["small", "large"]}),
        "",
    );
    check_with(
        "playbook",
        "Banks",
        "",
        json!({"vertical": [1]}),
        "vertical[0] must be a text, not 1",
    );
    check_with(
        "playbook",
        "Banks",
        "",
        json!({"vertical": {}}),
        "vertical must be a text or a list of texts, not an object",
    );
}

#[test]
fn k2_files_threads_messages_and_references() {
    check_with(
        "file",
        "a.txt",
        "text",
        json!({"path": "docs/a.txt", "accessedAt": 0, "contentType": "text/plain"}),
        "",
    );
    check_with("thread", "Pumps", "", json!({}), "");
    check("message", json!({"content": "Hello", "role": "user", "threadId": "t-1"}), "");
    check(
        "message",
        json!({"content": "Hello", "role": "asistant"}),
        "role must be one of user, assistant, system, tool, not \"asistant\": nearest is assistant",
    );
    check("reference", json!({"threadId": "t-1", "targetId": "f-1"}), "");
    check("reference", json!({"threadId": "t-1"}), "targetId is missing: give it or a body");
    check_text("message", "", "", json!({"content": "Hello", "role": "user"}), "Hello");
    check_text("file", "a.txt", "text", json!({"path": "docs/a.txt"}), "text");
}

#[test]
fn w1_blocks_have_their_fields() {
    check_with("page", "Plans", "", json!({"summary": "What comes next"}), "");
    check("text", json!({}), "");
    check("heading", json!({"content": "Plans", "level": 1}), "");
    check("heading", json!({"level": 6}), "");
    check("heading", json!({"level": 0}), "level must be a whole number from 1 to 6, not 0");
    check("heading", json!({"level": 7}), "level must be a whole number from 1 to 6, not 7");
    check("heading", json!({"level": 2.5}), "level must be a whole number from 1 to 6, not 2.5");
    check(
        "todo",
        json!({"content": "Paint", "completed": false, "dueDate": "2026-01-31", "assignee": "ann"}),
        "",
    );
    check(
        "kanban_card",
        json!({"column": "Doing", "labels": ["urgent"], "dueDate": "2026-01-31T12:00:00+02:00"}),
        "",
    );
    check(
        "todo",
        json!({"dueDate": "2026-02-30"}),
        "dueDate must be a date such as 2026-01-31 or a timestamp, not \"2026-02-30\"",
    );
    check(
        "database",
        json!({"schema": [{"name": "Status", "type": "select", "options": ["open", "done"]}, {"name": "Owner"}]}),
        "schema[1].type is missing",
    );
    check(
        "db_row",
        json!({"properties": {"Status": "open", "Cost": 3}, "relations": [{"name": "Tasks", "targetIds": ["r-2", ""]}]}),
        "relations[0].targetIds[1] must be the id of an item: a name must not be empty",
    );
    check(
        "db_row",
        json!({"properties": []}),
        "properties must be an object with any names, not a list",
    );
    check("code", json!({"content": "x = 1", "language": "python"}), "");
    check("quote", json!({"content": "So it goes.", "source": "Vonnegut"}), "");
    check("list", json!({"items": ["a", "b"], "ordered": true}), "");
    check("callout", json!({"content": "Mind the step", "icon": "!"}), "");
    check("table", json!({"columns": ["a", "b"], "rows": [["1", "2"]]}), "");
    check("image", json!({"url": "https://example.org/a.png", "alt": "A pump"}), "");
    check_text(
        "db_row",
        "Paint",
        "",
        json!({"properties": {"Status": "open", "Done": false, "Tags": ["a", "b"], "Note": ""}}),
        "Status: open\nDone: no\nTags:\n- a\n- b",
    );
    check_text(
        "todo",
        "",
        "",
        json!({"content": "Paint", "completed": false, "dueDate": "2026-01-31"}),
        "Paint\nCompleted: no\nDue date: 2026-01-31",
    );
    check_text(
        "table",
        "",
        "",
        json!({"columns": ["a"], "rows": [["1", 2], ["3"]]}),
        "Columns: a\nRows:\n- 1, 2\n- 3",
    );
}

#[test]
fn s1_contexts_have_metadata_intent_and_rules() {
    check(
        "context",
        json!({
            "metadata": {"name": "Build", "type": "task"},
            "intent_context": {"business_goal": "ship", "intent_type": "create"},
            "behavior_rules": [{"trigger": "doubt", "action": "ask"}],
            "injection_rules": [{"name": "hard", "condition": "task is complex", "inject": ["helpers/guide"]}, {"inject": []}],
            "parent": "root", "parents": ["root", "team"]
        }),
        "",
    );
    check("context", json!({"metadata": {"name": "Test"}}), "");
    check_with("context", "Test", "", json!({}), "");
    check_with("context", "Test", "", json!({"metadata": {"type": "task"}}), "");
    check("context", json!({}), "metadata is missing: give it or a title");
    check("context", json!({"metadata": {}}), "metadata.name is missing: give it or a title");
    check(
        "context",
        json!({
            "metadata": {"name": "Build"}, "behavior_rules": [{"trigger": "doubt"}],
            "injection_rules": [{"inject": ["a"]}, {"inject": "a"}, {"condition": 5, "injects": ["a"]}, 7]
        }),
        "behavior_rules[0].action is missing\n\
         injection_rules[1].inject must be a list of ids of items, not \"a\"\n\
         injection_rules[2].condition must be a text, not 5\n\
         injection_rules[2].inject is missing (is \"injects\" meant for it?)\n\
         injection_rules[3] must be an object, not 7",
    );
}

#[test]
fn s5_contexts_reduce_to_metadata_goal_and_intent_type() {
    let build = json!({
        "metadata": {"name": "Build", "type": "task"},
        "intent_context": {"business_goal": "ship", "intent_type": "create"},
        "behavior_rules": [{"trigger": "doubt", "action": "ask"}, {"trigger": "haste", "action": "wait"}]
    });
    let core = "Name: Build\nType: task\nBusiness goal: ship\nIntent type: create";
    check_text(
        "context",
        "Build",
        "",
        build.clone(),
        &format!(
            "{core}\nBehavior rules:\n- Trigger: doubt; Action: ask\n- Trigger: haste; Action: wait"
        ),
    );
    check_essential("context", "Build", "", build, Some(core));
    check_essential(
        "context",
        "Build",
        "Long guidance follows here.",
        json!({"intent_context": {"business_goal": "ship"}}),
        Some("Name: Build\nBusiness goal: ship"),
    );
    check_essential("context", "Build", "Long guidance.", json!({}), None);
    check_essential("memory", "", "x", json!({"type": "fact"}), None);
}

#[test]
fn undefined_fields_with_names_make_the_byline() {
    let check = |name: &str, given: Value, expected: &str| {
        assert_eq!(Kinds::built_in().byline(&kind(name), &fields(given)), expected);
    };
    let article = json!({
        "source": "The Verge", "authors": ["Ann Lee", "Bo"], "url": "https://example.com/a",
        "published_at": "2026-01-31T09:30:00Z", "words": 812, "rating": "4.5", "nothing": null,
        "abstract": "long ".repeat(40), "metadata": {"section": "Phones", "more": {"deeper": "not"}},
    });
    check("article", article.clone(), "The Verge Ann Lee Bo Phones");
    check("memory", article, "The Verge Ann Lee Bo Phones");
    // Defined fields are part of the item's text already, or hidden.
    check("memory", json!({"type": "fact", "speaker": "Ann"}), "Ann");
    let many: Vec<String> = (0..100).map(|n| format!("keyword{n:03}")).collect();
    let line = Kinds::built_in().byline(&kind("article"), &fields(json!({"keywords": many})));
    assert!(line.starts_with("keyword000 keyword001") && line.len() <= 400, "{line}");
}

#[test]
fn m1_memories_have_content_type_confidence_and_relationships() {
    let memory = json!({
        "content": "Ann likes tea.", "type": "fact", "confidence": 0.9, "created_at": "2026-01-31T09:30:00.5Z",
        "conversation": "c-1", "relationships": [{"target": "m-2", "type": "supports"}]
    });
    check("memory", memory.clone(), "");
    let implied = Kinds::built_in().implied(&kind("memory"), &fields(memory.clone()));
    assert_eq!(implied.confidence, Some(0.9));
    assert_eq!(implied.created, Some(Timestamp::from_millis(1_769_851_800_500)));
    check_text("memory", "", "", memory, "Ann likes tea.");
    check_with("memory", "", "x", json!({"confidence": 0}), "");
    check_with("memory", "", "x", json!({"confidence": 1.0}), "");
    check_with(
        "memory",
        "",
        "x",
        json!({"confidence": 1.001}),
        "confidence must be a number from 0 to 1, not 1.001",
    );
    check_with(
        "memory",
        "",
        "x",
        json!({"confidence": -0.1}),
        "confidence must be a number from 0 to 1, not -0.1",
    );
    check_with(
        "memory",
        "",
        "x",
        json!({"created_at": "yesterday"}),
        "created_at must be a timestamp (RFC 3339 such as 2026-01-31T09:30:00Z, or Unix milliseconds), not \"yesterday\"",
    );
    check_with(
        "memory",
        "",
        "x",
        json!({"created_at": "2026-01-31"}),
        "created_at must be a timestamp (RFC 3339 such as 2026-01-31T09:30:00Z, or Unix milliseconds), not \"2026-01-31\"",
    );
    check_with(
        "memory",
        "",
        "x",
        json!({"relationships": [{"type": "supports"}]}),
        "relationships[0].target is missing",
    );
    check("memory", json!({"type": "fact"}), "content is missing: give it or a body");
}

#[test]
fn extra_fields_are_kept_and_misspellings_get_a_warning() {
    check_with("memory", "", "x", json!({"mood": "glad"}), "");
    check_with(
        "memory",
        "",
        "x",
        json!({"conversationId": "c-1"}),
        "conversationId is not a field of memory: did you mean conversation?",
    );
    check_with("memory", "", "x", json!({"conversation": "c-1", "conversationId": "c-1"}), "");
    check_with(
        "battlecard",
        "Acme",
        "",
        json!({"win_themes": []}),
        "win_themes is not a field of battlecard: did you mean winThemes?",
    );
    check_with(
        "context",
        "T",
        "",
        json!({"intent_context": {"buisness_goal": "x"}}),
        "intent_context.buisness_goal is not a field of context: did you mean business_goal?",
    );
    check(
        "companyProfile",
        json!({}),
        "companyProfile is not a known kind: did you mean company_profile?",
    );
    check("Todo", json!({}), "Todo is not a known kind: did you mean todo?");
    check("test", json!({"anything": [1, {"goes": null}]}), "");
}

#[test]
fn limits_hold_at_their_boundary() {
    let long = |count: usize| "é".repeat(count);
    check_with("product", "", "", json!({"name": long(512)}), "");
    check_with(
        "product",
        "",
        "",
        json!({"name": long(513)}),
        "name has 513 characters: the limit is 512",
    );
    check_with("product", "P", "", json!({"features": [long(20_000)]}), "");
    check_with(
        "product",
        "P",
        "",
        json!({"features": ["a", long(20_001)]}),
        "features[1] has 20001 characters: the limit is 20000",
    );
    check_with("product", "P", "", json!({"features": vec!["a"; 256]}), "");
    check_with(
        "product",
        "P",
        "",
        json!({"features": vec!["a"; 257]}),
        "features has 257 entries: the limit is 256",
    );
    check("text", json!({"content": "a".repeat(200_000)}), "");
    check(
        "text",
        json!({"content": "a".repeat(200_001)}),
        "content has 200001 characters: the limit is 200000",
    );
    check_with("memory", "", "x", json!({"conversation": "a".repeat(512)}), "");
    check_with(
        "memory",
        "",
        "x",
        json!({"conversation": "a".repeat(513)}),
        "conversation must be the id of an item: a name of 513 bytes is longer than the limit of 512",
    );
}

#[test]
fn every_kinds_fields_are_bounded() {
    let deep = |depth: usize| (1..depth).fold(json!(1), |inner, _| json!([inner]));
    check("note", json!({"a": deep(DEPTH_MAX)}), "");
    check(
        "note",
        json!({"a": deep(DEPTH_MAX + 1), "b": deep(100)}),
        &format!("a{} is nested 33 deep: the limit is 32", "[0]".repeat(32)),
    );
    check("note", json!({"a": vec![0; VALUES_MAX - 1]}), "");
    check("note", json!({"a": vec![0; VALUES_MAX]}), "fields hold 1025 values: the limit is 1024");
    // {"a":""} has eight bytes beside the text.
    check("note", json!({"a": "x".repeat(JSON_BYTES_MAX - 8)}), "");
    check(
        "note",
        json!({"a": "x".repeat(JSON_BYTES_MAX - 7)}),
        "fields take 262145 bytes as JSON: the limit is 262144",
    );
    check("note", json!({"k".repeat(128): 1}), "");
    check(
        "note",
        json!({"a": {"k".repeat(129): 1}}),
        &format!("a.{}… has a name of 129 bytes: the limit is 128", "k".repeat(100)),
    );
    check(
        "note",
        json!({"a\u{7}b": 1}),
        "fields[\"a b\"] must not hold the control character U+0007 in its name",
    );
    check(
        "text",
        json!({"content": 1, "a.b": {"\n": 1}}),
        "fields[\"a.b\"][\" \"] must not hold the control character U+000A in its name\ncontent must be a text, not 1",
    );
}

#[test]
fn problems_beyond_the_limit_are_counted() {
    let errors = Kinds::built_in()
        .check(&kind("list"), "", "", &fields(json!({"items": vec![1; 300]})))
        .unwrap_err();
    assert_eq!((errors.problems.len(), errors.more), (PROBLEMS_MAX, 45));
    assert!(errors.to_string().ends_with("\nand 45 more"));
}

#[test]
fn the_body_comes_first_and_nothing_repeats() {
    check_text("text", "T", " Hello\n", json!({"content": "Hello"}), " Hello\n");
    check_text("text", "T", "Hello", json!({"content": "World"}), "Hello\n\nWorld");
    check_text(
        "product",
        "P1",
        "A pump.",
        json!({"features": ["quiet"]}),
        "A pump.\n\nFeatures: quiet",
    );
    check_text("page", "Plans", "", json!({}), "Plans");
    check_text("note", "T", "Body", json!({"a": "x"}), "Body");
    check_text("note", "T", "", json!({"b": "x", "a": [{"c": "y"}, 3, " "]}), "x\ny");
    check_text("note", "T", "", json!({"a": 1}), "T");
}

#[test]
fn moments_are_rfc_3339_days_or_milliseconds() {
    #[track_caller]
    fn check(value: &Value, expected: Option<i64>) {
        assert_eq!(moment(value).map(Timestamp::as_millis), expected, "{value}");
    }
    check(&json!("1970-01-01T00:00:01Z"), Some(1_000));
    check(&json!("1970-01-01T02:00:00+02:00"), Some(0));
    check(&json!("1970-01-02"), Some(86_400_000));
    check(&json!(-5), Some(-5));
    check(&json!(1.5), None);
    check(&json!(i64::MAX), None);
    check(&json!(u64::MAX), None);
    check(&json!("1970-01-01T00:00:01"), None);
    check(&json!("0000-00-00"), None);
    check(&json!("éééééé"), None);
    check(&json!(true), None);
}

#[test]
fn the_built_in_definitions_are_consistent() {
    fn check_specs(fields: &[FieldSpec]) {
        for (index, field) in fields.iter().enumerate() {
            assert!(
                fields[..index].iter().all(|earlier| earlier.name != field.name),
                "{}",
                field.name
            );
            if let Type::Object(inner) | Type::Objects { fields: inner, .. } = &field.value {
                check_specs(inner);
            }
        }
    }
    for (index, spec) in Kinds::built_in().all().iter().enumerate() {
        assert!(
            Kinds::built_in().all()[..index].iter().all(|earlier| earlier.name != spec.name),
            "{}",
            spec.name
        );
        assert_eq!(Kinds::built_in().find(&kind(&spec.name)), Some(spec));
        assert!(spec.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", spec.name);
        assert!(!spec.about.contains('\n') && !spec.about.ends_with('.'));
        check_specs(&spec.fields);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let names: Vec<&str> = Kinds::built_in()
        .all()
        .iter()
        .flat_map(|spec| &spec.fields)
        .map(|field| field.name.as_str())
        .collect();
    let key = prop_oneof![proptest::sample::select(names).prop_map(str::to_owned), ".{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A value that a field may hold; the texts in it that are shown are added to `texts`.
fn sample(field: &FieldSpec, word: &mut impl FnMut() -> String, texts: &mut Vec<String>) -> Value {
    let mut shown_text = |texts: &mut Vec<String>| {
        let word = word();
        texts.push(word.clone());
        Value::from(word)
    };
    let mut inner = Vec::new();
    let value = match &field.value {
        Type::Text { .. } => shown_text(&mut inner),
        Type::Texts { .. } | Type::TextOrTexts { .. } => {
            json!([shown_text(&mut inner), shown_text(&mut inner)])
        }
        Type::Number { min, .. } => json!(min),
        Type::Integer { min, .. } => json!(min),
        Type::Boolean => json!(true),
        Type::Timestamp | Type::Date => json!("2026-01-31T09:30:00Z"),
        Type::OneOf(values) => {
            inner.push(values[0].clone());
            json!(values[0])
        }
        Type::Reference => json!("id"),
        Type::References { .. } => json!(["id"]),
        Type::Record | Type::Any => {
            json!({"a": shown_text(&mut inner), "b": [{"c": shown_text(&mut inner)}]})
        }
        Type::Object(fields) => Value::Object(
            fields.iter().map(|f| (f.name.to_owned(), sample(f, word, &mut inner))).collect(),
        ),
        Type::Objects { fields, .. } => {
            let mut entry = |inner: &mut Vec<String>| -> Value {
                Value::Object(
                    fields.iter().map(|f| (f.name.to_owned(), sample(f, word, inner))).collect(),
                )
            };
            json!([entry(&mut inner), entry(&mut inner)])
        }
    };
    if field.shown != FieldDisplay::Hidden {
        texts.append(&mut inner);
    }
    value
}

proptest! {
    #[test]
    fn nothing_panics_on_any_json(
        spec in proptest::sample::select(Kinds::built_in().all()),
        json in any_json(), title in ".{0,8}", body in ".{0,8}",
    ) {
        for name in [spec.name.as_str(), "note"] {
            let (kind, fields) = (kind(name), fields(json.clone()));
            let checked = Kinds::built_in().check(&kind, &title, &body, &fields);
            let text = Kinds::built_in().searchable(&kind, &title, &body, &fields);
            prop_assert!(text.starts_with(&body) || body.trim().is_empty());
            if let Some(essential) = Kinds::built_in().essential(&kind, &title, &body, &fields) {
                prop_assert!(essential.len() < text.len());
            }
            let _ = Kinds::built_in().names(&kind, &title, &fields);
            let _ = Kinds::built_in().implied(&kind, &fields);
            if let Err(errors) = checked {
                prop_assert_eq!(errors.to_string().lines().count(), errors.problems.len());
            }
        }
    }

    #[test]
    fn searchable_holds_every_text_of_the_known_fields(
        spec in proptest::sample::select(Kinds::built_in().all()),
        words in proptest::collection::vec("[a-zé\n ]{0,4}[a-z]{3}", 64), body in ".{0,8}",
        kept in proptest::collection::vec(any::<bool>(), 16),
    ) {
        let mut words = words.into_iter().cycle();
        let mut word = || words.next().unwrap_or_default();
        let (mut fields, mut texts) = (Fields::new(), Vec::new());
        for (field, kept) in spec.fields.iter().zip(kept) {
            if kept || field.required {
                fields.insert(field.name.to_owned(), sample(field, &mut word, &mut texts));
            }
        }
        let text = Kinds::built_in().searchable(&kind(&spec.name), "", &body, &fields);
        let is_shown = !spec.guidance || !text.trim().is_empty();
        prop_assert_eq!(Kinds::built_in().check(&kind(&spec.name), "", &body, &fields).is_ok(), is_shown);
        for word in texts {
            prop_assert!(text.contains(&word), "{} lacks {:?}: {}", spec.name, word, text);
        }
    }
}
