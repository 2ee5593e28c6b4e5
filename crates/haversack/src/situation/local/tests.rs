use serde_json::json;

use super::*;

/// A condition that was judged by hand.
struct Judgement {
    part: String,
    situation: Map<String, Value>,
    condition: String,
    applies: bool,
}

fn judgements(wanted: &str) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    let (mut part, mut situation) = (String::new(), Map::new());
    for line in include_str!("judgements.txt").lines() {
        match line.split_once(' ') {
            Some((sign @ ("+" | "-"), condition)) => judgements.push(Judgement {
                part: part.clone(),
                situation: situation.clone(),
                condition: condition.to_owned(),
                applies: sign == "+",
            }),
            Some((name @ ("tuning" | "held" | "other"), told)) => {
                part = name.to_owned();
                situation = serde_json::from_str(told).unwrap();
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
        }
    }
    judgements.retain(|judgement| judgement.part == wanted);
    judgements
}

/// Measures, and whether the condition without its negation holds.
fn rows(part: &str) -> Vec<([f64; MEASURES], bool)> {
    let row = |judgement: &Judgement| {
        let mut lexicon = Lexicon::default();
        let told = Told::read(&judgement.situation, &mut lexicon);
        let condition = Condition::read(&judgement.condition, &mut lexicon);
        (weigh(&condition, &told), judgement.applies != condition.is_negated)
    };
    judgements(part).iter().map(row).collect()
}

/// Logistic regression by plain descent, drawn towards zero but for the first weight.
fn fit(rows: &[([f64; MEASURES], bool)]) -> [f64; MEASURES] {
    const STEPS: usize = 20_000;
    const PULL: f64 = 1.0;
    let mut weights = [0.0; MEASURES];
    for _ in 0..STEPS {
        let mut slope = [0.0; MEASURES];
        for (measures, holds) in rows {
            let sum: f64 = measures.iter().zip(&weights).map(|(m, w)| m * w).sum();
            let part = exp_of_minus(sum.abs());
            let chance = if sum > 0.0 { 1.0 / (1.0 + part) } else { part / (1.0 + part) };
            let error = chance - f64::from(u8::from(*holds));
            slope.iter_mut().zip(measures).for_each(|(slope, measure)| *slope += error * measure);
        }
        for (at, (weight, slope)) in weights.iter_mut().zip(slope).enumerate() {
            let pull = if at == 0 { 0.0 } else { PULL * *weight };
            #[expect(clippy::cast_precision_loss, reason = "there are a few hundred")]
            let rate = 2.0 / rows.len() as f64;
            *weight -= rate * (slope + pull);
        }
    }
    weights
}

#[test]
fn the_weights_are_those_that_the_judgements_for_tuning_give() {
    let fitted = fit(&rows("tuning"));
    let near = fitted.iter().zip(WEIGHTS).all(|(fitted, weight)| (fitted - weight).abs() < 0.01);
    assert!(near, "the judgements give {fitted:.2?}, the judge has {WEIGHTS:?}");
}

/// How good verdicts are: the share that is right, the mean squared error of what was thought the
/// chance of holding (Brier), and for each fifth of sureness how many there are, how many of them
/// are right and how many were thought to be.
fn quality(part: &str) -> (f64, f64, Vec<(usize, f64, f64)>) {
    let mut bands = vec![(0_usize, 0.0, 0.0); 5];
    let (mut right, mut brier, mut count) = (0.0, 0.0, 0.0);
    for Judgement { situation, condition, applies, .. } in judgements(part) {
        let verdict = LocalJudge::new().verdicts(&situation, &[&condition])[0];
        let sureness = verdict.sureness.get();
        let is_right = f64::from(u8::from(verdict.applies == applies));
        let chance_right = f64::midpoint(1.0, sureness);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 5")]
        let band = ((sureness * 5.0) as usize).min(4);
        bands[band].0 += 1;
        bands[band].1 += is_right;
        bands[band].2 += chance_right;
        right += is_right;
        brier += (chance_right - is_right).powi(2);
        count += 1.0;
    }
    for (count, right, thought) in &mut bands {
        #[expect(clippy::cast_precision_loss, reason = "there are a few hundred")]
        let count = (*count).max(1) as f64;
        *right /= count;
        *thought /= count;
    }
    (right / count, brier / count, bands)
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "the figures are for people who change the judge")]
fn check(part: &str, right_least: f64, brier_most: f64) {
    let (right, brier, bands) = quality(part);
    eprintln!("{part}: right {right:.3}, Brier {brier:.3}");
    for (at, (count, right, thought)) in bands.iter().enumerate() {
        let from = f64::from(u8::try_from(at).unwrap()) / 5.0;
        eprintln!("  sureness from {from:.1}: {count:3}, {right:.2} right, {thought:.2} thought");
    }
    assert!(right >= right_least && brier <= brier_most, "{part}: {right} right, Brier {brier}");
}

/// A coin has 0.5 right and a Brier score of 0.25. The bounds are just below what was measured, so
/// that a change for the worse is seen.
#[test]
fn the_local_judge_is_as_good_as_it_says_s3() {
    check("tuning", 0.88, 0.09);
    check("held", 0.87, 0.085);
    check("other", 0.70, 0.20);
}

fn applies(situation: &Value, condition: &str) -> bool {
    LocalJudge::new().verdicts(situation.as_object().unwrap(), &[condition])[0].applies
}

#[test]
fn the_seeds_own_condition_is_judged_s3() {
    assert!(applies(&json!({ "task": "Build distributed system" }), "task is complex"));
    assert!(!applies(&json!({ "task": "Fix a typo" }), "task is complex"));
}

/// Rows that a query changes are data, whosever they are.
#[test]
fn rows_of_a_database_are_data_s3() {
    let refunds = json!({
        "environment": "production", "tool": "run_sql", "change_rows": 1823,
        "task": "Set refunds of citizens that are in no bank file back to approved",
    });
    assert!(applies(&refunds, "the task touches customer data"));
    assert!(!applies(&refunds, "the change will be released to the towns"));
    let page = json!({ "task": "Card payments fail in all towns", "tool": "status_page" });
    assert!(!applies(&page, "the task touches customer data"));
}

#[test]
fn negation_numbers_and_opposites_count_s3() {
    let told = json!({ "environment": "staging", "files_changed": 12, "tests_run": false });
    for condition in [
        "environment is staging",
        "the environment is not production",
        "more than 10 files changed",
        "at most 12 files changed",
        "no tests were run",
        "the tests weren't run",
    ] {
        assert!(applies(&told, condition), "{condition}");
    }
    for condition in [
        "environment is production",
        "the environment isn't staging",
        "fewer than 10 files changed",
        "more than 12 files changed",
        "tests were run",
    ] {
        assert!(!applies(&told, condition), "{condition}");
    }
}

#[test]
fn nothing_told_and_nothing_asked_is_no_trouble() {
    let judge = LocalJudge::new();
    assert!(judge.verdicts(&Map::new(), &[]).is_empty());
    let verdicts = judge.verdicts(&Map::new(), &["task is complex", "", "?!", "not", "the"]);
    assert_eq!(verdicts.len(), 5);
    assert!(!verdicts[0].applies);
    let deep = (0..200).fold(json!("end"), |inner, _| json!({ "x": inner }));
    let wide: Vec<String> = (0..10_000).map(|at| format!("word{at} ").repeat(10)).collect();
    let situation = json!({ "deep": deep, "wide": wide, "漢字": "ü".repeat(5_000) });
    let verdicts = judge.verdicts(situation.as_object().unwrap(), &["word9 is there", "漢字"]);
    assert!(verdicts.iter().all(|verdict| (0.0..=1.0).contains(&verdict.sureness.get())));
}

#[test]
fn powers_are_right_to_nine_digits() {
    for x in [0.0, 0.1, 1.0, 5.0, 20.0] {
        assert!((exp_of_minus(x) - f64::exp(-x)).abs() < 1e-9, "{x}");
    }
}
