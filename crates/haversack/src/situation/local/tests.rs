use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// 16 November 2026, nine o'clock.
const NOW: Timestamp = Timestamp::from_millis(1_794_819_600_000);
/// Number of folds for cross-validation.
const FOLDS: usize = 5;
/// How often a kind of evidence must have been right in the training folds to decide.
const RELIABLE_SHARE_MIN: f64 = 0.9;

/// A condition that people judged.
struct LabelledCase {
    /// The number of its situation: cases of one situation are all in the same fold.
    group: usize,
    situation: Map<String, Value>,
    condition: String,
    holds: bool,
}

/// The labelled cases of the scenarios.
fn scenario_cases() -> Vec<LabelledCase> {
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let lines = include_str!("judge.jsonl").lines();
    lines
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let mut situation = case["situation"].as_object().unwrap().clone();
            let count = groups.len();
            let group = *groups.entry(case["situation"].to_string()).or_insert(count);
            situation.insert("intent".to_owned(), case["intent"].clone());
            let condition = case["condition"].as_str().unwrap().to_owned();
            LabelledCase { group, situation, condition, holds: case["holds"].as_bool().unwrap() }
        })
        .collect()
}

/// Cases that were labelled for an earlier judge. About a fifth of them were read before this judge
/// was written, the others were not.
fn older_cases() -> Vec<LabelledCase> {
    let mut cases = Vec::new();
    let (mut group, mut situation) = (0, Map::new());
    for line in include_str!("judgements.txt").lines() {
        match line.split_once(' ') {
            Some((sign @ ("+" | "-"), condition)) => cases.push(LabelledCase {
                group,
                situation: situation.clone(),
                condition: condition.to_owned(),
                holds: sign == "+",
            }),
            Some(("tuning" | "held" | "other", facts)) => {
                group += 1;
                situation = serde_json::from_str(facts).unwrap();
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
        }
    }
    cases
}

fn verdict_on(case: &LabelledCase) -> Verdict {
    LocalJudge::new().verdicts(&case.situation, NOW, &[&case.condition]).remove(0)
}

/// The kinds of evidence on a condition, in all its clauses.
fn evidence_kinds(case: &LabelledCase) -> Vec<EvidenceKind> {
    fn walk(condition: &ParsedCondition, facts: &SituationFacts, kinds: &mut Vec<EvidenceKind>) {
        match condition {
            ParsedCondition::Clause(clause) => {
                kinds.extend(collect_evidence(clause, facts).iter().map(|finding| finding.kind));
            }
            ParsedCondition::Not(inner) => walk(inner, facts, kinds),
            ParsedCondition::All(parts) | ParsedCondition::Any(parts) => {
                parts.iter().for_each(|part| walk(part, facts, kinds));
            }
            ParsedCondition::Unclear => {}
        }
    }
    let mut lexicon = Lexicon::default();
    let facts = SituationFacts::read(&case.situation, Some(NOW.as_millis()), &mut lexicon);
    let mut kinds = Vec::new();
    walk(&ParsedCondition::parse(&case.condition, &mut lexicon), &facts, &mut kinds);
    kinds
}

/// How many cases there are, how many were decided, and how many of those are right.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    cases: usize,
    decided: usize,
    right: usize,
}

#[expect(clippy::cast_precision_loss, reason = "there are a few hundred")]
impl Figures {
    fn add(&mut self, answer: JudgeAnswer, holds: bool) {
        self.cases += 1;
        self.decided += usize::from(answer != JudgeAnswer::Undecided);
        self.right += usize::from(answer == if holds { JudgeAnswer::Yes } else { JudgeAnswer::No });
    }

    fn decided(self) -> f64 {
        self.decided as f64 / self.cases.max(1) as f64
    }

    fn right(self) -> f64 {
        self.right as f64 / self.decided.max(1) as f64
    }
}

#[expect(clippy::print_stderr, reason = "the figures are for people who change the judge")]
fn print_figures(name: &str, figures: Figures) {
    let Figures { cases, decided, right } = figures;
    let (share, correct) = (100.0 * figures.decided(), 100.0 * figures.right());
    eprintln!(
        "{name}: {cases} cases, {decided} decided ({share:.1} %), {right} right ({correct:.1} %)"
    );
}

/// Judges each fold with only those kinds of evidence that were reliable in the other folds.
fn cross_validate(cases: &[LabelledCase]) -> Figures {
    let mut figures = Figures::default();
    for fold in 0..FOLDS {
        let mut trained: BTreeMap<EvidenceKind, Figures> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.group % FOLDS != fold) {
            let answer = verdict_on(case).answer;
            if answer != JudgeAnswer::Undecided {
                for kind in evidence_kinds(case) {
                    trained.entry(kind).or_default().add(answer, case.holds);
                }
            }
        }
        let is_reliable = |kind: &EvidenceKind| {
            trained.get(kind).is_some_and(|figures| figures.right() >= RELIABLE_SHARE_MIN)
        };
        for case in cases.iter().filter(|case| case.group % FOLDS == fold) {
            let verdict = verdict_on(case);
            let has_reliable = evidence_kinds(case).iter().any(is_reliable);
            figures.add(
                if has_reliable { verdict.answer } else { JudgeAnswer::Undecided },
                case.holds,
            );
        }
    }
    figures
}

/// S3: at least half of the cases are decided, and 95 in 100 of those are right. Folds are by
/// situation, but the words were chosen with all cases at hand, so [`older_cases`] are closer to what
/// a new case meets. Always answering yes is right in about half.
#[test]
fn the_local_judge_decides_half_and_is_right_in_95_percent_of_it_s3() {
    let cases = scenario_cases();
    assert!(cases.len() >= 150);
    let figures = cross_validate(&cases);
    print_figures("cross-validated", figures);
    assert!(figures.decided() >= 0.5 && figures.right() >= 0.95, "{figures:?}");
    let negated = cases.iter().filter(|case| {
        let words = [" not ", "no ", "nobody", "nothing", "never", " only "];
        words.iter().any(|word| case.condition.contains(word))
    });
    let mut of_negated = Figures::default();
    negated.for_each(|case| of_negated.add(verdict_on(case).answer, case.holds));
    print_figures("with negation", of_negated);
    assert!(of_negated.right() >= 0.95, "{of_negated:?}");
    for constant in [JudgeAnswer::Yes, JudgeAnswer::No] {
        let mut control = Figures::default();
        cases.iter().for_each(|case| control.add(constant, case.holds));
        print_figures(&format!("always {}", constant.as_str()), control);
        assert!(control.right() < 0.7, "{control:?}");
    }
}

/// The same on cases that were labelled for another judge.
#[test]
fn older_cases_are_judged_as_well_s3() {
    let mut figures = Figures::default();
    older_cases().iter().for_each(|case| figures.add(verdict_on(case).answer, case.holds));
    print_figures("older", figures);
    assert!(figures.decided() >= 0.44 && figures.right() >= 0.95, "{figures:?}");
}

/// Sureness says how often a kind of evidence is right; it may not exceed what was measured.
#[test]
fn no_sureness_exceeds_the_measured_accuracy_s3() {
    let mut trained: BTreeMap<EvidenceKind, Figures> = BTreeMap::new();
    for case in scenario_cases().iter().chain(&older_cases()) {
        let answer = verdict_on(case).answer;
        if answer != JudgeAnswer::Undecided {
            for kind in evidence_kinds(case) {
                trained.entry(kind).or_default().add(answer, case.holds);
            }
        }
    }
    for (kind, figures) in trained {
        print_figures(&format!("{kind:?}"), figures);
        // A sureness of s means a chance of (1 + s) / 2 of being right.
        let promised = f64::midpoint(1.0, sureness(kind));
        assert!(figures.right() + 0.03 >= promised, "{kind:?}: {figures:?}");
    }
}

fn answer(situation: &Value, condition: &str) -> JudgeAnswer {
    LocalJudge::new().verdicts(situation.as_object().unwrap(), NOW, &[condition])[0].answer
}

#[track_caller]
fn check(situation: &Value, yes: &[&str], no: &[&str], undecided: &[&str]) {
    let expected =
        [(yes, JudgeAnswer::Yes), (no, JudgeAnswer::No), (undecided, JudgeAnswer::Undecided)];
    for (conditions, expected) in expected {
        for condition in conditions {
            assert_eq!(answer(situation, condition), expected, "{condition}");
        }
    }
}

/// Two conditions that an earlier judge answered with the opposite.
#[test]
fn production_is_touched_where_the_environment_is_production_s3() {
    check(
        &json!({ "environment": "production" }),
        &["touches production", "the task touches production"],
        &["does not touch production", "the environment isn't production"],
        &["touches customer data"],
    );
    check(
        &json!({ "environment": "staging" }),
        &["does not touch production", "the environment is staging"],
        &["touches production"],
        &[],
    );
}

#[test]
fn numbers_are_compared_with_their_units_s3() {
    check(
        &json!({ "weight_kg": 610, "amount_eur": 14_300, "wait_minutes": 95, "files": ["a", "b"] }),
        &[
            "the load weighs less than a tonne",
            "the amount is above 10,000 euros",
            "the wait is longer than an hour",
            "at most two files are changed",
            "the amount is between 10,000 and 20,000 euros",
        ],
        &["the amount does not exceed 10,000 euros", "more than 2 files are changed"],
        &["the amount is above 10,000 dollars", "more than 3 pages are printed"],
    );
}

#[test]
fn negation_flags_and_days_count_s3() {
    check(
        &json!({
            "tests_run": false, "invoice_paid": true, "release_date": "2026-11-20",
            "note": "The patient has no fever", "deadline": "2026-11-10",
        }),
        &[
            "no tests were run",
            "the tests weren't run",
            "the release goes out on a Friday",
            "the deadline has passed",
            "the release is not on a Monday",
        ],
        &["tests were run", "the invoice is unpaid", "the patient has a fever"],
        &["the release is risky", "the tests are good and the release is risky"],
    );
}

#[test]
fn claims_are_joined_as_logic_joins_them_s3() {
    check(
        &json!({ "environment": "production", "approved": false }),
        &[
            "the environment is production and the change is not approved",
            "the environment is production or staging",
        ],
        &[
            "the environment is production and the change is approved",
            "the environment is neither production nor staging",
        ],
        &["the environment is production and the moon is full"],
    );
}

#[test]
fn empty_situations_and_conditions_are_undecided() {
    let judge = LocalJudge::new();
    assert!(judge.verdicts(&Map::new(), NOW, &[]).is_empty());
    let verdicts =
        judge.verdicts(&Map::new(), NOW, &["task is complex", "", "?!", "not", "the", "or"]);
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::UNDECIDED));
    let deep = (0..200).fold(json!("end"), |inner, _| json!({ "x": inner }));
    let wide: Vec<String> = (0..10_000).map(|at| format!("word{at} ").repeat(10)).collect();
    let situation = json!({ "deep": deep, "wide": wide, "漢字": "ü".repeat(5_000) });
    let verdicts = judge.verdicts(situation.as_object().unwrap(), NOW, &["word9 is there", "漢字"]);
    assert!(verdicts.iter().all(|verdict| (0.0..=1.0).contains(&verdict.sureness.get())));
}

/// A condition and its negation never get the same answer, unless both are undecided.
#[test]
fn a_negation_inverts_every_answer_s3() {
    for case in scenario_cases().iter().chain(&older_cases()) {
        let plain = verdict_on(case).answer;
        for opening in ["it is not true that", "it is not the case that", "it is false that"] {
            let negated = format!("{opening} {}", case.condition);
            assert_eq!(answer(&Value::Object(case.situation.clone()), &negated), plain.negated());
        }
        // `is` becomes `is not`, wherever a sentence has one verb and no negation.
        let verbs = [" is ", " are ", " was ", " were ", " has been "];
        let joins = [
            " and ", " or ", " not ", "no ", "nobody", "nothing", "never", "all ", "every", "only",
        ];
        let [verb] =
            verbs.iter().filter(|verb| case.condition.contains(**verb)).collect::<Vec<_>>()[..]
        else {
            continue;
        };
        if joins.iter().any(|join| case.condition.contains(join)) {
            continue;
        }
        let words = verb.trim().replace("has been", "has not been");
        let denied =
            if words == verb.trim() { format!(" {words} not ") } else { format!(" {words} ") };
        let negated = case.condition.replacen(*verb, &denied, 1);
        let answer = answer(&Value::Object(case.situation.clone()), &negated);
        assert!(
            answer == plain.negated() || answer == JudgeAnswer::Undecided,
            "{negated}: {} beside {}",
            answer.as_str(),
            plain.as_str()
        );
    }
}

proptest! {
    /// For no text and situation does the judge panic or answer a condition and its negation alike.
    #[test]
    fn no_text_is_answered_like_its_negation_s3(
        condition in "[a-zé0-9 ,.%€'-]{0,60}",
        name in "[a-z_]{1,12}",
        text in "[A-Za-z0-9 :,.?-]{0,40}",
        number in -1_000_000.0..1_000_000.0f64,
    ) {
        let situation = json!({ name.clone(): text, format!("{name}_kg"): number, "ok": false });
        let negated = format!("it is not true that {condition}");
        prop_assert_eq!(answer(&situation, &negated), answer(&situation, &condition).negated());
    }
}
