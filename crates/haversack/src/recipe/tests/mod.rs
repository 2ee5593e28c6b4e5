//! Recipes that are right, and what is said of those that are not.

mod extending;
mod findings;
mod problems;

use haversack_core::assemble::Templates;
use haversack_core::layer::{Arrangement, KindCap, Order, Stability};
use haversack_core::rank::{Component, Recency};
use haversack_core::text::truncate::Truncation;

use super::*;

/// A recipe that must be right.
#[track_caller]
fn parsed(source: &str) -> Recipe {
    Recipe::parse("mine", source, &own()).unwrap_or_else(|error| panic!("{error}"))
}

/// Names that an application registered.
fn own() -> RecipeRegistry {
    RecipeRegistry {
        recipes: [
            (
                "notes",
                "haversack = 1\n[budget]\ntotal = 900\n[[layer]]\nname = \"notes\"\nshare = 0.5\n",
            ),
            ("circle", "haversack = 1\nextends = \"round\"\n"),
            ("round", "haversack = 1\nextends = \"circle\"\n"),
            ("broken", "haversack = 1\nshapes = 1\n[[layer]]\nname = \"x\"\nshare = 2\n"),
            ("everything", "haversack = 1\nextends = \"everything\"\n[budget]\ntotal = 5\n"),
        ]
        .map(|(name, source)| (name.to_owned(), source.to_owned()))
        .into(),
        collectors: ["crm".to_owned()].into(),
        templates: ["letter".to_owned()].into(),
        rankers: ["house".to_owned()].into(),
    }
}

/// Says everything that can be said.
const FULL: &str = r##"
haversack = 1
name = "full"
description = "All of it"
shape = "proposal"

[[subject]]
name = "opportunity"
kind = "opportunity"
field = "opportunityId"
facts = ["stage", "complexity"]
implied = false

[budget]
total = 32_000
reserve = { system_prompt = 1_000, safety_buffer = 1_300 }
overflow = "exceed"
model = "gpt-4o"

[query]
embed = ["query", "subject"]

[cache]
entries = 7
seconds = 60

[output]
before = "Context for {{query}}:\n"
after = "End."
fence = "all"
selector = "exact"
stop = { fill = 0.9, items = 10 }
degrade = false

[[layer]]
name = "company"
pinned = true
collect = [{ by = "singleton", kinds = ["company_profile"] }]

[[layer]]
name = "dealContext"
title = "The deal"
share = 0.4
cap = 1_500
spill = 4
order = "rank"
cut = "keep_start"
least = 20
essential = false
arrange = "newest"
stability = "stable"
kind_cap = { share = 0.6, after = 3 }
template = { header = "# {{section}}\n", item = "{{citation}} {{content}}", separator = "\n", footer = "\n\n", empty = "Nothing." }
score = { base = 0.5, recency = 1, semantic = -0.25 }
recency = { per_hour = 0.02 }
minimum = 0.1
repeats = 0.85
diversity = 0.7
limit = 50

[[layer.collect]]
by = "newest"
kinds = ["deal_context_item"]
of = "opportunity"
limit = 100
deadline_ms = 250

[[layer.collect]]
by = "crm"
depth = 2
tilt = -1.5
region = "north"
only = ["a", "b"]
deep = true

[[layer]]
name = "rest"
cut = "summarize"
score = "semantic * 0.7 + recency"
template = "letter"
recency = { over_hours = 100 }

[[layer]]
name = "last"
score = { ranker = "house" }
recency = "harmonic"

[[adapt]]
when = 'complexity == "high"'
total = 64_000
shares = { dealContext = 0.5, rest = 0.25 }
caps = { dealContext = 3_000 }
"##;

#[test]
fn every_built_in_recipe_can_be_used_x6() {
    for &(name, source) in BUILT_IN {
        let recipe = Recipe::parse(name, source, &RecipeRegistry::default());
        let recipe = recipe.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(recipe.name, name);
        assert!(!recipe.description.is_empty(), "{name}");
        let wrong = lint(
            &recipe,
            &Places::default(),
            &Templates::default(),
            haversack_store::kinds::Kinds::built_in(),
        );
        let wrong: Vec<_> = wrong.iter().filter(|f| f.severity != Severity::Remark).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
    assert!(BUILT_IN.is_sorted_by_key(|&(name, _)| name), "names are listed in order");
}

#[test]
fn all_that_can_be_said_is_read_x6() {
    let recipe = parsed(FULL);
    assert_eq!((&*recipe.name, &*recipe.description), ("full", "All of it"));
    assert_eq!(recipe.shape, Shape::Proposal);
    assert_eq!(recipe.budget.total, Tokens::new(32_000));
    let reserves = [("system_prompt", 1_000), ("safety_buffer", 1_300)];
    let reserves = reserves.map(|(name, tokens)| (name.to_owned(), Tokens::new(tokens)));
    assert_eq!(recipe.budget.reserves, reserves);
    assert_eq!(recipe.budget.overflow, Overflow::Exceed);
    assert_eq!(recipe.counting, CountingSpec::Model("gpt-4o".to_owned()));
    assert_eq!(recipe.embed, [QueryPart::Query, QueryPart::Subject]);
    let idle = Duration::from_secs(60);
    assert_eq!(recipe.cache, Some(CacheSpec { entries: 7, idle }));
    assert_eq!(recipe.frame.before, "Context for {{query}}:\n");
    assert_eq!((recipe.fencing, recipe.selector), (Fencing::All, Selector::Exact));
    assert_eq!(recipe.stop, Some(Stop { fill: Share::percent(90), items: 10 }));
    assert!(!recipe.degrade);
    let names: Vec<&str> = recipe.layers.iter().map(|layer| &*layer.name).collect();
    assert_eq!(names, ["company", "dealContext", "rest", "last"]);
    assert_eq!(recipe.adapt[0].when.source(), "complexity == \"high\"");
    assert_eq!(recipe.adapt[0].caps, [("dealContext".to_owned(), Tokens::new(3_000))]);
}

#[test]
fn a_layer_is_read_in_full_x6() {
    let recipe = parsed(FULL);
    let layer = recipe.layer("dealContext").unwrap();
    assert_eq!((&*layer.title, layer.share, layer.spill), ("The deal", Share::percent(40), 4));
    assert_eq!((layer.cap, layer.least), (Some(Tokens::new(1_500)), Tokens::new(20)));
    assert_eq!((layer.order, layer.cut), (Order::Rank, Some(Truncation::KeepStart)));
    assert_eq!((layer.arrange, layer.stability), (Arrangement::Newest, Stability::Stable));
    assert_eq!(layer.kind_cap, Some(KindCap { share: Share::percent(60), after: 3 }));
    assert!(!layer.essential && !layer.summarise && !layer.pinned);
    let weights = vec![(Component::Semantic, -0.25), (Component::Recency, 1.0)];
    assert_eq!(layer.score, ScoreSpec::Weights { base: 0.5, weights });
    assert_eq!(layer.recency, Recency::Exponential { rate_per_hour: 0.02 });
    assert_eq!(layer.minimum, Score::new(0.1));
    assert_eq!((layer.repeats, layer.diversity), (Score::new(0.85), Score::new(0.7)));
    assert_eq!(layer.limit, Some(50));
    let [newest, crm] = layer.collect.as_slice() else { panic!("{:?}", layer.collect) };
    assert_eq!((&*newest.by, newest.settings.text("of")), ("newest", "opportunity"));
    assert_eq!(newest.settings.count("limit"), 100);
    assert_eq!(newest.deadline, Duration::from_millis(250));
    assert_eq!(crm.settings.count("depth"), 2);
    assert!((crm.settings.number("tilt") + 1.5).abs() < 1e-9 && crm.settings.flag("deep"));
    assert_eq!((crm.settings.text("region"), crm.settings.texts("only").len()), ("north", 2));
    let rest = recipe.layer("rest").unwrap();
    assert!(rest.summarise && rest.cut == Some(Truncation::Extractive));
    assert_eq!(rest.score, ScoreSpec::Expression("semantic * 0.7 + recency".to_owned()));
    assert_eq!(rest.template, TemplateSpec::Named("letter".to_owned()));
    assert_eq!(recipe.layer("last").unwrap().score, ScoreSpec::Named("house".to_owned()));
}

#[test]
fn what_is_not_said_has_a_default_x6() {
    let recipe =
        parsed("haversack = 1\n[[layer]]\nname = \"dealNotes\"\n[[layer]]\nname = \"b\"\n");
    assert_eq!(recipe.name, "mine", "the file's own name");
    assert_eq!(recipe.budget.total, Tokens::new(4_000));
    assert_eq!(recipe.counting, CountingSpec::Tokenizer("o200k_base".to_owned()));
    assert_eq!((recipe.cache, recipe.stop, recipe.degrade), (None, None, true));
    let [first, second] = recipe.layers.as_slice() else { panic!() };
    assert_eq!((&*first.title, first.spill, second.spill), ("Deal notes", 0, 1));
    assert_eq!((first.order, first.cut), (Order::Density, Some(Truncation::Extractive)));
    assert_eq!((first.least, first.essential), (Tokens::new(12), true));
    assert_eq!(first.template, TemplateSpec::Named("section".to_owned()));
    let pinned = parsed("haversack = 1\n[[layer]]\nname = \"a\"\npinned = true\n");
    let pinned = &pinned.layers[0];
    assert_eq!((pinned.order, pinned.cut), (Order::Rank, None));
    assert_eq!(pinned.stability, Stability::Foundational);
}

#[test]
fn a_recipe_written_out_is_read_as_the_same_x6() {
    let strange = "haversack = 1\n[budget]\nreserve = { \"the \\\"rest\\\"\" = 1, \"\" = 2 }\n\
        [output]\nbefore = \"tab\\tquote\\\"back\\\\slash\\u0007\"\n[[layer]]\nname = \"a\"\n\
        share = 0.333333\nminimum = 1e-7\ncollect = [{ by = \"crm\", \"a b\" = 3, x = 2.0 }]\n";
    let built_in = BUILT_IN.iter().map(|&(_, source)| source);
    for source in built_in.chain([FULL, strange, "haversack = 1\nextends = \"notes\""]) {
        let recipe = parsed(source);
        let written = recipe.to_toml();
        let again = parsed(&written);
        assert_eq!(again, Recipe { extends: None, ..recipe }, "{written}");
    }
}

#[test]
fn what_one_starts_from_is_sound_x6() {
    let registry = RecipeRegistry::default();
    let base = parsed(builtin("everything").unwrap());
    for base in [None, Some(&base)] {
        let text = Recipe::starter("mine", base, &registry).unwrap();
        let recipe = Recipe::parse("mine", &text, &registry).unwrap();
        assert_eq!(recipe.extends.as_deref(), base.map(|base| &*base.name));
        let findings = lint(
            &recipe,
            &Places::default(),
            &Templates::default(),
            haversack_store::kinds::Kinds::built_in(),
        );
        assert_eq!(findings, [], "{text}");
        // Every line that is commented out by one mark can be put in.
        let whole: String = text.lines().map(|line| format!("{}\n", uncommented(line))).collect();
        let said = Recipe::parse("mine", &whole, &registry);
        assert!(base.is_some() || said.is_ok(), "{said:?}\n{whole}");
    }
    assert!(Recipe::starter("not a name", None, &registry).is_err());
}

/// A commented line of TOML without its mark; other lines as they are.
fn uncommented(line: &str) -> &str {
    let is_toml = |text: &&str| text.starts_with("[[") || text.split(' ').nth(1) == Some("=");
    line.strip_prefix("# ").filter(is_toml).unwrap_or(line)
}

#[test]
fn every_choice_has_a_word() {
    use words::*;
    fn check<T: PartialEq + std::fmt::Debug>(words: &[ChoiceWord<T>], all: &[T]) {
        for value in all {
            assert_ne!(name_of(words, value), "", "{value:?}");
        }
        let mut names: Vec<&str> = words.iter().map(|word| word.name).collect();
        names.dedup();
        assert_eq!((names.len(), words.len()), (words.len(), all.len()));
    }
    use Shape::{Memory, Prime, Proposal, Sections, Situation, Workspace};
    check(SHAPES, &[Sections, Proposal, Prime, Workspace, Situation, Memory]);
    check(OVERFLOWS, &[Overflow::Refuse, Overflow::Exceed]);
    check(
        FENCES,
        &[Fencing::Off, Fencing::Lines, Fencing::Untrusted, Fencing::All, Fencing::Sections],
    );
    check(SELECTORS, &[Selector::Greedy, Selector::Exact]);
    check(ORDERS, &[Order::Density, Order::Rank, Order::Essentials, Order::Blocks]);
    use Arrangement::{Edges, Found, Newest, Oldest, Ranked};
    check(ARRANGEMENTS, &[Ranked, Edges, Newest, Oldest, Found]);
    use Stability::{Foundational, Stable, Volatile};
    check(STABILITIES, &[Foundational, Stable, Volatile]);
    use QueryPart::{History, Query, Subject};
    let templates: Vec<&str> = TEMPLATES.iter().map(|&(name, _)| name).collect();
    assert_eq!(templates, Templates::default().names().collect::<Vec<_>>());
    check(QUERY_PARTS, &[Query, Subject, QueryPart::Situation, History]);
}

#[test]
fn all_adaptations_that_hold_are_used_in_order_p17() {
    let recipe = parsed(
        "haversack = 1\n[[layer]]\nname = \"a\"\n\
         [[adapt]]\nwhen = 'type == \"search\" && words + 1 < 5'\ntotal = 1\n\
         [[adapt]]\nwhen = 'type == \"search\"'\ntotal = 2\n\
         [[adapt]]\nwhen = 'has(situation.team) && situation.team.exists(who, who == \"ann\")'\ntotal = 3\n",
    );
    let check = |facts: Facts, expected: &[u32]| {
        let adaptations = recipe.adaptations(&facts).unwrap();
        let totals = adaptations.iter().filter_map(|adaptation| adaptation.total);
        assert_eq!(totals.map(Tokens::get).collect::<Vec<_>>(), expected);
    };
    let search = |words: u32| default_facts(&[]).with("type", "search").with("words", words);
    check(default_facts(&[]), &[]);
    check(search(3), &[1, 2]);
    check(search(9), &[2]);
    let team = serde_json::json!({ "team": ["bob", "ann"], "size": 2, "part": 0.5 });
    check(default_facts(&[]).with("situation", team), &[3]);
}

#[test]
fn conditions_that_demand_other_words_exclude_each_other() {
    let check = |one: &str, other: &str, expected: bool| {
        let [one, other] = [one, other].map(|source| Condition::compile(source).unwrap());
        assert_eq!((one.excludes(&other), other.excludes(&one)), (expected, expected));
    };
    check("type == 'a'", "type == 'b'", true);
    check("stage in ['a', 'b'] && words > 3", "'c' == stage", true);
    check("stage in ['a', 'b']", "stage in ['b', 'c']", false);
    check("type == 'a'", "stage == 'b'", false);
    check("type == 'a' || words > 3", "type == 'b'", false);
    check("type != 'a'", "type == 'a'", false);
}

#[test]
fn a_condition_that_fails_says_so() {
    let recipe = parsed(
        "haversack = 1\n[[layer]]\nname = \"a\"\n\
         [[adapt]]\nwhen = \"situation.team == 'x'\"\ntotal = 1\n",
    );
    let error = recipe.adaptations(&default_facts(&[])).unwrap_err().to_string();
    let expected = "the condition \"situation.team == 'x'\" failed: there is no fact \"team\"";
    assert_eq!(error, expected);
    let error = Condition::compile("query").unwrap().evaluate(&default_facts(&[])).unwrap_err();
    assert!(matches!(error, ConditionError::NotBoolean { .. }), "{error}");
    let long = Condition::compile(&" ".repeat(2_000)).unwrap_err();
    assert_eq!(long.to_string(), "a condition of 2000 bytes is longer than the limit of 1024");
}
